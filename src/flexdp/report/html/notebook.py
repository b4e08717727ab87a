"""Notebook cards of releases, and the pictures in those of plans."""

from __future__ import annotations

import zlib
from typing import Any

from flexdp._core.display import card, sentence
from flexdp._release.published import Release
from flexdp.report.charts.api import chart
from flexdp.report.charts.plans import tradeoff
from flexdp.report.charts.svg import STYLE
from flexdp.report.document import Document
from flexdp.report.html.page import standard_answers

__all__ = ["plan_picture", "release_card"]


def release_card(content: dict[str, Any], release: Release) -> str:
    """Return the card of a release: its conditions, first answers, picture and privacy."""
    if release.budget is None:
        names = ["values" if name is None else name for name in release.spec.columns]
        by = f" by {', '.join(release.spec.by)}" if release.spec.by else ""
        return card(
            f"Answers about {' × '.join(names)}{by}",
            sentence(" ".join(release.conditions)),
            *(sentence(answer.statement) for answer in standard_answers(release)),
            sentence(release.privacy),
        )
    document = Document.read(content)
    # A page may show many cards: the ids inside different pictures must not clash.
    picture = chart(document, name=f"fd{zlib.crc32(repr(content).encode(errors='replace')):x}", alone=False)
    return card(
        f"Release of {document.title}",
        sentence(" ".join(release.conditions)),
        *(sentence(answer.statement) for answer in standard_answers(release)),
        f"<style>{STYLE}</style>{picture}",
        sentence(release.privacy),
    )


def plan_picture(content: dict[str, Any], *, name: str) -> str:
    """Return the trade-off of a plan, with its style; ``name`` is the prefix of its ids."""
    return f"<style>{STYLE}</style>{tradeoff(content, name=name, alone=False)}"
