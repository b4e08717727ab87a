"""Programs of several private steps: written once, then run with random bits or enumerated exactly.

A program is a generator. It yields a :class:`~flexdp.sharp.ranks.Request`, and is sent the reply; or it yields a
:class:`Draw`, and is sent the outcome, which is public. Everything it decides, it decides on public outcomes; private
replies only travel into the draws. :func:`run` draws from bits, one statement a request; :func:`enumerate_paths`
follows every outcome with its exact probability through the same code, which is how tests check whole chains.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from flexdp.noise.bits import Bits
from flexdp.sharp.count import NoisyCount, TwoSums
from flexdp.sharp.ranks import Ranks, Request

__all__ = ["Cost", "Draw", "Mechanism", "Path", "Program", "Ran", "enumerate_paths", "run", "spent"]

T = TypeVar("T")


class Mechanism(Protocol):
    """One private step."""

    @property
    def epsilon(self) -> Fraction:
        """Privacy cost of the step."""

    def draw(self, data: Any, bits: Bits, /) -> Any:
        """Draw its outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Privacy cost of one step, and the records it applies to.

    Steps of one ``stage`` with different ``part`` use disjoint records and cost as much as the dearest part; stages,
    and steps of one part, add up.
    """

    name: str
    epsilon: Fraction
    stage: Hashable
    part: Hashable
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Draw:
    """A step to be drawn: the mechanism, its private data, and what it costs.

    Parameters
    ----------
    mechanism : Mechanism
        The private step.
    data : object
        What its ``draw`` and ``law`` take; private.
    name : str
        For the account.
    stage, part : hashable, optional
        See :class:`Cost`; without them, all records.
    """

    mechanism: Mechanism
    data: Any
    name: str
    stage: Hashable = None
    part: Hashable = None

    @property
    def cost(self) -> Cost:
        """The public entry in the account."""
        delta = getattr(self.mechanism, "delta", Fraction(0))
        return Cost(name=self.name, epsilon=self.mechanism.epsilon, stage=self.stage, part=self.part, delta=delta)

    def __repr__(self) -> str:
        return f"<Draw {self.name}>"  # its data is private


Program: TypeAlias = Generator[Request | Draw, Any, T]


@dataclass(frozen=True, slots=True)
class Ran(Generic[T]):
    """The public result of a program and the account of its steps."""

    value: T
    costs: tuple[Cost, ...]

    @property
    def spent(self) -> Fraction:
        """The ε of all steps together."""
        return spent(self.costs)


@dataclass(frozen=True, slots=True)
class Path(Generic[T]):
    """One way that a program can take: its public outcomes, their probability, its result and account."""

    outcomes: tuple[Any, ...]
    chance: Fraction
    value: T
    costs: tuple[Cost, ...]


def spent(costs: Iterable[Cost]) -> Fraction:
    """Add up an account: over stages, the dearest part of each.

    Parameters
    ----------
    costs : iterable of Cost
        The entries.

    Returns
    -------
    Fraction
    """
    parts: dict[Hashable, dict[Hashable, Fraction]] = {}
    for cost in costs:
        stage = parts.setdefault(cost.stage, {})
        stage[cost.part] = stage.get(cost.part, Fraction(0)) + cost.epsilon
    return sum((max(stage.values()) for stage in parts.values()), Fraction(0))


def run(program: Program[T], ranks: Ranks, bits: Bits) -> Ran[T]:
    """Run a program on a column.

    Parameters
    ----------
    program : generator
        The program, not yet started.
    ranks : Ranks
        The private column.
    bits : Bits
        The source of randomness.

    Returns
    -------
    Ran
    """
    costs: list[Cost] = []
    answer: Any = None
    while True:
        try:
            step = program.send(answer)
        except StopIteration as end:
            return Ran(end.value, tuple(costs))
        if isinstance(step, Request):
            answer = ranks.fetch(step)
        else:
            costs.append(step.cost)
            answer = step.mechanism.draw(step.data, bits)


def enumerate_paths(make: Callable[[], Program[T]], ranks: Ranks, counts: Iterable[int] = ()) -> Iterator[Path[T]]:
    """Follow every outcome of a program on small data, with exact probabilities.

    Parameters
    ----------
    make : callable
        Starts the program anew.
    ranks : Ranks
        The private column.
    counts : iterable of int, optional
        The outcomes of noisy counts to follow; there are infinitely many.

    Yields
    ------
    Path
    """
    shown = tuple(counts)
    open_paths: list[tuple[tuple[Any, ...], Fraction]] = [((), Fraction(1))]
    while open_paths:
        outcomes, chance = open_paths.pop()
        program, left = make(), list(outcomes)
        costs: list[Cost] = []
        answer: Any = None
        while True:
            try:
                step = program.send(answer)
            except StopIteration as end:
                yield Path(outcomes, chance, end.value, tuple(costs))
                break
            if isinstance(step, Request):
                answer = ranks.fetch(step)
                continue
            costs.append(step.cost)
            if left:
                answer = left.pop(0)
                continue
            law = _law(step, shown)
            open_paths += [((*outcomes, outcome), chance * each) for outcome, each in law.items() if each]
            program.close()
            break


def _law(step: Draw, counts: tuple[int, ...]) -> dict[Any, Fraction]:
    endless = isinstance(step.mechanism, NoisyCount | TwoSums)
    law: dict[Any, Fraction] = step.mechanism.law(step.data, *([counts] if endless else []))  # type: ignore[attr-defined]
    return law
