"""An output folder and its files: each is written whole or not at all, and trouble is told in one line."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flexdp._core.domains import path_text
from flexdp._core.text import safe_repr
from flexdp.errors import InputError

__all__ = ["output_folder", "write_whole", "writing"]


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the operating system says about a full or closed place into one line with a remedy."""
    try:
        yield
    except OSError as failure:
        if failure.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise InputError(
                f"out {safe_repr(str(path))} is full. Free some room and run the same command again: what is finished "
                "is kept."
            ) from None
        raise InputError(
            f"out {safe_repr(str(path))} cannot be written. Check the folder and its permissions, or name another."
        ) from None


def output_folder(out: str | Path) -> Path:
    """The folder, made if need be, and tried before any work is done."""
    folder = Path(path_text("out", out))
    with writing(folder):
        if folder.exists() and not folder.is_dir():
            raise InputError(f"out {safe_repr(str(folder))} is a file; name a folder.")
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, trial = tempfile.mkstemp(prefix=".flexdp-", dir=folder)
        os.close(descriptor)
        Path(trial).unlink()
    return folder


def write_whole(path: Path, content: str | bytes) -> None:
    """Write beside the target, then put it in its place."""
    with writing(path):
        descriptor, name = tempfile.mkstemp(prefix=".flexdp-", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content.encode() if isinstance(content, str) else content)
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
