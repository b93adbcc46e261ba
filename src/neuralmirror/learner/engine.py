"""Where and how the learners run."""

from __future__ import annotations

from dataclasses import dataclass, field

from neuralmirror.learner.network import Network

LEARNERS = ("auto", "sparse", "network")


@dataclass(frozen=True)
class Engine:
    """Which learner, the settings of its networks, the device and the number of threads."""

    learner: str = "auto"
    network: Network = field(default_factory=Network)
    device: str = "cpu"
    n_jobs: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "network", self.network.suited_to(self.learner))
