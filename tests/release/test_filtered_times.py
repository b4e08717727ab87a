"""Answers about dates and datetimes lie within what the filter of the release allows of the column itself."""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from _support.bits import seed
from hypothesis import given, settings
from hypothesis import strategies as st

import flexdp
from flexdp._release.api import prepare
from flexdp._release.filtered import range_of_filter
from flexdp._release.spec import Spec
from flexdp.buckets.parse import make_buckets

MICROSECOND, DAY = dt.timedelta(microseconds=1), dt.timedelta(days=1)
OPS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
}  # fmt: skip
ZONES = ("Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "America/Havana", "UTC")


def limits(where: str, kind: Any, *, zone: str | None = None, **buckets: Any) -> tuple[Any, Any]:
    partition = make_buckets(kind, **(buckets or {"width": "1 month"}))
    return range_of_filter(Spec(columns=("x",), partitions=(partition,), where=where, zone=zone))


def day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("where", "dates", "datetimes"),
    [
        (
            "x >= DATE '2024-01-01' AND x < DATE '2025-01-01'",
            (day("2024-01-01"), day("2024-12-31")),
            (at("2024-01-01"), at("2024-12-31T23:59:59.999999")),
        ),
        (
            "date(x) >= DATE '2024-01-01' AND year(date(x)) <= 2024",
            (day("2024-01-01"), day("2024-12-31")),
            (at("2024-01-01"), at("2024-12-31T23:59:59.999999")),
        ),
        ("x <= DATE '2024-05-06'", (None, day("2024-05-06")), (None, at("2024-05-06"))),
        ("date(x) <= DATE '2024-05-06'", (None, day("2024-05-06")), (None, at("2024-05-06T23:59:59.999999"))),
        ("date(x) = DATE '2024-05-06'", (day("2024-05-06"),) * 2,
         (at("2024-05-06"), at("2024-05-06T23:59:59.999999"))),
        ("date(x) > DATE '2024-05-06' AND date(x) < DATE '9999-12-31'", (day("2024-05-06"), day("9999-12-30")),
         (at("2024-05-07"), at("9999-12-30T23:59:59.999999"))),
        ("date(x) <= DATE '9999-12-31' AND date(x) <= TIMESTAMP '2024-01-01 12:00'", (None, day("2024-01-01")),
         (None, None)),
        ("DATE '2024-05-06' < x", (day("2024-05-06"), None), (at("2024-05-06T00:00:00.000001"), None)),
        (
            "x BETWEEN DATE '2024-05-06' AND TIMESTAMP '2024-05-07 12:00'",
            (day("2024-05-06"), day("2024-05-07")),
            (at("2024-05-06"), at("2024-05-07T12:00")),
        ),
        ("year(x) = 2024 AND y > 3", (day("2024-01-01"), day("2024-12-31")),
         (at("2024-01-01"), at("2024-12-31T23:59:59.999999"))),
        ("year(x) > 2020 AND 2023 >= year(x)", (day("2021-01-01"), day("2023-12-31")),
         (at("2021-01-01"), at("2023-12-31T23:59:59.999999"))),
        ("year(x) >= 1 AND year(x) <= 9999", (None, None), (None, None)),
        ("year(x) BETWEEN 2 AND 9998", (day("0002-01-01"), day("9998-12-31")),
         (at("0002-01-01"), at("9998-12-31T23:59:59.999999"))),
        ("x = DATE '2024-05-06'", (day("2024-05-06"),) * 2, (at("2024-05-06"),) * 2),
        ("x >= '2024-01-01'", (None, None), (None, None)),
        ("x >= TIMESTAMP '2024-01-01 00:00+01:00'", (None, None), (None, None)),
        ("x >= DATE '2024-01-01' OR y = 1", (None, None), (None, None)),
        ("NOT x < DATE '2024-01-01'", (None, None), (None, None)),
        ("x NOT BETWEEN DATE '2024-01-01' AND DATE '2024-02-01'", (None, None), (None, None)),
        ("y >= DATE '2024-01-01' AND x > y AND x <> DATE '2024-01-01'", (None, None), (None, None)),
        ("coalesce(x, y) >= DATE '2024-01-01' AND year(y) = 2024 AND month(x) = 2", (None, None), (None, None)),
        ("year(x) > 2020.5", (None, None), (None, None)),
        ("x > DATE '2024-01-02' AND x < DATE '2024-01-01'", (None, None), (None, None)),
    ],
)  # fmt: skip
def test_the_range_of_a_filter(where: str, dates: Any, datetimes: Any) -> None:
    assert limits(where, "date") == dates
    assert limits(where, "datetime") == datetimes


