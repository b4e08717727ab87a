"""Messages that say what to do: swapped arguments, decimal commas, what is missing, widths that tell nothing."""

from __future__ import annotations

import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import redirect_stdout
from fcntl import ioctl
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from _support.command import flexdp as command
from _support.published import published

import flexdp
from flexdp import InputError
from flexdp.cli.output import between_words, print_answers

SPEND = ("-e", "1", "-d", "1e-6")
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame({"age": [float(i % 90) for i in range(3000)], "minutes": [i % 1440 for i in range(3000)]})
    table = table.with_columns(flag=pl.col("minutes") % 2, delay=pl.col("minutes") - 700)
    table.write_parquet(tmp_path / "t.parquet")
    table.write_csv(tmp_path / "t.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("t.parquet", "age", "-e", "0,5", "-d", "1e-6"),
            "--epsilon must be a number; got '0,5'. The decimal mark is a point: 0.5.",
        ),
        (("t.parquet", "age", *SPEND, "--width", "12,50"), "The decimal mark is a point: 12.50."),
        (("t.parquet", "age", *SPEND, "--width", "1,234"), "Write 1234; or 1.234 if the comma is a decimal mark."),
        (("t.parquet", "age", *SPEND, "--width", "1,234.5"), "Write it without commas, like 1234.5."),
        (("t.parquet", "age", "-e", "1"), "Missing option '--delta' / '-d'. For example --delta 1e-6."),
        (("t.parquet", "age", "-d", "1e-6"), "Missing option '--epsilon' / '-e'. For example --epsilon 1."),
        (
            ("age", "t.parquet", *SPEND),
            "FILE: 'age' does not exist, but COLUMN is a file, 't.parquet'. First comes FILE, then COLUMN.",
        ),
        (("none.parquet", "age", *SPEND), "FILE: 'none.parquet' does not exist or cannot be reached."),
        (("trino://me:secret@host/db", "x", *SPEND), "FILE is an address of an unknown kind."),
        (
            ("trino://me:secret@host/db", "x", *SPEND, "--table", "t"),
            "A database is postgresql://… or mariadb://…, or a file",
        ),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_type(folder: Path, words: tuple[str, ...], told: str) -> None:
    done = command("release", *words, cwd=folder)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert told in done.stderr and "secret" not in done.stderr


def test_a_summary_and_a_plan_say_it_too(folder: Path) -> None:
    assert "For example --delta 1e-6." in command("summary", "t.parquet", "-e", "1", cwd=folder).stderr
    assert "The decimal mark is a point: 0.5." in command("plan", "-e", "0,5", cwd=folder).stderr


@pytest.mark.parametrize("source", [("trino://me:secret@host/db", "t"), ["trino://me:secret@host/db", "t.csv"]])
def test_an_address_of_an_unknown_kind_is_called_so(folder: Path, source: Any) -> None:
    assert (folder / "t.csv").exists()
    with pytest.raises(InputError) as refusal:
        flexdp.release(source, "x", **BUDGET)
    assert str(refusal.value).startswith("source is an address of an unknown kind. Those of databases begin with")
    assert "secret" not in str(refusal.value)


def test_swapped_arguments_are_told_in_python(folder: Path) -> None:
    for source, shown in (("age", "'age'"), ([Path("age")], "'age'"), (["CANARY"], "item 1")):
        with pytest.raises(InputError) as refusal:
            flexdp.release(source, "t.csv", **BUDGET)
        told = f"source: {shown} does not exist, but column is a file, 't.csv'. First comes source, then column."
        assert str(refusal.value) == told
    with pytest.raises(InputError, match="does not exist or cannot be reached"):
        flexdp.release("age", str(folder), **BUDGET)
    with pytest.raises(InputError, match=r"no column named 't\.csv'"):
        flexdp.release("t.csv", "t.csv", **BUDGET)


