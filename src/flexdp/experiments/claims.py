"""The paper's statements about its figure, as inequalities between errors, and a verdict on each.

    Claim: comparisons (as data) ──Reading──▶ Check: a value per data set, a bound on the mean ──t-test──▶ Judgement

Words are made precise once, here. Differences of at most ``VISIBLE`` percent of the number of buckets, about the width
of a line in the figure, do not count. To *dominate* is to be visibly worse than no other mechanism. To *beat* BNS is to
be visibly better, as the caption's contrast between the two kinds of experiments implies. To *match* is to be not
visibly different. *Hard* means an error of at least half that of a random guess; *close to uniform*, within a tenth of
it; *far beyond*, at least a tenth of the buckets.

A statement speaks of roles. The new mechanism is the library's ``dropping`` or the paper's own ``stlap``; the paper's
stability-based histogram may mean either calibration; and its choosing-based histogram is described without the
threshold and the rule against empty buckets that its source has. A *reading* is one choice of these; a statement is
judged under each reading that it depends on.

Differences are taken on the *same* data set, so their standard error is paired. By a t-test at ``LEVEL`` the mean is
significantly within its bound (the check holds), significantly beyond it (it fails), or neither (it is undecided, and
more data sets would decide). A statement holds at an ε if all its checks do, and fails if one fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import number_text
from flexdp._core.extras import extra
from flexdp.experiments.paper import EXPERIMENTS, Experiment
from flexdp.experiments.study import Contender, Progress, Settings, Study, blind_error, data_sets, run, write_csv
from flexdp.simulation import StepNoise
from flexdp.statistics import Mode

__all__ = [
    "CLAIMS", "CLOSE", "LEVEL", "MUCH", "VISIBLE", "Check", "Claim", "Contrast", "Flip", "Judgement", "Variant",
    "find_flips", "flips_csv", "format_epsilons", "judge", "list_variants", "summarise", "vary", "verdicts_csv",
]  # fmt: skip

VISIBLE = 1.0  # percent of the buckets: about the width of a line in the figure
LEVEL = 1e-4  # significance level, two-sided
CLOSE = 0.1  # of the error of a random guess
MUCH = 10.0  # percent of the buckets

Outcome = Literal["holds", "fails", "undecided"]
Kind = Literal["never worse", "match", "better", "hard", "near blind", "overlap", "far"]
Values = NDArray[np.float64]
BOTH = ("actual", "flexible")


# Checks


@dataclass(frozen=True, kw_only=True, eq=False)
class Check:
    """The comparison mean ≤ bound over the data sets of one experiment, or |mean| ≤ bound if ``two_sided``."""

    about: str
    values: Values
    bound: float
    two_sided: bool = False

    @cached_property
    def mean(self) -> float:
        """Mean over data sets."""
        return float(self.values.mean())

    @cached_property
    def error(self) -> float:
        """Standard error of the mean; paired, since the values are differences on the same data sets."""
        return float(self.values.std(ddof=1) / math.sqrt(len(self.values)))

    @property
    def excess(self) -> float:
        """Distance of the mean beyond the bound; negative within it."""
        return (abs(self.mean) if self.two_sided else self.mean) - self.bound

    @cached_property
    def outcome(self) -> Outcome:
        """Result of the t-test."""
        margin = _t_quantile(len(self.values) - 1) * self.error
        if self.excess + margin <= 1e-9:  # tolerance for sums of rounded decimals
            return "holds"
        return "fails" if self.excess - margin > 1e-9 else "undecided"


@lru_cache(maxsize=8)
def _t_quantile(freedom: int) -> float:
    """Return the two-sided t-quantile at ``LEVEL``."""
    with extra("lab", "scipy", "judging an experiment"):
        from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - LEVEL / 2))


@lru_cache(maxsize=16)
def _blind_errors(experiment: Experiment, settings: Settings) -> Values:
    return np.array([blind_error(case) for case in data_sets(experiment, settings)])


# Claims as data

ROLES = {  # a role in a statement, and the mechanisms that it may mean
    "OURS": ("dropping", "stlap"),
    "BNS": ("bns", "bns_swap"),
    "SANPOINTS": ("sanpoints", "sanpoints_halting"),
}


class Contrast(NamedTuple):
    """One comparison in one experiment: ``one`` and ``two`` are mechanisms or roles."""

    kind: Kind
    experiment: str
    one: str
    two: str = ""
    measures: tuple[str, ...] = BOTH

    def checks(self, study: Study, meant: Mapping[str, str], epsilon: Fraction) -> list[Check]:
        """Return the checks on a study at an ε, with mechanisms in place of roles."""
        one, two = meant.get(self.one, self.one), meant.get(self.two, self.two)

        def errors(name: str, of: str) -> Values:
            return np.array(getattr(study.cell(self.experiment, name, epsilon), of))

        def check(about: str, values: Values, bound: float, two_sided: bool = False) -> Check:
            return Check(about=f"({self.experiment}) {about}", values=values, bound=bound, two_sided=two_sided)

        match self.kind:
            case "never worse" | "match":
                gaps = [(of, errors(one, of) - errors(two, of)) for of in self.measures]
                return [check(f"{one} − {two}, {of}", gap, VISIBLE, self.kind == "match") for of, gap in gaps]
            case "better":  # in the kind of error that differs more
                gap, of = min(
                    ((errors(one, of) - errors(two, of), of) for of in BOTH), key=lambda it: float(it[0].mean())
                )
                return [check(f"{one} − {two}, {of}", gap, -VISIBLE)]
            case "overlap":
                gap = errors(one, "actual") - errors(one, "flexible")
                return [check(f"{one}, actual − flexible", gap, VISIBLE, two_sided=True)]
            case "far":
                return [check(f"{MUCH:g} − {one}, flexible", MUCH - errors(one, "flexible"), 0.0)]
        (experiment,) = (each for each in study.experiments if each.name == self.experiment)
        blind = _blind_errors(experiment, study.settings)
        if self.kind == "hard":
            return [check(f"half a random guess − {one}, actual", blind / 2 - errors(one, "actual"), 0.0)]
        bound = CLOSE * float(blind.mean())
        return [check(f"{one} − random guess, actual", errors(one, "actual") - blind, bound, two_sided=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement of the paper: its wording (ours), its meaning as an inequality, and its comparisons."""

    name: str
    says: str
    means: str
    comparisons: tuple[Contrast, ...]

    @property
    def named(self) -> set[str]:
        """Mechanisms and roles that it speaks of."""
        return {name for each in self.comparisons for name in (each.one, each.two) if name}

    def readings(self) -> list[dict[str, str]]:
        """Return the readings that the statement depends on: a mechanism for each of its roles."""
        roles = [role for role in ROLES if role in self.named]
        return [dict(zip(roles, meant, strict=True)) for meant in product(*(ROLES[role] for role in roles))]

    def is_covered_by(self, study: Study, meant: Mapping[str, str]) -> bool:
        """Return True if the study has all that the statement speaks of."""
        mechanisms = {meant.get(name, name) for name in self.named}
        experiments = {each.experiment for each in self.comparisons}
        return mechanisms <= set(study.mechanisms) and experiments <= {each.name for each in study.experiments}


