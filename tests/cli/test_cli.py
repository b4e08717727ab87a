"""The command line: results on stdout, everything else on stderr, exit codes, whole files."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import duckdb
import polars as pl
import pytest
from _support.bits import seed
from _support.command import flexdp, process
from _support.waiting import HANG, wait_for

from flexdp import InputError, Release, release
from flexdp._release.api import prepare
from flexdp.cli.output import AtomicFile

SPEND = ["--epsilon", "1", "--delta", "1e-6"]
EXACT = [*SPEND, "--exact"]


@pytest.fixture
def ages(tmp_path: Path) -> Path:
    path = tmp_path / "ages.csv"
    rows = "".join(f"p{i},{20 + i % 60},w{i % 3}\n" for i in range(6000))
    path.write_text("id,age,ward\n" + rows)
    return path


def test_release_prints_sentences_in_a_pipe(ages: Path) -> None:
    out = process(
        "release", ages, "age", *SPEND, "--width", 10, "--bounds", "0:120", "--stat", "max", "--stat", "q0.99"
    )
    assert out.returncode == 0
    condition, first, second = out.stdout.splitlines()
    assert condition == "Counted: readable values of age limited to 0–120."
    assert first.startswith(
        "Highest age: 70–80 or more. At most 27 records per bucket, and at most 191 in total, were left out; up to 27 "
        "may lie in each higher"
    )
    told = (
        r"99th percentile of age: about 79(\.\d)?\. The exact 99th percentile is guaranteed to lie between 70 and \d+\."
    )
    assert re.fullmatch(told, second), second
    assert "Spent: ε = 1, δ = 1e-06" in out.stderr
    assert "73.2%" in out.stderr, "ε never stands without its odds"
    assert out.stderr.count("spends as much again") == 1


def test_every_statistic_has_a_word(ages: Path) -> None:
    words = [
        "max",
        "min",
        "range",
        "median",
        "q.9",
        "mode",
        "support",
        "max_at_least:500",
        "top:3",
        "counts",
    ]
    again = ["q0.5", "q0.9", "q1", "p90", "max"]  # other spellings of what is there already: answered once
    flags = [flag for word in (*words, *again) for flag in ("-s", word)]
    out = flexdp("release", ages, "age", *SPEND, "--width", 10, *flags, "--json")
    document = json.loads(out.stdout)
    assert [answer["stat"] for answer in document["answers"]] == words
    assert all(answer["statement"].endswith(".") for answer in document["answers"])
    assert Release.from_json(out.stdout).max().value == document["answers"][0]["value"] == 75


def test_json_on_stdout_is_a_release(ages: Path) -> None:
    out = flexdp("release", ages, "ward", *SPEND, "--kind", "text", "--json")
    assert out.returncode == 0
    assert set(Release.from_json(out.stdout).support().value) == {"w0", "w1", "w2"}


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_output_files_are_whole(ages: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    out = flexdp("release", ages, "age", *SPEND, "--width", 10, "-o", target)
    assert out.returncode == 0 and f"\nWrote {target}.\n" in out.stderr and "Wrote" not in out.stdout
    if ending == "json":
        assert Release.from_json(target.read_text()).max().value == 75
    else:
        rows = list(csv.reader(target.read_text().splitlines()))
        assert rows[0] == ["key", "lower", "upper", "count", "about", "at_most"]
        assert all(float(row[4]) == float(row[3]) + 13.5 for row in rows[1:])
        assert rows[-1][:3] == ["75.0", "70.0", "80.0"]
    assert not list(tmp_path.glob(".flexdp-*"))


def test_standard_input_as_pipe_and_as_file(ages: Path) -> None:
    with subprocess.Popen(["cat", str(ages)], stdout=subprocess.PIPE) as cat:
        piped = process("release", "-", "age", *SPEND, "--width", 10, "--json", stdin=cat.stdout)
    with ages.open() as stream:
        redirected = process("release", "-", "age", *SPEND, "--width", 10, "--json", stdin=stream)
    for out in (piped, redirected):
        released = Release.from_json(out.stdout)
        assert released.max().value == 75
        assert 6000 - 6 * 27 <= released.histogram.size <= 6000


def test_gzip_globs_delimiters_and_json_lines(tmp_path: Path) -> None:
    (tmp_path / "a1.csv.gz").write_bytes(gzip.compress(b"x;y\n" + b"1;5\n" * 100))
    (tmp_path / "a2.csv.gz").write_bytes(gzip.compress(b"x;y\n" + b"1;9\n" * 100))
    out = flexdp(
        "release",
        tmp_path / "a*.csv.gz",
        "y",
        *SPEND,
        "--kind",
        "integer",
        "--delimiter",
        ";",
        "-s",
        "support",
        "--exact",
    )
    assert out.stdout.splitlines()[2:] == ["5", "9"]
    (tmp_path / "b.jsonl").write_text('{"y": 7}\n' * 100)
    out = flexdp("release", tmp_path / "b.jsonl", "y", *SPEND, "--kind", "integer", "-s", "max", "--exact")
    assert "\nHighest y: 7 or more. " in out.stdout


def test_dates_edges_relative_and_negative_bounds(tmp_path: Path, ages: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("day,t\n" + "2024-02-29,-3\n" * 200)
    out = flexdp(
        "release", path, "day", *SPEND, "--kind", "date", "--bounds", "2024-01-01:2024-12-31", "--width", 7, "-s", "max"
    )
    assert out.stdout.startswith(
        "Counted: readable values of day limited to 2024-01-01 to 2024-12-31.\nLatest day: 2024-02-26 to "
    )
    out = flexdp("release", path, "t", *SPEND, "--bounds", "-10:10", "--width", 1, "-s", "min")
    assert "Lowest t: -3 to -2 or less. " in out.stdout
    out = flexdp("release", ages, "age", *SPEND, "--edges", "0,18,65,120", "-s", "mode")
    assert "Fullest bucket of age: 18–65. " in out.stdout
    out = flexdp("release", ages, "age", *SPEND, "--relative", "0.1", "-s", "max")
    assert re.search(r"\nHighest age: 7[0-9.]+–[89][0-9.]+ or more\. ", out.stdout)


def test_columns_lists_what_is_declared(ages: Path, tmp_path: Path) -> None:
    assert flexdp("check", ages, "--columns").stdout.splitlines() == [
        "id\tundeclared",
        "age\tundeclared",
        "ward\tundeclared",
    ]
    path = tmp_path / "t.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS a, 'x' AS b, [1] AS c) TO '{path}' (FORMAT parquet)")
    assert flexdp("check", path, "--columns").stdout.splitlines() == ["a\tINTEGER", "b\tVARCHAR", "c\tINTEGER[]"]
    listed = json.loads(flexdp("check", path, "--columns", "--json").stdout)
    assert listed[0] == {"name": "a", "type": "INTEGER", "kind": "integer"}
    (tmp_path / "t.jsonl").write_text('{"secretkey": 1}\n')
    out = flexdp("check", tmp_path / "t.jsonl", "--columns")
    assert out.returncode == 0 and out.stdout == "" and "secretkey" not in out.stderr


def test_query_shows_the_text(ages: Path) -> None:
    out = flexdp("query", ages, "age", "--width", 10)
    assert out.returncode == 0
    assert "GROUP BY" in out.stdout and out.stderr == ""
    assert json.loads(flexdp("query", ages, "age", "--width", 10, "--json").stdout)["sql"] == out.stdout.rstrip("\n")


def test_demo_runs_without_network_or_file() -> None:
    out = process("demo")
    assert out.returncode == 0, out.stderr
    for word in (
        "maximum",
        "99th percentile",
        "histogram",
        "Buckets were chosen privately",
        "release.certificate()",
        "diffprivlib",
        "73.2%",
    ):
        assert word in out.stdout
    assert Release.from_json(flexdp("demo", "--json").stdout).quantile("0.99").value in range(150, 250)


def test_nothing_survived_is_exit_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "few.csv"
    path.write_text("age\n")
    out = flexdp("release", path, "age", *SPEND, "--width", 10)
    assert out.returncode == 4
    assert out.stdout.count("Nothing survived") == 4
    causes = [line for line in out.stderr.splitlines() if line.startswith("Likely cause: ")]
    assert len(causes) == 4 and "may be too narrow" in causes[0] and "do not read as numbers" in causes[1]
    assert "certain to survive if it holds 28 records" in causes[2]
    for line in (["--kind", "number", *SPEND], ["--kind", "number", "-e", 1, "-d", 0, "--ask", "max"]):
        seed(monkeypatch, 1)  # with others, the noisy number of records is sometimes large enough
        few = flexdp("release", path, "age", *line, "--json")
        assert few.returncode == 4 and "Likely cause: Missing values, NaN" in few.stderr
        told = json.loads(few.stdout)
        assert told["likely_causes"][0].startswith("Missing values, NaN") and Release.from_json(few.stdout)
        (tmp_path / "few.json").write_text(few.stdout)
        assert flexdp("verify", tmp_path / "few.json").returncode == 0
        told["likely_causes"] = ["There is nobody."]
        (tmp_path / "few.json").write_text(json.dumps(told))
        changed = flexdp("verify", tmp_path / "few.json")
        assert changed.returncode == 5 and "likely causes" in changed.stdout + changed.stderr
    exact = flexdp("release", path, "age", *SPEND, "--kind", "integer", "--exact", "--where", "age > 3")
    assert exact.returncode == 4
    for cause in ("Every value is a bucket of its own", "whole numbers", "do not match the filter"):
        assert cause in exact.stderr


BAD = [
    (["--epsilon", "0"], "epsilon must be in (0, 10000]"),
    (["--epsilon", "-1"], "epsilon must be in (0, 10000]"),
    (["--epsilon", "nan"], "epsilon must be finite"),
    (["--epsilon", "inf"], "epsilon must be finite"),
    (["--epsilon", "one"], "epsilon must be a number"),
    (["--epsilon", "1e-6", "--delta", "1e-9"], "could lose more than 1000000 records"),
    (["--delta", "0"], "delta must be in"),
    (["--delta", "1"], "delta must be in"),
    (["--bounds", "120:0"], "reversed bounds"),
    (["--bounds", "5:5"], "equal bounds"),
    (["--bounds", "5"], "LO:HI"),
    (["--width", "0"], "width must be"),
    (["--width", "inf"], "width must be finite"),
    (["--width", "5", "--relative", "0.1"], "exclude each other"),
    (["--relative", "2"], "relative must be"),
    (["--edges", "3,2,1"], "ascending"),
    (["--stat", "maxx"], "--stat: invalid statistic 'maxx'. Did you mean max?"),
    (["--stat", "q2"], "--stat: invalid statistic 'q2'. "),
    (["--stat", "top:0"], "--stat: invalid statistic 'top:0'. Count must be"),
    (["--stat", "max"], "--stat: the maximum needs a column of numbers or dates; this one is text."),
    (["--kind", "list"], "--kind"),
    (["--outside", "keep"], "--outside"),
    (["--delimiter", "ab"], "delimiter must be a single character"),
    (["-o", "x.xml"], "output must end in"),
    (["-o", "/nowhere/x.json"], "cannot be written"),
    (["--frobnicate"], "No such option"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), BAD, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_bad_input_is_one_line_exit_2_and_nothing_spent(ages: Path, arguments: list[str], words: str) -> None:
    before = sorted(ages.parent.iterdir())
    given = [] if "--epsilon" in arguments else ["--epsilon", "1"]
    given += [] if "--delta" in arguments else ["--delta", "1e-6"]
    given += [] if set(arguments) & {"--width", "--relative", "--edges", "--bounds"} else ["--exact"]
    out = flexdp("release", ages, "age", *given, *arguments, cwd=ages.parent)
    assert out.returncode == 2
    assert out.stdout == ""
    assert words in out.stderr
    assert len(out.stderr.splitlines()) == 1 and out.stderr.startswith("Error: ")
    assert "Spent" not in out.stderr
    assert sorted(ages.parent.iterdir()) == before


def test_missing_options_are_named(ages: Path) -> None:
    for missing, rest in (("--epsilon", ["--delta", "1e-6"]), ("--delta", ["--epsilon", "1"])):
        out = process("release", ages, "age", *rest)
        assert out.returncode == 2
        assert missing in out.stderr and len(out.stderr.splitlines()) == 1


def test_bad_sources_are_one_line_exit_2(tmp_path: Path, ages: Path) -> None:
    (tmp_path / "nothing.csv").write_text("")
    (tmp_path / "not.parquet").write_text("PAR1 but not really")
    (tmp_path / "odd.xyz").write_text("a\n1\n")
    (tmp_path / "not.csv.gz").write_text("no gzip")
    twice = tmp_path / "twice.csv"
    twice.write_text("a,a\n1,2\n")
    parquet = tmp_path / "t.parquet"
    duckdb.sql(
        f"COPY (SELECT 'x' AS word, [1] AS list, 5 AS n, TIMESTAMP '2020-01-01' AS t) TO '{parquet}' (FORMAT parquet)"
    )
    cases = [
        (tmp_path / "missing.csv", "age", [], "does not exist"),
        (tmp_path, "age", [], "is a directory"),
        (tmp_path / "*.nope", "age", [], "matches no file"),
        (tmp_path / "nothing.csv", "age", [], "no header line"),
        (tmp_path / "not.parquet", "age", [], "is not a Parquet file"),
        (tmp_path / "not.csv.gz", "age", [], "cannot be read"),
        (tmp_path / "odd.xyz", "a", [], "has no known extension"),
        (twice, "a", [], "more than once"),
        (ages, "agee", [], "`flexdp check --columns` lists the columns"),
        (parquet, "wrd", [], "Did you mean 'word'?"),
        (parquet, "WORD", [], "Did you mean 'word'?"),
        (parquet, "word", ["--width", "5"], "width needs a column of numbers"),
        (parquet, "list", [], "cannot be released"),
        (parquet, "n", ["--width", "2.5"], "whole number"),
        (parquet, "t", ["--width", "5"], "length of time"),
        (parquet, "n", ["--kind", "text"], "does not fit"),
        (ages, parquet, [], "For several files, write a pattern in quotes"),
        ("/dev/null", "age", ["--format", "csv"], "not a regular file"),
        ("x" * 300 + ".csv", "age", [], "does not exist"),
        ("a\nb.csv", "age", [], "must name a file"),
    ]
    for source, column, options, words in cases:
        out = flexdp("release", source, column, *SPEND, *options)
        assert out.returncode == 2, (source, out.stderr)
        assert words in out.stderr, (source, out.stderr)
        assert out.stdout == "" and len(out.stderr.splitlines()) == 1
    assert "no header line" in process("release", "-", "age", *SPEND).stderr


def test_an_unreadable_file_is_refused() -> None:
    """In a process that is not root, whoever runs the tests."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "secret.csv"
        path.write_text("age\n5\n")
        path.chmod(0)
        child = os.fork()
        if child == 0:
            if os.getuid() == 0:
                os.setresuid(65534, 65534, 65534)
            try:
                prepare(path, "age")
            except InputError as refusal:
                os._exit(42 if "no permission to read" in str(refusal) else 1)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42


