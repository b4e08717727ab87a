"""The HTML page of several columns released out of one budget: a table of them all, then a section for each."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flexdp._core.text import markup, plural, prose, thousands
from flexdp._release.asked_proof import not_promised_of_answers
from flexdp._release.automatic_words import HOW_BUCKETS_ARE_CHOSEN
from flexdp._release.promises import (
    CITATIONS,
    PUBLISHED,
    exact_parameters,
    how_it_was_made,
    how_to_read,
    not_promised,
    protected,
)
from flexdp._release.published import Release
from flexdp._release.several import Releases
from flexdp.report.axes import label
from flexdp.report.document import Document
from flexdp.report.html.page import caption_of, standard_answers
from flexdp.report.html.parts import chart_figure, folded, foot, head, promise, section
from flexdp.report.html.tables import answer_table, capital, scrolling, sentences, told

__all__ = ["overview", "page_of_several"]

_MOST_KEYS = 3  # named of a column of texts


def page_of_several(content: Mapping[str, Any], releases: Releases) -> str:
    """Return the page of several columns as the text of an HTML file.

    Parameters
    ----------
    content
        The JSON of the releases, parsed.
    releases
        The releases that it describes.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import flexdp, json
    >>> table = {"x": [3.0] * 900, "y": [4.0] * 900}
    >>> import polars as pl
    >>> both = flexdp.release(pl.DataFrame(table), ["x", "y"], separately=True, epsilon=1, delta=1e-6, width=5)
    >>> page_of_several(json.loads(both.to_json()), both) == both.to_html()
    True
    """
    listed = list(releases.values())
    title = f"Summary of {plural(len(listed), 'column')}"
    own = zip(releases, listed, content["releases"], strict=True)
    return "".join(
        [
            head(title, (PUBLISHED, "All columns share one budget."), listed[0].spec.about),
            *(scrolling(name, top, rows, words=words) for name, top, rows, words in overview(releases)),
            _section_of_privacy(releases),
            *(_column(name, release, part) for name, release, part in own),
            '<div class="two">',
            section("Reading and quoting", _once(_reading(release) for release in listed)),
            section("Not promised", _once(_unpromised(release) for release in listed)),
            section("Method", _once(_method(release, content["releases"][0]["flexdp"]) for release in listed)),
            "</div>",
            section("Citation", CITATIONS),
            foot(content),
        ]
    )


def overview(releases: Releases) -> list[tuple[str, list[str], list[list[str]], int]]:
    """Return tables of all columns: the ends and the middle of those with an order, the commonest keys of the others.

    Each is a name, titles, rows, and the number of columns that are words.
    """
    told_of = {name: standard_answers(release) for name, release in releases.items() if release.spec.ordered}
    found = dict.fromkeys(answer.name for answers in told_of.values() for answer in answers)
    names = sorted(found, key=lambda name: (name == "maximum", name != "minimum"))  # from the lowest to the highest
    rows = []
    for name, answers in told_of.items():
        texts = {answer.name: answer.text for answer in answers}
        rows.append([label(name), *(texts.get(each, "") for each in names)])
    parts = [("Columns of numbers and times", ["Column", *map(capital, names)], rows, 1)] if rows else []
    others = [[label(name), _commonest(each)] for name, each in releases.items() if not each.spec.ordered]
    if others:
        parts.append(("Other columns", ["Column", "Most frequent values, with records at least"], others, 2))
    return parts


def _commonest(release: Release) -> str:
    if not len(release.cells):
        return "nothing survived"
    counts = dict(release.histogram.items())
    first = sorted(counts, key=lambda key: (-counts[key], str(key)))[:_MOST_KEYS]
    return ", ".join(f"{label(key)} ({thousands(counts[key])})" for key in first)


def _section_of_privacy(releases: Releases) -> str:
    parts = [f"{label(name)}: {release.privacy}" for name, release in releases.items()]
    listed = list(releases.values())
    lines = [
        str(releases.privacy),
        *_once([protected(each.spec, bucketed=each.budget is not None)] for each in listed),
    ]
    return promise(lines) + folded("The share of each column", parts)


def _column(name: str, release: Release, content: Mapping[str, Any]) -> str:
    """The picture, the answers and the proof of one column."""
    certificate, answers = release.certificate(), standard_answers(release)
    table = told(answers)
    proof = list(certificate.proof)
    picture = ""
    if release.budget is not None:
        found = Document.read(content)
        # The ids inside the pictures of one page must differ.
        picture = chart_figure(found, caption_of(release, found), f"fd{zlib.crc32(name.encode(errors='replace')):x}")
        proof.insert(0, exact_parameters(release.budget, release.privacy))
    guaranteed = [line for line in certificate.promises[1:] if line not in release.conditions]
    lead = " ".join(filter(None, (*release.conditions, table.shared)))
    return (
        f'<section><h2 class="long">{markup(label(name))}</h2>'
        f'<p class="lead long">{prose(lead)}</p>{answer_table(table)}{picture}{sentences(answers)}'
        f"{folded('Guarantees and proof', (*guaranteed, *proof))}</section>\n"
    )


def _reading(release: Release) -> Sequence[str]:
    return () if release.budget is None else how_to_read(release.spec, release.max_drop)


def _unpromised(release: Release) -> Sequence[str]:
    if release.budget is None:
        return not_promised_of_answers(release.spec)
    return not_promised(release.spec, release.records_at_most, estimated=release.auto is not None)


def _method(release: Release, version: str) -> Sequence[str]:
    chosen = () if release.auto is None else HOW_BUCKETS_ARE_CHOSEN
    made = () if release.budget is None else how_it_was_made(release.spec, release.max_drop, version)
    return [*chosen, *made]


def _once(sentences: Iterable[Iterable[str]]) -> list[str]:
    """Sentences in their order, each once."""
    return list(dict.fromkeys(line for lines in sentences for line in lines))
