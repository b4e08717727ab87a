"""Verification of documents: processor time, which a busy machine changes little."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from _timing import say

import flexdp
from flexdp.audit import verify_document


def spent(work: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    values = (np.arange(50_000) * 7919 % 120).astype(float)
    documents = {
        "24 buckets": flexdp.release(values, epsilon=1, delta="1e-6", width=5, bounds=(0, 120)),
        "automatic buckets": flexdp.release(values, epsilon=1, delta="1e-6"),
        "5 asked answers": flexdp.release(values, epsilon=1, delta=0, ask=["max", "min", "median", "q0.99", "mean"]),
        "100 000 buckets": flexdp.release(np.repeat(np.arange(100_000.0), 60), epsilon=1, delta="1e-6", width=1),
    }
    for name, release in documents.items():
        text = release.to_json(indent=2)
        say(f"verify_document, {name}", spent(lambda text=text: verify_document(text)))


if __name__ == "__main__":
    main()
