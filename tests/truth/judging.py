"""Claims judged against the raw table: each holds, fails, or speaks of nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flexdp._release.claims import (
    CERTAIN,
    Absent,
    Between,
    Beyond,
    BeyondShare,
    Claim,
    InBucket,
    InOthers,
    Invented,
    Missing,
    MissingShare,
    OutsideShare,
    Touched,
)
from flexdp._release.sentences import label
from flexdp.statistics import IQR, Count, Max, Mean, Median, Min, Quantile, Range, Statistic, Sum
from truth.raw import Item, Raw, Span, number, on_line, order_statistic, total


@dataclass(frozen=True)
class Verdict:
    """Whether a claim is true of the table, with what is true instead."""

    claim: Claim
    holds: bool
    truth: Span


def judge(claim: Claim, raw: Raw) -> Verdict | None:
    """Return the verdict on a claim; None for an estimate, or where there is nothing that it could be true of."""
    if claim.relation == "is about":
        return None
    items = raw.items(claim.population)
    if claim.relation == "is of the rest":
        return _of_the_rest(claim, items)
    truth = _truth(claim.quantity, items, raw, claim)
    if truth is None:
        return None
    low, high = _ends(claim)
    above = truth[1] > low if claim.strict and claim.lower is not None else truth[1] >= low
    below = truth[0] < high if claim.strict and claim.upper is not None else truth[0] <= high
    return Verdict(claim, above and below, truth)


_OF_VALUES = (Max, Min, Range, IQR, Quantile, Median, Mean, Sum)
ASTRAY, ENOUGH = 10, 1000  # times the range of most values; records


def is_astray(claim: Claim, raw: Raw) -> bool | None:
    """Tell whether an estimate is further off than a bucket, and ten times the range of all values but 1 % at each end.

    So is any in a bucket without an end that no asked answer closes.

    None for a number of records, where the values are of no such range, and of few records.
    """
    items = raw.items(claim.population)
    if not isinstance(claim.quantity, _OF_VALUES) or len(items) < ENOUGH or claim.upper is None:
        return None
    low, high = raw.outermost if raw.release.asked is None else (-math.inf, math.inf)
    if isinstance(claim.quantity, Max | Min | Quantile | Median) and not low <= on_line(claim.upper) <= high:
        return True
    spread = order_statistic(items, Fraction(99, 100))[1] - order_statistic(items, Fraction(1, 100))[0]
    truth = _truth(claim.quantity, items, raw, claim)
    if truth is None or not spread:
        return None
    least, most, far, about = *truth, ASTRAY * spread + raw.widest, on_line(claim.upper)
    if isinstance(claim.quantity, Max | Range | Min):  # a few records may lie beyond an extreme, however far
        least, most = (least, math.inf) if isinstance(claim.quantity, Min) else (-math.inf, most)
    if isinstance(claim.quantity, Sum | Mean):  # of outliers that are lost: a mean is astray beyond all values
        least, most = items[0].low, items[-1].high
    if isinstance(claim.quantity, Sum):
        far = (far + max(abs(least), abs(most))) * 2 * len(items)
        least = most = Fraction(0)
    return bool(about - most > far or least - about > far)


def _ends(claim: Claim) -> Span:
    low = -math.inf if claim.lower is None else on_line(claim.lower)
    return low, math.inf if claim.upper is None else on_line(claim.upper, last=True)


def _truth(quantity: Any, items: list[Item], raw: Raw, claim: Claim) -> Span | None:
    if isinstance(quantity, Count):
        return len(items), len(items)
    if isinstance(quantity, Touched):
        found = raw.touched(claim.population)
        return found, found
    if isinstance(quantity, Beyond | BeyondShare):
        value = on_line(quantity.value, last=quantity.above)
        least, most = number(items, (lambda v: v > value) if quantity.above else (lambda v: v < value))
        if isinstance(quantity, Beyond):
            return least, most
        return (Fraction(least, len(items)), Fraction(most, len(items))) if items else None
    if isinstance(quantity, OutsideShare):
        ends = on_line(quantity.low), on_line(quantity.high, last=True)
        least, most = number(items, lambda v: not ends[0] <= v <= ends[1])
        return (Fraction(least, len(items)), Fraction(most, len(items))) if items else None
    if isinstance(quantity, InBucket):
        inside = sum(item.place[-1] == quantity.index for item in items)
        return inside, inside
    if isinstance(quantity, InOthers):
        filled = Counter(item.place[-1] for item in items)
        last = max(quantity.listed) if quantity.higher and quantity.listed else None
        others = [n for key, n in filled.items() if key not in quantity.listed and (last is None or key > last)]
        most = max(others, default=0)
        return most, most
    if isinstance(quantity, Missing | MissingShare | Absent | Invented):
        return _loss(quantity, raw, claim)
    if not items:
        return None
    if isinstance(quantity, Between):
        low, high = order_statistic(items, _level(quantity.statistic))
        value = on_line(quantity.value)
        least, most = number(items, lambda v: min(value, low) < v < max(value, high))
        return least, most
    if isinstance(quantity, Range | IQR):
        levels = (Fraction(0), Fraction(1)) if isinstance(quantity, Range) else (Fraction(1, 4), Fraction(3, 4))
        below, above = (order_statistic(items, level) for level in levels)
        return above[0] - below[1], above[1] - below[0]
    if isinstance(quantity, Sum | Mean):
        low, high = total(items)
        return (low, high) if isinstance(quantity, Sum) else (low / len(items), high / len(items))
    if isinstance(quantity, Max | Min | Quantile | Median):
        return order_statistic(items, _level(quantity))
    raise NotImplementedError(f"no truth is known of {quantity}")


def _level(statistic: Statistic) -> Fraction:
    if isinstance(statistic, Quantile):
        return Fraction(statistic.level)
    return {Max: Fraction(1), Min: Fraction(0), Median: Fraction(1, 2)}[type(statistic)]


def _loss(quantity: Any, raw: Raw, claim: Claim) -> Span:
    """What the released counts are short of, what is not there and what should not be."""
    released: dict[tuple[Any, ...], int] = {}
    cells = raw.release.cells
    for row, count in zip(cells.rows(slice(None)), cells.counts.tolist(), strict=True):
        group = tuple(row[:-1])
        if claim.population.part.group in (None, group):
            released[tuple(row)] = count
    true = raw.places(claim.population)
    if isinstance(quantity, Invented):
        wrong = sum(true[place] == 0 for place in released)
        return wrong, wrong
    if isinstance(quantity, Absent):
        missing = max((count for place, count in true.items() if place not in released), default=0)
        return missing, missing
    lost = {place: true[place] - released.get(place, 0) for place in {*true, *released}}
    if isinstance(quantity, MissingShare):
        share = Fraction(sum(lost.values()), sum(true.values())) if true else Fraction(0)
        return share, share
    if quantity.total:
        return sum(lost.values()), sum(lost.values())
    return max(lost.values(), default=0), min((lost[place] for place in released), default=0)


def _of_the_rest(claim: Claim, items: list[Item]) -> Verdict:
    """Whether leaving out at most so many records of each bucket can make a claim true."""
    low, high = _ends(claim)
    inside = any(item.high >= low and item.low <= high for item in items)
    by_place: dict[Any, list[Item]] = {}
    for item in items:
        by_place.setdefault(item.place, []).append(item)

    def kept(test: Any) -> int:
        """Records that pass a test and cannot be left out."""
        return sum(max(0, sum(map(test, each)) - claim.lost) for each in by_place.values())

    quantity = claim.quantity
    beyond = (kept(lambda item: item.high < low), kept(lambda item: item.low > high))
    if isinstance(quantity, Max):
        holds = inside and beyond[1] == 0
    elif isinstance(quantity, Min):
        holds = inside and beyond[0] == 0
    elif isinstance(quantity, Quantile | Median):
        level, n = _level(quantity), len(items)
        below, above = (sum(item.high < low for item in items), sum(item.low > high for item in items))
        reaches_up = beyond[0] < level * (n - below + beyond[0]) or level == 0
        reaches_down = n - above >= level * (n - above + beyond[1])
        holds = inside and reaches_up and reaches_down
    elif isinstance(quantity, Range):
        return Verdict(claim, True, (None, None)) if not items else _range_of_the_rest(claim, items, by_place)
    else:
        raise NotImplementedError(f"no truth is known of {quantity} after leaving records out")
    return Verdict(claim, holds, beyond)


def _range_of_the_rest(claim: Claim, items: list[Item], by_place: dict[Any, list[Item]]) -> Verdict:
    """A range is that of the rest if its ends can be two buckets beyond which all can be left out."""
    low, high = _ends(claim)
    firm = [item for place in by_place.values() if len(place) > claim.lost for item in place]
    widest = max(item.high for item in items) - min(item.low for item in items)
    narrowest = (max(i.low for i in firm) - min(i.high for i in firm)) if firm else Fraction(0)
    return Verdict(claim, widest >= low and min(narrowest, widest) <= high, (narrowest, widest))


def all_claims(release: Any) -> Iterator[tuple[str, Claim]]:
    """Yield the claims of every answer of a release and of its groups, with their sentences."""
    from truth.answers import answers_of, told

    yield from told(release)
    for answer in answers_of(release):
        for claim in (*answer.claims, *unprinted(answer, release)):
            yield answer.statement, claim


def unprinted(answer: Any, release: Any) -> Iterator[Claim]:
    """Yield what an answer claims in JSON alone: its interval with all digits, and its accuracy (α, β)."""
    found = next((claim for claim in answer.claims if _is_named(claim, answer)), None)
    low, high = (None if abs(on_line(end)) == math.inf else end for end in answer.interval or (math.inf, math.inf))
    if (low, high) != (None, None):
        assert found is not None, f"an interval without a claim: {answer}"
        yield replace(found, relation="is", lower=low, upper=high, strict=False, confidence=CERTAIN)
    accuracy = answer.accuracy
    if accuracy is None or release.budget is None or not answer.claims:
        return
    whole = replace(answer.claims[0].population, limits=None)
    if accuracy.alpha:
        shares = [
            each for each in answer.claims if isinstance(each.quantity, BeyondShare | OutsideShare | MissingShare)
        ]
        for share in shares or [Claim(quantity=MissingShare(), population=whole)]:
            yield replace(share, upper=Fraction(accuracy.alpha))
    order = found is not None and isinstance(found.quantity, Max | Min | Range | Quantile | Median)
    if order and found is not None and type(answer.value) in (int, float):
        value, beta = on_line(answer.value), Fraction(accuracy.beta)
        off = beta * abs(value) if accuracy.relative else beta
        lost = accuracy.max_drop or release.max_drop
        ends = {"lower": value - off, "upper": value + off}
        yield Claim(quantity=found.quantity, population=whole, relation="is of the rest", lost=lost, **ends)


def _is_named(claim: Claim, answer: Any) -> bool:
    return isinstance(claim.quantity, Statistic) and label(claim.quantity) == answer.name
