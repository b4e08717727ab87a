"""Release: a table's columns go in, a public histogram comes out, and every answer is read off that.

Private records exist only inside :func:`release`, between the count and the noise. A :class:`Release` holds nothing
but what may be printed: parameters, and the bars that survived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypedDict, Unpack, overload

from flexdp._core.domains import Domain, flag, sequence
from flexdp._core.exact import Number
from flexdp._core.text import plain_scalar
from flexdp._release.checks import Prepared, Shape, column_names, per_column, prepare_column
from flexdp._release.published import Release, Releases
from flexdp.accounting.budget import Budget
from flexdp.buckets.base import Kind
from flexdp.buckets.partition import Partition
from flexdp.calculus import split as divided
from flexdp.errors import DataError, InputError
from flexdp.histogram import KeyedHistogram
from flexdp.noise.sampler import fresh_salt

__all__ = ["Release", "Releases", "Request", "prepare", "query", "release"]

PART = Domain(name="split", low=Fraction(0), remedy="Give the share of each column, for example split=[2, 1, 1].")
_BUCKETS = ("width", "relative", "edges", "beta", "bounds", "outside", "kind")


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
    by_kind: Any
    groups: Sequence[Any] | None
    unit: str | None
    unit_kind: str | None
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
    by_kind: Any = None,
    groups: Sequence[Any] | None = None,
    unit: str | None = None,
    unit_kind: str | None = None,
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
        How to read a column that declares no type, or whose type pandas has inferred from its cells: "integer",
        "number", "text", "date", "datetime" or "boolean".
    zone
        The time zone in which a column of datetimes with time zones is read.
    by, groups
        Columns whose values make groups, found as they are, or declared, which makes all bars public. A record lies in
        one bar of one group, so that the price is the same.
    by_kind, unit_kind
        How to read columns of groups and units that declare no type (default "text"), or whose type pandas has inferred
        (no default): "text", "integer", "date", and of groups "boolean". Of several columns of groups, one for all, a
        list, or a dictionary by name.
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
        by_kind=by_kind,
        groups=groups,
        unit=unit,
        unit_kind=unit_kind,
        max_buckets_per_unit=max_buckets_per_unit,
        per_unit=per_unit,
        separately=separately,
        engine=engine,
        format=format,
        delimiter=delimiter,
    )
    return request.with_budget(epsilon, delta, certify=certify, split=split).run()


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

    questions: tuple[Prepared, ...]
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

    def with_budget(
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
        parts = divided(whole.privacy(), _shares(split, len(self.questions)))
        budgets = [
            Budget(part.epsilon, part.delta, most=k, certify=certify) for part, k in zip(parts, most, strict=True)
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
        try:
            released = [
                _thinned(bars, question.shape, budget)
                for bars, question, budget in zip(private, self.questions, self.budgets, strict=True)
            ]
        except Exception:  # noqa: BLE001  (its traceback would hold what was counted)
            released = []
        del private
        if not released:
            raise DataError
        return Releases(released) if self.separately else released[0]


def _thinned(private: KeyedHistogram, shape: Shape, budget: Budget) -> Release:
    """The one step from private to public."""
    unit = "record" if shape.unit is None else shape.unit.name
    left = budget.dropping(unit, len(shape.columns)).thin(private)  # the last step of Release.mechanism
    return Release(shape=shape, budget=budget, cells=left.cells, records_at_most=left.records_at_most)


def _shares(split: Sequence[Number] | None, count: int) -> list[Fraction]:
    if split is None:
        return [Fraction(1, count)] * count
    listed = sequence(split)
    if listed is None or len(listed) != count:
        raise InputError(f"split must be a list with a share for each of the {count} columns.")
    parts = [PART.check(part) for part in listed]
    return [part / sum(parts) for part in parts]


def prepare(
    source: Any,
    column: Any = None,
    *,
    zone: object = None,
    by: object = None,
    by_kind: object = None,
    groups: object = None,
    unit: object = None,
    unit_kind: object = None,
    max_buckets_per_unit: object = None,
    per_unit: object = None,
    separately: object = False,
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
    apart = flag("separately", separately)
    names: list[Any] = column_names(column)
    options = {"file_format": format, "delimiter": delimiter, "engine": engine}
    table = open_table(
        source,
        None if column is None else names,
        **{key: plain_scalar(value) for key, value in options.items()},
    )
    if apart and len(names) < 2:
        raise InputError("separately needs several columns; name them in a list.")
    common = {
        "zone": plain_scalar(zone), "by": by, "by_kind": by_kind, "groups": groups,
        "unit": plain_scalar(unit), "unit_kind": plain_scalar(unit_kind),
        "max_buckets_per_unit": max_buckets_per_unit, "per_unit": per_unit,
    }  # fmt: skip
    if not apart:
        return _checked_zone(zone, Request(questions=(prepare_column(table, names, buckets=buckets, **common),)))
    if buckets.get("beta") is not None:
        raise InputError("beta fits columns that are released together; give width, or leave separately out.")
    questions = []
    given = {key: per_column(key, value, names) for key, value in buckets.items()}
    for place, name in enumerate(names):
        own = {key: values[place] for key, values in given.items()}
        questions.append(prepare_column(table, [name], buckets=own, **common))
    return _checked_zone(zone, Request(questions=tuple(questions), separately=True))


def _checked_zone(zone: object, request: Request) -> Request:
    axes = [axis for question in request.questions for axis in question.counting.values]
    if zone is not None and all(axis.zone is None for axis in axes):
        raise InputError("zone fits a column of datetimes with a time zone only; leave it out.")
    return request
