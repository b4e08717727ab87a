"""Command-line options made from the parameters of a release, and the request that they describe.

::

    parameters (flexdp._release.parameters)  ──▶  --width [NAME=]W  in the panel Buckets  ──▶  {"width": {"age": "10"}}

A parameter that may differ by column is written VALUE for all columns, or NAME=VALUE for one, and may be repeated.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from flexdp._core.text import safe_repr
from flexdp._release.parameters import (
    BucketOptions,
    FileOptions,
    OutputOptions,
    Parameter,
    PayingOptions,
    PrivacyOptions,
    PublishOptions,
    ReadingOptions,
    UnitOptions,
    defaults,
    parameters,
)
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, P

if TYPE_CHECKING:
    from flexdp._release.dataset import Dataset

__all__ = [
    "AS_JSON",
    "COLUMNS",
    "CONFIG",
    "FILE",
    "IN_DATABASE",
    "LISTED",
    "REQUEST",
    "PanelCommand",
    "PanelOption",
    "all_of",
    "bounds_pair",
    "columns_given",
    "comma_separated",
    "declared_dataset",
    "group_options",
    "options_of",
    "output_option",
    "pair_of",
    "prepared",
    "shares",
    "source_of",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_PANELS = ("What to publish", "Privacy", "Buckets", "Reading", "Output", "Other options")
_PANEL_OF = {
    PublishOptions: "What to publish",
    PrivacyOptions: "Privacy",
    UnitOptions: "Privacy",
    PayingOptions: "Privacy",
    BucketOptions: "Buckets",
    ReadingOptions: "Reading",
    FileOptions: "Reading",
    OutputOptions: "Output",
}
_TIME = r"\s*(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?)\s*"
_TIMES = re.compile(f"{_TIME}:{_TIME}", re.ASCII)
_EXAMPLES = {
    "width": 10, "relative": 0.05, "edges": [0, 18, 65], "bounds": (0, 120), "outside": "drop", "kind": "number",
    "by_kind": "integer", "derive": "arr - dep",
}  # fmt: skip
_EVERY = "\0"  # a flag for columns, written without a name


class PanelOption(click.Option):
    """An option listed under a heading of the help."""

    panel: str

    def __init__(self, *args: Any, panel: str = _PANELS[-1], parameter: Parameter | None = None, **given: Any) -> None:
        super().__init__(*args, **given)
        self.panel, self.parameter = panel, parameter

    @property
    def per_column(self) -> bool:
        """True if it is written [NAME=]VALUE."""
        return self.parameter is not None and self.parameter.per_column


class PanelCommand(click.Command):
    """A command whose options are listed under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, panel by panel."""
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in _PANELS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and not isinstance(parameter, click.Argument):  # the usage line has those
                rows[getattr(parameter, "panel", _PANELS[-1])].append(record)
        for title, records in rows.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def all_of(options: Sequence[Callable[[_F], _F]]) -> Callable[[_F], _F]:
    """Return one decorator that adds several options in order."""
    return lambda function: reduce(lambda wrapped, option: option(wrapped), reversed(options), function)


def options_of(*groups: type, names: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Return a decorator that adds the options of parameter groups: all of them, or those named."""
    rows = [(_PANEL_OF[group], row) for group in groups for row in parameters(group).values()]
    return all_of(
        [_option(panel, row) for panel, row in rows if row.param.on_command_line and (not names or row.name in names)]
    )


