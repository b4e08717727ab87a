"""Connections to DuckDB: private ones for files, frames and arrays, and the caller's, with profiles and logs off."""

from __future__ import annotations

import os
import threading
import uuid
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from flexdp._core.files import private_folder
from flexdp._core.forks import inside_release
from flexdp._core.text import safe_repr
from flexdp.errors import InputError, UnavailableError
from flexdp.tables.counting import Counting
from flexdp.tables.engine import LONGEST_PATH
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.interrupts import signals_held
from flexdp.tables.session import Rows, Session
from flexdp.tables.source import Source
from flexdp.tables.sql.dialect import Dialect

__all__ = [
    "FOR_COPIES",
    "RELATION",
    "DuckdbSession",
    "PrivateSession",
    "PrivateSource",
    "connection",
    "engines_kept",
    "is_connection",
    "opened",
    "silenced",
]

RELATION = "flexdp_relation"  # the name of the caller's relation in a query

_SETTINGS = {
    "memory_limit": "600MB",  # larger results spill to the private directory
    "threads": str(min(os.cpu_count() or 1, 8)),  # with less memory per thread, counts by unit mostly spill
    "preserve_insertion_order": "false",
    "autoinstall_known_extensions": "false",  # nothing is downloaded
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
FOR_COPIES = "1100MB"  # of memory: a copy of 10^8 numbers fits, and larger ones spill
_TELLING = {  # settings that show numbers of rows, with a word for it and what ends it
    "enable_profiling": ("profiles", "PRAGMA disable_profiling"),
    "enable_logging": ("logs", "SET enable_logging = false"),
}
_PROGRESS = ("enable_progress_bar_print", "enable_progress_bar")  # progress reveals the size of the table
_NAME = "flexdp_file"  # of an attached database; other names might be those of its schemas
_PER_THREAD = 144  # MB of address space: a stack, and what the allocator reserves
_ENGINE = 256  # MB for its library
_ATTEMPTS = 100  # to restore a setting; an interrupt may hit each


@contextmanager
def silenced(ask: Callable[[str], Any]) -> Iterator[None]:
    """Let the caller's connection, queried by ``ask``, show nothing of a query, and restore its settings afterwards.

    A progress bar shows the size of a table, and a profile or a log, which DuckDB prints or writes to a file, the exact
    number of rows of a step.
    """
    off: list[tuple[str, str]] = []
    try:
        for setting in _TELLING:
            if told := ask(f"SELECT current_setting('{setting}')").fetchall()[0][0]:
                off.append((setting, DUCKDB.text(str(told))))
                _end(ask, setting)
        for setting in _PROGRESS:
            if ask(f"SELECT current_setting('{setting}')").fetchall()[0][0]:
                off.append((setting, "true"))
                _turn_off(ask, setting)
        yield
    finally:
        for setting, value in reversed(off):
            _restore(ask, setting, value)


def _end(ask: Callable[[str], Any], setting: str) -> None:
    import duckdb

    does, statement = _TELLING[setting]
    ended = False
    with suppress(duckdb.Error):  # its configuration is locked
        ask(statement)
        ended = not ask(f"SELECT current_setting('{setting}')").fetchall()[0][0]
    if not ended:
        raise InputError(
            "source",
            f": its DuckDB connection {does} queries, which shows numbers of rows, and its configuration is locked",
            remedy=f"Run {statement} before locking it, or pass another connection.",
        )


def _turn_off(ask: Callable[[str], Any], setting: str) -> None:
    import duckdb

    with suppress(duckdb.Error):  # an error in a notebook without widgets, where there is no progress bar
        ask(f"SET {setting} = false")


def _restore(ask: Callable[[str], Any], setting: str, value: str) -> None:
    import duckdb

    for _ in range(_ATTEMPTS):
        with suppress(duckdb.Error):
            ask(f"SET {setting} = {value}")
            return


class _Kept(NamedTuple):
    """The engine that stays open, if any, the memory limits it has had, and the stack that closes it."""

    engine: list[Any]
    limits: list[str]
    stack: ExitStack


_KEPT: ContextVar[_Kept | None] = ContextVar("_KEPT", default=None)


@contextmanager
def engines_kept() -> Iterator[None]:
    """Let connections of the block that are opened one after the other share an engine, whose start costs more."""
    if _KEPT.get() is not None:  # by a block around this one
        yield
        return
    with ExitStack() as stack:
        token = _KEPT.set(_Kept([], [], stack))
        try:
            yield
        finally:
            _KEPT.reset(token)


@contextmanager
def connection(*, texts: bool = False, memory: str | None = None, own: bool = False) -> Iterator[Any]:
    """Open a private connection that spills to a directory only this user can read, removed afterwards.

    With ``texts``, Parquet columns are not prefetched: a long cell would be in memory twice. With ``own``, its engine
    is shared with no other connection.
    """
    allowed = memory or _SETTINGS["memory_limit"]
    kept = _KEPT.get()
    if kept is None or texts or own:
        with _engine(allowed, texts=texts) as con:
            _show_no_progress(con)
            yield con
        return
    if not kept.engine:
        kept.engine.append(kept.stack.enter_context(_engine(allowed)))
        kept.limits.append(allowed)
    import duckdb

    con = kept.engine[0].cursor()  # with temporary tables of its own
    try:
        if memory is not None and memory not in kept.limits:  # never lowered again, since a copy may be held
            _check_memory(allowed)
            con.execute(f"SET memory_limit = '{allowed}'")
            kept.limits.append(allowed)
        _show_no_progress(con)
        yield con
    finally:
        with suppress(duckdb.Error):  # still busy
            con.close()


def _show_no_progress(con: Any) -> None:
    for setting in _PROGRESS:
        _turn_off(con.execute, setting)


@contextmanager
def _engine(allowed: str, *, texts: bool = False) -> Iterator[Any]:
    _check_memory(allowed)
    with signals_held():  # before the folder is made, and whole: an exception inside its library's start may abort
        import duckdb
    with inside_release(), _spilling() as spill:
        con = duckdb.connect(":memory:", config={**_SETTINGS, "memory_limit": allowed, "temp_directory": spill})
        try:
            if texts:
                con.execute("SET disable_parquet_prefetching = true")
            yield con
        finally:
            with suppress(duckdb.Error):  # still busy: an interrupted read that never returns
                con.close()


@contextmanager
def _spilling() -> Iterator[str]:
    with ExitStack() as stack:
        try:
            spill = stack.enter_context(private_folder())
        except OSError:
            raise InputError(
                "TMPDIR", ": no temporary directory is writable", remedy="Set this environment variable to one that is."
            ) from None
        yield spill


def _check_memory(memory: str) -> None:
    """Refuse to start where a limit on the address space leaves too little: the engine would crash the process."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    needed = int(memory.removesuffix("MB")) + _PER_THREAD * int(_SETTINGS["threads"]) + _ENGINE
    taken = 0
    with suppress(OSError, ValueError):  # Linux alone tells
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    if limit - taken < needed << 20:
        raise InputError(
            "RLIMIT_AS",
            f": the limit on the address space must leave {needed} MB for the engine",
            remedy="Raise it with ulimit -v, or limit memory by a control group instead.",
        )


class _InProcess(Session):
    """Statements of DuckDB, whose texts do not leave this process."""

    dialect = DUCKDB
    in_process = True

    def keep(self, name: str, query: str) -> None:
        self.ask(f"CREATE TEMP TABLE {name} AS {query}")

    def put(self, rows: Rows, value_type: str) -> None:  # noqa: ARG002
        self.put_as_text(rows, "CREATE OR REPLACE TEMP TABLE")


class PrivateSession(_InProcess):
    """Statements on a private connection, whose copies vanish with it; ``interrupt`` stops the running statement."""

    def __init__(self, con: Any, interrupt: Callable[[], None]) -> None:
        self.con, self._interrupt = con, interrupt

    def fetch(self, statement: str) -> Rows:
        rows: Rows = self.con.execute(statement).fetchall()
        return rows

    def columns(self, statement: str, names: Sequence[str], texts: Collection[str] = ()) -> dict[str, Any]:  # noqa: ARG002
        return self.perform(lambda: dict(self.con.execute(statement).fetchnumpy()))

    def cancel(self) -> None:
        self._interrupt()


class DuckdbSession(_InProcess):
    """Statements on the caller's connection or relation, each in its turn; copies are dropped at the end.

    A connection answers one statement at a time. Its cursors would not see temporary tables and open transactions.
    """

    def __init__(self, con: Any, relation: Any = None) -> None:
        self.con, self.relation = con, relation
        self.turn = _turn_of(_Unknown if con is None else con)
        mark = uuid.uuid4().hex
        self.rows, self.looked = f"flexdp_records_{mark}", f"flexdp_looked_{mark}"

    def choose(self, table: str) -> None:
        """Let ``RELATION`` stand for a table of the connection; out of turn."""
        self.relation = self.con.table(table)

    def query(self, statement: str) -> Any:
        """Query the relation, out of turn."""
        return self.relation.query(RELATION, statement)

    def fetch(self, statement: str) -> Rows:
        with self.turn, silenced(self.query):
            answered = self.query(statement)
            return [] if answered is None else list(answered.fetchall())

    def columns(self, statement: str, names: Sequence[str], texts: Collection[str] = ()) -> dict[str, Any]:  # noqa: ARG002
        def work() -> dict[str, Any]:
            with self.turn, silenced(self.query):
                return dict(self.query(statement).fetchnumpy())

        return self.perform(work)

    def cancel(self) -> None:
        if self.con is not None:
            self.con.interrupt()

    def drop_copies(self) -> None:
        """Drop the temporary tables."""
        for name in (self.rows, self.looked) if self.relation is not None else ():
            self.ask(f"DROP TABLE IF EXISTS temp.{name}")


class _Unknown:
    """Stands for the connection of every relation that does not show its own: these all take turns."""


def _turn_of(con: Any) -> threading.Lock:
    with _REGISTERING:
        return _TURNS.setdefault(con, threading.Lock())


_TURNS: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()
_REGISTERING = threading.Lock()


def is_connection(source: object) -> bool:
    """Tell whether an object is a DuckDB connection."""
    return any(cls.__name__ == "DuckDBPyConnection" for cls in type(source).__mro__)


@contextmanager
def opened(place: Any, *, copies: bool) -> Iterator[DuckdbSession]:
    """Open a session on the caller's connection or relation, or on a private connection to a database file."""
    if isinstance(place, str):
        with attached(place, memory=FOR_COPIES if copies else None) as con:
            yield DuckdbSession(con)
        return
    if is_connection(place):
        session = DuckdbSession(place)
    else:
        con = getattr(place, "_con", None)  # not documented
        session = DuckdbSession(con if is_connection(con) else None, place)
    try:
        yield session
    finally:
        if copies:
            session.drop_copies()


@contextmanager
def attached(path: str, *, memory: str | None = None) -> Iterator[Any]:
    """Open a private connection to which a database file is attached read-only, its tables under their own names."""
    import duckdb

    shown = safe_repr(path, LONGEST_PATH)
    with connection(memory=memory, own=True) as con:  # an engine attaches a file once
        failure: InputError | None = None
        try:
            con.execute(f"ATTACH {DUCKDB.text(str(Path(path).absolute()))} AS {_NAME} (READ_ONLY)")
            con.execute(f"USE {_NAME}")
        except duckdb.Error as error:  # its message is not repeated
            failure = _refusal(type(error).__name__, shown, locked="lock" in str(error))
        if failure is not None:  # outside the handler, so that the error has no cause
            raise failure
        yield con


def _refusal(kind: str, shown: str, *, locked: bool) -> InputError:
    if kind in ("ResourceInUseException", "BinderException"):
        return InputError("source", f": this program has {shown} open already", remedy="Pass that connection instead.")
    if locked:
        return UnavailableError(
            "source", f": another program is writing to {shown}", remedy="Try again once it has closed the file."
        )
    return InputError(
        "source",
        f": {shown} is not a DuckDB database, or one of a later version",
        remedy="Check the file, and that your DuckDB is as new as the one that wrote it.",
    )


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
