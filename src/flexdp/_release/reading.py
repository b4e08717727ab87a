"""How cells of columns without a declared type were read, in words, for the command line and for a warning."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from flexdp.errors import P, Phrase, ReadingWarning, spelled

if TYPE_CHECKING:
    from flexdp._release.run import Request

__all__ = ["how_it_was_read", "warn_of_reading"]

_WITH_OFFSET = "datetimes with their offset, written like 2024-12-31T18:30+01:00"


def how_it_was_read(request: Request, *, past: bool = True) -> list[Phrase]:
    """Say, for each released column of text files, how its cells must be written to count."""
    read, others = ("was", "were") if past else ("is", "are")
    out: list[Phrase] = []
    for axis in (axis for each in request.questions for axis in each.counting.values):
        column, kind = axis.column, axis.kind
        if not column.undeclared or column.default != "text" or kind == "text":
            continue
        own = axis.zone is None or column.written.dates is not None
        label = column.label[:1].upper() + column.label[1:]
        timed = axis.zone is None and kind in ("date", "datetime")
        zone: tuple[str | P, ...] = (" Use ", P("zone"), " to read datetimes with an offset.") if timed else ()
        out.append(
            (
                f"{label} {read} read as {column.written.example(kind) if own else _WITH_OFFSET}; other cells {others} "
                "not counted. Use ",
                P("kind"),
                " to read it differently.",
                *zone,
            )
        )
    return out


def warn_of_reading(request: Request) -> None:
    """Warn once of all columns whose kind was not given, before anything is spent: a warning may be made an error.

    It points to the caller of the library.
    """
    told = [spelled(phrase) for phrase in how_it_was_read(request, past=False)]
    if told:
        warnings.warn(f"{' '.join(told)} flexdp.check counts such cells.", ReadingWarning, stacklevel=3)
