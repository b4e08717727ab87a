"""Many distinct keys: time, memory and disk of a release in which every record has a value of its own.

    python benchmarks/distinct_keys.py [--keys 100000000] [--folder DIR]

Each case runs in a process of its own, whose peak memory is told by the operating system. Afterwards no file may be
left in the folder of temporary files. The table takes 6.3 bytes a key on disk.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

CASES = {"every value its own bucket": "exact=True", "automatic buckets": "", "buckets of width 10^6": "width=10**6"}
SCRIPT = """
import resource, sys, time
import flexdp
begun = time.process_time()
try:
    said = f"{len(flexdp.release(sys.argv[1], 'x', epsilon=1, delta='1e-6', CASE).cells)} buckets"
except flexdp.FlexdpError as error:
    said = f"{type(error).__name__}: {error}"
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(f"{time.process_time() - begun:7.1f} s of processor time, {used:5.2f} GiB at most; {said}")
"""


def table(path: Path, keys: int) -> None:
    """Write distinct integers below 2^32 in an order that looks random."""
    with duckdb.connect(config={"memory_limit": "1GB"}) as con:
        con.execute(
            f"COPY (SELECT ((range * 2654435761) & 4294967295)::BIGINT AS x FROM range({keys})) TO '{path}' "
            "(FORMAT parquet)"
        )


def main() -> None:
    """Run all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=10**8)
    parser.add_argument("--folder", help="for the table and what is spilled; the system's by default")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path, spilled = Path(folder, "t.parquet"), Path(folder, "spilled")
        spilled.mkdir()
        table(path, given.keys)
        for name, case in CASES.items():
            command = [sys.executable, "-c", SCRIPT.replace("CASE", case), str(path)]
            done = subprocess.run(command, env=os.environ | {"TMPDIR": str(spilled)}, capture_output=True, text=True)
            left = len(list(spilled.iterdir()))
            print(f"{name:28s}{done.stdout.strip() or done.stderr.strip()}; {left} files left", flush=True)


if __name__ == "__main__":
    main()
