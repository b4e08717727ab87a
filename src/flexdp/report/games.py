"""Pebble games: which data sets exist, by the rules of flexible accuracy, given one run of a chain of mechanisms.

The boxes of a game are data sets or answers. Given are the input and what the mechanisms made of it; the rules then
say which others exist, within a distortion of one box and a distance of another. Here they are constructed as in the
proofs, record by record, and every distortion and distance is measured beside its bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any

from flexdp._core.domains import choice, elements, function, instance
from flexdp._core.text import safe_repr
from flexdp.calculus import Error
from flexdp.distances.embedding import dropped_records, embedding
from flexdp.distortions import Drop, Move, Winf
from flexdp.errors import FlexdpError, InputError
from flexdp.guarantees import Accuracy
from flexdp.histogram import Histogram
from flexdp.mechanisms import IDENTITY, Chain, Known, Mechanism, ReadOff
from flexdp.report.boards import Board, Edge, within

__all__ = ["GAMES", "play"]

GAMES = ("composition", "accuracy", "distortion", "error")
_MOST_TRIED = 20_000  # data sets in a search for a preimage
_SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a chain: its steps, the functions they approximate (None for the identity), and all values."""

    parts: tuple[Mechanism, ...]
    functions: tuple[Callable[[Any], Any] | None, ...]
    values: tuple[Any, ...]

    @property
    def distorting(self) -> int | None:
        """The last step that may distort its input."""
        found = [i for i, part in enumerate(self.parts) if self.functions[i] is None and _alpha(part, self.values[i])]
        return max(found, default=None)

    @property
    def last_histogram(self) -> int:
        """Place of the last value that is a histogram."""
        return max(i for i, value in enumerate(self.values) if isinstance(value, Histogram))

    def accuracy(self, steps: int) -> Accuracy | None:
        """The accuracy of the first steps on a table of this size, if it has one."""
        return _accuracy(Chain(self.parts[:steps]), self.values[0])

    def exact(self, value: Any, start: int, stop: int) -> Any:
        """What the functions of some steps make of a value."""
        return reduce(lambda v, f: v if f is None else f(v), self.functions[start:stop], value)


def play(
    chain: Mechanism,
    histogram: Histogram,
    game: str,
    outputs: Sequence[Any] | None,
    functions: Sequence[Callable[[Any], Any] | None] | None,
) -> Board:
    """Run a chain, or take the outputs of a run, and play one of the games on it."""
    if not isinstance(chain, Mechanism):
        remedy = "For example Bucketing(width=5) >> Dropping(1, 1e-6)."
        raise InputError("chain", "must be a mechanism", given=safe_repr(chain), remedy=remedy)
    table = instance("histogram", histogram, Histogram, "a Histogram, for example of Histogram.from_values")
    if not len(table):
        raise InputError("histogram", "must not be empty")
    game = choice("game", game, GAMES)
    parts = chain.steps
    run = _Run(parts, _functions(parts, functions), (table, *_outputs(parts, table, outputs)))
    for value in run.values[1:]:
        if isinstance(value, Histogram) and not len(value):
            raise InputError("histogram", "has too few records: nothing was left of it", remedy="Draw a larger one.")
    return {"composition": _composition, "accuracy": _whole, "distortion": _preimage, "error": _second}[game](run)


def _functions(parts: tuple[Mechanism, ...], given: Any) -> tuple[Callable[[Any], Any] | None, ...]:
    if given is not None:
        listed = elements(given)
        if listed is None or len(listed) != len(parts):
            raise InputError("functions", "must be a list of functions, one for each step", given=safe_repr(given))
        return tuple(None if each is None else function("functions", each, "an input") for each in listed)
    found: list[Callable[[Any], Any] | None] = []
    for part in parts:
        if part.function is not None:
            found.append(None if part.function == IDENTITY and part.target.metric == Winf() else part.function)
            continue
        try:
            step = part.step(Known())
            exact = step.alpha == 0 and step.tau(Error()) == Error()
        except FlexdpError:
            exact = False
        if not exact:
            raise InputError(
                "functions",
                f"is missing: {part.name} is not exact, and the function that it approximates is not known",
                remedy="Give one function for each step; None stands for the identity.",
            )
        found.append(part)
    return tuple(found)


