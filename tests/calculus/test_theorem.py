"""The composition theorem with its second argument, relaxed σ in chains, and declarations against computed values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from _support.own import bounded

from flexdp import Accuracy, Histogram, InputError, preserves_neighbours
from flexdp.calculus import (
    Error,
    Sigma,
    Step,
    compose_accuracy,
    compose_steps,
    distortion_sensitivity,
    error_sensitivity,
    function_step,
    identity,
    relax,
    sigma_on,
    tau_on,
)
from flexdp.calculus.accuracy import read_off
from flexdp.distances import Difference, Equality
from flexdp.distortions import Drop, Move, OwnDistortion, Winf
from flexdp.guarantees import AddRemove, AnswersWithin, OwnNeighbours, Replace
from flexdp.mechanisms import (
    HISTOGRAMS,
    IDENTITY,
    NUMBERS,
    Bucketing,
    Checked,
    Dropping,
    Known,
    Laplace,
    Mechanism,
    ReadOff,
    Space,
    check_declared,
)
from flexdp.noise import DropNoise
from flexdp.noise.bits import Bits
from flexdp.statistics import Max, Support

SAME = identity()
LOSSY = Accuracy(alpha=0, beta=1, gamma="0.1")


def test_the_loss_of_the_input_is_the_second_argument() -> None:
    constant = compose_accuracy(LOSSY, bounded(lambda _beta: 0.0), sigma=identity())
    assert (constant.beta, constant.gamma) == (0, 0)
    doubled = compose_accuracy(LOSSY, bounded(lambda beta: 2 * beta), sigma=identity())
    assert (doubled.beta, doubled.gamma) == (2, 0.1)
    clipped = compose_accuracy(LOSSY, bounded(lambda beta: min(beta, 5)), sigma=identity())
    assert (clipped.beta, clipped.gamma) == (1, 0.1)  # a smaller error at the price of the loss
    declared = bounded(lambda beta: min(beta, 5), lossy=lambda beta, gamma: 5 if gamma else beta)
    known = compose_accuracy(LOSSY, declared, sigma=identity())
    assert (known.beta, known.gamma) == (5, 0)
    unknown = compose_accuracy(LOSSY, bounded(lambda beta: beta, lossy=lambda *_: math.inf), sigma=identity())
    assert (unknown.beta, unknown.gamma) == (1, 0.1)
    own = compose_accuracy(LOSSY, bounded(lambda _beta: 2.0, gamma=0.25), sigma=identity())
    assert (own.beta, own.gamma) == (2, 0.25)


@pytest.mark.parametrize("bound", [math.log, lambda beta: 0 * beta, int, math.sin])
def test_a_bound_that_is_not_defined_at_infinity_is_none(bound: Callable[[float], float]) -> None:
    assert compose_accuracy(LOSSY, bounded(lambda b: max(0.0, bound(b))), sigma=identity()).gamma in (0, 0.1)


def test_lost_histograms_may_be_of_another_size() -> None:
    """A count is the same for records that were moved, whatever the distance, but not for a table that was lost."""
    lossy = Accuracy(alpha=0, beta=1, gamma="0.1", metric=Winf())
    counting = function_step(lambda _beta: 0.0, metric=Difference(), takes=Winf())
    assert compose_accuracy(lossy, counting, sigma=identity()).gamma == 0.1
    assert compose_accuracy(lossy, bounded(lambda _beta: 0.0), sigma=identity()).gamma == 0.1
    constant = bounded(lambda _beta: 0.0, takes=Winf(), lossy=lambda *_: 0.0)
    assert compose_accuracy(lossy, constant, sigma=identity()).gamma == 0


def test_error_sensitivities_compose_with_their_losses() -> None:
    noisy = bounded(lambda beta: beta + 1, gamma=0.1)
    assert compose_steps(noisy, bounded(lambda _beta: 3.0)).tau(Error()) == Error(3.0, 0.0)
    assert compose_steps(noisy, bounded(lambda beta: beta)).tau(Error()) == Error(1.0, 0.1)
    known = bounded(lambda beta: beta, lossy=lambda beta, gamma: beta + 100 * gamma)
    found = compose_steps(noisy, known).tau(Error(2.0))
    assert (found.gamma, found.beta) == (0, pytest.approx(13))
    twice = compose_steps(known, known)
    assert (twice.tau(Error(2.0)), twice.tau(Error(2.0, 0.5))) == (Error(2.0), Error(52.0))


def test_a_loss_is_not_exchanged_for_a_larger_error() -> None:
    """A bound of at most one, whatever was lost, is no reason to give up that no error gives none."""
    found = compose_steps(bounded(lambda beta: beta, gamma=0.1), bounded(lambda beta: min(beta, 1.0)))
    assert (found.tau(Error()), found.tau(Error(7.0))) == (Error(0.0, 0.1), Error(1.0, 0.0))


def test_where_an_error_has_no_bound_it_is_a_distance_moved() -> None:
    """A mode may jump however little the values move, so the error of the histogram becomes part of the distortion."""
    histogram = Accuracy(alpha=0.01, beta=2.5, metric=Winf())
    jumping = bounded(lambda beta: math.inf if beta else 0.0, takes=Winf())
    steady = bounded(lambda beta: beta, takes=Winf())
    found = read_off(histogram, jumping)
    assert (found.alpha, found.moved, found.beta) == (0.01, 2.5, 0)
    found = read_off(histogram, steady)
    assert (found.alpha, found.moved, found.beta) == (0.01, 0, 2.5)


class Own(Mechanism):
    """A step as a mechanism; it is run as the identity."""

    promise: Step
    source: Space = NUMBERS
    target: Space = NUMBERS

    def draw(self, x: Any, bits: Bits) -> Any:  # noqa: ARG002
        return x

    def step(self, known: Known) -> Step:  # noqa: ARG002
        return self.promise


LOOSE = relax(identity(), theta="0.02", omega="0.5")


def test_chains_take_a_relaxed_distortion_sensitivity() -> None:
    first = Own(bounded(lambda beta: beta + 1, sigma=LOOSE))
    second = Own(bounded(lambda beta: beta, alpha=0.1, sigma=SAME, moves=lambda beta: 3 * beta))
    chain = first >> second
    found = chain.accuracy()
    assert (found.alpha, found.beta, found.gamma) == (0.1, 2.5, 0.02)
    both = chain.step(Known())
    assert both.tau(Error(2.0)) == Error(4.5, 0.02)
    assert (both.sigma.theta, both.sigma.omega, both.sigma(0.3)) == (0.02, 1.5, 0.3)
    third = Own(bounded(lambda beta: beta, alpha=0.2, sigma=LOOSE, moves=lambda beta: 2 * beta))
    longer = (chain >> third).accuracy()
    assert longer == (first >> (second >> third)).accuracy()
    assert (longer.beta, longer.gamma) == (2.5 + 3, pytest.approx(0.04))
    assert (chain >> third).step(Known()).sigma.omega == 3.5


def test_a_relaxed_sigma_costs_nothing_where_nothing_is_distorted() -> None:
    first = Own(bounded(lambda beta: beta + 1, sigma=LOOSE))
    assert (first >> Own(bounded(lambda beta: beta))).accuracy() == Accuracy(alpha=0, beta=1)
    jumping = first >> Own(bounded(lambda beta: beta, alpha=0.1))
    with pytest.raises(InputError, match="moves must be finite at the omega of a relaxed sigma"):
        jumping.accuracy()
    assert jumping.step(Known()).tau(Error(1.0)).beta == math.inf
    promise = bounded(lambda b: b, metric=Winf(), sigma=LOOSE, buckets="kept")
    tables = Own(promise, source=HISTOGRAMS, target=HISTOGRAMS)
    few = replace(tables, promise=replace(promise, after=Known(records_at_least=5400, bars=2)))
    assert (few >> Dropping(1, "1e-6")).accuracy().gamma == 0.02
    assert (Bucketing(width=5) >> tables >> ReadOff(Max())).step(Known()).sigma.omega == 0.5


def test_relaxed_sigmas_compose_as_they_compute() -> None:
    """The relaxed theorem on a space where σ is infinite without it: odd numbers are the output of nothing."""
    numbers, wide = range(9), range(17)
    gap = lambda a, b: abs(a - b)  # noqa: E731
    double, near = (lambda x: 2 * x), (lambda x: {x: 1, min(x + 1, 16): 1})
    assert distortion_sensitivity(double, numbers, gap, gap, 1, targets=wide).value == math.inf
    sigma = distortion_sensitivity(double, numbers, gap, gap, 1, omega=1, targets=wide).value
    tau = error_sensitivity(near, lambda x: x, wide, gap, 1).value
    whole = error_sensitivity(lambda x: near(2 * x), double, numbers, gap, sigma).value
    assert sigma == 0 and whole <= tau + 1  # Δ of the identity at ω = 1


def test_computed_sensitivities_compose() -> None:
    """What Theorem 1 derives from σ and τ of a finite space is no less than what is computed of the whole."""
    gap = lambda a, b: abs(a - b)  # noqa: E731
    noisy, third = (lambda x: {x: 3, min(x + 2, 9): 1}), (lambda x: {x // 3: 9, 0: 1})
    first = error_sensitivity(noisy, lambda x: x, range(10), gap, 1, "1/8")
    tau = tau_on(third, lambda x: x // 3, range(10), gap, 1, "1/10", measured=OwnDistortion("gap"))
    sigma = sigma_on(lambda x: x, range(10), gap, gap)
    before = Accuracy(alpha=1, beta=float(first), gamma="1/8", distortion=OwnDistortion("gap"))
    derived = compose_accuracy(before, tau, sigma=sigma)
    assert (derived.alpha, derived.beta, derived.gamma) == (2, tau.tau(Error(1, 1 / 8)).beta, 0.1)

    def whole(x: int) -> dict[int, Fraction]:
        found: dict[int, Fraction] = {}
        for y, weight in noisy(x).items():
            for z, share in third(y).items():
                found[z] = found.get(z, Fraction(0)) + Fraction(weight, 4) * Fraction(share, 10)
        return found

    assert error_sensitivity(whole, lambda x: x // 3, range(10), gap, 2, "1/10").value <= derived.beta
    with pytest.raises(InputError, match="M raised ZeroDivisionError"):
        tau_on(lambda x: 1 / 0, lambda x: x, range(3), gap)  # noqa: ARG005


def drop_law(step: Dropping, x: Histogram) -> dict[Histogram, Fraction]:
    weights = step.noise.weights
    found: dict[Histogram, Fraction] = {}
    for lost in product(range(len(weights)), repeat=len(x)):
        chance = math.prod((Fraction(int(weights[j]), 2**step.noise.bits) for j in lost), start=Fraction(1))
        left = {key: count - j for (key, count), j in zip(x.items(), lost, strict=True) if count > j}
        y = Histogram.from_counts(left) if left else Histogram([], [])
        found[y] = found.get(y, Fraction(0)) + chance
    return found


def grid(most: int, keys: tuple[int, ...] = (1, 4)) -> list[Histogram]:
    tables = [{k: n for k, n in zip(keys, counts, strict=True) if n} for counts in product(range(most + 1), repeat=2)]
    return [Histogram.from_counts(each) if each else Histogram([], []) for each in tables]


def test_built_in_mechanisms_declare_what_is_computed() -> None:
    bucketed = check_declared(Bucketing(width=5, bounds=(0, 10)), grid(2, (1, 6)), betas=[0, 2, 5], alphas=[0, "1/2"])
    assert bucketed, bucketed
    full = [table for table in grid(2) if table.size]
    read = check_declared(ReadOff(Max()), full, function=Max(), betas=[0, 3])
    assert read and len(read.claims) >= 4, read
    assert check_declared(ReadOff(Support()), full, function=Support(), betas=[0, 3])
    step = Dropping(2, "0.3")
    by_law, by_hand = (error_sensitivity(m, lambda x: x, grid(2), Drop()) for m in (step, lambda x: drop_law(step, x)))
    assert by_law.value == by_hand.value > 0
    assert check_declared(step, grid(2), known=Known(bars=2), betas=[0])
    with pytest.raises(InputError, match="last and only random step"):
        known = Known(gamma=Fraction(1, 10))
        check_declared(Laplace(sensitivity=1, epsilon=1), range(3), distortion=Equality(), known=known)


@dataclass(frozen=True)
class Secret:
    """Private, with a law that nobody knows."""

    privacy: int = 1

    def __call__(self, x: Any) -> Any:
        return x


def test_what_knows_its_law_is_checked_without_arguments() -> None:
    """A mechanism that knows its law and its function is checked on a small space of its own."""
    for mechanism in (Dropping(3, "0.2"), Dropping(1, "0.3"), Bucketing(width=5, bounds=(0, 10)), ReadOff(Max())):
        checked = check_declared(mechanism)
        assert checked and len(checked.claims) >= 2, checked
    assert check_declared(Bucketing(width=5, bounds=(0, 10)) >> Dropping(3, "0.2"))
    known = Known(records_at_least=1, bars=2)
    names = {claim.name for claim in check_declared(Dropping(3, "0.2"), known=known).claims}
    assert {"σ(0)", "bars after it", "buckets"} <= names and any(name.startswith("τ") for name in names)
    steeper = Dropping(1, "0.05")
    assert steeper.max_drop > Dropping(3, "0.2").max_drop

    class Careless(Mechanism):
        """More noise than it says."""

        source = target = HISTOGRAMS
        function = IDENTITY

        def draw(self, x: Histogram, bits: Bits) -> Histogram:
            return steeper.draw(x, bits)

        def law(self, x: Any) -> Any:
            return steeper.law(x)

        def step(self, known: Known) -> Step:
            return Dropping(3, "0.2").step(known)

    assert [claim.name[0] for claim in check_declared(Careless()).contradictions] == ["τ"]
    with pytest.raises(InputError, match="is randomised, so its distribution is needed"):
        error_sensitivity(Secret(), lambda x: x, grid(2), Drop())
    with pytest.raises(InputError, match="points must be given"):
        check_declared(Bucketing(width=5, dimensions=2))


class Wrong(Mechanism):
    """Half of what it does is declared wrongly."""

    by: int = 2
    source = target = HISTOGRAMS
    preserves = (AddRemove(), AddRemove())

    def draw(self, x: Histogram, bits: Bits) -> Histogram:  # noqa: ARG002
        moved = {key + self.by: count for key, count in x.items() if count != 2}
        return Histogram.from_counts(moved) if moved else Histogram([], [])

    def step(self, known: Known) -> Step:
        after = Known(records_at_least=known.records_at_least, bars=1)
        return Step(lambda error: error.plus(1), metric=Winf(), after=after)


def test_declarations_that_are_false_are_named_with_the_case() -> None:
    few = Known(records_at_least=2)
    found = check_declared(Wrong(), grid(3), output_metric=lambda x, y: 0 if x == y else 9, known=few)
    assert not found
    wrong = {claim.name for claim in found.contradictions}
    assert {"τ(0, 0)", "records_at_least after it", "bars after it", "preserves"} <= wrong
    assert "{1: 2} becomes {}" in str(found) or "{4: 2} becomes {}" in str(found)
    kept = next(claim for claim in found.contradictions if claim.name == "τ(0, 0)")
    assert (kept.declared, kept.computed) == (1, 9) and "X = " in kept.where
    own = Own(bounded(lambda beta: beta, moves=lambda beta: beta))
    steep = check_declared(own, range(4), function=lambda x: x, law=lambda x: 2 * x,
                           distortion=Equality(), betas=[1])  # fmt: skip
    assert str(steep).startswith("τ(1, 0) is declared as 1, but is 4: with X = 3 and X′ = 2")
    with pytest.raises(InputError, match="points must include inputs of which known is true"):
        check_declared(Bucketing(width=5), grid(1), known=Known(records_at_least=9))
    with pytest.raises(InputError, match="mechanism must be a Mechanism"):
        check_declared(len, [1])  # type: ignore[arg-type]
    assert isinstance(found, Checked)


def test_neighbours_are_preserved_or_not() -> None:
    tables = grid(2)
    assert preserves_neighbours(lambda x: x, tables, AddRemove())
    merged = preserves_neighbours(Bucketing(width=5), tables, AddRemove())
    assert merged and merged.pairs == 12 and merged.witness is not None
    doubled = lambda x: Histogram.from_counts({key: 2 * count for key, count in x.items()}) if x.size else x  # noqa: E731
    broken = preserves_neighbours(doubled, tables, AddRemove())
    assert not broken and float(broken) == 1 and "cannot be coupled as neighbours." in str(broken)
    few = AddRemove("patient", buckets=2)
    assert preserves_neighbours(lambda x: x, tables, few).pairs == 12 + 4
    assert preserves_neighbours(lambda x: x, tables, Replace()).pairs == 4
    coin = preserves_neighbours(lambda x: {x: 1, 5 * x: 1}, range(3), AnswersWithin(1))
    assert coin.value == Fraction(1, 2) and "but for a mass of 0.5" in str(coin)
    same = preserves_neighbours(lambda _x: 0, range(3), AnswersWithin(1))
    assert same and not preserves_neighbours(lambda _x: 0, range(3), AnswersWithin(1), equal=False)
    assert preserves_neighbours(lambda x: x, [0, 5], AnswersWithin(1)).witness is None
    assert preserves_neighbours(lambda x: str(x), range(3), AnswersWithin(1), lambda a, b: abs(int(a) - int(b)) == 1)
    for relation, words in (
        (OwnNeighbours("by a day"), "known by its name alone"),
        (lambda a, b: a < b, r"symmetric: it is not between points\[0\] = 0 and points\[1\] = 1"),
        (lambda a, b: 1 / 0, r"relation raised ZeroDivisionError on (points|outputs)\[0\] = 0"),  # noqa: ARG005
        (3, "relation must be a function"),
    ):
        with pytest.raises(InputError, match=words):
            preserves_neighbours(lambda x: x, range(3), relation)


def test_dropping_is_what_it_declares_on_a_small_space() -> None:
    small = Dropping(3, "0.2")
    noise = DropNoise(3, "0.2")
    assert noise.max_drop <= 2
    law = lambda x: drop_law(small, x)  # noqa: E731
    assert error_sensitivity(law, lambda x: x, grid(3), Drop(), 1, metric=Move()).value == 0
    # Lem. hist-error-sens needs tables of one size: {1: 2, 4: 2} and {1: 1, 4: 1} have the same shape
    assert error_sensitivity(law, lambda x: x, grid(3), Drop(), 1).value > 0
    checked = check_declared(small, grid(3), law=lambda x: drop_law(small, x))
    assert checked, checked
    known = Known(records_at_least=4, bars=2)
    alpha = small.step(known).alpha
    assert alpha is not None
    least = error_sensitivity(
        lambda x: drop_law(small, x), lambda x: x, [x for x in grid(3) if x.size >= 4], Drop(), alpha, targets=grid(3),
        metric=Move(), output_metric=lambda x, y: int(x != y),
    )  # fmt: skip
    assert least.value == 0


# --- buckets that are kept ---


class Keeping(Mechanism):
    """A step that is said to keep the records of a bucket together."""

    within: float = 0.0
    source = target = HISTOGRAMS

    def draw(self, x: Histogram, bits: Bits) -> Histogram:  # noqa: ARG002
        return x

    def step(self, known: Known) -> Step:  # noqa: ARG002
        own = lambda error: error.plus(self.within)  # noqa: E731
        return Step(own, metric=HISTOGRAMS.metric, sigma=SAME, buckets="kept")


def histogram(bars: dict[float, int]) -> Histogram:
    return Histogram.from_counts(bars) if bars else Histogram([], [])


def halve(x: Histogram) -> Histogram:
    return histogram({key: count // 2 for key, count in x.items() if count > 1})


def alternate(x: Histogram) -> Histogram:
    """Every other record of a bucket half a step further on."""
    found: dict[float, int] = {}
    for key, count in x.items():
        found[key] = found.get(key, 0) + count - count // 2
        if count > 1:
            found[key + 0.5] = found.get(key + 0.5, 0) + count // 2
    return histogram(found)


def fewest(x: Histogram) -> Histogram:
    """Only the rarest keys: whether a record is kept depends on all others."""
    return histogram({key: count for key, count in x.items() if count == min(x.counts)})


def coins(x: Histogram) -> dict[Histogram, Fraction]:
    """One record of each bucket to one side or the other."""
    moves = product((-0.5, 0.5), repeat=len(x))
    found: dict[Histogram, Fraction] = {}
    for move in moves:
        bars: dict[float, int] = {}
        for (key, count), by in zip(x.items(), move, strict=True):
            for place, records in ((key + by, 1), (key, count - 1)):
                bars[place] = bars.get(place, 0) + records
        y = histogram({key: count for key, count in bars.items() if count})
        found[y] = found.get(y, Fraction(0)) + Fraction(1, 2 ** len(x))
    return found


def sides(x: Histogram) -> dict[Histogram, Fraction]:
    """All records to one side, or all to the other."""
    return {histogram({key + by: count for key, count in x.items()}): Fraction(1, 2) for by in (-0.5, 0.5)}


SMALL = Dropping(3, "0.2")


@pytest.mark.parametrize(
    ("step", "function", "law", "kept"),
    [
        (Bucketing(width=5), None, None, True),
        (Keeping(), None, None, True),
        (Keeping(), lambda x: histogram({k: c for k, c in x.items() if k < 3}), "function", True),
        (Keeping(0.5), None, sides, True),
        (SMALL, None, lambda x: drop_law(SMALL, x), True),
        (Keeping(), halve, "function", False),
        (Keeping(0.5), None, alternate, False),
        (Keeping(0.5), None, coins, False),
        (Keeping(), fewest, "function", False),
    ],
    ids=["buckets", "identity", "filter", "one coin", "drops", "halves", "alternates", "coins", "fewest"],
)  # fmt: skip
def test_whether_buckets_are_kept_is_found_by_enumeration(step: Mechanism, function: Any, law: Any, kept: bool) -> None:
    checked = check_declared(step, grid(3), function=function, law=function if law == "function" else law)
    claim = next(claim for claim in checked.claims if claim.name == "buckets")
    assert claim.holds is kept, claim
    if kept:
        assert str(claim) in {f"buckets is declared as {word}, and is so" for word in ("kept", "merged")}
    else:
        assert "becomes {" in claim.where and "more from a bucket of" in claim.where


@pytest.mark.parametrize(("step", "law"), [(Keeping(5.0), halve), (Keeping(0.25), sides)], ids=["loses", "too far"])
def test_an_output_that_the_declared_error_does_not_reach_is_a_contradiction_of_the_error(
    step: Mechanism, law: Callable[[Histogram], Any]
) -> None:
    found = check_declared(step, grid(3), law=law)
    assert [claim.name for claim in found.contradictions] == ["τ(0, 0)"]


def test_buckets_that_cannot_be_taken_apart_are_not_checked() -> None:
    large = [Histogram.from_counts({1: 300}), Histogram.from_counts({1: 15, 4: 15})]
    assert "buckets" not in {claim.name for claim in check_declared(Keeping(), large).claims}
    undeclared = check_declared(Own(bounded(lambda b: b, metric=Winf()), source=HISTOGRAMS, target=HISTOGRAMS), grid(2))
    assert "buckets" not in {claim.name for claim in undeclared.claims}
    undefined = check_declared(Keeping(), grid(2)[1:], function=lambda x: Histogram(x.keys - x.keys[0] + 1, x.counts),
                               law=lambda x: Histogram(x.keys - x.keys[0] + 1, x.counts))  # fmt: skip
    assert not next(claim for claim in undefined.claims if claim.name == "buckets").holds, "the first key decides"


# --- the distance of histograms ---


def test_the_metric_of_histograms_is_the_distance_that_guarantees_use() -> None:
    """Records matched in order, none left over: a double is not at distance 0 but infinitely far."""
    tables = grid(3)
    for x in tables:
        for y in tables:
            xs, ys = ([key for key, count in z.items() for _ in range(count)] for z in (x, y))
            apart = max((abs(a - b) for a, b in zip(xs, ys, strict=True)), default=0) if x.size == y.size else math.inf
            assert HISTOGRAMS.metric(x, y) == apart
    assert HISTOGRAMS.metric == Winf() and str(HISTOGRAMS) == "histograms (W∞ between equal sizes)"
    chain = Bucketing(width=5, bounds=(0, 10)) >> Keeping()
    told = chain.accuracy()
    assert all(told.metric(x, chain(x)) <= told.beta for x in tables)
    assert chain.source.metric is chain.target.metric is HISTOGRAMS.metric


# --- bounds at numbers that are no doubles ---


@pytest.mark.parametrize("alpha", ["1/3", "2/3", "1/7", "3/7", "0.1", "1/2"])
def test_a_bound_at_a_fraction_is_compared_outward(alpha: str) -> None:
    tables = [Histogram.from_counts({1: n}) for n in range(1, 22)]
    assert check_declared(Bucketing(), tables, alphas=[alpha])
    for bound, holds in (
        (lambda a: 3 * (a / 3), True),
        (lambda a: 7 * a * (1 / 7), True),
        (lambda a: a * (1 - 1e-14), False),
        (lambda a: a - 1e-14, False),
        (lambda a: 0.0 if a < 0.05 else a / 2, False),
    ):
        promise = bounded(lambda b: b, metric=Winf(), sigma=Sigma(bound))
        step = Own(promise, source=HISTOGRAMS, target=HISTOGRAMS)
        found = check_declared(step, tables, alphas=[alpha])
        wrong = {claim.name for claim in found.contradictions if claim.name.startswith("σ")}
        attained = any(Fraction(alpha) * n == int(Fraction(alpha) * n) for n in range(1, 22))
        assert attained and bool(wrong) is not holds, found


def test_bounds_of_errors_at_fractions_are_compared_outward() -> None:
    third = Fraction(1, 3)
    apart = lambda a, b: abs(a - b) * third  # noqa: E731
    for bound, holds in ((lambda b: b, True), (lambda b: b * (1 - 1e-14), False)):
        step = Own(bounded(bound, moves=bound))
        found = check_declared(step, range(4), distortion=Equality(), betas=["1/3", "2/3"], metric=apart,
                               output_metric=apart)  # fmt: skip
        assert bool(found) is holds and len(found.claims) >= 4, found