_OTHERS = ("em", "ptr", "ss")
_EVERY = (*ROLES["OURS"], *ROLES["BNS"], *_OTHERS, *ROLES["SANPOINTS"])


def _claim(name: str, says: str, means: str, *comparisons: Contrast) -> Claim:
    return Claim(name=name, says=says, means=means, comparisons=comparisons)


def _matches(experiment: str) -> Claim:
    return _claim(
        f"match-{experiment}",
        f"In experiment ({experiment}) BNS matches the new mechanism.",
        f"|ours − BNS| ≤ {VISIBLE:g}, actual and flexible",
        Contrast("match", experiment, "OURS", "BNS"),
    )


def _dominates(experiment: str) -> Claim:
    return _claim(
        f"dominates-{experiment}",
        f"In experiment ({experiment}) the new mechanism dominates all others in both kinds of error.",
        f"ours − other ≤ {VISIBLE:g}, actual and flexible, for BNS, em, ptr, ss and sanpoints",
        *(Contrast("never worse", experiment, "OURS", other) for other in ("BNS", *_OTHERS, "SANPOINTS")),
    )


def _beats(experiment: str) -> Claim:
    return _claim(
        f"beats-{experiment}",
        f"In experiment ({experiment}), unlike in (2) and (3), the new mechanism beats BNS.",
        f"BNS − ours ≥ {VISIBLE:g}, in actual or flexible error, whichever differs more",
        Contrast("better", experiment, "OURS", "BNS"),
    )


