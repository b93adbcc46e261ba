"""The command `compare`. Heavy imports wait until it runs, so that help is instant."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from neuralmirror._internal.cluster import cluster as connected
from neuralmirror._internal.output import check_folder, check_writable, results_folder, write_csv, write_json
from neuralmirror.cli.options import (
    AS_IT_IS,
    AsJson,
    Fdr,
    Fitting,
    Jobs,
    Out,
    Reading,
    TaskName,
    Whole,
    listed,
    request_for,
)
from neuralmirror.cli.terminal import print_json, say, show_table
from neuralmirror.cli.threads import core_count, threads

if TYPE_CHECKING:
    from neuralmirror.comparison import Comparison
    from neuralmirror.io.cleaning import Cleaned
    from neuralmirror.report.request import Request

SCHEMA = 1
SHOWN = 30  # features on the terminal; selections.csv holds all
OUT = Path("neuralmirror-comparison")


@Parameter(name="*")
@dataclass(frozen=True)
class Terms:
    """The terms on which all methods are compared."""

    fdr: Fdr = 0.1
    """False discovery rate: the largest acceptable expected share of false features among those selected."""
    task: TaskName = "auto"
    """What the target is; auto takes text, and numbers of exactly two values, as classes."""
    seed: Whole = 0
    """Fixes every draw."""
    device: str = "auto"
    """auto, cpu or cuda."""
    jobs: Jobs = None
    """Cores to use, for all threads together; those available to the process by default."""

    def settings(self) -> dict[str, Any]:
        """Arguments of `neuralmirror.compare`."""
        jobs = core_count(self.jobs)
        return {
            "fdr": self.fdr,
            "task": self.task,
            "random_state": self.seed,
            "device": self.device,
            "n_jobs": jobs,
        }


EQUAL = Terms()


def compare(
    data: Path,
    /,
    *,
    reading: Reading = AS_IT_IS,
    terms: Terms = EQUAL,
    methods: str = "",
    out: Out = OUT,
    cluster: str | None = None,
    force: bool = False,
    quiet: bool = False,
    as_json: AsJson = False,
) -> None:
    """Select with several methods on the same data: who selected what, their agreement and their seconds.

    Leaves selections.csv, agreement.csv, comparison.json and comparison.png in the output folder. All methods get the
    same level and the offset 1; the columns of a category are one feature.

    Parameters
    ----------
    data
        CSV or TSV (also .gz), Parquet, Feather, NPZ, PLINK .bed or .pgen, BGEN, VCF (also .gz) or AnnData .h5ad.
    methods
        Separated by commas, out of neural-mirror, gaussian-mirror, lasso-mirror, model-x, fixed-x, deeppink, bh, by
        and bh-marginal; by default neural-mirror, gaussian-mirror, model-x, deeppink and bh.
    out
        Folder for the results.
    cluster
        Address of a Dask scheduler (tcp://HOST:8786) or of Ray (ray://HOST:10001) where the methods run, one a worker.
    force
        Replace results in the output folder.
    quiet
        Print nothing but errors.
    as_json
        Print the outcome as JSON, the record of comparison.json.
    """
    check_folder(out, force)
    check_writable(out)
    request = request_for(data, reading, Fitting(fdr=terms.fdr, task=terms.task, jobs=terms.jobs))
    with threads(terms.jobs), connected(cluster):
        result, told = answered(request, listed(methods), terms)
    asked = {"data": data.name, "fdr": terms.fdr, "offset": 1, "seed": terms.seed, "decisions": told}
    record = described(result, asked)
    with results_folder(out, force) as folder:
        write(folder, result, record)
    if as_json:
        print_json(record)
    elif not quiet:
        show(result, told, out)


def answered(request: Request, methods: tuple[str, ...], terms: Terms) -> tuple[Comparison, list[str]]:
    """Read, clean and compare; the comparison and what was decided about the data."""
    from neuralmirror.report.decisions import decisions
    from neuralmirror.report.run import read

    loaded, cleaned = read(request)
    return compared(cleaned, methods, terms.settings()), decisions(loaded, cleaned, terms.task)


def compared(cleaned: Cleaned, methods: tuple[str, ...], settings: dict[str, Any]) -> Comparison:
    """All methods on the cleaned data, categories kept whole and covariates set apart."""
    import numpy as np

    from neuralmirror import comparison

    p, c = len(cleaned.names), len(cleaned.covariate_names)
    labels = [*cleaned.groups, *(f"covariate {name}" for name in cleaned.covariate_names)]
    x = np.hstack([cleaned.x, cleaned.covariates])
    sides: dict[str, Any] = {"covariates": list(range(p, p + c)), "feature_groups": labels}
    return comparison.compare(x, cleaned.y, methods or comparison.USUAL, **settings, **sides)


def described(result: Comparison, settings: dict[str, Any]) -> dict[str, Any]:
    """Everything that comparison.json says."""
    methods = [
        {
            "method": entry.method,
            "applies": entry.applies,
            "selected": [name for name, chosen in zip(result.features, entry.support, strict=True) if chosen],
            "mirrors": entry.mirrors,
            "seconds": round(entry.seconds, 3),
            "note": entry.note,
            "warnings": list(entry.warnings),
        }
        for entry in result.entries
    ]
    pairs = zip(result.methods, _rounded(result), strict=True)
    agreement = {
        a: dict(zip(result.methods, (None if share == "" else share for share in row), strict=True)) for a, row in pairs
    }
    return {"schema": SCHEMA, **settings, "methods": methods, "agreement": agreement}


def write(folder: Path, result: Comparison, record: dict[str, Any]) -> None:
    """The four files of a comparison."""
    from matplotlib.figure import Figure

    table = result.table()
    write_csv(folder / "selections.csv", list(table), _lower_case(zip(*table.values(), strict=True)))
    shares = [[method, *row] for method, row in zip(result.methods, _rounded(result), strict=True)]
    write_csv(folder / "agreement.csv", ["method", *result.methods], shares)
    write_json(folder / "comparison.json", record)
    figure = Figure(figsize=(2 + 0.9 * len(result.entries), 8), layout="constrained")
    result.plot(ax=figure.subplots())
    figure.savefig(folder / "comparison.png", dpi=150)


def show(result: Comparison, told: list[str], out: Path) -> None:
    """Methods, agreement and selected features, on the terminal."""
    warned = dict.fromkeys(text for entry in result.entries for text in entry.warnings)
    for line in (*told, *warned):
        say(f"• {line}")
    rows = [
        (
            entry.method,
            str(int(entry.support.sum())) if entry.applies else "–",
            f"{entry.seconds:.2f}",
            "" if entry.support.any() else entry.note,
        )
        for entry in result.entries
    ]
    show_table(("method", "selected", "seconds", "note"), rows)
    shares = zip(result.methods, _rounded(result), strict=True)
    show_table(("agreement (Jaccard)", *result.methods), [(method, *map(str, row)) for method, row in shares])
    _show_features(result)
    say(f"Results in {out}")


def _show_features(result: Comparison) -> None:
    columns = result.table()
    chosen = sum(votes > 0 for votes in columns["votes"])
    rows = list(zip(*columns.values(), strict=True))[: min(SHOWN, chosen)]
    show_table(("feature", *result.methods), [(row[0], *("yes" if one else "" for one in row[1:-1])) for row in rows])
    if chosen > len(rows):
        say(f"and {chosen - len(rows)} more in selections.csv")


def _rounded(result: Comparison) -> list[list[float | str]]:
    """Agreement to two digits; nothing where two selections are empty, and beside a method that does not apply."""
    return [["" if share != share else round(float(share), 2) for share in row] for row in result.agreement()]


def _lower_case(rows: Any) -> list[list[Any]]:
    return [[str(cell).lower() if isinstance(cell, bool) else cell for cell in row] for row in rows]
