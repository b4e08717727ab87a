"""What an engine is made to do: private copies, statements, short tables put beside them, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from flexdp.tables import ranks
from flexdp.tables.source import Source

__all__ = ["Work", "noted"]


@dataclass
class Work:
    """The work of a release."""

    statements: int = 0
    copies: int = 0
    puts: int = 0
    rows: int = 0
    size: int = 0  # bytes, numbers taking eight

    @property
    def all(self) -> int:
        """Everything that an engine is asked to run."""
        return self.statements + self.copies + self.puts

    def fetched(self, columns: Sequence[Any]) -> None:
        """Note what a statement returned, column by column."""
        self.rows += len(columns[0]) if columns else 0
        for column in columns:
            numbers = isinstance(column, np.ndarray) and column.dtype.kind != "O"
            texts = [] if numbers else [cell for cell in column if isinstance(cell, str)]
            self.size += 8 * (len(column) - len(texts)) + sum(map(len, texts))


class _Watched:
    """A session whose work is noted; what it does for itself is not."""

    def __init__(self, session: Any, work: Work) -> None:
        self._session, self._work = session, work

    def ask(self, statement: str) -> Any:
        self._work.statements += 1
        rows = self._session.ask(statement)
        self._work.fetched(list(zip(*rows, strict=True)))
        return rows

    def columns(self, *given: Any) -> Any:
        self._work.statements += 1
        columns = self._session.columns(*given)
        self._work.fetched(list(columns.values()))
        return columns

    def keep(self, *given: Any) -> None:
        self._work.copies += 1
        self._session.keep(*given)

    def put(self, *given: Any) -> None:
        self._work.puts += 1
        self._session.put(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


@contextmanager
def noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    """Note all work on tables that are counted or ranked in the block."""
    work, entered, counted = Work(), ranks._entered, Source._counted

    @contextmanager
    def watched(manager: Any) -> Iterator[Any]:
        with entered(manager) as session:
            yield _Watched(session, work)

    def counting(self: Source, session: Any, countings: Any) -> Any:
        return counted(self, _Watched(session, work), countings)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(ranks, "_entered", watched)
        patched.setattr(Source, "_counted", counting)
        yield work
