"""All verdicts of ``flexdp lab experiment all --quick`` against recorded ones.

One line of the record is a statement under one reading, with one letter for each ε: holds, fails, undecided.
"""

from __future__ import annotations

from pathlib import Path

from flexdp.experiments import EPSILONS, EXPERIMENTS, Settings, Study, choose_mechanisms, judge, run

RECORDED = Path(__file__).parent / "quick_verdicts.txt"


def quick() -> Study:
    return run(tuple(EXPERIMENTS.values()), choose_mechanisms([]), EPSILONS, Settings(seed=0, datasets=10))


def lines(study: Study) -> list[str]:
    return [
        f"{each.claim.name} ({each.reading}) {''.join(outcome[0] for outcome in each.outcomes.values())}"
        for each in judge(study)
    ]


def test_verdicts_are_the_recorded_ones() -> None:
    assert lines(quick()) == RECORDED.read_text().splitlines()


if __name__ == "__main__":  # record
    RECORDED.write_text("\n".join(lines(quick())) + "\n")