def _is_uninformative(name: str, says: str) -> Claim:
    means = f"its actual error is within {CLOSE:.0%} of that of a random guess"
    return _claim(name, says, means, *(Contrast("near blind", experiment, name) for experiment in EXPERIMENTS))


CLAIMS: tuple[Claim, ...] = (
    _claim(
        "hard-2",
        "Experiment (2) is hard for every mechanism unless flexible accuracy is taken into account.",
        "each actual error is at least half that of a random guess",
        *(Contrast("hard", "2", name) for name in _EVERY),
    ),
    _claim(
        "overlap-3",
        "In experiment (3) flexible accuracy makes no difference: the two curves of each mechanism overlap.",
        f"|actual − flexible| ≤ {VISIBLE:g} for each mechanism",
        *(Contrast("overlap", "3", name) for name in _EVERY),
    ),
    *map(_matches, "23"),
    *map(_dominates, "1456"),
    *map(_beats, "1456"),
    _claim(
        "esa",
        "Encode-shuffle-analyze behaves virtually the same as the new mechanism in all experiments.",
        f"|ours − esa| ≤ {VISIBLE:g}, actual and flexible, in all six",
        *(Contrast("match", experiment, "OURS", "esa") for experiment in EXPERIMENTS),
    ),
    _is_uninformative("em", "The exponential mechanism is close to a uniformly random choice in all plots."),
    _is_uninformative("ptr", "Propose-test-release finds little stability and mostly returns a random answer."),
    _claim(
        "ss",
        "Smooth sensitivity has to add a lot of noise for max_k and mode.",
        "in (3) to (6) its actual error is at least half that of a random guess",
        *(Contrast("hard", experiment, "ss") for experiment in "3456"),
    ),
    _claim(
        "bns-max",
        "For max, BNS has about the same flexible accuracy as the new mechanism.",
        f"|ours − BNS| ≤ {VISIBLE:g}, flexible, in (1) and (2)",
        *(Contrast("match", experiment, "OURS", "BNS", ("flexible",)) for experiment in "12"),
    ),
    _claim(
        "bns-max-k",
        "In experiment (4) BNS very likely returns a bucket far beyond the point where the counts drop below k.",
        f"its flexible error is at least {MUCH:g} on average",
        Contrast("far", "4", "BNS"),
    ),
    _claim(
        "sanpoints",
        "SanPoints varies from case to case, but BNS and the new mechanism dominate it.",
        f"ours − sanpoints ≤ {VISIBLE:g} and BNS − sanpoints ≤ {VISIBLE:g}, actual and flexible, in all six",
        *(Contrast("never worse", name, one, "SANPOINTS") for name in EXPERIMENTS for one in ("OURS", "BNS")),
    ),
)


# Verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on a statement under one reading.

    Parameters
    ----------
    claim
        The statement.
    meant
        The reading: a mechanism for each role in the statement.
    outcomes
        "holds", "fails" or "undecided" at each ε.
    failing
        The ε at which each comparison fails.
    closest
        At each ε, the comparison furthest beyond its bound, or closest to it.

    Examples
    --------
    >>> from flexdp.experiments import EXPERIMENTS, Settings, choose_mechanisms, run
    >>> both, small = choose_mechanisms(["dropping", "bns"]), Settings(runs=10, datasets=2)
    >>> study = run([EXPERIMENTS["2"]], both, [Fraction(1)], small)
    >>> found = judge(study)[0]
    >>> found.claim.name, found.reading, found.verdict
    ('match-2', 'dropping, bns', 'holds')
    """

    claim: Claim
    meant: dict[str, str]
    outcomes: dict[Fraction, Outcome]
    failing: dict[str, list[Fraction]]
    closest: dict[Fraction, Check]

    @property
    def reading(self) -> str:
        """The reading in words; empty if there is only one."""
        return ", ".join(self.meant.values())

    @property
    def verdict(self) -> str:
        """Summary: "holds", "fails", or the ε for each."""
        return summarise(self.outcomes)

    @property
    def worst(self) -> str:
        """The comparison furthest beyond its bound, or closest to it, with its paired standard error."""
        epsilon, check = max(self.closest.items(), key=lambda pair: pair[1].excess)
        mean = f"{check.mean:.2f}".replace("-0.00", "0.00").replace("-", "−")
        return f"{check.about}, ε = {number_text(epsilon)}: {mean} ± {check.error:.2f}"

    @property
    def why(self) -> str:
        """The comparisons that fail, with their ε; empty if none does."""
        every = list(self.outcomes)
        told = (f"{about}: fails for ε {format_epsilons(found, every)}" for about, found in self.failing.items())
        return "; ".join(told)


def summarise(outcomes: Mapping[Fraction, str]) -> str:
    """Summarise the outcomes at all ε.

    >>> from fractions import Fraction as F
    >>> summarise({F(1, 10): "holds", F(1): "fails", F(2): "fails"})
    'holds for ε = 0.1; fails for ε = 1, 2'
    """
    kinds, every = set(outcomes.values()), list(outcomes)
    if len(kinds) == 1:
        return next(iter(kinds))
    words = [word for word in ("holds", "fails", "undecided") if word in kinds]
    found = {word: [epsilon for epsilon, outcome in outcomes.items() if outcome == word] for word in words}
    return "; ".join(f"{word} for ε {format_epsilons(epsilons, every)}" for word, epsilons in found.items())


def format_epsilons(found: Sequence[Fraction], every: Sequence[Fraction]) -> str:
    """Format a set of ε; three or more neighbours in the grid become a range.

    >>> grid = [Fraction(n, 10) for n in (1, 2, 3, 4, 5)]
    >>> format_epsilons(grid[:3] + grid[4:], grid)
    '= 0.1–0.3, 0.5'
    """
    stretches: list[list[int]] = []
    for place in (every.index(epsilon) for epsilon in found):
        if stretches and stretches[-1][-1] == place - 1:
            stretches[-1].append(place)
        else:
            stretches.append([place])
    texts: list[str] = []
    for stretch in stretches:
        ends = [number_text(every[place]) for place in stretch]
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
    >>> from flexdp.experiments import EXPERIMENTS, Settings, choose_mechanisms, run
    >>> both, small = choose_mechanisms(["dropping", "bns"]), Settings(runs=10, datasets=2)
    >>> study = run([EXPERIMENTS["2"]], both, [Fraction(1)], small)
    >>> [(each.claim.name, each.verdict) for each in judge(study)]
    [('match-2', 'holds')]
    """
    return [
        _judge_one(claim, study, meant)
        for claim in (CLAIMS if claims is None else claims)
        for meant in claim.readings()
        if claim.is_covered_by(study, meant)
    ]


def _judge_one(claim: Claim, study: Study, meant: dict[str, str]) -> Judgement:
    outcomes: dict[Fraction, Outcome] = {}
    failing: dict[str, list[Fraction]] = {}
    closest: dict[Fraction, Check] = {}
    for epsilon in study.epsilons:
        checks = [check for each in claim.comparisons for check in each.checks(study, meant, epsilon)]
        found = {check.outcome for check in checks}
        outcomes[epsilon] = "fails" if "fails" in found else "undecided" if "undecided" in found else "holds"
        closest[epsilon] = max(checks, key=lambda check: check.excess)
        for check in checks:
            if check.outcome == "fails":
                failing.setdefault(check.about, []).append(epsilon)
    return Judgement(claim=claim, meant=meant, outcomes=outcomes, failing=failing, closest=closest)


