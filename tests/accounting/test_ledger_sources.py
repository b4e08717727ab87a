"""Which requests are the same: the source and the period belong to a request, and a stored answer keeps its label."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from _support.command import flexdp as command

import flexdp
from flexdp import InputError, Ledger, Release
from flexdp.accounting.books import as_csv, as_json, registry
from flexdp.tables.opening import name_of

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "width": 5}
TODAY = re.escape(dt.datetime.now(dt.UTC).date().isoformat()[:8]) + r"\d\d"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two months of one table, in files of their own, and a ledger with a fixed data set and one by period."""
    for name, age in (("jan", 33.0), ("feb", 83.0)):
        pl.DataFrame({"age": [age] * 900}).write_parquet(tmp_path / f"{name}.parquet")
    ledger = Ledger(tmp_path / "b.db")
    ledger.create("fixed", epsilon=9, delta="1e-4")
    ledger.create("monthly", epsilon=9, delta="1e-4", by_period=True)
    ledger.close()
    return tmp_path


def paid(folder: Path, source: Any, dataset: str, **options: Any) -> Release:
    return flexdp.release(source, "age", **SPEND, ledger=folder / "b.db", dataset=dataset, **options)


def range_of(made: Release) -> str:
    """The bucket of the highest age, which tells the months apart."""
    return made.max().text.split()[0]


def spent(folder: Path, dataset: str) -> Fraction:
    return Ledger(folder / "b.db").account(dataset).spent_epsilon


def run(folder: Path, name: str, period: str | None, *words: str) -> Any:
    line = ["release", f"{name}.parquet", "age", "-e", "1", "-d", "1e-6", "--width", "5", "-s", "max"]
    line += ["--ledger", "b.db", "--dataset", "monthly", *words]
    return command(*line, *([] if period is None else ["--period", period]), cwd=folder)


def test_another_file_under_another_period_is_read_and_charged(folder: Path) -> None:
    """The finding: February's page had January's numbers, with exit code 0."""
    january = run(folder, "jan", "2025-01", "-o", "jan.html")
    february = run(folder, "feb", "2025-02", "-o", "feb.html")
    assert (january.returncode, february.returncode) == (0, 0) and spent(folder, "monthly") == 2
    for done, page, label, range_ in (
        (january, "jan.html", "2025-01", "30–35"),
        (february, "feb.html", "2025-02", "80–85"),
    ):
        drawn = re.search(rf"^Drawn on {TODAY} for {label}\.$", done.stdout, re.MULTILINE)
        assert drawn and f"Highest age: {range_}" in done.stdout
        written = (folder / page).read_text()
        assert re.search(rf"Period: {label}\. Drawn on {TODAY}\.", written) and range_ in written


def test_the_same_file_under_another_period_is_charged(folder: Path) -> None:
    """A file that is overwritten keeps its name."""
    january = paid(folder, folder / "jan.parquet", "monthly", period="2025-01")
    (folder / "feb.parquet").replace(folder / "jan.parquet")
    february = paid(folder, folder / "jan.parquet", "monthly", period="2025-02")
    assert spent(folder, "monthly") == 2
    assert (range_of(january), range_of(february)) == ("30–35", "80–85")
    again = paid(folder, folder / "jan.parquet", "monthly", period="2025-01")
    assert again == january and again.payment is not None and again.payment.free and spent(folder, "monthly") == 2
    assert again.spec.about.period == "2025-01"


def test_another_file_of_a_fixed_data_set_is_charged(folder: Path) -> None:
    january = paid(folder, folder / "jan.parquet", "fixed")
    february = paid(folder, folder / "feb.parquet", "fixed")
    assert (range_of(january), range_of(february)) == ("30–35", "80–85") and spent(folder, "fixed") == 2
    for path, stored in (("jan", january), ("feb", february)):
        again = paid(folder, folder / f"{path}.parquet", "fixed")
        assert again == stored and again.payment is not None and again.payment.free
    assert spent(folder, "fixed") == 2


def test_a_stored_answer_says_when_it_was_drawn_and_for_which_period(folder: Path) -> None:
    first = run(folder, "jan", "2025-01", "-o", "a.html")
    again = run(folder, "jan", "2025-01", "-o", "b.html", "--title", "February")
    assert again.returncode == 0 and spent(folder, "monthly") == 1
    assert again.stdout == first.stdout and re.search(rf"Drawn on {TODAY} for 2025-01\.", again.stdout)
    told = (
        rf"was made earlier: it cost nothing\. Drawn on {TODAY} for 2025-01\. Left: .*\. --fresh pays for a new one\."
    )
    assert re.search(told, again.stderr)
    page = (folder / "b.html").read_text()
    assert "Period: 2025-01. Drawn on 2" in page and ">February</h1>" in page
    content = json.loads(run(folder, "jan", "2025-01", "--json").stdout)
    assert content["about"]["period"] == "2025-01" and re.fullmatch(TODAY, content["about"]["drawn"])
    fresh = run(folder, "jan", "2025-01", "--fresh")
    assert fresh.returncode == 0 and spent(folder, "monthly") == 2


