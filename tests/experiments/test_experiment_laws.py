"""The laws of simulated data and the six experiments: against loops written out, analytic chances, and the paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp import InputError
from flexdp.experiments import EPSILONS, EXPERIMENTS, DataLaw, PoissonBars, Sampled, StepNoise, Steps, parse_law
from flexdp.experiments.paper import ALPHA, DELTA, choose_experiments
from flexdp.simulation import stream
from flexdp.statistics import Max, MaxAtLeast, Mode

TEXTS = ["cauchy:45,4", "normal:50,10", "lognormal:3,0.5", "uniform:0,100", "zipf:1.5", "poisson:250", "steps:540x50"]


def test_the_six_experiments_are_the_papers() -> None:
    first, second, third, fourth, fifth, sixth = EXPERIMENTS.values()
    assert [each.statistic for each in EXPERIMENTS.values()] == [
        Max(), Max(), MaxAtLeast(500), MaxAtLeast(500), Mode(), Mode(),
    ]  # fmt: skip
    cauchy = Sampled(family="cauchy", parameters=(45, 4), records=10_000, bars=100)
    assert third.law == cauchy
    assert first.law == Sampled(family="cauchy", parameters=(45, 4), records=10_000, bars=100, emptied=10)
    assert (second.law, fourth.law) == (Steps(steps=((1000, 50), (1, 50))), Steps(steps=((540, 50), (490, 50))))
    assert fifth.law == PoissonBars(mean=250, bars=30)
    assert isinstance(sixth.law, Steps) and sixth.law.noise == StepNoise("uniform", 5)
    assert sixth.law.steps == ((130, 120), (200, 5), (185, 85), (190, 10), (130, 80))
    assert [each.law.bars for each in EXPERIMENTS.values()] == [100, 100, 100, 100, 30, 300]
    assert [float(e) for e in EPSILONS] == [0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1, 1.5, 2]
    assert DELTA * 2**20 == 1 and ALPHA * 200 == 1


@pytest.mark.parametrize("binning", ["floor", "nearest"])
def test_draws_are_binned_as_said(binning: str) -> None:
    law = Sampled(family="cauchy", parameters=(45.0, 4.0), records=3000, bars=60, binning=binning, emptied=3)  # type: ignore[arg-type]
    expected = [0] * 60
    for value in 45.0 + 4.0 * stream(3, "x").standard_cauchy(3000):
        place = math.floor(value) if binning == "floor" else round(value)
        if 0 <= place < 57:
            expected[place] += 1
    assert law.counts(stream(3, "x")).tolist() == expected
    assert sum(expected) < 3000, "some draws lie outside, and are discarded"


def test_cauchy_draws_follow_their_law() -> None:
    """Chances of bars by the arctangent; DKW at 1e-8, and a scale that is wrong by a quarter must be rejected."""
    records, edges = 200_000, np.arange(101)
    allowed = math.sqrt(math.log(2 / 1e-8) / (2 * records))

    def gap(scale: float) -> float:
        counts = parse_law(f"cauchy:45,{scale}", records=records).counts(stream(1, "cauchy"))
        below = np.arctan((edges - 45) / 4) / math.pi + 0.5
        found = np.concatenate(([0], np.cumsum(counts))) / records
        return float(np.abs((found - found[45]) - (below - below[45])).max())

    assert gap(4) < 2 * allowed  # a difference of two empirical chances
    assert gap(5) > 2 * allowed


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), min_size=1, max_size=4), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_noisy_steps_stay_within_their_spread(steps: list[tuple[int, int]], spread: int) -> None:
    law = Steps(steps=tuple(steps), noise=StepNoise("uniform", spread))
    flat = [height for height, width in steps for _ in range(width)]
    drawn = law.counts(stream(0, "s"))
    assert law.bars == len(flat) == len(drawn)
    assert all(max(0, height - spread) <= found <= height + spread for height, found in zip(flat, drawn, strict=True))
    assert Steps(steps=tuple(steps)).counts(stream(0, "s")).tolist() == flat


def test_uniform_step_noise_takes_every_value_alike() -> None:
    """11 000 bars, 1000 expected at each of eleven values: beyond ±210 with a chance under 1e-10 each."""
    drawn = Steps(steps=((50, 11_000),), noise=StepNoise("uniform", 5)).counts(stream(2, "s"))
    found = np.bincount(drawn - 45, minlength=11)
    assert len(found) == 11 and np.abs(found - 1000).max() < 210
    wrong = Steps(steps=((50, 11_000),), noise=StepNoise("uniform", 4)).counts(stream(2, "s"))
    assert np.abs(np.bincount(wrong - 45, minlength=11) - 1000).max() >= 210


@pytest.mark.parametrize("text", TEXTS)
def test_every_law_draws_a_row_of_bars(text: str) -> None:
    law = parse_law(text, records=500, bars=80)
    counts = law.counts(stream(0, text))
    assert isinstance(law, DataLaw) and counts.shape == (law.bars,) and counts.dtype == np.int64 and counts.min() >= 0
    assert str(law) == text
    if isinstance(law, Sampled):
        assert counts.sum() <= 500 and law.bars == 80


def test_the_first_rank_of_zipf_is_the_first_bar() -> None:
    counts = parse_law("zipf:3", records=5000, bars=10).counts(stream(0, "z"))
    assert abs(counts[0] / 5000 - 1 / 1.2020569) < 0.04  # 1/ζ(3); six standard deviations are 0.032


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("couchy:1,2", "Did you mean cauchy"),
        ("weibull:1", "Choose one of cauchy"),
        ("cauchy:45", "takes median and scale; got 1"),
        ("cauchy:45,0", "scale must be positive"),
        ("normal:a,1", "mean must be a number"),
        ("uniform:5,5", "low below high"),
        ("zipf:1", "exponent above 1"),
        ("poisson:", "needs a mean"),
        ("poisson:-3", "mean must be positive"),
        ("steps:540", "height x width"),
        ("steps:5x0", "height x width"),
    ],
)
def test_a_law_that_is_none(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_law(text)


@pytest.mark.parametrize("wrong", ["", "uniform:x", "uniform:0", "gauss"])
def test_a_step_noise_that_is_none(wrong: str) -> None:
    with pytest.raises(InputError, match="step_noise"):
        StepNoise.parse(wrong)


def test_experiments_are_chosen_in_order_and_once() -> None:
    assert [each.name for each in choose_experiments(["6", "1", "6"])] == ["1", "6"]
    assert len(choose_experiments(["all", "3"])) == 6
    for wrong, told in (("al", "Did you mean all"), ("12", "Did you mean"), ("x", "1 to 6")):
        with pytest.raises(InputError, match=told):
            choose_experiments([wrong])
    with pytest.raises(InputError, match="must be named"):
        choose_experiments([])
