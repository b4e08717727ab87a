"""Sensitivity of the verdicts to details that the paper leaves open: the study again, one switch at a time.

A variant differs from the study in one switch. Only the experiments that the switch affects are run again; all other
cells are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from flexdp.experiments.cells import Contender, Settings
from flexdp.experiments.claims import Judgement, epsilon_list, judge
from flexdp.experiments.files import output_folder
from flexdp.experiments.journal import Journal
from flexdp.experiments.paper import Experiment
from flexdp.experiments.runner import Progress, Study, run
from flexdp.simulation import StepNoise
from flexdp.statistics import Mode

__all__ = ["Flip", "Variant", "flips", "variants", "vary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """The settings with one switch changed."""

    name: str
    settings: Settings

    def reaches(self, experiment: Experiment, base: Settings) -> bool:
        """Return True if the switch can affect that experiment."""
        if self.settings.empty != base.empty:
            return True
        if self.settings.ties != base.ties:
            return isinstance(experiment.statistic, Mode)
        return _switched(experiment, self.settings).law != _switched(experiment, base).law


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A verdict that a switch reverses at some ε: from holds to fails, or from fails to holds."""

    judgement: Judgement
    variant: str
    now_holds: tuple[Fraction, ...]
    now_fails: tuple[Fraction, ...]

    def __str__(self) -> str:
        every = list(self.judgement.outcomes)
        parts = [("holds", self.now_holds), ("fails", self.now_fails)]
        told = " and ".join(f"{word} for ε {epsilon_list(found, every)}" for word, found in parts if found)
        return f"{self.variant}: now {told}"


def variants(base: Settings) -> list[Variant]:
    """Return every switch in every other position."""
    noises = (StepNoise(), StepNoise("uniform", 5), StepNoise("poisson"))
    every = [
        *(Variant(name=f"empty={it}", settings=replace(base, empty=it)) for it in ("zero", "random")),
        *(Variant(name=f"binning={it}", settings=replace(base, binning=it)) for it in ("floor", "nearest")),
        *(Variant(name=f"step-noise={it}", settings=replace(base, step_noise=it)) for it in noises),
        *(Variant(name=f"ties={it}", settings=replace(base, ties=it)) for it in ("smallest", "largest", "random")),
    ]
    return [each for each in every if each.settings != base]


def vary(
    study: Study,
    mechanisms: Sequence[Contender],
    variant: Variant,
    *,
    folder: Path | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Study:
    """Return the study under a variant; experiments that the switch does not affect are reused."""
    reached = [each for each in study.experiments if variant.reaches(each, study.settings)]
    if not reached:
        return replace(study, settings=variant.settings)
    if folder is None:
        again = run(reached, mechanisms, study.epsilons, variant.settings, jobs=jobs, progress=progress)
    else:
        place = output_folder(folder / "variants" / variant.name.replace("=", "-").replace(":", "-"))
        with Journal(place, variant.settings) as journal:
            again = run(
                reached, mechanisms, study.epsilons, variant.settings, journal=journal, jobs=jobs, progress=progress
            )
    found = {cell.key: cell for cell in again.cells}
    return replace(study, settings=variant.settings, cells=tuple(found.get(each.key, each) for each in study.cells))


def flips(judged: Sequence[Judgement], variant: str, varied: Study) -> list[Flip]:
    """Return the verdicts that the variant reverses; to or from undecided does not count."""
    other = {(each.claim.name, each.reading): each for each in judge(varied)}
    out = []
    for each in judged:
        after = other[each.claim.name, each.reading].outcomes
        up = tuple(e for e, was in each.outcomes.items() if was == "fails" and after[e] == "holds")
        down = tuple(e for e, was in each.outcomes.items() if was == "holds" and after[e] == "fails")
        if up or down:
            out.append(Flip(judgement=each, variant=variant, now_holds=up, now_fails=down))
    return out


def _switched(experiment: Experiment, settings: Settings) -> Experiment:
    return experiment.switched(binning=settings.binning, noise=settings.step_noise)
