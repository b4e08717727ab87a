"""Programs of several private steps: written once, then drawn, enumerated or replayed.

A program is a generator. It yields a question, and is sent the column's reply; or it yields a :class:`Draw`, and is
sent the outcome, which is public::

    def program():                                                   private      public
        reply = yield Request(...)                                   reply
        n = yield Draw(NoisyCount(share), reply.total, "records")    reply.total  n
        return n * 2                                                              the result

    run(program(), column, bits)         draws every outcome           ─▶ the result and the account of its steps
    Adaptive(program, ε).law(column)     follows every outcome         ─▶ the exact law of all that is drawn
    replay(program(), outcome)           is told every outcome         ─▶ the result and the steps, without data

It may branch on outcomes only: replies go nowhere but into draws. A replay gives blank replies, so a program that
branches on a reply is caught: two replays with different replies have different steps.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from flexdp._core.domains import PURE_DELTA, elements, function, integer
from flexdp._core.text import safe_repr
from flexdp.distribution import Distribution
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.noise.bits import Bits

__all__ = ["Adaptive", "Answering", "Cost", "Draw", "Path", "Program", "Question", "Ran", "Stepping"]
__all__ += ["enumerate_paths", "replay", "run", "spent"]

T = TypeVar("T")


class Stepping(Protocol):
    """One private step: any mechanism with a cost."""

    @property
    def epsilon(self) -> Fraction:
        """Privacy cost of the step."""

    def draw(self, data: Any, bits: Bits, /) -> Any:
        """Draw its outcome."""

    def law(self, data: Any, /) -> Any:
        """Return the law of its outcome."""


class Question(Protocol):
    """What a program may ask of a private column, without cost."""

    def blank(self, records: int, /) -> Any:
        """Return a blank reply of the right shape, as for this many records."""


class Answering(Protocol):
    """A private column."""

    def fetch(self, question: Any, /) -> Any:
        """Answer a question from one snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Privacy cost of one step, and the records it applies to.

    Steps of one ``stage`` with different ``part`` use disjoint records and cost as much as the most expensive part;
    stages, and steps of one part, add up.
    """

    name: str
    epsilon: Fraction
    stage: Hashable
    part: Hashable
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Draw:
    """A step to be drawn: the mechanism, its private data, its name in the account, and the records that it sees."""

    mechanism: Stepping
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


Program: TypeAlias = Generator[Any, Any, T]


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
    """One path through a program: its outcomes, their probability and its error, its result and account."""

    outcomes: tuple[Any, ...]
    chance: Fraction
    value: T
    costs: tuple[Cost, ...]
    error: Fraction = Fraction(0)


def spent(costs: Iterable[Cost]) -> Fraction:
    """Add up an account: the most expensive part of each stage, summed over stages."""
    parts: dict[Hashable, dict[Hashable, Fraction]] = {}
    for cost in costs:
        stage = parts.setdefault(cost.stage, {})
        stage[cost.part] = stage.get(cost.part, Fraction(0)) + cost.epsilon
    return sum((max(stage.values()) for stage in parts.values()), Fraction(0))


def _follow(
    program: Program[T], fetch: Callable[[Any], Any], choose: Callable[[Draw], Any]
) -> tuple[T, tuple[Draw, ...]]:
    """Run a program to its end: questions are fetched, outcomes are chosen. Return its result and its steps."""
    steps: list[Draw] = []
    answer: Any = None
    while True:
        try:
            asked = program.send(answer)
        except StopIteration as end:
            return end.value, tuple(steps)
        if isinstance(asked, Draw):
            steps.append(asked)
            answer = choose(asked)
        else:
            answer = fetch(asked)


def run(program: Program[T], column: Answering, bits: Bits) -> Ran[T]:
    """Run a program that has not been started: draw every outcome."""
    value, steps = _follow(program, column.fetch, lambda step: step.mechanism.draw(step.data, bits))
    return Ran(value, tuple(step.cost for step in steps))


def replay(program: Program[T], outcome: Callable[[Draw], Any], *, records: int = 0) -> tuple[T, tuple[Draw, ...]]:
    """Follow a program on public outcomes, without data.

    What a release publishes are the outcomes of its program, so a replay tells which mechanisms ran with which
    parameters: promises, the account and ``verify`` read them here, and a plan replays the outcomes that it assumes.

    Parameters
    ----------
    program
        The program, not yet started.
    outcome
        The outcome of each step; the data of the step is blank.
    records
        The number of records that blank replies stand for; steps must not depend on it.

    Returns
    -------
    tuple
        The program's result, and its steps in order.
    """
    return _follow(program, lambda question: question.blank(records), outcome)


class _OpenError(Exception):
    """The program reached a draw whose outcome has not been chosen yet."""


def enumerate_paths(make: Callable[[], Program[T]], column: Answering, shown: Iterable[int] = ()) -> Iterator[Path[T]]:
    """Follow every outcome of a program on small data, with exact probabilities.

    Parameters
    ----------
    make
        Starts the program anew: it is run from its beginning along every path.
    column
        The private column.
    shown
        The outcomes of geometric noise to follow; there are infinitely many.
    """
    listed = tuple(shown)
    open_paths: list[tuple[tuple[Any, ...], Fraction, Fraction]] = [((), Fraction(1), Fraction(0))]
    while open_paths:
        outcomes, chance, error = open_paths.pop()
        left, reached = list(outcomes), list[Draw]()

        def choose(step: Draw, left: list[Any] = left, reached: list[Draw] = reached) -> Any:
            if left:
                return left.pop(0)
            reached.append(step)
            raise _OpenError

        program = make()
        try:
            value, steps = _follow(program, column.fetch, choose)
        except _OpenError:
            program.close()
            law = reached[0].mechanism.law(reached[0].data).listed(listed)
            open_paths += [
                ((*outcomes, outcome), chance * mass, error + law.error) for outcome, mass in law.masses.items() if mass
            ]
        else:
            yield Path(outcomes, chance, value, tuple(step.cost for step in steps), error)


@dataclass(frozen=True)
class Adaptive:
    """A program of private steps, each chosen from the outcomes before, as one mechanism.

    It publishes everything that is drawn on the way; its law is that of the tuple of all outcomes.

    Parameters
    ----------
    program
        Starts the program anew.
    epsilon, delta
        What it claims; None if it claims nothing.
    shown
        The outcomes of geometric noise to follow in a law. There are infinitely many; the others count in full in
        every δ; :attr:`~flexdp.audit.ExactDelta.followed` excludes them.
    read
        Makes the private column from a data set; by default the data set is one.

    Examples
    --------
    >>> from flexdp.sharp.column import Column
    >>> from flexdp.sharp.count import NoisyCount
    >>> from flexdp.sharp.ranks import Request
    >>> def program():
    ...     reply = yield Request()
    ...     return (yield Draw(NoisyCount(epsilon=Fraction(1)), reply.total, "records"))
    >>> law = Adaptive(program, Fraction(1), shown=[3, 4], read=Column.from_values).law([2, 2, 5])
    >>> [(outcomes, round(float(p), 3)) for outcomes, p in law.masses.items()]
    [((4,), 0.17), ((3,), 0.462)]
    >>> replay(program(), lambda step: 7)
    (7, (<Draw records>,))
    """

    program: Callable[[], Program[Any]]
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    shown: Iterable[int] = ()
    read: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        function("program", self.program, "no arguments")
        listed = elements(self.shown)
        if listed is None:
            raise InputError("shown", "must be a list of whole numbers", given=safe_repr(self.shown))
        object.__setattr__(self, "shown", tuple(integer("shown", each, at_least=-(10**18)) for each in listed))
        object.__setattr__(self, "delta", PURE_DELTA.check(self.delta))

    @property
    def privacy(self) -> Privacy | None:
        """The claim."""
        return None if self.epsilon is None else Privacy(epsilon=self.epsilon, delta=self.delta)

    def draw(self, x: Any, bits: Bits) -> Any:
        """Run the program; return its result."""
        return run(self.program(), self._column(x), bits).value

    def law(self, x: Any) -> Distribution:
        """Return the law of all outcomes that are drawn; outcomes of one path have one law each, so errors add up."""
        masses: dict[Any, Fraction] = {}
        error = Fraction(0)
        for path in enumerate_paths(self.program, self._column(x), self.shown):
            masses[path.outcomes] = masses.get(path.outcomes, Fraction(0)) + path.chance
            error = max(error, path.error)
        return Distribution(masses, error)

    def _column(self, x: Any) -> Any:
        return x if self.read is None else self.read(x)
