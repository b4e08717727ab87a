"""Ground metrics: their axioms and values, distortions and couplings by any of them, and what is no metric."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from _support.own import bounded
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp import Accuracy, Histogram, InputError
from flexdp.calculus import compose_accuracy, drop_move_accuracy, identity
from flexdp.distances import (
    Chebyshev,
    Cyclic,
    Difference,
    EditDistance,
    Equality,
    Euclidean,
    Manhattan,
    Metric,
    Product,
    Spherical,
    Weighted,
    hausdorff,
    lossy_w1,
    lossy_winf,
    total_variation,
)
from flexdp.distortions import Drop, DropMove, Move, OwnDistortion, extend

few = settings(max_examples=100 if os.environ.get("FLEXDP_DEEP") == "1" else 15)
SPACES: list[tuple[Metric, st.SearchStrategy[Any]]] = [
    (Cyclic(24), st.integers(-50, 50)),
    (Cyclic("2.5"), st.fractions(-9, 9, max_denominator=8)),
    (Spherical(), st.tuples(st.integers(-90, 90), st.integers(-180, 180))),
    (Manhattan(), st.tuples(st.integers(-5, 5), st.integers(-5, 5))),
    (Chebyshev(), st.tuples(st.integers(-5, 5), st.integers(-5, 5))),
    (Euclidean(), st.tuples(st.integers(-5, 5), st.integers(-5, 5))),
    (Equality(), st.sampled_from("abc")),
    (EditDistance(), st.text("ab", max_size=4)),
    (Product([Cyclic(12), EditDistance()]), st.tuples(st.integers(0, 11), st.text("ab", max_size=3))),
    (Product([Cyclic(12), Equality()], "max"), st.tuples(st.integers(0, 11), st.sampled_from("ab"))),
    (Product([Manhattan(), Cyclic(5)], "euclidean"), st.tuples(st.integers(0, 4), st.integers(0, 4))),
]


@pytest.mark.parametrize(("metric", "points"), SPACES, ids=[str(metric) for metric, _ in SPACES])
@few
@given(data=st.data())
def test_each_is_a_metric(metric: Metric, points: st.SearchStrategy[Any], data: st.DataObject) -> None:
    a, b, c = (data.draw(points) for _ in range(3))
    assert metric(a, a) == 0
    assert metric(a, b) == pytest.approx(metric(b, a), abs=1e-12) and metric(a, b) >= 0
    assert metric(a, c) <= metric(a, b) + metric(b, c) + 1e-9


def edits(a: str, b: str) -> int:
    """Levenshtein's distance by its recursive definition."""
    if not a or not b:
        return len(a) + len(b)
    return min(edits(a[1:], b) + 1, edits(a, b[1:]) + 1, edits(a[1:], b[1:]) + (a[0] != b[0]))


@given(st.text("abc", max_size=4), st.text("abc", max_size=4))
def test_edit_distance_is_the_recursive_one(a: str, b: str) -> None:
    assert EditDistance()(a, b) == edits(a, b)


@given(st.integers(-60, 60), st.integers(-60, 60))
def test_cyclic_distance_is_the_shortest_way_round(a: int, b: int) -> None:
    found = Cyclic(24)(a, b)
    assert found == min(abs(a - b + 24 * turns) for turns in range(-8, 9)) and isinstance(found, int)
    assert Cyclic(24)(float(a), float(b)) == found


def test_spherical_distance_is_the_angle_between_vectors() -> None:
    def vector(point: tuple[float, float]) -> np.ndarray[Any, Any]:
        phi, lam = map(math.radians, point)
        return np.array([math.cos(phi) * math.cos(lam), math.cos(phi) * math.sin(lam), math.sin(phi)])

    places = [(0, 0), (90, 0), (-90, 0), (51.5, -0.1), (-33.9, 151.2), (0, 180), (12.5, -170)]
    for a, b in itertools.product(places, repeat=2):
        angle = math.atan2(float(np.linalg.norm(np.cross(vector(a), vector(b)))), float(vector(a) @ vector(b)))
        assert Spherical(2)(a, b) == pytest.approx(2 * angle, abs=1e-12)


def least_move(x: tuple[Any, ...], y: tuple[Any, ...], metric: Callable[[Any, Any], Any]) -> Any:
    """By all ways to choose records of x and to assign them to those of y."""
    ways = itertools.permutations(x, len(y))
    return min(max((metric(a, b) for a, b in zip(way, y, strict=True)), default=0) for way in ways)


