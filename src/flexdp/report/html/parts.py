"""The parts that every page is put together from: head, pictures, sections, and the release as data."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from flexdp._core.text import markup, prose
from flexdp._release.about import NOTHING, About
from flexdp.report.charts.api import chart
from flexdp.report.charts.svg import PALETTE
from flexdp.report.charts.svg import STYLE as PICTURE
from flexdp.report.document import Document

__all__ = ["PROMISED", "chart_figure", "figure", "folded", "foot", "head", "promise", "section"]

PROMISED = "Promised to the people in the data"
_STYLE = (
    PALETTE
    + PICTURE
    + """
:root{color-scheme:light dark;--tint:#f3f6f9}
@media screen and (prefers-color-scheme:dark){:root{--tint:#1a2129}}
body{margin:0;background:var(--fd-paper);color:var(--fd-ink);font:16px/1.45 system-ui,sans-serif}
main{max-width:52rem;margin:0 auto;padding:1rem 1rem 3rem}
h1{font-size:1.6rem;line-height:1.2;margin:.1em 0}h2{font-size:1.1rem;margin:1.4em 0 .3em}
p,ul{margin:.35em 0}li{margin:.2em 0}ul{padding-left:1.2em}
.lead{color:var(--fd-soft)}
.promise{background:var(--tint);border-left:4px solid var(--fd-bar);border-radius:3px;padding:.5rem .9rem;margin:1rem 0}
.promise h2{margin:0}
figure{margin:.9rem 0}figure svg{display:block;width:100%;max-width:48rem;height:auto}.narrow{display:none}
.scroll{overflow-x:auto}
figcaption{color:var(--fd-soft);font-size:.9em}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.2em .8em;border-bottom:1px solid var(--fd-line);vertical-align:top}
.scroll td,.scroll th{white-space:nowrap;vertical-align:middle}
.w,.words th,.words td,.answers th,.answers td{text-align:left}
.scroll .w{white-space:normal;min-width:7.5rem;max-width:22rem;overflow-wrap:anywhere}.scroll+.scroll{margin-top:1em}
.scroll .known{max-width:36rem;font-size:.92em}.scroll td.known{color:var(--fd-soft)}.date{white-space:nowrap}
.wraps td,.wraps th{white-space:normal;min-width:4.5rem;padding:.2em .5em}
.wraps .w{min-width:6rem;max-width:32rem;overflow-wrap:break-word}
.answers{width:100%;margin:.8rem 0}.answers th[scope=row]{font-weight:400;max-width:20rem}
.answers .short{font-weight:600;white-space:nowrap}.answers thead th{white-space:nowrap}
.answers td:nth-child(3){color:var(--fd-soft);font-size:.92em}.all td{font-weight:600}
.long{overflow-wrap:anywhere}small,footer{color:var(--fd-soft);font-size:.88em}
summary{cursor:pointer;padding:.15em 0}details{margin:.5em 0}a{color:inherit}
@media (min-width:36.01rem),print{.answers th[scope=row]{min-width:10rem}.answers td:nth-child(3){min-width:11rem}}
@media (min-width:60rem){.two{columns:2;column-gap:2.2rem}.two section{break-inside:avoid;padding-top:.7em}
.two h2{margin-top:0}
main{max-width:58rem}}
@media (max-width:36rem){.wide{display:none}.narrow{display:block}
.answers thead{position:absolute;clip-path:inset(50%)}
.answers tr{display:grid;grid-template-columns:minmax(8rem,1fr) auto;
border-bottom:1px solid var(--fd-line);padding:.3em 0}.answers th,.answers td{border:0;padding:0 .2em;min-width:0}
.answers .short{text-align:right;white-space:normal}.answers .list,.answers td:nth-child(3){grid-column:1/-1}
.scroll th:first-child,.scroll td:first-child{position:sticky;left:0;background:var(--fd-paper);max-width:9rem}}
@media print{@page{margin:13mm}body{font-size:9pt;line-height:1.3}main{max-width:none;padding:0}h1{font-size:15pt}
.wide{display:block}.narrow{display:none}.two{columns:2;column-gap:7mm}
h2{font-size:10.5pt;margin:.7em 0 .2em;break-after:avoid}p,ul,li{margin:.12em 0}figure{margin:.4em 0;break-inside:avoid}
figure svg{max-height:96mm;min-width:0}.scroll{overflow:visible}tr,.promise{break-inside:avoid}
th,td{padding:.1em .6em}details:not([open]){display:none}}
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
        f'<p class="lead long">{prose(" ".join(filter(None, lead)))}</p>\n'
    )


def foot(content: Mapping[str, Any]) -> str:
    """End a page, with the release in it as data."""
    return (
        "<footer><p>The release itself lies in this file as JSON, in the element with the id “release”; "
        "<code>flexdp report</code> makes this page from it.</p></footer></main>\n"
        f'<script type="application/json" id="release">{_embedded(content)}</script></body></html>\n'
    )


def figure(picture: str, caption: str, narrow: str) -> str:
    """A picture, with another one for narrow screens."""
    drawn = f'<div class="wide">{picture}</div><div class="narrow">{narrow}</div>'
    return f"<figure>{drawn}<figcaption>{prose(caption)}</figcaption></figure>\n"


def chart_figure(document: Document, caption: str, name: str = "fd") -> str:
    """The picture of a release; ``name`` is the prefix of the ids inside."""
    wide, narrow = (
        chart(document, name=f"{name}{end}", alone=False, narrow=slim) for end, slim in (("", False), ("n", True))
    )
    return figure(wide, caption, narrow)


def _embedded(content: Mapping[str, Any]) -> str:
    """JSON in plain ASCII that cannot end its element: it holds no <, > or &, and no control character."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def section(title: str, lines: Iterable[str]) -> str:
    """A heading and a list; nothing where the list is empty."""
    items = "".join(f'<li class="long">{prose(line)}</li>' for line in filter(None, lines))
    return f"<section><h2>{markup(title)}</h2><ul>{items}</ul></section>\n" if items else ""


def folded(title: str, lines: Iterable[str]) -> str:
    """A list that is folded away."""
    items = "".join(f'<li class="long">{prose(line)}</li>' for line in lines)
    return f"<details><summary>{markup(title)}</summary><ul>{items}</ul></details>\n" if items else ""


def promise(lines: Iterable[str]) -> str:
    """What is promised to the people in the data, in one paragraph."""
    return f'<section class="promise"><h2>{PROMISED}</h2><p class="long">{prose(" ".join(lines))}</p></section>\n'
