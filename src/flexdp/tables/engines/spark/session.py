"""Statements over a DataFrame in its own session, silent and tagged for cancelling; copies are removed afterwards."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any, TypeVar

from flexdp.tables.engines.spark.dialect import SPARK
from flexdp.tables.interrupts import silenced
from flexdp.tables.session import LOOKED, Rows, Session

__all__ = ["VIEW", "SparkSession", "opened", "quiet"]

_T = TypeVar("_T")
VIEW = "`flexdp_source`"  # the frame's name in a query that is shown
_QUIET = threading.Lock()
_levels: list[Any] = []  # the level to restore, one entry per running count
_QUERY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_LOGGERS = (*_QUERY_LOGGERS, "py4j", "pyspark", "grpc")


class SparkSession(Session):
    """Statements over a DataFrame, whose copies are local checkpoints: Spark never reads the source again for them.

    A checkpoint that is lost makes statements fail.
    """

    dialect = SPARK

    def __init__(self, frame: Any, view: str) -> None:
        self.frame, self._session, self._view = frame, frame.sparkSession, view
        mark = uuid.uuid4().hex
        self.rows, self.looked = f"flexdp_records_{mark}", f"flexdp_looked_{mark}"
        self._tag = f"flexdp-{mark}"

    def fetch(self, statement: str) -> Rows:
        return self._silently(lambda: [tuple(row) for row in self._frame_of(statement).collect()])

    def keep(self, name: str, query: str) -> None:
        def work() -> None:
            self._frame_of(query).localCheckpoint(eager=True).createTempView(name)

        self.perform(lambda: self._silently(work))

    def put(self, rows: Rows, value_type: str) -> None:
        kinds = zip(LOOKED, ("BIGINT", "DOUBLE", value_type, value_type, "DOUBLE"), strict=True)
        schema = ", ".join(f"{name} {kind}" for name, kind in kinds)
        exact: Callable[[Any], Any] = Decimal if value_type.startswith("DECIMAL") else lambda value: value
        listed = [(place, cell, exact(low), exact(high), step) for place, cell, low, high, step in rows]

        def work() -> None:
            # Spark does not know that it is short, and would sort the records to join it.
            self._session.createDataFrame(listed, schema).hint("broadcast").createOrReplaceTempView(self.looked)

        self.perform(lambda: self._silently(work))

    def cancel(self) -> None:
        _cancel(self._session, self._tag)

    def drop_copies(self) -> None:
        """Drop the views of copies."""
        for name in (self.rows, self.looked):
            with suppress(Exception):  # the session has ended, and its views with it
                self._session.catalog.dropTempView(name)

    def _frame_of(self, statement: str) -> Any:
        return self._session.sql(statement.replace(f"FROM {VIEW}", f"FROM {self._view}"))

    def _silently(self, work: Callable[[], _T]) -> _T:
        with quiet(self._session), _tagged(self._session, self._tag):
            return work()


@contextmanager
def opened(frame: Any) -> Iterator[SparkSession]:
    """Open a session in the frame's own."""
    with _viewed(frame) as view:
        session = SparkSession(frame, view)
        try:
            yield session
        finally:
            session.drop_copies()


def _cancel(session: Any, tag: str) -> None:
    context = _context(session)
    with suppress(Exception):  # the session has ended
        if context is None:
            session.interruptTag(tag)
        else:
            context.cancelJobsWithTag(tag)  # interruptTag would reach only this thread's own jobs


@contextmanager
def _tagged(session: Any, tag: str) -> Iterator[None]:
    """Tag what this thread runs, so that another thread can cancel it."""
    context = _context(session)
    mark, unmark = (session.addTag, session.removeTag) if context is None else (context.addJobTag, context.removeJobTag)
    mark(tag)
    try:
        yield
    finally:
        with suppress(Exception):  # the session has ended, and its tags with it
            unmark(tag)


@contextmanager
def _viewed(frame: Any) -> Iterator[str]:
    """Give the frame a unique name for the duration."""
    name = f"flexdp_{uuid.uuid4().hex}"
    frame.createTempView(name)
    try:
        yield name
    finally:
        with suppress(Exception):  # the session has ended, and its views with it
            frame.sparkSession.catalog.dropTempView(name)


@contextmanager
def quiet(session: Any) -> Iterator[None]:
    """Silence Spark's logs, in Python and in the JVM: they quote the values at which a query fails."""
    from pyspark.logger import PySparkLogger

    for name in _QUERY_LOGGERS:
        PySparkLogger.getLogger(name)  # must exist as PySparkLogger before logging.getLogger makes a plain one
    with silenced(_LOGGERS, lambda _record: False), _quiet_jvm(_context(session)):
        yield


@contextmanager
def _quiet_jvm(context: Any) -> Iterator[None]:
    """Turn the root logger off, by its level alone: Spark's setLogLevel would also reset the shell's threshold."""
    if context is None:
        yield
        return
    log4j = context._jvm.org.apache.logging.log4j
    loggers = log4j.LogManager.getContext(False)
    root = loggers.getConfiguration().getRootLogger()
    with _QUIET:  # of concurrent counts the first silences and the last restores
        level = _levels[0] if _levels else root.getLevel()
        root.setLevel(log4j.Level.OFF)
        loggers.updateLoggers()
        _levels.append(level)
    try:
        yield
    finally:
        with _QUIET, suppress(Exception):  # the JVM has ended
            level = _levels.pop()
            if not _levels:
                root.setLevel(level)
                loggers.updateLoggers()


def _context(session: Any) -> Any:
    """Return the JVM context of a classic session; None for Spark Connect."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        return None
    return session.sparkContext
