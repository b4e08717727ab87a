"""``flexdp summary``: options by column, and refusals that speak of options as they are typed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn

import click
import duckdb
import polars as pl
import pytest
from _support.command import commands, flexdp

import flexdp as library
from flexdp._release.parameters import parameters
from flexdp._release.run import Request

SPEND = ["-e", "2", "-d", "1e-6"]
OF_COLUMNS = ("width", "relative", "edges", "exact", "bounds", "outside")
# A parameter as Python spells it, such as kind='date' or max_buckets_per_unit; as an option it has other letters.
PYTHON = re.compile(
    rf"(?<![-\w])(?:{'|'.join(OF_COLUMNS)}|kind|columns|stat|split|skip|derive|zone|where|decimal|by|unit)=|[a-z]_[a-z]"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    rows = (
        "SELECT i AS id, i % 100 AS age, 1.0 + i % 1000 AS cost, CASE WHEN i % 2 = 0 THEN 'A' ELSE 'B' END AS ward, "
        "DATE '2024-01-01' + (i % 300)::INTEGER AS day, TIMESTAMP '2024-01-01' + to_hours((i % 5000)::INTEGER) AS at"
    )
    duckdb.sql(f"{rows} FROM range(6000) r(i)").pl().write_parquet(folder / "t.parquet")
    pl.read_parquet(folder / "t.parquet").write_csv(folder / "t.csv")
    return folder


def test_buckets_by_column(place: Path) -> None:
    line = ["age", "cost", "day", "--edges", "age=0,20,50", "--outside", "age=drop"]
    line += ["--relative", "cost=0.1", "--edges", "day=2024-01-01,2024-04-01,2024-11-01", "--bounds=cost=1:1000"]
    done = flexdp("summary", "t.parquet", *SPEND, *line, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    age, cost, day = json.loads(done.stdout)["releases"]
    assert age["buckets"] == {"edges": ["0", "20", "50"], "outside": "drop"}
    assert cost["buckets"] == {"relative": "1/10", "bounds": ["1", "1000"], "outside": "clamp"}
    assert day["buckets"] == {"edges": ["2024-01-01", "2024-04-01", "2024-11-01"], "outside": "clamp"}
    lost, (young, older) = age["mechanism"]["max_drop"], age["bars"]["count"]
    assert 1200 - lost <= young <= 1200 and 1860 - lost <= older <= 1860, "60 records of each age, 0–19 and 20–50"


def test_python_and_the_command_line_ask_for_the_same(place: Path) -> None:
    """The ledger finds the summary of the command line for a call in Python."""
    library.Ledger(place / "b.db").create("t", epsilon=2, delta="1e-6")
    line = ["age", "cost", "--edges", "age=0,20,50", "--outside", "age=drop", "--relative", "cost=0.1"]
    done = flexdp("summary", "t.parquet", *SPEND, *line, "--ledger", "b.db", "--dataset", "t", cwd=place)
    assert done.returncode == 0, done.stderr
    again = library.summary(
        place / "t.parquet", ["age", "cost"], epsilon=2, delta="1e-6", edges={"age": [0, 20, 50]},
        outside={"age": "drop"}, relative={"cost": "0.1"}, ledger=place / "b.db", dataset="t",
    )  # fmt: skip
    assert again.payment is not None and again.payment.free


REFUSED: list[tuple[str, str]] = [
    ("--relative 0.1", "--relative needs numbers or times, but column 'ward' is text. Give it by column, for example "
     "--relative id=0.05."),
    ("--edges age=", "--edges must be written VALUE for all columns, or NAME=VALUE, each column once; got 'age='. For "
     "example --edges cost=0,18,65."),
    ("--edges age=1,2 --edges age=3,4", "--edges must be written VALUE for all columns, or NAME=VALUE, each column "
     "once; got 'age=3,4'. "),
    ("--width 5 --width age=3", "--width must be written VALUE for all columns, or NAME=VALUE, each column once; got "
     "'5'. "),
    ("--edges age=1,,3", "--edges must be values separated by commas, none of them empty; got '1,,3'."),
    ("--relative aeg=0.1", "--relative names 'aeg', which is not among the released columns."),
    ("--edges aeg=1,2,3", "--edges names 'aeg', which is not among the released columns."),
    ("--outside aeg=drop", "--outside names 'aeg', which is not among the released columns."),
    ("age --outside cost=drop", "--outside names 'cost', which is not among the released columns."),
    ("--relative age=x", "--relative for column 'age' must be a number; got 'x'. "),
    ("--relative age=7", "--relative for column 'age' must be in [0.0001, 0.9]; got '7'. Give the relative half-width, "
     "for example --relative age=0.05 for 5%."),
    ("--relative day=0.1", "--relative for column 'day' needs a column of numbers, and this one holds dates or "
     "datetimes. Give --width 'day=1 day'."),
    ("--relative ward=0.1", "--relative needs numbers or times, but column 'ward' is text. Leave it out for that "
     "column, or name its kind if its texts are numbers: ward=number."),
    ("--edges age=9,5,1", "--edges for column 'age' must be strictly ascending. Sort them and leave out repeated "
     "ones."),
    ("--edges age=1", "--edges for column 'age' must be 2 to 1001 ascending values, for example --edges "
     "age=0,18,65,120."),
    ("--edges age=0.5,1.5", "--edges for column 'age' must be whole numbers on a column of integers. Round them, or "
     "say --kind age=number."),
    ("--edges age=a,b", "--edges for column 'age' must be a number; got 'a'. "),
    ("--edges age=0,100", "--edges for column 'age': there is only one bucket, which reveals only the number of "
     "records. Choose narrower buckets."),
    ("--edges ward=1,2", "--edges needs numbers or times, but column 'ward' is text. "),
    ("--outside age=drop", "--outside for column 'age' needs --bounds or --edges. Give one of them, or leave it out."),
    ("--outside age=lose --bounds age=0:9", "--outside for column 'age' must be 'clamp' or 'drop'; got 'lose'."),
    ("--outside ward=drop", "--outside needs numbers or times, but column 'ward' is text. "),
    ("--width age=5 --relative age=0.1", "--width for column 'age' and --relative exclude each other. "),
    ("--width age=5 --edges age=1,2", "--width for column 'age' and --edges exclude each other. "),
    ("--relative age=0.1 --edges age=1,2", "--relative for column 'age' and --edges exclude each other. "),
    ("--exact age --relative age=0.1", "--relative for column 'age' and --exact exclude each other. "),
    ("--exact age --edges age=1,2", "--edges for column 'age' and --exact exclude each other. "),
    ("--bounds age=0:9 --edges age=1,2", "--edges for column 'age' and --bounds exclude each other. "),
    ("age --exact age --edges age=1,2", "--edges for column 'age' and --exact exclude each other. "),
    ("age --edges age=3,1", "--edges for column 'age' must be strictly ascending. "),
    ("--width age=0", "--width for column 'age' must be in [1e-300, 1e+300]; got '0'. Give the width of a bucket in "
     "the column's own unit, for example --width age=5."),
    ("--width age=2.5", "--width for column 'age' must be a whole number on a column of integers; got '2.5'. Round it, "
     "or say --kind age=number."),
    ("--width 'age=1 day'", "--width for column 'age' is a length of time, and the column is read as integer; got "
     "'1 day'. Set --kind age=date or --kind age=datetime if the column holds dates or datetimes."),
    ("--width age=500 --bounds age=0:100", "--width for column 'age': there is only one bucket, which reveals only "),
    ("--bounds age=9:1", "--bounds for column 'age' must be a lower bound and a larger upper bound; got reversed "),
    ("--bounds cost=1e100:2e100", "--bounds for column 'cost' must differ within ±10^39 for automatic buckets. Give "
     "--width, or say --exact cost to make every value its own bucket."),
    ("--exact aeg", "--exact names 'aeg', which is not among the released columns."),
    ("age=date", "--kind does not fit column 'age', which is declared as BIGINT; got 'date'."),
    ("aeg", "COLUMN: no column named 'aeg'. "),
    ("--split age=0", "--split must be greater than 0; got '0'. Give the share of each column, for example --split 2 "),
    ("--unit id --per-unit mean age=integer cost", "--per-unit 'mean' needs --kind number: "),
    ("--skip ward age", "--skip needs no COLUMN: those that are named are published."),
    ("--zone UTC", "--zone fits a column of datetimes with a time zone only. "),
    ("--unit id", "--max-buckets-per-unit is missing: "),
    ("--by-kind text", "--by-kind needs --by, "),
    ("--derive age", "--derive must be written NAME=VALUE, each name once; got 'age'. "),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_refusals_name_options_as_they_are_typed(
    line: str, message: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def runs(_self: Any) -> NoReturn:
        raise AssertionError("records would be read")

    monkeypatch.setattr(Request, "run", runs)
    words = re.findall(r"'([^']*)'|(\S+)", line)
    done = flexdp("summary", "t.parquet", *SPEND, *(first or second for first, second in words), cwd=place)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {message}") and len(done.stderr.splitlines()) == 1, done.stderr
    assert not PYTHON.search(done.stderr), done.stderr


def test_python_names_would_be_noticed() -> None:
    for said in ("say kind='date'.", "width=5", "max_buckets_per_unit is missing", "stat='count'"):
        assert PYTHON.search(said)
    for said in ("--width age=5", "--kind age=number", "--max-buckets-per-unit", "--exact age"):
        assert not PYTHON.search(said)


def test_no_ledger_is_charged_for_a_refusal(place: Path) -> None:
    ledger = library.Ledger(place / "c.db")
    ledger.create("t", epsilon=2, delta="1e-6")
    for line in (["--edges", "age=3,1"], ["--relative", "age=9"], ["--outside", "age=drop"], ["--edges", "age=0,100"]):
        done = flexdp("summary", "t.parquet", *SPEND, *line, "--ledger", "c.db", "--dataset", "t", cwd=place)
        assert done.returncode == 2 and ledger.account("t").remaining_epsilon == 2, done.stderr


def test_texts_read_without_a_kind(place: Path) -> None:
    """Buckets of a column of a text file say that it holds numbers; edges of one, too."""
    done = flexdp("summary", "t.csv", *SPEND, "age", "--edges", "age=0,20,50,100", cwd=place)
    assert done.returncode == 0 and "Column 'age' was read as numbers written like 1234.5" in done.stderr
    assert "set --decimal, --thousands, --currency or --kind." in done.stderr
    assert not PYTHON.search(done.stderr), done.stderr


def test_the_help_stands_in_panels_and_says_what_may_differ_by_column() -> None:
    shown = flexdp("summary", "--help").stdout
    assert max(map(len, shown.splitlines())) <= 80
    panels = re.findall(r"^(\w[\w ]+):$", shown, re.MULTILINE)
    assert panels == ["What to publish", "Privacy", "Buckets", "Reading", "Output", "Other options"]
    options = {option.name: option for option in commands()["summary"].params if isinstance(option, click.Option)}
    by_column = {name for name, row in parameters().items() if row.per_column}
    assert by_column >= {*OF_COLUMNS, "kind", "by_kind"} and len(by_column) < len(parameters()) / 2
    for name, option in options.items():
        assert str(option.metavar).startswith("[NAME") == (name in by_column | {"split"}), name
