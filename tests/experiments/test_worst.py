"""The search for worst cases, against all histograms of a tiny case, and with planted faults that it must find."""

from __future__ import annotations

import csv
import io
import math
import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp import InputError
from flexdp.baselines import BASELINES, baseline, exact_errors, exact_law
from flexdp.baselines.laws import WholeBars, reading_law
from flexdp.experiments import WorstCase, WorstCases, search
from flexdp.experiments.climbing import all_histograms, start, step
from flexdp.experiments.worst import COLUMNS, LAWFUL, QUICK, csv_text
from flexdp.noise import DropNoise
from flexdp.statistics import Max, MaxAtLeast, Mode

EPSILON, DELTA = 2, Fraction(1, 10)
RECORDS, BARS = 14, 3
GAMMAS = (Fraction(0), Fraction(1, 20))
STATISTICS = [Max(), MaxAtLeast(3), Mode()]
TINY: dict[str, Any] = {
    "bars": [BARS], "records": RECORDS, "epsilon": EPSILON, "delta": DELTA, "gammas": GAMMAS,
}  # fmt: skip
ALL = math.comb(RECORDS + BARS - 1, BARS - 1)


def level_of(statistic: Any) -> int | None:
    return None if isinstance(statistic, Mode) else getattr(statistic, "count", 1)


def place_of(heights: tuple[int, ...], level: int | None) -> int:
    if level is None:
        return max(range(len(heights)), key=lambda i: (heights[i], -i))
    return max((i for i, height in enumerate(heights) if height >= level), default=0)


def brute_force(name: str, statistic: Any, gamma: Fraction) -> int:
    """Return the worst β over all histograms, with attainable sets from all ways to drop records."""
    level, worst = level_of(statistic), 0
    allowed = DropNoise(EPSILON, DELTA).max_drop * BARS
    for x in product(range(RECORDS + 1), repeat=BARS):
        if sum(x) != RECORDS:
            continue
        rests = product(*(range(height + 1) for height in x))
        right = {place_of(rest, level) for rest in rests if RECORDS - allowed <= sum(rest) and sum(rest)}
        law = exact_law(name, np.array(x), statistic, epsilon=EPSILON, delta=DELTA)
        gaps = [min(abs(i - place) for place in right) for i in range(BARS)]
        worst = max(
            worst, next(b for b in range(BARS) if sum(p for p, g in zip(law, gaps, strict=True) if g > b) <= gamma)
        )
    return worst


class Spoiled:
    """Dropping with a planted fault: every bucket loses ``more`` records than it should; −1 may add one."""

    name = "spoiled"
    citation = baseline("dropping").citation

    def __init__(self, more: int) -> None:
        self.more = more

    def claim(self, **_: Any) -> Any: ...

    def run(self, *_: Any, **__: Any) -> Any: ...

    def law(self, counts: Any, statistic: Any, *, epsilon: Any, delta: Any, empty: str, ties: str) -> Any:
        noise = DropNoise(epsilon, delta)
        fewer = np.concatenate(([0.0], np.cumsum(noise.pmf)[:-1], [1.0]))  # exactly 1, without rounding

        def exceeds(x: Any, h: Any) -> Any:
            return fewer[np.clip(x - h - self.more, 0, noise.q)]

        bars = WholeBars(
            exceeds=exceeds, at_most=lambda x, h: 1 - exceeds(x, h), low=-noise.q - 2, high=2
        )  # fmt: skip
        return reading_law(counts, level_of(statistic), bars, empty=empty, ties=ties)


def test_the_tiny_case_is_not_trivial() -> None:
    lost = DropNoise(EPSILON, DELTA).max_drop * BARS
    assert 3 <= lost < RECORDS


@pytest.mark.parametrize("name", LAWFUL)
@pytest.mark.parametrize("statistic", STATISTICS, ids=["max", "max_3", "mode"])
def test_an_exhaustive_search_finds_the_worst_ofall_histograms(name: str, statistic: Any) -> None:
    for row in search([name], [statistic], **TINY, evaluations=ALL).rows:
        assert row.exhaustive and row.evaluations == ALL
        assert row.worst_bars == brute_force(name, statistic, row.gamma)


def test_dropping_keeps_its_guarantee_on_every_histogram() -> None:
    for row in search(["dropping"], STATISTICS, **TINY, evaluations=ALL).rows:
        assert row.exhaustive and row.worst == 0


