"""The small tools of _core against brute force: nearest points, roots, the calendar, whole files, JSON values."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexdp._core import calendar, domains
from flexdp._core.exact import exact, json_value, root_up, value_text
from flexdp._core.files import replacing, write_whole
from flexdp._core.nearest import nearest
from flexdp._core.text import ordinal
from flexdp.errors import InputError


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_target_is_nearest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    targets = np.unique(rng.integers(-9, 9, size=rng.integers(1, 8)))
    points = rng.integers(-12, 12, size=30)
    found = nearest(targets, points)
    gaps = np.abs(points[:, None] - targets[None, :])
    assert (found.gap == gaps.min(axis=1)).all()
    assert (np.abs(points - targets[found.place]) == found.gap).all()
    last = gaps.shape[1] - 1 - gaps[:, ::-1].argmin(axis=1)
    assert (found.place == last).all(), "of two equally near targets the larger one is taken"


def test_the_nearest_target_of_exact_numbers_is_exact() -> None:
    targets = np.array([0, 2**70], dtype=object)
    assert nearest(targets, np.array([2**69 + 1], dtype=object)).gap.tolist() == [2**69 - 1]


@pytest.mark.parametrize("square", [0, 1, 2, 3, 4, 9, 795, 10**6 + 1, Fraction(9, 4), Fraction(1, 3), Fraction(2, 9)])
@pytest.mark.parametrize("decimals", [3, 15, 30])
def test_roots_are_rounded_up_and_closely(square: Fraction | int, decimals: int) -> None:
    root, step = root_up(square, decimals), Fraction(1, 10**decimals)
    assert root**2 >= square
    assert root == 0 or (root - 2 * step) ** 2 < square or root - 2 * step < 0
    assert root**2 == square or root.denominator <= 10**decimals


def test_days_and_months_are_those_of_the_calendar() -> None:
    rng = np.random.default_rng(0)
    days = np.unique(
        np.concatenate(
            [rng.integers(calendar.FIRST_DAY, calendar.LAST_DAY + 1, 5000), [calendar.FIRST_DAY, calendar.LAST_DAY]]
        )
    )
    dates = [calendar.date_at(day) for day in days.tolist()]
    assert [calendar.days_since_epoch(date) for date in dates] == days.tolist()
    months = calendar.month_numbers(days).tolist()
    assert months == [12 * date.year + date.month - 1 for date in dates]
    for date, month in zip(dates, months, strict=True):
        assert calendar.first_day(month) == calendar.days_since_epoch(date.replace(day=1))
        assert calendar.month_number(calendar.days_since_epoch(date)) == month
    for month in (*range(12 * 9990, 12 * 10010), -5, -(10**30), 10**30):  # beyond what dates can say, too
        start = calendar.month_start(month)
        assert [calendar.month_number(day) for day in (start - 1, start)] == [month - 1, month]
    assert calendar.first_day(11) == calendar.FIRST_DAY
    assert calendar.first_day(12 * 10000) == calendar.LAST_DAY + 1


def test_datetimes_are_microseconds_of_the_clock_that_they_show() -> None:
    moment = dt.datetime(2024, 2, 29, 23, 59, 59, 999999)
    micros = calendar.micros_since_epoch(moment)
    assert calendar.datetime_at(micros) == moment
    assert calendar.micros_since_epoch(moment.replace(tzinfo=dt.timezone(dt.timedelta(hours=5)))) == micros
    assert micros // calendar.MICROS_PER_DAY == calendar.days_since_epoch(moment)
    assert calendar.datetime_at(calendar.LAST_DATETIME + 1) == dt.datetime.max
    assert calendar.datetime_at(calendar.FIRST_DATETIME - 1) == dt.datetime.min


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    write_whole(target, "before")
    with pytest.raises(RuntimeError), replacing(target) as draft:
        draft.write_text("half")
        raise RuntimeError
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
    assert target.read_text() == "before"
    write_whole(target, "ä\r\n")
    assert target.read_bytes() == "ä\r\n".encode()
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "a.txt", tmp_path / "link"
    target.write_text("before")
    link.symlink_to(target)
    write_whole(link, b"after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_write_protected_file_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.txt"
    target.write_text("before")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != target or mode != os.W_OK)
    with pytest.raises(PermissionError):
        write_whole(target, "after")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a.txt", "before")]


def test_what_cannot_be_replaced_is_written_directly() -> None:
    write_whole(Path(os.devnull), "gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_keys_become_json_without_loss() -> None:
    keys: list[Any] = [
        1,
        2.5,
        "a",
        True,
        None,
        Fraction(1, 3),
        dt.date(2024, 12, 31),
        dt.datetime(2024, 12, 31, 18, 30),
    ]
    assert json_value(keys) == [1, 2.5, "a", True, None, "1/3", "2024-12-31", "2024-12-31T18:30:00"]
    assert exact("key", json_value(Fraction(2**54 + 1, 3))) == Fraction(2**54 + 1, 3)
    assert json_value(dt.timedelta(hours=1)) == "1:00:00"


def test_long_keys_are_cut_where_asked() -> None:
    assert value_text("x" * 200) == "x" * 200
    assert value_text(("x" * 200, 1), 10) == f"({'x' * 9}…, 1)"


def test_ordinals() -> None:
    said = [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 101, 111, 112, 1003)]
    assert said == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "101st", "111th", "112th", "1003rd"]


DOMAINS = [value for value in vars(domains).values() if isinstance(value, domains.Domain)]


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: f"{domain.name} {domain}")
def test_declared_ranges_say_what_they_check(domain: domains.Domain) -> None:
    ends = [(domain.low, domain.low_included)]
    if domain.high is not None:
        ends.append((domain.high, domain.high_included))
        assert domain.check((domain.low + domain.high) / 2) == (domain.low + domain.high) / 2
    for (end, included), side in zip(ends, (-1, 1), strict=False):
        for value, fits in ((end, included), (end + side * Fraction(1, 10**40), False)):
            if fits:
                assert domain.check(value) == value
                continue
            with pytest.raises(InputError) as refusal:
                domain.check(value)
            assert (refusal.value.parameter, refusal.value.rule) == (domain.name, f"must be {domain}")
            assert refusal.value.remedy == domain.remedy


def test_declared_ranges_differ() -> None:
    assert len(DOMAINS) > 15
    for one, other in itertools.combinations(DOMAINS, 2):
        assert one != other
