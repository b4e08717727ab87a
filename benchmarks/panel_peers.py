"""Accuracy of sharp answers beside other libraries: columns × statistics × records × ε, on seeds that tuned nothing.

    make bench-panel [PANEL="--share 1/2 --sets 8 --draws 8 --wide 0 --workers 4 --journal cells.jsonl"]

Every answer has all of ε to itself. flexdp is given no bounds. Each peer is given good bounds, those that an expert
may know without the records, and then bounds that are 1000 times as wide; ``--hugging`` gives it twice the range of the
very records instead. A cell is one column, statistic, number of records and ε. One method wins a cell if its median
error is smaller by more than 20 %; "clearly", if a rank-sum test of the errors at 5 % finds a difference as well.

Medians of few errors differ by chance: with eight exponential errors each, either of two equal methods is 20 % ahead in
39 % of cells, and the best of five methods equal to a sixth is 20 % ahead of it in 75 %; with 64 errors, 24 % and 56 %.
``--thin 8`` reports a journal as if so many answers had been asked. A journal is resumed where it stopped. ``--share``
takes a part of the cells, drawn by a fixed seed from those of each column and statistic.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from _cells import EXACT, OURS, STATISTICS, WIDE, Cell, Truth, report, thinned
from _columns import LAWS, Law, flights, real_columns, sampled
from _peers import PEERS, Task, ask_peer, check_diffprivlib, check_opendp
from _pool import Pool

from flexdp.mechanisms.program import run
from flexdp.noise.bits import Bits
from flexdp.sharp.answers import ask
from flexdp.sharp.column import Column
from flexdp.sharp.count import NoisyCount
from flexdp.sharp.mean import ask_mean

HELD_OUT, TUNING = 772_301, 771_001  # earlier runs, whose losses were looked at, had 771_301, 771_601 and 771_901
_BITS = Bits(Pool())
_SAMPLE = 771  # chooses the cells of a share
_FEWER = 2  # answers about a set by the slowest, PyDP without bounds


def ours(column: Column, size: int, statistic: str, epsilon: Fraction) -> float | None:
    """One answer with all of ε; None if it is refused for want of records."""
    if statistic == "count":
        return NoisyCount(epsilon=epsilon).draw(size, _BITS)
    if statistic == "mean":
        averaged = run(ask_mean(epsilon, column.scale), column, _BITS).value
        return None if averaged.too_few else float(averaged.mean)
    level = Fraction(EXACT[statistic])
    found = run(ask([level], epsilon, column.scale), column, _BITS).value
    return None if found.too_few else float(found.value(level))


def good_bounds(name: str, real: dict[str, np.ndarray]) -> tuple[float, float]:
    """What an expert may know without the records: the next 1, 2 or 5 × 10^k beyond all of a column or 10^6 draws."""
    values = real[name] if name in real else LAWS[name](np.random.default_rng(1), 10**6)
    low, high = float(values.min()), float(values.max())
    return (-_next(-low) if low < 0 else _last(low)), (_next(high) if high > 0 else -_last(-high))


def _next(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def _last(value: float) -> float:
    if not value:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (5, 2, 1) if step * power <= value)


def hugging_bounds(ordered: np.ndarray) -> tuple[float, float]:
    """Twice the range of the very records; data of one sign stays on its side. No private bounds are that good."""
    low, high = float(ordered[0]), float(ordered[-1])
    width = (high - low) or max(1.0, abs(high))
    grain = 10.0 ** (math.floor(math.log10(width)) - 1)
    down, up = math.floor((low - width / 2) / grain) * grain, math.ceil((high + width / 2) / grain) * grain
    return (0.0 if low >= 0 > down else down), (0.0 if high <= 0 < up else up)


def wide_bounds(low: float, high: float) -> tuple[float, float]:
    """1000 times as wide, around the same middle; data of one sign stays on its side."""
    middle, half = (low + high) / 2, 500 * (high - low)
    return (0.0 if low >= 0 else middle - half), (0.0 if high <= 0 else middle + half)


@dataclass(frozen=True)
class Work:
    """The cells of one column and number of records: which (statistic, ε), and how often each is answered."""

    name: str
    size: int
    asked: tuple[tuple[str, str], ...]
    sets: int
    draws: int
    wide: int
    seed: int
    hugging: bool = False
    peers: tuple[str, ...] = PEERS

    @property
    def key(self) -> list[str | int]:
        return [self.name, self.size, *map(" ".join, self.asked), *self._how, *self.peers]

    @property
    def _how(self) -> tuple[int, ...]:
        return self.sets, self.draws, self.wide, self.seed, self.hugging


@lru_cache(maxsize=1)
def _real() -> dict[str, np.ndarray]:
    return real_columns()


def _law(name: str) -> Law:
    return LAWS[name] if name in LAWS else sampled(_real()[name])


def plan(
    names: Collection[str], sizes: list[int], epsilons: list[str], skip: Fraction, share: Fraction
) -> dict[tuple[str, int], list[tuple[str, str]]]:
    """The (statistic, ε) to ask about each column and number of records: of every column and statistic the same part
    of the cells, in an order drawn by a fixed seed.
    """
    chosen: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for name, statistic in itertools.product(names, STATISTICS):
        most = len(_real()[name]) if name in _real() else max(sizes)
        cells = list(itertools.product(sorted({min(size, most) for size in sizes}), epsilons))
        rng = np.random.default_rng([_SAMPLE, *f"{name} {statistic}".encode()])
        first, last = math.ceil(skip * len(cells)), math.ceil(share * len(cells))
        for place in sorted(rng.permutation(len(cells))[first:last]):
            size, text = cells[place]
            chosen.setdefault((name, size), []).append((statistic, text))
    return chosen


def measure(work: Work) -> list[Cell]:
    """Ask flexdp and every peer; bounds that are too wide are tried a few times on the first set."""
    rng = np.random.default_rng([work.seed, work.size, *work.name.encode()])
    bounds = None if work.hugging else good_bounds(work.name, _real())
    cells: dict[tuple[str, str], Cell] = {}
    for turn in range(work.sets):
        values = _law(work.name)(rng, work.size)
        column, truth = Column.from_values(values), Truth(values)
        low, high = hugging_bounds(truth.ordered) if bounds is None else bounds
        tasks = {"": Task(values, low, high), WIDE: Task(values, *wide_bounds(low, high))}
        for (statistic, text), draw in itertools.product(work.asked, range(work.draws)):
            cell = cells.setdefault((statistic, text), Cell(work.name, statistic, len(values), text))
            given = ours(column, len(values), statistic, Fraction(text))
            cell.asked += 1
            if given is None:
                cell.refused += 1
            else:
                cell.note(OURS, truth, given)
                cell.far += statistic in ("min", "max") and abs(given - truth.quantile(statistic)) > 2 * truth.range
            for (suffix, task), peer in itertools.product(tasks.items(), work.peers):
                if suffix and (peer == "PyDP, own bounds" or turn or draw >= work.wide):
                    continue
                if peer == "PyDP, own bounds" and draw >= _FEWER:
                    continue
                answer = ask_peer(peer, task, statistic, float(text))
                if answer is not None:
                    cell.note(peer + suffix, truth, answer)
    return list(cells.values())


def _measured(work: Work) -> tuple[Work, list[Cell], float]:
    started = time.process_time()
    return work, measure(work), time.process_time() - started


def carry_out(works: list[Work], workers: int, journal: Path | None) -> Iterator[list[Cell]]:
    """Measure what a journal does not hold yet, the largest first, in processes of their own; add to the journal."""
    done: dict[str, list[Cell]] = {}
    if journal is not None and journal.exists():
        for line in journal.read_text().splitlines():
            entry = json.loads(line)
            done[json.dumps(entry["work"])] = [Cell(**cell) for cell in entry["cells"]]
    left = []
    for work in sorted(works, key=lambda work: -work.size):
        if (key := json.dumps(work.key)) in done:
            yield done[key]
        else:
            left.append(work)
    spent = 0.0
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(_measured, work) for work in left]):
            work, cells, seconds = future.result()
            spent += seconds
            print(f"{work.name:12s}{work.size:8d}{seconds:8.0f} s, {spent:.0f} s in all", flush=True)
            if journal is not None:
                entry = {"work": work.key, "cells": [cell.as_json() for cell in cells]}
                with journal.open("a") as file:
                    file.write(json.dumps(entry) + "\n")
            yield cells


def counts(epsilons: list[str], draws: int) -> None:
    """The number of records: all libraries add discrete Laplace noise of scale 1/ε, so many draws are compared."""
    values = np.arange(1000.0)
    column, task = Column.from_values(values), Task(values, 0.0, 1000.0)
    print(f"\ncount: mean absolute error of {draws} answers")
    for text in epsilons:
        errors = {OURS: [abs(ours(column, 1000, "count", Fraction(text)) - 1000) for _ in range(draws)]}
        for peer in PEERS:
            given = [ask_peer(peer, task, "count", float(text)) for _ in range(draws)]
            if given[0] is not None:
                errors[peer] = [abs(answer - 1000) for answer in given]
        print(f"  ε = {text:5s}" + "".join(f"{name} {np.mean(error):.3f}   " for name, error in errors.items()))


def flight_targets(runs: int) -> None:
    """The answers on the flights that ship with flexdp, at ε = 1."""
    values = flights()
    column, truth = Column.from_values(values), Truth(values)
    targets = {"median": "−2", "q99": "191", "q999": "within 2", "max": "≥ 800", "min": "none"}
    print(f"\nflights, {len(values)} records, ε = 1, {runs} answers: least, 5 %, median, 95 %, most")
    for statistic, target in targets.items():
        given = [ours(column, len(values), statistic, Fraction(1)) for _ in range(runs)]
        drawn = sorted(answer for answer in given if answer is not None)
        shown = "".join(f"{drawn[int(q * (len(drawn) - 1))]:8.0f}" for q in (0, 0.05, 0.5, 0.95, 1))
        exact = truth.quantile(statistic)
        near = sum(abs(answer - exact) <= 2 for answer in drawn)
        print(f"  {statistic:8s}{shown}   exact {exact:.0f}, {near} within 2   target {target}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=8, help="sets of records in a cell")
    parser.add_argument("--draws", type=int, default=8, help="answers about each of them")
    parser.add_argument(
        "--wide", type=int, default=2, help="answers with bounds 1000 times as wide, about the first set"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**3, 10**4, 10**5])
    parser.add_argument("--epsilons", nargs="+", default=["0.1", "0.3", "1", "3"])
    parser.add_argument("--columns", nargs="+", help="only these columns")
    parser.add_argument("--share", type=Fraction, default=Fraction(1), help="the part of the cells, such as 1/2")
    parser.add_argument("--skip", type=Fraction, default=Fraction(0), help="the part of them that another run did")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS, help="only these peer methods")
    parser.add_argument("--hugging", action="store_true", help="give peers twice the range of the very records")
    parser.add_argument("--tuning", action="store_true", help="the seeds on which constants may be tuned")
    parser.add_argument("--workers", type=int, default=1, help="processes at once")
    parser.add_argument("--journal", type=Path, help="where to keep the errors of every cell, to be resumed")
    parser.add_argument("--report", type=Path, nargs="+", help="only report the cells of these journals")
    parser.add_argument("--thin", type=int, help="report only so many answers of a cell")
    parser.add_argument("--flights", type=int, default=100, help="answers about the flights; 0 for none")
    given = parser.parse_args()
    if given.report is not None:
        lines = [json.loads(line) for path in given.report for line in path.read_text().splitlines()]
        cells = [Cell(**cell) for line in lines for cell in line["cells"]]
        report(cells if given.thin is None else [thinned(cell, given.thin) for cell in cells])
        return
    names = ("opendp", "diffprivlib", "python-dp", "numpy")
    print(", ".join(f"{name} {version(name)}" for name in names))
    check_diffprivlib()
    check_opendp()
    columns = [name for name in (*LAWS, *_real()) if given.columns is None or name in given.columns]
    seed = TUNING if given.tuning else HELD_OUT
    works = [
        Work(name, size, tuple(asked), given.sets, given.draws, given.wide, seed, given.hugging, tuple(given.peers))
        for (name, size), asked in plan(columns, given.sizes, given.epsilons, given.skip, given.share).items()
    ]
    cells = [cell for done in carry_out(works, given.workers, given.journal) for cell in done]
    if given.flights and (given.columns is None or "flights" in given.columns):
        flight_targets(given.flights)
        counts(given.epsilons, 1000)
    report(cells)
    print(f"\n{len(cells)} cells, {given.sets} × {given.draws} answers each")


if __name__ == "__main__":
    main()
