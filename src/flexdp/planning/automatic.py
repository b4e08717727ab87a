"""Automatic buckets before they are chosen: shares, reach and number at every ε, and trials on a law or a sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import exact_text, number_text
from flexdp._core.text import plural, thousands
from flexdp._release.asking import BOTH_ENDS, ends_of, scale_of, share_of_ends
from flexdp.buckets.exact import Exact
from flexdp.calculus.privacy import of_each_release
from flexdp.errors import Phrase
from flexdp.guarantees import Privacy
from flexdp.planning.answers import AskedOutlook
from flexdp.planning.bounds import AskedOption
from flexdp.planning.groups import NO_GROUPS, Groups
from flexdp.planning.options import FAR, LADDER, Option, curve_steps
from flexdp.planning.trials import Sample, column_words, trial_bits
from flexdp.sharp.automatic import Automatic, automatic_buckets
from flexdp.sharp.program import run
from flexdp.sharp.shares import Shares, shares
from flexdp.sharp.steps import calendar_steps, decimal_steps

__all__ = ["AutomaticOutlook", "ExpectedBuckets", "distribution_distance"]

RUNS = 20
_FEW, _FEW_FOR_BARS = 100, 400  # n̂·ε of any answer, and of buckets


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedBuckets:
    """Automatic buckets in seeded trials.

    Parameters
    ----------
    source
        Origin of the values: a law or a public sample.
    trials, seed
        Number of trials, and their seed.
    share, most_share
        Share of the records left out, on average and in the worst trial.
    buckets
        Number of released buckets, on average.
    distance, most_distance
        Largest distance of the released distribution function from the exact one, on average and in the worst trial;
        None where no trial had buckets.
    """

    source: str
    trials: int
    seed: int
    share: float | None
    most_share: float | None
    buckets: float | None
    distance: float | None
    most_distance: float | None

    def __str__(self) -> str:
        if self.share is None or self.most_share is None or self.buckets is None:
            return f"In {self.trials} trials on {self.source} there were too few records for buckets."
        told = (
            f"In {self.trials} trials on {self.source}: {_percent(self.share)} of the records left out on average "
            f"({_percent(self.most_share)} at most), {round(self.buckets)} buckets released"
        )
        if self.distance is None or self.most_distance is None:
            return f"{told}."
        return (
            f"{told}; the distribution function is off by {self.distance:.2g} at its worst place on average "
            f"({self.most_distance:.2g} at most)."
        )


@dataclass(frozen=True, kw_only=True)
class AutomaticOutlook:
    """A plan of automatic buckets. It reads no private data.

    Parameters
    ----------
    buckets
        Kind and bounds of the column.
    delta
        δ of everything planned.
    records
        Approximate number of records.
    releases
        Number of releases that share ε and δ.
    sample
        Values for trials; None without.
    seed
        Seed of the trials.
    groups
        The groups, which share the edges.

    Examples
    --------
    >>> from flexdp import plan
    >>> advice = plan(epsilon=1, delta="1e-6", records_about=100_000)
    >>> divided = advice.sharp.shares(advice.epsilon)
    >>> float(divided.share), divided.levels, divided.reach, divided.most_buckets
    (0.17, 5, 47, 42)
    >>> round(advice.sharp.lost(divided), 5), advice.command
    (0.00966, 'flexdp release FILE COLUMN --epsilon 1 --delta 1e-06 --kind number')
    """

    buckets: Exact
    delta: Fraction
    records: int
    releases: int = 1
    sample: Sample | None = None
    seed: int = 0
    groups: Groups = NO_GROUPS
    pure: ClassVar[bool] = False  # whether it needs no δ

    def _each(self, epsilon: Fraction) -> Privacy:
        return of_each_release(Privacy(epsilon=epsilon, delta=self.delta), self.releases)

    def ends_share(self, epsilon: Fraction) -> Fraction:
        """Return the share of ε for the minimum and the maximum; groups and bounds leave none to it."""
        if self.groups.by or self.buckets.bounds is not None:
            return Fraction(0)
        return share_of_ends(self._each(epsilon).epsilon)

    def ends(self, epsilon: Fraction) -> AskedOption | None:
        """Return the bounds of minimum and maximum at one ε; None where there are none."""
        share = self.ends_share(epsilon)
        if not share:
            return None
        asked = AskedOutlook(asked=BOTH_ENDS, buckets=self.buckets, records=self.records, releases=self.releases)
        return asked.option(epsilon * share)

    def _bucketing(self, epsilon: Fraction) -> Fraction:
        """ε of the buckets of one release: what the ends leave."""
        return self._each(epsilon).epsilon * (1 - self.ends_share(epsilon))

    def shares(self, epsilon: Fraction) -> Shares | None:
        """Return the division of the buckets' budget at one ε; None where there are too few records for them."""
        own = self._bucketing(epsilon)
        if self.records * own < _FEW_FOR_BARS:
            return None
        return shares(self.records, own, self._each(epsilon).delta)

    def lost(self, divided: Shares) -> float:
        """Return the share of the records that is left out where all B buckets of G groups are full: GB·(q − 1)/2n."""
        full = divided.most_buckets * (self.groups.about or 1)
        return min(1.0, full * (divided.reach - 1) / 2 / self.records)

    def answers_none(self, epsilon: Fraction, margin: int = 1) -> bool:
        """Tell whether there are too few records even for answers in the place of buckets."""
        return self.records * self._each(epsilon).epsilon < margin * _FEW

    def options(self, chosen: Fraction | None) -> tuple[Option, ...]:
        """Return the usual ε with buckets, and the chosen one, each with the most that a bucket loses."""
        found = []
        for epsilon in sorted({*LADDER} if chosen is None else {*LADDER, chosen}):
            divided = self.shares(epsilon)
            if divided is not None:
                drop = divided.reach - 1
                found.append(
                    Option(
                        epsilon=epsilon,
                        max_drop=drop,
                        survives_from=divided.reach,
                        total=drop * divided.most_buckets * (self.groups.about or 1),
                        alpha=None,
                        certainty=Privacy(epsilon=epsilon, delta=self.delta).certainty,
                        meets=None,
                    )
                )
        return tuple(found)

    def curve(self) -> list[tuple[float, int]]:
        """Return the most records that a bucket loses as a function of ε, where there are buckets."""
        points = [(epsilon, self.shares(epsilon)) for epsilon in curve_steps()]
        return [
            (float(epsilon), divided.reach - 1)
            for epsilon, divided in points
            if divided is not None and divided.reach <= FAR
        ]

    def table(self, chosen: Fraction | None) -> tuple[list[str], list[list[str]]]:
        """Return the options as a table of text."""
        rows: list[list[str]] = []
        for epsilon in sorted({*LADDER} if chosen is None else {*LADDER, chosen}):
            divided, certainty = self.shares(epsilon), Privacy(epsilon=epsilon, delta=self.delta).certainty
            cells = ["–", "–", "–", "–", "–"]
            if divided is not None:
                cells = [
                    f"{float(100 * divided.share * (1 - self.ends_share(epsilon))):.2g}%",
                    str(divided.levels),
                    f"≤ {divided.most_buckets}",
                    thousands(divided.reach - 1),
                    f"≈ {_percent(self.lost(divided))}",
                ]
            rows.append(["→" if epsilon == chosen else "", number_text(epsilon), *cells, f"≤ {certainty}"])
        names = [
            "", "ε", "ε for edges", "tree levels", "number of buckets", "most lost per bucket", "left out on average",
            "50% sure becomes",
        ]  # fmt: skip
        return names, rows

    def expected(self, epsilon: Fraction) -> ExpectedBuckets | None:
        """Return the result of seeded trials at one ε; None without a law or a public sample."""
        if self.sample is None:
            return None
        each = self._each(epsilon)
        return _tried(self.sample, self.buckets, self._bucketing(epsilon), each.delta, self.seed)

    def notes(self, chosen: Fraction | None) -> list[str]:
        """Return what the columns mean, and the result of the trials at the chosen ε."""
        told = [
            "Edges are chosen privately with a part of ε. A bucket loses at most what is stated and half of it on "
            "average; the share left out is that of as many full buckets."
        ]
        ends = None if chosen is None or self.shares(chosen) is None else self.ends(chosen)
        if chosen is not None and ends is not None:
            most = max(each.bound or 0 for each in ends.bounds)
            told.append(
                f"Minimum and maximum get {_percent(float(self.ends_share(chosen)))} of ε: at most "
                f"{plural(most, 'record', thousands)} beyond each, with 95% probability."
            )
        found = None if chosen is None else self.expected(chosen)
        return told if found is None else [*told, str(found)]

    @property
    def heading(self) -> str:
        """The buckets, in words."""
        return "automatic buckets"

    def cautions(self, chosen: Fraction | None) -> list[Phrase]:
        """Return warnings about the chosen ε."""
        if chosen is None:
            return []
        divided = self.shares(chosen)
        if divided is not None:
            group = self.groups.of_each(self.records)
            if not self.groups.by or group >= divided.most_buckets * divided.reach:
                return []
            return [
                f"groups share their buckets. {plural(group, 'record', thousands)} of a group in up to "
                f"{divided.most_buckets} buckets are few: a bucket of a group needs {divided.reach} to be certain to "
                "survive. Ask for answers instead, or choose a larger ε."
            ]
        about = plural(self.records, "record", thousands)
        each = self._each(chosen).epsilon
        needed = thousands(math.ceil(_FEW_FOR_BARS / self._bucketing(chosen)))
        if self.groups.by:
            return [f"{about} are too few for buckets at this ε: about {needed} are needed."]
        if self.records * each < _FEW:
            least = thousands(math.ceil(_FEW / each))
            return [
                f"{about} are too few for any answer at this ε: about {least} are needed, and {needed} for buckets."
            ]
        return [f"{about} are too few for buckets at this ε: about {needed} are needed. Five answers take their place."]

    @property
    def words(self) -> list[str]:
        """The options of the command."""
        return column_words(self.buckets, told=True)

    def document(self, chosen: Fraction | None) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        options = []
        for epsilon in sorted({*LADDER} if chosen is None else {*LADDER, chosen}):
            divided = self.shares(epsilon)
            if divided is not None:
                options.append(
                    {
                        "epsilon": exact_text(epsilon),
                        "share": exact_text(divided.share * (1 - self.ends_share(epsilon))),
                        "share_of_ends": exact_text(self.ends_share(epsilon)),
                        "levels": divided.levels,
                        "q": divided.reach,
                        "most_buckets": divided.most_buckets,
                        "left_out": self.lost(divided),
                    }
                )
        found = None if chosen is None else self.expected(chosen)
        return {"automatic": {"options": options, "expected": None if found is None else asdict(found)}}


