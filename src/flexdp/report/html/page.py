"""The HTML report of a release: one file that says what may be said, rendered from the public JSON alone.

No script runs, nothing is requested, and the policy in its head forbids both; the JSON lies in the page as data.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from flexdp._core.display import short
from flexdp._core.domains import attribute
from flexdp._core.exact import upper_text
from flexdp._core.text import markup, plural, safe_repr, thousands
from flexdp._release.answers import Answer, Certificate
from flexdp._release.groups import Groups, Readable
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.report.charts.api import chart
from flexdp.report.charts.svg import PALETTE
from flexdp.report.charts.svg import STYLE as PICTURE
from flexdp.report.document import Document, label
from flexdp.report.html.wording import CITATIONS, how_it_was_made, how_to_read, not_promised

__all__ = ["Released", "page", "standard_answers"]

_MOST_ROWS = 100  # of the table of bars; the JSON has them all
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
.answers b{display:block;font-size:1.25rem;font-variant-numeric:tabular-nums}
.answers .n{color:var(--fd-soft);font-size:.9rem;font-weight:400}
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


class Released(Protocol):
    """What a report asks of a release."""

    @property
    def privacy(self) -> Privacy: ...
    def max(self) -> Answer: ...
    def min(self) -> Answer: ...
    def median(self) -> Answer: ...
    def quantile(self, level: str) -> Answer: ...
    def mode(self) -> Answer: ...
    def support(self) -> Answer: ...
    def top(self, count: int) -> Answer: ...
    def certificate(self) -> Certificate: ...
    def by_group(self) -> Groups: ...


def standard_answers(release: Released, document: Document) -> list[Answer]:
    """The answers that a report shows: ends and middle of what has an order, the most frequent of what has none.

    They are about all groups together.
    """
    if not len(document.counts):
        return [release.max() if len(document.axes) == 1 and document.axes[0].ordered else release.support()]
    if len(document.axes) == 1 and document.axes[0].ordered:
        return _by_order(release, document)
    return [release.mode(), release.top(5), release.support()]


def page(document: Document | Mapping[str, Any], release: Released) -> str:
    """The report, as the text of an HTML file. ``release`` is what the document describes."""
    found = document if isinstance(document, Document) else Document.read(document)
    if not all(callable(attribute(release, name)) for name in ("max", "certificate", "by_group")):
        raise InputError(f"release must be the Release that the document describes; got {safe_repr(release)}.")
    answers = standard_answers(release, found)
    promises = release.certificate().promises
    policy = _POLICY.format(base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode())
    title = f"What may be said of {found.title}"
    parts = [
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{markup(title)}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta name="generator" content="flexdp"><style>{_STYLE}</style></head>\n<body><main>',
        f'<h1 class="long">{markup(title)}</h1>',
        f'<p class="lead">{markup(_lead(found))}</p>\n',
        _answers(answers),
        '<figure><div class="scroll" tabindex="0" role="region" aria-label="Picture, scrolls sideways if narrow">',
        f"{chart(found, name='fd', alone=False)}</div>",
        f"<figcaption>{markup(_caption(found))}</figcaption></figure>\n",
        _groups(release, found),
        _section("What was promised to the people in the data", [str(release.privacy), *_unit(found)]),
        _section("What holds with certainty", promises[1:]),
        _section("What is not promised", not_promised(found)),
        _section("How to read and quote this", how_to_read(found)),
        _section("How it was made", how_it_was_made(found)),
        _section("To cite", CITATIONS),
        _rows(found),
        "<footer><p>The release itself lies in this file as JSON, in the element with the id “release”; "
        "<code>flexdp report</code> makes this page from it.</p></footer></main>\n",
        f'<script type="application/json" id="release">{_embedded(found.content)}</script></body></html>\n',
    ]
    return "".join(parts)


def _embedded(content: Mapping[str, Any]) -> str:
    """JSON in plain ASCII that cannot end its element: no <, > or & stands in it, and nothing that steers."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _lead(document: Document) -> str:
    privacy = Privacy(epsilon=document.epsilon, delta=document.delta)
    unit = document.unit if document.of_units else "record"
    return (
        "Published with differential privacy that only ever leaves records out: "
        f"ε = {upper_text(document.epsilon, 6)}, δ = {upper_text(document.delta)}. "
        f"An observer who was 50% sure that a given {unit} is in the data is at most "
        f"{privacy.certainty} sure after reading this page, except with chance {upper_text(document.delta)}."
    )


