"""Run the fuzzers one after the other, each for a bounded time, and tell what they found.

``make fuzz`` runs all of them for a minute each; ``make fuzz FUZZ_SECONDS=600 FUZZ=documents`` one for ten minutes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from fuzz.targets import NAMES

FOLDER = Path(__file__).parent.parent.parent / "build" / "fuzz"


def main() -> int:
    """Run the chosen targets; 1 if one of them has a finding."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*NAMES, []], default=[])
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    failed = []
    for name in given.targets or NAMES:
        command = [sys.executable, "-m", "fuzz.feeding", name, str(given.seconds), str(FOLDER)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as process:
            assert process.stderr is not None
            found, last, runs, taken = [], "", 0, 0
            for line in process.stderr:
                if line.startswith("FOUND ") or "ERROR: libFuzzer" in line or "Test unit written to" in line:
                    found.append(line.strip())
                if counted := re.match(r"Done (\d+) runs in (\d+) second", line):
                    runs, taken = int(counted[1]), int(counted[2])
                last = line if line.strip() else last
        ended = process.returncode == 0 and runs
        said = f"{runs} executions, {runs / max(taken, 1):.0f} a second" if ended else f"ended early: {last.strip()}"
        sys.stdout.write(f"{name}: {said}; {len(found)} findings\n" + "".join(f"  {line}\n" for line in found))
        sys.stdout.flush()
        failed += [name] if found or not ended else []
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
