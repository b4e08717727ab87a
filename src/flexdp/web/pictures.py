"""The pictures of the page: the odds as a hundred icons, and the example, published and true."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from flexdp._release.ranges import value_words
from flexdp.guarantees import limit_text
from flexdp.report.charts.scales import anchored, value_ticks, value_title
from flexdp.report.charts.svg import LogScale, Scale, coordinate, count_name, picture, steps, text
from flexdp.statistics import Max, Min, Range, Statistic
from flexdp.web.example import Simulated

__all__ = ["comparison", "icons", "icons_after"]


def icons(certainty: str, *, name: str) -> str:
    """Draw a hundred icons: fifty for the certainty of an observer before, and more for the certainty after.

    ``certainty`` is a percentage that is rounded up, and so is the number of icons.
    """
    after = icons_after(certainty)
    body = []
    for place in range(100):
        x, y = 12 + 22 * (place % 10), 12 + 22 * (place // 10)
        kind, fill = ("bar", "") if place < 50 else ("more", f' fill="url(#{name}-h)"') if place < after else ("no", "")
        body.append(f'<circle class="{kind}"{fill} cx="{x}" cy="{y}" r="8"/>')
    words = f"50 of 100 icons are full, {after - 50} more are hatched, {100 - after} are empty."
    return picture(222, 222, f"50% sure becomes {limit_text(certainty)}", words, body, name=name, alone=False)


def icons_after(certainty: str) -> int:
    """Return how many of a hundred icons are full or hatched."""
    return math.ceil(Fraction(certainty.removesuffix("%")))


def comparison(example: Simulated, statistic: Statistic | None, *, name: str, width: int, height: int = 300) -> str:
    """Draw the bars of the example: published, and hatched above them left out, with the statistic of both."""
    data = example.data
    spans, counts = data.spans, data.counts
    top, bottom = 66.0, height - 42.0
    powers = [10.0**power for power in range(19) if 10.0**power <= counts.max()] or [1.0]
    left, right = 14 + 7.0 * len(count_name(powers[-1])), width - 8.0
    across = Scale(spans[0][0], spans[-1][1], left, right)
    up = LogScale(float(counts.max()), bottom, top)
    body = [text(4, 13, "records, logarithmic scale", anchor="start", kind="s")]
    for power in powers:
        y = up(power)
        body.append(f'<path class="grid" d="M{coordinate(left)} {coordinate(y)}H{coordinate(right)}"/>')
        body.append(text(left - 6, y + 4, count_name(power), anchor="end", kind="s"))
    free = -1e9
    for tick, words in value_ticks(data.axis, across.low, across.high, None, 7 if width > 500 else 4):
        x, anchor, first, last = anchored(across(tick), words, 4, right + 6)
        if first > free:
            body.append(text(x, bottom + 16, words, anchor=anchor, kind="s"))
            free = last + 6
    full, gone = [], []
    for span, true, kept in zip(spans, counts.tolist(), example.left.tolist(), strict=True):
        start, end = (across(edge) for edge in span)
        end -= 0.5 if end - start > 3 else 0
        full += [(start, end, up(kept), bottom)] if kept else []
        gone += [(start, end, up(true), up(kept))] if kept < true else []
    body.append(f'<path class="band" fill="url(#{name}-h)" d="{steps(gone)}"/>')
    body.append(f'<path class="bar" d="{steps(full)}"/>')
    body.append(f'<path class="axis" d="M{coordinate(left)} {coordinate(bottom)}H{coordinate(right)}"/>')
    body += _marks(example, statistic, across, top, bottom)
    body.append(text((left + right) / 2, height - 8, value_title(data.axis), kind="s"))
    words = (
        f"{len(spans)} buckets; {example.vanished} of them vanish, {example.lost} records are left out. Heights are "
        "logarithmic."
    )
    return picture(width, height, "Published and left out, by value", words, body, name=name, alone=False)


def _marks(example: Simulated, statistic: Statistic | None, across: Scale, top: float, bottom: float) -> list[str]:
    """Marks at the statistic, published and true; for the range, at both ends."""
    if statistic is None:
        return []
    parts: tuple[Statistic, ...] = (Min(), Max()) if isinstance(statistic, Range) else (statistic,)
    lines, captions = [], []
    for row, (kind, said) in enumerate((("mark", "published"), ("mark dash", "true"))):
        y = top - 8 - 15 * (1 - row)
        for part in parts:
            value: Any = example.published(part) if row == 0 else example.truth(part)
            if value is None:
                continue
            x, words = across(_position(example, value)), f"{said} {value_words(value)}"
            half = 3.9 * len(words)
            at = min(max(x, across.start + half), across.end - half)
            lines.append(f'<path class="{kind}" d="M{coordinate(x)} {coordinate(y + 3)}V{coordinate(bottom)}"/>')
            captions.append(text(at, y, words, kind="m"))
    return lines + captions


def _position(example: Simulated, value: Any) -> float:
    """Where a value lies on the scale; that of relative buckets has their indices."""
    if not example.data.axis.even:
        return float(value)
    return float(example.data.partition.locate(np.array([value], dtype=np.float64))[0])
