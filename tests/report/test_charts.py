"""Pictures say what the JSON says: bars as tall as counts, bands as tall as what may be missing, nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from _support.bits import seed
from _support.documents import HOSTILE, ages, datetimes, grid, grouped, texts, units, with_bars
from _support.markup import read_svg, rectangles
from _support.markup import texts as written
from hypothesis import example, given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import InputError
from flexdp.report import Document, chart, tradeoff
from flexdp.report.charts.svg import day_ticks, moment_ticks, named, ticks

SHAPES = {"ages": ages, "grouped": grouped, "grid": grid, "datetimes": datetimes, "texts": texts, "units": units}


@settings(max_examples=25, deadline=None)
@given(heights=st.lists(st.integers(1, 5000), min_size=24, max_size=24))
@example(heights=[1] * 23 + [5000])
def test_bars_are_as_tall_as_their_counts(heights: list[int]) -> None:
    document = ages()
    document = with_bars(document, **{**document["bars"], "count": heights})
    root = read_svg(chart(document))
    bars, bands = rectangles(root, "bar"), rectangles(root, "band")
    assert len(bars) == 24
    skewed = "records, logarithmic scale" in " ".join(written(root))
    assert skewed == (max(heights) > max(50 * np.median(heights), 2700))

    def tall(count: float) -> float:
        share = np.log1p(count) / np.log1p(max(heights) + 27) if skewed else count / (max(heights) + 27)
        return 202 * float(share)

    for (_, top, _, height), count in zip(bars, heights, strict=True):
        assert height == pytest.approx(tall(count), abs=0.16)
        band = next(band for band in bands if abs(band[1] + band[3] - top) < 0.16 and band[2] > 1)
        assert band[3] == pytest.approx(tall(count + 27) - tall(count), abs=0.16)


def test_a_bucket_without_a_bar_has_a_band_along_the_ground() -> None:
    document = ages()
    kept = [i for i in range(24) if i not in (10, 11)]
    bars = {name: [cells[i] for i in kept] for name, cells in document["bars"].items()}
    root = read_svg(chart(with_bars(document, **bars)))
    wide = rectangles(root, "bar")[0][2]
    (gap,) = (band for band in rectangles(root, "band") if band[2] > 1.5 * wide)
    assert gap[2] == pytest.approx(2 * (wide + 1), abs=0.3)
    assert gap[0] == pytest.approx(rectangles(root, "bar")[9][0] + wide + 0.5, abs=0.3), "where the tenth bar would be"
    assert gap[3] == pytest.approx(rectangles(root, "band")[0][3], abs=0.2), "as tall as the band above a bar"
    full = rectangles(read_svg(chart(document)), "band")
    assert not any(band[2] > 1.5 * wide for band in full), "no gap, no band along the ground"


def test_marks_are_the_answers_of_the_release() -> None:
    values = np.concatenate([np.full(500, 12.0), np.full(1000, 33.0), np.full(400, 57.0), np.full(100, 101.0)])
    released = flexdp.release(values, epsilon=1, delta="1e-6", width=5, bounds=(0, 120))
    said = written(read_svg(chart(released.to_json())))
    for word, answer in (
        ("min", released.min()),
        ("median", released.median()),
        ("99th percentile", released.quantile("0.99")),
        ("max", released.max()),
    ):
        assert any(re.search(rf"\b{re.escape(word)}\b.* {re.escape(answer.text)}$", line) for line in said), (
            word,
            said,
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_document_is_drawn(shape: str) -> None:
    picture = chart(SHAPES[shape]())
    root = read_svg(picture)
    assert "27" in root[1].text, "the description says how much may be missing"
    assert "prefers-color-scheme:dark" in picture and "<script" not in picture
    assert "style=" not in picture
    inside = chart(SHAPES[shape](), name="other", alone=False)
    assert "<style" not in inside and 'id="other-t"' in inside


def test_a_picture_of_units_is_described_in_units() -> None:
    table = pa.table({"v": [1.0] * 500, "u": range(500)})
    released = flexdp.release(table, "v", epsilon=1, delta="1e-6", width=5, unit="u", max_buckets_per_unit=1)
    description = read_svg(chart(released.to_json()))[1].text
    assert f"with {released.histogram.size} units (u) left" in description and "record" not in description


def test_groups_are_drawn_apart_and_on_one_scale() -> None:
    document = grouped()
    root = read_svg(chart(document))
    bars, counts = rectangles(root, "bar"), document["bars"]["count"]
    assert len(bars) == len(counts) == 18
    scale = max(bar[3] for bar in bars) / max(counts)
    assert sorted(round(bar[3] / scale / 10) for bar in bars) == pytest.approx(sorted(c / 10 for c in counts), abs=1.5)
    assert {"north", "south", "east"} <= set(written(root))
    many = grouped(tuple(f"g{i}" for i in range(20)))
    assert "8 smaller groups not drawn" in " ".join(written(read_svg(chart(many))))


def test_more_columns_are_a_list() -> None:
    base = grid()
    three = {**base, "column": ["a", "b", "c"], "kind": ["number"] * 3, "buckets": [{"width": "1"}] * 3}
    three["bars"] = {"key": [[1, 2, 3], [4, 5, 6]], "index": [[1, 2, 3], [4, 5, 6]], "count": [50, 90]}
    assert [line for line in written(read_svg(chart(three))) if "–" in line] == ["4–5, 5–6, 6–7", "1–2, 2–3, 3–4"]
    both = {**three, "by": ["ward"], "bars": {**three["bars"], "group": [["x"]] * 2}}
    assert any(line.startswith("x: ") for line in written(read_svg(chart(both))))


def test_groups_of_texts() -> None:
    base = texts()
    bars = {"key": ["x", "y", "x"], "count": [50, 40, 30], "group": [["a", 1], ["a", 1], ["b", 2]]}
    root = read_svg(chart({**base, "by": ["ward", "year"], "groups": None, "bars": bars}))
    assert len(rectangles(root, "bar")) == 3
    assert {"a, 1", "b, 2", "x", "y"} <= set(written(root))


def test_a_map_has_a_cell_for_every_bar_and_darker_is_more() -> None:
    document = grid()
    root = read_svg(chart(document))
    shades = [rectangles(root, f"c{level}") for level in range(1, 6)]
    cells = [cell for shade in shades for cell in shade if cell[3] != 12]
    assert len(cells) == len(document["bars"]["count"]), "besides the five squares of the legend"
    fullest = max(document["bars"]["count"])
    place = document["bars"]["index"][document["bars"]["count"].index(fullest)]
    assert place == [7, 4]
    rightmost = max((cell for cells in shades for cell in cells), key=lambda cell: (cell[0], -cell[1]))
    assert rightmost in shades[4], "the fullest cell, at the top right, has the darkest shade"
    mixed = {**document, "kind": ["number", "text"], "buckets": [{"width": "1"}, {}]}
    mixed["bars"] = {"key": [[0.5, "a"], [1.5, "b"]], "index": [[0, None], [1, None]], "count": [5, 9]}
    assert {"a", "b"} <= set(written(read_svg(chart(mixed))))


def outlined(root: Any) -> list[tuple[float, float]]:
    """The steps of the outline of many bars: where each ends, and how high it is above the ground."""
    (path,) = (element.get("d") for element in root.iter() if element.get("class") == "bar")
    found = []
    for start, run in re.findall(r"M[\d.]+ ([\d.]+)([^z]+)z", path):
        found += [(float(end), float(start) - float(top)) for top, end in re.findall(r"V([\d.]+)H([\d.]+)", run)]
    return found


@pytest.mark.parametrize(("bars", "limit"), [(200, 20_000), (1000, 50_000), (10_000, 40_000), (100_000, 40_000)])
def test_pictures_stay_small(bars: int, limit: int) -> None:
    document = ages()
    document["buckets"] = {"width": "5"}
    rise = [100 + i % 97 for i in range(bars)]
    rise[bars // 3] = 5000
    large = with_bars(document, key=[5 * i + 2.5 for i in range(bars)], index=list(range(bars)), count=rise)
    picture = chart(large)
    assert len(picture) < limit
    drawn = outlined(read_svg(picture))
    assert len(drawn) == bars if bars <= 1000 else len(drawn) <= 700
    assert ("each column the tallest" in picture) == (bars > 1000)
    end, height = max(drawn, key=lambda step: step[1])
    assert end == pytest.approx(60 + 642 / 3, abs=15), "the tallest bar is not lost"
    assert height == pytest.approx(202 * 5000 / 5027, abs=0.2)
    if bars <= 1000:
        heights = [height for _, height in drawn]
        assert heights == pytest.approx([202 * count / 5027 for count in rise], abs=0.11)


def test_maps_stay_small() -> None:
    picture = chart(grid(200, 100))
    assert len(picture) < 200_000 and "each cell the fullest" in picture
    fine = chart(grid(80, 50))
    cells = [c for level in range(1, 6) for c in rectangles(read_svg(fine), f"c{level}") if c[3] != 12]
    assert len(cells) == 4000 and "each cell the fullest" not in fine
    area = sum(width * height for _, _, width, height in cells)
    (border,) = (element.get("d") for element in read_svg(fine).iter() if element.get("class") == "axis")
    left, top, right, bottom = map(float, re.fullmatch(r"M(\S+) (\S+)H(\S+)V(\S+)H\S+z", border).groups())
    assert right - left > 600 and bottom - top > 300
    assert area == pytest.approx((right - left) * (bottom - top), rel=0.01), "cells leave no gaps"


def test_nothing_survived_is_drawn_as_that() -> None:
    for document in (ages(), texts(), grid(), grouped()):
        empty = with_bars(document, **{name: [] for name in document["bars"]})
        assert any("Nothing survived" in line for line in written(read_svg(chart(empty))))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_and_keys_are_only_text(text: str) -> None:
    for document in (
        {**ages(), "column": text},
        {**texts(), "column": text, "bars": {"key": [text, "b"], "count": [5, 4]}},
        {**grouped((text, "b")), "by": [text]},
        {**grid(), "column": [text, text]},
    ):
        picture = chart(document)
        read_svg(picture)
        assert len(picture) < 60_000


@pytest.mark.parametrize(
    "bad", ["", "{}", "[]", "null", '{"schema": "other/1"}', '{"schema": "flexdp.release/2"}', "["]
)
def test_other_documents_are_refused(bad: str) -> None:
    with pytest.raises(InputError, match="document"):
        chart(bad)


def test_documents_of_unequal_lengths_are_refused() -> None:
    document = ages()
    with pytest.raises(InputError, match="document"):
        chart(with_bars(document, **{**document["bars"], "count": [1]}))


@pytest.mark.parametrize("count", [0, -1, 2**63, 1.5, "3", True, None])
def test_counts_that_cannot_be_are_refused(count: Any) -> None:
    document = ages()
    with pytest.raises(InputError, match="document"):
        chart(with_bars(document, **{**document["bars"], "count": [count] * 24}))


def test_the_largest_counts() -> None:
    document = ages()
    picture = chart(with_bars(document, **{**document["bars"], "count": [2**63 - 1] * 24}))
    read_svg(picture)
    assert str(24 * (2**63 - 1)) in picture.replace(" ", "") and "nan" not in picture


def test_relative_edges_dates_and_integers() -> None:
    values = np.exp(np.linspace(0, 9, 20_000))
    for options in ({"relative": "0.1"}, {"edges": [0, 1, 10, 100, 9000]}, {"width": 500}):
        released: Any = flexdp.release(values, epsilon=1, delta="1e-6", **options)
        assert len(rectangles(read_svg(chart(released.to_json())), "bar")) == len(released.bars)
    released = flexdp.release([i % 7 for i in range(999)], epsilon=1, delta="1e-6", kind="integer", exact=True)
    assert len(rectangles(read_svg(chart(released.to_json())), "bar")) == 7
    days = np.datetime64("2024-01-01") + np.arange(400).repeat(50)
    for width in (7, 30):
        released = flexdp.release(days, epsilon=1, delta="1e-6", width=width)
        said = written(read_svg(chart(released.to_json())))
        assert any(re.fullmatch(r"2024-\d\d", line) for line in said)


def test_extreme_numbers() -> None:
    for values in ([1e308] * 200 + [-1e308] * 200, [5e-324] * 200, [0.0] * 200):
        released = flexdp.release(values, epsilon=1, delta="1e-6", kind="number", exact=True)
        picture = chart(released.to_json())
        read_svg(picture)
        assert "nan" not in picture and "inf" not in picture


def test_the_curve_of_a_plan() -> None:
    found = flexdp.plan(delta="1e-6", lose_per_bucket=20)
    document = json.loads(found.to_json())
    root = read_svg(tradeoff(found.to_json()))
    assert any("ε = 1.33: at most 20 lost" in line for line in written(root))
    dots = [element for element in root.iter() if element.tag.endswith("circle")]
    assert len(dots) == len(document["options"])
    places = sorted((float(dot.get("cx")), float(dot.get("cy"))) for dot in dots)
    assert [y for _, y in places] == sorted(y for _, y in places), "the curve falls: y grows downwards"
    curve: Any = next(element for element in root.iter() if element.get("class") == "curve")
    assert len(re.findall(r"[\d.]+ [\d.]+", curve.get("d"))) == len(document["curve"])
    assert [drop for _, drop in document["curve"]] == sorted((drop for _, drop in document["curve"]), reverse=True)


@given(low=st.floats(-1e9, 1e9), span=st.floats(1, 1e9))
def test_ticks_are_round_and_few(low: float, span: float) -> None:
    found = ticks(low, low + span)
    assert len(found) <= 12
    assert all(low - span * 1e-6 <= tick <= low + span * (1 + 1e-6) for tick in found) or found == [low]


def test_ticks_of_days() -> None:
    for span in (3, 40, 200, 900, 4000, 400_000):
        found = day_ticks(19_000, 19_000 + span)
        assert 2 <= len(found) <= 60
        assert all(19_000 <= day <= 19_000 + span for day, _ in found)
    assert day_ticks(-1e9, 1e9)


def test_ticks_of_moments() -> None:
    for span in (4, 90, 4000, 80_000, 400_000, 4_000_000, 400_000_000):
        found = moment_ticks(1.7e9, 1.7e9 + span)
        assert 2 <= len(found) <= 60, span
        assert all(1.7e9 <= place <= 1.7e9 + span for place, _ in found)


@given(low=st.floats(-1e9, 1e9), span=st.floats(1e-3, 1e9), room=st.integers(100, 800))
def test_ticks_are_spelled_in_full_and_have_room(low: float, span: float, room: int) -> None:
    found = named(ticks(low, low + span), room)
    assert [float(words.replace(" ", "")) for _, words in found] == [place for place, _ in found]
    longest = max(len(words) for _, words in found)
    assert len(found) == 1 or 7 * longest * (len(found) - 1) <= room


def test_documents_are_read_from_text_and_parsed() -> None:
    document = ages()
    assert chart(document) == chart(json.dumps(document)) == chart(Document.read(document))


def test_a_grid_of_groups_has_a_map_for_each() -> None:
    """Every cell of every group is drawn once, in its group's frame, and the same number has the same shade in all."""
    plain = grid(4, 3)
    bars = plain["bars"]
    cells = len(bars["count"])
    document = {**plain, "by": ["ward"], "by_kind": ["text"], "groups": None}
    document["bars"] = {
        "group": [["A"]] * cells + [["B"]] * cells,
        "key": bars["key"] * 2,
        "index": bars["index"] * 2,
        "count": bars["count"] + [count + 1000 for count in bars["count"]],
    }
    root = read_svg(chart(document))
    drawn = [[c for c in rectangles(root, f"c{level}") if c[3] != 12] for level in range(1, 6)]
    assert sum(map(len, drawn)) == 2 * cells
    middle = 360
    halves = [sum(cell[0] < middle for shade in drawn for cell in shade), cells]
    assert halves == [cells, cells], "one group on the left, one on the right"
    assert all(cell[0] < middle for cell in drawn[4]), "the fuller group comes first and has the darkest shade"
    assert {"A", "B"} <= set(written(root))


