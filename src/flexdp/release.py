"""Release: a table's columns go in, a public histogram comes out, and every answer is read off that.

Private records exist only inside :func:`release`, between the count and the noise. A :class:`Release` holds nothing
but what may be printed: parameters, and the bars that survived.
"""

from __future__ import annotations

import copy
import inspect
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from flexdp._parameters import Domain, Number, shown
from flexdp.answers import Answer, Certificate, Reader, Scope
from flexdp.bars import Bars
from flexdp.bucketing import bucket_parameters, make_buckets
from flexdp.buckets import Bucket, Buckets, Exact, Kind, Partition, times
from flexdp.budgets import Budget
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.histogram import Histogram
from flexdp.mechanisms import Bucketing, Dropping, Mechanism
from flexdp.noise import DropNoise, fresh_salt
from flexdp.requests import Question, Shape, UnitRule, declared_groups, group_index, make_question
from flexdp.version import __version__
from flexdp.views import Groups, Readable, View, frame_of

__all__ = ["Release", "Releases", "Request", "prepare", "query", "release"]

SCHEMA, SCHEMA_OF_SEVERAL = "flexdp.release/1", "flexdp.releases/1"
PART = Domain(name="split", low=Fraction(0), remedy="Give the share of each column, for example split=[2, 1, 1].")
_KINDS = ("integer", "number", "text", "date", "moment", "boolean")
_BUCKETS = ("width", "relative", "edges", "beta", "bounds", "outside", "kind")
_VALUES = {
    None: "the readable values",
    "max": "the largest readable value of each {unit}",
    "min": "the smallest readable value of each {unit}",
    "mean": "the mean of the readable values of each {unit}",
}


class Options(TypedDict, total=False):
    """What :func:`release` takes beside the budget, for those who check types."""

    width: Any
    relative: Any
    edges: Any
    beta: Number | None
    bounds: Any
    outside: str
    kind: Any
    zone: str | None
    by: str | Sequence[str] | None
    groups: Sequence[Any] | None
    unit: str | None
    max_buckets_per_unit: int | None
    per_unit: str | None
    certify: Number | None
    split: Sequence[Number] | None
    engine: str | None
    format: str | None
    delimiter: str | None


@overload
def release(
    source: Any,
    column: Sequence[str],
    *,
    epsilon: Number,
    delta: Number,
    separately: Literal[True],
    **options: Unpack[Options],
) -> Releases: ...


@overload
def release(
    source: Any,
    column: str | Sequence[str] | None = None,
    *,
    epsilon: Number,
    delta: Number,
    separately: Literal[False] = False,
    **options: Unpack[Options],
) -> Release: ...