def test_hostile_names_and_keys_cannot_steer_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("a\x1b[31mb,c\n" + "\x1b]0;owned\x07\u202etext,1\n" * 100)
    for command in (
        ["check", path, "--columns"],
        ["release", path, "a\x1b[31mb", *EXACT],
        ["release", path, "a\x1b", *EXACT],
    ):
        out = flexdp(*command)
        assert "\x1b" not in out.stdout + out.stderr and "\x07" not in out.stdout and "\u202e" not in out.stdout
    assert "\\u001b]0;owned" in flexdp("release", path, "a\x1b[31mb", *EXACT).stdout


def test_spreadsheets_get_no_formulas(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("a\n" + "=1+1\n" * 100)
    flexdp("release", path, "a", *EXACT, "-o", tmp_path / "o.csv")
    assert "'=1+1" in (tmp_path / "o.csv").read_text()


def test_a_csv_file_cannot_steer_what_shows_it(tmp_path: Path) -> None:
    """Keys and groups come from the data: the CSV has them as a terminal is shown them, JSON has them as they are."""
    path = tmp_path / "h.csv"
    hostile = "\x1b]0;owned\x07\u202etxt\x9b2J"
    path.write_text("a\u202eb,c\n" + f"{hostile},=1+1\n" * 100 + f"=2+{hostile},x\n" * 100)
    flexdp("release", path, "a\u202eb", "--by", "c", *EXACT, "-o", tmp_path / "o.csv")
    flexdp("release", path, "a\u202eb", "--by", "c", *EXACT, "-o", tmp_path / "o.json")
    written = (tmp_path / "o.csv").read_text(encoding="utf-8")
    assert all(char.isprintable() or char == "\n" for char in written)
    shown = "\\u001b]0;owned\\u0007\\u202etxt\\u009b2J"
    with (tmp_path / "o.csv").open(encoding="utf-8") as stream:
        rows = [(row["c"], row["key"]) for row in csv.DictReader(stream)]
    assert rows == [("'=1+1", shown), ("x", f"'=2+{shown}")]
    released = Release.from_json((tmp_path / "o.json").read_text(encoding="utf-8"))
    assert set(released.support().value) == {hostile, f"=2+{hostile}"}
    assert set(released.to_frame("polars")["key"]) == {hostile, f"=2+{hostile}"}


@contextmanager
def counting(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A release that counts records as fast as they come, which never end; its scratch files are in the folder."""
    scratch = folder / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "flexdp", "release", "-", "x", *EXACT, "--kind", "number", "-o", "o.json"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(scratch)},
    ) as process:
        writer = threading.Thread(target=_pour, args=(process.stdin,))
        writer.start()
        try:
            wait_for(lambda: list(scratch.glob("flexdp-*")))
            yield process
            process.wait(timeout=HANG)
        finally:
            process.kill()
            writer.join()


def _pour(stream: IO[bytes]) -> None:
    with suppress(BrokenPipeError):  # nobody reads any more
        stream.write(b"x\n")
        while True:
            stream.write(b"1.5\n" * 10_000)


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGINT, 130, "Error: interrupted; nothing was released."),
        (signal.SIGTERM, 143, "Error: terminated by a signal; nothing was released."),
        (signal.SIGHUP, 129, "Error: terminated by a signal; nothing was released."),
    ],
)
def test_a_count_that_is_told_to_end_does_and_leaves_nothing(
    number: int, code: int, words: str, tmp_path: Path
) -> None:
    with counting(tmp_path) as process:
        process.send_signal(number)
        process.wait(timeout=HANG)
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read() == b"" and process.stderr.read().decode().strip() == words
    assert process.returncode == code
    assert [entry.name for entry in tmp_path.rglob("*")] == ["scratch"]


def test_a_terminal_gets_a_table(ages: Path) -> None:
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "flexdp.cli", "release", str(ages), "ward", *EXACT]
    with subprocess.Popen(
        command, stdout=writer, stderr=writer, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    ) as process:
        process.wait(timeout=HANG)
    os.close(writer)
    screen = b""
    while True:
        try:
            chunk = os.read(reader, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        screen += chunk
    os.close(reader)
    text = screen.decode()
    assert "█" in text and "counts" in text and "support" not in text
    # The true counts: shown with the chance that one of three bars loses nothing, at most 3δ.
    assert "2000" not in text and "6000" not in text


def test_a_closed_pipe_is_no_failure(ages: Path) -> None:
    command = f"{sys.executable} -m flexdp.cli release {ages} id --epsilon 1 --delta 0.4 --exact -s counts | head -n 1"
    out = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=HANG, check=False
    )
    assert out.returncode == 0, out.stderr
    assert "Traceback" not in out.stderr and len(out.stdout.splitlines()) == 1


def test_an_ascii_locale_still_prints(ages: Path) -> None:
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "ascii",
    }
    out = process("release", ages, "age", *SPEND, "--width", 10, "--bounds", "0:120", env=environment)
    assert out.returncode == 0, out.stderr
    assert "Highest age: " in out.stdout


def test_help_and_version() -> None:
    assert "release" in flexdp("--help").stdout
    assert flexdp("--version").stdout.startswith("flexdp, version ")
    assert flexdp("release", "--help").returncode == 0


def test_the_table_is_not_overwritten(ages: Path) -> None:
    before = ages.read_bytes()
    out = flexdp("release", ages, "age", *SPEND, "--width", 10, "-o", ages)
    assert out.returncode == 2 and "is the input. Name another file." in out.stderr
    assert ages.read_bytes() == before


def test_a_pipe_named_as_a_file_is_refused_at_once(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.csv"
    os.mkfifo(fifo)
    out = flexdp("release", fifo, "age", *SPEND)
    assert out.returncode == 2 and "not a regular file" in out.stderr


def test_output_that_cannot_be_printed_says_what_it_cost(ages: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "flexdp", "release", str(ages), "age", *SPEND, "--width", "10", "-o", "o.json"]
        out = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, timeout=HANG, check=False
        )
    assert out.returncode == 2
    assert out.stderr.splitlines()[-1] == "Error: could not write the output; the budget of this release is spent."
    assert Release.from_json((tmp_path / "o.json").read_text()).max().value == 75


def test_closed_streams(ages: Path) -> None:
    line = f"{sys.executable} -m flexdp release {ages} age --epsilon 1 --delta 1e-6 --width 10"
    closed_out = subprocess.run(
        ["bash", "-c", line + " >&-"], capture_output=True, text=True, timeout=HANG, check=False
    )
    assert closed_out.returncode == 2 and "standard output is closed" in closed_out.stderr
    assert "Spent" not in closed_out.stderr
    closed_err = subprocess.run(
        ["bash", "-c", line + " 2>&-"], capture_output=True, text=True, timeout=HANG, check=False
    )
    assert closed_err.returncode == 0 and "Highest age: " in closed_err.stdout


def test_interrupt_while_nothing_comes_through_the_pipe(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "flexdp", "release", "-", "x", *EXACT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin and process.stderr
        process.stdin.write(b"x\n1\n")
        process.stdin.flush()
        wait_for(lambda: list(tmp_path.glob("flexdp-*")))
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=HANG)
        error = process.stderr.read().decode()
    assert code == 130
    assert error.strip() == "Error: interrupted; nothing was released."
    assert list(tmp_path.iterdir()) == []


def test_several_files_by_a_pattern(tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"p{i}.csv").write_text("v\n" + f"{i}\n" * 100)
    out = flexdp("release", tmp_path / "p[0-2].csv", "v", *EXACT, "-s", "support")
    assert out.stdout.splitlines()[2:] == ["0", "1", "2"]
    (tmp_path / "p3.csv").write_text("w\n1\n")
    out = flexdp("release", tmp_path / "p*.csv", "v", *EXACT)
    assert out.returncode == 2 and "missing from some of the files" in out.stderr


def test_line_ends_through_a_pipe(tmp_path: Path) -> None:
    for raw in (b"a\r1\r1\r" * 1 + b"1\r" * 98, b"a\r1\n" + b"1\n" * 99, b"a\r\n" + b"1\r\n" * 100):
        path = tmp_path / "e.csv"
        path.write_bytes(raw)
        with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as cat:
            piped = process("release", "-", "a", "-e", 20, "-d", "0.4", "--exact", "--json", stdin=cat.stdout)
        assert 97 <= Release.from_json(piped.stdout).histogram.size <= 100


def test_without_a_command_the_help_is_shown() -> None:
    out = process()
    assert out.returncode == 2 and out.stdout == ""
    assert out.stderr.startswith("Usage: ") and "\nCommands:\n" in out.stderr and "Error" not in out.stderr


def test_a_forgotten_column_or_file_is_told(ages: Path) -> None:
    out = flexdp("release", ages, *SPEND)
    assert out.returncode == 2 and out.stderr.startswith("Error: COLUMN is missing: this source declares no types")
    out = flexdp("release", "age", *SPEND)
    assert out.returncode == 2 and "FILE: 'age' does not exist" in out.stderr
    out = flexdp("release", *SPEND)
    assert out.returncode == 2 and out.stderr.startswith("Error: Missing argument 'FILE'")


@pytest.mark.parametrize(
    "command", [["plan", "-e", "1"], ["check", "{ages}", "--columns"], ["query", "{ages}", "age", "--exact"]]
)
def test_a_full_standard_output_is_no_surprise(ages: Path, command: list[str]) -> None:
    words = [sys.executable, "-m", "flexdp", *(word.format(ages=ages) for word in command)]
    with Path("/dev/full").open("w") as full:
        out = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=HANG, check=False)
    assert out.returncode == 2 and out.stderr == "Error: could not write the output; nothing was released.\n"


def test_a_release_whose_file_cannot_be_written_is_printed_whole(ages: Path, tmp_path: Path) -> None:
    line = f"ulimit -f 1; {sys.executable} -m flexdp release {ages} age {' '.join(SPEND)} --width 1 -s max -o z.html"
    out = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path, timeout=HANG, check=False)
    assert out.returncode == 2 and not (tmp_path / "z.html").exists()
    assert Release.from_json(out.stdout).max().value is not None
    assert "could not write 'z.html'; the release was printed to standard output instead" in out.stderr
    assert out.stderr.rstrip().endswith("the budget of this release is spent.")


def test_links_are_followed(ages: Path, tmp_path: Path) -> None:
    (tmp_path / "l.json").symlink_to("there.json")
    assert flexdp("release", ages, "age", *SPEND, "--width", 10, "-o", "l.json", cwd=tmp_path).returncode == 0
    assert (tmp_path / "l.json").is_symlink() and Release.from_json((tmp_path / "there.json").read_text()).max().value


def test_choices_that_promise_next_to_nothing_are_warned_of(ages: Path) -> None:
    out = flexdp("release", ages, "age", "-e", 50, "-d", "0.5", "--width", 10)
    assert out.returncode == 0
    assert "Warning: --epsilon 50 is above 10 and gives little privacy protection." in out.stderr
    assert "Warning: --delta 0.5 allows the guarantee to fail in one of 2 cases" in out.stderr
    assert "Warning" not in flexdp("release", ages, "age", "-e", 10, "-d", "0.009", "--width", 10).stderr


def test_how_cells_were_read_is_told_where_nothing_declares_it(ages: Path, tmp_path: Path) -> None:
    out = flexdp("release", ages, "ward", *SPEND, "--width", 5)
    assert out.returncode == 4 and "Column 'ward' was read as numbers written like 1234.5; other cells" in out.stderr
    assert "was read as numbers" in flexdp("release", ages, "age", *SPEND, "--width", 10, "--kind", "number").stderr
    assert "dates written like 2024-12-31" in flexdp("release", ages, "age", *SPEND, "--kind", "date").stderr
    duckdb.sql(f"COPY (SELECT age FROM '{ages}') TO '{tmp_path / 'a.parquet'}'")
    assert "was read as" not in flexdp("release", tmp_path / "a.parquet", "age", *SPEND, "--width", 10).stderr


def test_a_page_is_made_of_a_page(ages: Path, tmp_path: Path) -> None:
    assert flexdp("release", ages, "age", *SPEND, "--width", 10, "-o", "a.html", cwd=tmp_path).returncode == 0
    out = flexdp("report", "a.html", "--json", "-o", "b.html", cwd=tmp_path)
    assert out.returncode == 0 and json.loads(out.stdout)["answers"] and out.stderr == "Wrote b.html.\n"
    assert flexdp("report", "a.html", "-o", "b.html", "--quiet", cwd=tmp_path).stderr == ""
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_links_in_a_circle_are_no_surprise(ages: Path, tmp_path: Path) -> None:
    (tmp_path / "loop.json").symlink_to("loop.json")
    out = flexdp("release", ages, "age", *SPEND, "--width", 10, "-o", "loop.json", cwd=tmp_path)
    assert out.returncode == 2 and "--output 'loop.json' cannot be written" in out.stderr and "Spent" not in out.stderr


def test_how_moments_with_an_offset_are_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("t\n" + "2024-01-01T05:00Z\n" * 200)
    spend = (*SPEND, "--kind", "datetime", "--width", "1 day")
    lost = flexdp("release", tmp_path / "t.csv", "t", *spend)
    assert lost.returncode == 4 and "Set --zone to read datetimes with an offset." in lost.stderr
    found = flexdp("release", tmp_path / "t.csv", "t", *spend, "--zone", "UTC")
    assert found.returncode == 0 and "Latest t (UTC): 2024-01-01 or later. " in found.stdout
    (tmp_path / "u.csv").write_text("t\n" + "2024-01-01T05:00\n" * 200)
    other = flexdp("release", tmp_path / "u.csv", "t", *spend, "--zone", "UTC")
    assert other.returncode == 4 and "datetimes with their offset, written like 2024-12-31T18:30+01:00" in other.stderr


def test_protected_files_are_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text("paid for")
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)  # to root nothing is protected
    with pytest.raises(InputError, match="is write-protected"), AtomicFile(str(tmp_path / "a.json")):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"] and (tmp_path / "a.json").read_text() == "paid for"


# --- automatic buckets --------------------------------------------------------------------------------------------


def test_a_release_needs_nothing_but_epsilon_and_delta(
    ages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 3)
    duckdb.sql(f"COPY (SELECT age, ward FROM '{ages}') TO '{tmp_path / 'a.parquet'}'")
    out = flexdp("release", tmp_path / "a.parquet", "age", "-e", 1, "-d", "1e-6")
    assert out.returncode == 0
    told = (
        "Buckets were chosen privately with 20% of ε; 46.67% went into the counts and 33.33% into minimum and maximum."
    )
    assert told in out.stdout and "Highest age: about " in out.stdout
    bare = flexdp("release", tmp_path / "a.parquet", "age", "-e", 1, "-d", "1e-6", "--ask", "none")
    assert bare.returncode == 0 and "72% went into the counts." in bare.stdout and " or more. This is" in bare.stdout
    assert "Median age: " in out.stdout and "Spent: ε = 1, δ = 1e-06" in out.stderr
    for ending in ("json", "csv", "html"):
        saved = flexdp("release", ages, "age", *SPEND, "--kind", "integer", "-o", tmp_path / f"o.{ending}")
        assert saved.returncode == 0
    released = Release.from_json((tmp_path / "o.json").read_text())
    assert released.auto is not None and released.auto.levels == 5
    with (tmp_path / "o.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0]["lower"] == "" or rows[-1]["upper"] == ""  # open ends are empty cells
    assert "Buckets were chosen first" in (tmp_path / "o.html").read_text()
    document = json.loads(flexdp("release", ages, "age", *SPEND, "--kind", "integer", "--json").stdout)
    assert document["auto"]["share"] == "3/10" and document["auto"]["answers"] == "1/3"
    assert [answer["stat"] for answer in document["answers"]] == ["max", "min", "median", "q0.99"]


def test_text_cells_without_a_kind_are_refused_before_reading(ages: Path) -> None:
    out = flexdp("release", ages, "age", *SPEND)
    assert out.returncode == 2 and "Spent" not in out.stderr
    assert "--kind is missing" in out.stderr and "--kind number" in out.stderr and "--exact" in out.stderr
    assert flexdp("release", ages, "ward", *SPEND, "--exact").returncode == 0


def test_too_few_records_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 1)  # a noisy number says what is too few: of 20 records, one in 25 seems enough for answers
    for rows, code, words in ((250, 0, "five answers instead"), (20, 4, "too few for any answer at ε = 1")):
        path = tmp_path / "few.csv"
        path.write_text("age\n" + "".join(f"{20 + i % 60}\n" for i in range(rows)))
        out = flexdp("release", path, "age", *SPEND, "--kind", "integer", "-s", "q0.99")
        assert out.returncode == code and words in out.stdout
        assert len(out.stdout.splitlines()) == (2 if code else 7)  # what was counted, why, and five answers
        document = json.loads(flexdp("release", path, "age", *SPEND, "--kind", "integer", "--json").stdout)
        assert len(document["answers"]) == (0 if code else 5) and "auto" in document
    path.write_text("age\n" + "".join(f"{20 + i % 60}\n" for i in range(250)))
    for words, told in (
        (("p25", "median", "max"), None),  # which are among the five
        (("mean", "mode", "p99"), "mean, mode, p99. To answer without buckets, set --ask mean --ask p99."),
        (("counts",), "counts."),
    ):
        stats = [part for word in words for part in ("-s", word)]
        out = flexdp("release", path, "age", *SPEND, "--kind", "integer", *stats)
        lines = [line for line in out.stderr.splitlines() if line.startswith("Not answered")]
        assert lines == ([] if told is None else [f"Not answered, because there are no buckets: {told}"])


def test_counts_in_a_pipe_are_those_of_ranges(tmp_path: Path) -> None:
    days = [dt.date(2023, 1 + i % 3, 1 + i % 28) for i in range(900)]
    pl.DataFrame({"age": [i % 30 for i in range(900)], "day": days}).write_parquet(tmp_path / "t.parquet")
    spend = ("-e", "1", "-d", "1e-6", "--stat", "counts")
    for column, width, ranges in (
        ("age", "10", ["0–9", "10–19", "20–29"]),
        ("day", "1 month", ["January 2023", "February 2023", "March 2023"]),
    ):
        out = flexdp("release", tmp_path / "t.parquet", column, "--width", width, *spend)
        lines = [line.split("\t") for line in out.stdout.splitlines() if "\t" in line]
        assert [words for words, _ in lines] == ranges
        told = [re.fullmatch(r"about (\d+) \(certainly (\d+) to (\d+)\)", count) for _, count in lines]
        ends = [tuple(map(int, found.groups())) for found in told if found is not None]
        assert len(ends) == 3 and all(
            low <= 300 <= high == low + 27 and low <= about <= high for about, low, high in ends
        )
    out = flexdp("release", tmp_path / "t.parquet", "age", "--width", "10", *spend[:-1], "support")
    assert out.stdout.splitlines()[-3:] == ["0–9", "10–19", "20–29"]


def test_blanks_at_the_ends_of_keys_are_seen(tmp_path: Path) -> None:
    pl.DataFrame({"ward": ["ENT", "ENT  ", "Ear, nose"] * 300}).write_parquet(tmp_path / "t.parquet")
    out = flexdp("release", tmp_path / "t.parquet", "ward", "-e", "1", "-d", "1e-6", "--stat", "counts")
    lines = [line.split("\t")[0] for line in out.stdout.splitlines() if "\t" in line]
    assert lines == ["ENT", "'ENT  '", "Ear, nose"]


def test_check_takes_a_view_that_is_vouched_for(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.duckdb") as con:
        con.execute("CREATE TABLE t AS SELECT range AS x FROM range(90)")
        con.execute("CREATE VIEW v AS SELECT x, row_number() OVER (ORDER BY x) AS n FROM t")
    refused = flexdp("check", tmp_path / "t.duckdb", "--table", "v")
    assert refused.returncode == 2
    assert "If yes, set --rows-are-records; if not, pass the table itself, with --where or --derive." in refused.stderr
    found = flexdp("check", tmp_path / "t.duckdb", "n", "--table", "v", "--rows-are-records")
    assert found.returncode == 0 and "90 of 90 records are read" in found.stdout


@pytest.mark.parametrize("ending", ["duckdb", "db"])
def test_the_tables_that_there_are_are_listed(tmp_path: Path, ending: str) -> None:
    names = [f"t{i:02}" for i in range(14)]
    make = "".join(f"CREATE TABLE {name} (x INTEGER); " for name in names)
    place = tmp_path / f"clinic.{ending}"
    con: Any = duckdb.connect(place) if ending == "duckdb" else sqlite3.connect(place)
    (con.execute if ending == "duckdb" else con.executescript)(make)
    con.close()
    first = ", ".join(map(repr, names[:12]))
    spend = ("-e", "1", "-d", "1e-6")
    for words, why in (
        (("release", place, "x", *spend), "--table is missing: FILE is a database. Name a table in it."),
        (("check", place), "--table is missing: FILE is a database. Name a table in it."),
        (("release", place, "x", "--table", "T99", *spend), "--table: 'T99' does not exist or is not visible."),
    ):
        out = flexdp(*words)
        assert out.returncode == 2
        assert out.stderr == f"Error: {why} Tables and views: {first}, ….\n"
    with pytest.raises(InputError, match=r"Pass \(path, 'table'\)\. Tables and views: 't00', 't01'"):
        release(place, "x", epsilon=1, delta="1e-6")


def test_a_kind_for_a_computed_column_is_refused_with_the_remedy(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1.5] * 90}).write_parquet(tmp_path / "t.parquet")
    out = flexdp(
        "release", tmp_path / "t.parquet", "y", "--derive", "y=x + 1", "--kind", "integer", "-e", "1", "-d", "1e-6"
    )
    assert out.stderr == (
        "Error: --kind does not fit column 'y', which is computed as number; got 'integer'. Leave it out.\n"
    )