def test_a_stored_answer_keeps_the_day_on_which_it_was_drawn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(dt.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return dt.datetime(2025, 2, 3, 4, 5, tzinfo=tz)

    with monkeypatch.context() as patch:
        patch.setattr("flexdp._release.charged.dt.datetime", Clock)
        first = paid(folder, folder / "jan.parquet", "monthly", period="2025-01")
    again = paid(folder, folder / "jan.parquet", "monthly", period="2025-01", title="Again")
    assert again.spec.about.drawn == first.spec.about.drawn == "2025-02-03"
    assert "Drawn on 2025-02-03 for 2025-01." in str(again.payment)
    assert "Period: 2025-01. Drawn on 2025-02-03." in again.to_html()
    assert Release.from_json(again.to_json()) == again


@pytest.mark.parametrize("period", [None, "2025-01"])
def test_a_declaration_decides_whether_a_period_is_named(folder: Path, period: str | None) -> None:
    right, wrong = ("fixed", "monthly") if period is None else ("monthly", "fixed")
    rule = "is missing: 'monthly' was declared by period" if period is None else "does not fit 'fixed'"
    for source in (folder / "jan.parquet", pl.DataFrame({"age": [1.0] * 900})):
        with pytest.raises(InputError, match=f"^period {rule}"):
            paid(folder, source, wrong, period=period)
    assert spent(folder, wrong) == 0 and len(Ledger(folder / "b.db").history(wrong)) == 1
    paid(folder, folder / "jan.parquet", right, period=period)
    done = run(folder, "jan", None) if period is None else run(folder, "jan", period, "--dataset", "fixed")
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert f"--period {rule}" in done.stderr
    assert ("--period 2026-01" if period is None else "flexdp ledger create --by-period") in done.stderr


def test_the_command_declares_a_data_set_by_period(folder: Path) -> None:
    line = ("ledger", "create", "c.db", "visits", "--epsilon", "3", "--delta", "4e-6", "--by-period")
    assert command(*line, cwd=folder).returncode == 0
    shown = json.loads(command("ledger", "show", "c.db", "--json", cwd=folder).stdout)
    assert shown["datasets"][0]["by_period"] is True and Ledger(folder / "c.db").account("visits").by_period
    assert not Ledger(folder / "b.db").account("fixed").by_period
    with pytest.raises(InputError, match="by_period"):
        Ledger(folder / "c.db").create("x", epsilon=1, delta=0, by_period="monthly")


def test_a_table_without_a_name_is_repeated_under_a_period_alone(folder: Path) -> None:
    frame, connection = pl.DataFrame({"age": [33.0] * 900}), sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (age INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?)", [(33,)] * 900)
    for count, source in enumerate((frame, (connection, "t")), 1):
        for _ in range(2):
            made = paid(folder, source, "fixed")
            assert made.payment is not None and not made.payment.free and made.payment.stored
            assert "by a declared period alone, so the same request will cost again" in str(made.payment)
        assert spent(folder, "fixed") == 2 * count
    first = paid(folder, frame, "monthly", period="2025-01")
    assert "cost again" not in str(first.payment)
    again = paid(folder, frame, "monthly", period="2025-01")
    assert again == first and again.payment is not None and again.payment.free
    other = paid(folder, frame, "monthly", period="2025-02")
    assert other.payment is not None and not other.payment.free and spent(folder, "monthly") == 2


def test_a_file_is_known_by_where_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "link.parquet").symlink_to(folder / "jan.parquet")
    first = paid(folder, folder / "jan.parquet", "fixed")
    for same in ("jan.parquet", "./jan.parquet", ["jan.parquet"], "link.parquet"):
        assert paid(folder, same, "fixed") == first, same
    assert spent(folder, "fixed") == 1
    (folder / "link.parquet").unlink()
    (folder / "link.parquet").symlink_to(folder / "feb.parquet")
    for count, other in enumerate(("link.parquet", "ja*.parquet", ["jan.parquet", "feb.parquet"]), 2):
        paid(folder, other, "fixed")
        assert spent(folder, "fixed") == count, other
    paid(folder, ["feb.parquet", "jan.parquet"], "fixed")
    assert spent(folder, "fixed") == 4, "the order of files makes no difference"


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("postgresql://me:secret@host:5432/clinic?password=secret", "postgresql://host:5432/clinic"),
        ("postgres://me:sec?ret#@host/clinic#secret", None),  # a mark inside the password
        ("mariadb://host/clinic?user=me&password=secret@", "mariadb://host/clinic"),
        ("mariadb://host?password=secret@x", None),
        ("postgresql://me@/clinic?host=/run/secret", None),  # another server has the same address otherwise
        ("postgresql://me@host/clinic?sslmode=require&options=-csearch_path%3Dsecret", None),
        ("mysql://me:se/cret@host/clinic", None),
        ("mysql://secret@[::1]/clinic", "mysql://[::1]/clinic"),
    ],
)
def test_an_address_is_kept_without_user_password_and_parameters(address: str, kept: str | None) -> None:
    found = name_of((address, "visits"))
    assert found == (None if kept is None else {"database": kept, "table": "visits"})
    assert "secret" not in str(found)


