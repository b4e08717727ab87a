"""Physical lines of text files, split here and passed to the engine in batches.

The engine's own reader does not decide where a line ends, so no line is counted twice, joined to another or lost at the
edge of a buffer. A line ends at a line feed, a carriage return or both (the empty line between them is not a record). A
line that is not UTF-8 or exceeds :data:`LONGEST_LINE` bytes is blanked, and affects no other.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp.tables.files.arrow_stream import TextBatch, text_stream
from flexdp.tables.files.bytes import ReadInto, open_bytes
from flexdp.tables.files.paths import STDIN

__all__ = ["LONGEST_LINE", "FindEnds", "Lines", "line_ends", "split_lines"]

LONGEST_LINE = 1 << 20  # bytes, without the line end
_CHUNK = 1 << 20  # bytes read at a time
_LINE_FEED, _CARRIAGE_RETURN = 10, 13
_FIRST_NOT_ASCII = 128

FindEnds: TypeAlias = "Callable[[NDArray[np.uint8]], NDArray[np.intp]]"  # of one block after the other


def line_ends(data: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Return the places of line feeds and carriage returns."""
    low = np.flatnonzero(data <= _CARRIAGE_RETURN)
    ends: NDArray[np.intp] = low[(data[low] == _LINE_FEED) | (data[low] == _CARRIAGE_RETURN)]
    return ends


@dataclass(frozen=True)
class Lines:
    """The lines of files as one Arrow stream with the column ``line``, read while a query consumes them.

    Each line is followed by ``mark``, one byte in place of its line end. With ``header``, the first line of every file
    is left out; that of standard input has been consumed already. Once ``stopped`` is set, reading fails.

    ``ends`` makes what finds the ends of records in a file, if those are not lines; ``opened`` opens a file that is not
    read as it is. A ``tally`` counts lines that are not read, by reason; it is private.
    """

    files: Sequence[str]
    mark: bytes
    header: bool
    stopped: threading.Event = field(default_factory=threading.Event)
    encoding: str | None = None
    ends: Callable[[], FindEnds] = lambda: line_ends
    opened: Callable[[str], ReadInto] | None = None
    tally: Counter[str] | None = field(default=None, repr=False)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return text_stream("line", self._batches)

    def _batches(self) -> Iterator[TextBatch]:
        for file in self.files:
            with self._open(file) as read_into:
                taken = self.header and file == STDIN  # with its first line, and a byte order mark
                skip = self.header and not taken
                for batch in split_lines(
                    read_into, self.mark, skip_first=skip, begun=taken, find_ends=self.ends(), tally=self.tally
                ):
                    if self.stopped.is_set():
                        raise InterruptedError
                    yield batch

    def _open(self, file: str) -> AbstractContextManager[ReadInto]:
        if self.opened is not None:
            return nullcontext(self.opened(file))
        return open_bytes(file, self.stopped, self.encoding)


def split_lines(
    read_into: ReadInto,
    mark: bytes,
    *,
    skip_first: bool,
    begun: bool = False,
    chunk: int = _CHUNK,
    longest: int = LONGEST_LINE,
    find_ends: FindEnds = line_ends,
    tally: Counter[str] | None = None,
) -> Iterator[TextBatch]:
    """Yield whole lines in batches, each line followed by ``mark``. The result does not depend on ``chunk``.

    ``skip_first`` leaves out the first line. Otherwise a byte order mark before it is left out, unless reading had
    ``begun`` before.
    """
    carry, tally = np.empty(0, np.uint8), Counter() if tally is None else tally
    first, skipping = not begun, False  # skipping: inside a line that is already too long
    while True:
        data: Any = np.empty(len(carry) + chunk, np.uint8)
        data[: len(carry)] = carry
        got = read_into(memoryview(data)[len(carry) :])
        if not got:
            break
        data = data[: len(carry) + got]
        ends = find_ends(data[len(carry) :]) + len(carry)
        whole, carry = np.split(data, [ends[-1] + 1 if len(ends) else 0])
        if len(ends):
            batch = _batch(whole, ends, mark, longest, tally)
            if skipping:
                tally["length"] += 1
                _blank(batch, 0, mark)
            if first:
                _begin(batch, mark, skip_first=skip_first)
            yield batch
            first = skipping = False
        if skipping or len(carry) > longest:
            carry, skipping = carry[:0], True
    tally["length"] += skipping
    if len(carry):
        batch = _batch(np.append(carry, np.uint8(_LINE_FEED)), np.array([len(carry)]), mark, longest, tally)
        if first:
            _begin(batch, mark, skip_first=skip_first)
        yield batch


def _batch(data: Any, ends: Any, mark: bytes, longest: int, tally: Counter[str]) -> TextBatch:
    data[ends] = mark[0]
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends + 1
    lengths = np.diff(offsets) - 1
    for line in np.flatnonzero(lengths > longest).tolist():
        tally["length"] += 1
        data[offsets[line] : offsets[line + 1]] = mark[0]
    kept = np.ones(len(offsets), np.bool_)
    kept[1:-1] = lengths[1:] > 0  # an empty line, as in every CRLF, is one more mark after the line before it
    batch = TextBatch(data, offsets[kept])
    if data.max() >= _FIRST_NOT_ASCII:
        _blank_what_is_no_text(batch, mark, tally)
    return batch


def _blank_what_is_no_text(batch: TextBatch, mark: bytes, tally: Counter[str]) -> None:
    raw = batch.data.tobytes()
    if _is_text(raw):
        return
    strange = np.flatnonzero(batch.data >= _FIRST_NOT_ASCII)
    for line in np.unique(np.searchsorted(batch.offsets, strange, side="right") - 1).tolist():
        if not _is_text(raw[batch.offsets[line] : batch.offsets[line + 1]]):
            tally["encoding"] += 1
            _blank(batch, line, mark)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _begin(batch: TextBatch, mark: bytes, *, skip_first: bool) -> None:
    """Blank the first line, or a byte order mark before it."""
    if skip_first:
        _blank(batch, 0, mark)
    elif batch.data[:3].tobytes() == b"\xef\xbb\xbf":
        batch.data[:3] = mark[0]


def _blank(batch: TextBatch, line: int, mark: bytes) -> None:
    batch.data[batch.offsets[line] : batch.offsets[line + 1]] = mark[0]
