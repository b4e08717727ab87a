"""A coupling as a picture: every piece is a band as wide as its mass, and what is left out is hatched."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from flexdp import InputError
from flexdp.distances import Cyclic, Weighted, lossy_winf
from flexdp.report import coupling_chart

P = Weighted([0, 1, 2, 3, 4, 8], [10, 20, 30, 20, 15, 5])
Q = Weighted([0, 2, 3, 5, 6], [5, 25, 40, 20, 10])
SPACE = "{http://www.w3.org/2000/svg}"


def bands(drawn: str) -> list[tuple[str, float, float]]:
    """Class, width above and width below of each band."""
    found = []
    for path in ET.fromstring(drawn).iter(f"{SPACE}path"):
        if "C" in path.get("d", "") and path.get("fill-opacity"):
            left, right, c, d = re.match(
                r"M(\S+) \S+H(\S+)C\S+ \S+ \S+ \S+ (\S+) \S+H(\S+)C", path.get("d", "")
            ).groups()  # type: ignore[union-attr]
            found.append((path.get("class", ""), float(right) - float(left), float(c) - float(d)))
    return found


@pytest.mark.parametrize("gamma", ["0", "1/20", "1/4"])
def test_bands_are_the_pieces_of_the_coupling(gamma: str) -> None:
    found = lossy_winf(P, Q, gamma)
    drawn = bands(coupling_chart(P, Q, gamma))
    scale = 640 - 2 * 16 - 10 * 5
    assert sorted(round(above) for _, above, _ in drawn) == sorted(round(mass * scale) for _, _, mass in found.coupling)
    assert all(abs(above - below) < 0.3 for _, above, below in drawn)
    far = [mass for i, j, mass in found.coupling if abs(P.points[i] - Q.points[j]) == found.value]
    marked = sum(above for kind, above, _ in drawn if kind == "now")
    assert marked == pytest.approx(float(sum(far)) * scale, abs=0.5) and 0 < marked < scale


def test_what_is_left_out_is_hatched_and_told() -> None:
    drawn = coupling_chart([0, 1, 2, 100], [0, 1, 2, 3], "1/4")
    assert drawn.count("url(#w-h)") == 2 and "0.25 of the mass is left out" in drawn and "W∞ = 0" in drawn
    whole = coupling_chart([0, 1, 2, 100], [0, 1, 2, 3])
    assert "url(#w-h)" not in whole and "left out" not in whole and "W∞ = 97" in whole
    assert not any(kind == "now" for kind, *_ in bands(drawn)), "nothing moves"
    assert [kind for kind, *_ in bands(whole)].count("now") == 1


def test_any_metric_and_any_points() -> None:
    hours = coupling_chart([23, 12], [1, 12], metric=Cyclic(24))
    assert "W∞ = 2" in hours
    words = coupling_chart(
        Weighted(["<b>", "c"], [1, 1]), Weighted(["c", "d"], [1, 1]), "1/2", lambda x, y: float(x != y)
    )
    assert "&lt;b&gt;" in words and "<b>" not in words
    ET.fromstring(words)
    for fraction, told in ((Fraction(1, 3), "γ = 1/3"), (Fraction(1, 2), "γ = 0.5")):
        assert told in coupling_chart([0, 1, 2], [0, 1, 9], fraction)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (([0.5, 0.5], [0.5, 0.5], 0, np.array([[0.0, 1.0], [1.0, 0.0]])), "must not be a matrix of distances"),
        ((list(range(41)), [0]), "at most 40 points each"),
        (([0], [0], 2), "gamma must be in"),
    ],
)
def test_what_cannot_be_drawn(given: tuple[Any, ...], told: str) -> None:
    with pytest.raises(InputError, match=told):
        coupling_chart(*given)
