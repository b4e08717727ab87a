"""The statements about the ranks of a private copy ``rows`` of the records that count, with columns b0, b1, …, v.

    rows ──▶ SELECT cell, min(v), max(v), count(*) GROUP BY cell        the column in pieces, a few thousand of them
    rows ──▶ … JOIN looked ON its cell AND v BETWEEN low AND high …      the values of some pieces, with their counts
    rows ──▶ SELECT bucket, count(*) GROUP BY bucket                     the records between public cuts
    rows ──▶ SELECT records, count(*) GROUP BY records                   how many groups have so many records
    rows ──▶ … row_number() … JOIN looked ON records AND turn            the keys of some of these groups

Their texts hold public numbers only: the pieces that are looked into stand in a private table beside them.

A cell holds the values that round to the same :data:`CELL_BITS` significant bits, by three operations on doubles
(Veltkamp's splitting). Each of them rounds to the nearest double, so a greater value has the same cell or a greater
one. Rounding to few bits is not nested in rounding to more, so smaller pieces are found by cell *and* limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flexdp.buckets.base import LARGEST_DOUBLE
from flexdp.buckets.exact import Exact
from flexdp.buckets.open_edges import OpenEdges
from flexdp.sharp.column import EXACT_TALLY
from flexdp.sharp.ranks import Tally
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale
from flexdp.tables.counting import Axis, Counting
from flexdp.tables.sql.bucket_expressions import search
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import ReadCell, filtered, literal, records_query, wide_values, with_derived
from flexdp.tables.where import test_sql

__all__ = ["CELL_BITS", "NAMED", "PARTS", "RankQuery", "exactly", "ranked", "scale_of"]

CELL_BITS = 11
PARTS = 1 << 10  # into which a crowded piece is split
NAMED = 1 << 5  # records from which on a group that is not known is fetched with its key
_LARGEST, _TINY = 1e39, 1e-30  # magnitudes beyond count as 1e39, and below as zero


def scale_of(axis: Axis) -> Scale:
    """Return the scale in which the values of an axis are counted."""
    return NUMBERS if axis.kind == "number" else INTEGERS


def exactly(counting: Counting) -> Counting:
    """Return the same count with every value its own bucket, between the same bounds."""
    axis = counting.values[0]
    own = Exact(axis.kind, getattr(axis.buckets, "bounds", None), getattr(axis.buckets, "outside", "clamp"))
    return replace(counting, values=(replace(axis, buckets=own),))


def ranked(
    source: str, counting: Counting, dialect: Dialect, read: ReadCell, rows: str, looked: str
) -> tuple[RankQuery, str]:
    """Return the statements about a column of a source, and the query of the records that count."""
    read = with_derived(read, dialect)
    query = RankQuery(dialect, counting, wide_values(counting, read), rows, looked, source)
    axis = counting.values[0]
    reading = read(axis.column, axis.kind)
    if query.tested_later:
        return query, f"SELECT {reading.value} AS b0 FROM {filtered(source, counting, dialect, read)}"
    if reading.apart is not None and query.alone and axis.zone is None:
        value, tests = f"CAST({reading.apart[0]} AS {dialect.integer_type})", [reading.apart[1]]
        if counting.where is not None:
            tests.append(f"({test_sql(counting.where.test, dialect, read)})")
        return query, f"SELECT {value} AS b0 FROM {source} WHERE {' AND '.join(tests)}"
    return query, records_query(source, counting, dialect, read)


@dataclass(frozen=True)
class RankQuery:
    """The statements about one column on one engine: ``wide`` integers may exceed 64 bits."""

    dialect: Dialect
    counting: Counting
    wide: bool
    rows: str
    looked: str
    source: str  # as it stands in FROM
    tested: bool = False

    def in_place(self, records: str) -> RankQuery:
        """Return the same statements about records that are read again by each, and never copied."""
        copied = self.copied(records)
        test = f" WHERE {self.dialect.finite('b0')}" if self.tested_later else ""
        return replace(self, rows=f"({copied}{test}) AS records", tested=True)

    @property
    def reads_cheaply(self) -> bool:
        """True if reading the records costs less than copying them: the cells are numbers or dates, and all count."""
        column = self.counting.values[0].column
        typed = column.kind not in (None, "text") and column.derived is None
        return typed and self.alone and self.counting.where is None

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
        return self.alone and self.dialect.trusts_statistics and self.scale is NUMBERS and not self.tested

    @property
    def alone(self) -> bool:
        """True if there are neither groups nor units nor bounds: every readable value counts as it is."""
        return (
            not self.counting.groups and self.counting.units is None and self.counting.values[0].buckets.bounds is None
        )

    def copied(self, records: str) -> str:
        """Return the query of the copy: the group and the readable value of each record, or unit, that counts.

        False is 0 and true is 1.
        """
        d, value = self.dialect, f"b{len(self.counting.groups)}"
        if self.scale is NUMBERS:
            tiny, huge = d.double(_TINY), d.double(_LARGEST)
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

    def pieces(self, group: Sequence[object] = ()) -> str:
        """Return the statement of all pieces of the column, or of a group: rows of cell, low, high, count."""
        inner = f"SELECT v, {self._cell} AS c FROM {self.rows}{self._where(group)}"
        return f"SELECT c, {self._counted} FROM ({inner}) AS k GROUP BY c"

    def parts(self, group: Sequence[object] = (), *, split: bool = False) -> str:
        """Return the statement that looks into the pieces of ``looked``: rows of place, low, high, count.

        A part is one value, or with ``split`` one of equal parts of its piece.
        """
        d = self.dialect
        joined = f"{self.rows} {d.probes} {self.looked} ON {self._cell} = cell AND v BETWEEN low AND high"
        away = "(v - low)" if self.scale is NUMBERS else d.as_double("(v - low)", wide=self.wide)
        code = d.floor(f"{away} * step") if split else "v"
        inner = f"SELECT place, v, {code} AS c FROM {joined}{self._where(group)}"
        return f"SELECT place, {self._counted} FROM ({inner}) AS k GROUP BY place, c"

    def counts(self, cuts: Sequence[int], group: Sequence[object] = ()) -> str:
        """Return the statement that counts records between ascending cuts: rows of the cuts up to them, count."""
        d, numbers = self.dialect, self.scale is NUMBERS
        starts = [d.double(NUMBERS.first_double(cut)) if numbers else d.integer(cut) for cut in cuts]
        bucket = search("v", starts, branches=d.branches)
        inner = f"SELECT {bucket} AS bucket FROM {self.rows}{self._where(group)}"
        return f"SELECT bucket, {d.tally} AS n FROM ({inner}) AS k GROUP BY bucket"

    def values(self, group: Sequence[object] = ()) -> str:
        """Return the statement of all values of the column, or of a group: rows of place 0, value, value, count."""
        return f"SELECT 0 AS place, {self._counted} FROM {self.rows}{self._where(group)} GROUP BY v"

    def values_together(self, groups: Sequence[Sequence[object]]) -> str:
        """Return the statement of all values of several groups, place being that of the group in the list."""
        d, names = self.dialect, [f"k{i}" for i in range(len(self.counting.groups))]
        rows = [[str(place), *(literal(value, d) for value in key)] for place, key in enumerate(groups)]
        same = " AND ".join(f"b{i} = {name}" for i, name in enumerate(names))
        joined = f"{self.rows} {d.probes} ({d.rows_of(('place', *names), rows)}) AS g ON {same}"
        return f"SELECT place, {self._counted} FROM {joined} GROUP BY place, v"

    @property
    def _counted(self) -> str:
        low, high = (self.dialect.as_text(f"{end}(v)") if self.wide else f"{end}(v)" for end in ("min", "max"))
        return f"{low} AS lowest, {high} AS highest, {self.dialect.tally} AS n"

    def group_counts(self) -> str:
        """Return the statement that counts the records of each group."""
        shown = ", ".join(f"{key} AS b{i}" for i, key in enumerate(self._shown_keys))
        return f"SELECT {shown}, records FROM ({self._sizes}) AS g"

    def group_sizes(self) -> str:
        """Return the statement that counts groups by their records: rows of a large group's key, records, groups."""
        named = [f"CASE WHEN records >= {NAMED} THEN {key} END AS k{i}" for i, key in enumerate(self._shown_keys)]
        keys = ", ".join([*(f"k{i}" for i in range(len(named))), "records"])
        inner = f"SELECT {', '.join(named)}, records FROM ({self._sizes}) AS g"
        return f"SELECT {keys}, {self.dialect.tally} AS n FROM ({inner}) AS s GROUP BY {keys}"

    def groups_at(self) -> str:
        """Return the statement that finds small groups by their turn: rows of key, records, turn.

        The turn counts the groups of as many records in the order of their keys, from 1. In ``looked`` the place is
        the turn, and the cell the number of records.
        """
        order = ", ".join(f"b{i} ASC" for i in range(len(self.counting.groups)))  # of texts by their bytes
        turn = f"row_number() OVER (PARTITION BY records ORDER BY {order})"
        shown = ", ".join(f"{key} AS k{i}" for i, key in enumerate(self._shown_keys))
        size = self.dialect.as_double("records")
        inner = f"SELECT {shown}, records, {size} AS size, {turn} AS turn FROM ({self._sizes}) AS g"
        keys = ", ".join(f"k{i}" for i in range(len(self.counting.groups)))
        joined = f"({inner} WHERE records < {NAMED}) AS s JOIN {self.looked} ON size = cell AND turn = place"
        return f"SELECT {keys}, records, turn FROM {joined}"

    @property
    def _sizes(self) -> str:
        keys = ", ".join(f"b{i}" for i in range(len(self.counting.groups)))
        return f"SELECT {keys}, {self.dialect.tally} AS records FROM {self.rows} GROUP BY {keys}"

    @property
    def _shown_keys(self) -> list[str]:
        axes = enumerate(self.counting.groups)
        return [self.dialect.as_text(f"b{i}") if axis.kind == "integer" else f"b{i}" for i, axis in axes]

    def bars(self, buckets: OpenEdges) -> str:
        """Return the statement that counts the records of each group by bucket."""
        d, names = self.dialect, [f"b{i}" for i in range(len(self.counting.groups))]
        shown = [f"{key} AS {name}" for key, name in zip(self._shown_keys, names, strict=True)]
        starts = [d.double(start) if self.scale is NUMBERS else str(start) for start in buckets.starts]
        keys = ", ".join([*names, "bucket"])
        inner = f"SELECT {self._groups()}{search('v', starts)} AS bucket FROM {self.rows}{self._where(())}"
        counted = f"SELECT {keys}, count(*) AS records FROM ({inner}) AS k GROUP BY {keys}"
        return f"SELECT {', '.join([*shown, 'bucket'])}, records FROM ({counted}) AS g"

    @property
    def total(self) -> str:
        """The statement that counts all rows of the source, whatever they hold; engines know it without reading."""
        return f"SELECT count(*) AS n FROM {self.source}"

    def every_value(self, records: str | None, most: int) -> str:
        """Return the statement that fetches the values of a column without groups, as they are read or from the copy.

        It returns one more than so many at most, NULL among them. Whoever sorts them leaves out NaN and infinities:
        statistics of files, which do not tell of NaN, may decide a test in the statement.
        """
        if records is None:
            return f"SELECT v FROM {self.rows} LIMIT {most + 1}"
        boolean = self.counting.values[0].kind == "boolean"
        value = self.dialect.as_integer("CASE WHEN b0 THEN 1 WHEN NOT b0 THEN 0 END") if boolean else "b0"
        return f"SELECT {value} AS v FROM (\n{records}\n) AS r LIMIT {most + 1}"

    def tallied(self, tally: Tally, group: Sequence[object]) -> str:
        """Return the statement of one tally; the one way to compute it, because halves may be rounded either way."""
        total = self.dialect.as_integer(f"sum({self._place(tally)})")
        return f"SELECT coalesce({total}, 0) AS s FROM {self.rows}{self._where(group)}"

    @property
    def value_type(self) -> str:
        """The type of values in the table of pieces that are looked into."""
        if self.scale is NUMBERS:
            return self.dialect.double_type
        narrow = self.dialect.integer_type
        return self.dialect.wide_type or narrow if self.wide else narrow

    def _double(self, value: str) -> str:
        return value if self.scale is NUMBERS else self.dialect.as_double(value, wide=self.wide)

    @property
    def _cell(self) -> str:
        """Round to few significant bits, in order."""
        double = self._double("v")
        split = self.dialect.double(float(2 ** (53 - CELL_BITS) + 1))
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
        tests = [self._readable] if self.tested_later else []
        tests += [f"b{i} = {literal(value, self.dialect)}" for i, value in enumerate(group)]
        if not self.dialect.holds_nul and any("\0" in str(value) for value in group):
            tests.append("1 = 0")
        return f" WHERE {' AND '.join(tests)}" if tests else ""
