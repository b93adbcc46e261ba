"""Pages of results: text that people write above a mark, tables and figures from the records below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from neuralmirror.evaluation import Record
from neuralmirror.studies.figures import has_figure, write_figure
from neuralmirror.studies.reproduction import verdicts
from neuralmirror.studies.study import Study
from neuralmirror.studies.tables import TABLES

MARK = "<!-- from the records -->"
NOTES = {
    "selections": """\
Means over replicates ± one standard error; the paper prints none. ✗: the FDR is above the level by more than two
standard errors. ✓: at least the power of the best neural mirror in the paper, printed or claimed. –: not printed, or
not run yet. `-paper` are the paper's own settings, and `default` is `NeuralGaussianMirror()`.""",
    "roc": "Features are ranked by their mirror or knockoff statistics. Means over replicates ± one standard error.",
    "histogram": "Statistics are divided by the largest of their fit. Nulls without a sign count on neither side.",
    "times": "Medians. Mirrors are built on the device named in the head of the table, knockoffs on the CPU.",
    "positions": "Means over seeds of the methods; the data are always the same.",
}
SUMMARY_HEAD = "# What reproduces, what does not, and why"


def write_page(study: Study, records: Sequence[Record], page: Path) -> None:
    """The page of one study with its figure in images/; what stands above the mark is kept."""
    body = TABLES[study.render](study, records)
    if records and has_figure(study):
        image = page.parent / "images" / f"{study.name}.svg"
        write_figure(study, records, image)
        body = f"![{study.title}](images/{image.name})\n\n{body}"
    write_below(page, _head(study), f"{NOTES[study.render]}\n\n{body}")


def write_summary(studies: Sequence[Study], records: Mapping[str, Sequence[Record]], page: Path) -> None:
    """The verdicts over all studies; what stands above the mark is kept."""
    write_below(page, SUMMARY_HEAD, verdicts(studies, records))


def write_below(page: Path, head: str, body: str) -> None:
    """Replace what stands below the mark; a new page begins with `head`."""
    page.parent.mkdir(parents=True, exist_ok=True)
    above = page.read_text(encoding="utf-8").split(MARK)[0] if page.exists() else head
    page.write_text(f"{above.rstrip()}\n\n{MARK}\n\n{body.rstrip()}\n", encoding="utf-8")


def _head(study: Study) -> str:
    run = f"neuralmirror reproduce {study.name} --device cuda{' --data FILE' if study.data else ''}"
    render = f"neuralmirror reproduce {study.name} --table --records results --pages docs/results"
    source = f"[{study.name}.toml](../../src/neuralmirror/studies/definitions/{study.name}.toml)"
    return (
        f"# {study.title}\n\n{study.place}.\n\n{study.about.strip()}\n\n"
        f"```sh\n{run}   # {study.time}\n{render:{len(run)}}   # renders this page from the records\n```\n\n"
        f"The study is described in {source};\nevery fit is a line of `results/{study.name}.jsonl`."
    )
