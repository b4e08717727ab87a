"""``flexdp release``: publish a column."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import click

from flexdp._core.domains import LARGE_EPSILON
from flexdp._core.exact import number_text
from flexdp._core.text import safe_repr, visible
from flexdp.cli.errors import NOTHING_SURVIVED, Run
from flexdp.cli.options import comma_separated, prepared, table_options
from flexdp.cli.output import AtomicFile, all_answers, json_document, parse_stats, print_answers
from flexdp.errors import InputError

__all__ = ["release"]

_LARGE_DELTA = Fraction(1, 100)  # warn from here
_WRITTEN = {
    "number": "numbers written like 1234.5",
    "integer": "whole numbers written like 1234",
    "date": "dates written like 2024-12-31",
    "datetime": "datetimes written like 2024-12-31T18:30",
    "boolean": "true or false",
}
_WITH_OFFSET = "datetimes with their offset, written like 2024-12-31T18:30+01:00"


@click.command()
@table_options
@click.option("--epsilon", "-e", required=True, metavar="E", help="Privacy loss of one record, e.g. 1.")
@click.option(
    "--delta",
    "-d",
    required=True,
    metavar="D",
    help="Probability that the promise fails, e.g. 1e-6; 0 with --ask alone.",
)
@click.option(
    "--stat",
    "-s",
    "stats",
    multiple=True,
    metavar="S",
    help="Statistic: max, min, range, median, q0.99, mode, support, max_at_least:500, top:10, counts; repeatable.",
)
@click.option("--certify", metavar="S", help="Share of the budget spent on certifying the total left out, e.g. 0.05.")
@click.option(
    "--split",
    metavar="S,S,…",
    callback=comma_separated,
    help="Shares of the budget: of each column (--separately), or of buckets and answers (--ask).",
)
@click.option("--output", "-o", metavar="FILE", help="Also write the release to FILE (.json, .csv or .html).")
@click.pass_obj
def release(
    run: Run,
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
    """Publish COLUMN of one or more FILEs ('-' reads standard input), or of a database table.

    Every run spends (ε, δ) again.
    """
    request = prepared(source, column, table, **options).with_budget(epsilon, delta, certify=certify, split=split)
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
    _tell_reading(request, asked=options["kind"] is not None and all(one.survived for one in each))
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
                click.echo(f"{visible(str(one.column))}:")
            print_answers(one, all_answers(one, questions))
    if unwritten:
        raise InputError(
            "output",
            f": could not write {safe_repr(output)}; the release was printed to standard output instead, as JSON; "
            f"{run.cost}",
        )
    return 0 if any(one.survived for one in each) else NOTHING_SURVIVED


def _warn(request: Any) -> None:
    """Warn of choices that protect little; they are carried out all the same."""
    epsilon, delta = (sum(getattr(budget, name) for budget in request.budgets) for name in ("epsilon", "delta"))
    epsilon += 0 if request.asked is None else request.asked.epsilon
    if epsilon > LARGE_EPSILON:
        click.echo(
            f"Warning: --epsilon {number_text(epsilon)} is above {LARGE_EPSILON} and gives little privacy protection.",
            err=True,
        )
    if delta >= _LARGE_DELTA:
        click.echo(
            f"Warning: --delta {number_text(delta)} lets the promise fail once in {int(1 / delta)} times; "
            "it should be far below one in the number of records.",
            err=True,
        )


def _tell_reading(request: Any, *, asked: bool) -> None:
    """Say how cells of columns without a declared type must be written to count."""
    for axis in () if asked else (axis for each in request.questions for axis in each.counting.values):
        if axis.column.undeclared and axis.kind in _WRITTEN:
            written = _WRITTEN[axis.kind] if axis.zone is None else _WITH_OFFSET
            timed = axis.zone is None and axis.kind in ("date", "datetime")
            zone = " Use --zone to read datetimes with an offset." if timed else ""
            click.echo(
                f"{visible(axis.column.label.capitalize())} was read as {written}; other cells were not counted. "
                f"Use --kind to read it differently.{zone}",
                err=True,
            )


def _status(message: str) -> Any:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(message)
