"""Guarantees as they are printed: every number, parsed back, is no better than what is guaranteed."""

from __future__ import annotations

import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from _support.own import bounded
from hypothesis import given
from hypothesis import strategies as st

from flexdp import Accuracy, Histogram, InputError, Privacy
from flexdp.calculus import compose_accuracy, drop_move_accuracy, function_step, identity
from flexdp.distances import Difference, Equality, Hausdorff, OwnMetric, lossy_winf
from flexdp.distortions import Drop, DropMove, Move, OwnDistortion, extend
from flexdp.guarantees import AddRemove, AnswersWithin, Condition, Neighbours, OwnNeighbours, Replace, percent_text

tiny = st.fractions(Fraction(1, 10**12), Fraction(999, 1000))


def numbers(pattern: str, text: str) -> list[Fraction]:
    found = re.search(pattern, text)
    assert found is not None, text
    return [Fraction(part) for part in found.groups()]


@given(epsilon=st.fractions(Fraction(1, 1000), 9), delta=tiny)
def test_the_printed_loss_is_never_below_the_real_one(epsilon: Fraction, delta: Fraction) -> None:
    private = Privacy(epsilon=epsilon, delta=delta)
    told_epsilon, told_delta, chance = numbers(
        r"^ε = (\S+), δ = (\S+) for .*except with probability (\S+)\.$", str(private)
    )
    assert epsilon <= told_epsilon <= epsilon * Fraction(100002, 100000)
    assert delta <= told_delta <= delta * Fraction(102, 100) and chance == told_delta
    (certainty,) = numbers(r"at most (\S+)% sure", private.odds)
    with localcontext() as context:
        context.prec = 40
        odds = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        truth = Fraction(100 * odds / (1 + odds))
    assert truth <= certainty + Fraction(1, 10**30) and certainty <= truth + Fraction(1, 10)


@given(alpha=tiny, beta=st.fractions(Fraction(1, 10**6), 10**6), gamma=tiny)
def test_the_printed_accuracy_is_never_better_than_the_real_one(
    alpha: Fraction, beta: Fraction, gamma: Fraction
) -> None:
    plain = str(Accuracy(alpha=alpha, beta=beta, gamma=gamma))
    told = numbers(r"at most (\S+)% of the records, to within (\S+), except with probability (\S+)\.$", plain)
    assert all(said >= real for said, real in zip(told, (100 * alpha, beta, gamma), strict=True))
    moved = str(Accuracy(alpha=alpha, beta=0, moved=beta))
    assert numbers(r"moving every value by at most (\S+)\.$", moved)[0] >= beta
    relative = str(Accuracy(alpha=0, beta=alpha, relative=True))
    assert numbers(r"to within (\S+)% of the value shown\.$", relative)[0] >= 100 * alpha
    both = str(Accuracy(alpha=0, beta=0, moved=alpha, relative=True))
    assert numbers(r"at most (\S+)% of it away\.$", both)[0] >= 100 * alpha


@pytest.mark.parametrize(
    ("share", "text"), [("0.0201", "2.01%"), ("0.0201111111", "2.02%"), ("2/3", "66.7%"), ("1", "100%")]
)
def test_a_percentage_is_rounded_up(share: str, text: str) -> None:
    assert percent_text(float(Fraction(share))) == text


# --- types, not prose ---


@pytest.mark.parametrize(
    ("neighbours", "scope", "doubt"),
    [
        (AddRemove(), "for each record", "that a given record is in the data"),
        (AddRemove("patient", 2), "for each patient", "that a given patient is in the data"),
        (Replace(), "for the values of each record", "which of two values a given record has"),
        (AnswersWithin("2.5"), "for answers that differ by at most 2.5", "which of two such answers is the exact one"),
        (OwnNeighbours("move a visit"), "for neighbours by 'move a visit'", "which of two neighbouring data sets"),
    ],
)
def test_privacy_says_whom_it_protects_and_from_which_doubt(neighbours: Neighbours, scope: str, doubt: str) -> None:
    private = Privacy(epsilon=1, delta=0, neighbours=neighbours, given=Condition(buckets_at_most=3))
    assert f"δ = 0 {scope} in tables of at most 3 buckets: an observer who was 50% sure {doubt}" in str(private)
    assert private.unit == neighbours.unit


@pytest.mark.parametrize("wrong", ["add or remove one record", None, 3, Condition(records_at_least=1), AddRemove])
def test_words_are_no_relation_condition_distortion_or_metric(wrong: object) -> None:
    with pytest.raises(InputError, match="neighbours must be a relation"):
        Privacy(epsilon=1, delta=0, neighbours=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="distortion must be a Distortion"):
        Accuracy(alpha=0, beta=0, distortion=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="metric must be a Metric"):
        Accuracy(alpha=0, beta=0, metric=wrong)  # type: ignore[arg-type]
    if wrong is not None and not isinstance(wrong, Condition):
        with pytest.raises(InputError, match="given must be a condition"):
            Privacy(epsilon=1, delta=0, given=wrong)  # type: ignore[arg-type]


def test_conditions_are_the_stricter_of_both() -> None:
    assert Condition(records_at_least=5) & Condition(records_at_least=9) == Condition(records_at_least=9)
    assert Condition(buckets_at_most=5) & Condition(buckets_at_most=9) == Condition(buckets_at_most=5)
    assert str(Condition(records_at_least=1)) == "in tables of at least 1 record"
    rows = Condition(rows_are_records=True)
    assert rows & Condition(records_at_least=9) == Condition(records_at_least=9, rows_are_records=True)
    assert str(rows).startswith("provided that every record yields at most one row of the given query and no row ")
    assert str(Condition(records_at_least=9) & rows) == f"in tables of at least 9 records, {rows}"
    for wrong in ({}, {"records_at_least": 0}, {"buckets_at_most": "x"}):
        with pytest.raises(InputError, match=r"records_at_least|buckets_at_most"):
            Condition(**wrong)  # type: ignore[arg-type]


