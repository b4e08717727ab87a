"""The board of a pebble game: data sets and answers, and how far apart they are, beside what was promised."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flexdp._core.exact import upper_text
from flexdp.distances import Metric
from flexdp.distances.embedding import dropped_records
from flexdp.distortions import Drop, Winf
from flexdp.guarantees import Accuracy
from flexdp.histogram import Histogram
from flexdp.mechanisms import HISTOGRAMS, Mechanism

__all__ = ["Board", "Box", "Edge", "within"]


@dataclass(frozen=True, slots=True)
class Box:
    """A data set or an answer: where it stands, and the rule that put a pebble on it (0 if it was given)."""

    title: str
    content: Any
    row: int
    column: int
    rule: int
    before: Histogram | None = None


class Edge(NamedTuple):
    """A relation of two boxes, by their titles: "distortion", "distance", or "map" for a step or its function."""

    kind: str
    start: str
    end: str
    label: str


@dataclass(slots=True)
class Board:
    """All boxes and relations of a game, and the rules in the order in which they were applied."""

    title: str
    boxes: dict[str, Box] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)

    def put(self, title: str, content: Any, place: tuple[int, int], rule: int, before: Any = None) -> None:
        """Put a box with a pebble on the board; ``before`` is what it was made of, if records were only left out."""
        tables = isinstance(before, Histogram) and isinstance(content, Histogram)
        less = tables and dropped_records(before, content) is not None
        self.boxes[title] = Box(title, content, *place, rule, before if less else None)

    def step(self, start: str, end: str, label: str) -> None:
        """Draw a step, or its function, from one box to another."""
        self.edges.append(Edge("map", start, end, label))

    def distortion(self, start: str, end: str, bound: float | None) -> None:
        """Measure the fraction of records that one box lost to become another."""
        value = Drop()(self.boxes[start].content, self.boxes[end].content)
        self.edges.append(Edge("distortion", start, end, f"drop {within(value, bound)}"))

    def distance(self, start: str, end: str, part: Mechanism, bound: Accuracy | None) -> None:
        """Measure the distance of two boxes, in the metric of a step's outputs, beside the β that is promised."""
        one, two = self.boxes[start].content, self.boxes[end].content
        word = "W∞" if part.target.metric == Winf() else "apart"
        limit, relative = (None, False) if bound is None else (bound.beta, bound.relative)
        label = f"{word} {within(_apart(one, two, part.target.metric), limit, relative=relative)}"
        self.edges.append(Edge("distance", start, end, label))


def _apart(one: Any, two: Any, metric: Metric) -> float:
    """The distance of two values; not a number where the metric has no function. Dates are apart by days."""
    if isinstance(one, Histogram):  # equal ones may have keys without a distance
        return 0.0 if one == two else (metric if metric.computes else HISTOGRAMS.metric)(one, two)
    if isinstance(one, dt.date) and isinstance(two, dt.date):
        return abs((one - two) / dt.timedelta(days=1))
    return float(metric(one, two)) if metric.computes else math.nan


def within(value: float, bound: float | None, *, relative: bool = False) -> str:
    """A measured value beside its bound, which is rounded up; a bound that does not hold is not hidden.

    >>> within(2.0, 2.5), within(3.0, 2.5), within(2.0, None), within(2.0, 0.1, relative=True)
    ('2 ≤ 2.5', '3 > 2.5', '2', '2 (≤ 10%)')
    """
    measured = "?" if math.isnan(value) else f"{value:.3g}"
    if bound is None or math.isinf(bound) or math.isnan(value):
        return measured
    if relative and bound:  # of each value, which one number cannot be compared with
        return f"{measured} (≤ {upper_text(100 * bound)}%)"
    return f"{measured} {'≤' if value <= bound * (1 + 1e-12) else '>'} {upper_text(bound)}"
