"""``flexdp init``: propose the declaration of a data set, for its custodian to confirm."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from flexdp._core.files import write_whole
from flexdp._core.text import plural, safe_repr, thousands, visible
from flexdp._release.config import NAME, config_file, datasets_in, is_file
from flexdp._release.dataset import RECORD
from flexdp._release.parameters import FileOptions, UnitOptions
from flexdp.cli.errors import Run
from flexdp.cli.options import FILE, IN_DATABASE, PanelCommand, options_of, source_of
from flexdp.cli.output import still_reading
from flexdp.errors import InputError, P
from flexdp.tables.check import INTERNAL, Check, check

__all__ = ["init"]

_KINDS = ("boolean", "integer", "number", "date", "datetime")  # the first that reads nearly all cells is proposed
_ENOUGH = 0.98  # share of the cells that are not empty
_STYLES: tuple[dict[str, str], ...] = (  # common formats of texts, the plain one first
    {},
    {"decimal": ",", "thousands": "."},
    {"thousands": ","},
    {"date_format": "%d.%m.%Y"},
    {"date_format": "%d/%m/%Y"},
    {"date_format": "%m/%d/%Y"},
    {"decimal": ",", "thousands": ".", "date_format": "%d.%m.%Y"},
    {"thousands": ",", "date_format": "%m/%d/%Y"},
)


@click.command(cls=PanelCommand)
@FILE
@click.option("--name", required=True, metavar="NAME", help="Name of the data set, such as visits.")
@click.option(
    "--unit", required=True, metavar="COLUMN", help=f"Column that identifies a person, such as patient_id; or {RECORD}."
)
@click.option("--yes", is_flag=True, help="Confirm every proposal: write no comments.")
@click.option(
    "--config", metavar="FILE", help=f"File to add the data set to; default: the nearest {NAME}, or a new one."
)
@IN_DATABASE
@options_of(UnitOptions, FileOptions)
@click.pass_obj
def init(
    run: Run, /, source: str, name: str, unit: str, yes: bool, config: str | None, table: str | None, **options: Any
) -> int:
    """Look at FILE as its custodian and propose a declaration in flexdp.toml. NOT private: for the custodian only.

    Counts are printed but never written: the file holds names, kinds and formats, each a comment until you remove the
    # in front of it.
    """
    run.kept = "nothing was written"
    place = Path(config) if config is not None else config_file() or Path(NAME)
    if is_file(place) and name in datasets_in(place):
        raise InputError(
            "name", f": {safe_repr(place.name)} declares {safe_repr(name)} already", remedy="Choose another."
        )
    given = {key: value for key, value in options.items() if value is not None and value is not False}
    capped: dict[str, Any] = {
        key: given.pop(key) for key in ("max_buckets_per_unit", "per_unit", "unit_kind") if key in given
    }
    given.pop("cap_report", None)
    if unit != RECORD and "per_unit" not in capped and "max_buckets_per_unit" not in capped:
        raise InputError(
            "unit",
            "needs to know how much of one unit counts",
            remedy=("Add ", P("max_buckets_per_unit", 3), ", or ", P("per_unit", "max"), "."),
        )
    with still_reading():
        style, found = _read(source_of(source, table), given)
    kinds = {each.column or "": kind for each in found.columns if (kind := _proposed(each, found.records)) is not None}
    if unit != RECORD and not any(each.column == unit for each in found.columns):
        raise InputError("unit", f": no column named {safe_repr(unit)}", remedy="Check the spelling.")
    _print(found, kinds)
    lines = _declaration(place, source, table, name, unit, {**given, **style}, capped, kinds, style=style, yes=yes)
    before = place.read_text("utf-8").rstrip("\n") + "\n\n" if is_file(place) else ""
    try:
        write_whole(place, before + "\n".join(lines) + "\n")
    except OSError:
        raise InputError("config", f": cannot write {safe_repr(str(place))}", remedy="Check the folder.") from None
    confirm = "" if yes or not (kinds or style) else " Remove the # from what is right."
    click.echo(f"Wrote data set {visible(name)} to {visible(str(place))}.{confirm}", err=True)
    return 0


def _read(source: Any, given: Mapping[str, Any]) -> tuple[dict[str, str], Check]:
    """Read the table in each common format; return the one by which most cells are more than texts."""
    best: tuple[int, dict[str, str], Check] | None = None
    for style in _STYLES:
        if any(key in given for key in style):
            continue
        try:
            found = check(source, **{**given, **style})
        except InputError:
            if not style:
                raise
            continue  # no column holds texts, and only texts have a format
        score = sum(max(_typed(each).values(), default=0) for each in found.columns)
        if best is None or score > best[0]:
            best = score, style, found
        if not any(each.readable_as for each in found.columns):
            break  # every column declares its type
    assert best is not None  # the plain format is refused, or there
    return best[1], best[2]


def _typed(column: Any) -> dict[str, int]:
    return {kind: count for kind, count in column.readable_as.items() if kind != "text"}


def _proposed(column: Any, records: int) -> str | None:
    """The kind to propose; None where the source declares one."""
    if not column.readable_as:
        return None
    missing = sum(column.reasons.get(reason, 0) for reason in ("empty", "placeholder"))
    wanted = max(1, _ENOUGH * (records - missing))
    return next((kind for kind in _KINDS if column.readable_as.get(kind, 0) >= wanted), "text")


def _print(found: Check, kinds: Mapping[str, str]) -> None:
    """Print what would be read of each column; for the terminal only."""
    click.echo(f"{INTERNAL} {plural(found.records, 'record', thousands)}.")
    for each in found.columns:
        kind = kinds.get(each.column or "")
        read = each.read if kind is None else each.readable_as.get(kind, 0)
        click.echo(f"{visible(each.column or ''):<24} {kind or each.kind:<9} {thousands(read):>12} read")


def _declaration(
    place: Path,
    source: str,
    table: str | None,
    name: str,
    unit: str,
    ways: Mapping[str, Any],
    capped: Mapping[str, Any],
    kinds: Mapping[str, str],
    *,
    style: Mapping[str, str],
    yes: bool,
) -> Iterator[str]:
    """The lines of the declaration; proposals from the data are comments until confirmed."""
    mark = "" if yes else "# "
    yield f"[datasets.{_key(name)}]"
    yield f"source = {_value(_relative(source, place))}"
    if table is not None:
        yield f"table = {_value(table)}"
    yield f"unit = {_value(unit)}"
    for key, value in capped.items():
        yield f"{key} = {value if str(value).isdecimal() else _value(value)}"
    yield from (f"{mark if key in style else ''}{key} = {_value(value)}" for key, value in ways.items())
    if kinds:
        yield ""
        yield f"[datasets.{_key(name)}.columns]"
        if not yes:
            yield "# Proposals from the data: remove the # where a kind is right."
        yield from (f"{mark}{_key(column)} = {_value(kind)}" for column, kind in kinds.items())


def _relative(source: str, place: Path) -> str:
    if "://" in source:
        return source
    try:
        return str(Path(source).absolute().relative_to(place.absolute().parent))
    except ValueError:
        return str(Path(source).absolute())


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    """A value as TOML, whose strings and lists of strings are those of JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False)
