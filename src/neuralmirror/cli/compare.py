"""The command `compare`. Heavy imports wait until it runs, so that help is instant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralmirror._internal.output import check_folder, results_folder, write_csv, write_json
from neuralmirror.cli.options import AS_IT_IS, Fdr, Out, Reading, listed

if TYPE_CHECKING:
    from rich.console import Console

    from neuralmirror.comparison import Comparison

SHOWN = 30  # features on the terminal; selections.csv holds all


def compare(
    data: Path,
    /,
    *,
    reading: Reading = AS_IT_IS,
    methods: str = "",
    out: Out = Path("comparison"),
    fdr: Fdr = 0.1,
    seed: int = 0,
    force: bool = False,
    quiet: bool = False,
) -> None:
    """Select with several methods on the same data: who selected what, their agreement and their seconds.

    Leaves selections.csv, agreement.csv, comparison.json and comparison.png in the output folder.

    Parameters
    ----------
    data
        CSV or TSV (also .gz), Parquet, Feather, NPZ, PLINK .bed or .pgen, VCF (also .gz) or AnnData .h5ad.
    methods
        Separated by commas, out of neural-mirror, gaussian-mirror, lasso-mirror, model-x, fixed-x, deeppink, bh, by
        and bh-marginal; by default neural-mirror, gaussian-mirror, model-x, deeppink and bh.
    out
        Folder for the results.
    fdr
        False discovery rate: the largest acceptable expected share of false features among those selected.
    seed
        Fixes every draw.
    force
        Replace results in the output folder.
    quiet
        Print nothing but errors.
    """
    rules = reading.rules()
    check_folder(out, force)
    from neuralmirror import comparison
    from neuralmirror.io import cleaning, loading

    wanted = listed(methods) or comparison.USUAL
    cleaned = cleaning.clean(loading.load(reading.source(data)), rules)
    result = comparison.compare(cleaned.x, cleaned.y, wanted, fdr=fdr, random_state=seed)
    result = comparison.Comparison(tuple(cleaned.names), result.entries)
    with results_folder(out, force) as folder:
        write(folder, result, {"fdr": fdr, "seed": seed, "data": data.name, "cleaning": list(cleaned.steps)})
    if not quiet:
        show(result, cleaned.steps, out)


def write(folder: Path, result: Comparison, settings: dict[str, Any]) -> None:
    """The four files of a comparison."""
    from matplotlib import pyplot as plt

    table = result.table()
    write_csv(folder / "selections.csv", list(table), _lower_case(zip(*table.values(), strict=True)))
    shares = [[method, *row] for method, row in zip(result.methods, _rounded(result), strict=True)]
    write_csv(folder / "agreement.csv", ["method", *result.methods], shares)
    summary = result.summary()
    rows = [dict(zip(summary, row, strict=True)) for row in zip(*summary.values(), strict=True)]
    write_json(folder / "comparison.json", {**settings, "methods": rows})
    ax = result.plot()
    ax.figure.savefig(folder / "comparison.png", dpi=150)  # type: ignore[union-attr]
    plt.close(ax.figure)  # type: ignore[arg-type]


def show(result: Comparison, steps: tuple[str, ...], out: Path) -> None:
    """Methods, agreement and selected features, on the terminal."""
    from rich.console import Console

    console = Console()
    told = dict.fromkeys(text for entry in result.entries for text in entry.warnings)
    for line in (*steps, *told):
        console.print(f"• {line}", highlight=False, soft_wrap=True, markup=False)
    _show_methods(console, result)
    _show_agreement(console, result)
    _show_features(console, result)
    console.print(f"Results in {out}", highlight=False, soft_wrap=True, markup=False)


def _show_methods(console: Console, result: Comparison) -> None:
    from rich.table import Table

    table = Table("method", "selected", "seconds", "note")
    for entry in result.entries:
        count = str(int(entry.support.sum())) if entry.applies else "–"
        note = entry.note if not entry.support.any() else ""
        table.add_row(entry.method, count, f"{entry.seconds:.2f}", note)
    console.print(table, markup=False)


def _show_agreement(console: Console, result: Comparison) -> None:
    from rich.table import Table

    table = Table("agreement (Jaccard)", *result.methods)
    for method, row in zip(result.methods, _rounded(result), strict=True):
        table.add_row(method, *(str(share) for share in row))
    console.print(table, markup=False)


def _show_features(console: Console, result: Comparison) -> None:
    from rich.table import Table

    columns = result.table()
    votes = columns["votes"]
    table = Table("feature", *result.methods)
    for row in list(zip(*columns.values(), strict=True))[: min(SHOWN, sum(v > 0 for v in votes))]:
        table.add_row(row[0], *("yes" if chosen else "" for chosen in row[1:-1]))
    console.print(table, markup=False)
    more = sum(v > 0 for v in votes) - table.row_count
    if more > 0:
        console.print(f"and {more} more in selections.csv")


def _rounded(result: Comparison) -> list[list[float | str]]:
    """Agreement to two digits, nothing beside a method that does not apply."""
    return [["" if share != share else round(float(share), 2) for share in row] for row in result.agreement()]


def _lower_case(rows: Any) -> list[list[Any]]:
    return [[str(cell).lower() if isinstance(cell, bool) else cell for cell in row] for row in rows]