def test_the_value_that_computes_is_the_value_that_is_promised() -> None:
    x, y = Histogram.from_values([1, 2, 3, 9]), Histogram.from_values([1, 2, 3])
    for measure, apart in ((Drop(), 0.25), (Move(), math.inf), (DropMove("0.1"), 0.25)):
        found = Accuracy(alpha="0.1", beta=0, distortion=measure)
        assert found.distortion is measure and found.distortion(x, y) == apart
    assert DropMove(1) != DropMove() != DropMove(2) and len({Drop(), Drop(), Move(), DropMove(1)}) == 3
    with pytest.raises(InputError, match="eta must be given"):
        DropMove()(x, y)


def test_a_distortion_of_one_s_own_is_named_and_used() -> None:
    swaps = OwnDistortion("swap", lambda x, y: float(abs(x.size - y.size)))
    x, y = Histogram.from_values([1, 2, 3]), Histogram.from_values([1])
    assert swaps(x, y) == 2 == extend(swaps, x, y).value  # type: ignore[arg-type]
    first = Accuracy(alpha=3, beta=1, distortion=swaps)
    assert str(first) == "Exact after a distortion (swap) of at most 3, to within 1."
    own = bounded(alpha=2, gamma=0, bound=lambda b: b, metric=Difference(), distortion=swaps)
    assert compose_accuracy(first, own, sigma=identity()).alpha == 5, "distances add up beyond 1"
    drop = bounded(alpha=0.1, gamma=0, bound=lambda b: b, metric=Difference())
    with pytest.raises(InputError, match="'swap' and 'drop' have no sum"):
        compose_accuracy(first, drop, sigma=identity())
    with pytest.raises(InputError, match="alpha must be in"):
        Accuracy(alpha=3, beta=1, distortion=OwnDistortion("share", fraction=True))
    with pytest.raises(InputError, match="measure was not given"):
        OwnDistortion("swap")(x, y)


def test_a_metric_of_one_s_own_is_named_and_used() -> None:
    angle = OwnMetric("angle", lambda a, b: min(abs(a - b), 360 - abs(a - b)))
    assert lossy_winf([350.0], [10.0], metric=angle).value == 20
    turn = function_step(lambda beta: beta, metric=angle)
    found = compose_accuracy(Accuracy(alpha=0, beta=1), turn, sigma=identity())
    assert found.metric == OwnMetric("angle")
    with pytest.raises(InputError, match="metrics do not fit"):
        wanted = function_step(lambda beta: beta, metric=Difference(), takes=Hausdorff())
        compose_accuracy(found, wanted, sigma=identity())
    with pytest.raises(InputError, match="distance was not given"):
        OwnMetric("angle")(1, 2)
    assert Hausdorff()({1}, {2, 5}) == 4
    assert Difference()(3, 5) == 2 and Equality()("a", "b") == 1 and Equality()(1, 1) == 0


@given(
    alpha=st.fractions(0, 1, max_denominator=100),
    beta=st.fractions(0, 50, max_denominator=100),
    eta=st.fractions(Fraction(1, 100), 10, max_denominator=100),
)
def test_a_price_of_moving_gives_the_theorem_s_one_number(alpha: Fraction, beta: Fraction, eta: Fraction) -> None:
    """(α + ηβ, 0, γ) with respect to drop-move at η; dropping alone costs the same at every price."""
    first = Accuracy(alpha=alpha, beta=beta, gamma="0.1")
    found = drop_move_accuracy(first, metric=Equality(), eta=eta)
    assert (found.beta, found.moved, found.gamma) == (0, 0, 0.1)
    assert found.distortion == DropMove(eta)
    assert found.alpha is not None and alpha + eta * beta <= Fraction(found.alpha)
    assert Fraction(found.alpha) <= (alpha + eta * beta) * (1 + Fraction(1, 10**14))
    drop = bounded(alpha=0.25, gamma=0, bound=lambda b: b, metric=Equality())
    more = compose_accuracy(found, drop, sigma=identity())
    assert more.distortion == (found.distortion if found.alpha else Drop())
    assert more.alpha == pytest.approx(float(alpha + eta * beta) + 0.25)
    if found.alpha:
        every = Accuracy(alpha="0.1", beta=0, moved=1, distortion=DropMove())
        priced = bounded(alpha=0.1, gamma=0, bound=lambda b: b, metric=Equality(), distortion=DropMove(eta))
        with pytest.raises(InputError, match="must be the same throughout"):
            compose_accuracy(every, priced, sigma=identity())


def test_the_price_of_moving_is_that_of_the_computed_distortion() -> None:
    """Bucketed by 2 and with one of four records left out: dropmove at η is at most what the guarantee says."""
    x = Histogram.from_values([0.2, 3.1, 4.9, 9.0])
    y = Histogram.from_values([1.0, 3.0, 5.0])
    for eta in ("0.01", "0.1", "2"):
        told = drop_move_accuracy(Accuracy(alpha="0.25", beta=1), metric=Equality(), eta=eta).alpha
        assert told is not None and DropMove(eta)(x, y) <= told
