"""The parts that every page is put together from: head, answers, sections, tables, and the release as data."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flexdp._core.text import markup
from flexdp._release.about import NOTHING, About
from flexdp._release.answers import Answer
from flexdp.report.charts.svg import PALETTE
from flexdp.report.charts.svg import STYLE as PICTURE

__all__ = ["answer_list", "capital", "figure", "foot", "head", "scrolling", "section"]

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
th:first-child,td:first-child,.words th,.words td{text-align:left}.scroll+.scroll{margin-top:1em}
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


def head(title: str, lead: Iterable[str], about: About = NOTHING) -> str:
    """Begin a page: its title, its policy and style, what the publisher declares, and a first paragraph."""
    declared = " ".join(text for text in (f"{title}." if about.title else "", about.facts) if text)
    title = about.title or title
    facts = f'<p class="long">{markup(declared)}</p>' if declared else ""
    allowed = _POLICY.format(base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode())
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{markup(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="flexdp"><style>{_STYLE}</style></head>\n<body><main>'
        f'<h1 class="long">{markup(title)}</h1>{facts}'
        f'<p class="lead long">{markup(" ".join(lead))}</p>\n'
    )


def foot(content: Mapping[str, Any]) -> str:
    """End a page, with the release in it as data."""
    return (
        "<footer><p>The release itself lies in this file as JSON, in the element with the id “release”; "
        "<code>flexdp report</code> makes this page from it.</p></footer></main>\n"
        f'<script type="application/json" id="release">{_embedded(content)}</script></body></html>\n'
    )


def figure(picture: str, caption: str) -> str:
    """A picture that scrolls sideways where it is too wide for the page."""
    return (
        '<figure><div class="scroll" tabindex="0" role="region" aria-label="Picture, scrolls sideways if narrow">'
        f"{picture}</div><figcaption>{markup(caption)}</figcaption></figure>\n"
    )


def _embedded(content: Mapping[str, Any]) -> str:
    """JSON in plain ASCII that cannot end its element: it holds no <, > or &, and no control character."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def answer_list(answers: Sequence[Answer]) -> str:
    """The statements, each with its value set off."""
    items = []
    for answer in answers:
        head, rest = answer.parts
        items.append(f'<li class="long">{f"<b>{markup(head)}</b> {markup(rest)}" if rest else markup(head)}</li>')
    return f'<ul class="answers">{"".join(items)}</ul>\n'


def scrolling(name: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, words: bool = False) -> str:
    """A table that scrolls by itself where it is too wide for the page; its first column is words, or all are."""
    region = f'<div class="scroll{" words" if words else ""}" tabindex="0" role="region" aria-label="{name}">'
    return f"{region}{_table(head, rows)}</div>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    headings = "".join(f'<th scope="col">{markup(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{markup(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{headings}</tr></thead><tbody>{body}</tbody></table>"


def capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def section(title: str, sentences: Iterable[str]) -> str:
    items = "".join(f'<li class="long">{markup(sentence)}</li>' for sentence in sentences)
    return f"<section><h2>{markup(title)}</h2><ul>{items}</ul></section>\n"
