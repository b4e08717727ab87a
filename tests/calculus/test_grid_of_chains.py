"""A grid of chains whose privacy and accuracy are recorded, refusals too: no rewrite of the calculus changes one.

``python tests/calculus/test_grid_of_chains.py`` records it anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

from flexdp import InputError
from flexdp.mechanisms import BucketHistogram, Bucketing, Dropping, Emptiness, Laplace, Mechanism, ReadOff, STLap
from flexdp.statistics import (
    Count,
    Max,
    MaxAtLeast,
    Mean,
    Median,
    Min,
    Mode,
    Quantile,
    Range,
    Support,
)

RECORDED = Path(__file__).parent / "recorded" / "grid.json"
WAYS: list[dict[str, Any]] = [
    {"width": 5, "bounds": (0, 120)},
    {"width": 5},
    {"relative": "0.1", "bounds": (1, 100)},
    {"relative": "0.1"},
    {"edges": (0, 1, 5, 25)},
    {"width": 3, "bounds": (0, 30), "outside": "drop"},
]
STATISTICS = [Max(), Min(), Range(), Median(), Quantile("0.9"), Mode(), MaxAtLeast(3), Support(), Count(), Mean()]
NOISES = [Dropping(1, "1e-6"), STLap("0.001", 1, records_at_least=50_000, bars=24)]
AGAIN: list[dict[str, Any] | None] = [None, {"width": 10}, {"relative": "0.2"}]
KNOWN: list[dict[str, Any]] = [
    {},
    {"records_at_least": 50_000},
    {"records_at_least": 50_000, "bars": 24},
    {"bars": 24},
]


def gaps(histogram: Any) -> Any:
    return histogram.keys[1:] - histogram.keys[:-1]


def chains() -> Iterator[tuple[list[Mechanism], list[dict[str, Any]]]]:
    reading = [None, *map(ReadOff, STATISTICS)]
    for way, noise, again, read in product(WAYS, NOISES, AGAIN, reading):
        steps = [Bucketing(**way), noise, *([] if again is None else [Bucketing(**again)])]
        yield [*steps, *([] if read is None else [read])], KNOWN
    last = [None, ReadOff(Max()), ReadOff(Mode()), ReadOff(gaps), ReadOff(Count())]
    for first, noise, read in product([None, Bucketing(width=4)], NOISES, last):
        steps = [noise, *([] if first is None else [first]), *([] if read is None else [read])]
        yield steps, KNOWN
        yield [noise, *steps], KNOWN
    for way, statistic in product(WAYS, [Max(), Median(), Mean()]):
        noisy = Laplace(statistic, sensitivity=100, epsilon=1)
        yield [Bucketing(**way), noisy], [{}, {"gamma": "0.05"}, {"gamma": "0.001"}]
        yield [Bucketing(**way), noisy, Laplace(sensitivity=2, epsilon="0.5")], [{"gamma": "0.05"}]
    for bars in (1, 2, 20):
        yield [STLap("0.1", 1, records_at_least=100, bars=bars)], [{}]
        yield [Bucketing(width=1, bounds=(0, 10)), STLap("0.1", 1, records_at_least=100, bars=max(bars, 10))], [{}]
    for units, certify in product([1, 2], [None, "0.1"]):
        rule: dict[str, Any] = {"unit": "patient", "max_buckets_per_unit": units}
        yield [Bucketing(width=5, **rule), Dropping(1, "1e-6", certify=certify, **rule)], KNOWN
    yield [Bucketing(width=5), Dropping(1, "1e-6", unit="patient", max_buckets_per_unit=2)], KNOWN
    plane = Bucketing(width=5, bounds=(0, 20), dimensions=2)
    yield [plane, Dropping(1, "1e-6", dimensions=2), ReadOff(Count(), dimensions=2)], KNOWN
    yield [ReadOff(Count()), Emptiness(1, "1e-3")], KNOWN
    yield [Bucketing(width=5, bounds=(0, 120)), Dropping(1, "1e-6"), ReadOff(Count()), Emptiness(1, "1e-3")], KNOWN
    made = BucketHistogram("0.2", 10, epsilon=1, bounds=(0, 100), records_at_least=1000)
    for more in ([], [ReadOff(Max())], [ReadOff(Mode())], [Bucketing(width=20), ReadOff(Max())]):
        yield [made, *more], [{}, {"records_at_least": 5000}]
    yield [Bucketing(width=1), made], [{}]


def _few_digits(delta: Fraction | None) -> str:
    """A δ to twelve digits: its bound may become a little better."""
    return "unknown" if delta is None else f"{float(delta):.12g}"


def outcomes() -> Iterator[str]:
    for steps, known in chains():
        chain = reduce(lambda first, second: first >> second, steps)
        private = chain.privacy
        yield (
            "no privacy"
            if private is None
            else f"{private} {private.neighbours}; really {_few_digits(private.delta_real)}"
        )
        for public in known:
            try:
                found = chain.accuracy(**public)
            except InputError as refusal:
                yield f"refused: {refusal.parameter}"
                continue
            numbers = [found.alpha, found.beta, found.gamma, found.relative, found.max_drop, found.moved]
            yield f"{found} {numbers} {found.distortion}; {found.metric}"


def test_no_guarantee_of_the_grid_has_changed() -> None:
    recorded = json.loads(RECORDED.read_text())
    expected = [recorded["outcomes"][place] for place in recorded["cases"]]
    found = list(outcomes())
    assert len(found) == len(expected) > 2000 and sum(each.startswith("refused") for each in found) > 100
    assert found == expected


def record() -> None:
    found = list(outcomes())
    distinct = {each: place for place, each in enumerate(dict.fromkeys(found))}
    content = {"outcomes": list(distinct), "cases": [distinct[each] for each in found]}
    lines = ",\n".join(f'"{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in content.items())
    RECORDED.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    record()
