"""Recursive halving: the law of its definition, exact privacy on all small neighbours, planted faults, the sampler."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from _neighbours import column, multisets

from flexdp.errors import DataError
from flexdp.mechanisms.program import enumerate_paths, run, spent
from flexdp.noise.bits import Bits
from flexdp.noise.exponential import decay
from flexdp.sharp.column import Column
from flexdp.sharp.cut import Cut
from flexdp.sharp.goal import Goal
from flexdp.sharp.halving import CutRules, halve, node_prior, tree_depth
from flexdp.sharp.prior import Listed, Spread, between, universal
from flexdp.sharp.ranks import Near, Request, Span
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale

ONE, HALF, THIRD, TENTH = Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)
DEPTH = 14
EMPTY: tuple[Any, ...] = ()


# ---------------------------------------------------------------- the law, written from the definition on multisets


@dataclass(frozen=True)
class Setting:
    """A tree on a few values. Its levels are those of ``goal`` in every node, ``depth`` levels of cuts."""

    values: tuple[int, ...] = (0, 1, 2)
    shares: int = 3
    depth: int = 2
    goal: Fraction = HALF
    ends: tuple[int | None, int | None] = (None, None)
    leaf: bool = False  # the last cuts are of whole values
    fault: str = ""

    def prior(self, low: int | None, high: int | None) -> dict[int, int]:
        """It sees everything public, very unevenly: where the best candidate weighs little, the bound is nearly met."""
        inside = [v for v in self.values if (low is None or v >= low) and (high is None or v <= high)]
        return {v: (900, 1, 30)[(v + (low or 0) + 2 * (high or 0)) % 3] for v in inside}

    @property
    def table(self) -> Any:
        sensitivity = 1 if self.fault == "sensitivity" else Goal.quantile(self.goal).sensitivity
        return decay(ONE, sensitivity, DEPTH)

    @property
    def bound(self) -> Fraction:
        """e^(ε·levels), by the certified growth of the weights."""
        honest = decay(ONE, Goal.quantile(self.goal).sensitivity, DEPTH).certify()
        growth = Fraction(honest.growth_numerator, honest.growth_denominator)
        return growth ** (2 * honest.sensitivity * self.depth)


def defined(data: Counter[int], setting: Setting, low: int | None, high: int | None, depth: int) -> dict[Any, Fraction]:
    """The law of ((value, share), left, right), from multisets, cuts and floors alone."""
    if not depth or (low is not None and high is not None and low >= high):
        return {EMPTY: ONE}
    records, weights = sum(data.values()), setting.prior(low, high)
    if setting.fault == "ties in the prior":
        weights = {v: weight + (data[v] > 1) for v, weight in weights.items()}
    if not weights or (setting.fault == "empty nodes are skipped" and not records):
        return {EMPTY: ONE}
    goal = Goal.quantile(setting.goal)
    target = goal.target(records)
    whole = setting.leaf and depth == 1
    found: dict[Any, Fraction] = {}
    drawn: dict[tuple[int, int], tuple[int, Counter[int], Counter[int]]] = {}
    for v, weight in weights.items():
        ties, under = data[v], sum(count for x, count in data.items() if x < v)
        for share in range(1 if whole or setting.fault == "rank" else setting.shares):
            sent = ties * share // setting.shares
            if setting.fault == "rank":  # ties are split so that ranks fit
                sent = min(max(-(-target // goal.units) - under, 0), ties)
            elif setting.fault == "best share":
                every = range(setting.shares)
                if share != min(every, key=lambda s: abs(goal.units * (under + ties * s // setting.shares) - target)):
                    continue
            elif setting.fault == "pairs":  # ties are sent two by two
                sent = 2 * (ties * share // (2 * setting.shares))
            loss = goal.loss(under, under + ties, target) if whole else abs(goal.units * (under + sent) - target)
            left = Counter({x: count for x, count in data.items() if x < v} | {v: sent})
            drawn[v, share] = weight * setting.table.weight(loss), +left, +(data - left)
    total = sum(weight for weight, *_ in drawn.values())
    for (v, share), (weight, left, right) in drawn.items():
        one, other = (defined(part, setting, *span, depth - 1) for part, span in ((left, (low, v)), (right, (v, high))))
        for (a, p), (b, q) in product(one.items(), other.items()):
            found[(v, share), a, b] = found.get(((v, share), a, b), Fraction(0)) + Fraction(weight, total) * p * q
    return found


def law_of(setting: Setting) -> Callable[[tuple[int, ...]], dict[Any, Fraction]]:
    return cache(lambda data: defined(Counter(data), setting, *setting.ends, setting.depth))


def excess(one: dict[Any, Fraction], other: dict[Any, Fraction], bound: Fraction) -> Fraction:
    """The largest ratio over the bound, both ways; 10^9 where only one of them has an outcome."""
    return max(
        p / (b[outcome] * bound) if b.get(outcome) else Fraction(10**9)
        for a, b in ((one, other), (other, one))
        for outcome, p in a.items()
    )


def worst(setting: Setting, records: int) -> Fraction:
    law = law_of(setting)
    return max(
        excess(law(data), law(tuple(sorted((*data, more)))), setting.bound)
        for data in multisets(setting.values, records)
        for more in setting.values
    )


SETTINGS = {
    "one level": (Setting(depth=1), 7, Fraction(99, 100)),
    "two levels": (Setting(), 4, Fraction(9, 10)),
    "three levels": (Setting(values=(0, 1), shares=2, depth=3), 4, Fraction(1, 2)),
    "a third": (Setting(goal=THIRD, shares=2), 4, Fraction(1, 3)),
    "a tenth, from one end": (Setting(values=(0, 1), shares=4, goal=TENTH, ends=(0, None)), 6, Fraction(1, 10)),
    "between ends": (Setting(values=(0, 1), shares=5, ends=(0, 1)), 7, Fraction(9, 10)),
    "up to an end": (Setting(ends=(None, 2)), 4, Fraction(1, 2)),
    "one value": (Setting(values=(0,), shares=8, depth=1), 12, Fraction(9, 10)),
    "one value, three levels": (Setting(values=(0,), shares=4, depth=3), 9, Fraction(1, 3)),
    "whole values last": (Setting(leaf=True), 4, Fraction(1, 2)),
    "whole values last, three levels": (Setting(values=(0, 1), shares=2, depth=3, leaf=True), 4, Fraction(1, 3)),
    "a third, whole values last": (Setting(goal=THIRD, shares=2, leaf=True, ends=(0, None)), 4, Fraction(1, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_every_outcome_of_every_pair_of_small_neighbours(name: str) -> None:
    setting, records, least = SETTINGS[name]
    assert all(sum(law_of(setting)(data).values()) == 1 for data in multisets(setting.values, 2))
    assert least < worst(setting, records) <= 1


@pytest.mark.parametrize(
    ("fault", "goal", "depth"),
    [
        ("rank", HALF, 2),
        ("best share", HALF, 2),
        ("sensitivity", TENTH, 1),
        ("empty nodes are skipped", HALF, 2),
        ("ties in the prior", HALF, 1),
        ("pairs", HALF, 2),
    ],
)
def test_control_planted_faults_are_caught(fault: str, goal: Fraction, depth: int) -> None:
    assert worst(Setting(goal=goal, depth=depth, fault=fault), 5) > Fraction(101, 100)


def test_control_shares_of_the_column_instead_of_the_node_are_caught() -> None:
    """Three cells of one value, dealt by 1/2 and 2/3 of all: ⌊2c/3⌋ − ⌊c/2⌋ falls when c grows from 3 to 4."""
    table, bound = decay(ONE, 1, DEPTH), Setting(depth=1).bound

    def law(records: int) -> dict[Any, Fraction]:
        cells = [records // 2, records * 2 // 3 - records // 2, records - records * 2 // 3]
        weights = [[(1000, 1, 1000)[j] * table.weight(abs(2 * (m * j // 2) - m)) for j in range(3)] for m in cells]
        return {
            chosen: math.prod((Fraction(w[j], sum(w)) for w, j in zip(weights, chosen, strict=True)), start=ONE)
            for chosen in product(range(3), repeat=3)
        }

    assert max(excess(law(c), law(c + 1), bound) for c in range(12)) > 2


# ---------------------------------------------------------------- the program is the definition


def rules_of(setting: Setting) -> CutRules:
    return CutRules(prior=lambda _, low, high: Listed(setting.prior(low, high)), shares=setting.shares, depth=DEPTH)


def levels_of(setting: Setting, start: Fraction, end: Fraction, depth: int) -> Iterator[Fraction]:
    """Levels whose tree has this goal in every node."""
    if depth:
        level = start + setting.goal * (end - start)
        yield from levels_of(setting, start, level, depth - 1)
        yield level
        yield from levels_of(setting, level, end, depth - 1)


def program_law(setting: Setting, data: tuple[int, ...]) -> dict[Any, Fraction]:
    """What the program draws, level by level, as the definition names it."""
    low, high = setting.ends
    levels = list(levels_of(setting, Fraction(0), ONE, setting.depth))
    span = Span(low, None if high is None else high + 1)

    def make() -> Any:
        return halve(levels, [ONE] * setting.depth, INTEGERS, ends=span, rules=rules_of(setting))

    found: dict[Any, Fraction] = {}
    for path in enumerate_paths(make, column(data)):
        assert spent(path.costs) <= setting.depth
        assert list(path.value.values()) == sorted(path.value.values())
        outcomes = iter(path.outcomes)
        open_nodes: list[tuple[int | None, int | None, tuple[int, ...]]] = [(low, high, ())]
        drawn: dict[tuple[int, ...], tuple[int, int]] = {}
        for depth in range(setting.depth):
            grown = []
            shares = 1 if depth == setting.depth - 1 else setting.shares
            for a, b, place in open_nodes:
                if a is not None and b is not None and a >= b:
                    continue
                drawn[place] = divmod(next(outcomes), shares)
                grown += [(a, drawn[place][0], (*place, 0)), (drawn[place][0], b, (*place, 1))]
            open_nodes = grown
        named = _named(drawn, ())
        found[named] = found.get(named, Fraction(0)) + path.chance
    return found


def _named(drawn: dict[tuple[int, ...], tuple[int, int]], place: tuple[int, ...]) -> Any:
    if place not in drawn:
        return EMPTY
    return (drawn[place], _named(drawn, (*place, 0)), _named(drawn, (*place, 1)))


@pytest.mark.parametrize(
    "setting",
    [
        Setting(shares=2, leaf=True),
        Setting(values=(0, 1), shares=3, leaf=True, ends=(0, 1)),
        Setting(shares=2, leaf=True, goal=THIRD, ends=(0, None)),
        Setting(values=(0, 1), shares=2, leaf=True, goal=TENTH, ends=(None, 1)),
        Setting(depth=1, leaf=True, ends=(0, 2)),
    ],
    ids=["open", "ends", "third", "tenth", "one"],
)
def test_the_program_draws_by_the_definition(setting: Setting) -> None:
    for data in [(), (0,), (0, 0, 1), (0, 0, 0, 1, 1), (1, 1, 1, 1, 1)]:
        if setting.depth == 1 or len(setting.values) < 3 or len(data) in (0, 3):
            assert program_law(setting, data) == law_of(setting)(data)


def test_three_levels_are_drawn_by_the_definition() -> None:
    setting = Setting(values=(0, 1), shares=2, depth=3, leaf=True, ends=(0, 1))
    for data in [(0, 1, 1), (0, 0, 0, 1)]:
        assert program_law(setting, data) == law_of(setting)(data)


@pytest.mark.parametrize("shares", [1, 3, 8])
@pytest.mark.parametrize("goal", [HALF, THIRD, TENTH])
def test_a_cut_has_the_law_of_its_definition(goal: Fraction, shares: int) -> None:
    """The law from segments, against prior × weight of each position's own loss."""
    prior = Listed({-1: 4, 0: 900, 1: 1, 2: 30, 5: 7})
    for low, high in ((None, None), (0, None), (None, 2), (0, 2)):
        cut = Cut(goal=Goal.quantile(goal), epsilon=ONE, prior=prior, low=low, high=high, shares=shares, depth=5)
        for data in [(), (1,), (0, 0, 2, 2, 2), (0,) * 9 + (1,) * 30 + (2,) * 7]:
            near = Near(goal=cut.goal, reach=cut.reach)
            window = column(data).fetch(Request(windows=(near,))).windows[0]
            target, weights = cut.goal.target(len(data)), {}
            for v, weight in zip(prior.candidates, prior.weights, strict=True):
                if (low is None or v >= low) and (high is None or v <= high):
                    below, ties = sum(x < v for x in data), data.count(v)
                    for j in range(shares):
                        loss = abs(cut.goal.units * (below + ties * j // shares) - target)
                        if shares == 1:
                            loss = cut.goal.loss(below, below + ties, target)
                        weights[v * shares + j] = weight * cut.table.weight(loss)
            assert cut.law(window).listed().masses == {
                p: Fraction(w, sum(weights.values())) for p, w in weights.items()
            }


# ---------------------------------------------------------------- the sampler


def windows_of(data: np.ndarray[Any, Any], cut: Cut) -> Any:
    near = Near(goal=cut.goal, reach=cut.reach)
    return Column.from_values(data).fetch(Request(windows=(near,))).windows[0]


@pytest.mark.parametrize("shares", [1, 8])
def test_blocks_divide_the_candidates_and_bound_their_weights(shares: int) -> None:
    rng = random.Random(5)
    for _ in range(100):
        data = [rng.choice((0, 3, 4, 9, 10**6)) + rng.randrange(3) for _ in range(rng.randrange(60))]
        low, high = rng.choice(((None, None), (0, None), (None, 10**6 + 2), (0, 10**6 + 2)))
        listed = {*data, *range(12), 500, 10**6 + 1}
        prior = Listed({v: rng.randrange(1, 9) for v in listed if 0 <= v <= 10**6 + 2})
        cut = Cut(
            goal=Goal.quantile(Fraction(rng.choice((1, 2, 5, 9)), 10)),
            epsilon=Fraction(rng.choice((1, 5, 40))),
            prior=prior,
            low=low,
            high=high,
            shares=shares,
        )
        window = windows_of(np.array(data, dtype=np.int64), cut)
        for every in (False, True):
            blocks, total = cut.blocks(window, every=every), 0
            for v, weight in zip(prior.candidates, prior.weights, strict=True):
                for position in range(v * shares, (v + 1) * shares):
                    holders = [
                        block
                        for block in blocks
                        if (block.low is None or block.low <= position)
                        and (block.high is None or position < block.high)
                    ]
                    assert len(holders) == 1
                    own, most = cut.table.weight(cut.loss(window, position)), cut.table.weight(holders[0].loss)
                    assert own <= most
                    assert own == most or not holders[0].flat
                    total += weight * most
            assert total == sum(block.weight for block in blocks)


@pytest.mark.parametrize(
    ("data", "low", "high", "shares"),
    [([2, 2, 2, 5, 9], None, None, 4), ([2] * 6 + [5], 2, 9, 4), ([2, 2, 2, 5, 9], 0, None, 1), ([], 3, 8, 4)],
)
def test_draws_follow_the_law(data: list[int], low: int | None, high: int | None, shares: int) -> None:
    """χ² of 4000 draws, with a false-alarm rate below 10⁻⁷; and as a control, against the law of other data."""
    prior = universal(INTEGERS) if low is None or high is None else between(INTEGERS, low, high)
    cut = Cut(goal=Goal.quantile(HALF), epsilon=ONE, prior=prior, low=low, high=high, shares=shares)
    bits, runs = Bits(np.random.default_rng(8).bytes), 4000
    window = windows_of(np.array(data, dtype=np.int64), cut)
    seen = Counter(cut.draw(window, bits) for _ in range(runs))
    other = windows_of(np.array([*data, 4, 4], dtype=np.int64), cut)

    def chi(against: Any) -> float:
        spread, weights = Spread(prior, shares), {}
        for segment in cut.segments(against):
            start = -40 * shares if segment.low is None else max(-40 * shares, segment.low)
            end = 40 * shares if segment.high is None else min(40 * shares, segment.high)
            for position in range(start, end):
                weights[position] = (spread.before(position + 1) - spread.before(position)) * segment.weight
        inside = sum(seen[position] for position in weights)
        total = sum(weights.values())
        expected = {position: inside * float(Fraction(weight, total)) for position, weight in weights.items()}
        used = [position for position, mean in expected.items() if mean >= 10]
        assert len(used) > 5
        statistic = sum((seen[position] - expected[position]) ** 2 / expected[position] for position in used)
        return (statistic - len(used)) / math.sqrt(2 * len(used))

    assert chi(window) < 6 < chi(other)


def test_a_window_that_is_too_short_or_out_of_order_is_refused() -> None:
    cut = Cut(goal=Goal.quantile(HALF), epsilon=Fraction(4), prior=universal(INTEGERS))
    data = np.arange(1000)
    short = Column.from_values(data).fetch(Request(windows=(Near(goal=cut.goal, reach=1),))).windows[0]
    with pytest.raises(DataError):
        cut.draw(short, Bits())
    window = windows_of(data, cut)
    cut.draw(window, Bits())
    window.values[:] = window.values[::-1].copy()
    with pytest.raises(DataError):
        cut.draw(window, Bits())


# ---------------------------------------------------------------- whole trees


@pytest.mark.parametrize("scale", [INTEGERS, NUMBERS])
def test_a_large_tree_finds_all_levels(scale: Scale) -> None:
    rng = np.random.default_rng(3)
    data: Any = rng.integers(0, 10**6, 20_000) if scale is INTEGERS else rng.lognormal(3, 1, 20_000)
    levels = [Fraction(k, 32) for k in range(1, 32)]
    ran = run(halve(levels, [ONE] * 5, scale), Column.from_values(data), Bits(np.random.default_rng(4).bytes))
    assert ran.spent == 5 and list(ran.value.values()) == sorted(ran.value.values())
    ordered = np.sort(data)
    for level, value in ran.value.items():
        assert abs(np.searchsorted(ordered, float(scale.value(value))) - float(level) * 20_000) < 60


def test_ties_are_halved_again_and_again() -> None:
    """Half of the records are zero and the rest lie apart: every level is found, on both sides of the tie's end."""
    data = np.concatenate([np.zeros(5000, dtype=np.int64), np.arange(1000, 6000)])
    levels = [Fraction(k, 16) for k in range(1, 16)]
    found = run(
        halve(levels, [ONE] * 4, INTEGERS), Column.from_values(data), Bits(np.random.default_rng(5).bytes)
    ).value
    for level, value in found.items():
        assert value == 0 if level < HALF else abs(value - 1000 - float(level - HALF) * 10_000) < 60 or level == HALF


def test_ends_are_never_left_and_points_cost_nothing() -> None:
    ran = run(
        halve([HALF / 2, HALF, HALF * 3 / 2], [ONE] * 2, INTEGERS, ends=Span(7, 8)),
        Column.from_values([7] * 50),
        Bits(np.random.default_rng(6).bytes),
    )
    assert set(ran.value.values()) == {7} and not ran.costs
    data = np.clip(np.random.default_rng(7).integers(-50, 150, 500), 0, 100)
    program = halve([Fraction(k, 64) for k in range(1, 64)], [ONE] * 6, INTEGERS, ends=Span(0, 101))
    found = run(program, Column.from_values(data), Bits(np.random.default_rng(8).bytes)).value
    assert all(0 <= value <= 100 for value in found.values())


def test_no_candidate_between_the_ends() -> None:
    low = NUMBERS.ten(20) + 1
    rules = CutRules(prior=lambda scale, *_: universal(scale))
    program = halve([HALF], [ONE], NUMBERS, ends=Span(low, low + 2), rules=rules)
    assert run(program, Column.from_values(np.full(20, 1e20)), Bits()).value[HALF] == low


def test_nothing_public_depends_on_the_order_of_records_and_depth_is_public() -> None:
    assert [tree_depth(n) for n in (0, 1, 2, 3, 4, 7, 8)] == [0, 1, 2, 2, 3, 3, 4]
    one = node_prior(INTEGERS, None, None)
    assert one is universal(INTEGERS)
    inner = node_prior(INTEGERS, 3, 90)
    assert all(inner.before(v + 1) > inner.before(v) for v in (-5, 3, 17, 90, 91, 10**9))
