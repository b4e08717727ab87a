"""Excel workbooks (.xlsx): the sheets they name, and the cells of one sheet, row by row.

A workbook is a zip archive of XML files. The readers at hand stop at a single strange cell, with a message that quotes
it; here such a cell is missing, and affects no other. Only XML that is not well formed is damage to the file.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, TypeAlias
from xml.parsers import expat

__all__ = ["Cell", "DamagedWorkbookError", "Row", "Workbook"]

Cell: TypeAlias = "str | float | bool | dt.date | None"  # datetimes are dates, too
Row: TypeAlias = "dict[int, Cell]"  # the cells by their column, from 0 on

_CHUNK = 1 << 16
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_COLUMN = re.compile(r"([A-Z]{1,3})[0-9]+")
_MOST_COLUMNS = 16384
_DATES = {*range(14, 23), *range(27, 37), *range(50, 59)}  # numbers of built-in formats; 18 to 21 are times of day
_TEXT_IN_FORMAT = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
_LAST_DAY = 2958465  # 9999-12-31
_LEAP_DAY = 60  # 1900-02-29, which Excel has and the calendar has not


class DamagedWorkbookError(Exception):
    """The archive or its XML is damaged."""


@dataclass(frozen=True)
class Workbook:
    """A workbook whose sheets are known and whose cells have not been read."""

    path: str
    sheets: dict[str, str]  # the part of the archive that holds each, in their order
    from_1904: bool
    dated: tuple[bool, ...] = field(repr=False)  # styles that show dates
    texts: tuple[str, ...] = field(repr=False)  # that cells refer to

    @classmethod
    def open(cls, path: str) -> Workbook:
        """Read everything but the sheets."""
        try:
            with zipfile.ZipFile(path) as archive:
                return cls._read(path, archive)
        except _FAILURES:
            pass
        raise DamagedWorkbookError  # outside the handler, so that no cause is shown

    @classmethod
    def _read(cls, path: str, archive: zipfile.ZipFile) -> Workbook:
        names = set(archive.namelist())
        targets: dict[str, str] = {}
        sheets: dict[str, str] = {}
        from_1904 = False
        for element in _elements(archive, "xl/_rels/workbook.xml.rels"):
            if element.name == "Relationship":
                target = element.attributes.get("Target", "")
                targets[element.attributes.get("Id", "")] = target.lstrip("/") if target[:1] == "/" else f"xl/{target}"
        for element in _elements(archive, "xl/workbook.xml"):
            if element.name == "workbookPr":
                from_1904 = element.attributes.get("date1904") in ("1", "true")
            elif element.name == "sheet" and (part := targets.get(element.attributes.get("id", ""))) in names:
                sheets.setdefault(element.attributes.get("name", ""), part)
        styles = _elements(archive, "xl/styles.xml") if "xl/styles.xml" in names else ()
        texts = _shared(archive) if "xl/sharedStrings.xml" in names else ()
        return cls(path, sheets, from_1904, tuple(_dated(styles)), tuple(texts))

    def rows(self, sheet: str) -> Iterator[tuple[int, Row]]:
        """Yield the rows of a sheet with their numbers, from 1 on, while they are read."""
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(self.sheets[sheet]) as part:
                yield from self._rows(part)
            return
        except _FAILURES:
            pass
        raise DamagedWorkbookError

    def _rows(self, part: IO[bytes]) -> Iterator[tuple[int, Row]]:
        number, column = 0, -1
        row: Row = {}
        for element in _parsed(part):
            if element.name == "c" and element.ended:
                column = _column_of(element.attributes.get("r"), column + 1)
                if 0 <= column < _MOST_COLUMNS:
                    row[column] = self._value(element)
            elif element.name == "row" and not element.ended:
                number, column, row = _number_of(element.attributes.get("r"), number + 1), -1, {}
            elif element.name == "row":
                yield number, {place: cell for place, cell in row.items() if cell is not None}

    def _value(self, cell: _Element) -> Cell:
        kind, text = cell.attributes.get("t", "n"), cell.text
        if kind == "s":
            place = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else len(self.texts)
            return (self.texts[place] or None) if place < len(self.texts) else None
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
        style = cell.attributes.get("s", "")
        dated = style.isascii() and style.isdigit() and len(style) < 10 and int(style) < len(self.dated)
        return _date(number, self.from_1904) if dated and self.dated[int(style)] else number


@dataclass(slots=True)
class _Element:
    """An element that begins, or one that has ended, with the text of its values."""

    name: str
    attributes: dict[str, str]
    ended: bool = False
    text: str = ""


_FAILURES = (OSError, KeyError, RuntimeError, ValueError, NotImplementedError, EOFError, zipfile.BadZipFile, zlib.error,
             expat.ExpatError)  # fmt: skip
_KEPT = ("row", "c", "si", "sheet", "workbookPr", "Relationship", "numFmt", "xf", "cellXfs")
_ENDED = ("c", "si")  # of these, only the end matters
_VALUES = ("v", "t")  # elements whose text is a value


def _elements(archive: zipfile.ZipFile, name: str) -> Iterator[_Element]:
    with archive.open(name) as part:
        yield from _parsed(part)


def _parsed(part: IO[bytes]) -> Iterator[_Element]:
    """Yield the elements that matter, as they begin and as they end."""
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
    while chunk := part.read(_CHUNK):
        parser.Parse(chunk, False)
        yield from ready
        ready.clear()
    parser.Parse(b"", True)
    yield from ready


def _refuse_entities(*_declared: object) -> None:
    raise ValueError("a workbook declares no entities")


def _shared(archive: zipfile.ZipFile) -> Iterator[str]:
    for element in _elements(archive, "xl/sharedStrings.xml"):
        if element.name == "si" and element.ended:
            yield _unescaped(element.text)


def _unescaped(text: str) -> str:
    """Put characters in that XML cannot hold; halves of a character stay as they are written."""
    return _ESCAPED.sub(_character, text) if "_x" in text else text


def _character(found: re.Match[str]) -> str:
    code = int(found.group(1), 16)
    return found.group(0) if 0xD800 <= code <= 0xDFFF else chr(code)


def _dated(styles: Any) -> Iterator[bool]:
    """Tell of each style of cells whether it shows dates, by its number format."""
    own: dict[str, bool] = {}
    inside = False
    for element in styles:
        if element.name == "cellXfs":
            inside = not element.ended
        elif element.name == "numFmt" and not element.ended:
            own[element.attributes.get("numFmtId", "")] = _shows_dates(element.attributes.get("formatCode", ""))
        elif element.name == "xf" and inside and not element.ended:
            number = element.attributes.get("numFmtId", "")
            yield own.get(number, number.isascii() and number.isdigit() and len(number) < 5 and int(number) in _DATES)


def _shows_dates(code: str) -> bool:
    plain = _TEXT_IN_FORMAT.sub("", code.split(";")[0]).lower()
    return "general" not in plain and any(letter in plain for letter in "ydhs") | ("m" in plain)


def _number_of(given: str | None, default: int) -> int:
    return int(given) if given and given.isascii() and given.isdigit() and len(given) < 9 else default


def _column_of(place: str | None, default: int) -> int:
    found = _COLUMN.fullmatch(place) if place else None
    if found is None:
        return default
    column = 0
    for letter in found.group(1):
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1


def _date(serial: float, from_1904: bool) -> Cell:
    """Return the date or datetime of a day number with its fraction, to the millisecond; None outside the calendar."""
    millis = round((serial % 1) * 86_400_000)
    day = math.floor(serial) if abs(serial) < _LAST_DAY + 1 else -1
    if from_1904:
        first = dt.datetime(1904, 1, 1)
        inside = 0 <= day <= _LAST_DAY - 1462
    else:
        first = dt.datetime(1899, 12, 31 if day < _LEAP_DAY else 30)
        inside = 1 <= day <= _LAST_DAY and day != _LEAP_DAY
    if not inside or (day == _LAST_DAY and millis == 86_400_000):
        return None
    try:
        stamp = first + dt.timedelta(days=day, milliseconds=millis)
    except OverflowError:
        return None
    return stamp if stamp.time() != dt.time() else stamp.date()


def _iso(text: str) -> Cell:
    try:
        stamp = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    if stamp.tzinfo is not None:
        return None
    return stamp if stamp.time() != dt.time() else stamp.date()
