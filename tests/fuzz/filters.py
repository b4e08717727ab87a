"""Filters and derived columns: a text is refused, or it means the same on DuckDB as in plain Python."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import cycle, islice
from typing import Any

import duckdb
from _support.filters import CANONICAL, COLUMNS, REFUSED, Meaning, Row

import flexdp
from flexdp._core.calendar import days_since_epoch, micros_since_epoch
from flexdp._release.api import prepare
from flexdp.tables.where import filter_of, parse_test, parse_value, text_of
from fuzz.oracles import demand, outcome_of

__all__ = ["WORDS", "mutated", "run", "seeds"]

ROWS = 40
DIALECTS = ("postgres", "sqlite", "spark", "mariadb", "clickhouse")
CELLS: dict[str, list[Any]] = {
    "k": list(range(ROWS)),
    "x": [None, math.nan, math.inf, 0.0, -0.0, 5e-324, 1e-310, 4.999999999999999, 5.0, 17.3, 1e300, -1e300, 0.1 + 0.2,
          1.7976931348623157e308, -2.5, 9007199254740993.0, 1e100, 1.0000000000000002e100, 1e-100, -math.inf],
    "y": [5.0, None, -0.0, 2.5, 1e-101, 1e101, 3.0],
    "i": [None, 0, 1, -1, 5, -7, 17, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 99],
    "w": [None, 10**37 - 1, 1 - 10**37, 2**64 + 1, -7, 0, 5, 2**53 + 1],
    "m": [None, Decimal("0.10"), Decimal("-0.01"), Decimal("5.00"), Decimal("99999999.99"), Decimal("-0.00")],
    "t": [None, "a", "A", "a ", "", "\u00e9", "e\u0301", "日本", "o'brien", "back\\slash", "50%", "5_0", "a!b", "😀x",
          "a\nb", "\uffff", "%", "_", "\\", "a\0b", "1", "2024-01-01", "TRUE"],
    "b": [None, True, False],
    "d": [None, dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1900, 2, 28), dt.date(1969, 12, 31),
          dt.date(1970, 1, 1), dt.date(2000, 2, 29), dt.date(2024, 3, 1), dt.date(9999, 12, 31)],
    "s": [None, dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(1970, 1, 1),
          dt.datetime(2024, 2, 29, 23, 59, 59, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    "z": [None, dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 3, 31, 1), dt.datetime(1905, 1, 1),
          dt.datetime(2024, 10, 27, 0, 59, 59)],
}  # fmt: skip


@cache
def table() -> tuple[Any, list[Row], Any]:
    """A table of DuckDB, its records as Python holds them, and a request to count the records that pass."""
    records = [
        dict(zip(CELLS, row, strict=True))
        for row in zip(*(islice(cycle(c), ROWS) for c in CELLS.values()), strict=True)
    ]
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'; SET threads = 1")
    con.execute(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, (kind, _) in COLUMNS.items())})")
    con.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(CELLS))})", [list(row.values()) for row in records])
    for row in records:
        row["m"] = None if row["m"] is None else float(row["m"])
    (question,) = prepare((con, "t"), "k", exact=True).questions
    return con, records, question


def run(data: bytes) -> None:
    """Read a text as a filter and as a derived column."""
    text = data.decode("utf-8", "surrogateescape")
    for parse in (parse_test, parse_value):
        tree, _ = outcome_of(lambda parse=parse: parse("where", text))
        if tree is None:
            continue
        written = text_of(tree)
        demand(parse("where", written) == tree, "another filter in its own words")
        demand(text_of(parse("where", written)) == written, "other words for the same filter")
        (_filtered if parse is parse_test else _derived)(text, tree)


def _filtered(text: str, tree: Any) -> None:
    con, records, question = table()
    test, refusal = outcome_of(lambda: filter_of(text, question.table.column))
    if test is None:
        if "no record can match" in refusal[1]:
            demand(not any(Meaning().test(tree, row) is True for row in records), "a record that passes")
        return
    bars, refusal = outcome_of(lambda: question.table.count([replace(question.counting, where=test)])[0])
    if bars is None:
        demand(refusal[0] == "InputError", f"a filter makes the engine fail: {refusal[0]}")
        return
    meaning = Meaning()
    wanted = [row["k"] for row in records if meaning.test(tree, row) is True]
    demand(sorted(bars.parts[0].tolist()) == wanted, "another meaning in plain Python")
    for dialect in DIALECTS:
        outcome_of(lambda dialect=dialect: flexdp.query((con, "t"), "k", exact=True, where=text, dialect=dialect))


def _derived(text: str, tree: Any) -> None:
    con, records, _ = table()
    request, _ = outcome_of(lambda: prepare((con, "t"), "new", derive={"new": text}, exact=True))
    if request is None:
        return
    (question,) = request.questions
    bars, refusal = outcome_of(lambda: question.table.count([question.counting])[0])
    if bars is None:
        demand(refusal[0] == "InputError", f"a derived column makes the engine fail: {refusal[0]}")
        return
    meaning = Meaning()
    wanted = Counter(_key(meaning.value(tree, row)) for row in records)
    del wanted[None]
    found = dict(zip(bars.parts[0].tolist(), bars.counts.tolist(), strict=True))
    demand(found == wanted, "another value in plain Python")


def _key(value: Any) -> Any:
    """A value as the engine counts it."""
    if isinstance(value, dt.datetime):
        return micros_since_epoch(value)
    return days_since_epoch(value) if isinstance(value, dt.date) else value


OTHERS = (
    "x / i > 1", "x * x * x > 25", "1 / x > 0", "-x >= 0", "coalesce(x, 0) = 0", "coalesce(i, w, 1.5) = 1", "x = i",
    "CASE WHEN x > 5 THEN 'big' WHEN i > 5 THEN t END = 'big'", "year(d) IN (1582, 2000)", "month(s) = 12",
    "d - DATE '2000-01-01' > 0", "s - TIMESTAMP '2024-03-10 02:30' = 0", "z >= TIMESTAMP '2024-03-31 02:00+01:00'",
    "t LIKE '5!_%' ESCAPE '!' OR t NOT LIKE '_'", "i BETWEEN -7 AND 4.5", "w > 18446744073709551616", "m = 0.1",
    "i - w", "year(d) + month(s)", "coalesce(t, 'none')", "CASE WHEN b = TRUE THEN x ELSE i END", "x + y - m / 2.5",
    "NOT (x > 1 OR t = 'a') AND b <> FALSE", "d", "s", "b", "w * 1", "-(i + 1) - -w", "year(d) > 1999.5",
    "number(x) > number(i)", "date(d) - DATE '2000-01-01'", "coalesce(integer(i), integer(w))", "text(t) >= '5'",
    "datetime(s) < datetime(s) OR boolean(b) = TRUE", "integer(i) - w > -integer(i)", "number(m) * number(w)",
    "x NOT IN (0, 17.3, 1e300)", "i IN (5, 4.5, 99999999999999999999999)", "d = '1970-01-01'", "x IS NOT NULL",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    """Filters in the words of the tests, with the columns of the table here, and others."""
    for text in (*CANONICAL, *REFUSED, *OTHERS):
        if len(text) < 400:
            yield text.replace("age", "x").replace("ward", "t").encode()


WORDS = (
    *CELLS, "AND", "OR", "NOT", "(", ")", "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", ",", "0", "1", "2.5",
    "1e9", "-0.0", "1e100", "1e-100", "9007199254740993", "99999999999999999999", "4.5", "'a'", "'%'", "''", "'a\0b'",
    "'日本'", "IN", "BETWEEN", "IS NULL", "IS NOT NULL", "LIKE '_%'", "ESCAPE '!'", "CASE WHEN", "THEN", "ELSE", "END",
    "TRUE", "FALSE", "DATE '2024-02-29'", "TIMESTAMP '2024-02-29 23:59:59.000001'",
    "TIMESTAMP '2024-03-31 02:00+01:00'", "'2024-01-01'", "year(d)", "month(s)", "year(", "month(", "coalesce(", '"k"',
    "number(x)", "integer(i)", "text(t)", "date(d)", "datetime(s)", "boolean(b)", "number(", "date(", "2024-03-01",
    "'; DROP TABLE t; --'", "--", ";", "\\", "x", "i", "t",
)  # fmt: skip


def mutated(data: bytes, rng: random.Random, bytewise: Callable[[bytes], bytes]) -> bytes:
    """Exchange words of a filter, or join it with another; now and then bytes."""
    if rng.random() < 0.3:
        return bytewise(data)
    text = data.decode("utf-8", "surrogateescape")
    words = text.split(" ")
    for _ in range(rng.choice((1, 1, 2, 3))):
        place, how = rng.randrange(len(words) + 1), rng.randrange(5)
        if how == 0:
            words.insert(place, rng.choice(WORDS))
        elif how == 1:
            words[place : place + 1] = [rng.choice(WORDS)]
        elif how == 2:
            del words[place : place + rng.randint(1, 3)]
        elif how == 3:
            words = [
                "(",
                *words,
                ")",
                rng.choice(("AND", "OR", "+", "*", "/", "=", "<")),
                rng.choice((*OTHERS, *WORDS)),
            ]
        else:
            other = rng.randrange(len(words) + 1)
            words[place:place] = words[other : other + rng.randint(1, 4)]
    return " ".join(words).encode("utf-8", "surrogatepass")
