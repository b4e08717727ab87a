"""The figure: reproducible bytes, all lines drawn, nothing loaded, a user's own mechanism the boldest."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction

import pytest

from flexdp import InputError
from flexdp.experiments import Settings, Study, choose_mechanisms, compare, run
from flexdp.experiments.figure import STYLES, png, svg
from flexdp.experiments.paper import choose_experiments

SETTINGS = Settings(seed=4, runs=4, datasets=3)


@pytest.fixture(scope="module")
def study() -> Study:
    return run(choose_experiments(["all"]), choose_mechanisms([]), tuple(map(Fraction, ("0.1", "0.5", "1"))), SETTINGS)


def test_the_figure_has_every_line(study: Study) -> None:
    drawing = svg(study)
    root = ET.fromstring(drawing)
    groups = {each.get("id") for each in root.iter("{http://www.w3.org/2000/svg}g")}
    for experiment in "123456":
        for name in study.mechanisms:
            assert {f"{experiment}-{name}-actual", f"{experiment}-{name}-flexible"} <= groups
    dashed = drawing.decode().count("stroke-dasharray")
    assert dashed >= 6 * 9, "flexible errors are dashed"
    assert b"http://" not in re.sub(
        rb'xmlns(:\w+)?="[^"]*"|<!DOCTYPE[^>]*>|<metadata>.*?</metadata>', b"", drawing, flags=re.S
    )


def test_mechanisms_can_be_told_apart_without_colour() -> None:
    markers = [marker for _, marker in STYLES.values()]
    assert len(set(markers)) == len(markers) == 10
    okabe_ito = {"#000000", "#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73", "#CC79A7"}
    assert okabe_ito <= {colour for colour, _ in STYLES.values()}


def test_without_matplotlib_it_says_what_to_install(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"flexdp\[lab\]"):
        svg(study)


def test_a_second_drawing_has_the_same_bytes(study: Study) -> None:
    assert svg(study) == svg(study) and png(study) == png(study)


def test_a_users_own_curve_is_the_boldest() -> None:
    def mine(counts: object, _rng: object) -> int:
        return len(counts) - 1  # type: ignore[arg-type]

    found = compare(["dropping", mine, "em"], [5, 0, 900], "max", epsilon=[1], runs=2, datasets=2)
    drawing = svg(found.study).decode()
    widths = {
        name: float(re.search(rf'<g id="data-{name}-actual">.*?stroke-width: ([\d.]+)', drawing, re.S)[1])  # type: ignore[index]
        for name in ("mine", "dropping", "em")
    }
    assert widths["mine"] > 1.5 * widths["dropping"] > widths["em"]
    assert drawing.index('id="data-mine-actual"') < drawing.index('id="data-dropping-actual"'), "it hides no other"
