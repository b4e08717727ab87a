"""JSON: one object a line, the elements of an array, or the rows of an Excel sheet passed on as such lines.

Elements are found by brackets and quotes alone, so that the engine tests each by itself: one that is not valid JSON,
such as one with a NaN, is blank and affects no other. Brackets and quotes that do not match are damage to the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import plain_scalar
from flexdp.buckets.base import Kind
from flexdp.errors import P
from flexdp.tables.column import Column, check_unicode
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.engines.duckdb.types import read_cell
from flexdp.tables.files.bytes import check_array
from flexdp.tables.files.excel import Sheet, open_sheet, read_sheet
from flexdp.tables.files.lines import Lines, line_ends
from flexdp.tables.files.paths import STDIN
from flexdp.tables.files.source import LineSource, file_list
from flexdp.tables.sql.check_query import place_of
from flexdp.tables.sql.query import Reading
from flexdp.tables.written import DATE, WRITTEN

__all__ = ["ElementEnds", "JsonSource", "SheetSource"]

_TYPED = "('BIGINT', 'UBIGINT', 'HUGEINT', 'DOUBLE', 'BOOLEAN')"
_SCALARS = "('VARCHAR', " + _TYPED[1:]
_QUOTE, _OPEN, _CLOSE, _COMMA = b'"[],'
_ESCAPE = re.compile(rb"\\[\x00-\xff]")
_MARKS = np.zeros(256, np.bool_)
_MARKS[list(b'"[]{},')] = True
_DEPTH = np.zeros(256, np.int64)
_DEPTH[list(b"[{")] = 1
_DEPTH[list(b"]}")] = -1


@dataclass(frozen=True)
class JsonSource(LineSource):
    """JSON files, whose records are lines or the elements of an ``array``. Their keys are data: none is declared."""

    array: bool = False

    @property
    def keyed(self) -> bool:
        return True

    @property
    def is_typed(self) -> bool:
        """True if numbers and dates must be told from texts, because only texts are written in the declared way."""
        return self.how != WRITTEN

    def names_of(self, file: str) -> Sequence[str]:
        if self.array and file != STDIN:
            check_array(file, self.encoding)
        return ()

    def column(self, name: object) -> Column:
        """Return the column of any name."""
        name = plain_scalar(name)
        if not self.keyed or not isinstance(name, str):
            return super().column(name)
        check_unicode(name)
        return self.undeclared(name)

    @cached_property
    def lines(self) -> dict[str, Lines]:
        ends = ElementEnds if self.array else lambda: line_ends
        return {"lines": Lines(self.files, b" ", header=False, encoding=self.encoding, ends=ends)}

    def lines_in_sql(self, lines: Lines) -> str:
        if self.array:
            return f"SELECT unnest(CAST(content AS JSON[])) AS line FROM read_text({file_list(lines.files)})"
        return super().lines_in_sql(lines)

    def cell(self, place: int, column: Column) -> str:  # noqa: ARG002
        return f"cell{place}"

    def text(self, place: int, column: Column) -> str:
        return f"coalesce(cell{place}, typed{place})" if self.is_typed else self.cell(place, column)

    def read(self, place: int, column: Column, kind: Kind) -> Reading:
        if not self.is_typed:
            return super().read(place, column, kind)
        if kind == "text":
            return Reading(self.text(place, column))
        typed = f"typed{place}"
        own = {
            "date": f"{typed}[1:10]",
            "datetime": f"CASE WHEN regexp_full_match({typed}, '{DATE}') THEN {typed} || 'T00:00' ELSE {typed} END",
        }.get(kind, typed)
        found = read_cell(f"cell{place}", column, kind)
        plain = read_cell(f"({own})", replace(column, written=WRITTEN), kind)
        return Reading(f"coalesce({plain.value}, {found.value})", found.wide)

    def rows(self, columns: Sequence[Column], *, checked: bool = False) -> str:
        """Return a FROM clause with the scalars of keys, as ``cell0`` and so on.

        If it is typed, numbers and booleans are apart from texts, as ``typed0`` and so on.
        """
        kept = " WHERE trim(line, ' \t\r\n') <> ''" if checked else ""
        valid = f"(SELECT CASE WHEN json_valid(line) THEN line ELSE 'null' END AS line FROM lines{kept})"
        names = [column.name or "" for column in columns]
        texts = "= 'VARCHAR'" if self.is_typed else f"IN {_SCALARS}"
        cells = [f"CASE {_scalar(name, texts)} END AS cell{i}" for i, name in enumerate(names)]
        if self.is_typed:
            cells += [f"CASE {self.typed(name)} END AS typed{i}" for i, name in enumerate(names)]
        if checked:
            cells += [f"{_damage(name)} AS lost{i}" for i, name in enumerate(names) if self.damage(i)]
        return f"(SELECT {', '.join(cells)} FROM {valid})"

    def typed(self, name: str) -> str:
        """Return the case of a number or boolean as JSON writes it."""
        return _scalar(name, f"IN {_TYPED}")


@dataclass(frozen=True)
class SheetSource(JsonSource):
    """Sheets of Excel files, which hold dates as lists of one."""

    sheet: object = None

    keyed = is_text = False
    is_typed = read_once = True

    @cached_property
    def _sheets(self) -> dict[str, Sheet]:
        return {file: open_sheet(file, self.sheet) for file in self.files}

    @property
    def elsewhere(self) -> tuple[str | P, ...]:
        return self._sheets[self.files[0]].others

    def names_of(self, file: str) -> Sequence[str]:
        return self._sheets[file].names

    @cached_property
    def lines(self) -> dict[str, Lines]:
        return {"lines": Lines(self.files, b" ", header=False, opened=lambda file: read_sheet(self._sheets[file]))}

    def lines_in_sql(self, lines: Lines) -> str:
        return f"SELECT to_json(r) AS line FROM read_xlsx({file_list(lines.files)}[1], header=true) AS r"

    def typed(self, name: str) -> str:
        return f"{super().typed(name)} " + _scalar(name, "= 'ARRAY'", "/0")

    def damage(self, place: int) -> str:  # noqa: ARG002
        return ""


def _scalar(name: str, kinds: str, inner: str = "") -> str:
    """Return the case of a key's value in the JSON object of a line, as text, if it has one of these kinds."""
    return f"WHEN json_type(line, {_pointer(name)}) {kinds} THEN json_extract_string(line, {_pointer(name, inner)})"


