"""A progress bar on a terminal, and nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

__all__ = ["Progress", "progress_bar"]

Progress: TypeAlias = Callable[[int, int], None]


@contextmanager
def progress_bar(given: Progress | None = None) -> Iterator[Progress]:
    """Yield what is told how many of all runs are done: the caller's function, a bar on a terminal, or nothing."""
    if given is not None or not sys.stderr.isatty():
        yield given if given is not None else (lambda _done, _total: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Auditing", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
