"""Header lines of CSV files, the only content of a text file that Python looks at."""

from __future__ import annotations

import os

from flexdp.errors import DataError, InputError, P
from flexdp.tables.files.encodings import UnmarkedError, unmarked
from flexdp.tables.files.lines import STDIN, DamagedError, open_bytes
from flexdp.tables.files.paths import shown_path

__all__ = ["header_line"]

_LONGEST_HEADER = 1 << 20


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
