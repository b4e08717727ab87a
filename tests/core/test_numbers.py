"""Printed numbers are true: a value and its margin, read back from any text, hold what was counted.

The oracle reads the text with its own pattern and computes in fractions. A double stands for its shortest decimal, as
everywhere in flexdp. Every value occurs so often that no bucket can vanish and no extreme be left out.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import re
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _support.private import private_counts
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import flexdp
from flexdp._core.exact import (
    float_up,
    lower_text,
    next_below,
    number_text,
    said,
    smallest_where,
    sum_up,
    to_double,
    upper_text,
    value_text,
)
from flexdp._core.keys import canonical_keys
from flexdp._release.answers_json import json_answer
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.buckets import Width
from flexdp.buckets.parse import make_buckets
from flexdp.cli.output import AtomicFile, print_answers
from flexdp.histogram import Histogram, KeyedHistogram
from flexdp.report.charts.histograms import histogram
from flexdp.report.charts.svg import named, ticks
from flexdp.report.document import Document

COPIES = 40  # more than a bucket can lose
BUDGET: dict[str, Any] = {"epsilon": 10, "delta": "1e-3"}
NOISE = Budget(BUDGET["epsilon"], BUDGET["delta"], most=1, certify=None)
NUMBER = r"-?[0-9]+(?: [0-9]{3})*(?:\.[0-9]+)?(?:e[+-][0-9]+)?(?:/[0-9]+)?"
SMALLEST_NORMAL = 2.2250738585072014e-308


def released(values: list[Any], **question: Any) -> flexdp.Release:
    rows: Any = [value for value in values for _ in range(COPIES)]
    if not {"width", "relative", "edges"} & set(question):
        question["exact"] = True
    made = flexdp.release(rows if question.get("kind") else np.array(rows), **BUDGET, **question)
    assert made.max_drop < COPIES
    return made


def made_of(values: list[Any], **question: Any) -> flexdp.Release:
    """What a release of these values holds, without an engine: many records of each."""
    kind = question.pop("kind", "number")
    buckets = make_buckets(kind, **question)
    index = buckets.locate(canonical_keys(values))
    spec = Spec(columns=(None,), partitions=(buckets,))
    return flexdp.Release(spec=spec, budget=NOISE, cells=KeyedHistogram([index], [COPIES] * len(index)))


def truths(values: list[Any], **question: Any) -> list[Fraction]:
    """The values as they are read: limited to the bounds, and as the decimals that they are written in."""
    edges = question.get("edges")
    bounds = question.get("bounds") if edges is None else (edges[0], edges[-1])
    if bounds is not None and not question.get("kind"):
        low, high = (float(Fraction(bound)) for bound in bounds)
        values = [min(max(value, low), high) for value in values]
    elif bounds is not None:
        values = [min(max(value, math.ceil(Fraction(bounds[0]))), math.floor(Fraction(bounds[1]))) for value in values]
    found = [value if isinstance(value, int) else Fraction(repr(value)) for value in values]
    if "width" in question or "relative" in question:
        found = [Fraction(0) if 0 < abs(value) < Fraction(repr(SMALLEST_NORMAL)) else value for value in found]
    return sorted(map(Fraction, found))


def number(text: str) -> Fraction:
    """A printed number, whose thousands are set apart."""
    return Fraction(text.replace(" ", ""))


def numbers(pattern: str, text: str) -> list[Fraction]:
    match = re.search(pattern.replace("#", f"({NUMBER})"), text)
    assert match is not None, (pattern, text)
    return [number(group) for group in match.groups()]


def span(words: str) -> tuple[Fraction | float, Fraction | float]:
    """The ends of a printed range: "90–95", "-5 to 0", "7", "115 or more", "90–95 or less", "any value"."""
    if words == "any value" or words.startswith("probably "):
        return -math.inf, math.inf
    if found := re.fullmatch("(.+) or (more|less)", words):
        low, high = span(found[1])
        return (low, math.inf) if found[2] == "more" else (-math.inf, high)
    found = re.fullmatch(f"({NUMBER})(?:(?:–| to )({NUMBER}))?", words)
    assert found is not None, words
    low = number(found[1])
    return low, low if found[2] is None else number(found[2])


def told(answer: flexdp.Answer) -> str:
    """The value as the sentence prints it."""
    found = re.match(r"[^:]+: (.+?)\.(?: |$)", str(answer))
    assert found is not None and found[1] == answer.text and answer.statement == str(answer)
    return found[1]


def margin(answer: flexdp.Answer, value: Fraction) -> Fraction:
    """How far the value may be from the truth."""
    assert answer.accuracy is not None
    beta = Fraction(repr(answer.accuracy.beta))
    return abs(value) * beta if answer.accuracy.relative else beta


def check(values: list[Any], **question: Any) -> None:
    """All answers of a release of these values, in all texts that they are printed in."""
    made, true = made_of(values, **question), truths(values, **question)
    lowest, highest = true[0], true[-1]
    for answer, truth in ((made.max(), highest), (made.min(), lowest), (made.range(), highest - lowest)):
        if answer.value is None:
            assert "than a double can hold" in answer.statement
            continue
        low, high = span(told(answer))
        assert low <= truth <= high, str(answer)
        value = Fraction(value_text(answer.value))
        assert Fraction(json.dumps(json_answer("", answer)["value"]).strip('"')) == value
        assert low <= value <= high, str(answer)
        if answer.accuracy is not None:
            assert abs(value - truth) <= margin(answer, value), str(answer)
        if abs(low) != math.inf and high != math.inf and not made.partition.relative:  # no wider than the accuracy says
            assert high - low <= 2 * margin(answer, value) + max(abs(low), abs(high)) / 10**15, str(answer)
    for answer, level in ((made.median(), Fraction(1, 2)), (made.quantile("0.99"), Fraction(99, 100))):
        truth = true[math.ceil(level * len(true)) - 1]
        _check_quantile(answer, truth)
        if answer.interval is not None:
            _check_interval(made, answer, truth)
    support, mode = made.support(), made.mode()
    keys = [Fraction(value_text(key)) for key in support.value]
    _check_cover(keys, true, lambda key: margin(support, key))
    if len(keys) <= 8:
        ranges = [span(words) for words in told(support).split(", ")]
        assert len(ranges) == len(keys)
        assert all(any(low <= value <= high for low, high in ranges) for value in true)
        assert all(any(low <= value <= high for value in true) for low, high in ranges)
    if "every value was moved" in str(mode) and "relative" not in question:
        (moved,) = numbers("to the middle of its bucket, by at most #;", str(mode))
        _check_cover(keys, true, lambda _: moved)
    _check_page(made, true, keys)


def _check_quantile(answer: flexdp.Answer, truth: Fraction) -> None:
    """Every value occurs as often, and none is lost: the quantile is in the bucket that the accuracy refers to."""
    if answer.value is None:  # one bucket that is open on both sides holds everything
        assert answer.text == "any value"
        return
    words, value = told(answer), Fraction(value_text(answer.value))
    assert Fraction(json.dumps(json_answer("", answer)["value"]).strip('"')) == value
    if words.startswith("about "):
        shown = span(words.removeprefix("about "))  # to a hundredth of what it can be off by
        width = max((abs(Fraction(end) - value) for end in answer.interval or () if math.isfinite(end)), default=None)
        if shown[0] == shown[1] and width is not None:
            assert abs(shown[0] - value) <= width / 60, str(answer)
        low, high = -math.inf, math.inf
    else:
        low, high = span(words)
    assert low <= truth <= high and low <= value <= high, str(answer)
    if answer.accuracy is not None:
        assert abs(value - truth) <= margin(answer, value), str(answer)
    if found := re.search(r"; among the rest it (?:lies in|is) (.+?)\.(?: |$)", str(answer)):
        low, high = span(found[1])
        assert low <= truth <= high, str(answer)


def _check_interval(made: flexdp.Release, answer: flexdp.Answer, truth: Fraction) -> None:
    """The interval in numbers, and as far as it is printed; where it is all that there can be, it is not."""
    assert answer.interval is not None
    if answer.value is None:
        return
    low, high = (end if math.isinf(end) else Fraction(value_text(end)) for end in answer.interval)
    assert low <= truth <= high and low <= Fraction(value_text(answer.value)) <= high
    found = re.search(
        rf"is guaranteed to (?:lie between ({NUMBER}) and ({NUMBER})|be at least ({NUMBER})|be at most ({NUMBER})|"
        rf"be ({NUMBER}))\.$", str(answer)
    )  # fmt: skip
    if found is None:
        sure = str(answer).endswith(" This is certain.") and low == truth == high
        assert "guaranteed" not in str(answer) and (sure or made.partition.outside == "clamp")
        return
    printed = {number(group) for group in found.groups() if group is not None}
    below, above, least, most, single = (None if group is None else number(group) for group in found.groups())
    assert (below is None or below <= truth) and (least is None or least <= truth)
    assert (above is None or truth <= above) and (most is None or truth <= most) and single in (None, truth)
    if not made.partition.relative:  # whose edges are shortened, outward
        assert printed <= {low, high}


def _check_cover(keys: list[Fraction], true: list[Fraction], within: Any) -> None:
    """Each value lies near a key, and no key is far from all values."""
    assert all(any(abs(key - value) <= within(key) for key in keys) for value in true)
    assert all(any(abs(key - value) <= within(key) for value in true) for key in keys)


def _check_page(made: flexdp.Release, true: list[Fraction], keys: list[Fraction]) -> None:
    """Values, sentences, the table of counts and the picture's own words."""
    page = made.to_html()
    page = page.replace("\xa0", " ")
    answers = (made.max(), made.min(), made.median(), made.quantile("0.99"))
    quoted = page[page.index("to quote</summary>") :]
    said_ = re.findall(r'<li class="long">(.*?)</li>', quoted[: quoted.index("</details>")])
    assert [unescape(line) for line in said_] == [str(answer) for answer in answers]
    shown = re.findall(r'<tr><th scope="row">(.*?)</th><td class="(?:short|list)">(.*?)</td>', page)
    assert [unescape(value) for _, value in shown] == [answer.text for answer in answers]
    for (_, value), truth in zip(shown[:2], (true[-1], true[0]), strict=True):
        low, high = span(unescape(value))
        assert low <= truth <= high
    cells = re.findall(r'<tr><td class="w">(.*?)</td>', page)
    ranges = [span(cell) for cell in cells]
    assert len(ranges) == len(keys)
    assert all(low <= key <= high for (low, high), key in zip(ranges, keys, strict=True))
    assert all(any(low <= value <= high for low, high in ranges) for value in true)
    found = re.search(r"left, from (.+?) to (.+?); the fullest with", page)
    assert found is not None and (cells[0], cells[-1]) in _halves(f"{found[1]} to {found[2]}")
    for words, text in re.findall(r">((?:(?:min|median|99th percentile|max)(?:, )?)+) ([^<]+)</text>", page):
        answers = {
            "min": made.min(),
            "median": made.median(),
            "99th percentile": made.quantile("0.99"),
            "max": made.max(),
        }
        assert {answers[word].text for word in words.split(", ")} == {unescape(text)}, words


