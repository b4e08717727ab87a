"""The paper's statements about its figure, turned into inequalities.

Each statement is a list of checks at each ε (see ``checks``). Its words are made precise once, here. Differences of at
most ``VISIBLE`` percent of the number of buckets, about the width of a line in the figure, do not count. To *dominate*
is to be visibly worse than no other mechanism. To *beat* BNS is to be visibly better, as the caption's contrast between
the two kinds of experiments implies. To *match* is to be not visibly different. *Hard* means an error of at least half
that of a random guess; *close to uniform*, within a tenth of it; *far beyond*, at least a tenth of the buckets.

The paper's own mechanism is ``stlap``, the library's is ``dropping``; the paper's stability-based histogram may mean
either calibration, and its choosing-based histogram is described without the threshold and the rule against empty
buckets that its source has. A *reading* is one choice of these; a statement is judged under each reading that it
depends on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from flexdp.experiments.checks import CLOSE, VISIBLE, Check, better, hard, match, near_blind, never_worse, values
from flexdp.experiments.paper import EXPERIMENTS
from flexdp.experiments.runner import Study

__all__ = ["CLAIMS", "MUCH", "Claim", "Reading"]

MUCH = 10.0  # percent of the buckets
OURS = ("dropping", "stlap")
CALIBRATIONS = ("bns", "bns_swap")
CHOOSING = ("sanpoints", "sanpoints_halting")
OTHERS = ("em", "ptr", "ss")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The mechanism meant by "the new mechanism", the calibration meant by "BNS", and the rules meant by SanPoints."""

    ours: str
    bns: str
    sanpoints: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement of the paper: its wording (ours), its meaning as an inequality, and its checks."""

    name: str
    says: str
    means: str
    experiments: tuple[str, ...]
    mechanisms: tuple[str, ...]  # besides the new mechanism, BNS and SanPoints
    checks: Callable[[Study, Reading, Fraction], list[Check]]
    of_ours: bool = True
    of_bns: bool = True
    of_sanpoints: bool = False

    def readings(self) -> list[Reading]:
        """Return the readings that the statement depends on."""
        ours = OURS if self.of_ours else OURS[:1]
        bns = CALIBRATIONS if self.of_bns else CALIBRATIONS[:1]
        sanpoints = CHOOSING if self.of_sanpoints else CHOOSING[:1]
        return [Reading(ours=one, bns=two, sanpoints=three) for one, two, three in product(ours, bns, sanpoints)]

    def judged_by(self, study: Study, reading: Reading) -> bool:
        """Return True if the study covers the statement."""
        needed = {*self.mechanisms}
        needed |= {reading.ours} if self.of_ours else set()
        needed |= {reading.bns} if self.of_bns else set()
        needed |= {reading.sanpoints} if self.of_sanpoints else set()
        return needed <= set(study.mechanisms) and set(self.experiments) <= {each.name for each in study.experiments}


def _dominates(experiment: str) -> Claim:
    return Claim(
        name=f"dominates-{experiment}",
        says=f"In experiment ({experiment}) the new mechanism dominates all others in both kinds of error.",
        means=f"ours − other ≤ {VISIBLE:g}, actual and flexible, for BNS, em, ptr, ss and sanpoints",
        experiments=(experiment,),
        mechanisms=OTHERS,
        checks=lambda study, reading, epsilon: [
            check
            for other in (reading.bns, *OTHERS, reading.sanpoints)
            for check in never_worse(study, experiment, reading.ours, other, epsilon)
        ],
        of_sanpoints=True,
    )


def _beats(experiment: str) -> Claim:
    return Claim(
        name=f"beats-{experiment}",
        says=f"In experiment ({experiment}), unlike in (2) and (3), the new mechanism beats BNS.",
        means=f"BNS − ours ≥ {VISIBLE:g}, in actual or flexible error, whichever differs more",
        experiments=(experiment,),
        mechanisms=(),
        checks=lambda study, reading, epsilon: [better(study, experiment, reading.ours, reading.bns, epsilon)],
    )


def _matches(experiment: str) -> Claim:
    return Claim(
        name=f"match-{experiment}",
        says=f"In experiment ({experiment}) BNS matches the new mechanism.",
        means=f"|ours − BNS| ≤ {VISIBLE:g}, actual and flexible",
        experiments=(experiment,),
        mechanisms=(),
        checks=lambda study, reading, epsilon: match(study, experiment, reading.ours, reading.bns, epsilon),
    )


def _uninformative(name: str, says: str) -> Claim:
    return Claim(
        name=name,
        says=says,
        means=f"its actual error is within {CLOSE:.0%} of that of a random guess",
        experiments=tuple(EXPERIMENTS),
        mechanisms=(name,),
        checks=lambda study, _reading, epsilon: [
            near_blind(study, experiment, name, epsilon) for experiment in EXPERIMENTS
        ],
        of_ours=False,
        of_bns=False,
    )


_EVERY = (*OURS, *CALIBRATIONS, *OTHERS, *CHOOSING)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="hard-2",
        says="Experiment (2) is hard for every mechanism unless flexible accuracy is taken into account.",
        means="each actual error is at least half that of a random guess",
        experiments=("2",),
        mechanisms=_EVERY,
        checks=lambda study, _reading, epsilon: [hard(study, "2", name, epsilon) for name in _EVERY],
        of_ours=False,
        of_bns=False,
    ),
    Claim(
        name="overlap-3",
        says="In experiment (3) flexible accuracy makes no difference: the two curves of each mechanism overlap.",
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
        says="Encode-shuffle-analyze behaves virtually the same as the new mechanism in all experiments.",
        means=f"|ours − esa| ≤ {VISIBLE:g}, actual and flexible, in all six",
        experiments=tuple(EXPERIMENTS),
        mechanisms=("esa",),
        checks=lambda study, reading, epsilon: [
            check for name in EXPERIMENTS for check in match(study, name, reading.ours, "esa", epsilon)
        ],
        of_bns=False,
    ),
    _uninformative("em", "The exponential mechanism is close to a uniformly random choice in all plots."),
    _uninformative("ptr", "Propose-test-release finds little stability and mostly returns a random answer."),
    Claim(
        name="ss",
        says="Smooth sensitivity has to add a lot of noise for max_k and mode.",
        means="in (3) to (6) its actual error is at least half that of a random guess",
        experiments=("3", "4", "5", "6"),
        mechanisms=("ss",),
        checks=lambda study, _reading, epsilon: [hard(study, name, "ss", epsilon) for name in ("3", "4", "5", "6")],
        of_ours=False,
        of_bns=False,
    ),
    Claim(
        name="bns-max",
        says="For max, BNS has about the same flexible accuracy as the new mechanism.",
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
        says="In experiment (4) BNS very likely returns a bucket far beyond the point where the counts drop below k.",
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
        says="SanPoints varies from case to case, but BNS and the new mechanism dominate it.",
        means=f"ours − sanpoints ≤ {VISIBLE:g} and BNS − sanpoints ≤ {VISIBLE:g}, actual and flexible, in all six",
        experiments=tuple(EXPERIMENTS),
        mechanisms=(),
        checks=lambda study, reading, epsilon: [
            check
            for name in EXPERIMENTS
            for better in (reading.ours, reading.bns)
            for check in never_worse(study, name, better, reading.sanpoints, epsilon)
        ],
        of_sanpoints=True,
    ),
)
