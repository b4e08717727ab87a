"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["lock", "replacing", "write_whole"]

_BEYOND = 2**40


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside ``path`` that takes its place at the end, or is removed if anything is raised.

    A link is followed: the file that it points to is replaced, not the link. A file that is write-protected is left
    alone.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.txt")) as draft:
    ...         _ = draft.write_text("text")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('a.txt', 'text')]
    """
    target = path.resolve()
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError("write-protected")
    descriptor, name = tempfile.mkstemp(prefix=".flexdp-", dir=target.parent)
    os.close(descriptor)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o666 & ~_umask())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; a device or a pipe, which nothing can replace, is written directly."""
    octets = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(octets)
        return
    with replacing(path) as draft:
        draft.write_bytes(octets)


def lock(stream: BinaryIO) -> None:
    """Lock an open file for this process alone, until it is closed; an OSError if another process has it.

    >>> with tempfile.TemporaryFile() as file:
    ...     lock(file)
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # on Windows, where a lock also keeps others from reading: far beyond the content
        import msvcrt

        place = stream.tell()
        stream.seek(_BEYOND)
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        stream.seek(place)
        return
    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
