"""Noise for a million buckets: the integer table against numpy's float Laplace and OpenDP's exact one."""

from __future__ import annotations

import numpy as np
import opendp.prelude as dp
from _timing import race, say

from flexdp.noise import DropNoise

BARS, PEER_BARS, FEW, REPEATS = 1_000_000, 20_000, 1_000, 50


def main() -> None:
    noise = DropNoise(1, "1e-6")
    generator = np.random.default_rng()
    dp.enable_features("contrib")
    exact_laplace = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=1.0)
    heights = [100] * PEER_BARS
    best = race(
        {
            "ours": lambda: noise.sample(BARS),
            "numpy": lambda: generator.laplace(size=BARS),
            "few": lambda: [noise.sample(FEW) for _ in range(REPEATS)],
            "opendp": lambda: exact_laplace(heights),
        }
    )
    say("DropNoise.sample, 10^6 buckets", best["ours"])
    say("numpy Generator.laplace, 10^6 floats", best["numpy"], best["ours"] / best["numpy"], "≤ 0.7 (ours / numpy)")
    per_bucket = best["opendp"] / PEER_BARS
    say("OpenDP exact Laplace, per bucket", per_bucket, per_bucket / (best["ours"] / BARS), "≥ 500 (OpenDP / ours)")
    few = best["few"] / REPEATS
    say("DropNoise.sample, 10^3 buckets", few, few / 100e-6, "≤ 1 (of 100 µs)")
    for epsilon, delta in (("0.1", "1e-9"), ("0.01", "1e-6"), ("0.001", "1e-15")):
        other = DropNoise(epsilon, delta)
        growth = race({"one": lambda o=other: o.sample(BARS), "two": lambda o=other: o.sample(2 * BARS)}, rounds=5)
        say(f"  q = {other.q}, {other.bits} bits, 10^6 buckets", growth["one"])
        print(f"    doubling the buckets: {growth['two'] / growth['one']:.2f}×")


if __name__ == "__main__":
    main()
