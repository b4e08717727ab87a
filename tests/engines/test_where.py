"""One meaning of filters on all engines: the same records pass as in plain Python, whatever the cells hold.

The oracle is written beside each test, or generated with it, in three-valued logic: True, False or None (unknown).
"""

from __future__ import annotations

import datetime as dt
import math
import os
import random
from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

import pytest
from _support.filters import (
    Truth,
    as_double,
    both,
    compare,
    divided,
    either,
    limited,
    negation,
    negative,
    plus,
    term,
    times,
)

from engines.conftest import ENGINES, Cells, Engine
from engines.oracle import expected
from engines.test_contract import EDGES
from flexdp import InputError
from flexdp._release.api import prepare
from flexdp.sharp.ranks import Request
from flexdp.tables.ranks import open_ranks

DEEP = os.environ.get("FLEXDP_DEEP") == "1"

ROWS = 90
NUL = "a\0b"
TEXTS = [
    None, "a", "A", "a ", "", "\u00e9", "e\u0301", "日本", "o'brien", "back\\slash", "50%", "5_0", "a!b", "😀x", "a\nb",
    "\uffff", "z\U0001f600", "Z", "ab", "abc", '"', "${x}", "%", "_", "\\", "'; DROP TABLE t; --", NUL,
]  # fmt: skip
Row = dict[str, Any]


def table_for(engine: Engine) -> Cells:
    cells: Cells = {"k": ("bigint", list(range(ROWS)))}
    for name in "xiwmbdszu":
        kind, values = EDGES[name]
        if engine.holds(kind):
            cells[name] = (kind, list(islice(cycle(values), ROWS)))
    texts = [text for text in TEXTS if text is None or "\0" not in text or engine.name not in ("postgres", "pg8000")]
    cells["t"] = ("text", list(islice(cycle(texts), ROWS)))
    return cells


def rows_of(cells: Cells) -> list[Row]:
    out = []
    for place in range(ROWS):
        row = {name: values[place] for name, (_, values) in cells.items()}
        row["x"] = None if row["x"] is None or not math.isfinite(row["x"]) else row["x"]
        for name in ("w", "i", "u"):
            if row.get(name) is not None:
                row[name] = int(row[name])
        if row.get("m") is not None:
            row["m"] = float(row["m"])
        out.append(row)
    return out


def on(name: str, test: Callable[[Any], bool]) -> Callable[[Row], Truth]:
    return lambda row: None if row[name] is None else test(row[name])


