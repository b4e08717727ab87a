"""Checks of automatic buckets: where they are meant, and what is refused before a record is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flexdp._core.text import safe_repr
from flexdp._release.asking import asks, ends_of
from flexdp._release.spec import Spec
from flexdp.buckets.exact import Exact
from flexdp.errors import InputError, P

if TYPE_CHECKING:
    from flexdp.tables import Column, Counting, Source

__all__ = ["check_automatic", "chooses_buckets", "has_open_ends", "refuse_points", "refuse_unread"]

_BUCKETS = ("width", "relative", "edges", "beta")
_OTHERWISE = ("Give ", P("width"), ", or say ", P("exact", True), " to make every value its own bucket.")


def chooses_buckets(spec: Spec, options: Mapping[str, Any]) -> bool:
    """Return True if buckets are to be chosen: of one column of numbers or times, where nothing is said of them.

    Beside ``ask`` they are chosen if δ is positive, which is not known yet; by groups they are not. Several columns
    without buckets, texts and booleans are counted value by value.
    """
    if asks(options.get("ask")) and spec.by:
        return False
    return spec.ordered and all(options.get(name) is None for name in _BUCKETS) and not options.get("exact")


def has_open_ends(spec: Spec) -> bool:
    """Return True if automatic buckets of these records leave minimum and maximum open: no bounds close them.

    Groups share their buckets, and have no answers of their own unless asked.
    """
    return not spec.by and getattr(spec.partitions[0], "bounds", None) is None


def refuse_points(spec: Spec, options: Mapping[str, Any]) -> None:
    """Refuse points of numbers or times without buckets: hardly two are equal, and all would be lost."""
    if len(spec.columns) < 2 or options.get("exact"):
        return
    for name, partition in zip(spec.columns, spec.partitions, strict=True):
        if isinstance(partition, Exact) and partition.kind in ("number", "datetime"):
            raise InputError(
                "width",
                f"is missing for column {safe_repr(name)}: hardly two records have the same values in several columns",
                remedy=("Give ", P("width"), " or ", P("beta"), ", use ", P("separately", True),
                        " for a release of each column, or ", P("exact", True), " for every point by itself."),
            )  # fmt: skip


def refuse_unread(column: Column, kind: object, options: Mapping[str, Any], *, bucketed: bool, several: bool) -> None:
    """Refuse a column of text cells whose kind nobody has told: read as texts, numbers would be spent on nothing."""
    if bucketed or several or kind is not None or options.get("exact"):
        return
    if column.undeclared and column.default is not None:
        times = (P("kind", "date"), " or ", P("kind", "datetime"), " for automatic buckets, ")
        number = () if column.written.dates is not None else (P("kind", "number"), ", ")
        raise InputError(
            "kind",
            f"is missing: {column.label} declares no type, and its cells must not decide how it is read",
            remedy=("Use ", *number, *times, P("kind", "text"),
                    " for texts, or ", P("exact", True), " to count every cell as it is written."),
        )  # fmt: skip


def check_automatic(table: Source, counting: Counting, spec: Spec) -> None:
    """Refuse automatic buckets that a table or its bounds do not allow."""
    from flexdp.tables.ranks import check_ranks

    try:
        ends_of(spec.partitions[0])
    except InputError:
        raise InputError("bounds", "must differ within ±10^39 for automatic buckets", remedy=_OTHERWISE) from None
    check_ranks(table, counting)
