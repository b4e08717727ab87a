"""Accuracy and speed of releases with automatic buckets, which take nothing but ε and δ.

Accuracy: laws × numbers of records × ε. For each release, the share of records left out, the number of buckets, and the
largest distance between the distribution functions of the data and of the release, whose counts are corrected for
their mean loss and spread evenly over closed buckets; a bucket of one value is a jump, an open end falls exponentially
and continues its neighbour's density. Data comes from seeds that are stated, noise from the operating system.

Speed (``--speed``): a default release of doubles in memory against sorting them once; of a Parquet file against a bare
GROUP BY in DuckDB.

    python benchmarks/panel_automatic.py --records 10000 100000 --runs 3
    python benchmarks/panel_automatic.py --speed 1000000 10000000
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

import flexdp

SEED = 20261
Array = NDArray[Any]


def laws() -> dict[str, Callable[[np.random.Generator, int], Array]]:
    """The columns: smooth, heavy, tied, spiked, far apart; integers and numbers; the last one is real."""
    with as_file(files("flexdp") / "data" / "flights.parquet") as path, duckdb.connect() as con:
        rows = con.execute("SELECT departure_delay FROM read_parquet(?)", [str(path)]).fetchnumpy()
    delay = np.ma.compressed(rows["departure_delay"]).astype(np.int64)
    return {
        "normal": lambda rng, n: np.round(rng.normal(50, 12, n), 2),
        "ages": lambda rng, n: (rng.beta(2, 3, n) * 100).astype(np.int64),
        "costs": lambda rng, n: np.round(rng.lognormal(7, 1.3, n), 2),
        "exponential": lambda rng, n: rng.exponential(3, n),
        "pareto": lambda rng, n: np.round(1000 * (1 + rng.pareto(1.5, n)), 2),
        "cauchy": lambda rng, n: np.clip(rng.standard_cauchy(n), -1e9, 1e9),
        "epoch": lambda rng, n: (1.7e9 + rng.uniform(0, 3e6, n)).astype(np.int64),
        "tiny": lambda rng, n: rng.gamma(2, 1e-7, n),
        "zero-inflated": lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, np.round(rng.gamma(2, 30, n), 1)),
        "two modes": lambda rng, n: np.where(rng.random(n) < 0.5, rng.normal(0, 1, n), rng.normal(1e7, 10, n)),
        "constant": lambda _, n: np.full(n, 7.0),
        "delays": lambda rng, n: rng.choice(delay, n),
    }


def distribution(release: Any, points: Array) -> tuple[Array, Array]:
    """The release's distribution function just below and at some points; an integer reaches to the next one."""
    if release.kind == "integer":
        return _below(release, points.astype(float))[0], _below(release, points + 1.0)[0]
    return _below(release, points)


def _below(release: Any, points: Array) -> tuple[Array, Array]:
    mean = float(release.noise.mean_drop())
    knots: list[tuple[float, float, float]] = []
    for bucket, count in zip(release.buckets, release.bars.counts.tolist(), strict=True):
        knots.append((bucket.lower, bucket.upper + int(release.kind != "number"), count + mean))
    total = sum(records for _, _, records in knots)
    below, at = np.zeros(len(points)), np.zeros(len(points))
    closed = [(low, high, n) for low, high, n in knots if math.isfinite(low) and math.isfinite(high) and high > low]
    for low, high, records in knots:
        if low == high:
            below += records * (points > low)
            at += records * (points >= low)
            continue
        if math.isfinite(low) and math.isfinite(high):
            part = np.clip((points - low) / (high - low), 0, 1)
        elif not closed:
            part = (points >= (low if math.isfinite(low) else high)).astype(float)
        else:
            beside = closed[-1] if math.isfinite(low) else closed[0]
            width, density = beside[1] - beside[0], beside[2] / (beside[1] - beside[0])
            scale = min(max(records / density, width / 20), 20 * width)
            away = (points - low) if math.isfinite(low) else (high - points)
            fall = np.exp(-np.maximum(away, 0) / scale)
            part = np.where(away < 0, 0.0, 1 - fall) if math.isfinite(low) else np.where(away < 0, 1.0, fall)
        below += records * part
        at += records * part
    return below / total, at / total


