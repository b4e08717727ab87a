"""Sessions: a snapshot of a place that lasts until it is closed.

with engine.opened(place) as session:
    session.columns(statement, …)        one statement, its result as arrays
    session.keep(name, query)            a private copy of rows, removed when the session is closed
    session.put(pieces, type)            a short private table beside the texts of statements
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, TypeVar

from flexdp.tables.counting import named_columns
from flexdp.tables.interrupts import run, run_here
from flexdp.tables.sql.dialect import Dialect

__all__ = ["LOOKED", "Rows", "Session"]

Rows = Sequence[Sequence[Any]]
LOOKED = ("place", "cell", "low", "high", "step")  # columns of the table of pieces that are looked into
_T = TypeVar("_T")


class Session(ABC):
    """A snapshot of a place: runs one statement at a time, and removes its private copies at the end.

    ``rows`` is the name of the copy, and ``looked`` the name of the table of pieces. A ``bound`` session works in the
    caller's thread only. One ``in_process`` passes columns as arrays, so fetching many values costs little.
    """

    dialect: ClassVar[Dialect]
    bound: ClassVar[bool] = False
    in_process: ClassVar[bool] = False
    rows = "flexdp_records"
    looked = "flexdp_looked"

    @abstractmethod
    def fetch(self, statement: str) -> Rows:
        """Run a statement and return its rows. What it raises may quote a record."""

    @abstractmethod
    def put(self, rows: Rows, value_type: str) -> None:
        """Fill the private table ``looked``, whose values have a type, by :meth:`put_beside` or :meth:`put_as_text`."""

    def name_copies(self, table: str) -> None:  # noqa: B027  (most engines have a place of their own for them)
        """Name copies so that they can be made beside a table, whose name stands in FROM."""

    def cancel(self) -> None:  # noqa: B027  (most drivers cannot stop a statement)
        """Stop the running statement, if the driver can."""

    def perform(self, work: Callable[[], _T]) -> _T:
        """Do work of the engine so that Ctrl-C arrives, and that every failure looks alike."""
        return (run_here if self.bound else run)(work, self.cancel)

    def ask(self, statement: str) -> Rows:
        """Run a statement and return its rows."""
        return self.perform(lambda: self.fetch(statement))

    def columns(self, statement: str, names: Sequence[str], texts: Collection[str] = ()) -> dict[str, Any]:
        """Run a statement and return its columns as arrays; ``texts`` are the names of those that hold texts."""
        return named_columns(self.ask(statement), names, texts)

    def keep(self, name: str, query: str) -> None:
        """Store the rows of a query privately."""
        self.ask(f"CREATE TEMPORARY TABLE {name} AS {query}")

    def put_beside(self, rows: Rows, value_type: str, insert: Callable[[str, Rows], object], mark: str) -> None:
        """Fill the table by parameters: a server's statements may be logged, and hold no record.

        ``insert`` runs a statement for each row, and ``mark`` stands for a parameter in it.
        """
        d = self.dialect
        types = (d.integer_type, d.double_type, value_type, value_type, d.double_type)
        columns = ", ".join(f"{name} {d.stored(kind)}" for name, kind in zip(LOOKED, types, strict=True))
        self.ask(f"CREATE TEMPORARY TABLE IF NOT EXISTS {self.looked} ({columns})")
        self.ask(f"DELETE FROM {self.looked}")
        marks = ", ".join([mark] * len(LOOKED))
        self.perform(lambda: insert(f"INSERT INTO {self.looked} VALUES ({marks})", rows))

    def put_as_text(self, rows: Rows, made: str) -> None:
        """Fill the table by a text, which does not leave this process."""
        d = self.dialect
        written = [[d.integer(cell) if isinstance(cell, int) else d.double(cell) for cell in row] for row in rows]
        self.ask(f"{made} {self.looked} AS {d.rows_of(LOOKED, written)}")
