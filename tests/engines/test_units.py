"""Privacy units on every engine: one unit's rows, however many, change at most k buckets, each by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from _support.private import private_bars, private_units

from engines.conftest import ENGINES, Cells, Engine
from engines.oracle import expected
from flexdp._release.api import prepare

RULES: dict[str, dict[str, Any]] = {
    "two buckets": {"max_buckets_per_unit": 2},
    "largest": {"per_unit": "max"},
    "mean": {"per_unit": "mean"},
}
HEAVY = 100_000
TESTED = [name for name in ENGINES if name not in ("spark-lenient", "pg8000")]


def table(with_heavy: bool, *, heavy_rows: int = 300) -> Cells:
    """Ordinary units, rows without a unit, and one unit in every bucket."""
    units: list[Any] = [unit for unit in range(1, 40) for _ in range(unit % 4 + 1)] + [None] * 20
    values = [float((7 * place) % 60) for place in range(len(units))]
    if with_heavy:
        units += [99] * heavy_rows
        values += [float(place % 60) + 0.25 for place in range(heavy_rows)]
    return {"x": ("double", values), "u": ("bigint", units)}


def bars_of(engine: Engine, source: Any, rule: dict[str, Any], salt: str) -> dict[Any, int]:
    parameters = {"width": 5, "bounds": (0, 60), "unit": "u", **rule, **engine.parameters}
    bars = private_bars(prepare(source, "x", **parameters), salt)
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("engine", TESTED, indirect=True)
def test_one_unit_changes_at_most_k_buckets_by_one(engine: Engine, rule: str) -> None:
    most = RULES[rule].get("max_buckets_per_unit", 1)
    without, with_it = engine.load(table(False)), engine.load(table(True))
    for salt in ("fixed", "another") if not engine.name.startswith("spark") else ("fixed",):
        before = bars_of(engine, without, RULES[rule], salt)
        after = bars_of(engine, with_it, RULES[rule], salt)
        changes = [after.get(bar, 0) - before.get(bar, 0) for bar in before | after]
        assert (
            sorted(change for change in changes if change) == [1] * most
        )  # the unit in every bucket counts in as many as allowed
        assert sum(before.values()) <= 39 * most  # rows without a unit are left out


CAPPED: dict[str, dict[str, Any]] = {
    "ranges": {"column": "x", "width": 5, "bounds": (0, 60)},
    "ranges of groups": {"column": "x", "width": 20, "by": "g"},
    "edges of some groups": {"column": "x", "edges": [0, 10, 60], "by": "g", "groups": ["a", "é"]},
    "integers": {"column": "i", "width": 7},
    "values": {"column": "x", "exact": True},
    "texts": {"column": "g"},
}


def several(with_heavy: bool) -> Cells:
    cells = table(with_heavy)
    count = len(cells["x"][1])
    groups = [("a", "A", "é", "e", None)[place % 5] for place in range(count)]
    return {**cells, "g": ("text", groups), "i": ("bigint", [place % 31 for place in range(count)])}


def units_of(source: Any, question: dict[str, Any]) -> dict[Any, int]:
    counted = private_units(prepare(source, **question, unit="u", max_buckets_per_unit=2))
    return dict(zip(counted.rows(slice(None)), counted.counts.tolist(), strict=True))


@pytest.mark.parametrize("engine", TESTED, indirect=True)
def test_units_are_counted_by_whether_a_cap_touches_them(engine: Engine) -> None:
    """One unit more, with all its rows, adds one to one of the two numbers."""
    without, with_it = engine.load(several(False)), engine.load(several(True))
    for question in CAPPED.values():
        own = {**question, **engine.parameters}
        prepared = prepare(with_it, **own, unit="u", max_buckets_per_unit=2).questions[0]
        counted = replace(prepared, counting=replace(prepared.counting, of_units=True))
        before, after = units_of(without, own), units_of(with_it, own)
        assert after == expected(counted, several(True)) and set(after) <= {(0,), (1,)}
        changes = [after.get(key, 0) - before.get(key, 0) for key in ((0,), (1,))]
        assert sorted(map(abs, changes)) == [0, 1]


@pytest.mark.parametrize("engine", [name for name in TESTED if name != "postgres"], indirect=True)
def test_texts_are_not_cut_at_nul(engine: Engine) -> None:
    """Lengths are not cut at NUL: the same salt chooses the same buckets on every engine that can hold such texts."""
    words = ["a\0b", "a\0c", "a\0", "a"]
    cells: Cells = {"w": ("text", words * 10), "u": ("bigint", [place // 4 for place in range(40)])}
    prepared = prepare(engine.load(cells), "w", unit="u", max_buckets_per_unit=1)
    bars = private_bars(prepared)
    assert dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True)) == expected(
        prepared.questions[0], cells
    )


def test_counting_records_is_told_apart_from_counting_units(request: pytest.FixtureRequest) -> None:
    """Control: without bounding, one unit changes every bucket by many."""
    from engines.conftest import make_engine

    engine = make_engine("duckdb", request)
    before, after = (
        private_bars(prepare(engine.load(table(heavy)), "x", width=5, bounds=(0, 60))).counts for heavy in (False, True)
    )
    assert (after - before).max() > 1
    assert (after != before).sum() > 2


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres", "mariadb", "clickhouse", "spark"], indirect=True)
def test_a_heavy_unit(engine: Engine) -> None:
    cells = table(True, heavy_rows=HEAVY)
    if engine.name == "postgres":  # rows are generated on the server
        con, name = engine.load(table(False))
        con.execute(f'INSERT INTO "{name}" SELECT i % 60 + 0.25, 99 FROM generate_series(0, {HEAVY - 1}) AS i')
        con.commit()
        source: Any = (con, name)
    else:
        source = engine.load(cells)
    for rule in RULES.values():
        prepared = prepare(source, "x", width=5, bounds=(0, 60), unit="u", **rule)
        bars = private_bars(prepared)
        found = dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))
        # Only distinct values of the unit count, or their mean: the first 60 rows stand for all.
        assert found == expected(prepared.questions[0], table(True, heavy_rows=60))
