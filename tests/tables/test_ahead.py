"""Reading ahead: the next columns are opened while one is in use, and never longer than somebody waits for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from _support.bits import seed
from _support.waiting import HANG, counting_threads, sigint_when, wait_for

import flexdp
from flexdp.errors import DataError
from flexdp.tables import ranks as ranks_module
from flexdp.tables.ahead import opened_ahead
from flexdp.tables.interrupts import run

pytestmark = pytest.mark.own_engines

SPEND: dict[str, Any] = {"epsilon": 3, "delta": "1e-6"}


class Things:
    """Things that are opened and closed, with a log of both."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def opening(self, name: str, work: Callable[[Callable[[], None]], object] = id) -> Any:
        @contextmanager
        def opened(*, alone: Callable[[], None]) -> Iterator[str]:
            work(alone)
            self.log.append(f"open {name}")
            yield name
            self.log.append(f"close {name}")

        return opened


def test_the_next_ones_are_opened_while_one_is_in_use() -> None:
    things = Things()
    with closing(opened_ahead([things.opening(name) for name in "abcd"])) as opened:
        for name, manager in zip("abcd", opened, strict=True):
            with manager as found:
                assert found == name
                last = "abcd"[min(3, "abcd".index(name) + 2)]
                wait_for(lambda last=last: f"open {last}" in things.log)
    assert things.log == ["open a", "open b", "open c", "close a", "open d", "close b", "close c", "close d"]
    wait_for(lambda: not counting_threads())


def test_only_two_are_opened_ahead() -> None:
    things = Things()
    opened = opened_ahead([things.opening(name) for name in "abcd"])
    with next(opened):
        wait_for(lambda: "open c" in things.log)
    opened.close()
    # What nobody used is closed, too.
    assert things.log == ["open a", "open b", "open c", "close a", "close b", "close c"]


def test_what_needs_the_room_waits_until_it_is_alone() -> None:
    things = Things()
    openings = [things.opening("a"), things.opening("b"), things.opening("c", lambda alone: alone())]
    with closing(opened_ahead(openings)) as opened:
        with next(opened):
            wait_for(lambda: "open b" in things.log)
        with next(opened) as found:
            assert found == "b"
        assert things.log == ["open a", "open b", "close a", "close b"]
        with next(opened) as found:
            assert found == "c"
    assert things.log[4:] == ["open c", "close c"]


def test_a_failure_is_raised_where_the_thing_is_wanted_and_nothing_else_is_opened() -> None:
    things = Things()

    def fail(alone: Callable[[], None]) -> None:
        assert callable(alone)
        raise DataError

    opened = opened_ahead([things.opening("a"), things.opening("b", fail), things.opening("c")])
    with next(opened) as found:
        assert found == "a"
    for _ in range(2):
        with pytest.raises(DataError), next(opened):
            pass
    assert list(opened) == [] and things.log == ["open a", "close a"]


def test_whoever_fails_closes_everything_and_stops_what_is_being_read() -> None:
    things, given_up = Things(), threading.Event()
    begun = threading.Event()

    def slow(alone: Callable[[], None]) -> None:
        assert callable(alone)
        begun.set()
        run(lambda: given_up.wait(HANG), given_up.set)

    with (
        pytest.raises(ZeroDivisionError),
        closing(opened_ahead([things.opening("a"), things.opening("b", slow)])) as opened,
        next(opened),
    ):
        assert begun.wait(HANG)
        raise ZeroDivisionError
    assert given_up.is_set() and things.log == ["open a", "close a"]
    wait_for(lambda: not counting_threads())


def test_nothing_to_open() -> None:
    assert list(opened_ahead([])) == []


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    path = tmp_path / "wide.parquet"
    with duckdb.connect() as con:
        columns = ", ".join(f"random() * {10 * 3**i} AS c{i}" for i in range(6))
        con.execute(f"COPY (SELECT {columns} FROM range(400000)) TO '{path}' (FORMAT parquet)")
    return path


def test_columns_of_a_summary_are_their_own(wide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 1)
    published = flexdp.summary(wide, epsilon=30, delta="1e-6")
    for i, name in enumerate(published):
        assert name == f"c{i}"
        assert published[name].median().value == pytest.approx(5 * 3**i, rel=0.1)
        assert published[name].quantile("0.9").value == pytest.approx(9 * 3**i, rel=0.1)
    assert not counting_threads()


def test_ctrl_c_while_the_next_column_is_read(wide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    begun, given_up = threading.Event(), threading.Event()
    seen: list[int] = []
    kept = ranks_module._Records.column

    def slowly(*arguments: Any) -> Any:
        seen.append(1)
        if len(seen) == 2:
            begun.set()
            return run(lambda: given_up.wait(HANG), given_up.set)
        return kept(*arguments)

    monkeypatch.setattr(ranks_module._Records, "column", slowly)
    with pytest.raises(KeyboardInterrupt), sigint_when(begun.is_set):
        flexdp.summary(wide, **SPEND)
    assert given_up.is_set() and len(seen) == 2
    wait_for(lambda: not counting_threads())
    assert list(scratch.iterdir()) == []


@pytest.mark.any_fault
def test_a_failure_while_the_next_column_is_read_is_the_one_error(wide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    kept = ranks_module._Records.column

    def failing(*arguments: Any) -> Any:
        seen.append(1)
        if len(seen) == 2:
            raise RuntimeError("cell 'Smith'")
        return kept(*arguments)

    monkeypatch.setattr(ranks_module._Records, "column", failing)
    with pytest.raises(DataError) as caught:
        flexdp.summary(wide, **SPEND)
    assert "Smith" not in str(caught.value) and caught.value.__cause__ is None and caught.value.__context__ is None
    assert len(seen) == 2 and not counting_threads()
