"""For scripts and schedulers: distinct exit codes, errors as JSON, silence, and ``python -m flexdp``."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from _support.command import flexdp, process
from _support.waiting import HANG

from flexdp.cli import errors as codes
from flexdp.errors import CertificateError, DataError, FlexdpError, InputError, UnavailableError

SPEND = ("--epsilon", 1, "--delta", "1e-6")
DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "command-line.md"


@pytest.fixture
def ages(tmp_path: Path) -> Path:
    path = tmp_path / "ages.csv"
    path.write_text("Age,Ward\n" + "".join(f"{i % 90},A\n" for i in range(3000)))
    return path


def test_codes_are_distinct_and_documented() -> None:
    named = {name: value for name, value in vars(codes).items() if name in codes.__all__ and isinstance(value, int)}
    assert sorted(named.values()) == [1, 2, 3, 4, 5, 6]
    listed = re.findall(r"^\| (\d+) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert list(map(int, listed)) == [0, *sorted(named.values()), 129, 130, 143]
    helped = flexdp("--help").stdout
    assert all(f" {value} " in helped for value in (*named.values(), 130))


def error_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The error, which must be the last line of standard error, and in one line."""
    content = json.loads(done.stderr.splitlines()[-1])
    assert list(content) == ["error"]
    assert sorted(content["error"]) == ["code", "kind", "message", "parameter", "spent"]
    assert content["error"]["code"] == done.returncode
    return dict(content["error"])


@pytest.mark.parametrize(
    ("words", "code", "kind", "parameter", "message"),
    [
        (["AGES", "Age", *SPEND, "--width", "0"], 2, "InputError", "width", "--width must be in "),
        (["AGES", "Agee", *SPEND, "--width", "5"], 2, "InputError", "column", "COLUMN: no column named 'Agee'."),
        (["AGES", "Age", *SPEND, "--nonsense"], 2, "UsageError", None, "No such option"),
        (["AGES", "Age", "--width", "5"], 2, "UsageError", None, "Missing option '--epsilon'"),
        (["AGES", "Age", *SPEND, "--kind", "x"], 2, "InputError", "kind", "--kind must be 'integer'"),
        (["no.csv", "Age", *SPEND, "--width", "5"], 2, "InputError", "source", "FILE: 'no.csv' does not exist"),
        (["postgresql://u:QUOKKA@127.0.0.1:1/d", "x", "--table", "t", *SPEND], 6, "UnavailableError", "source",
         "FILE: cannot connect to the server."),
    ],
)  # fmt: skip
def test_errors_as_json(
    words: list[Any], code: int, kind: str, parameter: str | None, message: str, ages: Path
) -> None:
    words = [str(ages) if word == "AGES" else word for word in words]
    plain, as_json = flexdp("release", *words), flexdp("release", "--json", *words)
    assert plain.returncode == as_json.returncode == code
    assert plain.stdout == as_json.stdout == ""
    error = error_of(as_json)
    assert (error["kind"], error["parameter"], error["spent"]) == (kind, parameter, False)
    assert message in error["message"]
    assert plain.stderr.strip() == f"Error: {error['message']}"
    assert "QUOKKA" not in as_json.stderr


@pytest.mark.parametrize("command", ["check", "query", "summary", "report", "plan", "demo"])
def test_every_command_with_json_has_json_errors(command: str) -> None:
    done = flexdp(command, "--json", "--nonsense")
    assert done.returncode == 2
    assert error_of(done)["kind"] == "UsageError"


def test_a_damaged_file_may_be_tried_again(tmp_path: Path) -> None:
    """What cannot be read to its end has the code of what is out of reach, whatever the reason."""
    path = tmp_path / "ages.csv.gz"
    path.write_bytes(b"\x1f\x8b\x08\x00")
    done = flexdp("release", path, "Age", *SPEND, "--width", 5, "--json")
    assert done.returncode == codes.UNAVAILABLE
    assert error_of(done)["kind"] == "DataError"


