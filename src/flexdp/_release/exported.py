"""A release as documents: JSON, HTML page, notebook card, frames and columns."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from flexdp._core.display import from_report
from flexdp._core.domains import path_text
from flexdp._core.files import write_whole
from flexdp._core.text import safe_repr
from flexdp._release.about import declared_about
from flexdp._release.answers import Answer
from flexdp._release.asked import Asked
from flexdp._release.asked_proof import answer_columns
from flexdp._release.asked_sentences import Telling
from flexdp._release.documents import MALFORMED, fields_of, other_words
from flexdp._release.frames import Library, bar_columns, frame_of
from flexdp._release.json import json_text, parse, unreadable
from flexdp._release.spec import Spec
from flexdp._release.stat_words import stat_words
from flexdp.accounting.budget import Budget
from flexdp.accounting.ledger import Payment
from flexdp.errors import InputError, P
from flexdp.histogram import KeyedHistogram

__all__ = ["Exported", "Picture", "write_page"]


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """A picture as SVG text; notebooks show it, as an image that needs no trust."""

    svg: str
    html: str

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture, SVG of {len(self.svg)} characters>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.html


class Exported(ABC):
    """Everything that a release can be written as."""

    spec: Spec
    budget: Budget | None
    cells: KeyedHistogram
    asked: Asked | None

    @property
    def payment(self) -> Payment | None:
        """What this release cost, where a ledger paid for it; it is not part of the published document."""
        return self.__dict__.get("_payment")

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """The content of the JSON document."""

    @abstractmethod
    def _tellings(self) -> Iterator[tuple[tuple[Any, ...], Telling]]:
        """The asked answers of each group in words; of the group () without groups."""

    def answers(self) -> list[Answer]:
        """Return every answer that was asked for; with groups, those of each group in turn.

        Returns
        -------
        list of Answer
            In the order in which they were asked for.
        """
        return [answer for _, telling in self._tellings() for answer in telling.all()]

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the release as JSON, by the schema in docs/release-json.md; :meth:`from_json` reads it back.

        Parameters
        ----------
        indent
            Number of spaces to indent by; None for a single line.

        Returns
        -------
        str
            The document.
        """
        return json_text(self._document(), indent)

    @classmethod
    def from_json(cls, document: str | bytes) -> Self:
        """Return the release that :meth:`to_json` wrote, unless anything in it was changed that can be checked.

        The noise table is rebuilt from ε and δ, the keys from the buckets; the document must say the same of both.

        Parameters
        ----------
        document
            The JSON document, of this schema or of the first.

        Returns
        -------
        Release
            The release.

        Raises
        ------
        InputError
            If the document is not that of a release, complete and unchanged.
        """
        try:
            content = parse(document)
            found = cls(**fields_of(content))
            other = next(other_words(content, found._document()), None)
        except InputError:
            raise
        except MALFORMED:
            raise unreadable() from None
        if other is not None:
            raise unreadable()
        return found

    def to_html(self, *, stats: Sequence[str] = (), title: str | None = None) -> str:
        """Return the report as one HTML file that requests nothing from outside, made from the JSON alone.

        Parameters
        ----------
        stats
            Names of statistics to show beside the usual ones, such as "q0.9" or "top:10".
        title
            The title of the page; the declared one unless given.

        Returns
        -------
        str
            The page.
        """
        shown = self._showing(stats)._titled(title)
        return from_report("html.page.page")(shown._document(), shown)

    def _showing(self, stats: Sequence[str]) -> Self:
        """The same release, whose page shows these statistics, too."""
        words = stat_words(stats, self.spec.kinds, self.spec)
        if not words:
            return self
        told = tuple(dict.fromkeys((*self.spec.about.stats, *words)))
        spec = replace(self.spec, about=replace(self.spec.about, stats=told))
        return replace(self, spec=spec)  # type: ignore[type-var]

    def _titled(self, title: str | None) -> Self:
        """The same release under another title."""
        if title is None:
            return self
        about = replace(self.spec.about, title=declared_about({"title": title}).title)
        return replace(self, spec=replace(self.spec, about=about))  # type: ignore[type-var]

    def plot(self, path: str | os.PathLike[str] | None = None) -> Picture:
        """Draw the released counts.

        Parameters
        ----------
        path
            Where to write the picture as well, a file that ends in .svg; nowhere unless given.

        Returns
        -------
        Picture
            An SVG picture that a notebook shows.

        Raises
        ------
        InputError
            If there are no buckets to draw, or the file cannot be written.
        """
        if self.budget is None:
            raise InputError(
                "release",
                "has no buckets to draw",
                remedy=("Release them with ", P("width"), ", or leave out ", P("ask"), "."),
            )
        document = self._document()
        picture = Picture(
            from_report("charts.api.chart")(document), from_report("html.notebook.bare_picture")(document)
        )
        if path is not None:
            write_page(path, str(picture), endings=(".svg",))
        return picture

    def report(self, path: str | os.PathLike[str], *, stats: Sequence[str] = (), title: str | None = None) -> None:
        """Write the report to a file; ``flexdp report`` makes the same file from the JSON, byte for byte.

        Parameters
        ----------
        path
            Where to write it, a file that ends in .html or .htm.
        stats
            Names of statistics to show beside the usual ones, such as "q0.9" or "top:10".
        title
            The title of the page; the declared one unless given.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        write_page(path, self.to_html(stats=stats, title=title))

    def _repr_html_(self) -> str:
        return from_report("html.notebook.release_card")(self._document(), self)

    def to_frame(self, library: Library | None = None) -> Any:
        """Return the counts as a frame with columns key, lower, upper, count, about and at_most; or asked answers.

        With groups there is a column for each of them, and of several columns a key, lower and upper for each. A column
        with numbers that neither a 64-bit integer nor a double holds is one of decimals.

        Parameters
        ----------
        library
            "pandas", "polars" or "pyarrow"; the first one installed unless given.

        Returns
        -------
        object
            A frame of that library.
        """
        return frame_of(self.columns_of_answers() if self.budget is None else self.columns_of_bars(), library)

    def columns_of_answers(self) -> dict[str, list[Any]]:
        """Return the asked answers column by column: the groups, statistic, value, how it was drawn, its promise.

        Returns
        -------
        dict
            Lists of equal length; empty where nothing was asked for.
        """
        return {} if self.asked is None else answer_columns(self.spec, self.asked, list(self._tellings()))

    def columns_of_bars(self) -> dict[str, list[Any]]:
        """Return the counts column by column: the groups, key, lower and upper of each column, then the counts.

        ``count`` is never above the true number, and ``at_most`` never below it. ``about`` has the mean loss added
        back: unbiased for buckets of at least :attr:`max_drop` + 1 records, too high on average for smaller ones that
        survived.

        Returns
        -------
        dict
            Lists of equal length.
        """
        if self.budget is None:
            return bar_columns(self.spec, self.cells, Fraction(0), 0)
        return bar_columns(self.spec, self.cells, self.budget.mean_drop, self.budget.bars.max_drop)


def write_page(path: str | os.PathLike[str], page: str, *, endings: Sequence[str] = (".html", ".htm")) -> None:
    """Write a page to a file that ends in one of these, whole or not at all."""
    place = path_text("path", path)
    if not place.lower().endswith(tuple(endings)):
        raise InputError("path", f"must end in {' or '.join(endings)}", given=safe_repr(place))
    try:
        write_whole(Path(place), page)
    except (OSError, ValueError):
        raise InputError(
            "path", "cannot be written", given=safe_repr(place), remedy="Check the folder and its permissions."
        ) from None