@pytest.mark.parametrize(
    ("column", "width", "told"),
    [
        ("minutes", "1e9", "Everything released lies in one bucket, 0–999 999 999. A smaller --width shows more."),
        ("delay", "1e9", "lies in two buckets, -1 000 000 000 to -1 and 0–999 999 999. A smaller --width shows more."),
        ("minutes", "15", ""),
        ("flag", "1", ""),  # none is smaller
    ],
)
def test_a_width_that_tells_nothing_is_told(folder: Path, column: str, width: str, told: str) -> None:
    done = command("release", "t.parquet", column, *SPEND, "--width", width, cwd=folder)
    shown = re.sub("[\u00a0\u2009\u202f]", " ", done.stderr).replace("\u2212", "-")
    assert done.returncode == 0 and (told in shown if told else "Everything released" not in shown), shown


def test_notes_on_a_terminal_end_between_words(folder: Path) -> None:
    """A terminal of 50 columns cuts longer lines at the 50th character, wherever that is."""
    parent, child = pty.openpty()
    ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 50, 0, 0))
    line = ["release", "t.csv", "minutes", *SPEND, "--kind", "integer", "--width", "15"]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    done = subprocess.Popen(
        [sys.executable, "-m", "flexdp", *line], cwd=folder, stdout=subprocess.PIPE, stderr=child, env=environment
    )
    os.close(child)
    told = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # Linux says so at the end
            break
        if not part:
            break
        told += part
    os.close(parent)
    done.communicate()
    assert done.returncode == 0
    notes = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told.decode()).replace("\r", "")
    notes = notes[notes.index("Spent:") :]
    assert "an observer who was 50%" in " ".join(notes.split()), "the control: a sentence that is longer than a line"
    assert max(map(len, notes.splitlines())) <= 50
    piped = command(*line, cwd=folder).stderr
    assert max(map(len, piped.splitlines())) > 100 and notes.split() == piped.split()


def test_releases_have_a_hash_and_a_title() -> None:
    values = [float(i % 40) for i in range(4000)]
    for options in ({"width": 5}, {"kind": "number"}, {"kind": "number", "ask": "max"}, {"edges": [0, 20, 40]}):
        made = flexdp.release(values, **BUDGET, **options)
        same = flexdp.Release.from_json(made.to_json())
        assert made == same and hash(made) == hash(same) and len({made, same}) == 1
    first, second = (flexdp.release(values, **BUDGET, width=5) for _ in range(2))
    assert len({first, second}) == len({first.to_json(), second.to_json()})


def test_a_page_takes_a_title(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": [3.0] * 900, "y": ["a"] * 900})
    made = flexdp.release(table, "x", **BUDGET, width=5, title="Draft", period="2026")
    both = flexdp.summary(table, **BUDGET)
    for each in (made, both):
        each.report(tmp_path / "a.html", title="Waiting <times>")
        page = (tmp_path / "a.html").read_text()
        assert page == each.to_html(title="Waiting <times>")
        assert "<title>Waiting &lt;times&gt;</title>" in page
        with pytest.raises(InputError, match=r"^title must be one line"):
            each.report(tmp_path / "b.html", title=" ")
        assert not (tmp_path / "b.html").exists()
    assert "<title>Draft</title>" in made.to_html() and "Period: 2026." in made.to_html(title="Final")


class Screen(io.StringIO):
    """Collects what is printed as a terminal shows it."""

    def isatty(self) -> bool:
        return True


def test_no_line_of_a_terminal_ends_within_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a column of 28 characters, '1 700 020' above '000–1 700 030 000' reads as other numbers."""
    release = published({(170_000 + place,): 900 + place for place in range(9)}, width=10_000)
    monkeypatch.setenv("COLUMNS", "80")
    screen = Screen()
    with redirect_stdout(screen):
        print_answers(release, [release.top(9), release.support(), release.median(), release.counts()])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue()).splitlines()
    cells = [re.split(r"\s{2,}", line) for line in lines]
    whole = re.compile(r"1 700 0\d0 000")
    assert sum(bool(whole.search(line)) for line in lines) > 20, "the control: large numbers are shown"
    assert not [cell for row in cells for cell in row if re.search(r"1 700( 0\d0)?$|^(0\d0 )?000\b", cell)]
    note = between_words(f"Counted were {'1 234 567, ' * 20}and no others.", screen)
    assert note.count("1 234 567") == 20 and note.count("\n") > 2 and "\u2800" not in note + screen.getvalue()
