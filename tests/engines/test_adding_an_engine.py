"""The page about a new engine, followed to the letter: its engine counts, ranks and refuses as others do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from _support.pages import DOCS, blocks
from _support.private import private_bars

import flexdp
from flexdp import InputError
from flexdp._release.api import prepare
from flexdp.sharp.ranks import Request
from flexdp.tables import ranks as ranks_module
from flexdp.tables.engines.registry import ENGINES

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
VALUES = [0.0, -0.0, 1e-300, 4.999999999999999, 5.0, 5.000000000000001, -17.25, 1e17, float("inf"), None, 9.5, 9.5]


@pytest.fixture
def page() -> Iterator[dict[str, Any]]:
    """What the blocks of the page have made."""
    before = list(ENGINES)
    made: dict[str, Any] = {"flexdp": flexdp}
    code = [
        block.text for block in blocks((DOCS / "adding-an-engine.md").read_text("utf-8")) if block.language == "python"
    ]
    assert len(code[0].splitlines()) <= 85, "a small engine"
    for each in code:
        exec(each, made)
    yield made
    ENGINES[:] = before


def loaded(page: dict[str, Any]) -> Any:
    toy = page["Toybase"](":memory:")
    toy.con.execute("CREATE TABLE t (x REAL, g TEXT)")
    toy.con.executemany("INSERT INTO t VALUES (?, ?)", [(value, "ab"[i % 2]) for i, value in enumerate(VALUES)])
    toy.con.execute("CREATE VIEW doubled AS SELECT x FROM t UNION ALL SELECT x FROM t")
    toy.con.commit()
    return toy


def test_it_answers_as_the_page_says(page: dict[str, Any]) -> None:
    assert page["by_ward"].groups == ["A", "B"]
    assert 40 <= page["asked"].median().value <= 49


def test_it_counts_as_python_does(page: dict[str, Any]) -> None:
    toy = loaded(page)
    bars = private_bars(prepare((toy, "t"), "x", width=5, by="g"))
    counted = dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))
    wanted: dict[tuple[Any, ...], int] = {}
    for i, value in enumerate(VALUES):
        if value is not None and abs(value) < 2**53:  # beyond it, a bucket has no number
            key = ("ab"[i % 2], value // 5)
            wanted[key] = wanted.get(key, 0) + 1
    assert {key: count for key, count in counted.items() if abs(key[1]) < 2**53} | {} == {
        (group, int(place)): count for (group, place), count in wanted.items()
    }


@pytest.mark.parametrize("most", [1 << 20, 0])
def test_it_ranks_as_python_does(page: dict[str, Any], most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all values fetched, and with pieces that are looked into."""
    monkeypatch.setattr(ranks_module, "FEW", most)
    toy = loaded(page)
    question = prepare((toy, "t"), "x", ask=["max"]).questions[0]
    cuts = (-100, 0, 5, 9, 10, 10**6)
    with ranks_module.open_ranks(question.table, question.counting) as ranks:
        reply = ranks.fetch(Request(cuts=tuple(ranks.scale.units(cut) for cut in cuts)))
    finite = [value for value in VALUES if value is not None and abs(value) < 1e300]
    assert list(reply.before) == [sum(value < cut for value in finite) for cut in cuts]
    assert reply.total == len(finite)
    assert toy.con.execute("SELECT count(*) FROM sqlite_temp_master").fetchone() == (0,), "no copy is left"


def test_it_refuses_what_others_refuse(page: dict[str, Any]) -> None:
    toy = loaded(page)
    with pytest.raises(InputError, match="whose rows need not be records"):
        flexdp.release((toy, "doubled"), "x", width=5, **SPEND)
    with pytest.raises(InputError, match="table: 'nowhere' does not exist"):
        flexdp.release((toy, "nowhere"), "x", width=5, **SPEND)
    with pytest.raises(InputError, match="engine must be 'toy', the engine of the connection"):
        flexdp.release((toy, "t"), "x", width=5, engine="sqlite", **SPEND)
