"""The way to a release: open, check, count, thin, describe.

Private records exist only inside :func:`release`, between the count and the noise. A :class:`Release` holds nothing
but what may be printed: parameters, and the counts that survived.
"""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack, overload

from flexdp._core.domains import flag
from flexdp._core.exact import Number
from flexdp._core.forks import inside_release
from flexdp._core.text import plain_scalar
from flexdp._release.asking import asks
from flexdp._release.by_column import outside_of_each, prepare_one
from flexdp._release.charged import payer_of, run_paid
from flexdp._release.checks import prepare_column, refuse_unused
from flexdp._release.columns import column_names, per_column
from flexdp._release.published import Release
from flexdp._release.reading import warn_of_reading
from flexdp._release.run import Request
from flexdp._release.several import Releases
from flexdp._release.weak import warn_of_little_privacy
from flexdp.buckets.base import Kind, Outside
from flexdp.errors import InputError, P
from flexdp.statistics import Statistic

__all__ = ["FILE_OPTIONS", "Options", "Release", "Releases", "Request", "prepare", "query", "release", "spelled_out"]

FILE_OPTIONS = ("encoding", "sheet", "decimal", "thousands", "currency", "date_format")
_SCALARS = ("zone", "unit", "unit_kind", "engine", "format", "delimiter")
_BUCKETS = ("width", "relative", "edges", "bounds", "outside", "kind", "beta")
_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])

PerColumn: TypeAlias = _T | Sequence[_T | None] | Mapping[str, _T] | None
Width: TypeAlias = Number | dt.timedelta
Check: TypeAlias = Callable[[Any, Sequence[Any], Mapping[str, Any]], None]
Point: TypeAlias = Number | dt.date
GroupKind: TypeAlias = Literal["text", "integer", "date", "boolean"]
UnitKind: TypeAlias = Literal["text", "integer", "date"]


class Options(TypedDict, total=False):
    """Everything that :func:`flexdp.release` and :func:`flexdp.query` take beside the source and the budget."""

    width: PerColumn[Width]
    relative: PerColumn[Number]
    edges: PerColumn[Sequence[Point]]
    beta: Number | None
    bounds: PerColumn[tuple[Point, Point] | Sequence[Point]]
    outside: Outside | Mapping[str, Outside]
    kind: PerColumn[Kind]
    zone: str | None
    by: str | Sequence[str] | None
    by_kind: PerColumn[GroupKind]
    groups: Sequence[Any] | None
    other: str | None
    unit: str | None
    unit_kind: UnitKind | None
    max_buckets_per_unit: int | None
    per_unit: Literal["max", "min", "mean", "random"] | None
    cap_report: bool
    engine: Literal["postgres", "sqlite", "duckdb"] | None
    format: Literal["csv", "jsonl", "json", "parquet", "arrow", "xlsx"] | None
    delimiter: str | None
    encoding: str | None
    sheet: str | None
    decimal: Literal[".", ","] | None
    thousands: Literal[",", ".", " ", "'", "_"] | None
    currency: str | Sequence[str] | None
    date_format: str | None
    ask: str | Statistic | Sequence[str | Statistic] | None
    where: str | None
    derive: Mapping[str, str] | None
    rows_are_records: bool
    exact: bool | Mapping[str, bool]
    title: str | None
    publisher: str | None
    dataset_name: str | None
    period: str | None


_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(Options.__annotations__),
    "outside": "clamp",
    "cap_report": True,
    "rows_are_records": False,
    "exact": False,
}


def spelled_out(function: _F) -> _F:
    """Give a function that takes ``**options`` a signature in which every option is spelled out."""
    own = inspect.signature(function)
    kept = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_annotation(name))
        for name, default in _DEFAULTS.items()
    ]
    function.__signature__ = own.replace(parameters=[*kept, *options])  # type: ignore[attr-defined]
    return function


def _annotation(name: str) -> str:
    found = Options.__annotations__[name]
    return str(getattr(found, "__forward_arg__", found))