DROP = DropNoise(EPSILON, DELTA).max_drop


@pytest.mark.parametrize(("more", "statistic"), [(-1, MaxAtLeast(3)), (DROP, Max()), (DROP, MaxAtLeast(3))])
def test_control_a_spoiled_dropping_is_found_out(more: int, statistic: Any) -> None:
    """One record too many lifts a bucket to k; losing twice as much exceeds the budget."""
    for evaluations in (ALL, ALL - 1):
        (row,) = search([Spoiled(more)], [statistic], **TINY | {"gammas": [0]}, evaluations=evaluations).rows
        assert row.exhaustive == (evaluations == ALL)
        assert row.worst > 0
        (row,) = search([Spoiled(0)], [statistic], **TINY | {"gammas": [0]}, evaluations=evaluations).rows
        assert row.worst == 0


def test_control_a_single_record_added_is_found_among_many() -> None:
    asked: dict[str, Any] = {"bars": [12], "gammas": [0]}
    assert search([Spoiled(-1)], [MaxAtLeast(50)], **asked).rows[0].worst > 50
    assert search([Spoiled(0)], [MaxAtLeast(50)], **asked).rows[0].worst == 0


@pytest.mark.parametrize("name", ["em", "ptr", "esa", "bns"])
def test_climbing_never_claims_too_much_and_gets_there(name: str) -> None:
    for statistic in STATISTICS:
        climbed = search([name], [statistic], **TINY, evaluations=ALL - 1).rows
        every = search([name], [statistic], **TINY, evaluations=ALL).rows
        for one, other in zip(climbed, every, strict=True):
            assert not one.exhaustive and one.worst_bars == other.worst_bars


def test_the_guarantee_holds_where_the_others_grow_with_the_bars() -> None:
    found = search(["dropping", "bns", "em", "ptr"], [MaxAtLeast(50)], gammas=["0.05"])
    bars = {(row.mechanism, row.bars): row.worst_bars for row in found.rows}
    assert [bars["dropping", b] for b in (6, 12, 24)] == [0, 0, 0]
    for name in ("bns", "em", "ptr"):
        assert bars[name, 6] >= 2 and 2 * bars[name, 6] <= bars[name, 12] and 2 * bars[name, 12] <= bars[name, 24]


def test_a_row_proves_itself() -> None:
    for row in search(["esa", "bns", "ptr"], STATISTICS, bars=[6], evaluations=QUICK).rows:
        statistic = {"max": Max(), "max_3": MaxAtLeast(3), "mode": Mode()}[row.statistic]
        assert sum(row.histogram) == row.records == 1500 and len(row.histogram) == row.bars
        errors = exact_errors(
            row.mechanism, np.array(row.histogram), statistic,
            epsilon=row.epsilon, delta=row.delta, alpha=row.alpha,
        )  # fmt: skip
        assert errors.beta(row.gamma) == row.worst_bars
        assert row.chance == (errors.flexible_tail()[row.worst_bars - 1] if row.worst_bars else 0)
        assert row.chance > row.gamma or not row.worst_bars
        assert row.alpha == Fraction(DropNoise(1, Fraction(1, 2**20)).max_drop * 6, 1500)


def test_the_seed_decides_whatever_else_is_asked() -> None:
    asked: dict[str, Any] = {"bars": [6], "evaluations": 30, "gammas": [0, "0.05"]}
    alone = search(["bns"], [Mode()], **asked, seed=4).rows
    among = search(["em", "bns"], [Max(), Mode()], **asked, seed=4).rows
    assert alone == among[-2:]
    assert search(["bns"], [Mode()], **asked, seed=5).rows != alone


def test_rows_become_csv_and_a_table() -> None:
    found = search(["dropping", "em"], [Max()], bars=[6, 12], evaluations=20)
    assert isinstance(found, WorstCases) and all(isinstance(row, WorstCase) for row in found.rows)
    read = list(csv.DictReader(io.StringIO(csv_text(found.rows))))
    assert tuple(read[0]) == COLUMNS and len(read) == len(found.rows) == 8
    for cells, row in zip(read, found.rows, strict=True):
        assert tuple(map(int, cells["histogram"].split())) == row.histogram
        assert float(cells["worst"]) == pytest.approx(row.worst) and int(cells["worst_bars"]) == row.worst_bars
        assert (cells["mechanism"], cells["statistic"], cells["exhaustive"]) == (row.mechanism, row.statistic, "no")
        assert float(cells["alpha"]) == pytest.approx(float(row.alpha), rel=1e-5)
    lines = str(found).splitlines()
    assert len(lines) == 5 and lines[0].split()[-2:] == ["B=6", "B=12"]