CASES: dict[str, Callable[[Row], Truth]] = {
    "x > 5": on("x", lambda x: x > 5),
    "NOT x > 5": on("x", lambda x: not x > 5),
    "x = 0": on("x", lambda x: x == 0),
    "x <> -0.0": on("x", lambda x: x != 0),
    "x IN (0, 17.3, 0.30000000000000004)": on("x", lambda x: x in (0, 17.3, 0.1 + 0.2)),
    "x NOT IN (0, 17.3)": on("x", lambda x: x not in (0, 17.3)),
    "x >= 1e300 OR x <= -1e300": on("x", lambda x: abs(x) >= 1e300),
    "x < 1.7976931348623157e308": on("x", lambda x: x < 1.7976931348623157e308),
    "x IS NULL": lambda row: row["x"] is None,
    "x IS NOT NULL": lambda row: row["x"] is not None,
    "NOT x IS NULL": lambda row: row["x"] is not None,
    "x BETWEEN 5 AND 120": on("x", lambda x: 5 <= x <= 120),
    "x NOT BETWEEN 5 AND 120": on("x", lambda x: not 5 <= x <= 120),
    "x > 0 AND NOT (i > 5 OR t = 'a')": lambda row: both(
        on("x", lambda x: x > 0)(row), negation(either(on("i", lambda i: i > 5)(row), on("t", lambda t: t == "a")(row)))
    ),
    "i = 9223372036854775807": on("i", lambda i: i == 2**63 - 1),
    "i < 9223372036854775808": on("i", lambda _: True),
    "i > 99999999999999999999999": on("i", lambda _: False),
    "i <> 99999999999999999999999": on("i", lambda _: True),
    "i >= -9223372036854775808": on("i", lambda _: True),
    "i IN (5, 17, 99999999999999999999999, 4.5)": on("i", lambda i: i in (5, 17)),
    "i NOT IN (4.5)": on("i", lambda _: True),
    "i > 4.5": on("i", lambda i: i > 4.5),
    "i <= -4.5": on("i", lambda i: i <= -4.5),
    "i = 4.5": on("i", lambda _: False),
    "NOT i = 4.5": on("i", lambda _: True),
    "9007199254740993 <= i": on("i", lambda i: i >= 2**53 + 1),
    "w > 18446744073709551616": on("w", lambda w: w > 2**64),
    "w = 9999999999999999999999999999999999999": on("w", lambda w: w == 10**37 - 1),
    "w IS NULL OR w < 0": lambda row: row["w"] is None or row["w"] < 0,
    "m = 0.1": on("m", lambda m: m == 0.1),
    "m > 4.99": on("m", lambda m: m > 4.99),
    "t = 'a'": on("t", lambda t: t == "a"),
    "t <> 'a'": on("t", lambda t: t != "a"),
    "t < 'a'": on("t", lambda t: t < "a"),
    "t >= 'Z'": on("t", lambda t: t >= "Z"),
    "t > '\uffff'": on("t", lambda t: t > "\uffff"),
    "t > 'a\0'": on("t", lambda t: t > "a\0"),
    "t <= 'a\0b'": on("t", lambda t: t <= NUL),
    "t = 'a\0b'": on("t", lambda t: t == NUL),
    "t <> 'a\0b'": on("t", lambda t: t != NUL),
    "t IN ('o''brien', 'back\\slash', '50%', 'a\0b', '\"', '${x}')": on(
        "t", lambda t: t in ("o'brien", "back\\slash", "50%", NUL, '"', "${x}")
    ),
    "t NOT IN ('a', 'A')": on("t", lambda t: t not in ("a", "A")),
    "t = '''; DROP TABLE t; --'": on("t", lambda t: t == "'; DROP TABLE t; --"),
    "t LIKE 'a%'": on("t", lambda t: t.startswith("a")),
    "t NOT LIKE 'a%'": on("t", lambda t: not t.startswith("a")),
    "t LIKE '_'": on("t", lambda t: len(t) == 1),
    "t LIKE '_b'": on("t", lambda t: len(t) == 2 and t[1] == "b"),
    "t LIKE 'a_b'": on("t", lambda t: len(t) == 3 and t[0] == "a" and t[2] == "b"),
    "t LIKE '%!%' ESCAPE '!'": on("t", lambda t: t.endswith("%")),
    "t LIKE '5\\_0' ESCAPE '\\'": on("t", lambda t: t == "5_0"),
    "t LIKE '%\\\\%' ESCAPE '\\'": on("t", lambda t: "\\" in t),
    "t LIKE '%!%'": on("t", lambda t: "!" in t),
    "t LIKE ''": on("t", lambda t: t == ""),
    "t LIKE '%\0%'": on("t", lambda t: "\0" in t),
    "t LIKE 'é'": on("t", lambda t: t == "\u00e9"),
    "t IS NULL": lambda row: row["t"] is None,
    "b = TRUE": on("b", lambda b: b),
    "b <> TRUE": on("b", lambda b: not b),
    "b IN (FALSE)": on("b", lambda b: not b),
    "d = '1970-01-01'": on("d", lambda d: d == dt.date(1970, 1, 1)),
    "d < DATE '1970-01-01'": on("d", lambda d: d < dt.date(1970, 1, 1)),
    "d BETWEEN '1582-10-04' AND '1900-02-28'": on("d", lambda d: dt.date(1582, 10, 4) <= d <= dt.date(1900, 2, 28)),
    "year(d) = 2024": on("d", lambda d: d.year == 2024),
    "year(d) <> 1": on("d", lambda d: d.year != 1),
    "year(d) >= 9999": on("d", lambda d: d.year >= 9999),
    "year(d) <= 9999": on("d", lambda _: True),
    "year(d) > 1999.5": on("d", lambda d: d.year > 1999.5),
    "year(d) IN (1582, 2000)": on("d", lambda d: d.year in (1582, 2000)),
    "year(d) - 1 > 1968": on("d", lambda d: d.year > 1969),
    "month(d) = 2": on("d", lambda d: d.month == 2),
    "month(d) IN (1, 3, 10, 12)": on("d", lambda d: d.month in (1, 3, 10, 12)),
    "d - DATE '2000-01-01' > 0": on("d", lambda d: d > dt.date(2000, 1, 1)),
    "s >= '2024-03-10 02:30'": on("s", lambda s: s >= dt.datetime(2024, 3, 10, 2, 30)),
    "s < TIMESTAMP '1970-01-01 00:00:00'": on("s", lambda s: s < dt.datetime(1970, 1, 1)),
    "s = '2024-02-29 23:59:59.000001'": on("s", lambda s: s == dt.datetime(2024, 2, 29, 23, 59, 59, 1)),
    "s > DATE '2024-03-01'": on("s", lambda s: s > dt.datetime(2024, 3, 1)),
    "year(s) = 1969": on("s", lambda s: s.year == 1969),
    "month(s) = 12": on("s", lambda s: s.month == 12),
    "month(s) = 2": on("s", lambda s: s.month == 2),  # also in the evening of its last day
    "s - TIMESTAMP '2024-03-10 02:30' = 0": on("s", lambda s: s == dt.datetime(2024, 3, 10, 2, 30)),
    "z >= TIMESTAMP '2024-03-31 02:00+01:00'": on("z", lambda z: z >= dt.datetime(2024, 3, 31, 1, tzinfo=dt.UTC)),
    "x + i > 100": lambda row: compare(">", plus(limited(row["x"]), as_double(row["i"])), 100),
    "i - u < 0": lambda row: compare("<", plus(term(row["i"]), negative(term(row["u"]))), 0),
    "x / i > 1": lambda row: compare(">", divided(limited(row["x"]), as_double(row["i"])), 1),
    "x * x > 25": lambda row: compare(">", times(limited(row["x"]), limited(row["x"])), 25),
    "x * x * x > 25": lambda row: compare(
        ">", times(limited(times(limited(row["x"]), limited(row["x"]))), limited(row["x"])), 25
    ),
    "1 / x > 0": lambda row: compare(">", divided(1.0, limited(row["x"])), 0),
    "-x >= 0": lambda row: compare(">=", negative(limited(row["x"])), 0),
    "coalesce(x, 0) = 0": lambda row: (0 if row["x"] is None else row["x"]) == 0,
    "coalesce(i, u) = 1": lambda row: compare("=", row["u"] if row["i"] is None else row["i"], 1),
    "coalesce(1e300, i) > 5": lambda _: True,  # 1e300 is no integer: doubles are compared
    "coalesce(i, 1e300) >= 1e300": lambda row: row["i"] is None,
    "coalesce(i, 1e300) IN (5, 1e300)": lambda row: row["i"] in (None, 5),
    "CASE WHEN b = TRUE THEN 1e300 ELSE i END > 5": lambda row: (
        True if row["b"] else compare(">", as_double(row["i"]), 5)
    ),
    "coalesce(1e300, 1) > i": on("i", lambda _: True),
    "i < 1e300": on("i", lambda _: True),
    "NOT i >= 1e38": on("i", lambda _: True),
    "-1e300 >= i": on("i", lambda _: False),
    "i BETWEEN -1e300 AND 5": on("i", lambda i: i <= 5),
    "i NOT IN (5, 1e300)": on("i", lambda i: i != 5),
    "w > -99999999999999999999999999999999999999": on("w", lambda _: True),
    "w >= 1e38 OR w <= 1e300": on("w", lambda _: True),
    "CASE WHEN x > 5 THEN 'big' WHEN i > 5 THEN 'other' END = 'big'": lambda row: (
        True if row["x"] is not None and row["x"] > 5 else False if row["i"] is not None and row["i"] > 5 else None
    ),
    "CASE WHEN NOT x > 5 THEN 1 ELSE 0 END = 0": lambda row: row["x"] is None or row["x"] > 5,
    "coalesce(t, 'none') LIKE 'n%'": lambda row: row["t"] is None or row["t"].startswith("n"),
    "x = i": lambda row: compare("=", row["x"], as_double(row["i"])),
    "i < u": lambda row: compare("<", row["i"], row["u"]),
    "number(x) > number(i)": lambda row: compare(">", row["x"], as_double(row["i"])),
    "number(i) = 9007199254740993": on("i", lambda i: i == 2**53 + 1),  # no cast: still an integer
    "integer(i) - integer(u) < 0": lambda row: compare("<", plus(term(row["i"]), negative(term(row["u"]))), 0),
    "text(t) >= '5'": on("t", lambda t: t >= "5"),
    "date(d) - DATE '2000-01-01' > 0": on("d", lambda d: d > dt.date(2000, 1, 1)),
    "year(date(d)) = 2024 OR date(d) < '1582-10-05'": on("d", lambda d: d.year == 2024 or d < dt.date(1582, 10, 5)),
    "datetime(s) >= '2024-03-10 02:30'": on("s", lambda s: s >= dt.datetime(2024, 3, 10, 2, 30)),
    "boolean(b) = TRUE": on("b", lambda b: b),
}


