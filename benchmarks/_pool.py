"""Bytes of the system's generator, fetched many at a time; a release fetches those of each draw by themselves."""

from __future__ import annotations

import os

_BLOCK = 1 << 16


class Pool:
    """A source for ``Bits`` in one process that never forks: every byte is handed out once."""

    def __init__(self) -> None:
        self._bytes, self._next = b"", 0

    def __call__(self, size: int) -> bytes:
        end = self._next + size
        if end > len(self._bytes):
            self._bytes, self._next, end = os.urandom(max(_BLOCK, size)), 0, size
        drawn = self._bytes[self._next : end]
        self._next = end
        return drawn
