"""Draws of whole mechanisms and chains with the operating system's bits: χ², false alarms below 1e-9 a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from _support.cuts import chances, whole_cut, window_of
from scipy.stats import chi2

from flexdp.mechanisms.program import enumerate_paths, run
from flexdp.noise.bits import Bits
from flexdp.sharp.answers import ask
from flexdp.sharp.column import Column
from flexdp.sharp.goal import Goal
from flexdp.sharp.halving import CutRules
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.prior import Listed, universal
from flexdp.sharp.ranks import Request
from flexdp.sharp.rules import Rules
from flexdp.sharp.rungs import Rungs
from flexdp.sharp.scale import INTEGERS

FALSE_ALARM = 1e-9
DRAWS = 60_000
DATA = Column.from_values([0, 0, 1, 1, 1, 2, 3, 5, 8, 8, 13, 21, 34] * 3)
LIST = Listed({-2: 1, 0: 3, 1: 2, 2: 9, 3: 1, 5: 4, 8: 1, 21: 2, 40: 5})


def misfit(seen: Counter[Any], law: dict[Any, float]) -> float:
    """The χ² tail probability; outcomes that are expected fewer than 20 times are one cell."""
    size = sum(seen.values())
    big = [outcome for outcome, p in law.items() if p * size >= 20]
    counts = [seen[outcome] for outcome in big]
    chances = [law[outcome] for outcome in big]
    counts, chances = [*counts, size - sum(counts)], [*chances, max(1 - sum(chances), 1e-9)]
    expected = np.array(chances) * size
    return float(chi2.sf(((np.array(counts) - expected) ** 2 / expected).sum(), len(counts) - 1))


@pytest.mark.parametrize("fault", [None, "epsilon", "prior"])
def test_exponential_draws(fault: str | None) -> None:
    claimed = whole_cut(goal=Goal.quantile(Fraction(3, 4)), epsilon=Fraction(1, 2), prior=LIST)
    drawn = claimed
    if fault == "epsilon":
        drawn = whole_cut(goal=claimed.goal, epsilon=Fraction(3, 5), prior=LIST)
    if fault == "prior":
        drawn = whole_cut(
            goal=claimed.goal,
            epsilon=claimed.epsilon,
            prior=Listed({**dict(zip(LIST.candidates, LIST.weights, strict=True)), 5: 5}),
        )
    window = window_of(claimed, DATA)
    law = {t: float(p) for t, p in chances(claimed, window).items()}
    bits = Bits()
    p = misfit(Counter(drawn.draw(window, bits) for _ in range(DRAWS // 4)), law)
    assert (p > FALSE_ALARM) is (fault is None)


def test_exponential_draws_with_the_universal_prior() -> None:
    mechanism = whole_cut(goal=Goal.quantile(Fraction(1, 2)), epsilon=Fraction(1), prior=universal(INTEGERS))
    window = window_of(mechanism, DATA)
    segments = mechanism.segments(window)
    weights = {}
    for t in range(-20, 60):
        factor = next(s.weight for s in segments if (s.low is None or s.low <= t) and (s.high is None or t < s.high))
        weights[t] = (mechanism.prior.before(t + 1) - mechanism.prior.before(t)) * factor
    total = sum(
        s.weight
        * (
            (mechanism.prior.total if s.high is None else mechanism.prior.before(s.high))
            - (0 if s.low is None else mechanism.prior.before(s.low))
        )
        for s in segments
    )
    law = {t: float(Fraction(w, total)) for t, w in weights.items()}
    bits = Bits()
    assert misfit(Counter(mechanism.draw(window, bits) for _ in range(DRAWS // 4)), law) > FALSE_ALARM


@pytest.mark.parametrize("fault", [None, "target", "epsilon", "threshold", "strictly below"])
def test_ladder_draws(fault: str | None) -> None:
    rungs = (0, 1, 2, 3, 5, 8, 13, 40)
    claimed = Ladder(rungs=rungs, side=1, target=4, epsilon=Fraction(1, 2), threshold=Fraction(7, 10))
    reply = DATA.fetch(Request(cuts=claimed.cuts))
    beyond = claimed.beyond(reply.total, reply.before)
    law = {place: float(p) for place, p in chances(claimed, beyond).items()}
    drawn = Ladder(
        rungs=rungs,
        side=1,
        target=5 if fault == "target" else 4,
        epsilon=Fraction(11, 20) if fault == "epsilon" else Fraction(1, 2),
        threshold=Fraction(1, 2) if fault == "threshold" else Fraction(7, 10),
    )
    seen_beyond = [count + (fault == "strictly below") for count in beyond]
    bits = Bits()
    p = misfit(Counter(drawn.draw(seen_beyond, bits) for _ in range(DRAWS)), law)
    assert (p > FALSE_ALARM) is (fault is None)


def _rungs(_: Any, anchor: int, side: int, __: Any, ___: int) -> Rungs:
    further = (1, 2, 4, 9) if side > 0 else (2, 1, 0, -5)
    values = (anchor, *(rung for rung in further if (rung - anchor) * side > 0))
    return Rungs(values, (1,) * len(values), (0,) * len(values))


TINY = Rules(
    few=1,
    few_for_mean=1,
    deep=1,
    far=Fraction(1, 20),  # type: ignore[arg-type]
    tree=CutRules(prior=lambda *_: Listed({0: 3, 1: 5, 2: 1, 4: 2}), shares=2),
    around=lambda _, anchor, side: Listed({0: 1, 1: 2, 2: 2, anchor: 4, anchor + side: 3}),
    rungs=_rungs,
)


@pytest.mark.parametrize("levels", [["1"], ["9/10"], ["0", "1/2", "99/100"]])
def test_whole_chains_follow_their_enumerated_law(levels: list[str]) -> None:
    """What a chain publishes, n̂ put into four classes, against the sum over all paths."""
    asked = [Fraction(level) for level in levels]
    data = Column.from_values([0, 1, 1, 2, 4, 4])
    epsilon = Fraction(4)

    def published(value: Any) -> Any:
        size = sorted((0, value.records_about, 40))[1] // 10
        return size, value.helpers, tuple(answer.value for answer in value.answers)

    make: Callable[[], Any] = lambda: ask(asked, epsilon, INTEGERS, rules=TINY)  # noqa: E731
    law: dict[Any, float] = {}
    for path in enumerate_paths(make, data, range(-60, 75)):
        outcome = published(path.value)
        law[outcome] = law.get(outcome, 0.0) + float(path.chance)
    assert abs(sum(law.values()) - 1) < 1e-3
    bits = Bits()
    runs = DRAWS // 6
    assert misfit(Counter(published(run(make(), data, bits).value) for _ in range(runs)), law) > FALSE_ALARM
    shifted = Column.from_values([0, 1, 1, 2, 4, 4, 4])
    assert misfit(Counter(published(run(make(), shifted, bits).value) for _ in range(runs)), law) < FALSE_ALARM
