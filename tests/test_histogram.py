"""Histogram: an immutable, canonical multiset."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp import Histogram, InputError


def test_equal_keys_are_one_bar() -> None:
    h = Histogram([1, 1.0, True, 2], [1, 2, 3, 4])
    assert dict(h.items()) == {1.0: 6, 2.0: 4}
    assert dict(Histogram([0.0, -0.0], [1, 1]).items()) == {0.0: 2}
    assert str(Histogram([-0.0], [1]).keys[0]) == "0.0"


@pytest.mark.parametrize(
    "keys",
    [
        [3, 1, 2],
        [0.5, -2.0],
        ["b", "a", "é"],
        [dt.date(2020, 1, 2), dt.date(1, 1, 1)],
        [True, False],
        [2**80, -(2**70)],
    ],
)
def test_keys_of_every_kind_come_back_sorted(keys: list[object]) -> None:
    h = Histogram.from_values(keys)
    assert h.keys.tolist() == sorted(keys)  # type: ignore[type-var]
    assert [type(key) for key in h.keys.tolist()] == [type(key) for key in keys]
    assert h.size == len(keys) == len(h)


def test_empty_bars_are_no_bars() -> None:
    h = Histogram.from_counts({"a": 0, "b": 3})
    assert h.keys.tolist() == ["b"]
    assert len(Histogram([], [])) == 0
    assert Histogram([], []).size == 0


def test_counts_saturate() -> None:
    top = 2**63 - 1
    assert Histogram([1], [2**70]).counts.tolist() == [top]
    assert Histogram([1, 1, 2], [top, 5, 1]).counts.tolist() == [top, 1]
    assert Histogram([1, 2], [top, top]).size == 2 * top


@pytest.mark.parametrize("counts", [[-1], [1.5], ["1"], [True], [float("nan")], [None]])
def test_bad_counts_are_refused(counts: list[object]) -> None:
    with pytest.raises(InputError, match="counts must be"):
        Histogram([1], counts)  # type: ignore[arg-type]


ZONED = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize("keys", [[1, "a"], [float("nan")], [float("inf")], [ZONED], [None], [[1]]])
def test_bad_keys_are_refused(keys: list[object]) -> None:
    with pytest.raises(InputError, match="keys must be"):
        Histogram(keys, [1] * len(keys))


def test_counts_of_numpy_are_counts() -> None:
    values = np.array([3, 3, 5])
    assert dict(Histogram.from_counts(dict(zip(*np.unique(values, return_counts=True), strict=True))).items()) == {
        3: 2,
        5: 1,
    }
    assert Histogram([1, 2], [np.int64(3), np.float64(4)]).counts.tolist() == [3, 4]


def test_lengths_must_agree() -> None:
    with pytest.raises(InputError, match="as many"):
        Histogram([1, 2], [1])


def test_it_cannot_be_changed() -> None:
    h = Histogram([1, 2], [3, 4])
    with pytest.raises(ValueError, match="read-only"):
        h.counts[0] = 9
    with pytest.raises(ValueError, match="read-only"):
        h.keys[0] = 9
    with pytest.raises(AttributeError):
        h.size = 3  # type: ignore[misc]


def test_the_input_array_stays_the_callers() -> None:
    keys, counts = np.array([2, 1]), np.array([5, 6])
    h = Histogram(keys, counts)
    keys[0], counts[0] = 7, 7
    assert dict(h.items()) == {1: 6, 2: 5}


def test_equality_and_hash_go_by_content() -> None:
    one, two = Histogram([1, 2], [3, 4]), Histogram([2, 1], [4, 3])
    assert one == two
    assert hash(one) == hash(two)
    assert one != Histogram([1, 2], [3, 5])
    assert one != "histogram"


def test_text_form_shows_no_content() -> None:
    assert repr(Histogram(["SECRET"], [12345])) == str(Histogram([], [])) == "<Histogram>"


@given(st.lists(st.integers(-5, 5) | st.floats(-3, 3) | st.booleans()))
def test_counts_are_those_of_a_counter(values: list[float]) -> None:
    h = Histogram.from_values(values)
    assert dict(h.items()) == dict(Counter(values))
    assert h.size == len(values)


def test_rational_keys_are_kept_exactly() -> None:
    half = Fraction(2**60 + 1, 2)
    assert Histogram([half], [1]).keys.tolist() == [half]
