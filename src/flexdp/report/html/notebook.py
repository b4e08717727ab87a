"""Notebook cards of releases, and the pictures in those of plans."""

from __future__ import annotations

import zlib
from typing import Any

from flexdp._core.display import card, facts, sentence, short
from flexdp._core.exact import upper_text
from flexdp._core.text import plural
from flexdp.report.charts.api import chart
from flexdp.report.charts.plans import tradeoff
from flexdp.report.charts.svg import STYLE
from flexdp.report.document import Document
from flexdp.report.html.page import Released, standard_answers

__all__ = ["plan_picture", "release_card"]


def release_card(content: dict[str, Any], release: Released) -> str:
    """What was released, its picture, the first answers and the odds."""
    document = Document.read(content)
    answers = standard_answers(release, document)
    pairs = [
        (
            "released",
            f"{plural(len(document.counts), 'bucket')}, each at most {document.max_drop} too low and never too high",
        ),
        ("privacy", f"ε = {upper_text(document.epsilon, 6)}, δ = {upper_text(document.delta)}"),
        *((answer.name, short(answer.name, answer.value)) for answer in answers),
    ]
    # A page may show many cards: the names inside different pictures must not meet.
    picture = chart(document, name=f"fd{zlib.crc32(repr(content).encode(errors='replace')):x}", alone=False)
    return card(
        f"Release of {document.title}",
        facts(pairs),
        f"<style>{STYLE}</style>{picture}",
        sentence(release.privacy),
    )


def plan_picture(content: dict[str, Any], *, name: str) -> str:
    """The trade-off of a plan, with its style. ``name`` begins the ids inside."""
    return f"<style>{STYLE}</style>{tradeoff(content, name=name, alone=False)}"