def _halves(words: str) -> list[tuple[str, str]]:
    """Two ranges joined by "to", which may stand within them, too."""
    places = [match.start() for match in re.finditer(" to ", words)]
    return [(words[:place], words[place + 4 :]) for place in places]


WIDTHS = ["5", "1", "0.5", "0.1", "0.01", "0.3", "0.7", "0.37", "2.5", "1e-9", "1/3", "1e300", "1e-300", "123456.789"]
finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def near_edges(draw: st.DrawFn) -> tuple[list[float], dict[str, Any]]:
    """Numbers of any size, many of them next to an edge, and a width with or without bounds."""
    width = Fraction(draw(st.sampled_from(WIDTHS) | st.decimals("0.001", "1000", places=3).map(str)))
    question: dict[str, Any] = {"width": str(width)}
    origin = Fraction(0)
    if width < 10**200 and draw(st.booleans()):
        buckets = draw(st.integers(1, 50))
        origin = draw(st.integers(-30, 30)) * width + draw(st.sampled_from([0, 0, 0, 1])) * Fraction("18.5")
        question["bounds"] = (str(origin), str(origin + buckets * width - draw(st.sampled_from([0, 1])) * width / 4))
        if abs(origin) > 10**9 * width:
            question["bounds"] = ("0", str(buckets * width))
            origin = Fraction(0)
    values = []
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.integers(-60, 60) | st.integers(-(10**15), 10**15))
        value = to_double(origin + index * width)
        for _ in range(draw(st.integers(0, 3))):
            value = math.nextafter(value, draw(st.sampled_from([-math.inf, math.inf])))
        values.append(draw(st.sampled_from([value, value / 3]) | finite))
    limit = to_double(width * 2**50)
    values = [value for value in values if math.isfinite(value) and ("bounds" in question or abs(value) < limit)]
    assume(values)
    return values, question


