"""``--stat`` never costs anything for nothing: what cannot be answered is refused before anything is spent."""

from __future__ import annotations

import datetime as dt
import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from _support.command import flexdp as run

import flexdp
from flexdp import Release
from flexdp.cli import output

DEEP = os.environ.get("FLEXDP_DEEP") == "1"
SPEND = ["-e", "1", "-d", "1e-6"]
UNITS = ["--unit", "pid", "--max-buckets-per-unit", "2"]
WIDE = ["x", "--width", "10"]
ORDERED = {"max", "min", "range", "median", "iqr", "q0.9", "p99", "max_at_least:50"}
MOMENTS = {"sum", "mean", "std"}
WORDS = [*sorted(ORDERED), *sorted(MOMENTS), "count", "mode", "support", "top:3", "counts"]
SETTINGS: dict[str, tuple[list[str], set[str]]] = {
    "width": (WIDE, set()),
    "automatic": (["x"], set()),
    "too few": (["x", "--where", "pid = 3"], set()),
    "too few by": (["x", "--by", "w", "--where", "pid = 3"], set()),
    "dates": (["day"], MOMENTS),
    "text": (["w"], ORDERED | MOMENTS),
    "boolean": (["paid"], ORDERED | {"std"}),  # its mean is a share, its sum a number of records
    "points": (["x", "pid", "--together", "--width", "x=10", "--width", "pid=50"], ORDERED | MOMENTS),
    "by": ([*WIDE, "--by", "w"], set()),
    "declared": ([*WIDE, "--by", "w", "--groups", "A,none"], set()),
    "units": ([*WIDE, *UNITS], {"count"}),
    "units automatic": (["x", *UNITS], {"count"}),
    "units by": ([*WIDE, "--by", "w", *UNITS], {"count"}),
    "one of each unit": ([*WIDE, "--unit", "pid", "--per-unit", "max"], set()),
    "asked by units": ([*WIDE, "--ask", "count", "--by", "w", *UNITS], set()),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i % 366) for i in range(3000)]
    columns: dict[str, Any] = {"x": [float(i % 97) for i in range(3000)], "w": ["A", "B", "C"] * 1000, "day": days}
    columns |= {"paid": [True, False] * 1500, "pid": [i % 400 for i in range(3000)]}
    pl.DataFrame(columns).write_parquet(folder / "t.parquet")
    return folder


@pytest.mark.parametrize("name", SETTINGS)
def test_a_statistic_is_answered_or_refused_before_anything_is_spent(name: str, place: Path) -> None:
    line, refused = SETTINGS[name]
    answered = [word for word in WORDS if word not in refused]
    alone = WORDS if DEEP else [*sorted(refused), answered[len(name) % len(answered)]]
    for words in (answered, *([word] for word in alone)):
        asked = [part for word in words for part in ("-s", word)]
        out = run("release", "t.parquet", *line, *SPEND, *asked, "-o", "o.html", cwd=place)
        if refused.isdisjoint(words):
            assert out.returncode in (0, 4) and "Spent" in out.stderr, (words, out.stderr)
        else:
            assert out.returncode == 2 and "Spent" not in out.stderr and out.stdout == "", words
            assert out.stderr.startswith("Error: --stat") and len(out.stderr.splitlines()) == 1


def test_the_counts_of_each_group_are_printed_with_their_own_ends(place: Path) -> None:
    """Group A holds 1000 of 3000 records; of all groups together each bucket may have lost twice as many."""
    line = ["release", "t.parquet", *WIDE, "--by", "w", "--groups", "A,none", *SPEND, "-s", "counts"]
    out = run(*line, "-o", "groups.json", cwd=place)
    release = Release.from_json((place / "groups.json").read_text())
    assert out.returncode == 0 and "(w none)" in out.stdout and release.max_drop == 27
    whole, group = out.stdout.split("(w A)")
    for text, most in ((whole, 54), (group, 27)):
        found = re.findall(r"^(\d+)–\d+\tabout (\d+) \(certainly (\d+) to (\d+)\)$", text, re.MULTILINE)
        counts = dict(zip(range(0, 100, 10), release.by_group()["A"].counts().value.values(), strict=True))
        assert {int(start): int(low) for start, _, low, _ in found} == counts
        assert all(int(low) < int(about) < int(high) == int(low) + most for _, about, low, high in found)


def test_no_ledger_is_charged_for_a_number_of_units_that_buckets_do_not_tell(place: Path) -> None:
    ledger = flexdp.Ledger(place / "c.db")
    ledger.create("visits", epsilon=2, delta="1e-5", unit="pid")
    line = ["release", "t.parquet", *WIDE, *UNITS, *SPEND, "--ledger", "c.db", "--dataset", "visits"]
    out = run(*line, "-s", "count", cwd=place)
    assert out.returncode == 2 and ledger.account("visits").remaining_epsilon == 2
    assert "Use --max-buckets-per-unit 1, or count one value of each unit with --per-unit." in out.stderr
    many = run(*line, *(part for _ in range(51) for part in ("-s", "max")), cwd=place)
    assert many.returncode == 2 and "--stat must name at most 50 statistics; got 51" in many.stderr
    assert ledger.account("visits").remaining_epsilon == 2
    with pytest.raises(flexdp.InputError, match="stats: a unit may count in several buckets"):
        flexdp.release(
            place / "t.parquet", "x", width=10, epsilon=1, delta=1e-6, unit="pid", max_buckets_per_unit=2
        ).to_html(stats=["count"])


def test_one_bucket_is_refused_unless_a_number_of_records_is_wanted(place: Path) -> None:
    for buckets, name in (
        (["--width", "500", "--bounds", "0:120"], "width"),
        (["--edges", "0,120"], "edges"),
        (["--relative", "0.9", "--bounds", "50:90"], "relative"),
    ):
        for stats in ([], ["-s", "max"], ["-s", "mean", "-s", "count"]):
            out = run("release", "t.parquet", "x", *buckets, *SPEND, *stats, cwd=place)
            assert out.returncode == 2 and "Spent" not in out.stderr, stats
            assert out.stderr.startswith(f"Error: --{name}: there is only one bucket")
        for more in (["-s", "count"], ["-s", "counts", "-s", "count"], ["--by", "w"], ["--ask", "max", "-s", "max"]):
            assert run("release", "t.parquet", "x", *buckets, *SPEND, *more, cwd=place).returncode == 0, more
    told = flexdp.release(place / "t.parquet", "x", width=500, bounds=(0, 120), epsilon=1, delta=1e-6).max()
    assert str(told) == "Highest x: any value. One bucket holds everything, so nothing else is known."


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_release_that_was_paid_for_is_printed_whatever_becomes_of_an_answer(
    form: list[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_self: Any, _readable: Any) -> Any:
        raise RuntimeError("no answer")

    monkeypatch.setattr(output.StatQuery, "__call__", fails)
    out = run("release", "t.parquet", *WIDE, *SPEND, "-s", "max", *form, cwd=place)
    assert out.returncode == 1 and "RuntimeError" in out.stderr and "no answer" not in out.stderr
    assert Release.from_json(out.stdout).max().value is not None


def test_a_release_that_was_paid_for_is_printed_if_its_page_cannot_be_made(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_self: Any, _release: Any) -> None:
        raise RuntimeError("no page")

    monkeypatch.setattr(output.AtomicFile, "write", fails)
    out = run("release", "t.parquet", *WIDE, *SPEND, "-o", "never.html", cwd=place)
    assert out.returncode == 2 and not (place / "never.html").exists()
    assert "could not write 'never.html'; the release was printed" in out.stderr
    assert Release.from_json(out.stdout).max().value is not None
