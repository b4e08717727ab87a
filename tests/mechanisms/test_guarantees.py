"""Guarantees as they are printed: every number, parsed back, is no better than what is guaranteed."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp import Accuracy, Privacy
from flexdp.guarantees import percent_text

tiny = st.fractions(Fraction(1, 10**12), Fraction(999, 1000))


def numbers(pattern: str, text: str) -> list[Fraction]:
    found = re.search(pattern, text)
    assert found is not None, text
    return [Fraction(part) for part in found.groups()]


@given(epsilon=st.fractions(Fraction(1, 1000), 9), delta=tiny)
def test_the_printed_loss_is_never_below_the_real_one(epsilon: Fraction, delta: Fraction) -> None:
    private = Privacy(epsilon=epsilon, delta=delta)
    told_epsilon, told_delta, chance = numbers(r"^ε = (\S+), δ = (\S+) for .*except with chance (\S+)\.$", str(private))
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