@overload
def release(
    source: Any,
    column: str | Sequence[str] | None = None,
    *,
    epsilon: Number,
    delta: Number,
    certify: Number | None = None,
    separately: Literal[False] = False,
    split: Sequence[Number] | None = None,
    ledger: Any = None,
    dataset: str | None = None,
    fresh: bool = False,
    **options: Unpack[Options],
) -> Release: ...


@overload
def release(
    source: Any,
    column: Sequence[str],
    *,
    epsilon: Number,
    delta: Number,
    certify: Number | None = None,
    separately: Literal[True],
    split: Sequence[Number] | None = None,
    ledger: Any = None,
    dataset: str | None = None,
    fresh: bool = False,
    **options: Unpack[Options],
) -> Releases: ...


@spelled_out
def release(
    source: Any,
    column: str | Sequence[str] | None = None,
    *,
    epsilon: Number,
    delta: Number,
    certify: Number | None = None,
    separately: bool = False,
    split: Sequence[Number] | None = None,
    ledger: Any = None,
    dataset: str | None = None,
    fresh: bool = False,
    **options: Unpack[Options],
) -> Release | Releases:
    """Publish a column: count its records by bucket, let every bucket lose a few, keep the rest; or answer sharply.

    With ``ask`` the named statistics are answered by themselves, within a few records of the exact rank, beside the
    buckets where δ is positive (docs/sharp-answers.md). The result is (ε, δ)-differentially private under adding or
    removing one record, or one unit, and buckets answer every statistic at no further cost. Without a ledger, every
    call spends (ε, δ) again.

    Parameters
    ----------
    source
        A path (CSV, Parquet, JSON lines or arrays, Arrow, Excel; also gzip, patterns, or a list of paths), a numpy
        array or list of values, a dict of such columns, a pandas, polars or pyarrow table or column, a DuckDB relation,
        a Spark DataFrame, or a pair (connection, table) of a database.
    column
        The column's name; left out where the source is a single column. Several names make one release of points, or
        with ``separately`` one release each.
    epsilon, delta
        The privacy loss, taken exactly as written. There are no defaults. With ``ask`` and δ = 0
        there are answers and no buckets.
    certify
        The share of the budget that buys a bound on how much was left out in total, where buckets are not public.
    separately, split
        Release several columns one by one out of one budget, shared equally or in the proportions of ``split``. With
        ``ask`` and buckets, and with automatic ones, the shares of buckets and of answers.
    ledger, dataset, fresh
        A :class:`flexdp.Ledger` or its address, and the declared name of the data set that pays: (ε, δ) is on disk
        before a record is read. An identical request, of the same source and period, returns the stored release, free,
        unless ``fresh``.
    width, relative, edges
        The buckets: of one width ("1 day", "1 month" or "15 minutes" for times); each within a fraction of its centre;
        or between given edges. For several columns, one for all, a list, or a dictionary by name. Without any of them,
        and without ``exact``, buckets of a column of numbers, dates or datetimes are chosen privately, and minimum and
        maximum answered beside them (docs/automatic-buckets.md); every text, and every point of several columns, is its
        own bucket.
    beta
        For several columns: cells in which no point is further than β from the middle.
    bounds
        A public pair (lower, upper). Privacy never needs it; it makes the share left out certifiable.
    outside
        Count values outside the bounds at the nearer end ("clamp") or not at all ("drop"); by column name where columns
        are released separately.
    kind
        How to read a column that declares no type, or whose type pandas has inferred from its cells (default
        "number"): "integer", "number", "text", "date", "datetime" or "boolean".
    zone
        The time zone in which a column of datetimes with time zones is read.
    by, groups
        Columns whose values make groups, found as they are, or declared, which makes all buckets public. A record lies
        in one bucket of one group, so the price is the same.
    other
        The name of one more group, for the records that none of the declared groups covers.
    by_kind, unit_kind
        How to read columns of groups and units that declare no type (default "text"), or whose type pandas has inferred
        (no default): "text", "integer", "date", and for groups "boolean". For several columns of groups, one for all, a
        list, or a dictionary by name.
    unit, max_buckets_per_unit, per_unit
        The column of the privacy unit; the number of buckets that one unit may count in; or which one value of each
        unit counts ("max", "min", "mean", "random").
    cap_report
        Publish how many units have more than ``max_buckets_per_unit`` buckets, or different values, for a twenty-fifth
        of ε: what such a release says is not said of the column itself (docs/per-person.md).
    engine
        The dialect of a database connection that does not tell its own.
    format, delimiter
        For files, where the name and the header line do not tell.
    encoding, sheet
        The encoding of CSV and JSON files that are not UTF-8, such as "cp1252" or "utf-16"; the sheet of a
        workbook, by default the first.
    decimal, thousands, currency, date_format
        How cells of text are written: the decimal mark "." or ","; the mark between thousands; signs that may
        stand beside a number, such as "€"; dates such as "%d.%m.%Y". Without them, texts are read as numbers like
        1234.5 and dates like 2024-12-31, in files, frames and lists alike. Cells written otherwise are left out, with
        no word about a list, whose cells must not decide a warning: :func:`check` counts them (docs/files.md).
    ask
        Statistics to answer by themselves, or their names: max, min, median, q0.99, p99, range, iqr, count, sum, mean.
        An empty list, or "none", leaves minimum and maximum out beside automatic buckets.
    where
        A test of the records that count, such as "ward = 'ICU' AND year(day) = 2024"; it is public and is published
        with the release (docs/filters.md).
    derive
        Columns that are computed from others record by record, by name: ``{"stay": "arr - dep"}``.
    rows_are_records
        Vouch for a relation, lazy frame, DataFrame or view whose plan does not show it: every record yields at most one
        row and no row depends on more than one record (docs/filters.md).
    exact
        Make every value its own bucket, instead of choosing buckets; by column name where columns are released
        separately.
    title, publisher, dataset_name, period
        What the publisher declares about the release, for its JSON and its page. It is believed, and changes no number.
        A data set that a ledger keeps by period needs the ``period``; a fixed one takes none.

    Returns
    -------
    Release or Releases
        The published counts, with queries, report and JSON; with ``separately`` one for each column.

    Raises
    ------
    InputError
        If a parameter is wrong or does not fit the declared schema; nothing was read, nothing was spent.
    BudgetError
        If what is left of the data set's budget does not suffice; nothing was read, nothing was spent.
    LedgerError
        If the ledger is locked, full or damaged; nothing was read.
    DataError
        If the table could not be read to its end.

    Examples
    --------
    >>> ages = [30 + i % 40 for i in range(4000)]
    >>> published = release(ages, epsilon=1, delta=1e-6, width=10, bounds=(0, 120))
    >>> published.max().text, published.max().value, published.max().accuracy.beta
    ('60–70 or more', 65.0, 5.0)
    >>> release(ages, epsilon=1, delta=0, ask=["median", "q0.9"]).median().name
    'median'
    """
    from flexdp.tables.engines.duckdb.session import engines_kept

    payer = payer_of(ledger, dataset, fresh)
    with engines_kept():
        request = prepare(source, column, separately=separately, **options)
        request = request.with_budget(epsilon, delta, certify=certify, split=split)
        warn_of_reading(request)
        warn_of_little_privacy(request)
        return run_paid(request, payer, epsilon=epsilon, delta=delta, certify=certify, split=split)