def passing(source: Any, where: str, **options: Any) -> list[int]:
    """The numbers of the records that pass: none where the filter is refused since none can."""
    try:
        (question,) = prepare(source, "k", exact=True, where=where, **options).questions
    except InputError as refusal:
        assert "no record can " in str(refusal)
        return []
    return sorted(question.table.count([question.counting])[0].parts[0].tolist())


def all_passing(engine: Engine, source: Any, tests: list[str]) -> list[list[int]]:
    """The records that pass each test; on Spark many tests in one query, as groups, because every query is slow."""
    if not engine.name.startswith("spark"):
        return [passing(source, where, **engine.parameters) for where in tests]
    out = []
    for start in range(0, len(tests), 12):
        flags = {f"f{i}": f"CASE WHEN {test} THEN 1 ELSE 0 END" for i, test in enumerate(tests[start : start + 12])}
        (question,) = prepare(source, "k", exact=True, derive=flags, by=list(flags)).questions
        bars = question.table.count([question.counting])[0].rows(slice(None))
        out += [sorted(row[-1] for row in bars if row[place] == 1) for place in range(len(flags))]
    return out


def names_in(where: str, cells: Cells) -> bool:
    """Tell whether the engine holds the columns of a test, which have names of one letter."""
    import re

    bare = re.sub(r"'(?:[^']|'')*'", "", where)
    return all(name in cells for name in re.findall(r"\b[ximwbdszut]\b", bare))


