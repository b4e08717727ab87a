"""Laws of flexible errors: means and quantiles against their definitions, confidence against exact binomials."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from flexdp import Histogram, InputError
from flexdp._core.confidence import lower_bound, upper_bound
from flexdp.distribution import REFUSED, Distribution, Whole
from flexdp.measure import Errors, accuracy_curve, errors_of
from flexdp.statistics import Max, Mode

X = Histogram.from_counts({10: 90, 20: 9, 70: 1})


@pytest.mark.parametrize("kind", ["exact", "doubles", "runs"])
def test_quantiles_are_the_least_that_few_errors_exceed(kind: str) -> None:
    draw = random.Random(2)
    for _ in range(60):
        errors = [draw.choice([0, 1, 2.5, 7, math.inf]) for _ in range(draw.randint(1, 7))]
        weights = [1 if kind == "runs" else draw.randint(1, 4) for _ in errors]
        shares = [Fraction(weight, sum(weights)) for weight in weights]
        masses: Any = {"exact": shares, "doubles": np.array([float(s) for s in shares]), "runs": None}[kind]
        law = Errors(np.array(errors, dtype=float), masses)
        for gamma in (Fraction(0), Fraction(1, 7), Fraction(3, 10), Fraction(1)):
            exceeds = {
                b: sum((s for e, s in zip(errors, shares, strict=True) if e > b), Fraction(0)) for b in [0.0, *errors]
            }
            if kind == "doubles" and any(abs(mass - gamma) < 1e-12 for mass in exceeds.values() if 0 < mass < 1):
                continue
            assert law.beta(gamma) == min(b for b, mass in exceeds.items() if mass <= gamma)
        for beta in (0, 1, 2.5):
            assert float(law.exceeds(beta)) == pytest.approx(float(exceeds.get(beta, law.exceeds(beta))), abs=1e-12)
        if math.inf not in errors:
            assert law.mean == pytest.approx(sum(e * float(s) for e, s in zip(errors, shares, strict=True)))


def test_laws_in_every_form_have_the_same_errors() -> None:
    law = {70: Fraction(1, 2), 60: Fraction(1, 4), 12: Fraction(1, 4)}
    forms = [law, Distribution(law), {key: str(mass) for key, mass in law.items()}, [70, 70, 60, 12]]
    array = np.zeros(59)
    array[[58, 48, 0]] = [0.5, 0.25, 0.25]
    for given in (*forms, Whole(12, array)):
        found = errors_of(X, given, Max(), "0.01")  # type: ignore[arg-type]
        assert (found.mean, found.beta(0), found.beta("0.25"), found.beta("0.5")) == (4.5, 10.0, 8.0, 0.0)
    lost = errors_of(X, Distribution({70: Fraction(9, 10)}), Max(), 0)  # a tenth was not followed
    assert (lost.beta("0.1"), lost.beta("0.09")) == (0.0, math.inf)
    refused = Distribution({70: Fraction(1, 2), REFUSED: Fraction(1, 4), None: Fraction(1, 4)})
    assert errors_of(X, refused, Max(), 0).exceeds(0) == Fraction(1, 2)
    assert errors_of(X, refused, Max(), 0, empty=0).beta(0) == 70.0
    assert errors_of(Histogram(["a", "b"], [3, 2]), {"b": "0.5", "a": "0.5"}, Mode(), "0.4").beta(0) == 0.0


def binomial(hits: int, runs: int, p: float) -> float:
    """Pr[at most so many hits]."""
    return math.fsum(math.comb(runs, i) * p**i * (1 - p) ** (runs - i) for i in range(hits + 1))


def test_confidence_intervals_contain_the_chance_as_often_as_they_say() -> None:
    """Exactly, over all numbers of hits; half the interval would not do."""
    for runs, p in ((5, 0.3), (30, 0.04), (30, 0.5), (80, 0.9)):
        covered = halved = 0.0
        for hits in range(runs + 1):
            errors = Errors(np.array([1.0] * hits + [0.0] * (runs - hits)))
            low, high = errors.exceeds_bounds(0.5, "0.9")
            assert low == lower_bound(hits, runs, 0.05) or low == pytest.approx(lower_bound(hits, runs, 0.05))
            assert high == pytest.approx(upper_bound(hits, runs, 0.05))
            chance = math.comb(runs, hits) * p**hits * (1 - p) ** (runs - hits)
            covered += chance * (low <= p <= high)
            share, half = hits / runs, (high - low) / 4
            halved += chance * (share - half <= p <= share + half)
        assert covered >= 0.9
        assert halved < 0.9, (runs, p)
    assert binomial(0, 10, upper_bound(0, 10, 0.025)) == pytest.approx(0.025, rel=1e-5)


def test_curves_bound_gamma_with_confidence() -> None:
    curve = accuracy_curve(X, [70] * 95 + [60] * 5, Max(), ["0.01"], [0, "0.05"])
    low, high = curve.gamma_bounds("0.01", 5)
    assert low < 0.05 < high < 0.12
    assert curve.gamma_bounds("0.01", 10)[0] == 0.0
    law = accuracy_curve(X, {70: "0.95", 60: "0.05"}, Max(), ["0.01"], [0])
    assert law.gamma_bounds("0.01", 5) == (0.05, 0.05)
    for bad in ({"alpha": "0.02"}, {"confidence": 2}, {"confidence": "0.3"}):
        with pytest.raises(InputError):
            curve.gamma_bounds(**{"alpha": "0.01", "beta": 1, **bad})  # type: ignore[arg-type]
