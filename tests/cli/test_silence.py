"""A command that reads for long says so on standard error, as often as the clock alone tells it to."""

from __future__ import annotations

import io
import threading
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
from _support.command import flexdp
from _support.waiting import HANG, counting_threads

from flexdp._release import charged
from flexdp.cli import output
from flexdp.cli.output import still_reading
from flexdp.tables import check


class Heard(io.StringIO):
    """A stream that tells when it has heard some lines."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.lines, self.enough = lines, threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.getvalue().count("Still reading") >= self.lines:
            self.enough.set()
        return written


def test_silence_is_broken_at_ever_longer_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "SILENCE", 0.001)
    heard = Heard(3)
    with redirect_stderr(heard), still_reading():
        assert heard.enough.wait(HANG)
    assert not counting_threads()
    assert set(heard.getvalue().splitlines()) == {"Still reading after 0 seconds …"}


def test_a_closed_stream_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "SILENCE", 0.001)
    tried = threading.Event()

    class Closed(io.StringIO):
        def write(self, _text: str) -> int:
            tried.set()
            raise BrokenPipeError

    with redirect_stderr(Closed()), still_reading():
        assert tried.wait(HANG)
    assert not counting_threads()


@pytest.mark.parametrize(
    ("command", "module", "name"),
    [
        (["release", "t.csv", "x", "--kind", "integer", "--width", "5", "-e", "1", "-d", "1e-6"], charged, "run_paid"),
        (["summary", "t.csv", "x=integer", "-e", "1", "-d", "1e-6"], charged, "run_paid"),
        (["check", "t.csv", "x", "--kind", "integer"], check, "check"),
    ],
    ids=["release", "summary", "check"],
)
@pytest.mark.parametrize("slow", [True, False])
def test_commands_that_read(
    command: list[str], module: Any, name: str, slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work begins once the line was printed, or ends long before it is due."""
    (tmp_path / "t.csv").write_text("x\n" + "7\n" * 500)
    said, work, said_before = threading.Event(), getattr(module, name), output.note

    def noting(text: str) -> None:
        said_before(text)
        if text.startswith("Still reading"):
            said.set()

    def waiting(*given: Any, **options: Any) -> Any:
        assert not slow or said.wait(HANG)
        return work(*given, **options)

    monkeypatch.setattr(output, "SILENCE", 0.001 if slow else float(HANG))
    monkeypatch.setattr(output, "note", noting)
    monkeypatch.setattr(module, name, waiting)
    done = flexdp(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("Still reading after" in done.stderr) == slow
    assert "Still reading" not in done.stdout
