"""All verdicts of ``flexdp experiment all --quick`` against recorded ones, and every printed number by a digest.

One line of the record is a statement under one reading, with one letter for each ε: holds, fails, undecided.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from flexdp.experiments import EPSILONS, EXPERIMENTS, Settings, Study, choose_mechanisms, judge, run
from flexdp.experiments.study import datasets_csv, results_csv

RECORDED = Path(__file__).parent / "quick_verdicts.txt"


def quick() -> Study:
    return run(tuple(EXPERIMENTS.values()), choose_mechanisms([]), EPSILONS, Settings(seed=0, datasets=10))


def lines(study: Study) -> list[str]:
    return [
        *(f"{name} {hashlib.sha256(text.encode()).hexdigest()}" for name, text in (
            ("results.csv", results_csv(study)), ("datasets.csv", datasets_csv(study)),
        )),
        *(
            f"{each.claim.name} ({each.reading}) {''.join(outcome[0] for outcome in each.outcomes.values())}"
            for each in judge(study)
        ),
    ]  # fmt: skip


def test_verdicts_and_numbers_are_the_recorded_ones() -> None:
    assert lines(quick()) == RECORDED.read_text().splitlines()


if __name__ == "__main__":  # record
    RECORDED.write_text("\n".join(lines(quick())) + "\n")
