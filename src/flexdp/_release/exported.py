"""A release as documents: JSON, HTML page, notebook card, frames and columns."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from flexdp._core.display import from_report
from flexdp._core.domains import path_text
from flexdp._core.files import write_whole
from flexdp._core.text import safe_repr
from flexdp._release.asked import Asked
from flexdp._release.asked_proof import answer_columns
from flexdp._release.frames import Library, bar_columns, frame_of
from flexdp._release.json import json_text
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.errors import InputError
from flexdp.histogram import KeyedHistogram

__all__ = ["Exported", "write_page"]


class Exported(ABC):
    """Everything that a release can be written as."""

    spec: Spec
    budget: Budget | None
    cells: KeyedHistogram
    asked: Asked | None

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """The content of the JSON document."""

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

    def to_html(self) -> str:
        """Return the report as one HTML file that requests nothing from outside, made from the JSON alone.

        Returns
        -------
        str
            The page.
        """
        return from_report("html.page.page")(self._document(), self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file; ``flexdp report`` makes the same file from the JSON, byte for byte.

        Parameters
        ----------
        path
            Where to write it.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        write_page(path, self.to_html())

    def _repr_html_(self) -> str:
        return from_report("html.notebook.release_card")(self._document(), self)

    def to_frame(self, library: Library | None = None) -> Any:
        """Return the counts as a frame with the columns key, lower, upper and count; without buckets, the answers.

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
        return {} if self.asked is None else answer_columns(self.spec, self.asked)

    def columns_of_bars(self) -> dict[str, list[Any]]:
        """Return the counts column by column: the groups, key, lower and upper of each column, then the count.

        Returns
        -------
        dict
            Lists of equal length.
        """
        return bar_columns(self.spec, self.cells)


def write_page(path: str | os.PathLike[str], page: str) -> None:
    """Write a page to a file, whole or not at all."""
    place = path_text("path", path)
    try:
        write_whole(Path(place), page)
    except (OSError, ValueError, RuntimeError):  # links that lead in a circle
        raise InputError(
            "path", "cannot be written", given=safe_repr(place), remedy="Check the folder and its permissions."
        ) from None
