"""What a publisher declares about a release: a title, the publisher, the data set, its period, statistics to show.

It is public before anything is read, it is believed and not checked, and it changes no number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from flexdp._core.text import is_unicode, plain_scalar, safe_repr
from flexdp.errors import InputError

__all__ = ["DECLARED", "LABELS", "NOTHING", "About", "declared_about"]

DECLARED = ("title", "publisher", "dataset_name", "period")
LABELS = DECLARED[:3]  # whoever asks again may word them anew; another period is another request
_LONGEST = 200
_FOR_PEOPLE = {"publisher": "Published by", "dataset_name": "Data set:", "period": "Period:", "drawn": "Drawn on"}


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Declared metadata.

    Parameters
    ----------
    title
        The title of the page.
    publisher
        Who publishes the release.
    dataset_name
        The name of the data set.
    period
        The period that the data covers, in the publisher's words.
    drawn
        The day on which a ledger paid for the release, by its clock, in UTC.
    stats
        Statistics that the page shows beside the usual ones, by their words.

    Examples
    --------
    >>> About(publisher="City of Basel", period="2024").facts
    'Published by City of Basel. Period: 2024.'
    >>> About(title="Waiting times").document()
    {'title': 'Waiting times'}
    """

    title: str | None = None
    publisher: str | None = None
    dataset_name: str | None = None
    period: str | None = None
    drawn: str | None = None
    stats: tuple[str, ...] = ()

    @property
    def drawing(self) -> str:
        """When a ledger paid for the release, and for which period; empty without a ledger.

        >>> About(drawn="2026-02-03", period="2026-01").drawing
        'Drawn on 2026-02-03 for 2026-01.'
        """
        covered = "" if self.period is None else f" for {self.period.rstrip('.')}"
        return "" if self.drawn is None else f"Drawn on {self.drawn}{covered}."

    @property
    def facts(self) -> str:
        """Everything but the title, as sentences."""
        given = [(words, getattr(self, name)) for name, words in _FOR_PEOPLE.items()]
        return " ".join(f"{words} {text.rstrip('.')}." for words, text in given if text is not None)

    def document(self) -> dict[str, Any]:
        """Return what was declared, as plain JSON values."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: list(value) if name == "stats" else value for name, value in given.items() if value}


NOTHING = About()


def declared_about(options: Mapping[str, Any]) -> About:
    """Return the metadata among the options of a release."""
    title, publisher, dataset_name, period = (_text(name, options.get(name)) for name in DECLARED)
    return About(title=title, publisher=publisher, dataset_name=dataset_name, period=period)


def _text(name: str, value: object) -> str | None:
    if value is None:
        return None
    text = plain_scalar(value)
    fits = isinstance(text, str) and text.strip() == text and 0 < len(text) <= _LONGEST and text.isprintable()
    if not isinstance(text, str) or not fits or not is_unicode(text):
        raise InputError(
            name,
            f"must be one line of 1 to {_LONGEST} printable characters, without blanks at its ends",
            given=safe_repr(value),
        )
    return text
