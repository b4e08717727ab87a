"""Nothing private leaves: values are planted in tables and looked for in everything that could carry them."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from _support.markup import with_pictures
from _support.waiting import HANG

import flexdp
from flexdp import DataError, FlexdpError, InputError, ReadingWarning
from flexdp._release.api import prepare
from flexdp.cli.app import cli
from flexdp.cli.errors import guarded
from flexdp.noise import DropNoise

# Nothing of these can come up by chance. What is drawn is printed in digits or as hex, which has no such letters; and
# of the fewer than 10^7 characters that a test looks at, some sixteen in a row are these digits with a chance below
# 10^-9, or the eleven that a shortened number would keep, with their point, with a chance below 10^-4, if every
# character were a random digit: few are. How many rows there are is no word to look for: that it does not show is
# tried with two tables.
NUMBER = 8765432109876543.0
WORD = "CANARY-ZEBRA-QUOKKA"
ROWS = 4831
CANARIES = ("8765432109876543", "8.7654321098", "CANARY", "ZEBRA", "QUOKKA")


def texts_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + str(error.args)


def clean(text: str) -> None:
    for canary in CANARIES:
        assert canary not in text, text


def cells() -> list[Any]:
    return [float(i % 50) for i in range(ROWS - 1)] + [NUMBER]


def words(rows: int) -> list[str]:
    return [f"w{i % 5}" for i in range(rows - 1)] + [WORD]


def tables(tmp_path: Path, more: Sequence[float] = ()) -> dict[str, tuple[Any, str | None]]:
    numbers = [*cells(), *more]
    frame = pa.table({"x": numbers, "w": words(len(numbers))})
    con = duckdb.connect()
    con.register("frame", frame)
    for name, options in (("t.parquet", "FORMAT parquet"), ("t.csv", "HEADER"), ("t.jsonl", "FORMAT json")):
        con.execute(f"COPY frame TO '{tmp_path / name}' ({options})")
    return {
        "parquet": (tmp_path / "t.parquet", "x"),
        "csv": (tmp_path / "t.csv", "x"),
        "jsonl": (tmp_path / "t.jsonl", "x"),
        "arrow": (frame, "x"),
        "polars": (pl.from_arrow(frame), "x"),
        "pandas": (frame.to_pandas(), "x"),
        "numpy": (np.array(numbers), None),
        "list": (numbers, None),
    }


def test_a_lone_value_never_shows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A bar of one record survives with chance δ; at δ = 1e-12 it is in no output, repr or log of any source."""
    caplog.set_level(logging.DEBUG)
    for name, (source, column) in tables(tmp_path).items():
        for text in [*outputs(name, source, column), *outputs(name, source, column, exact=False)]:
            clean(text)
    clean(caplog.text)
    out, err = capfd.readouterr()
    clean(out + err)


def outputs(name: str, source: Any, column: str | None, *, exact: bool = True) -> list[str]:
    """Everything that a release says of itself, value by value or in automatic buckets."""
    said: dict[str, Any] = {"kind": "number"} if name in ("csv", "jsonl", "list", "pandas") else {}
    released = flexdp.release(source, column, epsilon="0.5", delta="1e-12", exact=exact, **said)
    texts = [released.to_json(), repr(released), str(released.__dict__), str(released.certificate())]
    texts += [str(answer) + repr(answer) for answer in (released.max(), released.support(), released.counts())]
    texts += [released.to_html(), with_pictures(released._repr_html_()), released.max()._repr_html_()]
    texts += [repr(released.histogram), released.to_frame("pandas").to_string()]
    return [*texts, flexdp.query(source, column, exact=exact, **said)]