def verdicts_csv(judged: Iterable[Judgement]) -> str:
    """Return ``verdicts.csv``: one line for each statement, reading and ε."""
    head = ["claim", *map(str.lower, ROLES), "epsilon", "outcome", "comparison", "mean", "se", "bound"]
    lines = (
        [*_reading_cells(each), number_text(epsilon), outcome, *_check_cells(each.closest[epsilon])]
        for each in judged
        for epsilon, outcome in each.outcomes.items()
    )
    return write_csv([head, *lines])


def _reading_cells(judgement: Judgement) -> list[str]:
    return [judgement.claim.name, *(judgement.meant.get(role, "") for role in ROLES)]


def _check_cells(check: Check) -> list[str]:
    bound = ("± " if check.two_sided else "≤ ") + f"{check.bound:.4f}"
    return [check.about, f"{check.mean:.4f}", f"{check.error:.4f}", bound]


# Sensitivity of the verdicts to details that the paper leaves open: the study again, one switch at a time


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
        laws = [experiment.switch(binning=its.binning, noise=its.step_noise).law for its in (self.settings, base)]
        return laws[0] != laws[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A verdict that a switch reverses at some ε: from holds to fails, or from fails to holds."""

    judgement: Judgement
    variant: str
    now: dict[str, list[Fraction]]  # the new outcome, and the ε that have it

    def __str__(self) -> str:
        every = list(self.judgement.outcomes)
        told = (f"{word} for ε {format_epsilons(found, every)}" for word, found in self.now.items() if found)
        return f"{self.variant}: now {' and '.join(told)}"


def list_variants(base: Settings) -> Iterator[Variant]:
    """Yield every switch in every other position."""
    positions = {
        "empty": ("zero", "random"),
        "binning": ("floor", "nearest"),
        "step_noise": (StepNoise(), StepNoise("uniform", 5), StepNoise("poisson")),
        "ties": ("smallest", "largest", "random"),
    }
    for switch, values in positions.items():
        for value in values:
            settings: Settings = replace(base, **{switch: value})  # type: ignore[arg-type]
            if settings != base:
                yield Variant(name=f"{switch.replace('_', '-')}={value}", settings=settings)


def vary(study: Study, mechanisms: Sequence[Contender], variant: Variant, *, progress: Progress | None = None) -> Study:
    """Return the study under a variant; the cells of experiments that the switch does not affect are reused."""
    reached = [each for each in study.experiments if variant.reaches(each, study.settings)]
    if not reached:
        return replace(study, settings=variant.settings)
    again = run(reached, mechanisms, study.epsilons, variant.settings, progress=progress)
    found = {cell.key: cell for cell in again.cells}
    return replace(study, settings=variant.settings, cells=tuple(found.get(each.key, each) for each in study.cells))


def find_flips(judged: Sequence[Judgement], variant: str, varied: Study) -> Iterator[Flip]:
    """Yield the verdicts that the variant reverses; to or from undecided does not count."""
    other = {(each.claim.name, each.reading): each.outcomes for each in judge(varied)}
    for each in judged:
        after = other[each.claim.name, each.reading]
        turned = {"holds": "fails", "fails": "holds"}
        now = {
            word: [epsilon for epsilon, was in each.outcomes.items() if was == turned[word] and after[epsilon] == word]
            for word in turned
        }
        if any(now.values()):
            yield Flip(judgement=each, variant=variant, now=now)


def flips_csv(flips: Iterable[Flip]) -> str:
    """Return ``sensitivity.csv``: one line for each reversed verdict and ε."""
    lines = (
        [*_reading_cells(each.judgement), each.variant, number_text(epsilon), now]
        for each in flips
        for now, found in each.now.items()
        for epsilon in found
    )
    return write_csv([["claim", *map(str.lower, ROLES), "switch", "epsilon", "now"], *lines])
