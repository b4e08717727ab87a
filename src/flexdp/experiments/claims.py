"""What the paper says of its figure, sentence by sentence, turned into inequalities and judged.

Every claim is a list of checks at each ε (see ``checks``). It holds at an ε if all its checks do, fails if one does,
and is undecided otherwise.

The words are made precise once, here: a difference of at most ``VISIBLE`` percent of the bars, about the width of a
line in the figure, is none; to *dominate* is to be not visibly worse than anybody, and to *beat* BNS is to be visibly
better, which the contrast of the two kinds of experiments in the caption says too; to *match* is to be not visibly
different; *hard* is an error of at least half of what naming a bar at random costs; *close to uniform* is within a
tenth of that; *far beyond* is at least a tenth of the bars.

The paper's own mechanism is ``stlap``, the library's is ``dropping``; and its stability-based histogram may be meant
in either calibration. Each claim is judged for each of these readings that it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from flexdp._core.exact import number_text
from flexdp.experiments.checks import (
    CLOSE,
    VISIBLE,
    Check,
    Outcome,
    better,
    hard,
    match,
    near_blind,
    never_worse,
    values,
)
from flexdp.experiments.paper import EXPERIMENTS
from flexdp.experiments.runner import Study

__all__ = ["CLAIMS", "MUCH", "Claim", "Judgement", "Reading", "epsilon_list", "judge", "verdict"]

MUCH = 10.0  # percent of the bars
OURS = ("dropping", "stlap")
CALIBRATIONS = ("bns", "bns_swap")
OTHERS = ("em", "ptr", "ss", "sanpoints")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Whose mechanism "ours" is, and which calibration "BNS" is."""

    ours: str
    bns: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence: what it says, what that means here, and its checks."""

    name: str
    says: str
    means: str
    experiments: tuple[str, ...]
    mechanisms: tuple[str, ...]  # beside ours and BNS
    checks: Callable[[Study, Reading, Fraction], list[Check]]
    of_ours: bool = True
    of_bns: bool = True

    def readings(self) -> list[Reading]:
        """All readings that can make a difference to it."""
        ours = OURS if self.of_ours else OURS[:1]
        bns = CALIBRATIONS if self.of_bns else CALIBRATIONS[:1]
        return [Reading(ours=one, bns=two) for one, two in product(ours, bns)]

    def judged_by(self, study: Study, reading: Reading) -> bool:
        """Whether the study has what the claim is about."""
        needed = {*self.mechanisms}
        needed |= {reading.ours} if self.of_ours else set()
        needed |= {reading.bns} if self.of_bns else set()
        return needed <= set(study.mechanisms) and set(self.experiments) <= {each.name for each in study.experiments}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A claim under one reading: the outcome at each ε, where each check fails, and which one is most against it."""

    claim: Claim
    ours: str | None
    bns: str | None
    outcomes: dict[Fraction, Outcome]
    failing: dict[str, list[Fraction]]
    closest: dict[Fraction, Check]

    def epsilons(self, outcome: Outcome) -> list[Fraction]:
        """Where it came out so."""
        return [epsilon for epsilon, found in self.outcomes.items() if found == outcome]

    @property
    def verdict(self) -> str:
        """In a few words: holds, fails, or for which ε."""
        return verdict(self.outcomes)

    @property
    def worst(self) -> str:
        """The comparison that goes furthest beyond its bound, or nearest to it, with its paired standard error."""
        epsilon, check = max(self.closest.items(), key=lambda pair: pair[1].excess)
        return f"{check.about}, ε = {number_text(epsilon)}: {_signed(check.mean)} ± {check.error:.2f}"

    @property
    def why(self) -> str:
        """Which comparisons fail, and for which ε; nothing where none does."""
        return "; ".join(f"{about}: fails for {epsilons}" for about, epsilons in self.reasons())

    def reasons(self) -> list[tuple[str, str]]:
        """Each comparison that fails, with the ε at which it does."""
        every = list(self.outcomes)
        return [(about, f"ε {epsilon_list(found, every)}") for about, found in self.failing.items()]

    @property
    def reading(self) -> str:
        """The reading in words, or nothing where there is but one."""
        return ", ".join(word for word in (self.ours, self.bns) if word)


