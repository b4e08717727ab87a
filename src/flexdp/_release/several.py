"""Several columns of one table, released one by one out of one budget."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flexdp._core.display import card, folded, from_report, sentence
from flexdp._core.documents import UnfitError
from flexdp._core.domains import elements, instance
from flexdp._core.text import safe_repr, visible
from flexdp._release.exported import write_page
from flexdp._release.frames import Library, frame_of, stacked
from flexdp._release.json import SCHEMA_OF_SEVERAL, json_text, parse, unreadable
from flexdp._release.promises import Certificate
from flexdp._release.published import Release
from flexdp.accounting.ledger import Payment
from flexdp.calculus import total
from flexdp.errors import InputError
from flexdp.guarantees import Privacy

__all__ = ["Certificates", "Releases"]


class Certificates(dict[str, Certificate]):
    """The certificates of several columns by name, and the privacy of all columns together.

    Parameters
    ----------
    privacy
        The privacy of all columns together.
    certificates
        The certificate of each column.

    Examples
    --------
    >>> import flexdp
    >>> import polars as pl
    >>> table = pl.DataFrame({"x": [3.0] * 200, "y": [4.0] * 200})
    >>> both = flexdp.release(table, ["x", "y"], separately=True, epsilon=1, delta=1e-6, width=5).certificate()
    >>> both
    <Certificates of 'x', 'y'>
    >>> str(both).splitlines()[0] == f"All columns together: {both.privacy}"
    True
    """

    def __init__(self, privacy: Privacy, certificates: Mapping[str, Certificate]) -> None:
        super().__init__(certificates)
        self.privacy = privacy

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.privacy, dict(self))

    def __str__(self) -> str:
        each = (f"{visible(column)}:\n{certificate}" for column, certificate in self.items())
        return "\n\n".join((f"All columns together: {self.privacy}", *each))

    def __repr__(self) -> str:
        return f"<Certificates of {', '.join(map(repr, self))}>"

    def _repr_html_(self) -> str:
        whole = card("Certificates", sentence(f"All columns together: {self.privacy}"))
        return whole + "".join(
            card(f"Certificate of {column}", *map(sentence, each.promises), folded("Proof of privacy", each.proof))
            for column, each in self.items()
        )


class Releases(Mapping[str, Release]):
    """A mapping from column to release, for columns released separately out of one budget.

    Parameters
    ----------
    releases
        The releases, of one column each.

    Examples
    --------
    >>> import flexdp
    >>> import numpy as np
    >>> import polars as pl
    >>> table = pl.DataFrame({"x": [3.0] * 200, "y": [4.0] * 200})
    >>> both = flexdp.release(table, ["x", "y"], separately=True, epsilon=1, delta=1e-6, width=5)
    >>> list(both), both["x"].privacy.epsilon, both.privacy.epsilon
    (['x', 'y'], Fraction(1, 2), Fraction(1, 1))
    >>> Releases.from_json(both.to_json())["y"].max().text
    '0–5 or more'
    >>> both.to_frame("polars").columns
    ['column', 'key', 'lower', 'upper', 'count', 'about', 'at_most']
    >>> list(both.columns_of_bars()["column"]), both.certificate()["x"].evidence.holds
    (['x', 'y'], True)
    >>> "Summary of 2 columns" in both.to_html()
    True
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     both.report(f"{folder}/both.html")
    """

    def __init__(self, releases: Sequence[Release]) -> None:
        listed = elements(releases)
        if listed is None:
            raise InputError("releases", "must be a list of releases", given=safe_repr(releases))
        made = [instance("releases", each, Release, "releases") for each in listed]
        self._releases = {str(each.column): each for each in made}

    def __getitem__(self, column: str) -> Release:
        """Return the release of a column.

        Parameters
        ----------
        column
            The column's name.

        Returns
        -------
        Release
            Its release.

        Raises
        ------
        InputError
            If there is no such column.
        """
        if column not in self:
            raise InputError(
                "column", f"is not in the release: it has {', '.join(self._releases)}", given=safe_repr(column)
            )
        return self._releases[str.__str__(column)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._releases)

    def __len__(self) -> int:
        return len(self._releases)

    def __contains__(self, column: object) -> bool:
        return isinstance(column, str) and str.__str__(column) in self._releases

    @property
    def payment(self) -> Payment | None:
        """What these releases cost, where a ledger paid for them."""
        return self.__dict__.get("_payment")

    @property
    def privacy(self) -> Privacy:
        """The privacy of all columns together: the losses add up."""
        each = [release.privacy for release in self._releases.values()]
        return total(each)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return all releases as one JSON document; :meth:`from_json` reads it back.

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

    def _document(self) -> dict[str, Any]:
        return {"schema": SCHEMA_OF_SEVERAL, "releases": [release._document() for release in self._releases.values()]}

    @classmethod
    def from_json(cls, document: str | bytes) -> Releases:
        """Return what :meth:`to_json` wrote, each release checked.

        Parameters
        ----------
        document
            The JSON document.

        Returns
        -------
        Releases
            The releases.

        Raises
        ------
        InputError
            If the document is not one of releases, complete and unchanged.
        """
        try:
            content = parse(document)
            if content["schema"] != SCHEMA_OF_SEVERAL or set(content) != {"schema", "releases"}:
                raise TypeError("another schema")
            texts = [json.dumps(each) for each in content["releases"]]
            names = [str(each["column"]) for each in content["releases"]]
            if not names or len(set(names)) < len(names):
                raise UnfitError("no column, or one that comes twice")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise unreadable("flexdp releases") from None
        return cls([Release.from_json(text) for text in texts])

    def to_html(self, *, title: str | None = None) -> str:
        """Return one page of all columns, made from the JSON alone; it requests nothing from outside.

        Parameters
        ----------
        title
            The title of the page; the declared one unless given.

        Returns
        -------
        str
            The page.
        """
        shown = Releases([each._titled(title) for each in self._releases.values()])
        return from_report("html.several.page_of_several")(shown._document(), shown)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write the page of all columns to a file.

        Parameters
        ----------
        path
            Where to write it, a file that ends in .html or .htm.
        title
            The title of the page; the declared one unless given.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        write_page(path, self.to_html(title=title))

    def certificate(self) -> Certificates:
        """Return the promises of each column, with their proof; the losses add up to :attr:`privacy`.

        Returns
        -------
        Certificates
            A dictionary of certificates by column, which prints the privacy of all columns together and then each.
        """
        return Certificates(self.privacy, {column: each.certificate() for column, each in self._releases.items()})

    def columns_of_bars(self) -> dict[str, list[Any]]:
        """Return the counts of all columns as one table: column, groups, key, lower, upper, count.

        Keys and edges are texts where columns are of different kinds.

        Returns
        -------
        dict
            Lists of equal length.
        """
        return stacked(
            {name: each.columns_of_bars() for name, each in self._releases.items() if each.budget is not None}
        )

    def to_frame(self, library: Library | None = None) -> Any:
        """Return the counts of all columns as one frame, by :meth:`columns_of_bars`.

        Parameters
        ----------
        library
            "pandas", "polars" or "pyarrow"; the first one installed unless given.

        Returns
        -------
        object
            A frame of that library.
        """
        return frame_of(self.columns_of_bars(), library)

    def __repr__(self) -> str:
        return f"<Releases of {', '.join(map(repr, self._releases))}>"

    def _repr_html_(self) -> str:
        return from_report("html.notebook.releases_card")(self)
