"""Answers as a table: the statistic, the answer, what is guaranteed; what they all share is said once.

The words are those of the answers' own sentences, which a page and a card hold in full as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flexdp._core.text import prose
from flexdp._release.answers import Answer

__all__ = ["Row", "Told", "answer_table", "capital", "column_titles", "scrolling", "sentences", "told"]

_FRACTION = re.compile(r"(?<=:[0-9]{2})\.[0-9]+")  # of a second
_DATE = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b")  # which a browser would break after a hyphen
_SHORT = 34  # characters
_LONGEST = 300  # characters of an answer in a table; a longer one is in its sentence alone


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    name: str
    value: str
    known: str


@dataclass(frozen=True, slots=True)
class Told:
    """The lines, and what several of them share, as a sentence; empty where they share nothing.

    ``population`` tells how often each unit counts, where that is the same in all of them: it belongs to the head.
    """

    rows: tuple[Row, ...]
    shared: str
    population: str = ""

    @property
    def head(self) -> str:
        """The head of the first column."""
        return f"Statistic, {self.population}" if self.population else "Statistic"

    @property
    def known(self) -> bool:
        """True where something is guaranteed of an answer by itself."""
        return any(row.known for row in self.rows)


def told(answers: Sequence[Answer]) -> Told:
    """Return answers line by line.

    Parameters
    ----------
    answers
        The answers.

    Returns
    -------
    Told
        The name, value and guarantee of each, without what several guarantees begin with.

    Examples
    --------
    >>> import flexdp
    >>> release = flexdp.release([33.0] * 900, epsilon=1, delta=1e-6, width=5)
    >>> found = told([release.max(), release.min()])
    >>> found.rows[0].name, found.rows[0].value
    ('Highest value', '30–35 or more')
    >>> found.rows[0].known
    'Up to 27 may lie in each higher bucket, and apart from those the highest lies in 30–35.'
    >>> found.shared
    'At most 27 records per bucket were left out.'
    """
    shown = [answer for answer in answers if len(answer.text) <= _LONGEST]
    population = one_population(shown)
    rows = [_row(answer, population) for answer in shown]
    first, many = next(iter(Counter(filter(None, map(_first, rows))).most_common(1)), ("", 0))
    if many < 2:
        return Told(tuple(rows), "", population)
    told_apart = [
        Row(row.name, row.value, capital(row.known.removeprefix(f"{first}; ")) if _first(row) == first else row.known)
        for row in rows
    ]
    return Told(tuple(told_apart), f"{first}.", population)


def one_population(answers: Iterable[Answer]) -> str:
    """Return how often each unit counts, where that is the same in all answers; empty where it differs."""
    found = {answer.population for answer in answers}
    return found.pop() if len(found) == 1 else ""


def column_titles(answers: Sequence[Answer]) -> list[str]:
    """Return titles of columns of answers, with their populations where those differ."""
    shared = one_population(answers)
    return [
        f"{capital(answer.name)} ({answer.population})" if answer.population and not shared else capital(answer.name)
        for answer in answers
    ]


def _row(answer: Answer, population: str) -> Row:
    """A line of the table; how often each unit counts is left to the head, if that says it."""
    name, found, known = answer.statement.partition(f": {answer.text}. ")
    if not found and answer.statement.endswith(f": {answer.text}."):
        name, found, known = answer.statement.removesuffix(f": {answer.text}."), answer.text, ""
    if not found:
        return Row(capital(answer.name), answer.text, answer.statement)
    return Row(name.removesuffix(f", {population}") if population else name, answer.text, known)


def _first(row: Row) -> str:
    """What was left out, where a guarantee begins with that and goes on; empty otherwise."""
    first, found, _ = row.known.partition("; ")
    return first if found and first.startswith(("At most ", "So counted, at most ")) and ". " not in first else ""


def answer_table(found: Told) -> str:
    """The table of answers; on a narrow screen the guarantee stands below the answer."""
    if not found.rows:
        return ""
    titles = [found.head, "Answer", *(["Guarantee"] if found.known else [])]
    head = "".join(f'<th scope="col">{prose(title)}</th>' for title in titles)
    body = "".join(
        f'<tr><th scope="row">{prose(row.name)}</th><td class="{_kind(row.value)}">{prose(row.value)}</td>'
        f"{f'<td>{prose(row.known)}</td>' if found.known else ''}</tr>"
        for row in found.rows
    )
    return f'<table class="answers long"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>\n'


def _kind(value: str) -> str:
    """A short answer stays on one line and stands out."""
    return "short" if len(value) <= _SHORT else "list"


def sentences(answers: Iterable[Answer]) -> str:
    """The answers in full, to quote."""
    items = "".join(f'<li class="long">{prose(answer.statement)}</li>' for answer in answers)
    return (
        f"<details><summary>The answers as sentences, to quote</summary><ul>{items}</ul></details>\n" if items else ""
    )


def scrolling(
    name: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: int = 1,
    marked: int | None = None,
    told: bool = False,
    wraps: bool = False,
) -> str:
    """A table that scrolls by itself where it is too wide for the page.

    So many of its first columns are words; ``marked`` is a row that is set off. The last column is ``told`` in a
    sentence. All cells of a table that ``wraps`` may take several lines.
    """
    kinds = [' class="w"' if place < words else "" for place in range(len(head))]
    if told:
        kinds[-1] = ' class="w known"'
    headings = "".join(f'<th scope="col"{kind}>{prose(each)}</th>' for kind, each in zip(kinds, head, strict=True))
    body = ""
    for place, row in enumerate(rows):
        texts = [_wrapped(prose(cell)) if wraps else prose(cell) for cell in row]
        cells = "".join(f"<td{kind}>{text}</td>" for kind, text in zip(kinds, texts, strict=True))
        body += f'<tr class="all">{cells}</tr>' if place == marked else f"<tr>{cells}</tr>"
    return (
        f'<div class="scroll{" wraps" if wraps else ""}" tabindex="0" role="region" aria-label="{name}">'
        f"<table><thead><tr>{headings}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _wrapped(text: str) -> str:
    """Let a text break after underscores and before fractions of a second, but not within a date."""
    text = _FRACTION.sub(r"<wbr>\g<0>", text.replace("_", "_<wbr>"))
    return _DATE.sub(r'<span class="date">\g<0></span>', text)


def capital(words: str) -> str:
    return words[:1].upper() + words[1:]