@pytest.mark.parametrize(
    "engine", [name for name in ENGINES if name != "pyarrow"], indirect=True
)  # DuckDB, like polars
def test_the_same_records_pass_on_every_engine(engine: Engine) -> None:
    cells = engine.held(table_for(engine))
    source, rows = engine.load(cells), rows_of(cells)
    cases = {where: oracle for where, oracle in CASES.items() if names_in(where, cells)}
    found = all_passing(engine, source, list(cases))
    for (where, oracle), kept in zip(cases.items(), found, strict=True):
        assert kept == [row["k"] for row in rows if oracle(row) is True], where


def generated(rng: random.Random, cells: Cells, depth: int) -> tuple[str, Callable[[Row], Truth]]:
    """A random test and its meaning in three-valued logic."""
    if depth == 0 or rng.random() < 0.2:
        return atom(rng, cells)
    parts = [generated(rng, cells, depth - 1) for _ in range(rng.randint(2, 3))]
    choice = rng.random()
    if choice < 0.3:
        text, meaning = parts[0]
        return f"NOT ({text})", lambda row: negation(meaning(row))
    joined, combine = ("AND", both) if choice < 0.65 else ("OR", either)

    def whole(row: Row) -> Truth:
        out = parts[0][1](row)
        for _, part in parts[1:]:
            out = combine(out, part(row))
        return out

    return f" {joined} ".join(f"({text})" for text, _ in parts), whole


