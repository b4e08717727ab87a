"""The one query that touches records: read the cells, test them, find the bucket, bound the units, count.

Whatever a record holds, the query does not fail, and the record decides nothing but its own bucket. Values are tested
before they are rounded or cast, and only what all engines compute alike is used. Each step is one nested SELECT,
innermost first:

======= =======================================================================================================
rows    every column read as its kind, NULL where a cell is not readable (by the engine's ``dialect.py``), of the
        records that pass the filter, if there is one
kept    the records that count: all columns readable, none outside, the group one of the declared
layers  intermediate columns of buckets that take more than one expression
keyed   one key column ``b0, b1, …`` for each axis, and the unit ``u``
bounded with privacy units: each unit once in a bucket, and in a bounded number of buckets
counted one row per non-empty bucket, with its ``records``
======= =======================================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from flexdp._core.calendar import FIRST_DATETIME, LAST_DATETIME, MICROS_PER_DAY, offsets
from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.width import Width
from flexdp.tables.column import Column
from flexdp.tables.counting import Axis, Counting, Units
from flexdp.tables.sql.bucket_expressions import Step, search, step_of
from flexdp.tables.sql.dialect import Dialect, ReadCell, Reading
from flexdp.tables.where import derived_sql, test_sql

__all__ = [
    "ReadCell",
    "Reading",
    "count_query",
    "filtered",
    "literal",
    "records_query",
    "together_query",
    "wide_values",
    "with_derived",
]

_LARGEST_MEAN = 1e307  # beyond this a sum of shares might overflow
_SMALLEST_SHARED = 1e-280  # a share of anything larger is still a normal double


def count_query(source: str, counting: Counting, dialect: Dialect, read: ReadCell) -> str:
    """Write the query of one count: columns ``b0, b1, …`` and ``records``, one row per non-empty bucket."""
    keyed, steps = _records(source, counting, dialect, read)
    return _counted(keyed, steps, counting, dialect) + dialect.ending


def records_query(source: str, counting: Counting, dialect: Dialect, read: ReadCell) -> str:
    """Write the query of the records, or units, that count: columns ``b0, b1, …``, one row for each."""
    keyed, steps = _records(source, counting, dialect, read)
    return keyed if counting.units is None else _bounded(keyed, steps, counting, counting.units, dialect)


def wide_values(counting: Counting, read: ReadCell) -> bool:
    """Tell whether the integers of the released column may exceed 64 bits."""
    axis = counting.axes[-1]
    return (axis.column.derived is None or axis.kind == "integer") and _read_axis(axis, read).wide


def _records(source: str, counting: Counting, dialect: Dialect, read: ReadCell) -> tuple[str, Sequence[Step]]:
    """Write the query of the keys of all records that count, with the unit of each if there are units."""
    units, d = counting.units, dialect
    read = with_derived(read, d)
    cells, steps = _cells_and_steps(counting.axes, d, read, per_row=units is not None)
    if units is not None:
        cells.append(f"{_unit(units, d, read)} AS u")
    selected = f"SELECT {', '.join(cells)} FROM {filtered(source, counting, d, read)}"
    rows = _local(selected, counting.axes, d, others=["u"] if units is not None else [])
    tests = [step.where for step in steps]
    if units is not None:
        tests.append(_has_unit(units, d))
        if units.per_unit == "mean":
            rows, tests = _means(rows, units, d), [steps[0].where]  # the bounds apply to the means
    if counting.declared is not None:
        tests.append(_among(counting.groups, counting.declared, d))
    return _keyed(rows, tests, steps, d, with_units=units is not None), steps


def together_query(source: str, countings: Sequence[Counting], dialect: Dialect, read: ReadCell) -> str:
    """Write the query of several counts in one pass over the records, none of them by unit.

    Columns ``c{p}_b{i}`` are the keys of count p, and ``whose`` tells which count a row belongs to. A record that is
    not readable in one column still counts in the others, so failed tests give missing values instead of filtering.
    """
    d, read = dialect, with_derived(read, dialect)
    axes = [(p, axis) for p, counting in enumerate(countings) for axis in counting.axes]
    cells, steps = _cells_and_steps([axis for _, axis in axes], d, read, per_row=True)
    selected = f"SELECT {', '.join(cells)} FROM {filtered(source, countings[0], d, read)}"  # one filter for all counts
    rows = _local(selected, [axis for _, axis in axes], d)
    tests = [step.where for step in steps]
    start = 0
    for counting in countings:
        if counting.declared is not None:
            tests[start] += f" AND {_among(counting.groups, counting.declared, d, start)}"
        start += len(counting.axes)
    inner = ", ".join(
        f"v{i}" if test == f"v{i} IS NOT NULL" else f"CASE WHEN {test} THEN v{i} END AS v{i}"
        for i, test in enumerate(tests)
    )
    keyed = f"(SELECT {inner} FROM ({rows}) AS t) AS t"
    keyed = _layered(keyed, steps, d)
    places = [sum(1 for q, _ in axes[:i] if q == p) for i, (p, _) in enumerate(axes)]
    names = [f"c{p}_b{place}" for (p, _), place in zip(axes, places, strict=True)]
    # The key of a missing cell is missing: an ELSE branch would give it a bucket. A cell that is its own key has none.
    keys = ", ".join(
        f"{step.key} AS {name}"
        if step.key in (f"v{i}", d.binary(f"v{i}"))
        else f"CASE WHEN v{i} IS NOT NULL THEN {step.key} END AS {name}"
        for i, (step, name) in enumerate(zip(steps, names, strict=True))
    )
    sets = [[name for name, (q, _) in zip(names, axes, strict=True) if q == p] for p in range(len(countings))]
    whose = "CASE " + " ".join(f"WHEN GROUPING({own[0]}) = 0 THEN {p}" for p, own in enumerate(sets)) + " END"
    grouped = ", ".join(f"({', '.join(own)})" for own in sets)
    shown = [d.as_text(name) if step.wide else name for name, step in zip(names, steps, strict=True)]
    listed = ", ".join(f"{expression} AS {name}" for expression, name in zip(shown, names, strict=True))
    return (
        f"SELECT {whose} AS whose, {listed}, count(*) AS records\n"
        f"FROM (SELECT {keys} FROM {keyed}) AS k\nGROUP BY GROUPING SETS ({grouped})"
    )


def _cells_and_steps(
    axes: Sequence[Axis], d: Dialect, read: ReadCell, *, per_row: bool
) -> tuple[list[str], list[Step]]:
    readings = [(i, axis, _read_axis(axis, read)) for i, axis in enumerate(axes)]
    cells = [f"{_cell(d, axis, reading, per_row=per_row)} AS v{i}" for i, axis, reading in readings]
    return cells, [step_of(d, i, axis, reading.wide, per_row=per_row) for i, axis, reading in readings]


def _layered(rows: str, steps: Sequence[Step], d: Dialect) -> str:
    """Compute intermediate columns, each in a SELECT of its own."""
    for columns, join in (layer for step in steps for layer in step.layers):
        added = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
        rows = f"(SELECT *, {added} FROM {rows}{d.fence}) AS t{join}"
    return rows


def filtered(source: str, counting: Counting, d: Dialect, read: ReadCell) -> str:
    """Return the source with the test of the records that count, before units are bounded."""
    return source if counting.where is None else f"{source} WHERE {test_sql(counting.where.test, d, read)}"


def with_derived(read: ReadCell, d: Dialect) -> ReadCell:
    """Return the function that writes how a cell is read, also of columns that are computed from others."""

    def reading(column: Column, kind: Kind) -> Reading:
        return read(column, kind) if column.derived is None else Reading(*derived_sql(column.derived, kind, d, read))

    return reading


def _read_axis(axis: Axis, read: ReadCell) -> Reading:
    """Read a cell as its kind; the day of a datetime with a time zone is found later, by the clocks of the zone."""
    return read(axis.column, axis.kind) if axis.zone is None else read(replace(axis.column, zoned=True), "datetime")


def _cell(d: Dialect, axis: Axis, reading: Reading, *, per_row: bool) -> str:
    """Return a cell to test, opaque unless it is only divided: the key of NaN is NaN, which is not a bucket."""
    if axis.kind == "text" and per_row:  # what is not a bucket must not be chosen in place of one
        return d.unicode(reading.value)
    return d.opaque(reading.value) if axis.kind == "number" and (per_row or not _is_divided(axis)) else reading.value


def _is_divided(axis: Axis) -> bool:
    """Return True if the key is a floored quotient: NaN wherever the number is, unless keys are final for every row."""
    return axis.kind == "number" and isinstance(axis.buckets, Width)


def _local(rows: str, axes: Sequence[Axis], d: Dialect, *, others: Sequence[str] = ()) -> str:
    """Convert datetimes to local time, or to days; those that leave the supported years become NULL."""
    if all(axis.zone is None for axis in axes):
        return rows
    for column_of in (_by_clock, partial(_shown, d)):
        columns = [f"v{i}" if axis.zone is None else f"{column_of(i, axis)} AS v{i}" for i, axis in enumerate(axes)]
        rows = f"SELECT {', '.join([*columns, *others])} FROM ({rows}{d.fence}) AS z"
    return rows


def _by_clock(i: int, axis: Axis) -> str:
    """Convert a datetime to local time. The dates on which clocks change are public."""
    shifts = offsets(axis.zone or "UTC")
    shift = search(f"v{i}", [str(at) for at, _ in shifts[1:]], [str(by) for _, by in shifts].__getitem__)
    return f"v{i}" if shift == "0" else f"v{i} + {shift}"


def _shown(d: Dialect, i: int, axis: Axis) -> str:
    shown = f"v{i}"
    if axis.kind == "date":
        shown = d.floored(shown, MICROS_PER_DAY)
    return f"CASE WHEN v{i} BETWEEN {FIRST_DATETIME} AND {LAST_DATETIME} THEN {shown} END"


def _keyed(rows: str, tests: Sequence[str], steps: Sequence[Step], d: Dialect, *, with_units: bool) -> str:
    inner = f"({rows}) AS t" + (f"\n  WHERE {' AND '.join(tests)}" if tests else "")
    inner = _layered(inner, steps, d)
    keys = [f"{step.key} AS b{i}" for i, step in enumerate(steps)] + (["u"] if with_units else [])
    return f"SELECT {', '.join(keys)}\n  FROM {inner}"


def _counted(keyed: str, steps: Sequence[Step], counting: Counting, d: Dialect) -> str:
    keys = [f"b{i}" for i in range(len(steps))]
    bounded = keyed
    if counting.units is not None and counting.of_units:
        return _units_counted(bounded, keys, counting.units)
    if counting.units is not None:
        bounded = _bounded(bounded, steps, counting, counting.units, d)
    names = ", ".join(keys)
    counted = f"SELECT {names}, count(*) AS records\nFROM (\n  {bounded}\n) AS k\nGROUP BY {names}"
    if counting.units is None and any(step.after for step in steps):
        # Clamping each row would double the cost of counting: clamp the few buckets instead.
        clamped = [f"{step.after(key) if step.after else key} AS {key}" for key, step in zip(keys, steps, strict=True)]
        opaque = [f"{d.opaque(key) if step.after else key} AS {key}" for key, step in zip(keys, steps, strict=True)]
        counted = (
            f"SELECT {names}, {d.as_integer('sum(records)')} AS records\n"
            f"FROM (SELECT {', '.join(clamped)}, records FROM (\n"
            f"SELECT {', '.join(opaque)}, records FROM (\n{counted}\n) AS c) AS h) AS a\nGROUP BY {names}"
        )
    if any(step.wide for step in steps):
        shown = [f"{d.as_text(key) if step.wide else key} AS {key}" for key, step in zip(keys, steps, strict=True)]
        counted = f"SELECT {', '.join(shown)}, records FROM (\n{counted}\n) AS w"
    return counted


def _bounded(keyed: str, steps: Sequence[Step], counting: Counting, units: Units, d: Dialect) -> str:
    """Keep each unit once in a bucket, and in no more buckets than allowed."""
    keys = [f"b{i}" for i in range(len(steps))]
    names, value = ", ".join(keys), keys[-1]
    if units.per_unit == "mean":
        return keyed
    if units.per_unit in ("max", "min") and not counting.groups:
        return f"SELECT {units.per_unit}({value}) AS {value} FROM ({keyed}) AS e GROUP BY u"
    bounded = f"SELECT DISTINCT u, {names} FROM ({keyed}) AS e"
    hashed = _hash(units, counting.axes, d)
    if units.per_unit in ("max", "min"):
        hashed = f"{value} {'DESC' if units.per_unit == 'max' else 'ASC'}, {hashed}"
        return d.first(keys, bounded, hashed)
    return d.chosen(keys, bounded, hashed, units.most)


def _units_counted(keyed: str, keys: Sequence[str], units: Units) -> str:
    """Count units by whether they have more buckets than they may count in; each unit adds one to one of the two."""
    own = f"SELECT u, count(*) AS n FROM (SELECT DISTINCT u, {', '.join(keys)} FROM ({keyed}) AS e) AS d GROUP BY u"
    touched = f"SELECT CASE WHEN n > {units.most} THEN 1 ELSE 0 END AS b0 FROM ({own}) AS o"
    return f"SELECT b0, count(*) AS records\nFROM (\n  {touched}\n) AS k\nGROUP BY b0"


def _hash(units: Units, axes: Sequence[Axis], d: Dialect) -> str:
    """Hash salt, unit and bucket; texts with their lengths, so that no two buckets of a unit look alike."""
    parts = [d.text(units.salt + ":"), "u" if units.kind == "text" else d.as_text("u")]
    for i, axis in enumerate(axes):
        parts += [d.text(":"), *_hashed(d, f"b{i}", axis)]
    return d.md5(d.joined(parts))


def _hashed(d: Dialect, key: str, axis: Axis) -> list[str]:
    """Write a key as texts that are the same on all engines."""
    if axis.kind == "text":
        return [d.as_text(d.length(key)), d.text("."), key]
    if axis.kind == "boolean":
        return [d.as_text(f"CASE WHEN {key} THEN 1 ELSE 0 END")]
    if axis.kind == "number" and isinstance(axis.buckets, Exact):
        # Engines print doubles differently. Values that these two integers do not distinguish are ordered by size.
        near = d.greatest(d.least(key, d.double(2.0**53)), d.double(-(2.0**53)))
        rest = d.floor(f"({near} - {d.floor(near)}) * {d.double(2.0**53)}")
        return [d.as_text(d.as_integer(d.floor(near))), d.text("."), d.as_text(d.as_integer(rest))]
    # A floor may still be a double; wide integers never are.
    return [d.as_text(d.as_integer(key) if axis.kind == "number" else key)]


def _unit(units: Units, d: Dialect, read: ReadCell) -> str:
    value = read(units.column, units.kind).value
    return d.binary(d.unicode(value)) if units.kind == "text" else value


def _has_unit(units: Units, d: Dialect) -> str:
    return d.is_short("u") if units.kind == "text" else "u IS NOT NULL"


def _means(rows: str, units: Units, d: Dialect) -> str:
    """Reduce each unit to one row with the mean of its values, which depends on nothing but those.

    Whatever the rounding, the mean lies between the unit's smallest and largest value.
    """
    limit = d.double(_LARGEST_MEAN)
    kept = f"SELECT u, v0, count(*) OVER (PARTITION BY u) AS n FROM ({rows}) AS m"
    kept += f" WHERE {_has_unit(units, d)} AND v0 BETWEEN -{limit} AND {limit}"
    # Tiny values count as zero, because some engines fail if a quotient underflows.
    tiny = d.double(_SMALLEST_SHARED)
    share = f"CASE WHEN v0 BETWEEN -{tiny} AND {tiny} THEN {d.double(0.0)} ELSE v0 / n END"
    return d.means(kept, share)


def _among(groups: Sequence[Axis], declared: Sequence[tuple[object, ...]], d: Dialect, start: int = 0) -> str:
    """Test that a record's group is one of the declared ones."""
    names = [d.binary(f"v{i}") if axis.kind == "text" else f"v{i}" for i, axis in enumerate(groups, start)]
    possible = [group for group in declared if d.holds_nul or not any("\0" in str(value) for value in group)]
    if not possible:
        return "FALSE"
    literals = [[literal(value, d) for value in group] for group in possible]
    if len(groups) == 1:
        return f"{names[0]} IN ({', '.join(group[0] for group in literals)})"
    same = (" AND ".join(f"{n} = {v}" for n, v in zip(names, group, strict=True)) for group in literals)
    return "(" + " OR ".join(f"({each})" for each in same) + ")"


def literal(value: object, d: Dialect) -> str:
    """Write a declared group's value."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return d.integer(value) if isinstance(value, int) else d.text(str(value))
