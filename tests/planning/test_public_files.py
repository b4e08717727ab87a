"""``flexdp plan --public-sample``: files as they come, read as a release reads them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import openpyxl
import polars as pl
import pytest
from _support.command import flexdp as run

COSTS = [round(1234.5 + i * i % 9973 + i % 4 / 4, 2) for i in range(3000)]
MESSY = ["--decimal", ",", "--thousands", ".", "--currency", "€", "--encoding", "cp1252", "--delimiter", ";"]
KNOWN = ["plan", "-e", "1", "-d", "1e-6"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same costs and days in files that declare types, and in files that are written in other ways."""
    place = tmp_path_factory.mktemp("public")
    days = [f"{1 + i % 28:02}.{1 + i % 12:02}.2024" for i in range(3000)]
    table = pl.DataFrame({"Höhe": COSTS, "Tag": pl.Series(days).str.to_date("%d.%m.%Y")})
    table.write_parquet(place / "plain.parquet")
    german = [f"{cost:,.2f} €".translate(str.maketrans(",.", ".,")) for cost in COSTS]
    lines = ["Höhe;Tag", *(f"{cost};{day}" for cost, day in zip(german, days, strict=True))]
    (place / "messy.txt").write_text("\n".join(lines), encoding="cp1252")
    (place / "tabs.csv").write_text("Höhe\tTag\n" + "".join(f"{cost}\t1\n" for cost in COSTS))
    book = openpyxl.Workbook()
    book.create_sheet("2023").append(["Höhe"])
    for cost in COSTS:
        book["2023"].append([cost])
    book.save(place / "book.xlsx")
    (place / "zoned.csv").write_text("t\n" + "2024-07-01T23:30+01:00\n" * 90 + "2024-07-02T11:30+01:00\n" * 60)
    return place


@pytest.mark.parametrize("shape", [["--width", "500"], ["--relative", "0.2", "--kind", "number"]])
def test_a_file_is_read_as_it_is_written(shape: list[str], folder: Path) -> None:
    """The plan of one sample, however its file is written; and the command is that of another file."""
    plain = run(*KNOWN, *shape, "--public-sample", "plain.parquet", "Höhe", cwd=folder)
    assert plain.returncode == 0 and "3 000 records of the public sample" in plain.stdout and plain.stderr == ""
    for name, options in (
        ("messy.txt", [*MESSY, "--format", "csv"]),
        ("tabs.csv", ["--delimiter", "tab"]),
        ("book.xlsx", ["--sheet", "2023"]),
    ):
        told = run(*KNOWN, *shape, "--public-sample", name, "Höhe", *options, cwd=folder)
        assert (told.returncode, told.stdout) == (0, plain.stdout), (name, told.stderr)
        note = told.stderr.splitlines()[-1]
        said, _, added = note.partition(": ")
        assert said == "For a FILE that is written in the same way as the public sample, add to the command"
        assert sorted(shlex.split(added)) == sorted(options)
        command = shlex.split(told.stdout.splitlines()[-1])
        assert command[:4] == ["flexdp", "release", "FILE", "COLUMN"] and not {*options[::2]} & {*command}
        done = run("release", name, "Höhe", *command[4:], *shlex.split(added), "--json", cwd=folder)
        assert done.returncode == 0 and json.loads(done.stdout)["privacy"]["epsilon"] == "1", done.stderr


def test_without_the_options_the_cells_are_not_read(folder: Path) -> None:
    """The negative control."""
    bare = [*KNOWN, "--width", "500", "--public-sample", "messy.txt", "Höhe", "--format", "csv"]
    refused = run(*bare, cwd=folder)
    assert refused.returncode == 2 and refused.stdout == ""
    assert "--public-sample: the header line of 'messy.txt' is not UTF-8. Set --encoding, " in refused.stderr
    unread = run(*bare, "--encoding", "cp1252", cwd=folder)
    assert unread.returncode == 2 and unread.stdout == ""
    assert "was read as numbers written like 1234.5" in unread.stderr
    assert "If cells are written in another way, set --decimal, --thousands or --currency" in unread.stderr
    assert unread.stderr.splitlines()[-1].startswith("Error: --public-sample must hold at least one value that the ")