def test_sources_without_a_path_or_an_address_have_no_name(tmp_path: Path) -> None:
    connection = sqlite3.connect(":memory:")
    for source in ([1.0], pl.DataFrame({"a": [1]}), (connection, "t"), {"a": [1]}, range(3), ["a", "b"], ()):
        assert name_of(source) is None, source
    assert name_of("-", "a") is None and name_of(["a.csv", "-"], "a") is None
    place = str(tmp_path / "c.db")
    assert name_of((place, "t"), "a") == {"database": place, "table": "t"}
    assert name_of((Path(place), "u"), "a") != name_of((place, "t"), "a")


def test_the_source_is_in_nothing_that_leaves_the_ledger(folder: Path) -> None:
    place = folder / "wardofmiller"
    place.mkdir()
    pl.DataFrame({"age": [33.0] * 900}).write_parquet(place / "t.parquet")
    made = paid(folder, place / "t.parquet", "monthly", period="2025-01")
    line = ["ledger", "show", "b.db", "--html", "page.html"]
    shown = command(*line, cwd=folder).stdout + (folder / "page.html").read_text()
    for words in (["show"], ["history"], ["history", "--json"], ["export"], ["verify"]):
        name = ["monthly"] if words[0] == "history" else []
        done = command("ledger", words[0], "b.db", *name, *words[1:], cwd=folder)
        assert done.returncode == 0
        shown += done.stdout + done.stderr
    ledger = Ledger(folder / "b.db")
    shown += json.dumps([as_json(ledger), registry(ledger)]) + as_csv(ledger) + str(made.payment) + made.to_json()
    shown += made.to_html() + "".join(file.read_text() for file in (folder / "page-reports").iterdir())
    assert "2025-01" in shown and "wardofmiller" not in shown
    charge = ledger.history("monthly")[1]
    assert charge.details["source"] == {"files": [str(place / "t.parquet")]} and len(charge.details["salt"]) == 32


def test_no_hash_that_leaves_the_ledger_tells_the_source(folder: Path) -> None:
    """Whoever guesses a path and knows all else cannot check the guess: a salt is in the row, and none in the key."""
    paid(folder, folder / "jan.parquet", "fixed")
    paid(folder, folder / "feb.parquet", "fixed")
    first, second = (row for row in Ledger(folder / "b.db").history("fixed") if row.kind == "charge")
    assert first.request == second.request and first.details["source"] != second.details["source"]
    public = {name: value for name, value in first.details.items() if name != "salt"}
    cells = [first.dataset, first.number, first.kind, "1", "1/1000000", first.request, public, first.at, first.previous]
    text = json.dumps(cells, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() != first.hash
    cells[6] = first.details
    text = json.dumps(cells, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == first.hash, "the control: so it is made"


PROCESS = """
import sys, flexdp
folder, name, period = sys.argv[1:]
sys.stdin.readline()
made = flexdp.release(f"{folder}/{name}.parquet", "age", epsilon=1, delta="1e-6", width=5,
                      ledger=f"{folder}/b.db", dataset="monthly", period=period)
print(made.max().text.split()[0], made.spec.about.period)
"""


def test_processes_that_ask_for_two_months_get_each_its_own(folder: Path) -> None:
    asked = [("jan", "2025-01"), ("feb", "2025-02")] * 3
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(folder), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=os.environ,
        )
        for words in asked
    ]  # fmt: skip
    for each in crowd:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    told = [each.communicate()[0].split() for each in crowd]
    wanted = {"jan": ["30–35", "2025-01"], "feb": ["80–85", "2025-02"]}
    assert told == [wanted[name] for name, _ in asked]
    before = spent(folder, "monthly")
    assert 2 <= before <= 6 and Ledger(folder / "b.db").verify().intact
    for name, period in asked[:2]:
        again = paid(folder, folder / f"{name}.parquet", "monthly", period=period)
        assert again.payment is not None and again.payment.free and range_of(again) == wanted[name][0]
    assert spent(folder, "monthly") == before


def test_a_crash_between_charge_and_store_keeps_the_charge(folder: Path) -> None:
    """What was charged and never stored is charged again: it costs budget, and nothing is published twice."""
    ledger = Ledger(folder / "b.db")
    stop = RuntimeError("killed")

    def fail(*_given: object, **_named: object) -> None:
        raise stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "store", fail)
        with pytest.raises(RuntimeError):
            paid(folder, folder / "jan.parquet", "monthly", period="2025-01")
    assert ledger.account("monthly").spent_epsilon == 1
    made = paid(folder, folder / "jan.parquet", "monthly", period="2025-01")
    assert made.payment is not None and not made.payment.free and ledger.account("monthly").spent_epsilon == 2
    assert ledger.verify().intact
