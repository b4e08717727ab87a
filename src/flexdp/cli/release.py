"""``flexdp release`` and ``flexdp summary``: publish columns of a table, each out of one budget."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from flexdp._core.text import safe_repr, visible
from flexdp._release.parameters import OutputOptions, PayingOptions
from flexdp._release.reading import encoding_cause, how_it_was_read
from flexdp._release.stat_words import each_once
from flexdp._release.weak import little_privacy
from flexdp.cli.errors import NOTHING_SURVIVED, Run
from flexdp.cli.options import (
    REQUEST,
    PanelCommand,
    PanelOption,
    all_of,
    declared_dataset,
    options_of,
    output_option,
    prepared,
    shares,
)
from flexdp.cli.output import (
    AtomicFile,
    all_answers,
    coarse,
    json_document,
    note,
    print_answers,
    stats_of_each,
    still_reading,
    unanswered,
    without_repeats,
)
from flexdp.errors import InputError, LedgerError, spelled

__all__ = ["publish", "release", "summary"]


_BUDGET = (
    click.option(
        "--epsilon", "-e", required=True, allow_from_autoenv=False, metavar="E", cls=PanelOption, panel="Privacy",
        help="Privacy loss of one record, e.g. 1.",
    ),
    click.option(
        "--delta", "-d", required=True, allow_from_autoenv=False, metavar="D", cls=PanelOption, panel="Privacy",
        help="Probability that the promise fails, e.g. 1e-6; 0 with --ask alone.",
    ),
    click.option(
        "--certify", metavar="S", cls=PanelOption, panel="Privacy",
        help="Share of the budget that bounds all that was left out, where buckets or groups are unknown, e.g. 0.05.",
    ),
    click.option(
        "--split", multiple=True, metavar="[NAME=]S", callback=shares, cls=PanelOption, panel="Privacy",
        help="Shares of the budget: NAME=S of a column (default 1), or S,S,… in order; for one column, of buckets and "
        "answers.",
    ),
)  # fmt: skip
_STAT = click.option(
    "--stat", "-s", "stats", multiple=True, metavar="S", cls=PanelOption, panel="What to publish",
    help="Statistic to print: max, min, range, median, q0.99 or p99, iqr, count, sum, mean, std, mode, support, "
    "max_at_least:500, top:10, counts; repeatable.",
)  # fmt: skip
_publishing: Callable[[Any], Any] = all_of(
    [
        _STAT,
        *_BUDGET,
        REQUEST,
        options_of(PayingOptions, OutputOptions),
        output_option("Also write the release to FILE (.json, .csv or .html)."),
    ]
)


@click.command(cls=PanelCommand)
@_publishing
@click.pass_obj
def release(run: Run, /, columns: tuple[str, ...], **given: Any) -> int:
    """Publish columns of FILE ('-' reads standard input), one by one out of one budget; all of them if none is named.

    FILE may be a pattern in quotes, such as 'visits-*.csv'. A column that declares no type is named with its KIND,
    such as cost=number. Every run spends (ε, δ) again, unless --ledger finds that the same release was made before.
    """
    return _released(run, columns, **given)


@click.command(cls=PanelCommand)
@_publishing
@click.pass_obj
def summary(run: Run, /, columns: tuple[str, ...], **given: Any) -> int:
    """Publish every column of FILE, one by one out of one budget: numbers and times in buckets, texts value by value.

    The same as flexdp release without a COLUMN.
    """
    return _released(run, columns, **given)


def _released(
    run: Run,
    columns: tuple[str, ...],
    *,
    source: str,
    table: str | None,
    epsilon: str,
    delta: str,
    certify: str | None,
    split: Any,
    stats: tuple[str, ...],
    as_json: bool,
    output: str | None,
    ledger: str | None,
    dataset: str | None,
    fresh: bool,
    config: str | None,
    **options: Any,
) -> int:
    from flexdp._release.charged import payer_of, run_paid
    from flexdp._release.dataset import paying
    from flexdp._release.summary import shares_of

    declared = None if table is not None else declared_dataset(source, config)
    pays = {} if declared is None else paying(declared)
    payer = payer_of(ledger or pays.get("ledger"), dataset or pays.get("dataset"), fresh)
    request = prepared(source, columns, table, dataset=declared, **options)
    split = shares_of(request, split) if request.separately else split
    request = request.with_budget(epsilon, delta, certify=certify, split=split)
    work = partial(run_paid, request, payer, epsilon=epsilon, delta=delta, certify=certify, split=split)
    chosen = None if request.separately and not stats else stats
    return publish(run, request, chosen, work=work, payer=payer, as_json=as_json, output=output)


def publish(
    run: Run,
    request: Any,
    stats: Sequence[str] | None,
    *,
    work: Callable[..., Any],
    payer: Any,
    as_json: bool,
    output: str | None,
) -> int:
    """Run a request, write it to a file and print its answers.

    ``stats`` are the statistics to print, None where they cannot be chosen. ``work`` runs the request, and calls
    ``charged`` once ``payer`` has paid.
    """
    questions = stats_of_each(stats, request)
    for weakness in little_privacy(request):
        note(f"Warning: {spelled(weakness, run.spell)}")
    published: Any = None
    payment: Any = None
    unwritten = False
    try:
        with AtomicFile(output, inputs=request.files) as target:
            with _status("Counting the records of each bucket…"):
                published = work(charged=partial(setattr, run, "spent", True))
            payment = published.payment
            run.spent = payment is None or not payment.free
            published = _showing(published, stats or (), request)
            target.write(published)
    except Exception:  # what has been paid for is printed all the same; the failure is told below
        if published is None:
            raise
        unwritten = True
    _tell_cost(run, published, payer, payment)
    if output is not None and not unwritten:
        click.echo(f"Wrote {visible(output)}.", err=True)
    each = list(published.values()) if request.separately else [published]
    for line in how_it_was_read(request):
        note(spelled(line, run.spell))
    pairs = list(zip(each, questions, strict=True))
    try:
        answers = (
            []
            if as_json or unwritten
            else [all_answers(one, own if stats else without_repeats(own)) for one, own in pairs]
        )
        documents = [json_document(one, own) for one, own in pairs] if as_json else []
    except Exception:
        click.echo(published.to_json(indent=2))  # paid for, whatever became of an answer
        raise
    if unwritten and not as_json:
        click.echo(published.to_json(indent=2))
    elif as_json:
        from flexdp._release.json import SCHEMA_OF_SEVERAL

        content = {"schema": SCHEMA_OF_SEVERAL, "releases": documents} if request.separately else documents[0]
        click.echo(json.dumps(content, indent=2, allow_nan=False))
    if answers and (drawing := each[0].spec.about.drawing):
        click.echo(visible(drawing))
    for one, shown in zip(each, answers, strict=False):
        if request.separately:
            click.echo(f"{visible(str(one.column))}:")
        print_answers(one, shown)
    for one in each:
        if told := coarse(one):
            label = f"{one.column}: " if request.separately else ""
            note(label + spelled(told, run.spell))
    for one in each if stats else ():
        if told := unanswered(one, stats or ()):
            label = f"{one.column}: " if request.separately else ""
            note(label + spelled(told, run.spell))
    if unwritten:
        raise InputError(
            "output",
            f": could not write {safe_repr(output)}; the release was printed to standard output instead, as JSON; "
            f"{run.cost}",
        )
    for cause in () if any(one.survived for one in each) else (*each[0].likely_causes, *encoding_cause(request)):
        note(f"Likely cause: {spelled(cause, run.spell)}")
    return 0 if any(one.survived for one in each) else NOTHING_SURVIVED


def _showing(published: Any, stats: Sequence[str], request: Any) -> Any:
    """The release, whose page shows the statistics that were named; answers that were asked for are on it anyway."""
    shown = []
    for one, question in zip(published.values() if request.separately else [published], request.questions, strict=True):
        asked = () if question.wanted is None else question.wanted.words
        shown.append(one._showing(each_once(stats, among=asked)))
    return type(published)(shown) if request.separately else shown[0]


def _tell_cost(run: Run, published: Any, payer: Any, payment: Any) -> None:
    """Say what was spent and, with a ledger, what is left."""
    if payment is None:
        note(f"Spent: {published.privacy} There is no ledger: each further run on the same data spends as much again.")
        return
    from flexdp.accounting.books import bar

    told = spelled(payment.told, run.spell)
    note(told if payment.free else f"Spent: {published.privacy} {told}")
    try:
        click.echo(visible(bar(payer[0].account(payer[1]), plain=not _draws(sys.stderr))), err=True)
    except LedgerError as failure:  # which must not keep back what has been paid for
        click.echo(f"Could not show the remaining budget: {failure}.", err=True)
    click.echo(f"Receipt: {payment.receipt}", err=True)


def _draws(stream: Any) -> bool:
    """Return True if a stream can show the blocks of a bar."""
    try:
        "█░".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _status(message: str) -> Any:
    if not sys.stderr.isatty():
        return still_reading()
    from rich.console import Console

    return Console(stderr=True).status(message)