def test_the_number_of_rows_never_shows(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows whose values are too rare to survive, or missing, change no output of any source by a single byte.

    Every bar loses as much as it can, so that nothing else changes it either.
    """
    monkeypatch.setattr(DropNoise, "sample", lambda noise, size: np.full(size, noise.max_drop, dtype=np.int64))
    caplog.set_level(logging.DEBUG)
    found = []
    for more in ([], [math.nan] * 7 + [NUMBER, 1e300, -1e300] * 2):
        texts = {name: outputs(name, *table) for name, table in tables(tmp_path, more).items()}
        heard = [record.getMessage() for record in caplog.records]
        caplog.clear()
        found.append((texts, heard, capfd.readouterr()))
    assert found[0] == found[1]


def test_a_prepared_request_shows_no_record(tmp_path: Path) -> None:
    """Its text form, and that of every table behind it, may end up in a notebook or a log."""
    for source, column in tables(tmp_path).values():
        request = prepare(source, column, width=5)
        clean(repr(request) + str(request) + repr(request.questions[0].table))


def test_a_release_has_no_private_field() -> None:
    released = flexdp.release(cells(), epsilon=1, delta="1e-12", kind="number", width=5)
    assert set(released.__dataclass_fields__) == {"spec", "budget", "cells", "records_at_most", "asked", "auto", "caps"}
    auto = flexdp.release(list(range(9000)), kind="integer", epsilon=1, delta="1e-6").auto
    assert auto is not None  # what the program published, and nothing it was given
    assert set(auto.__dataclass_fields__) == {"budget", "kind", "column", "seen", "spans", "leaf_counts", "rules"}
    assert set(auto.budget.__dataclass_fields__) == {"epsilon", "delta", "most", "certify", "answers"}
    asked = flexdp.release(list(range(900)), kind="integer", epsilon=1, delta=0, ask=["max", "mean"]).asked
    assert asked is not None and set(asked.__dataclass_fields__) == {"wanted", "budget", "column", "results", "rules"}
    (result,) = asked.results.values()  # what the programs published, and nothing they were given
    assert set(result.__dataclass_fields__) == {"count", "levels", "mean", "listed"} and result.levels and result.mean
    assert set(result.levels.__dataclass_fields__) == {"scale", "epsilon", "records_about", "helpers", "answers"}
    means = {"scale", "epsilon", "records_about", "anchor", "low", "high", "tally", "sums", "records"}
    assert set(result.mean.__dataclass_fields__) <= means, set(result.mean.__dataclass_fields__) - means
    assert set(asked.column.__dataclass_fields__) == {"calendar", "decades", "ends", "scale"}  # public ends
    frame = pl.DataFrame({"x": [1.0] * 900, "u": range(900)})
    capped = flexdp.release(frame, "x", epsilon=1, delta="1e-6", width=5, unit="u", max_buckets_per_unit=1)
    (cap,) = capped.caps  # two noisy numbers
    assert set(cap.__dataclass_fields__) == {"drawn", "epsilon", "touched", "others"}
    names = {
        "columns",
        "partitions",
        "zone",
        "by",
        "by_kinds",
        "groups",
        "unit",
        "max_buckets_per_unit",
        "per_unit",
    }
    names |= {"where", "derived", "of_query", "about"}  # parameters, too
    names |= {"read_as", "keyed"}  # from parameters, formats and schemas
    assert set(released.spec.__dataclass_fields__) == names
    fields = {"name", "value", "accuracy", "statement", "text", "interval", "promise", "population"}
    fields |= {"claims", "tallies"}  # printed numbers, with what they are about
    assert set(flexdp.Answer.__dataclass_fields__) == fields


BAD: list[dict[str, Any]] = [
    {"epsilon": 0},
    {"delta": 2},
    {"width": -1},
    {"width": 5, "relative": "0.1"},
    {"bounds": (5, 1)},
    {"edges": [1]},
    {"kind": "list"},
    {"outside": "x"},
    {"column": "nope"},
    {"column": 5},
    {"column": None},
    {"delimiter": "ab"},
    {"format": "xls"},
]


@pytest.mark.parametrize("change", BAD, ids=str)
def test_errors_of_parameters_hold_no_data(tmp_path: Path, change: dict[str, Any]) -> None:
    refused = 0
    for source, column in tables(tmp_path).values():
        arguments: dict[str, Any] = {"column": column, "epsilon": 1, "delta": 1e-6, **change}
        try:
            flexdp.release(source, **arguments)
        except FlexdpError as error:
            refused += 1
            assert isinstance(error, InputError)
            assert "\n" not in str(error)
            clean(texts_of(error))
    assert refused


def test_failures_after_data_was_touched_all_look_alike(tmp_path: Path) -> None:
    """A view that fails on a record, a file cut short, a truncated archive: one and the same message."""
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT i AS i FROM range(3000) r(i)")
    failing = con.sql(
        f"SELECT CASE WHEN i = 2999 THEN CAST(error('{WORD}') AS DOUBLE) ELSE CAST(i AS DOUBLE) END AS x FROM t"
    )
    casting = con.sql(f"SELECT CAST(CASE WHEN i = 2999 THEN '{WORD}' ELSE '5' END AS DOUBLE) AS x FROM t")
    whole = tmp_path / "whole.parquet"
    con.execute(f"COPY (SELECT random() AS x FROM range(100000)) TO '{whole}' (FORMAT parquet)")
    broken = tmp_path / "broken.parquet"
    data = bytearray(whole.read_bytes())
    data[1000 : len(data) // 2] = b"\xff" * (len(data) // 2 - 1000)
    broken.write_bytes(data)
    import gzip

    cut = tmp_path / "cut.csv.gz"
    packed = gzip.compress(b"x\n" + b"".join(b"%d.5\n" % (i * 7919) for i in range(200_000)))
    cut.write_bytes(packed[: len(packed) // 2])
    messages = set()
    for source, options in product(
        (failing, casting, broken, cut), ({"width": 1, "kind": "number"}, {"kind": "number"})
    ):
        own = {"rows_are_records": True} if source is failing else {}
        with pytest.raises(DataError) as failure:
            flexdp.release(source, "x", epsilon=1, delta=1e-6, **options, **own)
        clean(texts_of(failure.value))
        assert failure.value.__cause__ is None
        messages.add(str(failure.value))
    assert len(messages) == 1


def test_the_command_line_leaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Run in this process, and heard where a terminal hears it: below Python, so that engines are heard, too."""
    tables(tmp_path)
    spend = ["--delta", "1e-12", "--epsilon", "0.5", "--kind", "number"]
    for name in ("t.parquet", "t.csv", "t.jsonl"):
        for options in (
            [],
            ["--width", "5"],
            ["--bounds", "0:10", "--width", "1"],
            ["--epsilon", "0"],
            ["--json"],
            ["--stat", "nope"],
        ):
            monkeypatch.setattr(sys, "argv", ["flexdp", "release", str(tmp_path / name), "x", *spend, *options])
            assert guarded(cli) == (2 if options in (["--epsilon", "0"], ["--stat", "nope"]) else 0)
        monkeypatch.setattr(sys, "argv", ["flexdp", "check", str(tmp_path / name), "--columns"])
        assert guarded(cli) == 0
    out, err = capfd.readouterr()
    assert "Highest x: " in out and "Error: " in err, "something was heard"
    clean(out + err)
    assert "Traceback" not in err
    command = [sys.executable, "-m", "flexdp", "release", str(tmp_path / "t.csv"), "x", *spend]
    alone = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=True)
    clean(alone.stdout + alone.stderr)