def test_clocks_that_are_set_back_show_an_hour_twice() -> None:
    """In Berlin, 27 October 2024 has the hour from 2 to 3 twice: from 0:00 and from 1:00 UTC on."""
    berlin = {"zone": "Europe/Berlin"}
    before = "x < TIMESTAMP '2024-10-27 00:30+00:00'"  # 2:30 for the first time
    assert limits(before, "datetime", **berlin) == (None, at("2024-10-27T02:29:59.999999"))
    between = "x < TIMESTAMP '2024-10-27 01:10+00:00'"  # 2:10 for the second time: 2:59 has been shown
    assert limits(between, "datetime", **berlin) == (None, at("2024-10-27T02:59:59.999999"))
    from_first = "x >= TIMESTAMP '2024-10-27 02:15'"  # the first 2:15: 2:00 will be shown again
    assert limits(from_first, "datetime", **berlin) == (at("2024-10-27T02:00"), None)
    skipped = "x >= TIMESTAMP '2024-03-31 02:30'"  # a time that no clock showed: half an hour after the change
    assert limits(skipped, "datetime", **berlin) == (at("2024-03-31T03:30"), None)
    assert limits("year(x) = 2024", "date", **berlin) == (day("2024-01-01"), day("2024-12-31"))
    assert limits("x >= TIMESTAMP '2024-01-01 00:00+00:00'", "date", zone="Asia/Tokyo") == (day("2024-01-01"), None)
    assert limits("x < TIMESTAMP '2024-01-01 00:00+00:00'", "date", zone="Asia/Tokyo") == (None, day("2024-01-01"))


def test_a_zone_that_is_not_known_limits_nothing() -> None:
    assert limits("x >= DATE '2024-01-01'", "date", zone="Nowhere/Land") == (None, None)


def test_times_beyond_a_bound_count_at_the_bound() -> None:
    bounded = {"width": "1 month", "bounds": ("2024-01-01", "2024-12-31")}
    assert limits("x >= DATE '2025-03-01'", "date", **bounded) == (day("2024-12-31"), None)
    assert limits("year(x) <= 2030", "date", **bounded) == (None, day("2024-12-31"))
    assert limits("x >= DATE '2024-02-01'", "datetime", **bounded) == (at("2024-02-01"), None)


# ---- against brute force


class Comparison(NamedTuple):
    op: str
    value: dt.datetime  # with UTC as its zone where the text has an offset
    text: str

    def passes(self, instant: dt.datetime, zone: str | None) -> bool:
        value = self.value
        if zone is not None and value.tzinfo is None:
            value = value.replace(tzinfo=ZoneInfo(zone)).astimezone(dt.UTC)
        return OPS[self.op](instant, value)


@cache
def changes(zone: str) -> list[dt.datetime]:
    """The half hours of 2018 at which the clocks of a zone are set."""
    half = dt.timedelta(minutes=30)
    hours = [dt.datetime(2018, 1, 31, tzinfo=dt.UTC) + n * half for n in range(330 * 48)]
    return [
        each for each in hours if len({then.astimezone(ZoneInfo(zone)).utcoffset() for then in (each, each - half)}) > 1
    ]


