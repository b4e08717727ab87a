"""Whatever goes wrong with private data is one error for users; in tests, mistakes in the code are raised."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from _support.faults import documented, raise_mistakes

import flexdp
from flexdp import DataError, InputError
from flexdp._core import faults
from flexdp._core.faults import concealed, watch_in_tests
from flexdp.tables.files import lines
from flexdp.tables.frames import arrow, source


def fails(error: BaseException) -> Any:
    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize("error", [IndexError("Smith"), TypeError("Smith"), AssertionError("Smith")])
def test_mistakes_are_raised_in_tests(error: Exception) -> None:
    with pytest.raises(type(error), match="Smith"):
        concealed(fails(error))


@pytest.mark.parametrize("error", [OSError("Smith"), EOFError("Smith"), InputError("width", "must be Smith")])
def test_faults_of_data_are_the_one_error(error: Exception) -> None:
    with pytest.raises(DataError) as caught:
        concealed(fails(error))
    assert "Smith" not in str(caught.value) and caught.value.__context__ is None


DRIVERS = {
    "duckdb": ["Error", "ConversionException"],
    "sqlite3": ["Error", "OperationalError"],
    "psycopg": ["Error", "errors.InvalidTextRepresentation"],
    "pg8000": ["exceptions.Error", "exceptions.DatabaseError", "exceptions.InterfaceError"],
    "pymysql": ["err.Error", "err.DataError"],
    "chdb": ["ChdbError"],
    "sqlalchemy": ["exc.SQLAlchemyError", "exc.ResourceClosedError"],
    "polars": ["exceptions.PolarsError", "exceptions.ComputeError"],
    "pyarrow": ["lib.ArrowException", "lib.ArrowInvalid", "lib.ArrowKeyError"],
    "pyspark": ["errors.PySparkException", "errors.AnalysisException"],
    "py4j": ["protocol.Py4JError", "protocol.Py4JJavaError", "protocol.Py4JNetworkError"],
    "grpc": ["RpcError"],
}


@pytest.mark.parametrize(("driver", "names"), DRIVERS.items(), ids=list(DRIVERS))
def test_what_a_driver_raises_is_a_fault_of_data(driver: str, names: list[str]) -> None:
    for name in names:
        *inner, last = name.split(".")
        module = pytest.importorskip(".".join([driver, *inner]))
        kind = getattr(module, last)
        assert documented(kind.__new__(kind)), name


def test_compiled_code_that_goes_on_after_a_fault_is_one() -> None:
    with pytest.raises(DataError):
        concealed(fails(_caused(SystemError("returned a result with an exception set"), UnicodeError("Smith"))))
    for cause in (IndexError("Smith"), None):
        with pytest.raises(SystemError):
            concealed(fails(_caused(SystemError("returned a result with an exception set"), cause)))


def _caused(error: Exception, cause: Exception | None) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.any_fault
def test_outside_tests_mistakes_are_the_one_error_too() -> None:
    with pytest.raises(DataError) as caught:
        concealed(fails(IndexError("Smith")))
    assert "Smith" not in str(caught.value) and caught.value.__context__ is None
    with pytest.raises(InputError):
        concealed(fails(InputError("width", "must be positive")), passing=(InputError,))
    with pytest.raises(KeyboardInterrupt):
        concealed(fails(KeyboardInterrupt()))
    with pytest.raises(DataError):
        concealed(fails(KeyboardInterrupt()), concealing=BaseException)


FRAME = pl.DataFrame({"v": [1.0] * 50})
READERS: dict[str, tuple[Any, str, Callable[[], Any]]] = {
    "lines": (lines.Lines, "_batches", lambda: "t.csv"),
    "polars": (source.Batches, "_read", FRAME.lazy),
    "stream": (arrow._Rows, "_whole", lambda: pa.RecordBatchReader.from_stream(FRAME.to_arrow())),
}


@pytest.mark.parametrize("name", READERS)
def test_mistakes_in_what_an_engine_reads_are_raised_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine makes errors of its own of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("v\n" + "1\n" * 50)
    reader, method, source = READERS[name]
    asked: dict[str, Any] = {"kind": "number", "width": 5, "rows_are_records": name == "stream"}
    assert flexdp.release(source(), "v", epsilon=9, delta="0.1", **asked).counts()

    def mistaken(*_given: Any) -> Iterator[Any]:
        raise IndexError("Smith")
        yield

    monkeypatch.setattr(reader, method, mistaken)
    with pytest.raises(IndexError, match="Smith"):
        flexdp.release(source(), "v", epsilon=9, delta="0.1", **asked)
    watch_in_tests(None)
    with pytest.raises(DataError):
        flexdp.release(source(), "v", epsilon=9, delta="0.1", **asked)
    assert not faults._unseen


CHILD = "from flexdp._core import faults\nprint(faults._hooks)"


def test_no_child_process_has_the_hook() -> None:
    assert subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True).stdout == "[]\n"
    if hasattr(os, "fork"):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                concealed(fails(IndexError("Smith")))
            except DataError:
                os.write(write, b"one error")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 99) == b"one error"


def _set_a_hook(sent: Any) -> None:
    try:
        watch_in_tests(raise_mistakes)
        sent.put("set")
    except RuntimeError as error:
        sent.put(str(error))


def test_a_child_process_sets_none() -> None:
    context = multiprocessing.get_context("spawn")
    sent = context.Queue()
    child = context.Process(target=_set_a_hook, args=(sent,))
    child.start()
    assert sent.get(timeout=300) == "no hook is set in a child process"
    child.join()
