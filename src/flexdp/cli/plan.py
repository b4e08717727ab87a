"""``flexdp plan``: parameters for a release, chosen before any data is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from flexdp._core.text import visible
from flexdp._release.parameters import ReadingOptions
from flexdp.cli.errors import Run
from flexdp.cli.options import AS_JSON, bounds_pair, comma_separated, group_options, options_of
from flexdp.cli.output import between_words, note
from flexdp.errors import InputError, P, Phrase, spelled
from flexdp.histogram import Histogram
from flexdp.planning import plan as plan_release

if TYPE_CHECKING:
    from flexdp._release.run import Request

__all__ = ["plan"]

_READING = ("delimiter", "format", "encoding", "sheet", "decimal", "thousands", "currency", "date_format", "zone")
_KINDS: dict[bool, tuple[str | P, ...]] = {  # whether dates are described
    False: (P("kind", "number"), " for numbers"),
    True: (P("kind", "date"), " for dates or ", P("kind", "datetime"), " for datetimes"),
}
_SIZES = ("width", "relative", "edges", "bounds", "buckets")


@click.command()
@click.option("--epsilon", "-e", metavar="E", help="Privacy loss of everything planned, e.g. 1.")
@click.option("--delta", "-d", metavar="D", help="Probability that the promise fails, e.g. 1e-6.")
@click.option("--records-about", "-n", metavar="N", help="Approximate number of records, from public knowledge.")
@click.option("--lose-per-bucket", metavar="N", help="Target: maximum number of records lost per bucket.")
@click.option("--lose-in-all", metavar="N", help="Target: maximum number of records lost in total.")
@click.option("--lose-share", metavar="A", help="Target: maximum share of the records lost, e.g. 0.02.")
@click.option("--width", metavar="W", help="Bucket width.")
@click.option("--relative", metavar="R", help="Relative half-width of buckets, e.g. 0.05.")
@click.option("--edges", metavar="E,E,…", callback=comma_separated, help="Bucket edges, ascending.")
@click.option("--bounds", metavar="LO:HI", callback=bounds_pair, help="Public bounds of the values.")
@click.option("--buckets", metavar="T", help="Number of buckets; with --bounds, this sets the width.")
@click.option(
    "--kind",
    type=click.Choice(["integer", "number", "text", "date", "datetime"]),
    help="Type of the column; default: number, or as the public sample declares it.",
)
@click.option("--by", multiple=True, metavar="COLUMN", help="Column to group by; repeatable.")
@click.option("--groups", metavar="G,G,…", callback=comma_separated, help="Declared groups, as in a release.")
@click.option("--groups-about", metavar="N", help="Approximate number of groups, where they are not declared.")
@click.option(
    "--max-buckets-per-unit", metavar="K", help="Protect a person: maximum number of buckets one person may count in."
)
@click.option("--releases", default="1", show_default=True, metavar="M", help="Number of releases that share ε and δ.")
@click.option("--simulate", metavar="LAW", help="Simulated data: normal, normal:50,15, lognormal:median=30,sigma=1, …")
@click.option(
    "--ask",
    multiple=True,
    metavar="S",
    help="Statistic to answer directly: max, q0.99, …; repeatable. 'none' leaves all of ε to automatic buckets.",
)
@click.option("--stat", "-s", "stats", multiple=True, metavar="S", help="Statistic to read off buckets; repeatable.")
@click.option(
    "--public-sample",
    nargs=2,
    metavar="FILE COLUMN",
    help="Public data, to show what to expect of given buckets. The options that follow say how this FILE is read.",
)
@options_of(ReadingOptions, names=_READING)
@AS_JSON
@click.pass_obj
def plan(
    run: Run | None,
    /,
    as_json: bool,
    public_sample: tuple[str, str] | None,
    kind: Any,
    ask: tuple[str, ...],
    stats: tuple[str, ...],
    by: tuple[str, ...],
    groups: list[str] | None,
    **options: Any,
) -> int:
    """Choose ε, δ and buckets, and see what will be lost. Reads no private data and spends nothing."""
    sample, spell = None, (run or Run()).spell
    reading = {name: value for name in _READING if (value := options.pop(name)) is not None}
    if public_sample is not None:
        ordered = any(options[name] is not None for name in _SIZES)
        sample, kind = _sample(*public_sample, kind, reading, spell, ordered=ordered)
    elif reading:
        raise InputError(
            next(iter(reading)),
            ("needs ", P("public_sample"), ", the file that it describes"),
            remedy="A plan reads no other file.",
        )
    labels = group_options(by, groups)
    options |= {"by": labels["by"], "groups": labels["groups"], "stats": list(stats) or None, "ask": list(ask) or None}
    found = plan_release(kind=kind or "number", public_sample=sample, **options)
    if as_json:
        click.echo(found.to_json(indent=2))
    else:
        for line in found.text(spell).split("\n"):
            click.echo(between_words(visible(line), sys.stdout))
    if reading:
        note(spelled(_for_a_release(reading), spell))
    return 0


def _sample(
    file: str, column: str, kind: str | None, reading: dict[str, Any], spell: Callable[[P], str], *, ordered: bool
) -> tuple[Any, str]:
    """Count a table that its owner says is public, each value on its own; also return the kind it was read as.

    Of a file that declares no types, values that must be ``ordered`` are numbers.
    """
    from flexdp._release.reading import how_it_was_read
    from flexdp.tables import is_database

    if is_database(file):
        raise InputError("public_sample", "must be a file, not a database", remedy="Write the column to a file first.")
    ways: list[dict[str, Any]] = [{"kind": kind}]
    if "zone" not in reading:
        ways.append({"kind": kind, "zone": "UTC"})  # where days begin matters little here
    if kind is None and ordered:
        ways.append({"kind": "number"})
    request = _request(file, column, reading, ways)
    if kind is None and ordered and request.kind == "text":
        request = _request(file, column, reading, [{"kind": "number"}])
    question = request.questions[0]
    if kind is None and request.kind == "text" and question.counting.values[0].column.undeclared:
        raise InputError(
            "kind",
            "is missing: the public sample declares no types",
            remedy=("Use ", *_KINDS["date_format" in reading], ", or ", P("kind", "text"), " for texts."),
        )  # fmt: skip
    for phrase in how_it_was_read(request):
        note(spelled(phrase, spell))
    counted = question.table.count([question.counting])[0]
    return Histogram(request.partition.centres(counted.parts[0]), counted.counts), request.kind


def _request(file: str, column: str, reading: dict[str, Any], ways: Sequence[dict[str, Any]]) -> Request:
    """Open the sample in the first of several ways that is not refused; the first refusal is the one to tell."""
    from flexdp._release.api import prepare  # a plan without a sample needs no tables

    refusals = []
    for way in ways:
        try:
            return prepare(file, column, **reading, **way, exact=True)
        except InputError as refusal:
            refusals.append(refusal)
    first = refusals[0]
    if first.parameter not in ("source", "column"):
        raise first
    raise type(first)("public_sample", first.rule, given=first.given, remedy=first.remedy)


def _for_a_release(reading: dict[str, Any]) -> Phrase:
    """Say what the command does not: it is for another file, which may be written in another way."""
    typed = {name: "tab" if value == "\t" else value for name, value in reading.items()}
    given = [part for name, value in typed.items() for part in (" ", P(name, value))]
    return ("For a FILE that is written in the same way as the public sample, add to the command:", *given)
