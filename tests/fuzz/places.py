"""Folders that the targets write into, in memory where the machine has such a place, removed at the end."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["folder"]


@cache
def folder(name: str) -> Path:
    """Return the folder of a target."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix=f"flexdp-fuzz-{name}-", dir=memory if memory.is_dir() else None))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