def _option(panel: str, row: Parameter) -> Callable[[_F], _F]:
    word = row.name.replace("_", "-")
    given: dict[str, Any] = {"cls": PanelOption, "panel": panel, "parameter": row}
    if row.is_flag and not row.per_column:
        if row.param.default:
            text = f"Do not {row.param.help[0].lower()}{row.param.help[1:]}"
            return click.option(
                f"--no-{word}", row.name, is_flag=True, flag_value=False, default=True, help=text, **given
            )
        return click.option(f"--{word}", is_flag=True, help=row.param.help, **given)
    text = row.param.help
    if row.is_flag:
        return click.option(
            f"--{word}", multiple=True, is_flag=False, flag_value=_EVERY, metavar=f"[{row.param.shown}]",
            callback=_of_columns, help=text, **given,
        )  # fmt: skip
    repeated = row.per_column or row.param.form in ("repeated", "named")
    shown = row.param.shown or "|".join(row.choices)
    return click.option(
        f"--{word}",
        type=click.Choice(row.choices) if row.choices and not repeated and not row.param.shown else None,
        multiple=repeated,
        metavar=f"[NAME=]{shown}" if row.per_column else shown or None,
        callback=_READERS[row.param.form] if not row.per_column else _of_columns,
        help=text,
        **given,
    )


