"""``flexdp report``: the HTML page of a saved release."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from flexdp._core.text import safe_repr, visible
from flexdp._release.answers_json import json_answer
from flexdp._release.api import Release, Releases
from flexdp._release.json import SCHEMA_OF_SEVERAL, parse
from flexdp.cli.output import AtomicFile
from flexdp.errors import InputError

__all__ = ["report"]

_EMBEDDED = re.compile(r'<script type="application/json" id="release">(.*?)</script>', re.DOTALL)
_LARGEST = 2**28  # bytes of a release that is read back
_REMEDY = "Name the file that flexdp release -o FILE.json wrote."


@click.command()
@click.argument("source", metavar="RELEASE.json")
@click.option("--output", "-o", metavar="FILE", help="Write the page to FILE (.html) instead of standard output.")
@click.option("--column", metavar="COLUMN", help="Report this column alone, of several that were released separately.")
@click.option("--json", "as_json", is_flag=True, help="Print the release with its answers as JSON.")
def report(source: str, output: str | None, column: str | None, as_json: bool) -> int:
    """Make the HTML page of a saved release. Costs no privacy.

    RELEASE.json is the output of release -o or --json, or a page that was made from it; '-' reads standard input.
    """
    target = AtomicFile(output, inputs=[source], endings=[".html"])
    text = _chosen(source, column)
    several = json.loads(text)["schema"] == SCHEMA_OF_SEVERAL
    try:
        contents = [_content(each) for each in (json.loads(text)["releases"] if several else [json.loads(text)])]
    except (InputError, TypeError, AttributeError) as refusal:
        remedy = str(refusal) if isinstance(refusal, InputError) else _REMEDY
        raise InputError("source", f": {safe_repr(source)} is not a valid release", remedy=remedy) from None
    if output is not None or not as_json:
        html = _page(contents, several=several)
        try:
            with target:
                target.write_text(html)
        except OSError:
            raise InputError("output", f": could not write {safe_repr(output)}", remedy="Is the disk full?") from None
        if output is None:
            click.echo(html, nl=False)
        else:
            click.echo(f"Wrote {visible(output)}.", err=True)
    if as_json:
        documents = [_with_answers(content, released) for content, released in contents]
        whole = {"schema": SCHEMA_OF_SEVERAL, "releases": documents} if several else documents[0]
        click.echo(json.dumps(whole, indent=2))
    return 0


def _content(document: dict[str, Any]) -> tuple[dict[str, Any], Release]:
    """A release and its document; the version that is named is the one that made the release."""
    released = Release.from_json(json.dumps(document))
    return {**json.loads(released.to_json()), "flexdp": document["flexdp"]}, released


def _page(contents: Sequence[tuple[dict[str, Any], Release]], *, several: bool) -> str:
    from flexdp.report.html.page import page
    from flexdp.report.html.several import page_of_several

    if not several:
        return page(*contents[0])
    documents = [content for content, _ in contents]
    releases = Releases([released for _, released in contents])
    return page_of_several({"schema": SCHEMA_OF_SEVERAL, "releases": documents}, releases)


def _with_answers(content: dict[str, Any], released: Release) -> dict[str, Any]:
    from flexdp.report.html.page import standard_answers

    answers = [json_answer(answer.name, answer) for answer in standard_answers(released)]
    return {**content, "conditions": released.conditions, "answers": answers}


def _chosen(source: str, column: str | None) -> str:
    """The JSON of the release or releases, or the part for one of several columns."""
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
    if several and column is not None and column not in found:
        raise InputError("column", f"must be one of {', '.join(map(repr, found))}", given=safe_repr(column))
    if not several and column is not None:
        raise InputError(
            "column", "applies to columns released separately; this is one release", remedy="Leave it out."
        )
    return text if column is None else json.dumps(found[column])


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