def _outputs(parts: tuple[Mechanism, ...], table: Histogram, given: Any) -> tuple[Any, ...]:
    if given is None:
        values: list[Any] = [table]
        for part in parts:
            values.append(part(values[-1]))
        return tuple(values[1:])
    listed = elements(given)
    if listed is None or len(listed) != len(parts):
        raise InputError("outputs", "must be a list of the outputs of all steps, in order")
    for part, value in zip(parts, listed, strict=True):
        if isinstance(value, Histogram) != (part.target.metric == Winf()):
            raise InputError("outputs", f"must be what the steps give: {part.name} gives {part.target.name}")
    return tuple(listed)


# --- the games ---


def _whole(run: _Run) -> Board:
    """Flexible accuracy: x and M(x) are given; X′ exists, near x, with f(X′) near M(x)."""
    board, end = Board("Flexible accuracy"), len(run.parts)
    bound = run.accuracy(end)
    jumps = bound is not None and bound.moved > 0
    start = run.last_histogram if jumps else 0
    found = run.values[start] if jumps else _near(run)
    board.put("x", run.values[0], (0, 0), 0)
    board.put("M(x)", run.values[-1], (1, 0), 0)
    board.put("X′", found, (0, 1), 1, run.values[0])
    board.put("f(X′)", run.exact(found, start, end), (1, 1), 1)
    board.step("x", "M(x)", "M")
    board.step("X′", "f(X′)", "f")
    if bound is not None and jumps:
        _moved(board, run, "X′", bound)
    else:
        board.distortion("x", "X′", _drop(bound))
    board.distance("M(x)", "f(X′)", run.parts[-1], bound)
    board.rules = ["accuracy of M: X′ exists, with f(X′)"]
    return board


def _composition(run: _Run) -> Board:
    """The composition theorem: accuracy of the first steps, error sensitivity of the rest, distortion sensitivity."""
    board, end, last = Board("Composition of mechanisms"), len(run.parts), run.distorting
    bound = run.accuracy(end)
    for i, value in enumerate(run.values):
        board.put(_name("x", "M", i), value, (i, 0), 0, run.values[i - 1] if i else None)
        if i:
            board.step(_name("x", "M", i - 1), _name("x", "M", i), run.parts[i - 1].name)
    if bound is not None and bound.moved:
        return _drop_move(board, run, bound)
    first = last if last else 0
    if first:
        before = _near(run, first)
        _column(board, run, "X′", before, 1, 1, range(first + 1))
        early = run.accuracy(first)
        board.distortion("x", "X′", _drop(early))
        board.distance(_name("x", "M", first), _name("X′", "f", first), run.parts[first - 1], early)
        board.rules.append(f"accuracy of {' >> '.join(part.name for part in run.parts[:first])}: X′ exists")
    found = _near(run)
    column = 2 if first else 1
    _column(board, run, "X", found, column, len(board.rules) + 1, range(first, end + 1), before=first)
    if first:
        own = _accuracy(run.parts[first], run.values[first])
        board.distortion(_name("X′", "f", first), _name("X", "f", first), _drop(own))
        rest = " >> ".join(part.name for part in run.parts[first:])
        board.rules.append(f"error sensitivity of {rest}: {_name('X', 'f', first)} exists")
        _column(board, run, "X", found, column, len(board.rules) + 1, range(first))
        board.step(_name("X", "f", first - 1), _name("X", "f", first), _function(run, first - 1))
        board.distortion("X′", "X", _drop(own))
        board.rules.append(f"distortion sensitivity of {_name('', 'f', first)[:-2]}: X exists")
    else:
        board.distortion("x", "X", _drop(bound))
        board.rules.append(f"accuracy of {run.parts[0].name}, error sensitivity of the rest: X exists")
    for i in range(first + 1, end + 1):
        upto = run.accuracy(i)
        board.distance(_name("x", "M", i), _name("X", "f", i), run.parts[i - 1], upto)
    return board


