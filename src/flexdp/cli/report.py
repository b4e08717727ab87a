"""``flexdp report``: the HTML page of a saved release."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click

from flexdp._core.text import safe_repr
from flexdp._release.api import Release
from flexdp._release.json import SCHEMA_OF_SEVERAL, parse
from flexdp.cli.output import AtomicFile, json_answer
from flexdp.errors import InputError

__all__ = ["report"]

_EMBEDDED = re.compile(r'<script type="application/json" id="release">(.*?)</script>', re.DOTALL)
_LARGEST = 2**28  # bytes of a release that is read back
_REMEDY = "Name the file that flexdp release -o FILE.json wrote."


@click.command()
@click.argument("source", metavar="RELEASE.json")
@click.option("--output", "-o", metavar="FILE", help="Write the page to FILE (.html) instead of standard output.")
@click.option("--column", metavar="COLUMN", help="Column to report, if several were released separately.")
@click.option("--json", "as_json", is_flag=True, help="Print the release with its answers as JSON.")
def report(source: str, output: str | None, column: str | None, as_json: bool) -> int:
    """Make the HTML page of a saved release. Costs no privacy.

    RELEASE.json is the output of release -o or --json, or a page that was made from it; '-' reads standard input.
    """
    from flexdp.report.document import Document
    from flexdp.report.html.page import page, standard_answers

    target = AtomicFile(output, inputs=[source], endings=[".html"])
    text = _one(source, column)
    try:
        released = Release.from_json(text)
    except InputError as refusal:
        raise InputError("source", f": {safe_repr(source)} is no valid release", remedy=str(refusal)) from None
    # The version that is named is the one that made the release.
    content = {**json.loads(released.to_json()), "flexdp": json.loads(text)["flexdp"]}
    document = content if released.budget is None else Document.read(content)
    if output is not None or not as_json:
        html = page(document, released)
        try:
            with target:
                target.write_text(html)
        except OSError:
            raise InputError("output", f": could not write {safe_repr(output)}", remedy="Is the disk full?") from None
        if output is None:
            click.echo(html, nl=False)
    if as_json:
        answers = [json_answer(answer.name, answer) for answer in standard_answers(released)]
        click.echo(json.dumps({**content, "conditions": released.conditions, "answers": answers}, indent=2))
    return 0


def _one(source: str, column: str | None) -> str:
    """The JSON of one release: the whole text, or the part for one of several columns."""
    text = _read(source)
    if page := _EMBEDDED.search(text):
        text = page.group(1)
    try:
        content = parse(text)
        several = content["schema"] == SCHEMA_OF_SEVERAL
        found = {str(each["column"]): each for each in content["releases"]} if several else {}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(
            "source", f"{safe_repr(source)} must be the JSON of a flexdp release, complete and unchanged"
        ) from None
    if several and column not in found:
        raise InputError("column", f"must be one of {', '.join(map(repr, found))}", given=safe_repr(column))
    if not several and column is not None:
        raise InputError(
            "column", "applies to columns released separately; this is one release", remedy="Leave it out."
        )
    return json.dumps(found[str(column)]) if several else text


def _read(source: str) -> str:
    path = Path(source)
    try:
        if source == "-":
            return sys.stdin.read(_LARGEST)
        if path.is_file() and path.stat().st_size > _LARGEST:
            raise InputError("source", f"{safe_repr(source)} is too large to be a release", remedy=_REMEDY)
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as failure:
        if isinstance(failure, InputError):
            raise
        raise InputError("source", f"{safe_repr(source)} cannot be read", remedy=_REMEDY) from None
