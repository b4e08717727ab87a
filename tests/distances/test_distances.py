"""Distances: against linear programs, another library, brute force, and the paper's lemmas."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import gudhi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from flexdp import Histogram, InputError
from flexdp.distances import EditDistance, Transport, Weighted, hausdorff, lossy_w1, lossy_winf, total_variation
from flexdp.distances import line as _line
from flexdp.distances import transport as _transport
from flexdp.distribution import Distribution

GAMMAS = [Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(1)]
quick = settings(max_examples=60, deadline=None)
points = st.lists(st.integers(-6, 6), min_size=1, max_size=6)
weighted = st.lists(st.tuples(st.integers(-6, 6), st.integers(1, 5)), min_size=1, max_size=6)
shares = st.fractions(0, 1, max_denominator=12)


def most_within(cost: np.ndarray, a: list[Fraction], b: list[Fraction], bound: float) -> float:
    """The mass that can be transported within a bound, by linear programming."""
    n, m = cost.shape
    open_pairs = (cost <= bound).reshape(-1)
    if not open_pairs.any():
        return 0.0
    rows = np.array([[k // m == i for k in range(n * m)] for i in range(n)], dtype=float)
    columns = np.array([[k % m == j for k in range(n * m)] for j in range(m)], dtype=float)
    balance = np.vstack((rows, columns))[:, open_pairs]
    solved = linprog(-np.ones(open_pairs.sum()), A_ub=balance, b_ub=[float(mass) for mass in (*a, *b)])
    return -float(solved.fun)


def cheapest(cost: np.ndarray, a: list[Fraction], b: list[Fraction], theta: Fraction) -> float:
    """The least cost of transporting mass 1 − θ, by linear programming."""
    n, m = cost.shape
    rows = np.array([[k // m == i for k in range(n * m)] for i in range(n)], dtype=float)
    columns = np.array([[k % m == j for k in range(n * m)] for j in range(m)], dtype=float)
    solved = linprog(
        cost.reshape(-1),
        A_ub=np.vstack((rows, columns)),
        b_ub=[float(mass) for mass in (*a, *b)],
        A_eq=np.ones((1, n * m)),
        b_eq=[float(1 - theta)],
    )
    assert solved.success
    return float(solved.fun)


def normal(weights: list[Any]) -> list[Fraction]:
    total = sum(Fraction(w) for w in weights)
    return [Fraction(w) / total for w in weights]


def assert_couples(found: Transport, cost: np.ndarray, a: list[Fraction], b: list[Fraction]) -> None:
    """Check that the coupling is valid: positive masses, within the marginals, with the stated remainder, exactly."""
    sent, got, mass = [Fraction(0)] * len(a), [Fraction(0)] * len(b), Fraction(0)
    for i, j, piece in found.coupling:
        assert piece > 0
        sent[i] += piece
        got[j] += piece
        mass += piece
    assert all(s <= w for s, w in zip(sent, a, strict=True))
    assert all(g <= w for g, w in zip(got, b, strict=True))
    assert found.left_p == found.left_q == 1 - mass
    assert cost.shape == (len(a), len(b))


def random_cases() -> Iterator[tuple[np.ndarray, np.ndarray, list[int], list[int]]]:
    generator = np.random.default_rng(20)
    for size in range(24):
        n, m, d = 1 + size % 5, 1 + (size * 7) % 6, 1 + size % 3
        x, y = generator.integers(0, 6, (n, d)).astype(float), generator.integers(0, 6, (m, d)).astype(float)
        yield x, y, generator.integers(1, 6, n).tolist(), generator.integers(1, 6, m).tolist()


@pytest.mark.parametrize("gamma", GAMMAS)
def test_winf_is_the_least_threshold_of_the_linear_programme(gamma: Fraction) -> None:
    for x, y, a, b in random_cases():
        cost, p, q = cdist(x, y), normal(a), normal(b)
        found = lossy_winf(Weighted(x, a), Weighted(y, b), gamma)
        assert_couples(found, cost, p, q)
        assert found.left_p <= gamma
        assert all(cost[i, j] <= found.value for i, j, _ in found.coupling)
        assert most_within(cost, p, q, found.value) >= float(1 - gamma) - 1e-9
        candidates = [c for c in (0.0, *cost.reshape(-1)) if c < found.value]
        if candidates:
            assert most_within(cost, p, q, max(candidates)) < float(1 - gamma) - 1e-9
        by_matrix = lossy_winf(a, b, gamma, metric=cost)
        assert by_matrix.value == found.value
        assert_couples(by_matrix, cost, p, q)


@pytest.mark.parametrize("theta", GAMMAS)
def test_w1_is_the_value_of_the_linear_programme(theta: Fraction) -> None:
    for x, y, a, b in random_cases():
        cost, p, q = cdist(x, y), normal(a), normal(b)
        found = lossy_w1(Weighted(x, a), Weighted(y, b), theta)
        assert_couples(found, cost, p, q)
        assert found.left_p == theta
        assert found.value == pytest.approx(cheapest(cost, p, q, theta), abs=1e-9)
        assert found.value == pytest.approx(sum(float(piece) * cost[i, j] for i, j, piece in found.coupling))
        equal = lossy_w1(x[:1].repeat(4, axis=0), y[:1].repeat(4, axis=0), theta)
        assert equal.value == pytest.approx(cost[0, 0] * float(1 - theta))
        assert equal.left_p == theta


@quick
@given(weighted, weighted, shares)
def test_the_line_agrees_with_the_flow(p: list[tuple[int, int]], q: list[tuple[int, int]], gamma: Fraction) -> None:
    (x, a), (y, b) = zip(*p, strict=True), zip(*q, strict=True)
    line = lossy_winf(Weighted(x, a), Weighted(y, b), gamma)
    flow = lossy_winf(Weighted(x, a), Weighted(y, b), gamma, metric=lambda u, v: abs(u - v))
    assert line.value == flow.value
    assert line.left_p == flow.left_p or not gamma
    cost = np.abs(np.subtract.outer(x, y))
    for found in (line, flow):
        assert_couples(found, cost, normal(a), normal(b))
        assert all(cost[i, j] <= found.value for i, j, _ in found.coupling)


@quick
@given(points, st.data(), st.integers(0, 6))
def test_against_all_permutations_of_samples(x: list[int], data: st.DataObject, lost: int) -> None:
    y = data.draw(st.lists(st.integers(-6, 6), min_size=len(x), max_size=len(x)))
    lost = min(lost, len(x))
    kept = len(x) - lost
    best = min(
        sorted(abs(u - v) for u, v in zip(x, order, strict=True))[kept - 1] if kept else 0
        for order in itertools.permutations(y)
    )
    assert lossy_winf(x, y, Fraction(lost, len(x))).value == best


def test_against_another_librarys_bottleneck_distance() -> None:
    generator = np.random.default_rng(5)
    for size in (1, 2, 5, 20, 60):
        x, y = generator.random((2, size, 2)) + np.array(
            [0, 1000]
        )  # far from the diagonal, which diagrams may match with
        assert lossy_winf(x, y, metric="chebyshev").value == pytest.approx(gudhi.bottleneck_distance(x, y), rel=1e-12)
        high = np.full(size, 1000.0)
        line = lossy_winf(x[:, 0], y[:, 0]).value
        ours = gudhi.bottleneck_distance(np.column_stack((x[:, 0], high)), np.column_stack((y[:, 0], high)))
        assert line == pytest.approx(ours, rel=1e-12)


@quick
@given(st.integers(-6, 6), points, shares)
def test_a_point_mass_gives_the_pac_guarantee(f: int, g: list[int], gamma: Fraction) -> None:
    value = lossy_winf([f], g, gamma).value
    beyond = {b: Fraction(sum(abs(f - v) > b for v in g), len(g)) for b in {0, *(abs(f - v) for v in g)}}
    assert value == min(b for b, chance in beyond.items() if chance <= gamma)


@quick
@given(points, points, shares)
def test_zero_distance_is_total_variation(p: list[int], q: list[int], gamma: Fraction) -> None:
    count_p, count_q = Counter(p), Counter(q)
    variation = sum(abs(Fraction(count_p[k], len(p)) - Fraction(count_q[k], len(q))) for k in {*p, *q}) / 2
    found = total_variation(p, q)
    assert found.left_p == variation
    assert found.value == float(variation)
    assert all(p[i] == q[j] for i, j, _ in found.coupling)
    assert (lossy_winf(p, q, gamma).value == 0) == (variation <= gamma)
    discrete = (np.not_equal.outer(p, q)).astype(float)
    assert lossy_winf([1] * len(p), [1] * len(q), gamma, metric=discrete).value == (variation > gamma)
    assert lossy_w1([1] * len(p), [1] * len(q), metric=discrete).value == pytest.approx(float(variation))


def test_total_variation_of_every_kind_of_point() -> None:
    assert total_variation(Histogram.from_values(["a", "b"]), ["b", "c"]).value == 0.5
    assert total_variation([[0.0, 1.0], [2.0, 3.0]], [[-0.0, 1.0]]).left_p == Fraction(1, 2)
    assert total_variation([1, 2], [1.0, 2.5]).left_q == Fraction(1, 2)
    assert total_variation([2**53, 2**53 + 1], [float(2**53)]).left_p == Fraction(1, 2)
    day = dt.date(2020, 1, 1)
    assert total_variation(Histogram.from_values([day]), Histogram.from_values([day])).value == 0


@quick
@given(points, points, points, shares, shares)
def test_triangle_inequality(p: list[int], q: list[int], r: list[int], first: Fraction, second: Fraction) -> None:
    left = lossy_winf(p, r, min(Fraction(1), first + second)).value
    assert left <= lossy_winf(p, q, first).value + lossy_winf(q, r, second).value


@settings(max_examples=30, deadline=None)
@given(weighted, weighted, st.integers(0, 9), st.integers(1, 10))
def test_average_and_worst_case_bound_each_other(
    p: list[tuple[int, int]], q: list[tuple[int, int]], less: int, more: int
) -> None:
    small, beta = Fraction(min(less, more - 1), 10), Fraction(more, 10)
    sides = [Weighted(*zip(*side, strict=True)) for side in (p, q)]
    worst = lossy_winf(*sides, gamma=beta).value
    assert lossy_w1(*sides, theta=beta).value <= worst + 1e-9
    assert worst <= lossy_w1(*sides, theta=small).value / float(beta - small) + 1e-9


@quick
@given(weighted, weighted)
def test_symmetric(p: list[tuple[int, int]], q: list[tuple[int, int]]) -> None:
    sides = [Weighted(*zip(*side, strict=True)) for side in (p, q)]
    assert lossy_winf(*sides, gamma="0.1").value == lossy_winf(*reversed(sides), gamma="0.1").value
    assert lossy_w1(*sides).value == pytest.approx(lossy_w1(*reversed(sides)).value)


def test_one_ulp_decides() -> None:
    x, y = 0.1, 0.3
    gap = y - x  # 0.19999999999999998, while x + gap rounds to y and 0.2 does too
    assert lossy_winf([x, 0.0], [y, 0.0], "0.49").value == gap
    assert lossy_winf([x], [y]).value == gap
    generator = np.random.default_rng(1)
    x, y = generator.random((2, 300))
    value = lossy_winf(x, y, "0.1").value
    assert value in np.abs(np.subtract.outer(x, y))
    cost = np.abs(np.subtract.outer(x, y))
    assert lossy_winf(np.ones(300, dtype=int), np.ones(300, dtype=int), "0.1", metric=cost).value == value


def test_masses_decide_exactly() -> None:
    assert lossy_winf(Weighted([0, 1], ["0.9", "0.1"]), [0], gamma=0.1).value == 0
    assert lossy_winf(Weighted([0, 1], ["0.9", "0.1"]), [0], gamma=Fraction(1, 10) - Fraction(1, 10**30)).value == 1
    assert lossy_winf(Weighted([0, 1], [0.7, 0.1 + 0.2]), [0, 1]).left_p == 0
    thirds = Weighted([0, 5, 9], [Fraction(1, 3)] * 3)
    assert lossy_winf(thirds, [0, 5, 9]).value == 0
    big = Weighted([0, 1], [10**40, 1])
    assert lossy_winf(big, [0]).value == 1
    assert lossy_winf(big, [0], Fraction(1, 10**40 + 1)).value == 0
    assert lossy_winf(big, [0], Fraction(1, 10**40 + 2)).value == 1


@pytest.mark.parametrize("extra", [0, 1])
def test_flows_beyond_32_bits_are_exact(extra: int) -> None:
    """scipy's flow wraps silently at 2^31; far larger masses must still be exact to the last unit."""
    generator = np.random.default_rng(8)
    huge = 10**30
    a = [int(k) * huge + int(k) for k in generator.integers(1, 9, 6)]
    b = list(reversed(a))
    b[0] += extra
    cost = np.abs(np.subtract.outer(range(6), range(6))).astype(float)
    line_value = lossy_winf(Weighted(range(6), a), Weighted(range(6), b), "1/7").value
    found = lossy_winf(a, b, "1/7", metric=cost)
    assert found.value == line_value
    assert_couples(found, cost, normal(a), normal(b))
    assert lossy_winf(a, b, metric=cost).left_p == 0
    exact_loss = total_variation(Weighted(range(6), a), Weighted(range(6), b)).left_p
    discrete = (cost > 0).astype(float)
    assert lossy_winf(a, b, exact_loss, metric=discrete).value == 0
    assert lossy_winf(a, b, exact_loss - Fraction(1, 10**60), metric=discrete).value == 1