@lru_cache(maxsize=16)
def _tried(sample: Sample, buckets: Exact, epsilon: Fraction, delta: Fraction, seed: int) -> ExpectedBuckets:
    column, kind, ends = sample.column, buckets.kind, ends_of(buckets)
    scale = scale_of(kind)
    day = {"date": 1, "datetime": 86_400_000_000}.get(kind)
    steps = decimal_steps(scale) if day is None else calendar_steps(day)
    lost, many, distances = [], [], []
    for trial in range(RUNS):
        bits = trial_bits(seed, "automatic", exact_text(epsilon), trial)
        found = run(automatic_buckets(epsilon, delta, scale, steps=steps, ends=ends), column, bits).value
        if found.bars:
            lost.append(1 - sum(found.bars) / len(sample.values))
            many.append(sum(bar > 0 for bar in found.bars))
            distances.append(distribution_distance(sample.values, found))
    known = [each for each in distances if each is not None]
    return ExpectedBuckets(
        source=sample.source,
        trials=RUNS,
        seed=seed,
        share=float(np.mean(lost)) if lost else None,
        most_share=max(lost, default=None),
        buckets=float(np.mean(many)) if many else None,
        distance=float(np.mean(known)) if known else None,
        most_distance=max(known, default=None),
    )


def distribution_distance(values: NDArray[Any], found: Automatic) -> float | None:
    """Return the largest distance of the released distribution function from that of the values.

    Counts get the mean loss back. A bucket is linear inside, of integers over the integers, and a single value is a
    jump; an open end falls off exponentially and continues the density of its neighbour.

    Parameters
    ----------
    values
        All values, ascending.
    found
        Released automatic buckets.

    Returns
    -------
    float or None
        None without edges, or where nothing was released.
    """
    if found.shares is None or not found.edges or not sum(found.bars):
        return None
    added = (found.shares.reach - 1) / 2
    counts = np.array([bar + added if bar else 0.0 for bar in found.bars])
    running = np.concatenate(([0.0], np.cumsum(counts))) / counts.sum()
    scale = found.scale
    edges = np.array([float(scale.value(edge)) for edge in found.edges])
    distinct, firsts = np.unique(values.astype(np.float64), return_index=True)
    below = firsts / len(values)
    upto = np.append(below[1:], 1.0)
    grain = 1.0 if scale.integral else 0.0  # an integer holds the mass up to the next
    place = np.searchsorted(edges, distinct, side="right")
    before = _estimated(distinct, place, edges, running)
    after = _estimated(distinct + grain, place, edges, running)
    jumps = _jumps(found.edges, place)
    after[jumps] = running[place[jumps] + 1]
    return float(max(np.abs(before - below).max(), np.abs(after - upto).max()))


