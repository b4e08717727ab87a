"""Programs of private steps: drawn, enumerated and replayed by one text; and one that decides on private replies."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from flexdp import InputError
from flexdp.distribution import Distribution, GeometricLaw
from flexdp.mechanisms.program import Adaptive, Draw, Program, enumerate_paths, replay, run, spent
from flexdp.noise.bits import Bits

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Size:
    """How many records there are."""

    def blank(self, records: int) -> int:
        return records


class Column(list[int]):
    def fetch(self, question: Size) -> int:
        assert isinstance(question, Size)
        return len(self)


@dataclass(frozen=True)
class Response:
    """Randomised response: the bit, or with chance 1/4 the other one."""

    epsilon: Fraction = Fraction(11, 10)

    def draw(self, data: int, bits: Bits) -> int:
        return data ^ bits.accept(1, 4)

    def law(self, data: int) -> Distribution:
        return Distribution({data: Fraction(3, 4), 1 - data: Fraction(1, 4)})


@dataclass(frozen=True)
class Noisy:
    epsilon: Fraction = Fraction(1)

    def draw(self, data: int, bits: Bits) -> int:
        raise NotImplementedError

    def law(self, data: int) -> GeometricLaw:
        return GeometricLaw(data, self.epsilon)


def steps() -> Program[tuple[int, ...]]:
    """Ask once; ask again, in parallel, only if the first outcome is 1."""
    size = yield Size()
    first = yield Draw(Response(), size % 2, "parity")
    if not first:
        return (first,)
    more = []
    for part in range(2):
        more.append((yield Draw(Response(), (size + part) // 2 % 2, f"half {part}", "halves", part)))
    return (first, *more)


@pytest.mark.parametrize("data", [[], [7], [7, 7, 7]])
def test_a_program_is_drawn_as_its_law_says(data: list[int]) -> None:
    """20 000 draws: each of the five frequencies misses by 5 standard deviations with a chance below 1e-6."""
    law = Adaptive(steps, Fraction(3)).law(Column(data)).masses
    assert sum(law.values()) == 1 and len(law) == 5
    assert law[0,] == (Fraction(3, 4) if len(data) % 2 == 0 else Fraction(1, 4))
    bits = Bits(random.Random(3).randbytes)
    drawn = Counter(Adaptive(steps, Fraction(3)).draw(Column(data), bits) for _ in range(20_000))
    assert set(drawn) <= set(law)
    far = [abs(drawn[o] - 20_000 * float(p)) / (20_000 * float(p * (1 - p))) ** 0.5 for o, p in law.items()]
    assert max(far) < 5.2
    other = Adaptive(steps, Fraction(3)).law(Column([*data, 7])).masses  # control: a record more is another law
    assert max(abs(drawn[o] - 20_000 * float(p)) / (20_000 * float(p * (1 - p))) ** 0.5 for o, p in other.items()) > 5.2


def test_a_replay_tells_the_steps_without_data() -> None:
    told: dict[str, int] = {"parity": 1, "half 0": 0, "half 1": 1}
    value, ran = replay(steps(), lambda step: told[step.name])
    assert value == (1, 0, 1) and [step.name for step in ran] == list(told)
    assert spent(step.cost for step in ran) == 2 * Response().epsilon  # the halves see disjoint records
    assert replay(steps(), lambda _: 0)[0] == (0,)
    assert "3" not in repr(Draw(Response(), 3, "parity")) and repr(ran[0]) == "<Draw parity>"
    drawn = run(steps(), Column([1, 1]), Bits(random.Random(8).randbytes))
    again = replay(steps(), _told(drawn.value))
    assert again[0] == drawn.value and tuple(step.cost for step in again[1]) == drawn.costs


def _told(outcomes: tuple[int, ...]) -> Callable[[Draw], int]:
    left = list(outcomes)
    return lambda _: left.pop(0)


def test_a_program_that_decides_on_a_reply_shows_itself() -> None:
    """Planted: with two different blank replies the steps are not the same."""

    def wrong() -> Program[Any]:
        size = yield Size()
        if size > 3:
            yield Draw(Response(), 0, "large")
        return (yield Draw(Response(), 0, "last"))

    def names(program: Program[Any], records: int) -> list[str]:
        return [step.name for step in replay(program, lambda _: 1, records=records)[1]]

    assert names(wrong(), 0) != names(wrong(), 9)
    assert names(steps(), 0) == names(steps(), 9)


def test_what_is_not_shown_is_missing() -> None:
    def one() -> Program[int]:
        size = yield Size()
        count = yield Draw(Noisy(), size, "records")
        return count + (yield Draw(Response(), size % 2, "parity"))

    law = Adaptive(one, shown=range(-2, 5)).law(Column([1]))
    assert law.missing == GeometricLaw(1, Fraction(1)).listed(range(-2, 5)).missing > 0
    assert 0 < law.error < Fraction(1, 10**40)
    assert Adaptive(one).law(Column([1])).missing == 1
    paths = list(enumerate_paths(one, Column([1]), [0, 1]))
    assert {path.outcomes: path.value for path in paths} == {(i, j): i + j for i in (0, 1) for j in (0, 1)}
    assert all(len(path.costs) == 2 for path in paths)


def test_programs_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="program"):
        Adaptive(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="shown"):
        Adaptive(steps, shown=[HALF])  # type: ignore[list-item]
    assert Adaptive(steps).privacy is None
    assert Adaptive(steps, Fraction(3)).privacy.epsilon == 3  # type: ignore[union-attr]
