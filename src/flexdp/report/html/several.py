"""The HTML page of several columns released out of one budget: a table of them all, then a section for each."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from flexdp._core.exact import upper_text
from flexdp._core.text import markup, plural, prose
from flexdp._release.answers import Answer
from flexdp._release.page_words import (
    CITATIONS,
    Shown,
    how_it_was_made,
    how_to_read,
    not_promised,
    once_of_each,
    protected,
    published,
)
from flexdp._release.promises import exact_parameters
from flexdp._release.published import Release
from flexdp._release.ranges import joined
from flexdp._release.sentences import short_name, tally_text, unit_id
from flexdp._release.several import Releases
from flexdp.report.axes import label
from flexdp.report.document import Document
from flexdp.report.html.page import asked_table, caption_of, counts_table, group_table, standard_answers
from flexdp.report.html.parts import chart_figure, folded, foot, head, promise, section
from flexdp.report.html.tables import answer_table, capital, scrolling, sentences, told

__all__ = ["overview", "page_of_several", "title_of"]

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
    shown = [Shown.of(release) for release in listed]
    own = zip(releases, listed, content["releases"], strict=True)
    lead = (published(shown), "All columns share one budget.", _together(listed[0]), once_of_each(shown))
    return "".join(
        [
            head(title_of(releases), lead, listed[0].spec.about),
            *(scrolling(name, top, rows, words=words, wraps=True) for name, top, rows, words in overview(releases)),
            _section_of_privacy(releases, shown),
            *(_column(name, release, part) for name, release, part in own),
            '<div class="two">',
            section("Reading and quoting", how_to_read(shown)),
            section("Not promised", not_promised(shown)),
            section("Method", how_it_was_made(shown, content["releases"][0]["flexdp"])),
            "</div>",
            section("Citation", CITATIONS),
            foot(content),
        ]
    )


def title_of(releases: Releases) -> str:
    """Return the title of several columns: "Summary of 5 columns by ward"."""
    by = ", ".join(next(iter(releases.values())).spec.labels)
    return f"Summary of {plural(len(releases), 'column')}{f' by {by}' if by else ''}"


def _together(release: Release) -> str:
    """What the tables of all columns refer to, where there are groups."""
    by = release.spec.labels
    if not by:
        return ""
    named = joined([short_name(name) for name in by])
    return f"The first tables cover all groups ({named}) together; each column's section lists every group."


def overview(releases: Releases) -> list[tuple[str, list[str], list[list[str]], int]]:
    """Return tables of all columns: the ends and the middle of those with an order, the commonest keys of the others.

    Each is a name, titles, rows, and the number of columns that are words.
    """
    told_of = {name: standard_answers(release) for name, release in releases.items() if release.spec.ordered}
    none = [[label(name), "too few records"] for name, answers in told_of.items() if not answers]
    told_of = {name: answers for name, answers in told_of.items() if answers}
    found = dict.fromkeys(answer.name for answers in told_of.values() for answer in answers)
    names = sorted(found, key=lambda name: (name == "maximum", name != "minimum"))  # from the lowest to the highest
    cells: dict[str, list[str]] = {"Column": [label(name) for name in told_of]}
    for name in names:
        own = [next((answer for answer in answers if answer.name == name), None) for answers in told_of.values()]
        cells[capital(name)] = ["" if answer is None else answer.text for answer in own]
        if any(sure := ["" if answer is None else _guaranteed(answer) for answer in own]):
            cells[f"{capital(name)}, guaranteed"] = sure
    rows = [list(row) for row in zip(*cells.values(), strict=True)]
    parts = [("Columns of numbers and times", list(cells), rows, 1)] if rows else []
    others = [[label(name), _commonest(each)] for name, each in releases.items() if not each.spec.ordered]
    spec = next(iter(releases.values())).spec
    if others:
        counted = "records" if spec.unit is None else f"units{unit_id(spec)}"
        parts.append(("Other columns", ["Column", f"Most frequent values (number of {counted})"], others, 2))
    return [*parts, ("Columns without answers", ["Column", "Answers"], none, 2)] if none else parts


def _guaranteed(answer: Answer) -> str:
    """What is certain of a minimum or maximum that was drawn with noise, and may be far off: "at most 13.5"."""
    if answer.name not in ("minimum", "maximum") or answer.promise is None:
        return ""
    _, _, sure = answer.statement.partition(f"The exact {answer.name} is guaranteed to ")
    return sure.removesuffix(".").removeprefix("be ").removeprefix("lie ")


def _commonest(release: Release) -> str:
    if not len(release.cells):
        return "nothing survived"
    counts = dict(zip(release.histogram.keys.tolist(), release.tallies, strict=True))
    first = sorted(counts, key=lambda key: (-counts[key].lower, str(key)))[:_MOST_KEYS]
    return ", ".join(f"{label(key)}: {tally_text(counts[key])}" for key in first)


def _section_of_privacy(releases: Releases, shown: list[Shown]) -> str:
    parts = [f"{label(name)}: {_share(release)}" for name, release in releases.items()]
    bucketed = [each for each in shown if each.max_drop is not None]
    spec = (bucketed or shown)[0].spec
    whom = protected(spec, bucketed=bool(bucketed), several=len(shown) > 1)
    return promise([str(releases.privacy), whom]) + folded("The share of each column", parts)


def _share(release: Release) -> str:
    return f"ε = {upper_text(release.privacy.epsilon, 6)}, δ = {upper_text(release.privacy.delta)}"


def _column(name: str, release: Release, content: Mapping[str, Any]) -> str:
    """The picture, the answers, of each group, too, the counts and the proof of one column."""
    certificate, answers = release.certificate(), standard_answers(release)
    table = told(answers)
    proof = list(certificate.proof)
    picture, groups, counts = "", asked_table(release), ""
    if release.budget is not None:
        found = Document.read(content)
        # The ids inside the pictures of one page must differ.
        picture = chart_figure(found, caption_of(release, found), f"fd{zlib.crc32(name.encode(errors='replace')):x}")
        proof.insert(0, exact_parameters(release.budget, release.privacy))
        groups = f"{group_table(release, found)}{groups}" if found.by and found.keys else groups
        counts = counts_table(release, found)
    guaranteed = [line for line in certificate.promises[1:] if line not in release.conditions]
    lead = " ".join(filter(None, (*release.conditions, table.shared)))
    return (
        f'<section><h2 class="long">{markup(label(name))}</h2>'
        f'<p class="lead long">{prose(lead)}</p>{groups or answer_table(table)}{picture}{sentences(answers)}{counts}'
        f"{folded('Guarantees and proof', (*guaranteed, *proof))}</section>\n"
    )