def release(
    source: Any,
    column: str | Sequence[str] | None = None,
    *,
    epsilon: Number,
    delta: Number,
    width: Any = None,
    relative: Any = None,
    edges: Any = None,
    beta: Number | None = None,
    bounds: Any = None,
    outside: str = "clamp",
    kind: Any = None,
    zone: str | None = None,
    by: str | Sequence[str] | None = None,
    groups: Sequence[Any] | None = None,
    unit: str | None = None,
    max_buckets_per_unit: int | None = None,
    per_unit: str | None = None,
    certify: Number | None = None,
    separately: bool = False,
    split: Sequence[Number] | None = None,
    engine: str | None = None,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
) -> Release | Releases:
    """Publish a column: count its records by bucket, let every bucket lose a few, keep what is left.

    The result is (ε, δ)-differentially private under adding or removing one record, or one unit, and answers every
    statistic at no further cost. Every call spends (ε, δ) again.

    Parameters
    ----------
    source
        A path (CSV, Parquet, JSON lines; also gzip, patterns, or a list of paths), a numpy array or list of values, a
        pandas, polars or pyarrow table or column, a DuckDB relation, a Spark DataFrame, or a pair (connection, table)
        of a database.
    column
        The column's name; left out where the source is a single column. Several names make one release of points, or
        with ``separately`` one release each.
    epsilon, delta
        The privacy loss, taken exactly as written. There are no defaults.
    width, relative, edges
        How values are bucketed: in buckets of one width ("1 day", "1 month" or "15 minutes" of times); each within a
        fraction of its centre; between given edges. Without any of them every value is its own bar. Of several
        columns, one for all, a list, or a dictionary by name.
    beta
        Of several columns: cells in which no point is further than β from the middle.
    bounds
        A public pair (lower, upper). It is never needed for privacy; it makes the fraction left out certifiable.
    outside
        Whether values outside the bounds count at the nearer end ("clamp") or are left out ("drop").
    kind
        How to read a column that declares no type: "integer", "number", "text", "date" or "moment".
    zone
        The time zone in which a column of moments with time zones is read.
    by, groups
        Columns whose values make groups, found as they are, or declared, which makes all bars public. A record lies in
        one bar of one group, so that the price is the same.
    unit, max_buckets_per_unit, per_unit
        The column that tells whose records they are; in how many buckets one unit may count; or which one value of
        each unit counts ("max", "min", "mean", "random").
    certify
        The share of the budget that buys a bound of how much was left out in all, where bars are not public.
    separately, split
        Release several columns one by one, out of one budget, shared equally or as ``split`` says.
    engine
        The dialect of a database connection that does not tell its own.
    format, delimiter
        Of files, where the name and the header line do not tell.

    >>> ages = [30 + i % 40 for i in range(4000)]
    >>> answer = release(ages, epsilon=1, delta=1e-6, width=10, bounds=(0, 120)).max()
    >>> answer.value, answer.accuracy.beta
    (65.0, 5.0)
    """
    request = prepare(
        source,
        column,
        width=width,
        relative=relative,
        edges=edges,
        beta=beta,
        bounds=bounds,
        outside=outside,
        kind=kind,
        zone=zone,
        by=by,
        groups=groups,
        unit=unit,
        max_buckets_per_unit=max_buckets_per_unit,
        per_unit=per_unit,
        separately=separately,
        engine=engine,
        format=format,
        delimiter=delimiter,
    )
    return request.spend(epsilon, delta, certify=certify, split=split).run()


def query(source: Any, column: str | Sequence[str] | None = None, **options: Any) -> str:
    """The SQL text that a release with these parameters would run. It reads the declared schema and runs nothing.

    It takes what :func:`release` takes but the budget, and ``dialect``: another dialect to show the query in. Where
    units are bounded, the word 'salt' stands for the random text that a release draws.
    """
    dialect = options.pop("dialect", None)
    return prepare(source, column, **options).query(dialect)


@dataclass(frozen=True, kw_only=True)
class Request:
    """A release that has been checked against everything declared, and has not read a record yet.

    ``questions`` is one, or of columns that are released separately one each; ``budgets`` follow once they are known.
    """

    questions: tuple[Question, ...]
    separately: bool = False
    budgets: tuple[Budget, ...] = ()

    @property
    def kind(self) -> Kind:
        """The kind of the released keys."""
        return self.questions[0].shape.kinds[0]

    @property
    def partition(self) -> Partition:
        """The buckets of the first release."""
        return self.questions[0].shape.partition

    @property
    def files(self) -> tuple[str, ...]:
        """The files that will be read."""
        return tuple(getattr(self.questions[0].table, "files", ()))

    def query(self, dialect: str | None = None) -> str:
        """The SQL text that :meth:`run` would use, or how another dialect would say it."""
        from flexdp.tables import query_of

        return query_of(self.questions[0].table, [each.counting for each in self.questions], dialect)

    def spend(
        self, epsilon: Number, delta: Number, *, certify: Number | None = None, split: Sequence[Number] | None = None
    ) -> Request:
        """The same request with its noise made; a budget that no noise can meet is refused here."""
        rules = [each.shape.unit for each in self.questions]
        most = [1 if rule is None else rule.most for rule in rules]
        if not self.separately:
            if split is not None:
                raise InputError("split needs separately=True, with several columns to share the budget.")
            return replace(self, budgets=(Budget(epsilon, delta, most=most[0], certify=certify),))
        whole = Budget(epsilon, delta)
        shares = _shares(split, len(self.questions))
        budgets = [
            Budget(whole.epsilon * share, whole.delta * share, most=k, certify=certify)
            for share, k in zip(shares, most, strict=True)
        ]
        return replace(self, budgets=tuple(budgets))

    def run(self) -> Release | Releases:
        """Count, let every bar lose a few, and keep what is left: a Release, or Releases of separate columns."""
        from flexdp.tables import count  # tables are loaded when the first is read

        countings = []
        for each in self.questions:
            units = each.counting.units
            salted = None if units is None else replace(units, salt=fresh_salt())
            countings.append(replace(each.counting, units=salted))
        private = count(self.questions[0].table, countings)
        released = [
            _thinned(bars, question.shape, budget)
            for bars, question, budget in zip(private, self.questions, self.budgets, strict=True)
        ]
        return Releases(released) if self.separately else released[0]


