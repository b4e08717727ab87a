"""Keys that nobody knows: counts, the keys that occur, the commonest and the ten commonest, from each library.

Where a library publishes counts of unknown keys, everything is read off one such release with all of (ε, δ). Where it
can select instead (noisy maximum, top k, permute-and-flip, partition selection alone) that is used for the one
statistic, with all of ε. Selection among a public list is tried with the list of exactly the keys that occur, and with
one up to 1000 times as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import cached_property, lru_cache
from typing import Any

import diffprivlib.mechanisms as mechanisms
import diffprivlib.tools as diffprivlib
import numpy as np
import opendp.prelude as opendp
import pipeline_dp
import pyarrow as pa
from _peer_tables import listed
from panel_peers import OURS, WIDE
from pydp.algorithms.numerical_mechanisms import LaplaceMechanism
from pydp.algorithms.partition_selection import create_partition_strategy

import flexdp

opendp.enable_features("contrib")

DELTA = 1e-6
STATISTICS = ("mode", "support", "top10", "counts")
DEBIASED = "flexdp, debiased"
_SLOW_ROWS = 200_000  # records from which PipelineDP's local backend takes seconds an answer


class KeyTask:
    """One table of keys, as each library sees it."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.counts: Counter[str] = Counter(values.tolist())

    @cached_property
    def arrow(self) -> pa.Table:
        return pa.table({"key": pa.array(self.values.tolist(), pa.string())})

    @cached_property
    def rows(self) -> list[tuple[int, str]]:
        return list(enumerate(self.values.tolist()))

    @lru_cache(maxsize=2)  # noqa: B019  (a task lives as long as its records)
    def list(self, times: int) -> tuple[list[str], list[int]]:
        names = listed(self.counts, times)
        return names, [self.counts[name] for name in names]


# ---- one release of counts, from which all four statistics are read


def _flexdp(task: KeyTask, epsilon: float, debias: bool = False) -> dict[str, float]:
    released = flexdp.release(task.arrow, "key", epsilon=str(epsilon), delta="1e-6")
    return dict(released.counts(debias=debias).value)


@lru_cache(maxsize=8)
def opendp_threshold(epsilon: float) -> tuple[float, int]:
    """The scale of the noise, and the lowest threshold with which δ suffices."""
    scale, low, high = 1 / epsilon, 1, 10**6
    while _opendp_counts(scale, high).map((1, 1, 1))[0] > epsilon:
        scale *= 1 + 1e-12
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _opendp_counts(scale, middle).map((1, 1, 1))[1] <= DELTA else (middle + 1, high)
    return scale, low


@lru_cache(maxsize=64)
def _opendp_counts(scale: float, threshold: int) -> Any:
    domain = opendp.map_domain(opendp.atom_domain(T=str), opendp.atom_domain(T="i64"))
    metric = opendp.l01inf_distance(opendp.absolute_distance(T="i64"))
    return opendp.m.make_laplace_threshold(domain, metric, scale=scale, threshold=threshold)


def _opendp(task: KeyTask, epsilon: float) -> dict[str, float]:
    return _opendp_counts(*opendp_threshold(epsilon))(dict(task.counts))


def _pydp(task: KeyTask, epsilon: float) -> dict[str, float]:
    keep = create_partition_strategy("truncated_geometric", epsilon / 2, DELTA, 1)
    noise = LaplaceMechanism(epsilon / 2, 1.0)
    return {key: noise.add_noise(count) for key, count in task.counts.items() if keep.should_keep(count)}


