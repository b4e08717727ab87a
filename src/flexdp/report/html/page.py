"""The HTML report of a release: one file, rendered from the public JSON alone.

No script runs, nothing is requested, and the policy in its head forbids both; the JSON lies in the page as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flexdp._core.domains import instance
from flexdp._core.text import markup, thousands
from flexdp._release.answers import Answer
from flexdp._release.asked_proof import ASKED, how_it_was_answered, not_promised_of_answers
from flexdp._release.automatic_words import HOW_BUCKETS_ARE_CHOSEN
from flexdp._release.promises import (
    CITATIONS,
    PUBLISHED,
    exact_parameters,
    group_note,
    how_it_was_made,
    how_to_read,
    not_promised,
    picture_caption,
    protected,
)
from flexdp._release.published import Release
from flexdp._release.readable import Readable
from flexdp._release.sentences import Words, unit_id
from flexdp._release.spec import Part
from flexdp._release.stat_words import stat_question
from flexdp.report.axes import label
from flexdp.report.charts.api import chart
from flexdp.report.charts.bars import unit_of
from flexdp.report.document import Document
from flexdp.report.html.parts import answer_list, capital, figure, foot, head, scrolling, section

__all__ = ["page", "shown_answers", "standard_answers"]

_MOST_ROWS = 100  # of a table; the JSON has them all


def standard_answers(release: Release) -> list[Answer]:
    """Return the answers that a report shows: ends and middle of what has an order, else the most frequent.

    They refer to all groups together. Answers that were asked for come first.
    """
    shown = shown_answers(release, release)
    names = {answer.name for answer in shown}
    return shown + [answer for answer in _usual(release) if answer.name not in names]


def shown_answers(release: Release, readable: Readable) -> list[Answer]:
    """Return the answers to the statistics that the publisher wants shown; the counts are in the picture anyway."""
    if release.budget is None or not len(release.cells):
        return []
    spec = release.spec
    asked = [word for word in spec.about.stats if word != "counts"]
    points = len(spec.columns) > 1
    return [stat_question(word, set(spec.kinds), points=points)(readable) for word in asked]


def _usual(release: Release) -> list[Answer]:
    if release.asked is not None or release.budget is None:
        return _with_asked(release)
    if release.spec.ordered:
        return [release.max()] if not len(release.cells) else _ends(release)
    return [release.support()] if not len(release.cells) else [release.mode(), release.top(5), release.support()]


def _with_asked(release: Release) -> list[Answer]:
    """The answers that were asked for, then those that buckets give beside them."""
    told = release.answers()
    if release.budget is None:
        return told
    names = {answer.name for answer in told} if not release.spec.by else set()
    return told + [answer for answer in _ends(release) if answer.name not in names]


def page(document: Document | Mapping[str, Any], release: Release) -> str:
    """Return the report of a release as the text of an HTML file.

    Parameters
    ----------
    document
        The JSON of the release, parsed.
    release
        The release that it describes.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import flexdp, json
    >>> release = flexdp.release([33.0] * 900, epsilon=1, delta=1e-6, width=5)
    >>> page(json.loads(release.to_json()), release) == release.to_html()
    True
    """
    instance("release", release, Release, "the Release that the document describes")
    if release.budget is None:
        return _asked_page(document.content if isinstance(document, Document) else document, release)
    found = document if isinstance(document, Document) else Document.read(document)
    certificate = release.certificate()
    spec, drop, budget = release.spec, release.max_drop, release.budget
    title = f"Release of {found.title}"
    areas = len(found.axes) == 1 and unit_of(found.axes[0], found.index) is not None
    caption = picture_caption(
        Words(spec, drop), empty=not len(found.counts), coloured=len(found.axes) == 2, areas=areas
    )
    parts = [
        head(title, (PUBLISHED, *release.conditions), spec.about),
        answer_list(standard_answers(release)),
        figure(chart(found, name="fd", alone=False), caption),
        _groups(release, found),
        section("Promised to the people in the data", [str(release.privacy), protected(spec)]),
        section("Guaranteed to the reader", certificate.promises[1:]),
        section("Not promised", not_promised(spec, release.records_at_most)),
        section("Reading and quoting", how_to_read(spec, drop)),
        section("Method", [*_chosen(release), *how_it_was_made(spec, drop, found.content["flexdp"])]),
        section("Citation", CITATIONS),
        _rows(release, found),
        section("Appendix: proof of privacy", [exact_parameters(budget, release.privacy), *certificate.proof]),
        foot(found.content),
    ]
    return "".join(parts)


def _asked_page(content: Mapping[str, Any], release: Release) -> str:
    """The report of asked answers alone: a table of them with their sentences, and what is promised."""
    certificate, spec = release.certificate(), release.spec
    names = ["values" if name is None else name for name in spec.columns]
    title = f"Answers about {' × '.join(names)}{' by ' + ', '.join(spec.by) if spec.by else ''}"
    told = release.answers()
    rows = [[capital(answer.name), answer.text] for answer in told]
    return "".join(
        [
            head(title, (ASKED, *release.conditions), spec.about),
            answer_list(told),
            "" if spec.by else f"{scrolling('Answers', ['Statistic', 'Answer'], rows)}\n",
            section("Promised to the people in the data", [str(release.privacy), protected(spec, bucketed=False)]),
            section("Guaranteed to the reader", certificate.promises[1:]),
            section("Not promised", not_promised_of_answers(spec)),
            section("Method", how_it_was_answered(content["flexdp"])),
            section("Appendix: proof of privacy", certificate.proof),
            foot(content),
        ]
    )


def _chosen(release: Release) -> tuple[str, ...]:
    return () if release.auto is None else HOW_BUCKETS_ARE_CHOSEN


def _ends(view: Readable) -> list[Answer]:
    return [view.max(), view.min(), view.median(), view.quantile("0.99")]


def _of_group(release: Release, view: Readable) -> list[Answer]:
    shown = shown_answers(release, view)
    names = {answer.name for answer in shown}
    usual = _ends(view) if release.spec.ordered else [view.mode()]
    return shown + [answer for answer in usual if answer.name not in names]


def _groups(release: Release, document: Document) -> str:
    """The answers of each group by itself, as a table."""
    if document.groups is None or not document.keys:
        return ""
    groups = list(release.by_group().items())
    told = [
        (group if isinstance(group, tuple) else (group,), _of_group(release, view))
        for group, view in groups[:_MOST_ROWS]
    ]
    titles = [*document.by, *(capital(answer.name) for answer in told[0][1])]
    rows = [[*map(label, group), *(answer.text for answer in answers)] for group, answers in told]
    words = Words(release.spec, release.max_drop, Part(group=told[0][0]))
    caption = group_note(words, [answer for _, answers in told for answer in answers])
    if len(groups) > _MOST_ROWS:
        caption += f" The first {_MOST_ROWS} of {thousands(len(groups))} groups."
    return (
        f"<section><h2>By group</h2>{scrolling('Answers by group', titles, rows)}"
        f'<p class="lead">{markup(caption)}</p></section>\n'
    )


def _rows(release: Release, document: Document) -> str:
    """The counts as a table, folded away; where there are many, they are in the JSON alone."""
    counts, groups = document.counts.tolist(), document.groups
    many = len(counts)
    if not many:
        return ""
    if many > _MOST_ROWS:
        return f"<p>The {thousands(many)} published counts are in the JSON below alone.</p>\n"
    names = [axis.name or "value" for axis in document.axes]
    counted = "records" if release.spec.unit is None else f"units{unit_id(release.spec)}"
    titles = [*document.by, *names, f"{counted}, at least", "at most"]
    rows = []
    for place, (count, ranges) in enumerate(zip(counts, document.texts(range(many)), strict=True)):
        group = map(label, groups[place]) if groups else ()
        rows.append([*group, *ranges, thousands(count), thousands(count + document.max_drop)])
    title = "The published count" if many == 1 else f"All {many} published counts"
    return f"<details><summary>{title}</summary>{scrolling('Published counts', titles, rows)}</details>\n"
