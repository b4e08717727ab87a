"""Uniform integers and weighted choices from random bits, exactly.

Nothing is kept between two calls: no pool that a forked process or another thread could draw from a second time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from flexdp.errors import InputError
from flexdp.noise.sampler import RandomBytes, system_bytes

__all__ = ["Bits"]


class Bits:
    """A source of exact uniform integers.

    Parameters
    ----------
    source : callable, optional
        Returns the requested number of bytes. The default is the operating system's generator, and a release uses no
        other; tests and experiments pass chosen or seeded bytes.

    Examples
    --------
    >>> bits = Bits(lambda size: b"\\x05" * size)
    >>> bits.below(6), bits.accept(1, 6), bits.choose([1, 2, 3])
    (0, True, 0)
    """

    __slots__ = ("_source",)

    def __init__(self, source: RandomBytes = system_bytes) -> None:
        self._source = source

    @property
    def source(self) -> RandomBytes:
        """Where the bits come from."""
        return self._source

    def below(self, limit: int) -> int:
        """Draw a uniform integer from 0 to ``limit`` − 1, by rejection.

        Parameters
        ----------
        limit : int
            The number of equally likely outcomes, at least 1.

        Returns
        -------
        int
            The outcome.

        Raises
        ------
        InputError
            If the limit is below 1.
        """
        if limit <= 1:
            if limit < 1:
                raise InputError("limit", "must be at least 1")
            return 0
        wanted = (limit - 1).bit_length()
        length = (wanted + 7) >> 3
        excess = 8 * length - wanted
        while True:
            drawn = int.from_bytes(self._source(length), "little") >> excess
            if drawn < limit:
                return drawn

    def accept(self, part: int, whole: int) -> bool:
        """Return True with probability part/whole.

        Parameters
        ----------
        part, whole : int
            At least 0, and at least 1.

        Returns
        -------
        bool
            The outcome.
        """
        return self.below(whole) < part

    def choose(self, weights: Iterable[int]) -> int:
        """Draw a position with probability proportional to its integer weight.

        Parameters
        ----------
        weights : iterable of int
            Non-negative, with a positive sum.

        Returns
        -------
        int
            The position.
        """
        running = list(accumulate(weights))
        return bisect_right(running, self.below(running[-1] if running else 0))
