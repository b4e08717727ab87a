"""Plans as pictures: the trade-off between privacy and records lost."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from flexdp._core.domains import flag, integer
from flexdp._core.exact import upper_text
from flexdp._core.text import thousands
from flexdp._release.ranges import figure
from flexdp.errors import InputError
from flexdp.report.charts.svg import Scale, coordinate, picture, picture_name, text

__all__ = ["tradeoff"]


def tradeoff(
    document: str | Mapping[str, Any], *, name: str = "p", alone: bool = True, width: int = 640, height: int = 300
) -> str:
    """Draw a plan as SVG: the most records that a bucket loses against ε, on logarithmic scales.

    Of asked answers without buckets, which lose nothing, it draws how many records they may be off by.

    Parameters
    ----------
    document
        The JSON of a plan, as :meth:`flexdp.planning.Plan.to_json` writes it.
    name
        Prefix of the ids inside.
    alone
        Include the style; False inside a page that has it.
    width, height
        Size in pixels.

    Returns
    -------
    str
        The picture, with the options and the chosen one marked.

    Raises
    ------
    InputError
        If the document is not that of a plan.

    Examples
    --------
    >>> import flexdp
    >>> tradeoff(flexdp.plan(epsilon=1, delta=1e-6).to_json())[:4]
    '<svg'
    """
    name, alone = picture_name(name), flag("alone", alone)
    width, height = (
        integer(side, size, at_least=100, at_most=10_000) for side, size in (("width", width), ("height", height))
    )
    try:
        plan = json.loads(document) if isinstance(document, str) else document
        limit, delta = plan["target"]["max_drop"] if "target" in plan else None, str(plan["delta"])
        loses = "asked" not in plan or "automatic" in plan
        told, dots = (_BUCKETS, _drops(plan["options"])) if loses else (_ANSWERS, _bounds(plan["options"]))
        points = [(float(epsilon), int(drop)) for epsilon, drop in plan["curve"]]
        points = points if loses else [(float(epsilon), most) for epsilon, most, _ in dots]
    except Exception:  # noqa: BLE001  (a document may be anything)
        raise InputError("document", "must be the JSON of a plan, as Plan.to_json() writes it") from None
    drops = [drop for _, drop in points] + [drop for _, drop, _ in dots]
    losses = [epsilon for epsilon, _ in points] + [float(epsilon) for epsilon, _, _ in dots]
    if not losses:
        return picture(width, 70, told.title, told.nothing, [text(width / 2, 40, told.nothing)], name=name, alone=alone)
    left, right, top, bottom = 58.0, width - 18.0, 24.0, height - 44.0
    across = Scale(math.log(min(losses)), math.log(max(losses)), left, right)
    up = Scale(math.log(max(1, min(drops)) / 1.3), math.log(max(drops) * 1.2), bottom, top)
    body = []
    if limit is not None and up.low < math.log(limit):
        y = max(top, up(math.log(limit)))
        corner = f"{coordinate(right)}V{coordinate(bottom)}H{coordinate(left)}"
        body.append(f'<path class="ok" d="M{coordinate(left)} {coordinate(y)}H{corner}z"/>')
        body.append(text(left + 6, bottom - 8, f"target: at most {thousands(limit)}", anchor="start", kind="s"))
    for tick in _powers(math.exp(up.low), math.exp(up.high)):
        y = up(math.log(tick))
        body.append(f'<path class="grid" d="M{coordinate(left)} {coordinate(y)}H{coordinate(right)}"/>')
        body.append(text(left - 6, y + 4, figure(tick), anchor="end", kind="s"))
    for tick in _powers(math.exp(across.low), math.exp(across.high)):
        x = across(math.log(tick))
        body.append(f'<path class="axis" d="M{coordinate(x)} {coordinate(bottom)}v4"/>')
        body.append(text(x, bottom + 17, figure(tick), kind="s"))
    line = " ".join(f"{coordinate(across(math.log(e)))} {coordinate(up(math.log(d)))}" for e, d in points)
    body.append(f'<path class="axis" d="M{coordinate(left)} {coordinate(bottom)}H{coordinate(right)}"/>')
    body.append(f'<path class="curve" d="M{line}"/>' if points else "")
    for epsilon, drop, chosen in dots:
        x, y = across(math.log(epsilon)), up(math.log(drop))
        kind, size = ("now", 6) if chosen else ("dot", 3.5)
        body.append(f'<circle class="{kind}" cx="{coordinate(x)}" cy="{coordinate(y)}" r="{size}"/>')
        if chosen:
            words = f"ε = {upper_text(epsilon, 6)}: at most {thousands(drop)} {told.verb}"
            room = x + 12 + 7 * len(words) < right  # the curve falls: above and to the right of a point is free
            body.append(
                text(
                    x + 10 if room else right,
                    max(30.0, y - (9 if room else 26)),  # below the caption of the axis
                    words,
                    anchor="start" if room else "end",
                    kind="m",
                )
            )
    body.append(text((left + right) / 2, height - 8, "ε, logarithmic scale: less privacy to the right", kind="s"))
    body.append(text(left, 13, f"{told.axis}, logarithmic scale", anchor="start", kind="s"))
    said = "; ".join(f"ε = {upper_text(epsilon, 6)}: {drop}" for epsilon, drop, _ in dots)
    words = f"The {told.axis}, by ε, at δ = {delta}: {said}."
    return picture(width, height, told.title, words, body, name=name, alone=alone)


class _Told(NamedTuple):
    """The words of a picture: its title, its axis, what happens to records, and what is said without points."""

    title: str
    axis: str
    verb: str
    nothing: str


_BUCKETS = _Told(
    "Privacy against records lost",
    "most records lost per bucket",
    "lost",
    "Every common ε loses too many records per bucket.",
)
_ANSWERS = _Told(
    "Privacy against accuracy",
    "records off, at most, with 95% probability",
    "off",
    "At every common ε there are too few records, or the error is not counted in records.",
)


def _drops(options: list[dict[str, Any]]) -> list[tuple[Fraction, int, bool]]:
    """Each ε, the most that a bucket loses, and if it is the chosen one."""
    return [
        (Fraction(option["epsilon"]), int(option["max_drop"]), bool(option["chosen"]))
        for option in options
        if option["max_drop"] is not None
    ]


def _bounds(options: list[dict[str, Any]]) -> list[tuple[Fraction, int, bool]]:
    """Each ε with an answer, the most records that any of the answers is off by, and if it is the chosen one."""
    found = []
    for option in options:
        answers = [answer for answer in option.values() if isinstance(answer, dict) and answer["kind"] != "share"]
        bounds = [int(answer["bound"]) for answer in answers if answer["bound"] is not None]
        if bounds:
            found.append((Fraction(option["epsilon"]), max(1, *bounds), bool(option["chosen"])))
    return found


def _powers(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two numbers; only powers of ten where those are many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) < 5 else (1,)
    found = [factor * 10.0**decade for decade in decades for factor in steps]
    return [value for value in found if low <= value <= high]
