"""Bounds of asked answers in a plan, and their errors in trials."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flexdp._core.text import thousands
from flexdp.planning.options import percent

__all__ = ["AnswerBound", "AskedOption", "ExpectedAnswer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBound:
    """What a release will promise of one answer, with probability 95%.

    Parameters
    ----------
    stat
        "max", "q0.99", "count" or "mean".
    bound
        Most records between the answer and the exact quantile, or beyond the answer; of a count, its error. None where
        no bound is stated, or there are too few records.
    kind
        "between", "above", "below" or "count"; of a mean "share", and ``share`` is the bound.
    share
        The error of a mean as a share of the distance between the ends that values are limited to.
    needs
        The number of records that an answer needs at this ε.
    enough
        True if there are about as many.
    """

    stat: str
    kind: str
    bound: int | None = None
    share: float | None = None
    needs: int
    enough: bool

    def __str__(self) -> str:
        if not self.enough:
            return f"needs {thousands(self.needs)}"
        if self.share is not None:
            return f"± {percent(self.share)} of range"
        if self.bound is None:
            return "–"
        if self.kind == "count":
            return f"± {thousands(self.bound)}"
        return f"≤ {thousands(self.bound)} {'off' if self.kind == 'between' else self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedOption:
    """One ε, with the bounds of all answers.

    Parameters
    ----------
    epsilon
        Privacy loss of everything planned.
    bounds
        One for each answer.
    certainty
        The most certain, in percent, that an observer can become who was 50% sure that a unit is in the data.
    """

    epsilon: Fraction
    bounds: tuple[AnswerBound, ...]
    certainty: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAnswer:
    """Errors of one answer in seeded trials.

    Parameters
    ----------
    stat
        As in :class:`AnswerBound`.
    rank
        Records between the answer and the exact one, on average; None for a mean. Of a count, its error.
    usual_rank
        In 9 of 10 trials there are at most so many.
    error
        Distance of the answer from the exact value in half of the trials at most.
    answered
        Share of the trials with an answer.
    """

    stat: str
    rank: float | None
    usual_rank: int | None
    error: float | None
    answered: float
