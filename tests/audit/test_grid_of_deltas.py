"""The exact δ of 430 pairs of data sets, as an earlier implementation of another structure computed it (deltas.json).

The earlier one compared pairs of laws mechanism by mechanism; the numbers must not change when the code does. Where it
gave up and compared what comes before the last step, its number is an upper bound.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from flexdp import InputError
from flexdp.audit import exact_delta
from flexdp.mechanisms import Bucketing, Dropping, Laplace, Mechanism, ReadOff, STLap
from flexdp.statistics import Max, MaxAtLeast, Median, Mode, Support

RECORDED = Path(__file__).with_name("deltas.json")
CLOSE = Fraction(1, 10**25)
EPSILONS = ("0", "1/2", "1", "2")

DROPPING = Dropping(1, "0.05")
UNITS = {"max_buckets_per_unit": 2, "unit": "p"}
MECHANISMS: list[Mechanism] = [
    *(Dropping(e, d) for e, d in ((1, "1e-2"), ("0.5", "0.05"), (2, "1e-6"), (1, "1e-6"))),
    Dropping(1, "0.01", max_buckets_per_unit=2, unit="p"),
    Dropping(1, "0.01", certify="0.1"),
    *(STLap(tau, e) for tau, e in (("0.05", "0.5"), ("0.49", "0.05"), ("0.01", "0.5"), ("0.1", 1))),
    *(DROPPING >> ReadOff(statistic) for statistic in (Max(), Mode(), Median(), MaxAtLeast(3), Support())),
    DROPPING >> Bucketing(width=2) >> ReadOff(Max()),
    STLap("0.4", 1) >> ReadOff(Max()),
]


def cases() -> Iterator[tuple[Mechanism, Any, Any, str]]:
    """Three bars of which one loses a record, and a few of other kinds."""
    source = random.Random(5)
    for mechanism in MECHANISMS:
        for _ in range(6):
            x = {key: source.randint(1, 9 if len(mechanism.steps) > 1 else 40) for key in range(3)}
            key = source.choice(list(x))
            y = {k: count - (k == key) for k, count in x.items()}
            for epsilon in EPSILONS:
                yield mechanism, x, {k: count for k, count in y.items() if count}, epsilon
    rows = [("a", 1), ("a", 7), ("a", 12), ("b", 2), ("b", 7), ("c", 13)]
    units = Bucketing(width=5, bounds=(0, 20), **UNITS) >> Dropping(1, "0.05", **UNITS)  # type: ignore[arg-type]
    for epsilon in EPSILONS:
        yield units, rows, rows[:3], epsilon
        yield Laplace(sensitivity=1, epsilon=1), 0, 3, epsilon
        yield Bucketing(width=2) >> Laplace(Max(), sensitivity=1, epsilon=1), {0: 1, 2.5: 1}, {0: 1, 5.5: 1}, epsilon


def measured(mechanism: Mechanism, x: Any, y: Any, epsilon: str) -> list[str] | None:
    """δ in both directions, to 50 digits."""
    try:
        found = exact_delta(mechanism, x, y, epsilon)
    except InputError:
        return None
    digits = Context(prec=50)
    return [
        str(digits.divide(Decimal(n.numerator), Decimal(n.denominator)))
        for n in (found.forward.upper, found.backward.upper)
    ]


def test_every_delta_is_what_it_was() -> None:
    recorded = json.loads(RECORDED.read_text())
    listed = list(cases())
    assert len(listed) == len(recorded) > 400
    assert sum(expected is None for expected in recorded) < 20
    for (mechanism, x, y, epsilon), expected in zip(listed, recorded, strict=True):
        found = measured(mechanism, x, y, epsilon)
        assert (found is None) == (expected is None), (mechanism, x, y, epsilon)
        for now, then in zip(found or [], expected or [], strict=True):
            assert abs(Fraction(now) - Fraction(then)) <= CLOSE, (mechanism, x, y, epsilon, now, then)


@pytest.mark.parametrize("shift", [1, 5])
def test_the_grid_tells_a_wrong_epsilon(shift: int) -> None:
    """Control: the numbers of another ε are not those of this one."""
    recorded = json.loads(RECORDED.read_text())
    listed = list(cases())
    moved = [measured(*case) for case in listed[shift : shift + 4]]
    assert moved != recorded[:4]
