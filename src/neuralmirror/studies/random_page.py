"""The page of the random designs: how FDP spreads around the level, and where it does not hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from neuralmirror.evaluation import Record
from neuralmirror.studies.pages import write_below
from neuralmirror.studies.random_designs import PUBLISHED
from neuralmirror.studies.tables import NOTHING, markdown
from neuralmirror.summaries import mean_and_error
from neuralmirror.truth import win_share

TEXT = """\
# Random designs

Designs drawn at random: correlation, marginals, n, p, the number of relevant features, the signal's share, the link,
the kind of y and the level all vary ([random_designs.py](../../src/neuralmirror/studies/random_designs.py)). The seed
and the index of a design fix everything. Seeds 1 to 99 are for development: look at them as often as you like. Seeds
from 1000 on are for publication: they are run when nothing is changed any more.

```sh
neuralmirror trial --random 400 --seed 1 --records random.jsonl         # development
neuralmirror trial --random 400 --seed 1000 --records random.jsonl      # publication; --data adds measured columns
neuralmirror trial --random-table --records random.jsonl --page random.md
```

"Excess" is the mean of FDP − level ± one standard error over designs; ✗: above zero by more than two of them, so that
the FDR is not held. "Nulls won" is the share of irrelevant features whose own direction beat all its noises, beside the
1/(K+1) that is expected; "upper tail" is the same among the half of them with larger |M|. "Oracle" is the power of the
same ranking when the true FDP may be used to cut it; designs in which nothing matters count in neither power."""

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
Key = Callable[[Record], str]


def write_random(records: Sequence[Record], page: Path) -> None:
    """The tables of all methods; what stands above the mark is kept."""
    write_below(page, TEXT, random_tables(records))


def random_tables(records: Sequence[Record]) -> str:
    """Published seeds where there are any, else those of development, which are no result."""
    drawn = [one for one in records if one.get("bench") == "random"]
    if not drawn:
        raise ValueError("the records hold no random designs; run `neuralmirror trial --random 100` first")
    published = [one for one in drawn if one["random_seed"] >= PUBLISHED]
    shown = published or drawn
    seeds = ", ".join(str(seed) for seed in sorted({one["random_seed"] for one in shown}))
    head = f"Seeds {seeds}, published." if published else f"Seeds {seeds}: development, no result to publish."
    methods = _grouped([one for one in shown if "refused" not in one], lambda one: str(one["method"]))
    parts = [f"## {method}\n\n{_method(fits)}" for method, fits in methods.items()]
    return "\n".join([f"{head}\n", _overall(methods), _refusals(shown), *parts])


def _refusals(records: Sequence[Record]) -> str:
    """On how many designs each method does not apply."""
    refused = _grouped([one for one in records if "refused" in one], lambda one: str(one["method"]))
    lines = [
        f"{method} does not apply to {len({one['row'] for one in fits})} designs (the first: {fits[0]['refused']})."
        for method, fits in refused.items()
    ]
    return "".join(f"{line}\n\n" for line in lines)


def _overall(methods: Mapping[str, list[Record]]) -> str:
    head = ["method", *HEAD]
    spread = ["method", *(f"{q:.0%}" for q in QUANTILES), "largest", "above the level"]
    lines = [[name, *_line(fits)] for name, fits in methods.items()]
    quantiles = [[name, *_spread(fits)] for name, fits in methods.items()]
    return f"{markdown(head, lines)}\nQuantiles of the FDP over fits:\n\n{markdown(spread, quantiles)}"


def _method(fits: Sequence[Record]) -> str:
    tables = []
    for name, key in FAMILIES.items():
        groups = _grouped(fits, key)
        order = CLASSES if name == "n/p" else sorted(groups)
        lines = [[group, *_line(groups[group])] for group in order if group in groups]
        tables.append(markdown([name, *HEAD], lines))
    return "\n".join(tables)


HEAD = ["designs", "excess", "nulls won", "upper tail", "expected", "power", "oracle", "seconds"]


def _line(fits: Sequence[Record]) -> list[str]:
    excess, error = mean_and_error(_by_design(fits, lambda one: one["fdp"] - one["fdr"]))
    mark = " ✗" if excess > 2 * error > 0 else ""
    able = [one for one in fits if one["k"]]
    powers = [_by_design(able, lambda one, key=key: one[key]) for key in ("power", "oracle_power")]  # type: ignore[misc]
    return [
        str(len({one["row"] for one in fits})),
        f"{excess:+.3f} ± {error:.3f}{mark}",
        _share(fits, "null"),
        _share(fits, "tail"),
        _expected(fits),
        *(f"{np.mean(values):.3f}" if len(values) else NOTHING for values in powers),
        f"{np.median([one['seconds'] for one in fits]):.1f}",
    ]


def _spread(fits: Sequence[Record]) -> list[str]:
    fdp = np.array([one["fdp"] for one in fits])
    above = np.mean([one["fdp"] > one["fdr"] for one in fits])
    return [*(f"{value:.3f}" for value in np.quantile(fdp, QUANTILES)), f"{fdp.max():.3f}", f"{above:.0%}"]


def _share(fits: Sequence[Record], part: str) -> str:
    """The pooled share of nulls won."""
    share = win_share(*(sum(one[f"{part}_{side}"] for one in fits) for side in ("won", "lost")))
    return NOTHING if share is None else f"{share:.2f}"


def _expected(fits: Sequence[Record]) -> str:
    """1/(K+1), as often as a null has a sign."""
    signs = np.array([one["null_won"] + one["null_lost"] for one in fits])
    shares = np.array([one["expected_share"] for one in fits])
    return f"{(signs * shares).sum() / signs.sum():.2f}" if signs.sum() else NOTHING


def _by_design(fits: Sequence[Record], value: Callable[[Record], float]) -> list[float]:
    """The mean over the fits of each design: fits of one design are not independent evidence."""
    groups = _grouped(fits, lambda one: str(one["row"]))
    return [float(np.mean([value(one) for one in group])) for group in groups.values()]


def _grouped(records: Sequence[Record], key: Key) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = defaultdict(list)
    for one in records:
        groups[key(one)].append(one)
    return groups


CLASSES = ("below 1", "1 to 3", "3 to 10", "above 10")  # of n/p


def _rows_per_column(one: Record) -> str:
    return CLASSES[int(np.searchsorted([1, 3, 10], one["n"] / one["p"], side="right"))]


FAMILIES: dict[str, Key] = {
    "design": lambda one: str(one["design"]),
    "link": lambda one: str(one["link_family"]),
    "y": lambda one: str(one["response"]),
    "n/p": _rows_per_column,
    "level": lambda one: f"{one['fdr']:g}",
}