@st.composite
def comparisons(draw: Any, zone: str | None) -> Comparison:
    """Comparisons, half of them with a time near one at which clocks are set."""
    near = [] if zone is None else [each.replace(tzinfo=None) for each in changes(zone)]
    start = draw(st.sampled_from([dt.datetime(2018, 2, 14), dt.datetime(2018, 11, 4), *near, *near]))
    shift = dt.timedelta(minutes=15 * draw(st.integers(-9, 9)), microseconds=draw(st.sampled_from((0, 0, 1, -1))))
    moment, zoned = start + shift, zone is not None
    form = draw(st.sampled_from(("DATE", "TIMESTAMP", "UTC") if zoned else ("DATE", "TIMESTAMP")))
    op, left = draw(st.sampled_from(tuple(OPS))), draw(st.booleans())
    if form == "DATE":
        moment = dt.datetime(moment.year, moment.month, moment.day)
        literal = f"DATE '{moment.date()}'"
    else:
        literal = f"TIMESTAMP '{moment}{'+00:00' if form == 'UTC' else ''}'"
    mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
    text = f"x {op} {literal}" if left else f"{literal} {mirrored[op]} x"
    return Comparison(op, moment.replace(tzinfo=dt.UTC) if form == "UTC" else moment, text)


def instants(tests: list[Comparison], zone: str | None) -> list[dt.datetime]:
    """Moments in 2018, and those around which an end may lie: literals and changes of clocks."""
    grid = [dt.datetime(2018, 1, 31, tzinfo=None if zone is None else dt.UTC) + n * DAY for n in range(330)]
    edges = []
    for test in tests:
        value = test.value
        if zone is not None:
            clock = dt.UTC if value.tzinfo else ZoneInfo(zone)
            value = value.replace(tzinfo=clock).astimezone(dt.UTC)
        edges.append(value)
    edges += [] if zone is None else changes(zone)
    midnights = [edge.replace(hour=0, minute=0, second=0, microsecond=0) for edge in edges]
    around = [edge + n * MICROSECOND for edge in (*edges, *midnights) for n in (-1, 0, 1)]
    return [*grid, *around, *(edge + n * DAY for edge in midnights for n in (-1, 1))]


@settings(max_examples=400, deadline=None)
@given(data=st.data(), zone=st.sampled_from((None, *ZONES)))
def test_the_range_is_that_of_brute_force(data: Any, zone: str | None) -> None:
    tests = data.draw(st.lists(comparisons(zone), min_size=1, max_size=3))
    passing = [each for each in instants(tests, zone) if all(test.passes(each, zone) for test in tests)]
    if not passing:
        return
    shown = [each if zone is None else each.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for each in passing]
    where = " AND ".join(test.text for test in tests)
    low, high = limits(where, "datetime", zone=zone)
    assert low == (min(shown) if any(test.op in (">", ">=", "=") for test in tests) else None)
    assert high == (max(shown) if any(test.op in ("<", "<=", "=") for test in tests) else None)
    first, last = limits(where, "date", zone=zone)
    assert (first, last) == tuple(None if end is None else end.date() for end in (low, high))


# ---- on every way to read times


STAMPS = [dt.datetime(2017, 12, 20) + n * dt.timedelta(hours=7, minutes=45) for n in range(1250)]
STAMPS += [dt.datetime(2018, 10, 28) + n * dt.timedelta(minutes=15) for n in range(30)]
STAMPS += [dt.datetime(2018, month, 1) for month in range(1, 13)]


def csv(folder: Path, cells: list[str]) -> Path:
    path = folder / "x.csv"
    path.write_text("x\n" + "\n".join(cells) + "\n")
    return path


def offsets(stamps: list[dt.datetime]) -> list[str]:
    """Cells with offsets of their own, which are not those of the zone."""
    return [f"{stamp.isoformat()}{('Z', '+09:00', '-03:30')[n % 3]}" for n, stamp in enumerate(stamps)]


