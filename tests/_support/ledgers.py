"""Processes that charge a ledger, and processes that are killed while they do."""

from __future__ import annotations

import os
import random
import signal
import sys
from fractions import Fraction
from pathlib import Path

from flexdp import BudgetError, Ledger, LedgerError, Privacy, release
from flexdp.accounting import stores

VALUES = [33.0] * 200


def charge_at_once(address: str, processes: int, each: int = 1) -> list[int]:
    """Charge one from so many processes, which start together; return how many charges each of them was granted."""
    go, start = os.pipe()
    children = []
    for _ in range(processes):
        child = os.fork()
        if not child:
            os.close(start)
            os.read(go, 1)  # all begin when the parent closes its end
            granted = 0
            try:
                ledger = Ledger(address, patience=120)
                for _ in range(each):
                    ledger.charge("a", Privacy(epsilon=1, delta=0))
                    granted += 1
            except BudgetError:
                os._exit(granted)
            except BaseException:  # noqa: BLE001  (told by the exit code)
                os._exit(200)
            os._exit(granted)
        children.append(child)
    os.close(start)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def released_and_killed(address: str, published: Path, rng: random.Random) -> None:
    """Run releases in a process that is killed at a random statement, sync or moment; note each that was published."""
    at_statement, at_sync, delay = rng.randint(1, 24), rng.randint(1, 5), rng.uniform(0, 0.02)
    way = rng.choice(["statement", "sync", "moment", "after the charge", "before the note"])
    child = os.fork()
    if not child:
        _child(address, published, way, at_statement, at_sync)
    if way == "moment":
        signal.sigtimedwait([], delay)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _child(address: str, published: Path, way: str, at_statement: int, at_sync: int) -> None:
    die = lambda: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
    counts = {"statement": 0, "sync": 0}
    if way == "statement":
        stores._rows = _counted(stores._rows, counts, "statement", at_statement, die)
    if way == "sync":
        stores._sync = _counted(stores._sync, counts, "sync", at_sync, die)
    try:
        ledger = Ledger(address, patience=120)
        if way == "after the charge":
            ledger.charge("a", Privacy(epsilon=1, delta="1e-6"))
            die()
        for _ in range(3):
            made = release(
                VALUES, epsilon=1, delta="1e-6", width=5, kind="number", ledger=ledger, dataset="a", fresh=True
            )
            assert made.payment is not None and made.payment.stored
            if way == "before the note":
                die()
            with published.open("a") as file:
                file.write("1\n")
    except (BudgetError, LedgerError):
        os._exit(1)
    finally:
        os._exit(0)


def _counted(function, counts, name, last, die):
    def wrapped(*given):
        counts[name] += 1
        if counts[name] == last:
            die()
        return function(*given)

    return wrapped


def killed_many_times(address: str, published: Path, times: int, seed: int, *, make=None) -> tuple[int, int]:
    """Kill so many processes; after each, the ledger opens, is intact, and has charged what was published."""
    rng = random.Random(seed)
    release(VALUES, epsilon=1, delta="1e-6", width=5, kind="number")  # what children need is loaded and made
    charges = notes = 0
    for number in range(times):
        place = address if make is None else make(number)
        released_and_killed(place, published, rng)
        ledger = Ledger(place, patience=120)
        verdict = ledger.verify()
        assert verdict.intact, str(verdict)
        spent = ledger.account("a").spent_epsilon
        notes = len(published.read_text().split()) if published.exists() else 0
        assert spent >= notes - charges, (spent, notes)
        ledger.close()
        if make is not None and (number + 1) % 25 == 0:
            charges = notes  # the next ledger starts anew
    return notes, int(Fraction(spent))


if __name__ == "__main__":  # python -m _support.ledgers COMMAND …
    command, *rest = sys.argv[1:]
    if command == "charge":
        print(*charge_at_once(rest[0], int(rest[1]), int(rest[2])))  # noqa: T201
    elif command == "kill":
        folder, times, seed = Path(rest[0]), int(rest[1]), int(rest[2])

        def make(number: int) -> str:
            place = folder / f"{number // 25}.db"
            if not place.exists():
                Ledger(place).create("a", epsilon=10**4, delta="0.5")
            return str(place)

        print(*killed_many_times("", folder / "published", times, seed, make=make))  # noqa: T201
    elif command == "kill-server":
        print(*killed_many_times(rest[0], Path(rest[1]), int(rest[2]), int(rest[3])))  # noqa: T201
