"""docs/experiments.md agrees with the code: its tables with the files next to it, those files with the code."""

from __future__ import annotations

import csv
import re
import shlex
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from flexdp.baselines import BASELINES, exact_errors, exact_law
from flexdp.baselines.base import read_question
from flexdp.baselines.sanpoints import SanPoints, SanPointsHalting, choosing_threshold
from flexdp.cli.app import cli
from flexdp.cli.errors import guarded
from flexdp.experiments import CLAIMS, EPSILONS, EXPERIMENTS, Settings, choose_mechanisms, compare, judge, run
from flexdp.experiments.claims import ROLES, format_epsilons, summarise
from flexdp.noise import DropNoise
from flexdp.simulation import stream

DOCS = Path(__file__).parent.parent.parent / "docs"
SEED = 1
SHOWN = (Fraction(1, 20), Fraction(1, 5), Fraction(3, 5), Fraction(2))


def read(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((DOCS / "experiments" / name).read_text().splitlines()))


def verdict_lines() -> Iterator[str]:
    """Yield one line per statement and verdict, with the readings that lead to it."""
    says = {claim.name: claim.says for claim in CLAIMS}
    outcomes: dict[tuple[str, str], dict[Fraction, Any]] = {}
    against: dict[tuple[str, str], tuple[float, str]] = {}
    for row in read("verdicts.csv"):
        reading = ", ".join(word for word in (row["ours"], row["bns"], row["sanpoints"]) if word)
        outcomes.setdefault((row["claim"], reading), {})[Fraction(row["epsilon"])] = row["outcome"]
        mean, kind, bound = float(row["mean"]), row["bound"][0], float(row["bound"][2:])
        excess = (abs(mean) if kind == "±" else mean) - bound
        told = f"{row['comparison']}, ε = {row['epsilon']}: {mean:.2f} ± {float(row['se']):.2f}"
        if excess > against.get((row["claim"], reading), (-1e9, ""))[0]:
            against[row["claim"], reading] = excess, told
    together: dict[tuple[str, str], list[str]] = {}
    for (claim, reading), found in outcomes.items():
        together.setdefault((claim, summarise(found)), []).append(reading)
    yield "| statement | reading | verdict | critical comparison |"
    yield "|---|---|---|---|"
    for (claim, told), readings in together.items():
        single = sum(other == claim for other, _ in together) == 1
        reading = "all" if single else " · ".join(readings)
        yield f"| {says[claim]} | {reading} | {told} | {against[claim, readings[0]][1]} |"


def number_lines() -> Iterator[str]:
    """Yield actual / flexible errors at a few ε."""
    found = {(r["experiment"], r["mechanism"], Fraction(r["epsilon"])): r for r in read("results.csv")}
    yield "| experiment | mechanism | " + " | ".join(f"ε = {float(e):g}" for e in SHOWN) + " |"
    yield "|---|---|" + "--:|" * len(SHOWN)
    for experiment in EXPERIMENTS.values():
        for name in BASELINES:
            cells = (found[experiment.name, name, e] for e in SHOWN)
            texts = (f"{float(cell['actual']):.1f} / {float(cell['flexible']):.1f}" for cell in cells)
            yield f"| {experiment.title} | {name} | " + " | ".join(texts) + " |"


def switch_lines() -> Iterator[str]:
    """Yield one line per switch and statement that it reverses."""
    turned: dict[tuple[str, str, str], dict[str, list[Fraction]]] = {}
    for row in read("sensitivity.csv"):
        reading = ", ".join(word for word in (row["ours"], row["bns"], row["sanpoints"]) if word)
        turned.setdefault((row["switch"], row["claim"], row["now"]), {}).setdefault(reading, []).append(
            Fraction(row["epsilon"])
        )
    yield "| switch | statement | reading | now |"
    yield "|---|---|---|---|"
    for (switch, claim, now), readings in turned.items():
        for reading, found in readings.items():
            yield f"| `{switch}` | {claim} | {reading} | {now} for ε {format_epsilons(found, list(EPSILONS))} |"


@pytest.mark.parametrize("lines", [verdict_lines, number_lines, switch_lines])
def test_every_table_is_that_of_the_files(lines: Any) -> None:
    assert "\n" + "\n".join(lines()) + "\n" in (DOCS / "experiments.md").read_text()


def test_the_files_are_what_the_code_computes() -> None:
    """Recompute one ε of each experiment and mechanism, with all 100 × 100 runs."""
    settings = Settings(seed=SEED)
    known = {(row["experiment"], row["mechanism"], Fraction(row["epsilon"])): row for row in read("results.csv")}
    assert len(known) == 6 * 10 * 12
    for place, (experiment, name) in enumerate((e, n) for e in EXPERIMENTS.values() for n in BASELINES):
        epsilon = EPSILONS[(5 * place) % len(EPSILONS)]
        study = run([experiment], choose_mechanisms([name]), [epsilon], settings)
        ((row, cell),) = zip(study.rows, study.cells, strict=True)
        for column in ("actual", "actual_se", "flexible", "flexible_se", "beta_50", "beta_90", "beta_99"):
            expected = float(known[cell.key][column])
            assert row.columns()[column] == pytest.approx(expected, abs=1e-6), (cell.key, column)


