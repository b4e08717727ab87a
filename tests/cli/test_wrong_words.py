"""Whatever is written on the command line: a documented exit code, and one line that says what to do.

Every argument and option of every command is replaced by each of a list of words; nothing is drawn. The commands run
in this process.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from pathlib import Path
from zlib import crc32

import click
import pytest
from _support.command import RIGHT, WORDS, commands

import flexdp
from flexdp.cli.app import cli
from flexdp.cli.errors import BAD_INPUT, BUDGET_REFUSED, NOTHING_SURVIVED, UNAVAILABLE, VIOLATION, guarded

REFUSED = {BAD_INPUT, BUDGET_REFUSED, UNAVAILABLE}
DOCUMENTED = {0, NOTHING_SURVIVED, VIOLATION, *REFUSED}
DEEP = os.environ.get("FLEXDP_DEEP") == "1"


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("t.csv").write_text("x,y,w,p\n" + "".join(f"{i % 9},1,{'AB'[i % 2]},p{i}\n" for i in range(200)))
    flexdp.Ledger("b.db").create("a", epsilon=10**4, delta="0.5")
    Path("r.json").write_text(flexdp.release([1.0, 2.0] * 100, epsilon=1, delta=1e-6, width=1).to_json())


def _said(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["flexdp", *words])
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    code = guarded(cli)
    return code, capsys.readouterr().err


@pytest.mark.parametrize("line", RIGHT)
def test_every_wrong_word_is_one_line(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = shlex.split(line), []
    for place in range(1, len(right)):
        if right[place].startswith("-"):
            continue  # the names of options are tried below
        for word in WORDS if right[0] != "demo" else WORDS[::6]:  # each reads a table of flights
            if not DEEP and crc32(f"{line} {place} {word}".encode("utf-8", "surrogatepass")) % 4:
                continue  # make test tries a fixed quarter of them
            if right[0] in ("demo", "web") and word in ("0", "1.5"):
                continue  # would do the real work, which for a page ends when it is told to
            code, said = _said([*right[:place], word, *right[place + 1 :]], monkeypatch, capsys)
            errors = [row for row in said.splitlines() if row.startswith("Error: ")]
            refused = (
                code in {VIOLATION, *REFUSED} and len(errors) == 1 and len(said) < 2000 and "an unexpected" not in said
            )
            if not (code in DOCUMENTED - REFUSED and not errors) and not refused:
                wrong.append(f"{right[place - 1 : place]} {word[:40]!r}: exit {code}, {said[:300]!r}")
    assert not wrong, "\n".join(wrong)


def test_every_option_is_tried() -> None:
    tried = " ".join(RIGHT)
    listed = commands()
    ledger = listed["ledger"]
    assert isinstance(ledger, click.Group)
    for name, command in {**listed, **ledger.commands}.items():
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.is_flag and name not in ("experiment", "compare"):
                assert any(word in shlex.split(tried) for word in parameter.opts), f"{name} {parameter.opts[0]}"


def test_names_of_options_and_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("--", "---", "--nothing", "-z", "", "\0", "relase", "-" * 300, "--epsilon", "--epsilon=", "\ud800"):
        for words in ([word], ["release", word], ["release", "t.csv", "x", word]):
            code, said = _said(words, monkeypatch, capsys)
            assert code == 2 and said.count("Error: ") == 1 and len(said.splitlines()) == 1, words


def test_a_working_directory_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names without a folder lead nowhere there, neither to be read nor to be written."""
    monkeypatch.chdir(tmp_path / "folder")
    Path("../folder").rmdir()
    csv, release = tmp_path / "t.csv", tmp_path / "r.json"
    for line in (
        "report r.json",
        "report r.json -o o.html",
        f"report {release} -o o.html",
        "release t.csv x -e 1 -d 1e-6",
        f"release {csv} x -e 1 -d 1e-6 -o o.json",
        "columns t.csv",
        "query *.csv x",
        "lab compare --law normal:5,1 --quick --no-figure -m em -e 1 --out o",
    ):
        code, said = _said(shlex.split(line), monkeypatch, capsys)
        assert code == 2 and said.startswith("Error: ") and said.count("\n") == 1, line
        assert "an unexpected" not in said, line


def test_a_file_that_is_there_and_an_input_that_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("o.html").write_text("kept")
    code, said = _said(["report", "missing.json", "-o", "o.html"], monkeypatch, capsys)
    assert code == 2 and "'missing.json' cannot be read" in said and said.count("\n") == 1
    assert Path("o.html").read_text() == "kept"