@pytest.mark.parametrize(
    ("metric", "points"), SPACES[:2] + SPACES[6:8], ids=lambda each: str(each) if callable(each) else ""
)
@few
@given(data=st.data())
def test_moving_by_any_metric_is_the_best_assignment(
    metric: Metric, points: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    x = tuple(data.draw(st.lists(points, min_size=1, max_size=4)))
    y = tuple(data.draw(st.lists(points, min_size=1, max_size=4)))
    first, second = Histogram.from_values(list(x)), Histogram.from_values(list(y))
    moved, both = Move(metric).exactly(first, second), DropMove("1/3", metric).exactly(first, second)
    if len(y) > len(x):
        assert moved == both == math.inf and DropMove("1/3", metric).witness(first, second) is None
        return
    least = least_move(x, y, metric)
    assert moved == (least if len(x) == len(y) else math.inf)
    assert both == Fraction(len(x) - len(y), len(x)) + Fraction(least) / 3
    witness = DropMove("1/3", metric).witness(first, second)
    assert witness is not None and sum(count for _, count in witness.dropped) == len(x) - len(y)
    assert max((metric(a, b) for a, b, _ in witness.moved), default=0) <= least


def test_scipy_names_are_metrics_of_the_keys() -> None:
    x, y = (Histogram(np.array([[at, at], [4, 4]]), [1, 1]) for at in (0, 1))
    assert Move("cityblock")(x, y) == 2 and Move()(x, y) == math.sqrt(2) and Move("chebyshev")(x, y) == 1
    assert Move(Manhattan())(x, y) == 2 and DropMove(1, "cityblock")(x, y) == 2
    assert extend(Move("cityblock"), x, [(x, 1), (y, 1)]).value == 2
    assert lossy_winf([23, 12], [1, 11], metric=Cyclic(24)).value == 2
    assert hausdorff(["cat"], ["cut", "dog"], metric=EditDistance()).value == 3
    for name in ("sqeuclidean", "no-such-metric"):
        with pytest.raises(InputError, match="metric must"):
            Move(name)(Histogram([0, 1, 2], [1, 1, 1]), Histogram([0, 1, 2], [2, 1, 0]))


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (lambda a, b: max(0, b - a), r"metric must be symmetric: it is not between p\[0\] and p\[1\]"),
        (lambda a, b: a - b, r"metric must give finite, non-negative distances"),
        (lambda a, b: abs(a - b) + 1, r"metric must be 0 from each point to itself: it is not at p\[0\]"),
        (lambda a, b: (a - b) ** 2, r"triangle inequality of a metric: from p\[0\] to q\[1\] .* by way of p\[1\]"),
        ("sqeuclidean", r"triangle inequality of a metric: from p\[0\] to q\[1\] .* by way of p\[1\]"),
        (lambda a, b: 1 / a, r"it raised ZeroDivisionError on p\[0\] and q\[0\]"),  # noqa: ARG005
        (lambda a, b: "far", r"return a number: it does not from p\[0\] to q\[0\]"),  # noqa: ARG005
    ],
)
def test_what_is_no_metric_is_named_by_places_and_no_value(metric: Any, words: str) -> None:
    p, q = [0, 7777], [1, 15554]
    for distance in (lossy_winf, lossy_w1):
        with pytest.raises(InputError, match=words) as caught:
            distance(p, q, metric=metric)
        shown = str(caught.value).split("; got")[0]
        assert "7777" not in shown and caught.value.__cause__ is None


def test_any_quasi_metric_extends_to_any_points() -> None:
    later = lambda a, b: b - a if b >= a else math.inf  # noqa: E731
    assert extend(later, {1: 1, 5: 1}, {2: 1, 7: 1}).value == 2
    assert extend(later, {2: 1}, {1: 1}).value == math.inf
    assert extend(later, 3, Weighted([3, 4], [1, 1])).value == 1
    assert extend(EditDistance(), "cat", [("cut", 1), ("cot", 2)]).value == 1
    assert extend(Manhattan(), (0, 0), {(1, 2): 1}).value == 3
    found = extend(Equality(), {"a": "1/2", "b": "1/2"}, {"a": 1})
    assert found.value == 1 and found.coupling.completed().loss == 0
    for wrong, words in (
        (lambda a, b: (a - b) ** 2, r"triangle inequality of a quasi-metric: from p\[0\] to q\[0\]"),
        (lambda a, b: a - b, r"must give non-negative distances"),
        (lambda a, b: 1, r"0 from each point to itself"),  # noqa: ARG005
        (lambda a, b: "x", r"must return a number: it does not from p\[0\] to q\[0\]"),  # noqa: ARG005
        (lambda a, b: a.size, r"raised AttributeError on p\[0\] and q\[0\]"),  # noqa: ARG005
    ):
        with pytest.raises(InputError, match=words):
            extend(wrong, {0: 1, 1: 1}, {2: 1})


laws = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=5)


