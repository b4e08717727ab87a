"""Partitions: every value is within β of its centre, in exact arithmetic; the public number of buckets is right."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp import InputError
from flexdp.buckets import Edges, Exact, RelativeWidth, Width
from flexdp.buckets.parse import bucket_parameters, make_buckets

numbers = st.floats(-1e12, 1e12, allow_nan=False)
ULP = Fraction(1, 2**50)  # doubles are bucketed up to the rounding of a double


def centre_of(buckets: object, index: int) -> object:
    return buckets.centres(np.array([index])).tolist()[0]  # type: ignore[attr-defined]


@settings(max_examples=300)
@given(x=numbers, width=st.sampled_from(["0.1", "5", "0.25", "1e6", "1/3", "7"]))
def test_open_width_holds_the_value_within_half_a_width(x: float, width: str) -> None:
    buckets = make_buckets("number", width=width)
    (index,) = buckets.locate(np.array([x])).tolist() or [None]
    if index is None:
        assert abs(x) / float(Fraction(width)) >= 2**53
        return
    centre = Fraction(centre_of(buckets, index))
    assert abs(Fraction(x) - centre) <= buckets.beta + ULP * max(1, abs(Fraction(x)))
    (edge,) = buckets.edges_of(np.array([index]))
    assert edge.lower <= centre <= edge.upper


@given(
    x=st.integers(-(2**63), 2**63 - 1) | st.integers(-50, 50),
    width=st.integers(1, 40) | st.sampled_from([2**40, 2**62]),
)
def test_integers_are_bucketed_without_loss(x: int, width: int) -> None:
    buckets = make_buckets("integer", width=width)
    (index,) = buckets.locate(np.array([x], dtype=object)).tolist()
    assert index == x // width
    (edge,) = buckets.edges_of(np.array([index], dtype=object))
    assert edge.lower <= x <= edge.upper
    assert Fraction(edge.upper) - Fraction(edge.lower) == width - 1
    assert abs(x - Fraction(centre_of(buckets, index))) <= buckets.beta == Fraction(width - 1, 2)


def test_width_one_on_integers_is_the_value_itself() -> None:
    buckets = make_buckets("integer", width=1)
    assert buckets.beta == 0
    index = buckets.locate(np.array([-3, 0, 2**62 + 1]))
    assert buckets.centres(index).tolist() == [-3, 0, 2**62 + 1]


@settings(max_examples=300)
@given(
    x=st.integers(-300, 300),
    lower=st.integers(-100, 100),
    span=st.integers(1, 150),
    width=st.integers(1, 60),
    kind=st.sampled_from(["integer", "number"]),
    outside=st.sampled_from(["clamp", "drop"]),
)
def test_bounds_make_a_public_number_of_buckets(
    x: int, lower: int, span: int, width: int, kind: str, outside: str
) -> None:
    upper = lower + span
    buckets = make_buckets(kind, width=width, bounds=(lower, upper), outside=outside)  # type: ignore[arg-type]
    everything = np.arange(lower, upper + 1)
    values = everything if kind == "integer" else np.linspace(lower, upper, 701)
    found = sorted(set(buckets.locate(values).tolist()))
    assert found == list(range(buckets.count))
    edges = buckets.edges_of(np.arange(buckets.count))
    assert edges[0].lower == lower
    assert edges[-1].upper == upper, "the last bucket is cut at the bound"
    index = buckets.locate(np.array([x] if kind == "integer" else [float(x)])).tolist()
    if outside == "drop" and not lower <= x <= upper:
        assert index == []
    else:
        clamped = min(max(x, lower), upper)
        assert abs(clamped - Fraction(centre_of(buckets, index[0]))) <= buckets.beta


def test_one_ulp_below_a_bound_stays_inside() -> None:
    buckets = make_buckets("number", width="0.1", bounds=(0, 1))
    just_below = math.nextafter(1.0, 0)
    assert buckets.locate(np.array([just_below, 1.0, 0.0, 5.0, -5.0])).tolist() == [9, 9, 0, 9, 0]


@settings(max_examples=500)
@given(
    x=st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1000, 1000),
    rho=st.sampled_from(["0.05", "0.01", "0.3", "0.9", "0.002"]),
)
def test_relative_buckets_hold_every_value_within_a_fraction_of_the_centre(x: float, rho: str) -> None:
    buckets = _log(rho)
    (index,) = buckets.locate(np.array([x])).tolist()
    centre = Fraction(centre_of(buckets, index))
    if abs(x) < 2.0**-1022:
        assert index == centre == 0
        return
    assert abs(Fraction(x) - centre) <= Fraction(rho) * abs(centre)
    assert (index > 0) == (x > 0)


LOGS: dict[str, RelativeWidth] = {}


def _log(rho: str) -> RelativeWidth:
    if rho not in LOGS:
        made = make_buckets("number", relative=rho)
        assert isinstance(made, RelativeWidth)
        LOGS[rho] = made
    return LOGS[rho]


def test_relative_buckets_are_ordered_and_symmetric() -> None:
    buckets = _log("0.05")
    values = np.array([-1e300, -2.0, -1e-300, 0.0, 1e-300, 2.0, 1e300])
    index = buckets.locate(values)
    assert (np.diff(index) > 0).all()
    assert (index == -index[::-1]).all()
    assert buckets.beta == Fraction(1, 20)
    assert buckets.beta_at(0) == 0


def test_relative_edges_themselves_open_their_bucket() -> None:
    buckets = _log("0.05")
    edges = buckets.ladder[:-1]
    assert (buckets.locate(edges) == np.arange(1, len(edges) + 1)).all()
    below = np.nextafter(edges[1:], 0)
    assert (buckets.locate(below) == np.arange(1, len(edges))).all()


@settings(max_examples=100)
@given(lower=st.integers(-1000, 1000), span=st.integers(1, 2000))
def test_relative_buckets_between_bounds_are_counted(lower: int, span: int) -> None:
    buckets = make_buckets("number", relative="0.1", bounds=(lower, lower + span))
    index = buckets.locate(np.concatenate([np.linspace(lower, lower + span, 5000), [0.0, -1e9, 1e9]]))
    assert index.min() == buckets.first
    assert index.max() == buckets.first + buckets.count - 1
    edges = buckets.edges_of(np.array([index.min(), index.max()]))
    if buckets.first != 0:
        assert edges[0].lower == lower


@given(
    cuts=st.lists(st.integers(-50, 50), min_size=2, max_size=8, unique=True).map(sorted),
    x=st.integers(-80, 80),
    kind=st.sampled_from(["integer", "number"]),
)
def test_edges_hold_what_lies_between_them(cuts: list[int], x: int, kind: str) -> None:
    buckets = make_buckets(kind, edges=cuts)  # type: ignore[arg-type]
    assert buckets.count == len(cuts) - 1
    (index,) = buckets.locate(np.array([x] if kind == "integer" else [float(x)])).tolist()
    clamped = min(max(x, cuts[0]), cuts[-1])
    last = index == buckets.count - 1
    assert cuts[index] <= clamped and (clamped <= cuts[index + 1] if last else clamped < cuts[index + 1])
    assert abs(clamped - Fraction(centre_of(buckets, index))) <= buckets.beta_at(index) <= buckets.beta


def test_dates_are_days() -> None:
    week = make_buckets("date", width=7, bounds=("2024-01-01", dt.date(2024, 1, 31)))
    assert week.count == 5
    assert week.centres(np.array([0, 4])).tolist() == [dt.date(2024, 1, 4), dt.date(2024, 1, 30)]
    assert week.edges_of(np.array([4]))[0] == (dt.date(2024, 1, 29), dt.date(2024, 1, 31))
    assert week.beta == 3
    even = make_buckets("date", width=2)
    day = dt.date(2024, 3, 1).toordinal() - dt.date(1970, 1, 1).toordinal()
    centre = even.centres(even.locate(np.array([day])))[0]
    assert abs((centre - dt.date(2024, 3, 1)).days) <= even.beta == 1


@pytest.mark.parametrize(
    "parameters",
    [
        {"kind": "number"},
        {"kind": "number", "width": "0.1"},
        {"kind": "number", "width": "1/3", "bounds": ("-2.5", 7), "outside": "drop"},
        {"kind": "integer", "width": 10, "bounds": (0, 120)},
        {"kind": "number", "relative": "0.05", "bounds": (0, 10)},
        {"kind": "integer", "relative": "0.05"},
        {"kind": "date", "edges": ["2020-01-01", "2021-06-30"]},
        {"kind": "date", "bounds": ("2020-01-01", "2021-06-30")},
        {"kind": "text"},
        {"kind": "boolean"},
    ],
)
def test_parameters_round_trip(parameters: dict[str, object]) -> None:
    made = make_buckets(**parameters)  # type: ignore[arg-type]
    assert make_buckets(made.kind, **bucket_parameters(made)) == made


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"width": 0}, "width must be"),
        ({"width": -1}, "width must be"),
        ({"width": float("inf")}, "width must be finite"),
        ({"width": "nan"}, "width must be finite"),
        ({"width": 5, "relative": "0.1"}, "width and relative exclude"),
        ({"width": 5, "edges": [0, 1]}, "width and edges exclude"),
        ({"relative": 0}, "relative must be"),
        ({"relative": 1}, "relative must be"),
        ({"bounds": (120, 0)}, "reversed bounds"),
        ({"bounds": (5, 5)}, "equal bounds"),
        ({"bounds": (0, 1, 2)}, "pair"),
        ({"bounds": 5}, "pair"),
        ({"bounds": "05"}, "pair"),
        ({"bounds": (0, float("nan"))}, "bounds must be finite"),
        ({"edges": [0]}, "edges must be 2"),
        ({"edges": [0, 2, 1]}, "ascending"),
        ({"edges": [0, 1, 1]}, "ascending"),
        ({"edges": [0, 1], "bounds": (0, 1)}, "edges and bounds exclude"),
        ({"outside": "keep"}, "outside must be"),
        ({"width": "1e-290", "bounds": (0, 1)}, "width is too small"),
        ({"edges": list(range(2000))}, "edges must be 2 to"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words) as refusal:
        make_buckets("number", **parameters)  # type: ignore[arg-type]
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        ("integer", {"width": "2.5"}, "whole number on a column of integers"),
        ("integer", {"edges": [0, 1.5]}, "whole numbers"),
        ("integer", {"bounds": ("0.1", "0.9")}, "at least one integer"),
        ("date", {"width": "0.5"}, "whole number on a column of days"),
        ("date", {"relative": "0.1"}, "relative needs"),
        ("date", {"bounds": (0, 5)}, "dates such as"),
        ("date", {"bounds": ("2020-13-01", "2021-01-01")}, "dates such as"),
        ("text", {"width": 5}, "width needs"),
        ("text", {"bounds": (0, 5)}, "bounds needs"),
        ("boolean", {"edges": [0, 5]}, "edges needs"),
    ],
)
def test_parameters_must_fit_the_kind(kind: str, parameters: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_buckets(kind, **parameters)  # type: ignore[arg-type]


def test_centres_of_doubles_are_correctly_rounded() -> None:
    buckets = make_buckets("number", width="0.1", bounds=("0.05", "1.02"))
    assert isinstance(buckets, Width)
    index = np.arange(buckets.count)
    exact = [float(sum(buckets._span(i)) / 2) for i in index.tolist()]
    assert buckets.centres(index).tolist() == exact
    assert exact[0] == 0.1


def test_classes_are_the_documented_ones() -> None:
    assert isinstance(make_buckets("number"), Exact)
    assert isinstance(make_buckets("number", edges=[0, 1]), Edges)


def test_moments_are_bounded_up_to_and_without_the_upper_one() -> None:
    """Two days in buckets of a day are two: midnight at their end belongs to neither."""
    bounds = ("2024-03-01", "2024-03-03")
    start = int((dt.datetime(2024, 3, 1) - dt.datetime(1970, 1, 1)) / dt.timedelta(microseconds=1))
    day = 86_400 * 10**6
    datetimes = np.array([start - 1, start, start + day - 1, start + day, start + 2 * day - 1, start + 2 * day])
    for width in ("1 day", dt.timedelta(days=1)):
        clamped = make_buckets("datetime", width=width, bounds=bounds)
        assert clamped.count == 2 and clamped.locate(datetimes).tolist() == [0, 0, 0, 1, 1, 1]
        dropped = make_buckets("datetime", width=width, bounds=bounds, outside="drop")
        assert dropped.count == 2 and dropped.locate(datetimes).tolist() == [0, 0, 1, 1]
    assert (
        make_buckets("datetime", bounds=bounds, outside="drop").locate(datetimes).tolist() == datetimes[1:-1].tolist()
    )


def test_bounds_so_far_out_that_doubles_skip_buckets_are_refused() -> None:
    """From 2^51 widths on, half a bucket is no longer told apart: the centres would be wrong."""
    for bounds in ((2**60, 2**60 + 10), (-(2**60) - 10, -(2**60)), (0, 2**52)):
        with pytest.raises(InputError, match="width is too small for these bounds"):
            make_buckets("number", width=1, bounds=bounds)
    assert make_buckets("number", width=2**10, bounds=(2**60, 2**60 + 2**11)).count == 2
    assert make_buckets("integer", width=1, bounds=(2**60, 2**60 + 10)).count == 11
