"""A mechanism is a value: what it maps, what it promises, and what a composition needs to know of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flexdp._core.domains import GAMMA, integer
from flexdp._core.exact import Number, sum_up
from flexdp._core.text import safe_repr
from flexdp.calculus.accuracy import (
    DistortionSensitivity,
    ErrorSensitivity,
    compose_accuracy,
    drop_move_accuracy,
    post_process,
    pre_process,
)
from flexdp.errors import InputError
from flexdp.guarantees import HISTOGRAM_DISTANCE, Accuracy, Privacy

__all__ = ["HISTOGRAMS", "Mechanism", "Setting", "Space", "apply_error", "compose"]


@dataclass(frozen=True, slots=True)
class Space:
    """What a mechanism takes or gives, and the metric in which errors on it are measured."""

    name: str
    metric: str
    dimensions: int = 1

    def __str__(self) -> str:
        size = "" if self.dimensions == 1 else f" in {self.dimensions} dimensions"
        return f"{self.name}{size} ({self.metric})"


HISTOGRAMS = Space("histograms", HISTOGRAM_DISTANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is publicly known of the input: at least how many records, at most how many bars; and the loss γ."""

    records_at_least: int | None = None
    bars: int | None = None
    gamma: Fraction = Fraction(0)


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """A mechanism for a function, with its guarantees as functions of public knowledge.

    ``accuracy_in`` is its accuracy for its own function; ``sigma`` that function's distortion sensitivity; ``tau``
    its error
    sensitivity; ``relation`` the neighbours it maps to neighbours; ``bars`` how many bars its output can have, if
    public.
    """

    name: str
    source: Space
    target: Space
    run: Callable[[Any], Any]
    accuracy_in: Callable[[Setting], Accuracy]
    sigma: DistortionSensitivity
    tau: Callable[[Setting], ErrorSensitivity]
    privacy: Privacy | None = None
    relation: tuple[str, str] | None = None
    bars: int | None = None
    most_bars: int | None = None

    def __call__(self, value: Any) -> Any:
        """Run the mechanism."""
        return self.run(value)

    def __rshift__(self, other: Mechanism) -> Mechanism:
        """This mechanism, then the other."""
        return compose(self, other)

    def accuracy(self, *, records_at_least: int | None = None, bars: int | None = None, gamma: Number = 0) -> Accuracy:
        """The accuracy on all inputs of at least so many records (and, if not known from buckets, so many bars)."""
        known = None if records_at_least is None else integer("records_at_least", records_at_least)
        most = None if bars is None else integer("bars", bars)
        return self.accuracy_in(Setting(records_at_least=known, bars=most, gamma=GAMMA.check(gamma)))

    def __repr__(self) -> str:
        return f"<{self.name}>"


def compose(first: Mechanism, second: Mechanism) -> Mechanism:
    """``second`` after ``first``, with the privacy and the accuracy that the composition theorems give.

    Spaces must fit when the pipeline is built. Privacy comes from the first if it is private (post-processing), else
    from the second if the first maps neighbours to neighbours (pre-processing); else there is none.
    """
    for part in (first, second):
        if not isinstance(part, Mechanism):
            raise InputError(f"only mechanisms compose; got {safe_repr(part)}. Read a statistic off with ReadOff(…).")
    if first.target != second.source:
        raise InputError(
            f"{second.name} takes {second.source}, and {first.name} gives {first.target}; they must be the same."
        )
    if any(part.sigma.theta or part.sigma.omega for part in (first, second)):
        raise InputError("a relaxed distortion sensitivity does not compose with >>; use calculus.compose_accuracy.")
    if second.most_bars is not None and first.bars is not None and first.bars > second.most_bars:
        raise InputError(
            f"{second.name} is private for at most {second.most_bars} bars, and {first.name} gives up to {first.bars}."
        )
    if first.privacy is not None:
        privacy: Privacy | None = post_process(first.privacy)
    elif second.privacy is not None:
        privacy = pre_process(second.privacy, relation=first.relation)
    else:
        privacy = None
    relation = None
    if first.relation and second.relation and first.relation[1] == second.relation[0]:
        relation = (first.relation[0], second.relation[1])

    def accuracy_in(setting: Setting) -> Accuracy:
        return apply_error(first.accuracy_in(setting), second.tau(_seen(first, setting)), sigma=first.sigma)

    def tau(setting: Setting) -> ErrorSensitivity:
        one, two = first.tau(setting), second.tau(_seen(first, setting))
        shared = None if one.alpha is None or two.alpha is None else sum_up(one.alpha, first.sigma.bound(two.alpha))
        lost = None if two.merges else one.max_drop
        unlike = (one.relative and not two.scales) or (two.relative and not one.relative and one.bound(0.0) > 0)
        return ErrorSensitivity(
            alpha=shared,
            gamma=sum_up(one.gamma, two.gamma),
            bound=lambda beta: math.inf if unlike else two.bound(one.bound(beta)),
            metric=two.metric,
            takes=one.takes,
            max_drop=lost if two.max_drop is None else two.max_drop + (lost or 0),
            scales=one.scales and two.scales,
            relative=one.relative or two.relative,
            merges=one.merges or two.merges,
        )

    return Mechanism(
        name=f"{first.name} >> {second.name}",
        source=first.source,
        target=second.target,
        run=lambda value: second.run(first.run(value)),
        accuracy_in=accuracy_in,
        sigma=DistortionSensitivity(bound=lambda alpha: first.sigma.bound(second.sigma.bound(alpha))),
        tau=tau,
        privacy=privacy,
        relation=relation,
        bars=second.bars if second.bars is not None else first.bars if second.target == first.target else None,
    )


def _seen(first: Mechanism, setting: Setting) -> Setting:
    """What is known of the input of the mechanism that follows."""
    return setting if first.bars is None else replace(setting, bars=first.bars)


def apply_error(before: Accuracy, error: ErrorSensitivity, *, sigma: DistortionSensitivity) -> Accuracy:
    """The composition theorem where the error stays bounded; else the drop-move theorem, and then the composition.

    An error is unbounded where the function jumps, or where it is relative to the values and the function mixes them.
    """
    mixed = before.beta and before.relative_beta and not error.scales
    if mixed or math.isinf(error.bound(before.beta)):
        before = drop_move_accuracy(before, metric=before.metric)
    return compose_accuracy(before, error, sigma=sigma)
