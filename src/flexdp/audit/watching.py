"""Releases that are watched: every private step with its data, and public outcomes of one release put into another.

For searches on made-up tables: while a :class:`Watch` is on, what is private is kept, so it must never be on while a
table of somebody's is released. Nothing here is reachable from a release.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from flexdp._release import asked_checks, run
from flexdp.mechanisms import Dropping
from flexdp.noise.drop import DropNoise
from flexdp.sharp.count import NoisyCount, TwoSums
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.quantile import ExponentialQuantile

__all__ = ["Apart", "Place", "Step", "Watch", "same_step", "watched"]

_DRAWN = (NoisyCount, TwoSums, Ladder, ExponentialQuantile)
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