def _of_columns(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> Any:
    """VALUE for all columns, or NAME=VALUE, NAME=VALUE, …: one value, or a dictionary by column."""
    assert isinstance(option, PanelOption) and option.parameter is not None
    row, name = option.parameter, option.name or ""
    if not values:
        return row.param.default
    if row.is_flag:
        return True if _EVERY in values else dict.fromkeys(values, True)
    read = _READERS[row.param.form]
    if len(values) == 1 and "=" not in values[0]:
        return read(context, option, values[0])
    out: dict[str, Any] = {}
    for value in values:
        column, sign, rest = value.rpartition("=")
        if not sign or not column or not rest.strip() or column in out:
            raise InputError(
                name,
                "must be written VALUE for all columns, or NAME=VALUE, each column once",
                given=safe_repr(value),
                remedy=("For example ", P(name, {"cost": _EXAMPLES[name]}), "."),
            )
        out[column] = read(context, option, rest)
    return out


def _one(_context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if option.name == "delimiter" and value in ("\\t", "tab"):
        return "\t"
    return value


def _repeated(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> list[str] | None:
    return list(values) or None


def named_values(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str] | None:
    """Split NAME=VALUE, where the value may have an = in it."""
    out: dict[str, str] = {}
    for value in values:
        name, sign, rest = value.partition("=")
        if not sign or not name.strip() or not rest.strip() or name.strip() in out:
            raise InputError(
                parameter.name or "",
                "must be written NAME=VALUE, each name once",
                given=safe_repr(value),
                remedy="For example 'stay=arr - dep'.",
            )
        out[name.strip()] = rest.strip()
    return out or None


def comma_separated(_context: click.Context, parameter: click.Parameter, value: str | None) -> list[str] | None:
    """Split values at commas; a value that contains a comma or begins with a blank is written in double quotes."""
    if value is None:
        return None
    try:
        (row,) = csv.reader([value], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        row = []
    parts = [part if f'"{part}"' in value else part.strip() for part in row]
    if not parts or "" in parts:
        raise InputError(
            parameter.name or "", "must be values separated by commas, none of them empty", given=safe_repr(value)
        )
    return parts


def bounds_pair(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, str] | None:
    """Split LO:HI as an option's callback."""
    return None if value is None else pair_of(value)


def pair_of(value: str) -> tuple[str, str]:
    """Split LO:HI, where either may be a date with a time of day, which has colons of its own."""
    times = _TIMES.fullmatch(value)
    low, high = times.groups() if times else map(str.strip, value.split(":")) if value.count(":") == 1 else ("", "")
    if not low or not high:
        example = (P("bounds", (0, 120)), " or ", P("bounds", ("2024-01-01", "2024-12-31T18:30")))
        raise InputError(
            "bounds", "must be written LO:HI", given=safe_repr(value), remedy=("For example ", *example, ".")
        )
    return low, high


_READERS: dict[str, Callable[[click.Context, click.Parameter, Any], Any]] = {
    "one": _one,
    "pair": bounds_pair,
    "list": comma_separated,
    "repeated": _repeated,
    "named": named_values,
}


def shares(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> list[str] | dict[str, str] | None:
    """Split shares of the budget: one for each column, or NAME=SHARE."""
    parts = [part for value in values for part in comma_separated(context, parameter, value) or ()]
    if not any("=" in part for part in parts):
        return parts or None
    out: dict[str, str] = {}
    for part in parts:
        name, _, rest = part.rpartition("=")
        if not name or not rest.strip() or name in out:
            raise InputError(
                "split",
                "must be written NAME=SHARE, each column once",
                given=safe_repr(part),
                remedy=("For example ", P("split", {"cost": 2}), "."),
            )
        out[name] = rest.strip()
    return out


AS_JSON: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, cls=PanelOption, panel="Output", help="Print as JSON."
)
FILE: Callable[[Any], Any] = click.argument("source", metavar="FILE")
MORE_FILES: Callable[[Any], Any] = click.option(
    "--file",
    "more",
    multiple=True,
    metavar="FILE",
    cls=PanelOption,
    panel="Reading",
    help="Another file of the same table; repeatable. A pattern in quotes does it, too: 'visits-*.csv'.",
)
CONFIG: Callable[[Any], Any] = click.option(
    "--config",
    metavar="FILE",
    cls=PanelOption,
    panel="Reading",
    help="File that declares data sets; default: the nearest flexdp.toml. FILE may name one of them.",
)
COLUMNS: Callable[[Any], Any] = click.argument("columns", metavar="[COLUMN[=KIND]]...", nargs=-1)
IN_DATABASE: Callable[[Any], Any] = click.option(
    "--table",
    metavar="T",
    cls=PanelOption,
    panel="Reading",
    help="Table in a database: FILE is postgresql://… or mariadb://…, or a .db, .sqlite or .duckdb file.",
)
LISTED: Callable[[Any], Any] = all_of(
    [
        click.option(
            "--together", is_flag=True, cls=PanelOption, panel="What to publish",
            help="Publish several columns as points, instead of one by one.",
        ),
        click.option(
            "--skip", multiple=True, metavar="COLUMN", cls=PanelOption, panel="What to publish",
            help="Column to leave out where no COLUMN is named, which means all of them; repeatable.",
        ),
    ]
)  # fmt: skip
REQUEST: Callable[[Any], Any] = all_of(
    [
        FILE,
        COLUMNS,
        LISTED,
        options_of(PublishOptions, PrivacyOptions, BucketOptions),
        IN_DATABASE,
        MORE_FILES,
        CONFIG,
        options_of(ReadingOptions),
        AS_JSON,
    ]
)


def output_option(text: str) -> Callable[[Any], Any]:
    """Return the option that names the file to write."""
    return click.option("--output", "-o", metavar="FILE", cls=PanelOption, panel="Output", help=text)


def declared_dataset(file: str, config: str | None) -> Dataset | None:
    """Return the data set declared by this name; None if it is a file or an address."""
    from flexdp._release.config import config_file, dataset_in

    place = config_file(config)
    return None if place is None else dataset_in(place, file)


def source_of(file: str, table: str | None, more: Sequence[str] = ()) -> Any:
    """Return what the library takes as a source: a path or a pattern, or an address with a table."""
    from flexdp.tables.opening import is_database, no_table_given

    if table is None:
        if is_database(file):
            raise no_table_given(file, "Name a table in it.")
        return [Path(each) for each in (file, *more)] if more else file
    if more:
        raise InputError("table", "needs exactly one database", remedy="Give one address or file.")
    if not is_database(file):
        raise InputError(
            "table",
            "applies to databases only",
            remedy="A database is postgresql://… or mariadb://…, or a file that ends in .db, .sqlite, .sqlite3, "
            ".duckdb or .ddb.",
        )
    return file, table


def columns_given(columns: tuple[str, ...]) -> dict[str, str | None]:
    """Columns written NAME or NAME=KIND; an = in a name is part of it unless a kind follows."""
    found: dict[str, str | None] = {}
    for column in columns:
        name, _, last = column.rpartition("=")
        kind = last if name and last in get_args(Kind) else None
        name = name if kind else column
        if name in found:
            raise InputError("columns", "must name each column once", given=safe_repr(name))
        found[name] = kind
    return found


def prepared(
    source: str, columns: tuple[str, ...], table: str | None, *, dataset: Dataset | None = None, **options: Any
) -> Any:
    """Check everything requested against what the table declares, and return the request.

    A declared data set supplies whatever is not given.

    One column is one release, and so are several that are published ``together`` as points. Otherwise each column
    has a release of its own, all columns where none is named.
    """
    from flexdp._release.api import prepare
    from flexdp._release.dataset import columns_of_summary, options_for
    from flexdp._release.summary import prepare_summary

    together, skip = options.pop("together", False), options.pop("skip", ())
    more = options.pop("more", ())
    named = columns_given(columns)
    options |= group_options(options.get("by"), options.get("groups"))
    if any(kind is not None for kind in named.values()):
        options["kind"] = _kinds(named, options.get("kind"))
    if skip and columns:
        raise InputError("skip", ("needs no ", P("columns"), ": those that are named are published"))
    if together and len(named) < 2:
        raise InputError("together", "needs several columns", remedy="Name them after the file.")
    _refuse_file(options.get("exact"), named)
    if dataset is None:
        place = source_of(source, table, more)
    else:
        place, options = dataset.source, options_for(dataset, list(named) or None, _given(options))
        if not named:
            named = dict.fromkeys(columns_of_summary(dataset, options.get("by"), skip) or ())
            options, skip = options_for(dataset, list(named) or None, options), () if named else skip
    try:
        if together or len(named) == 1:
            return prepare(place, list(named) if together else next(iter(named)), **options)
        return prepare_summary(place, list(named) or None, skip=list(skip) or None, **options)
    except InputError as refusal:
        raise _explained(refusal, columns) from None


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that differ from their defaults: the command line passes all of them."""
    known = defaults()
    return {name: value for name, value in options.items() if value is not None and value != known.get(name)}


def _refuse_file(exact: Any, named: Mapping[str, str | None]) -> None:
    """Refuse ``--exact FILE COLUMN``: what follows the option is a column."""
    for name in exact if isinstance(exact, Mapping) else ():
        if name not in named and _is_there(name):
            raise InputError("exact", f": {safe_repr(name)} is a file", remedy="Write the option after the columns.")


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _kinds(named: Mapping[str, str | None], given: Any) -> Any:
    """The kinds written with the columns, and those of ``--kind``."""
    beside = {name: kind for name, kind in named.items() if kind is not None}
    others = dict(given) if isinstance(given, Mapping) else dict.fromkeys(named, given)
    twice = next((name for name in beside if others.get(name) not in (None, beside[name])), None)
    if twice is not None:
        raise InputError("kind", f"is given twice for column {safe_repr(twice)}", remedy="Leave one out.")
    return {**{name: kind for name, kind in others.items() if kind is not None}, **beside}


def group_options(by: Sequence[str] | None, groups: list[str] | None) -> dict[str, Any]:
    """Return the columns of groups and the declared groups as the library takes them."""
    among: list[Any] | None = groups
    if groups and len(by or ()) > 1:
        among = [tuple(part.strip() for part in group.split(":")) for group in groups]
    return {"by": list(by or ()) or None, "groups": among}


def _explained(refusal: InputError, columns: tuple[str, ...]) -> InputError:
    """The refusal of a column that is a second file, or that was written NAME=WORD with a word that is no kind."""
    for column in columns:
        name, _, last = column.rpartition("=")
        unknown = refusal.parameter == "column" and refusal.rule == f": no column named {safe_repr(column)}"
        if unknown and _is_there(column):
            pattern = "For several files, write a pattern in quotes, such as 'visits-*.csv', or name the others with "
            return InputError("columns", refusal.rule, remedy=(pattern, P("more"), "."))
        if name and unknown:
            kinds = get_args(Kind)
            remedy = f"Kinds are {', '.join(kinds[:-1])} and {kinds[-1]}."
            return InputError("columns", f": {safe_repr(last)} is not a kind", given=safe_repr(column), remedy=remedy)
    return refusal
