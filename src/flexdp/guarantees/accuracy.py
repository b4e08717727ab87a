"""Flexible accuracy as a value, and its sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flexdp._core.display import card, facts, sentence
from flexdp._core.domains import ALPHA, BETA, ETA, GAMMA, Domain, flag
from flexdp._core.exact import Number, float_up, said, upper_text
from flexdp._core.fields import Taken, Value, maybe, param, whole, word
from flexdp._core.text import plain_scalar, plural
from flexdp.distances import Difference, Metric
from flexdp.distances.metrics import metric_given
from flexdp.distortions import Distortion, Drop, DropMove, Move, distortion_given
from flexdp.errors import InputError, P

__all__ = ["Accuracy", "percent_text"]


_DISTANCE = replace(ALPHA, high=None)


def _as_given(_name: str, value: Any) -> Any:
    return value  # checked with the distortion


def _bound(domain: Domain) -> Callable[[str, Any], float]:
    """A bound as a double: doubles as they are, everything else rounded up."""

    highest = math.inf if domain.high is None else float(domain.high)

    def check(name: str, value: Any) -> float:
        if type(value) is float and 0.0 <= value <= highest and value < math.inf:
            return value
        number, given = (
            (domain if domain.name == name else replace(domain, name=name)).check(value),
            plain_scalar(value),
        )
        return given if isinstance(given, float) else float_up(number)

    return check


class Accuracy(Value):
    """(α, β, γ)-accuracy: exact after distorting the input by α and moving the answer by β, except with probability γ.

    Guarantees combine only where their distortions and metrics agree.

    Parameters
    ----------
    alpha
        Distortion of the input: by default, the fraction of records left out. None where no fraction can be certified
        from public knowledge; what is promised then is ``max_drop``.
    beta
        Error of the output; 0 if it is exact for the distorted input.
    gamma
        Chance that the promise fails.
    relative
        True if β is a fraction of the answer's own size.
    max_drop
        Most records that each bucket can have lost.
    moved
        Largest distance by which input values may have been moved before an answer that is exact for them: the promise
        for statistics that no small output error can express.
    unit
        Unit of β, such as "days".
    distortion
        Measure of α: one of :mod:`flexdp.distortions`, or a function of two data sets that is known by its name. Only
        one with an attribute ``fraction`` that is True is read as a fraction of the records; others have any α of at
        least 0.
    metric
        Measure of β: one of :mod:`flexdp.distances`, or a function that has a name.
    counted
        Word for what counts as one: "record", or a privacy unit.
    place
        Words for what can lose ``max_drop`` of them.

    Raises
    ------
    InputError
        A parameter is out of range, or both ``alpha`` and ``max_drop`` are missing.

    Examples
    --------
    >>> print(Accuracy(alpha=.02, beta=2.5))
    Exact after leaving out at most 2% of the records, to within 2.5.
    >>> print(Accuracy(alpha=None, beta=2.5, max_drop=27))
    Exact after leaving out at most 27 records from each bucket, to within 2.5.
    >>> from flexdp.distortions import OwnDistortion
    >>> print(Accuracy(alpha=3, beta=0, distortion=OwnDistortion("swap")))
    Exact after a distortion (swap) of at most 3.
    >>> def swaps(x, y):
    ...     return sum(a != b for a, b in zip(x, y))
    >>> print(Accuracy(alpha=3, distortion=swaps))
    Exact after a distortion (swaps) of at most 3.
    >>> print(Accuracy(alpha="0.02", beta=0, moved="2.5", distortion=DropMove()).priced("0.1"))
    Exact after a distortion (drop-move (η = 0.1)) of at most 0.27.
    >>> print(Accuracy(alpha=.02, beta=2.5).but(alpha=.01, beta=0).of("patient", "each bucket"))
    Exact after leaving out at most 1% of the patients.
    """

    alpha: Taken[Number | None, float | None] = param(_as_given, kw_only=True)
    beta: Taken[Number, float] = param(_bound(BETA), default=0.0, kw_only=True)
    gamma: Taken[Number, float] = param(_bound(GAMMA), default=0.0, kw_only=True)
    relative: bool = param(flag, default=False, kw_only=True)
    max_drop: int | None = param(maybe(whole(0)), default=None, kw_only=True)
    moved: Taken[Number, float] = param(_bound(BETA), default=0.0, kw_only=True)
    unit: str = param(word(), default="", kw_only=True)
    distortion: Taken[Distortion | Callable[[Any, Any], Any], Distortion] = param(
        distortion_given, default=Drop(), kw_only=True
    )
    metric: Taken[Metric | Callable[[Any, Any], Any], Metric] = param(metric_given, default=Difference(), kw_only=True)
    counted: str = param(word(), default="record", kw_only=True)
    place: str = param(word(), default="each bucket", kw_only=True)

    def _check(self) -> dict[str, Any] | None:
        """Check α by its distortion: a fraction is at most 1, a distance any number."""
        if self.alpha is None:
            if self.max_drop is None:
                rule = ("must be a fraction where ", P("max_drop"), " is not given")
                raise InputError("alpha", rule, given="None for both")
            return None
        return {"alpha": _bound(ALPHA if self.distortion.fraction else _DISTANCE)("alpha", self.alpha)}

    def but(self, *, alpha: Number | None, beta: Number, relative: bool | None = None) -> Accuracy:
        """Return a copy with another α and β, where more is known.

        Parameters
        ----------
        alpha, beta
            The new bounds.
        relative
            True if the new β is a fraction of the answer; as before if left out.

        Returns
        -------
        Accuracy
            The copy.
        """
        changed: dict[str, Any] = {"alpha": alpha, "beta": beta}
        if relative is not None:
            changed["relative"] = relative
        return replace(self, **changed)

    def priced(self, eta: Number) -> Accuracy:
        """Return the distortion as one number, α + η·moved, with respect to drop-move at the price η of moving by one.

        Parameters
        ----------
        eta
            η, the price of moving by one; positive, taken exactly.

        Returns
        -------
        Accuracy
            The same promise, which ``max_drop`` no longer tells apart.

        Raises
        ------
        InputError
            α is not known, the distance moved is a fraction of the values, or the distortion is another one.
        """
        price = ETA.check(eta)
        if self.alpha is None or (self.relative and self.moved) or self.distortion not in (Drop(), Move(), DropMove()):
            raise InputError(
                "eta", "needs a known fraction left out and an absolute distance moved", remedy="Leave it out."
            )
        dropped, moved = (0.0, self.alpha) if self.distortion == Move() else (self.alpha, self.moved)
        total = float_up(said(dropped) + price * said(moved))
        return replace(self, alpha=total, moved=0, max_drop=None, distortion=DropMove(price))

    def of(self, counted: str, place: str) -> Accuracy:
        """Return a copy worded for ``counted`` instead of records and ``place`` instead of buckets.

        Parameters
        ----------
        counted
            Word for what counts as one.
        place
            Words for what can lose ``max_drop`` of them.

        Returns
        -------
        Accuracy
            The copy.
        """
        return replace(self, counted=counted, place=place)

    @property
    def relative_beta(self) -> bool:
        """True if β is a fraction of the answer: once values have been moved, ``relative`` refers to those."""
        return self.relative and not self.moved

    @property
    def left_out(self) -> str:
        """Words for the records that may have been left out."""
        if self.distortion == Move():
            return "no record"
        if self.max_drop is None:
            return f"at most {percent_text(self.alpha or 0)} of the {self.counted}s"
        records = f"at most {plural(self.max_drop, self.counted)} from {self.place}"
        share = None if self.alpha is None else percent_text(self.alpha)
        return records if share in (None, "100%") else f"{records} (together at most {share} of them)"

    @property
    def margin(self) -> str:
        """Words for how far the answer, or the values it was computed from, may have been moved."""
        unit = f" {self.unit}" if self.unit else ""
        moving, error = "", ""
        if self.distortion == Move():
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
        if self.alpha is None or self.distortion in (Drop(), Move(), DropMove()):
            return f"Exact after leaving out {self.left_out}{self.margin}{exception}."
        return f"Exact after a distortion ({self.distortion}) of at most {self._alpha_text}{self.margin}{exception}."

    @property
    def _alpha_text(self) -> str:
        if self.alpha is None:
            return "not certified"
        return percent_text(self.alpha) if self.distortion.fraction else upper_text(self.alpha, 6)

    def _repr_html_(self) -> str:
        beta = percent_text(self.beta) if self.relative_beta else upper_text(self.beta, 6)
        pairs = [
            ("α, left out", self._alpha_text),
            ("β, to within", beta),
            ("γ, chance to fail", upper_text(self.gamma)),
        ]
        return card("Accuracy", facts(pairs), sentence(self))


def percent_text(share: float) -> str:
    """Write a fraction as a percentage, rounded up to three digits.

    Parameters
    ----------
    share
        The fraction.

    Returns
    -------
    str
        The percentage.

    Examples
    --------
    >>> percent_text(0.02), percent_text(1 / 3)
    ('2%', '33.4%')
    """
    return f"{upper_text(100 * said(float(share)))}%"
