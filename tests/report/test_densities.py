"""Pictures of buckets of unequal width: areas are counts, open ends fade and are named, single values are needles."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import numpy as np
import pytest
from _support.markup import read_svg, rectangles
from _support.markup import texts as written
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import flexdp
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.buckets.parse import make_buckets
from flexdp.cli.output import bar_chart
from flexdp.histogram import KeyedHistogram
from flexdp.report import chart

EDGES = [0, 10, 20, 50, 100, 200]


def released(counts: list[int], groups: int = 0, **parameters: Any) -> flexdp.Release:
    """A release of given counts, bucket by bucket; 0 where nothing survived."""
    kind = parameters.pop("kind", "number")
    there = [place for place, count in enumerate(counts) if count]
    parts: list[list[Any]] = [there]
    heights = [counts[place] for place in there]
    named: dict[str, Any] = {}
    if groups:
        parts = [[f"g{i}" for i in range(groups) for _ in there], there * groups]
        heights, named = heights * groups, {"by": ("g",), "by_kinds": ("text",)}
    spec = Spec(columns=("cost",), partitions=(make_buckets(kind, **parameters),), **named)
    return flexdp.Release(spec=spec, budget=Budget(1, "1e-6"), cells=KeyedHistogram(parts, heights))


def areas(root: Any) -> list[float]:
    return [(width + 1) * height for _, _, width, height in rectangles(root, "bar")]  # a hair between the bars


@settings(max_examples=25, deadline=None)
@given(counts=st.lists(st.integers(200, 5000), min_size=5, max_size=5))
def test_areas_are_counts(counts: list[int]) -> None:
    root = read_svg(chart(released(counts, edges=EDGES).to_json()))
    found = areas(root)
    assert len(found) == 5 and "records per 20: areas are counts" in written(root)
    scale = sum(found) / sum(counts)
    for area, count, (_, _, width, _) in zip(found, counts, rectangles(root, "bar"), strict=True):
        assert area == pytest.approx(scale * count, abs=0.12 * (width + 1) + 0.02 * area)


def test_heights_of_counts_would_mislead() -> None:
    """The control: with the same density everywhere, bars are equally tall, though their counts are not."""
    counts = [100, 100, 300, 500, 1000]
    root = read_svg(chart(released(counts, edges=EDGES).to_json()))
    tall = [height for *_, height in rectangles(root, "bar")]
    assert max(tall) - min(tall) < 0.3
    even = read_svg(chart(released(counts, width=10, bounds=(0, 50)).to_json()))
    assert not any("records per" in line for line in written(even))
    tall = [height for *_, height in rectangles(even, "bar")]
    assert tall[4] / tall[0] == pytest.approx(10, rel=0.01)


def test_bands_are_as_many_records_as_may_be_missing() -> None:
    """27 more in each bucket: above a bar of width 10 the band is ten times as tall as above one of width 100."""
    counts = [500, 500, 0, 500, 5000]
    root = read_svg(chart(released(counts, edges=EDGES).to_json()))
    bars, bands = rectangles(root, "bar"), rectangles(root, "band")
    scale = bars[0][3] / (500 / 10)
    for (left, top, *_), width in zip(bars, (10, 10, 50, 100), strict=True):
        band = next(band for band in bands if band[0] == left and abs(band[1] + band[3] - top) < 0.16)
        assert band[3] == pytest.approx(27 / width * scale, abs=0.16)
    ground = bars[0][1] + bars[0][3]
    gap = [band for band in bands if abs(band[1] + band[3] - ground) < 0.16 and band[2] > 30]
    assert [band[3] for band in gap] == [pytest.approx(27 / 30 * scale, abs=0.16)], "the third bucket, without a bar"


def test_open_ends_fade_and_are_named() -> None:
    parameters = {"edges": [-10, 0, 10, 30], "open": True}
    picture = chart(released([60, 900, 1200, 900, 80], **parameters).to_json())
    root = read_svg(picture)
    said = written(root)
    assert {"below -10", "30 or more"} <= set(said)
    assert any(line.endswith("max 30 or more") for line in said) and any("min below -10" in line for line in said)
    slices = [rectangles(root, f"bar f{piece}") for piece in range(6)]
    assert all(len(each) == 2 for each in slices), "one end on either side"
    for side in (0, 1):
        heights = [each[side][3] for each in slices]
        assert heights == sorted(heights, reverse=True)
    paler = [float(value) for value in re.findall(r"\.f\d\{opacity:([\d.]+)\}", picture)]
    assert paler == sorted(paler, reverse=True) and len(paler) == 6
    assert len(rectangles(root, "bar")) == 3
    assert not any(re.fullmatch(r"4\d|-2\d", line) for line in said), "no tick beyond the last edge"


def test_outer_buckets_that_hold_nothing_are_not_drawn_but_published() -> None:
    parameters = {"edges": ["-1e9", "0", "10", "20", "1e9"], "open": True}
    made = released([0, 0, 500, 400, 0, 0], **parameters)
    root = read_svg(chart(made.to_json()))
    ((left, _, width, _), _) = rectangles(root, "bar")
    assert width > 200 and left > 40, "the two that hold records fill the picture"
    assert not any("e+" in line or "G" in line for line in written(root))
    assert json.loads(made.to_json())["buckets"]["edges"][0].replace("+", "") in ("-1e9", "-1e09", "-1000000000")


@pytest.mark.parametrize("kind", ["number", "integer"])
def test_single_values_that_stand_out_are_needles_with_their_count(kind: str) -> None:
    edges = ["-10", "0", ">0" if kind == "number" else "1", "10", "20"]
    root = read_svg(chart(released([50, 400, 9000, 500, 300, 60], kind=kind, edges=edges, open=True).to_json()))
    assert ("exactly 0: 9 000" if kind == "number" else "0: 9 000") in written(root)
    needle = next(bar for bar in rectangles(root, "bar") if bar[2] == 3)
    assert needle[3] > 200, "from the ground to the top"
    others = [bar[3] for bar in rectangles(root, "bar") if bar[2] != 3]
    assert max(others) > 150, "which do not shrink beside it"


def test_runs_of_single_integers_are_bars() -> None:
    counts = [60, 300, 900, 1500, 1400, 800, 300, 70]
    root = read_svg(chart(released(counts, kind="integer", edges=list(range(7)), open=True).to_json()))
    tall = [bar[3] for bar in rectangles(root, "bar")]
    assert [height / tall[0] for height in tall] == [pytest.approx(count / 300, rel=0.01) for count in counts[1:-1]]


@pytest.mark.parametrize("edges", [["7", ">7"], ["7", ">7", "9", ">9"]])
def test_nothing_but_single_numbers_is_drawn_as_counts(edges: list[str]) -> None:
    counts = [0, 5000, 0] if len(edges) == 2 else [0, 5000, 0, 2500, 0]
    root = read_svg(chart(released(counts, edges=edges, open=True).to_json()))
    tall = [bar[3] for bar in rectangles(root, "bar")]
    assert tall[0] > 190 and tall[-1] == pytest.approx(tall[0] * counts[-2] / 5000, rel=0.01)


@pytest.mark.parametrize(
    ("kind", "edges", "unit"),
    [
        ("date", ["2024-01-01", "2024-01-08", "2024-01-15", "2024-03-01"], "7 days"),
        ("datetime", ["2024-01-01", "2024-01-01T06:00", "2024-01-02", "2024-01-02T01:00"], "hour"),
        ("integer", [0, 3, 6, 60], "2"),
        ("number", ["0", "0.03", "0.06", "0.5"], "0.02"),
    ],
)
def test_units_of_width_in_words(kind: str, edges: list[Any], unit: str) -> None:
    said = written(read_svg(chart(released([90] * (len(edges) - 1), kind=kind, edges=edges).to_json())))
    assert f"records per {unit}: areas are counts" in said


def test_every_label_of_groups_stays_within_its_picture() -> None:
    """The last tick of the right-hand column was cut off: half of it lay beyond the edge."""
    for options in ({"width": 1000, "bounds": (0, 20_000)}, {"edges": [0, 1000, 5000, 20_000]}):
        many = len(make_buckets("number", **options).edges_of(np.arange(1))) and (20 if "width" in options else 3)
        root = read_svg(chart(released([500] * many, groups=3, **options).to_json()))
        labels = [element for element in root.iter() if element.tag.endswith("text") and element.text == "20 000"]
        assert len(labels) == 3
        for label in labels:
            half = {"middle": 21.0, "end": 0.0, "start": 42.0}[label.get("text-anchor")]
            assert float(label.get("x")) + half <= 719
    assert any("records per" in line for line in written(root))


def drawn(release: flexdp.Release) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=100).print(bar_chart(release, 40))
    return out.getvalue().splitlines()


def test_the_terminal_draws_densities_too() -> None:
    counts = [100, 100, 300, 500, 1000]
    rows = drawn(released(counts, edges=EDGES))
    assert "lengths are records per 20" in rows[0] and len({row.count("█") for row in rows[1:]}) == 1
    assert [row.split()[0] for row in rows[2:5]] == ["10–20", "20–50", "50–100"]
    even = drawn(released(counts, width=10))
    assert "lengths" not in even[0] and [row.count("█") for row in even[1:]] == [4, 4, 12, 20, 40]
    spike = drawn(released([50, 400, 9000, 500, 60], edges=["-10", "0", ">0", "10"], open=True))
    assert sum("…" in row for row in spike) == 1 and "exactly 0" in next(row for row in spike if "…" in row)


def test_the_page_says_that_areas_are_counts() -> None:
    uneven = released([500] * 5, edges=EDGES).to_html()
    assert "The areas of bars show what was published, because widths differ." in uneven
    assert "The areas of bars" not in released([500] * 5, width=10).to_html()
