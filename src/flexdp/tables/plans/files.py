"""The files that a plan reads: is one of them read twice, so that each of its records makes two rows?"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

__all__ = ["all_different", "expanded", "is_remote", "local_path"]

_LOCAL = "file:"


def is_remote(path: str) -> bool:
    """Tell whether a path is the address of a file elsewhere."""
    return "://" in path and not path.lower().startswith(_LOCAL)


def local_path(path: str) -> str:
    """Return a path without the scheme of local files."""
    if not path.lower().startswith(_LOCAL) or Path(path).exists():
        return path
    rest = path[len(_LOCAL) :]
    rest = "/" + rest.lstrip("/") if rest.startswith("/") else rest
    return rest if Path(rest).exists() else unquote(rest)


def all_different(files: Sequence[str]) -> bool:
    """Tell whether files are known to be different, also where links or other spellings of a path lead to them."""
    if len(files) < 2:
        return True
    try:
        entries = [os.stat(local_path(file)) for file in files]  # noqa: PTH116
    except (OSError, ValueError):
        return False
    return len({(entry.st_dev, entry.st_ino) for entry in entries}) == len(files)


def expanded(path: str) -> list[str] | None:
    """Return the files of a path, a pattern or a directory here, or None if they cannot be told."""
    if is_remote(path):
        return None
    path = local_path(path)
    if Path(path).is_dir():
        inside = sorted(Path(path).rglob("*"))
        if any(each.is_symlink() for each in inside):  # an engine may follow it, or not
            return None
        return [str(each) for each in inside if each.is_file()]
    if Path(path).exists() or not glob.has_magic(path):
        return [path]
    return sorted(match for match in glob.glob(path, recursive=True) if not Path(match).is_dir())  # noqa: PTH207