def test_the_page_shows_what_the_search_finds() -> None:
    text = (Path(__file__).parent.parent.parent / "docs" / "worst-cases.md").read_text()
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d, ]+) \| ([\d, ]+) \| ([\d, ]+) \|$", text, re.MULTILINE)
    assert [row[:2] for row in rows] == [(name, gamma) for name in LAWFUL for gamma in ("0", "0.05")]
    shown = {(name, gamma, "max_50"): cells for name, gamma, _, cells, _ in rows}
    for name in ("dropping", "bns"):
        found = search([name], [MaxAtLeast(50)]).rows
        for gamma in GAMMAS:
            worst = [f"{row.worst:.0f}" for row in found if row.gamma == gamma]
            assert shown[name, f"{float(gamma):g}", "max_50"] == ", ".join(worst)
    assert all(set("".join(cells)) <= set("0, ") for name, _, *cells in rows if name == "dropping")


ONE_BAR, TWO_BARS, STEPS = (1500, *[0] * 23), (750, 750, *[0] * 22), (1500 - 23 * 49, *[49] * 23)


@pytest.mark.parametrize(
    ("name", "x", "statistic", "miss", "chance"),
    [
        ("em", ONE_BAR, Max(), 22, "6.6%"),
        ("ptr", ONE_BAR, Max(), 22, "8.3%"),
        ("ptr", TWO_BARS, Mode(), 21, "8.3%"),
        ("bns", STEPS, MaxAtLeast(50), 23, "18%"),
        ("bns_swap", STEPS, MaxAtLeast(50), 23, "30%"),
    ],
)
def test_the_page_names_simple_histograms(name: str, x: Any, statistic: Any, miss: int, chance: str) -> None:
    text = (Path(__file__).parent.parent.parent / "docs" / "worst-cases.md").read_text()
    alpha = Fraction(DropNoise(1, Fraction(1, 2**20)).max_drop * 24, 1500)
    asked: dict[str, Any] = {"epsilon": 1, "delta": Fraction(1, 2**20), "alpha": alpha}
    found = 100 * float(exact_errors(name, np.array(x), statistic, **asked).flexible_tail()[miss - 1])
    assert f"{found:.1f}%" == chance or f"{found:.0f}%" == chance
    assert chance in text
    assert exact_errors("dropping", np.array(x), statistic, **asked).beta(0) == 0


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 300))
@settings(max_examples=100, deadline=None)
def test_steps_keep_the_records(seed: int, bars: int, records: int) -> None:
    rng = np.random.default_rng(seed)
    landmarks = np.array([0, 1, 7, 90])
    here = start(records, bars, landmarks, rng)
    for _ in range(20):
        assert here.sum() == records and here.min() >= 0 and len(here) == bars
        here = step(here, landmarks, rng)


def test_all_histograms_are_all() -> None:
    found = {tuple(x.tolist()) for x in all_histograms(5, 3)}
    assert found == {x for x in product(range(6), repeat=3) if sum(x) == 5}


def test_all_mechanisms_with_a_law_are_searched() -> None:
    assert set(BASELINES) - set(LAWFUL) == {"ss", "sanpoints", "sanpoints_halting"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"records": 162}, "records must exceed 162 for 6 buckets.*got 162. Choose more records"),
        ({"bars": []}, "must contain at least one entry"),
        ({"mechanisms": []}, "must contain at least one entry"),
        ({"gammas": []}, "must contain at least one entry"),
        ({"gammas": [2]}, "gamma must be in"),
        ({"bars": [0]}, "bars must be a whole number"),
        ({"evaluations": 0}, "evaluations must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"mechanisms": ["esq"]}, "Did you mean 'esa'"),
        ({"mechanisms": ["ss"]}, "'ss' has no distribution on the buckets"),
        ({"mechanisms": ["sanpoints"]}, "'sanpoints' has no computable distribution"),
        ({"statistics": ["max"]}, "statistic must be"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    request: dict[str, Any] = {"mechanisms": ["em"], "statistics": [Max()], "bars": [6], "evaluations": 2}
    with pytest.raises(InputError, match=message):
        search(**request | change)
