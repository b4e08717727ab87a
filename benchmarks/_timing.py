"""Interleaved timing: every contender once per round, best of the rounds, so that a busy moment affects all alike."""

from __future__ import annotations

import time
from collections.abc import Callable


def race(contenders: dict[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Return the seconds of each contender's best round."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, work in contenders.items():
            started = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def say(label: str, seconds: float, ratio: float | None = None, target: str = "") -> None:
    """Print one line of a report."""
    shown = f"{seconds * 1e3:12.3f} ms"
    against = f"   ratio {ratio:7.3f}   target {target}" if ratio is not None else ""
    print(f"{label:58s}{shown}{against}")