def test_flow_by_digits_is_the_flow() -> None:
    generator = np.random.default_rng(3)
    for _ in range(20):
        cost = generator.random((7, 6))
        a, b = generator.integers(1, 10**6, 7), generator.integers(1, 10**6, 6)
        edges = _transport.Edges.of(cost, 0.4)
        total = min(int(a.sum()), int(b.sum()))
        plain = _transport.flow(edges, a, b)
        digits = _transport._flow_by_digits(edges, a.astype(object) * 2**70, b.astype(object) * 2**70, total * 2**70)
        assert int(plain.masses.sum()) * 2**70 == sum(digits.masses.tolist())


@pytest.mark.parametrize("gamma", ["0", "0.01", "0.3", "1"])
@pytest.mark.parametrize("sizes", [(700, 700), (700, 901)])
def test_compiled_and_plain_paths_agree(gamma: str, sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(4)
    x, y = generator.normal(size=sizes[0]), generator.normal(0.1, 1.3, size=sizes[1])
    weights = generator.integers(1, 50, sizes[0])
    for p in (x, Weighted(x, weights)):
        assert _line._compiled() is not None, "numba is part of the test extra"
        plain = lossy_winf(p, y, gamma)
        plain_triples = list(plain.coupling)
        with monkeypatch.context() as patch:
            patch.setattr(_line, "_WORTH_COMPILING", 0)
            compiled = lossy_winf(p, y, gamma)
            assert compiled.value == plain.value
            assert list(compiled.coupling) == plain_triples
            patch.setattr(_line, "_compiled", lambda: None)
            absent = lossy_winf(p, y, gamma)
            assert absent.value == plain.value
            assert list(absent.coupling) == plain_triples


def test_without_numba_the_same_source_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = _line._compiled()
    assert compiled is not None
    monkeypatch.setitem(__import__("sys").modules, "numba", None)
    assert _line._compiled.__wrapped__() is None
    assert [getattr(kernel, "py_func", None) for kernel in compiled] == [_line.probe, _line.match]


@pytest.mark.parametrize("shape", ["shifted", "same", "tails", "lattice", "far"])
def test_a_long_search_brackets_and_stays_exact(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(6)
    n = 1500
    x, y = generator.normal(size=(2, n))
    if shape == "shifted":
        y = y * 1.5 + 0.3
    elif shape == "tails":
        x, y = x / generator.normal(size=n), y / generator.normal(size=n)
    elif shape == "lattice":
        x, y = x.round(1), y.round(1) * 2
    elif shape == "far":
        y = y + 1e9
    plain = lossy_winf(x, y, "0.02").value
    probes = []
    original = _line.probe

    def counted(*arguments: Any) -> Any:
        probes.append(len(arguments[0]))
        return original(*arguments)

    monkeypatch.setattr(_line, "_SAMPLE", 64)
    monkeypatch.setattr(_line, "probe", counted)
    assert lossy_winf(x, y, "0.02").value == plain
    assert sum(size == n for size in probes) <= 40
    cost = np.abs(np.subtract.outer(x, y))
    assert plain == 0 or plain in cost
    ones = np.ones(n, dtype=np.int64)
    just_below = cost[cost < plain].max(initial=-1.0)
    needed = math.ceil(Fraction(98, 100) * n)
    run = (np.sort(x).tolist(), np.sort(y).tolist(), ones.tolist(), ones.tolist())
    assert original(*run, plain, needed, n - needed, n - needed)[0]
    assert just_below < 0 or not original(*run, just_below, needed, n - needed, n - needed)[0]


def test_magnitudes_apart() -> None:
    x = [2.0**-900, 1.0, 2.0**900]
    y = [0.0, 3.0, 2.0**901]
    assert lossy_winf(x, y, "2/3").value == 2.0**-900
    assert lossy_winf(x, y, "1/3").value == 2.0
    assert lossy_winf(x, y).value == 2.0**900


def test_whole_numbers_beyond_doubles_keep_their_distances() -> None:
    base = 2**62
    assert lossy_winf([base, base + 3], [base + 1, base + 3]).value == 1
    assert lossy_winf([base, base + 3], [base + 1, base + 3], "1/2").value == 0
    assert lossy_winf([-base, base], [-base + 1, base + 1], "1/4").value == 1
    assert lossy_winf(Histogram([2**80], [1]), Histogram([2**80 + 5], [2]), "0.1").value == 5
    assert lossy_winf(Histogram([Fraction(1, 3)], [1]), [0.5]).value == pytest.approx(1 / 6)
    assert hausdorff([base], [base + 1]).value == 1


def test_dates_are_days_apart() -> None:
    p = Histogram.from_values([dt.date(2020, 2, 28), dt.date(2020, 3, 1)])
    q = Histogram.from_values([dt.date(2020, 3, 1), dt.date(2020, 3, 1)])
    assert lossy_winf(p, q).value == 2
    assert lossy_w1(p, q).value == 1


def test_histograms_are_normalised() -> None:
    one, two = Histogram([1, 5], [1, 2]), Histogram([1, 5], [10, 20])
    assert lossy_winf(one, two).value == lossy_w1(one, two).value == total_variation(one, two).value == 0


def test_supports_are_those_given() -> None:
    found = lossy_winf(Weighted([9, 7, 3, 1], [0, 1, 0, 1]), [1.5, 7.5])
    assert sorted(found.coupling) == [(1, 1, Fraction(1, 2)), (3, 0, Fraction(1, 2))]
    matrix = np.array([[0.0, 9], [9, 9], [9, 1]])
    assert sorted(lossy_winf([1, 0, 1], [1, 1], metric=matrix).coupling) == [
        (0, 0, Fraction(1, 2)),
        (2, 1, Fraction(1, 2)),
    ]
    assert found.coupling[0] == next(iter(found.coupling))
    assert found.coupling[:2] == list(found.coupling)
    assert float(found) == found.value


def test_the_answer_does_not_follow_later_changes() -> None:
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0])
    found = lossy_winf(x, y, "0.1")
    x[:] = y[:] = 7
    assert sorted((i, j) for i, j, _ in found.coupling) == [(0, 0), (1, 1), (2, 2)]


