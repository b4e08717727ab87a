"""Distances: a million points on the line against sorting, two thousand in the plane against bare maximum flow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _timing import race, say
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from flexdp.distances import Weighted, lossy_w1, lossy_winf
from flexdp.distances import line as _line
from flexdp.distances import transport as _transport

POINTS, PLANE = 1_000_000, 2_000


def line() -> None:
    generator = np.random.default_rng(1)
    cases = {
        "shifted": (generator.normal(size=POINTS), generator.normal(0.1, 1.2, size=POINTS)),
        "same law": (generator.normal(size=POINTS), generator.normal(size=POINTS)),
        "heavy tails": (generator.standard_cauchy(POINTS), 1.5 * generator.standard_cauchy(POINTS)),
        "7 fewer": (generator.normal(size=POINTS), generator.random(POINTS - 7)),
    }
    compiled = "compiled" if _line._compiled() else "NOT compiled (numba is absent)"
    for name, (x, y) in cases.items():
        lossy_winf(x, y, "0.01")  # warm: compiles once
        best = race(
            {
                "sort": lambda x=x, y=y: (np.sort(x), np.sort(y)),
                "zero": lambda x=x, y=y: lossy_winf(x, y),
                "lossy": lambda x=x, y=y: lossy_winf(x, y, "0.01"),
            },
            rounds=5,
        )
        say(f"np.sort of both, 10^6 points, {name}", best["sort"])
        say("  W∞, γ = 0", best["zero"], best["zero"] / best["sort"], "≤ 1.5")
        say(f"  W∞, γ = 0.01, {compiled}", best["lossy"], best["lossy"] / best["sort"], "≤ 15")
    x, y = cases["shifted"]
    heavy = Weighted(x, generator.integers(1, 100, POINTS))
    best = race({"weighted": lambda: lossy_winf(heavy, y, "0.01"), "W1": lambda: lossy_w1(x, y)}, rounds=3)
    say("  W∞, γ = 0.01, unequal weights", best["weighted"])
    say("  W1, θ = 0", best["W1"])
    half = POINTS // 2
    growth = race(
        {
            "one": lambda: lossy_winf(x[:half], y[:half], "0.01"),
            "two": lambda: lossy_winf(x, y, "0.01"),
        },
        rounds=5,
    )
    print(f"    doubling the points: {growth['two'] / growth['one']:.2f}×")


def bare_graph(edges: _transport.Edges, a: Any, b: Any) -> Any:
    n, m = len(a), len(b)
    starts = np.concatenate((edges.rows, np.arange(n, n + m), np.full(n, n + m)))
    ends = np.concatenate((edges.columns + n, np.full(m, n + m + 1), np.arange(n)))
    capacities = np.concatenate((a[edges.rows], b, a)).astype(np.int32)
    places = (starts.astype(np.int32), ends.astype(np.int32))  # the type that scipy's flow uses: nothing to convert
    return csr_array((capacities, places), shape=(n + m + 2, n + m + 2))


def plane() -> None:
    generator = np.random.default_rng(2)
    x, y = generator.random((2, PLANE, 2))
    weights = generator.integers(1, 100, PLANE)
    cases: dict[str, tuple[Any, Any, str]] = {
        "equal weights, γ = 0": (x, y, "0"),
        "equal weights, γ = 0.01": (x, y, "0.01"),
        "unequal weights, γ = 0": (Weighted(x, weights), Weighted(y, weights[::-1]), "0"),
        "unequal weights, γ = 0.01": (Weighted(x, weights), Weighted(y, weights[::-1]), "0.01"),
        "far apart, γ = 0.01": (x, y + np.array([1.0, 0.0]), "0.01"),
    }
    original = _transport.flow
    for name, (p, q, gamma) in cases.items():
        calls: list[tuple[Any, Any, Any]] = []

        def noted(edges: Any, a: Any, b: Any, calls: list[Any] = calls) -> Any:
            calls.append((edges, a, b))
            return original(edges, a, b)

        _transport.flow = noted
        lossy_winf(p, q, gamma)
        _transport.flow = original
        best = race({"ours": lambda p=p, q=q, gamma=gamma: lossy_winf(p, q, gamma)}, rounds=1)
        say(f"{PLANE}×{PLANE} points in the plane, {name}", best["ours"])
        graphs = [bare_graph(*call) for call in calls]
        bare: dict[str, Callable[[], object]] = {
            "ours": lambda calls=calls: [original(*call) for call in calls],
            "bare": lambda graphs=graphs: [
                maximum_flow(graph, 2 * PLANE, 2 * PLANE + 1).flow_value for graph in graphs
            ],
        }
        flows = race(bare, rounds=3)
        label = f"  its {len(calls)} flows, against scipy's on prebuilt graphs"
        say(label, flows["ours"], flows["ours"] / flows["bare"], "≤ 1.3")
    small = lossy_seconds(x[: PLANE // 2], y[: PLANE // 2])
    print(f"    doubling both sides: {lossy_seconds(x, y) / small:.2f}× (four times the pairs)")


def lossy_seconds(x: Any, y: Any) -> float:
    started = time.perf_counter()
    lossy_winf(x, y, "0.01")
    return time.perf_counter() - started


if __name__ == "__main__":
    line()
    plane()
