"""The samplers' own laws, by enumeration of every choice they make, are the laws that the mechanisms claim."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import pytest
from _neighbours import column
from _support.cuts import chances, whole_cut, window_of

from flexdp.noise.bits import Bits
from flexdp.sharp import ladder as ladder_module
from flexdp.sharp.exponentials import exp_minus
from flexdp.sharp.goal import Goal
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.prior import Listed, Mixture, universal
from flexdp.sharp.ranks import Span
from flexdp.sharp.scale import INTEGERS

HALF = Goal.quantile(Fraction(1, 2))


class Choices(Bits):
    """Follows a script of choices; where it ends, tells what can be chosen, with which chance."""

    class OpenError(Exception):
        """The next choice is open."""

    class AgainError(Exception):
        """A candidate was rejected, and all begins again."""

    def __init__(self, script: tuple[int, ...]) -> None:
        super().__init__()
        self.script, self.place = script, 0

    def choose(self, weights: Iterable[int]) -> int:
        listed = list(weights)
        return self.next([Fraction(weight, sum(listed)) for weight in listed])

    def below(self, limit: int) -> int:
        return self.next([Fraction(1, limit)] * limit)

    def accept(self, part: int, whole: int) -> bool:
        assert 0 < part <= whole
        if not self.next([1 - Fraction(part, whole), Fraction(part, whole)]):
            raise Choices.AgainError
        return True

    def next(self, chances: list[Fraction]) -> int:
        if self.place == len(self.script):
            raise Choices.OpenError(chances)
        self.place += 1
        return self.script[self.place - 1]


def law_of(draw: Callable[[Bits], Any]) -> dict[Any, Fraction]:
    """The law of a sampler, given that it accepts."""
    found: dict[Any, Fraction] = {}
    again = Fraction(0)
    paths: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while paths:
        script, chance = paths.pop()
        try:
            outcome = draw(Choices(script))
        except Choices.OpenError as stop:
            paths += [((*script, i), chance * each) for i, each in enumerate(stop.args[0]) if each]
            continue
        except Choices.AgainError:
            again += chance
            continue
        found[outcome] = found.get(outcome, Fraction(0)) + chance
    assert again < Fraction(3, 4)
    return {outcome: chance / (1 - again) for outcome, chance in found.items()}


DATA = [(), (3,), (0, 0, 1, 4), (1, 1, 1, 1, 2, 3, 3, 5, 8, 8), tuple(range(40)), (2,) * 30 + (3,) * 7]
PRIOR = Listed({-2: 1, 0: 3, 1: 2, 2: 9, 3: 1, 5: 4, 6: 1, 21: 2, 39: 5})


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("epsilon", ["1", "0.2", "4"])
@pytest.mark.parametrize("goal", [HALF, Goal.quantile(Fraction(9, 10)), Goal.beyond(4, 1), Goal.beyond(0, -1)])
@pytest.mark.parametrize("span", [Span(), Span(1, 6), Span(3, None)])
def test_the_exponential_sampler_has_the_law_of_its_weights(
    data: tuple[int, ...], epsilon: str, goal: Goal, span: Span
) -> None:
    mechanism = whole_cut(goal=goal, epsilon=Fraction(epsilon), prior=PRIOR, span=span, depth=25)
    window = window_of(mechanism, column(data))
    assert law_of(lambda bits: mechanism.draw(window, bits)) == chances(mechanism, window)


def test_weights_by_hand() -> None:
    """Three records, three candidates: prior × g(loss), g from its own definition."""
    mechanism = whole_cut(goal=HALF, epsilon=Fraction(1), prior=Listed({0: 1, 5: 2, 9: 3}))
    window = window_of(mechanism, column((5, 5, 9)))
    g = mechanism.table.weights
    weights = {0: 1 * g[3], 5: 2 * g[0], 9: 3 * g[1]}  # T = 3: 3 − 0; between 0 and 4; 2·2 − 3
    assert chances(mechanism, window) == {t: Fraction(w, sum(weights.values())) for t, w in weights.items()}


@pytest.mark.parametrize("level", ["1/100", "1/2", "99/100"])
@pytest.mark.parametrize("far", [0, 1_700_000_000_000_000])
def test_empty_space_far_from_the_records_does_not_slow_a_draw(level: str, far: int) -> None:
    """The weight of all blocks is the true weight times the number of candidates that are tried, on average."""
    values = [far + 31_557 * place * place for place in range(2300)]
    prior = universal(INTEGERS)
    mechanism = whole_cut(goal=Goal.quantile(Fraction(level)), epsilon=Fraction(9, 10), prior=prior)
    window = window_of(mechanism, column(values))
    true = sum(
        ((prior.total if each.high is None else prior.before(each.high)) - ((each.low and prior.before(each.low)) or 0))
        * each.weight
        for each in mechanism.segments(window)
    )
    blocks = mechanism.blocks(window, every=True)  # the others become these in one step
    weighed = sum(block.weight for block in blocks)
    assert true <= weighed <= 4 * true


def test_no_candidate_in_the_span() -> None:
    mechanism = whole_cut(goal=HALF, epsilon=Fraction(1), prior=PRIOR, span=Span(7, 20))
    window = window_of(mechanism, column((8, 9)))
    assert chances(mechanism, window) == {None: 1}
    assert mechanism.draw(window, Bits()) is None


def test_control_a_sampler_without_rejection_is_caught() -> None:
    class Always(Choices):
        def accept(self, part: int, whole: int) -> bool:
            return part <= whole

    mechanism = whole_cut(goal=HALF, epsilon=Fraction(1, 5), prior=PRIOR, depth=25)
    window = window_of(mechanism, column(range(40)))
    found: dict[Any, Fraction] = {}
    paths: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while paths:
        script, chance = paths.pop()
        try:
            outcome = mechanism.draw(window, Always(script))
            found[outcome] = found.get(outcome, Fraction(0)) + chance
        except Choices.OpenError as stop:
            paths += [((*script, i), chance * each) for i, each in enumerate(stop.args[0]) if each]
    assert found != chances(mechanism, window)


def test_mixtures_draw_what_they_weigh() -> None:
    mixed = Mixture(Listed({0: 3, 1: 1}), Listed({1: 7, 4: 2}))
    for low, high in ((None, None), (1, None), (0, 2), (None, 1)):
        weights = {t: mixed.before(t + 1) - mixed.before(t) for t in (0, 1, 4)}
        kept = {t: w for t, w in weights.items() if (low is None or t >= low) and (high is None or t < high)}
        wanted = {t: Fraction(w, sum(kept.values())) for t, w in kept.items()}
        assert law_of(lambda bits, low=low, high=high: mixed.draw(low, high, bits)) == wanted  # type: ignore[misc]


def test_bands_draw_what_they_weigh() -> None:
    prior = universal(INTEGERS)
    for low, high in ((1, 12), (-3, 2), (95, 131)):
        weights = {t: prior.before(t + 1) - prior.before(t) for t in range(low, high)}
        wanted = {t: Fraction(w, sum(weights.values())) for t, w in weights.items()}
        assert law_of(lambda bits, low=low, high=high: prior.draw(low, high, bits)) == wanted  # type: ignore[misc]


@pytest.mark.parametrize("beyond", [(5, 3, 1, 0), (2, 2, 2), (9, 0, 0, 0, 0), (0,), (1, 4, 2)])
@pytest.mark.parametrize("target", [0, 2, 4])
def test_the_climb_has_the_law_of_the_ladder(
    beyond: tuple[int, ...], target: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Geometric and Bernoulli draws, enumerated by themselves elsewhere, as choices with their chances."""
    r = exp_minus(Fraction(1, 2))
    last = 60

    def shift(rate: Fraction, bits: Any) -> int:
        assert rate == Fraction(1, 2)
        return int(bits.next([(1 - r) * r**j for j in range(last)]))

    monkeypatch.setattr(ladder_module, "geometric", shift)

    def first(counts: list[int], rate: Fraction, bits: Any) -> int | None:
        stops = [exp_minus(rate * max(0, count)) for count in counts]
        return next((place for place, stop in enumerate(stops) if bits.next([1 - stop, stop])), None)

    monkeypatch.setattr(ladder_module, "first_bernoulli_exp", first)
    ladder = Ladder(rungs=tuple(range(len(beyond))), side=1, target=target, epsilon=Fraction(1))
    found, claimed = law_of(lambda bits: ladder.draw(beyond, bits)), ladder.chances(beyond)
    assert sum(claimed.values()) == 1
    for place in claimed:
        assert abs(found.get(place, Fraction(0)) - claimed[place]) <= r**last * 2
