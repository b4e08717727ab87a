"""``flexdp ledger`` and charged releases on the command line: exit codes, what is printed where, pages."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from _support.command import flexdp

from flexdp import Ledger, Privacy, release

RELEASE = ("release", "t.csv", "age", "-e", "1", "-d", "1e-6", "--width", "5", "--kind", "number", "-s", "max")
PAID = (*RELEASE, "--ledger", "b.db", "--dataset", "staff")


def run_command(words: tuple[str, ...], folder: Path) -> tuple[int, str, str]:
    found = flexdp(*words, cwd=folder)
    return found.returncode, found.stdout, found.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("age\n" + "33\n" * 900)
    Ledger(tmp_path / "b.db").create("staff", epsilon=2, delta="3e-6")
    return tmp_path


def test_a_charged_release_tells_its_cost_and_what_is_left(folder: Path) -> None:
    code, out, err = run_command(PAID, folder)
    assert code == 0 and "Highest age: 30–35" in out
    assert "Charged to 'staff': ε = 1, δ = 1e-06. Left: ε = 1, δ = 2e-06." in err
    assert re.search(r"staff  \[#{12}\.{12}\]  spent ε = 1 of 2", err) and re.search(
        r"Receipt: staff:1:[0-9a-f]{64}", err
    )
    again = run_command(PAID, folder)
    assert again[0] == 0 and again[1] == out and "made earlier: it cost nothing" in again[2] and "Spent" not in again[2]
    fresh = run_command((*PAID, "--fresh"), folder)
    assert fresh[0] == 0 and "Left: ε = 0, δ = 1e-06" in fresh[2]
    assert Ledger(folder / "b.db").account("staff").remaining_epsilon == 0


def test_python_finds_the_release_of_the_command_line(folder: Path) -> None:
    assert run_command(PAID, folder)[0] == 0
    paid: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "width": 5, "kind": "number"}
    again = release(folder / "t.csv", "age", **paid, ledger=folder / "b.db", dataset="staff")
    assert again.payment is not None and again.payment.free
    other = release(folder / "t.csv", "age", **{**paid, "width": 6}, ledger=folder / "b.db", dataset="staff")
    assert other.payment is not None and not other.payment.free


def test_an_exhausted_budget_is_exit_3_and_reads_nothing(folder: Path) -> None:
    ledger = Ledger(folder / "b.db")
    ledger.charge("staff", Privacy(epsilon="1.5", delta=0))
    pl.DataFrame({"age": [float(i * i % 9973) for i in range(20_000)]}).write_parquet(folder / "t.parquet")
    whole = (folder / "t.parquet").read_bytes()
    (folder / "t.parquet").write_bytes(whole[:4] + bytes(len(whole) - 2004) + whole[-2000:])  # reading it fails
    words = ["t.parquet" if word == "t.csv" else word for word in PAID]
    code, out, err = run_command((*words, "-o", "out.json"), folder)
    assert (code, out) == (3, "") and not (folder / "out.json").exists()
    asked, left = "requested ε = 1, δ = 1e-06", "remaining ε = 0.5, δ = 3e-06"
    assert err == f"Error: the budget of 'staff' is insufficient: {asked}; {left}. Nothing was read.\n"
    assert len(ledger.history("staff")) == 2
    words[words.index("-e") + 1] = "0.5"
    code, _, err = run_command(tuple(words), folder)  # with a budget it is read, and the charge stays
    assert code == 6 and "could not be read" in err and ledger.account("staff").remaining_epsilon == 0


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((*RELEASE, "--dataset", "staff"), 2, "--dataset needs --ledger"),
        ((*RELEASE, "--ledger", "b.db"), 2, "--dataset is missing: --ledger needs"),
        ((*RELEASE, "--ledger", "none.db", "--dataset", "staff"), 2, "--ledger: no ledger at 'none.db'"),
        ((*RELEASE, "--ledger", "b.db", "--dataset", "x"), 2, "--dataset: no data set 'x' in the ledger"),
        ((*RELEASE, "--ledger", "t.csv", "--dataset", "x"), 2, "is not a ledger, or it was damaged"),
        ((*RELEASE, "--ledger", "b.db", "--dataset", "a;b"), 2, "must be 1 to 100 letters"),
        (("ledger", "create", "b.db", "staff", "-e", "1", "-d", "0"), 2, "has been declared already"),
        (("ledger", "create", "b.db", "x", "-e", "0", "-d", "0"), 2, "--epsilon must be"),
        (("ledger", "show", "none.db"), 2, "LEDGER: no ledger at 'none.db'"),
        (("ledger", "show", "b.db", "--html", "x.txt"), 2, "--html must end in .html"),
        (("ledger", "verify", "b.db", "--receipt", "x"), 2, "--receipt must be DATASET:NUMBER:HASH"),
        (("ledger", "export", "b.db", "-o", "x.txt"), 2, "--output must end in .json"),
        (("ledger", "export", "b.db", "--date", "2026-12-31"), 2, "--date applies to --format registry only"),
        (("ledger", "export", "b.db", "--format", "registry", "--date", "x"), 2, "--date must be written like"),
    ],
)
def test_refusals_are_one_line(folder: Path, words: tuple[str, ...], code: int, told: str) -> None:
    found, out, err = run_command(words, folder)
    assert (found, out) == (code, "") and told in err and err.count("\n") == 1, err


def test_a_locked_ledger_is_exit_6(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger.__init__, "__kwdefaults__", {"patience": 0.1})
    other = sqlite3.connect(folder / "b.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    code, out, err = run_command(PAID, folder)
    other.close()
    assert (code, out) == (6, "") and "is locked by another process; nothing was charged" in err


def test_create_show_history(folder: Path) -> None:
    create = ("ledger", "create", "new.db", "pay", "-e", "3", "-d", "4e-6", "--unit", "person")
    code, out, _ = run_command(create, folder)
    assert code == 0 and "left ε = 3, δ = 4e-06 for each person" in out
    run_command(PAID, folder)
    code, out, _ = run_command(("ledger", "show", "b.db"), folder)
    assert code == 0 and out.startswith("staff  [############............]  spent ε = 1 of 2")
    content = json.loads(run_command(("ledger", "show", "b.db", "staff", "--json"), folder)[1])
    assert content["datasets"][0]["left"] == {"epsilon": "1", "delta": "1/500000"}
    code, out, _ = run_command(("ledger", "history", "b.db", "staff"), folder)
    assert [re.sub(r"\S+Z", "", line).split()[1] for line in out.splitlines()] == ["budget", "charged", "stored"]
    rows = json.loads(run_command(("ledger", "history", "b.db", "staff", "--json"), folder)[1])
    assert [row["kind"] for row in rows] == ["create", "charge", "store"]


def test_verify_and_export(folder: Path) -> None:
    receipt = re.search(r"Receipt: (\S+)", run_command(PAID, folder)[2])
    assert receipt is not None
    verify: tuple[str, ...] = ("ledger", "verify", "b.db", "--receipt", receipt[1])
    assert run_command(verify, folder)[:2] == (0, "No damage found in 3 rows of 1 data set.\n")
    code, out, _ = run_command(("ledger", "export", "b.db", "--format", "registry", "--date", "2026-12-31"), folder)
    assert code == 0 and json.loads(out)["deployments"][0]["date"] == "2026-12-31"
    assert run_command(("ledger", "export", "b.db", "--format", "csv", "-o", "rows.csv"), folder)[0] == 0
    assert (folder / "rows.csv").read_text().count("\n") == 4
    con = sqlite3.connect(folder / "b.db")
    con.execute("UPDATE flexdp_entries SET epsilon = '0' WHERE number = 1")
    con.commit()
    con.close()
    code, out, _ = run_command(verify, folder)
    assert code == 5 and "Row 1 of 'staff' was changed." in out
    code, out, _ = run_command((*verify, "--json"), folder)
    found: dict[str, Any] = json.loads(out)
    assert code == 5 and not found["intact"]


def test_the_page_links_every_release_to_its_report(folder: Path) -> None:
    run_command(PAID, folder)
    Ledger(folder / "b.db").charge("staff", Privacy(epsilon="0.1", delta=0), details={"mechanism": "<b>"})
    assert run_command(("ledger", "show", "b.db", "--html", "page.html"), folder)[0] == 0
    page = (folder / "page.html").read_text()
    links = set(re.findall(r'href="([^"]+)"', page))
    assert links == {"page-reports/staff-1.html"}
    assert "Highest age" in (folder / "page-reports" / "staff-1.html").read_text()
    assert "&lt;b&gt;" in page and "<b>" not in page and "<script" not in page and "budget ε = 2" in page


def test_quiet_and_json_after_a_subcommand(folder: Path) -> None:
    words = ("ledger", "create", "b.db", "other", "-e", "1", "-d", "1e-6", "-q", "--json")
    code, out, err = run_command(words, folder)
    (made,) = json.loads(out)["datasets"]
    assert (
        (code, err) == (0, "") and made["dataset"] == "other" and made["left"] == {"epsilon": "1", "delta": "1/1000000"}
    )
    for command in ("show", "verify", "export"):
        assert run_command(("ledger", command, "b.db", "--quiet"), folder)[0] == 0
        assert "--quiet" in run_command(("ledger", command, "--help"), folder)[1]
    assert run_command(("ledger", "history", "b.db", "other", "-q"), folder)[0] == 0
