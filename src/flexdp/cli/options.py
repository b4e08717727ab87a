"""Options that several commands share, and the request that they describe."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from flexdp._core.text import safe_repr
from flexdp.errors import InputError, P

__all__ = [
    "ABOUT",
    "AS_JSON",
    "DELIMITER",
    "ENCODING",
    "FORMAT",
    "IN_DATABASE",
    "READING",
    "ROWS_ARE_RECORDS",
    "SHEET",
    "ZONE",
    "all_of",
    "bounds_pair",
    "by_column",
    "comma_separated",
    "group_options",
    "labels",
    "named_values",
    "pair_of",
    "paying",
    "prepared",
    "shares",
    "source_of",
    "table_options",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_TIME = r"\s*(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?)\s*"
_BY_COLUMN = {"width": 10, "relative": 0.05, "edges": [0, 18, 65], "bounds": (0, 120), "outside": "drop"}  # examples
_TWO_BOUNDS = (P("bounds", (0, 120)), " or ", P("bounds", ("2024-01-01", "2024-12-31T18:30")))
_TIMES = re.compile(f"{_TIME}:{_TIME}", re.ASCII)


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


def named_values(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str] | None:
    """Split NAME=VALUE as an option's callback."""
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


def by_column(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Any] | None:
    """Split NAME=VALUE, of which the value has no = in it, as the callback of an option for single columns."""
    option = parameter.name or ""
    out: dict[str, Any] = {}
    for value in values:
        name, sign, rest = value.rpartition("=")
        if not sign or not name or not rest.strip() or name in out:
            raise InputError(
                option,
                "must be written NAME=VALUE, each column once",
                given=safe_repr(value),
                remedy=("For example ", P(option, {"cost": _BY_COLUMN.get(option, 10)}), "."),
            )
        if option == "bounds":
            out[name] = pair_of(rest, P("bounds", {name: _BY_COLUMN["bounds"]}))
        elif option == "edges":
            out[name] = comma_separated(context, parameter, rest)
        else:
            out[name] = rest.strip()
    return out or None