def atom(rng: random.Random, cells: Cells) -> tuple[str, Callable[[Row], Truth]]:
    name = rng.choice([each for each in "xitbd" if each in cells])
    values = [value for value in cells[name][1] if value is not None and (name != "x" or math.isfinite(value))]
    if rng.random() < 0.15:
        return f"{name} IS NULL", lambda row: row[name] is None
    value = rng.choice(values)
    op = rng.choice(["=", "<>"] if name == "b" else ["=", "<>", "<", "<=", ">", ">="])
    if rng.random() < 0.2:
        among = [rng.choice(values) for _ in range(3)]
        return (
            f"{name} NOT IN ({', '.join(map(written, among))})",
            lambda row: None if row[name] is None else row[name] not in among,
        )
    return f"{name} {op} {written(value)}", lambda row: compare(op, row[name], value)


def written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"DATE '{value}'" if isinstance(value, dt.date) else repr(value)


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_random_tests_mean_the_same(engine: Engine) -> None:
    rng = random.Random(20)
    cells = engine.held(table_for(engine))
    source, rows = engine.load(cells), rows_of(cells)
    tests = [generated(rng, cells, 3) for _ in range(24 if DEEP else 12)]
    found = all_passing(engine, source, [where for where, _ in tests])
    for (where, oracle), kept in zip(tests, found, strict=True):
        assert kept == [row["k"] for row in rows if oracle(row) is True], where
    where, oracle = tests[0]
    assert passing(source, where, **engine.parameters) == [row["k"] for row in rows if oracle(row) is True]


WITH: dict[str, dict[str, Any]] = {
    "groups": {"column": "x", "width": 5, "by": "b"},
    "units": {"column": "x", "width": 5, "unit": "u", "max_buckets_per_unit": 2},
    "largest": {"column": "x", "width": 5, "unit": "u", "per_unit": "max", "bounds": (0, 120)},
    "mean": {"column": "x", "width": "0.5", "bounds": (-9, 200), "unit": "u", "per_unit": "mean"},
    "declared": {"column": "i", "width": 7, "by": "t", "groups": ["a", "A", "o'brien"]},
}


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_the_filter_comes_before_groups_and_units(engine: Engine) -> None:
    from dataclasses import replace

    cells = engine.held(table_for(engine))
    source, rows = engine.load(cells), rows_of(cells)
    kept = [row["k"] for row in rows if row["i"] is not None and row["i"] > 0 and row["t"] not in (None, "a")]
    left: Cells = {name: (kind, [values[k] for k in kept]) for name, (kind, values) in cells.items()}
    for case in WITH.values():
        options = {**case, **engine.parameters, "where": "i > 0 AND t <> 'a'"}
        (question,) = prepare(source, options.pop("column"), **options).questions
        units = question.counting.units
        salted = None if units is None else replace(units, salt="fixed")
        bars = question.table.count([replace(question.counting, units=salted)])[0]
        found = dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))
        assert found == expected(question, left)
    options = {"separately": True, "width": 5, "where": "i > 0 AND t <> 'a'", **engine.parameters}
    questions = prepare(source, ["x", "i"], **options).questions
    for bars, question in zip(questions[0].table.count([q.counting for q in questions]), questions, strict=True):
        assert dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True)) == expected(question, left)


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_ranks_are_those_of_the_records_that_pass(engine: Engine) -> None:
    cells = engine.held(table_for(engine))
    source, rows = engine.load(cells), rows_of(cells)
    (question,) = prepare(source, "i", ask=["max"], where="x > 0", **engine.parameters).questions
    values = [row["i"] for row in rows if row["i"] is not None and row["x"] is not None and row["x"] > 0]
    with open_ranks(question.table, question.counting) as ranks:
        reply = ranks.fetch(Request(cuts=(0, 5, 100)))
    assert reply.total == len(values)
    assert list(reply.before) == [sum(value < cut for value in values) for cut in (0, 5, 100)]
    derived = {"derive": {"gap": "i - u"}, "where": "gap <> 3"}
    (question,) = prepare(source, "gap", ask=["max"], **derived, **engine.parameters).questions
    gaps = [plus(term(row["i"]), negative(term(row["u"]))) for row in rows]
    values = [gap for gap in gaps if gap is not None and gap != 3]
    with open_ranks(question.table, question.counting) as ranks:
        reply = ranks.fetch(Request(cuts=(0, 5)))
    assert (reply.total, list(reply.before)) == (len(values), [sum(value < cut for value in values) for cut in (0, 5)])


