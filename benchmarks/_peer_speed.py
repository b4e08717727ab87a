"""Speed beside peers: every contender once a round, in turn, by processor time; ratios are those within a round."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffprivlib.mechanisms as mechanisms
import diffprivlib.tools as diffprivlib
import duckdb
import numpy as np
import opendp.prelude as opendp
import ot
import polars as pl
from _peer_keys import DELTA, pipeline
from _peers import Task, ask_peer
from dp_accounting.pld.privacy_loss_distribution import from_laplace_mechanism
from pydp.algorithms.numerical_mechanisms import LaplaceMechanism
from pydp.algorithms.partition_selection import create_partition_strategy
from scipy.stats import wasserstein_distance

import flexdp
from flexdp.accounting import privacy_curve
from flexdp.distances import lossy_w1, lossy_winf
from flexdp.noise import DropNoise

opendp.enable_features("contrib")
Row = dict[str, Any]


def compete(case: str, contenders: dict[str, Callable[[], Any]], rounds: int, **more: Any) -> Row:
    """Run all once to warm up, then in turn; the first contender is what the others are compared with."""
    scale: dict[str, float] = more.pop("scale", {})
    values = {name: work() for name, work in contenders.items()}
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            started = time.process_time()
            work()
            taken[name].append((time.process_time() - started) * scale.get(name, 1.0))
    first = next(iter(contenders))
    found: Row = {"case": case, "rounds": rounds, "against": first, "contenders": {}, **more}
    for name, seconds in taken.items():
        ratios = [theirs / max(ours, 1e-9) for theirs, ours in zip(seconds, taken[first], strict=True)]
        found["contenders"][name] = {"seconds": _spread(seconds), "ratio": _spread(ratios)}
        if isinstance(values[name], float):
            found["contenders"][name]["value"] = float(f"{values[name]:.6g}")
    return found


def _spread(numbers: list[float]) -> list[float]:
    """Least, median and most, to three digits."""
    return [float(f"{value:.3g}") for value in (min(numbers), float(np.median(numbers)), max(numbers))]


def noise(quick: bool) -> list[Row]:
    drop, generator = DropNoise(1, "1e-6"), np.random.default_rng()
    exact = opendp.m.make_laplace(opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l1_distance(T=int), scale=1.0)
    geometric, google = mechanisms.Geometric(epsilon=1.0, sensitivity=1), LaplaceMechanism(1.0, 1.0)
    rows = []
    for values in (10**3, 10**5 if quick else 10**6):
        fewer = min(values, 10**4)  # the slow ones draw fewer, and their time is multiplied
        heights = [100] * fewer
        repeats = 100 if values == 10**3 else 1
        scale = dict.fromkeys(("OpenDP", "diffprivlib", "PyDP"), values / fewer) | dict.fromkeys(
            ("flexdp", "numpy, not private"), 1 / repeats
        )
        rows.append(
            compete(
                f"noise for {values:,} counts".replace(",", " "),
                {
                    "flexdp": lambda n=values, r=repeats: [drop.sample(n) for _ in range(r)],
                    "numpy, not private": lambda n=values, r=repeats: [generator.laplace(size=n) for _ in range(r)],
                    "OpenDP": lambda h=heights: exact(h),
                    "diffprivlib": lambda h=heights: [geometric.randomise(height) for height in h],
                    "PyDP": lambda h=heights: [google.add_noise(height) for height in h],
                },
                3 if quick else 7,
                scale=scale,
                note=f"OpenDP, diffprivlib and PyDP drew {fewer}" if fewer < values else "",
            )
        )
    return rows


def quantiles(quick: bool) -> list[Row]:
    size = 10**5 if quick else 10**6
    values = np.round(np.random.default_rng(3).lognormal(3, 1, size), 2)
    task = Task(values, 0.0, 10_000.0)
    names = ["min", "q01", "median", "q99", "max"]
    asked = ["min", "q0.01", "median", "q0.99", "max"]
    bounds = (0.0, 10_000.0)
    rounds = 3 if quick else 5
    small = values[: 10**5]
    rows = []
    for title, ours, theirs in (("one quantile", ["median"], ["median"]), ("five quantiles", asked, names)):
        contenders: dict[str, Callable[[], Any]] = {
            "flexdp": lambda a=ours: flexdp.release(values, epsilon=1, delta=0, ask=a),
            "OpenDP": lambda t=theirs: [ask_peer("OpenDP, even", task, name, 1 / len(t)) for name in t],
            "diffprivlib": lambda t=theirs: [_diffprivlib(small, name, bounds, 1 / len(t)) for name in t],
            "PyDP": lambda t=theirs: [ask_peer("PyDP", task, name, 1 / len(t)) for name in t],
        }
        rows.append(
            compete(
                f"{title} of {size:,} values".replace(",", " "),
                contenders,
                rounds,
                scale={"diffprivlib": size / len(small)},
                note="diffprivlib answered about 10^5 of them, multiplied" if size > len(small) else "",
            )
        )
    return rows


def _diffprivlib(values: np.ndarray, name: str, bounds: tuple[float, float], epsilon: float) -> float:
    level = {"min": 0.0, "q01": 0.01, "median": 0.5, "q99": 0.99, "max": 1.0}[name]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(diffprivlib.quantile(values, level, epsilon=epsilon, bounds=bounds))
        except RuntimeError:  # it takes its time before it fails where many values are equal
            return float("inf")


def _opendp_groups(frame: pl.LazyFrame, key: str = "key") -> int:
    context = opendp.Context.compositor(
        data=frame,
        privacy_unit=opendp.unit_of(contributions=1),
        privacy_loss=opendp.loss_of(epsilon=1.0, delta=DELTA),
        split_evenly_over=1,
        margins=[],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a default that is going to change
        return context.query().group_by(key).agg(opendp.len()).release().collect().height


def groups(quick: bool) -> list[Row]:
    rows, keys = (10**5, 10**3) if quick else (10**6, 10**4)
    drawn = np.random.default_rng(4).integers(0, keys, rows)
    frame = pl.DataFrame({"key": np.char.add("k", drawn.astype(str))})
    table = frame.to_arrow()
    bare = duckdb.connect()
    bare.register("rows", table)
    few = list(enumerate(frame["key"][: 10**5].to_list()))

    def pydp() -> int:
        keep, add = create_partition_strategy("truncated_geometric", 0.5, DELTA, 1), LaplaceMechanism(0.5, 1.0)
        counts = Counter(frame["key"].to_list())
        return len({key: add.add_noise(count) for key, count in counts.items() if keep.should_keep(count)})

    return [
        compete(
            f"counts of {keys:,} unknown text keys in {rows:,} rows".replace(",", " "),
            {
                "flexdp": lambda: flexdp.release(table, "key", epsilon=1, delta="1e-6"),
                "DuckDB's bare GROUP BY, not private": lambda: bare.execute(
                    "SELECT key, count(*) FROM rows GROUP BY 1"
                ).fetchnumpy(),
                "OpenDP, polars": lambda: _opendp_groups(frame.lazy()),
                "PyDP on Python's Counter": pydp,
                "PipelineDP, local": lambda: pipeline(few, 1.0, thresholding=False),
            },
            3 if quick else 5,
            scale={"PipelineDP, local": rows / len(few)},
            note="PipelineDP counted 10^5 of the rows, multiplied" if rows > len(few) else "",
        )
    ]


def _memory(work: Callable[[], Any], rows: int) -> float:
    """Bytes a row that Python and numpy hold at the most, while the work goes on."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / rows


