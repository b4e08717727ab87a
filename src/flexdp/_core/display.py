"""Small HTML cards for notebooks: a title, a few facts, a table, a picture; for light and dark themes.

A card contains its own style, loads nothing and runs no script. It takes its colours from JupyterLab or VS Code if it
is shown there, otherwise from the browser. A notebook that is not trusted removes the style and every SVG element, so a
picture is an image with a text in its place, tables are tables, and what must be on the left says so itself.
"""

from __future__ import annotations

import base64
import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flexdp._core.exact import value_text
from flexdp._core.text import markup, prose

__all__ = [
    "PICTURE_STYLE",
    "STYLE",
    "card",
    "code",
    "facts",
    "folded",
    "from_report",
    "image",
    "key_text",
    "listed",
    "sentence",
    "short",
    "table",
]

_WRAPPED = 40  # characters of a cell beyond which it wraps
_LONGEST_KEY = 120  # characters of a key that is shown in full
_LEFT = ' style="text-align:left"'
_DARK = 'body[data-jp-theme-light="false"] img.flexdp-picture,body.vscode-dark img.flexdp-picture'
PICTURE_STYLE = (
    "img.flexdp-picture{max-width:100%;height:auto;display:block;border-radius:4px;margin:.4em 0}"
    f"{_DARK}{{filter:invert(.92) hue-rotate(180deg)}}"
)
STYLE = (
    """
.flexdp-card{--fd-ink:var(--jp-content-font-color1,var(--vscode-foreground,CanvasText));
--fd-soft:var(--jp-content-font-color2,var(--vscode-descriptionForeground,#767676));
--fd-line:var(--jp-border-color2,var(--vscode-panel-border,#8888));--fd-bar:#2f86c1;
color:var(--fd-ink);border:1px solid var(--fd-line);border-left:4px solid var(--fd-bar);border-radius:4px;
padding:.6em .9em;margin:.3em 0;max-width:54em;font:14px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
.flexdp-card.flexdp-card p{margin:.35em 0}.flexdp-card p.t{font-size:15px}.flexdp-card .soft{color:var(--fd-soft)}
.flexdp-card.flexdp-card table{border-collapse:collapse;margin:.4em 0;table-layout:auto;width:auto;font-size:13px;
font-variant-numeric:tabular-nums;background:none;color:var(--fd-ink);border:0}
.flexdp-card.flexdp-card tbody tr,.flexdp-card.flexdp-card tbody tr:hover{background:none}
.flexdp-card.flexdp-card th,.flexdp-card.flexdp-card td{padding:.2em .7em;text-align:right;vertical-align:top;
border:0;border-bottom:1px solid var(--fd-line);color:inherit;background:none;max-width:none;overflow-wrap:break-word}
.flexdp-card.flexdp-card th{font-weight:600}.flexdp-card.flexdp-card th[scope=row]{font-weight:400}
.flexdp-card.flexdp-card .n{white-space:nowrap}.flexdp-card.flexdp-card tr.on td{font-weight:700}
.flexdp-card code{white-space:pre-wrap;color:inherit;background:none}
.flexdp-card .x{overflow-x:auto}.flexdp-card summary{cursor:pointer}
""".replace("\n", "")
    + PICTURE_STYLE
)


def card(title: object, *parts: str) -> str:
    """Build a card; ``parts`` are markup, already escaped."""
    head = f'<p class="t"><b>{prose(title)}</b></p>'
    return f'<div class="flexdp-card"><style>{STYLE}</style>{head}{"".join(parts)}</div>'


def facts(pairs: Iterable[tuple[object, object]]) -> str:
    """List names and values, one below the other."""
    rows = "".join(
        f'<tr><th scope="row"{_LEFT}>{prose(name)}</th><td{_LEFT}>{prose(value)}</td></tr>' for name, value in pairs
    )
    return f"<table><tbody>{rows}</tbody></table>"


def image(svg: str, words: str, width: int) -> str:
    """Build a picture that a notebook shows whether it is trusted or not; ``words`` stand in its place."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img class="flexdp-picture" alt="{markup(words)}" width="{width}" src="data:image/svg+xml;base64,{data}">'


def folded(title: str, lines: Iterable[object]) -> str:
    """Build a list of sentences that is folded away."""
    items = "".join(f"<p>{prose(line)}</p>" for line in lines)
    return f"<details><summary>{markup(title)}</summary>{items}</details>" if items else ""


def sentence(text: object, *, soft: bool = False) -> str:
    """Build a paragraph."""
    return f'<p class="soft">{prose(text)}</p>' if soft else f"<p>{prose(text)}</p>"


def code(line: object) -> str:
    """Build a line of code to copy."""
    return f"<p><code>{markup(line)}</code></p>"


def table(
    headings: Sequence[object], rows: Iterable[Sequence[object]], *, marked: int | None = None, words: int = 0
) -> str:
    """Build a table, with one row highlighted; so many of its first columns are words, on the left."""
    lines = [list(row) for row in rows]
    wordy = [place < words or any(len(str(row[place])) > _WRAPPED for row in lines) for place in range(len(headings))]
    head = "".join(
        f'<th scope="col"{_LEFT if left else ""}>{prose(cell)}</th>' for left, cell in zip(wordy, headings, strict=True)
    )
    body = ""
    for place, row in enumerate(lines):
        cells = "".join(
            f"<td{_LEFT if left else ''}{_kept(cell)}>{prose(cell)}</td>" for left, cell in zip(wordy, row, strict=True)
        )
        body += f'<tr class="on">{cells}</tr>' if place == marked else f"<tr>{cells}</tr>"
    return f'<div class="x" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _kept(cell: object) -> str:
    """A short cell stays on one line."""
    return "" if len(str(cell)) > _WRAPPED else ' class="n"'


def short(name: str, value: Any, most: int = 8) -> str:
    """Print an answer's value in one line: the first of many keys, counts with their keys, the most frequent keys."""
    if value is None or value == () or value == {}:
        return "nothing survived"
    if isinstance(value, dict):
        return listed((f"{key_text(key)}: {key_text(count)}" for key, count in value.items()), most)
    if name == "support":
        return listed(map(key_text, value), most)
    if isinstance(value, tuple) and all(isinstance(item, tuple) for item in value):
        return listed((key_text(key) for key, _ in value), most)
    return key_text(value)


def listed(items: Iterable[str], most: int) -> str:
    """Join the first of many words, by semicolons if any of them contains a comma."""
    words = list(items)
    between = "; " if any("," in word for word in words) else ", "
    return between.join(words[:most]) + (f"{between}… ({len(words)} in total)" if len(words) > most else "")


def key_text(value: Any, longest: int = _LONGEST_KEY) -> str:
    """Print a key or a count for people, a very long one shortened."""
    return value_text(value, longest)


def from_report(place: str) -> Callable[..., str]:
    """Return a function of a module of :mod:`flexdp.report`, such as "html.page.page", loaded on first use.

    The only place where values of lower layers reach up to the one that draws them.
    """
    module, _, name = place.rpartition(".")
    found: Callable[..., str] = getattr(importlib.import_module(f"flexdp.report.{module}"), name)
    return found
