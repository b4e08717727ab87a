"""SQL dialects: the expressions that differ between engines. The query itself is written once, in ``query.py``.

It uses only what every engine computes alike: comparisons, IEEE arithmetic on doubles, integer arithmetic, md5. Each
dialect is written by hand and run by the tests on its engine; automatic translation was seen to change meanings
silently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from flexdp.buckets.base import LARGEST_DOUBLE, LONGEST_TEXT, Kind
from flexdp.tables.column import Column
from flexdp.tables.where.literals import ESCAPE, in_sql

__all__ = ["Dialect", "Lookup", "ReadCell", "Reading"]


class Lookup(NamedTuple):
    """A short table: the expression of the value at a place, counted from 0, and the join that it needs."""

    at: Callable[[str], str]
    join: str = ""


class Reading(NamedTuple):
    """A cell read as a kind: an expression over the source, NULL where the cell is not of that kind.

    Numbers are doubles, dates are days and datetimes microseconds since 1970-01-01; ``wide`` integers may exceed
    64 bits, and ``day`` is the cell itself where it is a DATE that can be compared with one. ``apart`` is the value
    without its range test, an expression that raises no error for any cell, and that test, which costs less as a filter
    than in a CASE.
    """

    value: str
    wide: bool = False
    day: str = ""
    apart: tuple[str, str] | None = None


ReadCell: TypeAlias = Callable[[Column, Kind], Reading]


class Dialect:
    """One engine's SQL. The defaults are PostgreSQL's, and mostly common to all."""

    name = "postgres"
    double_type = "DOUBLE PRECISION"
    text_type = "TEXT"
    integer_type = "BIGINT"  # of casts
    ending = ""  # of every query
    tally = "count(*)"  # as an integer that has a sign
    wide_type: str | None = "NUMERIC"  # of integers beyond 64 bits; None if the engine has none
    divides_wide = True  # divides those exactly
    has_grouping_sets = True  # can make several counts in one pass
    holds_nul = True  # texts may contain NUL
    # Without it SQLite counts months 8 times as long, and relative widths for minutes.
    fence = " OFFSET 0"  # keeps the planner from inlining an inner SELECT, which would compute its columns many times
    branches = 2  # per node of a search tree: more nest less deeply, which some parsers limit
    clamps_quotient = False  # clamps the double itself, because least takes no integer beside a double
    trusts_statistics = False  # of files: values of ranks are then tested after they are read, which costs less
    clamps_after = False  # clamps buckets after counting instead of rows: 2.1 times faster on DuckDB with bounds
    probes = "JOIN"  # joins a long table to a short one, which is the one to look up in

    def identifier(self, name: str) -> str:
        """Return a quoted column or table name."""
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """Return a quoted string literal."""
        return "'" + value.replace("'", "''") + "'"

    def integer(self, value: int) -> str:
        """Return an integer literal."""
        return str(value)

    def double(self, value: float | Fraction) -> str:
        """Return a literal that the engine reads as exactly this double."""
        return f"CAST('{float(value)!r}' AS {self.double_type})"

    def stored(self, kind: str) -> str:
        """Return the type of a column, where that of casts has another name."""
        return kind

    def as_double(self, expression: str, *, wide: bool = False) -> str:  # noqa: ARG002
        """Convert an integer to the nearest double; ``wide`` integers may exceed 64 bits."""
        return f"CAST({expression} AS {self.double_type})"

    def as_text(self, expression: str) -> str:
        """Convert an integer, a text or a boolean to a text."""
        return f"CAST({expression} AS {self.text_type})"

    def as_integer(self, expression: str, *, wide: bool = False) -> str:
        """Convert a whole number to an integer of 64 bits, or of the wide type."""
        return f"CAST({expression} AS {self.wide_type if wide else self.integer_type})"

    def opaque(self, expression: str) -> str:
        """Hide a double from the optimiser, so that nothing is assumed about its value."""
        return expression

    def floor(self, expression: str) -> str:
        """Return the floor of a double that fits an integer."""
        return f"floor({expression})"

    def lookup(self, name: str, values: Sequence[str]) -> Lookup | None:  # noqa: ARG002
        """Return a short table of doubles; None if the engine compares instead of looking up."""
        return None

    def rows_of(self, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Select a short table of public numbers."""
        listed = ", ".join(f"({', '.join(row)})" for row in rows)
        return f"SELECT * FROM (VALUES {listed}) AS r({', '.join(names)})"

    def over(self, expression: str, divisor: float) -> str:
        """Divide a double by a positive one; by 1, which changes no double, not at all."""
        return expression if divisor == 1 else f"{expression} / {self.double(divisor)}"

    def quotient(self, expression: str, divisor: int, *, wide: bool = False) -> str:
        """Divide a non-negative integer by a positive one, rounding down."""
        return f"div({expression}, {divisor})" if wide else f"({expression}) / {divisor}"

    def floored(self, expression: str, divisor: int) -> str:
        """Divide an integer of either sign by a positive one, rounding down."""
        up, down = self.quotient(expression, divisor), self.quotient(f"-1 - {expression}", divisor)
        return f"CASE WHEN {expression} >= 0 THEN {up} ELSE -1 - {down} END"

    def least(self, first: str, second: str) -> str:
        return f"least({first}, {second})"

    def greatest(self, first: str, second: str) -> str:
        return f"greatest({first}, {second})"

    def binary(self, expression: str) -> str:
        """Compare a text by its bytes, whatever the collation of the column or the connection."""
        return f'{expression} COLLATE "C"'

    def unicode(self, expression: str) -> str:
        """Return a text; NULL where the engine holds bytes that are not one."""
        return expression

    def is_short(self, text: str) -> str:
        """Test that a text is present and short enough in UTF-8, without reading it."""
        return f"octet_length({text}) <= {LONGEST_TEXT}"

    def finite(self, expression: str) -> str:
        """Test that a double is neither missing, NaN nor infinite, whatever an optimiser believes about it."""
        return f"({expression}) BETWEEN {self.double(-LARGEST_DOUBLE)} AND {self.double(LARGEST_DOUBLE)}"

    def compared(self, text: str) -> str:
        """Return what texts are compared by: their bytes in UTF-8, whatever the collation."""
        return self.binary(f"({text})")

    def compared_literal(self, value: str) -> str:
        """Return a text as :meth:`compared` gives it."""
        return self.text(value)

    def sought(self, expression: str) -> str:
        """Return a double as IN compares it."""
        return f"({expression})"

    def like(self, text: str, pattern: Sequence[str | None]) -> str:
        """Test that a text matches a pattern as a whole, case by case, and one character by one code point."""
        return f"{self.binary(f'({text})')} LIKE {self.text(in_sql(pattern)[0])} ESCAPE '{ESCAPE}'"

    def length(self, expression: str) -> str:
        """Return the number of characters in a text."""
        return f"length({expression})"

    def joined(self, texts: Sequence[str]) -> str:
        """Concatenate texts."""
        return " || ".join(texts)

    def md5(self, expression: str) -> str:
        """Return the hexadecimal digest of a text, in lower case."""
        return f"md5({expression})"

    def mean(self, value: str, share: str) -> str:
        """Sum ``share`` in the order of ``value``, so that the sum depends on the group's values alone."""
        return f"sum({share} ORDER BY {value} ASC)"  # explicit: a session may default to DESC

    def means(self, kept: str, share: str) -> str:
        """Select the mean ``v0`` of each unit ``u``: the sum of ``share``, within the unit's values ``v0``."""
        mean = self.greatest(self.least(self.mean("v0", share), "max(v0)"), "min(v0)")
        return f"SELECT u, {mean} AS v0 FROM ({kept}) AS s GROUP BY u"

    def chosen(self, keys: Sequence[str], bounded: str, hashed: str, most: int) -> str:
        """Select the ``most`` buckets with the smallest hash of each unit ``u``."""
        order = ", ".join(f"{part} ASC" for part in (hashed, *keys))  # explicit: a session may default to DESC
        ranked = f"SELECT {', '.join(keys)}, row_number() OVER (PARTITION BY u ORDER BY {order}) AS place"
        return f"SELECT {', '.join(keys)} FROM ({ranked} FROM ({bounded}) AS d) AS r WHERE place <= {most}"

    def first(self, keys: Sequence[str], bounded: str, order: str) -> str:
        """Select the first bucket of each unit ``u`` in that order, whose last part ascends."""
        return self.chosen(keys, bounded, order, 1)