def parquet(quick: bool) -> list[Row]:
    rows = 10**7 if quick else 10**8
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make = f"COPY (SELECT (random() * 10000)::INTEGER AS key FROM range({rows})) TO '{path}' (FORMAT parquet)"
        duckdb.execute("SET enable_progress_bar = false")
        duckdb.execute(make)
        found = compete(
            f"counts of 10 000 unknown integer keys in {rows:,} rows of Parquet".replace(",", " "),
            {
                "flexdp": lambda: flexdp.release(path, "key", epsilon=1, delta="1e-6", exact=True),
                "DuckDB's bare GROUP BY, not private": lambda: duckdb.execute(
                    f"SELECT key, count(*) FROM read_parquet('{path}') GROUP BY 1"
                ).fetchnumpy(),
                "OpenDP, polars": lambda: _opendp_groups(pl.scan_parquet(path)),
            },
            3,
        )
        few = 10**5
        keys = duckdb.execute(f"SELECT key FROM read_parquet('{path}') LIMIT {few}").fetchnumpy()["key"]
        in_memory = {
            "PyDP": lambda: Counter(keys.tolist()),
            "diffprivlib": lambda: diffprivlib.histogram(keys, epsilon=1.0, bins=10_001, range=(-0.5, 10_000.5)),
            "PipelineDP": lambda: pipeline([(0, key) for key in keys.tolist()], 1.0, thresholding=False),
        }
        each = {who: _memory(work, few) for who, work in in_memory.items()}
        found["in memory"] = {who: {"gigabytes": float(f"{size * rows / 1e9:.2g}")} for who, size in each.items()}
    return [found]