@spelled_out
def query(
    source: Any,
    column: str | Sequence[str] | None = None,
    *,
    separately: bool = False,
    dialect: str | None = None,
    **options: Unpack[Options],
) -> str:
    """Return the SQL text that a release with these parameters would run; reads the declared schema and runs nothing.

    Parameters
    ----------
    source, column, separately
        As for :func:`release`.
    dialect
        Another dialect to show the query in, such as "postgres" or "mariadb".
    width, relative, edges, beta, bounds, outside, kind, zone
        As for :func:`release`.
    by, by_kind, groups, other, unit, unit_kind, max_buckets_per_unit, per_unit, cap_report
        As for :func:`release`. Where units are bounded, the word 'salt' stands for the random text of a release.
    engine, format, delimiter, encoding, sheet, decimal, thousands, currency, date_format, ask, exact
        As for :func:`release`.
    where, derive, rows_are_records, title, publisher, dataset_name, period
        As for :func:`release`.

    Returns
    -------
    str
        One statement, or several where columns that are released separately are counted one by one.

    Examples
    --------
    >>> print(query([1.5, 2.5], kind="number", width=5, bounds=(0, 10)).splitlines()[-1].strip()[:8])
    GROUP BY
    """
    return prepare(source, column, separately=separately, **options).query(dialect)


