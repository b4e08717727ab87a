"""A mechanism is a value: what it maps, what it promises, and what a composition needs to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

from flexdp._core.domains import GAMMA, flag, integer
from flexdp._core.exact import Number, float_up, sum_up
from flexdp._core.text import safe_repr
from flexdp.calculus.accuracy import apply_error, compose_accuracy, compose_error, drop_move_accuracy, jumps
from flexdp.calculus.privacy import Relation, post_process, pre_process
from flexdp.calculus.sensitivities import DistortionSensitivity, ErrorSensitivity
from flexdp.errors import InputError
from flexdp.guarantees import HISTOGRAM_DISTANCE, Accuracy, Metric, Privacy

__all__ = ["HISTOGRAMS", "Known", "Mechanism", "Space", "apply_error", "compose"]


@dataclass(frozen=True, slots=True)
class Space:
    """What a mechanism takes or gives, and the metric in which errors on it are measured."""

    name: str
    metric: Metric
    dimensions: int = 1

    def __str__(self) -> str:
        size = "" if self.dimensions == 1 else f" in {self.dimensions} dimensions"
        return f"{self.name}{size} ({self.metric})"


HISTOGRAMS = Space("histograms", HISTOGRAM_DISTANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is publicly known of the input: at least how many records, at most how many bars; and the loss γ."""

    records_at_least: int | None = None
    bars: int | None = None
    gamma: Fraction = Fraction(0)


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """A mechanism for a function, with its guarantees as functions of public knowledge.

    ``accuracy_in`` is its accuracy for its own function; ``sigma`` that function's distortion sensitivity; ``tau``
    its error sensitivity; ``relation`` the neighbours it maps to neighbours; ``bars`` how many bars its output can
    have, if public. ``least_records`` and ``most_bars`` are conditions on its input, on which its guarantees rest where
    the caller says nothing else.

    The rest is what it declares to the mechanism that follows; by default nothing is assumed. ``keeps_records``: the
    output holds as many records as the input; ``records_left``: at least how many it holds, where it may lose some;
    ``adds_bars``: the output may have more bars than the input; ``lossy``: γ is spent; ``identity``: it approximates
    the identity on histograms, so that its error is how far records were moved. ``parts`` are the steps of a chain.
    """

    name: str
    source: Space
    target: Space
    run: Callable[[Any], Any]
    accuracy_in: Callable[[Known], Accuracy]
    sigma: DistortionSensitivity
    tau: Callable[[Known], ErrorSensitivity]
    privacy: Privacy | None = None
    relation: Relation | None = None
    bars: int | None = None
    most_bars: int | None = None
    least_records: int | None = None
    keeps_records: bool = False
    records_left: Callable[[Known], int | None] = lambda _setting: None
    adds_bars: bool = True
    lossy: bool = False
    identity: bool = False
    parts: tuple[Mechanism, ...] = field(default=(), init=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("keeps_records", "adds_bars", "lossy", "identity"):
            object.__setattr__(self, name, flag(name, getattr(self, name)))
        object.__setattr__(self, "parts", (self,))

    def __call__(self, value: Any) -> Any:
        """Run the mechanism."""
        return self.run(value)

    def __rshift__(self, other: Mechanism) -> Mechanism:
        """This mechanism, then the other."""
        return compose(self, other)

    def accuracy(self, *, records_at_least: int | None = None, bars: int | None = None, gamma: Number = 0) -> Accuracy:
        """The accuracy on all inputs of at least so many records (and, if not known from buckets, so many bars).

        ``gamma`` is the chance of failure allowed to the whole chain; mechanisms that spend it have equal shares.
        """
        known = self.least_records if records_at_least is None else integer("records_at_least", records_at_least)
        most = self.most_bars if bars is None else integer("bars", bars)
        return self.accuracy_in(Known(records_at_least=known, bars=most, gamma=GAMMA.check(gamma)))

    def __repr__(self) -> str:
        return f"<{self.name}>"


def compose(first: Mechanism, second: Mechanism) -> Mechanism:
    """``second`` after ``first``, with the privacy and the accuracy that the composition theorems give.

    Spaces must fit when the pipeline is built. Privacy comes from the first private step that sees neighbours where the
    table has neighbours (pre-processing), and holds of all that follows (post-processing); else there is none. A
    condition on the number of records or bars holds of the table only if every step before keeps that number: else
    a conditional privacy is none, and an α that needs the number of records is not known.

    A chain is derived from its steps in order, so that grouping does not matter.
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
    return _chain(*first.parts, *second.parts)


def _chain(*parts: Mechanism) -> Mechanism:
    before = [parts[:i] for i in range(len(parts))]
    bars = [_bars(steps) for steps in before]
    for i, part in enumerate(parts):
        allowed, given = part.most_bars, bars[i]
        if allowed is not None and given is not None and given > allowed:
            raise InputError(
                f"{part.name} is private for at most {allowed} bars, and {parts[i - 1].name} gives up to {given}."
            )

    def run(value: Any) -> Any:
        return reduce(lambda result, part: part.run(result), parts, value)

    def tau(setting: Known) -> ErrorSensitivity:
        settings = _settings(parts, setting)
        found = parts[0].tau(settings[0])
        for i in range(1, len(parts)):
            found = compose_error(found, parts[i].tau(settings[i]), sigma=_sigma(before[i]))
        return found

    least = [
        part.least_records
        for part, steps in zip(parts, before, strict=True)
        if part.least_records is not None and all(step.keeps_records for step in steps)
    ]
    most = [
        part.most_bars
        for part, steps in zip(parts, before, strict=True)
        if part.most_bars is not None and not any(step.adds_bars for step in steps)
    ]
    chain = Mechanism(
        name=" >> ".join(part.name for part in parts),
        source=parts[0].source,
        target=parts[-1].target,
        run=run,
        accuracy_in=lambda setting: _accuracy(parts, setting),
        sigma=_sigma(parts),
        tau=tau,
        privacy=_privacy(parts),
        relation=_relation(parts),
        bars=_bars(parts),
        most_bars=min(most, default=None),
        least_records=max(least, default=None),
        keeps_records=all(part.keeps_records for part in parts),
        records_left=lambda setting: _seen(parts, setting).records_at_least,
        adds_bars=any(part.adds_bars for part in parts),
        lossy=any(part.lossy for part in parts),
        identity=all(part.identity for part in parts),
    )
    object.__setattr__(chain, "parts", parts)
    return chain


def _sigma(parts: tuple[Mechanism, ...]) -> DistortionSensitivity:
    return DistortionSensitivity(bound=lambda alpha: reduce(lambda a, part: part.sigma.bound(a), parts[::-1], alpha))


def _bars(parts: tuple[Mechanism, ...]) -> int | None:
    """The most bars that steps in a row can give, if public."""
    bars: int | None = None
    for part in parts:
        bars = part.bars if part.bars is not None else None if part.adds_bars else bars
    return bars


def _relation(parts: tuple[Mechanism, ...]) -> Relation | None:
    """The neighbours that steps in a row map to neighbours."""
    found = parts[0].relation
    for part in parts[1:]:
        if found is None or part.relation is None or not part.relation[0].covers(found[1]):
            return None
        found = (found[0], part.relation[1])
    return found


def _privacy(parts: tuple[Mechanism, ...]) -> Privacy | None:
    if parts[0].privacy is not None:
        return post_process(parts[0].privacy)
    for i, part in enumerate(parts[1:], 1):
        relation = _relation(parts[:i])
        if relation is None:
            return None
        fits = part.privacy is not None and part.privacy.neighbours.covers(relation[1])
        if part.privacy is not None and fits and (not part.privacy.given or _keeps_condition(parts[:i], part)):
            return post_process(pre_process(part.privacy, relation=relation, keeps_condition=True))
    return None


def _keeps_condition(steps: tuple[Mechanism, ...], private: Mechanism) -> bool:
    """Whether what is known of the number of records and bars of a table is true of what the steps make of it."""
    bars = _bars(steps)
    few = bars is not None and private.most_bars is not None and bars <= private.most_bars
    return all(step.keeps_records for step in steps) and (few or not any(step.adds_bars for step in steps))


def _after(part: Mechanism, setting: Known) -> Known:
    """What is known of the input of the mechanism that follows."""
    records = setting.records_at_least if part.keeps_records else part.records_left(setting)
    bars = part.bars if part.bars is not None else None if part.adds_bars else setting.bars
    return replace(setting, records_at_least=records or None, bars=bars)


def _seen(parts: tuple[Mechanism, ...], setting: Known) -> Known:
    return reduce(lambda known, part: _after(part, known), parts, setting)


def _settings(parts: tuple[Mechanism, ...], setting: Known) -> list[Known]:
    """What each step knows of its input; those that spend γ have equal shares of it."""
    spending = sum(part.lossy for part in parts)
    if spending > 1:
        setting = replace(setting, gamma=_share(setting.gamma, spending))
    return [_seen(parts[:i], setting) for i in range(len(parts))]


def _share(gamma: Fraction, many: int) -> Fraction:
    """A part of γ in fifteen digits, rounded down so far that the sum of that many doubles is not above γ."""
    part = Context(prec=15, rounding=ROUND_FLOOR).divide(Decimal(gamma.numerator), Decimal(gamma.denominator * many))
    share, digit = Fraction(part), Fraction(10) ** (part.adjusted() - 14)
    while share > 0 and reduce(sum_up, [float_up(share)] * many) > float_up(gamma):
        share -= digit
    return share


def _accuracy(parts: tuple[Mechanism, ...], setting: Known) -> Accuracy:
    """The composition theorem, step by step.

    Where a step's error is unbounded, what the last histogram before it had for an error becomes a distortion of the
    input (drop-move), and the steps since then are derived anew.
    """
    settings = _settings(parts, setting)
    found = [parts[0].accuracy_in(settings[0])]
    while len(found) < len(parts):
        i = len(found)
        error = parts[i].tau(settings[i])
        if not jumps(found[-1], error):
            found.append(compose_accuracy(found[-1], error, sigma=_sigma(parts[:i])))
            continue
        last = max((j for j in range(i) if found[j].metric == HISTOGRAM_DISTANCE), default=None)
        if last is None or not found[last].beta or not all(part.identity for part in parts[: last + 1]):
            raise InputError(
                f"{parts[i].name} has no bounded error after {parts[i - 1].name}; drop-move holds only for the error "
                "of a histogram whose records were moved."
            )
        found = [*found[:last], drop_move_accuracy(found[last], metric=found[last].metric)]
    return found[-1]
