"""Text files declare no types: a release says once how cells are read, before anything is spent."""

from __future__ import annotations

import datetime as dt
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
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
    assert str(warning.message) == (
        "Columns 'x' and 'y' are read as numbers written like 1234.5; other cells are not counted. If cells are "
        "written in another way, set decimal, thousands, currency or kind. flexdp.check counts the cells that are "
        "read. The file is read as UTF-8; lines in another encoding are not counted. Set encoding if it has another."
    )
    assert warning.filename == __file__


FRAME = pd.DataFrame({"x": ["1.234,56 €"] * 300, "n": [7.0] * 300})


@pytest.mark.parametrize("dtype", ["str", object, "category"])
@pytest.mark.parametrize("cells", [["1.234,56 €"], [7.0], [True]], ids=str)
def test_columns_of_pandas_are_warned_of_by_the_request_alone(cells: list[Any], dtype: Any) -> None:
    for frame in (pd.DataFrame({"x": cells * 300, "n": 7.0}), pd.DataFrame({"x": cells * 300, "n": 7.0}).astype(dtype)):
        words = (
            r"Column 'x' is read as numbers written like 1234\.5; other cells are not counted\. If cells are written"
        )
        with pytest.warns(ReadingWarning, match=words):
            flexdp.release(frame, "x", **SPEND)
        with pytest.warns(ReadingWarning, match="This column of values is read as numbers"):
            flexdp.release(frame["x"], **SPEND)
        with pytest.warns(ReadingWarning, match=r"^Column 'x' is read as numbers"):
            options: dict[str, Any] = {"separately": True, "exact": True, "kind": {"n": "number"}}
            flexdp.release(frame, ["x", "n"], **options, **SPEND)


def test_whether_there_is_a_warning_depends_on_no_cell() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for cells in ([1.0, 2.0], [1.0, "2"], ["1", "2"]):
            flexdp.release(cells * 200, width=5, **SPEND)
        days = [dt.date(2024, 1, 1)]
        for kind, options in {"number": [[1.0], [1.0, "2"], ["1,234"]], "integer": [[1], ["1,234", 1]],
                              "date": [days, [*days, "1.2.2024"], ["1.2.2024"]]}.items():  # fmt: skip
            for cells in options:
                flexdp.release(cells * 200, kind=kind, **SPEND)
                flexdp.release({"x": cells * 200}, "x", kind=kind, **SPEND)
        flexdp.release(np.array(["1,234"] * 200), kind="number", **SPEND)
    with pytest.raises(flexdp.InputError, match="declared or read as text"):
        flexdp.release(np.array(["1,234"] * 200), width=5, **SPEND)  # which needs a kind, so that none is assumed
    for objects in ([1.0, 2.0], [1.0, "2"], ["1", "2"]):
        with pytest.warns(ReadingWarning):
            flexdp.release(np.array(objects * 200, dtype=object), width=5, **SPEND)


def test_it_says_how_cells_were_declared_to_be_written(table: Path) -> None:
    with pytest.warns(ReadingWarning, match=r"numbers written like 1\.234,5 or € 1\.234,5;"):
        flexdp.release(table, "x", width=5, decimal=",", thousands=".", currency="€", **SPEND)


