"""The statements behind sharp answers: a private copy of the records, and one statement a request.

The text of a statement holds public numbers only. Ranks are found inside the engine, which returns one count a cut and
the values near the wanted ranks. Records are sorted into cells first, so that only a few of them are compared one by
one: those in cells that a cut divides, and those near a wanted rank. The results are exact whatever the cells, as long
as a greater value never lies in a lower cell.

A cell holds the values that round to the same number of :data:`CELL_BITS` significant bits, by three operations on
doubles (Veltkamp's splitting): each of them rounds to the nearest double, so the cell is a nearest such number, and a
greater value has the same cell or a greater one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flexdp.buckets.base import LARGEST_DOUBLE, LARGEST_INTEGER
from flexdp.buckets.exact import Exact
from flexdp.buckets.open_edges import OpenEdges
from flexdp.sharp.ranks import Near, Request, Tally
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale
from flexdp.tables.counting import Axis, Counting
from flexdp.tables.sql.bucket_expressions import search
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import ReadCell, filtered, literal, records_query, wide_values, with_derived
from flexdp.tables.where.sql import test_sql

__all__ = ["CELL_BITS", "CROWDED", "EXACT_TALLY", "FINER_BITS", "TINY", "RankQuery", "exactly", "ranked", "scale_of"]

CELL_BITS = 10
FINER_BITS = (24, 36, 48)  # where too many different values share cells
CROWDED = 10**6  # records in a cell, and different values in such cells, that are too many to compare one by one
_LARGEST, TINY = 1e39, 1e-30  # magnitudes beyond count as 1e39, and below as zero
_SLACK = 2  # ranks by which a window is wider in the engine, whose products are rounded
EXACT_TALLY = 2**61


def scale_of(axis: Axis) -> Scale:
    """Return the scale in which the values of an axis are counted."""
    return NUMBERS if axis.kind == "number" else INTEGERS


def exactly(counting: Counting) -> Counting:
    """Return the same count with every value its own bucket, between the same bounds."""
    axis = counting.values[0]
    own = Exact(axis.kind, getattr(axis.buckets, "bounds", None), getattr(axis.buckets, "outside", "clamp"))
    return replace(counting, values=(replace(axis, buckets=own),))


def ranked(
    source: str, counting: Counting, dialect: Dialect, read: ReadCell, rows: str, cells: str
) -> tuple[RankQuery, str]:
    """Return the statements about a column of a source, and the query of its private copy."""
    read = with_derived(read, dialect)
    query = RankQuery(dialect, counting, wide_values(counting, read), rows, cells)
    axis = counting.values[0]
    reading = read(axis.column, axis.kind)
    if query.tested_later:
        kept = filtered(source, counting, dialect, read)
        as_they_are = f"SELECT {reading.value} AS v FROM {kept}"
        return replace(query, as_they_are=as_they_are), query.copied(f"SELECT {reading.value} AS b0 FROM {kept}")
    if reading.apart is not None and query.alone and axis.zone is None:
        value, tests = f"CAST({reading.apart[0]} AS {dialect.integer_type})", [reading.apart[1]]
        if counting.where is not None:
            tests.append(f"({test_sql(counting.where.test, dialect, read)})")
        return query, query.copied(f"SELECT {value} AS b0 FROM {source} WHERE {' AND '.join(tests)}")
    return query, query.copied(records_query(source, counting, dialect, read))


def _limited(rank: str, *, above: bool = False) -> str:
    """Return the first or the last wanted rank of a window: its goal, which lies within the span, and its reach."""
    low, high = f"coalesce(lo.{rank}, 0)", f"coalesce(hi.{rank}, n)"
    goal = f"(1 - level) * {low} + level * {high} + shift"
    if above:
        return f"CASE WHEN {goal} < {low} THEN {low} ELSE {goal} END + reach"
    return f"CASE WHEN {goal} > {high} THEN {high} ELSE {goal} END - reach"


@dataclass(frozen=True)
class RankQuery:
    """The statements about one column on one engine: ``wide`` integers may exceed 64 bits.

    ``bits`` is the number of significant bits that values of one cell share: more of them where values cluster.
    ``as_they_are`` is a query of the values ``v`` of a column of numbers, tiny and huge ones, infinities and NaN among
    them, where it is simpler than that of the copy.
    """

    dialect: Dialect
    counting: Counting
    wide: bool
    rows: str
    cells: str
    bits: int = CELL_BITS
    as_they_are: str = ""

    @property
    def scale(self) -> Scale:
        """The scale of the column."""
        return scale_of(self.counting.values[0])

    @property
    def tested_later(self) -> bool:
        """True if the copy holds all records, and unreadable ones are left out of the cells.

        Hiding numbers from an engine that trusts the statistics of files, so that it tests them all, costs more than
        copying them. The engine knows its own copy better.
        """
        return self.alone and self.dialect.trusts_statistics and self.scale is NUMBERS

    @property
    def alone(self) -> bool:
        """True if there are neither groups nor units nor bounds: every readable value counts as it is."""
        return (
            not self.counting.groups and self.counting.units is None and self.counting.values[0].buckets.bounds is None
        )

    @property
    def least(self) -> int:
        """Cuts up to this one have no record before them."""
        if self.scale is NUMBERS:
            return -NUMBERS.limit
        return -LARGEST_INTEGER if self.wide else -(2**63)

    @property
    def most(self) -> int:
        """Cuts beyond this one have every record before them."""
        if self.scale is NUMBERS:
            return NUMBERS.limit
        return LARGEST_INTEGER if self.wide else 2**63 - 1

    def copied(self, records: str) -> str:
        """Return the query of the copy: the group and the readable value of each record, or unit, that counts.

        False is 0 and true is 1.
        """
        d, value = self.dialect, f"b{len(self.counting.groups)}"
        if self.scale is NUMBERS:
            tiny, huge = d.double(TINY), d.double(_LARGEST)
            value = (
                f"CASE WHEN {value} BETWEEN {tiny} AND {huge} THEN {value} "
                f"WHEN {value} BETWEEN -{huge} AND -{tiny} THEN {value} "
                f"WHEN {value} BETWEEN -{tiny} AND {tiny} THEN {d.double(0.0)} "
                f"WHEN {value} BETWEEN {huge} AND {d.double(LARGEST_DOUBLE)} THEN {huge} "
                f"WHEN {value} BETWEEN {d.double(-LARGEST_DOUBLE)} AND -{huge} THEN -{huge} END"
            )
        elif self.counting.values[0].kind == "boolean":
            value = d.as_integer(f"CASE WHEN {value} THEN 1 ELSE 0 END")
        return f"SELECT {self._groups()}{value} AS v FROM (\n{records}\n) AS r"

    def grouped(self) -> str:
        """Return the query of the cells of the copy, with the number of records in each."""
        keys = f"{self._groups()}c"
        where = f" WHERE {self._readable}" if self.tested_later else ""
        inner = f"SELECT {self._groups()}{self._cell('v')} AS c FROM {self.rows}{where}"
        return f"SELECT {keys}, {self.dialect.tally} AS m FROM ({inner}) AS k GROUP BY {keys}"

    def crowds(self) -> str:
        """Return the statement that counts the cells in which too many different values may lie."""
        return f"SELECT count(*) FROM ({self._crowded}) AS c"

    def crowded(self) -> str:
        """Return the statement that counts the different values in such cells, as far as it matters."""
        rows = f"SELECT v, {self._cell('v')} AS c FROM {self.rows}{self._where(())}"
        values = f"SELECT DISTINCT v FROM ({rows}) AS k WHERE c IN ({self._crowded}) LIMIT {CROWDED + 1}"
        return f"SELECT count(*) FROM ({values}) AS d"

    @property
    def _crowded(self) -> str:
        # A cell of integers holds at most as many as it is wide.
        wide = f" AND abs(c) > {self.dialect.double(CROWDED * 2.0 ** (self.bits - 2))}" if self.scale.integral else ""
        return f"SELECT c FROM {self.cells} WHERE m > {CROWDED}{wide}"

    def group_counts(self) -> str:
        """Return the statement that counts the records of each group."""
        d, names = self.dialect, [f"b{i}" for i in range(len(self.counting.groups))]
        shown = [
            f"{d.as_text(name) if axis.kind == 'integer' else name} AS {name}"
            for name, axis in zip(names, self.counting.groups, strict=True)
        ]
        keys = ", ".join(names)
        counted = f"SELECT {keys}, {d.as_integer('sum(m)')} AS records FROM {self.cells} GROUP BY {keys}"
        return f"SELECT {', '.join(shown)}, records FROM ({counted}) AS g"

    def bars(self, buckets: OpenEdges) -> str:
        """Return the statement that counts the records of each group by bucket."""
        d, names = self.dialect, [f"b{i}" for i in range(len(self.counting.groups))]
        shown = [
            f"{d.as_text(name) if axis.kind == 'integer' else name} AS {name}"
            for name, axis in zip(names, self.counting.groups, strict=True)
        ]
        starts = [d.double(start) if self.scale is NUMBERS else str(start) for start in buckets.starts]
        keys = ", ".join([*names, "bucket"])
        inner = f"SELECT {self._groups()}{search('v', starts)} AS bucket FROM {self.rows}{self._where(())}"
        counted = f"SELECT {keys}, count(*) AS records FROM ({inner}) AS k GROUP BY {keys}"
        return f"SELECT {', '.join([*shown, 'bucket'])}, records FROM ({counted}) AS g"

    def values(self, group: Sequence[object]) -> str:
        """Return the statement that fetches all values of a group; of few records, for engines in this process."""
        shown = self.dialect.as_text("v") if self.wide else "v"
        return f"SELECT {shown} AS v FROM {self.rows}{self._where(group)}"

    def tallied(self, tally: Tally, group: Sequence[object]) -> str:
        """Return the statement of one tally; the one way to compute it, because halves may be rounded either way."""
        total = self.dialect.as_integer(f"sum({self._place(tally)})")
        return f"SELECT coalesce({total}, 0) AS s FROM {self.rows}{self._where(group)}"

    def statement(self, request: Request, cuts: Sequence[int], group: Sequence[object], shown: str = "") -> str:
        """Return the statement of a request: rows of what, which, below, upto, value.

        ``cuts`` are those within reach, ascending, with the ends of spans among them; of what 0 is a cut, 1 a value in
        a window, 2 the total, 3 a tally. ``shown`` takes the place of the list of cuts, in a text that is only shown.
        """
        d = self.dialect
        nothing = f"CAST(NULL AS {d.text_type if self.wide else self._type})"
        size = f"SELECT coalesce({d.as_integer('sum(m)')}, 0) AS n FROM {self.cells}{self._among(group)}"
        parts = [f"SELECT 2 AS what, 0 AS which, n AS below, n AS upto, {nothing} AS v FROM size"]
        for i, tally in enumerate(request.tallies):
            parts.append(f"SELECT 3, {i}, s, s, {nothing} FROM ({self.tallied(tally, group)}) AS t{i}")
        named = {"size": size}
        if cuts or request.windows or shown:
            named |= self._zoomed(request, cuts, group, shown)
            value = d.as_text("v") if self.wide else "v"
            parts.append(f"SELECT 0, place, upto, upto, {nothing} FROM line WHERE kind = 0")
            parts.append(
                f"SELECT 1, w, upto - m, upto, {value} FROM line JOIN exact ON kind = 1 "
                "AND upto >= lowest AND upto - m <= highest AND upto - m >= before_low AND upto <= before_high"
            )
        clauses = ",\n".join(f"{name} AS{d.materialized} ({text})" for name, text in named.items())
        return f"WITH {clauses}\n" + "\nUNION ALL ".join(parts)

    def _zoomed(self, request: Request, cuts: Sequence[int], group: Sequence[object], shown: str) -> dict[str, str]:
        d, cell, windows = self.dialect, self._cell, request.windows
        numbers = shown or d.listed([self._literal(cut) for cut in cuts], self._type)
        order = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        running = d.as_integer(f"sum(m) OVER (ORDER BY c ASC, kind ASC {order})")
        exact = d.as_integer(f"sum(m) OVER (ORDER BY c ASC, v ASC, kind ASC {order})")
        rows = f"(SELECT v, {cell('v')} AS c FROM {self.rows}{self._among(group, *self._within(windows, cuts))}) AS k"
        return {
            "cuts": f"SELECT place, x, {cell('x')} AS c FROM ({numbers}) AS n",
            "cells": self._own_cells(group),
            "around": f"SELECT kind, place, x, c, m, {running} AS upto "
            "FROM (SELECT 0 AS kind, place, x, c, 0 AS m FROM cuts "
            f"UNION ALL SELECT 1, -1, CAST(NULL AS {self._type}), c, m FROM cells) AS p",
            "sides": "SELECT a.place, a.x, a.c, a.upto AS below, a.upto + coalesce(b.m, 0) AS upto "
            "FROM around AS a LEFT JOIN cells AS b ON a.c = b.c WHERE a.kind = 0",
            "wanted": self._wanted(windows, cuts),
            "rough": "SELECT w, lo.c AS c0, hi.c AS c1, "
            f"{_limited('below')} AS lowest, {_limited('upto', above=True)} AS highest "
            "FROM wanted CROSS JOIN size LEFT JOIN sides AS lo ON lo.place = low LEFT JOIN sides AS hi "
            "ON hi.place = high",
            # Cells that are looked into: with x, one cut divides them; without, all their values are wanted.
            "hot": "SELECT c, CASE WHEN count(*) = 1 THEN max(x) END AS x "
            f"FROM ({self._divided(request, cuts, shown)} "
            f"UNION ALL SELECT a.c, CAST(NULL AS {self._type}) FROM around AS a JOIN rough AS r ON a.kind = 1 "
            "AND a.upto >= r.lowest AND a.upto - a.m <= r.highest "
            "AND (r.c0 IS NULL OR a.c >= r.c0) AND (r.c1 IS NULL OR a.c <= r.c1)) AS h GROUP BY c",
            "near": f"SELECT v, kind, {d.tally} AS m FROM (SELECT coalesce(x, v) AS v, "
            "CASE WHEN x IS NULL THEN 1 WHEN v < x THEN -1 ELSE 2 END AS kind "
            f"FROM {rows} {d.probes} hot ON hot.c = k.c) AS s GROUP BY v, kind",
            "line": f"SELECT kind, place, v, m, {exact} AS upto "
            "FROM (SELECT 0 AS kind, place, x AS v, c, 0 AS m FROM cuts "
            f"UNION ALL SELECT kind, -1, v, {cell('v')}, m FROM near "
            f"UNION ALL SELECT 2, -1, CAST(NULL AS {self._type}), o.c, o.m FROM cells AS o "
            "LEFT JOIN hot ON hot.c = o.c WHERE hot.c IS NULL) AS l",
            "exact": "SELECT w, coalesce(lo.upto, 0) AS before_low, coalesce(hi.upto, n) AS before_high, "
            f"{_limited('upto')} AS lowest, {_limited('upto', above=True)} AS highest "
            "FROM wanted CROSS JOIN size LEFT JOIN line AS lo ON lo.kind = 0 AND lo.place = low "
            "LEFT JOIN line AS hi ON hi.kind = 0 AND hi.place = high",
        }

    def _divided(self, request: Request, cuts: Sequence[int], shown: str) -> str:
        """Select the cuts whose cells are looked into: the ends of spans, and those with few records on a side.

        All of them on an engine that computes a named query anew wherever it is used, which costs more than it saves.
        """
        if (request.enough is None and not shown) or not self.dialect.materialized:
            return "SELECT c, x FROM cuts"
        enough = ":enough" if shown else str(request.enough)
        ends = {end for near in request.windows for end in (near.span.low, near.span.high)}
        places = [str(place) for place, cut in enumerate(cuts) if cut in ends]
        always = f" OR place IN ({', '.join(places)})" if places else ""
        return f"SELECT c, x FROM sides CROSS JOIN size WHERE below < {enough} OR n - upto < {enough}{always}"

    def _own_cells(self, group: Sequence[object]) -> str:
        """The cells of a group; or of all groups, whose cells are added up."""
        if self.counting.groups and not group:
            return f"SELECT c, {self.dialect.as_integer('sum(m)')} AS m FROM {self.cells} GROUP BY c"
        return f"SELECT c, m FROM {self.cells}{self._among(group)}"

    def _within(self, windows: Sequence[Near], cuts: Sequence[int]) -> list[str]:
        """Test that a value lies between the outermost public cuts, or in their cells, if no window reaches beyond."""
        tests = []
        if cuts and all(near.span.low in cuts for near in windows):
            tests.append(f"v >= {self._beyond(cuts[0], -1)}")
        if cuts and all(near.span.high in cuts for near in windows):
            tests.append(f"v <= {self._beyond(cuts[-1], 1)}")
        return tests

    def _beyond(self, cut: int, side: int) -> str:
        """Return a number beyond the cell of a cut."""
        if self.scale is NUMBERS:
            double = NUMBERS.first_double(cut)
            return self.dialect.double(double + side * abs(double) / self._margin)
        return self.dialect.integer(min(max(cut + side * (abs(cut) // self._margin + 1), self.least + 1), self.most))

    @property
    def _margin(self) -> int:
        """A cell reaches less than one part in so many of its values to either side."""
        return 1 << (self.bits - 2)

    def _wanted(self, windows: Sequence[Near], cuts: Sequence[int]) -> str:
        """List the windows: the places of their ends among the cuts, or −1, and the wanted ranks."""
        d, place = self.dialect, {cut: i for i, cut in enumerate(cuts)}
        rows = []
        for w, near in enumerate(windows):
            low = -1 if near.span.low is None else place.get(near.span.low, -1)
            high = -1 if near.span.high is None else place.get(near.span.high, -1)
            numbers = (near.goal.level, near.goal.offset, near.reach + _SLACK)
            level, shift, reach = (d.double(float(number)) for number in numbers)
            rows.append([str(w), str(low), str(high), level, shift, reach])
        names = ("w", "low", "high", "level", "shift", "reach")
        if rows:
            return d.rows_of(names, rows)
        return d.rows_of(names, [["0", "-1", "-1", *[d.double(0.0)] * 3]]) + " WHERE 1 = 0"

    @property
    def _type(self) -> str:
        if self.scale is NUMBERS:
            return self.dialect.double_type
        narrow = self.dialect.integer_type
        return self.dialect.wide_type or narrow if self.wide else narrow

    def _literal(self, cut: int) -> str:
        return self.dialect.double(NUMBERS.first_double(cut)) if self.scale is NUMBERS else self.dialect.integer(cut)

    def _double(self, value: str) -> str:
        return value if self.scale is NUMBERS else self.dialect.as_double(value, wide=self.wide)

    def _cell(self, value: str) -> str:
        """Round to few significant bits, in order."""
        double = self._double(value)
        split = self.dialect.double(float(2 ** (53 - self.bits) + 1))
        return f"({double} * {split} - ({double} * {split} - {double}))"

    def _place(self, tally: Tally) -> str:
        """Return a record's place on a ladder of equal steps, a whole number from 0 to the number of steps."""
        d = self.dialect
        if self.scale.integral and max(abs(tally.low), abs(tally.high)) < EXACT_TALLY:
            inside = d.greatest(d.least("v", str(tally.high)), str(tally.low))
            return d.quotient(f"{d.as_integer(inside)} - ({tally.low}) + {tally.step // 2}", tally.step)
        double = self._double("v")
        low, high, step = (float(self.scale.value(part)) for part in (tally.low, tally.high, tally.step))
        inside = d.greatest(d.least(double, d.double(high)), d.double(low))
        whole = d.floor(f"({inside} - {d.double(low)}) / {d.double(step)} + {d.double(0.5)}")
        return d.as_integer(d.greatest(d.least(d.as_integer(whole), str(tally.cells)), "0"))

    @property
    def _readable(self) -> str:
        return f"v BETWEEN -{self.dialect.double(_LARGEST)} AND {self.dialect.double(_LARGEST)}"

    def _groups(self) -> str:
        return "".join(f"b{i}, " for i in range(len(self.counting.groups)))

    def _where(self, group: Sequence[object]) -> str:
        """Test that a record of the copy is readable and in a group."""
        return self._among(group, *([self._readable] if self.tested_later else []))

    def _among(self, group: Sequence[object], *also: str) -> str:
        tests = [*also]
        tests += [f"b{i} = {literal(value, self.dialect)}" for i, value in enumerate(group)]
        if not self.dialect.holds_nul and any("\0" in str(value) for value in group):
            tests.append("1 = 0")
        return f" WHERE {' AND '.join(tests)}" if tests else ""
