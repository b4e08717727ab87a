"""Progress, profiles and logs reveal the size of a table: the caller's DuckDB connection shows none while it counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import flexdp
from flexdp import DataError
from flexdp._release.api import prepare
from flexdp.tables.engine import open_served
from flexdp.tables.engines.duckdb.engine import Duckdb
from flexdp.tables.engines.duckdb.session import RELATION

SETTINGS = ("enable_progress_bar", "enable_progress_bar_print")
SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


@pytest.fixture
def con() -> Iterator[Any]:
    with duckdb.connect() as opened:
        opened.execute("SET progress_bar_time = 1000000")
        opened.execute("CREATE TABLE visits AS SELECT i % 50 AS x FROM range(1000) r(i)")
        yield opened


def shown(con: Any) -> tuple[bool, ...]:
    return tuple(bool(con.execute(f"SELECT current_setting('{name}')").fetchall()[0][0]) for name in SETTINGS)


class Watched:
    """A relation that records the settings during a count, and fails on request."""

    def __init__(self, con: Any, *, failing: tuple[str, ...] = ()) -> None:
        self.relation, self.con, self.failing = con.table("visits"), con, list(failing)
        self.columns, self.types = self.relation.columns, self.relation.types
        self.seen: list[tuple[bool, ...]] = []

    def sql_query(self) -> str:
        return str(self.relation.sql_query())

    def explain(self, **options: Any) -> Any:
        return self.relation.explain(**options)

    def query(self, name: str, statement: str) -> Any:
        if "count(*)" in statement:
            self.seen.append(shown(self.con))
        for word in self.failing:
            if word in statement:
                self.failing.remove(word)
                raise duckdb.InterruptException("as Ctrl-C does")
        return self.relation.query(name, statement)


def count(relation: Watched) -> None:
    table = open_served(Duckdb(), relation, RELATION)
    request = prepare(relation.relation, "x", width=5)
    table.count([request.questions[0].counting])


@pytest.mark.parametrize("before", [(True, True), (True, False), (False, True), (False, False)])
def test_a_callers_connection_shows_nothing_while_it_counts_and_the_same_afterwards(
    con: Any, before: tuple[bool, bool]
) -> None:
    for name, on in zip(SETTINGS, before, strict=True):
        con.execute(f"SET {name} = {on}")
    relation = Watched(con)
    count(relation)
    assert relation.seen == [(False, False)]
    assert shown(con) == before


@pytest.mark.parametrize(
    "failing", [("count(*)",), ("count(*)", "enable_progress_bar = true", "enable_progress_bar_print = true")]
)
def test_what_was_shown_is_restored_after_a_failure_or_an_interrupt(con: Any, failing: tuple[str, ...]) -> None:
    con.execute("SET enable_progress_bar = true")
    with pytest.raises(DataError):
        count(Watched(con, failing=failing))
    assert shown(con) == (True, True)


@pytest.mark.parametrize("source", ["connection", "relation"])
def test_releases_leave_the_setting_alone(con: Any, source: str) -> None:
    con.execute("SET enable_progress_bar = true")
    flexdp.release((con, "visits") if source == "connection" else con.table("visits"), "x", width=5, **SPEND)
    assert shown(con) == (True, True)


PROFILE = "SELECT current_setting('enable_profiling'), current_setting('profiling_output')"


@pytest.mark.parametrize("coverage", ["SELECT", "ALL"])
@pytest.mark.parametrize("form", ["query_tree", "json", "no_output"])
def test_a_profile_shows_no_number_of_rows(
    form: str, coverage: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    con, rows, path = duckdb.connect(), "48317", tmp_path / "profile.json"
    con.execute(f"CREATE TABLE visits AS SELECT i % 50 AS x FROM range({rows}) r(i)")
    con.execute(f"SET profiling_coverage = '{coverage}'")
    con.execute(f"SET enable_profiling = '{form}'")
    if form == "json":
        con.execute(f"SET profiling_output = '{path}'")
    before = con.execute(PROFILE).fetchall()
    capfd.readouterr()

    def shown() -> str:
        told = "".join(capfd.readouterr()) + (path.read_text() if path.exists() else "")
        return told.replace(",", "").replace(".", "")

    for source in ((con, "visits"), con.table("visits")):
        for asked in ({"width": 5}, {}, {"ask": ["max", "count"]}):
            flexdp.release(source, "x", **asked, **SPEND)
            assert rows not in shown()
        prepare(source, "x", width=5, where="x > 3")
        assert rows not in shown()
    assert con.execute(PROFILE).fetchall() == before
    con.execute("SELECT count(*) FROM (SELECT x + 1 AS y FROM visits) WHERE y > random()").fetchall()
    assert (rows in shown()) is (form != "no_output"), "the control: it profiles again, and shows the number"


LOG = "CALL enable_logging('PhysicalOperator', level = 'debug', storage = 'stdout')"


def test_a_log_shows_no_number_of_rows(capfd: pytest.CaptureFixture[str]) -> None:
    con, rows = duckdb.connect(), "48317"
    con.execute(f"CREATE TABLE visits AS SELECT i % 50 AS x FROM range({rows}) r(i)")
    con.execute(LOG)
    for source in ((con, "visits"), con.table("visits")):
        for asked in ({"width": 5}, {}, {"ask": ["max", "count"]}):
            flexdp.release(source, "x", **asked, **SPEND)
    assert rows not in "".join(capfd.readouterr())
    con.execute("SELECT count(*) FROM visits AS a JOIN visits AS b ON a.rowid = b.rowid").fetchall()
    assert rows in "".join(capfd.readouterr()), "the control: it logs again, and shows the number"


@pytest.mark.parametrize(
    ("telling", "words"),
    [
        ("SET enable_profiling = 'json'", r"profiles queries.*Run PRAGMA disable_profiling"),
        (LOG, r"logs queries.*Run SET enable_logging = false"),
    ],
)
def test_what_cannot_be_turned_off_is_refused(telling: str, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE visits AS SELECT i % 50 AS x FROM range(48317) r(i)")
    con.execute(telling)
    con.execute("SET lock_configuration = true")
    for source in ((con, "visits"), con.table("visits")):
        with pytest.raises(flexdp.InputError, match=words):
            prepare(source, "x", width=5)
    assert "48317" not in "".join(capfd.readouterr())
