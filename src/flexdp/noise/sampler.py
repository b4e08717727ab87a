"""Exact sampling of an integer table; the only place where a release gets random bits."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from flexdp.errors import UnavailableError

__all__ = ["RandomBytes", "Sampler", "fresh_salt", "system_bytes"]

_GUIDE_BITS = 16
_BLOCK = 1 << 16  # draws at a time: they fit into the cache, and memory does not grow with the request

RandomBytes = Callable[[int], bytes]


def system_bytes(size: int) -> bytes:
    """Return ``size`` bytes from the operating system's generator.

    Raises
    ------
    UnavailableError
        If the generator fails or returns another number of bytes: fewer would make a draw biased without notice.
    """
    try:
        drawn = os.urandom(size)
    except (OSError, NotImplementedError):  # refused below, in our words
        drawn = b""
    if len(drawn) != size:
        raise UnavailableError(
            "randomness",
            ": the operating system's generator failed or returned too few bytes",
            remedy="Nothing is released without it; try again once the system provides random bytes.",
        )
    return drawn


def fresh_salt() -> str:
    """Draw the salt that makes the choice of a unit's buckets unpredictable: 128 bits of the system's generator.

    Returns
    -------
    str
        32 hexadecimal digits.

    Examples
    --------
    >>> len(fresh_salt())
    32
    """
    return system_bytes(16).hex()


class Sampler:
    """Sampling of an integer table by inversion: 16 bits nearly always suffice, then 64, then all of them."""

    def __init__(self, weights: Sequence[int], bits: int) -> None:
        self._boundaries = list(accumulate(weights))[:-1]  # J is the number of them that are ≤ u
        self._bits = bits
        self._words = np.array([c >> (bits - 64) for c in self._boundaries], dtype=np.uint64)
        prefixes = (self._words >> np.uint64(64 - _GUIDE_BITS)).astype(np.int64)
        within = np.bincount(prefixes, minlength=1 << _GUIDE_BITS)
        guide = np.concatenate(([0], np.cumsum(within)[:-1]))
        self._guide = np.where(within == 0, guide, -1).astype(np.int32)  # −1: a boundary lies inside this prefix

    def draw(self, size: int, random_bytes: RandomBytes) -> NDArray[np.int64]:
        """Draw ``size`` independent values."""
        out = np.empty(size, dtype=np.int64)
        for start in range(0, size, _BLOCK):
            block = out[start : start + _BLOCK]
            prefix = np.frombuffer(random_bytes(2 * len(block)), dtype="<u2")
            block[:] = self._guide.take(prefix)
            open_cases = np.flatnonzero(block < 0)
            if len(open_cases):
                block[open_cases] = self._settle(prefix[open_cases], random_bytes)
        return out

    def _settle(self, prefix: NDArray[np.uint16], random_bytes: RandomBytes) -> NDArray[np.int64]:
        """Extend the prefixes to 64 bits and compare; on a tie with a boundary, to all bits."""
        rest = np.frombuffer(random_bytes(8 * len(prefix)), dtype="<u8") >> np.uint64(_GUIDE_BITS)
        word = (prefix.astype(np.uint64) << np.uint64(64 - _GUIDE_BITS)) | rest
        drops = np.searchsorted(self._words, word, side="right").astype(np.int64)
        if self._bits > 64:
            for i in np.flatnonzero(self._words[np.maximum(drops - 1, 0)] == word):
                low = int.from_bytes(random_bytes((self._bits - 64) // 8), "little")
                drops[i] = bisect_right(self._boundaries, int(word[i]) << (self._bits - 64) | low)
        return drops
