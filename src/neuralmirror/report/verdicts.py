"""Can it be trusted? What decided, what was checked, and under which conditions the level holds, in plain words."""

from __future__ import annotations

import math
from typing import Any

from neuralmirror.report.trust import law_note, sign_note

SMALL = 0.1  # weight below which a part hardly decides
PREDICTS = 0.05  # share of the outcome on unseen rows that chance rarely explains

Note = dict[str, str]
Run = dict[str, Any]


def note(verdict: str, title: str, text: str) -> Note:
    """A finding with its verdict: "good", "caution" or "plain"."""
    return {"verdict": verdict, "title": title, "text": text}


def verdicts(run: Run) -> list[Note]:
    """What was found out about the fit, and what was warned of."""
    trust = run["diagnostics"]
    found = [
        prediction_note(run),
        note(*law_note(trust["law_checks"])),
        note(*sign_note(trust["sign_balance"], trust["sign_balance_upper"])),
        *close_notes(trust["indistinguishable"]),
    ]
    return found + [note("caution", "Said on the way", text) for text in run["warnings"]]


def decided(run: Run) -> str:
    """Which part of the learner decided, in one sentence."""
    weights = run["result"]["part_weights"]
    if "sparse" not in weights:
        return "Networks decided alone, as asked for."
    sparse = "The sparse part (lines, curves and interactions of few features) decided"
    if "network" not in weights:
        return f"{sparse} alone, as asked for."
    named = {"network": "a network for what goes beyond lines", "trees": "boosted trees"}
    beside = {
        f"{name} (weight {weights[part]:.2f})": weights[part] for part, name in named.items() if weights.get(part)
    }
    if not beside:
        return f"{sparse} alone; networks and trees were tried beside it and did not help on rows they had not seen."
    how = "all but alone, with" if max(beside.values()) < SMALL else "together with"
    return f"{sparse} {how} {' and '.join(beside)}; each was weighed on rows that it had not seen."


def prediction_note(run: Run) -> Note:
    """How much of the outcome the fit explains where it has not seen it."""
    shares = run["result"]["explained"]
    total = sum(share for share in shares.values() if share is not None)
    told = ", ".join(f"{name} {max(share, 0.0):.0%}" for name, share in shares.items() if share is not None)
    aside = " The covariates count among the lines." if run["data"]["covariates"] and "lines" in shares else ""
    if total > PREDICTS:
        return note("good", f"{total:.0%} of the outcome is explained on unseen rows", f"By {told}.{aside}")
    text = f"By {told}. What the learner follows may be noise: read a selection with care.{aside}"
    return note("caution", "Next to nothing is explained on unseen rows", text)


def close_notes(names: list[str]) -> list[Note]:
    """Features that the others all but determine."""
    if not names:
        return []
    listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    text = (
        f"{listed}: the others predict more than 99% of each, so its copies all but equal it. Such features are hardly "
        "ever selected, and a neighbour may stand in for them; --prune keeps one of each such set."
    )
    return [note("caution", "Features that cannot be told from others", text)]


def guarantee(run: Run) -> list[str]:
    """The conditions under which the level holds, the first the most general."""
    settings, result = run["settings"], run["result"]
    level, copies = settings["fdr"], result["n_mirrors"]
    lines = []
    if settings["offset"]:
        needed = math.ceil(1 / (copies * level) - 1e-9)
        lines.append(
            f"With {copies} cop{'y' if copies == 1 else 'ies'} per feature something is selected at {level:g} only if "
            f"{needed} or more features stand out together; where fewer matter, nothing is."
        )
    else:
        lines.append(
            "The offset is 0, as in the paper: where few or no features matter, the share of false ones can be far "
            "larger than the level. The offset 1 has no such gap."
        )
    lines += _by_settings(settings)
    return [
        *lines,
        "The level must be fixed before looking. Moving the slider until the set pleases voids the bound.",
        "It breaks when features all but repeat each other, when rows depend on each other (relatives, repeated "
        "measurements, time), and when copies do not follow the law of their features given the others.",
        "Selected means: carries information on the outcome that the other features do not. A cause that was not "
        "measured can make a feature so.",
    ]


def _by_settings(settings: dict[str, Any]) -> list[str]:
    lines = []
    if settings["noise"] == "independent":
        lines.append(
            "The copies are independent noise, as in the paper: with correlated features and a flexible learner the "
            "share of false ones can exceed the level."
        )
    if settings["screen"] is not None:
        lines.append(
            f"Only features that passed a screening (screen={settings['screen']}) could be selected; the others stand "
            "with M = 0, which says nothing about them."
        )
    if settings["n_repeats"] > 1:
        lines.append(
            f"The bound is for one draw of the copies. Here {settings['n_repeats']} draws vote and at least half must "
            "agree, which makes the set more stable; that the bound holds for the vote is experience, not proof."
        )
    return lines
