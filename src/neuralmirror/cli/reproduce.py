"""`neuralmirror reproduce`: run the paper's tables and figures, and render them from the records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from neuralmirror._internal.cluster import cluster as connected
from neuralmirror.io.tables import DataError
from neuralmirror.studies.pages import write_page, write_summary
from neuralmirror.studies.real_data import find_data
from neuralmirror.studies.records import read_records
from neuralmirror.studies.scenarios import available_cores
from neuralmirror.studies.study import Study, chosen_methods, load_study, run_study, study_names

FOLDER = Path("neuralmirror-results")
SMOKE = Path("smoke-results")


@Parameter(name="*")
@dataclass(frozen=True)
class Work:
    """What runs, and where records and pages lie."""

    method: Annotated[list[str] | None, Parameter(name=["--method", "-m"])] = None
    """Only this method of the study; repeat for several."""
    replicates: int | None = None
    """Fits of each method in each cell, instead of the study's own numbers."""
    device: str = "auto"
    """auto, cpu or cuda."""
    jobs: int | None = None
    """Processes; one for each core by default."""
    cluster: str | None = None
    """Address of a Dask scheduler (tcp://HOST:8786) or of Ray (ray://HOST:10001) where the fits run."""
    data: Path | None = None
    """The measured data of tomato and roc (PLINK, NPZ or CSV) or of hiv (PI_DATA.txt with PI_TSM.txt beside it), or the
    folder that holds tomato_bauchet and hiv_drug_resistance; also by NEURALMIRROR_DATA."""
    smoke: bool = False
    """A tiny version that takes seconds; everything goes to smoke-results."""
    records: Path | None = None
    """Folder of the records, a file of JSON lines for each study; neuralmirror-results by default."""
    pages: Annotated[Path | None, Parameter(name=["--pages", "--page"])] = None
    """Folder of the pages; neuralmirror-results by default."""
    quiet: bool = False
    """No progress bar."""

    def file(self, study: Study) -> Path:
        """The records of a study."""
        return (self.records or self._usual) / f"{study.name}.jsonl"

    @property
    def out(self) -> Path:
        """The folder of the pages."""
        return self.pages or self._usual

    @property
    def _usual(self) -> Path:
        return SMOKE if self.smoke else FOLDER


WORK = Work()


def reproduce(
    *names: str, every: Annotated[bool, Parameter(name="--all")] = False, table: bool = False, work: Work = WORK
) -> None:
    """Reproduce a table or figure of the paper: run what its records do not hold yet, then render its page.

    Without a name it lists the studies.

    Parameters
    ----------
    names
        Studies, such as single-index or tomato.
    every
        All studies; those whose measured data are not given are left out.
    table
        Render the pages from the records without running anything.
    """
    chosen = study_names() if every or (table and not names) else list(names)
    if not chosen:
        _list()
        return
    studies = [load_study(name, work.smoke) for name in chosen]
    for study in studies if table else _with_data(studies, work.data, every):
        if not table:
            _run(study, work)
        write_page(study, read_records(work.file(study)), work.out / f"{study.name}.md")
        _say(f"{work.out / study.name}.md")
    everything = [load_study(name, work.smoke) for name in study_names()]
    write_summary(everything, {s.name: read_records(work.file(s)) for s in everything}, work.out / "README.md")


def _run(study: Study, work: Work) -> None:
    with connected(work.cluster):
        run_study(
            study,
            work.file(study),
            methods=chosen_methods(study, work.method, work.replicates),
            device=work.device,
            n_jobs=work.jobs or available_cores(),
            data=work.data,
            smoke=work.smoke,
            show=not work.quiet,
        )


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
            _say(f"{study.name} is left out: {error}")
    return ready


def _say(text: str) -> None:
    Console().print(text, highlight=False, soft_wrap=True, markup=False)


def _list() -> None:
    for study in map(load_study, study_names()):
        _say(f"{study.name:20} {study.title} ({study.time})")
