"""An analysis of whole genomes: from files to a folder of results, all of it or nothing; what is complete is kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from neuralmirror._internal.cache import fingerprint
from neuralmirror._internal.output import check_folder, check_writable, results_folder, write_json
from neuralmirror.genome.estimator import CUTS, GenomeMirror
from neuralmirror.report.genome_page import render_genome
from neuralmirror.report.genome_record import describe
from neuralmirror.report.genome_request import GenomeRequest, Study, read_study
from neuralmirror.report.pieces import completed_pieces, count_pieces
from neuralmirror.report.resolutions import write_groups
from neuralmirror.report.run import Clock

FILES = ("resolutions.csv", "run.json", "report.html")
MARKER_BYTES = 20  # that one marker takes on disk at most, in all files together
FREE = ("fdr", "offset", "n_jobs")  # may change between two attempts of one run


def analyse(
    request: GenomeRequest,
    out: Path,
    *,
    force: bool = False,
    progress: bool | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Read, fit and write; return the record that run.json holds. `tell` hears of each decision before the fit."""
    request.check()
    check_folder(out, force)
    check_writable(out)
    clock = Clock()
    with clock("reading"):
        study = read_study(request)
    check_writable(out, (1 << 20) + MARKER_BYTES * study.genotypes.n_markers)
    for line in study.decisions:
        tell(line)
    with completed_pieces(out, run_fingerprint(request, study)) as pieces:
        if count_pieces(pieces):
            tell(f"taking up {count_pieces(pieces)} completed pieces of a run that was cut off")
        mirror = mirror_for(request, study, progress=progress, checkpoint=pieces)
        with clock("fitting"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mirror.fit(study.genotypes, study.people.y, study.people.covariates, study.offsets)
        record = describe(request, study, mirror, list(dict.fromkeys(str(w.message) for w in caught)))
        parts = {part: round(seconds, 3) for part, seconds in mirror.seconds_.items()}
        record["seconds"] = {"reading": clock.seconds["reading"], **parts, "fitting": clock.seconds["fitting"]}
        with results_folder(out, force) as folder:
            write_groups(folder, record["resolutions"])
            write_json(folder / "run.json", record)
            (folder / "report.html").write_text(render_genome(folder), encoding="utf-8")
    return record


def mirror_for(request: GenomeRequest, study: Study, **more: Any) -> GenomeMirror:
    """The estimator as it was asked for."""
    return GenomeMirror(study.resolutions or CUTS, **request.parameters, **more)


def run_fingerprint(request: GenomeRequest, study: Study) -> str:
    """A name for this work, so that another command with the same folder leaves its pieces alone."""
    parameters = {name: value for name, value in request.parameters.items() if name not in FREE}
    files = [(str(path.resolve()), path.stat().st_size) for path in request.files if path.is_file()]
    people = np.asarray(study.people.y).astype(str), study.people.covariates
    return fingerprint(people, (parameters, files, request.resolving))
