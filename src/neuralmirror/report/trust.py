"""Two checks that can fail, as verdict, title and text: do copies look like features, and are the nulls symmetric?"""

from __future__ import annotations

from collections.abc import Mapping

LAW_ALARM = 3.0  # standard errors from what is expected beyond which a check of the copies fails
SIGN_ALARM = 0.01  # two-sided p-value of wins and losses below which the page warns

Told = tuple[str, str, str]


def law_note(checks: Mapping[str, Mapping[str, float]]) -> Told:
    """Whether copies can be told from their features, in either direction."""
    if not checks:
        return (
            "plain",
            "Copies were not checked",
            "There is no conditional law to check with this noise or this few features.",
        )
    words = "; ".join(
        f"“{name}”: features lead their copies in {found['share']:.0%} of columns, {found['expected']:.0%} expected "
        f"(z = {round(found['z'], 1) + 0.0:+.1f}, {'fails' if abs(found['z']) > LAW_ALARM else 'passes'})"
        for name, found in checks.items()
    )
    failed = [name for name, found in checks.items() if abs(found["z"]) > LAW_ALARM]
    if not failed:
        return "good", "Copies cannot be told from their features", f"{words}."
    more = "A learner could tell them apart without the outcome, so false features may win more often than is counted."
    return "caution", "Copies can be told from their features", f"{words}. {more}"


def sign_note(overall: Mapping[str, float], upper: Mapping[str, float]) -> Told:
    """Whether the features left out win and lose as features that do not matter would."""
    text = f"Of the features left out, {_counts(overall)}; among the larger half of them, {_counts(upper)}."
    worst = min((overall, upper), key=lambda one: one["p_value"])
    if not overall["won"] + overall["lost"]:
        return "plain", "No feature left out won or lost", "There is nothing to compare."
    if worst["p_value"] >= SIGN_ALARM:
        return "good", "The features left out win and lose as nulls do", text
    if _share(worst) > worst["expected"]:
        more = " Either weak true features are among them, or signal leaks onto correlated ones."
        return "caution", "The features left out win too often", text + more
    more = (
        " Copies win where they should not: the count of false ones is then too high, and true features may be missed."
    )
    return "caution", "The features left out lose too often", text + more


def _counts(one: Mapping[str, float]) -> str:
    return (
        f"{int(one['won'])} beat their copies and {int(one['lost'])} lost ({_share(one):.0%} won, "
        f"{one['expected']:.0%} expected if none matters; two-sided p = {one['p_value']:.2g})"
    )


def _share(one: Mapping[str, float]) -> float:
    return one["won"] / max(one["won"] + one["lost"], 1)
