"""`neuralmirror reproduce`: run the paper's tables and figures, and render them from the records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from neuralmirror.studies.pages import write_page, write_summary
from neuralmirror.studies.real_data import find_data
from neuralmirror.studies.records import read_records
from neuralmirror.studies.scenarios import available_cores
from neuralmirror.studies.study import chosen_methods, load_study, run_study, study_names

RECORDS = Path("results")
PAGES = Path("docs/results")
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
    pages: Path | None = None,
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
        auto, cpu or cuda. On a GPU the replicates of simultaneous mirrors are trained as one batch.
    jobs
        Processes on the cores; all of them by default.
    data
        The measured data of tomato and roc (PLINK, NPZ or CSV) or of hiv (PI_DATA.txt with PI_TSM.txt beside it), or
        the folder that holds tomato_bauchet and hiv_drug_resistance.
    smoke
        A tiny version that takes seconds; everything goes to smoke-results.
    table
        Render the pages from the records without running anything.
    records
        Folder of the records, a file of JSON lines for each study.
    pages
        Folder of the pages.
    quiet
        No progress bar.
    """
    chosen = study_names() if every or (table and not names) else list(names)
    if not chosen:
        _list()
        return
    folder, out = records or (SMOKE if smoke else RECORDS), pages or (SMOKE if smoke else PAGES)
    studies = [load_study(name, smoke) for name in chosen]
    for needed in {study.data for study in studies if study.data and not table}:
        find_data(needed, data)  # missing data stop a run at its beginning
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


def _list() -> None:
    console = Console()
    for study in map(load_study, study_names()):
        console.print(f"{study.name:20} {study.title} ({study.time})", highlight=False)
