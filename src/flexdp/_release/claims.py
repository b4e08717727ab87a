"""Claims: what a printed sentence says of the data, as numbers that can be judged against the raw table.

Every sentence about an answer is made from claims and carries them (:attr:`flexdp._release.answers.Answer.claims`). The
ends of a claim are those that are printed, after they were rounded outward, so judging the claims of a release is
judging its words::

    Highest delay: about 860. With 95% probability at most 86 records are above it. … guaranteed to be at least 300.
                         │                                  │                                              │
      Claim(Max(), estimate 860)      Claim(Beyond(860), upper=86, confidence=19/20)          Claim(Max(), lower=300)

A claim names its population, since the same words are true of one and false of another::

    table ── filter, group ──▶ values as read ── limits ──▶ values limited to 0–200 ── cap ──▶ values as counted
                                     │                              │                              │
                         "190 or more" is true of these      a mean of buckets        "each patient in at most 3 ranges"
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from flexdp._release.spec import WHOLE, Part
from flexdp.statistics import Statistic

__all__ = [
    "CERTAIN",
    "Absent",
    "Between",
    "Beyond",
    "BeyondShare",
    "Claim",
    "Digits",
    "InBucket",
    "InOthers",
    "Invented",
    "Missing",
    "MissingShare",
    "OutsideShare",
    "Population",
    "Quantity",
    "Relation",
    "Touched",
]

CERTAIN = Fraction(1)

Relation: TypeAlias = Literal["is", "is of the rest", "is about"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """The values that a claim is about.

    Parameters
    ----------
    part
        The group, or the one of several columns, in question.
    limits
        Ends that every value was moved to if it lay beyond; None where values are meant as they were read.
    counted
        "records": the value of every record; where one value of each unit counts (``per_unit``), that value.
        "ranges": each unit once in every range (bucket) that it counts in, in as many as its cap allows.
        "values": each unit once with every distinct value that it counts with, with as many as its cap allows.
        "units": the units themselves.
    """

    part: Part = WHOLE
    limits: tuple[Any, Any] | None = None
    counted: Literal["records", "ranges", "values", "units"] = "records"


@dataclass(frozen=True, slots=True)
class Beyond:
    """Number of records strictly above a value, or strictly below it."""

    value: Any
    above: bool = True


@dataclass(frozen=True, slots=True)
class BeyondShare:
    """The same as a share of what was counted."""

    value: Any
    above: bool = True


@dataclass(frozen=True, slots=True)
class OutsideShare:
    """Share of what was counted that lies strictly below one value or strictly above another."""

    low: Any
    high: Any


@dataclass(frozen=True, slots=True)
class Between:
    """Number of records strictly between a value and the exact statistic."""

    value: Any
    statistic: Statistic


@dataclass(frozen=True, slots=True)
class Digits:
    """The condition that values are below 10^``decades`` in magnitude and have at most ``decimals`` decimals."""

    decades: int
    decimals: int = 0


@dataclass(frozen=True, slots=True)
class InBucket:
    """Number of records in one bucket, by its index; of one group where the population has one."""

    index: Any


@dataclass(frozen=True, slots=True)
class InOthers:
    """The most records in any bucket that is not listed, or with ``higher`` in any above all of the listed ones.

    The indices are those of buckets; without any, all buckets are meant.
    """

    listed: tuple[Any, ...] = ()
    higher: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """The most records by which any released count is too low: of each place, or with ``total`` of all together."""

    total: bool = False


@dataclass(frozen=True, slots=True)
class MissingShare:
    """The share of what was counted that was left out in total."""


@dataclass(frozen=True, slots=True)
class Absent:
    """The most records that any bucket holds which is not in the release."""


@dataclass(frozen=True, slots=True)
class Invented:
    """Number of released buckets, or listed groups, that hold nothing."""


@dataclass(frozen=True, slots=True)
class Touched:
    """Number of units that have more ranges, or different values, than they count with."""


Quantity: TypeAlias = (
    Statistic
    | Beyond
    | BeyondShare
    | OutsideShare
    | Between
    | InBucket
    | InOthers
    | Missing
    | MissingShare
    | Absent
    | Invented
    | Touched
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement about the data: a quantity of a population, between two printed ends, with a confidence.

    Parameters
    ----------
    quantity
        What is claimed: a statistic, or a number of records.
    population
        The values it is claimed of.
    relation
        "is": the quantity of the whole population lies between the ends. "is of the rest": it does for some of the
        data sets in which at most :attr:`lost` records of each released bucket were left out. "is about": an estimate;
        the ends are equal, and nothing is claimed of its error.
    lower, upper
        The printed ends; None where an end is not claimed.
    confidence
        1 where it always holds; else the probability with which it holds.
    strict
        Whether the quantity lies strictly beyond its ends.
    lost
        The most records that are left out of each bucket, for "is of the rest".
    given
        The condition under which the claim is made, where it is made under one.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> Claim(quantity=Max(), lower=300).is_certain
    True
    >>> Claim(quantity=Beyond(860), upper=86, confidence=Fraction(19, 20)).is_certain
    False
    """

    quantity: Quantity
    population: Population = field(default_factory=Population)
    relation: Relation = "is"
    lower: Any = None
    upper: Any = None
    confidence: Fraction = CERTAIN
    strict: bool = False
    lost: int = 0
    given: Digits | None = None

    @property
    def is_certain(self) -> bool:
        """True if the claim holds with probability one."""
        return self.relation != "is about" and self.confidence == CERTAIN
