"""Feed one target with inputs that libFuzzer makes, guided by the coverage of flexdp; needs the package atheris."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import atheris

from fuzz.oracles import bounded, place_of
from fuzz.targets import BROKE, target

HANG = 600  # seconds after which libFuzzer ends a run that does not, on however busy a machine
WARM = 10  # seconds of processor time before the search begins; in a short run a third of its time
SHORT = 30  # seconds; a shorter run starts only from the inputs that the warm-up reached, in random order
MOST_RESIDENT = 3000  # megabytes, beyond which it ends the process


def main() -> None:
    """Run a target for so many seconds; every fault is kept once, and the search goes on."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("seconds", type=int)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    short = given.seconds < SHORT
    corpus, faults = (given.folder / kind / given.name for kind in ("short" if short else "corpus", "findings"))
    if short:
        shutil.rmtree(corpus, ignore_errors=True)
    for folder in (corpus, faults):
        folder.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=["flexdp"], enable_loader_override=False):
        found = target(given.name)
        first = [*(path.read_bytes() for path in sorted((BROKE / given.name).glob("*"))), *found.seeds()]
        if short:
            random.shuffle(first)
        tried = _warm_up(found.run, first, min(WARM, given.seconds / 3))
        for data in first[:tried] if short else first:
            _keep(corpus, data)
        words = given.folder / f"{given.name}.dict"
        words.write_text("".join(f'"{_escaped(word)}"\n' for word in found.words))
        seen: set[str] = set()

        def feed(data: bytes) -> None:
            try:
                bounded(found.run, data)
            except Exception as fault:  # noqa: BLE001  (that is what is looked for)
                where = place_of(fault)
                if where not in seen:
                    seen.add(where)
                    sys.stderr.write(f"FOUND {where}: {_keep(faults, data)}\n")

        def mutate(data: bytes, longest: int, seed: int) -> bytes:
            assert found.mutated is not None
            return found.mutated(data, random.Random(seed), lambda raw: atheris.Mutate(raw, longest))[:longest]

        options = [
            sys.argv[0],
            f"-max_total_time={given.seconds}",
            f"-timeout={HANG}",
            f"-report_slow_units={HANG}",
            f"-rss_limit_mb={MOST_RESIDENT}",
            f"-max_len={found.longest}",
            f"-dict={words}",
            f"-artifact_prefix={faults}/",
            str(corpus),
        ]
        atheris.Setup(options, feed, custom_mutator=mutate if found.mutated is not None else None)
        atheris.Fuzz()


def _warm_up(run: Callable[[bytes], None], inputs: list[bytes], seconds: float) -> int:
    """Load and instrument what inputs need, which would else count as their time; faults are met again later.

    Returns how many inputs were tried.
    """
    started = time.process_time()
    for number, data in enumerate(inputs, 1):
        with contextlib.suppress(Exception):
            run(data)
        if time.process_time() - started > seconds:
            return number
    return len(inputs)


def _keep(folder: Path, data: bytes) -> Path:
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    return path


def _escaped(word: str) -> str:
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in word.encode())


if __name__ == "__main__":
    main()
