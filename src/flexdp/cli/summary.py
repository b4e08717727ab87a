"""``flexdp summary``: publish every column of a table out of one budget."""

from __future__ import annotations

from functools import partial
from typing import Any, get_args

import click

from flexdp._core.text import safe_repr
from flexdp.buckets.base import Kind
from flexdp.cli.errors import Run
from flexdp.cli.options import (
    ABOUT,
    AS_JSON,
    IN_DATABASE,
    READING,
    ZONE,
    all_of,
    by_column,
    group_options,
    labels,
    paying,
    shares,
    source_of,
)
from flexdp.cli.release import publish
from flexdp.errors import InputError

__all__ = ["summary"]

_OF_COLUMNS = (
    click.option(
        "--width",
        multiple=True,
        metavar="NAME=W",
        callback=by_column,
        help="Bucket width of a column, e.g. age=10 or 'day=1 month'; repeatable.",
    ),
    click.option(
        "--relative",
        multiple=True,
        metavar="NAME=R",
        callback=by_column,
        help="Relative half-width of a column's buckets, e.g. cost=0.05; repeatable.",
    ),
    click.option(
        "--edges",
        multiple=True,
        metavar="NAME=E,E,…",
        callback=by_column,
        help="Bucket edges of a column, ascending, e.g. age=0,18,65,120; repeatable.",
    ),
    click.option(
        "--exact",
        multiple=True,
        metavar="NAME",
        help="Column in which every distinct value is its own bucket; repeatable.",
    ),
    click.option(
        "--bounds",
        multiple=True,
        metavar="NAME=LO:HI",
        callback=by_column,
        help="Public bounds of a column, e.g. age=0:120; repeatable.",
    ),
    click.option(
        "--outside",
        multiple=True,
        metavar="NAME=clamp|drop",
        callback=by_column,
        help="Treatment of values outside the bounds or edges of a column; repeatable. Default: clamp.",
    ),
)


@click.command()
@click.argument("source", metavar="FILE...", nargs=-1, required=True)
@click.option("--epsilon", "-e", required=True, metavar="E", help="Privacy loss of the whole summary, e.g. 1.")
@click.option("--delta", "-d", required=True, metavar="D", help="Probability that the promise fails, e.g. 1e-6.")
@click.option(
    "--column",
    "-c",
    "columns",
    multiple=True,
    metavar="NAME[=KIND]",
    help="Column to publish, with its type in a text file: cost=number, day=date; repeatable. Default: all columns.",
)
@click.option("--skip", multiple=True, metavar="COLUMN", help="Column to leave out, such as an id; repeatable.")
@click.option(
    "--split",
    multiple=True,
    metavar="NAME=S",
    callback=shares,
    help="Relative share of the budget for a column (default 1); repeatable. Or S,S,…: one per column, in order.",
)
@all_of(_OF_COLUMNS)
@ZONE
@labels
@paying
@click.option("--output", "-o", metavar="FILE", help="Also write the summary to FILE (.html, .json or .csv).")
@IN_DATABASE
@all_of((*READING, *ABOUT))
@AS_JSON
@click.pass_obj
def summary(
    run: Run,
    /,
    source: tuple[str, ...],
    epsilon: str,
    delta: str,
    columns: tuple[str, ...],
    skip: tuple[str, ...],
    split: Any,
    exact: tuple[str, ...],
    output: str | None,
    table: str | None,
    as_json: bool,
    by: tuple[str, ...],
    ledger: str | None,
    dataset: str | None,
    fresh: bool,
    **options: Any,
) -> int:
    """Publish every column of one or more FILEs ('-' reads standard input), or of a database table.

    Numbers and times get automatic buckets, texts a count of each value. Every run spends (ε, δ) again,
    unless --ledger finds that the same summary was made before.
    """
    from flexdp._release.charged import payer_of, run_paid
    from flexdp._release.summary import prepare_summary, shares_of

    payer, kinds = payer_of(ledger, dataset, fresh), _named(columns)
    named: Any = kinds if any(kinds.values()) else list(kinds)
    options["currency"] = list(options["currency"]) or None
    options["exact"] = dict.fromkeys(exact, True) or False
    options["outside"] = options["outside"] or "clamp"
    options |= group_options(by, options["by_kind"], options["groups"])
    try:
        request = prepare_summary(source_of(source, table), named or None, skip=list(skip) or None, **options)
    except InputError as refusal:
        raise _explained(refusal, columns) from None
    parts = shares_of(request, split)
    request = request.with_budget(epsilon, delta, split=parts)
    work = partial(run_paid, request, payer, epsilon=epsilon, delta=delta, split=parts)
    return publish(run, request, None, work=work, payer=payer, as_json=as_json, output=output)


def _named(columns: tuple[str, ...]) -> dict[str, str | None]:
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


def _explained(refusal: InputError, columns: tuple[str, ...]) -> InputError:
    """The refusal of a column that was written NAME=WORD with a word that is no kind: it is the word that is wrong."""
    for column in columns:
        name, _, last = column.rpartition("=")
        if name and refusal.parameter == "column" and refusal.rule == f": no column named {safe_repr(column)}":
            kinds = get_args(Kind)
            remedy = f"Kinds are {', '.join(kinds[:-1])} and {kinds[-1]}."
            return InputError("columns", f": {safe_repr(last)} is not a kind", given=safe_repr(column), remedy=remedy)
    return refusal