def shares(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> list[str] | dict[str, str] | None:
    """Split shares of the budget as an option's callback: one for each column, or NAME=SHARE."""
    parts = [part for value in values for part in comma_separated(context, parameter, value) or ()]
    return by_column(context, parameter, tuple(parts)) if any("=" in part for part in parts) else parts or None


def bounds_pair(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, str] | None:
    """Parse LO:HI as an option's callback."""
    return None if value is None else pair_of(value)


def pair_of(value: str, example: P | None = None) -> tuple[str, str]:
    """Split LO:HI, where either may be a date with a time of day, which has colons of its own."""
    times = _TIMES.fullmatch(value)
    low, high = times.groups() if times else map(str.strip, value.split(":")) if value.count(":") == 1 else ("", "")
    if not low or not high:
        raise InputError(
            "bounds",
            "must be written LO:HI",
            given=safe_repr(value),
            remedy=("For example ", *(_TWO_BOUNDS if example is None else (example,)), "."),
        )
    return low, high


def _tab(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    return "\t" if value in ("\\t", "tab") else value


FORMAT = click.option(
    "--format",
    type=click.Choice(["csv", "jsonl", "json", "parquet", "arrow", "xlsx"]),
    help="File format; default: taken from the file name.",
)
DELIMITER = click.option(
    "--delimiter", metavar="C", callback=_tab, help="Delimiter of CSV files; default: taken from the header."
)
ENCODING = click.option(
    "--encoding", metavar="E", help="Encoding of CSV and JSON files; default: UTF-8. E.g. cp1252, latin-1, utf-16."
)
ROWS_ARE_RECORDS = click.option(
    "--rows-are-records",
    is_flag=True,
    help="Vouch for a view: every record yields at most one row and no row depends on more than one record.",
)
SHEET = click.option("--sheet", metavar="NAME", help="Sheet of an Excel workbook; default: the first.")
WRITTEN = (
    click.option("--decimal", metavar="C", help="Decimal mark of numbers in text: . (default) or ,"),
    click.option("--thousands", metavar="C", help="Mark between thousands of numbers in text: , . ' _ or ' '."),
    click.option("--currency", multiple=True, metavar="C", help="Sign that may stand beside numbers in text, e.g. €."),
    click.option("--date-format", metavar="F", help="Format of dates in text, e.g. %d.%m.%Y; default: %Y-%m-%d."),
)
READING = (DELIMITER, FORMAT, ENCODING, SHEET, *WRITTEN)  # everything that says how a file is read
ZONE = click.option("--zone", metavar="Z", help="Time zone of datetimes with an offset, e.g. Europe/Berlin.")
ABOUT = (
    click.option("--title", metavar="T", help="Title of the page."),
    click.option("--publisher", metavar="P", help="Publisher, for the JSON and the page."),
    click.option("--dataset-name", metavar="N", help="Name of the data set, for the JSON and the page."),
    click.option(
        "--period", metavar="P", help="Period that the data covers, for the JSON, the page and a ledger by period."
    ),
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
IN_DATABASE = click.option(
    "--table",
    metavar="T",
    help="Table in a database: FILE is postgresql://… or mariadb://…, or a .db, .sqlite or .duckdb file.",
)
_LABELS = (
    click.option("--by", multiple=True, metavar="COLUMN", help="Column to group by; repeatable."),
    click.option(
        "--by-kind",
        metavar="K,K,…",
        callback=comma_separated,
        help="Type of group columns that declare none: text (default), integer, date, boolean; one, or one for each.",
    ),
    click.option(
        "--groups",
        metavar="G,G,…",
        callback=comma_separated,
        help="Groups to publish; the list itself is public. Several group columns: A:1,B:2; with commas: '\"A, B\",C'.",
    ),
    click.option("--other", metavar="NAME", help="One more group, for the records that --groups does not cover."),
    click.option("--unit", metavar="COLUMN", help="Column of the privacy unit, e.g. patient_id."),
    click.option(
        "--unit-kind",
        type=click.Choice(["text", "integer", "date"]),
        help="Type of a unit column that declares none; default: text.",
    ),
    click.option(
        "--max-buckets-per-unit",
        metavar="K",
        help="Maximum number of buckets one unit may count in; required with --unit.",
    ),
    click.option(
        "--no-cap-report",
        "cap_report",
        is_flag=True,
        flag_value=False,
        default=True,
        help="Do not publish how many units have more buckets than that; publishing it takes 4% of ε.",
    ),
    click.option(
        "--where", metavar="TEST", help="Count only records that pass a test, e.g. \"ward = 'ICU' AND age >= 18\"."
    ),
    click.option(
        "--derive",
        multiple=True,
        metavar="NAME=VALUE",
        callback=named_values,
        help="Column computed from others, e.g. 'stay=arr - dep', or 'stay=date(arr) - date(dep)'; repeatable.",
    ),
    ROWS_ARE_RECORDS,
    click.option("--per-unit", type=click.Choice(["max", "min", "mean", "random"]), help="Count one value per unit."),
)
_TABLE = (
    click.argument("source", metavar="FILE...", nargs=-1),
    click.argument("column"),
    click.option("--also", multiple=True, metavar="COLUMN", help="Another column, released together with COLUMN."),
    click.option(
        "--separately", is_flag=True, help="Release COLUMN and the --also columns one by one, in one pass over FILE."
    ),
    click.option(
        "--width",
        metavar="W",
        help="Bucket width in the units of the column; for dates and times, '1 day', '15 minutes', …",
    ),
    click.option("--relative", metavar="R", help="Relative half-width of buckets, e.g. 0.05."),
    click.option("--edges", metavar="E,E,…", callback=comma_separated, help="Bucket edges, ascending."),
    click.option(
        "--exact",
        is_flag=True,
        help="Make every value its own bucket. Default: buckets of numbers, dates and times are chosen privately.",
    ),
    click.option("--beta", metavar="B", help="With --also: maximum distance of a point from the centre of its bucket."),
    click.option("--bounds", metavar="LO:HI", help="Public bounds of the values."),
    click.option(
        "--outside",
        type=click.Choice(["clamp", "drop"]),
        default="clamp",
        show_default=True,
        help="Treatment of values outside the bounds.",
    ),
    click.option(
        "--kind",
        type=click.Choice(["integer", "number", "text", "date", "datetime", "boolean"]),
        help="Type of a column that declares none.",
    ),
    ZONE,
    *_LABELS,
    click.option(
        "--ask",
        multiple=True,
        metavar="S",
        help="Statistic to answer directly: max, min, median, q0.99, range, iqr, count, sum, mean; repeatable. "
        "Without it, automatic buckets come with max and min, except with --by or --bounds; 'none' leaves these out.",
    ),
    IN_DATABASE,
    *READING,
    AS_JSON,
)


def all_of(options: tuple[Callable[[_F], _F], ...]) -> Callable[[_F], _F]:
    """Return one decorator that adds several options, in their order."""
    return lambda function: reduce(lambda wrapped, option: option(wrapped), reversed(options), function)


table_options: Callable[[Any], Any] = all_of(_TABLE)
paying: Callable[[Any], Any] = all_of(
    (
        click.option("--ledger", metavar="FILE", help="Ledger that pays: a file, or postgresql://…"),
        click.option("--dataset", metavar="NAME", help="Declared data set in the ledger, e.g. payroll-2026."),
        click.option(
            "--fresh",
            is_flag=True,
            help="Draw and pay again, even if the same release of the same source and period exists.",
        ),
    )
)
labels: Callable[[Any], Any] = all_of(_LABELS)


def source_of(files: tuple[str, ...], table: str | None) -> Any:
    """Return what the library takes as a source: a path, several, or an address with a table."""
    from flexdp.tables.opening import is_database, no_table_given

    if not files:
        raise click.UsageError(
            "FILE or COLUMN is missing. Name the file, then its column (flexdp columns FILE lists them)."
        )
    if table is None:
        if is_database(files[0]):
            raise no_table_given(files[0], "Name a table in it.")
        return files[0] if len(files) == 1 else [Path(file) for file in files]
    if len(files) > 1:
        raise InputError("table", "needs exactly one database", remedy="Give one address or file.")
    if not is_database(files[0]):
        raise InputError(
            "table",
            "applies to databases only",
            remedy="A database is postgresql://… or mariadb://…, or a file that ends in .db, .sqlite, .sqlite3, "
            ".duckdb or .ddb.",
        )
    return files[0], table


def prepared(source: tuple[str, ...], column: str, table: str | None, **options: Any) -> Any:
    """Check everything that was asked against what the table declares, and return the request."""
    from flexdp._release.api import prepare

    also, by = options.pop("also"), options.pop("by")
    if options["separately"] and not also:
        raise InputError("separately", "needs several columns", remedy=("Name the others with ", P("also"), "."))
    names = [column, *also]
    for name in ("ask", "currency"):
        options[name] = list(options[name]) or None
    for name in ("width", "bounds"):
        options[name] = _each(name, options[name], names)
    return prepare(
        source_of(source, table),
        names if also else column,
        **{**options, **group_options(by, options["by_kind"], options["groups"])},
    )


def group_options(by: Sequence[str], kinds: list[str] | None, groups: list[str] | None) -> dict[str, Any]:
    """Return the columns of groups, their kinds and the declared groups as the library takes them."""
    among: list[Any] | None = groups
    if groups and len(by) > 1:
        among = [tuple(part.strip() for part in group.split(":")) for group in groups]
    return {"by": list(by) or None, "by_kind": kinds[0] if kinds and len(kinds) == 1 else kinds, "groups": among}


def _each(name: str, value: Any, columns: list[str]) -> Any:
    """One value for all columns, or one for each, separated by commas."""
    if value is None or len(columns) == 1:
        return value if name == "width" or value is None else pair_of(value)
    parts = value.split(",")
    if len(parts) not in (1, len(columns)):
        raise InputError(
            name,
            f"must be one value for all columns, or one for each of the {len(columns)}, separated by commas",
            given=safe_repr(value),
        )
    read = [part.strip() if name == "width" else pair_of(part) for part in parts]
    return read if len(parts) > 1 else read[0]
