"""Output folders and atomic writes, with one-line errors."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flexdp._core import files
from flexdp._core.domains import path_text
from flexdp._core.text import safe_repr
from flexdp.errors import InputError

__all__ = ["output_folder", "write_whole", "writing"]


@contextmanager
def writing(path: Path, parameter: str = "out") -> Iterator[None]:
    """Turn errors of the operating system into one line that names the parameter and a remedy."""
    try:
        yield
    except OSError as failure:
        if failure.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise InputError(
                parameter,
                f": no space left to write {safe_repr(str(path))}",
                remedy="Free some space and run the same command again; finished work is kept.",
            ) from None
        raise InputError(
            parameter,
            f": cannot write {safe_repr(str(path))}",
            remedy="Check the folder and its permissions, or choose another.",
        ) from None


def output_folder(out: str | Path) -> Path:
    """Create the folder if necessary, and check that it is writable before any work is done."""
    folder = Path(path_text("out", out))
    with writing(folder):
        if folder.exists() and not folder.is_dir():
            raise InputError("out", "must be a folder", given=f"the file {safe_repr(str(folder))}")
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.NamedTemporaryFile(prefix=".flexdp-", dir=folder).close()
    return folder


def write_whole(path: Path, content: str | bytes, parameter: str = "out") -> None:
    """Write a file whole or not at all."""
    with writing(path, parameter):
        files.write_whole(path, content)
