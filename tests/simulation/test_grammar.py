"""One grammar of laws: the same text means the same law to ``plan --simulate`` and to ``compare --law``."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from flexdp import InputError
from flexdp.simulation import OF_HEIGHTS, OF_VALUES, Sampled, parse_distribution, parse_law, stream

BARS, RECORDS = 60, 40_000
SAME = [
    ("normal:30,8", "normal:mean=30,sd=8", "normal:sd=8,mean=30", "normal: 30 , 8"),
    ("cauchy:20,3", "cauchy:median=20,scale=3"),
    ("lognormal:3,0.5", "lognormal:mu=3,sigma=1/2"),
    ("uniform:5,25", "uniform:low=5,high=25"),
    ("zipf:1.5,60", "zipf:exponent=1.5,values=60"),
    ("poisson:250", "poisson:mean=250"),
    ("steps:540x50,490x50", "steps: 540x50 , 490x50"),
]
LAWS = [
    "normal", "normal:30,8", "normal:sd=4", "cauchy", "cauchy:20,3", "cauchy:scale=9", "lognormal", "lognormal:3,0.5",
    "lognormal:median=12,sigma=0.7", "uniform", "uniform:5,25", "uniform:high=40", "zipf:1.5,60", "zipf:values=60",
    "zipf:exponent=0.5,values=60",
]  # fmt: skip


@pytest.mark.parametrize("texts", SAME, ids=lambda texts: texts[0])
def test_arguments_in_order_and_by_name_are_the_same_law(texts: tuple[str, ...]) -> None:
    assert len({str(parse_law(text)) for text in texts}) == 1 == len({parse_law(text) for text in texts})


@pytest.mark.parametrize("text", LAWS)
def test_what_is_drawn_follows_what_is_planned_with(text: str) -> None:
    """The empirical distribution of draws against the distribution function, by DKW at 1e-8."""
    law, planned = parse_law(text, records=RECORDS, bars=BARS), _planned(text)
    counts = law.counts(stream(5, text))
    edges = np.arange(BARS + 1, dtype=np.float64)
    wanted = planned(edges) - planned(np.zeros(1))
    found = np.concatenate(([0], np.cumsum(counts))) / RECORDS
    allowed = 2 * math.sqrt(math.log(2 / 1e-8) / (2 * RECORDS))  # a difference of two empirical probabilities
    assert np.abs(found - wanted).max() < allowed, f"{text} is drawn from another law than it is planned with"


@pytest.mark.parametrize("text", ["normal:30,8", "cauchy:20,3", "lognormal:3,0.5", "uniform:5,25", "zipf:1.5,60"])
def test_the_comparison_notices_another_law(text: str) -> None:
    counts = parse_law(text, records=RECORDS, bars=BARS).counts(stream(5, text))
    planned = _planned("uniform")
    wanted = planned(np.arange(BARS + 1, dtype=np.float64))
    found = np.concatenate(([0], np.cumsum(counts))) / RECORDS
    assert np.abs(found - wanted).max() > 2 * math.sqrt(math.log(2 / 1e-8) / (2 * RECORDS))


def _planned(text: str) -> Any:
    return parse_distribution(text, low=Fraction(0), span=Fraction(BARS), buckets=BARS).below


def test_every_law_of_values_can_be_drawn_and_planned_with() -> None:
    for family in OF_VALUES:
        text = f"{family}:values=9" if family == "zipf" else family
        assert isinstance(parse_law(text), Sampled)
        assert parse_distribution(text, low=Fraction(0), span=Fraction(9), buckets=9).text.startswith("a ")
    for family in OF_HEIGHTS:
        with pytest.raises(InputError, match="heights of buckets, not values"):
            parse_distribution(f"{family}:5", low=Fraction(0), span=Fraction(9), buckets=9)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("noraml:1,2", "no distribution named 'noraml'. Did you mean normal?"),
        ("weibull", "no distribution named 'weibull'. Choose one of cauchy, normal"),
        ("", "no distribution named ''"),
        (7, "must be a string, for example 'normal:50,10'; got 7"),
        ("normal:5", "normal takes mean and sd; got 1 number. For example normal:50,15."),
        ("normal:1,2,3", "got 3 numbers"),
        ("normal:mean=1,2", "takes mean and sd, each once; got '2'"),
        ("normal:mean=1,mean=2", "each once"),
        ("normal:mu=1", "takes mean and sd"),
        ("normal:a,1", "normal mean must be a number; got 'a'"),
        ("normal:1,0", "normal sd must be positive"),
        ("normal:1e101,1", "at most 1e100 in size"),
        ("lognormal:mu=1,median=2", "either mu or median"),
        ("lognormal:median=0", "median must be positive"),
        ("steps:540", "must be written height x width; got '540'"),
        ("steps:5x0", "must be written height x width"),
    ],
)
def test_a_law_that_is_none_is_told_in_parts(text: object, told: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_law(text)  # type: ignore[arg-type]
    assert caught.value.parameter == "law" and told in str(caught.value)


@pytest.mark.parametrize("text", ["uniform:9,9", "uniform:low=200", "zipf:1.5,0", "zipf:1.5,2.5", "zipf:1.5,1e9"])
def test_arguments_that_contradict_each_other(text: str) -> None:
    with pytest.raises(InputError, match=r"low below high|whole number from 1 to"):
        parse_law(text)
    with pytest.raises(InputError, match=r"low below high|whole number from 1 to"):
        parse_distribution(text, low=Fraction(0), span=Fraction(100), buckets=100)
