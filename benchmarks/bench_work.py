"""The work that a release gives to each engine: statements, puts beside them, rows and bytes fetched, jobs of Spark.

The numbers are those of ``tests/engines/test_work_done.py``, which pins them; here they are printed, of as many records
as ``FLEXDP_ROWS`` says. Of "many" records the limits at which all values are fetched are a twelfth of them, and ε is
large, so that windows are as small a part of the records as those of millions at ε = 1. Engines that are not installed
are left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests" / "engines" / "test_work_done.py"


def main() -> int:
    shown = {"FLEXDP_WORK": "1", "FLEXDP_ROWS": os.environ.get("FLEXDP_ROWS", "6000")}
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", str(TESTS)]
    return subprocess.run(command, cwd=TESTS.parents[2], env={**os.environ, **shown}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