def test_texts_with_a_metric() -> None:
    length = lossy_winf(["a", "bb"], ["cc", "dddd"], metric=lambda u, v: abs(len(u) - len(v)))
    assert length.value == 2
    assert lossy_winf(Histogram.from_values(["a"]), ["bbb"], metric=lambda u, v: abs(len(u) - len(v))).value == 2


@quick
@given(st.lists(st.tuples(*[st.integers(-4, 4)] * 2), min_size=1, max_size=6), st.data())
def test_hausdorff(a: list[tuple[int, int]], data: st.DataObject) -> None:
    b = data.draw(st.lists(st.tuples(*[st.integers(-4, 4)] * 2), min_size=1, max_size=6))
    found = hausdorff(a, b)
    assert found.value == pytest.approx(
        max(*(min(math.dist(u, v) for v in b) for u in a), *(min(math.dist(u, v) for u in a) for v in b))
    )
    here, there = (a, b) if found.side == "a" else (b, a)
    assert math.dist(here[found.index], there[found.nearest]) == pytest.approx(found.value)
    x, y = [u for u, _ in a], [u for u, _ in b]
    line, general = hausdorff(x, y), hausdorff(x, y, metric=lambda u, v: abs(u - v))
    assert line.value == general.value
    here, there = (x, y) if line.side == "a" else (y, x)
    assert abs(here[line.index] - there[line.nearest]) == line.value