def test_plot_is_the_picture_of_the_page(tmp_path: Path) -> None:
    released = flexdp.release([33.0] * 900, epsilon=1, delta="1e-6", width=5)
    picture = released.plot(tmp_path / "p.svg")
    assert picture.svg == chart(released.to_json()) == (tmp_path / "p.svg").read_text() == picture._repr_svg_()
    read_svg(picture.svg)
    with pytest.raises(InputError, match=r"path must end in \.svg"):
        released.plot(tmp_path / "p.png")
    asked = flexdp.release([33.0] * 900, epsilon=1, delta=0, ask="median", kind="number")
    with pytest.raises(InputError, match="has no buckets to draw"):
        asked.plot()


def test_marks_show_the_answers_that_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 5)
    release = flexdp.release([i % 700 for i in range(30_000)], kind="integer", epsilon=1, delta=1e-6, ask=["max"])
    drawn = chart(release.to_json())
    assert release.max().text in drawn and f"max {release.max().text}" in drawn.replace(" →", "")
    assert f"median {release.median().text}" in drawn


def test_marks_of_quantiles_say_what_the_answers_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read off the buckets alone, the 99th percentile of these would lie beyond the maximum that is marked."""
    seed(monkeypatch, 1)
    released = flexdp.release(np.arange(5000) % 100, epsilon="0.4", delta="1e-6")
    words = " ".join(re.sub(r"<[^>]+>", " ", released.to_html()).split())
    for name, answer in (("median", released.median()), ("99th percentile", released.quantile("0.99"))):
        captions = re.findall(rf"{name}(?:, max)? (about [\d.]+)", words)
        assert captions and set(captions) == {answer.text}, name
    assert released.quantile("0.99").value <= released.max().value


def test_the_picture_of_asked_answers_has_their_bounds() -> None:
    found = flexdp.plan(epsilon=1, ask=["max", "median"], records_about=50_000)
    drawn = tradeoff(found.to_json())
    answers = {row["epsilon"]: [row[name].bound for name in ("max", "median")] for row in found.rows}
    known = {epsilon: [bound for bound in bounds if bound is not None] for epsilon, bounds in answers.items()}
    bounds = {epsilon: max(each) for epsilon, each in known.items() if each}
    assert drawn.count("<circle") == len(bounds) > 5
    assert f"ε = 1: at most {bounds[found.epsilon]} off" in drawn
    assert all(f": {bound}" in drawn for bound in bounds.values())
    nothing = tradeoff(flexdp.plan(epsilon=1, ask="mean", records_about=50_000).to_json())
    assert "<circle" not in nothing and "not counted in records" in nothing
