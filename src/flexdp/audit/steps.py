"""Releases that are watched, and the worst likelihood ratio of each private step between the two sides.

A :class:`Watch` notes every private step of a release with its data, and puts the public outcomes of one release into
another. It is for searches on made-up tables: while one is on, what is private is kept, so it must never be on while a
table of somebody's is released. Nothing here is reachable from a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flexdp._core.enclosure import exp_bounds
from flexdp._release import asked_checks, run
from flexdp.mechanisms import Dropping
from flexdp.noise.drop import DropNoise
from flexdp.sharp.automatic import DroppedBars
from flexdp.sharp.count import NoisyCount, TwoSums
from flexdp.sharp.cut import Cut
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.ranks import Window

__all__ = ["Apart", "Loss", "Place", "Step", "Watch", "same_step", "step_loss", "watched"]

_DRAWN = (NoisyCount, TwoSums, Ladder, Cut)
Place = tuple[Hashable, int]  # the group whose steps these are, and the number of the step


class Apart(BaseException):  # nothing inside a release may catch it
    """Two releases have taken different steps although all their public outcomes were the same."""


@dataclass(frozen=True, slots=True)
class Step:
    """A private step: its mechanism, whose parameters are public, its private data, and the tables of drops it sampled.

    Each side draws, although only the outcomes of one count: what a draw does may depend on data, too.
    """

    mechanism: Any
    data: Any
    tables: list[DropNoise] = field(default_factory=list)


class Watch:
    """The steps of one release.

    Parameters
    ----------
    before : Watch, optional
        The steps of another release, whose outcomes are put in here; without it noise is drawn.
    """

    def __init__(self, before: Watch | None = None) -> None:
        self.steps: dict[Place, Step] = {}
        self.outcomes: dict[Place, Any] = {}
        self._before = before
        self._group: Hashable = None
        self._inside: Step | None = None
        self._salts = 0

    def step(self, mechanism: Any, data: Any, draw: Callable[[], Any]) -> Any:
        """Note a step and return its outcome."""
        if self._inside is not None:  # a part of another step
            return draw()
        place = (self._group, sum(group == self._group for group, _ in self.steps))
        step = self.steps[place] = self._inside = Step(mechanism, data)
        try:
            drawn = draw()
        finally:
            self._inside = None
        if self._before is not None:
            drawn = self._before.outcome(place, step)
        self.outcomes[place] = drawn
        return drawn

    def outcome(self, place: Place, step: Step) -> Any:
        """Return the outcome of a step for the other side, which must be at the same one."""
        own = self.steps.get(place)
        if own is None or place not in self.outcomes:
            raise Apart(f"goes on to step {place[1] + 1}, {type(step.mechanism).__name__}")
        if not same_step(own, step):
            raise Apart(f"has other parameters in step {place[1] + 1}, {type(step.mechanism).__name__}")
        return self.outcomes[place]

    def sampled(self, table: DropNoise) -> None:
        """Note that a step samples a table of drops, however often: that may depend on the data."""
        if self._inside is not None and table not in self._inside.tables:
            self._inside.tables.append(table)

    def among(self, group: Hashable) -> None:
        """Say whose steps come next: groups may be read in any order."""
        self._group = group

    def salt(self) -> str:
        """Return the same salts in the same order for every release: they are drawn without looking at data."""
        self._salts += 1
        return f"{self._salts:032x}"


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Release under watch; every place where something private becomes public is replaced meanwhile."""
    thin, dropped = Dropping.thin, DropNoise._draw
    listed, groups_of = asked_checks._listed, asked_checks._groups_of

    def thinned(self: Dropping, private: Any) -> Any:
        return watch.step(self, _counts(private), lambda: thin(self, private))

    def sampled(self: DropNoise, *given: Any) -> Any:
        watch.sampled(self)
        return dropped(self, *given)

    def listed_once(ranks: Any, spec: Any, listing: Any) -> Any:
        return watch.step(listing, _counts(ranks.group_counts()), lambda: listed(ranks, spec, listing))

    def group_by_group(*given: Any) -> Iterator[Any]:
        for group, ranks in groups_of(*given):
            watch.among(group)
            yield group, ranks
        watch.among(None)

    places: list[tuple[Any, str, Any]] = [
        *((mechanism, "draw", _noting(watch, mechanism.draw)) for mechanism in _DRAWN),
        (Dropping, "thin", thinned),
        (DropNoise, "_draw", sampled),
        (run, "fresh_salt", watch.salt),
        (asked_checks, "_listed", listed_once),
        (asked_checks, "_groups_of", group_by_group),
    ]
    former = [getattr(owner, name) for owner, name, _ in places]
    try:
        for owner, name, instead in places:
            setattr(owner, name, instead)
        yield
    finally:
        for (owner, name, _), own in zip(places, former, strict=True):
            setattr(owner, name, own)


