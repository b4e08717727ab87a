"""The JSON of a release as charts and reports read it: one place that knows its fields.

It takes documents of one column or several (a grid), with or without groups, of records or of units. Nothing here is
believed beyond what a picture needs: :meth:`flexdp.Release.from_json` is what checks a document.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import value_text
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import make_buckets
from flexdp.buckets.partition import Buckets
from flexdp.buckets.relative import RelativeWidth
from flexdp.errors import InputError
from flexdp.histogram import canonical_keys

__all__ = ["Axis", "Document", "label"]

_ORDERED = ("integer", "number", "date", "datetime")


@dataclass(frozen=True, slots=True)
class Axis:
    """One column of a release: its name, how it was read, how it was bucketed.

    ``even`` says that buckets are drawn side by side in the order of their indices, because their widths grow with
    the value (relative buckets) and a linear scale would show only the widest.
    """

    name: str | None
    kind: str
    buckets: Mapping[str, Any]

    @property
    def ordered(self) -> bool:
        return self.kind in _ORDERED

    @property
    def even(self) -> bool:
        return "relative" in self.buckets

    @property
    def partition(self) -> Buckets | None:
        """The partition, where it is one that buckets alone describe."""
        if self.kind in ("text", "boolean") or not self.buckets:
            return None
        kind: Any = self.kind
        return make_buckets(kind, **self.buckets)

    def position(self, key: Any) -> float:
        """Where a key lies on the scale: numbers as they are, days and datetimes since 1970."""
        if self.kind == "date":
            return float(dt.date.fromisoformat(key).toordinal() - dt.date(1970, 1, 1).toordinal())
        if self.kind == "datetime":
            return _seconds(dt.datetime.fromisoformat(key))
        return float(key)

    def key(self, stored: Any) -> Any:
        """A key as it is, which JSON holds as p/q where neither an integer nor a double is."""
        return Fraction(stored) if self.kind == "integer" and isinstance(stored, str) else stored

    def spans(self, keys: Sequence[Any], index: Sequence[int] | None) -> NDArray[np.float64]:
        """Where each bucket begins and ends on the scale, as n × 2."""
        if self.even and index is not None:
            places = np.array(index, dtype=np.float64)
            return np.stack([places - 0.5, places + 0.5], axis=1)
        partition = self.partition
        if index is not None and not isinstance(partition, Exact | RelativeWidth | None):
            buckets = partition.edges_of(canonical_keys(index))
            ends = np.array([[_plain(b.lower), _plain(b.upper)] for b in buckets], dtype=np.float64).reshape(-1, 2)
            if self.kind in ("integer", "date"):  # a bucket of whole numbers or days reaches to the next one
                ends[:, 1] += 1
            return ends
        places = np.array([self.position(key) for key in keys], dtype=np.float64)
        gaps = np.diff(np.unique(places / 2))  # halves: the widest doubles would overflow
        half = 0.5 if self.kind in ("integer", "date") or not len(gaps) else float(gaps.min())
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            return np.clip(np.stack([places - half, places + half], axis=1), -largest, largest)

    def public_range(self) -> tuple[float, float] | None:
        """The ends of all public buckets, where bounds made them public."""
        partition = self.partition
        if partition is None or partition.count is None:
            return None
        ends = self.spans((), [partition.first, partition.first + partition.count - 1])
        return float(ends[0, 0]), float(ends[-1, 1])


@dataclass(frozen=True, slots=True)
class Document:
    """The public content of a release."""

    content: Mapping[str, Any]

    @classmethod
    def read(cls, document: str | bytes | Mapping[str, Any]) -> Document:
        """A document from its text, or as it was parsed."""
        try:
            content = document if isinstance(document, Mapping) else json.loads(document)
            found = cls(content)
            lengths = {len(found.keys), len(found.counts), len(found.groups or found.counts)}
            positive = all(type(count) is int and 0 < count < 2**63 for count in content["bars"]["count"])
            fits = (
                positive
                and len(lengths) == 1
                and len(found.axes) > 0
                and content["schema"].startswith("flexdp.release/")
            )
        except Exception:  # noqa: BLE001  (a document may be anything)
            fits = False
        if not fits:
            raise InputError("document must be the JSON of a flexdp release, complete and unchanged.")
        return found

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The columns."""
        column, kind, buckets = (self.content[name] for name in ("column", "kind", "buckets"))
        if isinstance(column, list):
            return tuple(Axis(*parts) for parts in zip(column, kind, buckets, strict=True))
        return (Axis(column, kind, buckets),)

    @property
    def title(self) -> str:
        """The columns' names."""
        names = " × ".join("values" if axis.name is None else axis.name for axis in self.axes)
        return f"{names} by {', '.join(self.by)}" if self.by else names

    @property
    def by(self) -> list[str]:
        """The columns that records were grouped by."""
        return list(self.content.get("by") or ())

    @property
    def keys(self) -> list[Any]:
        """The keys, of several columns a list each."""
        axes, stored = self.axes, self.content["bars"]["key"]
        if len(axes) == 1:
            return [axes[0].key(key) for key in stored]
        return [[axis.key(part) for axis, part in zip(axes, point, strict=True)] for point in stored]

    @property
    def index(self) -> list[Any] | None:
        found = self.content["bars"].get("index")
        return None if found is None else list(found)

    @property
    def counts(self) -> NDArray[np.int64]:
        return np.array(self.content["bars"]["count"], dtype=np.int64)

    @property
    def records(self) -> int:
        """How many records are left in all, however many."""
        return sum(self.content["bars"]["count"])

    @property
    def groups(self) -> list[tuple[Any, ...]] | None:
        found = self.content["bars"].get("group")
        return None if found is None else [tuple(group) for group in found]

    @property
    def max_drop(self) -> int:
        return int(self.content["mechanism"]["max_drop"])

    @property
    def epsilon(self) -> Fraction:
        return Fraction(self.content["privacy"]["epsilon"])

    @property
    def delta(self) -> Fraction:
        return Fraction(self.content["privacy"]["delta"])

    @property
    def unit(self) -> str:
        """What is protected: "record", or the name of the unit's column."""
        return str(self.content["privacy"]["unit"])

    @property
    def of_units(self) -> bool:
        return "max_buckets_per_unit" in self.content["privacy"]

    def part(self, group: tuple[Any, ...]) -> Document:
        """The bars of one group."""
        chosen = [place for place, found in enumerate(self.groups or ()) if found == group]
        bars = {name: [cells[place] for place in chosen] for name, cells in self.content["bars"].items()}
        bars.pop("group", None)
        return Document({**self.content, "by": [], "bars": bars})


def _plain(end: Any) -> float:
    if isinstance(end, dt.datetime):
        return _seconds(end)
    return float(end.toordinal() - dt.date(1970, 1, 1).toordinal()) if isinstance(end, dt.date) else float(end)


def _seconds(moment: dt.datetime) -> float:
    """Seconds since 1970, of the clock that was read."""
    return (moment.replace(tzinfo=dt.UTC) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)).total_seconds()


def label(key: Any) -> str:
    """A key as a picture or a table shows it."""
    return ", ".join(map(label, key)) if isinstance(key, list | tuple) else value_text(key)
