"""Tables in DuckDB files, and several threads on one DuckDB connection."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from _support.bits import seed
from _support.command import flexdp as run_command
from _support.private import private_counts

import flexdp
from flexdp import DataError, InputError, UnavailableError
from flexdp._release.api import prepare
from flexdp.tables.engines.duckdb import session as duckdb_session

SPEND = {"epsilon": 1, "delta": "1e-6"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(file) as con:
        con.execute("CREATE TABLE visits AS SELECT CAST(range % 50 AS DOUBLE) AS age, range % 7 AS w FROM range(4000)")
        con.execute("CREATE SCHEMA odd")
        con.execute('CREATE TABLE odd."a b" AS SELECT range AS i FROM range(10)')
        con.execute("CREATE VIEW grown AS SELECT age + 100 AS age FROM visits")
    return file


def test_tables_schemas_and_views_of_a_file(path: Path) -> None:
    expected = {5.0 + 10 * k: 800 for k in range(5)}
    assert private_counts((path, "visits"), "age", width=10) == expected
    assert private_counts((str(path), "main.visits"), "age", width=10) == expected
    assert private_counts((path, "grown"), "age", width=10) == {100 + key: m for key, m in expected.items()}
    assert private_counts((path, 'odd."a b"'), "i") == dict.fromkeys(range(10), 1)
    released = flexdp.release((path, "visits"), "age", ask=["max"], width=10, **SPEND)
    assert released.max().value >= 40, "no lower than its bucket"
    assert [file.name for file in path.parent.iterdir()] == [path.name]  # nothing is left beside it


def test_every_column_of_a_table_in_a_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that the columns shared would refuse to attach the file a second time."""
    seed(monkeypatch, 1)
    published = flexdp.summary((path, "visits"), epsilon=20, delta="1e-6")
    assert list(published) == ["age", "w"]
    assert published["age"].median().value == pytest.approx(24.5, abs=3)
    assert published["w"].median().value == pytest.approx(3, abs=1)


def test_wrong_files_are_refused(path: Path) -> None:
    with pytest.raises(InputError, match="table: 'visit' does not exist"):
        prepare((path, "visit"), "age", width=5)
    with pytest.raises(InputError, match="table is missing"):
        prepare(path, "age", width=5)
    with pytest.raises(InputError, match="engine does not apply to an address or a file"):
        prepare((path, "visits"), "age", width=5, engine="duckdb")
    with pytest.raises(InputError, match="does not exist or cannot be read"):
        prepare((path.with_name("none.duckdb"), "visits"), "age", width=5)
    path.write_bytes(b"QUOKKA" * 1000)
    with pytest.raises(InputError, match="is not a DuckDB database") as caught:
        prepare((path, "visits"), "age", width=5)
    assert "QUOKKA" not in str(caught.value)
    assert caught.value.__context__ is None
    other = path.with_suffix(".db")
    duckdb.connect(other).close()
    with pytest.raises(InputError, match=r"is not an SQLite database. A DuckDB database must be named .duckdb"):
        prepare((other, "visits"), "age", width=5)


def test_a_view_over_a_text_file_is_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    with duckdb.connect(path) as con:
        con.execute(f"CREATE VIEW texts AS FROM read_csv('{tmp_path / 'a.csv'}')")
    with pytest.raises(InputError, match="is a relation over a text file"):
        prepare((path, "texts"), "x", width=5)


def test_a_table_that_changes_is_the_one_error(path: Path) -> None:
    prepared = prepare((path, "visits"), "age", width=10).with_budget(**SPEND)
    with duckdb.connect(path) as con:
        con.execute("ALTER TABLE visits ALTER age TYPE BIGINT")
    with pytest.raises(DataError) as caught:
        prepared.run()
    assert caught.value.__context__ is None


@contextmanager
def held_elsewhere(path: Path) -> Iterator[None]:
    """Another process that has the file open for writing."""
    program = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        yield
        other.communicate("")


