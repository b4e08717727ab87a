"""Excel workbooks (.xlsx): a sheet whose first row names its columns, read row by row and passed on as JSON lines.

A workbook is a zip archive of XML files. The readers at hand stop at a single strange cell, with a message that quotes
it; here such a cell is missing, and affects no other. Only XML that is not well formed is damage to the file.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias, TypeVar
from xml.parsers import expat

from flexdp._core.text import is_short, plain_scalar, safe_repr
from flexdp.errors import DataError, InputError, P
from flexdp.tables.engine import there_are
from flexdp.tables.files.bytes import ReadInto, read_blocks, shown_path

__all__ = ["Sheet", "open_sheet", "read_sheet"]

_Cell: TypeAlias = "str | float | bool | dt.date | None"  # datetimes are dates, too
_Row: TypeAlias = "dict[int, _Cell]"  # the cells by their column, from 0 on
_Listed = TypeVar("_Listed")

_ROWS = 1000  # turned into lines at a time
_LARGEST_WHOLE = 2**53
_MOST_NAMED = 8  # sheets, in a message
_CHUNK = 1 << 16
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_COLUMN = re.compile(r"([A-Z]{1,3})[0-9]+")
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_MOST_COLUMNS = 16384
_DATES = {*range(14, 23), *range(27, 37), *range(50, 59)}  # numbers of built-in formats; 18 to 21 are times of day
_TEXT_IN_FORMAT = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
_LAST_DAY = 2958465  # 9999-12-31
_LEAP_DAY = 60  # 1900-02-29, which Excel has and the calendar has not
_DAMAGE = (OSError, KeyError, RuntimeError, ValueError, NotImplementedError, EOFError, zipfile.BadZipFile, zlib.error,
           expat.ExpatError)  # fmt: skip


@dataclass(frozen=True)
class Sheet:
    """A sheet whose columns are named, and whose other rows have not been read."""

    book: _Workbook
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
    book = _open_workbook(file)
    if book is None or not book.sheets:
        raise InputError("source", f": {shown_path(file)} is not an Excel workbook, is encrypted or is damaged")
    if name is not None and name not in book.sheets:
        raise InputError("sheet", f": no sheet named {safe_repr(name)}", remedy=there_are(list(book.sheets), "Sheets"))
    chosen = next(iter(book.sheets)) if name is None else name
    number, header = next(book.rows(chosen), (0, {}))
    names = {place: _name(cell) for place, cell in header.items()} if number == 1 else {}
    if not any(names.values()):
        others = _others(book, chosen)
        raise InputError(
            "source",
            f": the sheet of {shown_path(file)} has no header row",
            remedy=("The first row of a sheet must name its columns", *(("; ", *others) if others else (".",))),
        )
    return Sheet(book, chosen, {name: place for place, name in names.items()}, tuple(names[i] for i in sorted(names)))


def _others(book: _Workbook, chosen: str) -> tuple[str | P, ...]:
    others = [name for name in book.sheets if name != chosen]
    shown = [repr(name) for name in others if is_short(name)][:_MOST_NAMED]
    if not shown:
        return ()
    more = ", …" if len(others) > len(shown) else ""
    return ("set ", P("sheet"), f" to choose another sheet: {', '.join(shown)}{more}.")


def _name(cell: _Cell) -> str:
    value = _json_value(cell)
    return str(value[0] if isinstance(value, list) else value).strip()


def read_sheet(sheet: Sheet) -> ReadInto:
    """Return a function that reads the rows as JSON lines in UTF-8."""
    rows = (row for _, row in islice(sheet.book.rows(sheet.name), 1, None) if row)
    columns = sheet.columns.items()
    lines = (json.dumps({name: _json_value(row[at]) for name, at in columns if at in row}) + "\n" for row in rows)
    return read_blocks(iter(lambda: "".join(islice(lines, _ROWS)).encode(), b""))


def _json_value(cell: _Cell) -> object:
    """Return a cell as JSON: a number, a text or a boolean; a date or datetime in a list, to tell it from a text."""
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) <= _LARGEST_WHOLE else cell
    return [cell.isoformat()] if isinstance(cell, dt.date) else cell


@dataclass(frozen=True)
class _Workbook:
    """A workbook whose sheets are known and whose cells have not been read."""

    path: str
    sheets: dict[str, str]  # the part of the archive that holds each, in their order
    from_1904: bool
    dated: tuple[bool, ...] = field(repr=False)  # styles that show dates
    texts: tuple[str, ...] = field(repr=False)  # that cells refer to

    def rows(self, sheet: str) -> Iterator[tuple[int, _Row]]:
        """Yield the rows of a sheet with their numbers, from 1 on, while they are read."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                yield from self._rows(_elements(archive, self.sheets[sheet]))
            return
        except _DAMAGE:
            pass
        raise DataError  # outside the handler, so that no cause is shown

    def _rows(self, elements: Iterable[_Element]) -> Iterator[tuple[int, _Row]]:
        number, column = 0, -1
        row: _Row = {}
        for element in elements:
            if element.name == "c" and element.ended:
                column = _column_of(element.get("r"), column + 1)
                if 0 <= column < _MOST_COLUMNS:
                    row[column] = self._value(element)
            elif element.name == "row" and not element.ended:
                given = _number_of(element.get("r"))
                number, column, row = number + 1 if given is None else given, -1, {}
            elif element.name == "row":
                yield number, {place: cell for place, cell in row.items() if cell is not None}

    def _value(self, cell: _Element) -> _Cell:
        kind, text = cell.get("t", "n"), cell.text
        if kind == "s":
            return _at(self.texts, text) or None
        if kind in ("str", "inlineStr"):
            return _unescaped(text) or None
        if kind == "b":
            return {"1": True, "0": False}.get(text)
        if kind == "d":
            return _iso(text)
        try:
            number = float(text) if kind == "n" else math.nan
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            return None
        return _date(number, self.from_1904) if _at(self.dated, cell.get("s")) else number


