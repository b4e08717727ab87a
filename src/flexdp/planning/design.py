"""What a plan is made of: a design says what its release would publish at one ε, as a row of public numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from flexdp._core.exact import number_text, to_digits
from flexdp._core.text import plural, thousands
from flexdp.errors import Phrase
from flexdp.guarantees import Privacy, limit_text
from flexdp.planning.groups import NO_GROUPS, Groups

__all__ = ["COLUMNS", "FAR", "USUAL", "Design", "Row", "percent", "plain_number", "table_lines"]

USUAL = tuple(Fraction(step) for step in ("0.05", "0.1", "0.2", "0.5", "1", "2", "3", "5", "10"))
FAR = 10_000  # a usual ε at which a bucket loses more than this is not listed

Row: TypeAlias = dict[str, Any]  # numbers by the names of COLUMNS, and bounds by the statistics that are answered


@dataclass(frozen=True, kw_only=True)
class Design(ABC):
    """What is to be released, as far as it is public.

    Parameters
    ----------
    records
        Approximate number of records; None where it is not known.
    per_unit
        Most buckets, or values, that one unit counts in.
    groups
        The groups of the release.
    """

    records: int | None = None
    per_unit: int = 1
    groups: Groups = NO_GROUPS

    @property
    @abstractmethod
    def words(self) -> str:
        """What is released, as the words that follow the number of records in a sentence."""

    @property
    @abstractmethod
    def options(self) -> list[str]:
        """The options of the command that say what is released."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The names of a row, in the order of a table."""

    @abstractmethod
    def row(self, each: Privacy, *, chosen: Fraction | None = None) -> Row | None:
        """Return the numbers of a release with the budget ``each``; None where they are not worth listing.

        The budget is a part of the ``chosen`` ε, which is always listed, and refused if it is too small.
        """

    def drop(self, each: Privacy) -> int | None:  # noqa: ARG002  (answers lose nothing)
        """Return the most that a bucket loses, for a curve; None beyond FAR, or where nothing is lost."""
        return None

    @abstractmethod
    def leaves_nothing(self, each: Privacy) -> bool:
        """Tell whether the release would leave almost nothing; False where this cannot be known."""

    @abstractmethod
    def notes(self, each: Privacy | None) -> list[str]:
        """Return sentences about the row of the chosen ε, if there is one."""

    @abstractmethod
    def warnings(self, each: Privacy | None, chosen: Fraction | None) -> list[Phrase]:
        """Return warnings about the design, and about the chosen ε, if there is one."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """Return the design as JSON describes it."""

    @property
    def unit_words(self) -> str:
        """The protected unit, with what it counts in."""
        return f"one unit, in at most {plural(self.per_unit, 'bucket')}"

    @property
    def records_of_group(self) -> int | None:
        """Records of one group, if all have equally many."""
        return None if self.records is None else self.groups.of_each(self.records)


def plain_number(value: Fraction) -> int | float:
    """Return a number as a message repeats it: an integer where it is one, else a double."""
    return int(value) if value.denominator == 1 else float(value)


def percent(share: float, digits: int = 2) -> str:
    """Return a share as a percentage of a few digits, never in powers of ten where it is 0.01% or more.

    >>> percent(1.0), percent(0.9962), percent(0.0126), percent(0.25)
    ('100%', '100%', '1.3%', '25%')
    """
    return f"{float(f'{100 * share:.{digits}g}'):g}%"


def _percent_up(share: Fraction) -> str:
    digits = 3 if 100 * share >= 1 else 2
    return f"≤ {number_text(to_digits(100 * share, digits, up=True)) if share else 0}%"


# name of a number: its heading, and how it is written in a cell
COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "chosen": ("", lambda chosen: "→" if chosen else ""),
    "epsilon": ("ε", number_text),
    "max_drop": ("most lost per bucket", thousands),
    "survives_from": ("survives from", thousands),
    "total": ("most lost in total", thousands),
    "alpha": ("certified share", _percent_up),
    "expected_share": ("expected share", lambda share: percent(share, 3 if share >= 0.01 else 2)),
    "edges_share": ("ε for edges", lambda share: percent(float(share))),
    "levels": ("tree levels", str),
    "most_buckets": ("number of buckets", lambda most: f"≤ {most}"),
    "left_out": ("left out on average", lambda share: f"≈ {percent(share)}"),
    "certainty": ("50% sure becomes", limit_text),
    "meets": ("target", lambda met: "met" if met else "–"),
}


def table_lines(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines of text, each heading in two lines."""
    upper, lower = zip(*map(_two_lines, headings), strict=True)
    listed = [upper, lower, *rows]
    widths = [max(len(line[index]) for line in listed) for index in range(len(headings))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in listed]


def _two_lines(heading: str) -> tuple[str, str]:
    """Break a heading in two where the longer line is shortest."""
    words = heading.split(" ")
    breaks = [(" ".join(words[:cut]), " ".join(words[cut:])) for cut in range(len(words))]
    return min(breaks, key=lambda lines: max(map(len, lines)))
