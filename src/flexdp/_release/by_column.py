"""Parameters that are given by column: a refusal says which column it is about, and shows examples for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flexdp._core.text import is_short, safe_repr
from flexdp._release.checks import Prepared, prepare_column
from flexdp._release.columns import per_column
from flexdp.errors import ABSENT, InputError, P, Phrase, spelled

if TYPE_CHECKING:
    from flexdp.tables import Source

__all__ = ["of_column", "outside_of_each", "prepare_one", "short_name"]

_NAMES = ("width", "relative", "edges", "bounds", "outside", "exact", "kind")


def prepare_one(
    table: Source,
    column: str | None,
    options: Mapping[str, Any],
    given: Mapping[str, Any],
    zoned: Collection[str | None] = (),
) -> Prepared:
    """Check the count of one column; the refusal of a parameter that was given by column names the column.

    Parameters
    ----------
    table, column
        The table, and the column; None where it has no name.
    options
        The parameters of this column.
    given
        The parameters as they were given.
    zoned
        Columns that other counts of the same request release in the zone.

    Returns
    -------
    Prepared
        The count.

    Raises
    ------
    InputError
        If anything does not fit.
    """
    try:
        return prepare_column(table, [column], options, zoned)
    except InputError as refusal:
        found = of_column(refusal, column, given)
    raise found


def of_column(refusal: InputError, column: str | None, options: Mapping[str, Any]) -> InputError:
    """Return the refusal of a parameter with the name of its column, where the parameter was given by column.

    Parameters
    ----------
    refusal
        The refusal of one column.
    column
        The column; None where it has no name.
    options
        The parameters as they were given.

    Returns
    -------
    InputError
        The refusal itself where the parameter was given for all columns.

    Examples
    --------
    >>> found = InputError("width", "must be whole", given="0.5", remedy=("Or say ", P("kind", "number"), "."))
    >>> print(of_column(found, "age", {"width": {"age": 0.5}}))
    width for column 'age' must be whole; got 0.5. Or say kind={'age': 'number'}.
    >>> of_column(found, "age", {"width": 0.5}) is found
    True
    """
    if column is None or refusal.parameter not in _NAMES or not isinstance(options.get(refusal.parameter), Mapping):
        return refusal
    rule, name = refusal.rule, safe_repr(column)
    if name not in spelled(rule):  # otherwise it says so already
        after = f"for column {name}{'' if spelled(rule).startswith(':') else ' '}"
        rule = (after, *_parts(rule))
    return InputError(
        refusal.parameter, _named(rule, column), given=refusal.given, remedy=_named(refusal.remedy, column)
    )


def _parts(phrase: Phrase) -> tuple[str | P, ...]:
    return phrase if isinstance(phrase, tuple) else (phrase,)


def _named(phrase: Phrase, column: str) -> Phrase:
    """A phrase whose examples are given by column, too."""
    return tuple(
        P(part.name, {short_name(column): part.value})
        if isinstance(part, P) and part.name in _NAMES and part.value is not ABSENT and not isinstance(part.value, dict)
        else part
        for part in _parts(phrase)
    )


def outside_of_each(options: Mapping[str, Any], names: Sequence[str | None]) -> list[Any]:
    """Return ``outside`` of each column where it was given by name; other columns clamp.

    Parameters
    ----------
    options
        The parameters as they were given.
    names
        The columns.

    Returns
    -------
    list
        One word for each column, not checked yet.

    Raises
    ------
    InputError
        If a column that is named is not released, or has neither bounds nor edges: nothing is outside.
    """
    given, bounds, edges = (per_column(key, options.get(key), names) for key in ("outside", "bounds", "edges"))
    for place, name in enumerate(names):
        if given[place] is not None and bounds[place] is None and edges[place] is None:
            raise InputError(
                "outside",
                (f"for column {safe_repr(name)} needs ", P("bounds"), " or ", P("edges")),
                remedy="Give one of them, or leave it out.",
            )
    return ["clamp" if each is None else each for each in given]


def short_name(name: str | None) -> str:
    """Return a column's name as an example shows it."""
    return name if name is not None and is_short(name) else "…"
