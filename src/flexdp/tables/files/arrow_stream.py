"""One column of texts as an Arrow C stream, so that an engine reads numpy's buffers while they are made.

The structures are those of the Arrow C data and C stream interfaces. A consumer may move a structure before it releases
it, so its contents are kept alive here, under a number that travels in ``private_data``.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.faults import noticing

__all__ = ["TextBatch", "text_stream"]

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
