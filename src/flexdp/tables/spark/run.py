"""One statement over a DataFrame, in its own session: quiet, tagged so that it can be cancelled, tidied up after."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from flexdp.tables.interrupts import run, silenced

__all__ = ["VIEW", "execute"]

VIEW = "`flexdp_source`"  # stands for the frame in the query that is shown
_QUIET = threading.Lock()
_levels: list[Any] = []  # the level to restore, once for each count that runs
_SPARKS_OWN = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_LOGGERS = (*_SPARKS_OWN, "py4j", "pyspark", "grpc")


def execute(frame: Any, statement: str) -> Sequence[Sequence[Any]]:
    """Run the statement with the frame in the place of ``VIEW`` and fetch the few rows it returns."""
    session = frame.sparkSession
    tag = f"flexdp-{uuid.uuid4().hex}"

    def work() -> Sequence[Sequence[Any]]:
        with _quiet(session), _viewed(frame) as view, _tagged(session, tag):
            return [tuple(row) for row in session.sql(statement.replace(f"FROM {VIEW}", f"FROM {view}")).collect()]

    return run(work, lambda: _cancel(session, tag))


def _cancel(session: Any, tag: str) -> None:
    context = _context(session)
    with suppress(Exception):  # a session that has ended has nothing left to cancel
        if context is None:
            session.interruptTag(tag)
        else:
            context.cancelJobsWithTag(tag)  # a classic session would cancel what this thread has tagged, and no other


@contextmanager
def _tagged(session: Any, tag: str) -> Iterator[None]:
    """Mark what this thread runs, so that another can cancel it."""
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
    """A name for the frame that nobody else uses."""
    name = f"flexdp_{uuid.uuid4().hex}"
    frame.createTempView(name)
    try:
        yield name
    finally:
        with suppress(Exception):  # the session has ended, and its views with it
            frame.sparkSession.catalog.dropTempView(name)


@contextmanager
def _quiet(session: Any) -> Iterator[None]:
    """Spark writes failing values to its logs, in Python and in the JVM: for the duration, in neither."""
    from pyspark.logger import PySparkLogger

    for name in _SPARKS_OWN:
        PySparkLogger.getLogger(name)  # of its own class, or it would fail to log to it later
    with silenced(_LOGGERS, lambda _record: False), _quiet_jvm(_context(session)):
        yield


@contextmanager
def _quiet_jvm(context: Any) -> Iterator[None]:
    """The root logger's level, and nothing else: Spark's own setLogLevel would forget the shell's threshold, too."""
    if context is None:
        yield
        return
    log4j = context._jvm.org.apache.logging.log4j
    loggers = log4j.LogManager.getContext(False)
    root = loggers.getConfiguration().getRootLogger()
    with _QUIET:  # of several counts at once the first silences, and the last restores
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
    """The JVM's side of a classic session; Spark Connect has none here."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        return None
    return session.sparkContext
