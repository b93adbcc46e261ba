"""What was found as small pictures: effect curves, interactions and shares as numbers that the page draws."""

from __future__ import annotations

from typing import Any

from neuralmirror.mirror.effects import BY_LEVEL

WIDTH, HEIGHT, EDGE = 120, 36, 3  # of an effect curve
MOST_PAIRS, MOST_LEVELS = 8, 8

Scale = tuple[float, float]  # the lowest and the highest effect
BAR = 100.0  # width of a whole bar
COLOURS = {name: name for name in ("lines", "curves", "interactions", "network", "trees")}  # CSS classes


def found_rows(run: dict[str, Any], most: int = 60) -> list[dict[str, Any]]:
    """The selected features with words and pictures of their effects."""
    shown = run["result"]["features"][:most]
    scale = common_scale([one["effect"] for one in shown if one["effect"] is not None and one["effect"]["y"]])
    return [{**one, **_pictured(one["effect"], scale)} for one in shown]


def common_scale(effects: list[dict[str, Any]]) -> Scale:
    """The lowest and the highest effect of all, so that a weak one looks weak beside a strong one."""
    low = min((min(effect["low"]) for effect in effects), default=0.0)
    high = max((max(effect["high"]) for effect in effects), default=0.0)
    return min(low, 0.0), max(high, 0.0)


def _pictured(effect: dict[str, Any] | None, scale: Scale) -> dict[str, Any]:
    if effect is None:
        return {
            "curve": None,
            "bars": [],
            "band": None,
            "zero": None,
            "words": "not told by this learner",
            "size": None,
            "partners": [],
        }
    curve, band, _ = paths(effect, scale) if effect["x"] else (None, None, None)
    return {
        "curve": curve,
        "bars": level_bars(effect, scale) if effect.get("levels") else [],
        "band": band if effect["low"] != effect["high"] else None,
        "zero": round(_height(0.0, scale), 1),
        "words": words(effect),
        "size": effect["size"],
        "partners": effect["partners"],
    }


def words(effect: dict[str, Any]) -> str:
    """The shape and the sign of an effect."""
    if effect["shape"] == "curved":
        return f"∼ curved, {bend(effect['y'])}"
    known = {
        "rises": "+ the outcome rises with it",
        "falls": "− the outcome falls with it",
        "only with others": "× only together with others",
        BY_LEVEL: "differs between its levels" + (f": {by_level(effect)}" if effect.get("levels") else ""),
    }
    return known.get(effect["shape"], str(effect["shape"]))


def by_level(effect: dict[str, Any]) -> str:
    """The mean effect at each level of a category, the highest first."""
    told = [f"{level} {f'{y:+.3g}'.replace('-', '−')}" for y, level in _by_size(effect)]
    half = MOST_LEVELS // 2
    return ", ".join(told if len(told) <= MOST_LEVELS else [*told[:half], "…", *told[-half:]])


def _by_size(effect: dict[str, Any]) -> list[tuple[float, str]]:
    return sorted(zip(effect["y"], effect["levels"], strict=True), key=lambda pair: -pair[0])


def level_bars(effect: dict[str, Any], scale: Scale) -> list[dict[str, float]]:
    """A bar for each level, the highest effect first, up or down from no effect."""
    width, zero = (WIDTH - 2 * EDGE) / len(effect["levels"]), _height(0.0, scale)
    ends = [_height(y, scale) for y, _ in _by_size(effect)]
    return [
        {
            "x": round(EDGE + width * (i + 0.1), 1),
            "y": round(min(end, zero), 1),
            "width": round(0.8 * width, 1),
            "height": round(max(abs(end - zero), 0.5), 1),
        }
        for i, end in enumerate(ends)
    ]


def _height(value: float, scale: Scale) -> float:
    low, high = scale
    return HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (value - low) / ((high - low) or 1.0)


def bend(y: list[float]) -> str:
    """Where a curved effect is highest: in the middle, at both ends, or at one."""
    third = max(1, len(y) // 3)
    low, middle, high = (sum(part) / len(part) for part in (y[:third], y[third:-third] or y, y[-third:]))
    if middle > max(low, high):
        return "highest in the middle"
    if middle < min(low, high):
        return "lowest in the middle"
    return "rising" if high > low else "falling"


def paths(effect: dict[str, Any], scale: Scale) -> tuple[str, str, float]:
    """The curve, the band over the draws, and the height of no effect, as paths of SVG."""
    x = effect["x"]
    across = (x[-1] - x[0]) or 1.0
    places = [EDGE + (WIDTH - 2 * EDGE) * (value - x[0]) / across for value in x]

    def line(values: list[float]) -> list[str]:
        return [f"{place:.1f} {_height(value, scale):.1f}" for place, value in zip(places, values, strict=True)]

    band = "M" + "L".join([*line(effect["high"]), *reversed(line(effect["low"]))]) + "Z"
    return "M" + "L".join(line(effect["y"])), band, round(_height(0.0, scale), 1)


def pair_bars(run: dict[str, Any]) -> list[dict[str, Any]]:
    """The strongest interactions, each with the length of its bar."""
    pairs = run["result"]["interactions"][:MOST_PAIRS]
    largest = max((pair["strength"] for pair in pairs), default=1.0) or 1.0
    return [{**pair, "width": round(BAR * pair["strength"] / largest, 1)} for pair in pairs]


def share_bars(run: dict[str, Any]) -> list[dict[str, Any]]:
    """What each part explains on unseen rows, side by side on a bar that stands for the whole outcome."""
    start, bars = 0.0, []
    for name, share in run["result"]["explained"].items():
        width = min(max(0.0, BAR * (share or 0.0)), BAR - start)
        bars.append(
            {"name": name, "kind": COLOURS.get(name, "lines"), "share": share or 0.0, "start": start, "width": width}
        )
        start += width
    return bars


def unit(run: dict[str, Any]) -> str:
    """In what effects are measured."""
    classes = run["data"]["classes"]
    if len(classes) == 2:
        return f"on the probit scale of {classes[1]}: it rises where {classes[1]} becomes likelier"
    if classes:
        return "on the probit scale of the class that a feature tells apart best, so that signs say little"
    if run["result"]["target_transform"] != "standard":
        return f"in standard deviations of the ranks of {run['data']['target']}"
    return f"in units of {run['data']['target']}"
