"""One record more in a frame of pandas may change the types that pandas infers, and must change nothing else.

A search: frames built in the ways in which people build them, with and without one more record that holds an odd cell,
and requests that read its column as a value, a group, a unit, in filters and in derived columns. For every pair, the
words are the same (of a refusal, of warnings, of the public description), and only one count may differ, by one.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import pytest
from _support import neighbours
from _support.neighbours import BASES, REQUESTS, differences, outcome

from flexdp.tables.frames import pandas as frames
from flexdp.tables.where import Kinds

AT_ONCE = 3  # requests with each pair: each request is tried with pairs of many kinds
STRIDE = 37  # without a common factor with the number of requests


def some(place: int) -> list[dict[str, Any]]:
    return [REQUESTS[(place * AT_ONCE + step) * STRIDE % len(REQUESTS)] for step in range(AT_ONCE)]


@pytest.mark.parametrize("base", BASES)
def test_one_more_record_changes_its_own_count_alone(base: str) -> None:
    assert len(REQUESTS) % STRIDE and len(BASES) >= 20 and len(REQUESTS) >= 90
    assert list(differences([base], some)) == []


@pytest.mark.parametrize("base", ["integers", "read integers"])
def test_a_text_among_integers_changes_nothing_in_any_request(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build, cells, _ = BASES[base]
    monkeypatch.setitem(neighbours.BASES, base, (build, cells, ["a"]))
    assert build(cells)["u"].dtype != build([*cells, "a"])["u"].dtype
    assert list(differences([base], lambda _: REQUESTS)) == []


def test_the_counts_are_those_of_the_cells() -> None:
    """Whatever the dtype: 40 integers from 0 on, and one text."""
    frame = BASES["integers"][0]([*range(40), "a"])
    for where, wanted in {
        "u IS NOT NULL": 41, "u IS NULL OR v > 0": 41, "u > 3": 36, "u <> 7": 39, "NOT u > 3": 4, "u = 'a'": 1,
        "u LIKE '%'": 1, "number(u) IS NULL": 1, "u IN (1, 7, 7.5)": 2, "coalesce(u, 5) > 3": 37,
    }.items():  # fmt: skip
        words, counts = outcome(frame, {"column": "v", "kind": "number", "width": 5, "where": where})
        assert sum(counts.values()) == wanted, (where, words)


@pytest.mark.parametrize("cells", [[1, 2, None], [1, "a", float("nan")], [dt.date(2024, 5, 1), [1], None]], ids=str)
def test_presence_in_a_list_needs_no_kind(cells: list[Any]) -> None:
    table = {"v": [1.0] * 3, "u": cells}
    for where, wanted in {"u IS NOT NULL": 2, "u IS NULL": 1}.items():
        words, counts = outcome(table, {"column": "v", "kind": "number", "width": 5, "where": where})
        assert sum(counts.values()) == wanted, (where, words)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The fault that was there: a dtype of numpy counts as declared. One text among integers is enough to find it."""
    build, cells, _ = BASES["integers"]
    monkeypatch.setitem(neighbours.BASES, "integers", (build, cells, ["a"]))
    monkeypatch.setattr(frames, "_is_declared", lambda dtype: getattr(dtype, "kind", "O") in "iufb")
    return monkeypatch


@pytest.mark.usefixtures("planted")
def test_a_dtype_that_decides_is_found() -> None:
    asked = [request for request in REQUESTS if request.get("column") == "u"]
    found = [(request.get("kind"), told) for *_, told, request in differences(["integers"], lambda _: asked)]
    assert all(told.startswith("other words") for _, told in found)
    assert {"text", "date", "boolean"} <= {kind for kind, _ in found}


def test_presence_that_is_read_as_a_kind_is_found(planted: pytest.MonkeyPatch) -> None:
    """Then a column of objects is a text where nothing else is said: 40 records no longer count."""
    planted.setattr(Kinds, "is_open", lambda *_: False)
    asked = [request for request in REQUESTS if "NULL" in str(request.get("where"))]
    moved = [
        each["where"] for *_, told, each in differences(["integers"], lambda _: asked) if told.startswith("counts")
    ]
    assert "u IS NOT NULL" in moved


def test_a_warning_that_tells_of_a_cell_is_found() -> None:
    def seen(frame: pd.DataFrame, request: dict[str, Any]) -> neighbours.Outcome:
        words, counts = outcome(frame, request)
        return words + " The column holds objects." * (frame["u"].dtype == object), counts

    assert any(told.startswith("other words") for *_, told, _ in differences(["numbers"], some, seen))
