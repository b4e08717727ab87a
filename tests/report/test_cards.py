"""Notebook cards: sound, self-contained, at home in light and dark; the plain text is what it was."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from _support.markup import read_html, with_pictures

import flexdp
from flexdp import Accuracy, Privacy
from flexdp._core.display import card, facts, image, sentence, short, table
from flexdp.distortions import Move
from flexdp.planning import solve

CARDS: dict[str, Any] = {
    "release": flexdp.release([3.0] * 200, epsilon=1, delta="1e-6", width=5),
    "empty": flexdp.release([3.0], epsilon=1, delta="1e-12", width=5),
    "answer": flexdp.release([3.0] * 200, epsilon=1, delta="1e-6", width=5).max(),
    "nothing": flexdp.release([3.0], epsilon=1, delta="1e-12", width=5).max(),
    "planned": flexdp.plan(
        delta="1e-6", lose_per_bucket=30, records_about=10, bounds=(0, 9), width=1, simulate="normal"
    ),
    "open": flexdp.plan(),
    "plan": solve(epsilon=1, delta="1e-6", buckets=24, records_at_least=50_000),
    "privacy": Privacy(epsilon=1, delta="1e-6"),
    "accuracy": Accuracy(alpha=0.02, beta=2.5),
    "uncertified": Accuracy(alpha=None, beta=0, max_drop=27, relative=True),
    "moved": Accuracy(alpha=2.5, beta=0, distortion=Move()),
}


@pytest.mark.parametrize("name", CARDS)
def test_cards_are_sound_and_at_home(name: str) -> None:
    html = CARDS[name]._repr_html_()
    found = read_html(html)
    assert html.startswith('<div class="flexdp-card">')
    assert "--jp-content-font-color1" in html and "--vscode-foreground" in html
    assert "<script" not in html and "<svg" not in html and "<dl" not in html
    assert len(html) < 30_000
    words = " ".join(found.text)
    for line in str(CARDS[name]).splitlines() if name in ("answer", "privacy", "accuracy", "moved", "plan") else ():
        assert line in words


def test_the_card_of_a_plan_has_its_table_and_command() -> None:
    plan = CARDS["planned"]
    words = " ".join(read_html(plan._repr_html_()).text)
    assert plan.command in words
    for row in plan.rows:
        assert row["certainty"] in words
    for warning in plan.warnings:
        assert warning in words


def test_plain_text_is_unchanged() -> None:
    assert repr(CARDS["release"]) == "<Release of values: buckets of width 5, 1 released>"
    assert str(CARDS["answer"]).startswith("Highest value: 0–5 or more. At most 27 records per bucket were left out; ")
    assert repr(CARDS["privacy"]).startswith("Privacy(epsilon=1")


def test_cards_have_no_ids_to_share() -> None:
    found = read_html(CARDS["release"]._repr_html_() * 2 + CARDS["planned"]._repr_html_())
    assert found.ids == [] and found.seen.count("img") == 3


def test_a_picture_is_an_image_on_white_with_its_words() -> None:
    release = CARDS["release"]
    for html in (release._repr_html_(), release.plot()._repr_html_()):
        (words,) = re.findall(r'<img class="flexdp-picture" alt="([^"]+)"', html)
        assert words.startswith("Released histogram of values: 1 bucket with ") and words.endswith("none holds fewer.")
        inside = with_pictures(html)
        assert "prefers-color-scheme" not in inside, "an image does not know the theme of the notebook around it"
        assert "--fd-paper:#fff" in inside and '<path class="paper"' in inside
    assert release.plot()._repr_svg_() == release.plot().svg


def test_what_is_left_of_a_card_without_its_style() -> None:
    """As a notebook that is not trusted shows it: words on the left, no text from inside a picture."""
    html = re.sub(r"<style>.*?</style>", "", CARDS["release"]._repr_html_())
    assert '<th scope="col" style="text-align:left">Statistic</th>' in html
    assert "at most 27 more in each bucket" not in " ".join(read_html(html).text)


def test_parts_escape_what_they_are_given() -> None:
    bad = '<img src=x onerror="alert(1)">'
    html = card(bad, facts([(bad, bad)]), sentence(bad), table([bad], [[bad]], marked=0))
    assert "<img" not in html and read_html(html).text.count(bad) == 6
    shown = image("<svg></svg>", bad, 9)
    assert shown.count("<") == 1 and "&lt;img" in shown


def test_values_in_a_line() -> None:
    assert short("support", ("a", "b")) == "a, b"
    assert short("support", ("Ear, nose", "b")) == "Ear, nose; b"
    assert short("support", tuple(range(20))).endswith("… (20 in total)")
    assert short("support", ((51.5, 4.25), (51.5, 4.75))) == "(51.5, 4.25); (51.5, 4.75)", "both coordinates"
    assert short("mode", (51.5, 4.25)) == "(51.5, 4.25)"
    assert short("list of the 2 most frequent values", (("a", 5), ("b", 4))) == "a, b"
    assert short("list of the 2 most frequent values", (((1, 2), 5), ((3, 4), 4))) == "(1, 2); (3, 4)"
    assert short("counts", {2.5: 30, 7.5: 40}) == "2.5: 30, 7.5: 40"
    assert {short("maximum", None), short("support", ()), short("counts", {})} == {"nothing survived"}
    assert short("maximum", 2.5) == "2.5" and short("mode", True) == "True"
    assert len(short("mode", "x" * 500)) == 120


def test_groups_and_releases_of_several_columns_have_cards() -> None:
    bad = "<b>A</b>, B"
    frame = pd.DataFrame({"x": [1.5] * 300 + [7.5] * 300, "y": [2.5] * 600, "g": [bad] * 300 + ["C"] * 300})
    frame = frame.astype({"g": "string"})
    grouped = flexdp.release(frame, "x", by="g", epsilon=1, delta="1e-6", width=5)
    several = flexdp.release(frame, ["x", "y"], separately=True, epsilon=1, delta="1e-6", width=5)
    for shown, words in (
        (grouped.by_group(), ["2 groups by g", f"{bad!r}; C"]),
        (grouped.by_group().max(), ["maximum by g", bad, "0–5", "5–10", "apart from those the highest lies in 5–10"]),
        (grouped.certificate(), ["Certificate", "Not counted"]),
        (several, ["Summary of 2 columns", "Release of x", "Release of y"]),
    ):
        text = "\n".join(read_html(shown._repr_html_()).text)
        assert all(word in text for word in words), text


def test_the_card_of_points_defines_the_colours_of_its_map() -> None:
    points = np.column_stack([np.repeat([1.5, 7.5], 300), np.repeat([2.5, 9.5], 300)])
    html = flexdp.release(
        pd.DataFrame(points, columns=["a", "b"]), ["a", "b"], epsilon=1, delta="1e-6", width=5
    )._repr_html_()
    html = with_pictures(html)
    assert "--fd-5" in html
    for name in set(re.findall(r"var\((--fd-[a-z0-9]+)", html)):
        assert f"{name}:" in html, name
