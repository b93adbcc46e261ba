"""Scenarios drawn at random from a wide space, so that no constant of ours can be chosen on them.

The seed S and the index of a design fix everything: its settings, its data and its truth. Seeds 1 to 99 are for
development; what is published has seeds from 1000 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from neuralmirror.evaluation import Sample, Scenario
from neuralmirror.simulation.designs import Simulation
from neuralmirror.simulation.links import EVEN, FIXED, GROUP, LINKS
from neuralmirror.studies.panels import PANELS, available, panel
from neuralmirror.studies.scenarios import simulation

DEVELOPMENT, PUBLISHED = range(1, 100), 1000  # seeds
ROWS, COLUMNS, RELEVANT = (200, 3000), (20, 1000), (3, 60)
MOST_CELLS = 600_000  # n·p
LEVELS = (0.05, 0.1, 0.2)
DESIGN_WEIGHTS = {
    "independent": 1.0,
    "toeplitz": 1.0,
    "constant": 1.0,
    "ar": 2.0,
    "blocks": 2.0,
    "factors": 1.0,
    "heavy": 1.0,
    "lognormal": 1.0,
    "uniform": 1.0,
    "assorted": 1.0,
    "binary": 1.0,
    "genotypes": 1.0,
    "tomato": 0.5,
    "maize": 0.5,
    "sugarbeet": 0.5,
    "hiv": 0.5,
}
RESPONSE_WEIGHTS = {"gaussian": 0.7, "heteroscedastic": 0.1, "logistic": 0.12, "multinomial": 0.08}
LINEAR = ("linear", "linear-uniform")  # half of all designs
LINK_FAMILIES = {
    "linear": LINEAR,
    "single index": ("sin", "cubic", "quintic"),
    "curves": ("squares", "absolute", "sine", "sine2", "sine3", "cosine3"),
    "interactions": (
        "products",
        "triple-products",
        "ratio",
        "gate",
        "sign-product",
        "sine-of-sum",
        "ring",
        "xor",
    ),
    "mixtures": ("mixed", "friedman", "trees", "tanh-units", "perceptron"),
    "nothing": ("null",),
}
TWO_VALUED = ("binary", "genotypes", "assorted", "tomato", "maize", "sugarbeet", "hiv")  # some columns at least
UNCORRELATED = ("independent", "factors", *PANELS)  # without a ρ to choose


@dataclass(frozen=True)
class Seeded:
    """A simulation whose replicate r is drawn from (S, index, r), so that no two designs share their noise."""

    simulation: Simulation
    entropy: tuple[int, ...]

    def sample(self, random_state: int, /) -> Sample:
        """X, y and the truth of one replicate."""
        return self.simulation.sample(np.random.default_rng([*self.entropy, 1, random_state]))


def random_scenarios(count: int, seed: int, data: Path | None = None) -> list[Scenario]:
    """The designs 0 … count − 1 of a seed, without those on measured columns that are not there."""
    drawn = [(index, draw_settings(seed, index)) for index in range(count)]
    there = {name: available(name, data) for name in PANELS}
    return [_scenario(seed, index, s, data) for index, s in drawn if there.get(s["design"], True)]


def draw_settings(seed: int, index: int) -> dict[str, Any]:
    """The settings of one design, whether or not its data are there."""
    rng = np.random.default_rng([seed, index])
    design = _choice(rng, DESIGN_WEIGHTS)
    link = _choice(rng, link_weights(design))
    n = _log_uniform(rng, *ROWS)
    p = min(_log_uniform(rng, *COLUMNS), MOST_CELLS // n)
    k = min(_log_uniform(rng, *RELEVANT), p // 2)
    response = _choice(rng, RESPONSE_WEIGHTS)
    return {
        "design": design,
        "link": link,
        "response": "logistic" if response == "multinomial" and link in FIXED else response,
        "n": n,
        "p": p,
        "k": relevant(link, k),
        "rho": 0.0 if design in UNCORRELATED else round(float(rng.uniform(0.05, 0.95)), 2),
        "h2": round(float(rng.uniform(0.2, 0.95)), 2),
        "fdr": float(rng.choice(LEVELS)),
    }


def link_weights(design: str) -> dict[str, float]:
    """Half of the weight for lines, the rest spread; even functions need columns of more than two values."""
    others = [link for link in LINKS if link not in LINEAR and not (design in TWO_VALUED and link in EVEN)]
    return dict.fromkeys(LINEAR, 0.5 / len(LINEAR)) | dict.fromkeys(others, 0.5 / len(others))


def relevant(link: str, k: int) -> int:
    """The nearest number of features from below that the link can take; 0 where nothing matters."""
    group = GROUP.get(link, 1)
    least = max(6 if link == "mixed" else 1, group)
    return 0 if link == "null" else max(least, k // group * group)


def _scenario(seed: int, index: int, settings: dict[str, Any], data: Path | None) -> Scenario:
    shown = on_panel(settings, *panel(settings["design"], data).shape) if settings["design"] in PANELS else settings
    labels = {
        "bench": "random",
        "random_seed": seed,
        "index": index,
        **{key: shown[key] for key in ("design", "link", "response", "n", "p", "k", "rho", "h2")},
        "link_family": link_family(settings["link"]),
        "description": describe(shown),
    }
    source = Seeded(simulation(shown, data), (seed, index))
    return Scenario(f"random-{seed}-{index}", source, settings["fdr"], labels=labels)


def on_panel(settings: dict[str, Any], rows: int, columns: int) -> dict[str, Any]:
    """All rows, since some would leave rare variants constant, and no more columns than there are."""
    p = min(settings["p"], columns)
    return {**settings, "n": rows, "p": p, "k": relevant(settings["link"], min(settings["k"], p // 2))}


def describe(s: dict[str, Any]) -> str:
    """One line that says what was drawn."""
    correlation = "" if s["design"] in UNCORRELATED else f"({s['rho']:g})"
    place = "columns of " if s["design"] in PANELS else ""
    signal = "nothing matters" if s["link"] == "null" else f"{s['k']} relevant by {s['link']}, h2={s['h2']:g}"
    return f"{place}{s['design']}{correlation}, n={s['n']}, p={s['p']}, {signal}, y {s['response']}, level {s['fdr']:g}"


def link_family(link: str) -> str:
    """The kind of truth that a link writes."""
    return next(family for family, links in LINK_FAMILIES.items() if link in links)


def _choice(rng: Generator, weights: dict[str, float]) -> str:
    names: Sequence[str] = list(weights)
    total = sum(weights.values())
    return str(rng.choice(names, p=[weights[name] / total for name in names]))


def _log_uniform(rng: Generator, low: int, high: int) -> int:
    return int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))