def verdict(outcomes: dict[Fraction, Outcome]) -> str:
    """In a few words.

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
    """A set of ε for people: runs of three or more neighbours of the grid as a range."""
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
    """Every claim under every reading that the study can tell about."""
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
        outcomes=outcomes,
        failing=failing,
        closest=closest,
    )


def _signed(number: float) -> str:
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _dominates(experiment: str) -> Claim:
    return Claim(
        name=f"dominates-{experiment}",
        says=f"In experiment ({experiment}) the new mechanism dominates all others, in both kinds of error.",
        means=f"ours − other ≤ {VISIBLE:g}, actual and flexible, for BNS, em, ptr, ss and sanpoints",
        experiments=(experiment,),
        mechanisms=OTHERS,
        checks=lambda study, reading, epsilon: [
            check
            for other in (reading.bns, *OTHERS)
            for check in never_worse(study, experiment, reading.ours, other, epsilon)
        ],
    )


def _beats(experiment: str) -> Claim:
    return Claim(
        name=f"beats-{experiment}",
        says=f"In experiment ({experiment}), unlike (2) and (3), the new mechanism is better than BNS.",
        means=f"BNS − ours ≥ {VISIBLE:g}, in actual or flexible error, whichever shows it more",
        experiments=(experiment,),
        mechanisms=(),
        checks=lambda study, reading, epsilon: [better(study, experiment, reading.ours, reading.bns, epsilon)],
    )


def _matches(experiment: str) -> Claim:
    return Claim(
        name=f"match-{experiment}",
        says=f"In experiment ({experiment}) BNS and the new mechanism match each other.",
        means=f"|ours − BNS| ≤ {VISIBLE:g}, actual and flexible",
        experiments=(experiment,),
        mechanisms=(),
        checks=lambda study, reading, epsilon: match(study, experiment, reading.ours, reading.bns, epsilon),
    )


def _uninformative(name: str, says: str) -> Claim:
    return Claim(
        name=name,
        says=says,
        means=f"its actual error is within {CLOSE:.0%} of that of a bar named at random",
        experiments=tuple(EXPERIMENTS),
        mechanisms=(name,),
        checks=lambda study, _reading, epsilon: [
            near_blind(study, experiment, name, epsilon) for experiment in EXPERIMENTS
        ],
        of_ours=False,
        of_bns=False,
    )


_EVERY = (*OURS, *CALIBRATIONS, *OTHERS)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="hard-2",
        says="Experiment (2) is hard for every mechanism as long as flexible accuracy is not considered.",
        means="each actual error is at least half of that of a bar named at random",
        experiments=("2",),
        mechanisms=_EVERY,
        checks=lambda study, _reading, epsilon: [hard(study, "2", name, epsilon) for name in _EVERY],
        of_ours=False,
        of_bns=False,
    ),
    Claim(
        name="overlap-3",
        says="In experiment (3) flexible accuracy makes no difference: the two plots of each mechanism overlap.",
        means=f"|actual − flexible| ≤ {VISIBLE:g} for each mechanism",
        experiments=("3",),
        mechanisms=_EVERY,
        checks=lambda study, _reading, epsilon: [
            Check(
                about=f"(3) {name}, actual − flexible",
                values=values(study, "3", name, epsilon, "actual") - values(study, "3", name, epsilon, "flexible"),
                bound=VISIBLE,
                two_sided=True,
            )
            for name in _EVERY
        ],
        of_ours=False,
        of_bns=False,
    ),
    _matches("2"),
    _matches("3"),
    *map(_dominates, ("1", "4", "5", "6")),
    *map(_beats, ("1", "4", "5", "6")),
    Claim(
        name="esa",
        says="Encode-shuffle-analyze behaves virtually as the new mechanism does in all the examples.",
        means=f"|ours − esa| ≤ {VISIBLE:g}, actual and flexible, in all six",
        experiments=tuple(EXPERIMENTS),
        mechanisms=("esa",),
        checks=lambda study, reading, epsilon: [
            check for name in EXPERIMENTS for check in match(study, name, reading.ours, "esa", epsilon)
        ],
        of_bns=False,
    ),
    _uninformative("em", "The exponential mechanism is close to a uniform choice in all the plots."),
    _uninformative("ptr", "Propose-test-release finds little stability, and so mostly answers at random."),
    Claim(
        name="ss",
        says="Smooth sensitivity has to add much noise for max_k and mode.",
        means="in (3) to (6) its actual error is at least half of that of a bar named at random",
        experiments=("3", "4", "5", "6"),
        mechanisms=("ss",),
        checks=lambda study, _reading, epsilon: [hard(study, name, "ss", epsilon) for name in ("3", "4", "5", "6")],
        of_ours=False,
        of_bns=False,
    ),
    Claim(
        name="bns-max",
        says="For max, BNS is about as flexibly accurate as the new mechanism.",
        means=f"|ours − BNS| ≤ {VISIBLE:g}, flexible, in (1) and (2)",
        experiments=("1", "2"),
        mechanisms=(),
        checks=lambda study, reading, epsilon: [
            check
            for name in ("1", "2")
            for check in match(study, name, reading.ours, reading.bns, epsilon, ("flexible",))
        ],
    ),
    Claim(
        name="bns-max-k",
        says="In experiment (4) BNS very likely names a bar far beyond the one at which the heights cross k.",
        means=f"its flexible error is at least {MUCH:g} on average",
        experiments=("4",),
        mechanisms=(),
        checks=lambda study, reading, epsilon: [
            Check(
                about=f"(4) {MUCH:g} − {reading.bns}, flexible",
                values=MUCH - values(study, "4", reading.bns, epsilon, "flexible"),
                bound=0.0,
            )
        ],
        of_ours=False,
    ),
    Claim(
        name="sanpoints",
        says="SanPoints fares differently from case to case, but BNS and the new mechanism dominate it.",
        means=f"ours − sanpoints ≤ {VISIBLE:g} and BNS − sanpoints ≤ {VISIBLE:g}, actual and flexible, in all six",
        experiments=tuple(EXPERIMENTS),
        mechanisms=("sanpoints",),
        checks=lambda study, reading, epsilon: [
            check
            for name in EXPERIMENTS
            for better in (reading.ours, reading.bns)
            for check in never_worse(study, name, better, "sanpoints", epsilon)
        ],
    ),
)
