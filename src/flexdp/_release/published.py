"""What is published: a release, and everything that may be read off it. Nothing here has seen a record."""

from __future__ import annotations

import copy
import inspect
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from flexdp._core.display import from_report
from flexdp._core.domains import attribute, elements, instance, path_text
from flexdp._core.exact import upper_text
from flexdp._core.text import plain_scalar, plural, safe_repr
from flexdp._release.answers import Answer, Certificate, Reader, Scope
from flexdp._release.checks import Shape, group_index
from flexdp._release.groups import Groups, Readable, View, frame_of, group_column
from flexdp._release.json import SCHEMA_OF_SEVERAL, Content, group_columns, json_text, labels, parse, read, write
from flexdp.accounting.budget import Budget
from flexdp.buckets.base import Bucket, Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.partition import Partition
from flexdp.calculus import total
from flexdp.errors import InputError
from flexdp.guarantees import Accuracy, Privacy
from flexdp.histogram import Histogram, KeyedHistogram
from flexdp.mechanisms import Bucketing, Chain, Dropping
from flexdp.noise.drop import DropNoise

__all__ = ["Release", "Releases"]

_PLAIN = re.compile(r"\w([\w .+/-]*\w)?")
_VALUES = {
    None: "the readable values",
    "max": "the largest readable value of each {unit}",
    "min": "the smallest readable value of each {unit}",
    "mean": "the mean of the readable values of each {unit}",
}


