"""Notebook cards: sound, self-contained, at home in light and dark; the plain text is what it was."""

from __future__ import annotations

import pytest
from _markup import read_html

import flexdp
from flexdp import Accuracy, Privacy
from flexdp.guarantees import MOVE
from flexdp.planning import solve
from flexdp.report.cards import card, facts, sentence, short, table

CARDS = {
    "release": flexdp.release([3.0] * 200, epsilon=1, delta="1e-6", width=5),
    "empty": flexdp.release([3.0], epsilon=1, delta="1e-12", width=5),
    "answer": flexdp.release([3.0] * 200, epsilon=1, delta="1e-6", width=5).max(),
    "nothing": flexdp.release([3.0], epsilon=1, delta="1e-12", width=5).max(),
    "advice": flexdp.plan(
        delta="1e-6", lose_per_bucket=30, records_about=10, bounds=(0, 9), width=1, simulate="normal"
    ),
    "open": flexdp.plan(),
    "plan": solve(epsilon=1, delta="1e-6", buckets=24, records_at_least=50_000),
    "privacy": Privacy(epsilon=1, delta="1e-6"),
    "accuracy": Accuracy(alpha=0.02, beta=2.5),
    "uncertified": Accuracy(alpha=None, beta=0, max_drop=27, relative=True),
    "moved": Accuracy(alpha=2.5, beta=0, distortion=MOVE),
}


@pytest.mark.parametrize("name", CARDS)
def test_cards_are_sound_and_at_home(name: str) -> None:
    html = CARDS[name]._repr_html_()
    found = read_html(html)
    assert html.startswith('<div class="flexdp-card">')
    assert "--jp-content-font-color1" in html and "--vscode-foreground" in html
    assert "<script" not in html and "style=" not in html
    assert len(html) < 25_000
    words = " ".join(found.text)
    for line in str(CARDS[name]).splitlines() if name in ("answer", "privacy", "accuracy", "moved", "plan") else ():
        assert line in words


def test_the_card_of_a_plan_has_its_table_and_command() -> None:
    advice = CARDS["advice"]
    words = " ".join(read_html(advice._repr_html_()).text)
    assert advice.command in words
    for option in advice.options:
        assert option.certainty in words
    for warning in advice.warnings:
        assert warning in words


def test_plain_text_is_unchanged() -> None:
    assert repr(CARDS["release"]) == "<Release of values: buckets of width 5, 1 released>"
    assert str(CARDS["answer"]).startswith("The maximum of the readable values is 2.5")
    assert repr(CARDS["privacy"]).startswith("Privacy(epsilon=Fraction(1, 1)")


def test_two_cards_do_not_share_ids() -> None:
    other = flexdp.release([9.0] * 300, epsilon=1, delta="1e-6", width=5)
    read_html(CARDS["release"]._repr_html_() + other._repr_html_() + CARDS["advice"]._repr_html_())


def test_parts_escape_what_they_are_given() -> None:
    bad = '<img src=x onerror="alert(1)">'
    html = card(bad, facts([(bad, bad)]), sentence(bad), table([bad], [[bad]], marked=0))
    assert "<img" not in html and read_html(html).text.count(bad) == 6


def test_values_in_a_line() -> None:
    assert short(("a", "b")) == "a, b"
    assert short(tuple(range(20))).endswith("… (20 in all)")
    assert short((("a", 5), ("b", 4))) == "a, b"
    assert short(2.5) == "2.5" and short(True) == "True"
    assert len(short("x" * 500)) == 120