def judged(values: Array, epsilon: str) -> tuple[float, int, float, str]:
    """The share left out, the number of buckets, the distance of distribution functions, and the maximum in words."""
    release: Any = flexdp.release(values, epsilon=epsilon, delta="1e-6")
    if release.budget is None:
        return math.nan, 0, math.nan, "five answers" if release.survived else "too few"
    points, counts = np.unique(values, return_counts=True)
    true = np.cumsum(counts) / len(values)
    below, at = distribution(release, points)
    distance = max(np.abs(at - true).max(), np.abs(below - (true - counts / len(values))).max())
    return 1 - release.bars.size / len(values), len(release.bars), float(distance), release.max().text


def panel(records: list[int], epsilons: list[str], runs: int) -> None:
    """Print a line for each column, number of records and ε: medians over the runs, and the worst."""
    for n in records:
        for epsilon in epsilons:
            lost, distances = [], []
            for place, (name, law) in enumerate(laws().items()):
                rng = np.random.default_rng([SEED, place, n])
                found = [judged(law(rng, n), epsilon) for _ in range(runs)]
                left, bars, distance = (np.array([each[i] for each in found], dtype=float) for i in range(3))
                print(
                    f"{n:>8} ε={epsilon:<4} {name:14} lost {100 * np.median(left):5.2f} % (worst "
                    f"{100 * left.max():5.2f})  buckets {np.median(bars):4.0f}  KS {np.median(distance):.4f} (worst "
                    f"{distance.max():.4f})  max {found[0][3]}",
                    flush=True,
                )
                lost.append(left.max())
                distances.append(np.median(distance))
            print(
                f"{n:>8} ε={epsilon:<4} all            lost at most {100 * max(lost):.2f} %, KS median "
                f"{np.median(distances):.4f}, worst column {max(distances):.4f}",
                flush=True,
            )


def timed(work: Callable[[], Any], times: int = 3) -> tuple[float, float]:
    """The smallest processor time and the smallest time on the clock."""
    found = []
    for _ in range(times):
        wall, used = time.perf_counter(), time.process_time()
        work()
        found.append((time.process_time() - used, time.perf_counter() - wall))
    return min(each[0] for each in found), min(each[1] for each in found)


def speed(sizes: list[int]) -> None:
    """Print the time of a default release in memory and of a file."""
    for n in sizes:
        values = np.random.default_rng(SEED).lognormal(5, 1, n)
        release = timed(lambda values=values: flexdp.release(values, epsilon=1, delta="1e-6"))  # type: ignore[misc]
        ordered = timed(lambda values=values: np.sort(values))  # type: ignore[misc]
        print(
            f"{n} doubles in memory: {release[0]:.2f} s of processor time ({release[1]:.2f} s), sorting once "
            f"{ordered[0]:.2f} s ({ordered[1]:.2f} s): {release[0] / ordered[0]:.2f}",
            flush=True,
        )
        with tempfile.TemporaryDirectory() as folder, duckdb.connect() as con:
            path = Path(folder) / "t.parquet"
            con.execute(f"COPY (SELECT exp(5 + random()) AS x FROM range({n})) TO '{path}' (FORMAT parquet)")
            release = timed(lambda path=path: flexdp.release(path, "x", epsilon=1, delta="1e-6"), 2)  # type: ignore[misc]
            bare = timed(
                lambda con=con, path=path: con.execute(  # type: ignore[misc]
                    f"SELECT floor(x / 10), count(*) FROM read_parquet('{path}') GROUP BY 1"
                ).fetchall()
            )
        print(
            f"{n} rows of Parquet: {release[0]:.2f} s of processor time ({release[1]:.2f} s), bare GROUP BY "
            f"{bare[0]:.2f} s ({bare[1]:.2f} s): {release[0] / bare[0]:.1f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="*", default=[10_000])
    parser.add_argument("--epsilon", nargs="*", default=["1"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--speed", type=int, nargs="*", default=[])
    given = parser.parse_args()
    if given.speed:
        speed(given.speed)
    else:
        panel(given.records, given.epsilon, given.runs)


if __name__ == "__main__":
    main()
