"""Run the fuzzers, each for a bounded time, and tell what they found.

``make fuzz`` runs all of them for a minute each, one after the other; ``make fuzz FUZZ_SECONDS=600 FUZZ=documents`` one
for ten minutes; ``make fuzz FUZZ_SECONDS=5 FUZZ_JOBS=2`` all of them for a few seconds, two at a time.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from fuzz.targets import NAMES

FOLDER = Path(__file__).parent.parent.parent / "build" / "fuzz"
FEEDING = (sys.executable, "-m", "fuzz.feeding")


class Run(NamedTuple):
    """How the search for faults of one target ended, and what it found."""

    said: str
    found: list[str]
    failed: bool  # there is a finding, or the search broke off


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen targets; 1 if one of them has a finding, or could not be searched."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*NAMES, []], default=[])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    given = parser.parse_args(arguments)
    names = given.targets or NAMES
    failed = False
    with ThreadPoolExecutor(given.jobs) as pool:
        for name, run in zip(names, pool.map(lambda name: searched(name, given.seconds), names), strict=True):
            sys.stdout.write(f"{name}: {run.said}; {len(run.found)} findings\n")
            sys.stdout.write("".join(f"  {line}\n" for line in run.found))
            sys.stdout.flush()
            failed |= run.failed
    return 1 if failed else 0


def searched(name: str, seconds: int) -> Run:
    """Feed a target in a process of its own, and read what libFuzzer tells of it."""
    command = [*FEEDING, name, str(seconds), str(FOLDER)]
    found, last, runs, taken = [], "", 0, 0
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("FOUND ") or "ERROR: libFuzzer" in line or "Test unit written to" in line:
                found.append(line.strip())
            if counted := re.match(r"Done (\d+) runs in (\d+) second", line):
                runs, taken = int(counted[1]), int(counted[2])
            last = line if line.strip() else last
    ended = process.returncode == 0 and runs > 0
    said = f"{runs} executions, {runs / max(taken, 1):.0f} a second" if ended else f"ended early: {last.strip()}"
    return Run(said, found, bool(found) or not ended)


if __name__ == "__main__":
    sys.exit(main())
