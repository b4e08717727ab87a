"""A session on an engine in which private copies live until it is closed.

The records that count are copied once, by one statement. Everything that follows reads the copy, so that all requests
of a program see the same records, whatever happens to the table meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from flexdp.tables.sql.dialect import Dialect

__all__ = ["LOOKED", "Ask", "Many", "Workspace", "put_by_text", "put_rows"]

Ask: TypeAlias = Callable[[str], Sequence[Sequence[Any]]]  # runs one statement and fetches all rows
Many: TypeAlias = Callable[[str, Sequence[Sequence[Any]]], None]  # runs one statement for each row of parameters
LOOKED = ("place", "cell", "low", "high", "step")  # columns of the table of pieces that are looked into


@dataclass(frozen=True)
class Workspace:
    """A session on an engine.

    ``ask`` runs one statement and fetches its rows; ``keep`` stores the rows of a query under a name, until the session
    is closed; ``put`` fills the private table ``looked``, whose values have a type, beside the texts of statements;
    ``arrays``, on engines in this process, fetches columns as arrays. All of them fail with one error and can be
    interrupted.
    """

    dialect: Dialect
    ask: Ask = field(repr=False)
    keep: Callable[[str, str], None] = field(repr=False)
    put: Callable[[Sequence[Sequence[Any]], str], None] = field(repr=False)
    arrays: Callable[[str], dict[str, Any]] | None = field(default=None, repr=False)
    rows: str = "flexdp_records"
    looked: str = "flexdp_looked"


def put_rows(ask: Ask, many: Many, dialect: Dialect, table: str, mark: str) -> Callable[..., None]:
    """Return the function that fills the table ``looked`` by parameters: no text of a statement holds a record."""

    def put(rows: Sequence[Sequence[Any]], value_type: str) -> None:
        types = (dialect.integer_type, dialect.double_type, value_type, value_type, dialect.double_type)
        columns = ", ".join(f"{name} {dialect.stored(kind)}" for name, kind in zip(LOOKED, types, strict=True))
        ask(f"CREATE TEMPORARY TABLE IF NOT EXISTS {table} ({columns})")
        ask(f"DELETE FROM {table}")
        many(f"INSERT INTO {table} VALUES ({', '.join([mark] * len(LOOKED))})", rows)

    return put


def put_by_text(ask: Ask, dialect: Dialect, made: str) -> Callable[..., None]:
    """Return the function that fills the table ``looked`` by a text, which does not leave this process."""

    def put(rows: Sequence[Sequence[Any]], _value_type: str) -> None:
        written = [[_literal(cell, dialect) for cell in row] for row in rows]
        ask(f"{made} {dialect.rows_of(LOOKED, written)}")

    return put


def _literal(cell: Any, dialect: Dialect) -> str:
    return dialect.integer(cell) if isinstance(cell, int) else dialect.double(cell)
