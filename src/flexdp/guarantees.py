"""What is promised: privacy to the people in the data, accuracy to the people who read the answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from flexdp._core.domains import ALPHA, BETA, DELTA, EPSILON, GAMMA, Domain, flag, integer, text
from flexdp._core.exact import Number, float_up, said, upper_text
from flexdp._core.text import plain_scalar, plural
from flexdp.errors import InputError

__all__ = [
    "DIFFERENCE",
    "DROP",
    "DROP_MOVE",
    "HAUSDORFF",
    "HISTOGRAM_DISTANCE",
    "MOVE",
    "ONE_RECORD",
    "Accuracy",
    "Privacy",
]

DROP, MOVE, DROP_MOVE = "drop", "move", "drop-move"  # distortions of the input
DIFFERENCE, HAUSDORFF, HISTOGRAM_DISTANCE = "absolute difference", "Hausdorff", "W∞ of the normalised histograms"

ONE_RECORD = "add or remove one record"
PURE_DELTA = replace(DELTA, low=Fraction(0))  # a guarantee, unlike a mechanism of ours, may have δ = 0


@dataclass(frozen=True, init=False, slots=True)
class Privacy:
    """(ε, δ)-differential privacy under a relation of neighbours, by default adding or removing one record.

    ``given`` is the public knowledge without which it does not hold, empty where there is no such condition.
    ``delta_real``, where known, is the smaller δ that a mechanism has in fact when δ was asked for.

    >>> print(Privacy(epsilon=1, delta="1e-6").odds)
    an observer who was 50% sure that a given record is in the data is at most 73.2% sure afterwards
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: str
    given: str
    delta_real: Fraction | None = field(compare=False)

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        neighbours: str = ONE_RECORD,
        given: str = "",
        delta_real: Number | None = None,
    ) -> None:
        object.__setattr__(self, "epsilon", EPSILON.check(epsilon))
        object.__setattr__(self, "delta", PURE_DELTA.check(delta))
        object.__setattr__(self, "neighbours", text("neighbours", neighbours))
        object.__setattr__(self, "given", text("given", given))
        real = None if delta_real is None else replace(PURE_DELTA, name="delta_real").check(delta_real)
        if real is not None and real > self.delta:
            raise InputError(f"delta_real must be at most delta; got {upper_text(real)} and {upper_text(self.delta)}.")
        object.__setattr__(self, "delta_real", real)

    @property
    def certainty(self) -> str:
        """How sure, in percent, an observer can become who was 50% sure, rounded up: 100·e^ε/(1+e^ε)."""
        return f"{_certainty(self.epsilon)}%"

    @property
    def unit(self) -> str:
        """Whose presence is protected: a record, or what the neighbours differ by."""
        start = "add or remove one "
        return self.neighbours.removeprefix(start) if self.neighbours.startswith(start) else "record"

    @property
    def odds(self) -> str:
        """ε in words: how sure an observer who was undecided can become, rounded up."""
        return (
            f"an observer who was 50% sure that a given {self.unit} is in the data is at most "
            f"{self.certainty} sure afterwards"
        )

    def __str__(self) -> str:
        epsilon, delta = upper_text(self.epsilon, 6), upper_text(self.delta)
        exception = f", except with chance {delta}" if self.delta else ""
        condition = f" {self.given}" if self.given else ""
        if self.delta_real is not None and self.delta_real < self.delta:
            delta = f"{delta} (in fact at most {upper_text(self.delta_real)})"
        return f"ε = {epsilon}, δ = {delta} for each {self.unit}{condition}: {self.odds}{exception}."

    def _repr_html_(self) -> str:
        from flexdp._core.display import card, sentence

        epsilon, delta = upper_text(self.epsilon, 6), upper_text(self.delta)
        return card(f"Privacy: ε = {epsilon}, δ = {delta}", sentence(self))


