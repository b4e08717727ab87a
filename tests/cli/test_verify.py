"""``flexdp verify``, ``sign``, ``key new`` and ``release --sign``: exit codes, messages, files and secrets."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from _support.command import flexdp, process
from _support.pages import DOCS, blocks
from _support.waiting import HANG

import flexdp as library
from flexdp.signing import PrivateKey, PublicKey, verify_signature

SPEND = ("--epsilon", 1, "--delta", "1e-6")
PAGE = DOCS / "verify-a-release.md"
SECRET = "QUOKKA battery staple"
POSIX = pytest.mark.skipif(os.name != "posix", reason="modes, links and terminals of Unix")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLEXDP_PASSPHRASE", raising=False)
    released = library.release([33.0] * 900 + [71.0] * 900, epsilon=1, delta="1e-6", width=5)
    Path("r.json").write_text(released.to_json(indent=2) + "\n")
    assert flexdp("key", "new", "p.key").returncode == 0
    assert flexdp("sign", "r.json", "--key", "p.key").returncode == 0


def alter() -> None:
    text = Path("r.json").read_text()
    Path("r.json").write_text(text.replace('"max_drop": 27', '"max_drop": 20'))
    assert Path("r.json").read_text() != text


def test_a_release_verifies_with_and_without_a_signature() -> None:
    bare = flexdp("verify", "r.json")
    assert bare.returncode == 0 and bare.stderr == ""
    assert bare.stdout.startswith("Everything that the document can prove holds. It promises: ε = 1, δ = 1e-06")
    assert "holds  certificate: Proved in integers." in bare.stdout and "signature" not in bare.stdout
    assert "No document proves that the mechanism was run on the data" in bare.stdout
    signed = flexdp("verify", "r.json", "--key", "p.pub")
    fingerprint = PublicKey.load("p.pub").fingerprint
    assert (
        signed.returncode == 0 and f"Signed by the key that was given, with fingerprint {fingerprint}" in signed.stdout
    )
    stranger = flexdp("verify", "r.json", "--signature", "r.json.sig")
    assert stranger.returncode == 0 and "Who signed it is not known." in stranger.stdout
    assert f"Signed by an unknown key, with fingerprint {fingerprint}" in stranger.stdout
    assert "authentic" not in stranger.stdout + signed.stdout
    quiet = flexdp("verify", "r.json", "--key", "p.pub", "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_a_change_has_code_5_and_one_line() -> None:
    alter()
    told = "Error: noise: mechanism.max_drop is stated as 20, but 27 follows from the rest of the document.\n"
    plain, quiet = flexdp("verify", "r.json"), flexdp("verify", "r.json", "-q")
    assert plain.returncode == quiet.returncode == 5 and plain.stderr == quiet.stderr == told
    assert "FAILS  noise: " in plain.stdout and quiet.stdout == ""
    signed = flexdp("verify", "r.json", "--key", "p.pub")
    assert signed.returncode == 5 and "not the one that was signed" in signed.stderr and "FAILS  noise" in signed.stdout
    flexdp("key", "new", "other.key")
    other = flexdp("verify", "r.json", "--signature", "r.json.sig", "--key", "other.pub")
    assert other.returncode == 5 and "by another key" in other.stderr
    again = flexdp("sign", "r.json", "--key", "p.key")
    assert again.returncode == 5 and again.stderr.startswith("Error: nothing was signed. noise: ")


def test_a_broken_file_that_was_signed_has_code_5_and_one_that_was_not_has_code_2() -> None:
    whole = Path("r.json").read_bytes()
    for broken in (b"", whole[:-2], whole[1:], b"\xef\xbb\xbf" + whole, whole + b"{}", whole.decode().encode("utf-16")):
        Path("r.json").write_bytes(broken)
        assert flexdp("verify", "r.json", "--key", "p.pub", "-q").returncode == 5
        bare = flexdp("verify", "r.json")
        assert bare.returncode == 2 and bare.stdout == "" and bare.stderr.count("\n") == 1
        assert "RELEASE.json must be the JSON of a flexdp release: " in bare.stderr


def test_json_lists_the_checks() -> None:
    found = json.loads(flexdp("verify", "r.json", "--json", "--key", "p.pub").stdout)
    assert found["schema"] == "flexdp.verification/1" and found["holds"] and found["signed"]
    assert found["privacy"] == {"epsilon": "1", "delta": "1/1000000"}
    names = [each["check"] for each in found["checks"]]
    assert names == ["signature", "description", "noise", "certificate", "counts", "budget"]
    assert "28 integer weights sum to 2^64" in found["checks"][3]["proof"][0] and len(found["not_proved"]) == 4
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
        (["r.json.sig"], "its schema 'flexdp.signature/1' is not known"),
        (["r.json", "--signature", "missing.sig"], "--signature: 'missing.sig' cannot be read"),
        (["r.json", "--signature", "r.json"], "--signature must be a signature file of flexdp, complete and unchanged"),
        (["r.json", "--signature", "big"], "--signature: 'big' is too large"),
        (["r.json", "--key", "missing.pub"], "--key: 'missing.pub' cannot be read as a key"),
        (["r.json", "--key", "p.key"], "--key: 'p.key' is a private key, and the public one is needed."),
        (["r.json", "--key", "r.json"], "--key: 'r.json' is not a public key in PEM form."),
        (["copy.json", "--key", "p.pub"], "--signature: 'copy.json.sig' cannot be read"),
        (["-", "--key", "p.pub"], "--signature is missing: standard input has no name."),
        (["-", "--signature", "-"], "--signature and the release cannot both be read from standard input."),
        (["a\0b"], "RELEASE.json"),
    ],
)  # fmt: skip
def test_bad_input_has_code_2_and_one_line(words: list[str], told: str) -> None:
    Path("folder").mkdir()
    Path("big").write_bytes(b" " * 10**5)
    Path("copy.json").write_bytes(Path("r.json").read_bytes())
    Path("page.html").write_text("<!DOCTYPE html>")
    done = flexdp("verify", *words)
    assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_standard_input_and_links() -> None:
    text = Path("r.json").read_text()
    assert flexdp("verify", "-", "-q", typed=text).returncode == 0
    assert flexdp("verify", "-", "--signature", "r.json.sig", "--key", "p.pub", "-q", typed=text).returncode == 0
    assert flexdp("verify", "-", "-q", typed=text.replace("27", "28")).returncode == 5
    with Path("r.json").open("rb") as stream:
        assert process("verify", "-", "--signature", "r.json.sig", "--key", "p.pub", stdin=stream).returncode == 0
    if os.name == "posix":
        Path("link.json").symlink_to("r.json")
        assert flexdp("verify", "link.json", "-q").returncode == 0
        Path("loop.json").symlink_to("loop.json")
        assert flexdp("verify", "loop.json", "-q").returncode == 2


@pytest.mark.skipif(shutil.which("openssl") is None or shutil.which("bash") is None, reason="needs openssl and bash")
def test_the_commands_of_openssl_on_the_page_agree() -> None:
    (lines,) = (block.text for block in blocks(PAGE.read_text("utf-8")) if "openssl" in block.text)
    Path("delays.json").write_bytes(Path("r.json").read_bytes())
    Path("delays.json.sig").write_bytes(Path("r.json.sig").read_bytes())
    Path("publisher.pub").write_bytes(Path("p.pub").read_bytes())
    right = subprocess.run(["bash", "-ec", lines], capture_output=True, text=True, check=False)
    assert right.returncode == 0 and "Signature Verified Successfully" in right.stdout, right.stderr
    assert right.stdout.split()[-2] == PublicKey.load("p.pub").fingerprint.removeprefix("sha256:")
    Path("delays.json").write_bytes(Path("r.json").read_bytes().replace(b"27", b"28"))
    wrong = subprocess.run(["bash", "-ec", lines], capture_output=True, text=True, check=False)
    assert wrong.returncode != 0 and "Signature Verification Failure" in wrong.stdout + wrong.stderr


def test_a_signature_has_a_name_and_never_takes_the_place_of_its_document() -> None:
    before = Path("r.json").read_bytes()
    done = flexdp("sign", "r.json", "--key", "p.key", "-o", "other.sig", "--json")
    assert json.loads(done.stdout)["fingerprint"] == PublicKey.load("p.pub").fingerprint
    assert Path("other.sig").read_bytes() == Path("r.json.sig").read_bytes()  # Ed25519 draws nothing
    for wrong in ("r.json", "o.json", "missing/o.sig"):
        assert flexdp("sign", "r.json", "--key", "p.key", "-o", wrong).returncode == 2
    assert flexdp("sign", "-", "--key", "p.key", typed=before.decode()).returncode == 2
    assert flexdp("sign", "-", "--key", "p.key", "-o", "third.sig", typed=before.decode()).returncode == 0
    assert Path("third.sig").read_bytes() == Path("r.json.sig").read_bytes()
    assert flexdp("sign", "p.pub", "--key", "p.key").returncode == 2
    assert not Path("p.pub.sig").exists() and Path("r.json").read_bytes() == before


def test_a_release_is_signed_as_it_is_written(tmp_path: Path) -> None:
    Path("t.csv").write_text("x,y\n" + "".join(f"{i % 90},{i % 7}\n" for i in range(3000)))
    words = ("release", "t.csv", "x", *SPEND, "--width", 5, "--kind", "number")
    done = flexdp(*words, "-o", "o.json", "--sign", "p.key")
    assert done.returncode == 0 and "Wrote o.json and o.json.sig." in done.stderr
    assert flexdp("verify", "o.json", "--key", "p.pub", "-q").returncode == 0
    found = verify_signature(Path("o.json").read_bytes(), Path("o.json.sig").read_bytes(), "p.pub")
    assert found.known
    many = flexdp("summary", "t.csv", "-c", "x=number", "-c", "y=integer", *SPEND, "-o", "s.json", "--sign", "p.key")
    assert many.returncode == 0 and flexdp("verify", "s.json", "--key", "p.pub", "-q").returncode == 0
    for wrong, told in (
        (["-o", "o.html", "--sign", "p.key"], "--sign needs a file to sign, --output release.json."),
        (["--sign", "p.key"], "--sign needs a file to sign"),
        (["-o", "n.json", "--sign", "p.pub"], "--sign: 'p.pub' is not a private key"),
        (["-o", "n.json", "--sign", "missing"], "--sign: 'missing' cannot be read as a key"),
    ):
        refused = flexdp(*words, *wrong)  # before anything is spent
        assert refused.returncode == 2 and told in refused.stderr and "Spent" not in refused.stderr
    assert not (tmp_path / "n.json").exists() and not (tmp_path / "n.json.sig").exists()


@POSIX
def test_new_keys_are_private_and_never_replaced() -> None:
    assert stat.S_IMODE(Path("p.key").stat().st_mode) == 0o600
    before = Path("p.key").read_bytes(), Path("p.pub").read_bytes()
    again = flexdp("key", "new", "p.key")
    assert again.returncode == 2 and "exists already" in again.stderr
    assert (Path("p.key").read_bytes(), Path("p.pub").read_bytes()) == before
    made = flexdp("key", "new", "q.key", "--json")
    assert json.loads(made.stdout) == {
        "private": "q.key", "public": "q.pub", "fingerprint": PublicKey.load("q.pub").fingerprint,
    }  # fmt: skip
    assert flexdp("key", "new", "missing/q.key").returncode == 2
    Path("p.key").chmod(0o644)
    warned = flexdp("sign", "r.json", "--key", "p.key")
    assert warned.returncode == 0 and "Warning: others can read p.key; run chmod 600 on it." in warned.stderr


def test_a_passphrase_comes_from_the_environment_and_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEXDP_PASSPHRASE", SECRET)
    shown = [flexdp("key", "new", "e.key", "--encrypt"), flexdp("sign", "r.json", "--key", "e.key")]
    assert [done.returncode for done in shown] == [0, 0]
    assert flexdp("verify", "r.json", "--key", "e.pub", "-q").returncode == 0
    monkeypatch.setenv("FLEXDP_PASSPHRASE", f"{SECRET}!")
    shown.append(flexdp("sign", "r.json", "--key", "e.key", "--json"))
    assert shown[-1].returncode == 2 and "the passphrase is wrong" in shown[-1].stderr
    monkeypatch.setenv("FLEXDP_PASSPHRASE", "")
    shown.append(flexdp("key", "new", "f.key", "--encrypt"))
    assert shown[-1].returncode == 2 and not Path("f.key").exists()
    monkeypatch.delenv("FLEXDP_PASSPHRASE")
    for words in (["sign", "r.json", "--key", "e.key"], ["key", "new", "f.key", "--encrypt"]):
        shown.append(flexdp(*words))
        assert shown[-1].returncode == 2 and "set FLEXDP_PASSPHRASE in the environment" in shown[-1].stderr
    (line,) = Path("p.key").read_text().splitlines()[1:-1]
    key = base64.b64decode(line)[-32:].hex()
    for done in (*shown, flexdp("sign", "r.json", "--key", "p.key")):
        said = done.stdout + done.stderr
        assert "QUOKKA" not in said and line not in said and key not in said
    assert not any("passphrase" in option for option in flexdp("sign", "--help").stdout.split() if option[:2] == "--")


@POSIX
def test_a_passphrase_is_typed_unseen() -> None:
    """On a terminal of its own: the prompt is on standard error, and what is typed is not echoed."""
    import pty

    def typed(words: list[str], times: int) -> tuple[int, bytes]:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "flexdp.cli", *words]
        with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as running:  # fmt: skip
            assert running.stderr is not None and running.stdout is not None
            said = b""
            for _ in range(times):
                part = b""
                while not part.endswith(b": "):  # each prompt, and only then what is typed
                    octet = running.stderr.read(1)
                    assert octet, said + part
                    part += octet
                said += part
                os.write(ours, f"{SECRET}\n".encode())
            out, rest = running.communicate(timeout=HANG)
        os.set_blocking(ours, False)
        try:
            echoed = os.read(ours, 10_000)
        except OSError:  # nothing, or closed at the other end
            echoed = b""
        os.close(ours)
        os.close(theirs)
        return running.returncode, said + rest + out + echoed

    code, said = typed(["key", "new", "typed.key", "--encrypt"], 2)
    assert code == 0 and b"QUOKKA" not in said, said
    assert PrivateKey.load("typed.key", passphrase=SECRET).public == PublicKey.load("typed.pub")
    code, said = typed(["sign", "r.json", "--key", "typed.key"], 1)
    assert code == 0 and b"QUOKKA" not in said, said
    assert flexdp("verify", "r.json", "--key", "typed.pub", "-q").returncode == 0


@POSIX
def test_on_a_terminal_it_is_a_table() -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "flexdp.cli", "verify", "r.json", "--key", "p.pub"]
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