def _jumps(edges: Sequence[int], place: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Values that are a bucket of their own."""
    single = np.array([False, *(high - low == 1 for low, high in pairwise(edges)), False])
    return single[place]


def _estimated(
    x: NDArray[np.float64], place: NDArray[np.int64], edges: NDArray[np.float64], running: NDArray[np.float64]
) -> NDArray[np.float64]:
    last = len(edges)
    inner = np.clip(place, 1, max(1, last - 1))
    low, high = edges[inner - 1], edges[np.minimum(inner, last - 1)]
    width = np.where(high > low, high - low, 1.0)
    found = running[inner] + (running[inner + 1] - running[inner]) * np.clip((x - low) / width, 0, 1)
    for end, side in ((0, -1), (last, 1)):
        mass = running[end + 1] - running[end]
        edge = edges[0 if side < 0 else -1]
        span, beside = _neighbour(edges, running, side)
        scale = min(max(mass / beside if beside else math.inf, span / 20), 20 * span) if span else 1.0
        away = np.exp(-np.maximum(side * (x - edge), 0) / scale)
        tail = running[end] + mass * away if side < 0 else running[end] + mass * (1 - away)
        found = np.where(place == end, tail, found)
    return found


def _neighbour(edges: NDArray[np.float64], running: NDArray[np.float64], side: int) -> tuple[float, float]:
    """The width and the density of the bucket beside an open end."""
    if len(edges) < 2:
        return 0.0, 0.0
    span = float(edges[1] - edges[0] if side < 0 else edges[-1] - edges[-2])
    mass = float(running[2] - running[1] if side < 0 else running[-2] - running[-3])
    return span, mass / span if span else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"
