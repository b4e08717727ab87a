"""Audits by running: planted faults are caught, what is right is cleared, and alarms are false as rarely as stated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from _support.zoo import ZOO, counting, sampled, window_law

from flexdp import Histogram, InputError
from flexdp._core.confidence import lower_bound, upper_bound
from flexdp.audit import audit, exact_delta
from flexdp.audit.empirical import decide
from flexdp.audit.events import Table, tabulated
from flexdp.mechanisms import Dropping


@pytest.mark.parametrize("name", ZOO)
def test_the_zoo_of_faults_is_caught(name: str) -> None:
    fault = ZOO[name]
    assert fault.trials <= 10**6
    found = audit(fault.wrong(np.random.default_rng(5)), fault.x, fault.y, fault.epsilon, fault.delta, fault.trials)
    assert found.violation and found.statement.startswith("violation: ")
    assert not found.fresh or found.epsilon_at_least > fault.epsilon
    assert not found.fresh or found.delta_at_least > fault.delta


@pytest.mark.parametrize("name", ZOO)
def test_and_what_is_right_is_cleared(name: str) -> None:
    fault = ZOO[name]
    trials = fault.right_trials or fault.trials
    found = audit(fault.right(np.random.default_rng(5)), fault.x, fault.y, fault.epsilon, fault.delta, trials)
    assert not found.violation and found.statement.startswith("no violation found: ")
    assert found.epsilon_at_least <= fault.epsilon and found.delta_at_least <= fault.delta


def randomised_response(rng: np.random.Generator) -> Callable[..., np.ndarray]:
    return lambda x, size: np.where(rng.random(size) < 0.75, x, 1 - x)  # ln 3, exactly


def test_false_alarms_are_as_rare_as_stated() -> None:
    """At 95 % and at the true ε, where alarms are most likely: at most 50 of 1000, though bounds are conservative."""
    rng = np.random.default_rng(11)
    run = randomised_response(rng)
    alarms = sum(audit(run, 0, 1, math.log(3), trials=240, confidence="0.95").violation for _ in range(1000))
    assert alarms <= 50
    caught = sum(audit(run, 0, 1, math.log(3) / 3, trials=240, confidence="0.95").violation for _ in range(100))
    assert caught > 50  # control: the same test does see a wrong claim


def test_control_an_event_judged_by_the_runs_it_was_found_in_is_a_false_alarm() -> None:
    """Noise that is independent of the data, in a thousand values: something always stands out, once."""
    rng = np.random.default_rng(3)
    parts = [rng.integers(0, 1000, (2, 2000)) for _ in range(4)]
    honest = tabulated(*(np.concatenate([part[side] for part in parts]) for side in (0, 1)))
    again = tabulated(*(np.tile(parts[0][side], 4) for side in (0, 1)))
    claim = Fraction(1, 10), Fraction(0), Fraction(999, 1000)
    assert not decide(honest, *claim).violation
    assert decide(again, *claim).violation


@pytest.mark.parametrize(("hits", "trials"), [(0, 1), (1, 1), (0, 500), (3, 500), (250, 500), (500, 500), (7, 10**6)])
@pytest.mark.parametrize("alpha", [0.3, 2.5e-4, 1e-9])
def test_clopper_and_pearson(hits: int, trials: int, alpha: float) -> None:
    from scipy.stats import beta

    low = beta.ppf(alpha, hits, trials - hits + 1) if hits else 0.0
    high = beta.isf(alpha, hits + 1, trials - hits) if hits < trials else 1.0
    assert low * (1 - 1e-6) <= lower_bound(hits, trials, alpha) <= low
    assert high <= upper_bound(hits, trials, alpha) <= high * (1 + 1e-6)


def test_the_bound_is_never_above_the_exact_one_and_near_it() -> None:
    """A law that is known: the median by the exponential mechanism, at δ = 0."""
    x, y = (0, 1, 1), (0, 1, 1, 2)
    one, other = window_law(x), window_law(y)
    true = max(abs(math.log(float(one[key] / other[key]))) for key in one)
    found = audit(sampled(window_law)(np.random.default_rng(2)), x, y, 1, trials=100_000)
    assert true / 2 < found.epsilon_at_least < true
    assert exact_delta(window_law, x, y, Fraction(found.epsilon_at_least)) > 0


@dataclass(frozen=True)
class Report:
    count: int
    words: str | None


OUTCOMES: dict[str, Callable[[int], Any]] = {
    "number": float,
    "truth value": lambda n: n > 3,
    "text": lambda n: "many" if n > 3 else "few",
    "none or a number": lambda n: None if n <= 3 else n,
    "tuple": lambda n: (n, "a"),
    "nested": lambda n: {"a": [1, {"b": n}]},
    "array": lambda n: np.array([[0, n]]),
    "histogram": lambda n: Histogram.from_counts({"a": 5, "b": max(0, n)}),
    "set": lambda n: {"a", "b"} if n > 3 else {"a"},
    "data class": lambda n: Report(n, None),
    "list of growing length": lambda n: list(range(max(0, n))),
    "an exception": lambda n: 1 // (n > 3),
    "huge": lambda n: 10**400 if n > 3 else 1,
}


@pytest.mark.parametrize("form", OUTCOMES)
def test_outcomes_of_every_form_are_told_apart(form: str) -> None:
    """The noise is one of two values, so that a quarter of the runs on one data set cannot happen on the other."""
    rng, shape = np.random.default_rng(4), OUTCOMES[form]
    found = audit(lambda x: shape(int(x + rng.integers(0, 2))), 3, 4, 1, trials=400)
    assert found.violation
    same = audit(lambda _: shape(int(3 + rng.integers(0, 2))), 3, 4, 1, trials=400)
    assert not same.violation


def test_mechanisms_of_ours_are_run_as_they_are() -> None:
    x, y = (Histogram.from_counts({"a": count}) for count in (6, 5))
    true = exact_delta(Dropping(1, "0.4"), x, y, 1)
    found = audit(Dropping(1, "0.4"), x, y, 1, "0.05", trials=4000)
    assert found.violation and 0.05 < found.delta_at_least < true + Fraction(1, 10)


def test_separate_calls_that_repeat_are_not_fresh() -> None:
    found = audit(lambda x, size: x + np.random.default_rng(1).laplace(size=size), 0, 1, 50, trials=400)
    assert found.violation and not found.fresh and "not fresh" in found.statement
    assert audit(lambda x, size: np.full(size, x), 0, 0, 1, trials=400).fresh  # nothing random is no reused seed


def test_the_result_in_words_and_as_json() -> None:
    found = audit(counting(2.0)(np.random.default_rng(1)), 0, 1, 1, trials=20_000, confidence="0.99")
    assert found.statement == (
        f"violation: ε ≥ {math.floor(found.epsilon_at_least * 100) / 100:.3g} with 99% confidence "
        "(claimed: ε = 1, δ = 0; 20 000 runs)"
    )
    assert found.to_dict()["violation"] is True and found.to_dict()["hits"] == list(found.hits)
    assert f"{found.hits[0]:,}".replace(",", " ") in str(found)


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    audit(counting(1.0)(np.random.default_rng(1)), 0, 1, 1, trials=300, progress=lambda *done: seen.append(done))
    assert seen[-1] == (300, 300) and seen == sorted(seen)
    seen.clear()
    audit(lambda x: x, 0, 0, 1, trials=300, progress=lambda *done: seen.append(done))
    assert seen[-1] == (300, 300) and seen == sorted(seen)


@pytest.mark.parametrize(
    ("mechanism", "given", "message"),
    [
        (5, {}, "mechanism must be a function of a data set"),
        (abs, {"trials": 79}, "trials must be a whole number of at least 80"),
        (abs, {"epsilon": -1}, "epsilon must be in"),
        (abs, {"delta": 1}, "delta must be in"),
        (abs, {"confidence": 1}, "confidence must be in"),
        (lambda x, size: np.array([x] * size)[:1], {}, "called with size=n it must return n outcomes"),
        (lambda x, size: size // (x - x), {}, "mechanism raised ZeroDivisionError when it was called with size=25"),
        (lambda x: 1 // (x - x), {}, "mechanism raised ZeroDivisionError on every run"),
        (lambda x: x, {"outcome": lambda _: memoryview(bytearray(b"a"))}, "mechanism must return numbers"),
        (lambda x: [x, object()], {}, "mechanism must return numbers"),
    ],
)
def test_what_cannot_be_audited_is_refused(mechanism: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        audit(mechanism, 0, 1, **{"epsilon": 1, "trials": 100, **given})


def test_equal_outcomes_have_equal_codes() -> None:
    one, other = tabulated([1, 1.0, "1", True, None], [np.int64(1), "1", None, False, 2])
    assert isinstance(one, Table)
    codes = dict(enumerate([*one.whole, *other.whole]))
    assert codes[0] == codes[1] == codes[5] and codes[2] == codes[6] and codes[4] == codes[7]
    assert len({codes[0], codes[2], codes[3], codes[4], codes[8], codes[9]}) == 6


def test_keys_that_are_new_in_every_run_raise_no_alarm() -> None:
    """One law on both data sets: which columns there are, at most 200, is not settled by the runs that decide."""
    rng = np.random.default_rng(5)

    def run(_: int) -> dict[Any, float]:
        rare = {int(rng.integers(2**60)): 1000.0} if rng.random() < 0.06 else {}
        return {"a": 1.0, "b": float(rng.integers(2)), **rare}

    given: dict[str, Any] = {"epsilon": "0.5", "trials": 6000, "confidence": "0.9999999"}
    assert not audit(run, 0, 1, **given).violation
    assert audit(lambda x: run(x) | ({} if x else {"c": 1.0}), 0, 1, **given).violation  # control


def test_columns_and_codes_are_settled_by_the_runs_that_are_fitted() -> None:
    fit = [{"a": "m", "b": 1.0}], [{"c": "p", "a": "o"}]
    later = [{"a": text, "b": 9.0, "new": 1.0} for text in ("m", "n", "z")]
    alone, more = (tabulated([*fit[0], *rest], [*fit[1], *rest]) for rest in (fit[0] * 3, later))
    for side in (0, 1):
        assert alone[side].names == more[side].names == (("a",), ("b",), ("c",))
        np.testing.assert_array_equal(alone[side].numbers[:1], more[side].numbers[:1])
    first = more[0].numbers[:, 0].tolist()
    assert first[0] == first[1] < first[2] < more[1].numbers[0, 0] < first[3]


def test_wide_outcomes_are_told_apart() -> None:
    """Three hundred numbers, of which the last one tells: by the whole outcome and by the columns that are kept."""
    rng = np.random.default_rng(1)

    def wide(x: int, size: int) -> np.ndarray:
        found = np.zeros((size, 300), dtype=np.int64)
        found[:, -1] = x + rng.integers(0, 2, size)
        return found

    assert audit(wide, 0, 1, 1, trials=400).violation
    assert not audit(wide, 1, 1, 1, trials=400).violation
