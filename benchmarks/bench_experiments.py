"""The six experiments of the paper: processor seconds in one process, and the share of each mechanism."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile

from _timing import say

TARGETS = {"full": ([], 30.0), "--quick": (["--quick"], 10.0)}


def spend(*words: str) -> tuple[float, dict[str, float]]:
    """Return the processor seconds of a command, figure included, and those of each mechanism."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "flexdp", *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, json.loads(done.stdout)["seconds"]


def main() -> None:
    for name, (words, target) in TARGETS.items():
        with tempfile.TemporaryDirectory() as folder:
            seconds, shares = spend("lab", "experiment", "all", "--seed", "1", *words, "--out", folder, "--json")
        say(f"flexdp lab experiment all, {name}", seconds, seconds / target, f"≤ 1 (of {target:g} s)")
        print("  " + ", ".join(f"{name} {share / sum(shares.values()):.0%}" for name, share in shares.items()))


if __name__ == "__main__":
    main()
