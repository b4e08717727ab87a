"""``flexdp verify``: exit codes, messages and files, and the commands that sign a file on its page."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from _support.command import flexdp, process
from _support.pages import DOCS, blocks

import flexdp as library

PAGE = DOCS / "verify-a-release.md"
POSIX = pytest.mark.skipif(os.name != "posix", reason="modes, links and terminals of Unix")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    released = library.release([33.0] * 900 + [71.0] * 900, epsilon=1, delta="1e-6", width=5)
    Path("r.json").write_text(released.to_json(indent=2) + "\n")


def alter() -> None:
    text = Path("r.json").read_text()
    Path("r.json").write_text(text.replace('"max_drop": 27', '"max_drop": 20'))
    assert Path("r.json").read_text() != text


def test_a_release_verifies() -> None:
    done = flexdp("verify", "r.json")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("Everything that the document can prove holds. It promises: ε = 1, δ = 1e-06")
    assert "holds  certificate: Proved in integers." in done.stdout
    assert "No document proves that the mechanism was run on the data" in done.stdout
    assert "who published it" in done.stdout
    quiet = flexdp("verify", "r.json", "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_a_change_has_code_5_and_one_line() -> None:
    alter()
    told = "Error: noise: mechanism.max_drop is stated as 20, but 27 follows from the rest of the document.\n"
    plain, quiet = flexdp("verify", "r.json"), flexdp("verify", "r.json", "-q")
    assert plain.returncode == quiet.returncode == 5 and plain.stderr == quiet.stderr == told
    assert "FAILS  noise: " in plain.stdout and quiet.stdout == ""


def test_a_broken_file_has_code_2() -> None:
    whole = Path("r.json").read_bytes()
    for broken in (b"", whole[:-2], whole[1:], b"\xef\xbb\xbf" + whole, whole + b"{}", whole.decode().encode("utf-16")):
        Path("r.json").write_bytes(broken)
        done = flexdp("verify", "r.json")
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
        assert "RELEASE.json must be the JSON of a flexdp release: " in done.stderr


def test_json_lists_the_checks() -> None:
    found = json.loads(flexdp("verify", "r.json", "--json").stdout)
    assert found["schema"] == "flexdp.verification/1" and found["holds"]
    assert found["privacy"] == {"epsilon": "1", "delta": "1/1000000"}
    names = [each["check"] for each in found["checks"]]
    assert names == ["description", "noise", "certificate", "counts", "budget"]
    assert "28 integer weights sum to 2^64" in found["checks"][2]["proof"][0] and len(found["not_proved"]) == 5
    alter()
    done = flexdp("verify", "r.json", "--json")
    assert not json.loads(done.stdout)["holds"]
    error = json.loads(done.stderr)["error"]
    assert (error["code"], error["kind"], done.returncode) == (5, "Violation", 5) and "max_drop" in error["message"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["missing.json"], "RELEASE.json: 'missing.json' cannot be read. Name the file that"),
        (["folder"], "RELEASE.json: 'folder' cannot be read."),
        (["page.html"], "RELEASE.json must be the JSON of a flexdp release: it is not JSON"),
        (["other.json"], "its schema 'flexdp.other/1' is not known"),
        (["a\0b"], "RELEASE.json"),
    ],
)
def test_bad_input_has_code_2_and_one_line(words: list[str], told: str) -> None:
    Path("folder").mkdir()
    Path("page.html").write_text("<!DOCTYPE html>")
    Path("other.json").write_text('{"schema": "flexdp.other/1"}')
    done = flexdp("verify", *words)
    assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_standard_input_and_links() -> None:
    text = Path("r.json").read_text()
    assert flexdp("verify", "-", "-q", typed=text).returncode == 0
    assert flexdp("verify", "-", "-q", typed=text.replace("27", "28")).returncode == 5
    with Path("r.json").open("rb") as stream:
        assert process("verify", "-", stdin=stream).returncode == 0
    if os.name == "posix":
        Path("link.json").symlink_to("r.json")
        assert flexdp("verify", "link.json", "-q").returncode == 0
        Path("loop.json").symlink_to("loop.json")
        assert flexdp("verify", "loop.json", "-q").returncode == 2


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="NEEDS ssh-keygen, which OpenSSH brings")
def test_the_commands_that_sign_agree() -> None:
    """With a key made here; a changed byte, another key and another purpose are refused."""
    sign, check = (block.text.splitlines() for block in blocks(PAGE.read_text("utf-8")) if "ssh-keygen" in block.text)
    for name in ("publisher", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name], check=True)
    Path("delays.json").write_bytes(Path("r.json").read_bytes())

    def run(line: str, *changed: tuple[str, str]) -> int:
        for old, new in changed:
            assert old in line
            line = line.replace(old, new)
        return subprocess.run(
            ["sh", "-ec", line], capture_output=True, check=False, stdin=subprocess.DEVNULL
        ).returncode

    (signing,) = (line for line in sign if line.startswith("ssh-keygen"))
    listing, verifying, _ = check
    assert run(signing, ("~/.ssh/id_ed25519", "publisher")) == 0
    assert run(listing) == 0 and run(verifying) == 0
    assert run(verifying, ("-n flexdp", "-n git")) != 0
    assert run(listing, ("publisher.pub", "stranger.pub"), ("> publishers", "> strangers")) == 0
    assert run(verifying, ("-f publishers", "-f strangers")) != 0
    Path("delays.json").write_bytes(Path("r.json").read_bytes().replace(b"27", b"28", 1))
    assert run(verifying) != 0


@POSIX
def test_on_a_terminal_it_is_a_table() -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "flexdp.cli", "verify", "r.json"]
    with subprocess.Popen(command, stdout=theirs, env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}) as running:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 10_000):
                shown += part
        except OSError:  # closed at the other end
            pass
    os.close(ours)
    lines = shown.decode().splitlines()
    assert running.returncode == 0
    assert any(re.match(r"(\x1b\[\S*m)*holds", line) and "certificate" in line for line in lines), shown
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines) <= 100
