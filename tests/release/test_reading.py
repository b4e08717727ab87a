"""Text files declare no types: a release says once how cells are read, before anything is spent."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from _support.command import flexdp as command

import flexdp
from flexdp import ReadingWarning

SPEND = {"epsilon": 1, "delta": "1e-6"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("x,y,day\n" + "7,8,2024-01-01\n" * 300)
    return path


def test_one_warning_names_every_column_and_the_caller(table: Path) -> None:
    with pytest.warns(ReadingWarning) as caught:
        flexdp.release(table, ["x", "y"], width=5, **SPEND)
    (warning,) = caught
    told = "is read as numbers written like 1234.5; other cells are not counted. Use kind to read it differently."
    assert str(warning.message) == f"Column 'x' {told} Column 'y' {told} flexdp.check counts such cells."
    assert warning.filename == __file__


def test_it_says_how_cells_were_declared_to_be_written(table: Path) -> None:
    with pytest.warns(ReadingWarning, match=r"numbers written like 1\.234,5 or € 1\.234,5;"):
        flexdp.release(table, "x", width=5, decimal=",", thousands=".", currency="€", **SPEND)


def test_nothing_is_said_where_a_kind_or_a_type_is_declared(table: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flexdp.release(table, "x", width=5, kind="number", **SPEND)
        flexdp.release(table, "day", kind="date", **SPEND)
        flexdp.release([1.0, 2.0] * 200, width=5, **SPEND)


def test_a_warning_that_is_an_error_comes_before_anything_is_read(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr("flexdp._release.run.Request.run", lambda self: ran.append(self))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ReadingWarning):
            flexdp.release(table, "x", width=5, **SPEND)
    assert not ran


def test_the_command_line_says_the_same_after_the_release(table: Path) -> None:
    out = command("release", table, "x", "--width", "5", "-e", "1", "-d", "1e-6", "--thousands", ",")
    assert "Column 'x' was read as numbers written like 1,234.5; other cells were not counted. Use --kind" in out.stderr
    out = command("release", table, "x", "--width", "5", "-e", "1", "-d", "1e-6", "--kind", "number")
    assert "was read as" not in out.stderr
