"""How pages and pictures read: what is said once, scales that are named, captions that nothing crosses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from _support.markup import read_html, read_svg
from _support.markup import texts as written

import flexdp
from flexdp.report import chart
from flexdp.report.charts.marks import Flag, _Mark
from flexdp.report.html.page import standard_answers
from flexdp.report.html.tables import told

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
PLACES = np.arange(6000)
SHAPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "spread": (20.0 + PLACES % 60, {"width": 5}),
    "bounded": (20.0 + PLACES % 60, {"width": 5, "bounds": (0, 1000)}),
    "close": (np.where(PLACES < 5900, 33.0, 38.0), {"width": 5, "bounds": (0, 120)}),
    "at the end": (np.where(PLACES < 300, 3.0, 97.0), {"width": 1, "bounds": (0, 100)}),
    "relative": (np.exp(PLACES / 800), {"relative": "0.1"}),
    "automatic": (np.exp(PLACES / 800), {}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_the_table_and_the_line_above_it_say_is_the_sentence(shape: str) -> None:
    values, options = SHAPES[shape]
    answers = standard_answers(flexdp.release(values, **SPEND, **options))
    found = told(answers)
    for answer, row in zip(answers, found.rows, strict=True):
        known = row.known
        if known.startswith(("Among the rest", "Up to 27 may lie")):
            known = f"{found.shared.removesuffix('.')}; {known[0].lower()}{known[1:]}"
        assert f"{row.name}: {row.value}. {known}".strip() == answer.statement
    assert sum(row.known.startswith("At most 27") for row in found.rows) <= 1, "said once for all"


def crossings(svg: str) -> int:
    """Captions that the line of another mark crosses, or that lie over another one."""
    root = read_svg(svg)
    lines = [
        tuple(map(float, re.fullmatch(r"M(\S+) (\S+)V\S+", element.get("d")).groups()))  # type: ignore[union-attr]
        for element in root.iter()
        if str(element.get("class", "")).startswith("mark")
    ]
    captions = [
        (float(element.get("x")), float(element.get("y")), 7.1 * len(element.text))
        for element in root.iter()
        if element.get("class") == "m"
    ]
    wide = float(root.get("width"))
    assert all(x >= 0 and x + length <= wide + 6 for x, _, length in captions), "inside the picture"
    crossed = sum(x < at < x + length and top < y - 4 for x, y, length in captions for at, top in lines)
    over = sum(
        abs(y - v) < 9 and x < u + other and u < x + length
        for place, (x, y, length) in enumerate(captions)
        for u, v, other in captions[place + 1 :]
    )
    return crossed + over


@pytest.mark.parametrize("shape", SHAPES)
def test_no_line_crosses_a_caption(shape: str) -> None:
    values, options = SHAPES[shape]
    document = flexdp.release(values, **SPEND, **options).to_json()
    assert crossings(chart(document)) == 0
    crossings(chart(document, narrow=True))  # there may be no room, but inside they are


def test_crossed_captions_are_noticed() -> None:
    """The control: captions in the middle above their lines, as they were, cross and cover each other."""
    close = [_Mark(x, "99th percentile about 190", "mark") for x in (100.0, 130.0)]
    centred = [Flag(mark, row, mark.x - mark.wide / 2) for row, mark in enumerate(close)]
    assert centred[0].clash(centred[1]) > 0
    assert Flag(close[0], 1, 105.0).clash(Flag(close[1], 0, 135.0)) == 0, "the left one higher, both to the right"
    body = "".join(f'<text class="m" x="{flag.start}" y="{30 - 15 * flag.row}">{flag.mark.caption}</text>'
                   f'<path class="mark" d="M{flag.mark.x} {20 - 15 * flag.row}V90"/>' for flag in centred)  # fmt: skip
    assert crossings(f'<svg width="400"><title>title</title><desc>words</desc>{body}</svg>') > 0


def test_scales_are_named_and_what_is_not_drawn_is_told() -> None:
    bounded = written(
        read_svg(chart(flexdp.release(*SHAPES["bounded"][:1], **SPEND, **SHAPES["bounded"][1]).to_json()))
    )
    assert "no bars from 0 to 20 and 80 to 1000" in bounded and "records" in bounded and "values" in bounded
    relative = read_svg(chart(flexdp.release(SHAPES["relative"][0], **SPEND, relative="0.1").to_json()))
    assert "values, logarithmic scale" in written(relative) and {"10", "100", "1000"} <= set(written(relative))
    thin = np.concatenate([np.repeat(np.arange(0, 10, 0.5), 4000), np.linspace(10, 1000, 2000)])
    made = flexdp.release(thin, **SPEND, edges=[*range(11), 200, 400, 600, 800, 1000])
    assert any(line.endswith(", logarithmic scale") for line in written(read_svg(chart(made.to_json()))))
    assert "areas" not in " ".join(read_html(made.to_html()).text), "on a logarithmic scale areas are no counts"


def test_groups_on_one_scale_or_on_their_own_and_those_that_may_be_missing() -> None:
    alike = pl.DataFrame({"x": (PLACES % 50) * 1.0, "g": np.array(["a", "b"])[PLACES % 2]})
    unlike = pl.DataFrame({"x": (PLACES % 50) * 1.0, "g": np.where(PLACES % 20 == 0, "b", "a")})
    for table, words in ((alike, "all groups on the same scale"), (unlike, "each group on a scale of its own")):
        made = flexdp.release(table, "x", by="g", **SPEND, width=10)
        assert words in written(read_svg(chart(made.to_json())))
        text = " ".join(read_html(made.to_html()).text)
        missing = (
            "A group (g) is certain to be listed if a bucket of it holds at least 28 records; others may be missing."
        )
        assert missing in text and "all together" in text
    assert "certain to be listed" not in flexdp.release([3.0] * 99, **SPEND, width=5).to_html()
