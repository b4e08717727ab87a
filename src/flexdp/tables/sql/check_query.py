"""The query behind ``flexdp.check``: how many cells are read as a kind, and why the others are not. Not private."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from flexdp.buckets.base import Kind
from flexdp.tables.cell_patterns import DATE, DATETIME, ZONED_DATETIME
from flexdp.tables.date_format import MONTHS
from flexdp.tables.declared import Column
from flexdp.tables.duckdb.dialect import DUCKDB
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import ReadCell
from flexdp.tables.written import BLANKS, Written

__all__ = [
    "READ", "REASONS", "Checked", "Inspected", "check_query", "inspected", "served_check_query", "served_inspected",
]  # fmt: skip

READ = "read"
REASONS = (
    "empty", "placeholder", "long", "fraction", "range", "marks", "sign", "date", "impossible", "datetime", "offset",
    "day", "format", "not finite", "other",
)  # fmt: skip
_PLACEHOLDERS = (
    "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "nil", "missing", "unknown", "-", "--", "---", ".", "..", "?",
    "–", "—",
)  # fmt: skip
_MARKED = r"[+-]?[0-9]+(?:[., '_\x{a0}\x{202f}\x{2019}][0-9]+)*"
_SIGNED = rf"[^0-9+-]{{0,4}}{_MARKED}[^0-9]{{0,4}}"
_DAYS = r"[0-9]{1,4}[-./ ][0-9]{1,2}[-./ ][0-9]{1,4}\b.*"
_MONTH = f"(?i:{'|'.join(MONTHS)})"
_NAMED = f".*[0-9].*{_MONTH}.*|.*{_MONTH}.*[0-9].*"


# The number of records, the number of cells by outcome for each column, and of lines that are not read by reason.
Inspected: TypeAlias = "tuple[int, list[dict[str, int]], Mapping[str, int]]"


class Checked(NamedTuple):
    """A column to check: how its cells are read, and the expression of a cell as text, None if it is not a text."""

    column: Column
    kind: Kind
    text: str | None


def check_query(source: str, checked: Sequence[Checked], read: ReadCell) -> str:
    """Write the query: the number of ``records``, and columns ``c{i}``, a map from outcome to cells of column i.

    Outcome 0 is :data:`READ`, and the others are :data:`REASONS`. One aggregate a column: planning one for each outcome
    takes DuckDB seconds from five columns on.
    """
    outcomes = ", ".join(f"{_outcome(each, read)} AS r{i}" for i, each in enumerate(checked))
    counts = [f"histogram(r{i}) AS c{i}" for i in range(len(checked))]
    return f"SELECT count(*) AS records, {', '.join(counts)}\nFROM (SELECT {outcomes} FROM {source}) AS t"


def served_check_query(table: str, parts: Sequence[tuple[str, str, Kind]], dialect: Dialect) -> str:
    """Write the query for a server: the number of records, and of the cells that are read and that are missing.

    ``parts`` are, of each column, the cell as it is, as it is read, and its kind.
    """
    counts = ["COUNT(*)"]
    for raw, value, kind in parts:
        fits = f"({value}) IS NOT NULL"
        fits = (
            dialect.finite(value)
            if kind == "number"
            else f"{fits} AND {dialect.is_short(value)}"
            if kind == "text"
            else fits
        )
        counts.append(f"SUM(CASE WHEN {fits} THEN 1 ELSE 0 END)")
        counts.append(f"SUM(CASE WHEN {fits} THEN 0 WHEN {raw} IS NULL THEN 1 ELSE 0 END)")
    return f"SELECT {', '.join(counts)}\nFROM {table}"


def served_inspected(row: Sequence[Any], declared: Sequence[bool]) -> Inspected:
    """Return the counts in the row that such a query gives; ``declared`` tells which are declared as numbers."""
    records, *counts = (int(count or 0) for count in row)
    out = []
    for place, number in enumerate(declared):
        read, empty = counts[2 * place : 2 * place + 2]
        rest = {"not finite" if number else "other": records - read - empty}
        out.append({**dict.fromkeys((READ, *REASONS), 0), READ: read, "empty": empty, **rest})
    return records, out, {}


def inspected(row: Sequence[Any], columns: int, lines: Mapping[str, int]) -> Inspected:
    """Return the counts in the row that the query gives; without a record there are no maps in it."""
    maps = [each if isinstance(each, Mapping) else {} for each in row[1 : columns + 1]]
    outcomes = [{name: int(each.get(place, 0)) for place, name in enumerate((READ, *REASONS))} for each in maps]
    return int(row[0]), outcomes, {reason: count for reason, count in lines.items() if count}


def _outcome(checked: Checked, read: ReadCell) -> str:
    column, kind, text = checked
    value = read(column, kind).value
    if kind == "number":
        fits = f"coalesce(isfinite({value}), false)"
    else:
        fits = f"({value}) IS NOT NULL" + (f" AND {DUCKDB.is_short(value)}" if kind == "text" else "")
    cases = [f"WHEN {fits} THEN 0", *_reasons(column.written, kind, text, value)]
    return f"CASE {' '.join(cases)} ELSE {_place('other')} END"


def _reasons(written: Written, kind: Kind, text: str | None, value: str) -> list[str]:
    if text is None:
        cases = {"empty": f"({value}) IS NULL"} | ({"not finite": f"({value}) IS NOT NULL"} if kind == "number" else {})
        return [f"WHEN {test} THEN {_place(reason)}" for reason, test in cases.items()]
    bare = f"trim({text}, {DUCKDB.text(BLANKS)})"
    listed = ", ".join(DUCKDB.text(word) for word in _PLACEHOLDERS)
    tests = {
        "empty": f"({text}) IS NULL OR {bare} = ''",
        "long": f"NOT {DUCKDB.is_short(text)}",
        "placeholder": f"lower({bare}) IN ({listed})",
    }
    if kind in ("number", "integer"):
        number = f"regexp_full_match({text}, {DUCKDB.text(written.number)})"
        tests |= {
            "fraction" if kind == "integer" else "range": number,
            "date": _matches(bare, f"{DATE}|{DATETIME}|{_DAYS}"),
            "marks": _matches(bare, _marked(written)),
            "sign": _matches(bare, _SIGNED),
        }
    elif kind in ("date", "datetime"):
        own = written.dates.pattern if written.dates is not None else DATE if kind == "date" else DATETIME
        tests |= {
            "impossible": f"regexp_full_match({text}, {DUCKDB.text(own)})",
            **({"datetime": _matches(text, DATETIME)} if kind == "date" else {"day": _matches(text, DATE)}),
            "offset": _matches(text, ZONED_DATETIME),
            "format": _matches(bare, f"{_DAYS}|[0-9]{{6,8}}|{_NAMED}"),
        }
    return [f"WHEN {test} THEN {_place(reason)}" for reason, test in tests.items()]


def _marked(written: Written) -> str:
    """Return the pattern of digits with any marks between them, beside a sign only if that is declared."""
    signs = "|".join(map(re.escape, written.currency))
    blanks = f"[{BLANKS}]*"
    return f"[+-]?(?:(?:{signs}){blanks})?{_MARKED}(?:{blanks}(?:{signs}))?" if signs else _MARKED


def _matches(text: str, pattern: str) -> str:
    return f"regexp_full_match({text}, {DUCKDB.text(pattern)})"


def _place(reason: str) -> int:
    return 1 + REASONS.index(reason)
