"""The ledger and composition: charges from several processes, long histories, many releases, a release that pays."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np
from _timing import race, say

import flexdp
from flexdp import Ledger, Privacy
from flexdp.accounting import privacy_curve
from flexdp.noise import DropNoise

ONE = Privacy(epsilon=1, delta=0)
PROCESSES, EACH = 8, 250
ROWS = int(os.environ.get("ROWS", 10_000_000))
HISTORY = int(os.environ.get("HISTORY", 100_000))


def crowd(folder: Path) -> None:
    """Every charge waits for the disk; several processes wait at the same time."""
    path = folder / "crowd.db"
    Ledger(path).create("a", epsilon=10_000, delta=0)
    children, started = [], time.perf_counter()
    for _ in range(PROCESSES):
        child = os.fork()
        if not child:
            ledger = Ledger(path)
            for _ in range(EACH):
                ledger.charge("a", ONE)
            os._exit(0)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    rate = PROCESSES * EACH / (time.perf_counter() - started)
    assert codes == [0] * PROCESSES and Ledger(path).account("a").spent_epsilon == PROCESSES * EACH
    print(f"{f'charges a second from {PROCESSES} processes':58s}{rate:12.0f}                        target ≥ 500")


def history(folder: Path) -> None:
    """The cost of a charge after 10 and after 10^5 others; the long history is written without waiting for the disk."""
    ledgers = {}
    for rows in (10, HISTORY):
        ledgers[rows] = Ledger(folder / f"{rows}.db")
        ledgers[rows].create("a", epsilon=10_000, delta=0)
        _fill(ledgers[rows], rows)
    cost = race({str(rows): lambda ledger=ledger: charges(ledger) for rows, ledger in ledgers.items()}, rounds=15)
    say("20 charges after 10 others", cost["10"])
    say(f"20 charges after {HISTORY} others", cost[str(HISTORY)], cost[str(HISTORY)] / cost["10"], "≤ 2")
    started = time.perf_counter()
    assert ledgers[HISTORY].verify().intact
    say(f"verify {HISTORY} rows", time.perf_counter() - started)


def charges(ledger: Ledger) -> None:
    for _ in range(20):
        ledger.charge("a", Privacy(epsilon="1e-3", delta=0))


def _fill(ledger: Ledger, rows: int) -> None:
    from flexdp.accounting.chain import append
    from flexdp.guarantees import Privacy as Cost

    cost = Cost(epsilon="1e-6", delta=0)
    for start in range(0, rows, 1000):
        with ledger._store.transaction(write=True) as run:
            for _ in range(min(1000, rows - start)):
                account = ledger._account(run, "a", locked=True)
                append(run, account, "charge", cost.epsilon, cost.delta, "", {})


def composition() -> None:
    noise = DropNoise("0.01", "1e-12")
    same = [noise] * 10_000
    mixed = [DropNoise(epsilon, "1e-12") for epsilon in ("0.01", "0.02", "0.03")] * 3333
    best = race(
        {
            "the same": lambda: privacy_curve(same).epsilon_at("1e-6"),
            "three kinds": lambda: privacy_curve(mixed).epsilon_at("1e-6"),
        },
        rounds=3,
    )
    for name, seconds in best.items():
        say(f"compose 10^4 releases, {name}", seconds, seconds / 2, "≤ 1 (2 s)")
    curve = privacy_curve(same)
    print(f"   ε = {float(curve.epsilon_at('1e-6')):.4f} at δ = 1e-6, basic {float(curve.basic.epsilon):g}")


def release(folder: Path) -> None:
    values = np.random.default_rng(1).normal(500, 100, ROWS)
    ledger = Ledger(folder / "paid.db")
    ledger.create("a", epsilon=10_000, delta="0.5", by_period=True)
    asked = {"epsilon": 1, "delta": "1e-6", "width": 5, "bounds": (0, 1000), "period": "2026"}
    best = race(
        {
            "without": lambda: flexdp.release(values, **asked),
            "with": lambda: flexdp.release(values, **asked, ledger=ledger, dataset="a", fresh=True),
            "again": lambda: flexdp.release(values, **asked, ledger=ledger, dataset="a"),
        },
        rounds=9,
    )
    say(f"release of {ROWS} rows without a ledger", best["without"])
    say("the same with a ledger", best["with"], best["with"] / best["without"], "≤ 1.05")
    say("the same request again", best["again"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        crowd(Path(name))
        composition()
        release(Path(name))
        history(Path(name))
