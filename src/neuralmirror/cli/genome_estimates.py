"""What `neuralmirror genome` would do, found out before it runs: people, markers, groups, memory and time."""

from __future__ import annotations

from typing import Any

from neuralmirror.cli.inspect import duration
from neuralmirror.genome.estimates import estimate
from neuralmirror.report.genome_request import GenomeRequest, read_study
from neuralmirror.report.genome_run import mirror_for
from neuralmirror.report.request import SCHEMA


def expect(request: GenomeRequest) -> dict[str, Any]:
    """Findings as data."""
    study = read_study(request)
    mirror = mirror_for(request, study, progress=False)
    found = estimate(mirror, study.genotypes, study.people.y, study.people.covariates, study.offsets)
    return {
        "schema": SCHEMA,
        "target": study.people.target,
        "people": found.people,
        "markers": found.markers,
        "markers_read": study.genotypes.n_markers,
        "left_out": {"rare": found.rare, "missing": found.missing},
        "chromosomes": list(study.genotypes.parts_by_chromosome()),
        "groups": found.groups,
        "decisions": study.decisions,
        "memory_bytes": found.memory,
        "seconds": {part: round(seconds, 1) for part, seconds in found.seconds.items()},
        "jobs": found.jobs,
    }


def facts(found: dict[str, Any]) -> dict[str, list[str]]:
    """The findings in words."""
    rare, missing = found["left_out"]["rare"], found["left_out"]["missing"]
    parts = ", ".join(f"{part} {duration(seconds)}" for part, seconds in found["seconds"].items())
    return {
        "decisions": found["decisions"],
        "people": [f"{found['people']} with the trait and all covariates"],
        "markers": [f"{found['markers']} of {found['markers_read']} ({rare} too rare, {missing} too often missing)"],
        "groups": [f"about {count} at {name}" for name, count in found["groups"].items()],
        "memory": [f"about {found['memory_bytes'] / 2**30:.2f} GB"],
        "time": [
            f"about {duration(sum(found['seconds'].values()))} on {found['jobs']} core{'s' * (found['jobs'] > 1)}",
            parts,
        ],
    }
