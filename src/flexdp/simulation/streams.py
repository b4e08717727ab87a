"""Seeded streams for studies on simulated or public data: one for each name, independent of all others.

A stream is named by its use (an experiment, a data set, a mechanism, an ε), and its seed is a digest of that name. So
no number depends on the order of the work, on what else was asked for, on a resumption or on the number of processes.
This is the only place outside the noise room that makes a generator, and no release can import it: a seeded stream
protects nobody.
"""

from __future__ import annotations

import hashlib

from numpy.random import PCG64, Generator, SeedSequence

__all__ = ["Generator", "stream"]


def stream(seed: int, *name: object) -> Generator:
    """Return the generator of a name under a seed.

    Parameters
    ----------
    seed
        The seed of the study.
    *name
        What the stream is for.

    Returns
    -------
    Generator
        A fresh generator at the start of its stream.

    Examples
    --------
    >>> stream(7, "1", 0, "data").integers(1000) == stream(7, "1", 0, "data").integers(1000)
    np.True_
    >>> stream(7, "1", 0, "data").integers(2**60) == stream(7, "1", 1, "data").integers(2**60)
    np.False_
    """
    text = "\x1f".join(["flexdp", str(seed), *map(str, name)])
    digest = hashlib.sha256(text.encode()).digest()
    return Generator(PCG64(SeedSequence(int.from_bytes(digest))))
