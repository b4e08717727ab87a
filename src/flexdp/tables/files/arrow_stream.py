"""One column of texts as an Arrow C stream, so that an engine reads numpy's buffers while they are made.

The structures are those of the Arrow C data and C stream interfaces. A consumer may move a structure before it releases
it, so its contents are kept alive here, under a number that travels in ``private_data``.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.faults import noticing

__all__ = ["ArrowArray", "ArrowSchema", "TextBatch", "text_stream"]

_CAPSULE = b"arrow_array_stream"
_MESSAGE = ctypes.create_string_buffer(b"the text could not be read")  # the cause may quote it


class TextBatch(NamedTuple):
    """Text i is ``data[offsets[i]:offsets[i + 1]]``, in UTF-8."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int32]


class _Stream(ctypes.Structure):
    _fields_ = [
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


_held: dict[int, Any] = {}  # the contents of structures that are not yet released
_numbers = itertools.count(1)  # 0 would be NULL


class _Source:
    """A column's name and its batches, started when the first one is requested."""

    def __init__(self, name: str, begin: Callable[[], Iterator[TextBatch]]) -> None:
        self.name = name.encode()
        self._begin = begin
        self._batches: Iterator[TextBatch] | None = None
        self._lock = threading.Lock()

    def next(self) -> TextBatch | None:
        with self._lock:
            if self._batches is None:
                self._batches = noticing(self._begin())
            return next(self._batches, None)


def text_stream(name: str, begin: Callable[[], Iterator[TextBatch]]) -> object:
    """Return a capsule with a stream of one column of texts. Nothing is read before the first batch is requested."""
    stream = _Stream(_GET_SCHEMA, _GET_NEXT, _GET_LAST_ERROR, _RELEASE_STREAM)
    stream.private_data = _hold(_Source(name, begin))
    address = ctypes.addressof(stream)
    _streams[address] = stream
    return _new_capsule(address, _CAPSULE, _END_OF_CAPSULE)


_streams: dict[int, _Stream] = {}  # while their capsules live


def _hold(what: Any) -> int:
    number = next(_numbers)
    _held[number] = what
    return number


def _pointers(kind: Any, children: list[Any]) -> Any:
    return (ctypes.POINTER(kind) * len(children))(*(ctypes.pointer(child) for child in children))


def _make_schema(out: ArrowSchema, form: bytes, name: bytes, children: list[ArrowSchema]) -> None:
    pointers = _pointers(ArrowSchema, children)
    out.format, out.name, out.metadata = form, name, None
    out.flags = 0
    out.n_children, out.children, out.dictionary = len(children), pointers, None
    out.release = _RELEASE_SCHEMA
    out.private_data = _hold((form, name, children, pointers))


def _make_array(out: ArrowArray, length: int, buffers: list[Any], children: list[ArrowArray]) -> None:
    pointers = _pointers(ArrowArray, children)
    addresses = (ctypes.c_void_p * len(buffers))(*(None if each is None else each.ctypes.data for each in buffers))
    out.length, out.null_count, out.offset = length, 0, 0
    out.n_buffers, out.buffers = len(buffers), addresses
    out.n_children, out.children, out.dictionary = len(children), pointers, None
    out.release = _RELEASE_ARRAY
    out.private_data = _hold((buffers, addresses, children, pointers))


# The engine calls these functions from its own threads. None may raise: errors are return values. The engine must never
# call them with a Python exception pending: DuckDB never does, pyarrow may.


def _get_schema(stream: int, out: int) -> int:
    source = _held[_Stream.from_address(stream).private_data]
    column = ArrowSchema()
    _make_schema(column, b"u", source.name, [])
    _make_schema(ArrowSchema.from_address(out), b"+s", b"", [column])
    return 0


def _get_next(stream: int, out: int) -> int:
    try:
        batch = _held[_Stream.from_address(stream).private_data].next()
    except BaseException:  # noqa: BLE001  (ctypes would print it, and it may quote a line)
        return errno.EIO
    array = ArrowArray.from_address(out)
    if batch is None:
        array.release = None
        return 0
    column, length = ArrowArray(), len(batch.offsets) - 1
    _make_array(column, length, [None, batch.offsets, batch.data], [])
    _make_array(array, length, [None], [column])
    return 0


def _get_last_error(_stream: int) -> int:
    return ctypes.addressof(_MESSAGE)


def _release_tree(kind: Any, address: int) -> None:
    found = kind.from_address(address)
    for i in range(found.n_children):
        child = found.children[i].contents
        if child.release:  # else the consumer has moved it, and releases it there
            _release_tree(kind, ctypes.addressof(child))
    found.release = None
    _held.pop(found.private_data, None)


def _release_schema(address: int) -> None:
    _release_tree(ArrowSchema, address)


def _release_array(address: int) -> None:
    _release_tree(ArrowArray, address)


def _release_stream(address: int) -> None:
    stream = _Stream.from_address(address)
    stream.release = None
    _held.pop(stream.private_data, None)


def _end_of_capsule(capsule: int) -> None:  # an address: no reference to the object is left
    address = _capsule_pointer(capsule, _CAPSULE)
    stream = _streams.pop(address)
    if stream.release:  # not consumed
        _release_stream(address)


def _callback(function: Any, result: Any, *parameters: Any) -> Any:
    called = ctypes.CFUNCTYPE(result, *parameters)(function)
    _callbacks.append(called)  # kept alive for the life of the process
    return ctypes.cast(called, ctypes.c_void_p).value


_callbacks: list[Any] = []
_GET_SCHEMA = _callback(_get_schema, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_GET_NEXT = _callback(_get_next, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_GET_LAST_ERROR = _callback(_get_last_error, ctypes.c_void_p, ctypes.c_void_p)
_RELEASE_SCHEMA, _RELEASE_ARRAY, _RELEASE_STREAM, _END_OF_CAPSULE = (
    _callback(function, None, ctypes.c_void_p)
    for function in (_release_schema, _release_array, _release_stream, _end_of_capsule)
)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class ArrowSchema(ctypes.Structure):
    """The type of an array."""


class ArrowArray(ctypes.Structure):
    """The content of an array."""


ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
