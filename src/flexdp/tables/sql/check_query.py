"""The query behind ``flexdp.check``: how many cells are read as a kind, and why the others are not. Not private."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from flexdp.buckets.base import Kind
from flexdp.errors import DataError
from flexdp.tables.column import Column
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.session import Session
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import ReadCell
from flexdp.tables.written import BLANKS, DATE, DATETIME, MONTHS, ZONED_DATETIME, Written

__all__ = [
    "READ", "REASONS", "Checked", "Inspected", "Wanted", "check_query", "in_blocks", "inspect_texts", "inspected",
    "joined", "place_of", "served_check_query", "served_inspected",
]  # fmt: skip

READ = "read"
REASONS = (
    "empty", "line", "record", "nested", "placeholder", "long", "fraction", "digits", "range", "marks", "sign", "date",
    "impossible", "datetime", "offset", "day", "format", "datetime format", "12-hour format", "spelling", "not finite",
    "other",
)  # fmt: skip
_PLACEHOLDERS = (
    "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "nil", "missing", "unknown", "-", "--", "---", ".", "..", "?",
    "–", "—",
)  # fmt: skip
_MARKED = r"[+-]?[0-9]+(?:[., '_\x{a0}\x{202f}\x{2019}][0-9]+)*"
_SIGNED = rf"[^0-9+-]{{0,4}}{_MARKED}[^0-9]{{0,4}}"
_DAYS = r"[0-9]{1,4}[-./ ][0-9]{1,2}[-./ ][0-9]{1,4}\b.*"
_MONTH = f"(?i:{'|'.join(MONTHS)})"
_WHOLE = r"-?[0-9]*(\.0*)?"
_LAST: dict[Kind, str] = {  # why a cell of a declared type is not read, if it is there and finite
    "number": "not finite", "integer": "digits", "text": "long", "date": "impossible", "datetime": "impossible",
}  # fmt: skip
_EXPLAINED = 3  # how much larger than a bare count the expression of all reasons is
_LARGEST = 24  # of one statement: its vectors take some 100 MB with eight threads, and planning is slow beyond
_MOST_COPIED = 32  # columns
_NAMED = f".*[0-9].*{_MONTH}.*|.*{_MONTH}.*[0-9].*"
_ANY_DAY = f"(?:{_DAYS}|{_NAMED})"
_TIMED = rf"{_ANY_DAY}\b[0-9]{{1,2}}:[0-9]{{2}}.*"
_HALF_DAYS = rf"{_ANY_DAY}\b[0-9]{{1,2}}(?::[0-9]{{2}})* ?(?i:[ap]\.?m\.?)"


# The number of records, the number of cells by outcome for each column, and of lines that are not read by reason.
Inspected: TypeAlias = "tuple[int, list[dict[str, int]], Mapping[str, int]]"


class Wanted(NamedTuple):
    """A column to check as a kind; reasons why cells are not read are counted if ``explained``."""

    column: Column
    kind: Kind
    explained: bool = True


class Checked(NamedTuple):
    """A column to check: how its cells are read, and expressions of a cell.

    ``raw`` is the cell as it is, ``text`` the cell as text, None if it is not a text, and ``damage`` the place of the
    reason why there is no cell (:func:`place_of`), NULL if there is one.
    """

    column: Column
    kind: Kind
    raw: str
    text: str | None
    damage: str = ""
    explained: bool = True


def check_query(source: str, checked: Sequence[Checked], read: ReadCell) -> str:
    """Write the query: the number of ``records``, and columns ``c{i}``, a map from outcome to cells of column i.

    Outcome 0 is :data:`READ`, and the others are :data:`REASONS`. One aggregate a column: planning one for each outcome
    takes DuckDB seconds from five columns on. A statement should check no more than one of :func:`in_parts`.
    """
    outcomes = ", ".join(f"{_outcome(each, read)} AS r{i}" for i, each in enumerate(checked))
    counts = [f"histogram(r{i}) AS c{i}" for i in range(len(checked))]
    return f"SELECT count(*) AS records, {', '.join(counts)}\nFROM (SELECT {outcomes} FROM {source}) AS t"


def in_parts(wanted: Sequence[Wanted]) -> list[list[int]]:
    """Divide what is checked between statements, each given by places; no column is divided.

    Each thread of the engine holds a vector for each node of a statement, so that memory grows with its length, and
    planning takes more than linear time.
    """
    by_column: dict[str | None, list[int]] = {}
    for place, each in enumerate(wanted):
        by_column.setdefault(each.column.name, []).append(place)

    def size(places: list[int]) -> int:
        return sum(_EXPLAINED if wanted[place].explained else 1 for place in places)

    return [[place for places in part for place in places] for part in _packed(by_column.values(), size, _LARGEST)]


def _packed(items: Iterable[list[int]], size: Callable[[list[int]], int], most: int) -> list[list[list[int]]]:
    """Fill groups one after another; an item that is too large is a group of its own."""
    groups: list[list[list[int]]] = []
    room = 0
    for item in items:
        if size(item) > room:
            groups.append([])
            room = most
        groups[-1].append(item)
        room -= size(item)
    return groups


def in_blocks(wanted: Sequence[Wanted]) -> list[list[list[int]]]:
    """Gather the parts of :func:`in_parts` into blocks of columns that are copied together.

    The engine holds memory for each column that it copies, in each of its threads.
    """
    return _packed(in_parts(wanted), lambda part: len({wanted[place].column.name for place in part}), _MOST_COPIED)


def joined(parts: Sequence[Sequence[int]], found: Sequence[Inspected]) -> Inspected:
    """Return what several statements found as one; they must have seen the same records."""
    if len({records for records, _, _ in found}) != 1:
        raise DataError
    outcomes = {
        place: counts
        for places, (_, some, _) in zip(parts, found, strict=True)
        for place, counts in zip(places, some, strict=True)
    }
    return found[0][0], [outcomes[place] for place in sorted(outcomes)], found[0][2]


def inspect_texts(session: Session, source: str, wanted: Sequence[Wanted], read: ReadCell) -> Inspected:
    """Count on DuckDB how many cells of a source are read as each kind, and why the others are not."""
    parts, found = in_parts(wanted), []
    for part in parts:
        checked = []
        for column, kind, explained in (wanted[place] for place in part):
            raw = DUCKDB.identifier(column.engine_name)
            is_text = column.kind == "text" and kind != "text"
            checked.append(Checked(column, kind, raw, f"CAST({raw} AS VARCHAR)" if is_text else None, "", explained))
        row = session.ask(check_query(source, checked, read))[0]
        found.append(inspected(row, len(part), {}))
    return joined(parts, found)


def served_check_query(table: str, parts: Sequence[tuple[str, str, Kind]], dialect: Dialect) -> str:
    """Write the query for a server: the number of records, and of the cells that are read and that are missing.

    ``parts`` are, of each column, the cell as it is, as it is read, and its kind.
    """
    counts = ["COUNT(*)"]
    for raw, value, kind in parts:
        fits = f"({value}) IS NOT NULL"
        if kind in ("number", "text"):
            fits = dialect.finite(value) if kind == "number" else f"{fits} AND {dialect.is_short(value)}"
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


def place_of(reason: str) -> int:
    """Return the number of a reason among the outcomes."""
    return 1 + REASONS.index(reason)


def _outcome(checked: Checked, read: ReadCell) -> str:
    column, kind, _, text, damage, explained = checked
    value = read(column, kind).value
    if kind == "number":
        fits = f"coalesce(isfinite({value}), false)"
    else:
        fits = f"({value}) IS NOT NULL" + (f" AND {DUCKDB.is_short(value)}" if kind == "text" else "")
    if not explained:
        return f"CASE WHEN {fits} THEN 0 END"
    tests = _typed_reasons(checked) if text is None else _text_reasons(column.written, kind, text)
    cases = [f"WHEN {fits} THEN 0", *([f"WHEN {damage} IS NOT NULL THEN {damage}"] if damage else [])]
    cases += [f"WHEN {test} THEN {place_of(reason)}" for reason, test in tests.items()]
    return f"CASE {' '.join(cases)} ELSE {place_of('other')} END"


def _typed_reasons(checked: Checked) -> dict[str, str]:
    """Return the reasons, with their tests, why a cell of a declared type is not read; the last one holds otherwise."""
    column, kind, raw = checked[:3]
    tests = {"empty": f"({raw}) IS NULL"}
    if kind == "integer" and column.kind == "number":
        if column.type_name.upper().startswith("DECIMAL"):
            tests["fraction"] = f"NOT regexp_full_match(CAST({raw} AS VARCHAR), '{_WHOLE}')"
        else:
            double = f"CAST({raw} AS DOUBLE)"
            tests |= {"not finite": f"NOT isfinite({double})", "fraction": f"{double} <> floor({double})"}
    last = _LAST.get(kind)
    return tests | ({last: "true"} if last else {})


def _text_reasons(written: Written, kind: Kind, text: str) -> dict[str, str]:
    """Return the reasons, with their tests, why a text is not read as a kind."""
    bare = f"trim({text}, {DUCKDB.text(BLANKS)})"
    listed = ", ".join(DUCKDB.text(word) for word in _PLACEHOLDERS)
    dates = written.dates
    tests = {
        "empty": f"({text}) IS NULL OR {bare} = ''",
        "long": f"NOT {DUCKDB.is_short(text)}",
        "placeholder": f"lower({bare}) IN ({listed})",
    }
    if kind in ("number", "integer"):
        tests |= {
            "digits": _matches(text, written.whole),
            "fraction" if kind == "integer" else "range": _matches(text, written.number),
            "date": _matches(text, DATE if dates is None or dates.timed else f"{DATE}|{dates.pattern}"),
            "datetime": _matches(text, DATETIME if dates is None or not dates.timed else f"{DATETIME}|{dates.pattern}"),
            "offset": _matches(text, ZONED_DATETIME),
            **_other_formats(bare, _DAYS),
            "marks": _matches(bare, _marked(written)),
            "sign": _matches(bare, _SIGNED),
        }
        return tests if kind == "integer" else {name: test for name, test in tests.items() if name != "digits"}
    if kind in ("date", "datetime"):
        own = dates.pattern if dates is not None else DATE if kind == "date" else DATETIME
        iso = {"datetime": _matches(text, DATETIME)} if kind == "date" else {"day": _matches(text, DATE)}
        tests |= {
            "impossible": _matches(text, own),
            **({**iso, "offset": _matches(text, ZONED_DATETIME)} if dates is None else {}),
            **_other_formats(bare, f"{_DAYS}|[0-9]{{6,8}}|{_NAMED}"),
        }
    return tests | ({"spelling": "true"} if kind == "boolean" else {})


def _other_formats(bare: str, days: str) -> dict[str, str]:
    """Return the tests of datetimes and dates that are written in another way, those with a time first."""
    return {
        "12-hour format": _matches(bare, _HALF_DAYS),
        "datetime format": _matches(bare, _TIMED),
        "format": _matches(bare, days),
    }


def _marked(written: Written) -> str:
    """Return the pattern of digits with any marks between them, beside a sign only if that is declared."""
    signs = "|".join(map(re.escape, written.currency))
    blanks = f"[{BLANKS}]*"
    return f"[+-]?(?:(?:{signs}){blanks})?{_MARKED}(?:{blanks}(?:{signs}))?" if signs else _MARKED


def _matches(text: str, pattern: str) -> str:
    return f"regexp_full_match({text}, {DUCKDB.text(pattern)})"
