"""Quantiles inside buckets, against slow references, every possible loss, and expectations in exact fractions."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from _support.published import published
from hypothesis import example, given, settings
from hypothesis import strategies as st

import flexdp
from flexdp._release.interpolation import Profile, Stretch, on_line, stretch_of
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.buckets.parse import make_buckets
from flexdp.histogram import KeyedHistogram
from flexdp.noise import DropNoise

NOISE = DropNoise(1, "1e-6")
LEVELS = [Fraction(level) for level in ("0", "0.01", "0.1", "0.25", "0.5", "0.75", "0.9", "0.99", "1")]
OPEN: dict[str, dict[str, Any]] = {
    "numbers": {"kind": "number", "edges": ["-15", "0", ">0", "5", "20", "100"], "open": True},
    "integers": {"kind": "integer", "edges": ["-15", "0", "1", "5", "20", "100"], "open": True},
    "dates": {"kind": "date", "edges": ["2023-01-01", "2023-01-02", "2023-03-01", "2024-01-01"], "open": True},
    "one edge": {"kind": "number", "edges": ["10"], "open": True},
    "single": {"kind": "number", "edges": ["7", ">7"], "open": True},
}
CLOSED: dict[str, dict[str, Any]] = {
    "width": {"kind": "number", "width": "2.5"},
    "bounded": {"kind": "number", "width": "0.3", "bounds": ("-1", "2")},
    "integer": {"kind": "integer", "width": 7},
    "large": {"kind": "integer", "width": 12345, "bounds": (0, 200000)},
    "edges": {"kind": "number", "edges": ["0", "1", "10", "100"]},
    "relative": {"kind": "number", "relative": "0.1", "bounds": ("-50", "2000")},
    "relative integers": {"kind": "integer", "relative": "0.2", "bounds": ("-50", "2000")},
    "weeks": {"kind": "date", "width": "1 week"},
    "months": {"kind": "date", "width": "1 month"},
    "hours": {"kind": "datetime", "width": "1 hour"},
}


def released(y: dict[int, int], epsilon: Any = 1, **parameters: Any) -> flexdp.Release:
    """A release of given bars."""
    kind = parameters.pop("kind", "number")
    spec = Spec(columns=("x",), partitions=(make_buckets(kind, **parameters),))
    return flexdp.Release(spec=spec, budget=Budget(epsilon, "1e-6"), cells=KeyedHistogram([list(y)], list(y.values())))


def bars(buckets: Any, heights: list[int]) -> dict[int, int]:
    return {buckets.first + place: height for place, height in enumerate(heights) if height}


def slow(stretches: list[tuple[Fraction, Fraction]], masses: list[Fraction], level: Fraction) -> Fraction:
    """The place below which a share of the records lies: the distribution function inverted piece by piece."""
    total, seen = sum(masses), Fraction(0)
    for (low, high), mass in zip(stretches, masses, strict=True):
        if seen + mass >= level * total:
            return low + (high - low) * (level * total - seen) / mass
        seen += mass
    raise AssertionError("no records")


heights = st.lists(st.integers(0, 400), min_size=2, max_size=7).filter(any)
levels = st.fractions(0, 1, max_denominator=1000)


@settings(max_examples=40, deadline=None)
@given(shape=st.sampled_from(sorted(CLOSED)), counts=heights, level=levels)
@example(shape="width", counts=[1, 1], level=Fraction(1, 2))
def test_the_interpolation_is_that_of_a_slow_reference(shape: str, counts: list[int], level: Fraction) -> None:
    """Found by its own walk, in fractions; a value is rounded to at most a hundredth of its bucket, or one unit."""
    buckets = make_buckets(**CLOSED[shape])
    there = bars(buckets, counts[: buckets.count or len(counts)])
    if not there:
        return
    index = np.array(list(there))
    profile = Profile(buckets, index, np.array(list(there.values())), NOISE.mean_drop())
    found = profile.quantile(level)
    spots = [stretch_of(buckets, each) for each in there]
    pairs = [(spot.low, spot.high) for spot in spots if spot.low is not None and spot.high is not None]
    place = slow(pairs, [height + NOISE.mean_drop() for height in there.values()], level)
    low, high = pairs[found.place]
    value = on_line(found.value)
    assert low <= value <= high
    if buckets.count is not None and index[found.place] in (buckets.first, buckets.first + buckets.count - 1):
        return  # thins out, as tested below
    if buckets.kind == "number":
        assert abs(value - place) <= (high - low) / 100
        return
    cell = max(low, math.ceil(place) - 1)  # the integer whose stretch holds the place
    assert abs(value - cell) <= max((high - low) / 100, 0) and value.denominator == 1 and value < high
    if high - low <= 100 and buckets.kind != "datetime":
        assert value == cell


@pytest.mark.parametrize("fault", [Fraction(0), Fraction(27)])
def test_a_wrong_correction_is_noticed(fault: Fraction) -> None:
    """The control of the reference: nothing added, or the most that a bucket loses."""
    buckets = make_buckets("number", width=10)
    args = (buckets, np.array([0, 1, 2]), np.array([500, 40, 3]))
    place = slow([(Fraction(10 * i), Fraction(10 * i + 10)) for i in range(3)],
                 [c + NOISE.mean_drop() for c in (500, 40, 3)], Fraction(95, 100))  # fmt: skip
    assert abs(on_line(Profile(*args, NOISE.mean_drop()).quantile(Fraction(95, 100)).value) - place) <= Fraction(1, 10)
    assert abs(on_line(Profile(*args, fault).quantile(Fraction(95, 100)).value) - place) > 1


@pytest.mark.parametrize("level", [Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
def test_integers_are_counted_off_one_by_one(level: Fraction) -> None:
    """Bars of 11 + 10 and 2 + 10 records in buckets of 3 integers: 7 records an integer, then 4."""
    buckets = make_buckets("integer", width=3)
    records = [value for value in (0, 1, 2) for _ in range(7)] + [value for value in (3, 4, 5) for _ in range(4)]
    found = Profile(buckets, np.array([0, 1]), np.array([11, 2]), Fraction(10)).quantile(level).value
    assert found == records[max(1, math.ceil(level * len(records))) - 1]


@settings(max_examples=60, deadline=None)
@given(
    shape=st.sampled_from([*sorted(CLOSED), *sorted(OPEN)]),
    counts=heights,
    asked=st.lists(levels, min_size=2, max_size=6).map(sorted),
)
def test_quantiles_rise_with_their_level_and_stay_in_the_sure_interval(
    shape: str, counts: list[int], asked: list[Fraction]
) -> None:
    parameters = (CLOSED | OPEN)[shape]
    buckets = make_buckets(**parameters)
    there = bars(buckets, counts[: buckets.count or len(counts)])
    if not there:
        return
    answers = [released(there, **parameters).quantile(level) for level in asked]
    places = [on_line(answer.value) for answer in answers]
    assert all(before <= after for before, after in pairwise(places))
    for answer, place in zip(answers, places, strict=True):
        assert (answer.interval is None) == (buckets.count is None)
        if answer.interval is not None:
            low, high = (end if isinstance(end, float) and math.isinf(end) else on_line(end) for end in answer.interval)
            assert low <= place <= high, str(answer)


def bucket_of(counts: list[int], level: Fraction) -> int:
    """The bucket of a quantile, counted off record by record."""
    wanted, seen = max(1, math.ceil(level * sum(counts))), 0
    for place, count in enumerate(counts):
        seen += count
        if seen >= wanted:
            return place
    raise AssertionError("no records")


def missed(y: tuple[int, ...], level: Fraction, interval: tuple[Any, Any], drop: int, buckets: Any) -> int:
    """How many data sets that could have given the release have their quantile outside an interval."""
    outside = 0
    for lost in product(range(drop + 1), repeat=len(y)):
        truth = [count + more for count, more in zip(y, lost, strict=True)]
        low, high = buckets.edges_of(np.array([bucket_of(truth, level)]))[0]
        outside += not (interval[0] <= low and high <= interval[1])
    return outside


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("y", [(0, 0, 5, 0), (0, 2, 0, 3), (1, 0, 0, 0), (4, 4, 4, 4), (0, 9, 0, 1)])
@pytest.mark.parametrize("kind", ["number", "integer"])
def test_sure_intervals_with_open_ends_hold_for_every_loss(kind: str, y: tuple[int, ...], level: Fraction) -> None:
    edges = ["0", ">0", "10"] if kind == "number" else ["0", "1", "10"]
    made = released(bars(make_buckets(kind, edges=edges, open=True), list(y)), 20, kind=kind, edges=edges, open=True)
    buckets, drop = make_buckets(kind, edges=edges, open=True), made.max_drop
    assert drop >= 1
    answer = made.quantile(level)
    assert answer.interval is not None
    assert missed(y, level, answer.interval, drop, buckets) == 0
    assert "to within" not in str(answer) and (answer.accuracy is None or math.isfinite(answer.accuracy.beta))


def test_an_interval_without_the_losses_is_noticed() -> None:
    """The control of the enumeration: the bucket of the released quantile alone."""
    buckets = make_buckets("number", edges=["0", ">0", "10"], open=True)
    y, drop = (0, 2, 0, 3), released({1: 2, 3: 3}, 20, edges=["0", ">0", "10"], open=True).max_drop
    narrow = buckets.edges_of(np.array([bucket_of(list(y), Fraction(1, 2))]))[0]
    assert missed(y, Fraction(1, 2), narrow, drop, buckets) > 0


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.5", "1e-4"), ("3", "1e-9"), ("0.7", "1/1000")])
def test_corrected_counts_are_unbiased_from_q_records_on(epsilon: str, delta: str) -> None:
    """Exact expectations over the table: the truth from q records on; too high for smaller ones that survived."""
    noise = DropNoise(epsilon, delta)
    whole, mean = 1 << noise.bits, noise.mean_drop()

    def expected(height: int) -> Fraction:
        seen = [(max(0, height - j), weight) for j, weight in enumerate(noise.weights)]
        return sum((y + mean) * weight for y, weight in seen if y) / Fraction(whole)

    def given_that_it_survived(height: int) -> Fraction:
        return expected(height) / noise.survival(height)

    assert all(expected(height) == height for height in (noise.q, noise.q + 1, 10 * noise.q))
    assert all(given_that_it_survived(height) > height for height in range(1, noise.q))
    assert expected(noise.q - 1) < noise.q - 1, "one that may vanish is not unbiased: the control"


def test_cells_of_groups_are_corrected_one_by_one() -> None:
    """Three groups, two of them in the first bucket: their count is corrected twice, not once or three times."""
    spec = Spec(columns=("x",), partitions=(make_buckets("number", width=10),), by=("g",), by_kinds=("text",))
    cells = KeyedHistogram([["a", "b", "c"], [0, 0, 1]], [100, 50, 90])
    made = flexdp.Release(spec=spec, budget=Budget(1, "1e-6"), cells=cells)
    mean = NOISE.mean_drop()
    first, second = 150 + 2 * mean, 90 + mean
    place = slow([(Fraction(0), Fraction(10)), (Fraction(10), Fraction(20))], [first, second], Fraction(1, 2))
    assert abs(on_line(made.median().value) - place) <= Fraction(1, 10)
    alone = made.by_group()["a"].median().value
    assert alone == 5.0


def test_an_open_end_continues_the_density_of_its_neighbour() -> None:
    """Of 300 + 13.5 records beyond 20, and as many in 10–20: the scale is 10, and half lies below 20 + 10·ln 2."""
    made = released({1: 286, 2: 286, 3: 286}, edges=["0", "10", "20"], open=True)
    mean = NOISE.mean_drop()
    assert Profile(made.spec.partitions[0], np.array([1, 2, 3]), np.array([286] * 3), mean).scale(2) == 10
    for level, share in ((Fraction(5, 6), 0.5), (Fraction(29, 30), 0.1)):
        estimate = made._reader.profile.quantile(level).value
        assert estimate == pytest.approx(20 - 10 * math.log(share), abs=0.06), "where its records are thought to be"
        assert made.quantile(level).value == 20.0 and made.quantile(level).text.endswith("20 or more"), "what is said"
    top = made._reader.profile.quantile(Fraction(1)).value
    assert top == pytest.approx(20 + 10 * math.log(2 * float(286 + mean)), abs=0.06), "half a record is beyond it"
    thin, thick = (
        Profile(made.spec.partitions[0], np.array([2, 3]), np.array(counts), mean).scale(1)
        for counts in ([100_000, 1], [1, 100_000])
    )
    assert (thin, thick) == (Fraction(1, 2), 200), "between a twentieth and twenty widths"


@pytest.mark.parametrize("mean", [20.0, 30.0, 90.0])
@pytest.mark.parametrize("widths", [(10, 10), (5, 10), (10, 5)])
def test_the_open_end_of_an_exponential_law_has_its_scale(mean: float, widths: tuple[int, int]) -> None:
    """The density at the edge, continued from the two buckets before it, is that of the law."""
    edges = [100 - sum(widths), 100 - widths[0], 100]
    beyond = [10**6 * math.exp(-(edge - edges[0]) / mean) for edge in edges]
    counts = np.array([round(beyond[0] - beyond[1]), round(beyond[1] - beyond[2]), round(beyond[2])])
    buckets = make_buckets("integer", edges=edges, open=True)
    scale = Profile(buckets, np.array([1, 2, 3]), counts, Fraction(0)).scale(2)
    assert float(scale) == pytest.approx(mean, rel=0.02)
    alone = int(counts[2]) * widths[0] / int(counts[1])
    assert alone != pytest.approx(mean, rel=0.02), "the control: the neighbour's own density"


@pytest.mark.parametrize("level", ["0.95", "0.97", "0.99", "0.999"])
@pytest.mark.parametrize("last", [40, 200, 800])
def test_the_last_closed_bucket_thins_out_from_the_density_at_its_edge(level: str, last: int) -> None:
    """A thousand numbers a unit up to 20; beyond, as many as fit under a falling exponential, integrated in steps."""
    edges = [0, 10, 20, 20 + last]
    beyond = 4000
    profile = Profile(
        make_buckets("number", edges=edges), np.arange(3), np.array([10_000, 10_000, beyond]), Fraction(0)
    )
    rates = np.geomspace(1e-6, 10, 200_001)  # the rate at which the mass below the curve is what is there
    rate = rates[np.argmin(np.abs(1000 * (1 - np.exp(-rates * last)) / rates - beyond))]
    steps = np.linspace(0, last, 400_001)
    density = 1000 * np.exp(-rate * steps)
    mass = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(steps))])
    wanted = float(level) * (20_000 + beyond) - 20_000
    expected = 20 + steps[min(int(np.searchsorted(mass, wanted)), len(steps) - 1)]
    assert profile.quantile(Fraction(level)).value == pytest.approx(expected, abs=last / 150)
    evenly = 20 + last * wanted / beyond
    assert last == 40 or abs(evenly - expected) > last / 20, "the control: evenly"


def test_a_last_bucket_far_wider_than_its_neighbour_is_read_to_its_end() -> None:
    """Proton masses and a number of everyday size: e^−steepness is 0 even in decimals, and reading raised an error."""
    tiny = ["1.6e-27", "1.7e-27", "1.8e-27"]
    above = Profile(make_buckets("number", edges=[*tiny, "4"]), np.arange(3), np.array([900, 900, 50]), Fraction(0))
    assert above.quantile(Fraction(1)).value == 4.0 and above.quantile(Fraction("0.99")).value < 1e-26
    below = Profile(make_buckets("number", edges=["-4", *tiny]), np.arange(3), np.array([50, 900, 900]), Fraction(0))
    assert below.quantile(Fraction(0)).value == -4.0


def test_end_buckets_as_full_as_their_neighbours_are_even() -> None:
    made = released({0: 500, 1: 500, 2: 500}, edges=[0, 10, 20, 30], outside="drop")
    assert made.quantile(Fraction(11, 12)).value == 27.5 and made.quantile(Fraction(1, 12)).value == 2.5
    full = released({0: 500, 1: 500, 2: 5000}, edges=[0, 10, 20, 30], outside="drop")
    assert full.quantile("0.9").value == pytest.approx(30 - 10 * 0.1 * (6000 + 3 * 13.5) / 5013.5, abs=0.06)
    thin = released({0: 60, 1: 5000, 2: 5000}, edges=[-1000, 0, 10, 20], outside="drop")
    assert -20 < thin.quantile("0.001").value < 0, "mirrored at the lower end"
    one = released({0: 500}, edges=[0, 10], outside="drop")
    assert one.median().value == 5.0


def test_the_lower_end_mirrors_the_upper_one() -> None:
    up = released({1: 400, 2: 120}, edges=["0", "10"], open=True)
    down = released({0: 120, 1: 400}, edges=["-10", "0"], open=True)
    for level in (Fraction(9, 10), Fraction(99, 100), Fraction(1)):
        above, below = up._reader.profile.quantile(level).value, down._reader.profile.quantile(1 - level).value
        assert above == pytest.approx(-below, abs=0.1)
        assert up.quantile(level).value == -down.quantile(1 - level).value


def test_single_values_are_jumps_and_are_not_continued() -> None:
    """60% at 0; the open end continues the nearest bucket of several values, not the single one."""
    made = released({1: 6000, 2: 2000, 3: 900}, edges=["0", ">0", "10"], open=True)
    assert [made.quantile(level).value for level in ("0.01", "0.3", "0.6")] == [0.0, 0.0, 0.0]
    assert str(made.median()) == "Median x: 0. This is certain."
    buckets = make_buckets("integer", edges=[0, 10, 11], open=True)  # …, 0–9, exactly 10, 11 or more
    mean = NOISE.mean_drop()
    profile = Profile(buckets, np.array([1, 2, 3]), np.array([1000, 9000, 100]), mean)
    assert profile.scale(2) == (100 + mean) * 10 / (1000 + mean)
    alone = Profile(make_buckets("number", edges=["7", ">7"], open=True), np.array([1, 2]), np.array([500, 60]), mean)
    assert alone.scale(1) == 0 and alone.quantile(Fraction(1)).value == 7.0, "no neighbour: the edge"


def test_an_estimate_outside_the_bucket_of_the_rest_says_of_what_each_speaks() -> None:
    made = released({0: 1000, 1: 5, 2: 5, 3: 5, 4: 5}, kind="number", width=10)
    last = made.quantile("0.97")
    assert last.value > 20 and made.partition.locate(np.array([last.value]))[0] > 1
    assert str(last) == (
        f"97th percentile of x: {last.text}. This is an estimate for all records. At most {NOISE.max_drop} records per "
        "bucket were left out; among the rest alone the exact 97th percentile lies in 0–10."
    )
    assert str(made.median()).endswith(" were left out; among the rest it lies in 0–10.")


def test_thin_wide_buckets_beside_open_ends_are_filled_from_the_inside() -> None:
    """Few records between 1002 and a billion lie near 1002, for quantiles and means: that edge was drawn too far."""
    heights = {1: 3000, 2: 4000, 3: 3000, 4: 150}
    right = released(heights, edges=["998", "999", "1001", "1002", "1e9"], open=True)
    mirrored = {5 - each: count for each, count in heights.items()}
    left = released(mirrored, edges=["-1e9", "998", "999", "1001", "1002"], open=True)
    assert right.quantile("0.995").value < 1003 and right.mean().value == pytest.approx(1000, abs=0.2)
    assert left.quantile("0.005").value > 997 and left.mean().value == pytest.approx(1000, abs=0.2)
    assert right.std().text.startswith("about 1.") and right.mean().text == "about 1000"


@pytest.mark.parametrize(
    ("edges", "counts", "end"), [((0, 1, 2, 10**9), (1000, 5000, 30), 1), ((-(10**9), 1, 2, 3), (30, 5000, 300), 0)]
)
def test_the_end_of_a_bucket_that_thins_out_at_once_is_its_edge(
    edges: tuple[int, ...], counts: tuple[int, ...], end: int
) -> None:
    """The logarithm of what is left of 1 after a power of e that is 0 in all digits ended a paid release."""
    released = published({(place,): count for place, count in enumerate(counts)}, edges=edges, outside="drop")
    assert released.quantile(end).value == edges[-1 if end else 0]


def test_sentences_of_open_ends_promise_no_end() -> None:
    made = released({0: 60, 1: 900, 2: 900, 3: 80}, edges=["-15", "0", "285"], open=True)
    assert str(made.max()) == "Highest x: 285 or more. This is certain; the highest value is not known."
    assert str(made.min()) == "Lowest x: below -15. This is certain; the lowest value is not known."
    assert str(made.range()) == "Range of x: 300 or more. This is certain; its upper end is not known."
    last = made.quantile("0.999")
    assert last.interval == (285.0, math.inf) and last.accuracy is None
    assert str(last).endswith(" The exact 99.9th percentile is guaranteed to be at least 285.")
    assert str(made.median()).endswith(" The exact median is guaranteed to lie between -15 and 285.")
    whole = released({0: 500}, edges=[], open=True)
    assert [str(each) for each in (whole.median(), whole.max())] == [
        f"{name} x: any value. One bucket holds everything, so nothing else is known." for name in ("Median", "Highest")
    ]
    assert whole.median().value is None
    nobody = made.max_at_least(5000)
    assert nobody.text == "none" and str(nobody).endswith(f": none. No bucket has more than {900 + NOISE.max_drop}.")
    days = released({0: 60, 1: 900, 2: 80}, kind="date", edges=["2024-01-01", "2024-03-01"], open=True)
    assert str(days.max()) == "Latest x: 2024-03-01 or later. This is certain; the latest value is not known."
    assert str(days.min()) == "Earliest x: before 2024-01-01. This is certain; the earliest value is not known."
    times = released({0: 60, 1: 900, 2: 80}, kind="datetime", edges=["2024-01-01", "2024-03-01"], open=True)
    assert str(times.max()).endswith(" This is certain; the latest value is not known.")
    assert days.quantile("0.999").value == dt.date(2024, 3, 1)
    assert days.quantile("0.999").text == "2024-03-01 or later"
    years = released({0: 900, 1: 900, 2: 900}, kind="date", edges=["2020-01-01", "2024-03-01"], open=True)
    assert years.range().text == "1 522 days or more"


@pytest.mark.parametrize("y", [(0, 5, 3, 0), (2, 2, 2, 2), (1, 0, 9, 1), (0, 9, 0, 0)])
def test_interquartile_ranges_hold_for_every_loss(y: tuple[int, ...]) -> None:
    """Every data set that could have given the release, its records at either end of their buckets."""
    edges = [0, 1, 10, 20, 50]
    made = released({place: count for place, count in enumerate(y) if count}, 20, edges=edges, outside="drop")
    answer, seen = made.iqr(), []
    for lost in product(range(made.max_drop + 1), repeat=4):
        truth = [count + more for count, more in zip(y, lost, strict=True)]
        low, high = (bucket_of(truth, level) for level in (Fraction(1, 4), Fraction(3, 4)))
        seen += [max(0, edges[high] - edges[low + 1]), edges[high + 1] - edges[low]]
    assert answer.interval is not None and answer.interval[0] <= min(seen) and max(seen) <= answer.interval[1]
    assert answer.interval[0] <= answer.value <= answer.interval[1]
    first, third = made.quantile("0.25"), made.quantile("0.75")
    assert answer.value == pytest.approx(third.value - first.value) and answer.text.startswith("about ")
    assert f"percentile, {first.text} and {third.text}." in str(answer)


def test_quantiles_at_an_end_of_a_relative_bucket_have_few_digits() -> None:
    assert released({3620: 900, 3621: 30}, relative="0.1").quantile("0.96").text == "about 1168.47"


def test_an_interquartile_range_may_be_certain() -> None:
    whole = released({1: 900, 2: 900}, kind="integer", edges=["0", "1", "2"], open=True).iqr()
    assert whole.text == "1" and str(whole).endswith(" This is certain.")


def test_interquartile_ranges_of_times_and_open_ends() -> None:
    days = released({1: 900, 2: 900}, kind="date", edges=["2024-01-01", "2024-02-01", "2024-03-01"], open=True)
    assert isinstance(days.iqr().value, dt.timedelta) and " days." in str(days.iqr())
    times = released({1: 900, 2: 900}, kind="datetime", edges=["2024-01-01", "2024-02-01", "2024-03-01"], open=True)
    assert times.iqr().text == "about 29 days"
    assert str(times.iqr()).endswith(" is guaranteed to lie between 0 days and 60 days.")
    tails = released({0: 900, 1: 900}, edges=["0"], open=True).iqr()
    assert tails.interval == (0.0, math.inf) and "guaranteed" not in str(tails)
    assert released({0: 900}, edges=[], open=True).iqr().text == "any value"
    with pytest.raises(flexdp.InputError, match="needs a column of numbers or dates; this one is"):
        flexdp.release(["a"] * 99, kind="text", epsilon=1, delta=1e-6).iqr()


def test_stretches() -> None:
    assert stretch_of(make_buckets("integer", relative="0.2"), 1) is not None
    negative, positive = (stretch_of(make_buckets("integer", relative="0.2"), index) for index in (-1780, 1780))
    assert negative.width == positive.width and negative.low == 1 - (positive.high or 0)
    assert stretch_of(make_buckets("number", edges=["0", ">0"], open=True), 1) == Stretch(Fraction(0), Fraction(0))
    assert stretch_of(make_buckets("date", width="1 month"), 2024 * 12).width == 31
