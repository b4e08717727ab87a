"""Faults of data: what may go wrong with records though the code is right. All else that a test raises is a mistake."""

from __future__ import annotations

# By module and name, of the class or of one that it derives from, so that no engine is imported here.
DOCUMENTED = {
    "flexdp.errors.FlexdpError": "ours",
    "flexdp._core.faults.FaultError": "ours: the table has changed, or is not what it was declared to be",
    "builtins.KeyboardInterrupt": "Ctrl-C",
    "builtins.OSError": "a file was changed, removed or cut off, or a connection was lost",
    "builtins.EOFError": "a compressed file was cut off",
    "zlib.error": "a compressed file is damaged",
    "builtins.MemoryError": "more than fits in memory",
    "builtins.UnicodeError": "bytes that are no text",
    "_duckdb.Error": "an engine's own",
    "duckdb.Error": "an engine's own",
    "sqlite3.Error": "an engine's own",
    "psycopg.Error": "an engine's own",
    "sqlalchemy.exc.SQLAlchemyError": "an engine's own",
    "polars.exceptions.PolarsError": "an engine's own",
    "pyarrow.lib.ArrowException": "an engine's own",
    "pyspark.errors.exceptions.base.PySparkException": "an engine's own",
    "py4j.protocol.Py4JError": "an engine's own",
    "grpc.RpcError": "an engine's own",
    "pymysql.err.MySQLError": "an engine's own",
    "pg8000.exceptions.Error": "an engine's own",
    "chdb._exceptions.ChdbError": "an engine's own",
    "pyo3_runtime.PanicException": "an engine's own",
}


def documented(error: BaseException) -> bool:
    """Return True for a fault of data.

    Python itself raises SystemError where compiled code, such as an engine's, goes on after an exception: that decides.
    """
    if isinstance(error, SystemError) and error.__cause__ is not None:
        return documented(error.__cause__)
    return any(f"{each.__module__}.{each.__qualname__}" in DOCUMENTED for each in type(error).__mro__)


def raise_mistakes(error: BaseException) -> None:
    """Raise what is no fault of data."""
    if not documented(error):
        raise error
