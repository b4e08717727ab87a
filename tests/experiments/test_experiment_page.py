"""The figure and the page: reproducible bytes, all lines drawn, nothing loaded, every table labelled."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest

from flexdp import InputError
from flexdp.experiments import Settings, Study, chosen_mechanisms, judge, run
from flexdp.experiments.figure import STYLES, svg
from flexdp.experiments.outputs import Finished
from flexdp.experiments.paper import chosen
from flexdp.experiments.sensitivity import flips

SETTINGS = Settings(seed=4, runs=4, datasets=3)
VOID = {"meta", "br", "link", "img", "input", "hr"}


@pytest.fixture(scope="module")
def study() -> Study:
    return run(chosen(["all"]), chosen_mechanisms([]), tuple(map(Fraction, ("0.1", "0.5", "1"))), SETTINGS)


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


class Reader(HTMLParser):
    """Check that tags nest, and collect them with the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_is_whole_labelled_and_loads_nothing(study: Study, tmp_path: Path) -> None:
    judged = judge(study)
    Finished(study=study, judged=judged, turned=flips(judged, "x", study)).write(tmp_path)
    reader = Reader()
    reader.feed((tmp_path / "index.html").read_text())
    assert not reader.open, "every element is closed"
    tags = [tag for tag, _ in reader.tags]
    assert tags.count("table") == tags.count("caption") == 1 + 6 + 1
    assert tags.count("h1") == 1 and tags.count("svg") == 1
    assert all("scope" in attributes for tag, attributes in reader.tags if tag == "th")
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in reader.tags:
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#"), "nothing is loaded"
    assert ("html", {"lang": "en"}) in reader.tags
    text = " ".join(reader.text)
    assert all(each.claim.says in text and each.verdict in text for each in judged)
    assert "flexdp experiment 1 2 3 4 5 6 --epsilon 0.1,0.5,1 --seed 4 --runs 4 --datasets 3" in text
    assert "No switch reverses any verdict" in text
    assert "Flexible Accuracy for Differential Privacy" in text


def test_a_second_writing_has_the_same_bytes(study: Study, tmp_path: Path) -> None:
    found = Finished(study=study, judged=judge(study))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        found.write(tmp_path / name)
    names = sorted(each.name for each in (tmp_path / "a").iterdir())
    assert names == sorted(
        ["results.csv", "datasets.csv", "verdicts.csv", "timings.csv", "figure.svg", "figure.png", "index.html"]
    )
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