def test_wrong_objects_are_named_by_their_type_only() -> None:
    frame = pd.DataFrame({"x": [WORD], "l": [[WORD]]})
    cases: list[tuple[Any, dict[str, Any]]] = [
        ({"x": WORD}, {"column": "x"}),
        (WORD.encode(), {}),
        (object(), {}),
        (frame, {"column": WORD[::-1]}),
        (frame, {"column": frame}),
        (frame, {"column": "x", "epsilon": frame}),
        ([WORD], {"column": None}),
        ([WORD], {"column": None, "kind": "text", "width": 5}),
        (np.array([[NUMBER]]), {}),
        (np.array([NUMBER + 1j]), {}),
        (frame, {"column": "l", "kind": "text", "width": 5}),
        ([math.nan], {"kind": "number", "bounds": [frame, 5]}),
    ]
    for source, change in cases:
        arguments = {"epsilon": 1, "delta": 1e-6, **change}
        with pytest.raises(InputError) as refusal:
            flexdp.release(source, **arguments)
        clean(texts_of(refusal.value))


def test_lists_and_object_arrays_need_a_kind() -> None:
    for source, column in (
        ([1, 2], None),
        (np.array([1, "a"], dtype=object), None),
    ):
        with pytest.raises(InputError, match="kind is missing"):
            flexdp.release(source, column, epsilon=1, delta=1e-6)
        told = nullcontext() if isinstance(source, list) else pytest.warns(ReadingWarning, match="is read as numbers")
        with told:
            assert flexdp.release(source, column, epsilon=1, delta=1e-6, width=5).kind == "number"


def test_frames_with_repeated_names_are_refused() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InputError, match="more than once"):
        flexdp.release(frame, "a", epsilon=1, delta=1e-6, kind="number")
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(InputError, match="more than once"):
        flexdp.release(table, "a", epsilon=1, delta=1e-6)


