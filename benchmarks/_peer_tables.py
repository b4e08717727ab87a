"""Tables of the comparison: columns of numbers from ``_columns`` and keys that are drawn or ship in PyPI packages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.metadata import files as files_of
from importlib.resources import files

import numpy as np
from _columns import LAWS, flights, real_columns, sampled
from panel_peers import good_bounds

NUMBERS = ("flights", "lognormal", "ages", "pareto", "elevation", "cells", "uniform")
LISTED_AT_MOST = 20_000  # keys in a public list that is "1000 times" too long
SEED = 881_101

Keys = np.ndarray


@cache
def _words() -> Keys:
    """Every word of scikit-learn's source files, in order."""
    sources = sorted((path for path in files_of("scikit-learn") or () if path.suffix == ".py"), key=str)
    texts = (path.read_text(encoding="utf-8") for path in sources)
    return np.array(re.findall(r"[a-z]+", " ".join(texts).lower()))


@cache
def _carriers() -> Keys:
    import pyarrow.parquet as pq

    table = pq.read_table(str(files("flexdp") / "data" / "flights.parquet"))
    return np.array(table.column("carrier").to_pylist())


@cache
def _colours() -> Keys:
    """Colours of a photograph that ships with scikit-learn, 16 steps a channel."""
    from sklearn.datasets import load_sample_image

    codes = (load_sample_image("flower.jpg") // 16).reshape(-1, 3)
    return np.array([f"{r:x}{g:x}{b:x}" for r, g, b in codes.tolist()])


def _named(letter: str, draw: Callable[[np.random.Generator, int], np.ndarray]) -> Callable[..., Keys]:
    return lambda rng, n: np.char.add(letter, draw(rng, n).astype(str))


_DRAWN: dict[str, Callable[[np.random.Generator, int], Keys]] = {
    "Zipf": _named("w", lambda rng, n: np.minimum(rng.zipf(1.5, n), 10**6)),
    "geometric": _named("g", lambda rng, n: rng.geometric(0.02, n)),
    "uniform 1000": _named("u", lambda rng, n: rng.integers(0, 1000, n)),
}
_REAL: dict[str, Callable[[], Keys]] = {"words": _words, "carriers": _carriers, "colours": _colours}
KEYS = ("words", "Zipf", "carriers", "geometric", "colours", "uniform 1000")
ABOUT = {
    "flights": "departure delays in minutes, shipped with flexdp",
    "elevation": "terrain in metres, shipped with matplotlib",
    "cells": "measurements of cell nuclei, shipped with scikit-learn",
    "lognormal": "drawn, two decimals",
    "ages": "drawn, whole years",
    "pareto": "drawn, tail exponent 1.5",
    "uniform": "drawn, 0 to 1",
    "words": "the words of scikit-learn's source files",
    "carriers": "airlines of the flights shipped with flexdp, 16 keys",
    "colours": "colours of a photograph shipped with scikit-learn, 16 steps a channel",
    "Zipf": "drawn, exponent 1.5, up to 10^6 keys",
    "geometric": "drawn, success probability 0.02",
    "uniform 1000": "drawn, 1000 equally likely keys",
}


@cache
def _real_columns() -> dict[str, np.ndarray]:
    return real_columns()


def numbers(name: str, size: int) -> tuple[np.ndarray, tuple[float, float]]:
    """The records of one block, the same in every run, and good bounds."""
    real = _real_columns() if name not in LAWS else {}
    law = sampled(real[name]) if name in real else LAWS[name]
    return law(np.random.default_rng([SEED, size, *name.encode()]), size), good_bounds(name, real)


def keys(name: str, size: int) -> Keys:
    """The keys of one block, the same in every run."""
    rng = np.random.default_rng([SEED, size, *name.encode()])
    if name in _DRAWN:
        return _DRAWN[name](rng, size)
    return sampled(_REAL[name]())(rng, size)


def size_limit(name: str) -> int | None:
    """The number of records of a real table."""
    if name in _REAL:
        return len(_REAL[name]())
    if name in LAWS or name in _DRAWN:
        return None
    return len(flights()) if name == "flights" else len(_real_columns()[name])


def listed(counts: Counter[str], times: int) -> list[str]:
    """A public list of keys: all that occur, and others up to ``times`` as many, in an order that tells nothing."""
    found = list(counts)
    others = min(len(found) * times, LISTED_AT_MOST) - len(found)
    names = np.array(found + [f"~{place}" for place in range(max(0, others))])
    return np.random.default_rng(7).permutation(names).tolist()
