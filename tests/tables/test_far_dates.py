"""Datetimes far outside the years 1–9999: left out from every kind of source, never wrapped into another day."""

from __future__ import annotations

import datetime as dt
import struct
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from _support.private import private_counts

from flexdp._release.api import prepare
from flexdp.sharp.ranks import Request
from flexdp.tables import ranks

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
START = dt.datetime(1970, 1, 1)
FIRST, LAST = -62135596800, 253402300799  # the first and the last second of the years 1 and 9999
DAYS = 86400 * 2**32  # seconds after which a 32-bit count of days wraps


def ticks_of(unit: str) -> list[int]:
    """Ticks around both ends of the years, where 32 and 64 bits wrap, and at the ends of the type."""
    per = PER_SECOND[unit]
    edges = [FIRST * per, FIRST * per - 1, (LAST + 1) * per - 1, (LAST + 1) * per, DAYS * per + 5 * 86400 * per]
    wraps = [
        2**64 // (10**6 // min(per, 10**6)) + 86400 * per,
        2**62,
        -(2**62),
        2**53,
        -1,
        0,
        1,
        2**63 - 1,
        -(2**63) + 1,
    ]
    return [tick for tick in (*edges, *wraps) if abs(tick) < 2**63]


def wanted(ticks: list[int], unit: str, kind: str, *, whole_days: bool = False) -> Counter[Any]:
    out: Counter[Any] = Counter()
    for tick in ticks:
        micros = tick * 10**6 // PER_SECOND[unit]
        if abs(micros) < 10**18:
            try:
                datetime = START + dt.timedelta(microseconds=micros)
            except OverflowError:
                continue
            if whole_days:
                datetime = dt.datetime.combine(datetime.date(), dt.time())
            out[datetime if kind == "datetime" else datetime.date()] += 1
    return out


@pytest.mark.parametrize("kind", ["datetime", "date"])
@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", PER_SECOND)
def test_datetimes_of_frames(unit: str, zone: str | None, kind: str) -> None:
    ticks = ticks_of(unit)
    if unit == "ns":  # DuckDB and numpy have no others
        ticks = [tick for tick in ticks if abs(tick) < 2**63 - 1]
    cells = pa.array(ticks, pa.int64()).view(pa.timestamp(unit, zone))
    said: dict[str, Any] = {"kind": kind} | ({"zone": "UTC"} if zone else {})
    table = pa.table({"t": cells})
    numpy = np.array(ticks).view(f"datetime64[{unit}]")
    series = pd.Series(numpy) if zone is None else pd.Series(pd.DatetimeIndex(numpy).tz_localize("UTC"))
    sources: list[Any] = [table, pa.dataset.dataset(table), pd.DataFrame({"t": series})]
    sources.append(pd.DataFrame({"t": pd.Series(pd.arrays.ArrowExtensionArray(cells))}))
    if unit != "s":
        polars = pl.DataFrame({"t": pl.Series(ticks, dtype=pl.Int64).cast(pl.Datetime(unit, zone))})  # type: ignore[arg-type]
        sources += [polars, polars.lazy()]
    for source in sources:
        assert private_counts(source, "t", **said) == wanted(ticks, unit, kind), type(source)
    if zone is None:
        assert private_counts(numpy, **said) == wanted(ticks, unit, kind)


