"""Physical lines of text files, split here and passed to the engine in batches.

The engine's own reader does not decide where a line ends, so no line is counted twice, joined to another or lost at the
edge of a buffer. A line ends at a line feed, a carriage return or both (the empty line between them is not a record). A
line that is not UTF-8 or exceeds :data:`LONGEST_LINE` bytes is blanked, and affects no other.


The engine reads numpy's buffers as an Arrow C stream while they are made. The structures are those of the Arrow C data
and C stream interfaces. A consumer may move a structure before it releases it, so its contents are kept alive here,
under a number that travels in ``private_data``.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.faults import noticing
from flexdp.tables.files.bytes import STDIN, ReadInto, open_bytes

__all__ = ["LONGEST_LINE", "FindEnds", "Lines", "TextBatch", "line_ends", "split_lines", "text_stream"]

_CAPSULE = b"arrow_array_stream"
_MESSAGE = ctypes.create_string_buffer(b"the text could not be read")  # the cause may quote it


class TextBatch(NamedTuple):
    """Text i is ``data[offsets[i]:offsets[i + 1]]``, in UTF-8."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int32]


def _fields(texts: str, numbers: str, addresses: str) -> list[tuple[str, Any]]:
    types = ((texts, ctypes.c_char_p), (numbers, ctypes.c_int64), (addresses, ctypes.c_void_p))
    return [(name, kind) for names, kind in types for name in names.split()]


class _Schema(ctypes.Structure):
    """The type of an array."""

    _fields_ = _fields("format name metadata", "flags n_children", "children dictionary release private_data")


class _Array(ctypes.Structure):
    """The content of an array."""

    _fields_ = _fields(
        "", "length null_count offset n_buffers n_children", "buffers children dictionary release private_data"
    )


class _Stream(ctypes.Structure):
    _fields_ = _fields("", "", "get_schema get_next get_last_error release private_data")


class _Source(NamedTuple):
    """A column's name and its batches, which the engine's threads take one after the other."""

    name: bytes
    batches: Iterator[TextBatch]
    lock: threading.Lock


_held: dict[int, Any] = {}  # the contents of structures that are not yet released
_numbers = itertools.count(1)  # 0 would be NULL
_streams: dict[int, _Stream] = {}  # while their capsules live


def text_stream(name: str, begin: Callable[[], Iterator[TextBatch]]) -> object:
    """Return a capsule with a stream of one column of texts. Nothing is read before the first batch is requested."""

    def batches() -> Iterator[TextBatch]:
        yield from begin()

    stream = _Stream(_GET_SCHEMA, _GET_NEXT, _GET_LAST_ERROR)
    _hold(stream, _Source(name.encode(), noticing(batches()), threading.Lock()))
    address = ctypes.addressof(stream)
    _streams[address] = stream
    return _new_capsule(address, _CAPSULE, _END_OF_CAPSULE)


def _hold(out: Any, contents: Any) -> None:
    """Keep the contents of a structure until it is released."""
    number = next(_numbers)
    _held[number] = contents
    out.private_data, out.release = number, _RELEASE[type(out)]


def _addresses(of: Sequence[int | None]) -> Any:
    return (ctypes.c_void_p * len(of))(*of)


def _fill(out: Any, children: Sequence[Any] = (), kept: Any = None, **values: Any) -> None:
    ctypes.memset(ctypes.addressof(out), 0, ctypes.sizeof(out))
    for name, value in values.items():
        setattr(out, name, ctypes.addressof(value) if isinstance(value, ctypes.Array) else value)
    pointers = _addresses([ctypes.addressof(child) for child in children])
    out.n_children, out.children = len(children), ctypes.addressof(pointers)
    _hold(out, (values, kept, children, pointers))


# The engine calls these functions from its own threads. None may raise: errors are return values. The engine must never
# call them with a Python exception pending: DuckDB never does, pyarrow may.


def _get_schema(stream: int, out: int) -> int:
    source: _Source = _held[_Stream.from_address(stream).private_data]
    column = _Schema()
    _fill(column, format=b"u", name=source.name)
    _fill(_Schema.from_address(out), [column], format=b"+s", name=b"")
    return 0


def _get_next(stream: int, out: int) -> int:
    source: _Source = _held[_Stream.from_address(stream).private_data]
    try:
        with source.lock:
            batch = next(source.batches, None)
    except BaseException:  # noqa: BLE001  (ctypes would print it, and it may quote a line)
        return errno.EIO
    column, array = _Array(), _Array.from_address(out)
    if batch is None:
        array.release = None
        return 0
    length, buffers = len(batch.offsets) - 1, [None, batch.offsets.ctypes.data, batch.data.ctypes.data]
    _fill(column, (), batch, length=length, n_buffers=3, buffers=_addresses(buffers))
    _fill(array, [column], length=length, n_buffers=1, buffers=_addresses([None]))
    return 0


def _get_last_error(_stream: int) -> int:
    return ctypes.addressof(_MESSAGE)


def _release(kind: Any, address: int | None) -> None:
    found = kind.from_address(address)
    count = getattr(found, "n_children", 0)
    for child in (ctypes.c_void_p * count).from_address(found.children) if count else ():
        if kind.from_address(child).release:  # else the consumer has moved it, and releases it there
            _release(kind, child)
    found.release = None
    _held.pop(found.private_data, None)


def _end_of_capsule(capsule: int) -> None:  # an address: no reference to the object is left
    address = _capsule_pointer(capsule, _CAPSULE)
    stream = _streams.pop(address)
    if stream.release:  # not consumed
        _release(_Stream, address)


def _callback(function: Any, result: Any, parameters: int) -> Any:
    called = ctypes.CFUNCTYPE(result, *[ctypes.c_void_p] * parameters)(function)
    _callbacks.append(called)  # kept alive for the life of the process
    return ctypes.cast(called, ctypes.c_void_p).value


_callbacks: list[Any] = []
_GET_SCHEMA, _GET_NEXT = (_callback(function, ctypes.c_int, 2) for function in (_get_schema, _get_next))
_GET_LAST_ERROR = _callback(_get_last_error, ctypes.c_void_p, 1)
_RELEASE = {kind: _callback(partial(_release, kind), None, 1) for kind in (_Schema, _Array, _Stream)}
_END_OF_CAPSULE = _callback(_end_of_capsule, None, 1)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


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
