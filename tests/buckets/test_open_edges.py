"""Buckets with open ends: every value has one, whatever it is, and only closed ones have a β."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp import InputError, Release
from flexdp._release.ranges import bucket_texts
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.buckets import Cut, OpenEdges, bucket_parameters, make_buckets
from flexdp.histogram import KeyedHistogram

doubles = st.floats(allow_nan=False, allow_infinity=False)
cuts = st.lists(st.tuples(doubles | st.sampled_from([0.0, 1e-30, -1e-30, 0.1, 5.0]), st.booleans()), max_size=8)


def place(value: float, buckets: OpenEdges) -> int:
    """The bucket of a number by exact arithmetic alone."""
    number = Fraction(0) if abs(value) < 1e-30 else Fraction(repr(value))
    return sum(number > cut.value or (number == cut.value and not cut.after) for cut in buckets.cuts)


@given(cuts, st.lists(doubles, min_size=1, max_size=20))
def test_numbers_are_located_as_their_decimals_are(edges: list[tuple[float, bool]], values: list[float]) -> None:
    buckets = OpenEdges.of("number", [Cut(Fraction(repr(value)), after) for value, after in edges])
    near = [math.nextafter(float(cut.value), side) for cut in buckets.cuts for side in (-math.inf, math.inf)]
    given = [*values, *near, *(float(cut.value) for cut in buckets.cuts), 0.0, -0.0, 1e-31, -1e-31]
    assert buckets.locate(np.array(given)).tolist() == [place(value, buckets) for value in given]


@given(cuts)
def test_keys_are_distinct_ascending_and_in_their_buckets(edges: list[tuple[float, bool]]) -> None:
    buckets = OpenEdges.of("number", [Cut(Fraction(repr(value)), after) for value, after in edges])
    keys = buckets.centres(np.arange(buckets.count)).tolist()
    assert all(low < high for low, high in pairwise(keys))
    for index in range(1, buckets.count - 1):
        assert buckets.locate(np.array([keys[index]])).tolist() == [index]


@given(cuts, st.lists(doubles, min_size=1, max_size=20))
def test_beta_holds_for_every_value_of_a_closed_bucket(edges: list[tuple[float, bool]], values: list[float]) -> None:
    buckets = OpenEdges.of("number", [Cut(Fraction(repr(value)), after) for value, after in edges])
    for value in [*values, *(float(cut.value) for cut in buckets.cuts)]:
        (index,) = buckets.locate(np.array([value])).tolist()
        beta = buckets.beta_at(index)
        assert (beta is None) == (index in (0, buckets.count - 1))
        if beta is not None:
            (key,) = buckets.centres(np.array([index])).tolist()
            number = Fraction(0) if abs(value) < 1e-30 else Fraction(repr(value))
            assert abs(number - Fraction(repr(key))) <= beta


@given(cuts)
def test_parameters_give_the_partition_again(edges: list[tuple[float, bool]]) -> None:
    buckets = OpenEdges.of("number", [Cut(Fraction(repr(value)), after) for value, after in edges])
    assert make_buckets("number", **bucket_parameters(buckets)) == buckets


@pytest.mark.parametrize(
    ("kind", "edges", "texts"),
    [
        ("number", ["-15", "0", ">0", "2.5", "285"],
         ["below -15", "-15 to 0", "exactly 0", "0–2.5", "2.5–285", "285 or more"]),
        ("number", [">7"], ["7 or less", "above 7"]),
        ("number", [], ["any value"]),
        ("integer", ["-15", "0", "1", "5"], ["below -15", "-15 to -1", "0", "1–4", "5 or more"]),
        ("date", ["2024-01-01", "2024-02-01"],
         ["before 2024-01-01", "2024-01-01 to 2024-01-31", "2024-02-01 or later"]),
        ("datetime", ["2024-01-01T00:00", "2024-01-01T12:30"],
         ["before 2024-01-01", "2024-01-01 00:00–12:30", "2024-01-01 12:30 or later"]),
    ],
)  # fmt: skip
def test_words(kind: Any, edges: list[str], texts: list[str]) -> None:
    buckets = make_buckets(kind, edges=edges, open=True)
    assert bucket_texts(buckets, np.arange(buckets.count or 0)) == texts


@pytest.mark.parametrize("outside", ["clamp", "drop"])
def test_bounds_close_the_ends(outside: Any) -> None:
    buckets = make_buckets("number", edges=["0", ">0", "10"], open=True, bounds=(-5, 100), outside=outside)
    assert isinstance(buckets, OpenEdges)
    assert buckets.edges_of(np.array([0, 3])) == [(-5.0, 0.0), (10.0, 100.0)]
    assert buckets.beta == 45
    assert bucket_texts(buckets, np.array([3])) == ["10 or more" if outside == "clamp" else "10–100"]
    assert buckets.locate(np.array([-9.0, 0.0, 101.0])).tolist() == ([0, 1, 3] if outside == "clamp" else [1])


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("number", {"edges": ["1", "1"]}),
        ("number", {"edges": [">1", "1"]}),
        ("number", {"edges": ["1e40"]}),
        ("number", {"edges": ["0", "1e-31"]}),
        ("number", {"edges": ["5"], "bounds": (5, 9)}),
        ("integer", {"edges": ["1.5"]}),
        ("integer", {"edges": [">1"]}),
        ("text", {"edges": []}),
        ("number", {"edges": None}),
    ],
)
def test_edges_that_separate_nothing_are_refused(kind: Any, parameters: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        make_buckets(kind, open=True, **parameters)


def published(kind: Any, edges: list[str], index: list[int]) -> Release:
    spec = Spec(columns=("cost",), partitions=(make_buckets(kind, edges=edges, open=True),))
    cells = KeyedHistogram([np.array(index)], [400] * len(index))
    return Release(spec=spec, budget=Budget(1, "1e-6"), cells=cells)


def test_no_answer_in_an_open_bucket_has_a_beta() -> None:
    release = published("number", ["-15", "0", ">0", "285"], [0, 1, 2, 4])
    assert release.max().text == "285 or more" and release.min().text == "below -15"
    assert release.max().accuracy is None and "within" not in str(release.max())
    assert release.range().value == 300.0 and release.range().accuracy is None
    assert release.quantile("0.99").accuracy is None
    assert all(answer.accuracy is None for answer in (release.mode(), release.support(), release.counts()))
    assert release.buckets[0].lower == -math.inf and release.buckets[-1].upper == math.inf
    assert release.columns_of_bars()["lower"] == [None, -15.0, 0.0, 285.0]
    assert Release.from_json(release.to_json()) == release
    assert "285 or more" in release.to_html()


def test_answers_in_closed_buckets_keep_their_beta() -> None:
    release = published("integer", ["-15", "0", "1", "285"], [1, 2, 3])
    assert release.max().accuracy is not None and release.max().accuracy.beta == 141.5
    assert release.min().text == "-15 to -1 or less" and release.min().accuracy.beta == 7


@pytest.mark.parametrize("kind", ["date", "datetime"])
def test_times_with_open_ends_round_trip(kind: Any) -> None:
    release = published(kind, ["2024-01-01", "2024-02-01"], [0, 1, 2])
    assert release.range().value == dt.timedelta(31) + dt.timedelta(**{"days" if kind == "date" else "microseconds": 1})
    assert Release.from_json(release.to_json()) == release
    assert release.to_html()
    assert release.to_frame("polars").height == 3
