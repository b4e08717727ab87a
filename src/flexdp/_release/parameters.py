"""Every parameter of a release, declared once.

A group is a TypedDict whose fields are Annotated. Type checkers read the type, everything else the :class:`Param`::

    class BucketOptions(TypedDict):             mypy, pyright   release(..., widht=5)    error
        width: Annotated[                       help()          release(..., *, width=None, …)
            PerColumn[Width],                   command line    --width [NAME=]W
            Param("Bucket width …",             run time        refused beside relative, edges, beta, exact
                  shown="W", excludes=…)]       reference       width : …

The first line of a parameter's text is what the command line prints, all of it is the reference.
"""

from __future__ import annotations

import datetime as dt
import difflib
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, TypeVar, get_args, get_origin, get_type_hints

from flexdp._core.exact import Number
from flexdp.buckets.base import Kind, Outside
from flexdp.errors import InputError, P
from flexdp.statistics import Statistic

__all__ = [
    "BucketOptions",
    "DatasetOptions",
    "FileOptions",
    "Options",
    "OutputOptions",
    "PaidOptions",
    "Param",
    "Parameter",
    "PayingOptions",
    "PrivacyOptions",
    "PublishOptions",
    "ReadingOptions",
    "UnitOptions",
    "defaults",
    "parameters",
    "refuse_clashes",
    "refuse_unknown",
    "spelled_out",
]

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])
PerColumn: TypeAlias = _T | Sequence[_T | None] | Mapping[str, _T] | None
Width: TypeAlias = Number | dt.timedelta
Point: TypeAlias = Number | dt.date
GroupKind: TypeAlias = Literal["text", "integer", "date", "boolean"]


@dataclass(frozen=True, kw_only=True)
class Param:
    """What the type of a parameter does not say.

    ``more`` continues ``help`` in the reference. ``needs`` names another parameter and describes it; a parameter
    ``excludes`` those that say the same thing in another way.
    """

    help: str
    more: str = ""
    shown: str = ""  # the value in a synopsis, such as LO:HI; empty for flags and choices
    default: Any = None
    needs: tuple[str, str] | None = None
    excludes: tuple[str, ...] = ()
    form: Literal["one", "pair", "list", "repeated", "named"] = "one"  # as the command line writes it
    on_command_line: bool = True


class PublishOptions(TypedDict, total=False):
    """What is published, and of which records."""

    ask: Annotated[
        str | Statistic | Sequence[str | Statistic] | None,
        Param(
            help="Statistic to answer directly: max, min, median, q0.99, range, iqr, count, sum, mean.",
            more="Without it, automatic buckets come with max and min, except by groups or with bounds; an empty list, "
            'or "none", leaves these out.',
            shown="S",
            form="repeated",
        ),
    ]
    where: Annotated[
        str | None,
        Param(
            help="Test of the records that count, e.g. \"ward = 'ICU' AND age >= 18\".",
            more="It is public and is published with the release (docs/filters.md).",
            shown="TEST",
        ),
    ]
    derive: Annotated[
        Mapping[str, str] | None,
        Param(
            help="Column computed from others record by record, e.g. 'stay=arr - dep'.",
            more='In Python by name: ``{"stay": "arr - dep"}``.',
            shown="NAME=VALUE",
            form="named",
        ),
    ]
    by: Annotated[
        str | Sequence[str] | None,
        Param(
            help="Column to group by.",
            more="A record lies in one bucket of one group, so groups cost nothing more. They are found as they are.",
            shown="COLUMN",
            form="repeated",
        ),
    ]
    by_kind: Annotated[
        PerColumn[GroupKind],
        Param(
            help="Type of group columns that declare none: text (default), integer, date or boolean.",
            more="Groups whose type pandas has inferred have no default.",
            shown="K",
            needs=("by", "the columns that hold the groups"),
        ),
    ]
    groups: Annotated[
        Sequence[Any] | None,
        Param(
            help="Groups to publish; the list itself is public. Several group columns: A:1,B:2; with commas: "
            "'\"A, B\",C'.",
            more="It makes all buckets public.",
            shown="G,G,…",
            form="list",
            needs=("by", "the column that holds them"),
        ),
    ]
    other: Annotated[
        str | None,
        Param(help="Additional group for records that the declared groups do not cover.", shown="NAME"),
    ]