def test_the_verdicts_are_what_the_code_finds() -> None:
    """Judge all statements at one ε, where some hold, some fail and some are undecided: 60 cells of 100 × 100 runs."""
    epsilon = Fraction(3, 10)
    study = run(tuple(EXPERIMENTS.values()), choose_mechanisms([]), [epsilon], Settings(seed=SEED))
    found = {(each.claim.name, *(each.meant.get(role, "") for role in ROLES)): each for each in judge(study)}
    known = [row for row in read("verdicts.csv") if Fraction(row["epsilon"]) == epsilon]
    assert len(known) == len(found) and {row["outcome"] for row in known} == {"holds", "fails", "undecided"}
    for row in known:
        each = found[row["claim"], row["ours"], row["bns"], row["sanpoints"]]
        assert each.outcomes[epsilon] == row["outcome"], row
        assert each.closest[epsilon].error == pytest.approx(float(row["se"]), abs=1e-4)


def test_every_claim_is_in_the_file_under_every_reading() -> None:
    words = ("claim", "ours", "bns", "sanpoints")
    known = {(*(row[word] for word in words), Fraction(row["epsilon"])) for row in read("verdicts.csv")}
    assert known == {
        (claim.name, *(meant.get(role, "") for role in ROLES), epsilon)
        for claim in CLAIMS
        for meant in claim.readings()
        for epsilon in EPSILONS
    }


def test_the_examples_print_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / "experiments.md").read_text()
    blocks = re.findall(r"^ *```console\n *\$ (.+?)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    for command, shown in blocks:
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        assert guarded(cli) == 0, capsys.readouterr().err
        assert capsys.readouterr().out.strip() == dedent(shown).strip()


def test_the_readme_compares(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = re.findall(r"^flexdp lab compare .+$", (DOCS.parent / "README.md").read_text(), re.MULTILINE)
    monkeypatch.setattr(sys, "argv", [*shlex.split(line), "--datasets", "5"])
    assert guarded(cli) == 0
    assert "max, cauchy:45,4" in capsys.readouterr().out


def test_the_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = "".join(re.findall(r"```python\n(.*?)```", (DOCS / "experiments.md").read_text(), re.DOTALL))
    monkeypatch.chdir(tmp_path)
    exec(compile(block.replace("print(", "str("), "docs/experiments.md", "exec"), {})
    assert (tmp_path / "mine.svg").exists()


def test_the_exact_chances_it_states() -> None:
    text = (DOCS / "experiments.md").read_text()
    four = EXPERIMENTS["4"]
    counts = four.law.counts(stream(SEED, "not used: the steps are exact"))
    for epsilon in ("0.05", "0.1", "0.2"):
        chance = exact_law("dropping", counts, four.statistic, epsilon=epsilon, delta=Fraction(1, 2**20)).masses[0]
        assert f"{100 * chance:.1f}% at ε = {epsilon}" in text
        lifted = exact_law("bns", counts, four.statistic, epsilon=epsilon, delta=Fraction(1, 2**20))
        assert lifted.masses.get(0, 0.0) < 1e-9
    for epsilon in ("0.05", "1"):
        assert f"{DropNoise(epsilon, Fraction(1, 2**20)).q - 1} records at ε = {epsilon}" in text


def test_what_it_says_of_the_other_calibrations() -> None:
    text = (DOCS / "experiments.md").read_text()
    two = EXPERIMENTS["2"]
    counts = two.law.counts(stream(SEED, "not used: the steps are exact"))
    tight, wide = (
        exact_errors(name, counts, two.statistic, epsilon=2, delta=Fraction(1, 2**20), alpha="0.005").actual.mean
        for name in ("em_tight", "em")
    )
    assert f"is {tight:.2f} instead of {wide:.2f}" in text
    assert f"at ε = 1 a round halts below {round(choosing_threshold(1 / 80, 2.0**-20 / 20))} records" in text
    tallest = EXPERIMENTS["1"].law.counts(stream(SEED, "data", "1", 0)).max()
    assert 750 < tallest < 850 and "about 800" in text


def read_choosing(kind: Any, rounds: int) -> Any:
    def mechanism(counts: Any, rng: Any, runs: int, epsilon: float, delta: float, statistic: Any) -> Any:
        return kind(epsilon, delta, rounds=rounds).answers(read_question(counts, statistic), runs, rng)

    return mechanism


def test_the_number_of_rounds_does_not_decide_on_the_first_experiment() -> None:
    """With its two rules SanPoints does worse than dropping in (1), whatever the rounds; without, it does not."""
    rounds = {f"halting {t}": read_choosing(SanPointsHalting, t) for t in (1, 5, 20, 50)}
    every: dict[str, Any] = {"dropping": "dropping", **rounds, "plain": read_choosing(SanPoints, 20)}
    found = compare(every, EXPERIMENTS["1"].law, "max", epsilon=["0.05", "0.6", 2], runs=30, datasets=4, seed=SEED)
    rows_of = {(row.mechanism, row.epsilon): row for row in found.rows}
    for epsilon in (0.05, 0.6, 2.0):
        ours = rows_of["dropping", epsilon]
        for name in rounds:
            other = rows_of[name, epsilon]
            assert ours.actual < other.actual and ours.flexible < other.flexible
    assert rows_of["plain", 0.05].actual < rows_of["dropping", 0.05].actual