def _damage(name: str) -> str:
    """Return the reason why a line has no scalar of that name, NULL if it has one or none at all."""
    return (
        f"CASE WHEN json_type(line) IS DISTINCT FROM 'OBJECT' THEN {place_of('record')} "
        f"WHEN json_type(line, {_pointer(name)}) IN ('ARRAY', 'OBJECT') THEN {place_of('nested')} END"
    )


def _pointer(name: str, rest: str = "") -> str:
    return DUCKDB.text("/" + name.replace("~", "~0").replace("/", "~1") + rest)


class ElementEnds:
    """Finds the bytes between the elements of an array: its brackets, and the commas at its own level.

    It is called with one block after the other and remembers where it is.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._quoted = False
        self._escaped = False  # the next byte

    def __call__(self, data: NDArray[np.uint8]) -> NDArray[np.intp]:
        """Return the places of those bytes in the next block."""
        data = np.frombuffer(self._unescaped(data.tobytes()), np.uint8)
        places = np.flatnonzero(_MARKS[data])
        found = data[places]
        quotes = found == _QUOTE
        inside = (np.cumsum(quotes) + self._quoted) % 2 == 1
        depth = self._depth + np.cumsum(np.where(inside | quotes, 0, _DEPTH[found]))
        if len(places):
            self._depth, self._quoted = int(depth[-1]), bool(inside[-1])
        ends = ((found == _COMMA) | (found == _OPEN)) & (depth == 1) | (found == _CLOSE) & (depth == 0)
        out: NDArray[np.intp] = places[ends & ~inside & ~quotes]
        return out

    def _unescaped(self, block: bytes) -> bytes:
        """Blank backslashes with the bytes that they escape, and remember whether the next block's first is one."""
        plain = _ESCAPE.sub(b"  ", b"\\" * self._escaped + block)[self._escaped :]
        self._escaped = plain.endswith(b"\\")
        return plain