def test_no_column_of_json_is_ever_suggested(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text(f'{{"{WORD}": 1}}\n')
    released = flexdp.release(path, WORD[:-1], epsilon=1, delta=1e-6, kind="number", exact=True)
    assert len(released.histogram) == 0


def test_a_table_passed_as_a_path_is_not_echoed() -> None:
    for source, column in [
        ("x\n" + f"{WORD}\n" * 50, "x"),
        (WORD * 40, "x"),
        ([WORD, "b"], "x"),
        ([WORD], "x"),
        ((WORD,), "x"),
        ([f"{WORD}.csv", f"{WORD}.csv"], "x"),
    ]:
        with pytest.raises(InputError) as refusal:
            flexdp.release(source, column, epsilon=1, delta=1e-6)
        clean(texts_of(refusal.value))


@pytest.mark.parametrize(
    "parameters",
    [
        {"width": "1e39"},
        {"width": 2**63},
        {"width": "1e300"},
        {"bounds": (0, "1e300"), "width": "1e290"},
        {"edges": [0, 10**38]},
    ],
    ids=str,
)
def test_widths_beyond_the_integers_are_refused_whatever_the_table_holds(parameters: dict[str, Any]) -> None:
    for values in ([], [98765431] * 5):
        for source, said in (
            (np.array(values, dtype=np.int64), {}),
            (values, {"kind": "integer"}),
            (pa.array(values, pa.int64()), {}),
        ):
            with pytest.raises(InputError, match=next(iter(parameters))) as refusal:
                flexdp.release(source, epsilon=1, delta=1e-6, **parameters, **said)
            assert "98765431" not in texts_of(refusal.value)


class Raises:
    """A cell that tells its secret when it is read."""

    def __float__(self) -> float:
        raise RuntimeError(WORD)

    def __int__(self) -> int:
        raise RuntimeError(WORD)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError(WORD)

    __hash__ = None  # type: ignore[assignment]


def test_cells_that_raise_are_missing() -> None:
    import numbers

    numbers.Real.register(Raises)
    for kind in ("number", "integer", "text", "date"):
        released = flexdp.release([Raises()] * 100, epsilon=1, delta=1e-6, kind=kind, exact=True)
        assert len(released.histogram) == 0


def test_sources_that_are_no_tables_are_refused() -> None:
    con = duckdb.connect()
    relation = con.sql("SELECT 1 AS x")
    con.close()
    for source, column in [
        (pd.array([1, 2]), None),
        (pl.col("x"), "x"),
        (relation, "x"),
        (pa.table({"x": [1]}).to_reader(), "x"),
        (pl.Series([1]), "x"),
        (pa.array([1]), "x"),
        (np.array([1]), "x"),
        (pd.Series([1]), "x"),
        ([1], "x"),
        (None, "x"),
        (7, None),
    ]:
        with pytest.raises(InputError):
            flexdp.release(source, column, epsilon=1, delta=1e-6, kind="number")


class Unhashable(str):
    """A text that tells its secret when it is counted."""

    def __hash__(self) -> int:
        raise ValueError(WORD)


def chain(error: BaseException | None) -> str:
    """Everything that a reporter could find by following causes and contexts."""
    seen = ""
    while error is not None:
        seen += texts_of(error)
        error = error.__cause__ or error.__context__
    return seen


@pytest.mark.any_fault
def test_no_chain_of_causes_leads_back_to_a_record() -> None:
    broken = pa.array([b"ok", WORD.encode() + b"\xff"], pa.binary()).view(pa.string())
    series = pd.Series(pd.arrays.ArrowExtensionArray(broken))
    for source, said in ((series, {}), ([Unhashable(WORD)], {"kind": "text"})):
        try:
            flexdp.release(source, epsilon=1, delta="1e-12", **said)
        except DataError as error:
            clean(chain(error))


def test_the_engine_shows_no_progress() -> None:
    """How far a long count has come tells how many records there are; run as a script, DuckDB shows it by default."""
    code = (
        "from flexdp.tables.engines.duckdb.session import connection\n"
        "with connection() as con:\n"
        "    rows = con.execute(\"SELECT name, value FROM duckdb_settings() WHERE name LIKE 'enable_progress%'\")\n"
        "    print(sorted(rows.fetchall()))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[('enable_progress_bar', 'false'), ('enable_progress_bar_print', 'false')]"
