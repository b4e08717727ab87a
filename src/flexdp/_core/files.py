"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from io import RawIOBase
from pathlib import Path
from typing import BinaryIO

__all__ = [
    "followed",
    "lock",
    "private_folder",
    "read_at_most",
    "read_stream",
    "replacing",
    "signatures",
    "write_new",
    "write_whole",
]

_BEYOND = 2**40
_BLOCK = 2**20  # bytes read at once
_DRAFT = ".flexdp-"  # begins the names of drafts
_OPEN_FILES = "/proc/self/fd"  # where a file without a name is found
_FOLDER = "flexdp-"  # and of private folders
_OWNED = ".flexdp-in-use"  # in a private folder: locked as long as its process lives
_ATTEMPTS = 100
_swept: set[Path] = set()  # places where this process has removed stale folders: once is enough


def followed(path: Path) -> Path:
    """Resolve symbolic links. A loop raises OSError (ELOOP) on every Python version."""
    with suppress(RuntimeError):  # a loop, up to Python 3.12
        target = path.resolve()
        if not target.is_symlink():  # a loop stays unresolved from Python 3.13 on
            return target
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside ``path`` that takes its place at the end, or is removed if anything is raised.

    A link is followed: the file that it points to is replaced, not the link. A file that is write-protected is left
    alone. A draft has no name until it is finished, so that nothing is left of a process that is killed; where a drive
    has no such files, the next process that writes to the folder removes it.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.txt")) as draft:
    ...         _ = draft.write_text("text")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('a.txt', 'text')]
    """
    target = followed(path)
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError("write-protected")
    with _draft(target.parent) as draft:
        yield draft
        draft.chmod(0o666 & ~_umask())
        _put(draft, target)


@contextmanager
def private_folder() -> Iterator[str]:
    """Make a temporary folder that only this user can read, removed at the end.

    What a process that was killed has left is removed by the next one.

    >>> with private_folder() as name:
    ...     os.listdir(name) in ([_OWNED], [])
    True
    >>> Path(name).exists()
    False
    """
    mark, name = f"{_FOLDER}{os.getpid():x}-{threading.get_ident():x}-{time.monotonic_ns():x}-", ""
    with ExitStack() as held:
        try:
            name = tempfile.mkdtemp(prefix=mark)  # mode 0700
            _remove_stale_folders(Path(name).parent)
            if _can_lock():
                new = Path(name, f"{_OWNED}-soon")
                with suppress(OSError):  # on some drives nothing can be locked, so nothing is taken for stale either
                    lock(held.enter_context(new.open("wb")))
                    new.rename(Path(name, _OWNED))
            yield name
        finally:
            if name:
                shutil.rmtree(name, ignore_errors=True)
            else:
                _remove_unnamed(mark)


def signatures(files: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return what changes when files are written to or replaced; nothing for a pipe, a device or no file at all.

    >>> with tempfile.NamedTemporaryFile() as file:
    ...     before = signatures([file.name])
    ...     _ = file.write(b"more"), file.flush()
    ...     before == signatures([file.name]), signatures([os.devnull])
    (False, ((),))
    """
    return tuple(map(_signature, files))


def _signature(path: str) -> tuple[int, ...]:
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return ()
    if not stat.S_ISREG(found.st_mode):
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    """Make a draft for a file in a folder, without a name if that can be, and lock it as long as it is in use."""
    _remove_stale_drafts(folder)
    held = _nameless(folder)
    if held is not None:
        with closing(held):
            yield Path(f"{_OPEN_FILES}/{held.fileno()}")
        return
    draft, held = _locked_draft(folder)
    with closing(held):
        try:
            yield draft
        finally:
            draft.unlink(missing_ok=True)


