"""How an engine says what the count query needs. The query itself is written once, in ``query.py``.

Only decisions that every engine makes alike are asked for: comparison, IEEE arithmetic on doubles, integer arithmetic,
md5. Each dialect is written by hand, because automatic translation was seen to change meaning without a word, and is
executed by the tests on its engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from flexdp.buckets.base import LONGEST_TEXT

__all__ = ["Dialect", "Lookup"]


class Lookup(NamedTuple):
    """How to get a value of a short table by its place, from 0, and what must be joined for it."""

    at: Callable[[str], str]
    join: str = ""


class Dialect:
    """The words of one engine; these are PostgreSQL's, and most of them everybody's."""

    name = "postgres"
    double_type = "DOUBLE PRECISION"
    text_type = "TEXT"
    wide_type: str | None = "NUMERIC"  # integers beyond 64 bits; None where there are none
    divides_wide = True  # whether those can be divided exactly
    has_grouping_sets = True  # whether several counts can be made in one pass
    holds_nul = True  # whether a text can have a NUL in it
    fence = " OFFSET 0"  # keeps an inner SELECT from being copied into every place that uses what it computes
    branches = 2  # of each comparison in a long search; more of them nest less
    clamps_quotient = False  # whether a quotient that overflows is infinite, not an error, and so can be clamped itself
    clamps_after = False  # whether clamping a row costs so much that buckets are clamped instead, after counting
    tests_in_key = False  # whether a filter costs more than giving no bar to what does not count

    def identifier(self, name: str) -> str:
        """A quoted column or table name."""
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """A quoted string literal."""
        return "'" + value.replace("'", "''") + "'"

    def double(self, value: float | Fraction) -> str:
        """A literal that the engine reads as exactly this double."""
        return f"CAST('{float(value)!r}' AS {self.double_type})"

    def as_double(self, expression: str, *, wide: bool = False) -> str:  # noqa: ARG002
        """An integer as the nearest double; ``wide`` says that it may exceed 64 bits."""
        return f"CAST({expression} AS {self.double_type})"

    def as_text(self, expression: str) -> str:
        """An integer, a text or a boolean as a text."""
        return f"CAST({expression} AS {self.text_type})"

    def as_integer(self, expression: str, *, wide: bool = False) -> str:
        """A whole number as an integer of 64 bits, or of the wide type."""
        return f"CAST({expression} AS {self.wide_type if wide else 'BIGINT'})"

    def honest(self, expression: str) -> str:
        """A double of which the engine believes nothing that it has not computed from the value itself."""
        return expression

    def floor(self, expression: str) -> str:
        """The floor of a double that is known to be small enough."""
        return f"floor({expression})"

    def lookup(self, name: str, values: Sequence[str]) -> Lookup | None:  # noqa: ARG002
        """A short table of doubles, None where engines compare instead of looking up."""
        return None

    def over(self, expression: str, divisor: float) -> str:
        """A double divided by a positive one."""
        return f"{expression} / {self.double(divisor)}"

    def quotient(self, expression: str, divisor: int, *, wide: bool = False) -> str:
        """An integer that is not negative, divided by a positive one, rounded down."""
        return f"div({expression}, {divisor})" if wide else f"({expression}) / {divisor}"

    def least(self, first: str, second: str) -> str:
        return f"least({first}, {second})"

    def greatest(self, first: str, second: str) -> str:
        return f"greatest({first}, {second})"

    def binary(self, expression: str) -> str:
        """A text compared by its bytes, whatever collation the column or the connection has."""
        return f'{expression} COLLATE "C"'

    def unicode(self, expression: str) -> str:
        """A text, NULL where the engine may hold bytes for one that are none."""
        return expression

    def is_short(self, text: str) -> str:
        """Whether a text is there and has few enough bytes in UTF-8, told without reading it."""
        return f"octet_length({text}) <= {LONGEST_TEXT}"

    def length(self, expression: str) -> str:
        """How many characters a text has."""
        return f"length({expression})"

    def md5(self, expression: str) -> str:
        """The hexadecimal digest of a text, in lower case."""
        return f"md5({expression})"

    def mean(self, value: str, share: str) -> str:
        """The sum of ``share`` in the order of ``value``, so that it depends on the group's values alone."""
        return f"sum({share} ORDER BY {value} ASC)"  # also where a session's own order is another

    def chosen(self, bars: Sequence[str], bounded: str, hashed: str, most: int) -> str:
        """Of each unit ``u``, the ``most`` bars with the smallest hash."""
        order = ", ".join(f"{part} ASC" for part in (hashed, *bars))  # a session may be set to another order
        ranked = f"SELECT {', '.join(bars)}, row_number() OVER (PARTITION BY u ORDER BY {order}) AS place"
        return f"SELECT {', '.join(bars)} FROM ({ranked} FROM ({bounded}) AS d) AS r WHERE place <= {most}"

    def first(self, bars: Sequence[str], bounded: str, order: str) -> str:
        """Of each unit ``u``, the first bar in that order, whose last part ascends."""
        return self.chosen(bars, bounded, order, 1)
