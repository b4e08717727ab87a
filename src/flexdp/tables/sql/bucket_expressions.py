"""Bucket expressions: the test that decides which values of a column count, and the expression of their bucket.

They use only what every engine computes alike: comparisons, IEEE arithmetic on doubles, integer arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from flexdp.buckets.base import LARGEST_DOUBLE, LARGEST_INTEGER, SMALLEST_NORMAL
from flexdp.buckets.edges import Edges
from flexdp.buckets.exact import Exact
from flexdp.buckets.grid import Grid
from flexdp.buckets.months import Months
from flexdp.buckets.open_edges import OpenEdges
from flexdp.buckets.relative import RelativeWidth
from flexdp.buckets.width import Width
from flexdp.errors import InputError, P
from flexdp.tables.counting import Axis
from flexdp.tables.sql.dialect import Dialect, Lookup

__all__ = ["Step", "search", "step_of"]

_SURE = 1e-6  # distance from a whole number beyond which a logarithm is trusted without comparing


@dataclass(frozen=True, kw_only=True)
class Step:
    """The bucket of one column, over its cells ``v{i}``: the condition ``where`` and the expression ``key``.

    ``layers`` are columns to compute first, one after another, each with its join; ``after`` is applied to the keys
    once they are counted; ``wide`` keys leave the engine as texts.
    """

    where: str
    key: str
    layers: Sequence[tuple[dict[str, str], str]] = ()
    after: Callable[[str], str] | None = None
    wide: bool = False


def step_of(d: Dialect, i: int, axis: Axis, wide: bool, *, per_row: bool) -> Step:
    """Return the bucket of axis ``i``; ``per_row`` keys are final for every row, as units and several counts need."""
    v, buckets = f"v{i}", axis.buckets
    if isinstance(buckets, Grid):
        raise TypeError("a grid is counted by its axes")
    if buckets.kind == "text":
        return Step(where=d.is_short(v), key=d.binary(v))
    if buckets.kind == "boolean":
        return Step(where=f"{v} IS NOT NULL", key=v)
    if isinstance(buckets, RelativeWidth):
        return _logarithmic(d, i, buckets, wide)
    if isinstance(buckets, Months):
        return _months(d, i, buckets)
    if buckets.kind == "number":
        return _doubles(d, v, buckets, per_row)
    return _integers(d, v, buckets, wide)


def _finite(d: Dialect, v: str) -> str:
    return f"{v} BETWEEN {d.double(-LARGEST_DOUBLE)} AND {d.double(LARGEST_DOUBLE)}"  # excludes NaN and infinities


def _doubles(d: Dialect, v: str, buckets: Exact | Width | Edges | OpenEdges, per_row: bool) -> Step:
    where, clamped = _finite(d, v), v
    if isinstance(buckets, Width) and buckets.bounds is None:
        reach = buckets.reach
        index = d.floor(d.over(v, float(buckets.width)))
        return Step(
            where=f"{v} BETWEEN {d.double(-reach)} AND {d.double(reach)}",
            key=d.as_integer(index) if per_row else index,
        )
    after = isinstance(buckets, Width) and d.clamps_after and not per_row
    if buckets.bounds is not None:
        low, high = (d.double(bound) for bound in buckets.bounds)
        if buckets.outside == "drop":
            where = f"{v} BETWEEN {low} AND {high}"
        elif not after and not isinstance(buckets, Edges | OpenEdges):
            clamped = d.greatest(d.least(v, high), low)
    if isinstance(buckets, Edges):
        return Step(where=where, key=search(v, [d.double(edge) for edge in buckets.edges[1:-1]]))
    if isinstance(buckets, OpenEdges):
        return Step(where=where, key=search(v, [d.double(start) for start in buckets.starts]))
    if isinstance(buckets, Exact):
        return Step(
            where=where, key=f"CASE WHEN {clamped} = 0 THEN {d.double(0.0)} ELSE {clamped} END" if per_row else clamped
        )
    last, zero = (buckets.count or 1) - 1, buckets.zero or 0
    start = f" + {zero}" if zero else ""
    if d.clamps_quotient:
        inside = d.greatest(d.least(_quotient(d, v, buckets), d.double(last - zero)), d.double(-zero))
        return Step(where=where, key=d.floor(inside) + start)
    index = d.floor(_quotient(d, clamped, buckets)) + start
    if after:
        return Step(where=where, key=index, after=lambda key: _clamped(d, key, last))
    key = d.least(index, d.as_integer(str(last)))  # one ulp below the bound may round up to it
    return Step(where=where, key=d.as_integer(key) if per_row else key)  # so that −0.0 is 0 in a hash, too


def _quotient(d: Dialect, v: str, buckets: Width) -> str:
    """Divide a number by the width, counting from the lower bound, or from zero if ``buckets.zero`` says so."""
    return d.over(v if buckets.zero is not None else f"({v} - {d.double(buckets.origin)})", float(buckets.width))


def _clamped(d: Dialect, key: str, last: int) -> str:
    """Clamp the index of a bucket to the existing ones; NaN, which compares greater than any number here, has none."""
    return f"CASE WHEN NOT isnan({key}) THEN {d.greatest(d.least(key, d.double(last)), d.double(0.0))} END"


def _whole(d: Dialect, v: str, wide: bool) -> str:
    low, high = d.integer(-LARGEST_INTEGER), d.integer(LARGEST_INTEGER)
    return f"{v} BETWEEN {low} AND {high}" if wide else f"{v} IS NOT NULL"


def _integers(d: Dialect, v: str, buckets: Exact | Width | Edges | OpenEdges, wide: bool) -> Step:
    """Bucket integers in integer arithmetic, of 64 bits where everything fits, else of the wide type."""
    where, value = _whole(d, v, wide), v
    if buckets.bounds is not None:
        lower, upper = (int(bound) for bound in buckets.bounds)
        if buckets.outside == "drop":
            where += f" AND {v} BETWEEN {d.integer(lower)} AND {d.integer(upper)}"
        if buckets.outside != "drop" or wide:
            value = d.greatest(d.least(v, d.integer(upper)), d.integer(lower))
        wide = max(abs(lower), abs(upper)) >= 2**62  # values in between need no more bits
    if isinstance(buckets, Edges):
        return Step(where=where, key=search(v, [d.integer(int(edge)) for edge in buckets.edges[1:-1]]))
    if isinstance(buckets, OpenEdges):
        return Step(where=where, key=search(v, [d.integer(start) for start in buckets.starts]))
    if wide:
        divides = isinstance(buckets, Width) and buckets.width > 1
        _refuse_wide(d, "bounds" if buckets.bounds is not None else "width", divides)
    if isinstance(buckets, Width):
        width = int(buckets.width)
        if buckets.bounds is not None:
            value = f"{d.as_integer(value, wide=wide)} - {d.integer(int(buckets.origin))}"
            value = d.quotient(value, width, wide=wide) if width > 1 else value
        elif width > 1:
            n, origin = d.as_integer(v, wide=wide), int(buckets.origin)
            up = d.quotient(f"{n} - {origin}" if origin else n, width, wide=wide)
            down = d.quotient(f"{origin - 1} - {n}", width, wide=wide)
            value = f"CASE WHEN {v} >= {origin} THEN {up} ELSE -1 - {down} END"
    return Step(where=where, key=d.as_integer(value, wide=wide), wide=wide)


def _refuse_wide(d: Dialect, parameter: str, divides: bool) -> None:
    """Refuse parameters that need integers which the engine lacks, or cannot divide."""
    if d.wide_type is None:
        remedy = "Choose narrower ones, or leave them out."
        raise InputError(parameter, f"must lie within ±2^62 on {d.name}, which has no wider integers", remedy=remedy)
    if divides and not d.divides_wide:
        cast = ", or cast the column to BIGINT." if parameter == "width" else "."  # no type helps against wide bounds
        raise InputError(
            parameter,
            f"would divide integers beyond 64 bits, which {d.name} cannot do exactly",
            remedy=("Set ", P("bounds"), " within ±2^62, ", P("edges"), " or ", P("width", 1), cast),
        )


def _months(d: Dialect, i: int, buckets: Months) -> Step:
    """Number the months from January of year 0, in integer arithmetic on years that begin in March."""
    v = value = f"v{i}"
    where = f"{v} IS NOT NULL"
    if buckets.bounds is not None:
        lower, upper = (int(bound) for bound in buckets.bounds)
        if buckets.outside == "drop":
            where = f"{v} BETWEEN {lower} AND {upper}"
        else:
            value = d.greatest(d.least(v, str(upper)), str(lower))
    z, doe, yoe, doy = (f"{name}{i}" for name in ("z", "doe", "yoe", "doy"))
    days = d.quotient(f"{d.as_integer(value)} + {buckets.day_zero}", buckets.per_day)

    def over(expression: str, divisor: int) -> str:
        return d.quotient(expression, divisor)

    parts = [
        {z: days},
        {doe: f"{z} - 146097 * ({over(z, 146097)})"},
        {yoe: over(f"{doe} - {over(doe, 1460)} + {over(doe, 36524)} - {over(doe, 146096)}", 365)},
        {doy: f"{doe} - (365 * {yoe} + {over(yoe, 4)} - {over(yoe, 100)})"},
    ]
    month = f"12 * (400 * ({over(z, 146097)}) + {yoe}) + {over(f'5 * {doy} + 2', 153)} + 2"
    return Step(where=where, key=d.as_integer(over(month, buckets.months)), layers=[(part, "") for part in parts])


def search(value: str, cuts: Sequence[str], leaf: Callable[[int], str] = str, branches: int = 2) -> str:
    """Count the ascending cuts that are ≤ value, in a balanced tree of comparisons."""

    def between(low: int, high: int) -> str:
        if low == high:
            return leaf(low)
        leaves = high + 1 - low
        parts = min(branches, leaves)
        starts = [low - (-leaves * part // parts) for part in range(parts)]
        ends = [*starts[1:], high + 1]
        *first, last = (between(start, end - 1) for start, end in zip(starts, ends, strict=True))
        tests = (f"WHEN {value} < {cuts[start - 1]} THEN {part}" for start, part in zip(starts[1:], first, strict=True))
        return f"CASE {' '.join(tests)} ELSE {last} END"

    return between(0, len(cuts))


def _logarithmic(d: Dialect, i: int, buckets: RelativeWidth, wide: bool) -> Step:
    whole = buckets.kind == "integer"
    v = d.as_double(f"v{i}", wide=wide) if whole else f"v{i}"
    where, value = (_whole(d, f"v{i}", wide) if whole else _finite(d, v)), v
    if buckets.bounds is not None:
        low, high = (d.double(bound) for bound in buckets.bounds)
        if buckets.outside == "drop":
            where += f" AND {v} BETWEEN {low} AND {high}"
        else:
            value = d.greatest(d.least(v, high), low)
    w, s, rung = f"w{i}", f"s{i}", f"rung{i}"
    first: list[tuple[dict[str, str], str]] = [({w: value}, ""), ({s: f"abs({w})"}, "")]
    coarse, fine = (
        d.lookup(f"{name}{i}", [d.double(edge) for edge in edges])
        for name, edges in (("coarse", buckets.coarse), ("fine", buckets.fine))
    )
    found = _guessed(d, i, s, rung, buckets, coarse, fine) if coarse and fine else _compared(d, i, s, rung, buckets)
    key = f"CASE WHEN {s} < {d.double(SMALLEST_NORMAL)} THEN 0 WHEN {w} < 0 THEN -1 - {rung} ELSE 1 + {rung} END"
    return Step(where=where, key=d.as_integer(key), layers=[*first, *found])


def _guessed(
    d: Dialect, i: int, s: str, rung: str, buckets: RelativeWidth, coarse: Lookup, fine: Lookup
) -> list[tuple[dict[str, str], str]]:
    """Guess the bucket from a logarithm; near an edge, compare with the edge itself."""
    steps, last = len(buckets.fine), len(buckets.ladder) - 2
    slope, start = 1 / math.log(buckets.ratio), math.log(SMALLEST_NORMAL)
    p, k = f"p{i}", f"k{i}"

    def edge(place: str) -> str:
        return f"{coarse.at(d.quotient(place, steps))} * {fine.at(f'({place}) % {steps}')}"

    position = (
        f"CASE WHEN {s} >= {d.double(SMALLEST_NORMAL)} "
        f"THEN (ln({s}) - {d.double(start)}) * {d.double(slope)} ELSE {d.double(0.5)} END"
    )
    chosen = (
        f"CASE WHEN {p} - {k} BETWEEN {d.double(_SURE)} AND {d.double(1 - _SURE)} THEN {k} "
        f"WHEN {k} < {last} AND {s} >= {edge(f'{k} + 1')} THEN {k} + 1 WHEN {s} < {edge(k)} THEN {k} - 1 ELSE {k} END"
    )
    nearest = d.floor(d.greatest(d.least(p, d.double(last)), d.double(0.0)))
    return [({p: position}, ""), ({k: f"CAST({nearest} AS INTEGER)"}, coarse.join + fine.join), ({rung: chosen}, "")]


def _compared(d: Dialect, i: int, s: str, rung: str, buckets: RelativeWidth) -> list[tuple[dict[str, str], str]]:
    """Find the bucket by two trees of comparisons: with the coarse edges, then with their multiples."""
    coarse, fine = buckets.coarse, buckets.fine
    cuts = [d.double(edge) for edge in coarse[1:]]
    a, c = f"a{i}", f"c{i}"
    last = len(coarse) - 1
    ends = sum(float(coarse[-1]) * float(step) < LARGEST_DOUBLE for step in fine)
    multiples = [f"{c} * {d.double(step)}" for step in fine[1:]]
    found = partial(search, s, branches=d.branches)
    within = f"CASE WHEN {a} = {last} THEN {found(multiples[: ends - 1])} ELSE {found(multiples)} END"
    return [
        ({a: found(cuts), c: found(cuts, lambda k: d.double(float(coarse[k])))}, ""),
        ({rung: f"{a} * {len(fine)} + {within}"}, ""),
    ]
