"""Tables on a database server or another engine, counted where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeAlias

from flexdp._core.text import is_short, safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, P
from flexdp.tables.counting import Counted, Counting
from flexdp.tables.declared import Column, pick
from flexdp.tables.plans.refusal import not_of_the_row
from flexdp.tables.sql.check_query import Inspected, Wanted, joined, served_check_query, served_inspected
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.privileges import not_permitted
from flexdp.tables.sql.query import Reading, count_query, together_query
from flexdp.tables.sql.rank_query import RankQuery, ranked
from flexdp.tables.sql.results import columns_of, counted, counted_together
from flexdp.tables.sql.workspace import Ask, Workspace

__all__ = ["Ask", "Described", "ServedTable", "check_name", "no_table", "there_are"]

Described: TypeAlias = tuple[str, tuple[Column, ...]]  # a table's quoted name, and its declared columns

_LONGEST_NAME = 300
_MOST_NAMED = 12
_MOST_CHECKED = 500  # by one statement: PostgreSQL returns at most 1664 columns, SQLite 2000


def check_name(table: object) -> str:
    """Check a table's name as the caller gave it."""
    if not isinstance(table, str) or not table or len(table) > _LONGEST_NAME or not table.isprintable():
        raise InputError(
            "table",
            "must be the name of a table or view, for example (connection, 'visits')",
            given=safe_repr(table),
        )
    return table


def no_table(table: str, names: Sequence[str] = ()) -> InputError:
    """Return the error for a table that cannot be found, whatever the reason; ``names`` are those that there are."""
    return InputError(
        "table",
        f": {safe_repr(table)} does not exist or is not visible",
        remedy=there_are(names) or "Check its name and schema.",
    )


def there_are(names: Sequence[str], what: str = "Tables and views") -> str:
    """List the first declared names that there are; empty where there are none.

    >>> there_are(["visits", "wards"]), there_are([], "Sheets")
    ("Tables and views: 'visits', 'wards'.", '')
    """
    shown = [repr(name) for name in names if is_short(name)]
    more = ", …" if len(names) > _MOST_NAMED else ""
    return f"{what}: {', '.join(shown[:_MOST_NAMED])}{more}." if shown else ""


@dataclass(frozen=True)
class ServedTable:
    """A table of another engine. ``execute`` runs one statement there and returns its rows.

    ``computed`` are columns that are computed when they are read, which need not be of their row alone;
    ``unread`` are columns that the connection may not read.
    """

    name: str
    columns: tuple[Column, ...]
    dialect: Dialect
    read_cell: Callable[[str, Column, Kind], Reading] = field(repr=False)
    execute: Ask = field(repr=False)
    opened: Callable[[], AbstractContextManager[Workspace]] = field(repr=False)
    files: tuple[str, ...] = ()
    probe: Callable[[], bool] = field(default=lambda: True, repr=False)
    computed: frozenset[str] = field(default=frozenset(), repr=False)
    unread: frozenset[str] = field(default=frozenset(), repr=False)

    def column(self, name: object) -> Column:
        """Return the declared column of that name."""
        return pick(self.columns, name)

    def check(self, counting: Counting) -> None:
        """Refuse a count that this engine cannot make, or of rows that are not records, before any record is read."""
        self._permit(counting.columns)
        for column in counting.columns:
            name = column.engine_name or column.name or ""
            if name in self.computed:
                raise not_of_the_row(name)
        self.query(counting)

    def _permit(self, columns: Sequence[Column]) -> None:
        """Refuse columns that the connection may not read: a release would be charged, and then fail."""
        for column in columns:
            if (column.engine_name or column.name or "") in self.unread:
                some = any((each.engine_name or each.name or "") not in self.unread for each in self.columns)
                raise not_permitted(self.name, column.label if some else "")

    def query(self, counting: Counting) -> str:
        """Return the SQL that counts, without running it."""
        return count_query(self.name, counting, self.dialect, self._read)

    def count(self, counting: Counting) -> Counted:
        """Count the records in each bucket."""
        names = [f"b{i}" for i in range(len(counting.keys))]
        texts = {name for name, axis in zip(names, counting.keys, strict=True) if axis.kind == "text"}
        rows = self.execute(self.query(counting))
        return counted(columns_of(rows, [*names, "records"], texts), len(names))

    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        """Count how many cells are read as each kind, and why the others are not. The counts are not private."""
        self._permit([column for column, _, _ in wanted])
        places = range(len(wanted))
        parts = [places[start : start + _MOST_CHECKED] for start in places[::_MOST_CHECKED]]
        return joined(parts, [self._inspected([wanted[place] for place in part]) for part in parts])

    def _inspected(self, wanted: Sequence[Wanted]) -> Inspected:
        parts = [(self._raw(column), self._read(column, kind).value, kind) for column, kind, _ in wanted]
        row = self.execute(served_check_query(self.name, parts, self.dialect))[0]
        return served_inspected(row, [each.column.kind == "number" and each.kind == "number" for each in wanted])

    def reads(self, column: Column, kind: Kind) -> bool:
        """Tell whether this engine has a type for that kind."""
        try:
            self._read(column, kind)
        except InputError:
            return False
        return True

    def ranked(self, counting: Counting, rows: str, looked: str) -> tuple[RankQuery, str]:
        """Return the statements about the ranks of a column, and the query of the private copy that they read."""
        return ranked(self.name, counting, self.dialect, self._read, rows, looked)

    def workspace(self, counting: Counting) -> AbstractContextManager[Workspace]:  # noqa: ARG002
        """Open a session that can make and read private copies."""
        return self.opened()

    def check_copies(self) -> None:
        """Refuse a session in which no temporary table can be made; no record is read."""
        if not self.probe():
            raise InputError(
                "source",
                "does not allow temporary tables, which automatic buckets and asked answers need",
                remedy=(
                    "Give ",
                    P("width"),
                    ", ask for the TEMPORARY privilege, or connect to a server and in a transaction that can write.",
                ),
            )

    def together(self, countings: Sequence[Counting]) -> list[Counted]:
        """Make several counts, in one pass if the engine can; those by unit one after the other."""
        if not self._in_one_pass(countings):
            return [self.count(counting) for counting in countings]
        parts = {f"c{p}_b{i}": axis for p, each in enumerate(countings) for i, axis in enumerate(each.axes)}
        texts = {name for name, axis in parts.items() if axis.kind == "text"}
        rows = self.execute(self.together_query(countings))
        return counted_together(columns_of(rows, ["whose", *parts, "records"], texts), countings)

    def together_query(self, countings: Sequence[Counting]) -> str:
        """Return the SQL of several counts."""
        if not self._in_one_pass(countings):
            return ";\n\n".join(self.query(counting) for counting in countings)
        return together_query(self.name, countings, self.dialect, self._read)

    def _in_one_pass(self, countings: Sequence[Counting]) -> bool:
        return self.dialect.has_grouping_sets and all(counting.units is None for counting in countings)

    def _read(self, column: Column, kind: Kind) -> Reading:
        return self.read_cell(self._raw(column), column, kind)

    def _raw(self, column: Column) -> str:
        return self.dialect.identifier(column.engine_name or column.name or "")
