"""Privacy of sharp answers by exact enumeration, both ways, over all small data sets and one record more.

Every control plants a fault that the enumeration must find.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from _neighbours import INFINITE, SLACK, Law, cell_law, column, hockey_stick, multisets, path_law, ratio, worst
from _support.cuts import chances, near, whole_cut, window_of

from flexdp import DataError
from flexdp._release.asking import AskedBudget, Wanted
from flexdp.mechanisms.program import enumerate_paths
from flexdp.noise.bits import Bits
from flexdp.noise.exponential import decay
from flexdp.sharp.answers import ask
from flexdp.sharp.column import Column
from flexdp.sharp.count import NoisyCount
from flexdp.sharp.cut import Cut
from flexdp.sharp.exponentials import exp_minus
from flexdp.sharp.goal import Goal
from flexdp.sharp.halving import CutRules
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.prior import Listed, around, between, universal
from flexdp.sharp.ranks import Reply, Request, Span, Window
from flexdp.sharp.rules import Rules
from flexdp.sharp.rungs import Rungs
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale

HALF, ONE, TWO = Fraction(1, 2), Fraction(1), Fraction(2)
VALUES = (-3, 0, 1, 2, 50)
GOALS = {
    "median": Goal.quantile(HALF),
    "0.75": Goal.quantile(Fraction(3, 4)),
    "0.9": Goal.quantile(Fraction(9, 10)),
    "0.99": Goal.quantile(Fraction(99, 100)),
    "0.4": Goal.quantile(Fraction(2, 5)),
    "2 above": Goal.beyond(2, 1),
    "1 below": Goal.beyond(1, -1),
}
LIST = Listed({0: 3, 1: 5, 2: 1, 4: 2})
CUTS = sorted({cut for value in VALUES for cut in (value, value + 1)})


# ---------------------------------------------------------------- the exponential mechanism alone


@pytest.mark.parametrize("epsilon", [HALF, ONE, TWO])
@pytest.mark.parametrize("goal", GOALS)
def test_exponential_quantile_with_the_universal_prior(goal: str, epsilon: Fraction) -> None:
    mechanism = whole_cut(goal=GOALS[goal], epsilon=epsilon, prior=universal(INTEGERS))
    found = worst(lambda data: cell_law(mechanism, CUTS, column(data)), VALUES, 3, epsilon)
    assert exp_minus(epsilon) < found <= 1


@pytest.mark.parametrize("prior", ["around", "between"])
@pytest.mark.parametrize("goal", ["median", "2 above", "1 below"])
@pytest.mark.parametrize("span", [(0, None), (1, None), (None, 2), (1, 4), (2, 51)])
def test_exponential_quantile_in_a_span(goal: str, prior: str, span: tuple[int | None, int | None]) -> None:
    """A record outside the span changes nothing; one inside costs at most ε."""
    weights = around(INTEGERS, 1, 1) if prior == "around" else between(INTEGERS, -2, 60)
    mechanism = whole_cut(goal=GOALS[goal], epsilon=ONE, prior=weights, span=Span(*span))
    assert worst(lambda data: cell_law(mechanism, CUTS, column(data)), VALUES, 2, ONE) <= 1
    outside = [v for v in VALUES if (span[0] is not None and v < span[0]) or (span[1] is not None and v >= span[1])]
    for more in outside:
        one, other = (cell_law(mechanism, CUTS, column(data)) for data in ((2,), (2, more)))
        assert one == other


def test_exponential_quantile_of_doubles() -> None:
    values = (-0.1, 0.0, 0.1, 0.30000000000000004, 1e39)
    mechanism = whole_cut(goal=GOALS["median"], epsilon=ONE, prior=universal(NUMBERS))
    cuts = sorted({cut for value in values for cut in (NUMBERS.units(value), NUMBERS.units(value) + 1)})
    found = worst(lambda data: cell_law(mechanism, cuts, Column.from_values(np.array(data, float))), values, 3, ONE)
    assert Fraction(1, 2) < found <= 1


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("goal", ["median", "0.75", "2 above", "1 below"])
def test_the_end_of_the_table_and_of_the_window(goal: str, depth: int) -> None:
    """With a short table values lie outside the window, and still no ratio exceeds e^ε."""
    mechanism = whole_cut(goal=GOALS[goal], epsilon=ONE, prior=LIST, depth=depth)

    def law(data: tuple[int, ...]) -> Law:
        return chances(mechanism, window_of(mechanism, column(data)))

    assert worst(law, (0, 1, 2), 11, ONE) <= 1


# ---------------------------------------------------------------- the ladder alone


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("target", [0, 1, 2])
def test_the_ladder_is_private_and_tight(side: int, target: int, times: int) -> None:
    """In rational arithmetic throughout: r stands for e^(−ε/2), and the worst ratio is r^−2 exactly.

    Some rungs may be there several times; which of them stopped the climb is enumerated too, though it is not told.
    """
    r = Fraction(3, 5)
    rungs = (*[0] * times, 1, *[2] * times, 4, 60) if side > 0 else (50, *[2] * times, 1, *[0] * times, -9)
    ladder = Ladder(rungs=rungs, side=side, target=target, epsilon=ONE)

    def law(data: tuple[int, ...]) -> Law:
        reply = column(data).fetch(Request(cuts=ladder.cuts))
        found = ladder.chances(ladder.beyond(reply.total, reply.before), r)
        assert sum(found.values()) == 1
        return found

    found = worst(law, VALUES, 3, Fraction(0))
    assert found <= r**-2
    if target:
        assert found > Fraction(9, 10) * r**-2


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("target", [-1, 0, 1])
@pytest.mark.parametrize(("threshold", "whole"), [(Fraction(7, 10), 10), (Fraction(3, 5), 5)])
def test_a_ladder_that_spends_more_on_its_threshold_is_private(
    side: int, target: int, threshold: Fraction, whole: int
) -> None:
    """The ladders to the outermost record and to the ends of a mean: r stands for e^(−ε/10) or e^(−ε/5)."""
    r = Fraction(9, 10)
    rungs = (0, 0, 1, 2, 2, 60) if side > 0 else (50, 2, 2, 1, 0, 0, -9)
    ladder = Ladder(rungs=rungs, side=side, target=target, epsilon=ONE, threshold=threshold)

    def law(data: tuple[int, ...]) -> Law:
        reply = column(data).fetch(Request(cuts=ladder.cuts))
        found = ladder.chances(ladder.beyond(reply.total, reply.before), r)
        assert sum(found.values()) == 1
        return found

    found = worst(law, VALUES, 3, Fraction(0))
    assert found <= r**-whole
    if target > 0:
        assert found > Fraction(9, 10) * r**-whole


def test_control_a_ladder_that_spends_one_share_twice_is_caught() -> None:
    """Seven tenths for the threshold, and seven for the rungs."""
    r = Fraction(9, 10)
    honest = Ladder(rungs=(0, 1, 2, 60), side=1, target=1, epsilon=ONE, threshold=Fraction(7, 14))

    def law(data: tuple[int, ...]) -> Law:
        reply = column(data).fetch(Request(cuts=honest.cuts))
        return honest.chances(honest.beyond(reply.total, reply.before), r**7)

    assert worst(law, VALUES, 3, Fraction(0)) > r**-10


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("depth", [0, 1])
def test_a_ladder_is_private_where_counts_reach_its_limit(side: int, depth: int) -> None:
    r = Fraction(3, 5)
    rungs = (-4, 0, 1, 2, 60) if side > 0 else (51, 2, 1, 0, -9)
    ladder = Ladder(rungs=rungs, side=side, target=1, epsilon=ONE, depth=depth)
    assert ladder.limit == 1 + depth
    limited = []

    def law(data: tuple[int, ...]) -> Law:
        reply = column(data).fetch(Request(cuts=ladder.cuts))
        beyond = ladder.beyond(reply.total, reply.before)
        limited.append(max(beyond) == ladder.limit < len(data))
        return ladder.chances(beyond, r)

    assert Fraction(9, 10) * r**-2 < worst(law, VALUES, 3, Fraction(0)) <= r**-2
    assert any(limited)


def test_control_a_ladder_that_forgets_counts_beyond_its_limit_is_caught() -> None:
    """Counts that reach the limit must count as the limit, or one record would change them by more than one."""
    ladder = Ladder(rungs=(-4, 0, 1, 2, 60), side=1, target=1, epsilon=ONE, depth=1)

    def law(data: tuple[int, ...]) -> Law:
        reply = column(data).fetch(Request(cuts=ladder.cuts))
        return ladder.chances(
            [0 if count >= ladder.limit else count for count in ladder.beyond(reply.total, reply.before)]
        )

    assert worst(law, VALUES, 3, ONE) > SLACK


def test_control_a_ladder_with_half_the_noise_is_caught() -> None:
    ladder = Ladder(rungs=(0, 1, 2, 60), side=1, target=1, epsilon=TWO)

    def law(data: tuple[int, ...]) -> Law:
        reply = column(data).fetch(Request(cuts=ladder.cuts))
        return ladder.chances(ladder.beyond(reply.total, reply.before))

    assert worst(law, VALUES, 3, ONE) > SLACK


# ---------------------------------------------------------------- whole chains


def _rungs(_: Scale, anchor: int, side: int, __: Span, ___: int) -> Rungs:
    further = (1, 2, 4, 9) if side > 0 else (2, 1, 0, -5)
    values = (anchor, *(rung for rung in further if (rung - anchor) * side > 0))
    return Rungs(values, tuple(2 - place % 2 for place in range(len(values))), (0,) * len(values))


TINY = Rules(
    few=1,
    few_for_mean=1,
    deep=1,
    far=Fraction(1, 20),  # type: ignore[arg-type]
    near=1,
    floor=Fraction(1, 2),
    back=Fraction(1, 4),
    tree=CutRules(prior=lambda *_: LIST, shares=2),
    around=lambda _, anchor, side: Listed({0: 1, 1: 2, 2: 2, anchor: 4, anchor + side: 3}),
    rungs=_rungs,
)
COUNTS = (0, 1, 7, 25)  # refused, ladder, cut
SMALL = (0, 1, 2, 4)


@pytest.mark.parametrize("level", [Fraction(1), Fraction(0), Fraction(9, 10), Fraction(1, 10), HALF])
def test_one_answer_from_records_to_anchor_to_answer(level: Fraction) -> None:
    """Pointwise over (n̂, anchor, answer), with both ways of answering among them."""
    found = worst(path_law(lambda: ask([level], ONE, INTEGERS, rules=TINY), COUNTS, ONE), SMALL, 3, ONE)
    assert Fraction(1, 2) < found <= SLACK


def test_one_answer_with_short_tables_and_limited_counts() -> None:
    rules = replace(TINY, tree=replace(TINY.tree, depth=1))
    found = worst(path_law(lambda: ask([ONE], ONE, INTEGERS, rules=rules), COUNTS, ONE), SMALL, 3, ONE)
    assert Fraction(1, 2) < found <= SLACK


@pytest.mark.parametrize("levels", [("0", "1"), ("0", "1/2", "1"), ("1/20", "19/20"), ("1/2", "19/20")])
def test_several_answers_by_cuts_and_by_ladders_in_parallel(levels: tuple[str, ...]) -> None:
    asked = [Fraction(level) for level in levels]
    counts = (0, 2, 13, 25) if len(levels) < 3 else (0, 13, 25)
    law = path_law(lambda: ask(asked, ONE, INTEGERS, rules=TINY), counts, ONE)
    found = worst(law, (0, 1, 4), 2, ONE)
    assert Fraction(1, 2) < found <= SLACK


def test_chains_enumerate_what_they_run() -> None:
    """The paths reach both ways, and refusals, and their probabilities add up."""
    paths = {
        level: list(enumerate_paths(lambda: ask([level], ONE, INTEGERS, rules=TINY), column((0, 2)), COUNTS))  # noqa: B023
        for level in (Fraction(9, 10), ONE)
    }
    followed = 1 - NoisyCount(epsilon=ONE / 25).law(2).listed(COUNTS).missing
    for found in paths.values():
        assert abs(sum(path.chance for path in found) - followed) < Fraction(1, 10**30)
    ways = {answer.way for path in paths[Fraction(9, 10)] for answer in path.value.answers}
    assert ways == {"cut", "ladder"}
    assert {len(path.outcomes) for path in paths[ONE]} == {1, 3}
    assert any(path.value.too_few for path in paths[ONE])


def test_declared_groups_are_parallel() -> None:
    chain = cache(path_law(lambda: ask([ONE], ONE, INTEGERS, rules=TINY), (0, 3), ONE))

    def law(data: tuple[tuple[str, int], ...]) -> Law:
        parts = [chain(tuple(value for group, value in data if group == name)) for name in "ab"]
        return {(a, b): p * q for (a, p), (b, q) in product(parts[0].items(), parts[1].items())}

    records = [(group, value) for group in "ab" for value in (0, 2)]
    found = worst(law, records, 2, ONE)
    assert Fraction(1, 2) < found <= SLACK


Records = tuple[tuple[str, int], ...]  # of a group and a value
MAXIMUM = Wanted(("max",))
LISTED = AskedBudget(TWO, delta=Fraction(1, 10))


def _group_law(budget: AskedBudget, data: tuple[int, ...], *, answers: Fraction = ONE) -> Law:
    """What one group publishes that is not known: nothing, or what is left of it and the answers about it."""
    assert budget.listing is not None
    (epsilon,) = budget.parts(MAXIMUM).values()
    found: dict[Hashable, Fraction] = {}
    for (left,), chance in budget.listing.law([len(data)]).listed().masses.items():
        if not left:
            found[()] = found.get((), Fraction(0)) + chance
            continue
        program = path_law(
            lambda left=left: ask(  # type: ignore[misc]
                [ONE], epsilon * answers, INTEGERS, rules=replace(TINY, few=0), records_about=left
            ),
            (),
            epsilon * answers,
        )
        for outcome, p in program(data).items():
            found[left, outcome] = found.get((left, outcome), Fraction(0)) + chance * p
    assert abs(sum(found.values()) - 1) < Fraction(1, 10**30)
    return found


def _worst_delta(group_law: Callable[[tuple[int, ...]], Law], budget: AskedBudget, most: int) -> Fraction:
    """The smallest δ at the whole ε, both ways, of two groups and one unit more: up to ``budget.most`` records."""
    known = cache(group_law)

    def law(data: Records) -> Law:
        parts = [known(tuple(value for group, value in data if group == name)) for name in "ab"]
        return {(a, b): p * q for (a, p), (b, q) in product(parts[0].items(), parts[1].items())}

    whole = cache(law)
    records = [(group, value) for group in "ab" for value in (0, 2)]
    return max(
        hockey_stick(whole(data), whole(tuple(sorted((*data, *more)))), budget.epsilon)
        for data in multisets(records, most)
        for more in multisets(records, budget.most)
    )


def test_unknown_groups_cost_epsilon_and_delta() -> None:
    """Numbers of records first, dropped with (ε/4, δ); what is left takes the place of n̂; then 3ε/4. Two groups."""
    assert 0 < _worst_delta(lambda data: _group_law(LISTED, data), LISTED, 3) <= LISTED.delta


def test_unknown_groups_of_units_with_two_records() -> None:
    """A unit may have records in two groups, or two in one: δ is divided as by two steps of one."""
    units = AskedBudget(TWO, most=2, delta=Fraction(1, 10))
    assert units.listing is not None and units.listing.delta < units.delta / 2
    assert 0 < _worst_delta(lambda data: _group_law(units, data), units, 2) <= units.delta


@pytest.mark.parametrize("fault", ["true counts decide", "an undropped count beside", "undivided", "dear answers"])
def test_control_unknown_groups_listed_wrongly_are_caught(fault: str) -> None:
    budget = AskedBudget(TWO, most=2, delta=Fraction(1, 10)) if fault == "undivided" else LISTED

    def law(data: tuple[int, ...]) -> Law:
        if fault == "true counts decide":
            return {(): ONE} if len(data) < 3 else {("listed", len(data)): ONE}
        if fault == "undivided":  # each record of a unit at the budget of the whole unit
            return _group_law(LISTED, data)
        if fault == "dear answers":
            return _group_law(LISTED, data, answers=Fraction(3))
        return {(outcome, len(data) if outcome else 0): p for outcome, p in _group_law(LISTED, data).items()}

    assert _worst_delta(law, budget, 3 if budget.most == 1 else 2) > budget.delta


def test_units_with_two_records_get_half_the_budget() -> None:
    chain = cache(path_law(lambda: ask([ONE], ONE / 2, INTEGERS, rules=TINY), (0, 25), ONE / 2))
    undivided = cache(path_law(lambda: ask([ONE], ONE, INTEGERS, rules=TINY), (0, 25), ONE))
    pairs = [
        (data, tuple(sorted((*data, *more)))) for data in multisets((0, 1, 4), 2) for more in multisets((0, 1, 4), 2)
    ]
    assert max(ratio(chain(one), chain(other), ONE) for one, other in pairs) <= SLACK
    assert max(ratio(undivided(one), undivided(other), ONE) for one, other in pairs) > SLACK  # control


# ---------------------------------------------------------------- controls: the faults of the review


def test_control_a_window_shorter_than_its_table_is_caught() -> None:
    """Weight g_K outside a window that ends early: far too little, and it jumps where one record moves the window."""
    mechanism = whole_cut(goal=GOALS["median"], epsilon=ONE, prior=LIST, depth=40)
    table = decay(ONE, 1, 40)

    def law(data: tuple[int, ...]) -> Law:
        short = replace(near(mechanism), reach=1)  # it should be 21
        window = column(data).fetch(Request(windows=(short,))).windows[0]
        weights = {}
        for candidate, weight in zip(LIST.candidates, LIST.weights, strict=True):
            known = [i for i in range(len(window)) if window.value(i) == candidate]
            target = mechanism.goal.target(window.total)
            if known:
                loss = mechanism.goal.loss(int(window.below[known[0]]), int(window.upto[known[0]]), target)
            elif len(window) and window.value(0) < candidate < window.value(len(window) - 1):
                inside = int(max(window.upto[i] for i in range(len(window)) if window.value(i) < candidate))
                loss = mechanism.goal.loss(inside, inside, target)
            else:
                loss = table.depth
            weights[candidate] = weight * table.weight(loss)
        return {candidate: Fraction(weight, sum(weights.values())) for candidate, weight in weights.items()}

    assert worst(law, (0, 1, 2), 5, ONE) > 2


def test_a_window_that_ends_before_its_table_is_refused() -> None:
    mechanism = whole_cut(goal=GOALS["median"], epsilon=ONE, prior=LIST, depth=40)
    short = column(range(30)).fetch(Request(windows=(replace(near(mechanism), reach=5),))).windows[0]
    with pytest.raises(DataError):
        mechanism.segments(short)
    with pytest.raises(DataError):
        mechanism.draw(short, Bits())


@pytest.mark.parametrize("goal", ["median", "0.9", "2 above", "1 below"])
def test_a_window_without_its_first_or_last_values_is_refused(goal: str) -> None:
    mechanism = whole_cut(goal=GOALS[goal], epsilon=ONE, prior=LIST, depth=40)
    goal_of, every = GOALS[goal], column(range(300))
    good = window_of(mechanism, every)
    target = goal_of.target(300)

    def part(keep: slice) -> Window:
        return replace(good, values=good.values[keep], below=good.below[keep], upto=good.upto[keep])

    for cut in range(1, len(good)):
        for shorter in (part(slice(cut, None)), part(slice(None, -cut))):
            first, last = int(shorter.below[0]), int(shorter.upto[-1])
            far = first == 0 or (goal_of.loss(first, first, target) >= 40 and goal_of.units * first < target)
            far &= last == 300 or (goal_of.loss(last, last, target) >= 40 and goal_of.units * last > target)
            if far:
                mechanism.segments(shorter)
            else:
                with pytest.raises(DataError):
                    mechanism.segments(shorter)


@pytest.mark.parametrize("fault", ["empty", "overlap", "order", "twice", "no records", "beyond"])
def test_a_window_with_impossible_counts_is_refused(fault: str) -> None:
    mechanism = whole_cut(goal=GOALS["median"], epsilon=ONE, prior=LIST, depth=40)
    good = window_of(mechanism, column((0, 1, 1, 4)))
    assert len(mechanism.segments(good)) == 7
    nothing = np.zeros(0, dtype=np.int64)
    bad = {
        "empty": replace(good, values=nothing, below=nothing, upto=nothing),
        "overlap": replace(good, below=good.below - np.array([0, 1, 0])),
        "order": replace(good, values=good.values[::-1]),
        "twice": replace(good, values=good.values[[0, 1, 1]]),
        "no records": replace(good, upto=np.array([0, 3, 4])),
        "beyond": replace(good, total=3),
    }[fault]
    with pytest.raises(DataError):
        mechanism.segments(bad)


def test_control_a_published_private_target_is_caught() -> None:
    """A ladder whose target is a share of the private n is private; publishing that target is not."""

    def chosen(data: tuple[int, ...]) -> tuple[int, Law]:
        target = max(1, len(data) // 2)
        ladder = Ladder(rungs=(0, 1, 2, 60), side=1, target=target, epsilon=ONE)
        reply = column(data).fetch(Request(cuts=ladder.cuts))
        return target, ladder.chances(ladder.beyond(reply.total, reply.before))

    def hidden(data: tuple[int, ...]) -> Law:
        return chosen(data)[1]

    def published(data: tuple[int, ...]) -> Law:
        target, law = chosen(data)
        return {(target, rung): p for rung, p in law.items()}

    assert worst(hidden, VALUES, 4, ONE) <= SLACK
    assert worst(published, VALUES, 4, ONE) >= 1 * exp_minus(ONE) * INFINITE * Fraction(1, 10)


class _Stale(Column):
    """The number of records from before the last one arrived, ranks from after it."""

    def fetch(self, request: Request) -> Reply:
        reply = super().fetch(request)
        return replace(reply, windows=[replace(window, total=window.total - 1) for window in reply.windows])


def test_control_two_snapshots_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record arrives between two statements, or never: e^(2ε) apart, not e^ε."""
    monkeypatch.setattr(Cut, "_check", lambda *_: None)  # it would refuse more ranks than records
    mechanism = whole_cut(goal=GOALS["median"], epsilon=ONE, prior=LIST)
    found = Fraction(0)
    for data in multisets(SMALL, 4):
        for more in SMALL:
            fresh = column(data)
            stale = _Stale.from_values([*data, more])
            laws = [chances(mechanism, window_of(mechanism, r)) for r in (fresh, stale)]
            found = max(found, ratio(laws[0], laws[1], ONE))
    assert found > SLACK
    assert found * (1 / exp_minus(ONE)) <= 1 / exp_minus(TWO) * SLACK


