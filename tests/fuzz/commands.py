"""Command lines, run in this process: a documented exit code, and on standard error one line if it is a refusal.

An input holds one word a line. Commands that would serve pages, run experiments or import what they are told to are
parsed and not run.
"""

from __future__ import annotations

import contextlib
import io
import random
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import click
from _support.command import RIGHT, commands
from _support.command import WORDS as HOSTILE

import flexdp
from flexdp.cli.app import cli
from flexdp.cli.errors import BAD_INPUT, BUDGET_REFUSED, NOTHING_SURVIVED, UNAVAILABLE, VIOLATION, guarded
from fuzz.oracles import demand
from fuzz.places import folder

__all__ = ["WORDS", "mutated", "run", "seeds"]

PARSED_ONLY = ("web", "demo", "lab", "audit")
REFUSED = {BAD_INPUT, BUDGET_REFUSED, UNAVAILABLE}
CANARY = "CANARYCANARY"
ROWS = "x,y,w,p\n" + "".join(f"{i % 9},1,{'AB'[i % 2]},p{i}\n" for i in range(60)) + f"{CANARY},{CANARY},{CANARY},p\n"
LINES = '{"x": 1, "w": "A"}\n{"x": "' + CANARY + '"}\n'
LONGEST = 3000  # characters of standard error


@cache
def _kept() -> Path:
    """Folder with the files that commands read, as they are at the beginning."""
    place = folder("commands") / "kept"
    (place / "folder").mkdir(parents=True)
    (place / "t.csv").write_text(ROWS)
    (place / "t.jsonl").write_text(LINES)
    with contextlib.chdir(place):
        flexdp.Ledger("b.db").create("a", epsilon=10**4, delta="0.5")
    (place / "r.json").write_text(flexdp.release([1.0, 2.0] * 100, epsilon=1, delta=1e-6, width=1).to_json())
    return place


def run(data: bytes) -> None:
    """Run a command in a folder of its own; words do not lead out of it."""
    words = [_inside(word) for word in data.decode("utf-8", "surrogateescape").split("\n")]
    work = folder("commands") / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(_kept(), work)
    before = sys.argv, sys.stdin
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(work), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv, sys.stdin = ["flexdp", *words], io.StringIO("")
        try:
            code = guarded(_Parsing(words) if words[0] in PARSED_ONLY else cli)  # type: ignore[arg-type]
        finally:
            sys.argv, sys.stdin = before
    said = err.getvalue()
    errors = [line for line in said.splitlines() if line.startswith(("Error: ", '{"error": '))]
    demand(code in {0, NOTHING_SURVIVED, VIOLATION, *REFUSED}, f"exit code {code}: {said[:300]}")
    demand("Traceback" not in said and "an unexpected" not in said, f"an unexpected failure: {said[:300]}")
    if code == BAD_INPUT and said.startswith("Usage: "):
        return  # a group of commands without a command shows its help
    demand((code in REFUSED) == (len(errors) == 1), f"exit code {code} with {len(errors)} errors: {said[:300]}")
    demand(len(said) <= LONGEST, f"{len(said)} characters on standard error")
    if not any(CANARY[:6] in word for word in words) and "plan" not in words:
        demand(CANARY not in said, f"a cell is told: {said[:300]}")


class _Parsing:
    """A group whose command is parsed and not run."""

    def __init__(self, words: list[str]) -> None:
        self._words = words

    def main(self, **options: object) -> int:
        name, *rest = self._words
        context = click.Context(cli, obj=options["obj"])
        if {"--help", "-h"} & set(rest):
            return 0
        with context, commands()[name].make_context(name, rest, parent=context):
            return 0


def _inside(word: str) -> str:
    """A word that names no file outside the folder and no server."""
    if word in HOSTILE and word not in ("/proc/self/mem", "/", ".."):
        return word
    return word.replace("/", "_").replace("..", "__").replace("~", "_")


@cache
def _options() -> tuple[str, ...]:
    group = commands()
    listed = [*group.values(), *getattr(group["ledger"], "commands", {}).values()]
    return tuple(sorted({name for command in listed for option in command.params for name in option.opts}))


def seeds() -> Iterator[bytes]:
    """The commands of the tests of wrong words."""
    for line in RIGHT:
        yield "\n".join(shlex.split(line)).encode()
    for line in (
        "release t.jsonl x --kind number -e 1 -d 1e-6 --json",
        "columns t.jsonl",
        "--version",
        "release --help",
    ):
        yield "\n".join(shlex.split(line)).encode()


MEANT = (
    "t.csv", "t.jsonl", "r.json", "b.db", "o.json", "o.html", "x", "y", "w", "p", "1", "0", "1e-6", "0.5", "number",
    "text", "integer", "date", "datetime", "max", "q0.9", "p99", "top:3", "counts", "A,B", "0:9", "0,1,2", "1 month",
    "x > 1",
    "z=x + y", "normal:5,1", "UTC", "--", "-", "a", "postgres", "duckdb", "person", "1/3", "1e400", "nan", "*.csv",
)  # fmt: skip
WORDS = tuple(word for word in (*MEANT, *HOSTILE) if 0 < len(word) < 60 and word.isascii())


def mutated(data: bytes, rng: random.Random, bytewise: Callable[[bytes], bytes]) -> bytes:
    """Exchange, insert and leave out words; now and then bytes."""
    if rng.random() < 0.2:
        return bytewise(data)
    words = data.decode("utf-8", "surrogateescape").split("\n")
    choices = (_options(), MEANT, HOSTILE, words)
    for _ in range(rng.choice((1, 1, 2, 4))):
        place, how = rng.randrange(len(words) + 1), rng.randrange(4)
        word = rng.choice(rng.choice(choices))
        if how == 0:
            words.insert(place, word)
        elif how == 1:
            words[place : place + 1] = [word]
        elif how == 2:
            words[place:place] = [rng.choice(_options()), rng.choice(MEANT)]
        elif len(words) > 1:
            del words[min(place, len(words) - 1)]
    return "\n".join(words).encode("utf-8", "surrogatepass")