def test_dates_and_datetimes(folder: Path) -> None:
    plain = run(*KNOWN, "--width", "1 month", "--public-sample", "plain.parquet", "Tag", cwd=folder)
    messy = [*KNOWN, "--public-sample", "messy.txt", "Tag", *MESSY[6:], "--format", "csv", "--date-format", "%d.%m.%Y"]
    told = run(*messy, "--width", "1 month", "--kind", "date", cwd=folder)
    assert (told.returncode, told.stdout) == (0, plain.stdout) and "of 12 buckets that hold any" in told.stdout
    unsaid = run(*messy, "-n", 3000, cwd=folder)
    assert (unsaid.returncode, unsaid.stdout) == (2, "")
    assert unsaid.stderr == (
        "Error: --kind is missing: the public sample declares no types. Use --kind date for dates or --kind datetime "
        "for datetimes, or --kind text for texts.\n"
    )
    zoned = [*KNOWN, "--public-sample", "zoned.csv", "t", "--kind", "datetime", "--width", "1 day"]
    for zone, days in (("Europe/London", 2), ("Europe/Berlin", 1)):  # where 23:30 is the next day
        told = run(*zoned, "--zone", zone, cwd=folder)
        assert told.returncode == 0 and f"of {days} bucket" in told.stdout, told.stderr
    unread = run(*zoned, cwd=folder)
    assert unread.returncode == 2 and "Set --zone to read datetimes with an offset." in unread.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--decimal", ","],
            "--decimal needs --public-sample, the file that it describes. A plan reads no other file.",
        ),
        (["--thousands", "."], "--thousands needs --public-sample"),
        (["--currency", "€"], "--currency needs --public-sample"),
        (["--date-format", "%d.%m.%Y"], "--date-format needs --public-sample"),
        (["--encoding", "cp1252"], "--encoding needs --public-sample"),
        (["--delimiter", ";"], "--delimiter needs --public-sample"),
        (["--format", "csv"], "--format needs --public-sample"),
        (["--sheet", "S"], "--sheet needs --public-sample"),
        (["--zone", "UTC"], "--zone needs --public-sample"),
        (["--public-sample", "no.csv", "x"], "--public-sample: 'no.csv' does not exist or cannot be reached."),
        (["--public-sample", "tabs.csv", "no"], "--public-sample: no column named 'no'."),
        (["--public-sample", "tabs.csv", "Höhe", "--decimal", "x"], "--decimal must be '.' or ','; got 'x'."),
        (["--public-sample", "tabs.csv", "Höhe", "--sheet", "S"], "--sheet applies to Excel files only."),
        (["--public-sample", "tabs.csv", "Höhe", "--zone", "UTC", "--kind", "number"], "--zone fits a column of "),
        (["--public-sample", "book.xlsx", "Höhe", "--delimiter", ";"], "--delimiter applies to CSV files only."),
        (["--public-sample", "t.db", "x", "--encoding", "cp1252"], "--public-sample must be a file, not a database."),
    ],
)
def test_refusals(words: list[str], message: str, folder: Path) -> None:
    told = run(*KNOWN, *words, cwd=folder)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith(f"Error: {message}") and len(told.stderr.splitlines()) == 1, told.stderr


def test_quiet_plans_say_nothing_of_files(folder: Path) -> None:
    sample = ["--public-sample", "tabs.csv", "Höhe", "--delimiter", "tab", "--width", "500"]
    assert run(*KNOWN, *sample, "--quiet", cwd=folder).stderr == ""
    document = json.loads(run(*KNOWN, *sample, "--json", cwd=folder).stdout)
    assert "--delimiter" not in document["command"] and document["expected"]["records"] == 3000
