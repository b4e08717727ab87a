"""The code on the pages runs, and prints what they show.

A block of text after a block of Python is what it prints, word for word; below the line "One run printed:" chance
decides the numbers, and only the words of the first statements are compared. Lines of shell that begin with
``flexdp`` are run as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from _support.command import flexdp as command
from _support.pages import DOCS, ROOT, Block, blocks, run

HERE = (  # pages whose blocks run here, each page in one namespace and in a folder with the flights
    "audit", "automatic-buckets", "choose-epsilon", "counts-per-unknown-key", "datasets", "definitions", "files",
    "filters", "index", "per-person", "publish-a-maximum", "sharp-answers", "tutorial", "verify-a-release",
    "what-is-epsilon",
)  # fmt: skip
ELSEWHERE = {  # pages whose blocks other tests run
    "adding-an-engine": "engines/test_adding_an_engine.py",
    "budgets": "house/test_budgets_doc.py",
    "engines": "engines/test_guides.py",
    "errata": "properties/test_errata.py",
    "experiments": "experiments/test_experiment_doc.py",
    "measure-and-compose": "house/test_docs.py",
    "own-mechanisms": "mechanisms/test_own_mechanisms.py",
    "planning": "house/test_docs.py",
    "postgresql": "engines/test_guides.py",
    "spark": "engines/test_guides.py",
    "summaries": "release/test_summary.py",
    "theory": "report/test_pebbles.py",  # the last block; the others run here
    "verification": "audit/test_verification_doc.py",  # the first block; the other runs here
}
SHORTER = {  # pages whose last block takes long: what is replaced, so that it takes less
    "verification": ("1_000_000", "2_000"),
}
VISITS = """
    SELECT i % 6000 AS patient, ['A', 'B', 'ICU'][1 + i % 3] AS ward, 40.0 + (i * 7919) % 400 AS cost,
        DATE '2024-01-01' + (i % 366)::INTEGER AS day, DATE '2024-01-01' + (i % 300)::INTEGER AS arrival,
        DATE '2024-01-02' + (i % 300 + i % 9)::INTEGER AS departure
    FROM range(20000) AS r(i)
"""


@pytest.fixture
def flights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with the flights, and a default connection of DuckDB that no other test has used."""
    monkeypatch.chdir(tmp_path)
    assert command("demo", "--save", "flights.parquet").returncode == 0
    before = duckdb.default_connection()
    with duckdb.connect() as con:
        duckdb.set_default_connection(con)
        yield
        duckdb.set_default_connection(before)


@pytest.mark.parametrize("page", HERE)
@pytest.mark.usefixtures("flights")
def test_the_code_of_a_page_runs(page: str) -> None:
    import flexdp

    text = (DOCS / f"{page}.md").read_text("utf-8")
    found, space = blocks(text), {"flexdp": flexdp}
    visits = page in ("automatic-buckets", "filters", "sharp-answers")  # written for a table that the page describes
    if visits:
        with duckdb.connect() as con:
            con.sql(VISITS).write_parquet("visits.parquet")
        space["table"] = "visits.parquet"
    compared = run(page, found, space, shell=not visits and page != "files")  # whose commands name files of yours
    assert compared == sum(block.language == "text" for block in found)


def test_the_theory_up_to_its_pictures() -> None:
    text = (DOCS / "theory.md").read_text("utf-8")
    first, second, pictures = (block for block in blocks(text) if block.language == "python")
    space: dict[str, Any] = {}
    run("theory", [first, second], space)
    alpha = float(space["mech"].accuracy(records_at_least=50_000).alpha)
    assert 0 <= alpha - 27 * 24 / 50_000 < 1e-15
    assert "pebbles" in pictures.text


@pytest.mark.parametrize("page", SHORTER)
@pytest.mark.usefixtures("flights")
def test_the_code_of_a_page_runs_with_less_work(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    space = {
        "my_mechanism": lambda count, size: count + rng.integers(0, 2, size),  # tells 0 from 1 in half of the runs
        "table": 0,
        "table_with_one_record_more": 1,
    }
    *_, block = (each for each in blocks((DOCS / f"{page}.md").read_text("utf-8")) if each.language == "python")
    assert SHORTER[page][0] in block.text
    exec(compile(block.text.replace(*SHORTER[page]), page, "exec"), space)
    assert "violation: ε ≥ " in capsys.readouterr().out


def test_every_page_with_code_is_run_by_a_test() -> None:
    with_code = {page.stem for page in DOCS.glob("*.md") if "```python" in page.read_text("utf-8")}
    assert with_code == {*HERE, *ELSEWHERE, *SHORTER} and not set(HERE) & {*ELSEWHERE, *SHORTER}
    for page, test in ELSEWHERE.items():
        assert f"{page}.md" in (ROOT / "tests" / test).read_text("utf-8"), page


def test_other_words_or_other_numbers_would_be_noticed() -> None:
    code = Block("python", "print('At most 27 of 1 300 records.')\n", "")
    assert run("good", [code, Block("text", "At most 27 of 1 300 records.\n", "")], {}) == 1
    assert run("chance", [code, Block("text", "At most 3 of 15 records.\n", "One run printed:")], {}) == 1
    for wrong in (
        Block("text", "At most 3 of 1 300 records.\n", "It prints:"),
        Block("text", "At least 27 of 1 300 records.\n", "One run printed:"),
    ):
        with pytest.raises(AssertionError):
            run("wrong", [code, wrong], {})
    with pytest.raises(AssertionError):
        run("shell", [Block("sh", "flexdp release nowhere.csv x -e 1\n", "")], {})
