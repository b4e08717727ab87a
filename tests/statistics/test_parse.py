"""The names of statistics, parsed once for the command line and the planning page."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from flexdp import InputError
from flexdp.statistics import Max, MaxAtLeast, Median, Min, Mode, Quantile, Range, Support, Top
from flexdp.statistics.parse import EXAMPLES, parse_statistic
from flexdp.web.entries import STATISTICS


@pytest.mark.parametrize(
    ("word", "statistic"),
    [
        ("max", Max()),
        ("min", Min()),
        ("range", Range()),
        ("median", Median()),
        ("mode", Mode()),
        ("support", Support()),
        ("q0.99", Quantile("0.99")),
        ("q.5", Quantile("0.5")),
        ("q1/3", Quantile(Fraction(1, 3))),
        ("q0", Quantile(0)),
        ("max_at_least:500", MaxAtLeast(500)),
        ("top:10", Top(10)),
    ],
)
def test_every_word_names_its_statistic(word: str, statistic: Any) -> None:
    assert parse_statistic(word) == statistic


def test_every_example_and_every_statistic_of_the_page_can_be_parsed() -> None:
    for word in EXAMPLES:
        assert parse_statistic(word).name
    for word, (_, statistic) in STATISTICS.items():
        assert word == "counts" or parse_statistic(word) == statistic


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("q7", "stat: invalid statistic 'q7'. Write the 99th percentile as q0.99 or p99: "),
        ("p999", "stat: invalid statistic 'p999'. Write the 99th percentile as q0.99 or p99: "),
        ("units", "Did you mean count?"),
        ("rows", "Did you mean count?"),
        ("maxx", "stat: invalid statistic 'maxx'. Did you mean max?"),
        ("skewness", "stat: invalid statistic 'skewness'. Choose from max, "),
        ("average", "stat: invalid statistic 'average'. Did you mean mean?"),
        ("variance", "stat: invalid statistic 'variance'. Did you mean std?"),
        ("p101", "stat: invalid statistic 'p101'. "),
        ("p", "invalid statistic 'p'"),
        ("max,min", "Write stat=['max', 'min']."),
        ("max,\x1b", "Write stat=['max', 'median']."),
        ("top", "Did you mean top:10?"),
        ("top:0", "stat: invalid statistic 'top:0'. "),
        ("top:", "invalid statistic 'top:'"),
        ("max:3", "invalid statistic 'max:3'"),
        ("q", "invalid statistic 'q'"),
        ("", "invalid statistic ''"),
        ("x" * 500, "invalid statistic a long or unprintable text"),
        (None, "stat must be the name of a statistic"),
        (3, "stat must be the name of a statistic"),
    ],
)
def test_what_names_none_is_told_with_its_parameter(word: object, told: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_statistic(word, parameter="stat", also=["counts"])
    assert caught.value.parameter == "stat" and told in str(caught.value) and "\n" not in str(caught.value)


def test_a_single_statistic_is_not_told_to_be_a_list() -> None:
    with pytest.raises(InputError, match="Give one statistic at a time"):
        parse_statistic("max,min")


def test_words_of_the_caller_are_suggested_too() -> None:
    with pytest.raises(InputError, match="Did you mean counts"):
        parse_statistic("cuonts", also=["counts"])