@pytest.mark.parametrize("kind", ["datetime", "date"])
def test_days_of_frames(kind: str) -> None:
    ticks = ticks_of("ms")
    cells = pa.array(ticks, pa.int64()).view(pa.date64())
    for source in (
        pa.table({"t": cells}),
        pa.dataset.dataset(pa.table({"t": cells})),
        pd.DataFrame({"t": pd.Series(pd.arrays.ArrowExtensionArray(cells))}),
    ):
        assert private_counts(source, "t", kind=kind) == wanted(ticks, "ms", kind, whole_days=True), type(source)
    days = [2**31 - 1, -(2**31), 2**31 - 719163, 0, FIRST // 86400, LAST // 86400, LAST // 86400 + 1]
    short = pa.array(days, pa.int32()).view(pa.date32())
    expected = wanted([day * 86400 for day in days], "s", kind)
    for source in (pa.table({"t": short}), pl.DataFrame({"t": pl.Series(days, dtype=pl.Int32).cast(pl.Date)})):
        assert private_counts(source, "t", kind=kind) == expected


UNITS = ["100D", "D", "W", "3W", "25h", "7m", "13s", "90us", "7ns", "as", "100fs", "Y", "20Y", "30000Y", "M", "5M"]


@pytest.mark.parametrize("kind", ["datetime", "date"])
@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_of_numpy_against_exact_fractions(unit: str, kind: str) -> None:
    word, step = np.datetime_data(f"datetime64[{unit}]")
    seconds = {
        "W": 7 * 86400,
        "D": 86400,
        "h": 3600,
        "m": 60,
        "s": 1,
        "us": Fraction(1, 10**6),
        "ns": Fraction(1, 10**9),
    }
    seconds |= {"fs": Fraction(1, 10**15), "as": Fraction(1, 10**18)}

    def datetime_of(tick: int) -> dt.datetime | None:
        try:
            if word in "YM":
                months = tick * step * (12 if word == "Y" else 1)
                return dt.datetime(1970 + months // 12, 1 + months % 12, 1)
            return START + dt.timedelta(microseconds=tick * step * seconds[word] * 10**6 // 1)
        except (OverflowError, ValueError):
            return None

    size = step * (seconds[word] if word not in "YM" else 86400 * (365 if word == "Y" else 30))
    near = [int(FIRST / size) + i for i in range(-40, 41)] + [int(LAST / size) + i for i in range(-40, 41)]
    far = [2**63 - 1, -(2**63) + 1, 2**62, 2**32, 2**53, 213503982, -213503982, 106751992, 2**57, 0, -1]
    ticks = [tick for tick in {*near, *far} if abs(tick) < 2**63]
    expected: Counter[Any] = Counter()
    for tick in ticks:
        found = datetime_of(tick)
        if found is not None:
            expected[found if kind == "datetime" else found.date()] += 1
    values = np.array([*ticks, -(2**63)], dtype=np.int64).view(f"datetime64[{unit}]")  # the last one is NaT
    assert private_counts(values, kind=kind) == expected
    assert private_counts(list(values[:9]), kind=kind) == private_counts(values[:9], kind=kind)


def test_one_far_day_moves_no_other() -> None:
    """The year 11 761 191 is 2^32 days from 1970-01-06."""
    day = 86_400_000
    calm = [i % 20 * day for i in range(60)]
    for hostile in (day * (2**32 + 5), day * (5 - 2**32), day * (3 * 2**32 + 5)):
        tables = [pa.table({"d": pa.array(cells, pa.int64()).view(pa.date64())}) for cells in (calm, [*calm, hostile])]
        assert private_counts(tables[0], "d") == private_counts(tables[1], "d")
        assert private_counts(tables[0], "d", width=7) == private_counts(tables[1], "d", width=7)


INT96 = [  # Julian days, and nanoseconds since their midnight
    (2440588, 0), (2440588, 86400 * 10**9 - 1), (2440587, 1500), (2440588 - 106751, 0), (2440588 + 106751, 10**12),
    (2440588 - 106753, 0), (2440588 + 106752, 0), (1721426, 0), (5373484, 0), (2**31 - 1, 0), (-(2**31), 0), (-1, 0),
    (2440588 + 213503982 + 5, 0), (2440588 + 2 * 213503982 + 5, 0), (2440588 - 2**31 + 7, 0), (2**31 - 1, 10**13),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["datetime", "date"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_96_bit_timestamps_in_parquet(tmp_path: Path, kind: str, dictionary: bool) -> None:
    """They are read in the range of 64-bit nanoseconds, 1677 to 2262, and nowhere else."""
    marks = [10**15 * (place + 1) + 1000 for place in range(len(INT96))]
    path = tmp_path / "t.parquet"
    cells = pa.array([*marks, None], pa.int64()).view(pa.timestamp("ns"))
    pq.write_table(
        pa.table({"t": cells, "n": range(len(marks) + 1)}), path, use_deprecated_int96_timestamps=True,
        compression="none", use_dictionary=dictionary,
    )  # fmt: skip
    raw = path.read_bytes()
    for mark, (day, passed) in zip(marks, INT96, strict=True):
        days, rest = divmod(mark, 86400 * 10**9)
        written = struct.pack("<qi", rest, 2440588 + days)
        assert raw.count(written) == 1
        raw = raw.replace(written, struct.pack("<qi", passed, day))
    path.write_bytes(raw)
    expected: Counter[Any] = Counter()
    for day, passed in INT96:
        if abs((day - 2440588) * 86400 * 10**9 + passed) < 2**63 - 1:
            datetime = START + dt.timedelta(days=day - 2440588, microseconds=passed // 1000)
            expected[datetime if kind == "datetime" else datetime.date()] += 1
    assert sum(expected.values()) == 5
    assert private_counts(path, "t", kind=kind) == expected
    assert sum(private_counts(path, "n").values()) == len(marks) + 1


@pytest.mark.parametrize("word", ["TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMPTZ", "DATE"])
def test_far_times_of_duckdb(word: str) -> None:
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t (t {word})")
    con.execute("INSERT INTO t VALUES ('2024-05-05'), (NULL)")
    far = ["infinity", "-infinity"]
    far += [] if word == "TIMESTAMP_NS" else ["290000-01-01", "0044-03-15 (BC)", "10000-01-01"]
    for text in far:
        con.execute(f"INSERT INTO t VALUES (CAST('{text}' AS {word}))")
    said = {"zone": "UTC"} if word == "TIMESTAMPTZ" else {}
    assert private_counts(con.table("t"), "t", kind="date", **said) == {dt.date(2024, 5, 5): 1}


@pytest.mark.parametrize("where", [None, "k = 1 OR k = 2"])
def test_ranks_leave_far_days_out(tmp_path: Path, where: str | None) -> None:
    """Days outside the years that are read, infinite ones and missing ones, where ranks read a file."""
    path = tmp_path / "days.parquet"
    days = ["-infinity", "infinity", "0001-01-01", "9999-12-31", "1970-01-01", "2024-02-29", "2024-02-29"]
    listed = ", ".join(f"DATE '{day}'" for day in days)
    far = "DATE '0001-01-01' - 1, DATE '9999-12-31' + 1, DATE '9999-12-31' + 1000000, NULL"
    duckdb.sql(f"SELECT unnest([{listed}, {far}]) AS d, unnest(range({len(days) + 4})) % 2 + 1 AS k").write_parquet(
        str(path)
    )
    (question,) = prepare(str(path), "d", where=where).questions
    found = [FIRST // 86400, 0, 19782, 19782, LAST // 86400]
    cuts = tuple(sorted({cut for day in found for cut in (day, day + 1)}))
    for most in (ranks.SORTED_AT_MOST, 0):  # in memory, and on the engine
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(ranks, "SORTED_AT_MOST", most)
            patched.setattr(ranks, "FEW", most)
            with ranks.open_ranks(question.table, question.counting) as opened:
                reply = opened.fetch(Request(cuts=cuts))
        assert reply.total == len(found)
        assert list(reply.before) == [sum(day < cut for day in found) for cut in cuts]
