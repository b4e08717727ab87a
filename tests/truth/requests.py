"""Random requests, each with what it means in plain Python."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truth.tables import GROUPS, Rng, Table

FILTERS: dict[str, Callable[[int], bool]] = {
    "w < 5": lambda w: w < 5,
    "w IN (1, 2, 3)": lambda w: w in (1, 2, 3),
    "w >= 0": lambda w: w >= 0,
    "NOT w = 3": lambda w: w != 3,
}
STATISTICS = ("max", "min", "median", "range", "iqr", "count", "sum", "mean", "q0.99", "q0.05", "q0.9")
_BOUNDS = {
    "number": [(0, 200), (-100, 100), (0, 1000), (30, 45), (5, 12.5)],
    "integer": [(0, 1), (0, 120), (18, 60), (7, 8), (-1000, 1000)],
    "date": [(dt.date(2024, 1, 1), dt.date(2024, 12, 31)), (dt.date(2024, 6, 1), dt.date(2024, 8, 1))],
    "datetime": [(dt.datetime(2024, 1, 1), dt.datetime(2024, 3, 1))],
}
_WIDTHS: dict[str, list[Any]] = {
    "number": [5, 10, 0.5, 100],
    "integer": [1, 5, 10, 100],
    "date": ["1 day", "7 days", "1 month"],
    "datetime": ["1 day", "1 hour", "1 month"],
}


@dataclass(frozen=True)
class Request:
    """The parameters of a release, and the test of its filter."""

    parameters: dict[str, Any] = field(default_factory=dict)

    def passes(self, w: int) -> bool:
        """Tell whether a record passes the filter."""
        where = self.parameters.get("where")
        return where is None or FILTERS[where](w)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of Python, such as what copies and pickles ask for before there are parameters
            raise AttributeError(name)
        return self.parameters.get(name)


def random_request(rng: Rng, table: Table) -> Request:
    """Return a request that mostly fits a table; what does not fit is refused before anything is read."""
    kind = table.kind
    chosen: dict[str, Any] = {"epsilon": float(rng.choice([0.5, 1, 1, 3])), "delta": 1e-6}
    ordered = kind in _WIDTHS
    how = rng.choice(["width", "bounds", "edges", "relative", "exact", "automatic", "ask"]) if ordered else "exact"
    asked = [str(word) for word in rng.choice(STATISTICS, int(rng.integers(1, 5)), replace=False)]
    if how in ("width", "bounds"):
        chosen["width"] = _pick(rng, _WIDTHS[kind])
    if how == "bounds" or (how in ("ask", "exact", "relative", "automatic") and ordered and rng.random() < 0.3):
        chosen["bounds"] = _pick(rng, _BOUNDS[kind])
        chosen["outside"] = str(rng.choice(["clamp", "clamp", "drop"]))
    if how == "edges":
        low, high = _pick(rng, _BOUNDS[kind])
        chosen["edges"] = [low, low + (high - low) / 4, high] if kind == "number" else [low, high]
        chosen["outside"] = str(rng.choice(["clamp", "drop"]))
    if how == "relative":
        chosen["relative"] = 0.1
    if how == "exact" and ordered:
        chosen["exact"] = True
    if how == "ask" or (ordered and rng.random() < 0.3):
        chosen["ask"] = asked
    if how == "ask":
        chosen["delta"] = 0
    if rng.random() < 0.3:
        chosen["where"] = str(rng.choice(list(FILTERS)))
    if rng.random() < 0.35:
        chosen["by"] = "g"
        if rng.random() < 0.6:
            chosen["groups"] = [*GROUPS[: int(rng.integers(1, 5))], "nowhere"]
            if rng.random() < 0.4:
                chosen["other"] = "elsewhere"
        elif not chosen["delta"]:
            chosen["delta"] = 1e-6
    if rng.random() < 0.35:
        chosen["unit"] = "u"
        if rng.random() < 0.6:
            chosen["max_buckets_per_unit"] = int(rng.choice([1, 2, 3, 10]))
        else:
            chosen["per_unit"] = str(rng.choice(["max", "min", "mean", "random"]))
    if chosen["delta"] and "bounds" not in chosen and rng.random() < 0.15:
        chosen["certify"] = 0.1
    return Request(chosen)


def _pick(rng: Rng, options: list[Any]) -> Any:
    return options[int(rng.integers(len(options)))]


def seeded(seed: int) -> Rng:
    """Return a generator of tables and requests; noise comes from elsewhere."""
    return np.random.default_rng(seed)