class BucketOptions(TypedDict, total=False):
    """What is counted together."""

    width: Annotated[
        PerColumn[Width],
        Param(
            help="Bucket width in the units of the column; for dates and times '1 day', '1 month', '15 minutes', …",
            more="Without buckets, and without ``exact``, those of numbers, dates and datetimes are chosen privately "
            "(docs/automatic-buckets.md); every text, and every point of several columns, is its own bucket.",
            shown="W",
            excludes=("relative", "edges", "beta", "exact"),
        ),
    ]
    relative: Annotated[
        PerColumn[Number],
        Param(help="Relative half-width of buckets, e.g. 0.05.", shown="R", excludes=("edges", "beta", "exact")),
    ]
    edges: Annotated[
        PerColumn[Sequence[Point]],
        Param(
            help="Bucket edges, ascending; the outermost are bounds.",
            shown="E,E,…",
            form="list",
            excludes=("beta", "exact"),
        ),
    ]
    beta: Annotated[
        Number | None,
        Param(
            help="For points of several columns: maximum distance of a point from the centre of its bucket.",
            shown="B",
            excludes=("exact",),
        ),
    ]
    exact: Annotated[
        bool | Mapping[str, bool],
        Param(help="Make every value its own bucket instead of choosing buckets.", shown="NAME", default=False),
    ]
    bounds: Annotated[
        PerColumn[tuple[Point, Point] | Sequence[Point]],
        Param(
            help="Public bounds of the values.",
            more="Privacy never needs them; they make the share left out certifiable.",
            shown="LO:HI",
            form="pair",
        ),
    ]
    outside: Annotated[
        Outside | Mapping[str, Outside],
        Param(
            help="Treatment of values outside the bounds: clamp (default) or drop.",
            more='They count at the nearer end ("clamp"), or not at all ("drop").',
            shown="clamp|drop",
            default="clamp",
        ),
    ]


class _UnitColumn(TypedDict, total=False):
    unit: Annotated[
        str | None,
        Param(
            help="Column of the privacy unit, e.g. patient_id.",
            more="One record is protected unless it is given.",
            shown="COLUMN",
        ),
    ]


class UnitOptions(TypedDict, total=False):
    """How much of a privacy unit counts."""

    unit_kind: Annotated[
        Literal["text", "integer", "date"] | None,
        Param(
            help="Type of a unit column that declares none; default: text.",
            more="Units whose type pandas has inferred have no default.",
            needs=("unit", "the column of the privacy unit"),
        ),
    ]
    max_buckets_per_unit: Annotated[
        int | None,
        Param(
            help="Maximum number of buckets one unit may count in; required with a unit.",
            shown="K",
            needs=("unit", "the column of the privacy unit"),
        ),
    ]
    per_unit: Annotated[
        Literal["max", "min", "mean", "random"] | None,
        Param(help="Count one value per unit.", needs=("unit", "the column of the privacy unit")),
    ]
    cap_report: Annotated[
        bool,
        Param(
            help="Publish how many units have more buckets than that, which takes 4% of ε.",
            more="With ``per_unit``, how many have different values: what such a release says is not said of the "
            "column itself (docs/per-person.md).",
            default=True,
        ),
    ]


class PrivacyOptions(_UnitColumn, UnitOptions, total=False):
    """Whom the release protects."""


class _KindOfColumn(TypedDict, total=False):
    kind: Annotated[
        PerColumn[Kind],
        Param(
            help="Type of a column that declares none: integer, number, text, date, datetime or boolean.",
            more='Also of one whose type pandas has inferred from its cells (default "number").',
            shown="K",
        ),
    ]


class FileOptions(TypedDict, total=False):
    """How cells are written, and where they are."""

    zone: Annotated[str | None, Param(help="Time zone of datetimes with an offset, e.g. Europe/Berlin.", shown="Z")]
    engine: Annotated[
        Literal["postgres", "mariadb", "sqlite", "duckdb", "clickhouse"] | None,
        Param(help="Dialect of a database connection whose own is not known.", on_command_line=False),
    ]
    format: Annotated[
        Literal["csv", "jsonl", "json", "parquet", "arrow", "xlsx"] | None,
        Param(help="File format; default: taken from the file name."),
    ]
    delimiter: Annotated[str | None, Param(help="Delimiter of CSV files; default: taken from the header.", shown="C")]
    encoding: Annotated[
        str | None,
        Param(help="Encoding of CSV and JSON files; default: UTF-8. E.g. cp1252, latin-1, utf-16.", shown="E"),
    ]
    sheet: Annotated[str | None, Param(help="Sheet of an Excel workbook; default: the first.", shown="NAME")]
    decimal: Annotated[
        Literal[".", ","] | None,
        Param(
            help="Decimal mark of numbers in text: . (default) or ,",
            more="Texts are read as numbers like 1234.5 and dates like 2024-12-31 unless declared otherwise, in files, "
            "frames and lists alike. Cells written otherwise are left out; :func:`flexdp.check` counts them "
            "(docs/files.md).",
            shown="C",
        ),
    ]
    thousands: Annotated[
        Literal[",", ".", " ", "'", "_"] | None,
        Param(help="Mark between thousands of numbers in text: , . ' _ or ' '.", shown="C"),
    ]
    currency: Annotated[
        str | Sequence[str] | None,
        Param(help="Currency sign beside numbers in text, e.g. €.", shown="C", form="repeated"),
    ]
    date_format: Annotated[
        str | None, Param(help="Format of dates in text, e.g. %d.%m.%Y; default: %Y-%m-%d.", shown="F")
    ]
    rows_are_records: Annotated[
        bool,
        Param(
            help="Vouch for a view: every record yields at most one row and no row depends on more than one record.",
            more="For relations, lazy frames, DataFrames and views whose plan does not show it (docs/filters.md).",
            default=False,
        ),
    ]


class ReadingOptions(_KindOfColumn, FileOptions, total=False):
    """How a table is read."""


