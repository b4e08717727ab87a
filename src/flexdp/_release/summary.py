"""The summary of a whole table: every column released by itself, out of one budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from flexdp._core.domains import flag, pairs, sequence, text
from flexdp._core.exact import Number
from flexdp._core.text import safe_repr
from flexdp._release.api import FILE_OPTIONS, Releases, Request, prepare
from flexdp._release.asking import asks
from flexdp._release.charged import paid_by, payer_of, run_paid
from flexdp._release.columns import named_column
from flexdp._release.parameters import PaidOptions, spelled_out
from flexdp._release.reading import warn_of_reading
from flexdp._release.summary_checks import all_columns, check_kinds
from flexdp._release.weak import warn_of_little_privacy
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, P

__all__ = ["prepare_summary", "summary"]


@spelled_out(PaidOptions, like="release")
def summary(
    source: Any,
    columns: Sequence[str] | Mapping[str, Kind] | None = None,
    *,
    epsilon: Number,
    delta: Number,
    skip: Sequence[str] | str | None = None,
    split: Sequence[Number] | Mapping[str, Number] | None = None,
    **options: Unpack[PaidOptions],
) -> Releases:
    """Publish every column of a table out of one budget: no bounds, no widths.

    Numbers and times get automatic buckets with minimum and maximum, texts and booleans a count of each value. No
    column is left out by itself: ids and free texts, of which nothing would survive, are left out by name.

    Parameters
    ----------
    source
        The table, as for :func:`flexdp.release`.
    columns
        The columns to publish, or a dictionary of their kinds; all columns unless given. A text file declares no
        types, and its first line may be a record: name its columns with their kinds.
    epsilon, delta
        The privacy loss of the whole summary.
    skip
        Columns to leave out.
    split
        Shares of the budget, in the order of the columns or by name, where a column that is not named has share 1;
        equal shares unless given.
    {options}

    Parameters may differ by column name where they say so. Columns of groups and units are not released; ``ask`` may be
    empty, to leave minimum and maximum out, and ``beta`` does not fit a summary.

    Returns
    -------
    Releases
        One release for each column, with a page of all of them.

    Raises
    ------
    InputError
        If a parameter is wrong or does not fit the declared schema; nothing was read, nothing was spent.
    DataError
        If the table could not be read to its end.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"ward": ["A", "B"] * 900, "open": [True, False, False] * 600, "id": range(1800)})
    >>> published = summary(table, epsilon=1, delta=1e-6, skip=["id"])
    >>> list(published), published.privacy.epsilon
    (['ward', 'open'], Fraction(1, 1))
    """
    from flexdp.tables.engines.duckdb.session import engines_kept

    payer = payer_of(options.pop("ledger", None), options.pop("dataset", None), options.pop("fresh", False))
    with engines_kept():
        request = prepare_summary(source, columns, skip=skip, **options)
        shares = shares_of(request, split)
        request = request.with_budget(epsilon, delta, split=shares)
        warn_of_reading(request)
        warn_of_little_privacy(request)
        made = run_paid(request, payer, epsilon=epsilon, delta=delta, split=shares)
    return made if isinstance(made, Releases) else paid_by(Releases([made]), made.payment)


def prepare_summary(source: Any, columns: Any = None, *, skip: Any = None, **options: Any) -> Request:
    """Choose the columns of a summary and check everything; no record is read."""
    for name, given in (("ask", asks(options.get("ask"))), ("beta", options.get("beta") is not None)):
        if given:
            raise InputError(name, "does not fit a summary", remedy="Release that column by itself.")
    if isinstance(columns, Mapping):
        if options.get("kind") is not None:
            raise InputError("kind", ("is given twice: ", P("columns"), " names the kinds"), remedy="Leave it out.")
        options["kind"] = dict(pairs(columns) or ())
        columns = list(options["kind"])
    named = _names(source, columns, skip, options)
    several = len(named) > 1
    return prepare(source, named if several else named[0], separately=several, check=check_kinds, **options)


def shares_of(request: Request, split: Any) -> Any:
    """Return the shares of the budget in the order of the columns; None where there is one column only."""
    names = [str(question.spec.columns[0]) for question in request.questions]
    if isinstance(split, Mapping):
        given = dict(pairs(split) or ())
        unknown = [name for name in given if name not in names]
        if unknown:
            raise InputError("split", f"names {safe_repr(unknown[0])}, which is not among the columns of the summary")
        split = [given.get(name, 1) for name in names]
    if len(names) == 1 and split is not None and len(sequence(split) or ()) == 1:
        return None
    return split


def _names(source: Any, columns: Any, skip: Any, options: Mapping[str, Any]) -> list[str]:
    """The columns to publish: those that were named, or all that are declared, without those left out."""
    left_out = [] if skip is None else _listed("skip", [skip] if isinstance(skip, str) else skip)
    if columns is not None:
        named = _listed("columns", [columns] if isinstance(columns, str) else columns)
    else:
        named = _declared(source, options, left_out)
    found = [name for name in named if name not in left_out]
    if not found:
        raise InputError("columns", ": no column is left to publish", remedy=("Leave fewer out with ", P("skip"), "."))
    return found


def _declared(source: Any, options: Mapping[str, Any], left_out: Sequence[str]) -> list[str]:
    """All columns but those of groups and units, and those left out."""
    from flexdp.tables import open_table

    by = options.get("by")
    others = {options.get("unit"), *([by] if isinstance(by, str) else sequence(by) or ()), *left_out}
    table = open_table(
        source,
        file_format=options.get("format"),
        delimiter=options.get("delimiter"),
        engine=options.get("engine"),
        rows_are_records=flag("rows_are_records", options.get("rows_are_records", False)),
        **{name: options.get(name) for name in FILE_OPTIONS},
    )
    for name in left_out:
        named_column(table, "skip", name)
    left = [column for column in table.columns if column.name not in others]
    return all_columns(table.columns, left, options.get("kind"))


def _listed(parameter: str, given: Any) -> list[str]:
    found = sequence(given)
    if found is None:
        raise InputError(parameter, "must be a list of column names", given=safe_repr(given))
    return [text(parameter, name) for name in found]
