"""The command line: parse, call, print. Results on standard output, everything else on standard error.

Exit codes: 0 ok, 2 bad input, 4 nothing survived, 130 interrupted. An unexpected failure exits with 1 and says no
more than its kind, because a traceback may quote a record.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import reduce
from typing import Any, TypeVar

import click

from flexdp._output import AtomicFile, print_answers, safe
from flexdp.errors import FlexdpError, InputError
from flexdp.version import __version__

__all__ = ["main"]

NOTHING_SURVIVED = 4
INTERRUPTED = 130

_F = TypeVar("_F", bound=Callable[..., Any])


def main() -> None:
    """Run the command line and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale without Greek letters is no reason to fail
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as refusal:
        code = _complain(refusal.format_message(), 2)
    except FlexdpError as refusal:
        code = _complain(str(refusal), 2)
    except (click.Abort, KeyboardInterrupt):
        code = _complain("interrupted; nothing was released.", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as failure:  # noqa: BLE001  (its text may hold a record)
        code = _complain(f"an unexpected {type(failure).__name__} stopped flexdp; nothing was released.", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str, code: int) -> int:
    click.echo("Error: " + safe(" ".join(message.split())), err=True)
    return code


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="flexdp")
def cli() -> None:
    """Publish a column of a table with differential privacy that only ever leaves records out."""


def _pair(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, str] | None:
    if value is None:
        return None
    low, colon, high = value.partition(":")
    if not colon or not low or not high:
        raise InputError("bounds must be written LO:HI, for example --bounds 0:120.")
    return low, high


def _listed(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [part.strip() for part in value.split(",")]


def _tab(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    return "\t" if value in ("\\t", "tab") else value


_TABLE = (
    click.argument("file"),
    click.argument("column"),
    click.option("--width", metavar="W", help="Bucket width, in the column's unit."),
    click.option("--relative", metavar="R", help="Relative half-width of buckets, e.g. 0.05."),
    click.option("--edges", metavar="E,E,…", callback=_listed, help="Ascending bucket edges."),
    click.option("--bounds", metavar="LO:HI", callback=_pair, help="Public bounds of the values."),
    click.option("--outside", type=click.Choice(["clamp", "drop"]), default="clamp", show_default=True,
                 help="What becomes of values outside the bounds."),
    click.option("--kind", type=click.Choice(["integer", "number", "text", "date"]),
                 help="How to read a column that declares no type."),
    click.option("--delimiter", metavar="C", callback=_tab, help="Of CSV files; default: told by the header."),
    click.option("--format", type=click.Choice(["csv", "jsonl", "parquet"]), help="Where the name does not tell."),
)  # fmt: skip


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
@click.option("--json", "as_json", is_flag=True, help="Print the release and its answers as JSON.")
@click.option("--output", "-o", metavar="FILE", help="Also write the release to FILE (.json or .csv).")  # fmt: skip
def release(
    file: str,
    column: str,
    epsilon: str,
    delta: str,
    stats: tuple[str, ...],
    as_json: bool,
    output: str | None,
    **options: Any,
) -> int:
    """Publish COLUMN of FILE ('-' reads standard input). Every run spends (ε, δ) again."""
    from flexdp._output import parse_stats
    from flexdp.noise import DropNoise
    from flexdp.release import prepare

    noise = DropNoise(epsilon, delta)
    with AtomicFile(output) as target:
        request = prepare(file, column, **options)
        questions = parse_stats(stats, request.kind)
        with _status("Counting the records of each bucket…"):
            published = request.run(noise)
        answers = [question(published) for question in questions]
        if output is not None:
            target.write(published)
    click.echo(
        f"Spent: {published.privacy} No ledger is kept: every further run on the same data spends again.", err=True
    )
    if as_json:
        _print_json(published, stats or tuple(question.word for question in questions), answers)
    else:
        print_answers(published, answers)
    return 0 if len(published.bars) else NOTHING_SURVIVED


def _status(message: str) -> Any:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(message)


def _print_json(published: Any, words: tuple[str, ...], answers: list[Any]) -> None:
    from flexdp._output import json_answer

    document = json.loads(published.to_json())
    document["answers"] = [json_answer(word, answer) for word, answer in zip(words, answers, strict=True)]
    click.echo(json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False))


@cli.command()
@click.argument("file")
@click.option("--delimiter", metavar="C", callback=_tab, help="Of CSV files; default: told by the header.")
@click.option(
    "--format", "file_format", type=click.Choice(["csv", "jsonl", "parquet"]), help="Where the name does not tell."
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def columns(file: str, delimiter: str | None, file_format: str | None, as_json: bool) -> int:
    """List the columns that FILE declares: names and types, nothing that a record holds."""
    from flexdp.tables import open_table

    declared = open_table(file, file_format=file_format, delimiter=delimiter).columns
    if as_json:
        click.echo(json.dumps([{"name": c.name, "type": c.type_name, "kind": c.kind} for c in declared]))
    elif not declared:
        click.echo("JSON lines declare no columns: name the key to release.", err=True)
    for column in () if as_json else declared:
        click.echo(f"{safe(column.name or '')}\t{safe(column.type_name)}")
    return 0


@cli.command()
@_table_options
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def query(file: str, column: str, as_json: bool, **options: Any) -> int:
    """Show the SQL that a release of COLUMN would run. Nothing is run and nothing is spent."""
    from flexdp.release import prepare

    text = prepare(file, column, **options).query()
    click.echo(json.dumps({"dialect": "duckdb", "sql": text}) if as_json else text)
    return 0


@cli.command()
@click.option("--epsilon", "-e", default="1", show_default=True, metavar="E", help="Privacy loss of one record.")
@click.option("--delta", "-d", default="1e-6", show_default=True, metavar="D", help="Chance that the promise fails.")
@click.option("--json", "as_json", is_flag=True, help="Print the release as JSON.")
def demo(epsilon: str, delta: str, as_json: bool) -> int:
    """Publish the departure delays of 336 776 real flights, beside the truth, which is public here."""
    from flexdp._demo import run

    run(epsilon, delta, as_json=as_json)
    return 0


if __name__ == "__main__":
    main()