class OutputOptions(TypedDict, total=False):
    """What the publisher declares. It is taken on trust and changes no number."""

    title: Annotated[str | None, Param(help="Title of the page.", shown="T")]
    publisher: Annotated[str | None, Param(help="Publisher, for the JSON and the page.", shown="P")]
    dataset_name: Annotated[str | None, Param(help="Name of the data set, for the JSON and the page.", shown="N")]
    period: Annotated[
        str | None,
        Param(
            help="Period that the data covers, for the JSON, the page and a ledger by period.",
            more="A data set that a ledger keeps by period needs it; a fixed one takes none.",
            shown="P",
        ),
    ]


class PayingOptions(TypedDict, total=False):
    """Who pays."""

    ledger: Annotated[
        Any,
        Param(
            help="Ledger that pays: a file, or postgresql://…",
            more="A :class:`flexdp.Ledger` or its address. (ε, δ) is on disk before a record is read. An identical "
            "request, of the same source and period, returns the stored release, free.",
            shown="FILE",
        ),
    ]
    dataset: Annotated[str | None, Param(help="Declared data set in the ledger, e.g. payroll-2026.", shown="NAME")]
    fresh: Annotated[
        bool,
        Param(help="Draw and pay again, even if the same release of the same source and period exists.", default=False),
    ]


class Options(PublishOptions, BucketOptions, PrivacyOptions, ReadingOptions, OutputOptions, total=False):
    """All that a release, a query and a summary take besides source and budget."""


class DatasetOptions(UnitOptions, FileOptions, OutputOptions, total=False):
    """What a data set declares once for all its releases."""


class PaidOptions(Options, PayingOptions, total=False):
    """The same, and who pays."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter and its declaration."""

    name: str
    type: Any
    param: Param

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may be; empty if it is not limited to a list."""
        return _literals(self.type)

    @property
    def per_column(self) -> bool:
        """True if it may differ from column to column."""
        return self.param.form != "named" and any(get_origin(each) is Mapping for each in get_args(self.type))

    @property
    def is_flag(self) -> bool:
        """True for yes or no."""
        return isinstance(self.param.default, bool)


def _literals(hint: Any) -> tuple[str, ...]:
    if get_origin(hint) is Literal:
        return get_args(hint)
    return next((found for each in get_args(hint) if not isinstance(each, str) and (found := _literals(each))), ())


@cache
def parameters(group: type = Options) -> dict[str, Parameter]:
    """Return the parameters of a group by name, in the order in which they are declared."""
    rows: dict[str, Parameter] = {}
    for base in getattr(group, "__orig_bases__", ()):
        rows |= {} if base is TypedDict else parameters(base)
    for name, hint in get_type_hints(group, include_extras=True).items():
        if name not in rows:
            kind, param = get_args(hint)
            rows[name] = Parameter(name=name, type=kind, param=param)
    return rows


@cache
def defaults(group: type = Options) -> dict[str, Any]:
    """Return the default of every parameter."""
    return {name: row.param.default for name, row in parameters(group).items()}


def refuse_unknown(given: Mapping[str, Any], function: str, group: type = Options) -> None:
    """Raise Python's TypeError for an unknown keyword, with the closest known one."""
    known = parameters(group)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f". Did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{meant}")


def refuse_clashes(given: Mapping[str, Any], group: type = Options) -> None:
    """Refuse parameters of one column that need another one, or exclude each other."""
    rows = parameters(group)
    said = {name for name, row in rows.items() if _is_said(given.get(name), row.param.default)}
    for name, row in rows.items():
        if name not in said:
            continue
        if row.param.needs is not None and given.get(row.param.needs[0]) is None:
            other, what = row.param.needs
            raise InputError(name, ("needs ", P(other), f", {what}"))
        for other in row.param.excludes:
            if other in said:
                raise InputError(name, ("and ", P(other), " exclude each other"), remedy="Give one of them.")


def _is_said(value: Any, default: Any) -> bool:
    return value is not None and not (isinstance(value, bool) and value is default)


def spelled_out(group: type = Options, *, like: str = "") -> Callable[[_F], _F]:
    """Give a function that takes ``**options: Unpack[group]`` a signature and a docstring with every parameter.

    The line ``{options}`` of the docstring becomes their entries; those of another function are referred to by its
    name.
    """

    def decorate(function: _F) -> _F:
        own = inspect.signature(function)
        kept = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=row.param.default, annotation=row.type)
            for name, row in parameters(group).items()
        ]
        function.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
        if function.__doc__ is not None:
            function.__doc__ = function.__doc__.replace("    {options}\n", _numpydoc(group, like))
        return function

    return decorate


def _numpydoc(group: type, like: str) -> str:
    rows = parameters(group)
    if like:
        return f"    {', '.join(rows)}\n        As for :func:`flexdp.{like}`.\n"
    filled = (
        (name, textwrap.fill(f"{row.param.help} {row.param.more}".strip(), 110, initial_indent="        ",
                             subsequent_indent="        ", break_long_words=False))
        for name, row in rows.items()
    )  # fmt: skip
    return "".join(f"    {name}\n{text}\n" for name, text in filled)