@few
@given(laws, laws, st.fractions(0, 1, max_denominator=8), st.sampled_from(["p", "q"]))
def test_completed_couplings_are_lossy_couplings_of_the_paper(
    p: list[tuple[int, int]], q: list[tuple[int, int]], gamma: Fraction, side: Any
) -> None:
    """φ is a joint distribution with Δ(φ₁, P) + Δ(φ₂, Q) ≤ γ, within the distance."""
    first, second = (Weighted([x for x, _ in law], [w for _, w in law]) for law in (p, q))
    for metric in (None, Cyclic(7)):
        found = lossy_winf(first, second, gamma, metric=metric)
        joint = found.coupling.completed(side)
        assert sum(mass for _, _, mass in joint) == 1 and all(mass > 0 for _, _, mass in joint)
        assert max((metric or Manhattan())(x, y) for x, y, _ in joint) <= found.value
        one, two = (Weighted(list(marginal), list(marginal.values())) for marginal in joint.marginals())
        apart = total_variation(one, first).left_p, total_variation(two, second).left_p
        assert sum(apart) == joint.loss <= gamma
        assert apart["pq".index(side)] == 0


def test_completing_needs_points() -> None:
    planned = lossy_winf([1, 1], [1, 1], metric=np.array([[0.0, 1.0], [1.0, 0.0]])).coupling
    with pytest.raises(InputError, match="no diagonal"):
        planned.completed()
    flat = lossy_winf([[0, 0], [1, 1]], [[0, 0], [5, 5]], "1/2").coupling.completed()
    assert flat.triples == (((0, 0), (0, 0), Fraction(1, 2)), ((1, 1), (1, 1), Fraction(1, 2)))
    assert lossy_w1([0, 10], [0, 0], theta="1/4").coupling.completed().loss == Fraction(1, 4)
    assert total_variation(["a", "b"], ["b", "c"]).coupling.completed("q").loss == Fraction(1, 2)


def swaps(x: Any, y: Any) -> float:
    return float(sum(a != b for a, b in zip(x, y, strict=True)))


def test_guarantees_take_a_distortion_or_metric_of_one_s_own() -> None:
    own = Accuracy(alpha=3, beta=0, distortion=swaps)
    assert own.distortion == OwnDistortion("swaps") and own.distortion("ab", "ba") == 2
    assert str(own) == "Exact after a distortion (swaps) of at most 3."

    class Turned:
        fraction = True

        def __call__(self, x: Any, y: Any) -> float:
            return float(x != y)

    assert Accuracy(alpha="0.5", beta=0, distortion=Turned()).distortion == OwnDistortion("Turned", fraction=True)
    with pytest.raises(InputError, match=r"alpha must be in \[0, 1\]"):
        Accuracy(alpha=3, beta=0, distortion=Turned())
    with pytest.raises(InputError, match="distortion must have a name"):
        Accuracy(alpha=3, beta=0, distortion=lambda x, y: 0.0)  # noqa: ARG005
    hours = Accuracy(alpha=0, beta=1, metric=Cyclic(24))
    assert hours.metric == Cyclic(24) != Cyclic(12) and hours.metric(23, 1) == 2
    late = Accuracy(alpha=2, beta=0, distortion=Move(Cyclic(24)))
    assert str(late) == "Exact after a distortion (move by cyclic distance (period 24)) of at most 2."
    assert late.distortion == Move(Cyclic("24")) != Move()
    x, y = Histogram.from_values([23]), Histogram.from_values([1])
    assert late.distortion(x, y) == 2 and Move(Cyclic(24))(x, y) == 2
    both = DropMove("0.1", Cyclic(24))
    assert both.eta == Fraction(1, 10) and both != DropMove("0.2", Cyclic(24)) and both(x, y) == 0.2
    dropping = bounded(alpha=0.1, gamma=0, bound=lambda b: b, metric=Difference(), distortion=Drop())
    priced = Accuracy(alpha="0.3", beta=0, distortion=DropMove("0.1", Cyclic(24)))
    assert compose_accuracy(priced, dropping, sigma=identity()).alpha == pytest.approx(0.4)
    assert Move("cityblock") == Move("cityblock") and Drop() == Drop()


def test_the_distortion_as_one_number() -> None:
    told_apart = drop_move_accuracy(Accuracy(alpha="0.02", beta="2.5"), metric=Difference())
    one = told_apart.priced("0.1")
    assert one == drop_move_accuracy(Accuracy(alpha="0.02", beta="2.5"), metric=Difference(), eta="0.1")
    assert (told_apart.distortion, one.distortion, one.alpha, one.moved) == (DropMove(), DropMove("0.1"), 0.27, 0)
    assert Accuracy(alpha=2, beta=0, distortion=Move()).priced("0.1").alpha == 0.2
    assert Accuracy(alpha="0.25", beta=1).priced(5).alpha == 0.25  # nothing is moved; the error stays an error
    for wrong in (
        Accuracy(alpha=None, beta=0, max_drop=3),
        Accuracy(alpha="0.1", beta=0, moved="0.05", relative=True, distortion=DropMove()),
        Accuracy(alpha=3, beta=0, distortion=swaps),
    ):
        with pytest.raises(InputError, match="eta needs a known fraction"):
            wrong.priced(1)