def test_nothing_is_said_where_a_kind_or_a_type_is_declared(table: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flexdp.release(table, "x", width=5, kind="number", encoding="utf-8", **SPEND)
        flexdp.release(table, "day", kind="date", encoding="cp1252", **SPEND)
        flexdp.release([1.0, 2.0] * 200, width=5, **SPEND)
        flexdp.release(FRAME, "x", width=5, kind="number", **SPEND)
        flexdp.release(FRAME, "n", width=5, **SPEND)
        flexdp.release(FRAME, "x", bounds=(0, 5), **SPEND)
        flexdp.release(FRAME.astype({"x": "string"}), "x", **SPEND)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json"])
def test_a_text_file_without_an_encoding_is_said_to_be_read_as_utf_8(tmp_path: Path, name: str) -> None:
    lines = [f'{{"ward": "{word}"}}' for word in ("Chirurgie", "Gyn\xe4kologie") for _ in range(200)]
    text = {"t.csv": "ward\n" + "Chirurgie\nGyn\xe4kologie\n" * 200, "t.jsonl": "\n".join(lines)}.get(name)
    path = tmp_path / name
    path.write_text(text or f"[{','.join(lines)}]", encoding="cp1252")
    found = flexdp.release(path, "ward", kind="text", **SPEND)  # without a warning: the kind was given
    assert found.support().value == ("Chirurgie",)
    spend = ("-e", "1", "-d", "1e-6", "--kind", "text")
    out = command("release", path, "ward", *spend)
    told = "The file was read as UTF-8; lines in another encoding were not counted. Set --encoding if it has another.\n"
    assert told in out.stderr
    out = command("release", path, "ward", *spend, "--encoding", "cp1252")
    assert "UTF-8" not in out.stderr and "Gyn\xe4kologie" in out.stdout


def test_a_warning_that_is_an_error_comes_before_anything_is_read(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr("flexdp._release.run.Request.run", lambda self: ran.append(self))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ReadingWarning):
            flexdp.release(table, "x", width=5, **SPEND)
    assert not ran


def test_the_command_line_says_the_same_after_the_release_also_if_a_kind_is_given(table: Path) -> None:
    spend = ("-e", "1", "-d", "1e-6")
    read = "Column 'x' was read as numbers written like 1,234.5; other cells were not counted.\n"
    other = "If cells are written in another way, set --decimal, --thousands"
    counts = "`flexdp check` counts the cells that are read.\n"
    out = command("release", table, "x", "--width", "5", *spend, "--thousands", ",")
    assert f"{read}{other}, --currency or --kind. {counts}" in out.stderr
    out = command("release", table, "x", "--width", "5", *spend, "--thousands", ",", "--kind", "number")
    assert f"{read}{other} or --currency. {counts}" in out.stderr
    out = command("release", table, "day", "--kind", "date", *spend)
    assert "dates written like 2024-12-31; other cells were not counted.\n" in out.stderr
    assert "set --date-format. Set --zone to read datetimes with an offset. `flexdp check`" in out.stderr
    out = command("release", table, "x", "--kind", "text", "--encoding", "utf-8", *spend)
    assert "read as" not in out.stderr
    out = command("summary", table, "x=number", "y=number", "day=date", *spend)
    assert "Columns 'x' and 'y' were read as numbers" in out.stderr and out.stderr.count("If cells are") == 1


def test_texts_that_are_declared_as_such_are_named_on_the_command_line(tmp_path: Path) -> None:
    pl.DataFrame({"x": ["1,5"] * 300}).write_parquet(tmp_path / "t.parquet")
    out = command("release", tmp_path / "t.parquet", "x", "--kind", "number", "-e", "1", "-d", "1e-6")
    assert "Column 'x' was read as numbers written like 1234.5;" in out.stderr
    con = sqlite3.connect(tmp_path / "t.db")
    con.execute("CREATE TABLE t (x)")
    con.executemany("INSERT INTO t VALUES (?)", [(i % 7,) for i in range(300)])
    con.commit()
    con.close()
    spend = ("--width", "5", "-e", "1", "-d", "1e-6")
    out = command("release", tmp_path / "t.db", "x", "--table", "t", "--kind", "number", *spend)
    assert out.returncode == 0 and "read as" not in out.stderr, "no parameter describes cells of a database"


def test_where_nothing_survived_the_encoding_is_a_likely_cause(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ward\n" + "Gyn\xe4kologie\n" * 300, encoding="cp1252")
    words = ("release", tmp_path / "t.csv", "ward", "--kind", "text", "-e", "1", "-d", "1e-6")
    cause = "Likely cause: The file may not be in UTF-8: lines in another encoding are not counted. Set --encoding.\n"
    out = command(*words)
    assert out.returncode == 4 and out.stderr.endswith(cause)
    assert command(*words, "--encoding", "cp1252").returncode == 0
