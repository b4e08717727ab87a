"""Sheets of Excel workbooks, passed on as JSON lines, one row a line."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from flexdp._core.text import is_short, plain_scalar, safe_repr
from flexdp.errors import DataError, InputError, P
from flexdp.tables.engine import there_are
from flexdp.tables.files.paths import shown_path
from flexdp.tables.files.workbooks import Cell, DamagedWorkbookError, Row, Workbook

__all__ = ["Sheet", "open_sheet", "read_sheet"]

_ROWS = 1000  # turned into lines at a time
_LARGEST_WHOLE = 2**53
_MOST_NAMED = 8  # sheets, in a message


@dataclass(frozen=True)
class Sheet:
    """A sheet whose first row names its columns, and whose other rows have not been read."""

    book: Workbook
    name: str
    columns: dict[str, int]
    names: tuple[str, ...]

    @property
    def others(self) -> tuple[str | P, ...]:
        """Advice to choose another sheet, with the first names of the others; empty if there are none."""
        return _others(self.book, self.name)


def open_sheet(file: str, sheet: object) -> Sheet:
    """Open a sheet, the first unless one is named; messages repeat nothing of its cells."""
    name = plain_scalar(sheet)
    if name is not None and not isinstance(name, str):
        raise InputError("sheet", "must be the name of a sheet", given=safe_repr(sheet))
    book = None
    try:
        book = Workbook.open(file)
    except DamagedWorkbookError:
        book = None
    if book is None or not book.sheets:
        raise InputError("source", f": {shown_path(file)} is not an Excel workbook, is encrypted or is damaged")
    if name is not None and name not in book.sheets:
        raise InputError("sheet", f": no sheet named {safe_repr(name)}", remedy=there_are(list(book.sheets), "Sheets"))
    chosen = next(iter(book.sheets)) if name is None else name
    try:
        number, header = next(book.rows(chosen), (0, {}))
    except DamagedWorkbookError:
        raise DataError from None
    names = {place: _name(cell) for place, cell in header.items()} if number == 1 else {}
    if not any(names.values()):
        others = _others(book, chosen)
        raise InputError(
            "source",
            f": the sheet of {shown_path(file)} has no header row",
            remedy=("The first row of a sheet must name its columns", *(("; ", *others) if others else (".",))),
        )
    return Sheet(book, chosen, {name: place for place, name in names.items()}, tuple(names[i] for i in sorted(names)))


def _others(book: Workbook, chosen: str) -> tuple[str | P, ...]:
    others = [name for name in book.sheets if name != chosen]
    shown = [repr(name) for name in others if is_short(name)][:_MOST_NAMED]
    if not shown:
        return ()
    more = ", …" if len(others) > len(shown) else ""
    return ("set ", P("sheet"), f" to choose another sheet: {', '.join(shown)}{more}.")


def _name(cell: Cell) -> str:
    value = _value(cell)
    return str(value[0] if isinstance(value, list) else value).strip()


def read_sheet(sheet: Sheet, stopped: threading.Event) -> Callable[[memoryview], int]:
    """Return a function that reads the rows as JSON lines in UTF-8."""
    lines, ready = _lines(sheet), memoryview(b"")

    def read(buffer: memoryview) -> int:
        nonlocal ready
        if stopped.is_set():
            raise InterruptedError
        if not ready:
            ready = memoryview(next(lines, b""))
        part, ready = ready[: len(buffer)], ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    return read


def _lines(sheet: Sheet) -> Iterator[bytes]:
    rows = sheet.book.rows(sheet.name)
    next(rows, None)
    some: list[str] = []
    for _, row in rows:
        if row:
            some.append(_line(row, sheet.columns))
        if len(some) == _ROWS:
            yield ("\n".join(some) + "\n").encode()
            some.clear()
    if some:
        yield ("\n".join(some) + "\n").encode()


def _line(row: Row, columns: dict[str, int]) -> str:
    return json.dumps({name: _value(row[place]) for name, place in columns.items() if place in row})


def _value(cell: Cell) -> Any:
    """Return a cell as JSON: a number, a text or a boolean; a date or datetime in a list, to tell it from a text."""
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) <= _LARGEST_WHOLE else cell
    return [cell.isoformat()] if isinstance(cell, dt.date) else cell