def _drop_move(board: Board, run: _Run, bound: Accuracy) -> Board:
    """A function that jumps: the last histogram is itself a distortion of x, and exact for it is what is read off."""
    last = run.last_histogram
    found = run.values[last]
    board.put("X", found, (0, 1), 1, run.values[0])
    _moved(board, run, "X", bound)
    above = "X"
    for i in range(last + 1, len(run.values)):
        title = _name("X", "f", i)
        board.put(title, run.exact(found, last, i), (i, 1), 1)
        board.step(above, title, _function(run, i - 1))
        board.distance(_name("x", "M", i), title, run.parts[i - 1], bound)
        above = title
    board.rules = ["accuracy w.r.t. drop-move: X, the histogram that was read"]
    return board


def _moved(board: Board, run: _Run, end: str, bound: Accuracy) -> None:
    """A distortion by dropping and moving: from x to the last histogram."""
    near = _near(run, run.last_histogram)
    dropped, moved = Drop()(run.values[0], near), Move()(near, run.values[run.last_histogram])
    label = f"drop {within(dropped, bound.alpha)}, move {within(moved, bound.moved, relative=bound.relative)}"
    board.edges.append(Edge("distortion", "x", end, label))


def _second(run: _Run) -> Board:
    """Error sensitivity: X and X′ within β₁ are given; Y exists, a distortion of X′, with f(Y) near M(X)."""
    last = run.distorting
    if not last:
        raise InputError(
            "chain", "must have a step that leaves records out, after another one", remedy="Begin with Bucketing(…)."
        )
    board, part = Board("Error sensitivity"), run.parts[last]
    near, before = run.values[last], _near(run, last)
    exact = run.exact(before, 0, last)
    found = _thinned(exact, run.values[last + 1])
    early, own = run.accuracy(last), _accuracy(part, near)
    board.put("X", near, (0, 0), 0)
    board.put("X′", exact, (0, 1), 0)
    board.put("M(X)", run.values[last + 1], (1, 0), 0, near)
    board.put("Y", found, (0, 2), 1, exact)
    board.put("f(Y)", run.exact(found, last, last + 1), (1, 2), 1)
    board.step("X", "M(X)", part.name)
    board.step("Y", "f(Y)", _function(run, last))
    board.distance("X", "X′", run.parts[last - 1], early)
    board.distortion("X′", "Y", _drop(own))
    upto = run.accuracy(last + 1)
    board.distance("M(X)", "f(Y)", part, upto)
    board.rules = [f"error sensitivity of {part.name}: Y exists, with f(Y)"]
    return board


def _preimage(run: _Run) -> Board:
    """Distortion sensitivity of the first step, as a function: f(x) and a distortion Y of it are given; X exists."""
    if len(run.parts) < 2 or not isinstance(run.values[2], Histogram) or not isinstance(run.values[1], Histogram):
        raise InputError("chain", "must be a step that maps histograms, and one that distorts its output")
    board, (table, image, target) = Board("Distortion sensitivity"), run.values[:3]
    if dropped_records(image, target) is None:
        raise InputError("chain", "must have a second step that only leaves records out")
    found = _pulled_back(run.parts[0], table, image, target)
    board.put("x", table, (0, 0), 0)
    board.put("f(x)", image, (1, 0), 0)
    board.put("Y", target, (1, 1), 0, image)
    board.put("X", found, (0, 1), 1, table)
    board.step("x", "f(x)", "f")
    board.step("X", "Y", "f")
    own = _drop(_accuracy(run.parts[1], image))
    sigma = run.parts[0].step(Known()).sigma
    board.distortion("x", "X", None if own is None or math.isinf(sigma(own)) else sigma(own))
    board.distortion("f(x)", "Y", own)
    board.rules = [f"distortion sensitivity of {run.parts[0].name}, as a function: X exists, with f(X) = Y"]
    return board


# --- what exists ---


