"""Dates and datetimes: buckets of the calendar, counted in integers, against Python's own calendar and clocks."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from _support.private import private_bars, private_counts
from hypothesis import given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import InputError, Release
from flexdp._core.calendar import offsets
from flexdp._release.api import prepare
from flexdp.buckets.parse import make_buckets

START = dt.datetime(1970, 1, 1)
MICRO = dt.timedelta(microseconds=1)
datetimes = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999))


def month_of(moment: dt.date, months: int) -> int:
    return (12 * moment.year + moment.month - 1) // months


def index_of(moment: dt.datetime, width: str) -> int:
    number, word = width.split()
    if word.startswith(("month", "quarter", "year")):
        return month_of(moment, int(number) * {"m": 1, "q": 3, "y": 12}[word[0]])
    length = dt.timedelta(**{word.rstrip("s") + "s": int(number)})
    start = dt.datetime(1969, 12, 29) if word.startswith("week") else START  # weeks begin on Mondays
    return (moment - start) // length


WIDTHS = [
    "1 month",
    "5 months",
    "1 quarter",
    "1 year",
    "7 years",
    "1 week",
    "1 day",
    "36 hours",
    "15 minutes",
    "1 second",
]


@settings(deadline=None, max_examples=30)
@given(st.lists(datetimes, min_size=1, max_size=60), st.sampled_from(WIDTHS))
def test_moments_fall_into_the_buckets_of_the_calendar(values: list[dt.datetime], width: str) -> None:
    wanted = Counter(index_of(value, width) for value in values)
    frame = pl.DataFrame({"t": values}, schema={"t": pl.Datetime("us")})
    for source, column in ((frame, "t"), (np.array(values, dtype="datetime64[us]"), None), (values, None)):
        said = {"kind": "datetime"} if isinstance(source, list) else {}
        request = prepare(source, column, width=width, **said)
        bars = private_bars(request)
        assert dict(zip(bars.parts[0].tolist(), bars.counts.tolist(), strict=True)) == wanted
    partition = make_buckets("datetime", width=width)
    for value in values:
        i = index_of(value, width)
        (lower, upper), centre = partition.edges_of(np.array([i]))[0], partition.centres(np.array([i]))[0]
        assert lower <= value <= upper
        unit = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}[partition.unit]
        assert abs(value - centre) <= dt.timedelta(seconds=float(partition.beta_at(i)) * unit)
        assert partition.beta_at(i) <= partition.beta


@settings(deadline=None, max_examples=20)
@given(st.lists(st.dates(), min_size=1, max_size=60), st.sampled_from(["1 month", "1 year", "1 week", "2 days", "10"]))
def test_dates_fall_into_the_buckets_of_the_calendar(values: list[dt.date], width: str) -> None:
    if width == "10":
        wanted = Counter((value.toordinal() - START.toordinal()) // 10 for value in values)
    else:
        wanted = Counter(index_of(dt.datetime.combine(value, dt.time()), width) for value in values)
    bars = private_bars(prepare(pl.DataFrame({"d": values}), "d", width=width))
    assert dict(zip(bars.parts[0].tolist(), bars.counts.tolist(), strict=True)) == wanted
    partition = make_buckets("date", width=width)
    for value, i in zip(bars.parts[0].tolist(), bars.parts[0].tolist(), strict=True):
        lower, upper = partition.edges_of(np.array([i]))[0]
        centre = partition.centres(np.array([value]))[0]
        assert max((centre - lower).days, (upper - centre).days) <= partition.beta_at(i) <= partition.beta


@settings(deadline=None, max_examples=12)
@given(
    st.lists(st.datetimes(dt.datetime(1900, 1, 3), dt.datetime(2099, 12, 30)), min_size=1, max_size=80),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"]),
    st.sampled_from(["1 day", "1 month", "30 minutes"]),
)
def test_moments_of_a_zone_are_read_by_its_clocks(values: list[dt.datetime], zone: str, width: str) -> None:
    clock = ZoneInfo(zone)
    local = [value.replace(tzinfo=dt.UTC).astimezone(clock).replace(tzinfo=None) for value in values]
    wanted = Counter(index_of(value, width) for value in local)
    frame = pl.DataFrame({"t": values}, schema={"t": pl.Datetime("us")}).with_columns(
        pl.col("t").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
    )
    for source in (
        frame,
        pd.DataFrame({"t": pd.to_datetime(pd.Series(values)).astype("datetime64[us]").dt.tz_localize("UTC")}),
    ):
        bars = private_bars(prepare(source, "t", kind="datetime", width=width, zone=zone))
        assert dict(zip(bars.parts[0].tolist(), bars.counts.tolist(), strict=True)) == wanted
        assert private_counts(source, "t", kind="date", zone=zone) == Counter(value.date() for value in local)


def test_clocks_change_when_the_zone_says() -> None:
    clock = ZoneInfo("Europe/Berlin")
    table = offsets("Europe/Berlin")
    assert len(table) > 150 and list(table) == sorted(table)
    for (at, by), (_, earlier) in zip(table[1:], table, strict=False):
        moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=at)
        after, before = moment.astimezone(clock).utcoffset(), (moment - MICRO).astimezone(clock).utcoffset()
        assert (before, after) == (dt.timedelta(microseconds=earlier), dt.timedelta(microseconds=by))
        assert by != earlier


def test_bounds_of_moments_end_before_the_upper_one() -> None:
    values = [
        dt.datetime(2023, 12, 31, 23),
        dt.datetime(2024, 1, 1),
        dt.datetime(2024, 12, 31, 23, 59),
        dt.datetime(2025, 1, 1),
    ]
    for outside, first, last in (("clamp", 2, 2), ("drop", 1, 1)):
        for width in ("1 month", "1 day"):
            request = prepare(
                values, kind="datetime", width=width, bounds=("2024-01-01", dt.date(2025, 1, 1)), outside=outside
            )
            bars = private_bars(request)
            assert bars.counts.tolist() == [first, last], (outside, width)
            assert request.partition.count == (12 if width == "1 month" else 366)
            assert bars.parts[0].tolist()[-1] == request.partition.first + request.partition.count - 1


@pytest.mark.parametrize("type_name", ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"])
def test_every_timestamp_type_is_rounded_down(type_name: str) -> None:
    con = duckdb.connect()
    con.execute("SET TimeZone='UTC'")
    texts = ["1969-12-31 23:59:59", "1970-01-01 00:00:00", "1700-02-28 12:00:00", "2024-02-29 23:59:59"]
    rows = ", ".join(f"('{text}'::{type_name})" for text in texts)
    relation = con.sql(f"SELECT * FROM (VALUES {rows}, (NULL)) t(t)")
    zone: dict[str, Any] = {"zone": "UTC"} if type_name == "TIMESTAMPTZ" else {}
    for width in ("1 day", "1 month", "1 minute"):
        bars = private_bars(prepare(relation, "t", width=width, **zone))
        wanted = Counter(index_of(dt.datetime.fromisoformat(text), width) for text in texts)
        assert dict(zip(bars.parts[0].tolist(), bars.counts.tolist(), strict=True)) == wanted
    days = private_counts(relation, "t", kind="date", **zone)
    assert days == Counter(dt.datetime.fromisoformat(text).date() for text in texts)


def test_moments_that_are_none_are_left_out(tmp_path: Path) -> None:
    con = duckdb.connect()
    relation = con.sql(
        "SELECT * FROM (VALUES ('infinity'::TIMESTAMP), ('-infinity'::TIMESTAMP), ('290000-01-01'::TIMESTAMP), "
        "('0044-03-15 (BC)'::TIMESTAMP), (NULL), ('2024-05-05'::TIMESTAMP)) t(t)"
    )
    assert private_bars(prepare(relation, "t", width="1 day")).counts.tolist() == [1]
    lines = [
        "t",
        "2024-05-05 10:00",
        "2024-05-05T10:00:59.25",
        "2024-05-05",
        "10:00",
        "2024-13-05 10:00",
        "x",
        "",
        "infinity",
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    for source, column in ((tmp_path / "t.csv", "t"), (lines[1:], None)):
        bars = private_bars(prepare(source, column, kind="datetime", width="1 hour"))
        assert bars.counts.tolist() == [2]


def test_answers_are_times() -> None:
    values = pd.Series(pd.date_range("2024-01-01", "2024-12-31 23:00", freq="h"))
    with pytest.raises(flexdp.InputError, match=r"width is a length of time.*Set kind='date' or kind='datetime'"):
        flexdp.release(values, epsilon=1, delta="1e-6", width="1 month")
    released = flexdp.release(values, epsilon=1, delta="1e-6", kind="datetime", width="1 month")
    assert released.max().value == dt.datetime(2024, 12, 16, 12)
    assert released.max().text == "December 2024 or later" and released.max().accuracy.beta == 15.5
    assert released.range().value == dt.timedelta(days=335)
    text = released.to_json()
    assert Release.from_json(text).to_json() == text
    frame = pl.DataFrame({"t": values}).with_columns(pl.col("t").dt.replace_time_zone("UTC"))
    zoned = flexdp.release(frame, "t", epsilon=1, delta="1e-6", width="1 day", zone="Europe/Berlin")
    assert (
        "(Europe/Berlin): about 2024-" in str(zoned.median()) and "Times are read in Europe/Berlin." in zoned.conditions
    )
    assert Release.from_json(zoned.to_json()).to_json() == zoned.to_json()
    quarter = flexdp.release(
        values,
        epsilon=1,
        delta="1e-6",
        kind="datetime",
        width=dt.timedelta(minutes=90),
        bounds=("2024-01-01", "2025-01-01"),
    )
    assert quarter.partition.width_text == "90 minutes"
    assert Release.from_json(quarter.to_json()).to_json() == quarter.to_json()
    weeks = flexdp.release(values.dt.date.tolist(), epsilon=1, delta="1e-6", kind="date", width="1 week")
    assert weeks.buckets[0].lower.weekday() == 0
    assert Release.from_json(weeks.to_json()).to_json() == weeks.to_json()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"width": 5}, "length of time"),
        ({"width": "5"}, "length of time"),
        ({"width": "1 fortnight"}, "length of time"),
        ({"width": "0 days"}, "width must be positive"),
        ({"width": "99999999 years"}, "at most 9999 years"),
        ({"relative": "0.1"}, "Give width='1 day'"),
        ({"bounds": ("2025-01-01", "2024-01-01"), "width": "1 day"}, "reversed"),
        ({"bounds": ("x", "2024-01-01"), "width": "1 day"}, "must be datetimes"),
        ({"bounds": (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "2025-01-01"), "width": "1 day"}, "must be datetimes"),
        ({"width": "1 day", "zone": "UTC"}, "Leave it out"),
        ({"width": "1 day", "kind": "text"}, "does not fit"),
    ],
)
def test_bad_times_are_refused(parameters: dict[str, Any], words: str) -> None:
    frame = pl.DataFrame({"t": [dt.datetime(2024, 1, 1)]})
    with pytest.raises(InputError, match=words):
        flexdp.release(frame, "t", epsilon=1, delta=1e-6, **parameters)


def test_a_zone_must_be_said_where_it_matters() -> None:
    frame = pl.DataFrame({"t": [dt.datetime(2024, 1, 1)]}).with_columns(pl.col("t").dt.replace_time_zone("UTC"))
    with pytest.raises(InputError, match="zone is missing"):
        flexdp.release(frame, "t", epsilon=1, delta=1e-6, width="1 day")
    for zone in ("Mars/Olympus", "../../etc/passwd", 5, ""):
        with pytest.raises(InputError, match="zone must be"):
            flexdp.release(frame, "t", epsilon=1, delta=1e-6, width="1 day", zone=zone)
    with pytest.raises(InputError, match="whole days"):
        flexdp.release([dt.date(2024, 1, 1)], kind="date", epsilon=1, delta=1e-6, width="1 hour")


def test_text_files_may_write_moments_with_their_offset(tmp_path: Path) -> None:
    """With a zone, cells are read that say what they are in; without, those that do not."""
    cells = {
        "2024-01-01T05:00:00Z": dt.datetime(2024, 1, 1, 5),
        "2024-01-01T05:00:00+02:00": dt.datetime(2024, 1, 1, 3),
        " 2024-01-01 05:00-0530 ": dt.datetime(2024, 1, 1, 10, 30),
        "2024-01-01T00:30:00.123456+01": dt.datetime(2023, 12, 31, 23, 30, 0, 123456),
        "9999-12-31T23:59:59-01:00": None,
        "0001-01-01T00:00:00+02:00": None,
        "2024-02-30T00:00:00Z": None,
        "2024-01-01T05:00:00+24:00": None,
        "2024-01-01T05:00:00": None,
        "2024-01-01Z": None,
    }
    expected = Counter(moment for moment in cells.values() if moment is not None)
    (tmp_path / "t.csv").write_text("t\n" + "".join(f"{cell}\n" for cell in cells))
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"t": cell}) + "\n" for cell in cells))
    for name in ("t.csv", "t.jsonl"):
        assert private_counts(tmp_path / name, "t", kind="datetime", zone="UTC") == expected
        days = private_counts(tmp_path / name, "t", kind="date", zone="America/New_York")
        assert days == {dt.date(2023, 12, 31): 2, dt.date(2024, 1, 1): 2}
        assert private_counts(tmp_path / name, "t", kind="datetime") == {dt.datetime(2024, 1, 1, 5): 1}
        with pytest.raises(InputError, match="zone fits a column of datetimes"):
            prepare(tmp_path / name, "t", kind="text", zone="UTC")


@pytest.mark.parametrize(
    ("width", "named"),
    [
        ("1 month", "February 2024"),
        ("1 year", "2024"),
        ("1 quarter", "January–March 2024"),
        ("2 years", "2024–2025"),
        ("5 months", "October 2023–February 2024"),
        ("7 months", "August 2023–February 2024"),
    ],
)
def test_the_month_of_a_middle_is_named(width: str, named: str) -> None:
    days = [dt.date(2024, 2, 1 + i % 28) for i in range(600)]
    said = str(flexdp.release(days, kind="date", width=width, epsilon=1, delta="1e-6").max())
    assert said.startswith(f"Latest value: {named} or later. ")


def test_a_zone_is_for_the_columns_that_have_one() -> None:
    frame = pl.DataFrame({"t": [dt.datetime(2024, 1, 1, 5)] * 200, "y": [1.5] * 200}).with_columns(
        pl.col("t").dt.replace_time_zone("UTC")
    )
    both = prepare(frame, ["t", "y"], separately=True, zone="Europe/Berlin", width={"t": "1 day", "y": 1})
    assert [question.spec.zone for question in both.questions] == ["Europe/Berlin", None]
    with pytest.raises(InputError, match="zone fits a column of datetimes"):
        prepare(frame, "y", zone="UTC", width=1)


def test_the_certificate_says_that_nanoseconds_are_cut_to_microseconds() -> None:
    """Of datetimes alone, whatever their buckets; a printed moment has microseconds at most."""
    datetimes = pl.DataFrame({"t": [dt.datetime(2024, 1, 1)] * 100, "d": [dt.date(2024, 1, 1)] * 100})
    for parameters in ({"exact": True}, {"width": "1 day"}):
        certified = flexdp.release(datetimes, "t", epsilon=1, delta="1e-6", **parameters).certificate()
        assert "Datetimes with nanoseconds count as the microsecond in which they lie." in str(certified)
    assert "microsecond" not in str(flexdp.release(datetimes, "d", epsilon=1, delta="1e-6").certificate())


def test_a_minimum_drawn_with_an_anchor_that_buckets_contradict_is_read_off_buckets() -> None:
    """Timestamps of 2024, ε = 1/2: in 7 of 250 releases the anchor was 1970, and the earliest 'about 1970-01-01'."""
    values = [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=40 * i) for i in range(4000)]
    for _ in range(300):  # one in eight is such that nothing certain of the 20th percentile judges the anchor
        release = flexdp.release({"t": values}, "t", kind="datetime", epsilon="0.5", delta="1e-6")
        if release.quantile("0.2").interval[0] == -math.inf:
            break
    assert release.asked is not None and release.quantile("0.2").interval[0] == -math.inf
    asked = release.asked
    ((group, result),) = asked.results.items()
    levels = result.levels
    assert levels is not None

    def with_minimum(anchor: int, value: int) -> flexdp.Answer:
        drawn = tuple(replace(each, value=value) if each.level == 0 else each for each in levels.answers)
        own = replace(result, levels=replace(levels, anchor=anchor, answers=drawn))
        return replace(release, asked=replace(asked, results={group: own})).min()

    told = with_minimum(0, 0)
    assert told.value.year == 2024 and "The answer that was drawn lies far outside" in str(told)
    first = (dt.datetime(2023, 12, 31) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    assert with_minimum(first + 10**13, first).text.startswith("about 2023-12-31"), "the control"