def test_each_error_has_a_code(monkeypatch: pytest.MonkeyPatch, ages: Path) -> None:
    cases: list[tuple[BaseException, int, str]] = [
        (InputError("width", "must be positive"), 2, "InputError"),
        (UnavailableError("source", "is locked"), 6, "UnavailableError"),
        (DataError(), 6, "DataError"),
        (CertificateError("no proof"), 2, "CertificateError"),
        (FlexdpError("something"), 2, "FlexdpError"),
        (KeyboardInterrupt(), 130, "Interrupted"),
        (ZeroDivisionError("QUOKKA"), 1, "ZeroDivisionError"),
        (OSError(28, "QUOKKA"), 2, "OSError"),
    ]
    import flexdp._release.api as api

    for error, code, kind in cases:

        def fail(*_: Any, error: BaseException = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr(api, "prepare", fail)
        done = flexdp("query", ages, "Age", "--width", 5, "--json")
        assert (done.returncode, error_of(done)["kind"]) == (code, kind)
        assert "QUOKKA" not in done.stderr


def test_a_command_that_does_not_exist_is_told_with_the_nearest_one() -> None:
    for word, hint in (("releas", " Did you mean release?"), ("xyzzy", ""), ("\x1b[31m", "")):
        done = flexdp(word, "t.csv")
        assert done.returncode == 2 and done.stderr.startswith("Error: No such command ") and "\x1b" not in done.stderr
        assert done.stderr.endswith(f".{hint}\n") and done.stderr.count("\n") == 1


def test_quiet_leaves_only_errors_on_standard_error(ages: Path, tmp_path: Path) -> None:
    words = [ages, "Age", "--epsilon", 20, "--delta", "1e-6", "--width", 5]
    loud, quiet = flexdp("release", *words), flexdp("release", *words, "-q")
    assert "Spent: " in loud.stderr and "Warning: " in loud.stderr and "Column 'Age' was read as" in loud.stderr
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert quiet.stdout.splitlines()[0] == loud.stdout.splitlines()[0]
    wrong = flexdp("release", *words[:-1], 0, "--quiet", "--json")
    assert error_of(wrong)["parameter"] == "width"
    assert len(wrong.stderr.splitlines()) == 1
    study = flexdp("lab", "experiment", 1, "--quick", "--runs", 2, "--datasets", 2, "--epsilon", 1, "--no-figure",
                   "--out", tmp_path / "out", "--quiet")  # fmt: skip
    assert (study.returncode, study.stderr) == (0, "")
    assert "--quiet" in flexdp("check", "--help").stdout
    assert flexdp("release", *words).stderr == loud.stderr  # standard error is back


def test_nothing_survived_is_a_result(ages: Path) -> None:
    done = flexdp("release", ages, "Ward", *SPEND, "--kind", "number", "--width", 5, "--json", "--quiet")
    assert (done.returncode, done.stderr) == (codes.NOTHING_SURVIVED, "")
    assert json.loads(done.stdout)["answers"]


def test_a_locked_file_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT 1.0::DOUBLE AS x")
        done = process("release", path, "x", "--table", "t", *SPEND, "--width", 1, "--json")
    assert done.returncode == codes.UNAVAILABLE
    assert "another program is writing to" in error_of(done)["message"]


def test_column_names_are_echoed_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("ICU Stay_H,Ward ID\n" + "7,A\n" * 400)
    done = flexdp("release", path, "ICU Stay_H", *SPEND, "--width", 5, "--by", "Ward ID", "-s", "max", "-s", "support")
    said = done.stdout + done.stderr
    assert done.returncode == 0
    assert "Column 'ICU Stay_H' was read as numbers" in said
    for name in ("ICU Stay_H", "Ward ID"):
        found = re.findall(re.escape(name), said, re.IGNORECASE)
        assert found
        assert set(found) == {name}


def test_it_is_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "flexdp", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("flexdp, version ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["release", "nofile"], ["release", "nofile", "--json"], ["--nonsense"], []])
def test_a_full_standard_error_keeps_the_code(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "flexdp.cli", *words],
            stderr=full,
            stdout=subprocess.DEVNULL,
            timeout=HANG,
            check=False,
        )
    assert done.returncode == 2


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("place", ["flexdp.cli.app", "flexdp.cli.release"])
def test_a_signal_while_modules_are_loaded_is_told_as_json(name: str, place: str) -> None:
    """The signal arrives as a module is looked for: before the command is known, and while it is loaded."""
    script = f"""
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {place!r}:
            os.kill(os.getpid(), signal.{name})
sys.meta_path.insert(0, Finder())
sys.argv = ["flexdp", "release", "nofile", "x", *sys.argv[1:]]
from flexdp.cli import main
main()
"""
    code = 128 + getattr(signal, name)
    command = [sys.executable, "-c", script]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=HANG, check=False)
    assert done.returncode == code and done.stdout == "", done.stderr
    error = json.loads(done.stderr)["error"]
    assert error["code"] == code and error["spent"] is False and error["parameter"] is None
    assert error["kind"] == ("Interrupted" if name == "SIGINT" else "Terminated")
    assert error["message"].endswith("nothing was released.")
    plain = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False)
    assert plain.returncode == code and plain.stderr.strip() == f"Error: {error['message']}"
