"""Two commands that touch no private data: `flexdp plan` before a release, `flexdp report` after it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import click

from flexdp._core.text import safe_repr, visible
from flexdp._release.api import Release, prepare
from flexdp._release.json import SCHEMA_OF_SEVERAL, parse
from flexdp.cli.output import AtomicFile, json_answer
from flexdp.cli.wording import in_options, options_of
from flexdp.errors import InputError
from flexdp.histogram import Histogram
from flexdp.planning import Advice, plan

__all__ = ["pair_of", "plan_command", "report_command"]

_TIME = r"\s*(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?)\s*"
_TIMES = re.compile(f"{_TIME}:{_TIME}", re.ASCII)

_EMBEDDED = re.compile(r'<script type="application/json" id="release">(.*?)</script>', re.DOTALL)
_LARGEST = 2**28  # bytes of a release that is read back


def pair_of(value: str) -> tuple[str, str]:
    """LO:HI, of which either may be a day with a time of day, which has colons of its own."""
    times = _TIMES.fullmatch(value)
    low, high = times.groups() if times else map(str.strip, value.split(":")) if value.count(":") == 1 else ("", "")
    if not low or not high:
        raise InputError(
            "bounds must be written LO:HI, for example --bounds 0:120 or --bounds 2024-01-01:2024-12-31T18:30."
        )
    return low, high


def _bounds(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, str] | None:
    return None if value is None else pair_of(value)


@click.command("plan")
@click.option("--epsilon", "-e", metavar="E", help="Privacy loss of everything that is planned, e.g. 1.")
@click.option("--delta", "-d", metavar="D", help="Chance that the promise fails, e.g. 1e-6.")
@click.option("--records-about", "-n", metavar="N", help="How many records there are, roughly; public knowledge.")
@click.option("--lose-per-bucket", metavar="N", help="Target: the most records a bucket may lose.")
@click.option("--lose-in-all", metavar="N", help="Target: the most records all buckets may lose together.")
@click.option("--lose-share", metavar="A", help="Target: the largest share of the records that may be lost, e.g. 0.02.")
@click.option("--width", metavar="W", help="Bucket width.")
@click.option("--relative", metavar="R", help="Relative half-width of buckets, e.g. 0.05.")
@click.option("--bounds", metavar="LO:HI", callback=_bounds, help="Public bounds of the values.")
@click.option("--buckets", metavar="T", help="How many buckets there are; with --bounds, it gives the width.")
@click.option(
    "--kind",
    type=click.Choice(["integer", "number", "text", "date", "datetime"]),
    help="How the column is read; default: number, or what a public sample declares.",
)
@click.option("--max-buckets-per-unit", metavar="K", help="Protect a person: the most buckets one may count in.")
@click.option("--releases", default="1", show_default=True, metavar="M", help="Releases that share ε and δ.")
@click.option("--simulate", metavar="LAW", help="lognormal, normal, uniform or zipf, e.g. normal:mean=50,sd=15.")
@click.option(
    "--public-sample", nargs=2, metavar="FILE COLUMN", help="Values that are public already: shows what to expect."
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def plan_command(as_json: bool, public_sample: tuple[str, str] | None, kind: str | None, **options: Any) -> int:
    """Which ε, how wide the buckets, what will be lost? Reads no data, spends nothing."""
    sample = None
    if public_sample is not None:
        sample, kind = _sample(*public_sample, kind, options)
    advice: Advice = plan(kind=kind or "number", public_sample=sample, **options)
    said = in_options(str(advice), options_of(plan_command.params))
    click.echo(advice.to_json(indent=2) if as_json else visible_lines(said))
    return 0


def _sample(file: str, column: str, kind: str | None, options: dict[str, Any]) -> tuple[Any, str]:
    """The values of a table that its owner says is public, counted one by one, and how they were read."""
    from flexdp.tables import count, is_database

    if is_database(file):
        raise InputError("public_sample reads files, not databases; write the column to a file first.")
    numbers = any(options[name] is not None for name in ("width", "relative", "bounds", "buckets"))
    ways: list[dict[str, Any]] = [{"kind": kind}, {"kind": kind, "zone": "UTC"}]  # where days begin matters little here
    if kind is None and numbers:
        ways.append({"kind": "number"})
    refusals = []
    for way in ways:
        try:
            request = prepare(file, column, **way)
            break
        except InputError as refusal:
            refusals.append(refusal)
    else:
        raise refusals[0]
    if kind is None and numbers and request.kind == "text":
        request = prepare(file, column, kind="number")
    question = request.questions[0]
    counted = count(question.table, [question.counting])[0]
    return Histogram(request.partition.centres(counted.parts[0]), counted.counts), request.kind


def visible_lines(text: str) -> str:
    """Lines that cannot steer a terminal."""
    return "\n".join(visible(line) for line in text.split("\n"))


@click.command("report")
@click.argument("source", metavar="RELEASE.json")
@click.option("--output", "-o", metavar="FILE", help="Write the page to FILE (.html) instead of standard output.")
@click.option("--column", metavar="COLUMN", help="Of columns that were released separately: which one.")
@click.option("--json", "as_json", is_flag=True, help="Print the release with its answers as JSON.")
def report_command(source: str, output: str | None, column: str | None, as_json: bool) -> int:
    """Make the page of a saved release: what may be said of it. Costs nothing.

    RELEASE.json is what release -o or --json wrote, or a page that was made of it; '-' reads standard input.
    """
    from flexdp.report.document import Document
    from flexdp.report.html.page import page, standard_answers

    target = AtomicFile(output, inputs=[source], endings=[".html"])
    text = _one(source, column)
    try:
        released = Release.from_json(text)
    except InputError as refusal:
        raise InputError(f"{safe_repr(source)}: {refusal}") from None
    # The version that is named is the one that made the release.
    content = {**json.loads(released.to_json()), "flexdp": json.loads(text)["flexdp"]}
    document = Document.read(content)
    if output is not None or not as_json:
        html = page(document, released)
        try:
            with target:
                target.write_text(html)
        except OSError:
            raise InputError(f"output {safe_repr(output)} could not be written; is there room for it?") from None
        if output is None:
            click.echo(html, nl=False)
    if as_json:
        answers = standard_answers(released)
        click.echo(
            json.dumps(
                {**content, "conditions": released.conditions, "answers": [json_answer(a.name, a) for a in answers]},
                indent=2,
            )
        )
    return 0


def _one(source: str, column: str | None) -> str:
    """The document of one release: the whole text, or what it has of one of several columns."""
    text = _read(source)
    if page := _EMBEDDED.search(text):
        text = page.group(1)
    try:
        content = parse(text)
        several = content["schema"] == SCHEMA_OF_SEVERAL
        found = {str(each["column"]): each for each in content["releases"]} if several else {}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{safe_repr(source)} must be the JSON of a flexdp release, complete and unchanged.") from None
    if several and column not in found:
        raise InputError(f"column must be one of {', '.join(map(repr, found))}: say which with --column.")
    if not several and column is not None:
        raise InputError("column is for releases of several columns; this is one release. Leave it out.")
    return json.dumps(found[str(column)]) if several else text


def _read(source: str) -> str:
    path = Path(source)
    try:
        if source == "-":
            return sys.stdin.read(_LARGEST)
        if path.is_file() and path.stat().st_size > _LARGEST:
            raise InputError(f"{safe_repr(source)} is too large to be a release; name the file that release -o wrote.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as failure:
        if isinstance(failure, InputError):
            raise
        raise InputError(
            f"{safe_repr(source)} cannot be read; name the file that release -o FILE.json wrote."
        ) from None
