"""Plans against the relations they solve: what is attained holds, one step better does not."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp import Accuracy, InputError, Privacy
from flexdp.guarantees import AddRemove
from flexdp.noise import LARGEST_REACH, DropNoise, continuous, smallest_reach
from flexdp.planning import (
    REGIMES,
    Solved,
    most_buckets_per_unit,
    per_bucket,
    regime,
    smallest_delta,
    smallest_epsilon,
    solve,
)

AGES: dict[str, Any] = {
    "epsilon": 1,
    "delta": "1e-6",
    "span": 120,
    "beta": "2.5",
    "records_at_least": 50_000,
}
UNIT_REACH = {1: 28, 2: 54, 5: 133, 10: 264}  # q for a unit's (1, 1e-6) in k buckets


def check(plan: Solved) -> None:
    """Everything that ties the fields of a plan together."""
    share = per_bucket(plan.epsilon, plan.delta, plan.buckets_per_unit)
    noise = DropNoise(share.epsilon, share.delta)
    assert plan.bucket_privacy == share
    assert (plan.q, plan.max_drop) == (noise.q, noise.max_drop)
    assert plan.alpha == min(Fraction(1), Fraction(plan.max_drop * plan.buckets, plan.records_at_least))
    if plan.beta is not None:
        assert plan.span is not None
        assert plan.width == 2 * plan.beta
        assert plan.buckets == math.ceil(plan.span / plan.width)
    unit = "record" if plan.buckets_per_unit == 1 else "unit"
    assert plan.privacy == Privacy(
        epsilon=plan.epsilon, delta=plan.delta, neighbours=AddRemove(unit, plan.buckets_per_unit)
    )
    assert isinstance(plan.accuracy, Accuracy)
    assert plan.accuracy.alpha is not None
    assert Fraction(plan.accuracy.alpha) >= plan.alpha


def fields(plan: Solved) -> dict[str, Any]:
    names = ("epsilon", "delta", "q", "buckets", "records_at_least", "alpha", "beta", "span", "buckets_per_unit")
    return {name: getattr(plan, name) for name in names if getattr(plan, name) is not None}


def without(plan: Solved, *names: str) -> dict[str, Any]:
    return {name: value for name, value in fields(plan).items() if name not in names}


def test_the_share_that_may_be_left_out() -> None:
    plan = solve(**AGES)
    check(plan)
    assert (plan.q, plan.buckets, plan.alpha) == (28, 24, Fraction(27 * 24, 50_000))


def test_the_records_that_are_needed() -> None:
    known = {**AGES, "alpha": "0.013"}
    del known["records_at_least"]
    plan = solve(**known)
    check(plan)
    assert plan.records_at_least == math.ceil(648 / Fraction("0.013"))
    assert plan.alpha <= Fraction("0.013") < Fraction(648, plan.records_at_least - 1)


def test_the_buckets_that_are_affordable() -> None:
    plan = solve(epsilon=1, delta="1e-6", records_at_least=50_000, alpha="0.02", span=120)
    check(plan)
    assert plan.buckets == 37
    assert plan.beta == Fraction(120, 74)
    assert Fraction(27 * 38, 50_000) > Fraction("0.02")
    assert solve(epsilon=1, delta="1e-6", records_at_least=50_000, alpha="0.02", beta=5).span == 370


@pytest.mark.parametrize("delta", ["1e-6", "1e-9", "0.001"])
@pytest.mark.parametrize("units", [1, 3])
def test_the_smallest_epsilon(delta: str, units: int) -> None:
    plan = solve(delta=delta, span=100, beta=2, records_at_least=20_000, alpha="0.05", buckets_per_unit=units)  # D = 40
    check(plan)
    assert plan.q <= 41
    share = per_bucket(1, delta, units).delta
    step = Fraction(10) ** (math.floor(math.log10(plan.epsilon)) - 11)
    assert smallest_reach(plan.epsilon / units, share, at_most=41) is not None
    assert smallest_reach((plan.epsilon - step) / units, share, at_most=41) is None


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("q", [2, 3, 14, 41])
@pytest.mark.parametrize("units", [1, 2])
def test_the_smallest_delta(epsilon: str, q: int, units: int) -> None:
    delta = smallest_delta(epsilon, q, buckets_per_unit=units)
    step = Fraction(10) ** (math.floor(math.log10(delta)) - 11)

    def fits(chance: Fraction) -> bool:
        share = per_bucket(epsilon, chance, units)
        return smallest_reach(share.epsilon, share.delta, at_most=q) is not None

    assert fits(delta)
    assert not fits(delta - step)


@settings(max_examples=30, deadline=None)
@given(epsilon=st.sampled_from(["0.05", "0.3", "1", "2.5"]), q=st.integers(2, 36))
def test_delta_is_that_of_the_closed_form(epsilon: str, q: int) -> None:
    with localcontext() as context:
        context.prec = 50
        e = Decimal(epsilon).exp()
        best = Fraction(1 / sum((e**k - 1) / (e - 1) for k in (-(-q // 2), q // 2)))
    found = smallest_delta(epsilon, q)
    assert best <= found <= best * (1 + Fraction(1, 10**6))
    assert DropNoise(epsilon, found).q == q


@pytest.mark.parametrize(("units", "q"), UNIT_REACH.items())
def test_units_in_several_buckets(units: int, q: int) -> None:
    assert solve(**AGES, buckets_per_unit=units).q == q


@settings(max_examples=40, deadline=None)
@given(delta=st.fractions("1e-9", "0.99", max_denominator=10**9), units=st.integers(2, 50))
def test_the_share_of_a_bucket_is_rounded_down(delta: Fraction, units: int) -> None:
    share = per_bucket(1, delta, units)
    assert share.epsilon == Fraction(1, units)
    assert 1 - (1 - share.delta) ** units <= delta
    assert 1 - (1 - share.delta - Fraction(1, 10**59)) ** units > delta
    assert share.delta >= delta / units - Fraction(1, 10**60)


def test_very_many_buckets_for_a_unit() -> None:
    share = per_bucket(1, "1e-6", 10**7)
    assert Fraction("1e-13") <= share.delta <= Fraction("1.000001e-13")
    with pytest.raises(InputError, match="delta must be at least"):
        per_bucket(1, "1e-29", 1000)


@pytest.mark.parametrize(
    "known",
    [
        AGES,
        {**AGES, "buckets_per_unit": 4},
        {"epsilon": "0.3", "delta": "1e-8", "span": 10, "beta": 3, "alpha": "0.1"},
        {"epsilon": "0.3", "q": 90, "span": 10, "buckets": 3, "alpha": "0.1"},
        {"max_drop": 30, "delta": "1e-7", "beta": "0.7", "buckets": 12, "alpha": "1/7"},
        {"delta": "1e-7", "alpha": "0.03", "records_at_least": 9999, "beta": 1, "span": 17},
        {"epsilon": 1, "alpha": "0.03", "records_at_least": 9999, "beta": 1, "span": 17},
        {"epsilon": 1, "delta": "1e-6", "buckets": 24, "records_at_least": 50_000},
        {"epsilon": 1, "delta": "1e-6", "buckets": 24, "records_at_least": 100},
    ],
)
def test_a_plan_solves_itself_again(known: dict[str, Any]) -> None:
    plan = solve(**known)
    check(plan)
    assert solve(**fields(plan)) == plan
    assert solve(**without(plan, "q", "alpha")) == plan
    if plan.beta is not None:
        assert solve(**without(plan, "q", "alpha", "buckets")) == plan
    if plan.alpha < 1:
        assert solve(**without(plan, "records_at_least")).records_at_least <= plan.records_at_least
        # The best ε or δ for the reach that was reached is no worse than the one that reached it.
        assert solve(**without(plan, "epsilon")).epsilon <= plan.epsilon
        assert solve(**without(plan, "delta")).delta <= plan.delta * (1 + Fraction(1, 10**11))


def test_demands_beyond_need_are_kept_and_the_plan_is_what_is_attained() -> None:
    plan = solve(**AGES, alpha="0.5", q=100)
    assert plan == solve(**AGES)
    assert solve(epsilon=1, delta="1e-6", q=100, buckets=24, alpha="0.01").records_at_least == 64_800
    finer = solve(**AGES, buckets=30)
    assert finer.beta == 2
    check(finer)


def test_nothing_is_promised_of_too_few_records() -> None:
    plan = solve(epsilon=1, delta="1e-6", buckets=24, records_at_least=100)
    assert plan.alpha == 1
    assert "nothing is promised" in str(plan)


def test_plans_read_aloud() -> None:
    assert (solve(**AGES, buckets_per_unit=2).privacy.unit, solve(**AGES).privacy.unit) == ("unit", "record")
    assert str(solve(**AGES, buckets_per_unit=2)) == (
        "With ε = 1 and δ = 1e-06 for a unit in at most 2 buckets, each of 24 buckets of width 5 loses at most 53 "
        "records, together at most 1272, at most 2.544% of the records where there are at least 50000. Values move by "
        "at most 2.5. "
        "An observer who was 50% sure that a given unit is in the data is at most 73.2% sure afterwards, except "
        "with probability 1e-06."
    )
    assert "width" not in str(solve(epsilon=1, delta="1e-6", buckets=3, records_at_least=1000))


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({}, "give 4 more, for example epsilon, delta, records_at_least, buckets"),
        ({"epsilon": 1, "buckets": 3}, "give 2 more, for example delta, records_at_least"),
        ({"epsilon": 1, "delta": "1e-6", "records_at_least": 100}, "Also give buckets or alpha"),
        ({"epsilon": 1, "delta": "1e-6", "buckets": 5}, "Also give records_at_least or alpha"),
        ({"epsilon": 1, "buckets": 5, "records_at_least": 100}, "Also give delta or alpha or q"),
        ({**AGES, "beta": None}, "Also give buckets or alpha or beta"),
        ({"epsilon": 1, "delta": "1e-6", "buckets": 5, "records_at_least": 100, "beta": 1, "span": None}, None),
    ],
)
def test_what_is_missing_is_named(known: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert solve(**known).span == 10
        return
    with pytest.raises(InputError, match=message):
        solve(**known)


@pytest.mark.parametrize(
    ("extra", "two"),
    [
        ({"q": 27}, ("q is too small for delta=1e-06", "got 27")),
        ({"max_drop": 26}, ("q is too small for delta=1e-06", "got 27")),
        ({"q": 30, "max_drop": 30}, ("q", "max_drop")),
        ({"alpha": "0.01"}, ("alpha and records_at_least=50000", "got 0.01")),
        ({"buckets": 23}, ("beta and buckets=23", "got 2.5")),
    ],
)
def test_contradictions_name_the_two(extra: dict[str, Any], two: tuple[str, str]) -> None:
    with pytest.raises(InputError) as caught:
        solve(**AGES, **extra)
    assert all(name in str(caught.value) for name in two)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *(("epsilon", bad) for bad in (0, -1, "nan", 10**5, True)),
        *(("delta", bad) for bad in (0, 1, -0.1, "1e-31")),
        *(("alpha", bad) for bad in (0, 1.5, -0.1, "inf")),
        *(("beta", bad) for bad in (0, -1, "x")),
        *(("span", bad) for bad in (0, -5)),
        *(("records_at_least", bad) for bad in (0, 1.5, -1)),
        *(("buckets", bad) for bad in (0, 2.5)),
        *(("q", bad) for bad in (1, 0, 2.5, LARGEST_REACH + 1)),
        *(("max_drop", bad) for bad in (0, -1)),
        *(("buckets_per_unit", bad) for bad in (0, 0.5)),
    ],
)
def test_bad_parameters(name: str, bad: Any) -> None:
    with pytest.raises(InputError, match=name):
        solve(**{**AGES, name: bad})


def test_plans_that_cannot_be() -> None:
    with pytest.raises(InputError, match="alpha and records_at_least"):
        solve(delta="1e-6", alpha="0.01", records_at_least=100, buckets=24)
    with pytest.raises(InputError, match="alpha and records_at_least"):
        solve(epsilon=1, delta="1e-6", alpha="0.01", records_at_least=100)
    with pytest.raises(InputError, match="q and delta"):
        smallest_epsilon(2, "1e-6")
    with pytest.raises(InputError, match="q is too small for any delta"):
        smallest_delta(1, 2, buckets_per_unit=100)
    with pytest.raises(InputError, match="epsilon"):
        smallest_delta("1e-9", 100, buckets_per_unit=2)
    with pytest.raises(InputError, match="so small"):
        solve(epsilon="1e-8", delta="1e-9", buckets=1, records_at_least=10)


def test_the_smallest_epsilon_there_is() -> None:
    assert smallest_epsilon(100, "0.1") == Fraction(1, 10**9)  # uniform noise would do
    assert smallest_delta(3, 500) == Fraction(1, 10**30)


@pytest.mark.parametrize("name", REGIMES)
@pytest.mark.parametrize("records", [10**4, 10**6, 10**9])
def test_regimes_are_public_and_hold(name: str, records: int) -> None:
    plan = regime(name, records_at_least=records, span=100, beta=1)
    check(plan)
    assert plan.buckets == 50
    assert plan == regime(name, records_at_least=records, buckets=50, span=100)


def test_inverse_root() -> None:
    plan = regime("inverse-root", records_at_least=10**8, buckets=10)
    assert plan.q == 10**4
    assert plan.epsilon == Fraction(1, 100)
    assert plan.alpha <= Fraction(10, 10**4)  # t/√n; the paper's remark says t/n^{1/4}
    wide = regime("inverse-root", records_at_least=10**6, tau="1e-4", buckets=10)
    assert (wide.q, wide.epsilon) == (100, Fraction(1, 10))
    odd = regime("inverse-root", records_at_least=7 * 10**6, tau="1e-5", buckets=10)
    assert odd.q == 70
    assert odd.epsilon**2 * 70 >= 1 > (odd.epsilon - Fraction(1, 10**12)) ** 2 * 70  # rounded up


@pytest.mark.parametrize("buckets", [1, 7])
def test_the_introduction_s_examples(buckets: int) -> None:
    """All buckets together drop √n, or ln²n, records; δ is that of the largest reach which this leaves to each."""
    for records in (10**6, 10**8):
        root = regime("root-dropped", records_at_least=records, buckets=buckets)
        assert float(root.epsilon) == pytest.approx(records**-0.25) and root.q == math.isqrt(records) // buckets + 1
        assert root.alpha <= Fraction(1, math.isqrt(records)) < Fraction(root.q * buckets, records)
        log = regime("log-dropped", records_at_least=records, buckets=buckets)
        assert log.epsilon == Fraction(1, 10)
        assert log.max_drop * buckets <= math.log(records) ** 2 < (log.max_drop + 1) * buckets
        for plan in (root, log):
            rate = float(plan.epsilon)
            stated = math.expm1(rate) / (2 * math.expm1(rate * plan.q / 2))
            assert float(plan.delta) == pytest.approx(stated, rel=0.01)
    assert regime("log-dropped", records_at_least=10**8, buckets=1).delta < Fraction(1, 10**8)
    assert regime("log-dropped", records_at_least=10**8, buckets=7).delta > Fraction(1, 10**8)


def test_polylog() -> None:
    records = 1000
    plan = regime("polylog", records_at_least=records, span=100, beta=1)
    assert float(plan.epsilon) == pytest.approx(1 / math.log(records) ** 2, rel=1e-11)
    assert plan.epsilon >= Fraction(1 / math.log(records) ** 2) * (1 - Fraction(1, 10**14))
    assert plan.q == math.floor(math.log(records) ** 4)
    # Records left out: 1/ε² in each of B/2β = 50 buckets, not 1/ε² · 2β/B.
    assert plan.max_drop * plan.buckets == pytest.approx(50 / float(plan.epsilon) ** 2, rel=1e-2)


@pytest.mark.parametrize(("exponent", "q"), [(None, 1000), ("0.5", 1000), ("2/3", 100), ("0.25", 31622)])
def test_constant(exponent: str | None, q: int) -> None:
    plan = regime("constant", records_at_least=10**6, buckets=3, exponent=exponent)
    assert plan.epsilon == Fraction(1, 10)
    assert plan.q == q or plan.delta == Fraction(1, 10**30)
    assert plan.q <= q


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"name": "other", "records_at_least": 100, "buckets": 1}, "name"),
        ({"name": "inverse-root", "records_at_least": 9, "buckets": 1}, "tau"),
        ({"name": "inverse-root", "records_at_least": 9, "buckets": 1, "tau": 2}, "tau"),
        ({"name": "polylog", "records_at_least": 2, "buckets": 1}, "records_at_least"),
        (
            {"name": "polylog", "records_at_least": 100, "buckets": 1, "tau": "0.1"},
            "tau applies to name",
        ),
        ({"name": "constant", "records_at_least": 100, "buckets": 1, "exponent": 1}, "exponent"),
        ({"name": "constant", "records_at_least": 100, "buckets": 1, "exponent": "0.12345"}, "exponent"),
        ({"name": "constant", "records_at_least": 0, "buckets": 1}, "records_at_least"),
        ({"name": "constant", "records_at_least": 100}, "Also give"),
        ({"name": "constant", "records_at_least": 100, "span": 3}, "Also give"),
        ({"name": "root-dropped", "records_at_least": 100, "span": 3}, "buckets must be given, or beta and span"),
        ({"name": "log-dropped", "records_at_least": 100, "buckets": 50}, "q would be below 2"),
        ({"name": "log-dropped", "records_at_least": 100, "buckets": 1, "tau": "0.1"}, "tau applies to name"),
    ],
)
def test_bad_regimes(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        regime(**parameters)


def test_the_most_buckets_per_unit_are_solved_for() -> None:
    """math: the reach for a unit-level (1, 1e-6) is 28, 54, 133, 264 for 1, 2, 5 and 10 buckets."""
    for units, q in ((1, 28), (2, 54), (5, 133), (10, 264)):
        plan = solve(epsilon=1, delta="1e-6", q=q, buckets=10, records_at_least=10**6, buckets_per_unit=None)
        assert (plan.buckets_per_unit, plan.q) == (units, q)
        assert most_buckets_per_unit(1, "1e-6", q - 1 if units > 1 else q) == max(1, units - 1)
    with pytest.raises(InputError, match="Give all three"):
        solve(epsilon=1, delta="1e-6", buckets=10, records_at_least=10**6, buckets_per_unit=None)
    with pytest.raises(InputError, match="too small"):
        most_buckets_per_unit(1, "1e-6", 27)


def test_a_share_of_delta_is_never_smaller_than_any_noise_takes() -> None:
    """δ = 1e-28 leaves each of 50 buckets 2e-30; the least that noise takes is 1e-30, and a half of it is kept back."""
    assert most_buckets_per_unit(100, "1e-28", 100) == 50
    for q in range(130, 142):
        found = smallest_delta(3, q, buckets_per_unit=3)
        assert found >= Fraction(3, 10**30) and smallest_reach(1, per_bucket(3, found, 3).delta, at_most=q) is not None
    with pytest.raises(InputError, match="got q=2 and delta=1e-06"):
        smallest_epsilon(2, "1e-6")


@pytest.mark.parametrize(("byte", "place"), [(b"\0", 2.0**-53), (b"\xff", 1 - 2.0**-53)])
def test_doubles_of_the_study_lie_strictly_within_their_ends(byte: bytes, place: float) -> None:
    def source(size: int) -> bytes:
        return byte * size

    assert continuous._uniform(3, source).tolist() == [place] * 3
    assert np.isfinite(continuous.laplace(3, source, scale=2.0)).all()
    drawn = continuous.shifted_truncated_laplace(3, source, reach=1.0, epsilon=1.0)
    assert (drawn != 0).all() and (drawn >= -1).all() and (drawn <= 0).all()
    far = continuous.truncated_laplace_quantile(np.array([0.0, place]), reach=1000.0, epsilon=1.0)
    assert np.isfinite(far).all() and (far >= -1000).all() and (far <= 0).all()
