"""The command line, run in this process (as ``main`` does, but for the signals) or as a process of its own."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from _support.waiting import HANG
from flexdp.cli.app import cli
from flexdp.cli.errors import guarded

__all__ = ["commands", "flexdp", "process"]


def commands() -> dict[str, click.Command]:
    """Every command by its name."""
    with click.Context(cli) as context:
        found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def flexdp(*arguments: object, cwd: Path | None = None, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in this process: it costs milliseconds instead of the start of an interpreter."""
    words, out, err = ["flexdp", *map(str, arguments)], io.StringIO(), io.StringIO()
    before = sys.argv, sys.stdin
    with contextlib.chdir(cwd or Path.cwd()), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv, sys.stdin = words, io.StringIO(typed)
        try:
            code = guarded(cli)
        finally:
            sys.argv, sys.stdin = before
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command as a process, where streams, signals, the environment or the start itself matter."""
    command = [sys.executable, "-m", "flexdp.cli", *map(str, arguments)]
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG, **options)