def _nameless(folder: Path) -> BinaryIO | None:
    """Make a file that vanishes with its process; None where system or drive have no such files."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not Path(_OPEN_FILES).is_dir():
        return None
    try:
        held = os.fdopen(os.open(folder, flag | os.O_RDWR, 0o600), "r+b", buffering=0)
    except OSError:  # the reason, if it is another one, ends the attempt to make one with a name as well
        return None
    with suppress(OSError):
        lock(held)  # for the moment in which it has a name, and is not yet in place
    return held


def _put(draft: Path, target: Path) -> None:
    """Put a finished draft in place of a file."""
    if draft.parent != Path(_OPEN_FILES):
        draft.replace(target)
        return
    name = Path(tempfile.mktemp(prefix=_DRAFT, dir=target.parent))  # linking to it fails if it exists
    try:
        try:
            _link(draft, name)
        except OSError:  # a drive without hard links
            shutil.copyfile(draft, name)
            shutil.copymode(draft, name)
        name.replace(target)
    finally:
        name.unlink(missing_ok=True)


def _link(draft: Path, path: Path) -> None:
    """Give a draft a name; never replaces anything, not even a link that leads nowhere."""
    if draft.parent != Path(_OPEN_FILES):
        os.link(draft, path)
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.link(draft, path.name, dst_dir_fd=folder, follow_symlinks=True)  # only so is the open file followed
    finally:
        os.close(folder)


def _locked_draft(folder: Path) -> tuple[Path, BinaryIO]:
    """Make a draft and lock it, so that no other process takes it for one that was left behind."""
    for _ in range(_ATTEMPTS):
        descriptor, name = tempfile.mkstemp(prefix=_DRAFT, dir=folder)
        held = os.fdopen(descriptor, "wb")
        if not _can_lock():
            held.close()
            return Path(name), held
        try:
            lock(held)
        except BlockingIOError:  # another process takes it for stale, and is just removing it
            held.close()
            continue
        except OSError:  # on some network drives nothing can be locked, so nothing is taken for stale either
            return Path(name), held
        if Path(name).exists():
            return Path(name), held
        held.close()
    raise FileExistsError("no draft could be made")


def _remove_stale_drafts(folder: Path) -> None:
    if not _can_lock():
        return
    with suppress(OSError):  # a folder that cannot be listed
        for draft in list(folder.glob(f"{_DRAFT}????????")):
            with suppress(OSError):  # in use, removed in the meantime, or not ours
                if draft.is_symlink() or not draft.is_file():
                    continue
                with draft.open("rb") as stream:
                    lock(stream)
                    draft.unlink()


def _remove_unnamed(mark: str) -> None:
    """Remove a folder that was made, and is empty, if a signal arrived before its name was known."""
    with suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{mark}*"):
            folder.rmdir()


def _remove_stale_folders(place: Path) -> None:
    """Remove what processes of this user that were killed have left; folders with no mark of ours are not touched."""
    if not _can_lock() or place in _swept:
        return
    _swept.add(place)
    with suppress(OSError):
        for folder in list(place.glob(f"{_FOLDER}*-????????")):
            with suppress(OSError):
                owned = folder / _OWNED
                if folder.is_symlink() or owned.is_symlink() or folder.stat().st_uid != os.getuid():
                    continue
                with owned.open("rb") as stream:
                    lock(stream)
                    shutil.rmtree(folder, ignore_errors=True)


def _can_lock() -> bool:
    """True where a lock ends with its process and hinders nobody who does not ask for it: not on Windows."""
    return hasattr(os, "getuid")


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; a device or a pipe, which nothing can replace, is written directly."""
    octets = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(octets)
        return
    with replacing(path) as draft:
        draft.write_bytes(octets)


def write_new(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file that must not exist yet, whole or not at all; a private one can be read by its owner alone.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_new(Path(folder, "a"), b"text", private=True)
    ...     write_new(Path(folder, "a"), b"other")
    Traceback (most recent call last):
    FileExistsError: [Errno 17] exists already
    """
    mode = 0o600 if private else 0o666 & ~_umask()
    with _draft(path.parent) as draft:
        with draft.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        draft.chmod(mode)
        try:
            _link(draft, path)
        except FileExistsError:
            raise FileExistsError(errno.EEXIST, "exists already") from None
        except OSError:  # a drive without hard links
            _write_exclusively(path, content, mode)


def _write_exclusively(path: Path, content: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def read_at_most(path: Path, most: int) -> bytes:
    """Read a file or a pipe, unless it holds more than ``most`` bytes: then a ValueError.

    >>> read_at_most(Path(os.devnull), 10)
    b''
    >>> read_at_most(Path("/dev/zero"), 10) if os.name == "posix" else None
    Traceback (most recent call last):
    ValueError: too large
    """
    with path.open("rb", buffering=0) as stream:
        return read_stream(stream, most)


def read_stream(stream: RawIOBase | BinaryIO, most: int) -> bytes:
    """Read a stream to its end, unless it holds more than ``most`` bytes: then a ValueError."""
    parts, left = [], most + 1
    while left > 0 and (part := stream.read(min(left, _BLOCK))):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise ValueError("too large")
    return b"".join(parts)


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