@inside_release()
def prepare(
    source: Any, column: Any = None, *, separately: object = False, check: Check | None = None, **options: Any
) -> Request:
    """Open a table and check a release; everything that can be refused is refused before a record is read.

    ``check`` refuses more, once the table is open.
    """
    parameters = {"column": column, "separately": separately, **options}
    from flexdp.tables import name_of

    made = _prepared(source, column, check, separately=separately, **options)
    return replace(made, parameters=parameters, source=name_of(source, column))


def _prepared(source: Any, column: Any, check: Check | None, *, separately: object, **options: Any) -> Request:
    from flexdp.tables import open_table

    given = dict(options)
    unknown = [name for name in options if name not in _DEFAULTS]
    if unknown:
        raise TypeError(f"release() got an unexpected keyword argument {unknown[0]!r}")
    options |= {name: plain_scalar(options[name]) for name in _SCALARS if name in options}
    apart = flag("separately", separately)
    names: list[Any] = column_names(column)
    options["rows_are_records"] = flag("rows_are_records", options.get("rows_are_records", False))
    exact = options.get("exact", False)
    if isinstance(exact, Mapping) and (apart or len(names) == 1):
        alone = [flag("exact", each or False) for each in per_column("exact", exact, names)]
    else:
        alone = [flag("exact", exact)] * len(names)
    options["exact"] = alone[0]
    table = open_table(
        source,
        None if column is None else names,
        file_format=options.pop("format", None),
        delimiter=options.pop("delimiter", None),
        engine=options.pop("engine", None),
        **{name: options.pop(name, None) for name in FILE_OPTIONS},
        rows_are_records=options["rows_are_records"],
    )
    if check is not None:
        check(table, names, {**options, "exact": dict(zip(names, alone, strict=True))})
    if apart and len(names) < 2:
        raise InputError("separately", "needs several columns", remedy="Name them in a list.")
    if apart and asks(options.get("ask")):
        raise InputError(
            "ask",
            ("does not fit ", P("separately", True)),
            remedy="Release each column by itself, with its own budget.",
        )
    if isinstance(options.get("outside"), Mapping) and (apart or len(names) == 1):
        sides = outside_of_each(options, names)
        options["outside"] = sides if apart else sides[0]
    if not apart:
        single = len(names) == 1
        question = prepare_one(table, names[0], options, given) if single else prepare_column(table, names, options)
        refuse_unused(given, [question])
        return Request(questions=(question,))
    if options.get("beta") is not None:
        raise InputError(
            "beta",
            "fits columns that are released together",
            remedy=("Give ", P("width"), ", or leave ", P("separately"), " out."),
        )
    each = {key: per_column(key, options[key], names) for key in _BUCKETS if key in options} | {"exact": alone}
    own = [{**options, **{key: values[place] for key, values in each.items()}} for place in range(len(names))]
    questions = [prepare_one(table, name, one, given) for name, one in zip(names, own, strict=True)]
    zoned = {axis.column.name for question in questions for axis in question.counting.values if axis.zone is not None}
    if zoned and options.get("where") is not None:  # one filter for all columns
        questions = [prepare_one(table, name, one, given, zoned) for name, one in zip(names, own, strict=True)]
    refuse_unused(given, questions)
    return Request(questions=tuple(questions), separately=True)
