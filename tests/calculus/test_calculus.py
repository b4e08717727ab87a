"""The rules on guarantees: their arithmetic, their hypotheses, and that what they promise is kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from _support.own import bounded
from hypothesis import given
from hypothesis import strategies as st

from flexdp import Accuracy, InputError, Privacy
from flexdp._core.exact import float_up, sum_up
from flexdp.calculus import (
    Error,
    Sigma,
    Step,
    compose_accuracy,
    compose_steps,
    drop_move_accuracy,
    function_step,
    identity,
    laplace_accuracy,
    only_at_zero,
    post_process,
    pre_process,
    relax,
    useful_accuracy,
)
from flexdp.distances import OwnMetric
from flexdp.distortions import Drop, DropMove, Move, Winf
from flexdp.guarantees import ONE_RECORD, Condition, OwnNeighbours

M = OwnMetric("m")
ROWS = OwnNeighbours("change one row")

shares = st.fractions(0, Fraction(1, 2))


@given(a1=shares, a2=shares, b=st.fractions(0, 10), factor=st.integers(1, 4), gamma=shares)
def test_composition_is_the_theorems_formula(
    a1: Fraction, a2: Fraction, b: Fraction, factor: int, gamma: Fraction
) -> None:
    first = Accuracy(alpha=a1, beta=b, metric=Winf())
    second = bounded(alpha=float(a2), gamma=float(gamma), bound=lambda beta: factor * beta, metric=M)
    found = compose_accuracy(first, second, sigma=Sigma(lambda alpha: alpha / 2))
    assert found.alpha == pytest.approx(float(a1 + a2 / 2))
    assert found.alpha >= float(a1) and Fraction(found.alpha) >= a1 + Fraction(float(a2)) / 2
    assert found.beta == factor * first.beta
    assert found.gamma == float(gamma)
    assert found.metric == M


def test_composition_needs_a_finite_distortion_sensitivity() -> None:
    first = Accuracy(alpha=0, beta=1)
    second = bounded(alpha=0.1, gamma=0, bound=lambda beta: beta, metric=M)
    with pytest.raises(InputError, match="sigma must be finite"):
        compose_accuracy(first, second, sigma=only_at_zero())
    with pytest.raises(InputError, match="drop-move"):
        compose_accuracy(first, function_step(lambda _beta: math.inf, metric=M), sigma=identity())


def test_metrics_must_fit() -> None:
    reading = function_step(lambda beta: beta, metric=M, takes=Winf())
    with pytest.raises(InputError, match="metrics do not fit"):
        compose_accuracy(Accuracy(alpha=0, beta=1), reading, sigma=identity())
    assert compose_accuracy(Accuracy(alpha=0, beta=1, metric=Winf()), reading, sigma=identity()).beta == 1


def test_losses_add_up() -> None:
    lossy = Accuracy(alpha=0, beta=1, gamma="0.1", metric=M)
    found = compose_accuracy(lossy, bounded(alpha=0, gamma=0.05, bound=lambda b: 2 * b, metric=M), sigma=identity())
    assert (found.beta, found.gamma) == (2, pytest.approx(0.15))
    assert Fraction(found.gamma) >= Fraction(lossy.gamma) + Fraction(0.05)


def test_distances_are_no_fractions() -> None:
    moved = Accuracy(alpha=5, beta=0, distortion=Move())
    assert compose_accuracy(moved, function_step(lambda b: b, metric=M), sigma=identity()).alpha == 5
    dropping = bounded(alpha=0.1, gamma=0, bound=lambda b: b, metric=M)
    with pytest.raises(InputError, match="distortion must be the same"):
        compose_accuracy(moved, dropping, sigma=identity())


def test_no_more_than_everything_is_left_out_or_lost() -> None:
    """Shares that add up to more than one say nothing more than one; distances go on adding up."""
    first = Accuracy(alpha="0.75", beta=1, gamma="0.75")
    second = bounded(alpha=0.5, gamma=0.5, bound=lambda b: b, metric=M)
    found = compose_accuracy(first, second, sigma=identity())
    assert (found.alpha, found.gamma) == (1, 1)
    twice = compose_steps(second, second)
    assert (twice.alpha, twice.tau(Error(0.0, 0.25)).gamma) == (1, 1)
    moving = bounded(alpha=0.5, gamma=0, bound=lambda b: b, metric=M, distortion=Move())
    moved = compose_accuracy(Accuracy(alpha="0.75", beta=1, distortion=Move()), moving, sigma=identity())
    assert moved.alpha == 1.25


def test_values_that_are_moved_twice_are_moved_by_both_distances() -> None:
    """x moved by at most 1, its image by 2.5, that by 0.25: the way from first to last is at most the sum."""
    once = drop_move_accuracy(Accuracy(alpha=0, beta=1, metric=M), metric=M)
    widths = (Fraction(5, 2), Fraction(1, 4))
    for width in widths:
        step = bounded(alpha=0, gamma=0, bound=lambda b, width=width: sum_up(b, float_up(width)), metric=M)
        after = compose_accuracy(once, step, sigma=identity())
        assert (after.moved, after.beta) == (once.moved, float(width))
        once = drop_move_accuracy(after, metric=M)
    assert (once.moved, once.beta, once.distortion) == (3.75, 0, DropMove())
    assert drop_move_accuracy(once, metric=M).moved == 3.75


def test_a_loss_and_a_condition_are_not_forgotten_on_the_way() -> None:
    assert drop_move_accuracy(Accuracy(alpha=0, beta=1, gamma="0.1"), metric=M).gamma == 0.1
    private = Privacy(epsilon=1, delta="1e-6", given=Condition(records_at_least=100))
    kept = pre_process(private, relation=(ROWS, ONE_RECORD), keeps_condition=True)
    assert kept.given == Condition(records_at_least=100)
    with pytest.raises(InputError, match="keeps_condition must be True"):
        pre_process(private, relation=(ROWS, ONE_RECORD))
    assert post_process(private).given == private.given


def test_distances_and_fractions_of_the_values_are_not_added() -> None:
    """Moved by at most 1, or by at most 5% of the value: of their sum neither 1.05 nor 105% is true."""
    fraction = bounded(alpha=0, gamma=0, bound=lambda b: sum_up(b, 0.05), metric=M, scales=True, relative=True)
    found = compose_accuracy(Accuracy(alpha=0, beta=0), fraction, sigma=identity())
    assert (found.beta, found.relative) == (0.05, True)
    for unlike in (
        Accuracy(alpha=0, beta=1),
        Accuracy(alpha=0, beta=0, moved=1),
        Accuracy(alpha=0, beta=0, moved="0.05", relative=True),
    ):
        with pytest.raises(InputError, match="one error is a distance and the other a fraction"):
            compose_accuracy(unlike, fraction, sigma=identity())
    both = Accuracy(alpha=0, beta=1, moved="0.05", relative=True)  # moved by 5%, and then an error of 1
    assert not both.relative_beta and "at most 5% of it away, to within 1." in str(both)
    with pytest.raises(InputError, match="one error is a distance and the other a fraction"):
        drop_move_accuracy(both, metric=M)
    assert compose_accuracy(both, function_step(lambda b: 2 * b, metric=M), sigma=identity()).beta == 2


def test_relative_errors_pass_only_through_what_scales() -> None:
    relative = Accuracy(alpha=0, beta="0.05", relative=True)
    for scales in (True, False):
        error = function_step(lambda b: b, metric=M, scales=scales)
        if scales:
            assert compose_accuracy(relative, error, sigma=identity()).beta == 0.05
        else:
            with pytest.raises(InputError, match="drop-move"):
                compose_accuracy(relative, error, sigma=identity())


def test_sums_of_bounds_are_rounded_up() -> None:
    for tenths in range(1, 60):
        first = Accuracy(alpha=0, beta=Fraction(tenths, 10), metric=M)
        own = Fraction(1, 3)
        error = bounded(alpha=0, gamma=0, bound=lambda b, own=own: sum_up(b, float_up(own)), metric=M)
        assert Fraction(compose_accuracy(first, error, sigma=identity()).beta) >= Fraction(tenths, 10) + own
    assert Fraction(relax(identity(), theta=Fraction(1, 3), omega=Fraction(2, 3)).theta) >= Fraction(1, 3)


def test_an_unknown_fraction_stays_unknown() -> None:
    first = Accuracy(alpha=None, beta=1, max_drop=27)
    found = compose_accuracy(first, function_step(lambda beta: 2 * beta, metric=M), sigma=identity())
    assert (found.alpha, found.beta, found.max_drop) == (None, 2, 27)


def test_relaxed_distortion_sensitivity_costs_error_and_loss() -> None:
    first = Accuracy(alpha=0, beta=1)
    second = bounded(alpha=0.1, gamma=0.01, bound=lambda beta: beta, metric=M, moves=lambda beta: 3 * beta)
    loose = relax(identity(), theta="0.02", omega="0.5")
    found = compose_accuracy(first, second, sigma=loose)
    assert (found.beta, found.gamma) == (2.5, pytest.approx(0.03))
    with pytest.raises(InputError, match="moves must be finite"):
        compose_accuracy(first, bounded(alpha=0.1, bound=lambda beta: beta, metric=M), sigma=loose)
    for bad in ({"theta": 2, "omega": 0}, {"theta": 0, "omega": -1}):
        with pytest.raises(InputError):
            relax(identity(), **bad)


def test_drop_move_turns_the_output_error_into_a_distortion() -> None:
    found = drop_move_accuracy(Accuracy(alpha="0.1", beta="2.5"), metric=M)
    assert (found.alpha, found.beta, found.moved, found.distortion) == (0.1, 0, 2.5, DropMove())
    assert "moving every value by at most 2.5" in str(found)
    exact = drop_move_accuracy(Accuracy(alpha="0.1", beta=0), metric=M)
    assert exact.distortion == Drop() and exact.moved == 0
    assert drop_move_accuracy(Accuracy(alpha=0, beta=1, gamma="0.1"), metric=M).gamma == 0.1


def test_distortion_sensitivities() -> None:
    assert identity()(0.3) == 0.3
    assert only_at_zero().bound(0) == 0
    assert math.isinf(only_at_zero().bound(1e-9))


def test_privacy_under_processing() -> None:
    private = Privacy(epsilon=1, delta="1e-6")
    assert post_process(private) == private
    assert pre_process(private, relation=(ONE_RECORD, ONE_RECORD)) == private
    other = pre_process(private, relation=(ROWS, ONE_RECORD))
    assert other.neighbours == ROWS and other.epsilon == 1
    with pytest.raises(InputError, match="does not map neighbours"):
        pre_process(private, relation=None)
    with pytest.raises(InputError, match="neighbours that privacy covers"):
        pre_process(private, relation=(ONE_RECORD, OwnNeighbours("swap two records")))


@pytest.mark.parametrize("gamma", ["0.5", "0.05", "1e-9", "0.999"])
def test_laplace_noise_exceeds_its_bound_with_chance_gamma(gamma: str) -> None:
    found = laplace_accuracy(sensitivity=3, epsilon="0.5", gamma=gamma)
    assert found.alpha == 0
    assert math.exp(-found.beta / 6) == pytest.approx(float(gamma), rel=1e-12)
    assert found.beta >= 6 * math.log(1 / float(gamma)) * (1 - 1e-12)


def test_the_bound_of_laplace_noise_is_the_least_double_that_is_none_too_small() -> None:
    """(Δ/ε)·ln(1/γ) in eighty digits is no more than β and than β as it is printed; of the double before, it is."""
    for sensitivity, epsilon in ((1, Fraction(1)), (3, Fraction(1, 2)), (7, Fraction(11, 10))):
        for gamma in [Fraction(i, 100) for i in range(1, 100, 3)] + [Fraction(1, 10**9), Fraction(1, 3)]:
            with localcontext() as context:
                context.prec = 80
                logarithm = Fraction((Decimal(gamma.denominator) / Decimal(gamma.numerator)).ln())
            found = laplace_accuracy(sensitivity=sensitivity, epsilon=epsilon, gamma=gamma).beta
            truth = sensitivity / epsilon * logarithm
            before = math.nextafter(found, 0)
            assert min(Fraction(before), Fraction(repr(before))) < truth <= min(Fraction(found), Fraction(repr(found)))


def test_bad_laplace_parameters() -> None:
    for bad in ({"epsilon": 0}, {"epsilon": -1}, {"sensitivity": 0}, {"gamma": 0}, {"gamma": 1}):
        arguments = {"sensitivity": 1, "epsilon": 1, "gamma": "0.1", **bad}
        with pytest.raises(InputError, match=next(iter(bad))):
            laplace_accuracy(**arguments)  # type: ignore[arg-type]


def test_usefulness_is_flexible_accuracy() -> None:
    plain = useful_accuracy(beta="0.1", gamma="0.05")
    assert (plain.alpha, plain.beta, plain.gamma) == (0, 0.1, 0.05)
    assert useful_accuracy(beta="0.1", gamma="0.05", psi=1).distortion == Move() != plain.distortion
    rotated = useful_accuracy(beta="0.1", gamma="0.05", psi="1.5")
    assert (rotated.alpha, rotated.distortion) == (1.5, Move())
    assert "moving every value by at most 1.5, to within 0.1, except with probability 0.05" in str(rotated)


def test_rotating_a_half_space_is_moving_the_points() -> None:
    """The identity behind the translation: a count over a rotated half-space is the count over rotated points."""
    rng = np.random.default_rng(5)
    angles = rng.uniform(0, 2 * math.pi, 500)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    psi = 0.3
    turn = np.array([[math.cos(psi), -math.sin(psi)], [math.sin(psi), math.cos(psi)]])
    normal = np.array([1.0, 0.0])
    moved = points @ turn.T
    assert np.linalg.norm(moved - points, axis=1).max() <= psi
    assert (moved @ normal > 0.2).sum() == (points @ (turn.T @ normal) > 0.2).sum()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"alpha": 2, "beta": 0}, "alpha must be in"),
        ({"alpha": -1, "beta": 0}, "alpha must be in"),
        ({"alpha": 0, "beta": -1}, "beta must be"),
        ({"alpha": 0, "beta": 0, "gamma": 2}, "gamma must be"),
        ({"alpha": None, "beta": 0}, "alpha must be a fraction"),
        ({"alpha": "nan", "beta": 0}, "alpha must be finite"),
    ],
)
def test_guarantees_are_checked_at_birth(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Accuracy(**arguments)  # type: ignore[arg-type]


def test_guarantees_read_aloud() -> None:
    assert str(Accuracy(alpha="0.02", beta="2.5", gamma="0.01")) == (
        "Exact after leaving out at most 2% of the records, to within 2.5, except with probability 0.01."
    )
    assert str(Privacy(epsilon=1, delta=0)).endswith("at most 73.2% sure afterwards.")


def test_errors_that_are_relative_and_errors_that_are_not_have_no_sum() -> None:
    """A relative error after one that is not is refused; before a step that does not scale it has no bound."""

    def step(bound: Callable[[float], float], **flags: bool) -> Step:
        return bounded(bound, metric=M, **flags)

    def composed(first: Step, second: Step) -> float:
        try:
            return compose_steps(first, second).tau(Error()).beta
        except InputError:
            return math.inf

    exact, shifted, tiny = step(lambda b: b), step(lambda b: b + 5), step(lambda b: b + 0.5)
    scaled, fraction = step(lambda b: b, scales=True), step(lambda b: b + 0.05, scales=True, relative=True)
    for first, second, finite in (
        (exact, fraction, True),
        (scaled, fraction, True),
        (shifted, fraction, False),
        (tiny, fraction, False),
        (fraction, scaled, True),
        (fraction, exact, False),
        (fraction, fraction, True),
    ):
        assert math.isfinite(composed(first, second)) is finite
    assert (
        compose_steps(fraction, scaled).tau(Error()).relative and not compose_steps(exact, tiny).tau(Error()).relative
    )
    assert Error(0.1, relative=True).plus(0, relative=True) == Error(0.1, relative=True)
    assert Error(0.0, relative=True).plus(5) == Error(5), "a fraction of nothing is a distance like any other"
