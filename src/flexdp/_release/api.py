"""The way to a release: open, check, count, thin, describe.

Private records exist only inside :func:`release`, between the count and the noise. A :class:`Release` holds nothing
but what may be printed: parameters, and the counts that survived.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, Unpack, overload

from flexdp._core.domains import flag
from flexdp._core.exact import Number
from flexdp._core.forks import inside_release
from flexdp._core.text import plain_scalar
from flexdp._release.asking import asks
from flexdp._release.by_column import outside_of_each, prepare_one
from flexdp._release.charged import payer_of, run_paid
from flexdp._release.checks import prepare_column, refuse_unused
from flexdp._release.columns import column_names, per_column
from flexdp._release.parameters import Options, PaidOptions, refuse_unknown, spelled_out
from flexdp._release.published import Release
from flexdp._release.reading import warn_of_reading
from flexdp._release.run import Request
from flexdp._release.several import Releases
from flexdp._release.weak import warn_of_little_privacy
from flexdp.errors import InputError, P

__all__ = ["FILE_OPTIONS", "Release", "Releases", "Request", "prepare", "query", "release"]

FILE_OPTIONS = ("encoding", "sheet", "decimal", "thousands", "currency", "date_format")
_SCALARS = ("zone", "unit", "unit_kind", "engine", "format", "delimiter")
_BUCKETS = ("width", "relative", "edges", "bounds", "outside", "kind", "beta")

Check: TypeAlias = Callable[[Any, Sequence[Any], Mapping[str, Any]], None]


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
    **options: Unpack[PaidOptions],
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
    **options: Unpack[PaidOptions],
) -> Releases: ...


@spelled_out(PaidOptions)
def release(
    source: Any,
    column: str | Sequence[str] | None = None,
    *,
    epsilon: Number,
    delta: Number,
    certify: Number | None = None,
    separately: bool = False,
    split: Sequence[Number] | None = None,
    **options: Unpack[PaidOptions],
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
        The share of the budget that buys a bound on how much was left out in total, where buckets or groups are not
        public. Where they are, there is one without it.
    separately, split
        Release several columns one by one out of one budget, shared equally or in the proportions of ``split``. With
        ``ask`` and buckets, and with automatic ones, the shares of buckets and of answers.
    {options}

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

    payer = payer_of(options.pop("ledger", None), options.pop("dataset", None), options.pop("fresh", False))
    with engines_kept():
        request = prepare(source, column, separately=separately, **options)
        request = request.with_budget(epsilon, delta, certify=certify, split=split)
        warn_of_reading(request)
        warn_of_little_privacy(request)
        return run_paid(request, payer, epsilon=epsilon, delta=delta, certify=certify, split=split)


@spelled_out(like="release")
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
    {options}

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
    refuse_unknown(options, "release")
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
    own = [
        {**options, **{key: values[place] for key, values in each.items()}, **_derived_for(name, names, options)}
        for place, name in enumerate(names)
    ]
    questions = [prepare_one(table, name, one, given) for name, one in zip(names, own, strict=True)]
    zoned = {axis.column.name for question in questions for axis in question.counting.values if axis.zone is not None}
    if zoned and options.get("where") is not None:  # one filter for all columns
        questions = [prepare_one(table, name, one, given, zoned) for name, one in zip(names, own, strict=True)]
    refuse_unused(given, questions)
    return Request(questions=tuple(questions), separately=True)


def _derived_for(name: Any, names: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The derived columns that the release of one column may use: others that are released are not among them."""
    derive, where = options.get("derive"), options.get("where")
    if not isinstance(derive, Mapping):
        return {}
    tested = where if isinstance(where, str) else ""
    kept = {key: text for key, text in derive.items() if key == name or key not in names or str(key) in tested}
    return {"derive": kept or None}
