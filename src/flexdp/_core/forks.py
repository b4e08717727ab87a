"""Processes forked while another thread is inside a release: locks stay held for ever, so releases are refused there.

The locks are those of engines and of modules that are being imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from flexdp.errors import InputError

__all__ = ["check_fork", "inside_release"]

_inside: set[object] = set()  # one token for each thread that is inside a release
_unusable: list[bool] = []  # in a process whose parent was inside a release when it forked


def check_fork() -> None:
    """Refuse to release in a process that was forked in the middle of another thread's release.

    Raises
    ------
    InputError
        In such a process; an engine called there might wait for ever for a thread that does not exist.
    """
    if _unusable:
        raise InputError(
            "source",
            ": this process was forked while another thread was inside a release, so nothing can be released in it",
            remedy="Start processes with multiprocessing's 'spawn' or 'forkserver', or before the first release.",
        )


@contextmanager
def inside_release() -> Iterator[None]:
    """Note that this thread is inside a release, for the children of a fork."""
    check_fork()
    token = object()
    _inside.add(token)
    try:
        yield
    finally:
        _inside.discard(token)


def _forked() -> None:
    if _inside:
        _unusable.append(True)
        _inside.clear()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forked)