def _thinned(private: Bars, shape: Shape, budget: Budget) -> Release:
    """The one step from private to public."""
    at_most = None
    if budget.total is not None:
        at_most = sum(private.counts.tolist()) + int(budget.total.sample(1)[0])
    bars = private.with_counts(budget.bars.thin(private.counts))
    return Release(shape=shape, budget=budget, cells=bars, records_at_most=at_most)


def _shares(split: Sequence[Number] | None, count: int) -> list[Fraction]:
    if split is None:
        return [Fraction(1, count)] * count
    if not isinstance(split, list | tuple) or len(split) != count:
        raise InputError(f"split must be a list with a share for each of the {count} columns.")
    parts = [PART.check(part) for part in split]
    return [part / sum(parts) for part in parts]


def prepare(
    source: Any,
    column: Any = None,
    *,
    zone: object = None,
    by: object = None,
    groups: object = None,
    unit: object = None,
    max_buckets_per_unit: object = None,
    per_unit: object = None,
    separately: bool = False,
    engine: object = None,
    format: object = None,  # noqa: A002
    delimiter: object = None,
    **buckets: Any,
) -> Request:
    """Everything that can be refused is refused here, before a record is read."""
    from flexdp.tables import open_table

    unknown = [name for name in buckets if name not in _BUCKETS]
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    table = open_table(source, column, file_format=format, delimiter=delimiter, engine=engine)
    names: list[Any] = list(column) if isinstance(column, list | tuple) else [column]
    if not names:
        raise InputError("column must name at least one column; got an empty list.")
    if separately and len(names) < 2:
        raise InputError("separately needs several columns, given as a list.")
    common = {
        "zone": zone, "by": by, "groups": groups, "unit": unit,
        "max_buckets_per_unit": max_buckets_per_unit, "per_unit": per_unit,
    }  # fmt: skip
    if not separately:
        return Request(questions=(make_question(table, names, buckets=buckets, **common),))
    if buckets.get("beta") is not None:
        raise InputError("beta fits columns that are released together; give width, or leave separately out.")
    questions = []
    for place, name in enumerate(names):
        own = {key: value if key == "outside" else _own(key, value, names, place) for key, value in buckets.items()}
        questions.append(make_question(table, [name], buckets=own, **common))
    return Request(questions=tuple(questions), separately=True)


def _own(name: str, value: Any, columns: Sequence[Any], place: int) -> Any:
    """What of a parameter is meant for one of several separate columns."""
    if isinstance(value, Mapping):
        if any(key not in columns for key in value):
            raise InputError(f"{name} names a column that is not among the released ones.")
        return value.get(columns[place])
    listed = isinstance(value, list | tuple)
    nested = listed and (
        name not in ("edges", "bounds") or all(isinstance(part, list | tuple | None) for part in value)
    )
    if nested and len(value) != len(columns):
        raise InputError(f"{name} must be given once for all of the {len(columns)} columns, or for each.")
    return value[place] if nested else value


