"""Drawing in SVG: scales, ticks, paths, and the style of all pictures. No script, no request, no inline style.

Colours are custom properties that a page or a card may set; a picture that stands alone brings its own, for light and
dark. They remain distinguishable to colour-blind readers, and in print by lightness and hatching.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import FIRST_DAY, LAST_DAY, date_at, datetime_at, days_since_epoch, first_day, month_number
from flexdp._core.text import markup, safe_repr, thousands
from flexdp._release.ranges import figure
from flexdp.errors import InputError

__all__ = [
    "PALETTE",
    "STYLE",
    "LogScale",
    "Scale",
    "coordinate",
    "count_name",
    "day_ticks",
    "moment_ticks",
    "named",
    "on_white",
    "outline",
    "picture",
    "picture_name",
    "shades",
    "steps",
    "text",
    "ticks",
]

_CHARACTER = 7  # pixels, about
_CLOCK = (1, 2, 5, 15, 30, 60, 120, 300, 900, 1800, 3600, 10800, 21600, 43200)  # seconds between round times
_LIGHT = (
    "--fd-paper:#fff;--fd-ink:#1b1f24;--fd-soft:#57606a;--fd-line:#c9d1d9;--fd-bar:#0072b2;--fd-band:#e69f00;--fd-mark:#b3400a;"
    "--fd-1:#d5e5f3;--fd-2:#9fc5e3;--fd-3:#5b9ecd;--fd-4:#1f74ae;--fd-5:#08406b"
)
_DARK = (
    "--fd-paper:#0f1419;--fd-ink:#e6edf3;--fd-soft:#9aa5b1;--fd-line:#3a424c;--fd-bar:#56b4e9;--fd-band:#e69f00;--fd-mark:#ff9e6b;"
    "--fd-1:#12324a;--fd-2:#1f5a85;--fd-3:#3b87bd;--fd-4:#74b5e3;--fd-5:#c9e4f7"
)
PALETTE = f":root{{{_LIGHT}}}@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
STYLE = (
    ".fd text{font:12px system-ui,sans-serif;fill:var(--fd-ink)}.fd .s{fill:var(--fd-soft)}"
    ".fd .m{fill:var(--fd-mark);font-weight:600;paint-order:stroke;stroke:var(--fd-paper);stroke-width:4px}"
    ".fd .bar{fill:var(--fd-bar)}.fd .tint{fill:var(--fd-band);opacity:.45}"
    ".fd .hatch{stroke:var(--fd-band);stroke-width:1.2}.fd .grid{stroke:var(--fd-line);stroke-width:1;fill:none}"
    ".fd .axis{stroke:var(--fd-soft);stroke-width:1;fill:none}"
    ".fd .halo{stroke:var(--fd-paper);stroke-width:4;opacity:.75;fill:none}"
    ".fd .mark{stroke:var(--fd-mark);stroke-width:1.5;fill:none}.fd .dash{stroke-dasharray:4 3}"
    ".fd .curve{stroke:var(--fd-bar);stroke-width:2;fill:none}.fd .dot{fill:var(--fd-bar)}"
    ".fd .n{font-size:11px;paint-order:stroke;stroke:var(--fd-paper);stroke-width:3px}"
    + "".join(
        f".fd .f{piece}{{opacity:{opacity}}}" for piece, opacity in enumerate((".9", ".75", ".6", ".45", ".3", ".15"))
    )
    + ".fd .now{fill:var(--fd-mark)}.fd .ok{fill:var(--fd-band);opacity:.18}"
    + "".join(f".fd .c{shade}{{fill:var(--fd-{shade})}}" for shade in range(1, 6))
)


@dataclass(frozen=True, slots=True)
class Scale:
    """Linear map from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return (self.start + self.end) / 2
        # Halved first, so that the widest doubles do not overflow.
        share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return self.start + share * (self.end - self.start)

    def all(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map an array."""
        if self.high == self.low:
            return np.full(values.shape, (self.start + self.end) / 2)
        share = (values / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True, slots=True)
class LogScale:
    """Logarithmic map from counts to pixels, by log(1 + count), so that zero stays zero."""

    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + math.log1p(value) / math.log1p(self.high) * (self.end - self.start)

    def all(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map an array."""
        return self.start + np.log1p(values) / math.log1p(self.high) * (self.end - self.start)


def coordinate(value: float) -> str:
    """Return a coordinate with one decimal, in as few characters as possible."""
    return f"{value:.1f}".removesuffix(".0").replace("-0.", "-.") if value else "0"


def text(x: float, y: float, content: object, *, anchor: str = "middle", kind: str = "") -> str:
    """Return a text element, escaped."""
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{coordinate(x)}" y="{coordinate(y)}" text-anchor="{anchor}"{style}>{markup(content)}</text>'


def steps(spans: Iterable[tuple[float, float, float, float]]) -> str:
    """Return path data of rectangles, each as left, right, top, bottom."""
    parts = []
    for left, right, top, bottom in spans:
        x, y = coordinate(left), coordinate(top)
        width, height = coordinate(right - left), coordinate(bottom - top)
        parts.append(f"M{x} {y}h{width}v{height}H{x}z")
    return "".join(parts)


def outline(
    left: NDArray[np.float64], right: NDArray[np.float64], top: NDArray[np.float64], bottom: NDArray[np.float64]
) -> str:
    """Return path data of rectangles side by side, one outline for each run of them that touch."""
    x, end, upper, lower = ([coordinate(value) for value in row.tolist()] for row in (left, right, top, bottom))
    parts, first = [], 0
    for last in range(len(x)):
        if last + 1 < len(x) and left[last + 1] - right[last] < 0.15:
            continue
        there = "".join(f"V{upper[i]}H{end[i]}" for i in range(first, last + 1))
        level = len(set(lower[first : last + 1])) == 1
        back = f"V{lower[last]}" if level else "".join(f"V{lower[i]}H{x[i]}" for i in range(last, first - 1, -1))
        parts.append(f"M{x[first]} {lower[first]}{there}{back}z")
        first = last + 1
    return "".join(parts)


def picture_name(name: object) -> str:
    """Return the prefix of a picture's ids: letters, digits and hyphens, so that it cannot end an attribute."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,99}", str.__str__(name)):
        raise InputError("name", "must be letters, digits and hyphens, beginning with a letter", given=safe_repr(name))
    return str.__str__(name)


def picture(
    width: int, height: int, title: str, description: str, body: Iterable[str], *, name: str, alone: bool = True
) -> str:
    """Return a whole SVG, with a title and a description for those who do not see it.

    ``name`` is the prefix of its ids, so that several pictures fit on a page. ``alone`` includes the style.
    """
    style = f"<style>{PALETTE}{STYLE}</style>" if alone else ""
    space = ' xmlns="http://www.w3.org/2000/svg"'
    hatch = (
        f'<defs><pattern id="{name}-h" width="5" height="5" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><path d="M0 0H5V5H0z" class="tint"/><path d="M0 0V5" class="hatch"/>'
        "</pattern></defs>"
    )
    return (
        f'<svg{space} class="fd" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-labelledby="{name}-t {name}-d"><title id="{name}-t">{markup(title)}</title>'
        f'<desc id="{name}-d">{markup(description)}</desc>{style}{hatch}{"".join(body)}</svg>'
    )


def on_white(svg: str) -> str:
    """Return a picture without a style as one that stands alone in light colours on white, wherever it is shown."""
    style = f"<style>:root{{{_LIGHT}}}{STYLE}.fd .paper{{fill:var(--fd-paper)}}</style>"
    return svg.replace("</desc>", f'</desc>{style}<path class="paper" d="M0 0H9999V9999H0z"/>', 1)


def ticks(low: float, high: float, about: int = 6, *, whole: bool = False) -> list[float]:
    """Return round numbers that divide an interval into about as many parts as asked for."""
    if not low < high or not math.isfinite(high / 2 - low / 2):
        return [low]
    rough = (high / about - low / about) or (high - low)
    power = Fraction(10) ** math.floor(math.log10(rough))
    step = next((m * power for m in (1, 2, 5) if m * power >= rough), 10 * power)
    if whole:
        step = max(Fraction(1), step)
    slack = Fraction(1, 10**9)
    first, last = math.ceil(Fraction(low) / step - slack), math.floor(Fraction(high) / step + slack)
    return list(dict.fromkeys(float(place * step) for place in range(first, last + 1)))


def named(places: Sequence[float], room: float) -> list[tuple[float, str]]:
    """Return ticks with their names, spelled as answers are; some of them where there is no room for all.

    >>> named([0.0, 20000.0], 600), named([9007199254740992.0, 9007199254740994.0], 200)
    ([(0.0, '0'), (20000.0, '20 000')], [(9007199254740992.0, '9 007 199 254 740 992')])
    """
    longest = max(len(figure(place)) for place in places)
    every = math.ceil(len(places) * _CHARACTER * (longest + 1) / room)
    return [(place, figure(place)) for place in places[::every]]


def count_name(count: float) -> str:
    """Return a tick of a scale of counts, spelled as counts are.

    >>> count_name(1000.0), count_name(0.5)
    ('1 000', '0.5')
    """
    return thousands(int(count)) if count == int(count) else figure(count)


def day_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return days since 1970 at which a year, a month or a week begins, with their names."""
    start, end = int(max(low, FIRST_DAY)), int(min(high, LAST_DAY))
    first, last, span = date_at(start), date_at(end), end - start
    if span > 3 * 365:
        years = ticks(first.year, last.year, 7, whole=True)
        found = [(dt.date(int(year), 1, 1), str(int(year))) for year in years if 1 <= year <= 9999]
    elif span > 75:
        every = max(1, math.ceil(span / 30 / 8))
        months = range(month_number(start), month_number(end) + 1)
        found = [(date_at(first_day(m)), f"{m // 12}-{m % 12 + 1:02}") for m in months if m % 12 % every == 0]
    else:
        found = [(day := date_at(start + int(step)), day.isoformat()) for step in ticks(0, span, 6, whole=True)]
    return [(float(days_since_epoch(day)), name) for day, name in found if first <= day <= last]


def moment_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return seconds since 1970 at round times of the day, or the beginnings of days, with their names."""
    day = 86400.0
    if high - low > 5 * day:
        return [(place * day, name) for place, name in day_ticks(math.ceil(low / day), math.floor(high / day))]
    step = next((s for s in _CLOCK if (high - low) / s <= 5), day)
    places = [step * place for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
    clock = "%m-%d %H:%M:%S" if step < 60 else "%m-%d %H:%M"
    return [(float(place), f"{datetime_at(round(place * 10**6)):{clock}}") for place in places]


def shades(counts: Sequence[int]) -> list[int]:
    """Return the limits of five shades, in equal ratios from the smallest to the largest count."""
    low, high = max(1, min(counts)), max(counts)
    return [math.ceil(low * (high / low) ** (step / 5)) for step in range(1, 5)]