def test_hausdorff_is_not_the_distance_of_the_end_points() -> None:
    assert hausdorff([0, 10], [0, 5, 10]).value == 5
    assert hausdorff(Weighted([0, 99], [1, 0]), Histogram.from_values([0, 0])).value == 0


BAD = [
    (([math.nan], [0]), {}, "p: points must be finite"),
    (([0], [0.0, math.inf]), {}, "q: points must be finite"),
    (([[0, math.nan]], [[0, 0]]), {}, "p: points must be finite"),
    (([], [0]), {}, "p must contain at least one point"),
    (([0], np.empty((0, 2))), {}, "q must contain at least one point"),
    ((Histogram([], []), [0]), {}, "p must have positive mass"),
    ((Weighted([0, 1], [0, 0]), [0]), {}, "p must have positive mass"),
    ((Weighted([0, 1], [1, -1]), [0]), {}, "p: weights must not be negative"),
    ((Weighted([0, 1], [1, math.nan]), [0]), {}, "p: every weight must be a finite number; got nan"),
    ((Weighted([0, 1], [1, True]), [0]), {}, "p: every weight must be a finite number; got True"),
    ((Weighted([0, 1], [1, "much"]), [0]), {}, "p: every weight must be a finite number; got 'much'"),
    ((Weighted([0, 1], [1]), [0]), {}, "p must have exactly one weight per point"),
    ((Weighted([0, 1], [[1, 2]]), [0]), {}, "p: weights must be a flat"),
    ((Weighted([0, 1], 3), [0]), {}, "p: weights must be a flat"),
    ((Weighted([0, 1], "12"), [0]), {}, "p: weights must be a flat"),
    ((Weighted([0, 1], [[1, 2], [3]]), [0]), {}, "p: weights must be a flat"),
    (([[0, 1]], [[0, 1, 2]]), {}, "the same dimension; got 2 and 3"),
    (([0, 1], [[0, 1]]), {}, "the same dimension; got 1 and 2"),
    (([[0, 1], [2]], [[0, 1]]), {}, "p: points must"),
    ((np.zeros((2, 2, 2)), [0]), {}, "p: points must be n numbers"),
    ((3, [0]), {}, "p: points must be n numbers"),
    ((None, [0]), {}, "p: points must be numbers"),
    (([1j], [0]), {}, "p: points must be numbers"),
    (([0, "a"], [0]), {}, "p: points must be all|texts have no distance|numbers"),
    ((["a"], ["b"]), {}, "texts have no distance"),
    ((Histogram.from_values([dt.date(2020, 1, 1)]), [0]), {}, "both contain dates"),
    (([-1.7e308], [1.7e308]), {}, "Scale the coordinates down"),
    (([0], [0]), {"metric": "no-such-metric"}, "metric must be a name known to scipy"),
    (([0], [0]), {"metric": 3}, "metric must be a name, a function"),
    (([[1, 0]], [[0, 0]]), {"metric": "cosine"}, "metric must give finite"),
    (([0, 1], [2]), {"metric": lambda u, v: u - v}, "metric must"),
    (([0, 1], [2]), {"metric": lambda u, v: abs(u - v) + (u > v)}, "metric must be symmetric"),
    (([0, 1], [2]), {"metric": lambda u, v: abs(u - v) + 1}, "metric must be 0 from each point to itself"),
    (([0, 1], [2]), {"metric": lambda u, v: math.nan}, "metric must give finite"),  # noqa: ARG005
    (([0, 1], [2]), {"metric": lambda u, v: "far"}, "return a number"),  # noqa: ARG005
    (([0, 1], [2]), {"metric": lambda u: 0}, "return a number"),  # noqa: ARG005
    (([1, 1], [1]), {"metric": np.zeros((1, 2))}, "as many rows as p"),
    (([1], [1]), {"metric": np.zeros((1, 2))}, "as many columns as q"),
    (([1], [1]), {"metric": np.zeros(2)}, "two-dimensional"),
    (([1], [1]), {"metric": np.array([[math.inf]])}, "metric must give finite"),
    (([1], [1]), {"metric": np.array([[-1.0]])}, "metric must give finite"),
    (([1, -1], [1]), {"metric": np.zeros((2, 1))}, "p: weights must not be negative"),
]


