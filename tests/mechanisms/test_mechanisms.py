"""Mechanisms: what their pipelines derive, and that what they derive is kept on real runs."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2, kstest

from flexdp import Histogram, InputError
from flexdp._core.exact import root_up
from flexdp.buckets.parse import make_buckets, make_grid
from flexdp.calculus import Error, Step, identity, relax
from flexdp.distances import Difference, Equality, Hausdorff, OwnMetric
from flexdp.distortions import Drop, DropMove, Winf
from flexdp.guarantees import AddRemove, AnswersWithin, Condition
from flexdp.measure import flexible_error
from flexdp.mechanisms import (
    HISTOGRAMS,
    IDENTITY,
    BucketHistogram,
    Bucketing,
    Dropping,
    Emptiness,
    Known,
    Laplace,
    Mechanism,
    ReadOff,
    STLap,
    compose,
)
from flexdp.noise import DropNoise, TotalNoise
from flexdp.noise.bits import Bits
from flexdp.noise.calibration import smallest_delta
from flexdp.noise.continuous import laplace, shifted_truncated_laplace
from flexdp.statistics import (
    IQR,
    Count,
    CountAbove,
    Distinct,
    InterpolatedQuantile,
    KthLargest,
    Max,
    MaxAtLeast,
    Mean,
    Median,
    Min,
    Mode,
    Quantile,
    Range,
    Std,
    Sum,
    Support,
    Top,
    TrimmedMean,
    Variance,
)

FALSE_ALARM = 1e-9
DROPPING = Dropping(1, "1e-6")
histograms = st.dictionaries(st.integers(0, 119), st.integers(1, 80), min_size=1, max_size=20).map(
    Histogram.from_counts
)


def pipeline(statistic: object) -> Mechanism:
    return Bucketing(width=5, bounds=(0, 120)) >> Dropping(epsilon=1, delta="1e-6") >> ReadOff(statistic)  # type: ignore[arg-type]


def test_the_pipeline_of_the_readme() -> None:
    mech = pipeline(Max())
    assert mech.privacy is not None
    assert (mech.privacy.epsilon, mech.privacy.delta) == (1, Fraction(1, 10**6))
    found = mech.accuracy(records_at_least=50_000)
    assert found.alpha == pytest.approx(27 * 24 / 50_000)
    assert Fraction(found.alpha) >= Fraction(27 * 24, 50_000)
    assert (found.beta, found.gamma) == (2.5, 0)
    assert mech.accuracy().alpha is None and mech.accuracy().max_drop == 27
    assert mech(Histogram.from_counts({50: 1000, 90: 500})) in (92.5,)


@pytest.mark.parametrize(
    ("statistic", "beta", "metric"),
    [(Max(), 2.5, None), (Min(), 2.5, None), (Range(), 5, None), (Median(), 2.5, None), (Quantile("0.9"), 2.5, None),
     (Support(), 2.5, Hausdorff()), (Mean(), 2.5, None), (Std(), 2.5, None), (IQR(), 5, None),
     (KthLargest(3), 2.5, None),
     (TrimmedMean("0.1"), 2.5, None), (Variance(120), 2.5 * 117.5, None), (InterpolatedQuantile("0.5"), 2.5, None)],
)  # fmt: skip
def test_bounded_statistics_carry_their_sensitivity(statistic: object, beta: float, metric: str | None) -> None:
    found = pipeline(statistic).accuracy(records_at_least=10**6)
    assert found.beta == beta
    assert found.moved == 0
    assert metric is None or found.metric == metric


@pytest.mark.parametrize("statistic", [Mode(), MaxAtLeast(500), Top(3), Distinct(), CountAbove(50), Sum()])
def test_unbounded_statistics_carry_the_drop_move_guarantee(statistic: object) -> None:
    found = pipeline(statistic).accuracy(records_at_least=10**6)
    assert (found.beta, found.moved, found.distortion) == (0, 2.5, DropMove())
    without = (Dropping(epsilon=1, delta="1e-6") >> ReadOff(statistic)).accuracy(records_at_least=10**6, bars=10)  # type: ignore[arg-type]
    assert (without.beta, without.moved, without.distortion) == (0, 0, Drop())


@settings(max_examples=60, deadline=None)
@given(x=histograms)
def test_what_the_pipeline_promises_is_kept(x: Histogram) -> None:
    """Its maximum is the exact maximum of an allowed sub-multiset, to within β; likewise minimum and support."""
    bucketing, dropping = Bucketing(width=5, bounds=(0, 120)), Dropping(epsilon=1, delta="1e-6")
    y = (bucketing >> dropping)(x)
    whole = bucketing(x)
    truth = dict(whole.items())
    assert all(count <= truth[key] for key, count in y.items())
    promised = (bucketing >> dropping).accuracy(records_at_least=x.size)
    assert promised.alpha is not None and (x.size - y.size) / x.size <= promised.alpha
    if len(y):
        for statistic in (Max(), Min()):
            kept = [k for k in x.keys.tolist() if any(abs(k - c) <= 2.5 for c in y.keys.tolist())]
            nearest = min(abs(statistic(y) - k) for k in kept)
            assert nearest <= promised.beta


@settings(max_examples=40, deadline=None)
@given(x=histograms)
def test_measured_errors_stay_within_the_derived_guarantee(x: Histogram) -> None:
    """Thm. bucketing-general, end to end: distances to the attainable set, for every run."""
    for statistic in (Max(), Min(), Range(), Median(), Quantile("0.9")):
        mech = pipeline(statistic)
        promised = mech.accuracy(records_at_least=x.size)
        bucketed = Bucketing(width=5, bounds=(0, 120)) >> Dropping(epsilon=1, delta="1e-6")
        outputs = [statistic(y) for y in (bucketed(x) for _ in range(3)) if len(y)]
        assert promised.alpha is not None
        if outputs:
            assert flexible_error(x, outputs, statistic, promised.alpha).max() <= promised.beta
    exact = Dropping(epsilon=1, delta="1e-6")
    alpha = exact.accuracy(records_at_least=x.size, bars=len(x)).alpha
    assert alpha is not None
    for y in (exact(x) for _ in range(3)):
        if len(y):
            assert flexible_error(x, [Mode()(y)], Mode(), alpha).max() == 0
            assert flexible_error(x, [MaxAtLeast(5)(y)], MaxAtLeast(5), alpha).max() == 0


def test_bucketing_keeps_neighbours() -> None:
    bucketing = Bucketing(width=5)
    x = Histogram.from_counts({1.0: 3, 7.5: 2})
    y = Histogram.from_counts({1.0: 3, 7.5: 3})
    one, two = dict(bucketing(x).items()), dict(bucketing(y).items())
    assert sum(abs(one.get(k, 0) - two.get(k, 0)) for k in one | two) == 1
    assert bucketing.privacy is None


def test_bucketing_leaves_out_what_it_is_told_to() -> None:
    x = Histogram.from_counts({-5.0: 1, 3.0: 2, 500.0: 4})
    assert dict(Bucketing(width=5, bounds=(0, 10), outside="drop")(x).items()) == {2.5: 2}
    assert dict(Bucketing(width=5, bounds=(0, 10))(x).items()) == {2.5: 3, 7.5: 4}
    assert dict(Bucketing(edges=[0, 4, 10])(x).items()) == {2.0: 3, 7.0: 4}
    far = Histogram.from_counts({1e300: 1, 3.0: 2})
    assert dict(Bucketing(width=5)(far).items()) == {2.5: 2}


def test_spaces_must_fit_when_the_pipeline_is_built() -> None:
    for first, second in [
        (ReadOff(Max()), Dropping(epsilon=1, delta="1e-6")),
        (ReadOff(Max()), ReadOff(Min())),
        (Bucketing(width=5, dimensions=2), Dropping(epsilon=1, delta="1e-6")),
        (Emptiness(epsilon=1, delta="1e-6"), ReadOff(Max())),
    ]:
        with pytest.raises(InputError, match="they must be the same"):
            compose(first, second)


def test_composition_is_associative() -> None:
    a, b, c = Bucketing(width=5, bounds=(0, 120)), Dropping(epsilon=1, delta="1e-6"), ReadOff(Range())
    left, right = (a >> b) >> c, a >> (b >> c)
    assert left.privacy == right.privacy
    assert left.accuracy(records_at_least=10**5) == right.accuracy(records_at_least=10**5)


@pytest.mark.parametrize("statistic", [Max(), Mode(), Mean(), Range(), CountAbove(50), Support()])
@pytest.mark.parametrize("buckets", [{"width": 5, "bounds": (0, 120)}, {"relative": "0.05", "bounds": (1, 120)}])
def test_grouping_does_not_matter(statistic: object, buckets: dict[str, object]) -> None:
    a, b, c = Bucketing(**buckets), Dropping(1, "1e-6"), ReadOff(statistic)  # type: ignore[arg-type]
    for known in ({}, {"records_at_least": 10**5}):
        assert ((a >> b) >> c).accuracy(**known) == (a >> (b >> c)).accuracy(**known)


def test_noise_is_not_forgotten_where_the_statistic_jumps() -> None:
    noisy = Laplace(CountAbove(50), sensitivity=1, epsilon=1)
    found = (Bucketing(width=5) >> noisy).accuracy(gamma="0.05")
    assert (found.moved, found.distortion) == (2.5, DropMove())
    assert found.beta == pytest.approx(math.log(20)) and found.gamma == 0.05
    assert "to within 2.99574" in str(found)
    counted = (Dropping(1, "1e-6") >> Laplace(Count(), sensitivity=1, epsilon=1)).accuracy(
        gamma="0.05", records_at_least=1000, bars=3
    )
    assert counted.beta == pytest.approx(math.log(20)) and counted.alpha == pytest.approx(0.081)


@pytest.mark.parametrize("gamma", ["0.05", "0.1", "0.3", "1e-9", "0.07"])
@pytest.mark.parametrize("many", [2, 3, 5])
def test_noises_in_a_row_share_the_loss_that_was_asked(gamma: str, many: int) -> None:
    """Each of k noises exceeds (Δ/ε)·ln(k/γ) with chance γ/k, so that none does but with chance γ."""
    mech = Dropping(1, "1e-6") >> ReadOff(Max())
    for _ in range(many):
        mech = mech >> Laplace(sensitivity=1, epsilon=1)
    found = mech.accuracy(gamma=gamma)
    alone = Laplace(sensitivity=1, epsilon=1).accuracy(gamma=gamma).gamma
    assert alone * (1 - 1e-12) <= found.gamma <= alone
    assert found.beta == pytest.approx(many * math.log(many / float(gamma)))


def test_drops_add_up_and_merged_bars_promise_nothing_each() -> None:
    twice = Dropping(1, "1e-6") >> Dropping(1, "1e-6")
    assert twice.accuracy().max_drop == 54
    assert (Bucketing(width=5) >> twice).accuracy().max_drop == 54
    merged = Dropping(1, "1e-6") >> Bucketing(width=10, bounds=(0, 100))
    with pytest.raises(InputError, match="buckets are merged"):
        merged.accuracy()
    found = merged.accuracy(records_at_least=10**4, bars=20)
    assert found.max_drop is None and found.alpha == pytest.approx(0.054)


def test_relative_errors_are_not_mixed() -> None:
    relative = Bucketing(relative="0.05") >> Dropping(1, "1e-6")
    for statistic in (Max(), Min(), Median(), Support()):
        found = (relative >> ReadOff(statistic)).accuracy()
        assert (found.beta, found.relative, found.moved) == (0.05, True, 0)
    for statistic in (Range(), Mean(), Std(), IQR(), Variance(100)):
        found = (relative >> ReadOff(statistic)).accuracy()
        assert (found.beta, found.moved, found.distortion) == (0, 0.05, DropMove())
    both = (Bucketing(relative="0.05") >> Bucketing(relative="0.1")).accuracy()
    assert both.beta == pytest.approx(0.05 + 0.1 + 0.005) and both.relative


def test_relative_and_plain_buckets_promise_nothing_false_together() -> None:
    """Values at every scale, moved by both: whatever accuracy is told holds, and where none can be it is refused."""
    relative, plain = Bucketing(relative="0.05"), Bucketing(width="0.1")
    values = [0.001, 0.2, 3.3, 1050.0, 2e5]
    with pytest.raises(InputError, match="one error is a distance and the other a fraction"):
        (plain >> relative).accuracy()  # 1050 goes to 1041.9, which no 0.1 and, of 0.001, no 5% covers
    with pytest.raises(InputError, match="one error is a distance and the other a fraction"):
        (relative >> plain >> ReadOff(Mode())).accuracy()
    told = (relative >> plain >> ReadOff(Max())).accuracy()
    assert (told.moved, told.relative, told.beta, told.relative_beta) == (0.05, True, 0.05, False)
    for value in values:
        (moved,) = relative(Histogram.from_values([value])).keys
        (answer,) = (relative >> plain)(Histogram.from_values([value])).keys
        assert abs(moved - value) <= told.moved * moved and abs(answer - moved) <= told.beta * (1 + 1e-9)
    known = {"records_at_least": 10**6, "bars": 20}
    bounded = Bucketing(relative="0.05", bounds=(1, 2000))
    for mech in (Dropping(1, "1e-6") >> bounded >> ReadOff(Max()), Dropping(1, "1e-6") >> (bounded >> ReadOff(Max()))):
        assert (mech.accuracy(**known).beta, mech.accuracy(**known).relative_beta) == (0.05, True)
    mean = Dropping(1, "1e-6") >> bounded >> ReadOff(Mean())
    assert (mean.accuracy(**known).moved, mean.accuracy(**known).relative) == (0.05, True)
    assert (Dropping(1, "1e-6") >> (bounded >> ReadOff(Mean()))).accuracy(**known) == mean.accuracy(**known)
    with pytest.raises(InputError, match="one error is a distance and the other a fraction"):
        (Dropping(1, "1e-6") >> (Bucketing(width=1, bounds=(1, 2000)) >> bounded)).accuracy(**known)


def test_two_relative_bucketings_hold_their_sum() -> None:
    first, second = Bucketing(relative="0.05"), Bucketing(relative="0.1")
    promised = (first >> second).accuracy().beta
    for x in np.random.default_rng(3).uniform(1, 1000, 300):
        centre = (first >> second)(Histogram.from_values([x])).keys[0]
        assert abs(x - centre) <= promised * abs(centre)


class Loose(Mechanism):
    """Dropping, with a σ that is relaxed."""

    source = target = HISTOGRAMS
    function = IDENTITY

    def draw(self, x: Histogram, bits: Bits) -> Histogram:
        return DROPPING.draw(x, bits)

    def step(self, known: Known) -> Step:
        return replace(DROPPING.step(known), sigma=relax(identity(), theta="0.1", omega=1))


def test_mechanisms_refuse_what_they_cannot_run_on() -> None:
    secret = Histogram.from_values(["SECRET"])
    for mech in (Bucketing(width=5), Bucketing(width=5, bounds=(0, 10)), Bucketing(kind="integer", width=2)):
        with pytest.raises(InputError, match="numbers for keys") as refusal:
            mech(secret)
        assert "SECRET" not in str(refusal.value) and refusal.value.__cause__ is None
    with pytest.raises(InputError, match="whole numbers"):
        Bucketing(kind="integer", width=2)(Histogram.from_values([0.5]))
    with pytest.raises(InputError, match="dates for keys"):
        Bucketing(kind="date", width=7)(Histogram.from_values([1]))
    with pytest.raises(InputError, match="must be a Histogram"):
        Bucketing(width=5)([1, 2, 3])
    for other in (3, Max()):
        with pytest.raises(InputError, match="only mechanisms compose"):
            compose(Dropping(1, "1e-6"), other)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="gamma must be"):
        Bucketing(width=5).accuracy(gamma=7)
    with pytest.raises(InputError, match="they must be the same"):
        Dropping(1, "1e-6") >> ReadOff(Top(3)) >> Laplace(sensitivity=1, epsilon=1)
    with pytest.raises(InputError, match="must be a number"):
        Laplace(Support(), sensitivity=1, epsilon=1)
    loose = Loose()  # a relaxed σ composes: here at the price of θ and of Δ(ω) = ω
    assert (Bucketing(width=5) >> loose).accuracy() == (Bucketing(width=5) >> DROPPING).accuracy()
    found = (loose >> Dropping(1, "1e-6")).accuracy()
    assert (found.beta, found.gamma, found.max_drop) == (1, 0.1, 54)


def test_dates_are_bucketed_as_days() -> None:
    week = Bucketing(kind="date", width=7, bounds=("2024-01-01", "2024-12-31"))
    day = dt.date(2024, 3, 5)
    (centre,) = week(Histogram.from_values([day])).keys.tolist()
    assert abs((centre - day).days) <= week.accuracy().beta == 3


def test_two_bucketings_add_their_errors() -> None:
    found = (Bucketing(width=2) >> Bucketing(width=5)).accuracy()
    assert (found.alpha, found.beta, found.metric) == (0, 3.5, Winf())


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_bucket_histogram_keeps_alpha_and_beta(dimensions: int) -> None:
    mech = BucketHistogram(
        alpha="0.2", beta=20, epsilon=1, bounds=(0, 100), records_at_least=100_000, dimensions=dimensions
    )
    found = mech.accuracy(records_at_least=100_000)
    assert found.alpha is not None and found.alpha <= 0.2
    assert found.beta <= 20
    assert mech.accuracy() == found, "it was built for that many records"
    width = 40 / math.sqrt(dimensions)
    assert mech.step(Known()).after.bars == math.ceil(100 / width) ** dimensions
    assert mech.privacy is not None and mech.privacy.epsilon == 1
    rng = np.random.default_rng(dimensions)
    points = rng.uniform(0, 100, (2000, dimensions))
    x = Histogram(points if dimensions > 1 else points[:, 0], np.full(2000, 50))
    moved = Bucketing(width=Fraction(width), bounds=(0, 100), dimensions=dimensions)(x)
    centres = np.asarray(moved.keys).reshape(-1, dimensions)
    distances = np.sqrt(((points[:, None, :] - centres[None]) ** 2).sum(axis=2)).min(axis=1)
    assert distances.max() <= 20 + 1e-9
    assert mech(x).size <= x.size


def test_bucket_histogram_refuses_what_cannot_be() -> None:
    with pytest.raises(InputError, match="at least the number of buckets"):
        BucketHistogram(alpha="0.001", beta=1, epsilon=1, bounds=(0, 1000), records_at_least=100)
    with pytest.raises(InputError, match="alpha must be"):
        BucketHistogram(alpha=2, beta=1, epsilon=1, bounds=(0, 10), records_at_least=100)
    with pytest.raises(InputError, match="width must be given"):
        Bucketing(relative="0.1", dimensions=2)


def test_emptiness_is_the_optimal_test() -> None:
    noise = DropNoise(1, "1e-3")
    growth = math.e
    delta = float(noise.delta_real)
    p = [float(noise.survival(k)) for k in range(noise.q + 3)]
    assert p[0] == 0 and p[noise.q :] == [1.0] * 3
    for before, after in pairwise(p):
        for one, two in ((before, after), (after, before), (1 - before, 1 - after), (1 - after, 1 - before)):
            assert one <= growth * two + delta * (1 + 1e-9)
    for k in range(noise.q // 2):
        assert p[k] == pytest.approx(delta * math.expm1(k) / math.expm1(1), rel=1e-6)
    mech = Emptiness(epsilon=1, delta="1e-3")
    assert mech(0) is False and mech(noise.q) is True
    assert mech.accuracy(records_at_least=noise.q).alpha == 0
    assert mech.accuracy(records_at_least=3).alpha == 1


def test_laplace_is_accurate_with_chance() -> None:
    mech = Laplace(Max(), sensitivity=10, epsilon=2)
    assert mech.privacy is not None and (mech.privacy.epsilon, mech.privacy.delta) == (2, 0)
    found = mech.accuracy(gamma="0.05")
    assert found.beta == pytest.approx(5 * math.log(20)) and found.gamma == 0.05
    both = (Bucketing(width=4) >> mech).accuracy(gamma="0.05")
    assert both.beta == pytest.approx(2 + 5 * math.log(20))
    with pytest.raises(InputError, match="gamma"):
        mech.accuracy()
    bare = Laplace(sensitivity=10, epsilon=2)
    assert bare.accuracy(gamma="0.05") == found
    assert bare.privacy is not None and bare.privacy.neighbours == AnswersWithin(10)
    assert isinstance(bare(3.0), float)
    assert (ReadOff(Max()) >> bare).privacy is None, "a maximum does not map neighbours to answers that are near"
    x = Histogram.from_values([5.0])
    errors = np.abs([mech(x) - 5 for _ in range(4000)])
    assert 0.02 < (errors > found.beta).mean() < 0.09  # 0.05 ± more than ten standard errors


def test_continuous_noise_has_its_law() -> None:
    """Kolmogorov–Smirnov at a false-alarm rate of 1e-9, and a control of the wrong scale that it must reject."""
    size = 40_000
    draws = laplace(size, scale=2.0)
    assert kstest(draws, "laplace", args=(0, 2.0)).pvalue > FALSE_ALARM
    assert kstest(draws, "laplace", args=(0, 2.4)).pvalue < FALSE_ALARM
    q, epsilon = 20.0, 0.5

    def law(z: np.ndarray) -> np.ndarray:
        z = np.clip(z, -q, 0)
        tail = np.expm1(-epsilon * q / 2)
        left = (np.exp(epsilon * (np.minimum(z, -q / 2) + q / 2)) - np.exp(-epsilon * q / 2)) / (-2 * tail)
        right = np.where(z > -q / 2, (1 - np.exp(-epsilon * (z + q / 2))) / (-2 * tail), 0.0)
        return left + right

    cut = shifted_truncated_laplace(size, reach=q, epsilon=epsilon)
    assert cut.min() >= -q and cut.max() <= 0
    assert kstest(cut, law).pvalue > FALSE_ALARM
    assert kstest(shifted_truncated_laplace(size, reach=q, epsilon=0.6), law).pvalue < FALSE_ALARM
    assert (shifted_truncated_laplace(5, reach=0.0, epsilon=1.0) == 0).all()


def test_stlap_reports_the_corrected_privacy() -> None:
    mech = STLap(tau="0.05", epsilon="0.5", records_at_least=2001, bars=3)
    assert mech.privacy is not None
    removed, added = reference_directions(0.05, 0.5, 2001, 3)
    assert float(mech.privacy.epsilon) == pytest.approx(max(removed[0], added[0]), rel=1e-12)
    assert float(mech.privacy.delta) == pytest.approx(max(removed[1], added[1]), rel=1e-9)
    assert float(mech.privacy.epsilon) < 0.5 * (1 + 0.075 * (1 + 1 / math.expm1(0.25 * 0.05 * 2001)))
    assert "at least 2001 records and at most 3 buckets" in str(mech.privacy)
    assert STLap(tau="0.05", epsilon="0.5").privacy is None
    for bad in ({"bars": -5}, {"bars": 0}, {"records_at_least": "x"}):
        with pytest.raises(InputError, match=next(iter(bad))):
            STLap("0.05", "0.5", **{"records_at_least": 2000, "bars": 3, **bad})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at most 3 buckets"):
        Bucketing(width=1, bounds=(0, 100)) >> mech
    assert STLap(tau="0.001", epsilon="0.5", records_at_least=1000, bars=3).privacy is None
    x = Histogram.from_counts({1: 700, 2: 700, 3: 601})
    for _ in range(50):
        y = mech(x)
        assert all(dict(x.items())[k] - n <= math.ceil(0.05 * 2001 - 0.5) for k, n in y.items())
    assert mech.accuracy().alpha >= 0.15


def test_a_fraction_is_never_more_than_all() -> None:
    """27 records of each of 5 bars are more than the 10 there are: then all may be left out, and that is said."""
    dropping = Dropping(1, "1e-6")
    assert dropping.accuracy(records_at_least=10, bars=5).alpha == 1
    assert dropping.accuracy(records_at_least=27 * 5, bars=5).alpha == 1
    assert dropping.accuracy(records_at_least=27 * 5 + 1, bars=5).alpha < 1
    assert (dropping >> dropping).accuracy(records_at_least=200, bars=5).alpha == 1
    assert (Bucketing(width=1, bounds=(0, 9)) >> dropping >> ReadOff(Max())).accuracy(records_at_least=10).alpha == 1
    for least in (2, None):
        assert STLap("0.9", 1).accuracy(bars=3, records_at_least=least).alpha == 1


def test_stlap_leaves_out_what_rounding_adds() -> None:
    """A bar can lose ⌈q − ½⌉ records, q = τn: with τn = 10.6 that is 11 of each, more than τ of all."""
    mech, bars, records = STLap("0.0106", 1), 4, 1000
    most = math.ceil(Fraction("0.0106") * records - Fraction(1, 2))
    assert Fraction(mech.accuracy(bars=bars, records_at_least=records).alpha) >= Fraction(most * bars, records)
    assert most * bars > Fraction("0.0106") * bars * records


def test_stlap_s_corrected_privacy_is_rounded_up() -> None:
    """The formulas of both directions in a hundred digits."""
    for tau, epsilon, records, bars in (("0.05", "0.5", 2001, 3), ("0.01", "1", 900, 7), ("0.1", "0.3", 50, 2)):
        mech = STLap(tau, epsilon, records_at_least=records, bars=bars)
        assert mech.directions is not None and mech.privacy is not None
        with localcontext() as context:
            context.prec = 100
            rate, share = Decimal(epsilon), Decimal(tau)
            more, less = ((rate * share * size / 2).exp() for size in (records + 1, records))
            drift = ((1 - 1 / more) / (1 - 1 / less)).ln()
            shown, others = ((rate * length).exp() - 1 for length in (1, share))
            hidden = (1 - shown / (2 * (more - 1))) * (1 - others / (2 * (more - 1))) ** (bars - 1)
            middle = rate * (1 + (bars - 2) * share / 2)
            truths = (
                (middle - bars * drift, 1 - hidden),
                (middle + bars * drift, ((rate * (1 - share)).exp() - 1) / (2 * (less - 1))),
            )
        for told, (loss, chance) in zip(mech.directions, truths, strict=True):
            for found, truth in ((told.epsilon, Fraction(loss)), (told.delta, Fraction(chance))):
                assert truth <= found <= truth * (1 + Fraction(1, 10**35))
        assert mech.privacy.epsilon == max(each.epsilon for each in mech.directions)
        assert mech.privacy.delta == max(each.delta for each in mech.directions)


def reference_directions(
    tau: float, epsilon: float, records: int, bars: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    more, less = tau * (records + 1), tau * records
    drift = math.log(math.expm1(-epsilon * more / 2) / math.expm1(-epsilon * less / 2))
    shown, others = (math.expm1(epsilon * length) / (2 * math.expm1(epsilon * more / 2)) for length in (1, tau))
    middle = epsilon * (1 + (bars - 2) * tau / 2)
    back = math.expm1(epsilon * (1 - tau)) / (2 * math.expm1(epsilon * less / 2))
    return (middle - bars * drift, 1 - (1 - shown) * (1 - others) ** (bars - 1)), (middle + bars * drift, back)


def stlap_joint(heights: list[int], top: list[int], tau: float, epsilon: float) -> NDArray[np.float64]:
    """The law of all reports: each bar rounds, and none goes below zero; an empty bar stays empty."""
    q, out = tau * sum(heights), np.ones(1)
    for height, most in zip(heights, top, strict=True):
        law = np.zeros(most + 1)
        law[0] = 1.0
        if height:
            z = np.clip(np.arange(height) + 0.5 - height, -q, 0.0)
            half = -2 * math.expm1(-epsilon * q / 2)
            below = (np.exp(epsilon * (np.minimum(z, -q / 2) + q / 2)) - math.exp(-epsilon * q / 2)) / half
            below += np.where(z > -q / 2, -np.expm1(-epsilon * (np.maximum(z, -q / 2) + q / 2)), 0.0) / half
            law[: height + 1] = np.diff(np.concatenate(([0.0], below, [1.0])))
        out = np.multiply.outer(out, law)
    return out


@pytest.mark.parametrize("fault", [0.0, 0.02])
def test_stlap_is_as_private_as_reported_in_each_direction(fault: float) -> None:
    """Exact divergences over all reports of one to three bars, appearing ones too; a smaller ε must be found out."""
    generator = np.random.default_rng(4)
    contradicted = 0
    for tau, epsilon in product(("0.09", "0.2", "0.49"), ("0.05", "0.2", "1")):
        for bars in (1, 2, 3):
            records = math.ceil(4 / float(tau)) + int(generator.integers(3))
            fewer = [int(n) for n in generator.multinomial(records, np.ones(bars) / bars)]
            if bars > 1 and generator.random() < 0.5:
                fewer = [0, fewer[0] + fewer[1], *fewer[2:]]
            more = [n + (i == 0) for i, n in enumerate(fewer)]
            mech = STLap(tau, epsilon, records_at_least=records, bars=bars)
            if mech.directions is None or mech.privacy is None:
                continue
            laws = [stlap_joint(each, more, float(tau), float(epsilon)) for each in (more, fewer)]
            for told, both in zip((*mech.directions, *[mech.privacy] * 2), (laws, laws[::-1]) * 2, strict=True):
                growth = math.exp(float(told.epsilon) * (1 - 10 * fault))
                excess = float(np.maximum(both[0] - growth * both[1], 0).sum())
                contradicted += excess > float(told.delta) * (1 - fault) * (1 + 1e-9) + 1e-13
    assert bool(contradicted) == bool(fault)


def test_one_bucket_is_as_private_as_the_paper_says() -> None:
    told = STLap("0.09", "0.2", records_at_least=51, bars=1).privacy
    assert told is not None and told.epsilon == Fraction(1, 5)
    assert float(told.delta) == pytest.approx(math.expm1(0.2) / (2 * math.expm1(0.1 * 0.09 * 51)), rel=1e-12)
    steeper = STLap("0.09", "0.2", records_at_least=500, bars=1).privacy
    assert steeper is not None and steeper.epsilon < Fraction(1, 5)  # where one direction alone says less
    assert STLap("0.9", 4, records_at_least=10**15, bars=3).privacy is not None


def test_stlap_in_several_dimensions() -> None:
    mech = STLap("0.05", "0.5", records_at_least=2000, bars=4, dimensions=2)
    plane = Histogram(np.array([[3.0, 4.0], [55.0, 99.0]]), [1000, 1000])
    assert mech(plane).keys.shape == (2, 2)
    chain = Bucketing(width=50, bounds=(0, 100), dimensions=2) >> mech
    assert chain.accuracy().beta == pytest.approx(25 * math.sqrt(2)) and chain.privacy == mech.privacy
    assert Mechanism.from_json(mech.to_json()) == mech and mech.arguments()["dimensions"] == 2
    with pytest.raises(InputError, match="must fit"):
        Bucketing(width=50, bounds=(0, 100)) >> mech


def test_a_size_is_tested_for_emptiness() -> None:
    test = Emptiness(epsilon=1, delta="1e-3")
    chain = ReadOff(Count()) >> test
    assert chain.privacy is not None and chain.privacy.neighbours == AddRemove()
    assert (chain.privacy.epsilon, chain.privacy.delta) == (test.privacy.epsilon, test.privacy.delta)
    assert chain(Histogram([], [])) is False and chain(Histogram([5], [1000])) is True
    assert chain.accuracy(records_at_least=test.noise.q).alpha == 0
    assert chain.accuracy(records_at_least=test.noise.q - 1).alpha == chain.accuracy().alpha == 1
    thinned = (Dropping(1, "1e-6") >> ReadOff(Count()) >> test).accuracy(records_at_least=1000, bars=2)
    assert thinned.alpha == pytest.approx(2 * 27 / 1000)
    bucketed = Bucketing(width=5, bounds=(0, 10)) >> ReadOff(Count()) >> test
    assert bucketed.accuracy(records_at_least=1000).alpha == 0 and bucketed.privacy is not None
    with pytest.raises(InputError, match="no bounded error"):  # a size that is a few off may be that of nothing
        (ReadOff(Count()) >> Laplace(sensitivity=1, epsilon=1) >> test).accuracy(records_at_least=1000, gamma="0.1")


def turned(one: float, two: float) -> float:
    return min(abs(one - two), 360 - abs(one - two))


def spread(histogram: Histogram) -> tuple[Any, Any]:
    return histogram.keys[0], histogram.keys[-1]


def test_any_function_is_read_off_with_the_drop_move_guarantee() -> None:
    bucketed = Bucketing(width=5, bounds=(0, 120)) >> Dropping(epsilon=1, delta="1e-6")
    plain = bucketed >> ReadOff(spread)
    told = plain.accuracy(records_at_least=64_800)
    assert (told.alpha, told.beta, told.moved, told.distortion) == (0.01, 0, 2.5, DropMove())
    assert plain(Histogram([3, 88], [500, 500])) == (2.5, 87.5)
    assert repr(ReadOff(spread)) == "ReadOff(spread)" and ReadOff(spread) == ReadOff(spread)
    exact = (Dropping(epsilon=1, delta="1e-6") >> ReadOff(spread)).accuracy()
    assert (exact.beta, exact.moved, exact.metric) == (0, 0, Equality())
    angle = OwnMetric("angle")
    assert (bucketed >> ReadOff(spread, metric=angle)).accuracy().metric == angle
    assert (Dropping(1, "1e-6") >> ReadOff(len, metric=Difference()) >> Laplace(sensitivity=1, epsilon=1)).name
    wider = ReadOff(Range(), metric=angle)
    assert (wider.target.metric, wider.step(Known()).tau(Error(1.0)).beta, (bucketed >> wider).accuracy().beta) == (
        angle,
        2.0,
        5.0,
    )
    with pytest.raises(InputError, match="JSON cannot hold"):
        ReadOff(spread).to_json()
    for bad in (3, Max, "max"):
        with pytest.raises(InputError, match="statistic must be"):
            ReadOff(bad)  # type: ignore[arg-type]
    assert ReadOff(spread).step(Known()).moves(0.0) == math.inf and ReadOff(Range()).step(Known()).moves(1.0) == 2.0
    named = ReadOff(spread, metric=turned)
    assert named.target.metric == OwnMetric("turned") and named.target.metric(350, 20) == 30
    with pytest.raises(InputError, match="metric must be a Metric"):
        ReadOff(spread, metric=3)  # type: ignore[arg-type]


def test_a_private_mechanism_s_condition_holds_of_the_pipeline() -> None:
    """What is private for at most 3 bars is so after 3 buckets, on the same condition, and refused after 4."""
    mech = STLap("0.05", "0.5", records_at_least=2001, bars=3)
    private = (Bucketing(width=1, bounds=(0, 3)) >> mech).privacy
    assert private is not None and mech.privacy is not None
    assert private.given == mech.privacy.given == Condition(records_at_least=2001, buckets_at_most=3)
    with pytest.raises(InputError, match="at most 3 buckets"):
        Bucketing(width=1, bounds=(0, 4)) >> mech


def test_public_buckets_bound_the_bars_of_what_follows() -> None:
    """Ten buckets, whatever the caller says of the bars before bucketing: α is that of ten."""
    mech = Bucketing(width=1, bounds=(0, 10)) >> Dropping(1, "1e-6")
    assert mech.accuracy(records_at_least=10**4, bars=3).alpha == mech.accuracy(records_at_least=10**4).alpha
    assert Fraction(mech.accuracy(records_at_least=10**4).alpha) >= Fraction(27 * 10, 10**4)


@pytest.mark.parametrize("dimensions", [2, 3, 5, 7])
def test_half_diagonals_are_rounded_up(dimensions: int) -> None:
    """β² ≥ d·(w/2)², exactly, for the mechanism and for a grid of columns; and hardly more."""
    width = Fraction(1, 3)
    cube = Bucketing(width=width, dimensions=dimensions).accuracy().beta
    grid = make_grid([make_buckets("number", width=width)] * dimensions).beta
    square = dimensions * (width / 2) ** 2
    for beta in (Fraction(cube), grid):
        assert square <= beta**2 <= square * (1 + Fraction(1, 10**14))
    assert grid**2 - square < Fraction(1, 10**28)
    assert 0 < root_up(dimensions) ** 2 - dimensions < Fraction(1, 10**28)  # of which no double could tell


def test_bucket_histogram_drops_no_more_than_alpha_allows() -> None:
    """α = 0.2 of 1000 records is 200: that many may be lost of 5 buckets, and 201 may not, which a smaller δ would."""
    mech = BucketHistogram(alpha="0.2", beta=10, epsilon=1, bounds=(0, 100), records_at_least=1000)
    assert mech.step(Known()).after.bars == 5
    found = mech.accuracy()
    assert found.alpha == 0.2 and found.max_drop is not None and 40 < found.max_drop < 80
    assert mech.privacy is not None and mech.privacy.delta < smallest_delta(1, 41) / 10_000
    assert TotalNoise(1, mech.privacy.delta, 5).total == 200
    assert TotalNoise(1, mech.privacy.delta * Fraction(130, 131), 5).total > 200
    exact = BucketHistogram(alpha="0.2", beta=10, epsilon=1, bounds=(0, 100), records_at_least=1004)
    assert exact.privacy == mech.privacy


def test_emptiness_is_sure_from_the_reach_on_and_not_before() -> None:
    noise = DropNoise(1, "1e-3")
    mech = Emptiness(epsilon=1, delta="1e-3")
    assert noise.survival(noise.q - 1) < 1 and mech.accuracy(records_at_least=noise.q - 1).alpha == 1
    assert noise.survival(noise.q) == 1 and mech.accuracy(records_at_least=noise.q).alpha == 0


def test_dropping_in_several_dimensions() -> None:
    mech = Bucketing(width=10, bounds=(0, 100), dimensions=2) >> Dropping(epsilon=1, delta="1e-6", dimensions=2)
    assert mech.step(Known()).after.bars == 100
    assert mech.accuracy().beta == pytest.approx(5 * math.sqrt(2))
    x = Histogram(np.array([[3.0, 4.0], [7.0, 1.0], [55.0, 99.0]]), [100, 100, 100])
    y = mech(x)
    assert {tuple(key) for key in y.keys.tolist()} == {(5.0, 5.0), (55.0, 95.0)}
    assert (mech >> ReadOff(Support(), dimensions=2)).accuracy(records_at_least=300).beta == pytest.approx(
        5 * math.sqrt(2)
    )
    with pytest.raises(InputError, match="dimension"):
        mech(Histogram.from_values([1.0]))


def test_dropping_follows_its_table_through_the_pipeline() -> None:
    """χ² over reported counts at a false-alarm rate of 1e-9."""
    noise = DropNoise(1, "0.01")
    mech = Dropping(1, "0.01")
    x = Histogram(np.arange(50_000), np.full(50_000, 100))
    lost = 100 - mech(x).counts
    expected = noise.pmf * len(x)
    observed = np.bincount(lost, minlength=noise.q)
    assert chi2.sf(((observed - expected) ** 2 / expected).sum(), noise.q - 1) > FALSE_ALARM
    shifted = np.roll(noise.pmf, 1) * len(x)
    assert chi2.sf(((observed - shifted) ** 2 / shifted).sum(), noise.q - 1) < FALSE_ALARM


def test_missing_parameters() -> None:
    with pytest.raises(TypeError, match="delta"):
        Dropping(epsilon=1)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="bars is missing"):
        STLap(tau="0.01", epsilon=1).accuracy()


def test_accuracy_is_error_sensitivity_at_zero() -> None:
    known = Known(records_at_least=10**5, bars=24)
    for mech in (Bucketing(width=5), Dropping(epsilon=1, delta="1e-6"), ReadOff(Range()), pipeline(Max())):
        assert mech.step(known).tau(Error()).beta == mech.accuracy(records_at_least=10**5, bars=24).beta