def _certainty(epsilon: Fraction) -> str:
    """100·e^ε/(1+e^ε) in percent, rounded up, with as many digits as it takes to stay below 100, or nine."""
    context = Context(prec=60)
    exponent = context.divide(Decimal(-epsilon.numerator), Decimal(epsilon.denominator))
    doubt = context.exp(max(exponent, Decimal(-100)))
    percent = context.divide(Decimal(100), context.add(Decimal(1), doubt))
    for digits in range(1, 10):  # further nines tell nobody anything
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
    ``counted`` is what counts as one ("record", or a privacy unit) and ``place`` what can lose ``max_drop`` of them.
    ``distortion`` and ``metric`` say what α and β are measured in; guarantees combine only where these agree.

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
    distortion: str
    metric: str
    counted: str
    place: str

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
        distortion: str = DROP,
        metric: str = DIFFERENCE,
        counted: str = "record",
        place: str = "each bucket",
    ) -> None:
        if alpha is None and max_drop is None:
            raise InputError("alpha must be a fraction where max_drop is not given; got None for both.")
        distortion = text("distortion", distortion)
        share = ALPHA if distortion != MOVE else replace(ALPHA, high=None)  # a distance, not a fraction
        object.__setattr__(self, "alpha", None if alpha is None else _stored(share, alpha))
        object.__setattr__(self, "beta", _stored(BETA, beta))
        object.__setattr__(self, "gamma", _stored(GAMMA, gamma))
        object.__setattr__(self, "relative", flag("relative", relative))
        object.__setattr__(self, "max_drop", None if max_drop is None else integer("max_drop", max_drop, at_least=0))
        object.__setattr__(self, "moved", _stored(BETA, moved))
        object.__setattr__(self, "unit", text("unit", unit))
        object.__setattr__(self, "distortion", distortion)
        object.__setattr__(self, "metric", text("metric", metric))
        object.__setattr__(self, "counted", text("counted", counted))
        object.__setattr__(self, "place", text("place", place))

    def but(self, *, alpha: Number | None, beta: Number, relative: bool | None = None) -> Accuracy:
        """The same guarantee with another α and β, where more is known."""
        changed: dict[str, Any] = {"alpha": alpha, "beta": beta}
        if relative is not None:
            changed["relative"] = relative
        return replace(self, **changed)

    def of(self, counted: str, place: str) -> Accuracy:
        """The same guarantee, told of other things than records and of other places than buckets."""
        return replace(self, counted=counted, place=place)

    @property
    def relative_beta(self) -> bool:
        """Whether β is a fraction of the answer: once values have been moved, ``relative`` speaks of those."""
        return self.relative and not self.moved

    @property
    def left_out(self) -> str:
        """What may have been left out, in words."""
        if self.distortion == MOVE:
            return "no record"
        if self.max_drop is None:
            return f"at most {percent_text(self.alpha or 0)} of the {self.counted}s"
        records = f"at most {plural(self.max_drop, self.counted)} from {self.place}"
        share = None if self.alpha is None else percent_text(self.alpha)
        return records if share in (None, "100%") else f"{records} (together at most {share} of them)"

    @property
    def margin(self) -> str:
        """How far the answer, or the values it was computed from, may have been moved, in words."""
        unit = f" {self.unit}" if self.unit else ""
        moving, error = "", ""
        if self.distortion == MOVE:
            moving = f" and moving every value by at most {upper_text(self.alpha or 0.0, 6)}{unit}"
        elif self.moved and self.relative:
            moving = f" and moving every value to its bucket's centre, at most {percent_text(self.moved)} of it away"
        elif self.moved:
            moving = f" and moving every value by at most {upper_text(self.moved, 6)}{unit}"
        if self.beta and self.relative_beta:
            error = f", to within {percent_text(self.beta)} of the value shown"
        elif self.beta:
            error = f", to within {upper_text(self.beta, 6)}{unit}"
        return moving + error

    def __str__(self) -> str:
        exception = f", except with probability {upper_text(self.gamma)}" if self.gamma else ""
        return f"Exact after leaving out {self.left_out}{self.margin}{exception}."

    def _repr_html_(self) -> str:
        from flexdp._core.display import card, facts, sentence

        share = "not certified" if self.alpha is None else percent_text(self.alpha)
        if self.distortion == MOVE and self.alpha is not None:
            share = upper_text(self.alpha, 6)
        beta = percent_text(self.beta) if self.relative_beta else upper_text(self.beta, 6)
        pairs = [("α, left out", share), ("β, to within", beta), ("γ, chance to fail", upper_text(self.gamma))]
        return card("Accuracy", facts(pairs), sentence(self))


def _stored(domain: Domain, value: Number) -> float:
    """A bound as a double: doubles as they are, everything else rounded up."""
    number, given = domain.check(value), plain_scalar(value)
    return given if isinstance(given, float) else float_up(number)


def percent_text(share: float) -> str:
    """A fraction as a percentage, rounded up to three digits.

    >>> percent_text(0.02), percent_text(1 / 3)
    ('2%', '33.4%')
    """
    return f"{upper_text(100 * said(float(share)))}%"