@settings(max_examples=80, deadline=None)
@given(near_edges())
@example(([-1e-30], {"width": "5", "bounds": ("-100", "100")}))
@example(([-5e-324], {"width": "5"}))
@example(([-0.0, 0.0], {"width": "5"}))
@example(([0.8999999999999999, 2.0999999999999996], {"width": "0.3"}))
@example(([1e300, -1e300], {"width": "1e300"}))
@example(([0.0], {"width": "1e300"}))
@example(([1.7976931348623157e308], {"width": "1e300"}))
@example(([0.0, 493827.156], {"width": "123456789/1000", "bounds": ("0", "123456789/200")}))
def test_numbers_in_buckets_of_a_width(drawn: tuple[list[float], dict[str, Any]]) -> None:
    values, question = drawn
    check(values, **question)


@settings(max_examples=25, deadline=None)
@given(st.lists(finite, min_size=1, max_size=3))
@example([1700000000123456.0])
@example([0.1, 0.3])
@example([1e300, 1e-300])
@example([5e-324, -5e-324])
def test_every_number_its_own_bar(values: list[float]) -> None:
    check(values)


@settings(max_examples=25, deadline=None)
@given(st.lists(finite, min_size=1, max_size=3), st.sampled_from(["0.05", "0.0001", "0.9", "0.1234567", "1/3"]))
@example([-5e-324, 1e-310], "0.05")
@example([3.634646909483716e307], "0.9")
def test_numbers_in_relative_buckets(values: list[float], relative: str) -> None:
    check(values, relative=relative)
    check(values, relative=relative, bounds=("-12345.678", "1e9"))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=3),
    st.lists(st.fractions(-1000, 1000, max_denominator=999) | st.integers(-9, 9), min_size=2, max_size=6, unique=True),
)
def test_numbers_between_edges(values: list[float], edges: list[Fraction]) -> None:
    question = {"edges": [str(edge) for edge in sorted(map(Fraction, edges))]}
    near = [math.nextafter(float(Fraction(edge)), -math.inf) for edge in question["edges"][:2]]
    try:
        check([*values, *near], **question)
    except flexdp.InputError as refusal:
        assert "too close" in str(refusal)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-(10**36), 10**36) | st.integers(2**53 - 9, 2**53 + 9), min_size=1, max_size=3),
    st.none() | st.sampled_from([1, 2, 3, 10, 2**62]) | st.integers(1, 10**18),
    st.none() | st.tuples(st.integers(-(10**36), 10**36), st.integers(1, 10**15)),
    st.booleans(),
)
@example([9007199254740993], 2, None, False)
@example([9007199254740993, -9007199254740993], None, None, False)
@example([2**63], 1, None, False)
def test_integers(values: list[int], width: int | None, bounds: tuple[int, int] | None, with_edges: bool) -> None:
    question: dict[str, Any] = {"kind": "integer"}
    if width is not None and with_edges:
        low = min(values)
        question["edges"] = [low - width, low, low + 2 * width, low + 5 * width]
    elif width is not None:
        question["width"] = width
    if bounds is not None and "edges" not in question:
        question["bounds"] = (bounds[0], bounds[0] + bounds[1])
    try:
        check(values, **question)
    except flexdp.InputError as refusal:
        assert "±10" in str(refusal) or "must be in" in str(refusal) or "too small" in str(refusal), refusal


