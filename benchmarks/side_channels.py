"""Running time against what depends on the data or on the random bits: what a clock could tell.

    python benchmarks/side_channels.py [--rounds 15]

Times are of the processor, and medians of interleaved rounds. flexdp hides none of this: docs/threat-model.md has the
numbers, and says what follows for whoever runs releases for others.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import flexdp
from flexdp.noise import DropNoise
from flexdp.noise.bits import Bits
from flexdp.sharp.ladder import Ladder

RECORDS = 200_000
SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
Work = Callable[[], object]


def medians(works: dict[str, Work], rounds: int, repeat: int = 1) -> dict[str, tuple[float, float]]:
    """Median seconds of each, and the median deviation from it; interleaved."""
    seen: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(rounds):
        for name, work in works.items():
            begun = time.process_time()
            for _ in range(repeat):
                work()
            seen[name].append((time.process_time() - begun) / repeat)
    middle = {name: statistics.median(times) for name, times in seen.items()}
    return {name: (middle[name], statistics.median(abs(t - middle[name]) for t in seen[name])) for name in works}


def tell(title: str, found: dict[str, tuple[float, float]]) -> None:
    """Print a table, in microseconds below a millisecond."""
    print(f"\n{title}")
    for name, (middle, spread) in found.items():
        scale, unit = (1e6, "µs") if middle < 1e-3 else (1e3, "ms")
        print(f"  {name:44s}{middle * scale:9.2f} {unit}  ± {spread * scale:.2f}")


def chosen(words: list[bytes]) -> Callable[[int], bytes]:
    """A source of bits that are chosen, over and over."""
    state = iter(())

    def source(size: int) -> bytes:
        nonlocal state
        word = next(state, None)
        if word is None:
            state = iter(words)
            word = next(state)
        assert len(word) == size
        return word

    return source


def lookups() -> dict[str, Work]:
    """One drop, decided by 16 bits, by 64, or by all bits of the table."""
    noise = DropNoise(1, "1e-20")
    noise._draw(1, lambda size: bytes(size))
    sampler: Any = noise._sampler
    known = int(np.flatnonzero(sampler._guide >= 0)[0])
    word, low = int(sampler._words[len(sampler._words) // 2]), (1 << 48) - 1  # a boundary, and a number beside it
    prefix, beside = (word >> 48).to_bytes(2, "little"), word ^ (1 << 40)
    rest, later = (((each & low) << 16).to_bytes(8, "little") for each in (word, beside))
    ways = {
        "decided by 16 bits (a lookup)": [known.to_bytes(2, "little")],
        "decided by 64 bits (a search)": [prefix, later],
    }
    if noise.bits > 64:
        ways["a tie, decided by all bits"] = [prefix, rest, bytes((noise.bits - 64) // 8)]

    def drawn(words: list[bytes]) -> Work:
        source = chosen(words)
        return lambda: noise._draw(1, source)

    return {name: drawn(words) for name, words in ways.items()}


def rejections() -> dict[str, Work]:
    """A uniform integer below 2^64 + 1, of which half the draws are rejected."""
    limit = (1 << 64) + 1
    size = (limit.bit_length() + 7) // 8
    refused, taken = b"\xff" * size, bytes(size)

    def drawn(words: list[bytes]) -> Work:
        bits = Bits(chosen(words))
        return lambda: bits.below(limit)

    return {f"{tries} draws rejected": drawn([refused] * tries + [taken]) for tries in (0, 1, 4)}


def climbs() -> dict[str, Work]:
    """A ladder of 200 rungs that is left at the rung beyond which no record lies."""
    ladder = Ladder(rungs=tuple(range(200)), side=1, target=3, epsilon=Fraction(1))
    return {
        f"the last record lies at rung {rung}": (
            lambda rung=rung: ladder.draw([ladder.limit] * rung + [0] * (200 - rung), Bits())
        )
        for rung in (5, 50, 190)
    }


def released(values: Any, **parameters: Any) -> Work:
    return lambda: flexdp.release(values, **{**SPEND, **parameters})


def answers() -> dict[str, dict[str, Work]]:
    """Whole releases of asked answers, by the shape of the data."""
    rng = np.random.default_rng(1)
    asked: dict[str, Any] = {"delta": 0}
    spread, clustered = rng.normal(size=RECORDS), np.round(rng.normal(size=RECORDS), 1)
    far = {}
    for size in (1.0, 1e3, 1e6, 1e12):
        values = rng.random(RECORDS)
        values[:200] *= size
        far[f"largest values near {size:.0e}"] = released(values, ask=["max"], **asked)
    return {
        "Maximum: how far the largest values lie (rungs to climb)": far,
        "Median: how many records share a value (window)": {
            "every value its own": released(spread, ask=["median"], **asked),
            "about 80 values": released(clustered, ask=["median"], **asked),
            "one value": released(np.ones(RECORDS), ask=["median"], **asked),
        },
        "Automatic buckets": {
            "every value its own": released(spread),
            "about 80 values": released(clustered),
            "one value": released(np.ones(RECORDS)),
        },
    }


def counts() -> dict[str, dict[str, Work]]:
    """Whole releases of buckets: how many are not empty, and how many records there are."""
    rng = np.random.default_rng(2)
    buckets = {
        f"{many} buckets that are not empty": released(rng.integers(0, many, RECORDS).astype(float), width=1)
        for many in (10, 1000, 100_000)
    }
    sizes = {f"{size} records": released(rng.random(size) * 100, width=1) for size in (2_000, 20_000, 200_000)}
    return {"Buckets of width 1, 200 000 records": buckets, "Buckets of width 1, about 100 of them": sizes}


def neighbours(rounds: int) -> None:
    """One record more, in a bucket of its own: the difference in time beside its spread."""
    calm = np.arange(20_000) % 100 + 0.5
    pair = {"without": released(calm, width=1), "with": released(np.append(calm, 500.5), width=1)}
    seen: dict[str, list[float]] = {name: [] for name in pair}
    for _ in range(rounds * 20):
        for name, work in pair.items():
            begun = time.process_time()
            work()
            seen[name].append(time.process_time() - begun)
    gap = statistics.fmean(seen["with"]) - statistics.fmean(seen["without"])
    spread = statistics.stdev(seen["without"])
    error = spread * (2 / len(seen["with"])) ** 0.5
    print("\nOne record more, in a bucket of its own (20 000 records, 100 buckets)")
    print(f"  difference {gap * 1e3:.3f} ms ± {error * 1e3:.3f} (standard error), of {len(seen['with'])} runs each;")
    print(f"  a single run varies by {spread * 1e3:.2f} ms (standard deviation)")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    tell("Noise of one bucket, δ = 1e-20 (random bits)", medians(lookups(), rounds, 2000))
    tell("A uniform integer (random bits)", medians(rejections(), rounds, 2000))
    tell("A ladder, drawn", medians(climbs(), rounds, 20))
    for title, works in (answers() | counts()).items():
        tell(title, medians(works, rounds))
    neighbours(rounds)


if __name__ == "__main__":
    main()