def test_a_file_that_another_program_writes_to_is_unavailable(path: Path) -> None:
    with held_elsewhere(path):
        with pytest.raises(UnavailableError, match="another program is writing to"):
            prepare((path, "visits"), "age", width=10)
        failed = run_command("check", str(path), "--columns", "--table", "visits")
        assert failed.returncode != 0
    assert private_counts((path, "visits"), "age", width=50) == {25.0: 4000}


def test_the_lock_of_an_open_connection_is_kept(path: Path) -> None:
    """Refusing a file that this program has open must not let another program write to it at the same time."""
    program = "import duckdb, sys; duckdb.connect(sys.argv[1])"
    with duckdb.connect(path) as con:
        with pytest.raises(InputError, match=r"this program has .* open already. Pass that connection instead"):
            prepare((path, "visits"), "age", width=10)
        second = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
        assert "lock" in second.stderr
        assert private_counts((con, "visits"), "age", width=50) == {25.0: 4000}


def test_on_the_command_line(path: Path, tmp_path: Path) -> None:
    listed = run_command("check", str(path), "--columns", "--table", "visits")
    assert listed.stdout == "age\tDOUBLE\nw\tBIGINT\n"
    out = tmp_path / "out.json"
    words = ["--table", "visits", "--epsilon", "1", "--delta", "1e-6", "--width", "10", "-o", str(out)]
    assert run_command("release", str(path), "age", *words).returncode == 0
    assert flexdp.Release.from_json(out.read_text()).histogram.keys.tolist() == [5.0, 15.0, 25.0, 35.0, 45.0]


def in_threads(source: Any, turns: int = 3, threads: int = 4) -> list[Any]:
    """Release from several threads at once; return what each got."""
    found: list[Any] = []

    def work() -> None:
        for _ in range(turns):
            try:
                found.append(private_counts(source(), "age", width=10))
                flexdp.release(source(), "age", ask=["max"], width=10, **SPEND)
            except Exception as error:  # noqa: BLE001  (compared below)
                found.append(error)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


def test_a_result_that_is_not_fetched_is_named(path: Path) -> None:
    with duckdb.connect(path) as con:
        relation = con.sql("SELECT age FROM visits")
        assert con.execute("SELECT age FROM visits").fetchone() is not None
        for source in ((con, "visits"), relation):
            with pytest.raises(InputError, match=r"result with unfetched rows. Fetch .* con.cursor\(\)"):
                prepare(source, "age", width=10)
        assert private_counts((con.cursor(), "visits"), "age", width=50) == {25.0: 4000}
        assert len(con.fetchall()) == 3999  # the caller's result is untouched
        assert private_counts(relation, "age", width=50) == {25.0: 4000}


def test_relations_whose_connection_is_not_known_take_turns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_session, "is_connection", lambda _: False)
    with duckdb.connect(path) as con:
        relations = itertools.cycle([con.sql("SELECT age FROM visits"), con.table("visits")])
        assert in_threads(lambda: next(relations), turns=2) == [dict.fromkeys([5.0, 15.0, 25.0, 35.0, 45.0], 800)] * 8


def test_threads_take_turns_on_one_connection_and_its_cursors(path: Path) -> None:
    with duckdb.connect(path) as con:
        con.execute("CREATE TEMP TABLE mine AS FROM visits")
        con.execute("BEGIN")
        con.execute("INSERT INTO visits VALUES (5, 0)")  # visible on this connection alone
        one = private_counts((con, "visits"), "age", width=10)
        assert one[5.0] == 801
        assert in_threads(lambda: (con, "visits")) == [one] * 12
        assert in_threads(lambda: (con, "mine"), turns=1) == [{**one, 5.0: 800}] * 4
        con.rollback()
        assert in_threads(lambda: (con.cursor(), "visits")) == [{**one, 5.0: 800}] * 12
        relations = [con.sql("SELECT age FROM visits"), con.table("visits").filter("age >= 0"), con.table("mine")]
        sources = itertools.cycle([*relations, (con, "visits"), (con, "mine")])
        assert in_threads(lambda: next(sources)) == [{**one, 5.0: 800}] * 12
        left = con.execute("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'flexdp%'").fetchall()
        assert left == []
