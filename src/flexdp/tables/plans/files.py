"""The files that a plan reads: is one of them read twice, so that each of its records makes two rows?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

__all__ = ["all_different", "in_folder", "is_remote", "local_path"]

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


def in_folder(path: str) -> list[str]:
    """Return the files in a directory; none if an engine may follow a link, or not."""
    inside = sorted(Path(path).rglob("*"))
    return [] if any(each.is_symlink() for each in inside) else [str(each) for each in inside if each.is_file()]
