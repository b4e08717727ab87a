"""Rational bounds of exponentials and logarithms, against series in integers; the least integer, against counting."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from flexdp._core.enclosure import (
    exp_at_least,
    exp_below,
    exp_bounds,
    least,
    least_decimal,
    least_from,
    log_bounds,
    power_bounds,
)

_EXTRA = 400  # bits after the point of the oracle


def _exp(x: Fraction) -> tuple[Fraction, Fraction]:
    """e^x by the series of e^(x / 2^k), |x| / 2^k ≤ 1/2, squared k times: in integers, each rounding counted."""
    halvings = max(0, math.ceil(abs(x)).bit_length() + 1)
    small, one = x / 2**halvings, 1 << _EXTRA
    low = high = one
    term, k = Fraction(1), 0
    while abs(term) > Fraction(1, one):
        k += 1
        term = Fraction(math.floor(term * small / k * one * one), one * one)
        low, high = low + math.floor(term * one) - 1, high + math.ceil(term * one) + 1
    low, high = Fraction(low - 4, one), Fraction(high + 4, one)
    for _ in range(halvings):
        size = one * 2 ** max(0, 2 - math.floor(math.log2(low)) * 2)
        low, high = Fraction(math.floor(low * low * size), size), Fraction(math.ceil(high * high * size), size)
    return low, high


def _rationals() -> list[Fraction]:
    draw = random.Random(32)
    return [
        *(Fraction(draw.randint(-(10**6), 10**6), draw.randint(10**4, 10**5)) for _ in range(60)),
        *(Fraction(draw.choice((-1, 1)) * draw.randint(1, 99), 10 ** draw.randint(1, 60)) for _ in range(60)),
        *map(Fraction, (-50, -1, 0, 1, 2, 50)),
    ]


@pytest.mark.parametrize("digits", [20, 60, 90])
def test_exponentials_are_enclosed(digits: int) -> None:
    for x in _rationals():
        lower, upper = exp_bounds(x, digits)
        low, high = _exp(x)
        assert lower <= high, x
        assert upper >= low, x
        assert x == 0 or lower <= low < high <= upper, x  # the oracle is far closer than either bound
        assert upper - lower <= lower * Fraction(10) ** (4 - digits) * max(1, abs(x)), x


def test_logarithms_and_powers_are_enclosed() -> None:
    for x in _rationals():
        if not x:
            continue
        lower, upper = log_bounds(abs(x))
        assert _exp(lower)[0] <= abs(x) <= _exp(upper)[1], x
        assert 0 <= upper - lower <= Fraction(1, 10**52)
    assert log_bounds(Fraction(1)) == (0, 0)
    for base, root in ((Fraction(4), 2), (Fraction(9, 4), Fraction(3, 2)), (Fraction(1, 100), Fraction(1, 10))):
        lower, upper = power_bounds(base, Fraction(1, 2))
        assert lower <= root <= upper
        lower, upper = power_bounds(base, Fraction(-3, 2))
        assert lower <= root**-3 <= upper


def test_a_bound_that_is_shifted_by_its_own_width_is_no_bound() -> None:
    """The negative control: the oracle tells a bound from one that is twice its width off."""
    for x in (Fraction(1), Fraction(-7, 3), Fraction(40)):
        lower, upper = exp_bounds(x)
        low, high = _exp(x)
        assert lower + 2 * (upper - lower) > high
        assert upper - 2 * (upper - lower) < low


def test_far_below_zero_the_fractions_stay_short() -> None:
    lower, upper = exp_bounds(Fraction(-(10**9)))
    assert lower == 0 < upper < Fraction(1, 10**43000)


def test_integers_below_and_decisions() -> None:
    for x in _rationals():
        if not 0 <= x <= 1000:
            continue
        low, high = _exp(x)
        grown = exp_below(x, 96)
        assert grown <= high * 2**96
        assert grown >= low * 2**96 * (1 - Fraction(1, 2**80))
        assert exp_at_least(x, Fraction(grown, 2**96))
        assert exp_at_least(x, low)
        assert not exp_at_least(x, high + (x == 0))
    assert exp_at_least(Fraction(0), Fraction(1))
    assert not exp_at_least(Fraction(0), Fraction(1) + Fraction(1, 10**300))
    near = _exp(Fraction(1))  # needs more digits than the first try has
    assert near[1] - near[0] < Fraction(1, 10**100)
    assert exp_at_least(Fraction(1), near[0])
    assert not exp_at_least(Fraction(1), near[1])


def test_the_least_integer_is_found_with_few_questions() -> None:
    for answer in range(12):
        asked: list[int] = []

        def holds(n: int, answer: int = answer, asked: list[int] = asked) -> bool:
            asked.append(n)
            return n >= answer

        assert least(holds, 0, 11) == answer
        assert len(asked) <= 4
        assert max(asked, default=0) < 11  # that it holds at the end is known
        assert least_from(holds, 0) == answer
        assert least_from(holds, answer) == answer
    assert least_from(lambda n: n >= 10**30, 5) == 10**30


@pytest.mark.parametrize("digits", [3, 12])
def test_the_least_decimal_is_the_next_one_above(digits: int) -> None:
    draw = random.Random(5)
    for _ in range(50):
        border = Fraction(draw.randint(1, 10**9), 10 ** draw.randint(0, 15))
        found = least_decimal(lambda x, border=border: x >= border, Fraction(1, 10**20), Fraction(10**10), digits)
        assert found is not None
        decade = Fraction(10) ** math.floor(math.log10(border))
        unit = decade / 10 ** (digits - 1)
        assert found == math.ceil(border / unit) * unit
    assert least_decimal(lambda x: x > 2, Fraction(1), Fraction(2)) is None
    assert least_decimal(lambda x: x > 0, Fraction(1), Fraction(2)) == 1
