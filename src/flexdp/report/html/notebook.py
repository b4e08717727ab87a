"""Notebook cards of releases, and the pictures in those of plans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from typing import Any

from flexdp._core.display import PICTURE_STYLE, card, folded, image, sentence, table
from flexdp._core.text import plural
from flexdp._release.published import Release
from flexdp._release.several import Releases
from flexdp.report.charts.api import chart
from flexdp.report.charts.plans import tradeoff
from flexdp.report.charts.svg import on_white
from flexdp.report.document import Document
from flexdp.report.html.page import asked_rows, group_rows, standard_answers
from flexdp.report.html.several import overview, title_of
from flexdp.report.html.tables import Told, told

__all__ = ["bare_picture", "plan_picture", "release_card", "releases_card"]

_MOST_ROWS = 13  # of a table of groups


def release_card(content: dict[str, Any], release: Release) -> str:
    """Return the card of a release: its conditions, a table of answers, its picture and its privacy."""
    answers = standard_answers(release)
    found = told(answers)
    names = ["values" if name is None else name for name in release.spec.columns]
    by = f" by {', '.join(release.spec.labels)}" if release.spec.by else ""
    what = "Answers about" if release.budget is None else "Release of"
    groups, picture = "", ""
    if release.budget is not None:
        document = Document.read(content)
        picture = _image(chart(document, alone=False))
        groups = _groups(*group_rows(release, document)) if document.by and document.keys else ""
    if release.spec.by and release.asked is not None and release.asked.results:
        groups += _groups(*asked_rows(release))
    return card(
        f"{what} {' × '.join(names)}{by}",
        sentence(" ".join(release.conditions)),
        *([sentence(found.shared)] if found.shared and not groups else []),
        groups or _answers(found),
        picture,
        sentence(release.privacy, soft=True),
        folded("The answers as sentences, to quote", answers),
    )


def _answers(found: Told) -> str:
    titles = [found.head, "Answer", *(["Guarantee"] if found.known else [])]
    rows = [[row.name, row.value, *([row.known] if found.known else [])] for row in found.rows]
    return table(titles, rows, words=3)


def _groups(titles: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    more = len(rows) - _MOST_ROWS
    rest = sentence(f"{plural(more, 'more group')}: by_group() has them all.", soft=True) if more > 0 else ""
    return table(titles, rows[:_MOST_ROWS], words=words) + rest


def releases_card(releases: Releases) -> str:
    """Return the card of several columns: a table of them all and their privacy, then a card for each."""
    whole = card(
        title_of(releases),
        *(table(titles, rows, words=words) for _, titles, rows, words in overview(releases)),
        sentence(releases.privacy, soft=True),
    )
    return whole + "".join(release._repr_html_() for release in releases.values())


def plan_picture(content: dict[str, Any]) -> str:
    """Return the trade-off of a plan as an image."""
    return _image(tradeoff(content, alone=False))


def bare_picture(content: dict[str, Any]) -> str:
    """Return the picture of a release as an image, for a notebook."""
    return f"<style>{PICTURE_STYLE}</style>{_image(chart(content, alone=False))}"


def _image(svg: str) -> str:
    """An SVG picture as an image, its own description in its place."""
    wide, title, words = (
        re.search(pattern, svg)[1]  # type: ignore[index]
        for pattern in (r' width="([0-9]+)"', r"<title[^>]*>(.*?)</title>", r"<desc[^>]*>(.*?)</desc>")
    )
    return image(on_white(svg), unescape(f"{title}: {words}"), int(wide))
