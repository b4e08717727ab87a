"""Elements of a JSON array, found by brackets and quotes alone, so that the engine tests each by itself.

An element that is not valid JSON, such as one with a NaN, is blank and affects no other. Brackets and quotes that do
not match are damage to the file itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.errors import DataError, InputError, P
from flexdp.tables.files.encodings import UnmarkedError, unmarked
from flexdp.tables.files.lines import DamagedError, open_bytes
from flexdp.tables.files.paths import shown_path

__all__ = ["ElementEnds", "check_array"]

_QUOTE, _ESCAPE, _OPEN, _CLOSE, _COMMA = b'"\\[],'
_MARKS = np.zeros(256, np.bool_)
_MARKS[list(b'"\\[]{},')] = True
_DEPTH = np.zeros(256, np.int64)
_DEPTH[list(b"[{")] = 1
_DEPTH[list(b"]}")] = -1
_BLANK = b" \t\r\n"
_MOST_BLANKS = 1 << 16


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
        places = np.flatnonzero(_MARKS[data])
        found = data[places]
        quotes = (found == _QUOTE) & ~self._after_escape(data, places, found)
        inside = (np.cumsum(quotes) + self._quoted) % 2 == 1
        depth = self._depth + np.cumsum(np.where(inside | quotes, 0, _DEPTH[found]))
        if len(places):
            self._depth, self._quoted = int(depth[-1]), bool(inside[-1])
        ends = ((found == _COMMA) | (found == _OPEN)) & (depth == 1) | (found == _CLOSE) & (depth == 0)
        out: NDArray[np.intp] = places[ends & ~inside & ~quotes]
        return out

    def _after_escape(self, data: NDArray[np.uint8], places: NDArray[np.intp], found: Any) -> NDArray[np.bool_]:
        """Tell which places follow an odd number of backslashes, and remember whether the next block's first does."""
        escapes = places[found == _ESCAPE]
        if self._escaped and len(data) and data[0] == _ESCAPE:
            escapes = escapes[1:]  # it is itself escaped
            first = np.empty(0, np.intp)
        else:
            first = np.zeros(int(self._escaped), np.intp)
        if not len(data):
            return np.zeros(len(places), np.bool_)
        if not len(escapes):
            self._escaped = False
            return np.isin(places, first)
        begins = np.flatnonzero(np.diff(escapes, prepend=-2) > 1)
        lengths = np.diff(begins, append=len(escapes))
        after = (escapes[begins] + lengths)[lengths % 2 == 1]
        self._escaped = bool(len(after)) and int(after[-1]) == len(data)
        return np.isin(places, np.append(first, after))


def check_array(file: str, encoding: str | None = None) -> None:
    """Refuse a file that does not begin as an array does."""
    start = b""
    try:
        with open_bytes(file, encoding=encoding) as read_into:
            block = memoryview(bytearray(_MOST_BLANKS))
            while len(start) < _MOST_BLANKS and (got := read_into(block)):
                start = (start + bytes(block[:got])).removeprefix(b"\xef\xbb\xbf").lstrip(_BLANK)
                if len(start) > 2:
                    break
    except UnmarkedError:
        raise unmarked(shown_path(file)) from None
    except DamagedError:
        raise DataError from None
    except OSError:
        raise InputError("source", f": {shown_path(file)} cannot be read", remedy="Check the file.") from None
    if start[:1] != b"[":
        raise InputError(
            "source",
            f": {shown_path(file)} does not begin with a JSON array",
            remedy=("If it has one object a line, set ", P("format", "jsonl"), "."),
        )
