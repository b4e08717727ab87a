"""Privacy of automatic buckets by exact enumeration: single nodes, whole trees, and the chain down to dropped bars."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from _neighbours import SLACK, Law, cell_law, column, hockey_stick, multisets, path_law, ratio, worst
from _support.cuts import whole_cut

from flexdp.mechanisms.program import enumerate_paths
from flexdp.noise import DropNoise
from flexdp.sharp.automatic import DroppedBars, automatic_buckets
from flexdp.sharp.column import Column
from flexdp.sharp.exponentials import exp_minus
from flexdp.sharp.goal import Goal
from flexdp.sharp.halving import CutRules
from flexdp.sharp.prior import Listed, Prior
from flexdp.sharp.ranks import Near, Span
from flexdp.sharp.rules import Rules
from flexdp.sharp.rungs import Rungs
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale
from flexdp.sharp.shares import Shares
from flexdp.sharp.tree import TreeRules, grow, node_prior

ONE = Fraction(1)
HALF = Goal.quantile(Fraction(1, 2))
VALUES = (-3, 0, 1, 2, 50)
CUTS = sorted({cut for value in VALUES for cut in (value, value + 1)})


@pytest.mark.parametrize(
    "node", [(None, None), (1, None), (None, 2), (0, None), (None, 51), (1, 4), (2, 4), (-3, 51), (0, 2)]
)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), ONE, Fraction(2)])
def test_the_split_of_any_node(node: tuple[int | None, int | None], epsilon: Fraction) -> None:
    """Open, one-sided and inner nodes with their own priors; records outside change nothing."""
    span = Span(*node)
    mechanism = whole_cut(goal=HALF, epsilon=epsilon, prior=node_prior(INTEGERS, span), span=span)
    found = worst(lambda data: cell_law(mechanism, CUTS, column(data)), VALUES, 3, epsilon)
    assert exp_minus(epsilon) < found <= 1


@pytest.mark.parametrize("node", [(0.5, None), (None, 2.25), (0.5, 2.25)])
def test_the_split_of_a_node_of_numbers(node: tuple[float | None, float | None]) -> None:
    values = (0.0, 0.5, 0.75, 2.0, 2.25)
    span = Span(*(None if end is None else NUMBERS.units(end) for end in node))
    cuts = sorted({cut for value in values for cut in (NUMBERS.units(value), NUMBERS.units(value) + 1)})
    mechanism = whole_cut(goal=HALF, epsilon=ONE, prior=node_prior(NUMBERS, span), span=span)
    found = worst(lambda data: cell_law(mechanism, cuts, Column.from_values([*map(float, data)])), values, 3, ONE)
    assert exp_minus(ONE) < found <= 1


def _prior(_: Scale, node: Span) -> Prior:
    weights = {0: 3, 1: 2, 3: 1}
    if node.low is not None and node.high is None:
        weights = {0: 1, 1: 1, 3: 4}
    if node.low is not None and node.high is not None:
        weights = {0: 2, 1: 3, 2: 1, 3: 1}
    return Listed(weights)


def _rungs(_: Scale, end: int, side: int, __: Span) -> tuple[int, ...]:
    return (end, *(rung for rung in ((1, 3, 7) if side > 0 else (1, 0, -2)) if (rung - end) * side > 0))


TINY = TreeRules(prior=_prior, rungs=_rungs)
SMALL = (0, 1, 3)


@pytest.mark.parametrize(("levels", "most"), [(0, 3), (1, 3), (2, 1)])
def test_whole_trees(levels: int, most: int) -> None:
    """All splits of all levels together cost (D + 1)·ε′, pointwise over everything that is drawn."""
    each = ONE
    law = path_law(lambda: grow(levels, each, 1, INTEGERS, rules=TINY), (), each * (levels + 1))
    total = each * (levels + 1)
    found = worst(law, SMALL, most, total)
    assert exp_minus(total) < found <= SLACK


def test_leaves_tile_the_line() -> None:
    for data in multisets(SMALL, 2):
        chances = Fraction(0)
        for path in enumerate_paths(lambda: grow(1, ONE, 1, INTEGERS, rules=TINY), column(data)):
            leaves = path.value
            assert leaves[0].low is None and leaves[-1].high is None
            assert all(a.high == b.low for a, b in pairwise(leaves))
            chances += path.chance
        assert chances == 1


def test_control_a_level_that_is_not_paid_for_is_caught() -> None:
    law = path_law(lambda: grow(1, ONE, 1, INTEGERS, rules=TINY), (), Fraction(2))
    assert worst(law, SMALL, 3, ONE) > SLACK


def test_control_nodes_that_see_all_records_are_caught() -> None:
    """Windows that ignore the node's span: the record changes both splits of a level, not one."""

    class Everywhere(Column):
        def _window(self, wanted: Near) -> object:  # type: ignore[override]
            return super()._window(replace(wanted, span=Span()))

    def ranks(data: tuple[int, ...]) -> Column:
        return Everywhere.from_values(np.array(data, dtype=np.int64))

    # The root's own split is free here: only the second level is looked at, and it costs twice its ε.
    rules = replace(TINY, prior=lambda s, node: Listed({1: 1}) if node == Span() else _prior(s, node))
    sighted = path_law(lambda: grow(2, ONE, 1, INTEGERS, rules=rules), (), Fraction(3))
    blind = path_law(lambda: grow(2, ONE, 1, INTEGERS, rules=rules), (), Fraction(3), ranks)
    assert worst(sighted, SMALL, 1, Fraction(2)) <= SLACK
    assert worst(blind, (0, 3), 2, Fraction(2)) > SLACK


