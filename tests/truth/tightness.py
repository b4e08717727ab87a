"""How wide bounds are: certain ones against all tables that the release allows, likely ones against errors seen."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from flexdp._release.claims import Between as Ranks
from flexdp._release.claims import Beyond, Claim
from flexdp.statistics import Count, Mean, Median, Quantile, Sum
from truth.answers import answers_of
from truth.judging import judge
from truth.raw import Raw, on_line
from truth.running import SALT, Case


@dataclass
class Seen:
    """Bounds of one likely claim over many releases of a table, and the errors that it bounded."""

    bounds: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def missed(self) -> int:
        """Return how often the error was larger than the bound."""
        return self._larger_than(1)

    def needed(self, part: Fraction | int = 4) -> int:
        """Return how often the error was larger than a part of the bound: seldom, where the bound is too wide."""
        return self._larger_than(part)

    def _larger_than(self, part: Fraction | int) -> int:
        return sum(part * error > bound for error, bound in zip(self.errors, self.bounds, strict=True))


def likely_bounds(cases: Sequence[Case], grain: float) -> dict[tuple[str, type], Seen]:
    """Return the likely claims of releases of one table by one request, by answer and quantity.

    An error below one record or one grain counts as one.
    """
    found: dict[tuple[str, type], Seen] = defaultdict(Seen)
    raws: dict[Any, Raw] = {}
    for case in cases:
        partition = case.release.spec.partitions[0]
        if partition not in raws:
            raws[partition] = Raw(case.table, case.request, case.release, SALT)
        raw = raws[partition]
        for answer in answers_of(case.release):
            about = next((claim.lower for claim in answer.claims if claim.relation == "is about"), None)
            for claim in answer.claims:
                verdict = None if claim.is_certain else judge(claim, raw)
                if verdict is None:
                    continue
                one = found[answer.name, type(claim.quantity)]
                if isinstance(claim.quantity, Beyond | Ranks):
                    one.bounds.append(float(claim.upper))
                    one.errors.append(max(1.0, float(verdict.truth[0])))
                elif claim.lower is not None and claim.upper is not None and about is not None:
                    one.bounds.append(float(on_line(claim.upper) - on_line(claim.lower)) / 2)
                    one.errors.append(max(grain, abs(float(verdict.truth[0] - on_line(about)))))
    return found


def too_wide(claim: Claim, case: Case) -> bool | None:
    """Tell whether a certain interval is more than twice as wide as all the tables allow that can have been released.

    A released bucket held its count and up to D more, any other public bucket up to D, and the values lay anywhere in
    their buckets. None where that is not how the interval came about.
    """
    widest = _widest(claim, case)
    if widest is None or claim.lower is None or claim.upper is None:
        return None
    width = on_line(claim.upper, last=True) - on_line(claim.lower)
    return bool(width > 2 * widest + abs(on_line(claim.upper)) / 10**4)


def _widest(claim: Claim, case: Case) -> Any:
    release, part = case.release, claim.population.part
    if release.spec.by and part.group is None:
        return None
    partition = release.spec.partitions[0]
    if partition.count is None or partition.count > 3000 or release.budget is None:
        return None
    drop = release.max_drop
    ends = list(_ends_of(partition, claim.population.limits))
    if any(math.isinf(end) for pair in ends for end in pair):
        return None
    counts = [0] * len(ends)
    for row, count in zip(release.cells.rows(slice(None)), release.cells.counts.tolist(), strict=True):
        if part.group in (None, tuple(row[:-1])):
            counts[int(row[-1]) - partition.first] = count
    if isinstance(claim.quantity, Count):
        return drop * len(counts)
    if isinstance(claim.quantity, Sum):
        most = sum(n * high + drop * max(high, 0) for n, (_, high) in zip(counts, ends, strict=True))
        return most - sum(n * low + drop * min(low, 0) for n, (low, _) in zip(counts, ends, strict=True))
    if isinstance(claim.quantity, Mean):
        return _mean(counts, ends, drop, 1) - _mean(counts, ends, drop, -1)
    if isinstance(claim.quantity, Median | Quantile):
        level = Fraction(1, 2) if isinstance(claim.quantity, Median) else Fraction(claim.quantity.level)
        return _quantile(counts, ends, drop, level, 1) - _quantile(counts, ends, drop, level, -1)
    return None


def _ends_of(partition: Any, limits: Any) -> Iterator[tuple[Any, Any]]:
    import numpy as np

    places = np.arange(partition.first, partition.first + partition.count)
    for bucket in partition.edges_of(places):
        low, high = on_line(bucket.lower), on_line(bucket.upper, last=True)
        if limits is not None:
            low, high = max(low, on_line(limits[0])), min(high, on_line(limits[1], last=True))
        yield low, high


def _mean(counts: list[int], ends: Sequence[tuple[Any, Any]], drop: int, side: int) -> Any:
    """The extreme mean: the best number of the outermost buckets hold all the records that they can have lost."""
    spots = [high if side > 0 else low for low, high in ends]
    order = sorted(range(len(spots)), key=lambda i: -side * spots[i])
    total, records = sum(n * spot for n, spot in zip(counts, spots, strict=True)), sum(counts)
    best = total / records if records else spots[order[0]]
    for place in order:
        total, records = total + drop * spots[place], records + drop
        best = max(best, total / records) if side > 0 else min(best, total / records)
    return best


def _quantile(counts: list[int], ends: Sequence[tuple[Any, Any]], drop: int, level: Fraction, side: int) -> Any:
    """The furthest bucket that a quantile can lie in, where all that can be added lies on its one side."""
    found = None
    order = range(len(counts)) if side > 0 else range(len(counts) - 1, -1, -1)
    for place in order:
        if side > 0:  # nothing is added below the bucket
            below, rest = sum(counts[:place]), sum(counts[place:]) + drop * (len(counts) - place)
            if rest and (below < level * (below + rest) or not below):
                found = ends[place][1]
        else:  # nothing is added above it
            reached, rest = sum(counts[: place + 1]) + drop * (place + 1), sum(counts[place + 1 :])
            if reached and reached >= level * (reached + rest):
                found = ends[place][0]
    return found
