"""Everything that ever broke a target is fed to it again, without the fuzzer; and so are some of its seeds, changed.

``make fuzz`` searches for more. A finding is kept in ``broke``, in the folder of its target, under a name that says
what it was.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flexdp.errors import InputError
from fuzz import __main__ as runner
from fuzz import filters, texts
from fuzz.oracles import Finding, bounded, outcome_of, place_of
from fuzz.targets import BROKE, NAMES, target

DEEP = os.environ.get("FLEXDP_DEEP") == "1"
SEEDS = {"documents": 8, "filters": 25, "grammars": 100, "texts": 6, "workbooks": 4, "commands": 8, "ledgers": 12}
ROUNDS = {"documents": 60, "filters": 40, "grammars": 300, "texts": 5, "workbooks": 6, "commands": 12, "ledgers": 20}


def bytewise(rng: random.Random) -> Callable[[bytes], bytes]:
    """Change bytes as a fuzzer does: a few of them, anywhere."""

    def change(data: bytes) -> bytes:
        out = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 5))):
            place, how = rng.randrange(len(out) + 1), rng.randrange(3)
            if how == 0:
                out[place : place + 1] = bytes([rng.randrange(256)])
            elif how == 1:
                out[place:place] = out[place : place + rng.randint(1, 9)]
            else:
                del out[place : place + rng.randint(1, 9)]
        return bytes(out)

    return change


@pytest.mark.parametrize(
    "path", [path for name in NAMES for path in sorted((BROKE / name).glob("*"))], ids=lambda path: path.name
)
def test_what_broke_a_target_does_not_any_more(path: Path) -> None:
    bounded(target(path.parent.name).run, path.read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_seeds_and_their_likes_break_nothing(name: str) -> None:
    found, rng = target(name), random.Random(f"replay {name}")
    seeds = list(found.seeds())
    bounded(found.run, b"")
    found.run(seeds[0])  # loads what it needs, which takes longer than an input may
    for data in seeds if DEEP else seeds[:: max(1, len(seeds) // SEEDS[name])]:
        bounded(found.run, data)
    for _ in range(ROUNDS[name] * (20 if DEEP else 1)):
        data, change = rng.choice(seeds), bytewise(rng)
        changed = change(data) if found.mutated is None else found.mutated(data, rng, change)
        bounded(found.run, changed[: found.longest])


@pytest.mark.parametrize("data", [b"", b"1.5", b"NaN", b'"a"', b"null", b"[]", b"{}", b"[[]]", b"\xff", b"\n", b"["])
@pytest.mark.parametrize("name", [name for name in NAMES if target(name).mutated is not None])
def test_any_bytes_can_be_changed(name: str, data: bytes) -> None:
    change = target(name).mutated
    assert change is not None
    for seed in range(50):
        rng = random.Random(seed)
        assert isinstance(change(data, rng, bytewise(rng)), bytes)


# ---- controls: each oracle rejects what it is there for


def test_a_failure_that_is_not_ours_is_found() -> None:
    def wrong(_: bytes) -> None:
        outcome_of(lambda: {}["cell"])

    with pytest.raises(KeyError) as failure:
        bounded(wrong, b"")
    assert place_of(failure.value).startswith("KeyError at ")


def test_a_refusal_that_shows_its_cause_is_found() -> None:
    def wrong() -> None:
        try:
            int("a cell")
        except ValueError as cause:
            raise InputError("x", "must be a number") from cause

    with pytest.raises(Finding, match="cause"):
        outcome_of(wrong)


def test_too_much_memory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: bytes) -> None:
        assert len(b"x" * (120 * 2**20)) > 0

    bounded(wrong, b"")
    monkeypatch.setattr("fuzz.oracles.MOST_MEMORY", 60)
    with pytest.raises(Finding, match="memory"):
        bounded(wrong, b"")


def test_another_meaning_of_a_filter_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    filters.run(b"x > 5")
    monkeypatch.setattr(filters.Meaning, "test", lambda _self, _tree, row: row["k"] % 2 == 0)
    with pytest.raises(Finding, match="another meaning"):
        filters.run(b"x > 5")


def test_a_record_that_decides_how_a_release_ends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = texts.flexdp.release

    def release(path: Path, *arguments: object, **options: object) -> object:
        if b"CANARY" in path.read_bytes():
            raise InputError("source", "holds a CANARY")
        return real(path, *arguments, **options)  # type: ignore[call-overload]

    data = b"\0\0x,g,u\n1,a,1\nCANARY,a,1\n"
    texts.run(data)
    monkeypatch.setattr(texts.flexdp, "release", release)
    with pytest.raises(Finding, match="a record decides"):
        texts.run(data)


# ---- the runner, whose exit code decides in CI


@pytest.mark.parametrize(
    ("told", "code", "failed"),
    [
        ("INITED\nDone 9 runs in 3 second(s)", 0, False),
        ("FOUND KeyError at a.py:1: 5f\nDone 9 runs in 3 second(s)", 0, True),
        ("==7== ERROR: libFuzzer: timeout\nTest unit written to x", 77, True),
        ("Done 9 runs in 3 second(s)", 1, True),
        ("No module named atheris", 1, True),
        ("Done 0 runs in 3 second(s)", 0, True),
        ("", 0, True),
    ],
)
def test_the_runner_fails_unless_a_search_ended_without_findings(
    told: str, code: int, failed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feeding = f"import sys; name = sys.argv[1]; name == 'ledgers' and (sys.stderr.write({told!r}), sys.exit({code}))"
    sound = "sys.stderr.write('Done 5 runs in 1 second(s)')"
    monkeypatch.setattr(runner, "FEEDING", (sys.executable, "-c", f"{feeding}; {sound}"))
    assert runner.main(["--seconds", "3", "--jobs", "2", "ledgers", "grammars"]) == failed
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("ledgers: ") and last == "grammars: 5 executions, 5 a second; 0 findings"
