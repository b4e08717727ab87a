"""One column of a release on the scale of a picture."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import days_since_epoch, micros_since_epoch
from flexdp._core.keys import canonical_keys
from flexdp._core.text import blanks_shown
from flexdp._release.json import exact_index
from flexdp._release.ranges import bucket_texts, value_words
from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.partition import Buckets
from flexdp.buckets.relative import RelativeWidth

__all__ = ["Axis", "label", "position_of"]


@dataclass(frozen=True, slots=True)
class Axis:
    """A column's name and buckets, and where they lie on a linear scale."""

    name: str | None
    buckets: Buckets

    @property
    def kind(self) -> Kind:
        """The kind that the column was read as."""
        return self.buckets.kind

    @property
    def ordered(self) -> bool:
        """True for numbers and times."""
        return self.kind not in ("text", "boolean")

    @property
    def bucketed(self) -> bool:
        """True where buckets have a width."""
        return not isinstance(self.buckets, Exact)

    @property
    def even(self) -> bool:
        """True for relative buckets, drawn side by side: a linear scale would show only the widest."""
        return isinstance(self.buckets, RelativeWidth)

    def key(self, stored: Any) -> Any:
        """Return a key as it is; JSON holds p/q where neither an integer nor a double does."""
        return Fraction(stored) if self.kind == "integer" and isinstance(stored, str) else stored

    def position(self, key: Any) -> float:
        """Return where a key lies on the scale: numbers as they are, days and seconds since 1970."""
        if self.kind == "date":
            return position_of(dt.date.fromisoformat(key))
        return position_of(dt.datetime.fromisoformat(key)) if self.kind == "datetime" else float(key)

    def spans(self, keys: Sequence[Any], index: Sequence[int] | None) -> NDArray[np.float64]:
        """Return where each bucket begins and ends on the scale, as n × 2."""
        if self.even and index is not None:
            places = np.array(index, dtype=np.float64)
            return np.stack([places - 0.5, places + 0.5], axis=1)
        if index is not None and self.bucketed:
            buckets = self.buckets.edges_of(canonical_keys(index))
            ends = [[position_of(bucket.lower), position_of(bucket.upper)] for bucket in buckets]
            found = np.array(ends, dtype=np.float64).reshape(-1, 2)
            if self.kind in ("integer", "date"):  # a bucket of whole numbers or days reaches to the next one
                found[:, 1] += 1
            for row in found:
                if np.isinf(row).any():
                    width = self._beyond(row)
                    low, high = row if np.isfinite(row).any() else (-np.inf, 1.0)
                    row[:] = (high - width, high) if np.isinf(low) else (low, low + width)
            return found
        places = np.array([self.position(key) for key in keys], dtype=np.float64)
        gaps = np.diff(np.unique(places / 2))  # halves: the widest doubles would overflow
        half = 0.5 if self.kind in ("integer", "date") or not len(gaps) else float(gaps.min())
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            return np.clip(np.stack([places - half, places + half], axis=1), -largest, largest)

    def _beyond(self, row: NDArray[np.float64]) -> float:
        """The width in which an open bucket is drawn: that of the bucket beside it, or a tenth of its edge."""
        inner = range(1, (self.buckets.count or 1) - 1)
        beside = self.spans((), [inner[-1] if np.isinf(row[1]) else inner[0]])[0] if inner else np.zeros(2)
        finite = row[np.isfinite(row)]
        return float(beside[1] - beside[0]) or max(1.0, float(np.abs(finite).max(initial=0.0)) / 10)

    def public_range(self) -> tuple[float, float] | None:
        """Return the ends of all public buckets, where bounds made them public."""
        count, first = self.buckets.count, self.buckets.first
        if count is None:
            return None
        ends = self.spans((), [first, first + count - 1])
        return float(ends[0, 0]), float(ends[-1, 1])

    def texts(self, keys: Sequence[Any], index: Sequence[Any] | None) -> list[str]:
        """Return some buckets as readers see them: "90–95"."""
        if self.kind in ("text", "boolean"):
            return [blanks_shown(str(key), broad=True) for key in keys]
        if self.bucketed and index is None:
            return [value_words(key) for key in keys]
        found: Any = index if self.bucketed else exact_index(self.kind, list(keys))
        return bucket_texts(self.buckets, canonical_keys(found))


def position_of(end: Any) -> float:
    """Return where a value lies on the scale: numbers as they are, days and seconds since 1970."""
    if isinstance(end, dt.datetime):  # of the clock that was read
        return micros_since_epoch(end) / 10**6
    return float(days_since_epoch(end)) if isinstance(end, dt.date) else float(end)


def label(value: Any) -> str:
    """Return a group's value, or several, as a picture or a table shows it."""
    return ", ".join(map(label, value)) if isinstance(value, list | tuple) else blanks_shown(str(value), broad=True)
