"""Judging the paper's statements by a study.

A statement holds at an ε if all its checks do, fails if one fails, and is undecided otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flexdp._core.exact import number_text
from flexdp.experiments.checks import Check, Outcome
from flexdp.experiments.runner import Study
from flexdp.experiments.statements import CLAIMS, MUCH, Claim, Reading

__all__ = ["CLAIMS", "MUCH", "Claim", "Judgement", "Reading", "epsilon_list", "judge", "verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on a statement under one reading.

    Parameters
    ----------
    claim
        The statement.
    ours, bns, sanpoints
        The reading: the mechanism, calibration and rules meant, or None if the statement does not depend on it.
    outcomes
        "holds", "fails" or "undecided" at each ε.
    failing
        The ε at which each comparison fails.
    closest
        At each ε, the comparison furthest beyond its bound, or closest to it.

    Examples
    --------
    >>> from flexdp.experiments import EXPERIMENTS, Settings, chosen_mechanisms, run
    >>> both, small = chosen_mechanisms(["dropping", "bns"]), Settings(runs=10, datasets=2)
    >>> study = run([EXPERIMENTS["2"]], both, [Fraction(1)], small)
    >>> found = judge(study)[0]
    >>> found.claim.name, found.reading, found.verdict
    ('match-2', 'dropping, bns', 'holds')
    >>> found.epsilons("fails"), found.reasons()
    ([], [])
    """

    claim: Claim
    ours: str | None
    bns: str | None
    sanpoints: str | None
    outcomes: dict[Fraction, Outcome]
    failing: dict[str, list[Fraction]]
    closest: dict[Fraction, Check]

    def epsilons(self, outcome: Outcome) -> list[Fraction]:
        """Return the ε with that outcome.

        Parameters
        ----------
        outcome
            "holds", "fails" or "undecided".

        Returns
        -------
        list of Fraction
            The values of ε, ascending.
        """
        return [epsilon for epsilon, found in self.outcomes.items() if found == outcome]

    @property
    def verdict(self) -> str:
        """Summary: "holds", "fails", or the ε for each."""
        return verdict(self.outcomes)

    @property
    def worst(self) -> str:
        """The comparison furthest beyond its bound, or closest to it, with its paired standard error."""
        epsilon, check = max(self.closest.items(), key=lambda pair: pair[1].excess)
        return f"{check.about}, ε = {number_text(epsilon)}: {_signed(check.mean)} ± {check.error:.2f}"

    @property
    def why(self) -> str:
        """The comparisons that fail, with their ε; empty if none does."""
        return "; ".join(f"{about}: fails for {epsilons}" for about, epsilons in self.reasons())

    def reasons(self) -> list[tuple[str, str]]:
        """Return the comparisons that fail.

        Returns
        -------
        list of tuple of (str, str)
            Each comparison with the ε at which it fails.
        """
        every = list(self.outcomes)
        return [(about, f"ε {epsilon_list(found, every)}") for about, found in self.failing.items()]

    @property
    def reading(self) -> str:
        """The reading in words; empty if there is only one."""
        return ", ".join(word for word in (self.ours, self.bns, self.sanpoints) if word)


def verdict(outcomes: dict[Fraction, Outcome]) -> str:
    """Summarise the outcomes at all ε.

    >>> from fractions import Fraction as F
    >>> verdict({F(1, 10): "holds", F(1): "fails", F(2): "fails"})
    'holds for ε = 0.1; fails for ε = 1, 2'
    """
    kinds = set(outcomes.values())
    if len(kinds) == 1:
        return next(iter(kinds))
    every = list(outcomes)
    parts = (
        (word, [epsilon for epsilon, found in outcomes.items() if found == word])
        for word in ("holds", "fails", "undecided")
    )
    return "; ".join(f"{word} for ε {epsilon_list(found, every)}" for word, found in parts if found)


def epsilon_list(found: Sequence[Fraction], every: Sequence[Fraction]) -> str:
    """Format a set of ε; three or more neighbours in the grid become a range."""
    places = [every.index(epsilon) for epsilon in found]
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    texts = []
    for run in runs:
        ends = [number_text(every[place]) for place in run]
        texts += [f"{ends[0]}–{ends[-1]}"] if len(ends) > 2 else ends
    return "= " + ", ".join(texts)


def judge(study: Study, claims: Iterable[Claim] | None = None) -> list[Judgement]:
    """Judge the paper's statements by a study.

    Parameters
    ----------
    study
        The study; statements about experiments or mechanisms that it lacks are left out.
    claims
        The statements; by default, all of ``CLAIMS``.

    Returns
    -------
    list of Judgement
        One for each statement and reading.

    Examples
    --------
    >>> from flexdp.experiments import EXPERIMENTS, Settings, chosen_mechanisms, run
    >>> both, small = chosen_mechanisms(["dropping", "bns"]), Settings(runs=10, datasets=2)
    >>> study = run([EXPERIMENTS["2"]], both, [Fraction(1)], small)
    >>> [(each.claim.name, each.verdict) for each in judge(study)]
    [('match-2', 'holds')]
    """
    return [
        _judged(claim, study, reading)
        for claim in (CLAIMS if claims is None else claims)
        for reading in claim.readings()
        if claim.judged_by(study, reading)
    ]


def _judged(claim: Claim, study: Study, reading: Reading) -> Judgement:
    outcomes: dict[Fraction, Outcome] = {}
    failing: dict[str, list[Fraction]] = {}
    closest: dict[Fraction, Check] = {}
    for epsilon in study.epsilons:
        checks = claim.checks(study, reading, epsilon)
        found = {check.outcome for check in checks}
        outcomes[epsilon] = "fails" if "fails" in found else "undecided" if "undecided" in found else "holds"
        closest[epsilon] = max(checks, key=lambda check: check.excess)
        for check in checks:
            if check.outcome == "fails":
                failing.setdefault(check.about, []).append(epsilon)
    return Judgement(
        claim=claim,
        ours=reading.ours if claim.of_ours else None,
        bns=reading.bns if claim.of_bns else None,
        sanpoints=reading.sanpoints if claim.of_sanpoints else None,
        outcomes=outcomes,
        failing=failing,
        closest=closest,
    )


def _signed(number: float) -> str:
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")
