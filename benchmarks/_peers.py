"""Other libraries, each asked for one statistic with all of ε, as its documentation says and with public bounds.

Adjustments are made in their favour: values narrower than 1 are scaled up by a power of ten, because diffprivlib takes
bounds at least 10^−5 apart; answers about integers are rounded to integers; and the mean of OpenDP and of diffprivlib
knows the exact number of records. An answer that a peer fails to give counts as infinitely far off. diffprivlib's
quantiles fail or stray where many records are equal, so it is also tried with integers spread evenly by ±½, which its
documentation does not say.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import diffprivlib.tools as diffprivlib
import numpy as np
import opendp.prelude as opendp
from pydp.algorithms import laplacian as pydp
from pydp.algorithms.quantile_tree import QuantileTree

opendp.enable_features("contrib")
warnings.filterwarnings("ignore", module="diffprivlib")

LEVELS = {"min": 0.0, "q01": 0.01, "median": 0.5, "q99": 0.99, "q999": 0.999, "max": 1.0}
_CANDIDATES = 4001
_SLOW = 2_000  # records from which diffprivlib's own function would take most of the time
_TREE = (4, 16)  # height and branching, the defaults of Google's library


class Task:
    """One set of records and public bounds, as a peer sees it."""

    def __init__(self, values: np.ndarray, low: float, high: float) -> None:
        self.factor = 10.0 ** max(0, -math.floor(math.log10(high - low)))
        self.integral = values.dtype.kind == "i"
        self.low, self.high = low * self.factor, high * self.factor
        self.values = np.clip(values.astype(np.float64) * self.factor, self.low, self.high)

    @cached_property
    def listed(self) -> list[float]:
        return [float(value) for value in self.values]

    @cached_property
    def tree(self) -> QuantileTree:
        tree = QuantileTree(self.low, self.high, *_TREE)
        for value in self.listed:
            tree.add_entry(value)
        return tree

    @cached_property
    def spread(self) -> np.ndarray:
        """The values, integers by up to ½ to either side."""
        return self.values + np.random.default_rng().uniform(-0.5, 0.5, len(self.values)) * self.integral

    @lru_cache(maxsize=4)  # noqa: B019  (a task lives as long as its records)
    def steps(self, name: str) -> np.ndarray:
        """The values, or the spread ones, in order, between the bounds."""
        return np.sort(np.append(np.clip(getattr(self, name), self.low, self.high), [self.low, self.high]))

    @lru_cache(maxsize=64)  # noqa: B019
    def chances(self, name: str, level: float, epsilon: float) -> np.ndarray:
        """Cumulative weights of diffprivlib's exponential mechanism: the length of a step × e^(−ε·rank error/2)."""
        steps = self.steps(name)
        ranks = np.abs(np.arange(len(steps) - 1) - level * (len(steps) - 2))
        weights = np.diff(steps) * np.exp(-epsilon / 2 * (ranks - ranks.min()))
        total = weights.sum()
        return np.cumsum(weights / total) if total else weights

    @lru_cache(maxsize=64)  # noqa: B019
    def scores(self, candidates: str, level: float) -> np.ndarray:
        """OpenDP's scores of some candidates, computed by the library: the part of its quantile that draws nothing."""
        scored = _opendp_scored(tuple(getattr(self, candidates)), level)
        return np.array(scored(self.values), dtype=np.float64)

    @cached_property
    def even(self) -> list[float]:
        """Candidates at equal distances; every integer if there are few."""
        if self.integral and self.high - self.low < _CANDIDATES:
            return [float(value) for value in range(math.floor(self.low), math.ceil(self.high) + 1)]
        return _distinct(np.linspace(self.low, self.high, _CANDIDATES), self.integral)

    @cached_property
    def geometric(self) -> list[float]:
        """Candidates whose distances from zero grow by a constant factor, over nine decades."""
        far = max(abs(self.low), abs(self.high))
        ladder = np.geomspace(max(far * 1e-9, 1.0 if self.integral else 0.0), far, _CANDIDATES // 2)
        both = np.concatenate((-ladder[::-1], [0.0], ladder))
        return _distinct(both[(both >= self.low) & (both <= self.high)], self.integral)


def _distinct(candidates: np.ndarray, integral: bool) -> list[float]:
    return np.unique(np.rint(candidates) if integral else candidates).tolist()


def _opendp(candidates: str) -> Callable[[Task, str, float], float | None]:
    def answer(task: Task, statistic: str, epsilon: float) -> float | None:
        if candidates != "even" and statistic not in LEVELS:
            return None
        if statistic == "count":
            return float(_opendp_count(epsilon)(task.values))
        if statistic == "mean":
            return float(_opendp_mean(task.low, task.high, len(task.values), epsilon)(task.values))
        level, rng = LEVELS[statistic], np.random.mtrand._rand
        if len(task.values) <= _SLOW:
            return float(_opendp_quantile(tuple(getattr(task, candidates)), level, epsilon)(task.values))
        return _same_choice(getattr(task, candidates), task.scores(candidates, level), level, epsilon, rng)

    return answer


def _opendp_space() -> Any:
    return opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.symmetric_distance()


@lru_cache(maxsize=256)
def _opendp_quantile(candidates: tuple[float, ...], level: float, epsilon: float) -> Any:
    def make(scale: float) -> Any:
        own = {"candidates": list(candidates), "alpha": level, "scale": scale}
        return opendp.m.make_private_quantile(*_opendp_space(), opendp.max_divergence(), **own)

    return make(opendp.binary_search_param(make, 1, epsilon))


@lru_cache(maxsize=256)
def _opendp_scored(candidates: tuple[float, ...], level: float) -> Any:
    return opendp.t.make_quantile_score_candidates(*_opendp_space(), candidates=list(candidates), alpha=level)


@lru_cache(maxsize=64)
def _opendp_scale(level: float, epsilon: float) -> float:
    """The scale of the noise that makes scores and choice ε-private together."""
    scored = _opendp_scored((0.0, 1.0), level)
    space = scored.output_domain, scored.output_metric

    def make(scale: float) -> Any:
        return scored >> opendp.m.make_noisy_max(*space, opendp.max_divergence(), scale=scale, negate=True)

    return float(opendp.binary_search_param(make, 1, epsilon))


def _same_choice(
    candidates: list[float], scores: np.ndarray, level: float, epsilon: float, rng: np.random.RandomState
) -> float:
    """The law of OpenDP's choice, the lowest score minus exponential noise, without its exact arithmetic: 10 ms."""
    noise = rng.standard_exponential(len(scores)) * _opendp_scale(level, epsilon)
    return float(candidates[int(np.argmin(scores - noise))])


def check_opendp(factor: float = 1.0) -> None:
    """Compare :func:`_same_choice` with the library by 8000 answers each; another ``factor`` of ε must be found out."""
    values, draws = np.random.default_rng(5).normal(50, 15, 300), 8000
    candidates = np.linspace(0, 100, 41).tolist()
    for level, epsilon in ((0.5, 0.03), (0.99, 0.03)):
        whole = _opendp_quantile(tuple(candidates), level, epsilon)
        scores = np.array(_opendp_scored(tuple(candidates), level)(values), dtype=np.float64)
        same = [_same_choice(candidates, scores, level, factor * epsilon, np.random.mtrand._rand) for _ in range(draws)]
        ordered = np.sort([whole(values) for _ in range(draws)]), np.sort(same)
        gap = np.subtract(*(np.searchsorted(each, candidates, side="right") for each in ordered))
        # Kolmogorov and Smirnov: a larger gap has a probability of at most 2·exp(−draws·gap²) = 10^−9 (rounded)
        assert np.abs(gap).max() / draws < math.sqrt(math.log(2e9) / draws), "OpenDP draws otherwise"


@lru_cache(maxsize=64)
def _opendp_count(epsilon: float) -> Any:
    space = opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.symmetric_distance()
    return opendp.binary_search_chain(lambda s: space >> opendp.t.then_count() >> opendp.m.then_laplace(s), 1, epsilon)


@lru_cache(maxsize=64)
def _opendp_mean(low: float, high: float, records: int, epsilon: float) -> Any:
    """The mean of a known number of records; a changed record is one removed and one added."""
    domain = opendp.vector_domain(opendp.atom_domain(bounds=(low, high), nan=False), size=records)
    space = domain, opendp.symmetric_distance()
    return opendp.binary_search_chain(lambda s: space >> opendp.t.then_mean() >> opendp.m.then_laplace(s), 2, epsilon)


def _diffprivlib(name: str) -> Callable[[Task, str, float], float | None]:
    def answer(task: Task, statistic: str, epsilon: float) -> float | None:
        bounds = (task.low, task.high)
        if name == "spread" and (statistic not in LEVELS or not task.integral):
            return None
        if statistic == "count":
            return float(diffprivlib.count_nonzero(np.ones(len(task.values)), epsilon=epsilon))
        if statistic == "mean":
            return float(diffprivlib.mean(task.values, epsilon=epsilon, bounds=bounds))
        level = LEVELS[statistic]
        if len(task.values) > _SLOW:
            return _same_quantile(task, name, level, epsilon, np.random.mtrand._rand)
        try:
            with np.errstate(all="ignore"):
                return float(diffprivlib.quantile(getattr(task, name), level, epsilon=epsilon, bounds=bounds))
        except RuntimeError:  # no weight is left where many records are equal
            return math.inf

    return answer


def _same_quantile(task: Task, name: str, level: float, epsilon: float, rng: np.random.RandomState) -> float:
    """The same draw as diffprivlib's from the same random numbers, without its checks of every record: 87 ms a draw."""
    chances, steps = task.chances(name, level, epsilon), task.steps(name)
    if not chances[-1]:
        return math.inf
    place = int(np.searchsorted(chances, rng.random()))
    return float(rng.random() * (steps[place + 1] - steps[place]) + steps[place])


def check_diffprivlib() -> None:
    """Compare :func:`_same_quantile` with the library, draw by draw."""
    values = np.random.default_rng(5).normal(50, 15, 2000)
    task = Task(values, -50.0, 200.0)
    for seed, level in enumerate(2 * list(LEVELS.values())):
        own = _same_quantile(task, "values", level, 0.1, np.random.RandomState(seed))
        library = diffprivlib.quantile(values, level, epsilon=0.1, bounds=(-50, 200), random_state=seed)
        assert math.isclose(own, library, rel_tol=1e-9), "diffprivlib draws otherwise"


def _pydp(task: Task, statistic: str, epsilon: float) -> float:
    if statistic == "count":
        return float(pydp.Count(epsilon=epsilon, dtype="float").quick_result(task.listed))
    plain = {"min": pydp.Min, "max": pydp.Max, "median": pydp.Median, "mean": pydp.BoundedMean}
    bounds = {"lower_bound": task.low, "upper_bound": task.high, "dtype": "float"}
    if statistic in plain:
        return float(plain[statistic](epsilon=epsilon, **bounds).quick_result(task.listed))
    return float(pydp.Percentile(epsilon=epsilon, percentile=LEVELS[statistic], **bounds).quick_result(task.listed))


def _pydp_tree(task: Task, statistic: str, epsilon: float) -> float | None:
    if statistic not in LEVELS:
        return None
    return float(task.tree.compute_quantiles(epsilon, 0.0, 1, 1, [LEVELS[statistic]], "laplace")[0])


def _pydp_unbounded(task: Task, statistic: str, epsilon: float) -> float | None:
    """The mean with bounds that the library finds by itself; too slow here for many records."""
    if statistic != "mean" or len(task.values) > 1_000:
        return None
    try:
        return float(pydp.BoundedMean(epsilon=epsilon, dtype="float").quick_result(task.listed))
    except RuntimeError:  # it finds no bounds with so few records
        return math.inf


_ANSWERS: dict[str, Callable[[Task, str, float], float | None]] = {
    "OpenDP, even": _opendp("even"),
    "OpenDP, geometric": _opendp("geometric"),
    "diffprivlib": _diffprivlib("values"),
    "diffprivlib, spread": _diffprivlib("spread"),
    "PyDP": _pydp,
    "PyDP, tree": _pydp_tree,
    "PyDP, own bounds": _pydp_unbounded,
}
PEERS = tuple(_ANSWERS)


def ask_peer(peer: str, task: Task, statistic: str, epsilon: float) -> float | None:
    """One answer in the units of the data; None if the peer does not offer the statistic."""
    given = _ANSWERS[peer](task, statistic, epsilon)
    if given is None or statistic == "count":
        return given
    value = given / task.factor
    return float(np.rint(value)) if task.integral and statistic != "mean" else value
