"""Verdicts on planted numbers: every statement can hold, can fail, and can be undecided."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import t as student

from flexdp.experiments import CLAIMS, EXPERIMENTS, Cell, Settings, Study, choose_mechanisms, judge, run
from flexdp.experiments.claims import (
    LEVEL,
    VISIBLE,
    Check,
    find_flips,
    format_epsilons,
    list_variants,
    summarise,
    vary,
)
from flexdp.experiments.paper import choose_experiments
from flexdp.experiments.study import blind_error, data_sets

NAMES = ("dropping", "stlap", "esa", "bns", "bns_swap", "em", "ptr", "ss", "sanpoints", "sanpoints_halting")
E = (Fraction(1, 10), Fraction(1))
SETTINGS = Settings(seed=0, runs=2, datasets=6)


def blind(experiment: str) -> tuple[float, ...]:
    return tuple(blind_error(case) for case in data_sets(EXPERIMENTS[experiment], SETTINGS))


USUAL = {(one, two, "actual"): 2.0 for one in "1456" for two in ("bns", "bns_swap", "sanpoints", "sanpoints_halting")}


def planted(changes: dict[tuple[str, str, str], float] | None = None, at: Fraction | None = None) -> Study:
    """Give all mechanisms the error of a random guess, BNS and SanPoints slightly more, and apply the changes."""
    cells = []
    for experiment in EXPERIMENTS:
        for name in NAMES:
            for epsilon in E:
                plan = USUAL if at not in (None, epsilon) else {**USUAL, **(changes or {})}
                added = {of: plan.get((experiment, name, of), 0.0) for of in ("actual", "flexible")}
                actual, flexible = (tuple(v + added[of] for v in blind(experiment)) for of in ("actual", "flexible"))
                cells.append(
                    Cell(
                        experiment=experiment, mechanism=name, epsilon=epsilon, actual=actual, flexible=flexible,
                        betas=(0.0, 0.0, 0.0),
                    )
                )  # fmt: skip
    return Study(
        experiments=tuple(EXPERIMENTS.values()), mechanisms=NAMES, epsilons=E, settings=SETTINGS, cells=tuple(cells)
    )


def outcomes(study: Study) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in judge(study):
        found.setdefault(each.claim.name, set()).update(each.outcomes.values())
    return found


def test_every_claim_can_hold() -> None:
    found = outcomes(planted())
    assert set(found) == {claim.name for claim in CLAIMS}
    assert all(outcome == {"holds"} for outcome in found.values()), found


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("hard-2", {("2", "ss", "actual"): -40.0}),
        ("overlap-3", {("3", "ptr", "flexible"): -5.0}),
        ("match-2", {("2", "dropping", "flexible"): 2.0}),
        ("match-3", {("3", "bns", "actual"): -2.0}),
        ("dominates-1", {("1", "sanpoints", "actual"): -2.0}),
        ("dominates-4", {("4", "em", "flexible"): -2.0}),
        ("dominates-5", {("5", "bns_swap", "actual"): -2.0}),
        ("dominates-6", {("6", "stlap", "flexible"): 2.0}),
        ("beats-1", {("1", "bns", "actual"): 0.9}),
        ("beats-4", {("4", "bns_swap", "actual"): -1.0}),
        ("beats-5", {("5", "dropping", "actual"): 1.5}),
        ("beats-6", {("6", "stlap", "actual"): 2.0}),
        ("esa", {("6", "esa", "flexible"): 2.0}),
        ("em", {("2", "em", "actual"): -9.0}),
        ("ptr", {("3", "ptr", "actual"): -9.0}),
        ("ss", {("4", "ss", "actual"): -20.0}),
        ("bns-max", {("1", "bns", "flexible"): 2.0}),
        ("bns-max-k", {("4", "bns", "flexible"): -20.0}),
        ("sanpoints", {("2", "bns", "actual"): 2.0}),
    ],
)
def test_every_claim_can_fail(claim: str, change: dict[tuple[str, str, str], float]) -> None:
    for at, expected in ((None, {"fails"}), (E[1], {"holds", "fails"})):
        study = planted(change, at)
        found = [each for each in judge(study) if each.claim.name == claim]
        assert set().union(*(each.outcomes.values() for each in found)) >= {"fails"}
        broken = next(each for each in found if "fails" in each.outcomes.values())
        assert set(broken.outcomes.values()) == expected
        (key,) = change
        assert f"({key[0]})" in broken.why and key[1] in broken.why
    if claim.startswith("beats"):
        return
    small = {key: math.copysign(0.9, value) for key, value in change.items()}
    assert outcomes(planted(small))[claim] == {"holds"}, "what cannot be seen is no difference"


def test_readings_tell_which_calibration_decides() -> None:
    found = {each.reading: each.verdict for each in judge(planted({("5", "bns", "actual"): -3.0}))
             if each.claim.name == "dominates-5"}  # fmt: skip
    assert found == {
        f"{ours}, {bns}, {sanpoints}": "fails" if bns == "bns" else "holds"
        for ours in ("dropping", "stlap")
        for bns in ("bns", "bns_swap")
        for sanpoints in ("sanpoints", "sanpoints_halting")
    }


def test_readings_tell_which_rules_of_sanpoints_decide() -> None:
    """What only the reading without the two rules does, fails under that reading alone."""
    found = {
        (each.claim.name, each.meant.get("SANPOINTS")): each.verdict
        for each in judge(planted({("1", "sanpoints", "actual"): -2.0}))
        if "SANPOINTS" in each.meant and each.claim.name in ("dominates-1", "dominates-4", "sanpoints")
    }
    assert found == {
        ("dominates-1", "sanpoints"): "fails",
        ("dominates-1", "sanpoints_halting"): "holds",
        ("dominates-4", "sanpoints"): "holds",
        ("dominates-4", "sanpoints_halting"): "holds",
        ("sanpoints", "sanpoints"): "fails",
        ("sanpoints", "sanpoints_halting"): "holds",
    }


def test_outcomes_follow_the_t_quantile() -> None:
    rng = np.random.default_rng(3)
    for mean in np.linspace(-3, 3, 41):
        for two_sided in (False, True):
            values = mean + rng.normal(0, 1, 12)
            check = Check(about="", values=values, bound=VISIBLE, two_sided=two_sided)
            centre = statistics.fmean(values)
            margin = student.ppf(1 - LEVEL / 2, 11) * statistics.stdev(values) / math.sqrt(12)
            beyond = (abs(centre) if two_sided else centre) - VISIBLE
            expected = "holds" if beyond + margin <= 0 else "fails" if beyond - margin > 0 else "undecided"
            assert check.outcome == expected


def test_standard_errors_are_paired() -> None:
    """Variation common to both mechanisms does not affect the paired difference."""
    shared = np.array([5.0, 40.0, 17.0, 60.0, 31.0])
    check = Check(about="", values=(shared + 2.0) - shared, bound=VISIBLE)
    assert check.error < 1e-12 and check.outcome == "fails"


def test_a_study_without_a_part_of_a_claim_does_not_judge_it() -> None:
    few = run(choose_experiments("4"), choose_mechanisms(["bns", "dropping"]), E, SETTINGS)
    assert {each.claim.name for each in judge(few)} == {"beats-4", "bns-max-k"}


def test_verdicts_in_words() -> None:
    grid = [Fraction(n, 10) for n in (1, 2, 3, 4, 5)]
    assert format_epsilons(grid[:3] + grid[4:], grid) == "= 0.1–0.3, 0.5"
    assert format_epsilons(grid[1:3], grid) == "= 0.2, 0.3"
    assert summarise(dict.fromkeys(grid, "undecided")) == "undecided"
    assert summarise({grid[0]: "fails", grid[1]: "undecided"}) == "fails for ε = 0.1; undecided for ε = 0.2"


# Sensitivity


def test_switches_reach_the_experiments_they_can_change() -> None:
    reached = {
        each.name: "".join(name for name, experiment in EXPERIMENTS.items() if each.reaches(experiment, SETTINGS))
        for each in list_variants(SETTINGS)
    }
    assert reached == {
        "empty=random": "123456", "binning=nearest": "13", "step-noise=none": "6", "step-noise=uniform:5": "24",
        "step-noise=poisson": "246", "ties=largest": "56", "ties=random": "56",
    }  # fmt: skip
    other = replace(SETTINGS, empty="random")
    assert "empty=zero" in [each.name for each in list_variants(other)]


def test_a_variant_is_the_study_with_that_switch() -> None:
    asked = choose_mechanisms(["dropping"])
    study = run(choose_experiments(["all"]), asked, E, SETTINGS)
    for variant in list_variants(SETTINGS):
        afresh = run(choose_experiments(["all"]), asked, E, variant.settings)
        varied = vary(study, asked, variant)
        assert varied.cells == afresh.cells and varied.settings == variant.settings, variant.name


def test_turns_are_found_and_doubt_is_no_turn() -> None:
    before = planted({("4", "em", "actual"): -2.0})
    (turn, *_) = found = list(find_flips(judge(before), "empty=random", planted()))
    assert {each.judgement.claim.name for each in found} == {"dominates-4"}
    assert turn.now == {"holds": list(E), "fails": []} and str(turn) == "empty=random: now holds for ε = 0.1, 1"
    assert not list(find_flips(judge(before), "x", before))
