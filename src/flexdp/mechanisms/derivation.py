"""The derivation of an accuracy in words: which σ, τ and α of each step gave which number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flexdp._core.display import card, facts, sentence
from flexdp._core.exact import upper_text
from flexdp._core.text import thousands
from flexdp.calculus.compose import Known, Step
from flexdp.guarantees import Accuracy, percent_text

__all__ = ["Derivation", "Derived", "derive"]

_COLUMNS = ("step", "known of its input", "own distortion α", "of the table, σ(α)", "error, τ", "so far")


@dataclass(frozen=True, slots=True)
class Derived:
    """One step of a derivation: what is promised before and after it, and what the step contributed.

    Parameters
    ----------
    name
        Name of the step.
    known
        What is known of its input.
    step
        The step as composition sees it.
    carried
        σ(α): its own distortion as one of the table, through the functions of all earlier steps; None where its α is
        not known, infinite where σ is.
    before, after
        The accuracy before the step and after it.
    moved
        True if a later function jumps, so that the error up to here became a distortion: records that were moved.

    Examples
    --------
    >>> from flexdp.mechanisms import Bucketing
    >>> Bucketing(width=5).explain().steps[0].after.beta
    2.5
    """

    name: str
    known: Known
    step: Step
    carried: float | None
    before: Accuracy
    after: Accuracy
    moved: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """The step in words, a cell for each column of the table."""
        own = "not known" if self.step.alpha is None else _alpha(self.step.alpha, self.step.distortion.fraction)
        if self.step.max_drop is not None:
            own += f", {self.step.max_drop} of each bucket"
        fraction = self.after.distortion.fraction
        of_table = "not known" if self.carried is None else _alpha(self.carried, fraction)
        error = f"{_error(self.before)} → {_error(self.after)}"
        if self.moved:
            error += ", a move instead: a later function jumps"
        if self.after.gamma:
            error += f", γ = {upper_text(self.after.gamma)}"
        return self.name, _knowledge(self.known), own, of_table, error, _promise(self.after)


@dataclass(frozen=True, slots=True)
class Derivation:
    """An accuracy and how it was derived, step by step; ``print`` shows it as a table.

    Parameters
    ----------
    steps
        What each step contributed, in order.
    accuracy
        The guarantee of all steps together.

    Examples
    --------
    >>> from flexdp.mechanisms import Bucketing, Dropping, ReadOff
    >>> from flexdp.statistics import Max
    >>> mechanism = Bucketing(width=5, bounds=(0, 120)) >> Dropping(1, "1e-6") >> ReadOff(Max())
    >>> found = mechanism.explain(records_at_least=64_800)
    >>> [(each.name, each.carried, each.after.beta) for each in found.steps]
    [('Bucketing', 0.0, 2.5), ('Dropping', 0.01, 2.5), ('ReadOff(maximum)', 0.0, 2.5)]
    """

    steps: tuple[Derived, ...]
    accuracy: Accuracy

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The derivation as rows of words, under a row of headings."""
        return (_COLUMNS, *(each.cells for each in self.steps))

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.table, strict=True)]
        rows = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in self.table]
        return "\n".join([*(row.rstrip() for row in rows), "", str(self.accuracy)])

    def _repr_html_(self) -> str:
        rows = [(f"{cells[0]}", "; ".join(cells[1:])) for cells in self.table[1:]]
        return card("Derivation", facts(rows), sentence(self.accuracy))


def derive(
    names: Sequence[str],
    known: Known,
    steps: Sequence[Step],
    carried: Sequence[float | None],
    found: Sequence[Accuracy],
) -> Derivation:
    """Put the parts of a derivation side by side; ``found`` has one accuracy before each step and one at the end."""
    seen = [known, *(step.after for step in steps[:-1])]
    moved = [after.moved > before.moved for before, after in pairwise(found)]
    rows = zip(names, seen, steps, carried, found, found[1:], moved, strict=False)
    return Derivation(tuple(Derived(*row) for row in rows), found[-1])


def _alpha(alpha: float, fraction: bool) -> str:
    if math.isinf(alpha):
        return "no bound"
    return percent_text(alpha) if fraction else upper_text(alpha, 6)


def _error(told: Accuracy) -> str:
    return percent_text(told.beta) if told.relative_beta else upper_text(told.beta, 6)


def _knowledge(known: Known) -> str:
    least, most = known.records_at_least, known.bars
    words = [] if least is None else [f"≥ {thousands(least)} records"]
    words += [] if most is None else [f"≤ {thousands(most)} buckets"]
    return ", ".join(words) or "nothing"


def _promise(told: Accuracy) -> str:
    share = "α not known" if told.alpha is None else f"α = {_alpha(told.alpha, told.distortion.fraction)}"
    moved = f", moved by {percent_text(told.moved) if told.relative else upper_text(told.moved, 6)}"
    return f"{share}{moved if told.moved else ''}, β = {_error(told)}"