def test_control_two_salts_are_caught() -> None:
    """One unit, whose record for the upper tail lies above the anchor and whose record for the lower tail below it."""
    upper = Ladder(rungs=(1, 2, 4, 9), side=1, target=1, epsilon=ONE)
    lower = Ladder(rungs=(1, 0, -5), side=-1, target=1, epsilon=ONE)

    def law(above: tuple[int, ...], below: tuple[int, ...]) -> Law:
        laws = []
        for ladder, data in ((upper, above), (lower, below)):
            reply = column(data).fetch(Request(cuts=ladder.cuts))
            laws.append(ladder.chances(ladder.beyond(reply.total, reply.before)))
        return {(a, b): p * q for (a, p), (b, q) in product(laws[0].items(), laws[1].items())}

    others = list(multisets((0, 1, 2, 4), 3))
    one_salt = max(ratio(law(data, data), law((*data, v), (*data, v)), ONE) for data in others for v in (0, 1, 4))
    two_salts = max(ratio(law(data, data), law((*data, 4), (*data, 0)), ONE) for data in others)
    assert one_salt <= SLACK < two_salts


def test_noisy_counts_are_private() -> None:
    laws = {n: NoisyCount(epsilon=ONE).law(n).listed(range(-5, 12)).masses for n in (3, 4, 5)}
    assert ratio(laws[3], laws[4], ONE) <= SLACK
    assert ratio(laws[3], laws[5], ONE) > SLACK  # control


def _name(program: Any) -> str:
    return str(program.__name__)
