"""Computed sensitivities: a number, the case that attains it, and the sentence that says so."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeAlias, TypeVar

from flexdp._core.exact import float_up, number_text
from flexdp.calculus.laws import Law, law_text, point_text

__all__ = ["Computed", "DistortionCase", "ErrorCase", "MetricCase", "Value", "value_text"]

Value: TypeAlias = int | Fraction | float
Case = TypeVar("Case")


@dataclass(frozen=True, slots=True)
class Computed(Generic[Case]):
    """A sensitivity of finitely many points, with the case that attains it; ``float`` rounds it up.

    Parameters
    ----------
    value
        The number: a distance exactly as the metric or distortion returned it, 0, or infinity.
    symbol
        The quantity in the notation of the paper, such as "σ(0.25)".
    witness
        The worst case.

    Examples
    --------
    >>> from flexdp import metric_sensitivity
    >>> doubled = metric_sensitivity(lambda x: 2 * x, range(5), beta=1)
    >>> print(doubled)
    Δ(1) = 2: from x = 0 to x′ = 1 the output goes from 0 to 2.
    >>> doubled.value, doubled.witness.x, float(doubled)
    (2, 0, 2.0)
    """

    value: Value
    symbol: str
    witness: Case = field(repr=False)

    def __float__(self) -> float:
        return float_up(self.value) if isinstance(self.value, Fraction) else float(self.value)

    def __str__(self) -> str:
        return f"{self.symbol} = {value_text(self.value)}: {self.witness}."


@dataclass(frozen=True, slots=True)
class DistortionCase:
    """An input x whose output is distorted to Y, and the least distorted input X that gives Y; None if there is none.

    Parameters
    ----------
    x
        The input.
    y
        The distorted output Y, as points with probabilities.
    by
        The distorted input X, likewise.

    Examples
    --------
    >>> from fractions import Fraction
    >>> print(DistortionCase(0, ((1, Fraction(1)),), None))
    at x = 0 no input has the output 1
    """

    x: Any
    y: Law
    by: Law | None

    def __str__(self) -> str:
        if self.by is None:
            return f"at x = {point_text(self.x)} no input has the output {law_text(self.y)}"
        return f"at x = {point_text(self.x)} the output {law_text(self.y)} takes the input {law_text(self.by)}"


@dataclass(frozen=True, slots=True)
class ErrorCase:
    """An input X of the mechanism, an input X′ close to it, and the best distortion Y of X′ for the function.

    Parameters
    ----------
    x, other, y
        X, X′ and Y, as points with probabilities.

    Examples
    --------
    >>> from fractions import Fraction
    >>> point = ((0, Fraction(1)),)
    >>> print(ErrorCase(point, point, point))
    with X = 0 and X′ = 0 the best Y is 0
    """

    x: Law
    other: Law
    y: Law

    def __str__(self) -> str:
        return f"with X = {law_text(self.x)} and X′ = {law_text(self.other)} the best Y is {law_text(self.y)}"


@dataclass(frozen=True, slots=True)
class MetricCase:
    """Two inputs close to one another, and their outputs.

    Parameters
    ----------
    x, other
        The inputs.
    output, other_output
        Their outputs, as points with probabilities.

    Examples
    --------
    >>> from fractions import Fraction
    >>> print(MetricCase(0, 1, ((0, Fraction(1)),), ((2, Fraction(1)),)))
    from x = 0 to x′ = 1 the output goes from 0 to 2
    """

    x: Any
    other: Any
    output: Law
    other_output: Law

    def __str__(self) -> str:
        way = f"from x = {point_text(self.x)} to x′ = {point_text(self.other)}"
        return f"{way} the output goes from {law_text(self.output)} to {law_text(self.other_output)}"


def value_text(value: Value) -> str:
    """Write a sensitivity: exactly if it is short, "infinite" where there is no bound."""
    return "infinite" if isinstance(value, float) and math.isinf(value) else number_text(value)
