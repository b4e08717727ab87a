"""Header lines of CSV files, the only content of a text file that Python looks at."""

from __future__ import annotations

import os

from flexdp.errors import DataError, InputError, P
from flexdp.tables.files.encodings import UnmarkedError, unmarked
from flexdp.tables.files.lines import STDIN, DamagedError, open_bytes
from flexdp.tables.files.paths import shown_path

__all__ = ["header_line"]

_LONGEST_HEADER = 1 << 20
_FEW = 64  # bytes in which other formats have some that no line of text has
_OTHERS = {  # by their first bytes
    b"PAR1": ("a Parquet file", "parquet", ""),
    b"ARROW1": ("an Arrow file", "arrow", ""),
    b"PK\x03\x04": ("an Excel workbook or another ZIP archive", "xlsx", ", or unzip it"),
}


def header_line(file: str, encoding: str | None = None) -> str:
    """Return the header line, decoded."""
    try:
        raw = _first_line_of_stdin() if file == STDIN else _first_bytes(file, encoding)
    except UnmarkedError:
        raise unmarked(shown_path(file)) from None
    except DamagedError:
        raise DataError from None  # as for damage anywhere else in the file
    except OSError:
        raise InputError(
            "source", f": {shown_path(file)} cannot be read", remedy="Check that it is a text file, or one in gzip."
        ) from None
    line = raw.replace(b"\r", b"\n").split(b"\n", 1)[0]
    _refuse_other_formats(file, line)
    try:
        decoded = line.decode((encoding if file == STDIN else None) or "utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            "source",
            f": the header line of {shown_path(file)} is not {(encoding or 'utf-8').upper()}",
            remedy=("Set ", P("encoding"), ", for example to 'cp1252' or 'utf-16', or decompress the file."),
        ) from None
    if not decoded.strip() or len(line) == _LONGEST_HEADER or "\0" in decoded:
        raise InputError(
            "source",
            f": {shown_path(file)} has no header line",
            remedy="The first line of a CSV file must name its columns.",
        )
    return decoded


def _refuse_other_formats(file: str, line: bytes) -> None:
    """Name the format of a file that is none of lines; a column of a CSV file may be called PAR1, too."""
    if not any(byte < ord(" ") and byte != ord("\t") for byte in line[:_FEW]):
        return
    for first, (what, name, otherwise) in _OTHERS.items():
        if line.startswith(first):
            raise InputError(
                "format",
                f": {shown_path(file)} is {what}, not CSV",
                remedy=("Set ", P("format", name), f"{otherwise}."),
            )


def _first_bytes(file: str, encoding: str | None) -> bytes:
    head = bytearray()
    with open_bytes(file, encoding=encoding) as read_into:
        block = memoryview(bytearray(_LONGEST_HEADER))
        while len(head) < _LONGEST_HEADER and (got := read_into(block)):
            head += block[:got]
    return bytes(head[:_LONGEST_HEADER])


def _first_line_of_stdin() -> bytes:
    line = bytearray()
    while len(line) < _LONGEST_HEADER and (byte := os.read(0, 1)) not in (b"", b"\n", b"\r"):
        line += byte
    return bytes(line)
