"""Small HTML cards for notebooks: a title, a few facts, a sentence; for light and dark themes.

A card contains its own style, loads nothing and runs no script. It takes its colours from JupyterLab or VS Code if it
is shown there, otherwise from the browser.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flexdp._core.exact import value_text
from flexdp._core.text import markup

__all__ = [
    "STYLE",
    "answer_card",
    "card",
    "code",
    "facts",
    "from_report",
    "key_text",
    "listed",
    "sentence",
    "short",
    "table",
]

_WRAPPED = 40  # characters of a cell beyond which it wraps
_LONGEST_KEY = 120  # characters of a key that is shown in full
STYLE = """
.flexdp-card{--fd-ink:var(--jp-content-font-color1,var(--vscode-foreground,CanvasText));
--fd-soft:var(--jp-content-font-color2,var(--vscode-descriptionForeground,#767676));
--fd-line:var(--jp-border-color2,var(--vscode-panel-border,#8888));
--fd-paper:var(--jp-layout-color0,var(--vscode-editor-background,transparent));
--fd-bar:#2f86c1;--fd-band:#c98200;--fd-mark:#d9541e;
--fd-1:color-mix(in srgb,var(--fd-bar) 22%,var(--fd-paper));--fd-2:color-mix(in srgb,var(--fd-bar) 45%,var(--fd-paper));
--fd-3:color-mix(in srgb,var(--fd-bar) 70%,var(--fd-paper));--fd-4:var(--fd-bar);
--fd-5:color-mix(in srgb,var(--fd-bar) 60%,var(--fd-ink));
color:var(--fd-ink);border:1px solid var(--fd-line);border-left:4px solid var(--fd-bar);border-radius:4px;
padding:.6em .9em;margin:.3em 0;max-width:52em;font:14px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
.flexdp-card b.t{font-size:15px}
.flexdp-card dl{display:grid;grid-template-columns:fit-content(40%) minmax(0,1fr);gap:.1em 1em;margin:.4em 0}
.flexdp-card dt{color:var(--fd-soft)}.flexdp-card dd{margin:0;font-variant-numeric:tabular-nums}
.flexdp-card p{margin:.35em 0}
.flexdp-card table{border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums;background:none;
color:var(--fd-ink)}
.flexdp-card td{white-space:nowrap}.flexdp-card td.w{white-space:normal;text-align:left}
.flexdp-card th,.flexdp-card td{padding:.1em .6em;text-align:right;border:0;color:inherit;background:none}
.flexdp-card th{white-space:nowrap;border-bottom:1px solid var(--fd-line);font-weight:600}
.flexdp-card tr.on td{font-weight:700}
.flexdp-card code{white-space:pre-wrap;color:inherit;background:none}
.flexdp-card .x{overflow-x:auto}
.flexdp-card svg{max-width:100%;height:auto;display:block}
""".replace("\n", "")


def card(title: object, *parts: str) -> str:
    """Build a card; ``parts`` are markup, already escaped."""
    return f'<div class="flexdp-card"><style>{STYLE}</style><b class="t">{markup(title)}</b>{"".join(parts)}</div>'


def facts(pairs: Iterable[tuple[object, object]]) -> str:
    """List names and values, one below the other."""
    return "<dl>" + "".join(f"<dt>{markup(name)}</dt><dd>{markup(value)}</dd>" for name, value in pairs) + "</dl>"


def sentence(text: object) -> str:
    """Build a paragraph."""
    return f"<p>{markup(text)}</p>"


def code(line: object) -> str:
    """Build a line of code to copy."""
    return f"<p><code>{markup(line)}</code></p>"


def table(headings: Sequence[object], rows: Iterable[Sequence[object]], *, marked: int | None = None) -> str:
    """Build a table, with one row highlighted."""
    head = "".join(f'<th scope="col">{markup(cell)}</th>' for cell in headings)
    body = "".join(
        ('<tr class="on">' if place == marked else "<tr>")
        + "".join(f"<td{' class=w' if len(str(cell)) > _WRAPPED else ''}>{markup(cell)}</td>" for cell in row)
        + "</tr>"
        for place, row in enumerate(rows)
    )
    return f"<div class=x tabindex=0><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def answer_card(name: str, value: Any, words: str) -> str:
    """Build the card of an answer: its value and its sentence."""
    return card(f"{name}: {short(name, value)}", sentence(words))


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