def test_the_sentences_that_were_false() -> None:
    assert released([1700000000123456.0]).max().text == "1 700 000 000 123 456 or more"
    pair = released([9007199254740993], kind="integer", width=2)
    assert pair.max().text == "9 007 199 254 740 992–9 007 199 254 740 993 or more"
    fine = released([1234567.0000000005], width="1e-9").max()
    assert fine.value == 1234567.0000000005 and fine.text == "1 234 567–1 234 567.000000001 or more"
    for values, question in (
        ([1700000000123456.0], {}),
        ([9007199254740993], {"kind": "integer", "width": 2}),
        ([1234567.0000000005], {"width": "1e-9"}),
    ):
        check(values, **question)


@pytest.mark.parametrize(
    ("values", "question"),
    [([1700000000123456.0], {}), ([9007199254740993], {"kind": "integer", "width": 2}), ([0.1234567890123456], {})],
)
def test_a_printer_of_twelve_digits_is_caught(
    monkeypatch: pytest.MonkeyPatch, values: list[Any], question: dict[str, Any]
) -> None:
    for place in ("flexdp._core.exact", "flexdp._release.ranges"):
        monkeypatch.setattr(f"{place}.number_text", lambda value: f"{float(value):.12g}")
    with pytest.raises(AssertionError):
        check(values, **question)


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("flexdp.buckets.width.largest_distance", lambda *_: Fraction(0)),  # numbers rounded across an edge forgotten
        ("flexdp._release.ranges.bucket_ends", lambda buckets, index: buckets.edges_of(np.array([index]))[0]),
    ],
)
def test_margins_that_are_too_narrow_are_caught(monkeypatch: pytest.MonkeyPatch, target: str, fault: Any) -> None:
    below = {index: math.nextafter(-index / 10, -math.inf) for index in range(1, 100)}
    crossing = next(value for index, value in below.items() if math.floor(value / 0.1) == -index)
    check([crossing], width="0.1")  # beyond the lower end of the bucket that it counts in
    monkeypatch.setattr(target, fault)
    with pytest.raises(AssertionError):
        check([crossing], width="0.1")