SOURCES: dict[str, Callable[[Path], tuple[Any, dict[str, Any]]]] = {
    "dates": lambda _: (pl.DataFrame({"x": [each.date() for each in STAMPS]}), {}),
    "dates as datetimes": lambda _: (pl.DataFrame({"x": [each.date() for each in STAMPS]}), {"kind": "datetime"}),
    "datetimes": lambda _: (pl.DataFrame({"x": STAMPS}), {}),
    "datetimes as dates": lambda _: (pl.DataFrame({"x": STAMPS}), {"kind": "date"}),
    "zoned": lambda _: (pl.DataFrame({"x": [each.replace(tzinfo=dt.UTC) for each in STAMPS]}),
                        {"zone": "Europe/Berlin"}),
    "zoned as dates": lambda _: (pl.DataFrame({"x": [each.replace(tzinfo=dt.UTC) for each in STAMPS]}),
                                 {"zone": "Asia/Tokyo", "kind": "date"}),
    "list of datetimes as dates": lambda _: ({"x": STAMPS}, {"kind": "date"}),
    "csv": lambda path: (csv(path, [str(each) for each in STAMPS]), {"kind": "datetime"}),
    "csv of dates": lambda path: (csv(path, [str(each.date()) for each in STAMPS]), {"kind": "date"}),
    "csv with a format, as dates": lambda path: (
        csv(path, [each.strftime("%d.%m.%Y %H:%M") for each in STAMPS]),
        {"kind": "date", "date_format": "%d.%m.%Y %H:%M"},
    ),
    "csv with offsets": lambda path: (csv(path, offsets(STAMPS)), {"kind": "datetime", "zone": "Europe/Berlin"}),
    "csv with offsets, as dates": lambda path: (csv(path, offsets(STAMPS)), {"kind": "date", "zone": "Asia/Tokyo"}),
    "csv with offsets and a format": lambda path: (
        csv(path, [each.strftime("%d.%m.%Y %H:%M +0900") for each in STAMPS]),
        {"kind": "datetime", "zone": "Europe/Berlin", "date_format": "%d.%m.%Y %H:%M %z"},
    ),
}  # fmt: skip
FILTERS = {
    "year(x) = 2018": (1, 1),
    "x >= DATE '2018-03-01' AND x < DATE '2018-10-01'": (1, 1),
    "x > DATE '2018-03-01' AND x <= DATE '2018-11-01'": (1, 1),
    "DATE '2018-04-05' <= x": (1, 0),
    "x BETWEEN DATE '2018-10-28' AND DATE '2018-12-01' AND year(x) < 2019": (1, 1),
    "x < DATE '2018-05-06'": (0, 1),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("where", FILTERS)
def test_every_value_that_counts_lies_within_the_range(source: str, where: str, tmp_path: Path) -> None:
    data, options = SOURCES[source](tmp_path)
    (question,) = prepare(data, "x", where=where, exact=True, **options).questions
    ticks = question.table.count([question.counting])[0].parts[0]
    epoch = dt.datetime(1970, 1, 1)
    if question.spec.kinds[0] == "date":
        found = [(epoch + int(tick) * DAY).date() for tick in ticks]
    else:
        found = [epoch + int(tick) * MICROSECOND for tick in ticks]
    assert found, "the filter lets records count"
    low, high = range_of_filter(question.spec)
    assert (low is not None, high is not None) == tuple(map(bool, FILTERS[where]))
    assert low is None or (low <= min(found) and min(found) - low < dt.timedelta(days=2))
    assert high is None or (max(found) <= high and high - max(found) < dt.timedelta(days=2))


def test_texts_that_a_declared_column_reads_as_dates_are_stated_as_dates() -> None:
    frame = pl.DataFrame({"x": [dt.date(2024, 1, 1)], "at": [dt.datetime(2024, 1, 1)]})

    def stated(where: str, column: str = "x") -> str | None:
        return prepare(frame, column, where=where).questions[0].spec.where

    assert stated("x>='2024-01-01' AND '2025-01-01'>x") == "x >= DATE '2024-01-01' AND DATE '2025-01-01' > x"
    assert stated("NOT x IN ('2024-01-01') OR x BETWEEN '2024-01-01' AND '2024-02-01'") == (
        "NOT x IN (DATE '2024-01-01') OR x BETWEEN DATE '2024-01-01' AND DATE '2024-02-01'"
    )
    assert stated("at > '2024-01-01 18:30'", "at") == "at > TIMESTAMP '2024-01-01 18:30:00'"
    assert stated("at > '2024-01-01'", "at") == "at > DATE '2024-01-01'"
    for where in ("x >= '2024-01-01'", "at > '2024-01-01 18:30'", "at NOT IN ('2024-01-01', '2024-01-02 10:00')"):
        first, again = (prepare(frame, "x", where=text).questions[0].counting.where for text in (where, stated(where)))
        assert first == again, "the same meaning, and the same words again"


def test_a_text_is_compared_as_one_where_no_type_is_declared(tmp_path: Path) -> None:
    path = csv(tmp_path, [f"2024-06-{1 + n % 28:02}" for n in range(300)])
    made = prepare(path, "x", kind="date", where="x >= '2024-01-01'").questions[0]
    assert made.spec.where == "x >= '2024-01-01'"
    assert range_of_filter(made.spec) == (None, None)


def test_a_column_of_a_text_file_that_is_released_in_a_zone_is_filtered_in_that_zone(tmp_path: Path) -> None:
    cells = ["2023-12-31T23:30Z", "2023-12-31T22:30Z", "2024-06-01T00:10+09:00", "2025-01-01T00:10+01:00", "2024-05-05"]
    options = {"kind": "datetime", "zone": "Europe/Berlin"}
    path = csv(tmp_path, cells)

    def counted(where: str) -> int:
        (question,) = prepare(path, "x", where=where, exact=True, **options).questions
        return int(question.table.count([question.counting])[0].counts.sum())

    assert counted("year(x) = 2024") == 2  # 0:30 on New Year's Day, and 31 May
    assert counted("x >= DATE '2024-01-01'") == 3
    assert counted("x < DATE '2024-06-01' AND x IS NOT NULL") == 3
    assert counted("x >= TIMESTAMP '2024-01-01 00:00+01:00'") == 3
    with pytest.raises(flexdp.InputError, match="month of datetimes with a time zone"):
        prepare(path, "x", where="month(x) = 6", exact=True, **options)


def test_columns_that_are_released_separately_have_the_same_filter(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("x,n\n2024-06-01T00:10+09:00,1\n2026-06-01T00:10+09:00,2\n")
    request = prepare(
        path, ["n", "x"], kind={"x": "datetime", "n": "integer"}, zone="Europe/Berlin", where="year(x) = 2024",
        separately=True, exact=True,
    )  # fmt: skip
    assert len({each.counting.where for each in request.questions}) == 1
    for question in request.questions:
        assert question.table.count([question.counting])[0].counts.tolist() == [1]


def test_asked_answers_keep_to_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    days = [dt.date(2023, 1, 1) + (n % 1000) * DAY for n in range(20_000)]
    frame = pl.DataFrame({"day": days})
    free, kept = set(), set()
    for number in range(12):
        for where, ends in (
            ("day >= '2024-01-01' AND year(day) < 2025", kept),
            ("(day >= '2024-01-01' AND year(day) < 2025) OR day = '2024-03-03'", free),
        ):
            seed(monkeypatch, number)
            released = flexdp.release(frame, "day", where=where, epsilon="0.3", delta="1e-6")
            ends |= {released.min().value, released.max().value}
            assert flexdp.Release.from_json(released.to_json()).min() == released.min()
            if ends is kept:
                assert released.quantile("0.01").value >= day("2024-01-01")
    assert min(kept) >= day("2024-01-01") and max(kept) <= day("2024-12-31")
    assert min(free) < day("2024-01-01") or max(free) > day("2024-12-31"), "the control: not understood, not limited"
