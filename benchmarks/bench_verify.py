"""Verification of documents and signatures: processor time, which a busy machine changes little."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable

import numpy as np
from _timing import say

import flexdp
from flexdp.audit import verify_document
from flexdp.signing import PrivateKey, new_key, verify_signature


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
    octets = documents["100 000 buckets"].to_json(indent=2).encode()
    with tempfile.TemporaryDirectory() as folder:
        public = new_key(f"{folder}/p.key")
        key = PrivateKey.load(f"{folder}/p.key")
    signature = key.sign(octets)
    say(f"sign, {len(octets) / 1e6:.1f} MB", spent(lambda: key.sign(octets)))
    say(f"verify_signature, {len(octets) / 1e6:.1f} MB", spent(lambda: verify_signature(octets, signature, public)))


if __name__ == "__main__":
    main()
