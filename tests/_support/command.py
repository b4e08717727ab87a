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

__all__ = ["RIGHT", "WORDS", "commands", "flexdp", "process"]

WORDS = [
    "", " ", "\0", "a\0b", "a\nb", "\ud800", "\x1b[31m", "y" * 305, "y" * 100_000, "-1", "0", "1.5", "nan", "inf",
    "1e400", "9" * 500, ",", ":", "1:", ":2", "1:2:3", '"', "'", "=", "-", "--", "/", ".", "..", "*", "[", "{}", "%",
    "nowhere/at/all.csv", "/proc/self/mem", "/dev/null", "folder", "y" * 305 + ".html", "y" * 305 + ".json",
    "nowhere/o.json", "nowhere/o.html", "a\0b.html", "folder/o.html", "t.csv", "r.json", "postgresql://", "x.db",
]  # fmt: skip
# Commands that are right, of which tests replace words. The last two would do real work.
RIGHT = [
    "release t.csv x --kind number --width 5 --bounds 0:100 --outside clamp --epsilon 1 --delta 1e-6 --stat max "
    "--certify 0.1 --delimiter , --format csv --by w --by-kind text --groups A,B --other rest --unit p "
    "--unit-kind text --max-buckets-per-unit 1 -o o.json",
    "release t.csv x=number y --together --split 1,2 "
    "--width x=1 --width y=2 --relative 0.1 --edges 1,2 --beta 1 -e 1 -d 1e-6",
    "release t.csv x --per-unit max --unit p --zone UTC --table t --epsilon 1 --delta 1e-6",
    "release t.csv x --kind number --ask q0.9 --epsilon 1 --delta 0 --bounds 0:100 --by w --groups A,B",
    "release t.csv x --kind number --width 5 -e 1 -d 1e-6 --title T --publisher P --dataset-name N --period P",
    "release t.csv z --kind number --width 5 -e 1 -d 1e-6 --where 'y = 1' --derive 'z=x + y'",
    "check t.csv x y --kind number --decimal , --thousands . --currency € --date-format %d.%m.%Y --encoding cp1252",
    "check t.csv x --delimiter , --format csv --sheet S --zone UTC",
    "check t.db x --table t",
    "release t.csv x --kind number --width 5 --epsilon 1 --delta 1e-6 --ledger b.db --dataset a",
    "ledger create b.db b --epsilon 1 --delta 0 --unit person",
    "ledger show b.db a --html o.html",
    "ledger history b.db a",
    "ledger verify b.db --receipt a",
    "ledger export b.db --format registry --date 2026-01-01 --output o.json",
    "summary t.csv --kind x=number --skip y --split 1 --zone UTC --epsilon 1 --delta 1e-6 -o o.json",
    "summary t.csv x=number w=text --split x=2 --width x=1 --bounds x=0:9 --exact w -e 1 -d 1e-6",
    "summary t.csv x=number y=number w=text --relative x=0.1 --edges y=0,1,2 --outside y=drop -e 1 -d 1e-6",
    "release t.csv z --kind number --width 1 --where x>3 --derive z=x+y -e 1 -d 1e-6",
    "init t.csv --name x --unit p --per-unit max --unit-kind text --max-buckets-per-unit 1 --config o.toml --table t",
    "init t.csv --name y --unit record --delimiter , --format csv --encoding utf-8 --sheet S --decimal . --zone UTC",
    "init t.csv --name y --unit record --thousands , --currency € --date-format %d.%m.%Y",
    "release t.csv x=number --config f.toml -e 1 -d 1e-6",
    "query t.csv x --config f.toml",
    "check t.csv x --config f.toml",
    "release t.csv x=number --file t.csv -e 1 -d 1e-6",
    "query t.csv x --kind number --file t.csv",
    "summary t.csv x=number --file t.csv -e 1 -d 1e-6",
    "check t.csv --columns --delimiter , --format csv --table t",
    "query t.csv x --dialect postgres",
    "plan --epsilon 1 --delta 1e-6 --records-about 1000 --bounds 0:100 --width 5",
    "plan --delta 1e-6 --lose-per-bucket 30 --buckets 3 --releases 2 --max-buckets-per-unit 2 --kind number",
    "plan --epsilon 1 --lose-in-all 100 --relative 0.1 --simulate normal --records-about 1000",
    "plan --epsilon 1 --lose-share 0.1 --buckets 2 --records-about 1000",
    "plan --public-sample t.csv x",
    "plan --public-sample t.csv x --kind number --decimal , --thousands . --currency € --encoding cp1252 --delimiter ,",
    "plan --public-sample t.csv x --kind date --date-format %d.%m.%Y --format csv --sheet S --zone UTC",
    "plan --epsilon 1 --ask none --records-about 1000",
    "plan --epsilon 1 --edges 0,1,2 --records-about 1000 --by w --groups A,B --stat max",
    "plan --epsilon 1 --ask max --records-about 1000 --by w --groups-about 2",
    "report r.json --output o.html --column x",
    "verify r.json",
    "lab compare --law normal:5,1 --stat max --runs 2 --datasets 2 -e 1 -m em --records 10 --bars 3 --seed 1",
    "lab compare t.csv x --width 5 --bounds 0:100 --kind number --out folder",
    "demo --epsilon x --delta x --save x",
    "web --port x",
    "lab experiment 9 --out o --mechanism em --epsilon 1 --alpha 0.1 --delta 0.1 --step-noise none",
]


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
