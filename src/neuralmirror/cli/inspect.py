"""`neuralmirror inspect`: what select would do with a file. Heavy imports wait until the command runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from neuralmirror.cli.options import AS_IT_IS, Reading

if TYPE_CHECKING:
    pass
from neuralmirror.cli.options import request_from


def inspect(
    data: Path,
    /,
    *,
    reading: Reading = AS_IT_IS,
    covar: Path | None = None,
    covariates: str = "",
    scheme: Literal["simultaneous", "individual"] = "simultaneous",
    n_mirrors: str | None = None,
    n_repeats: int | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Say what `select` would do: shapes, types, missing values, cleaning, memory and time. Nothing is written.

    Parameters
    ----------
    data
        The file, as for `select`.
    covar
        File with covariates, joined by sample id.
    covariates
        Columns of the data that are covariates, separated by commas.
    scheme
        One network with every feature mirrored, or one network per feature.
    n_mirrors
        Noises per feature.
    n_repeats
        Independent draws.
    as_json
        Print the findings as JSON.
    """
    from neuralmirror.cli import estimates

    findings = estimates.inspect(request_from(locals()))
    if as_json:
        print(json.dumps(findings, indent=2, ensure_ascii=False))
    else:
        _show_findings(findings)


def _show_findings(findings: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in findings.items():
        lines = value if isinstance(value, list) else [str(value)]
        table.add_row(name.replace("_", " "), "\n".join(lines) or "nothing", style=None)
    Console().print(table, highlight=False, markup=False)
