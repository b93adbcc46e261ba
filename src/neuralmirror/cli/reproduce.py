"""`neuralmirror reproduce`: run the paper's tables and figures, and render them from the records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from neuralmirror.io.tables import DataError
from neuralmirror.studies.pages import write_page, write_summary
from neuralmirror.studies.real_data import find_data
from neuralmirror.studies.records import read_records
from neuralmirror.studies.scenarios import available_cores
from neuralmirror.studies.study import Study, chosen_methods, load_study, run_study, study_names

FOLDER = Path("neuralmirror-results")
SMOKE = Path("smoke-results")


def reproduce(
    *names: str,
    every: Annotated[bool, Parameter(name="--all")] = False,
    method: Annotated[list[str] | None, Parameter(name=["--method", "-m"])] = None,
    replicates: int | None = None,
    device: str = "auto",
    jobs: int | None = None,
    data: Path | None = None,
    smoke: bool = False,
    table: bool = False,
    records: Path | None = None,
    pages: Annotated[Path | None, Parameter(name=["--pages", "--page"])] = None,
    quiet: bool = False,
) -> None:
    """Reproduce a table or figure of the paper: run what its records do not hold yet, then render its page.

    Without a name it lists the studies.

    Parameters
    ----------
    names
        Studies, such as single-index or tomato.
    every
        All studies.
    method
        Only this method of the study; repeat for several.
    replicates
        Fits of each method in each cell, instead of the study's own numbers.
    device
        auto, cpu or cuda.
    jobs
        Processes on the cores; all of them by default.
    data
        The measured data of tomato and roc (PLINK, NPZ or CSV) or of hiv (PI_DATA.txt with PI_TSM.txt beside it), or
        the folder that holds tomato_bauchet and hiv_drug_resistance; also by NEURALMIRROR_DATA. With --all the
        studies without their data are left out.
    smoke
        A tiny version that takes seconds; everything goes to smoke-results.
    table
        Render the pages from the records without running anything.
    records
        Folder of the records, a file of JSON lines for each study; neuralmirror-results by default.
    pages
        Folder of the pages; neuralmirror-results by default.
    quiet
        No progress bar.
    """
    chosen = study_names() if every or (table and not names) else list(names)
    if not chosen:
        _list()
        return
    folder, out = (given or (SMOKE if smoke else FOLDER) for given in (records, pages))
    studies = [load_study(name, smoke) for name in chosen]
    if not table:
        studies = _with_data(studies, data, every)
    for study in studies:
        path = folder / f"{study.name}.jsonl"
        if not table:
            run_study(
                study,
                path,
                methods=chosen_methods(study, method, replicates),
                device=device,
                n_jobs=jobs or available_cores(),
                data=data,
                smoke=smoke,
                show=not quiet,
            )
        write_page(study, read_records(path), out / f"{study.name}.md")
        Console().print(f"{out / study.name}.md", highlight=False)
    everything = [load_study(name, smoke) for name in study_names()]
    write_summary(everything, {s.name: read_records(folder / f"{s.name}.jsonl") for s in everything}, out / "README.md")


def _with_data(studies: list[Study], data: Path | None, every: bool) -> list[Study]:
    """Missing data stop a run at its beginning; of all studies, those without their data are left out with a line."""
    ready = []
    for study in studies:
        try:
            if study.data is not None:
                find_data(study.data, data)
            ready.append(study)
        except DataError as error:
            if not every:
                raise
            Console().print(f"{study.name} is left out: {error}", highlight=False, soft_wrap=True, markup=False)
    return ready


def _list() -> None:
    console = Console()
    for study in map(load_study, study_names()):
        console.print(f"{study.name:20} {study.title} ({study.time})", highlight=False)
