"""Sources that a private DuckDB reads while it counts: files, frames, arrays and lists."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from flexdp.tables.counting import Counting
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.engines.duckdb.session import FOR_COPIES, PrivateSession, connection
from flexdp.tables.source import Source
from flexdp.tables.sql.dialect import Dialect

__all__ = ["PrivateSource"]


class PrivateSource(Source):
    """A source that is registered with a private connection for the duration of a session."""

    @abstractmethod
    def registered(self, con: Any, countings: Sequence[Counting]) -> AbstractContextManager[Callable[[], None]]:
        """Register what these counts read; yield the function that stops a statement on it."""

    @property
    def dialect(self) -> Dialect:
        return DUCKDB

    def has_long_texts(self, countings: Sequence[Counting]) -> bool:  # noqa: ARG002
        """Tell whether a cell may be so long that it must not be in memory twice."""
        return False

    @contextmanager
    def session(self, countings: Sequence[Counting], *, copies: bool = False) -> Iterator[PrivateSession]:
        memory = FOR_COPIES if copies else None
        with (
            connection(texts=self.has_long_texts(countings), memory=memory) as con,
            self.registered(con, countings) as interrupt,
        ):
            yield PrivateSession(con, interrupt)
