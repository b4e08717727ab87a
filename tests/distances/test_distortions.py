"""Distortions: closed forms against brute force, the axioms of a quasi-metric, and valid witnesses."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp import Histogram, InputError
from flexdp.distances import lossy_winf
from flexdp.distortions import Distortion, Drop, DropMove, Move, Witness, extend

quick = settings(max_examples=80, deadline=None)
EMPTY = Histogram([], [])
ALL: list[Distortion] = [Drop(), Move(), DropMove("0.1"), DropMove(3)]
records = st.lists(st.integers(-4, 4), max_size=5).map(tuple)


def histogram(values: tuple[int, ...]) -> Histogram:
    return Histogram.from_values(values) if values else EMPTY


@st.composite
def chains(draw: st.DrawFn) -> list[Histogram]:
    """Draw three data sets, often obtained from one another by dropping and moving a few records."""
    values = list(draw(records))
    chain = [histogram(tuple(values))]
    for _ in range(2):
        if draw(st.booleans()):
            values = [v for v in values if draw(st.integers(0, 3))]
        if draw(st.booleans()):
            values = [v + draw(st.integers(-2, 2)) for v in values]
        if not draw(st.integers(0, 5)):
            values = list(draw(records))
        chain.append(histogram(tuple(values)))
    return chain


def carried_out(x: Histogram, witness: Witness) -> Counter[Any]:
    """Apply a witness to x."""
    result = Counter(dict(x.items()))
    for key, count in witness.dropped:
        assert 0 < count <= result[key]
        result[key] -= count
    arrived: Counter[Any] = Counter()
    for start, end, count in witness.moved:
        assert count > 0
        assert start != end
        result[start] -= count
        assert result[start] >= 0
        arrived[end] += count
    return +(result + arrived)


def by_brute_force(x: tuple[int, ...], y: tuple[int, ...], eta: Fraction) -> float:
    """inf over z of drop(x, z) + η·move(z, y), z over all sub-multisets and move over all permutations."""
    if len(y) > len(x):
        return math.inf
    if not x:
        return 0.0
    best = min(
        max((abs(u - v) for u, v in zip(order, y, strict=True)), default=0)
        for kept in itertools.combinations(x, len(y))
        for order in itertools.permutations(kept)
    )
    return float(Fraction(len(x) - len(y), len(x)) + eta * best)


@settings(max_examples=60, deadline=None)
@given(records, records, st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(7, 3)]))
def test_dropmove_against_brute_force(x: tuple[int, ...], y: tuple[int, ...], eta: Fraction) -> None:
    assert DropMove(eta)(histogram(x), histogram(y)) == by_brute_force(x, y, eta)


@quick
@given(records, records)
def test_move_is_the_distance_of_normalised_histograms(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    value = Move()(histogram(x), histogram(y))
    if len(x) != len(y):
        assert value == math.inf
    else:
        assert value == (lossy_winf(list(x), list(y)).value if x else 0)
        assert value == Move()(histogram(y), histogram(x))


@quick
@given(records, records)
def test_drop_counts_what_is_missing(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    here, there = Counter(x), Counter(y)
    expected = math.inf if there - here else (len(x) - len(y)) / len(x) if x else 0.0
    assert Drop()(histogram(x), histogram(y)) == expected


@pytest.mark.parametrize("distortion", ALL)
@settings(max_examples=100, deadline=None)
@given(chain=chains())
def test_the_laws_of_a_quasi_metric(distortion: Distortion, chain: list[Histogram]) -> None:
    x, y, z = chain
    for one, other in itertools.product(chain, repeat=2):
        assert distortion(one, other) >= 0
        assert (distortion(one, other) == 0) == (one == other)
    assert distortion(x, z) <= (distortion(x, y) + distortion(y, z)) * (1 + 1e-15)


@pytest.mark.parametrize("distortion", ALL)
@settings(max_examples=100, deadline=None)
@given(chain=chains())
def test_a_witness_turns_x_into_y_at_the_stated_cost(distortion: Distortion, chain: list[Histogram]) -> None:
    x, y, _ = chain
    witness = distortion.witness(x, y)
    assert (witness is None) == math.isinf(distortion(x, y))
    if witness is None:
        return
    assert carried_out(x, witness) == Counter(dict(y.items()))
    dropped = Fraction(sum(count for _, count in witness.dropped), x.size or 1)
    farthest = max((abs(start - end) for start, end, _ in witness.moved), default=0)
    if isinstance(distortion, DropMove):
        assert distortion(x, y) == float(dropped + distortion.eta * farthest)
    else:
        assert distortion(x, y) == float(dropped if isinstance(distortion, Drop) else farthest)


def test_corners() -> None:
    x = Histogram([1, 2], [2, 2])
    for distortion in ALL:
        assert distortion(EMPTY, EMPTY) == 0
        assert distortion.witness(EMPTY, EMPTY) == Witness((), ())
        assert distortion(EMPTY, x) == math.inf
        assert distortion.witness(EMPTY, x) is None
    assert Drop()(x, EMPTY) == 1
    assert DropMove(5)(x, EMPTY) == 1
    assert DropMove(5).witness(x, EMPTY) == Witness(((1, 2), (2, 2)), ())
    assert Move()(x, EMPTY) == math.inf


def test_other_keys() -> None:
    words = Histogram.from_counts({"a": 2, "b": 1})
    assert Drop()(words, Histogram.from_counts({"a": 1})) == 2 / 3
    assert Drop().witness(words, Histogram.from_counts({"c": 1})) is None
    first, second = (Histogram.from_values([dt.date(2024, 2, 28), dt.date(2024, month, 1)]) for month in (3, 4))
    assert Move()(first, second) == 31
    assert Move().witness(first, second) == Witness((), ((dt.date(2024, 3, 1), dt.date(2024, 4, 1), 1),))
    assert Move()(Histogram([True], [1]), Histogram([3], [1])) == 2
    assert Drop()(Histogram([1], [2]), Histogram([1.0], [1])) == 0.5
    with pytest.raises(InputError, match="texts have no distance"):
        Move()(words, words)
    with pytest.raises(InputError, match="dates"):
        DropMove(1)(first, Histogram([1], [1]))


def test_counts_beyond_64_bits() -> None:
    top = 2**63 - 1
    x, y = Histogram([0, 1], [top, top]), Histogram([0, 3], [top, top - 1])
    assert Move()(x, x) == 0
    assert DropMove(1)(x, y) == float(Fraction(1, 2 * top) + 2)
    assert DropMove(1).witness(x, y) == Witness(((1, 1),), ((1, 3, top - 1),))


def test_many_bars_compiled() -> None:
    generator = np.random.default_rng(2)
    keys, counts = np.arange(30_000), generator.integers(1, 9, 30_000)
    x, y = Histogram(keys, counts), Histogram(keys + 0.5, np.maximum(0, counts - 3))
    value = DropMove(1)(x, y)
    assert value == float(Fraction(x.size - y.size, x.size) + Fraction(1, 2))
    assert sum(count for _, count in DropMove(1).witness(x, y).dropped) == x.size - y.size  # type: ignore[union-attr]


@pytest.mark.parametrize("eta", [0, -1, "0", math.nan, math.inf, True])
def test_eta_must_be_positive(eta: Any) -> None:
    with pytest.raises(InputError, match="eta"):
        DropMove(eta)


@pytest.mark.parametrize("distortion", ALL)
@pytest.mark.parametrize("sides", [([1], EMPTY), (EMPTY, {1: 1}), (None, None)])
def test_only_histograms_are_distorted(distortion: Distortion, sides: tuple[Any, Any]) -> None:
    for method in (distortion, distortion.witness):
        with pytest.raises(InputError, match="must be histograms"):
            method(*sides)


laws = st.lists(st.tuples(records.map(histogram), st.integers(1, 4)), min_size=1, max_size=3)


def by_all_couplings(distortion: Distortion, p: list[tuple[Histogram, int]], q: list[tuple[Histogram, int]]) -> float:
    """The least largest distortion over all couplings, by matching equal slices of probability in every order."""
    p_size, q_size = sum(w for _, w in p), sum(w for _, w in q)
    scale = math.lcm(p_size, q_size)
    a = [w * scale // p_size for _, w in p]
    b = [w * scale // q_size for _, w in q]
    cost = [[distortion(x, y) for y, _ in q] for x, _ in p]
    for bound in sorted({c for row in cost for c in row}):
        # Hall's condition: every set of x has at least its own mass among the y within reach
        subsets = itertools.chain.from_iterable(itertools.combinations(range(len(p)), k) for k in range(len(p) + 1))
        if all(
            sum(a[i] for i in chosen) <= sum(b[j] for j in range(len(q)) if any(cost[i][j] <= bound for i in chosen))
            for chosen in subsets
        ):
            return bound
    raise AssertionError("at the largest distortion everything is within reach")


@pytest.mark.parametrize("distortion", ALL)
@settings(max_examples=40, deadline=None)
@given(p=laws, q=laws)
def test_extension_against_halls_condition(
    distortion: Distortion, p: list[tuple[Histogram, int]], q: list[tuple[Histogram, int]]
) -> None:
    found = extend(distortion, p, q)
    assert found.value == by_all_couplings(distortion, p, q)
    assert found.left_p == found.left_q == 0
    assert max(distortion(p[i][0], q[j][0]) for i, j, _ in found.coupling) == found.value


@quick
@given(records.map(histogram), laws)
def test_from_one_histogram_it_is_the_largest_over_the_support(x: Histogram, q: list[tuple[Histogram, int]]) -> None:
    for distortion in (Drop(), DropMove(1)):
        assert extend(distortion, x, q).value == max(distortion(x, y) for y, _ in q)
    assert extend(Drop(), x, x).value == 0


@settings(max_examples=40, deadline=None)
@given(laws, laws, laws)
def test_the_extension_keeps_the_triangle(p: Any, q: Any, r: Any) -> None:
    there = extend(DropMove(1), p, r).value
    assert there <= (extend(DropMove(1), p, q).value + extend(DropMove(1), q, r).value) * (1 + 1e-15)


def test_what_never_happens_does_not_count() -> None:
    x, y = Histogram([1], [2]), Histogram([1], [1])
    assert extend(Drop(), [(x, 1)], [(x, "0.5"), (x, 0.5), (y, 0)]).value == 0


@pytest.mark.parametrize(
    "law", [[], [EMPTY], [(EMPTY, -1)], [(EMPTY, 0)], [(1, 1)], [(EMPTY, "much")], [(EMPTY, 1, 1)]]
)
def test_bad_laws_are_refused(law: Any) -> None:
    with pytest.raises(InputError, match=r"^[^\n]*\bp\b[^\n]*$"):
        extend(Drop(), law, EMPTY)


@quick
@given(records, st.data())
def test_dropping_after_moving_is_moving_after_dropping(x: tuple[int, ...], data: st.DataObject) -> None:
    """Lemma drop-move-switch: first moved by at most a, then thinned, is reached by thinning first and moving by a."""
    if not x:
        return
    moved = [v + data.draw(st.integers(-2, 2)) for v in x]
    kept = [v for v in moved if data.draw(st.integers(0, 2))]
    z, y = histogram(tuple(moved)), histogram(tuple(kept))
    first, second = Move()(histogram(x), z), Drop()(z, y)
    eta = Fraction(1, 7)
    assert DropMove(eta)(histogram(x), y) <= float(second + eta * Fraction(first)) + 1e-12
    witness = DropMove(eta).witness(histogram(x), y)
    assert witness is not None
    assert sum(count for _, count in witness.dropped) == len(x) - len(kept)
    assert all(abs(start - end) <= first for start, end, _ in witness.moved)


def test_points_of_several_dimensions() -> None:
    one, two = Histogram([(0, 0)], [1]), Histogram([(3, 4)], [1])
    assert Move()(one, two) == lossy_winf(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).value == 5
    crossed = Histogram([(0, 0), (1, 9)], [1, 1]), Histogram([(0, 9), (1, 0)], [1, 1])
    assert Move()(*crossed) == 1
    more = Histogram([(0, 0), (50, 50)], [2, 1])
    assert DropMove(1)(more, two) == pytest.approx(2 / 3 + 5)
    witness = DropMove(1).witness(more, two)
    assert witness is not None
    assert witness.moved == (((0.0, 0.0), (3.0, 4.0), 1),)
    assert dict(witness.dropped) == {(0.0, 0.0): 1, (50.0, 50.0): 1}
    assert Drop()(more, Histogram([(0, 0)], [2])) == pytest.approx(1 / 3)
    for distortion in (Move(), DropMove(1)):
        with pytest.raises(InputError, match="same dimension"):
            distortion(one, Histogram([1.0], [1]))
