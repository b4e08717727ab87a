"""Reading ahead: while one thing is used, a thread opens the next ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import copy_context
from typing import Generic, Protocol, TypeVar

from flexdp._core.forks import inside_release
from flexdp.tables.interrupts import POLL_SECONDS, stoppable

__all__ = ["Opening", "opened_ahead"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_AHEAD = 2  # things that are opened before they are wanted
_GRACE_SECONDS = 3.0  # for a statement to notice that it was interrupted


class Opening(Protocol[T_co]):
    """Opens something; what must not be done while the thing before it is in use waits for ``alone``."""

    def __call__(self, *, alone: Callable[[], None]) -> AbstractContextManager[T_co]:
        """Return what opens it."""


def opened_ahead(openings: Sequence[Opening[T]]) -> Generator[AbstractContextManager[T], None, None]:
    """Open things one after the other, up to two of them while one is in use.

    Parameters
    ----------
    openings
        Each returns a context manager. ``alone`` waits until all things before it were closed.

    Yields
    ------
    context manager
        To be entered in this order, each closed before the next is asked for. A failure to open it is raised on entry.
        Closing the generator stops whatever is being opened.
    """
    if not openings:
        return
    reader = _Reader(openings)
    try:
        for place in range(len(openings)):
            yield reader.entered(place)
    finally:
        reader.stop()


class _Slot(Generic[T]):
    """One thing: whether it may begin, whether nothing else is in use, and what became of it."""

    def __init__(self) -> None:
        self.wanted, self.alone, self.done = threading.Event(), threading.Event(), threading.Event()
        self.manager: AbstractContextManager[T] | None = None
        self.values: list[T] = []
        self.failure: BaseException | None = None

    def close(self) -> None:
        manager, self.manager = self.manager, None
        self.values.clear()
        if manager is not None:
            manager.__exit__(None, None, None)


class _StoppedError(Exception):
    """Nobody waits for it any more."""


class _Reader(Generic[T]):
    """A thread that opens one thing after another."""

    def __init__(self, openings: Sequence[Opening[T]]) -> None:
        self._openings, self._slots = openings, [_Slot[T]() for _ in openings]
        self._stopped = threading.Event()
        self._want(_AHEAD)
        context = copy_context()
        self._thread = threading.Thread(target=lambda: context.run(self._read), name="flexdp-ahead", daemon=True)
        self._thread.start()

    @contextmanager
    def entered(self, place: int) -> Iterator[T]:
        slot = self._slots[place]
        slot.alone.set()
        while not slot.done.wait(POLL_SECONDS):
            pass
        if slot.failure is not None:
            raise slot.failure
        self._want(place + 1 + _AHEAD)
        try:
            yield slot.values[0]
        except BaseException:
            with suppress(Exception):  # the failure inside is the one that counts
                slot.close()
            raise
        slot.close()

    def _want(self, stop: int) -> None:
        for slot in self._slots[:stop]:
            slot.wanted.set()

    def stop(self) -> None:
        """Interrupt what is being opened, and close what was opened and not used."""
        self._stopped.set()
        self._thread.join(_GRACE_SECONDS)
        if not self._thread.is_alive():
            for slot in self._slots:
                with suppress(Exception):  # nobody waits for it
                    slot.close()

    def _read(self) -> None:
        with inside_release(), stoppable(self._stopped):
            failure: BaseException | None = None
            for opening, slot in zip(self._openings, self._slots, strict=True):
                if failure is None:
                    failure = self._open(opening, slot)
                slot.failure = failure  # of those before it, too: nothing else is read
                slot.done.set()

    def _open(self, opening: Opening[T], slot: _Slot[T]) -> BaseException | None:
        try:
            self._until(slot.wanted)
            manager = opening(alone=lambda: self._until(slot.alone))
            slot.values.append(manager.__enter__())
            slot.manager = manager
        except BaseException as failure:  # noqa: BLE001  (raised where the thing is wanted)
            return failure
        return None

    def _until(self, event: threading.Event) -> None:
        while not event.wait(POLL_SECONDS):
            if self._stopped.is_set():
                raise _StoppedError