def _open_workbook(path: str) -> _Workbook | None:
    """Read everything but the sheets; None if that is not possible."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            targets: dict[str, str] = {}
            sheets: dict[str, str] = {}
            from_1904 = False
            for element in _elements(archive, "xl/_rels/workbook.xml.rels"):
                if element.name == "Relationship":
                    target = element.get("Target")
                    targets[element.get("Id")] = target.lstrip("/") if target[:1] == "/" else f"xl/{target}"
            for element in _elements(archive, "xl/workbook.xml"):
                if element.name == "workbookPr":
                    from_1904 = element.get("date1904") in ("1", "true")
                elif element.name == "sheet" and (part := targets.get(element.get("id"))) in names:
                    sheets.setdefault(element.get("name"), part)
            styles = _elements(archive, "xl/styles.xml") if "xl/styles.xml" in names else ()
            texts = _elements(archive, "xl/sharedStrings.xml") if "xl/sharedStrings.xml" in names else ()
            shared = (_unescaped(element.text) for element in texts if element.name == "si" and element.ended)
            return _Workbook(path, sheets, from_1904, tuple(_dated(styles)), tuple(shared))
    except _DAMAGE:
        return None


@dataclass(slots=True)
class _Element:
    """An element that begins, or one that has ended, with the text of its values."""

    name: str
    attributes: dict[str, str]
    ended: bool = False
    text: str = ""

    def get(self, attribute: str, default: str = "") -> str:
        return self.attributes.get(attribute, default)


_KEPT = ("row", "c", "si", "sheet", "workbookPr", "Relationship", "numFmt", "xf", "cellXfs")
_ENDED = ("c", "si")  # of these, only the end matters
_VALUES = ("v", "t")  # elements whose text is a value


def _elements(archive: zipfile.ZipFile, name: str) -> Iterator[_Element]:
    """Yield the elements of a part that matter, as they begin and as they end."""
    ready: list[_Element] = []
    opened: list[_Element] = []
    inside: list[str] = []  # elements without a place of their own, down to a value
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        own = name.rpartition(" ")[2]
        if own in _KEPT:
            opened.append(_Element(own, attributes))  # those of cells and texts have no namespace
            if own not in _ENDED:
                opened[-1].attributes = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
                ready.append(_Element(own, opened[-1].attributes))
        else:
            inside.append(own)

    def end(name: str) -> None:
        if name.rpartition(" ")[2] in _KEPT:
            opened[-1].ended = True
            ready.append(opened.pop())
        else:
            inside.pop()

    def text(data: str) -> None:
        if opened and inside and inside[-1] in _VALUES and "rPh" not in inside:  # rPh: how a text is pronounced
            opened[-1].text += data

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.StartDoctypeDeclHandler = _refuse_entities
    with archive.open(name) as part:
        chunk = b"more"
        while chunk:
            chunk = part.read(_CHUNK)
            parser.Parse(chunk, not chunk)
            yield from ready
            ready.clear()


def _refuse_entities(*_declared: object) -> None:
    raise ValueError("a workbook declares no entities")


def _unescaped(text: str) -> str:
    """Put characters in that XML cannot hold; halves of a character stay as they are written."""
    return _ESCAPED.sub(_character, text) if "_x" in text else text


def _character(found: re.Match[str]) -> str:
    code = int(found.group(1), 16)
    return found.group(0) if 0xD800 <= code <= 0xDFFF else chr(code)


def _dated(styles: Iterable[_Element]) -> Iterator[bool]:
    """Tell of each style of cells whether it shows dates, by its number format."""
    own: dict[str, bool] = {}
    inside = False
    for element in styles:
        if element.name == "cellXfs":
            inside = not element.ended
        elif element.name == "numFmt" and not element.ended:
            own[element.get("numFmtId")] = _shows_dates(element.get("formatCode"))
        elif element.name == "xf" and inside and not element.ended:
            number = element.get("numFmtId")
            yield own.get(number, _number_of(number) in _DATES)


def _shows_dates(code: str) -> bool:
    plain = _TEXT_IN_FORMAT.sub("", code.split(";")[0]).lower()
    return "general" not in plain and any(letter in plain for letter in "ydhs") | ("m" in plain)


def _number_of(given: str) -> int | None:
    return int(given) if _NUMBER.fullmatch(given) else None


def _at(listed: tuple[_Listed, ...], place: str) -> _Listed | None:
    """Return what stands at a place that a cell names; None if it names none."""
    number = _number_of(place)
    return None if number is None or number >= len(listed) else listed[number]


def _column_of(place: str, default: int) -> int:
    found = _COLUMN.fullmatch(place)
    if found is None:
        return default
    column = 0
    for letter in found.group(1):
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1


def _date(serial: float, from_1904: bool) -> _Cell:
    """Return the date or datetime of a day number with its fraction, to the millisecond; None outside the calendar."""
    millis = round((serial % 1) * 86_400_000)
    day = math.floor(serial) if abs(serial) < _LAST_DAY + 1 else -1
    if from_1904:
        first, inside = dt.datetime(1904, 1, 1), 0 <= day <= _LAST_DAY - 1462
    else:
        first = dt.datetime(1899, 12, 31 if day < _LEAP_DAY else 30)
        inside = 1 <= day <= _LAST_DAY and day != _LEAP_DAY
    if not inside or (day == _LAST_DAY and millis == 86_400_000):
        return None
    try:
        return _shown(first + dt.timedelta(days=day, milliseconds=millis))
    except OverflowError:
        return None


def _iso(text: str) -> _Cell:
    try:
        stamp = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if stamp.tzinfo is not None else _shown(stamp)


def _shown(stamp: dt.datetime) -> dt.date:
    return stamp if stamp.time() != dt.time() else stamp.date()
