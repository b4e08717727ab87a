"""The JSON of a release as pictures and pages read it: the one place that knows its fields.

It takes documents of one column or several (a grid), with or without groups, of records or of units. Nothing here is
believed beyond what a picture needs: :meth:`flexdp.Release.from_json` is what checks a document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.keys import canonical_keys
from flexdp._core.text import plural, thousands
from flexdp._release.answers import Reader, Tally
from flexdp._release.asked_json import read_asked
from flexdp._release.automatic_json import read_auto
from flexdp._release.capped import read_cap
from flexdp._release.json import bars_budget, exact_index, unreadable
from flexdp._release.sentences import once_each
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.buckets.parse import make_buckets
from flexdp.histogram import Histogram
from flexdp.noise.drop import DropNoise
from flexdp.report.axes import Axis

__all__ = ["Document"]


@dataclass(frozen=True)
class Document:
    """The public content of a release.

    Parameters
    ----------
    content
        The document as parsed.

    Examples
    --------
    >>> import flexdp
    >>> document = Document.read(flexdp.release([33.0] * 900, epsilon=1, delta=1e-6, width=5).to_json())
    >>> document.title, document.keys, document.text(0), document.max_drop
    ('values', [32.5], '30–35', 27)
    """

    content: Mapping[str, Any]

    @classmethod
    def read(cls, document: str | bytes | Mapping[str, Any]) -> Document:
        """Return a document from its text, or as it was parsed.

        Parameters
        ----------
        document
            The JSON of a release.

        Returns
        -------
        Document
            The document.

        Raises
        ------
        InputError
            If it is not the JSON of a release.
        """
        try:
            content = document if isinstance(document, Mapping) else json.loads(document)
            found = cls(content)
            lengths = {len(found.keys), len(found.counts), len(found.groups or found.counts)}
            positive = all(type(count) is int and 0 < count < 2**63 for count in content["bars"]["count"])
            known = content["schema"].startswith("flexdp.release/") and len(found.axes) > 0
            fits = positive and known and len(lengths) == 1
        except Exception:  # noqa: BLE001  (a document may be anything)
            fits = False
        if not fits:
            raise unreadable()
        return found

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The columns."""
        column, kind, buckets = (self.content[name] for name in ("column", "kind", "buckets"))
        if not isinstance(column, list):
            column, kind, buckets = [column], [kind], [buckets]
        parts = zip(column, kind, buckets, strict=True)
        return tuple(Axis(name, make_buckets(_former(each), **own)) for name, each, own in parts)

    @property
    def title(self) -> str:
        """The columns' names, and those of the groups."""
        names = " × ".join("values" if axis.name is None else axis.name for axis in self.axes)
        return f"{names} by {', '.join(self.by)}" if self.by else names

    @property
    def by(self) -> list[str]:
        """The columns that records were grouped by."""
        return list(self.content.get("by") or ())

    @cached_property
    def keys(self) -> list[Any]:
        """The keys, a list each where there are several columns."""
        axes, stored = self.axes, self.content["bars"]["key"]
        if len(axes) == 1:
            return [axes[0].key(key) for key in stored]
        return [[axis.key(part) for axis, part in zip(axes, point, strict=True)] for point in stored]

    @property
    def index(self) -> list[Any] | None:
        """The bucket indices, where values were bucketed."""
        found = self.content["bars"].get("index")
        return None if found is None else list(found)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The released counts."""
        return np.array(self.content["bars"]["count"], dtype=np.int64)

    @property
    def records(self) -> int:
        """The number of records left in total, however many."""
        return sum(self.content["bars"]["count"])

    @property
    def left(self) -> str:
        """What is left in total: "27 records", or "27 units (pid)"."""
        word, _, rest = self.counted.partition(" ")
        return " ".join(filter(None, (plural(self.records, word.removesuffix("s"), thousands), rest)))

    @property
    def groups(self) -> list[tuple[Any, ...]] | None:
        """The group of each count; None without groups."""
        found = self.content["bars"].get("group")
        return None if found is None else [tuple(group) for group in found]

    @property
    def counted(self) -> str:
        """What was counted: "records", or "units (pid)"."""
        privacy = self.content["privacy"]
        return f"units ({privacy['unit']})" if "max_buckets_per_unit" in privacy else "records"

    @property
    def once(self) -> str:
        """How often a unit counts: "each unit (pid) once in at most 3 ranges"; empty where every record counts.

        Returns
        -------
        str
            The phrase that headlines end with.
        """
        privacy = self.content["privacy"]
        if "max_buckets_per_unit" not in privacy:
            return ""
        return once_each(
            Spec(
                columns=tuple(axis.name for axis in self.axes),
                partitions=tuple(axis.buckets for axis in self.axes),
                unit=str(privacy["unit"]),
                max_buckets_per_unit=int(privacy["max_buckets_per_unit"]),
                per_unit=privacy.get("per_unit"),
            )
        )

    @property
    def max_drop(self) -> int:
        """The most records that a bucket can have lost."""
        return int(self.content["mechanism"]["max_drop"])

    @cached_property
    def reader(self) -> Reader | None:
        """The counts as answers are read off them; None of groups, texts, several columns, or without indices."""
        axis = self.axes[0]
        if len(self.axes) > 1 or self.groups is not None or not axis.ordered or (axis.bucketed and not self.index):
            return None
        try:
            keys: Any = self.index if axis.bucketed else exact_index(axis.kind, self.keys)
            index = Histogram(canonical_keys(keys), self.counts)
            centres = Histogram(axis.buckets.centres(index.keys), index.counts)
        except Exception:  # noqa: BLE001  (a document may be anything)
            raise unreadable() from None
        budget = self.budget
        most = budget.most_lost(self.records_at_most, self.records)
        return Reader(
            partition=axis.buckets, noise=self.noise, mean=budget.mean_drop, index=index, centres=centres, total=most
        )

    @cached_property
    def budget(self) -> Budget:
        """The budget of the counts."""
        try:
            buckets = self.content["mechanism"].get("buckets")
            return bars_budget(read_auto(read_asked(read_cap(dict(self.content))[0])[0])[0], buckets)
        except Exception:  # noqa: BLE001  (a document may be anything)
            raise unreadable() from None

    @property
    def noise(self) -> DropNoise:
        """The noise of each count."""
        return self.budget.bars

    @property
    def records_at_most(self) -> int | None:
        """The published bound on all records, where one was paid for."""
        certified = self.content.get("certified")
        return None if certified is None else int(certified["records_at_most"])

    def tally(self, place: int) -> Tally:
        """Return one count as an estimate with certain ends.

        Parameters
        ----------
        place
            Place of the count in the document.

        Returns
        -------
        Tally
            The estimate, the count itself, and the count with the largest loss.

        Examples
        --------
        >>> import flexdp
        >>> found = Document.read(flexdp.release(["a"] * 99, kind="text", epsilon=1, delta=1e-6).to_json()).tally(0)
        >>> found.upper - found.lower, found.lower <= found.about <= found.upper, found.lower <= 99 <= found.upper
        (27, True, True)
        """
        return Tally.of(int(self.content["bars"]["count"][place]), self.budget.mean_drop, self.max_drop)

    def text(self, place: int) -> str:
        """Return the bucket of one count as readers see it: "90–95".

        Parameters
        ----------
        place
            Place of the count in the document.

        Returns
        -------
        str
            The bucket's range; of several columns one range each.
        """
        return ", ".join(self.texts([place])[0])

    def texts(self, places: Sequence[int]) -> list[list[str]]:
        """Return the buckets of some counts, column by column.

        Parameters
        ----------
        places
            Places of the counts in the document.

        Returns
        -------
        list of list of str
            For each count a range for each column.

        Examples
        --------
        >>> import flexdp
        >>> Document.read(flexdp.release(["a"] * 99, kind="text", epsilon=1, delta=1e-6).to_json()).texts([0])
        [['a']]
        """
        index = self.index
        if len(self.axes) == 1:
            own = None if index is None else [index[place] for place in places]
            return [[text] for text in self.axes[0].texts([self.keys[place] for place in places], own)]
        columns = []
        for column, axis in enumerate(self.axes):
            own = None if index is None else [index[place][column] for place in places]
            columns.append(axis.texts([self.keys[place][column] for place in places], own))
        return [list(row) for row in zip(*columns, strict=True)]

    def part(self, group: tuple[Any, ...]) -> Document:
        """Return the counts of one group as a document of its own.

        Parameters
        ----------
        group
            The group's values.

        Returns
        -------
        Document
            A document without groups.

        Examples
        --------
        >>> import flexdp
        >>> import polars as pl
        >>> table = pl.DataFrame({"x": [1.5] * 400, "g": ["a", "b"] * 200})
        >>> released = flexdp.release(table, "x", by="g", epsilon=1, delta=1e-6, width=1)
        >>> Document.read(released.to_json()).part(("b",)).keys
        [1.5]
        """
        chosen = [place for place, found in enumerate(self.groups or ()) if found == group]
        bars = {name: [cells[place] for place in chosen] for name, cells in self.content["bars"].items()}
        bars.pop("group", None)
        return Document({**self.content, "by": [], "bars": bars})


def _former(kind: Any) -> Any:
    """The kind of a column in a document of the first schema, which said "moment" for "datetime"."""
    return "datetime" if kind == "moment" else kind
