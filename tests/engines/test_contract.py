"""One contract for all engines: the same table and parameters give the same count in every bucket.

Refusals are listed in docs/engines.md and happen before a record is read.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from itertools import cycle, islice
from typing import Any

import pytest
from _support.private import private_bars

from engines.conftest import ARROW_TYPES, ENGINES, Cells, Engine
from engines.oracle import expected
from flexdp import InputError
from flexdp._release.api import prepare
from flexdp.buckets import make_buckets

ROWS = 120
UTC = dt.UTC
EDGES: Cells = {
    "x": ("double", [
        None, math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-310,
        4.999999999999999, 5.0, 9.999999999999998, 10.0, 119.99999999999999, 120.0, 120.00000000000001, -1e-300,
        1e300, -1e300, 17.3,
        1.7976931348623157e308, -1.7976931348623157e308, 9007199254740993.0, 0.1 + 0.2, 0.3, 2.0**53 * 5, -2.5, -5.0,
    ]),
    "i": ("bigint", [
        None, 0, 1, -1, 4, 5, 6, -5, -6, -7, 17, 120, 121, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), 99,
    ]),
    "w": ("wide", [None, *map(Decimal, (10**37 - 1, 1 - 10**37, 2**64 + 1, -7, 0, 1, 4, 5, 6))]),
    "m": ("decimal", [None, *map(Decimal, ("0.10", "-0.01", "4.99", "5.00", "99999999.99", "-0.00", "12.34"))]),
    "t": ("text", [
        None, "a", "A", "a ", "a  ", " a", "", "\u00e9", "e\u0301", "ß", "ss", "日本", "o'brien",
        "back\\slash", "50%", "${x}", "`q`",
    ]),
    "b": ("boolean", [None, True, False, True]),
    "d": ("date", [
        None, dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(1900, 2, 28),
        dt.date(1969, 12, 31),
        dt.date(1970, 1, 1), dt.date(2000, 2, 29), dt.date(2023, 12, 31), dt.date(2024, 3, 1), dt.date(9999, 12, 31),
    ]),
    "s": ("datetime", [
        None, dt.datetime(1, 1, 1), dt.datetime(1582, 10, 15, 12), dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        dt.datetime(1970, 1, 1), dt.datetime(2024, 3, 10, 2, 30), dt.datetime(2024, 2, 29, 23, 59, 59, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    ]),
    "z": ("zoned", [
        None, dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), dt.datetime(2024, 3, 31, 0, 59, 59, 0, UTC),
        dt.datetime(2024, 3, 31, 1, 0, 0, 0, UTC), dt.datetime(2024, 10, 27, 0, 59, 59, 0, UTC),
        dt.datetime(2024, 10, 27, 1, 0, 0, 0, UTC), dt.datetime(1905, 1, 1, 0, 0, 0, 0, UTC),
    ]),
    "u": ("bigint", [None, 1, 2, 3, 4, 5, 6, 2**63 - 1, -4]),
    "n": ("text", [None, "ann", "Ann", "ann ", "bob", "o'brien", "é"]),
}  # fmt: skip
TABLE: Cells = {name: (kind, list(islice(cycle(values), ROWS))) for name, (kind, values) in EDGES.items()}
CASES: dict[str, dict[str, Any]] = {
    "open width": {"column": "x", "width": 5},
    "small width": {"column": "x", "width": "0.1"},
    "huge width": {"column": "x", "width": 10**300},
    "bounded": {"column": "x", "width": 5, "bounds": (0, 120)},
    "narrow last": {"column": "x", "width": "0.05", "bounds": ("-1.2", "0.9500000000000001")},
    "narrow last of units": {"column": "x", "width": "0.05", "bounds": ("-1.2", "0.9500000000000001"), "unit": "u",
                             "max_buckets_per_unit": 3},
    "dropped": {"column": "x", "width": 7, "bounds": (0, 120), "outside": "drop"},
    "edges": {"column": "x", "edges": ["-2.5", 0, "0.3", 5, 120]},
    "relative": {"column": "x", "relative": "0.05"},
    "relative bounded": {"column": "x", "relative": "0.2", "bounds": (-10, 120)},
    "exact numbers": {"column": "x", "exact": True},
    "exact clamped": {"column": "x", "bounds": (-5, 120), "exact": True},
    "exact integers": {"column": "i", "exact": True},
    "integers": {"column": "i", "width": 5},
    "integers bounded": {"column": "i", "width": 7, "bounds": (-6, 120)},
    "integers dropped": {"column": "i", "width": 7, "bounds": (-6, 120), "outside": "drop"},
    "integer edges": {"column": "i", "edges": [-6, 0, 5, 121]},
    "integers relative": {"column": "i", "relative": "0.01"},
    "integers as numbers": {"column": "i", "kind": "number", "width": 10},
    "wide": {"column": "w", "exact": True},
    "wide bounded": {"column": "w", "width": 3, "bounds": (-7, 100)},
    "wide edges": {"column": "w", "edges": [-7, 0, 5, 10**30]},
    "wide, one by one": {"column": "w", "width": 1},
    "wide, one by one, bounded": {"column": "w", "width": 1, "bounds": (2**64 - 50, 2**64 + 50)},
    "decimals": {"column": "m", "width": "0.1"},
    "decimals exact": {"column": "m", "exact": True},
    "texts": {"column": "t"},
    "booleans": {"column": "b"},
    "days": {"column": "d", "exact": True},
    "weeks": {"column": "d", "width": "1 week"},
    "months": {"column": "d", "width": "1 month"},
    "quarters bounded": {"column": "d", "width": "1 quarter", "bounds": ("1900-01-01", "2024-12-31")},
    "datetimes of days": {"column": "d", "kind": "datetime", "width": "18 hours"},
    "datetimes": {"column": "s", "width": "15 minutes"},
    "datetimes by month": {"column": "s", "width": "1 month"},
    "days of datetimes": {"column": "s", "kind": "date", "width": "1 day"},
    "zoned": {"column": "z", "width": "1 hour", "zone": "Europe/Berlin"},
    "zoned days": {"column": "z", "kind": "date", "zone": "America/New_York", "exact": True},
    "grid": {"column": ["x", "i"], "width": [5, 7], "bounds": [(0, 120), (-6, 120)]},
    "groups": {"column": "x", "width": 5, "by": ["t", "b"]},
    "days as groups": {"column": "i", "width": 50, "by": "d"},
    "declared": {"column": "x", "width": 5, "by": "t",
                 "groups": ["a", "A", "o'brien", "back\\slash", "50%", "${x}", "`q`"]},
    "units": {"column": "x", "width": 5, "unit": "u", "max_buckets_per_unit": 2},
    "units exact": {"column": "x", "unit": "n", "max_buckets_per_unit": 3, "exact": True},
    "units of texts": {"column": "t", "by": "b", "unit": "n", "max_buckets_per_unit": 2},
    "units by days": {"column": "i", "width": 5, "unit": "d", "max_buckets_per_unit": 1, "bounds": (-7, 200)},
    "largest": {"column": "x", "width": 5, "unit": "u", "per_unit": "max", "bounds": (0, 120)},
    "smallest by group": {"column": "i", "by": "b", "unit": "n", "per_unit": "min", "exact": True},
    "mean": {"column": "x", "width": "0.5", "bounds": (-9, 200), "unit": "u", "per_unit": "mean"},
    "mean dropped": {"column": "x", "width": "0.5", "bounds": (-9, 200), "unit": "u", "per_unit": "mean",
                     "outside": "drop"},
    "random": {"column": "d", "width": "1 year", "unit": "n", "per_unit": "random"},
}  # fmt: skip
LENIENT = (
    "open width",
    "small width",
    "bounded",
    "relative",
    "integers",
    "wide",
    "decimals",
    "months",
    "datetimes",
    "units",
    "mean",
)


PAIRS = [(name, case) for name in ENGINES for case in CASES if name != "spark-lenient" or case in LENIENT]


@pytest.fixture(scope="session")
def loaded() -> dict[str, Any]:
    return {}


def source_of(engine: Engine, loaded: dict[str, Any]) -> Any:
    if engine.name not in loaded:
        loaded[engine.name] = engine.load(TABLE)
    return loaded[engine.name]


def bars_of(request: Any) -> dict[Any, int]:
    bars = private_bars(request)
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


def refused(engine: Engine, parameters: dict[str, Any]) -> bool:
    """Tell whether docs/engines.md lists the count as refused by the engine."""
    names = [parameters["column"]] if isinstance(parameters["column"], str) else parameters["column"]
    kinds = [TABLE[name][0] for name in names]
    if engine.name == "sqlite":  # which reads no column as datetimes either
        kinds.append(parameters.get("kind"))
    return not all(engine.holds(kind) for kind in kinds if kind in ARROW_TYPES)


@pytest.mark.parametrize(("engine", "case"), PAIRS, indirect=["engine"])
def test_every_engine_counts_alike(engine: Engine, case: str, loaded: dict[str, Any]) -> None:
    source, parameters = source_of(engine, loaded), dict(CASES[case])
    if refused(engine, parameters):
        with pytest.raises(InputError):
            prepare(source, **parameters, **engine.parameters)
        return
    prepared = prepare(source, **parameters, **engine.parameters)
    assert bars_of(prepared) == expected(prepared.questions[0], engine.held(TABLE))


OPEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "numbers": ({"column": "x"}, {"edges": ["-2.5", "0", ">0", "0.3", ">0.3", "5", "1e39"]}),
    "numbers from a point": ({"column": "x"}, {"edges": [">120"]}),
    "numbers, one bucket": ({"column": "x"}, {"edges": []}),
    "numbers bounded": ({"column": "x"}, {"edges": ["0", ">0", "17.3"], "bounds": (-5, 120)}),
    "numbers dropped": ({"column": "x"}, {"edges": ["0", ">0", "17.3"], "bounds": (-5, 120), "outside": "drop"}),
    "numbers by group": ({"column": "x", "by": "t"}, {"edges": ["0", ">0", "5"]}),
    "numbers of units": ({"column": "x", "unit": "u", "max_buckets_per_unit": 2}, {"edges": ["0", ">0", "5"]}),
    "integers": ({"column": "i"}, {"edges": ["-6", "0", "1", "5", str(2**53 + 1), str(2**63 - 1)]}),
    "integers beyond the type": ({"column": "i"}, {"edges": [str(-(10**36)), "0", str(10**36)]}),
    "integers of units": ({"column": "i", "unit": "n", "max_buckets_per_unit": 2}, {"edges": ["0", "1", "5"]}),
    "wide": ({"column": "w"}, {"edges": ["-7", "0", "5", str(2**64 + 1), str(10**36)]}),
    "decimals": ({"column": "m"}, {"edges": ["-0.01", "0", ">0", "0.1", ">0.1"]}),
    "days": ({"column": "d"}, {"edges": ["1582-10-15", "1970-01-01", "2024-03-01"]}),
    "datetimes": ({"column": "s"}, {"edges": ["1970-01-01T00:00:00", "2024-02-29T23:59:59.000001"]}),
    "largest": ({"column": "x", "unit": "u", "per_unit": "max"}, {"edges": ["0", ">0", "5", "1e17", "1e39"]}),
}


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark-lenient"], indirect=True)
@pytest.mark.parametrize("case", OPEN)
def test_every_engine_counts_in_open_buckets_alike(engine: Engine, case: str, loaded: dict[str, Any]) -> None:
    parameters, buckets = OPEN[case]
    if refused(engine, parameters):
        return
    prepared = opened(prepare(source_of(engine, loaded), **parameters, **engine.parameters), buckets)
    found = expected(prepared.questions[0], engine.held(TABLE))
    assert bars_of(prepared) == found
    assert len(found) > 1 or not buckets["edges"]


def opened(request: Any, buckets: dict[str, Any]) -> Any:
    """The same count in buckets with open ends, which no parameter of a release gives."""
    (question,) = request.questions
    (axis,) = question.counting.values
    own = make_buckets(axis.kind, open=True, **buckets)
    counting = replace(question.counting, values=(replace(axis, buckets=own),))
    return replace(request, questions=(replace(question, counting=counting),))


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark-lenient"], indirect=True)
def test_several_columns_are_counted_together_as_they_are_one_by_one(engine: Engine, loaded: dict[str, Any]) -> None:
    columns = [name for name in ("x", "i", "t", "b", "d") if engine.holds(TABLE[name][0])]
    widths = {"x": 5, "i": 7, "d": "1 month"}
    prepared = prepare(
        source_of(engine, loaded),
        columns,
        separately=True,
        width=widths,
        by="b" if "b" not in columns else None,
        **engine.parameters,
    )
    found = prepared.questions[0].table.count([question.counting for question in prepared.questions])
    for bars, question in zip(found, prepared.questions, strict=True):
        assert dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True)) == expected(
            question, engine.held(TABLE)
        )


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_sqlite_refuses_integers_beyond_64_bits(engine: Engine, loaded: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"bounds must lie within ±2\^62"):
        prepare(source_of(engine, loaded), "i", width=10**17, bounds=(0, 2**63))


@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_spark_refuses_to_divide_wide_integers(engine: Engine, loaded: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="spark cannot do exactly"):
        prepare(source_of(engine, loaded), "w", width=5)
    with pytest.raises(InputError, match="bounds within") as caught:
        prepare(source_of(engine, loaded), "i", width=2**30, bounds=(-(2**63), 2**63))
    assert "BIGINT" not in str(caught.value)  # the column is one already


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "mariadb", "clickhouse"], indirect=True)
@pytest.mark.parametrize("width", [5, 99_999, 10**18])
def test_wide_integers_are_divided_exactly(engine: Engine, width: int, loaded: dict[str, Any]) -> None:
    prepared = prepare(source_of(engine, loaded), "w", width=width)
    assert bars_of(prepared) == expected(prepared.questions[0], TABLE)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_sqlite_says_what_to_do_about_datetimes(engine: Engine, loaded: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="Set kind='date', or use another engine"):
        prepare(source_of(engine, loaded), "d", kind="datetime", width="1 hour")


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark-lenient"], indirect=True)
def test_declared_groups_of_odd_values(engine: Engine) -> None:
    """A text with NUL matches where a table can hold one, and fails nowhere; integers that are too wide are refused."""
    held = "a" if engine.name in ("postgres", "pg8000") else "a\0"
    cells: Cells = {
        "x": ("double", [1.0, 2.0, 3.0, 4.0]),
        "t": ("text", ["a", held, f"{held}b", "b"]),
        "i": ("bigint", [1, 2, 2**63 - 1, -(2**63)]),
    }
    source = engine.load(cells)
    for parameters in (
        {"by": "t", "groups": ["a\0"]},
        {"by": "t", "groups": ["a\0", "b", "\0"]},
        {"by": ["t", "i"], "groups": [("a\0", 2), ("b", -(2**63))]},
        {"by": "i", "groups": [2**63 - 1, 10**37 - 1, 1 - 10**37]},
    ):
        prepared = prepare(source, "x", width=1, **parameters, **engine.parameters)
        assert bars_of(prepared) == expected(prepared.questions[0], cells)
    with pytest.raises(InputError, match="at most 37 digits"):
        prepare(source, "x", width=1, by="i", groups=[1, -(10**37)], **engine.parameters)


LONG = [  # at the limit and one byte beyond it, in bytes and in characters
    "x" * 65536, "x" * 65537, "x" * 65535 + "é", "é" * 32768, "é" * 32768 + "x", "日" * 21845 + "x", "日" * 21846,
    "x" * 65532 + "🙂", "x" * 65533 + "🙂", "é" * 65537, "x" * 400_000,
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
@pytest.mark.parametrize(
    "parameters",
    [
        {"column": "t"},
        {"column": "x", "width": 1, "by": "t"},
        {"column": "x", "width": 1, "unit": "t", "max_buckets_per_unit": 2},
        {"column": "t", "by": "g", "unit": "n", "max_buckets_per_unit": 1},
        {"column": "x", "width": 1, "unit": "t", "per_unit": "mean"},
        {"column": "x", "width": 1, "by": "t", "unit": "n", "per_unit": "max"},
    ],
    ids=str,
)
def test_a_text_is_read_up_to_the_same_length(engine: Engine, parameters: dict[str, Any]) -> None:
    """Longer ones are neither values, groups nor units, and take no other record's place."""
    texts = [*LONG, "a", None]
    cells: Cells = {
        "t": ("text", texts * 2),
        "x": ("double", [float(i) for i in range(2 * len(texts))]),
        "g": ("text", ["g"] * (2 * len(texts))),
        "n": ("text", [f"n{i % 3}" for i in range(2 * len(texts))]),
    }
    prepared = prepare(engine.load(cells), **parameters, **engine.parameters)
    assert bars_of(prepared) == expected(prepared.questions[0], cells)


def test_the_oracle_tells_engines_apart(request: pytest.FixtureRequest, loaded: dict[str, Any]) -> None:
    """Control: a query that forgets one test, or rounds differently, does not match the oracle."""
    from engines.conftest import make_engine

    engine = make_engine("duckdb", request)
    prepared = prepare(source_of(engine, loaded), "x", width=5)
    question = prepared.questions[0]
    assert bars_of(prepared) == expected(question, TABLE)
    for column, cells in (("x", [cell for cell in TABLE["x"][1] if cell != 5.0]),):
        fewer = {column: ("double", cells)}
        assert bars_of(prepared) != expected(question, fewer)
    shifted = replace(prepare(source_of(engine, loaded), "x", width="5.000001").questions[0])
    assert bars_of(prepared) != expected(shifted, TABLE)