def _noting(watch: Watch, draw: Callable[..., Any]) -> Callable[..., Any]:
    def noted(mechanism: Any, data: Any, bits: Any) -> Any:
        return watch.step(mechanism, data, lambda: draw(mechanism, data, bits))

    return noted


def _counts(private: Any) -> dict[tuple[Any, ...], int]:
    return dict(zip(private.rows(slice(None)), private.counts.tolist(), strict=True))


def same_step(one: Step, other: Step) -> bool:
    """Return True if two steps are of the same mechanism, with the same public parameters."""
    tables = [[table.weights for table in step.tables] for step in (one, other)]
    same = one.mechanism == other.mechanism or _public(one.mechanism) == _public(other.mechanism)
    return bool(same) and tables[0] == tables[1]


def _public(value: Any) -> Any:
    """The parameters of a mechanism as values that can be compared."""
    if isinstance(value, Mapping):
        return {key: _public(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_public(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), [_public(getattr(value, each.name)) for each in fields(value)]
    if callable(value) or isinstance(value, str | bytes | int | float | None) or hasattr(value, "numerator"):
        return value
    names = [*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ())]
    return type(value), {name: _public(getattr(value, name, None)) for name in names}


_ROUNDING = Fraction(1, 10**30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What one step tells two data sets apart by.

    Parameters
    ----------
    epsilon
        The largest logarithm of a likelihood ratio, outcomes of probability ``delta`` aside.
    delta
        Their probability.
    share
        ε of the step for each record by which the data sets differ there: what it may cost at worst.
    fault
        What is more than the step may cost, in words; empty where it keeps to its parameters.
    """

    epsilon: float = 0.0
    delta: Fraction = Fraction(0)
    share: float = 0.0
    fault: str = ""


def step_loss(mechanism: Any, one: Any, other: Any, most: int = 1, tables: Sequence[DropNoise] = ()) -> Loss:
    """Return the worst likelihood ratio of a step between two data sets, one unit apart.

    Parameters
    ----------
    mechanism
        The step.
    one, other
        What it was given on either side.
    most
        The most records with which a unit counts.
    tables
        The tables of drops that were sampled, in their order; by default those of the mechanism.

    Returns
    -------
    Loss
        With a fault where the ratio is above e^ε for each of the unit's records.

    Examples
    --------
    >>> count = NoisyCount(epsilon=Fraction(1, 2))
    >>> step_loss(count, 7, 8), step_loss(count, 7, 9).fault
    (Loss(epsilon=0.5, delta=Fraction(0, 1), share=0.5, fault=''), 'the count moves by 2, and at most 1 is allowed')
    """
    if isinstance(mechanism, Dropping):
        return _dropped(mechanism, one, other, tables)
    if isinstance(mechanism, DroppedBars):
        return _listed(mechanism, one, other, most, tables)
    if isinstance(mechanism, Cut):
        return _chosen(mechanism, one, other, most)
    if isinstance(mechanism, NoisyCount):
        moved, whole, what = abs(one - other), mechanism.sensitivity, "count"
    elif isinstance(mechanism, TwoSums):
        moved, whole, what = sum(abs(a - b) for a, b in zip(one, other, strict=True)), mechanism.cells, "pair of sums"
    else:
        assert isinstance(mechanism, Ladder)
        if len(one) != len(other):
            return Loss(epsilon=math.inf, fault="the rungs are not the same")
        moves = [b - a for a, b in zip(one, other, strict=True)]
        moved, whole, what = max([*moves, 0]) - min([*moves, 0]), 1, "count beyond a rung"
    allowed = whole * most
    fault = f"the {what} moves by {moved}, and at most {allowed} is allowed" if moved > allowed else ""
    loss = float(mechanism.epsilon * moved / whole)
    return Loss(epsilon=loss, share=loss, fault=fault)


def _dropped(
    mechanism: Dropping, one: Mapping[Any, int], other: Mapping[Any, int], tables: Sequence[DropNoise]
) -> Loss:
    """Bars that differ, each by the law of its noise, and the certified total, which is drawn first."""
    noise, certified = tables[-1] if tables else mechanism.noise, mechanism.total_noise
    most, moved = mechanism.max_buckets_per_unit, _moved(one, other)
    total = sum(other.values()) - sum(one.values())
    if len(moved) > most:
        return _apart(f"{len(moved)} buckets differ, and at most {most} may")
    if any(abs(b - a) > 1 for a, b in moved):
        return _apart("a bucket moves by more than one")
    found = [_bar(noise, a, b) for a, b in moved]
    if certified is not None and total:
        certified = tables[0] if len(tables) > 1 else certified
        found.append(_bar(certified, certified.q, certified.q + abs(total)))  # a sum is not clipped
    return _together(found, mechanism.epsilon, mechanism.delta)


def _listed(
    mechanism: DroppedBars, one: Mapping[Any, int], other: Mapping[Any, int], most: int, tables: Sequence[DropNoise]
) -> Loss:
    """Groups that differ; a unit moves them by ``most`` in all."""
    moved = _moved(one, other)
    records = sum(abs(b - a) for a, b in moved)
    if records > most:
        return _apart(f"groups move by {records} in all, and at most {most} is allowed")
    noise = tables[-1] if tables else mechanism.noise
    return _together([_bar(noise, a, b) for a, b in moved], mechanism.epsilon * most, None)


def _moved(one: Mapping[Any, int], other: Mapping[Any, int]) -> list[tuple[int, int]]:
    keys = one.keys() | other.keys()
    return [(one.get(key, 0), other.get(key, 0)) for key in keys if one.get(key, 0) != other.get(key, 0)]


def _apart(fault: str) -> Loss:
    return Loss(epsilon=math.inf, fault=fault)


def _together(parts: Sequence[Loss], epsilon: Fraction, delta: Fraction | None) -> Loss:
    """Independent parts of one step, which may cost so much together."""
    spent = sum(part.epsilon for part in parts)
    missed = 1 - math.prod((1 - part.delta for part in parts), start=Fraction(1))
    fault = next((part.fault for part in parts if part.fault), "")
    if spent > float(epsilon) * (1 + 1e-9):
        fault = fault or f"its parts cost ε = {spent:.4g} together, and {float(epsilon):.4g} is claimed"
    if delta is not None and missed > delta:
        fault = fault or f"its parts cost δ = {float(missed):.4g} together, and {float(delta):.4g} is claimed"
    return Loss(epsilon=spent, delta=missed, share=spent, fault=fault)


def _bar(noise: DropNoise, a: int, b: int) -> Loss:
    """One bar of a records and of b, by the very table that is sampled."""
    low, high = min(a, b), max(a, b)
    if low > noise.q:  # from there on nothing is clipped, and all pairs are alike
        low, high = noise.q, noise.q + high - low
    steps = high - low
    epsilon = noise.epsilon * steps
    delta = _stick(noise.weights, noise.bits, low, high, epsilon)
    if steps == 1 and delta > noise.delta:
        fault = f"a bar has δ = {float(delta):.4g} at its ε, and {float(noise.delta):.4g} is claimed"
        return Loss(epsilon=float(epsilon), delta=delta, share=float(epsilon), fault=fault)
    return Loss(epsilon=float(epsilon), delta=delta, share=float(epsilon))


@lru_cache(maxsize=4096)
def _stick(weights: tuple[int, ...], bits: int, low: int, high: int, epsilon: Fraction) -> Fraction:
    """An upper bound of the hockey-stick divergence of both laws at ε, the larger direction."""
    growth = exp_bounds(epsilon).lower
    laws: list[dict[int, int]] = []
    for count in (low, high):
        law: dict[int, int] = {}
        for drop, weight in enumerate(weights):
            law[max(0, count - drop)] = law.get(max(0, count - drop), 0) + weight
        laws.append(law)
    excess = [
        sum((max(Fraction(0), p - growth * other.get(kept, 0)) for kept, p in own.items()), Fraction(0))
        for own, other in (laws, laws[::-1])
    ]
    return max(excess) / (1 << bits)


def _chosen(mechanism: Cut, one: Window, other: Window, most: int) -> Loss:
    """All candidates of an exponential mechanism, by its integer weights."""
    (pair,) = mechanism.law(one).beside(mechanism.law(other))
    worst = Fraction(1)
    for row in pair.rows:
        if not row.one or not row.other:
            return _apart("a candidate is possible on one side only")
        worst = max(worst, row.one / row.other, row.other / row.one)
    allowed = exp_bounds(mechanism.epsilon * most).upper * (1 + _ROUNDING)
    loss = math.log(worst.numerator) - math.log(worst.denominator)
    claimed = float(mechanism.epsilon * most)
    fault = "" if worst <= allowed else f"a candidate has a loss of {loss:.4g}, and {claimed:.4g} is claimed"
    records = max(1, abs(one.total - other.total)) if worst > 1 else 0
    return Loss(epsilon=loss, share=float(mechanism.epsilon * records), fault=fault)
