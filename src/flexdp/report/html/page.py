"""The HTML report of a release: one file, rendered from the public JSON alone.

No script runs, nothing is requested, and the policy in its head forbids both; the JSON lies in the page as data.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flexdp._core.domains import instance
from flexdp._core.text import markup, thousands
from flexdp._release.answers import Answer
from flexdp._release.asked_proof import ASKED, how_it_was_answered, not_promised_of_answers
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
from flexdp.report.axes import label
from flexdp.report.charts.api import chart
from flexdp.report.charts.svg import PALETTE
from flexdp.report.charts.svg import STYLE as PICTURE
from flexdp.report.document import Document

__all__ = ["page", "standard_answers"]

_MOST_ROWS = 100  # of a table; the JSON has them all
_STYLE = (
    PALETTE
    + PICTURE
    + """
:root{color-scheme:light dark;--tint:#f3f6f9}
@media screen and (prefers-color-scheme:dark){:root{--tint:#1a2129}}
body{margin:0;background:var(--fd-paper);color:var(--fd-ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:46rem;margin:0 auto;padding:1.2rem 1rem 3rem}
h1{font-size:1.5rem;line-height:1.25;margin:.2em 0}h2{font-size:1.1rem;margin:1.6em 0 .4em}
p,ul,ol{margin:.4em 0}li{margin:.25em 0}ul,ol{padding-left:1.3em}
.lead{color:var(--fd-soft)}
.answers{list-style:none;padding:0;margin:1em 0}
.answers li{background:var(--tint);border-left:4px solid var(--fd-bar);border-radius:3px;padding:.5em .8em;
margin:.5em 0}
.answers b{display:block;font-size:1.2rem;font-variant-numeric:tabular-nums}
figure{margin:1em 0}figure svg{display:block;max-width:100%;height:auto;min-width:36rem}
.scroll{overflow-x:auto}
figcaption{color:var(--fd-soft);font-size:.92em;margin-top:.4em}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.1em .9em;border-bottom:1px solid var(--fd-line)}
.long{overflow-wrap:anywhere}td{max-width:22rem;overflow-wrap:break-word}small,footer{color:var(--fd-soft);font-size:.88em}
summary{cursor:pointer}a{color:inherit}
@media print{@page{margin:14mm}body{font-size:9.6pt;line-height:1.32}main{max-width:none;padding:0}h1{font-size:15pt}
h2{font-size:11pt;margin:.9em 0 .2em;break-after:avoid}.answers li{padding:.2em .6em;margin:.25em 0;break-inside:avoid}
.answers b{font-size:11pt}p,ul,ol,li{margin:.15em 0}figure{margin:.4em 0;break-inside:avoid}
figure svg{max-height:80mm;min-width:0}.scroll{overflow:visible}
details:not([open]){display:none}}
""".replace("\n", "")
)
_POLICY = "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'"


def standard_answers(release: Release) -> list[Answer]:
    """Return the answers that a report shows: ends and middle of what has an order, else the most frequent.

    They refer to all groups together. Answers that were asked for come first.
    """
    if release.asked is not None:
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
    policy = _POLICY.format(base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode())
    title = f"Release of {found.title}"
    caption = picture_caption(Words(spec, drop), empty=not len(found.counts), coloured=len(found.axes) == 2)
    parts = [
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{markup(title)}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta name="generator" content="flexdp"><style>{_STYLE}</style></head>\n<body><main>',
        f'<h1 class="long">{markup(title)}</h1>',
        f'<p class="lead long">{markup(" ".join((PUBLISHED, *release.conditions)))}</p>\n',
        _answers(standard_answers(release)),
        '<figure><div class="scroll" tabindex="0" role="region" aria-label="Picture, scrolls sideways if narrow">',
        f"{chart(found, name='fd', alone=False)}</div>",
        f"<figcaption>{markup(caption)}</figcaption></figure>\n",
        _groups(release, found),
        _section("Promised to the people in the data", [str(release.privacy), protected(spec)]),
        _section("Guaranteed to the reader", certificate.promises[1:]),
        _section("Not promised", not_promised(spec, release.records_at_most)),
        _section("Reading and quoting", how_to_read(spec, drop)),
        _section("Method", how_it_was_made(spec, drop, found.content["flexdp"])),
        _section("Citation", CITATIONS),
        _rows(release, found),
        _section("Appendix: proof of privacy", [exact_parameters(budget), *certificate.proof]),
        "<footer><p>The release itself lies in this file as JSON, in the element with the id “release”; "
        "<code>flexdp report</code> makes this page from it.</p></footer></main>\n",
        f'<script type="application/json" id="release">{_embedded(found.content)}</script></body></html>\n',
    ]
    return "".join(parts)


def _asked_page(content: Mapping[str, Any], release: Release) -> str:
    """The report of asked answers alone: a table of them with their sentences, and what is promised."""
    certificate, spec = release.certificate(), release.spec
    names = ["values" if name is None else name for name in spec.columns]
    title = f"Answers about {' × '.join(names)}{' by ' + ', '.join(spec.by) if spec.by else ''}"
    policy = _POLICY.format(base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode())
    told = release.answers()
    rows = [[_capital(answer.name), answer.text] for answer in told]
    return "".join(
        [
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{markup(title)}</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta name="generator" content="flexdp"><style>{_STYLE}</style></head>\n<body><main>',
            f'<h1 class="long">{markup(title)}</h1>',
            f'<p class="lead long">{markup(" ".join((ASKED, *release.conditions)))}</p>\n',
            _answers(told),
            "" if spec.by else f"{_scrolling('Answers', ['Statistic', 'Answer'], rows)}\n",
            _section("Promised to the people in the data", [str(release.privacy), protected(spec, bucketed=False)]),
            _section("Guaranteed to the reader", certificate.promises[1:]),
            _section("Not promised", not_promised_of_answers(spec)),
            _section("Method", how_it_was_answered(content["flexdp"])),
            _section("Appendix: proof of privacy", certificate.proof),
            "<footer><p>The release itself lies in this file as JSON, in the element with the id “release”; "
            "<code>flexdp report</code> makes this page from it.</p></footer></main>\n",
            f'<script type="application/json" id="release">{_embedded(content)}</script></body></html>\n',
        ]
    )


def _embedded(content: Mapping[str, Any]) -> str:
    """JSON in plain ASCII that cannot end its element: it holds no <, > or &, and no control character."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _ends(view: Readable) -> list[Answer]:
    return [view.max(), view.min(), view.median(), view.quantile("0.99")]


def _groups(release: Release, document: Document) -> str:
    """The answers of each group by itself, as a table."""
    if document.groups is None or not document.keys:
        return ""
    groups = list(release.by_group().items())
    told = [
        (group if isinstance(group, tuple) else (group,), _ends(view) if release.spec.ordered else [view.mode()])
        for group, view in groups[:_MOST_ROWS]
    ]
    head = [*document.by, *(_capital(answer.name) for answer in told[0][1])]
    rows = [[*map(label, group), *(answer.text for answer in answers)] for group, answers in told]
    words = Words(release.spec, release.max_drop, Part(group=told[0][0]))
    caption = group_note(words, [answer for _, answers in told for answer in answers])
    if len(groups) > _MOST_ROWS:
        caption += f" The first {_MOST_ROWS} of {thousands(len(groups))} groups."
    return (
        f"<section><h2>By group</h2>{_scrolling('Answers by group', head, rows)}"
        f'<p class="lead">{markup(caption)}</p></section>\n'
    )


def _scrolling(name: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls by itself where it is too wide for the page."""
    region = f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">'
    return f"{region}{_table(head, rows)}</div>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    headings = "".join(f'<th scope="col">{markup(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{markup(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{headings}</tr></thead><tbody>{body}</tbody></table>"


def _answers(answers: Sequence[Answer]) -> str:
    """The statements, each with its value set off."""
    items = []
    for answer in answers:
        head, rest = answer.parts
        items.append(f'<li class="long">{f"<b>{markup(head)}</b> {markup(rest)}" if rest else markup(head)}</li>')
    return f'<ul class="answers">{"".join(items)}</ul>\n'


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _section(title: str, sentences: Iterable[str]) -> str:
    items = "".join(f'<li class="long">{markup(sentence)}</li>' for sentence in sentences)
    return f"<section><h2>{markup(title)}</h2><ul>{items}</ul></section>\n"


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
    head = [*document.by, *names, f"{counted}, at least", "at most"]
    rows = []
    for place, (count, ranges) in enumerate(zip(counts, document.texts(range(many)), strict=True)):
        group = map(label, groups[place]) if groups else ()
        rows.append([*group, *ranges, thousands(count), thousands(count + document.max_drop)])
    title = "The published count" if many == 1 else f"All {many} published counts"
    return f"<details><summary>{title}</summary>{_scrolling('Published counts', head, rows)}</details>\n"
