"""Which statistics a release can answer: public parameters alone decide, so others are refused before reading."""

from __future__ import annotations

from collections.abc import Iterable

from flexdp._release.spec import Spec
from flexdp.buckets.base import Kind
from flexdp.buckets.edges import Edges
from flexdp.buckets.exact import Exact
from flexdp.buckets.relative import RelativeWidth
from flexdp.errors import InputError, P, Phrase
from flexdp.statistics import Count, Mean, Statistic, Std, Sum

__all__ = ["check_kind", "check_several_buckets", "check_units", "repeats_units"]

_UNORDERED: tuple[str | P, ...] = ("Ask for mode, support, top or counts",)
_REMEDIES: dict[str, Phrase] = {
    "text": (*_UNORDERED, "; or use ", P("kind", "number"), " where texts hold numbers."),
    "boolean": (*_UNORDERED, "."),
    "date": "Ask for the median or another quantile.",
    "datetime": "Ask for the median or another quantile.",
}


def check_kind(statistic: Statistic, kinds: Iterable[Kind], parameter: str = "statistic") -> None:
    """Refuse a statistic that columns of these kinds do not have.

    Parameters
    ----------
    statistic
        The statistic.
    kinds
        Kinds of the released columns.
    parameter
        The parameter that names it, for the message.

    Raises
    ------
    InputError
        If it needs an order, or numbers, and a column has none.
    """
    for kind in kinds:
        if isinstance(statistic, Mean | Sum) and kind == "boolean":
            continue  # the share of what is true, and its number
        if isinstance(statistic, Mean | Sum | Std) and kind not in ("integer", "number"):
            needed = "numbers"
        elif statistic.ordered and kind in ("text", "boolean"):
            needed = "numbers or dates"
        else:
            continue
        rule = f": the {statistic.name} needs a column of {needed}; this one is {kind}"
        raise InputError(parameter, rule, remedy=_REMEDIES[kind])


def repeats_units(unit: str | None, most: int) -> bool:
    """Return True if a unit may count in several buckets, which then do not tell the number of units."""
    return unit is not None and most > 1


def check_units(statistic: Statistic, unit: str | None, most: int, parameter: str = "statistic") -> None:
    """Refuse the number of units where a unit may count in several buckets.

    Parameters
    ----------
    statistic
        The statistic.
    unit, most
        Column of the privacy unit, and the number of buckets that one unit may count in.
    parameter
        The parameter that names the statistic, for the message.

    Raises
    ------
    InputError
        If the number of units cannot be told.
    """
    if isinstance(statistic, Count) and repeats_units(unit, most):
        raise InputError(
            parameter,
            ": a unit may count in several buckets, so the counts do not determine the number of units",
            remedy=(
                "Use ",
                P("max_buckets_per_unit", 1),
                ", or count one value of each unit with ",
                P("per_unit"),
                ".",
            ),
        )


def check_several_buckets(spec: Spec, *, chosen: bool = True) -> None:
    """Refuse a single public bucket for all records: it tells their number, and nothing else.

    Parameters
    ----------
    spec
        The public description of the release.
    chosen
        True if the number of records could be asked for instead.

    Raises
    ------
    InputError
        If there is one bucket, and no groups that divide the records.
    """
    (first, *more) = spec.partitions
    if more or spec.by or isinstance(first, Exact) or first.count != 1:
        return
    named = {Edges: "edges", RelativeWidth: "relative"}.get(type(first), "width")
    raise InputError(
        named,
        ": there is only one bucket, which reveals only the number of records",
        remedy=("Choose narrower buckets, or use ", P("stat", "count"), ".") if chosen else "Choose narrower buckets.",
    )
