"""The command line: parse, call, print. Results on standard output, everything else on standard error.

Exit codes: 0 ok, 2 bad input or output that cannot be written, 4 nothing survived, 130 interrupted (143 and 129 when
told to end). An unexpected failure exits with 1 and says no more than its kind, because a traceback may quote a record.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import click

from flexdp._core.domains import LARGE_EPSILON
from flexdp._core.exact import number_text
from flexdp._core.text import safe_repr
from flexdp.cli.lab import compare, experiment
from flexdp.cli.output import AtomicFile, all_answers, json_document, parse_stats, print_answers, safe
from flexdp.cli.plan import pair_of, plan_command, report_command
from flexdp.cli.web import web_command
from flexdp.cli.wording import in_options, options_of
from flexdp.errors import FlexdpError, InputError
from flexdp.version import __version__

__all__ = ["main"]

NOTHING_SURVIVED = 4

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_MUCH_DELTA = Fraction(1, 100)
_WRITTEN = {
    "number": "numbers written like 1234.5",
    "integer": "whole numbers written like 1234",
    "date": "days written like 2024-12-31",
    "datetime": "datetimes written like 2024-12-31T18:30",
    "boolean": "true or false",
}
_WITH_OFFSET = "datetimes with their offset, written like 2024-12-31T18:30+01:00"

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass
class _Run:
    """How far this run has come, so that a failure can say what it cost."""

    spent: bool = False
    kept: str = ""  # of work that can be resumed: what an interruption leaves behind
    options: dict[str, str] = field(default_factory=dict)  # of the command that runs, by the library's parameters


class _Ended(BaseException):
    """A signal that asks the process to end, so that it can tidy up first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def _end(number: int, _frame: FrameType | None) -> None:
    raise _Ended(number)


def main() -> None:
    """Run the command line and leave with its exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115  (closed by the caller: nobody to tell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale without Greek letters is no reason to fail
    code = _guarded(_Run())
    if any(thread.name == "flexdp-count" for thread in threading.enumerate()):
        os._exit(code)  # a read that nothing can wake must not keep the process
    sys.exit(code)


def _guarded(run: _Run) -> int:
    """The exit code of the command, whatever happens in it."""
    try:
        if sys.stdout is None:
            raise InputError("standard output is closed; nothing could be printed.")
        code = cli.main(standalone_mode=False, obj=run)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as bare:
        click.echo(bare.format_message(), err=True)
        return 2
    except click.ClickException as refusal:
        return _complain(refusal.format_message(), 2)
    except FlexdpError as refusal:
        return _complain(in_options(str(refusal), run.options), 2)
    except (click.Abort, KeyboardInterrupt):
        return _complain(f"interrupted; {_cost(run)}", 128 + signal.SIGINT)
    except _Ended as ended:
        return _complain(f"told to end; {_cost(run)}", ended.code)
    except (BrokenPipeError, SystemExit):  # whoever read our output has had enough; click leaves that way too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as failure:  # noqa: BLE001  (its text may hold a record)
        if isinstance(failure, OSError) and (run.spent or failure.errno in _FULL):
            return _complain(f"the output could not be written; {_cost(run)}", 2)
        return _complain(f"an unexpected {type(failure).__name__} stopped flexdp; {_cost(run)}", 1)
    return code if isinstance(code, int) else 0


def _cost(run: _Run) -> str:
    if run.kept:
        return run.kept
    return "the budget of this release is spent." if run.spent else "nothing was released."


def _complain(message: str, code: int) -> int:
    """One line, in which no word is longer than a line."""
    line = re.sub(r"\s*\n\s*", " ", message.strip())
    click.echo("Error: " + safe(re.sub(r"\S{200,}", "…", line)), err=True)
    return code


class _Commands(click.Group):
    """Commands that note by which options their user knows the parameters."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            ctx.ensure_object(_Run).options = options_of(command.params)
        return name, command, rest


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="flexdp")
def cli() -> None:
    """Publish a column of a table with differential privacy that only ever leaves records out."""


cli.add_command(experiment)
cli.add_command(compare)


