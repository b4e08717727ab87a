"""The six experiments of the paper: processor seconds in one process, and the share of each mechanism."""

from __future__ import annotations

import csv
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from _timing import say

TARGETS = {"full": ([], 90.0), "--quick": (["--quick"], 10.0)}


def spent(*words: str) -> float:
    """Return the processor seconds of a command, figure and page included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "flexdp", *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    for name, (words, target) in TARGETS.items():
        with tempfile.TemporaryDirectory() as folder:
            seconds = spent("experiment", "all", "--seed", "1", *words, "--out", folder)
            timings = list(csv.DictReader((Path(folder) / "timings.csv").read_text().splitlines()))
        say(f"flexdp experiment all, {name}", seconds, seconds / target, f"≤ 1 (of {target:g} s)")
        print("  " + ", ".join(f"{row['mechanism']} {float(row['share']):.0%}" for row in timings))


if __name__ == "__main__":
    main()
