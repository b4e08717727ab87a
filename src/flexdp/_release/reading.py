"""How texts were read as numbers, dates or booleans, in words, for the command line and for a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flexdp._core.text import safe_repr
from flexdp._release.filters import read_cells
from flexdp._release.spec import Spec
from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.errors import P, Phrase, ReadingWarning, spelled

if TYPE_CHECKING:
    from flexdp._release.run import Request
    from flexdp.tables import Axis, Column

__all__ = ["encoding_cause", "how_it_was_read", "warn_of_reading"]

_WITH_OFFSET = "datetimes with their offset, written like 2024-12-31T18:30+01:00"
_PARAMETERS = {
    "number": ("decimal", "thousands", "currency"),
    "integer": ("decimal", "thousands", "currency"),
    "date": ("date_format",),
    "datetime": ("date_format",),
}


@dataclass(frozen=True, slots=True)
class _Read:
    """A column and the kind that its cells are read as; ``told`` if the caller has said so."""

    column: Column
    kind: Kind
    told: bool
    zone: str | None = None
    named: bool = False  # in a filter or a derived column
    numeric: bool = False  # with buckets or bounds of numbers

    @property
    def holds_texts(self) -> bool:
        """True if cells are, or may be, texts that are read as something else."""
        return self.kind != "text" and (self.column.undeclared or self.column.kind == "text")

    @property
    def example(self) -> str:
        """How cells are written to be read."""
        written = self.column.written
        if (self.zone is not None or self.column.zoned) and written.dates is None:
            return _WITH_OFFSET
        if self.column.dated and written.dates is None:
            return f"{written.example('date')} or {written.example('datetime')}"
        if self.column.dated and written.dates is not None and not written.dates.timed:
            return written.example("date")  # which are midnights
        return written.example(self.kind)


def how_it_was_read(request: Request) -> list[Phrase]:
    """Say, for columns of texts that are read otherwise, how cells must be written, and how to declare another way."""
    return [*_told(_reads(request), request, past=True), *_encoding(request, past=True)]


def warn_of_reading(request: Request) -> None:
    """Warn once of all columns whose kind was not given, before anything is spent: a warning may be made an error.

    Names and the request decide, never a cell: only the cells of a list or of a column of pandas tell whether there is
    a text among them. Lists are not mentioned, with or without a kind, since most hold numbers; columns of pandas are
    unless width, edges or bounds say that they hold numbers. The warning points to the caller of the library.
    """
    reads = [each for each in _reads(request) if each.column.undeclared and not each.told and not _is_listed(each)]
    told = [spelled(phrase) for phrase in _told(reads, request, past=False)]
    if told:
        told += [spelled(phrase) for phrase in _encoding(request, past=False)]
    if lost := _read_as_texts(request):
        one = len(lost) == 1
        told.append(
            f"{_label(lost)} {'is' if one else 'are'} read as texts; those that read as numbers, dates, true or false "
            "are not counted, because pandas may hold them as such. Load such columns as text (dtype='string') to "
            "count them all."
        )
    if told:
        warnings.warn(" ".join(told), ReadingWarning, stacklevel=3)


def _is_listed(read: _Read) -> bool:
    """Tell whether a column is read as most are: a list, or one of pandas where the request gives numbers."""
    return read.column.type_name == "list" or (read.column.inferred and read.numeric)


def _read_as_texts(request: Request) -> list[str]:
    """Return the columns whose type pandas infers that are read as texts, unless the groups are listed."""
    counts = [each.counting for each in request.questions]
    found = [(axis.column, axis.kind) for each in counts for axis in each.values]
    found += [(axis.column, axis.kind) for each in counts if each.declared is None for axis in each.groups]
    found += [(each.units.column, each.units.kind) for each in counts if each.units is not None]
    names = [column.name for column, kind in found if column.inferred and kind == "text"]
    return ["" if name is None else safe_repr(name) for name in dict.fromkeys(names)]


def encoding_cause(request: Request) -> list[Phrase]:
    """Say why nothing may have survived of a text file that was read without an encoding."""
    told = "The file may not be in UTF-8: lines in another encoding are not counted. Set "
    return [(told, P("encoding"), ".")] if _is_assumed(request) else []


def _is_assumed(request: Request) -> bool:
    """Tell whether a text file is read for which no encoding was given: its header may not show another."""
    texts = any(each.table.is_text for each in request.questions)
    return texts and request.parameters.get("encoding") is None


def _encoding(request: Request, *, past: bool) -> list[Phrase]:
    """Say that a text file is read as UTF-8, where that was assumed."""
    if not _is_assumed(request):
        return []
    was, were = ("was", "were") if past else ("is", "are")
    told = f"The file {was} read as UTF-8; lines in another encoding {were} not counted. Set "
    return [(told, P("encoding"), " if it has another.")]


def _reads(request: Request) -> list[_Read]:
    """Return the columns that a table reads whose texts flexdp reads itself; servers have rules of their own."""
    from flexdp.tables.where.tree import declared_names, shown_names

    found = [each for each in request.questions if each.table.reads_texts]
    kinds = request.parameters.get("kind")
    released = [
        _Read(axis.column, axis.kind, _is_told(axis, kinds), axis.zone, numeric=_is_numeric(axis))
        for each in found
        for axis in each.counting.values
    ]
    named = []
    for each in found:
        trees = _trees(each.spec)
        told = {name for tree in trees for name, _ in declared_names(tree)}
        told |= {name for tree in trees for name in shown_names(tree)}
        cells = [cell for cell in read_cells(each.counting) if not cell.column.presence]
        named += [_Read(cell.column, cell.kind, cell.column.name in told, named=True) for cell in cells]
    return list(dict.fromkeys([*released, *named]))


def _trees(spec: Spec) -> list[Any]:
    """Return the filter and the derived columns of a release, parsed."""
    from flexdp.tables.where import parse_test, parse_value

    derived = [parse_value("derive", text) for _, text in spec.derived]
    return derived if spec.where is None else [parse_test("where", spec.where), *derived]


def _is_told(axis: Axis, kinds: Any) -> bool:
    return axis.column.name in kinds if isinstance(kinds, Mapping) else kinds is not None


def _is_numeric(axis: Axis) -> bool:
    """Tell whether numbers are given to count by."""
    plain = isinstance(axis.buckets, Exact) and axis.buckets.bounds is None
    return axis.kind in ("integer", "number") and not plain


def _told(reads: list[_Read], request: Request, *, past: bool) -> list[Phrase]:
    """Name columns that are read alike together, and then the parameters that would have them read otherwise."""
    released = [each for each in reads if each.holds_texts and not each.named]
    shown = {(each.column.name, each.example) for each in released}
    named = [
        each for each in reads if each.holds_texts and each.named and (each.column.name, each.example) not in shown
    ]
    texts = _compared_as_texts(reads, request)
    out: list[Phrase] = []
    for example, names in _alike(released).items():
        was, were = _verbs(names, past)
        out.append(f"{_label(names)} {was} read as {example}; other cells {were} not counted.")
    for example, names in _alike(named).items():
        was, were = _verbs(names, past)
        label = _label(names)
        where = f"In filters and derived columns, {label[0].lower()}{label[1:]}"
        out.append(f"{where} {was} read as {example}; other cells {were} missing there.")
    if texts:
        out.append(f"{_label(texts)} {_verbs(texts, past)[0]} compared as texts.")
    if not out:
        return []
    if any(not each.told for each in named) or texts:
        out.append("There, number(x), date(x) or text(x) says how a column x is read.")
    if not released and not named:
        return out
    found = [name for each in (*released, *named) for name in _PARAMETERS.get(each.kind, ())]
    timed = any(e.zone is None and e.column.may_be_zoned and e.kind in ("date", "datetime") for e in released)
    zone: tuple[str | P, ...] = ("Set ", P("zone"), " to read datetimes with an offset. ") if timed else ()
    found += ["kind"] * any(not each.told for each in released)
    check = "`flexdp check`" if past else "flexdp.check"
    counts = (f"{check} counts the cells that are read.",)
    return [*out, (*_choice(list(dict.fromkeys(found))), *zone, *counts)]


def _compared_as_texts(reads: list[_Read], request: Request) -> list[str]:
    """Return the columns without a type that are compared with each other, as texts."""
    from flexdp.tables.where.tree import compared_names

    compared = {name for each in request.questions for tree in _trees(each.spec) for name in compared_names(tree)}
    found = [each for each in reads if each.named and each.kind == "text" and each.column.undeclared and not each.told]
    return list(dict.fromkeys(safe_repr(each.column.name) for each in found if each.column.name in compared))


def _alike(reads: list[_Read]) -> dict[str, list[str]]:
    """Return the columns by how their cells are written."""
    out: dict[str, list[str]] = {}
    for each in reads:
        name = "" if each.column.name is None else safe_repr(each.column.name)
        if name not in out.setdefault(each.example, []):
            out[each.example].append(name)
    return out


def _verbs(names: list[str], past: bool) -> tuple[str, str]:
    one = len(names) == 1
    return (("was" if one else "were"), "were") if past else (("is" if one else "are"), "are")


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
