"""What is promised: privacy to the people in the data, accuracy to the people who read the answer."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from flexdp._parameters import ALPHA, BETA, DELTA, EPSILON, GAMMA, Number, float_up, upper_text
from flexdp.errors import InputError

__all__ = ["Accuracy", "Privacy"]


@dataclass(frozen=True, init=False, slots=True)
class Privacy:
    """(ε, δ)-differential privacy under adding or removing one unit, here one record.

    >>> print(Privacy(epsilon=1, delta="1e-6").odds)
    an observer who was 50% sure that a given record is in the data is at most 73.2% sure afterwards
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, *, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "epsilon", EPSILON.check(epsilon))
        object.__setattr__(self, "delta", DELTA.check(delta))

    @property
    def odds(self) -> str:
        """ε in words: how sure an observer who was undecided can become, rounded up."""
        return (
            f"an observer who was 50% sure that a given record is in the data is at most "
            f"{_certainty(self.epsilon)}% sure afterwards"
        )

    def __str__(self) -> str:
        epsilon, delta = upper_text(self.epsilon, 6), upper_text(self.delta)
        return f"ε = {epsilon}, δ = {delta} for each record: {self.odds}, except with chance {delta}."


def _certainty(epsilon: Fraction) -> str:
    """100·e^ε/(1+e^ε) in percent, rounded up, with as many digits as it takes to stay below 100."""
    context = Context(prec=60)
    exponent = context.divide(Decimal(-epsilon.numerator), Decimal(epsilon.denominator))
    doubt = context.exp(max(exponent, Decimal(-100)))  # beyond that, more nines tell nobody anything
    percent = context.divide(Decimal(100), context.add(Decimal(1), doubt))
    for digits in range(1, 50):
        rounded = percent.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING, context=context)
        if rounded < 100:
            return f"{rounded.normalize():f}"
    return "100"


@dataclass(frozen=True, init=False, slots=True)
class Accuracy:
    """(α, β, γ)-accuracy: exact after leaving out a fraction α and moving the answer by β, except with chance γ.

    ``alpha`` is None where no fraction can be certified from public knowledge; what is then promised is
    ``max_drop``, the most records that each bucket can have lost. ``relative`` says that β is a fraction of the
    answer's own size. ``moved`` is how far input values may have been moved before an answer that is exact for
    them, the promise for statistics that no small output error can express. ``unit`` is what β counts in ("days").

    >>> print(Accuracy(alpha=.02, beta=2.5))
    Exact after leaving out at most 2% of the records, to within 2.5.
    >>> print(Accuracy(alpha=None, beta=2.5, max_drop=27))
    Exact after leaving out at most 27 records from each bucket, to within 2.5.
    """

    alpha: float | None
    beta: float
    gamma: float
    relative: bool
    max_drop: int | None
    moved: float
    unit: str

    def __init__(
        self,
        *,
        alpha: Number | None,
        beta: Number,
        gamma: Number = 0,
        relative: bool = False,
        max_drop: int | None = None,
        moved: Number = 0,
        unit: str = "",
    ) -> None:
        if alpha is None and max_drop is None:
            raise InputError("alpha must be a fraction where max_drop is not given; got None for both.")
        object.__setattr__(self, "alpha", None if alpha is None else float_up(ALPHA.check(alpha)))
        object.__setattr__(self, "beta", float_up(BETA.check(beta)))
        object.__setattr__(self, "gamma", float_up(GAMMA.check(gamma)))
        object.__setattr__(self, "relative", relative)
        object.__setattr__(self, "max_drop", max_drop)
        object.__setattr__(self, "moved", float_up(BETA.check(moved)))
        object.__setattr__(self, "unit", unit)

    @property
    def left_out(self) -> str:
        """What may have been left out, in words."""
        if self.max_drop is None:
            return f"at most {percent_text(self.alpha or 0)} of the records"
        records = f"at most {self.max_drop} record{'' if self.max_drop == 1 else 's'} from each bucket"
        share = None if self.alpha is None else percent_text(self.alpha)
        return records if share in (None, "100%") else f"{records} (together at most {share} of them)"

    @property
    def margin(self) -> str:
        """How far the answer, or the values it was computed from, may have been moved, in words."""
        unit = f" {self.unit}" if self.unit else ""
        if self.moved:
            if self.relative:
                return f" and moving every value to its bucket's centre, at most {percent_text(self.moved)} of it away"
            return f" and moving every value by at most {upper_text(self.moved, 6)}{unit}"
        if not self.beta:
            return ""
        if self.relative:
            return f", to within {percent_text(self.beta)} of the value shown"
        return f", to within {upper_text(self.beta, 6)}{unit}"

    def __str__(self) -> str:
        exception = f", except with probability {upper_text(Fraction(self.gamma))}" if self.gamma else ""
        return f"Exact after leaving out {self.left_out}{self.margin}{exception}."


def percent_text(share: float) -> str:
    """A fraction as a percentage, rounded up to three digits.

    >>> percent_text(0.02), percent_text(1 / 3)
    ('2%', '33.4%')
    """
    return f"{upper_text(Fraction(repr(float(share))) * 100)}%"
