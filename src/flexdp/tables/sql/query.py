"""The one query that touches records: read the cells, test them, find the bar, bound the units, count.

Whatever a record holds, the query neither fails nor lets it decide anything but its own bar. Values are tested before
they are rounded or cast, and the engine gets only decisions that all engines make alike. Each step is one nested
SELECT, innermost first:

======= =======================================================================================================
rows    every column read as its kind, NULL where a cell is not readable (the engine's ``types.py`` knows how)
kept    the records that count: all columns readable, none outside, the group one of the declared
layers  what a bucket takes more than one expression to find
keyed   one column ``b0, b1, …`` for each part of a bar, and the unit ``u``
bounded with privacy units: each unit once in each bar, in at most so many bars
counted one row per non-empty bar, with its ``records``
======= =======================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

from flexdp._core.calendar import offsets
from flexdp.buckets.base import FIRST_MOMENT, LAST_MOMENT, MICROS_PER_DAY, Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.width import Width
from flexdp.tables.counting import Axis, Counting, Units
from flexdp.tables.declared import Column
from flexdp.tables.sql.bucket_expressions import Step, search, step_of, tested_in_key
from flexdp.tables.sql.dialect import Dialect

__all__ = ["ReadCell", "Reading", "count_query", "together_query"]

_LARGEST_MEAN = 1e307  # beyond it a sum of shares might overflow
_SMALLEST_SHARED = 1e-280  # a share of anything larger is still a normal double


class Reading(NamedTuple):
    """A cell read as a kind: an expression over the source that is NULL where the cell is not one.

    Numbers are doubles, dates whole days and datetimes whole microseconds since 1970-01-01; ``wide`` says that integers
    may exceed 64 bits.
    """

    value: str
    wide: bool = False


ReadCell: TypeAlias = Callable[[Column, Kind], Reading]


def count_query(source: str, counting: Counting, dialect: Dialect, read: ReadCell) -> str:
    """How many records, or units, lie in each bar: columns ``b0, b1, …`` and ``records``, a row per non-empty bar."""
    units, d = counting.units, dialect
    readings = [_read_axis(axis, read) for axis in counting.axes]
    cells = [
        f"{_cell(d, axis, reading, per_row=units is not None)} AS v{i}"
        for i, (axis, reading) in enumerate(zip(counting.axes, readings, strict=True))
    ]
    if units is not None:
        cells.append(f"{_unit(units, d, read)} AS u")
    steps = [
        step_of(d, i, axis, reading.wide, per_row=units is not None)
        for i, (axis, reading) in enumerate(zip(counting.axes, readings, strict=True))
    ]
    value = counting.axes[-1].buckets
    if d.tests_in_key and units is None and len(counting.values) == 1 and isinstance(value, Width) and not value.whole:
        steps[-1] = tested_in_key(d, f"v{len(steps) - 1}", value)
    rows = _local(f"SELECT {', '.join(cells)} FROM {source}", counting.axes, d, with_units=units is not None)
    tests = [step.where for step in steps if step.where]
    if units is not None:
        tests.append(_has_unit(units, d))
        if units.per_unit == "mean":
            rows, tests = _means(rows, units, d), [steps[0].where]  # bounds are those of the means
    if counting.declared is not None:
        tests.append(_among(counting.groups, counting.declared, d))
    return _counted(_keyed(rows, tests, steps, d, with_units=units is not None), steps, counting, d)


def together_query(source: str, countings: Sequence[Counting], dialect: Dialect, read: ReadCell) -> str:
    """Several counts in one pass over the records, none of them by unit.

    Columns ``c{p}_b{i}`` are the parts of the bars of count p, ``whose`` says of which count a row is. A record that is
    not readable in one column still counts in the others, so tests become missing values instead of conditions.
    """
    d = dialect
    axes = [(p, axis) for p, counting in enumerate(countings) for axis in counting.axes]
    readings = [_read_axis(axis, read) for _, axis in axes]
    cells = ", ".join(
        f"{_cell(d, axis, reading, per_row=True)} AS v{i}"
        for i, ((_, axis), reading) in enumerate(zip(axes, readings, strict=True))
    )
    rows = _local(f"SELECT {cells} FROM {source}", [axis for _, axis in axes], d, with_units=False)
    steps = [
        step_of(d, i, axis, reading.wide, per_row=True)
        for i, ((_, axis), reading) in enumerate(zip(axes, readings, strict=True))
    ]
    tests = [step.where for step in steps]
    start = 0
    for counting in countings:
        if counting.declared is not None:
            tests[start] += f" AND {_among(counting.groups, counting.declared, d, start)}"
        start += len(counting.axes)
    inner = ", ".join(f"CASE WHEN {test} THEN v{i} END AS v{i}" for i, test in enumerate(tests))
    keyed = f"(SELECT {inner} FROM ({rows}) AS t) AS t"
    for columns, join in (layer for step in steps for layer in step.layers):
        added = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
        keyed = f"(SELECT *, {added} FROM {keyed}{d.fence}) AS t{join}"
    places = [sum(1 for q, _ in axes[:i] if q == p) for i, (p, _) in enumerate(axes)]
    names = [f"c{p}_b{place}" for (p, _), place in zip(axes, places, strict=True)]
    # A missing cell is missing in its key, too: an ELSE branch would make a bucket of it.
    keys = ", ".join(f"CASE WHEN v{i} IS NOT NULL THEN {step.key} END AS {names[i]}" for i, step in enumerate(steps))
    sets = [[name for name, (q, _) in zip(names, axes, strict=True) if q == p] for p in range(len(countings))]
    whose = "CASE " + " ".join(f"WHEN GROUPING({own[0]}) = 0 THEN {p}" for p, own in enumerate(sets)) + " END"
    grouped = ", ".join(f"({', '.join(own)})" for own in sets)
    shown = [d.as_text(name) if step.wide else name for name, step in zip(names, steps, strict=True)]
    listed = ", ".join(f"{expression} AS {name}" for expression, name in zip(shown, names, strict=True))
    return (
        f"SELECT {whose} AS whose, {listed}, count(*) AS records\n"
        f"FROM (SELECT {keys} FROM {keyed}) AS k\nGROUP BY GROUPING SETS ({grouped})"
    )


def _read_axis(axis: Axis, read: ReadCell) -> Reading:
    """A cell as its kind; which day a datetime lies on is known only once its clocks are."""
    return read(axis.column, axis.kind) if axis.zone is None else read(replace(axis.column, zoned=True), "datetime")


def _cell(d: Dialect, axis: Axis, reading: Reading, *, per_row: bool) -> str:
    """A cell to be tested. A number that is only divided need not be made honest: the bar of NaN is NaN, thus none."""
    if axis.kind == "text" and per_row:  # what is no bar must not be chosen in the place of one
        return d.unicode(reading.value)
    divided = isinstance(axis.buckets, Width) and not per_row
    return d.honest(reading.value) if axis.kind == "number" and not divided else reading.value


def _local(rows: str, axes: Sequence[Axis], d: Dialect, *, with_units: bool) -> str:
    """Datetimes of a zone as its clocks show them, or the days; clocks may lead out of the years that are read."""
    if all(axis.zone is None for axis in axes):
        return rows
    for column_of in (_by_clock, partial(_shown, d)):
        columns = [f"v{i}" if axis.zone is None else f"{column_of(i, axis)} AS v{i}" for i, axis in enumerate(axes)]
        rows = f"SELECT {', '.join(columns)}{', u' if with_units else ''} FROM ({rows}{d.fence}) AS z"
    return rows


def _by_clock(i: int, axis: Axis) -> str:
    """A moment by the clocks of its zone; when those were put forward or back is public knowledge."""
    shifts = offsets(axis.zone or "UTC")
    shift = search(f"v{i}", [str(at) for at, _ in shifts[1:]], [str(by) for _, by in shifts].__getitem__)
    return f"v{i}" if shift == "0" else f"v{i} + {shift}"


def _shown(d: Dialect, i: int, axis: Axis) -> str:
    shown = f"v{i}"
    if axis.kind == "date":
        up, down = d.quotient(f"v{i}", MICROS_PER_DAY), d.quotient(f"-1 - v{i}", MICROS_PER_DAY)
        shown = f"CASE WHEN v{i} >= 0 THEN {up} ELSE -1 - {down} END"
    return f"CASE WHEN v{i} BETWEEN {FIRST_MOMENT} AND {LAST_MOMENT} THEN {shown} END"


def _keyed(rows: str, tests: Sequence[str], steps: Sequence[Step], d: Dialect, *, with_units: bool) -> str:
    inner = f"({rows}) AS t" + (f"\n  WHERE {' AND '.join(tests)}" if tests else "")
    for columns, join in (layer for step in steps for layer in step.layers):
        added = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
        inner = f"(SELECT *, {added} FROM {inner}{d.fence}) AS t{join}"
    keys = [f"{step.key} AS b{i}" for i, step in enumerate(steps)] + (["u"] if with_units else [])
    return f"SELECT {', '.join(keys)}\n  FROM {inner}"


def _counted(keyed: str, steps: Sequence[Step], counting: Counting, d: Dialect) -> str:
    bars = [f"b{i}" for i in range(len(steps))]
    if counting.units is not None:
        keyed = _bounded(keyed, steps, counting, counting.units, d)
    names = ", ".join(bars)
    number, having = "count(*)", ""
    if not steps[-1].where:  # a condition on the bar itself would be tested on every row, the number is known once
        number = f"count({bars[-1]})"
        having = f"\nHAVING {number} > 0"
    counted = f"SELECT {names}, {number} AS records\nFROM (\n  {keyed}\n) AS k\nGROUP BY {names}{having}"
    if counting.units is None and any(step.after for step in steps):
        # Clamping each row would cost as much again as counting: clamp the buckets, of which there are few.
        clamped = [f"{step.after(bar) if step.after else bar} AS {bar}" for bar, step in zip(bars, steps, strict=True)]
        honest = [f"{d.honest(bar) if step.after else bar} AS {bar}" for bar, step in zip(bars, steps, strict=True)]
        counted = (
            f"SELECT {names}, {d.as_integer('sum(records)')} AS records\n"
            f"FROM (SELECT {', '.join(clamped)}, records FROM (\n"
            f"SELECT {', '.join(honest)}, records FROM (\n{counted}\n) AS c) AS h) AS a\nGROUP BY {names}"
        )
    if any(step.wide for step in steps):
        shown = [f"{d.as_text(bar) if step.wide else bar} AS {bar}" for bar, step in zip(bars, steps, strict=True)]
        counted = f"SELECT {', '.join(shown)}, records FROM (\n{counted}\n) AS w"
    return counted


def _bounded(keyed: str, steps: Sequence[Step], counting: Counting, units: Units, d: Dialect) -> str:
    """Each unit once in each bar, and in no more bars than allowed."""
    bars = [f"b{i}" for i in range(len(steps))]
    names, value = ", ".join(bars), bars[-1]
    if units.per_unit == "mean":
        return keyed
    if units.per_unit in ("max", "min") and not counting.groups:
        return f"SELECT {units.per_unit}({value}) AS {value} FROM ({keyed}) AS e GROUP BY u"
    bounded = f"SELECT DISTINCT u, {names} FROM ({keyed}) AS e"
    hashed = _hash(units, counting.axes, d)
    if units.per_unit in ("max", "min"):
        hashed = f"{value} {'DESC' if units.per_unit == 'max' else 'ASC'}, {hashed}"
        return d.first(bars, bounded, hashed)
    return d.chosen(bars, bounded, hashed, units.most)


def _hash(units: Units, axes: Sequence[Axis], d: Dialect) -> str:
    """md5 of salt, unit and bar; texts with their lengths, so that no two bars of a unit read alike."""
    parts = [d.text(units.salt + ":"), "u" if units.kind == "text" else d.as_text("u")]
    for i, axis in enumerate(axes):
        parts += [d.text(":"), *_hashed(d, f"b{i}", axis)]
    return d.md5(" || ".join(parts))


def _hashed(d: Dialect, bar: str, axis: Axis) -> list[str]:
    """A part of a bar as texts that all engines write alike."""
    if axis.kind == "text":
        return [d.as_text(d.length(bar)), d.text("."), bar]
    if axis.kind == "boolean":
        return [d.as_text(f"CASE WHEN {bar} THEN 1 ELSE 0 END")]
    if axis.kind == "number" and isinstance(axis.buckets, Exact):
        # Digits of a double differ between engines. Values that these two integers do not tell apart go by size.
        near = d.greatest(d.least(bar, d.double(2.0**53)), d.double(-(2.0**53)))
        rest = d.floor(f"({near} - {d.floor(near)}) * {d.double(2.0**53)}")
        return [d.as_text(d.as_integer(d.floor(near))), d.text("."), d.as_text(d.as_integer(rest))]
    # A floor may still be a double; wide integers are none.
    return [d.as_text(d.as_integer(bar) if axis.kind == "number" else bar)]


def _unit(units: Units, d: Dialect, read: ReadCell) -> str:
    value = read(units.column, units.kind).value
    return d.binary(d.unicode(value)) if units.kind == "text" else value


def _has_unit(units: Units, d: Dialect) -> str:
    return d.is_short("u") if units.kind == "text" else "u IS NOT NULL"


def _means(rows: str, units: Units, d: Dialect) -> str:
    """One row per unit, with the mean of its values; summed in their own order, it depends on nothing else.

    However it was rounded, it lies between the unit's smallest and largest value.
    """
    limit = d.double(_LARGEST_MEAN)
    kept = f"SELECT u, v0, count(*) OVER (PARTITION BY u) AS n FROM ({rows}) AS m"
    kept += f" WHERE {_has_unit(units, d)} AND v0 BETWEEN -{limit} AND {limit}"
    # What is next to nothing counts as nothing, because some engines fail where a quotient becomes zero.
    tiny = d.double(_SMALLEST_SHARED)
    share = f"CASE WHEN v0 BETWEEN -{tiny} AND {tiny} THEN {d.double(0.0)} ELSE v0 / n END"
    mean = d.greatest(d.least(d.mean("v0", share), "max(v0)"), "min(v0)")
    return f"SELECT u, {mean} AS v0 FROM ({kept}) AS s GROUP BY u"


def _among(groups: Sequence[Axis], declared: Sequence[tuple[object, ...]], d: Dialect, start: int = 0) -> str:
    """Whether a record's group is one of the declared ones."""
    names = [d.binary(f"v{i}") if axis.kind == "text" else f"v{i}" for i, axis in enumerate(groups, start)]
    possible = [group for group in declared if d.holds_nul or not any("\0" in str(value) for value in group)]
    if not possible:
        return "FALSE"
    literals = [[_literal(value, d) for value in group] for group in possible]
    if len(groups) == 1:
        return f"{names[0]} IN ({', '.join(group[0] for group in literals)})"
    return (
        "("
        + " OR ".join(
            "(" + " AND ".join(f"{n} = {v}" for n, v in zip(names, group, strict=True)) + ")" for group in literals
        )
        + ")"
    )


def _literal(value: object, d: Dialect) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return d.text(value) if isinstance(value, str) else str(value)