def _divide(_: int, epsilon: Fraction, delta: Fraction) -> Shares:
    return Shares(
        share=Fraction(3, 5),
        levels=0,
        reach=DropNoise(epsilon * Fraction(2, 5), delta).q,
        most_buckets=4,
        per_level=epsilon * Fraction(1, 5),
        leaves=epsilon * Fraction(1, 5),
        bars=epsilon * Fraction(2, 5),
    )


def test_the_whole_chain_down_to_dropped_bars() -> None:
    """Records, tree, leaf counts and bars: (ε, δ) in both directions, five answers and refusals among the paths."""
    epsilon, delta = Fraction(4), Fraction(1, 5)
    rules = Rules(
        count_share=Fraction(1, 5),
        tree=CutRules(prior=lambda *_: Listed({0: 3, 1: 2}), shares=2),
        rungs=lambda _, anchor, side, *__: Rungs((anchor, anchor + 2 * side), (1, 0), (0, 0)),
    )

    def make() -> object:
        return automatic_buckets(
            epsilon,
            delta,
            INTEGERS,
            rules=rules,
            tree_rules=TINY,
            divide=_divide,
            few=1,
            few_for_bars=8,
        )

    counts = (-1, 0, 1, 4)
    laws = {data: path_law(make, counts, epsilon)(data) for data in multisets(SMALL, 3)}  # type: ignore[arg-type]
    deltas = [
        hockey_stick(laws[data], laws[tuple(sorted((*data, more)))], epsilon)
        for data in multisets(SMALL, 2)
        for more in SMALL
    ]
    assert max(deltas) <= delta
    kinds = {
        (path.value.too_few, path.value.five is not None, bool(path.value.bars))
        for path in enumerate_paths(make, column((0, 1)), counts)  # type: ignore[arg-type, var-annotated]
    }
    assert kinds == {(True, False, False), (False, True, False), (False, False, True)}
    # Up to the bars everything is pure: 3/5 of ε pointwise, and not 2/5 (control).
    pure = {data: _without_bars(law) for data, law in laws.items()}
    found = [
        ratio(pure[data], pure[tuple(sorted((*data, more)))], Fraction(0))
        for data in multisets(SMALL, 2)
        for more in SMALL
    ]
    assert 1 / exp_minus(epsilon * Fraction(2, 5)) < max(found) <= SLACK / exp_minus(epsilon * Fraction(3, 5))


def _without_bars(law: Law) -> Law:
    """The paths that end in bars, without them."""
    found: dict[Hashable, Fraction] = {}
    for outcomes, chance in law.items():
        assert isinstance(outcomes, tuple)
        if isinstance(outcomes[-1], tuple):
            found[outcomes[:-1]] = found.get(outcomes[:-1], Fraction(0)) + chance
    return found


def test_dropped_bars_alone() -> None:
    mechanism = DroppedBars(epsilon=ONE, delta=Fraction(1, 10))

    def law(data: tuple[int, ...]) -> Law:
        return mechanism.law([sum(value == bar for value in data) for bar in range(2)]).listed().masses

    found = max(hockey_stick(law(data), law((*data, more)), ONE) for data in multisets((0, 1), 6) for more in (0, 1))
    assert Fraction(1, 20) < found <= Fraction(1, 10)
