"""What other libraries answer about the shipped flights: written to the file that ``flexdp demo`` shows beside its own.

Five questions share ε = 1, as flexdp's answers do, so each peer has ε/5 for each. Bounds are those of the panel: good
ones, the next 1, 2 or 5 × 10^k beyond all records, and bounds 1000 times as wide. Where a library offers several ways,
the one with the smallest median error is shown. Run it in the environment of ``make bench-panel``: ``make bench-demo``.
"""

from __future__ import annotations

import datetime as dt
import json
import statistics
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import duckdb
import numpy as np
from _peers import PEERS, Task, ask_peer

import flexdp

RUNS = 25
QUESTIONS = {"maximum": "max", "minimum": "min", "median": "median", "99th percentile": "q99", "mean": "mean"}
LIBRARIES = {"OpenDP": "opendp", "diffprivlib": "diffprivlib", "PyDP": "python-dp"}
BOUNDS = {"good": (-50, 2000), "wide": (-50_000, 2_000_000)}
PLACE = Path(str(files("flexdp"))) / "data" / "peers.json"


def main() -> None:
    path = str(files("flexdp") / "data" / "flights.parquet")
    column = "SELECT departure_delay::BIGINT FROM read_parquet(?) WHERE departure_delay IS NOT NULL"
    values = np.array(duckdb.execute(column, [path]).fetchnumpy()["CAST(departure_delay AS BIGINT)"])
    exact = {
        "maximum": float(values.max()),
        "minimum": float(values.min()),
        "median": float(np.quantile(values, 0.5, method="inverted_cdf")),
        "99th percentile": float(np.quantile(values, 0.99, method="inverted_cdf")),
        "mean": float(values.mean()),
    }
    tasks = {name: Task(values, float(low), float(high)) for name, (low, high) in BOUNDS.items()}
    answers: dict[str, dict[str, dict[str, list[float]]]] = {}
    for library in LIBRARIES:
        ways = [peer for peer in PEERS if peer.split(",")[0] == library]
        answers[library] = {}
        for question, statistic in QUESTIONS.items():
            answers[library][question] = {
                bounds: _best(ways, task, statistic, exact[question]) for bounds, task in tasks.items()
            }
            print(library, question, exact[question], answers[library][question])
    found = {
        "measured": dt.date.today().isoformat(),
        "command": "make bench-demo",
        "runs": RUNS,
        "epsilon": 1,
        "questions": len(QUESTIONS),
        "bounds": BOUNDS,
        "versions": {library: version(package) for library, package in LIBRARIES.items()},
        "lowest, median and highest answer": answers,
        "flexdp": _flexdp(path),
    }
    PLACE.write_text(json.dumps(found, indent=1) + "\n")


def _flexdp(path: str) -> dict[str, list[float]]:
    """The same of flexdp, without bounds, all five asked for in one release with δ = 0."""
    drawn: dict[str, list[float]] = {question: [] for question in QUESTIONS}
    asked = ["max", "min", "median", "q0.99", "mean"]
    for _ in range(RUNS):
        one = flexdp.release(path, "departure_delay", epsilon=1, delta=0, ask=asked)
        for answer in (one.max(), one.min(), one.median(), one.quantile("0.99"), one.mean()):
            drawn[answer.name].append(float(answer.value))
    return {
        question: [round(sorted(values)[place], 4) for place in (0, RUNS // 2, -1)]
        for question, values in drawn.items()
    }


def _best(ways: list[str], task: Task, statistic: str, exact: float) -> list[float]:
    """The lowest, median and highest answer of the way with the smallest median error."""
    tried = []
    for peer in ways:
        given = [ask_peer(peer, task, statistic, 1 / len(QUESTIONS)) for _ in range(RUNS)]
        numbers = sorted(value for value in given if value is not None)
        if len(numbers) == RUNS:
            tried.append((statistics.median(abs(value - exact) for value in numbers), numbers))
    return [round(min(tried)[1][place], 4) for place in (0, RUNS // 2, -1)]


if __name__ == "__main__":
    main()