def _listed(_context: click.Context, parameter: click.Parameter, value: str | None) -> list[str] | None:
    """Values between commas; one that holds a comma itself, or begins with a blank, stands in double quotes."""
    if value is None:
        return None
    try:
        (row,) = csv.reader([value], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        row = []
    if not row or "" in row:
        raise InputError(f"{parameter.name} must be values between commas, none of them empty; got {safe_repr(value)}.")
    return [part if f'"{part}"' in value else part.strip() for part in row]


def _tab(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    return "\t" if value in ("\\t", "tab") else value


_FORMAT = click.option("--format", type=click.Choice(["csv", "jsonl", "parquet"]), help="Where the name does not tell.")
_DELIMITER = click.option("--delimiter", metavar="C", callback=_tab, help="Of CSV files; default: told by the header.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
_IN_DATABASE = click.option("--table", metavar="T", help="Of a database: postgresql://…, or a .db or .sqlite file.")
_TABLE = (
    click.argument("source", metavar="FILE...", nargs=-1),
    click.argument("column"),
    click.option("--also", multiple=True, metavar="COLUMN", help="Another column: released together, as points."),
    click.option("--separately", is_flag=True, help="Release COLUMN and the --also ones one by one, in one pass."),
    click.option("--width", metavar="W", help="Bucket width in the column's unit; of times '1 day', '15 minutes', …"),
    click.option("--relative", metavar="R", help="Relative half-width of buckets, e.g. 0.05."),
    click.option("--edges", metavar="E,E,…", callback=_listed, help="Ascending bucket edges."),
    click.option("--beta", metavar="B", help="Of points: how far one may be from the middle of its cell."),
    click.option("--bounds", metavar="LO:HI", help="Public bounds of the values."),
    click.option(
        "--outside",
        type=click.Choice(["clamp", "drop"]),
        default="clamp",
        show_default=True,
        help="What becomes of values outside the bounds.",
    ),
    click.option(
        "--kind",
        type=click.Choice(["integer", "number", "text", "date", "datetime", "boolean"]),
        help="How to read a column that declares no type.",
    ),
    click.option("--zone", metavar="Z", help="Time zone of datetimes that have one, e.g. Europe/Berlin."),
    click.option("--by", multiple=True, metavar="COLUMN", help="Groups; repeatable."),
    click.option(
        "--by-kind",
        metavar="K,K,…",
        callback=_listed,
        help="How to read groups that declare no type: text (default), integer, date or boolean; one for all, or each.",
    ),
    click.option(
        "--groups",
        metavar="G,G,…",
        callback=_listed,
        help="The groups to publish, which makes them public; by several columns A:1,B:2; quoted: '\"A, B\",C'.",
    ),
    click.option("--unit", metavar="COLUMN", help="Whose records they are, e.g. patient_id."),
    click.option(
        "--unit-kind",
        type=click.Choice(["text", "integer", "date"]),
        help="How to read units that declare no type; default: text.",
    ),
    click.option("--max-buckets-per-unit", metavar="K", help="In how many buckets one unit may count; with --unit."),
    click.option("--per-unit", type=click.Choice(["max", "min", "mean", "random"]), help="One value of each unit."),
    _IN_DATABASE,
    _DELIMITER,
    _FORMAT,
    _JSON,
)


def _source(files: tuple[str, ...], table: str | None) -> Any:
    from flexdp.tables import is_database

    if not files:
        raise InputError("FILE or COLUMN is missing; name the file, then its column (flexdp columns FILE lists them).")
    if table is None:
        if is_database(files[0]):
            raise InputError("table is missing: FILE is a database; name the table in it.")
        return files[0] if len(files) == 1 else [Path(file) for file in files]
    if len(files) > 1:
        raise InputError("table needs one database; give one address or file.")
    if not is_database(files[0]):
        raise InputError("table fits a database only: postgresql://…, or a file that ends in .db, .sqlite or .sqlite3.")
    return files[0], table


def _prepared(source: tuple[str, ...], column: str, table: str | None, **options: Any) -> Any:
    """A request in the words of the library: one column or several, values per column where they are written so."""
    from flexdp._release.api import prepare

    also, by = options.pop("also"), options.pop("by")
    if options["separately"] and not also:
        raise InputError("separately needs several columns; name the others with --also.")
    names = [column, *also]
    if options["by_kind"] and len(options["by_kind"]) == 1:
        (options["by_kind"],) = options["by_kind"]
    if options["groups"] and len(by) > 1:
        options["groups"] = [tuple(part.strip() for part in group.split(":")) for group in options["groups"]]
    for name in ("width", "bounds"):
        options[name] = _each(name, options[name], names)
    return prepare(
        _source(source, table),
        names if also else column,
        by=list(by) or None,
        **options,
    )


def _each(name: str, value: Any, columns: list[str]) -> Any:
    """One value for all columns, or one for each, separated by commas."""
    if value is None or len(columns) == 1:
        return value if name == "width" or value is None else pair_of(value)
    parts = value.split(",")
    if len(parts) not in (1, len(columns)):
        raise InputError(f"{name} must be one for all, or one for each of the {len(columns)} columns, with commas.")
    read = [part.strip() if name == "width" else pair_of(part) for part in parts]
    return read if len(parts) > 1 else read[0]


def _table_options(function: _F) -> _F:
    return reduce(lambda wrapped, option: option(wrapped), reversed(_TABLE), function)


@cli.command()
@_table_options
@click.option("--epsilon", "-e", required=True, metavar="E", help="Privacy loss of one record, e.g. 1.")
@click.option("--delta", "-d", required=True, metavar="D", help="Chance that the promise fails, e.g. 1e-6.")
@click.option(
    "--stat",
    "-s",
    "stats",
    multiple=True,
    metavar="S",
    help="max, min, range, median, q0.99, mode, support, max_at_least:500, top:10, counts; repeatable.",
)
@click.option("--certify", metavar="S", help="Share of the budget for a bound of all that was left out, e.g. 0.05.")
@click.option("--split", metavar="S,S,…", callback=_listed, help="With --separately: the share of each column.")
@click.option("--output", "-o", metavar="FILE", help="Also write the release to FILE (.json, .csv or .html).")
@click.pass_obj
def release(
    run: _Run,
    /,
    source: tuple[str, ...],
    column: str,
    epsilon: str,
    delta: str,
    stats: tuple[str, ...],
    as_json: bool,
    output: str | None,
    certify: str | None,
    split: list[str] | None,
    table: str | None,
    **options: Any,
) -> int:
    """Publish COLUMN of one or more FILEs ('-' reads standard input), or of a database's table.

    Every run spends (ε, δ) again.
    """
    request = _prepared(source, column, table, **options).with_budget(epsilon, delta, certify=certify, split=split)
    if request.separately and output is not None and output.lower().endswith(".html"):
        raise InputError("output of columns released separately must be .json or .csv; report makes a page of each.")
    questions = parse_stats(stats, request)
    _warn(request)
    unwritten = False
    try:
        with AtomicFile(output, inputs=request.files) as target:
            with _status("Counting the records of each bucket…"):
                published = request.run()
            run.spent = True
            target.write(published)
    except OSError:  # what has been paid for is printed all the same
        if not run.spent:
            raise
        unwritten = True
    click.echo(
        f"Spent: {published.privacy} No ledger is kept: every further run on the same data spends again.", err=True
    )
    each = list(published.values()) if request.separately else [published]
    _tell_reading(request, asked=options["kind"] is not None and all(len(one.cells) for one in each))
    if unwritten and not as_json:
        click.echo(published.to_json(indent=2))
    elif as_json:
        from flexdp._release.json import SCHEMA_OF_SEVERAL

        documents = [json_document(one, questions) for one in each]
        content = {"schema": SCHEMA_OF_SEVERAL, "releases": documents} if request.separately else documents[0]
        click.echo(json.dumps(content, indent=2, allow_nan=False))
    else:
        for one in each:
            if request.separately:
                click.echo(f"{safe(str(one.column))}:")
            print_answers(one, all_answers(one, questions))
    if unwritten:
        raise InputError(
            f"output {safe_repr(output)} could not be written, and stands on standard output instead, as JSON; "
            f"{_cost(run)}"
        )
    return 0 if any(len(one.cells) for one in each) else NOTHING_SURVIVED


def _warn(request: Any) -> None:
    """Choices that promise next to nothing are carried out, but not in silence."""
    epsilon, delta = (sum(getattr(budget, name) for budget in request.budgets) for name in ("epsilon", "delta"))
    if epsilon > LARGE_EPSILON:
        click.echo(f"Warning: --epsilon {number_text(epsilon)} is above {LARGE_EPSILON}: hardly a promise.", err=True)
    if delta >= _MUCH_DELTA:
        click.echo(
            f"Warning: --delta {number_text(delta)} lets the promise fail once in {int(1 / delta)} times; "
            "it should be far below one in the number of records.",
            err=True,
        )


def _tell_reading(request: Any, *, asked: bool) -> None:
    """How cells of columns without a declared type must be written to count."""
    for axis in () if asked else (axis for each in request.questions for axis in each.counting.values):
        if axis.column.undeclared and axis.kind in _WRITTEN:
            written = _WRITTEN[axis.kind] if axis.zone is None else _WITH_OFFSET
            also = (
                " --zone reads those with an offset." if axis.zone is None and axis.kind in ("date", "datetime") else ""
            )
            click.echo(
                f"{safe(axis.column.label.capitalize())} was read as {written}; other cells do not count. "
                f"--kind reads it differently.{also}",
                err=True,
            )


def _status(message: str) -> Any:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(message)


@cli.command()
@click.argument("source", metavar="FILE...", nargs=-1, required=True)
@_IN_DATABASE
@_DELIMITER
@_FORMAT
@_JSON
def columns(
    source: tuple[str, ...],
    table: str | None,
    delimiter: str | None,
    format: str | None,  # noqa: A002
    as_json: bool,
) -> int:
    """List the columns that FILEs or a database's table declare: names and types, nothing that a record holds."""
    from flexdp.tables import open_table
    from flexdp.tables.files.source import open_files

    if table is not None or len(source) == 1:
        place = _source(source, table)
        declared = open_table(place, file_format=format, delimiter=delimiter).columns
    else:
        declared = open_files(source, format, delimiter, echo=True).columns
    if as_json:
        click.echo(json.dumps([{"name": c.name, "type": c.type_name, "kind": c.kind} for c in declared]))
    elif not declared:
        click.echo("No columns are declared: of JSON lines, name the key to release.", err=True)
    for column in () if as_json else declared:
        click.echo(f"{safe(column.name or '')}\t{safe(column.type_name)}")
    return 0


@cli.command()
@_table_options
@click.option(
    "--dialect", metavar="D", help="Show how another engine would say it: postgres, sqlite, spark, snowflake, …"
)
def query(
    source: tuple[str, ...], column: str, table: str | None, dialect: str | None, as_json: bool, **options: Any
) -> int:
    """Show the SQL that a release of COLUMN would run. Nothing is run and nothing is spent."""
    request = _prepared(source, column, table, **options)
    text = request.query(dialect)
    own = getattr(getattr(request.questions[0].table, "dialect", None), "name", "duckdb")
    click.echo(json.dumps({"dialect": dialect or own, "sql": text}) if as_json else text)
    return 0


@cli.command()
@click.option("--epsilon", "-e", default="1", show_default=True, metavar="E", help="Privacy loss of one record.")
@click.option("--delta", "-d", default="1e-6", show_default=True, metavar="D", help="Chance that the promise fails.")
@click.option("--json", "as_json", is_flag=True, help="Print the release as JSON.")
def demo(epsilon: str, delta: str, as_json: bool) -> int:
    """Publish the departure delays of 336 776 real flights, beside the truth, which is public here."""
    from flexdp.cli.demo import run

    run(epsilon, delta, as_json=as_json)
    return 0


cli.add_command(plan_command)
cli.add_command(report_command)
cli.add_command(web_command)


if __name__ == "__main__":
    main()