def _unit(document: Document) -> list[str]:
    privacy = document.content["privacy"]
    if not document.of_units:
        return [
            "What is protected is one record: whether it is in the data or not, this page would look much the same."
        ]
    limit, unit = privacy["max_buckets_per_unit"], document.unit
    if privacy.get("per_unit"):
        chosen = {"max": "the largest", "min": "the smallest", "mean": "the mean", "random": "one"}[privacy["per_unit"]]
        return [f"What is protected is one {unit}, of whose values {chosen} counts."]
    return [f"What is protected is one {unit}, counted in at most {plural(limit, 'bucket')}."]


def _caption(document: Document) -> str:
    drop, where = document.max_drop, "each bucket" if len(document.axes) == 1 else "each cell"
    where = where if document.groups is None else f"{where} of each group"
    if not len(document.counts):
        return f"Nothing survived. What was there may have held up to {drop} in {where}."
    if len(document.axes) == 2:
        return f"Colours are what was published; {where} may hold up to {drop} more than is shown, never fewer."
    return (
        f"Bars are what was published. The hatched band is what {where} may hold beyond it, at most {drop}; "
        "the truth is never below a bar."
    )


def _groups(release: Released, document: Document) -> str:
    """The answers of each group by itself, as a table."""
    if document.groups is None or not document.keys:
        return ""
    groups = list(release.by_group().items())
    rows = []
    for group, view in groups[:_MOST_ROWS]:
        values = [_value(answer) for answer in _by_order(view, document)]
        rows.append([*map(label, group if isinstance(group, tuple) else (group,)), *values])
    asked = _by_order(groups[0][1], document)
    head = [*document.by, *(_capital(answer.name) for answer in asked)]
    ordered = len(document.axes) == 1 and document.axes[0].ordered
    where = "bucket" if len(document.axes) == 1 else "cell"
    counted = f"units ({document.unit})" if document.of_units else "records"
    moves = any(answer.accuracy.beta or answer.accuracy.moved for answer in asked if answer.accuracy is not None)
    margin = f", to within half a {where}" if ordered else f", moving every value to the middle of its {where}"
    caption = (
        f"Each group by itself, exact after leaving out at most {document.max_drop} {counted} from each {where}"
        f"{margin if moves else ''}."
    )
    if len(groups) > _MOST_ROWS:
        caption += f" The first {_MOST_ROWS} of {len(groups)} groups."
    return (
        f"<section><h2>By group</h2>{_scrolling('Answers by group', head, rows)}"
        f'<p class="lead">{markup(caption)}</p></section>\n'
    )


def _by_order(view: Released | Readable, document: Document) -> list[Answer]:
    if len(document.axes) == 1 and document.axes[0].ordered:
        return [view.max(), view.min(), view.median(), view.quantile("0.99")]
    return [view.mode()]


def _scrolling(name: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls by itself where it is too wide for the page."""
    region = f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">'
    return f"{region}{_table(head, rows)}</div>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    headings = "".join(f'<th scope="col">{markup(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{markup(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{headings}</tr></thead><tbody>{body}</tbody></table>"


def _answers(answers: Sequence[Answer]) -> str:
    if not answers:
        return ""
    items = (
        f'<li class="long"><b><span class="n">{markup(_capital(answer.name))}</span> '
        f'<span class="long">{markup(_value(answer))}</span></b>{markup(answer.sentence)}</li>'
        for answer in answers
    )
    return f'<ul class="answers">{"".join(items)}</ul>\n'


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _value(answer: Answer) -> str:
    if answer.name == "support" and answer.value:
        return plural(len(answer.value), "value")
    return short(answer.name, answer.value)


def _section(title: str, sentences: Iterable[str]) -> str:
    items = "".join(f'<li class="long">{markup(sentence)}</li>' for sentence in sentences)
    return f"<section><h2>{markup(title)}</h2><ul>{items}</ul></section>\n"


def _all(many: int) -> str:
    return "The published count" if many == 1 else f"All {many} published counts"


def _rows(document: Document) -> str:
    """The bars as a table, folded away; long ones are in the JSON alone."""
    keys, counts, groups = document.keys, document.counts.tolist(), document.groups
    if not keys:
        return ""
    if len(keys) > _MOST_ROWS:
        return f"<p>The {thousands(len(keys))} published counts are in the JSON below alone.</p>\n"
    names = [axis.name or "value" for axis in document.axes]
    head = [*document.by, *names, f"{document.unit if document.of_units else 'record'}s, at least", "and at most"]
    rows = []
    for place, (key, count) in enumerate(zip(keys, counts, strict=True)):
        cells = [*(groups[place] if groups else ()), *(key if len(document.axes) > 1 else [key])]
        rows.append([*map(label, cells), str(count), str(count + document.max_drop)])
    return f"<details><summary>{_all(len(keys))}</summary>{_scrolling('Published counts', head, rows)}</details>\n"
