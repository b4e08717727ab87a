"""Columns of the panels: laws that are drawn, and real columns that ship with flexdp, scikit-learn and matplotlib."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from importlib.resources import files

import numpy as np

Law = Callable[[np.random.Generator, int], np.ndarray]

LAWS: dict[str, Law] = {
    "normal": lambda rng, n: rng.normal(50, 15, n),
    "uniform": lambda rng, n: rng.uniform(0, 1, n),
    "lognormal": lambda rng, n: np.round(rng.lognormal(3, 1, n), 2),
    "exponential": lambda rng, n: np.round(rng.exponential(1200, n), 1),
    "pareto": lambda rng, n: np.round(1000 * (1 + rng.pareto(1.5, n)), 2),
    "cauchy": lambda rng, n: 45 + 4 * rng.standard_cauchy(n),
    "ages": lambda rng, n: np.clip(rng.normal(40, 20, n), 0, 105).astype(np.int64),
    "zipf": lambda rng, n: np.minimum(rng.zipf(1.8, n), 10**12).astype(np.int64),
    "ties": lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, np.round(rng.exponential(100, n), 1)),
    "gap": lambda rng, n: np.where(rng.random(n) < 0.5, rng.normal(0, 1, n), rng.normal(1e7, 1, n)),
    "tiny": lambda rng, n: rng.normal(1e-9, 1e-10, n),
    "epoch": lambda rng, n: rng.integers(1_600_000_000, 1_700_000_000, n),
}


def flights() -> np.ndarray:
    """The departure delays that ship with flexdp, in minutes."""
    import pyarrow.parquet as pq

    path = files("flexdp") / "data" / "flights.parquet"
    return pq.read_table(str(path)).column("departure_delay").drop_null().to_numpy().astype(np.int64)


def real_columns() -> dict[str, np.ndarray]:
    """Real columns of at least a thousand records."""
    from matplotlib import cbook
    from sklearn.datasets import load_breast_cancer, load_digits, load_sample_image

    with gzip.open(cbook.get_sample_data("s1045.ima.gz", asfileobj=False)) as scan:
        tissue = np.frombuffer(scan.read(), np.uint16)
    with cbook.get_sample_data("jacksboro_fault_dem.npz") as terrain:
        elevation = terrain["elevation"].ravel()
    with cbook.get_sample_data("topobathy.npz") as globe:
        depth = globe["topo"].ravel()
    with cbook.get_sample_data("goog.npz") as prices:
        volume = prices["price_data"]["volume"]
    return {
        "flights": flights(),
        "elevation": elevation.astype(np.int64),  # metres, terrain around a fault
        "depth": depth.astype(np.float64),  # metres, land and sea floor
        "tissue": tissue.astype(np.int64),  # grey values of a magnetic resonance scan
        "photo": load_sample_image("china.jpg").sum(axis=2).ravel().astype(np.int64),  # brightness, 0 to 765
        "digits": load_digits().data.sum(axis=1).astype(np.int64),  # ink of handwritten digits
        "cells": load_breast_cancer().data.ravel(),  # all measurements of cell nuclei, on thirty scales
        "volume": volume.astype(np.int64),  # shares of a company traded in a day
    }


def sampled(values: np.ndarray) -> Law:
    """Draw records of a real column without replacement, all of it where it has fewer."""
    return lambda rng, n: rng.choice(values, min(n, len(values)), replace=False)