@pytest.mark.parametrize(("sides", "options", "message"), BAD)
def test_bad_input_is_refused_in_one_line(sides: tuple[Any, Any], options: dict[str, Any], message: str) -> None:
    for distance in (lossy_winf, lossy_w1):
        with pytest.raises(InputError, match=message) as caught:
            distance(*sides, **options)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [-1, 1.5, "2", math.nan, math.inf, None, True, "1/0"])
def test_shares_outside_their_range_are_refused(share: Any) -> None:
    with pytest.raises(InputError, match="gamma"):
        lossy_winf([0], [1], gamma=share)
    with pytest.raises(InputError, match="theta"):
        lossy_w1([0], [1], theta=share)


def test_what_would_fill_the_memory_is_refused() -> None:
    wide = np.zeros((10**4, 2))
    with pytest.raises(InputError, match="pairs of points"):
        lossy_winf(wide, wide)


@quick
@given(points, points, shares, st.fractions(0, 1, max_denominator=6))
def test_the_loss_can_be_put_on_either_side(p: list[int], q: list[int], gamma: Fraction, part: Fraction) -> None:
    """Lemma wass-marginal-loss by construction: P′ within γ₁ of P, Q′ within γ − γ₁ of Q, at no greater distance."""
    found = lossy_winf(p, q, gamma)
    first = gamma * part
    one, two = dict.fromkeys(p, Fraction(0)), dict.fromkeys(q, Fraction(0))
    left_p, left_q = (
        Counter({k: Fraction(p.count(k), len(p)) for k in p}),
        Counter({k: Fraction(q.count(k), len(q)) for k in q}),
    )
    for i, j, mass in found.coupling:
        one[p[i]] += mass
        two[q[j]] += mass
        left_p[p[i]] -= mass
        left_q[q[j]] -= mass
    lost = sum(left_p.values(), Fraction(0))
    assert lost == sum(left_q.values(), Fraction(0)) <= gamma
    share = min(Fraction(1), first / lost) if lost else Fraction(0)
    for key in {*p, *q}:  # P′ takes part of the remainder from Q, and Q′ the rest from P
        stays = (1 - share) * left_p[key] + share * left_q[key]
        one[key], two[key] = one.get(key, Fraction(0)) + stays, two.get(key, Fraction(0)) + stays

    def law(masses: dict[int, Fraction]) -> Weighted:
        kept = {key: mass for key, mass in masses.items() if mass}
        return Weighted(list(kept), list(kept.values()))

    assert sum(one.values()) == sum(two.values()) == 1
    assert total_variation(p, law(one)).left_p <= first
    assert total_variation(q, law(two)).left_p <= gamma - first
    assert lossy_winf(law(one), law(two)).value <= found.value


def test_laws_are_taken_as_mappings_and_distributions() -> None:
    p, q = {0: Fraction(9, 10), 10: Fraction(1, 10)}, {0: "1/2", 1: "1/2"}
    one, two = Weighted(list(p), list(p.values())), Weighted(list(q), list(q.values()))
    for law in (p, Distribution(p)):
        for gamma in (0, "0.1", "0.5"):
            assert lossy_winf(law, q, gamma).value == lossy_winf(one, two, gamma).value
            assert lossy_w1(law, q, gamma).value == lossy_w1(one, two, gamma).value
        assert total_variation(law, q).left_p == total_variation(one, two).left_p
    assert lossy_winf({"cat": 1}, {"cut": "0.5", "cat": "0.5"}, metric=EditDistance()).value == 1
    with pytest.raises(InputError, match="weight"):
        lossy_winf({0: "x"}, {0: 1})