DERIVED: dict[str, tuple[str, Callable[[Row], Any]]] = {
    "difference": ("i - u", lambda row: plus(term(row["i"]), negative(term(row["u"])))),
    "year": ("year(d)", lambda row: None if row["d"] is None else row["d"].year),
    "month": ("month(d)", lambda row: None if row["d"] is None else row["d"].month),
    "quotient": ("x / i", lambda row: divided(limited(row["x"]), as_double(row["i"]))),
    "text": ("CASE WHEN i > 5 THEN t ELSE 'few' END",
             lambda row: row["t"] if row["i"] is not None and row["i"] > 5 else "few"),
    "days": ("date(d) - DATE '1970-01-01'", lambda row: None if row["d"] is None else
             (row["d"] - dt.date(1970, 1, 1)).days),
    "first": ("coalesce(i, u, 0)", lambda row: next((v for v in (row["i"], row["u"]) if v is not None), 0)),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_derived_columns_are_the_same_on_every_engine(engine: Engine) -> None:
    from collections import Counter

    cells = engine.held(table_for(engine))
    source, rows = engine.load(cells), rows_of(cells)
    for name, (text, oracle) in DERIVED.items():
        (question,) = prepare(source, name, derive={name: text}, exact=True, **engine.parameters).questions
        bars = question.table.count([question.counting])[0]
        found = dict(zip(bars.parts[0].tolist(), bars.counts.tolist(), strict=True))
        wanted = Counter(oracle(row) for row in rows)
        del wanted[None]
        assert {key: n for key, n in found.items() if key != ""} == {k: n for k, n in wanted.items() if k != ""}, name


UNTYPED = [5, 5.5, "5", "05", "2024-02-29", "2024-02-30", None, b"5", 2**53 + 1, "", -1, "abc", 1e300]
NUMBERS = [cell if isinstance(cell, int | float) else None for cell in UNTYPED]
DAYS = [dt.date(2024, 2, 29) if cell == "2024-02-29" else None for cell in UNTYPED]
OF_SQLITE: dict[str, list[bool | None]] = {
    "number(a) > 5": [None if cell is None else float(cell) > 5 for cell in NUMBERS],
    "number(a) >= number(b)": [cell is not None for cell in NUMBERS],
    "a >= number(b)": [cell is not None for cell in NUMBERS],
    "integer(a) = 9007199254740993": [cell == 2**53 + 1 for cell in UNTYPED],
    "text(a) >= '5'": [isinstance(cell, str) and cell >= "5" for cell in UNTYPED],
    "a = b": [isinstance(cell, str) for cell in UNTYPED],
    "a = ''": [cell == "" for cell in UNTYPED],  # which a database may hold
    "date(a) >= DATE '2024-01-01'": [day is not None for day in DAYS],
    "date(a) - date(b) = 0": [day is not None for day in DAYS],
    "coalesce(date(a), date(b)) IS NULL": [day is None for day in DAYS],
    "coalesce(a, b) < 6": [None if cell is None else float(cell) < 6 for cell in NUMBERS],
    "number(a) IS NULL AND text(a) IS NOT NULL": [isinstance(cell, str) for cell in UNTYPED],
}


def test_columns_of_sqlite_that_declare_no_type(sqlite_connection: Any) -> None:
    sqlite_connection.execute("CREATE TABLE IF NOT EXISTS untyped (k INTEGER, a, b)")
    sqlite_connection.executemany("INSERT INTO untyped VALUES (?, ?, ?)", [(i, c, c) for i, c in enumerate(UNTYPED)])
    for where, wanted in OF_SQLITE.items():
        found = passing((sqlite_connection, "untyped"), where)
        assert found == [place for place, passes in enumerate(wanted) if passes], where
    with pytest.raises(InputError, match=r"a and b declare no type.*Write number\(a\) < number\(b\)"):
        prepare((sqlite_connection, "untyped"), "k", exact=True, where="a < b")


def test_sqlite_has_no_datetimes(sqlite_connection: Any) -> None:
    sqlite_connection.execute("CREATE TABLE IF NOT EXISTS zoned_no (k INTEGER, s TEXT)")
    with pytest.raises(InputError, match="where"):
        prepare((sqlite_connection, "zoned_no"), "k", exact=True, where="s > TIMESTAMP '2024-01-01 00:00'")
