"""How texts were read as numbers, dates or booleans, in words, for the command line and for a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flexdp._core.text import safe_repr
from flexdp.errors import P, Phrase, ReadingWarning, spelled

if TYPE_CHECKING:
    from flexdp._release.run import Request
    from flexdp.tables import Axis

__all__ = ["encoding_cause", "how_it_was_read", "warn_of_reading"]

_WITH_OFFSET = "datetimes with their offset, written like 2024-12-31T18:30+01:00"
_PARAMETERS = {
    "number": ("decimal", "thousands", "currency"),
    "integer": ("decimal", "thousands", "currency"),
    "date": ("date_format",),
    "datetime": ("date_format",),
}


def how_it_was_read(request: Request) -> list[Phrase]:
    """Say, for the released columns of texts, how cells must be written to count, and how to declare another way."""
    out = _told([axis for axis in _axes(request) if _holds_texts(axis)], request, past=True)
    return [*out, *_encoding(request, past=True)]


def warn_of_reading(request: Request) -> None:
    """Warn once of all columns whose kind was not given, before anything is spent: a warning may be made an error.

    Lists are not mentioned: only their cells tell whether there is a text among them. The warning points to the caller
    of the library.
    """
    kinds = request.parameters.get("kind")
    axes = [
        axis
        for axis in _axes(request)
        if axis.column.undeclared
        and axis.column.type_name != "list"
        and _holds_texts(axis)
        and not _is_told(axis, kinds)
    ]
    told = [spelled(phrase) for phrase in (*_told(axes, request, past=False), *_encoding(request, past=False))]
    if told:
        warnings.warn(" ".join(told), ReadingWarning, stacklevel=3)


def encoding_cause(request: Request) -> list[Phrase]:
    """Say why nothing may have survived of a text file that was read without an encoding."""
    told = "The file may not be in UTF-8: lines in another encoding are not counted. Set "
    return [(told, P("encoding"), ".")] if _is_assumed(request) else []


def _is_assumed(request: Request) -> bool:
    """Tell whether a text file is read for which no encoding was given: its header may not show another."""
    from flexdp.tables.files.source import FileTable

    tables = [each.table for each in request.questions]
    texts = any(isinstance(table, FileTable) and table.format in ("csv", "jsonl", "json") for table in tables)
    return texts and request.parameters.get("encoding") is None


def _encoding(request: Request, *, past: bool) -> list[Phrase]:
    """Say that a text file is read as UTF-8, where that was assumed."""
    if not _is_assumed(request):
        return []
    was, were = ("was", "were") if past else ("is", "are")
    told = f"The file {was} read as UTF-8; lines in another encoding {were} not counted. Set "
    return [(told, P("encoding"), " if it has another.")]


def _axes(request: Request) -> list[Axis]:
    """Return the released columns of a table whose texts flexdp reads itself; servers have rules of their own."""
    from flexdp.tables.sql.served_table import ServedTable

    found = [each for each in request.questions if not isinstance(each.table, ServedTable)]
    return [axis for each in found for axis in each.counting.values]


def _holds_texts(axis: Axis) -> bool:
    """Tell whether cells of the column are, or may be, texts that are read as something else."""
    return axis.kind != "text" and (axis.column.undeclared or axis.column.kind == "text")


def _is_told(axis: Axis, kinds: Any) -> bool:
    return axis.column.name in kinds if isinstance(kinds, Mapping) else kinds is not None


def _told(axes: list[Axis], request: Request, *, past: bool) -> list[Phrase]:
    """Name columns that are read alike together, and then the parameters that would have them read otherwise."""
    if not axes:
        return []
    alike: dict[str, list[str]] = {}
    for axis in axes:
        written = axis.column.written
        own = axis.zone is None or written.dates is not None
        names = alike.setdefault(written.example(axis.kind) if own else _WITH_OFFSET, [])
        names.append("" if axis.column.name is None else safe_repr(axis.column.name))
    out: list[Phrase] = []
    for example, names in alike.items():
        label, one = _label(names), len(names) == 1
        was, were = (("was" if one else "were"), "were") if past else (("is" if one else "are"), "are")
        out.append(f"{label} {was} read as {example}; other cells {were} not counted.")
    found = [name for axis in axes for name in _PARAMETERS.get(axis.kind, ())]
    timed = any(axis.zone is None and axis.column.may_be_zoned and axis.kind in ("date", "datetime") for axis in axes)
    zone: tuple[str | P, ...] = ("Set ", P("zone"), " to read datetimes with an offset. ") if timed else ()
    found += ["kind"] * any(not _is_told(axis, request.parameters.get("kind")) for axis in axes)
    check = "`flexdp check`" if past else "flexdp.check"
    return [*out, (*_choice(list(dict.fromkeys(found))), *zone, f"{check} counts the cells that are read.")]


def _label(names: list[str]) -> str:
    if not names[0]:
        return "This column of values"
    *first, last = names
    return f"Columns {', '.join(first)} and {last}" if first else f"Column {last}"


def _choice(names: list[str]) -> tuple[str | P, ...]:
    """Say which parameters describe cells that are written otherwise."""
    if not names:
        return ()
    *first, last = (P(name) for name in names)
    listed: list[str | P] = [part for each in first for part in (each, ", ")][:-1]
    return ("If cells are written in another way, set ", *listed, *([" or "] if listed else []), last, ". ")