@pytest.mark.parametrize(
    ("width", "lowest"),
    [
        *((width, -300) for width in ("5", "1", "0.5", "0.25")),
        *((f"0.{digits}", 0) for digits in ("1", "2", "05", "01")),
    ],
)
@pytest.mark.parametrize("bounded", [False, True])
def test_usual_widths_stay_short(width: str, lowest: int, bounded: bool) -> None:
    bounds = (lowest * Fraction(width), 300 * Fraction(width)) if bounded else None
    buckets = Width("number", Fraction(width), bounds)
    index = np.arange(buckets.count or 0) if bounded else np.arange(lowest, 300)
    assert buckets.beta_of(index) == Fraction(width) / 2
    assert all(buckets.beta_at(i) == Fraction(width) / 2 for i in index[:: max(1, len(index) // 40)].tolist())


@pytest.mark.parametrize("outside", ["clamp", "drop"])
@pytest.mark.parametrize("width", ["5", "0.1", "0.3"])
def test_all_engines_find_the_same_bucket_next_to_an_edge(outside: str, width: str) -> None:
    import sqlite3

    import pyarrow as pa

    bounds = (-20 * Fraction(width), 20 * Fraction(width))
    edges = [float(index * Fraction(width)) for index in range(-22, 23)]
    values = [*edges, *(math.nextafter(edge, way) for edge in edges for way in (-9e9, 9e9)), -1e-30, 1e-30, -5e-324]
    question: dict[str, Any] = {"width": width, "bounds": tuple(map(str, bounds)), "outside": outside}
    buckets = make_buckets("number", **question)
    index = buckets.locate(np.array(values))
    wanted = dict(Histogram.from_values(buckets.centres(index)).items())
    assert wanted[float(Fraction(width) / 2)] >= 3 and min(index) == 0
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (x REAL)")
        connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
        sources = [(np.array(values), None), (pa.table({"x": values}), "x"), ((connection, "t"), "x")]
        for source, column in sources:
            assert private_counts(source, column, **question) == wanted
    connection.close()


def test_many_buckets_are_bounded_together_as_one_by_one() -> None:
    buckets = Width("number", Fraction("0.37"))
    index = np.arange(1, 3000)
    alone = max(buckets.beta_at(i) for i in range(2500, 3000))
    assert Fraction("0.185") < alone <= buckets.beta_of(index) < Fraction("0.1850001")


def test_terminal_and_csv_print_all_digits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    values = [9007199254740993, -9007199254740993, 10**36 + 7]
    pairs, alone = released(values, kind="integer", width=2), released(values, kind="integer")
    print_answers(pairs, [pairs.support(), pairs.max()])
    print_answers(pairs, [pairs.counts()])
    out = capsys.readouterr().out
    listed = [line.partition("\t") for line in out.splitlines() if line[:1] in "-19"]
    ends = [[int(end.replace(" ", "")) for end in re.split(" to |–", words)] for words, _, _ in listed]
    pair = [[-9007199254740994, -9007199254740993], [9007199254740992, 9007199254740993], [10**36 + 6, 10**36 + 7]]
    assert ends == pair * 2 and [bool(count) for _, _, count in listed] == [False] * 3 + [True] * 3
    low, high = span(told(pairs.max()))
    assert (low, high) == (10**36 + 6, math.inf) and str(pairs.max()) in out
    for made, first in ((pairs, "-9007199254740993.5"), (alone, "-9007199254740993")):
        with AtomicFile(str(tmp_path / "x.csv")) as file:
            file.write(made)
        rows = list(csv.DictReader(io.StringIO((tmp_path / "x.csv").read_text())))
        assert rows[0]["key"] == first
        for row, value in zip(rows, sorted(values), strict=True):
            assert Fraction(row["lower"]) <= value <= Fraction(row["upper"])
            assert abs(Fraction(row["key"]) - value) <= Fraction(1, 2)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_keep_all_digits(library: str) -> None:
    values = [9007199254740993, 10**36 + 7, 5]
    frame = released(values, kind="integer", width=2).to_frame(library)
    keys = frame.to_pydict()["key"] if library == "pyarrow" else frame["key"].to_list() if library == "polars" else None
    keys = list(frame["key"]) if keys is None else keys
    assert all(abs(Fraction(key) - value) <= Fraction(1, 2) for key, value in zip(keys, sorted(values), strict=True))


def test_moments_print_their_microseconds() -> None:
    moment = dt.datetime(2024, 3, 1, 12, 30, 15, 123457)
    made = released([moment], kind="datetime", width="3 microseconds")
    found = re.search(r": (\S+) (\S+)–(\S+) or later\. ", str(made.max()))
    assert found is not None
    first, end = (dt.datetime.fromisoformat(f"{found[1]} {clock}") for clock in found.groups()[1:])
    assert first <= moment < end and end - first == dt.timedelta(microseconds=3)
    picture = histogram(Document.read(made.to_json()))
    assert "12:30:15.123456" in picture
    minute = released([dt.datetime(2024, 3, 1, 12, 30)], kind="datetime")
    assert "2024-03-01 12:30<" in histogram(Document.read(minute.to_json()))


def test_bounds_are_printed_as_they_limit() -> None:
    made = released([0.5], width="0.1", bounds=("-0.12345678901234", "0.98765432109876"))
    assert "limited to -0.12345678901234 to 0.98765432109876" in str(made.certificate())
    long = released([10**36], kind="integer", width=2, bounds=(10**36 - 1, 10**36 + 1))
    assert f"limited to {10**36 - 1}–{10**36 + 1}" in re.sub(r"(?<=[0-9]) (?=[0-9]{3})", "", str(long.certificate()))


def test_points_of_long_integers_say_how_far_they_were_rounded() -> None:
    import pyarrow as pa

    value = 9007199254740993
    table = pa.table({"x": [value] * COPIES, "y": [1] * COPIES})
    made = flexdp.release(table, ["x", "y"], width=1, **BUDGET)
    mode = made.mode()
    (moved,) = numbers("to the middle of its cell, by at most #;", str(made.apply(len)))
    assert 0 < abs(Fraction(mode.value[0]) - value) <= moved
    found = re.search(rf": \(({NUMBER})–({NUMBER}), 1\)\. ", str(mode))
    assert found is not None and number(found[1]) <= value <= number(found[2])


@given(st.fractions() | finite.map(said))
@settings(max_examples=150, deadline=None)
def test_bounds_are_rounded_outward(number: Fraction) -> None:
    for digits in (3, 6):
        assert Fraction(lower_text(number, digits)) <= number <= Fraction(upper_text(number, digits))
        near = max(
            abs(Fraction(upper_text(number, digits)) - number), abs(number - Fraction(lower_text(number, digits)))
        )
        assert near <= abs(number) / 10 ** (digits - 1)
    double = float_up(number)
    assert Fraction(double) >= number and said(double) >= number


@given(st.lists(st.floats(0, 1e300), max_size=4))
def test_sums_cover_doubles_and_what_they_say(parts: list[float]) -> None:
    total = sum_up(*parts)
    assert Fraction(total) >= sum(map(Fraction, parts)) and said(total) >= sum(map(said, parts))


@given(finite)
def test_doubles_are_printed_so_that_they_read_back(value: float) -> None:
    assert float(number_text(value)) == value and number_text(value) != "-0"
    assert len(number_text(value)) <= len(repr(value))


@given(st.integers(-(10**37), 10**37), st.integers(0, 12))
def test_fractions_are_printed_exactly(top: int, twos: int) -> None:
    number = Fraction(top, 2**twos)
    text = number_text(number)
    assert Fraction(text) == number or len(str(top)) + twos > 38
    if twos <= 1:
        assert re.fullmatch(r"-?[0-9]+(\.5)?", text)


@given(finite, finite)
def test_doubles_are_searched_in_order(one: float, two: float) -> None:
    low, high = sorted((one, two))
    assert smallest_where(lambda value: value >= high, low, high) == high
    assert next_below(high) == math.nextafter(high, -math.inf) or high == 0


@given(st.floats(-1e17, 1e17), st.floats(1e-9, 1e9))
@settings(max_examples=100, deadline=None)
def test_ticks_are_named_where_they_are(low: float, span: float) -> None:
    pairs = named(ticks(low, low + span, 8), 640)
    assert all(Fraction(name.replace(" ", "")) == said(place) for place, name in pairs)
    assert len({name for _, name in pairs}) == len(pairs), "no two ticks have one name"