def _near(run: _Run, steps: int | None = None) -> Histogram:
    """The distorted input that the accuracy of the first steps speaks of."""
    table: Histogram = run.values[0]
    stop = len(run.parts) if steps is None else steps
    lossy = [i for i in range(stop) if run.functions[i] is None and _alpha(run.parts[i], run.values[i])]
    if not lossy:
        return table
    last = lossy[-1]
    exact = table if last == 0 else run.exact(_near(run, last), 0, last)
    kept = _thinned(exact, run.values[last + 1])
    before = run.functions[:last]
    if all(each is None for each in before):
        return kept
    return _pulled_back(lambda value: run.exact(value, 0, last), table, exact, kept)


def _thinned(exact: Histogram, output: Histogram) -> Histogram:
    """The partners, in a nearby histogram, of the records that an output kept."""
    if dropped_records(exact, output) is not None:
        return output
    found = embedding(exact, output)
    if found is None:
        raise InputError(
            "chain", "must only leave records out and move them: an output has more records than its input"
        )
    lost = dict(found[0])
    return Histogram(exact.keys, [count - lost.get(key, 0) for key, count in exact.items()])


def _pulled_back(step: Callable[[Any], Any], table: Histogram, image: Histogram, target: Histogram) -> Histogram:
    """A part of the table that the function maps to a part of its image: record by record, or else by trying."""
    lost = dict(dropped_records(image, target) or ())
    counts: list[int] = []
    for key, count in table.items():
        there = next((there for there, _ in step(Histogram([key], [1])).items()), None)
        gone = min(count, lost.get(there, 0))
        counts.append(count - gone)
        if gone:
            lost[there] -= gone
    found = Histogram(table.keys, counts)
    if step(found) == target:
        return found
    values = [key for key, count in table.items() for _ in range(count)]
    if math.comb(len(values), target.size) <= _MOST_TRIED:
        for kept in combinations(values, target.size):
            if step(Histogram.from_values(list(kept))) == target:
                return Histogram.from_values(list(kept))
    raise InputError(
        "chain", "has a function without a known preimage: no part of the table is mapped to what was left"
    )


# --- bounds and labels ---


def _accuracy(mechanism: Mechanism, value: Any) -> Accuracy | None:
    try:
        if isinstance(value, Histogram):
            return mechanism.accuracy(records_at_least=value.size, bars=len(value))
        return mechanism.accuracy()
    except InputError:
        return None


def _alpha(part: Mechanism, value: Any) -> bool:
    """Return True if the step may distort this input."""
    own = _accuracy(part, value)
    return own is None or own.alpha != 0


def _drop(bound: Accuracy | None) -> float | None:
    return None if bound is None else bound.alpha


def _name(base: str, letter: str, steps: int) -> str:
    """x, M₁(x), M₂M₁(x) and so on; from four steps on only the outermost and the innermost are named."""
    if not steps:
        return base
    named = [f"{letter}{_digits(i)}" for i in range(steps, 0, -1)]
    return f"{''.join(named) if steps < 4 else f'{named[0]}…{named[-1]}'}({base})"


def _digits(number: int) -> str:
    return "".join(_SUBSCRIPTS[int(digit)] for digit in str(number))


def _function(run: _Run, i: int) -> str:
    part = run.parts[i]
    if run.functions[i] is None:
        return "identity"
    return part.name.removeprefix("ReadOff(").removesuffix(")") if isinstance(part, ReadOff) else part.name


def _column(
    board: Board, run: _Run, base: str, found: Histogram, column: int, rule: int, rows: Any, before: int | None = None
) -> None:
    """Put a data set and what the functions make of it into a column."""
    for i in rows:
        title = _name(base, "f", i)
        content = run.exact(found, 0, i)
        old = _name("X′" if column == 2 else "x", "f" if column == 2 else "M", i)
        ghost = board.boxes[old].content if base == "X" and (i == before or i == 0) and old in board.boxes else None
        board.put(title, content, (i, column), rule, ghost)
        above = _name(base, "f", i - 1)
        if i and above in board.boxes:
            board.step(above, title, _function(run, i - 1))
