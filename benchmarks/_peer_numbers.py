"""Numbers: what ``panel_peers`` asks of each library, and besides sums, counts and PipelineDP."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import diffprivlib.tools as diffprivlib
import numpy as np
import opendp.prelude as opendp
import pipeline_dp
from _peers import LEVELS, Task, ask_peer
from panel_peers import OURS, WIDE, Truth, ours, wide_bounds
from pydp.algorithms import laplacian as pydp

from flexdp.mechanisms.program import run
from flexdp.noise.bits import Bits
from flexdp.sharp.column import Column
from flexdp.sharp.mean import ask_mean

STATISTICS = ("min", "q01", "median", "q99", "max", "count", "sum", "mean")
PEERS = ("OpenDP, even", "OpenDP, geometric", "diffprivlib", "PyDP", "PyDP, tree", "PipelineDP")
_SLOW_ROWS = 200_000  # records from which PipelineDP's local backend takes seconds an answer


def _ours(column: Column, size: int, statistic: str, epsilon: Fraction) -> float | None:
    if statistic != "sum":
        return ours(column, size, statistic, epsilon)
    averaged = run(ask_mean(epsilon, column.scale), column, Bits()).value
    return None if averaged.too_few else float(averaged.total)


@lru_cache(maxsize=64)
def _opendp_sum(low: float, high: float, records: int, epsilon: float) -> Any:
    """The sum of a known number of records; a changed record is one removed and one added."""
    domain = opendp.vector_domain(opendp.atom_domain(bounds=(low, high), nan=False), size=records)
    space = domain, opendp.symmetric_distance()
    return opendp.binary_search_chain(lambda s: space >> opendp.t.then_sum() >> opendp.m.then_laplace(s), 2, epsilon)


def _sum(peer: str, task: Task, epsilon: float) -> float | None:
    if peer == "OpenDP, even":
        return float(_opendp_sum(task.low, task.high, len(task.values), epsilon)(task.values))
    if peer == "diffprivlib":
        return float(diffprivlib.sum(task.values, epsilon=epsilon, bounds=(task.low, task.high)))
    if peer == "PyDP":
        summed = pydp.BoundedSum(epsilon=epsilon, lower_bound=task.low, upper_bound=task.high, dtype="float")
        return float(summed.quick_result(task.listed))
    return None


def _pipeline(task: Task, statistic: str, epsilon: float) -> float | None:
    if len(task.values) > _SLOW_ROWS:
        return None
    metrics = pipeline_dp.Metrics
    plain = {"count": metrics.COUNT, "sum": metrics.SUM, "mean": metrics.MEAN}
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=1e-12)  # no δ is spent
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        metrics=[plain[statistic] if statistic in plain else metrics.PERCENTILE(100 * LEVELS[statistic])],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=task.low,
        max_value=task.high,
        contribution_bounds_already_enforced=True,
    )
    extractors = pipeline_dp.DataExtractors(partition_extractor=lambda _: 0, value_extractor=lambda value: value)
    result = engine.aggregate(task.listed, params, extractors, public_partitions=[0])
    accountant.compute_budgets()
    return float(next(iter(result))[1][0])


def _peer(peer: str, task: Task, statistic: str, epsilon: float) -> float | None:
    if peer != "PipelineDP" and statistic != "sum":
        return ask_peer(peer, task, statistic, epsilon)
    given = _sum(peer, task, epsilon) if peer != "PipelineDP" else _pipeline(task, statistic, epsilon)
    if given is None or statistic == "count":
        return given
    value = given / task.factor
    return float(np.rint(value)) if task.integral and statistic in LEVELS else value


def errors(truth: Truth, statistic: str, given: float) -> dict[str, float]:
    """The error measures of one answer; the first decides who wins."""
    if statistic in LEVELS:
        return {"value": truth.value_error(statistic, given), "rank": truth.rank_error(statistic, given)}
    size = len(truth.ordered)
    exact = {"count": float(size), "mean": truth.mean, "sum": truth.mean * size}[statistic]
    error = abs(given - exact) / abs(exact)
    return {"relative": error if error > 1e-12 else 0.0}


def answers(
    values: np.ndarray, bounds: tuple[float, float], epsilon: str, peers: set[str] | None
) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Each method and statistic, and a function that gives the error measures of one answer.

    The function returns None for a refusal, and an empty dictionary where the library has no such statistic.
    """
    truth, column = Truth(values), Column.from_values(values)
    tasks = {"": Task(values, *bounds), WIDE: Task(values, *wide_bounds(*bounds))}

    def our(statistic: str) -> dict[str, float] | None:
        given = _ours(column, len(values), statistic, Fraction(epsilon))
        return None if given is None else errors(truth, statistic, given)

    def theirs(peer: str, task: Task, statistic: str) -> dict[str, float]:
        given = _peer(peer, task, statistic, float(epsilon))
        return {} if given is None else errors(truth, statistic, math.inf if math.isnan(given) else given)

    for statistic in STATISTICS:
        if peers is None or OURS in peers:
            yield OURS, statistic, lambda statistic=statistic: our(statistic)
        for suffix, task in tasks.items():
            if suffix and statistic == "count":
                continue  # needs no bounds
            for peer in PEERS:
                if peers is None or peer.split(",")[0] in peers:
                    yield (
                        peer + suffix,
                        statistic,
                        lambda peer=peer, task=task, statistic=statistic: theirs(peer, task, statistic),
                    )
