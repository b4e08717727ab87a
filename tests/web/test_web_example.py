"""The example: the public flights, thinned by the real law at fixed numbers."""

from __future__ import annotations

from fractions import Fraction
from importlib.resources import files

import numpy as np
import pyarrow.parquet as pq
import pytest

from flexdp.noise import DropNoise
from flexdp.planning import plan
from flexdp.statistics import Max, Median, Min, Mode, Quantile, Range
from flexdp.web.example import _fixed, flights, records_of, simulate

LOSSES = ("0.05", "0.3", "1", "4", "10")


def delays() -> np.ndarray:
    column = pq.read_table(str(files("flexdp") / "data" / "flights.parquet"))["departure_delay"]
    return column.drop_null().to_numpy()


def test_the_flights_are_counted_as_they_are() -> None:
    values, public = delays(), flights()
    index, counts = np.unique((values + 60) // 15, return_counts=True)
    assert public.counts.tolist() == counts.tolist()
    assert public.centres.tolist() == (index * 15 - 60 + 7).tolist()
    assert public.spans == [(15.0 * i - 60, 15.0 * i - 45) for i in index.tolist()]
    assert public.exact.size == len(values)


@pytest.mark.parametrize("epsilon", LOSSES)
def test_each_bucket_loses_the_quantile_of_its_number(epsilon: str) -> None:
    """By a scan over the exact law: J is the first j whose cumulative probability exceeds the bucket's number."""
    example, noise = simulate(DropNoise(epsilon, "1e-6")), DropNoise(epsilon, "1e-6")
    for place, index in enumerate(flights().index.tolist()):
        level, passed, drop = Fraction(_fixed(index), 2**64), Fraction(0), 0
        while (passed := passed + Fraction(noise.weights[drop], 2**noise.bits)) <= level:
            drop += 1
        assert example.left[place] == max(0, flights().counts[place] - drop)


@pytest.mark.parametrize("epsilon", LOSSES)
def test_what_the_caption_says_is_so(epsilon: str) -> None:
    example = simulate(DropNoise(epsilon, "1e-6"))
    lost = flights().counts - example.left
    assert (lost >= 0).all() and (lost <= example.max_drop).all()
    assert (example.left[flights().counts > example.max_drop] > 0).all()
    assert example.lost == lost.sum() and example.vanished == (example.left == 0).sum()
    # Any flights of a bucket may be those that are left; so they lie within 7 minutes of its middle.
    kept = np.repeat(flights().centres, example.left)
    assert example.published(Max()) == kept.max() and example.published(Min()) == kept.min()
    assert example.published(Median()) == np.quantile(kept, 0.5, method="inverted_cdf")
    assert example.published(Range()) == kept.max() - kept.min()
    for value in (kept.max(), kept.min()):
        assert np.abs(delays() - value).min() <= 7 == flights().within


def test_the_truth_is_that_of_the_table() -> None:
    example, values = simulate(DropNoise(1, "1e-6")), delays()
    assert example.truth(Max()) == values.max() and example.truth(Min()) == values.min()
    assert example.truth(Quantile("0.99")) == np.quantile(values, 0.99, method="inverted_cdf")
    assert example.truth(Mode()) == -8


def test_nothing_flickers_and_nothing_is_left_where_nothing_can_be() -> None:
    again = [simulate(DropNoise(1, "1e-6")).left.tolist() for _ in range(2)]
    assert again[0] == again[1]
    everything = simulate(DropNoise("0.001", "1e-3"))
    assert everything.max_drop < flights().counts.max()
    bare = type(everything)(flights(), np.zeros_like(flights().counts), 1)
    assert bare.published(Max()) is None


def test_simulated_records_lie_in_the_buckets_of_the_plan() -> None:
    found = plan(epsilon=1, delta="1e-6", records_about=9000, bounds=(0, 90), width=10, simulate="uniform")
    data = records_of(found)
    assert data is not None and data.counts.tolist() == [1000] * 9
    assert data.spans == [(10.0 * i, 10.0 * i + 10) for i in range(9)]
    example = simulate(DropNoise(1, "1e-6"), data)
    lost = data.counts - example.left
    assert (lost >= 0).all() and (lost <= 27).all() and len(set(lost.tolist())) > 3
    assert example.truth(Max()) == example.published(Max()) == 85
    assert records_of(plan(epsilon=1, delta="1e-6", records_about=9000)) is None


def test_the_fixed_numbers_are_spread() -> None:
    numbers = np.sort([_fixed(index) / 2**64 for index in flights().index.tolist()])
    steps = np.arange(1, len(numbers) + 1) / len(numbers)
    assert np.abs(numbers - steps).max() < 0.2