def pipeline(rows: Any, epsilon: float, *, thresholding: bool) -> dict[str, float]:
    """PipelineDP on its local backend: noise with a threshold, or selection and then noise with half of ε each."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    strategy = pipeline_dp.PartitionSelectionStrategy
    params = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT if thresholding else pipeline_dp.Metrics.COUNT],
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        contribution_bounds_already_enforced=not thresholding,
        post_aggregation_thresholding=thresholding,
        partition_selection_strategy=strategy.LAPLACE_THRESHOLDING if thresholding else strategy.TRUNCATED_GEOMETRIC,
    )
    extractors = pipeline_dp.DataExtractors(
        partition_extractor=lambda row: row[1],
        privacy_id_extractor=(lambda row: row[0]) if thresholding else None,
        value_extractor=lambda _: 0,
    )
    result = engine.aggregate(rows, params, extractors)
    accountant.compute_budgets()
    return {key: float(metrics[0]) for key, metrics in result}


def _pipeline(thresholding: bool) -> Callable[[KeyTask, float], dict[str, float] | None]:
    def answer(task: KeyTask, epsilon: float) -> dict[str, float] | None:
        if len(task.values) > _SLOW_ROWS:
            return None
        return pipeline(task.rows, epsilon, thresholding=thresholding)

    return answer


def _diffprivlib_histogram(times: int) -> Callable[[KeyTask, float], dict[str, float] | None]:
    """A histogram over a public list; keys with a count of 0 are taken as absent."""

    def answer(task: KeyTask, epsilon: float) -> dict[str, float] | None:
        names, heights = task.list(times)
        places = np.repeat(np.arange(len(names)), heights)
        found, _ = diffprivlib.histogram(places, epsilon=epsilon, bins=len(names), range=(-0.5, len(names) - 0.5))
        return {name: float(count) for name, count in zip(names, found, strict=True) if count > 0}

    return answer


RELEASES: dict[str, Callable[[KeyTask, float], dict[str, float] | None]] = {
    OURS: _flexdp,
    DEBIASED: lambda task, epsilon: _flexdp(task, epsilon, debias=True),
    "OpenDP, threshold": _opendp,
    "PyDP, selection": _pydp,
    "PipelineDP, selection": _pipeline(False),
    "PipelineDP, threshold": _pipeline(True),
    "diffprivlib, listed": _diffprivlib_histogram(1),
    "diffprivlib, listed" + WIDE: _diffprivlib_histogram(1000),
}


# ---- one statistic selected with all of ε


@lru_cache(maxsize=16)
def _opendp_select(epsilon: float, best: int) -> Any:
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.linf_distance(T=int, monotonic=True)
    measure = opendp.max_divergence()

    def chain(scale: float) -> Any:
        if best == 1:
            return space >> opendp.m.then_noisy_max(measure, scale)
        return space >> opendp.m.then_noisy_top_k(measure, best, scale)

    return opendp.binary_search_chain(chain, 1, epsilon)


def _opendp_best(times: int) -> Callable[[KeyTask, str, float], list[str] | None]:
    def answer(task: KeyTask, statistic: str, epsilon: float) -> list[str] | None:
        names, heights = task.list(times)
        if statistic == "mode":
            return [names[_opendp_select(epsilon, 1)(heights)]]
        if statistic == "top10" and len(names) >= 10:
            return [names[place] for place in _opendp_select(epsilon, 10)(heights)]
        return None

    return answer


def _diffprivlib_best(times: int) -> Callable[[KeyTask, str, float], list[str] | None]:
    def answer(task: KeyTask, statistic: str, epsilon: float) -> list[str] | None:
        if statistic != "mode":
            return None
        names, heights = task.list(times)
        flip = mechanisms.PermuteAndFlip(epsilon=epsilon, sensitivity=1, monotonic=True, utility=heights)
        return [names[flip.randomise()]]

    return answer


def _pydp_select(task: KeyTask, statistic: str, epsilon: float) -> list[str] | None:
    if statistic != "support":
        return None
    keep = create_partition_strategy("truncated_geometric", epsilon, DELTA, 1)
    return [key for key, count in task.counts.items() if keep.should_keep(count)]


SELECTIONS: dict[str, Callable[[KeyTask, str, float], list[str] | None]] = {
    "OpenDP, noisy max": _opendp_best(1),
    "OpenDP, noisy max" + WIDE: _opendp_best(1000),
    "diffprivlib, permute and flip": _diffprivlib_best(1),
    "diffprivlib, permute and flip" + WIDE: _diffprivlib_best(1000),
    "PyDP, selection alone": _pydp_select,
}


# ---- errors


def errors(task: KeyTask, statistic: str, given: dict[str, float] | list[str], epsilon: float) -> dict[str, float]:
    """The error measures of one answer; the first decides who wins."""
    counts = given if isinstance(given, dict) else None
    ordered = sorted(counts, key=lambda key: -counts[key]) if counts is not None else list(given)
    if statistic == "mode":
        top = max(task.counts.values())
        return {"gap": (top - (task.counts[ordered[0]] if ordered else 0)) / len(task.values)}
    if statistic == "support":
        invented = sum(key not in task.counts for key in ordered)
        missed = len(task.counts) - (len(ordered) - invented)
        union = len(task.counts) + invented
        return {
            "wrong": (missed + invented) / union,
            "missed": missed / len(task.counts),
            "invented": invented / max(1, len(ordered)),
        }
    if statistic == "top10":
        best = sorted(task.counts.values(), reverse=True)[:10]
        found = sum(task.counts[key] >= best[-1] for key in ordered[:10])
        shown = {"missed": 1 - min(found, len(best)) / len(best)}
        if counts is not None and ordered:
            shown["count error"] = float(np.mean([abs(counts[key] - task.counts[key]) for key in ordered[:10]]))
        return shown
    if counts is None:
        return {}
    large = [key for key, count in task.counts.items() if count >= 20 / epsilon]
    if not large:
        return {}
    return {
        "error": float(np.mean([abs(counts.get(key, 0.0) - task.counts[key]) for key in large])),
        "missed": sum(key not in counts for key in large) / len(large),
        "released": float(len(counts)),
        "invented": float(sum(key not in task.counts for key in counts)),
    }


def answers(task: KeyTask, epsilon: float, peers: set[str] | None) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each method, and a function that gives one answer to every statistic that it offers: statistic → measures."""
    for name, release in RELEASES.items():
        if peers is None or name.split(",")[0] in peers:
            skipped = {"support"} if name.endswith("listed") else set()  # the list is the answer
            yield (
                name,
                lambda release=release, skipped=skipped: read_all(task, epsilon, release(task, epsilon), skipped),
            )
    for name, select in SELECTIONS.items():
        if peers is None or name.split(",")[0] in peers:
            yield name, lambda select=select: _select_all(task, epsilon, select)


def read_all(
    task: KeyTask, epsilon: float, given: dict[str, float] | None, skipped: Collection[str] = ()
) -> dict[str, dict[str, float]]:
    """The errors of every statistic that is read off one release of counts."""
    if given is None:
        return {}
    return {name: errors(task, name, given, epsilon) for name in STATISTICS if name not in skipped}


def _select_all(task: KeyTask, epsilon: float, select: Any) -> dict[str, dict[str, float]]:
    chosen = ((statistic, select(task, statistic, epsilon)) for statistic in STATISTICS)
    return {name: errors(task, name, given, epsilon) for name, given in chosen if given is not None}