def distances(quick: bool) -> list[Row]:
    points, rounds = (10**5, 3) if quick else (10**6, 5)
    generator = np.random.default_rng(5)
    x, y = generator.normal(size=points), generator.normal(0.1, 1.2, points)
    lossy_winf(x[:100], y[:100], "0.01")  # compiles once
    plane = 200 if quick else 500
    a, b = generator.random((2, plane, 2))
    weights, cost = np.full(plane, 1 / plane), ot.dist(a, b, metric="euclidean")
    return [
        compete(
            f"W1 between two sets of {points:,} numbers".replace(",", " "),
            {
                "flexdp": lambda: float(lossy_w1(x, y).value),
                "POT, wasserstein_1d": lambda: float(ot.wasserstein_1d(x, y, p=1)),
                "POT, emd2_1d": lambda: float(ot.emd2_1d(x, y, metric="euclidean")),
                "scipy": lambda: float(wasserstein_distance(x, y)),
            },
            rounds,
        ),
        compete(
            f"W∞ between two sets of {points:,} numbers".replace(",", " "),
            {
                "flexdp, W∞, γ = 0": lambda: float(lossy_winf(x, y).value),
                "flexdp, W∞, γ = 0.01": lambda: float(lossy_winf(x, y, "0.01").value),
                "POT, wasserstein_1d (W1)": lambda: float(ot.wasserstein_1d(x, y, p=1)),
            },
            rounds,
            note="neither POT nor scipy has W∞, with or without a lossy part",
        ),
        compete(
            f"W1 between two sets of {plane} points in the plane",
            {
                "flexdp": lambda: float(lossy_w1(a, b).value),
                "POT, emd2": lambda: float(ot.emd2(weights, weights, ot.dist(a, b, metric="euclidean"))),
            },
            3,
        ),
        compete(
            f"partial W1 between two sets of {plane} points in the plane, 1 % ignored",
            {
                "flexdp": lambda: float(lossy_w1(a, b, "0.01").value),
                "POT, partial_wasserstein2": lambda: float(
                    ot.partial.partial_wasserstein2(weights, weights, cost, m=0.99)
                ),
            },
            3,
        ),
    ]


def composition(quick: bool) -> list[Row]:
    del quick
    rows = []
    for epsilon, delta, times in (("0.1", "1e-9", 100), ("0.01", "1e-12", 10_000)):
        noise = DropNoise(epsilon, delta)

        def peer(noise: DropNoise = noise, times: int = times) -> float:
            one = privacy_curve([noise]).to_dp_accounting()
            return float(one.self_compose(times).get_epsilon_for_delta(1e-6))

        def laplace(epsilon: str = epsilon, times: int = times) -> float:
            one = from_laplace_mechanism(1 / float(epsilon), value_discretization_interval=1e-4)
            return float(one.self_compose(times).get_epsilon_for_delta(1e-6))

        rows.append(
            compete(
                f"ε at δ = 1e-6 of {times:,} releases with ε = {epsilon}".replace(",", " "),
                {
                    "flexdp": lambda n=noise, t=times: float(privacy_curve([n] * t).epsilon_at("1e-6")),
                    "dp-accounting, the same noise": peer,
                    "dp-accounting, Laplace of the same ε": laplace,
                },
                3,
                note=f"basic composition: {times * float(epsilon):g}",
            )
        )
    return rows


CASES: dict[str, Callable[[bool], list[Row]]] = {
    "noise": noise,
    "composition": composition,
    "distances": distances,
    "groups": groups,
    "quantiles": quantiles,
    "parquet": parquet,
}
