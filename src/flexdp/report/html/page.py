"""The HTML report of a release: one file, rendered from the public JSON alone.

No script runs, nothing is requested, and the policy in its head forbids both; the JSON lies in the page as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flexdp._core.domains import instance
from flexdp._core.text import prose, thousands
from flexdp._release.answers import Answer
from flexdp._release.page_words import (
    CITATIONS,
    Shown,
    group_note,
    how_it_was_made,
    how_to_read,
    not_promised,
    protected,
    published,
)
from flexdp._release.promises import exact_parameters, missing_groups, picture_caption
from flexdp._release.published import Release
from flexdp._release.readable import Readable
from flexdp._release.sentences import Words, is_capped, unit_id
from flexdp._release.spec import Part
from flexdp._release.stat_words import stat_question
from flexdp.report.axes import label
from flexdp.report.charts.bars import unit_of
from flexdp.report.charts.scales import height_of
from flexdp.report.document import Document
from flexdp.report.html.parts import chart_figure, folded, foot, head, promise, section
from flexdp.report.html.tables import answer_table, capital, column_titles, scrolling, sentences, told

__all__ = [
    "asked_rows",
    "asked_table",
    "caption_of",
    "counts_table",
    "group_rows",
    "group_table",
    "page",
    "shown_answers",
    "standard_answers",
]

_MOST_ROWS = 100  # of a table; the JSON has them all
_MOST_FREQUENT = 5  # values of texts
_ALL = "all together"
_FEW_ROWS = 12  # of a table of groups; more are folded away


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
    if release.spec.ordered and not len(release.cells):
        return [release.max()]
    return _of_buckets(release)


def _of_buckets(release: Release) -> list[Answer]:
    if release.spec.ordered:
        return _ends(release)
    if not len(release.cells):
        return [release.support()]
    return [release.mode(), release.top(min(_MOST_FREQUENT, len(release.bars))), release.support()]


def _with_asked(release: Release) -> list[Answer]:
    """The answers that were asked for, then those that buckets give beside them."""
    told = release.answers()
    if release.budget is None:
        return told
    names = {answer.name for answer in told} if not release.spec.by else set()
    return told + [answer for answer in _of_buckets(release) if answer.name not in names]


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
    shown, answers = [Shown.of(release)], standard_answers(release)
    table = told(answers)
    grouped = bool(found.by and found.keys)
    guaranteed = [line for line in certificate.promises[1:] if line not in release.conditions]
    parts = [
        head(f"Release of {found.title}", (published(shown), *release.conditions, table.shared), spec.about),
        group_table(release, found) if grouped else answer_table(table),
        chart_figure(found, caption_of(release, found)),
        promise([str(release.privacy), protected(spec)]),
        asked_table(release) if grouped else "",
        sentences(answers),
        '<div class="two">',
        section("Guaranteed to the reader", guaranteed),
        section("Not promised", not_promised(shown)),
        section("Reading and quoting", [*how_to_read(shown), missing_groups(spec, drop)]),
        section("Method", how_it_was_made(shown, found.content["flexdp"])),
        "</div>",
        counts_table(release, found),
        folded("Appendix: proof of privacy", [exact_parameters(budget, release.privacy), *certificate.proof]),
        section("Citation", CITATIONS),
        foot(found.content),
    ]
    return "".join(parts)


def caption_of(release: Release, document: Document) -> str:
    """Return what the picture of a release shows."""
    areas = (
        len(document.axes) == 1
        and document.axes[0].ordered
        and unit_of(document.axes[0], document.index) is not None
        and not height_of(document).logarithmic
    )
    words = Words(release.spec, release.max_drop)
    return picture_caption(words, empty=not len(document.counts), coloured=len(document.axes) == 2, areas=areas)


def _asked_page(content: Mapping[str, Any], release: Release) -> str:
    """The report of asked answers alone: a table of them with their sentences, and what is promised."""
    certificate, spec = release.certificate(), release.spec
    names = ["values" if name is None else name for name in spec.columns]
    title = f"Answers about {' × '.join(names)}{' by ' + ', '.join(spec.labels) if spec.by else ''}"
    shown, answers = [Shown.of(release)], release.answers()
    table = told(answers)
    guaranteed = [line for line in certificate.promises[1:] if line not in release.conditions]
    return "".join(
        [
            head(title, (published(shown), *release.conditions, "" if spec.by else table.shared), spec.about),
            asked_table(release) if spec.by else answer_table(table),
            promise([str(release.privacy), protected(spec, bucketed=False)]),
            sentences(answers),
            '<div class="two">',
            section("Guaranteed to the reader", guaranteed),
            section("Not promised", not_promised(shown)),
            section("Method", how_it_was_made(shown, content["flexdp"])),
            "</div>",
            folded("Appendix: proof of privacy", certificate.proof),
            foot(content),
        ]
    )


def asked_rows(release: Release) -> tuple[list[str], list[list[str]], int]:
    """Return the asked answers of each group, a line each: titles, lines, and how many columns are groups."""
    assert release.asked is not None
    answers, groups = release.answers(), list(release.asked.results)
    each = len(answers) // len(groups)
    by_group = [answers[place * each : (place + 1) * each] for place in range(len(groups))]
    titles = [*release.spec.labels, *column_titles(by_group[0])]
    rows = [[*map(label, group), *(a.text for a in own)] for group, own in zip(groups, by_group, strict=True)]
    return titles, rows, len(release.spec.by)


def asked_table(release: Release) -> str:
    """Return the asked answers of each group, with what is guaranteed of them; nothing where there are none."""
    if release.asked is None or not release.spec.by or not release.asked.results:
        return ""
    titles, rows, by = asked_rows(release)
    answers, name = release.answers(), "Answers that were asked for, by group"
    known = [answer.parts[1] or answer.statement for answer in answers]
    if len(titles) == by + 1:  # a single statistic
        found = [[*row, words] for row, words in zip(rows, known, strict=True)]
        return _table_of_groups(name, [*titles, "Guarantee"], found, by, told=True)
    each = len(titles) - by
    found = [
        [*rows[place // each][:by], capital(answer.name), words]
        for place, (answer, words) in enumerate(zip(answers, known, strict=True))
    ]
    told_of = [*titles[:by], "Statistic", "Guarantee"]
    bounds = _table_of_groups("Guarantees of these answers", told_of, found, by + 1, told=True)
    return _table_of_groups(name, titles, rows, by) + bounds


def _ends(view: Readable) -> list[Answer]:
    return [view.max(), view.min(), view.median(), view.quantile("0.99")]


def _of_group(release: Release, view: Readable) -> list[Answer]:
    shown = shown_answers(release, view)
    names = {answer.name for answer in shown}
    usual = _ends(view) if release.spec.ordered else [view.mode()]
    return shown + [answer for answer in usual if answer.name not in names]


def group_rows(release: Release, document: Document) -> tuple[list[str], list[list[str]], int]:
    """Return the answers of all groups together, then of each by itself: titles, lines, and how many are groups."""
    together = _of_group(release, release)
    titles = [*document.by, *column_titles(together)]
    rows = [[_ALL, *[""] * (len(document.by) - 1), *(answer.text for answer in together)]]
    rows += [[*map(label, group), *(answer.text for answer in answers)] for group, answers in _each_group(release)]
    return titles, rows, len(document.by)


def _each_group(release: Release) -> list[tuple[tuple[Any, ...], list[Answer]]]:
    groups = list(release.by_group().items())[:_MOST_ROWS]
    return [(group if isinstance(group, tuple) else (group,), _of_group(release, view)) for group, view in groups]


def group_table(release: Release, document: Document) -> str:
    """Return the answers of all groups together and of each by itself as a table, and what holds of them."""
    found, many = _each_group(release), len(release.by_group())
    words = Words(release.spec, release.max_drop, Part(group=found[0][0]))
    note = group_note(words, [answer for _, answers in found for answer in answers])
    if many > _MOST_ROWS:
        note += f" The first {_MOST_ROWS} of {thousands(many)} groups."
    note = f"{note} {missing_groups(release.spec, release.max_drop)}"
    drawn = _table_of_groups("Answers by group", *group_rows(release, document))
    return f'{drawn}<p class="lead"><small>{prose(note)}</small></p>\n'


def _table_of_groups(name: str, titles: list[str], rows: list[list[str]], by: int, *, told: bool = False) -> str:
    """A table of groups; of many, those beyond the first dozen are folded away."""
    marked = 0 if rows[0][0] == _ALL else None
    table = scrolling(name, titles, rows[: _FEW_ROWS + 1], words=by, marked=marked, told=told)
    if len(rows) <= _FEW_ROWS + 1:
        return f"{table}\n"
    rest = rows[_FEW_ROWS + 1 :]
    more = scrolling(f"{name}, continued", titles, rest, words=by, told=told)
    return f"{table}<details><summary>{thousands(len(rest))} more</summary>{more}</details>\n"


def counts_table(release: Release, document: Document) -> str:
    """Return the counts as a table, folded away; where there are many, they are in the JSON alone."""
    groups, many = document.groups, len(document.counts)
    if not many:
        return ""
    if many > _MOST_ROWS:
        return f"<p>The {prose(thousands(many))} published counts are in the JSON below alone.</p>\n"
    names = [axis.name or "value" for axis in document.axes]
    counted = "records" if release.spec.unit is None else f"units{unit_id(release.spec)}"
    once = f" ({document.once})" if is_capped(release.spec) else ""
    titles = [*document.by, *names, f"{counted}, about{once}", "at least", "at most"]
    rows = []
    for place, ranges in enumerate(document.texts(range(many))):
        group, tally = map(label, groups[place]) if groups else (), document.tally(place)
        most = tally.lower if tally.upper is None else tally.upper
        rows.append([*group, *ranges, *map(thousands, (tally.about, tally.lower, most))])
    title = "The published count" if many == 1 else f"All {many} published counts"
    words = len(document.by) + sum(not axis.ordered for axis in document.axes)
    drawn = scrolling("Published counts", titles, rows, words=max(1, words))
    return f"<details><summary>{title}</summary>{drawn}</details>\n"
