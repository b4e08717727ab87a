"""Random tables that a reader might publish: ties, outliers, heavy units, tiny groups, values at and beyond bounds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

Rng: TypeAlias = np.random.Generator

GROUPS = ("north", "south", "east", "west", "a very small place")


@dataclass(frozen=True)
class Table:
    """Records in plain Python: value ``v`` of a kind, group ``g``, unit ``u`` and a column ``w`` to filter by."""

    law: str
    kind: str
    v: list[Any]
    g: list[Any]
    u: list[Any]
    w: list[Any]

    def frame(self) -> pl.DataFrame:
        """Return the table with declared types."""
        types = {
            "number": pl.Float64(), "integer": pl.Int64(), "boolean": pl.Boolean(), "text": pl.String(),
            "date": pl.Date(), "datetime": pl.Datetime("us"),
        }  # fmt: skip
        schema = {"v": types[self.kind], "g": pl.String(), "u": pl.Int64(), "w": pl.Int64()}
        return pl.DataFrame({"v": self.v, "g": self.g, "u": self.u, "w": self.w}, schema=schema)

    def __len__(self) -> int:
        return len(self.v)

    def with_values(self, rng: Rng) -> Table:
        """Return the same records with other values, of another law and mostly of another kind."""
        law = str(rng.choice(list(LAWS)))
        kind, draw = LAWS[law]
        return replace(self, law=law, kind=kind, v=draw(rng, len(self)))


def _cents(values: Any) -> list[float]:
    return [float(value) for value in np.round(values, 2)]


def _costs(rng: Rng, n: int) -> list[float]:
    return _cents(rng.lognormal(5, 1.3, n))


def _two_clusters(rng: Rng, n: int) -> list[float]:
    near = rng.uniform(0, 20, n)
    return _cents(np.where(rng.random(n) < 0.6, near, near + 1e6))


def _outlier(rng: Rng, n: int) -> list[float]:
    values = _cents(rng.normal(50, 10, n))
    for place in range(min(n, 3)):
        values[place] = float(10 ** rng.integers(5, 12))
    return values


def _at_bounds(rng: Rng, n: int) -> list[float]:
    return [float(value) for value in rng.choice([0, 10, 100, 200, 199.99, 200.01, -5, 1e6], n)]


def _holes(rng: Rng, n: int) -> list[Any]:
    values: list[Any] = _costs(rng, n)
    for place in rng.integers(0, n, n // 10).tolist():
        values[place] = [None, float("nan"), float("inf"), -float("inf")][place % 4]
    return values


def _zeros(rng: Rng, n: int) -> list[float]:
    return _cents(np.where(rng.random(n) < 0.6, 0, rng.exponential(300, n)))


def _masses(rng: Rng, n: int) -> list[float]:
    """Tiny numbers, half of the time so close together that the middle of a ladder may lie far from them."""
    spread = float(rng.choice([1e-3, 0.2]))
    return [1.67e-27 * (1 + spread * float(x)) for x in rng.normal(0, 1, n)]


_DAY = dt.date(2024, 1, 1)
_MOMENT = dt.datetime(2024, 1, 1)


LAWS: dict[str, tuple[str, Callable[[Rng, int], list[Any]]]] = {
    "costs": ("number", _costs),
    "normal": ("number", lambda rng, n: [float(x) for x in rng.normal(-3, 40, n)]),
    "tenths": ("number", lambda rng, n: [round(float(x), 1) for x in rng.uniform(30, 45, n)]),
    "two clusters": ("number", _two_clusters),
    "outlier": ("number", _outlier),
    "at bounds": ("number", _at_bounds),
    "holes": ("number", _holes),
    "zeros": ("number", _zeros),
    "constant": ("number", lambda _, n: [12.5] * n),
    "tiny": ("number", _masses),
    "far": ("number", lambda rng, n: [float(x) for x in rng.normal(1.7e9, 3600, n)]),
    "ages": ("integer", lambda rng, n: [int(x) // 5 * 5 if x % 2 else int(x) for x in rng.integers(18, 95, n)]),
    "flags": ("integer", lambda rng, n: [int(x) for x in rng.random(n) < 0.43]),
    "few integers": ("integer", lambda rng, n: [int(x) for x in rng.choice([1, 2, 3, 1000], n)]),
    "same integer": ("integer", lambda _, n: [7] * n),
    "large integers": ("integer", lambda rng, n: [int(x) for x in rng.integers(-(10**12), 10**12, n)]),
    "yes and no": ("boolean", lambda rng, n: [bool(x) for x in rng.random(n) < 0.31]),
    "names": ("text", lambda rng, n: [f"name {x}" for x in np.minimum(rng.zipf(1.5, n), 300)]),
    "days": ("date", lambda rng, n: [_DAY + dt.timedelta(int(x)) for x in rng.integers(0, 500, n)]),
    "same day": ("date", lambda _, n: [_DAY] * n),
    "moments": ("datetime", lambda rng, n: [_MOMENT + dt.timedelta(seconds=int(x)) for x in rng.integers(0, 10**7, n)]),
}


def random_table(rng: Rng, law: str | None = None, rows: int | None = None) -> Table:
    """Return a table of one law; half of them have units with many records, whose values are alike."""
    law = str(rng.choice(list(LAWS))) if law is None else law
    kind, draw = LAWS[law]
    n = int(rng.choice([60, 400, 1500, 4000])) if rows is None else rows
    values = draw(rng, n)
    weights = np.array([0.5, 0.3, 0.15, 0.045, 0.005])
    groups: list[Any] = [GROUPS[i] for i in rng.choice(5, n, p=weights)]
    units: list[Any] = list(range(n))
    if rng.random() < 0.5:  # a few units have most records, and the largest values
        sizes = np.minimum(rng.zipf(1.3, n), 1000).tolist()
        units = [unit for unit, size in enumerate(sizes) for _ in range(int(size))][:n]
        if kind in ("number", "integer"):
            values = sorted(values, key=lambda value: -1e300 if value is None or value != value else value)
            values.reverse()
    for place in rng.integers(0, n, n // 50).tolist():
        if place % 2:
            groups[place] = None
        else:
            units[place] = None
    return Table(law, kind, values, groups, units, rng.integers(0, 10, n).tolist())
