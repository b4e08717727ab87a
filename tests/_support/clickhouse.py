"""ClickHouse in this process, from chdb, which is too large for every set-up."""

from __future__ import annotations

import os
from typing import Any

import pytest

REMEDY = "NO CLICKHOUSE: its tests need chdb-core; run 'make .venv/clickhouse' or pip install chdb-core"


def chdb_engine() -> Any:
    """The module; skipped where it is missing, unless the environment demands it."""
    try:
        import chdb
    except ModuleNotFoundError:
        if os.environ.get("FLEXDP_NEEDS_CLICKHOUSE"):
            pytest.fail(REMEDY)
        pytest.skip(REMEDY)
    return chdb