@dataclass(frozen=True, kw_only=True)
class Release(Readable):
    """A published histogram and everything that may be read off it. It holds nothing private.

    ``cells`` are the bars as released, keyed by group and bucket index. Questions asked of the release itself are about
    all groups together; :meth:`by_group` asks each.
    """

    shape: Shape
    budget: Budget
    cells: Bars
    records_at_most: int | None = None

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
    def mechanism(self) -> Mechanism:
        """What was run: the bucketing, which the engine did while counting, and then the dropping."""
        dimensions = len(self.shape.columns)
        return Bucketing(partition=self.partition) >> Dropping(noise=self.noise, dimensions=dimensions)

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
        fibres = 1 if not self.shape.by else None if self.shape.groups is None else len(self.shape.groups)
        return self._read(self.bars, self.partition, self._scope(fibres=fibres))

    def _read(self, bars: Histogram, partition: Partition, scope: Scope, mechanism: Mechanism | None = None) -> Reader:
        return Reader(
            kind=partition.kind,
            partition=partition,
            noise=self.noise,
            mechanism=mechanism or self.mechanism,
            bars=bars,
            shown=Histogram(partition.centres(bars.keys), bars.counts),
            scope=scope,
        )

    def _scope(self, *, fibres: int | None, where: str = "", grouped: bool = False) -> Scope:
        rule = self.shape.unit
        spot = "each bucket" if len(self.shape.columns) == 1 else "each cell"
        lost = None if self.records_at_most is None else self.records_at_most - sum(self.cells.counts.tolist())
        name = "" if rule is None else rule.name
        counting = ""
        if rule is not None and rule.per_unit is None:
            counting = f", counting each {name} in at most {rule.most} bucket{'' if rule.most == 1 else 's'},"
        zone = "" if self.shape.zone is None else f" in {self.shape.zone}"
        return Scope(
            fibres=fibres,
            most_lost=lost,
            counted=name or "record",
            place=f"{spot} of each group" if self.shape.by and not grouped else spot,
            values=_VALUES[None if rule is None else rule.per_unit].format(unit=name),
            where=where + zone,
            rule=counting,
        )

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
        fibres = None if self.shape.groups is None else 1
        views = {}
        for group, where in member.items():
            values = self._group_values(group)
            names = " and ".join(f"{name} {value}" for name, value in zip(self.shape.by, values, strict=True))
            scope = self._scope(fibres=fibres, where=f" of {names}", grouped=True)
            views[values] = View(self._read(self.cells.histogram(self._value_places, where), self.partition, scope))
        return Groups(self.shape.by, views)

    def _group_values(self, index: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            times("date", np.array([part]))[0] if kind == "date" else part
            for part, kind in zip(index, self.shape.by_kinds, strict=True)
        )

    def marginal(self, column: str) -> View:
        """One of several released columns, the others added up."""
        if len(self.shape.columns) < 2:
            raise InputError("marginal needs a release of several columns; this one can be asked itself.")
        if column not in self.shape.columns:
            known = ", ".join(str(name) for name in self.shape.columns)
            raise InputError(f"column {shown(column)} is not in the release; its columns are {known}.")
        place = self.shape.columns.index(column)
        partition = self.shape.partitions[place]
        counts = [axis.count for i, axis in enumerate(self.shape.partitions) if i != place]
        outer = self._reader.scope.fibres
        fibres = None if outer is None or None in counts else outer * math.prod(c for c in counts if c is not None)
        bars = self.cells.histogram([len(self.shape.by) + place])
        index = bars if isinstance(partition, Exact) else Histogram(bars.keys.astype(np.int64), bars.counts)
        mechanism = Bucketing(partition=partition) >> Dropping(noise=self.noise)
        scope = self._scope(fibres=fibres, where=f" of {column}")
        return View(self._read(index, partition, scope, mechanism))

    def fit(self, estimator: Any) -> Answer:
        """A scikit-learn estimator fitted on the released histogram, its counts as sample weights.

        An estimator that learns labels gets the groups for labels, which are never bucketed. The answer's value is a
        fitted copy. Its promise is the drop-move one: it is exactly what the estimator learns from data in which a few
        records per bucket were left out and every value was moved to its bucket's centre.
        """
        if any(kind not in ("integer", "number") for kind in self.shape.kinds):
            raise InputError(f"fit needs columns of numbers, and this one is {self.kind}.")
        learn = getattr(estimator, "fit", None)
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
            labels = np.array([self._group_values((label,))[0] for label in self.cells.parts[0].tolist()])
            return learner.fit(points, labels, sample_weight=self.cells.counts.astype(np.float64))

        return self._reader.function(f"fit of {type(estimator).__name__}", work, lambda beta: math.inf if beta else 0.0)

    def certificate(self) -> Certificate:
        """All promises of this release, and the integer evidence for its privacy."""
        return Certificate(
            promises=(str(self.privacy), *self._reader.promises()),
            evidence=self.noise.certify(),
        )

    def to_json(self, *, indent: int | None = None) -> str:
        """The release as JSON, by the schema in docs/release-json.md; :meth:`from_json` reads it back."""
        return json.dumps(self._document(), indent=indent, ensure_ascii=False, allow_nan=False)

    def _document(self) -> dict[str, Any]:
        evidence, shape, rule = self.noise.certify(), self.shape, self.shape.unit
        alone = len(shape.columns) == 1
        first = len(shape.by)
        parts = [(axis, self.cells.parts[first + i]) for i, axis in enumerate(shape.partitions)]
        keys = [[_json_key(key) for key in axis.centres(part).tolist()] for axis, part in parts]
        bars: dict[str, Any] = {}
        if shape.by:
            rows = self.cells.rows(slice(first))
            bars["group"] = [[_json_key(part) for part in self._group_values(row)] for row in rows]
        bars["key"] = keys[0] if alone else [list(point) for point in zip(*keys, strict=True)]
        if alone and not isinstance(shape.partitions[0], Exact):
            bars["index"] = parts[0][1].tolist()
        elif not alone:
            index = [part.tolist() for _, part in parts]
            bars["index"] = [list(cell) for cell in zip(*index, strict=True)]
        bars["count"] = self.cells.counts.tolist()
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "flexdp": __version__,
            "column": shape.columns[0] if alone else list(shape.columns),
            "kind": shape.kinds[0] if alone else list(shape.kinds),
            "buckets": bucket_parameters(shape.partitions[0])
            if alone
            else [bucket_parameters(axis) for axis in shape.partitions],
        }
        if shape.zone is not None:
            document["zone"] = shape.zone
        if shape.by:
            document["by"] = list(shape.by)
            document["by_kind"] = list(shape.by_kinds)
            document["groups"] = None
            if shape.groups is not None:
                document["groups"] = [[_json_key(part) for part in group] for group in shape.groups]
        document["privacy"] = {
            "epsilon": str(self.budget.epsilon),
            "delta": str(self.budget.delta),
            "unit": "record" if rule is None else rule.name,
            "neighbours": "add or remove one",
        }
        if rule is not None:
            document["privacy"]["max_buckets_per_unit"] = rule.most
            if rule.per_unit is not None:
                document["privacy"]["per_unit"] = rule.per_unit
        if self.budget.share is not None:
            document["certified"] = {"share": str(self.budget.share), "records_at_most": self.records_at_most}
        document["mechanism"] = {
            "name": "dropping",
            "q": self.noise.q,
            "max_drop": self.noise.max_drop,
            "bits": self.noise.bits,
            "first_weight": str(evidence.first_weight),
            "growth": [str(evidence.growth_numerator), str(evidence.growth_denominator)],
        }
        document["bars"] = bars
        return document

    def to_html(self) -> str:
        """The report of this release as one HTML file that asks for nothing from outside, made from its JSON alone."""
        from flexdp.report.page import page

        return page(self._document(), self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file; ``flexdp report`` makes the same file from the JSON, byte for byte."""
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"path must name a file, for example 'age.html'; got {shown(path)}.")
        try:
            Path(path).write_text(self.to_html(), encoding="utf-8", newline="")
        except (OSError, ValueError):
            raise InputError(
                f"path {shown(str(path))} cannot be written. Check the folder and its permissions."
            ) from None

    def _repr_html_(self) -> str:
        from flexdp.report.notebook import release_card

        return release_card(self._document(), self)

    @classmethod
    def from_json(cls, document: str | bytes) -> Release:
        """The release that :meth:`to_json` wrote, refused if anything in it was changed that can be checked.

        The noise table is rebuilt from ε and δ, the keys from the buckets; the document must say the same of both.
        """
        try:
            content = json.loads(document)
            found = cls._from_document(content)
            same = {**found._document(), "flexdp": content["flexdp"]}
            content.pop("answers", None)  # what the command line adds is read off again, not believed
        except InputError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError):
            raise InputError("document must be the JSON of a flexdp release, complete and unchanged.") from None
        if same != content or not isinstance(content["flexdp"], str):
            raise InputError("document must be the JSON of a flexdp release, complete and unchanged.")
        return found

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Release:
        if document["schema"] != SCHEMA:
            raise InputError(f"schema must be {SCHEMA!r}; got {shown(document['schema'])}.")
        shape = _shape(document)
        certified, privacy, bars = document.get("certified"), document["privacy"], document["bars"]
        alone = len(shape.columns) == 1
        keys = [bars["key"]] if alone else _columns(bars["key"], len(shape.columns))
        listed = keys[0] if alone and isinstance(shape.partitions[0], Exact) else bars["index"]
        index = [listed] if alone else _columns(listed, len(shape.columns))
        parts: list[Any] = []
        if shape.by:
            values = [
                _exact_index(k, part)
                for k, part in zip(shape.by_kinds, _columns(bars["group"], len(shape.by)), strict=True)
            ]
            parts += values
        for axis, kind, own_index in zip(shape.partitions, shape.kinds, index, strict=True):
            parts.append(_exact_index(kind, own_index) if isinstance(axis, Exact) else _within(axis, own_index))
        cells = Bars(parts, [_positive(entry) for entry in bars["count"]])
        budget = Budget(
            privacy["epsilon"],
            privacy["delta"],
            most=1 if shape.unit is None else shape.unit.most,
            certify=None if certified is None else certified["share"],
        )
        at_most = None if certified is None else certified["records_at_most"]
        if at_most is not None and (type(at_most) is not int or at_most < sum(cells.counts.tolist())):
            raise ValueError("a bound that the release itself exceeds")
        return cls(shape=shape, budget=budget, cells=cells, records_at_most=at_most)

    def to_frame(self, library: str | None = None) -> Any:
        """The bars as a frame with columns key, lower, upper, count: pandas, polars or pyarrow, whichever is there.

        With groups there is a column for each of them, and of several columns a key, lower and upper for each.
        """
        return frame_of({name: _framed(cells) for name, cells in self.columns_of_bars().items()}, library)

    def columns_of_bars(self) -> dict[str, list[Any]]:
        """The bars column by column: the groups, then key, lower and upper of each released column, then the count."""
        columns: dict[str, list[Any]] = {}
        rows = [self._group_values(row) for row in self.cells.rows(slice(len(self.shape.by)))]
        for i, name in enumerate(self.shape.by):
            clash = name.split()[:1] in (["key"], ["lower"], ["upper"], ["count"])
            columns[f"{name} (group)" if clash else name] = [row[i] for row in rows]
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
        self._releases = {str(each.column): each for each in releases}

    def __getitem__(self, column: str) -> Release:
        if column not in self._releases:
            raise InputError(f"column {shown(column)} is not in the release; it has {', '.join(self._releases)}.")
        return self._releases[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._releases)

    def __len__(self) -> int:
        return len(self._releases)

    def __contains__(self, column: object) -> bool:
        return column in self._releases

    @property
    def privacy(self) -> Privacy:
        """What is promised for all columns together: the losses add up."""
        each = [release.privacy for release in self._releases.values()]
        return Privacy(
            epsilon=sum((p.epsilon for p in each), Fraction(0)),
            delta=sum((p.delta for p in each), Fraction(0)),
            neighbours=each[0].neighbours,
        )

    def to_json(self, *, indent: int | None = None) -> str:
        """All of them as JSON; :meth:`from_json` reads it back."""
        documents = [release._document() for release in self._releases.values()]
        content = {"schema": SCHEMA_OF_SEVERAL, "releases": documents}
        return json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, document: str | bytes) -> Releases:
        """What :meth:`to_json` wrote, each release checked."""
        try:
            content = json.loads(document)
            if content["schema"] != SCHEMA_OF_SEVERAL or set(content) != {"schema", "releases"}:
                raise TypeError("another schema")
            texts = [json.dumps(each) for each in content["releases"]]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError("document must be the JSON of flexdp releases, complete and unchanged.") from None
        return cls([Release.from_json(text) for text in texts])

    def __repr__(self) -> str:
        return f"<Releases of {', '.join(map(repr, self._releases))}>"


def _shape(document: dict[str, Any]) -> Shape:
    """The public parameters of a release from its document."""
    column, kind, buckets, privacy = (document[name] for name in ("column", "kind", "buckets", "privacy"))
    several = isinstance(column, list)
    columns = tuple(column) if several else (column,)
    kinds = tuple(kind) if several else (kind,)
    own = buckets if several else [buckets]
    names_fit = all(isinstance(name, str) for name in columns) or columns == (None,)
    if not names_fit or not all(each in _KINDS for each in kinds) or not len(columns) == len(kinds) == len(own):
        raise TypeError("no kind that flexdp knows, or a column without a name")
    by, by_kinds = tuple(document.get("by", ())), tuple(document.get("by_kind", ()))
    if len(by) != len(by_kinds) or not all(isinstance(name, str) for name in by):
        raise TypeError("groups without names or kinds")
    groups = document.get("groups")
    rule = None
    if "max_buckets_per_unit" in privacy:
        per_unit = privacy.get("per_unit")
        if per_unit not in _VALUES or not isinstance(privacy["unit"], str):
            raise TypeError("no unit that flexdp knows")
        rule = UnitRule(name=privacy["unit"], most=privacy["max_buckets_per_unit"], per_unit=per_unit)
    return Shape(
        columns=columns,
        kinds=kinds,
        partitions=tuple(make_buckets(each, **given) for each, given in zip(kinds, own, strict=True)),
        zone=document.get("zone"),
        by=by,
        by_kinds=by_kinds,
        groups=None if groups is None else declared_groups(groups, by_kinds),
        unit=rule,
    )


def _columns(rows: Any, count: int) -> list[list[Any]]:
    """Rows of equal length as columns."""
    if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != count for row in rows):
        raise TypeError("rows of different lengths")
    return [[row[i] for row in rows] for i in range(count)]


def _within(axis: Buckets, index: Any) -> Any:
    """Bucket indices, none outside the bounds."""
    if not isinstance(index, list) or any(type(entry) is not int for entry in index):
        raise TypeError("an index is a whole number")
    if axis.count is not None and any(not axis.first <= entry < axis.first + axis.count for entry in index):
        raise ValueError("a bucket outside the bounds")
    return index


def _framed(keys: list[Any]) -> list[Any]:
    """Keys as frames take them: numbers that no 64-bit integer or double holds become the nearest double."""
    if any(isinstance(key, Fraction) or (isinstance(key, int) and not -(2**63) <= key < 2**63) for key in keys):
        return [float(key) for key in keys]
    return keys


def _json_key(key: Any) -> Any:
    if isinstance(key, Fraction):
        return str(key)
    return key if isinstance(key, bool | int | float | str) else key.isoformat()


def _exact_index(kind: Kind, keys: list[Any]) -> Any:
    if kind == "date":
        day = np.array(keys, dtype="datetime64[D]")
        return day.astype(np.int64)
    if kind == "moment":
        return np.array(keys, dtype="datetime64[us]").astype(np.int64)
    wanted = {"integer": int, "number": float | int, "text": str, "boolean": bool}[kind]
    if not all(isinstance(key, wanted) and isinstance(key, bool) == (kind == "boolean") for key in keys):
        raise TypeError("keys do not fit the kind")
    return [float(key) for key in keys] if kind == "number" else keys


def _positive(entry: Any) -> int:
    if not isinstance(entry, int) or isinstance(entry, bool) or not 0 < entry < 2**63:
        raise TypeError("a released count is a positive integer")
    return entry