@dataclass(frozen=True, kw_only=True)
class Release(Readable):
    """A published histogram and everything that may be read off it. It holds nothing private.

    ``cells`` are the bars as released, keyed by group and bucket index. Questions asked of the release itself are about
    all groups together; :meth:`by_group` asks each.
    """

    shape: Shape
    budget: Budget
    cells: KeyedHistogram
    records_at_most: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is published, without what was computed from it since."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def column(self) -> Any:
        """The name of the released column; a tuple where there are several."""
        return self.shape.columns[0] if len(self.shape.columns) == 1 else self.shape.columns

    @property
    def kind(self) -> Kind:
        """How the released column was read."""
        return self.shape.kinds[0]

    @property
    def noise(self) -> DropNoise:
        """What each bar lost came from this table."""
        return self.budget.bars

    @cached_property
    def partition(self) -> Partition:
        """The buckets, public before the data was read."""
        return self.shape.partition

    @cached_property
    def bars(self) -> Histogram:
        """The released bars by bucket index, all groups added up."""
        return self.cells.histogram(self._value_places)

    @property
    def _value_places(self) -> list[int]:
        return list(range(len(self.shape.by), len(self.shape.by) + len(self.shape.columns)))

    @property
    def buckets(self) -> list[Bucket]:
        """The edges of each released bucket, in the order of ``histogram.keys``."""
        return self.partition.edges_of(self.bars.keys)

    @property
    def privacy(self) -> Privacy:
        """What is promised to the people in the data."""
        rule = self.shape.unit
        return self.budget.privacy("record" if rule is None else rule.name)

    @cached_property
    def mechanism(self) -> Chain:
        """The mechanism that was run: bucketing, by the engine while it counted, and then dropping."""
        rule = self.shape.unit
        return self.budget.mechanism(self.partition, None if rule is None else rule.name)

    @property
    def max_drop(self) -> int:
        """The most records that any bucket, of any group, can have lost."""
        return self.noise.max_drop

    @property
    def groups(self) -> list[Any]:
        """The groups of which something survived, or all that were declared."""
        return list(self.by_group()) if self.shape.by else []

    @cached_property
    def _reader(self) -> Reader:
        buckets_summed = 1 if not self.shape.by else None if self.shape.groups is None else len(self.shape.groups)
        return self._read(self.bars, self.partition, self._scope(buckets_summed=buckets_summed))

    @cached_property
    def _general(self) -> Accuracy:
        """The accuracy of the mechanism, whatever it was run on."""
        return self.mechanism.accuracy()

    def _read(self, bars: Histogram, partition: Partition, scope: Scope, general: Accuracy | None = None) -> Reader:
        return Reader(
            kind=partition.kind,
            partition=partition,
            noise=self.noise,
            general=general or self._general,
            bars=bars,
            shown=Histogram(partition.centres(bars.keys), bars.counts),
            scope=scope,
        )

    def _scope(self, *, buckets_summed: int | None, where: str = "", grouped: bool = False, summed: str = "") -> Scope:
        rule = self.shape.unit
        spot = "bucket" if len(self.shape.columns) == 1 else "cell"
        name = "" if rule is None else rule.name
        counting = ""
        if rule is not None and rule.per_unit is None:
            together = " of all groups together" if self.shape.by else ""
            counting = f", counting each {name} in at most {plural(rule.most, spot)}{together},"
        zone = "" if self.shape.zone is None else f" in {self.shape.zone}"
        needed = list(self.shape.by) if self.shape.groups is None and not grouped else []
        values = _VALUES[None if rule is None else rule.per_unit].format(unit=name)
        single = rule is not None and rule.per_unit is not None
        if single and where:  # the unit's one value of all, not its one value there
            where = f" where that is one{where}"
        if self.shape.groups is not None and (single or not grouped):
            where = f" of the declared groups{where}"
        if rule is not None and not single:
            needed.append(name)
        needs = ""
        if needed:  # a record that lacks one of them counts nowhere
            named = " and ".join(f"{'an' if label[:1] in 'aeioAEIO' else 'a'} {label}" for label in needed)
            needs = f" that {'has' if single else 'have'} {named}"
        return Scope(
            buckets_summed=buckets_summed,
            most_lost=self._most_lost,
            counted=name or "record",
            place=f"each {spot} of each group" if self.shape.by and not grouped else f"each {spot}",
            summed=summed or ("each group" if self.shape.by and not grouped else f"each {spot}"),
            values=values if len(self.shape.columns) == 1 else values.replace("values", "points"),
            where=where + zone,
            needs=needs,
            rule=counting,
            public=not self.shape.by or self.shape.groups is not None,
            grouped=bool(self.shape.by),
        )

    @cached_property
    def _most_lost(self) -> int | None:
        """How many contributions are missing in all, at the most; None where no bound was paid for."""
        return None if self.records_at_most is None else self.records_at_most - sum(self.cells.counts.tolist())

    def by_group(self) -> Groups:
        """The groups, each to be asked by itself: ``release.by_group().max()``, ``release.by_group()["A"].max()``."""
        if not self.shape.by:
            raise InputError("by_group needs a release by groups; release it with by=.")
        declared = () if self.shape.groups is None else map(group_index, self.shape.groups)
        member = {group: slice(0, 0) for group in declared}
        start = 0
        for group, rows in groupby(self.cells.rows(slice(len(self.shape.by)))):  # bars are sorted by group first
            end = start + sum(1 for _ in rows)
            member[group] = slice(start, end)
            start = end
        indices = [list(part) for part in zip(*member, strict=True)] or [[] for _ in self.shape.by]
        values = zip(*map(labels, self.shape.by_kinds, indices), strict=True)
        return Groups(self.shape.by, dict(zip(values, member.values(), strict=True)), self._view)

    def _view(self, group: tuple[Any, ...], where: slice) -> View:
        """One group, by its values and by where its bars are."""
        names = " and ".join(f"{name} {_told(value)}" for name, value in zip(self.shape.by, group, strict=True))
        scope = self._scope(buckets_summed=1, where=f" of {names}", grouped=True)
        return View(self._read(self.cells.histogram(self._value_places, where), self.partition, scope))

    @property
    def _content(self) -> Content:
        return Content(self.shape, self.budget, self.cells, self.records_at_most)

    def _document(self) -> dict[str, Any]:
        return write(self._content)

    def marginal(self, column: str) -> View:
        """One of several released columns, the others added up."""
        if len(self.shape.columns) < 2:
            raise InputError("marginal needs a release of several columns; this one can be asked itself.")
        if not isinstance(column, str) or plain_scalar(column) not in self.shape.columns:
            known = ", ".join(str(name) for name in self.shape.columns)
            raise InputError(f"column {safe_repr(column)} is not in the release; its columns are {known}.")
        place = self.shape.columns.index(str.__str__(column))
        partition = self.shape.partitions[place]
        counts = [axis.count for i, axis in enumerate(self.shape.partitions) if i != place]
        outer = self._reader.scope.buckets_summed
        buckets_summed = (
            None if outer is None or None in counts else outer * math.prod(c for c in counts if c is not None)
        )
        bars = self.cells.histogram([len(self.shape.by) + place])
        index = bars if isinstance(partition, Exact) else Histogram(bars.keys.astype(np.int64), bars.counts)
        mechanism = Bucketing(partition=partition) >> Dropping(noise=self.noise)
        others = [axis for i, axis in enumerate(self.shape.partitions) if i != place]
        cut = any(axis.bounds is not None and axis.outside == "drop" for axis in others)
        scope = self._scope(
            buckets_summed=buckets_summed,
            where=f" in {column}{', the others within their bounds,' if cut else ''}",
            summed="each cell of each group" if self.shape.by else "each cell",
        )
        return View(self._read(index, partition, scope, mechanism.accuracy()))

    def fit(self, estimator: Any) -> Answer:
        """A scikit-learn estimator fitted on the released histogram, its counts as sample weights.

        An estimator that learns labels gets the groups for labels, which are never bucketed. The answer's value is a
        fitted copy. Its promise is the drop-move one: it is exactly what the estimator learns from data in which a few
        records per bucket were left out and every value was moved to its bucket's centre.
        """
        if any(kind not in ("integer", "number") for kind in self.shape.kinds):
            raise InputError(f"fit needs columns of numbers, and this one is {self.kind}.")
        learn = attribute(estimator, "fit")
        wanted = inspect.signature(learn).parameters if callable(learn) else {}
        if "sample_weight" not in wanted:
            raise InputError("estimator must have a fit method that takes sample_weight, as scikit-learn's do.")
        labelled = "y" in wanted and wanted["y"].default is inspect.Parameter.empty
        if labelled and len(self.shape.by) != 1:
            raise InputError("estimator learns labels; release with by=, the one column that holds them.")

        def work(histogram: Histogram) -> Any:
            learner = copy.deepcopy(estimator)
            if not labelled:
                points = histogram.keys.astype(np.float64).reshape(len(histogram), -1)
                return learner.fit(points, sample_weight=histogram.counts.astype(np.float64))
            index = [self.cells.parts[place] for place in self._value_places]
            points = np.stack(
                [
                    axis.centres(part).astype(np.float64)
                    for axis, part in zip(self.shape.partitions, index, strict=True)
                ],
                axis=1,
            )
            labels = np.array(group_columns(self._content)[0])
            return learner.fit(points, labels, sample_weight=self.cells.counts.astype(np.float64))

        return self._reader.function(f"fit of {type(estimator).__name__}", work, lambda beta: math.inf if beta else 0.0)

    def certificate(self) -> Certificate:
        """All promises of this release, and the integer evidence for its privacy."""
        total = self.budget.total
        return Certificate(
            promises=(str(self.privacy), *self._reader.promises()),
            evidence=self.noise.certify(),
            total_evidence=None if total is None else total.certify(),
            shared=self._shared,
        )

    @property
    def _shared(self) -> str:
        """How (ε, δ) is shared by what is proved one by one."""
        most, share, total = self.budget.most, self.budget.share, self.budget.total
        if most == 1 and share is None:
            return ""
        bars = self.noise
        parts = [f"{plural(most, 'bar')} of ε = {upper_text(bars.epsilon, 6)}, δ = {upper_text(bars.delta)}"]
        if total is not None:
            each = "" if most == 1 else f" for each of {most} steps"
            parts.append(f"the total of ε = {upper_text(total.epsilon, 6)}, δ = {upper_text(total.delta)}{each}")
        return f"Shared by {' and '.join(parts)}, as the noise of each proves below."

    def to_json(self, *, indent: int | None = None) -> str:
        """The release as JSON, by the schema in docs/release-json.md; :meth:`from_json` reads it back."""
        return json_text(self._document(), indent)

    def to_html(self) -> str:
        """The report of this release as one HTML file that asks for nothing from outside, made from its JSON alone."""
        return from_report("html.page.page")(self._document(), self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file; ``flexdp report`` makes the same file from the JSON, byte for byte."""
        place = path_text("path", path)
        try:
            Path(place).write_text(self.to_html(), encoding="utf-8", newline="")
        except (OSError, ValueError):
            raise InputError(
                f"path {safe_repr(place)} cannot be written. Check the folder and its permissions."
            ) from None

    def _repr_html_(self) -> str:
        return from_report("html.notebook.release_card")(self._document(), self)

    @classmethod
    def from_json(cls, document: str | bytes) -> Release:
        """The release that :meth:`to_json` wrote, refused if anything in it was changed that can be checked.

        The noise table is rebuilt from ε and δ, the keys from the buckets; the document must say the same of both.
        """
        try:
            content = parse(document)
            found = cls(**read(content)._asdict())
            same = {**found._document(), "flexdp": content["flexdp"]}
            content.pop("answers", None)  # what the command line adds is read off again, not believed
        except InputError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError):
            raise InputError("document must be the JSON of a flexdp release, complete and unchanged.") from None
        if same != content or not isinstance(content["flexdp"], str):
            raise InputError("document must be the JSON of a flexdp release, complete and unchanged.")
        return found

    def to_frame(self, library: str | None = None) -> Any:
        """The bars as a frame with columns key, lower, upper, count: pandas, polars or pyarrow, whichever is there.

        A column with numbers that neither a 64-bit integer nor a double holds is one of decimals.
        With groups there is a column for each of them, and of several columns a key, lower and upper for each.
        """
        return frame_of(self.columns_of_bars(), library)

    def columns_of_bars(self) -> dict[str, list[Any]]:
        """The bars column by column: the groups, then key, lower and upper of each released column, then the count."""
        columns: dict[str, list[Any]] = {}
        for name, values in zip(self.shape.by, group_columns(self._content), strict=True):
            clash = name.split()[:1] in (["key"], ["lower"], ["upper"], ["count"])
            columns[group_column(name, columns, clash=clash)] = values
        for i, (column, axis) in enumerate(zip(self.shape.columns, self.shape.partitions, strict=True)):
            part = self.cells.parts[len(self.shape.by) + i]
            lower, upper = zip(*axis.edges_of(part), strict=True) if len(part) else ((), ())
            suffix = "" if len(self.shape.columns) == 1 else f" {column}"
            columns[f"key{suffix}"] = axis.centres(part).tolist()
            columns[f"lower{suffix}"] = list(lower)
            columns[f"upper{suffix}"] = list(upper)
        columns["count"] = self.cells.counts.tolist()
        return columns

    def __repr__(self) -> str:
        names = [repr(name) for name in self.shape.columns]
        what = "values" if self.shape.columns == (None,) else ", ".join(names)
        groups = f" by {', '.join(map(repr, self.shape.by))}" if self.shape.by else ""
        return f"<Release of {what}{groups}: {self.partition.spec}, {len(self.cells)} released>"


class Releases(Mapping[str, Release]):
    """Several columns of one table, released one by one out of one budget. A mapping from column to release."""

    def __init__(self, releases: Sequence[Release]) -> None:
        listed = elements(releases)
        if listed is None:
            raise InputError(f"releases must be a list of releases; got {safe_repr(releases)}.")
        made = [instance("releases", each, Release, "releases") for each in listed]
        self._releases = {str(each.column): each for each in made}

    def __getitem__(self, column: str) -> Release:
        if column not in self:
            raise InputError(f"column {safe_repr(column)} is not in the release; it has {', '.join(self._releases)}.")
        return self._releases[str.__str__(column)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._releases)

    def __len__(self) -> int:
        return len(self._releases)

    def __contains__(self, column: object) -> bool:
        return isinstance(column, str) and str.__str__(column) in self._releases

    @property
    def privacy(self) -> Privacy:
        """What is promised for all columns together: the losses add up."""
        each = [release.privacy for release in self._releases.values()]
        return total(each)

    def to_json(self, *, indent: int | None = None) -> str:
        """All of them as JSON; :meth:`from_json` reads it back."""
        documents = [release._document() for release in self._releases.values()]
        return json_text({"schema": SCHEMA_OF_SEVERAL, "releases": documents}, indent)

    @classmethod
    def from_json(cls, document: str | bytes) -> Releases:
        """What :meth:`to_json` wrote, each release checked."""
        try:
            content = parse(document)
            if content["schema"] != SCHEMA_OF_SEVERAL or set(content) != {"schema", "releases"}:
                raise TypeError("another schema")
            texts = [json.dumps(each) for each in content["releases"]]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InputError("document must be the JSON of flexdp releases, complete and unchanged.") from None
        return cls([Release.from_json(text) for text in texts])

    def __repr__(self) -> str:
        return f"<Releases of {', '.join(map(repr, self._releases))}>"

    def _repr_html_(self) -> str:
        return "".join(release._repr_html_() for release in self._releases.values())


def _told(value: Any) -> str:
    """A group's value within a sentence: in quotes where one could not see where it ends."""
    text = str(value)
    return repr(text) if isinstance(value, str) and not _PLAIN.fullmatch(text) else text
