"""Audits by running: a lower bound on ε, with confidence, for any mechanism that can be called.

Half of the runs are searched for an event that tells the two data sets apart; the other half decides, by
Clopper–Pearson bounds on its probability p on one and q on the other. If the mechanism is (ε, δ)-private, then
p ≤ e^ε·q + δ, so ε is at least ln((p − δ)/q). Two events, one for each direction, and two bounds each share the chance
of error.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.confidence import lower_bound, upper_bound
from flexdp._core.domains import CONFIDENCE, EPSILON, PURE_DELTA, function, integer
from flexdp._core.exact import Number, number_text
from flexdp._core.text import safe_repr, thousands
from flexdp.audit.events import Raised, Table, find_events, parts, tabulated
from flexdp.errors import InputError

__all__ = ["Audited", "Progress", "audit", "decide", "progress_bar"]

_BLOCK = 1 << 16  # runs of a vectorised mechanism at a time
_LEAST_TRIALS = 80
_MOST_TRIALS = 10**9
_EPSILON = replace(EPSILON, low_included=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """The result of an audit.

    Parameters
    ----------
    epsilon, delta
        The claim.
    trials
        Number of runs, on both data sets together.
    confidence
        Probability with which the bounds hold.
    epsilon_at_least
        Lower bound on ε at the claimed δ.
    delta_at_least
        Lower bound on δ at the claimed ε.
    event
        The event that gave them, in words.
    favours
        The data set, "x" or "y", on which the event is more likely.
    hits
        Number of runs in which it happened on x and on y, among those that decide.
    deciding
        Number of runs that decide, on x and on y.
    fresh
        False if separate calls returned the same draws.

    Examples
    --------
    >>> from flexdp.noise import DropNoise
    >>> noise = DropNoise(1, "0.01")
    >>> found = audit(lambda x, size: x - noise.sample(size), 0, 1, epsilon="0.5", delta="0.01", trials=40_000)
    >>> found.violation, 0.5 < found.epsilon_at_least < 1.2
    (True, True)
    """

    epsilon: Fraction
    delta: Fraction
    trials: int
    confidence: Fraction
    epsilon_at_least: float
    delta_at_least: float
    event: str
    favours: str
    hits: tuple[int, int]
    deciding: tuple[int, int]
    fresh: bool = True

    @property
    def violation(self) -> bool:
        """True if the claim is refuted with this confidence."""
        return not self.fresh or self.delta_at_least > self.delta

    @property
    def statement(self) -> str:
        """The result in one sentence."""
        sure = f"{number_text(100 * self.confidence)}% confidence"
        claim = f"claimed: ε = {number_text(self.epsilon)}, δ = {number_text(self.delta)}"
        runs = f"{thousands(self.trials)} runs"
        if not self.fresh:
            return f"violation: separate calls returned the same draws, so the noise is not fresh ({claim}; {runs})"
        bound = f"ε ≥ {_down(self.epsilon_at_least)}"
        if not self.violation:
            return (
                f"no violation found: the runs show only {bound} ({sure}; {claim}; {runs}). This does not prove privacy"
            )
        also = f", or δ ≥ {_down(self.delta_at_least)} at the claimed ε" if self.delta else ""
        return f"violation: {bound} with {sure}{also} ({claim}; {runs})"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON.

        Returns
        -------
        dict
            The fields, ``violation`` and ``statement``.

        Examples
        --------
        >>> from flexdp.noise import DropNoise
        >>> noise = DropNoise(1, "0.01")
        >>> found = audit(lambda x, size: x - noise.sample(size), 0, 1, epsilon=2, delta="0.1", trials=400)
        >>> found.to_dict()["violation"]
        False
        """
        exact = {name: number_text(getattr(self, name)) for name in ("epsilon", "delta", "confidence")}
        return {
            "violation": self.violation,
            "statement": self.statement,
            **exact,
            "trials": self.trials,
            "epsilon_at_least": self.epsilon_at_least,
            "delta_at_least": self.delta_at_least,
            "event": self.event,
            "favours": self.favours,
            "hits": list(self.hits),
            "deciding": list(self.deciding),
            "fresh": self.fresh,
        }

    def __str__(self) -> str:
        first, second = (
            f"{thousands(hits)} of {thousands(runs)}" for hits, runs in zip(self.hits, self.deciding, strict=True)
        )
        return f"{self.statement}. Event: {self.event}; {first} runs on x, {second} on y."


def audit(
    mechanism: Callable[..., Any],
    x: Any,
    y: Any,
    epsilon: Number,
    delta: Number = 0,
    trials: int = 100_000,
    *,
    confidence: Number = "0.999",
    outcome: Callable[[Any], Any] | None = None,
    progress: Progress | None = None,
) -> Audited:
    """Run a mechanism on two neighbouring data sets and look for a violation of its claim.

    Parameters
    ----------
    mechanism
        Any function of a data set, ours or not. If it takes ``size=``, it is called for many runs at once and returns
        an array with one outcome for each along the first axis. An exception is an outcome, too.
    x, y
        Two neighbouring data sets, not secret: the audit shows what it finds.
    epsilon, delta
        The claim, taken exactly as written.
    trials
        Number of runs, on both data sets together.
    confidence
        Confidence level: if the claim holds, a violation is reported with probability at most 1 − confidence.
    outcome
        Turns what the mechanism returns into numbers, texts, histograms, or lists and dictionaries of them; needed
        if it returns anything else.
    progress
        Called with the number of runs done and the number of all; by default, a bar on a terminal.

    Returns
    -------
    Audited
        Lower bounds on ε and δ, the event that gave them, and the verdict.

    Raises
    ------
    InputError
        If a parameter is out of range, or the mechanism fails on every run.

    Examples
    --------
    >>> from flexdp import Histogram
    >>> from flexdp.mechanisms import Dropping
    >>> x, y = Histogram.from_counts({"a": 6}), Histogram.from_counts({"a": 5})
    >>> audit(Dropping(1, "0.05"), x, y, epsilon=1, delta="0.05", trials=2000).violation
    False
    >>> audit(Dropping(1, "0.4"), x, y, epsilon=1, delta="0.01", trials=4000).violation
    True
    """
    run = function("mechanism", mechanism, "a data set")
    loss, chance = _EPSILON.check(epsilon), PURE_DELTA.check(delta)
    sure = CONFIDENCE.check(confidence)
    runs = integer("trials", trials, at_least=_LEAST_TRIALS, at_most=_MOST_TRIALS)
    seen = None if outcome is None else function("outcome", outcome, "what the mechanism returns")
    told = None if progress is None else function("progress", progress, "two numbers of runs")
    many, calls = runs // 2, _vectorised(run)
    outputs: list[Any] = []
    output: Any
    fresh = True
    with progress_bar(told) as tell:
        for place, data in enumerate((x, y)):
            done = place * many
            if calls:
                output, own = _run_vectorised(run, data, many, lambda count, done=done: tell(done + count, 2 * many))  # type: ignore[misc]
                fresh = fresh and own
            else:
                output = _run_singly(run, data, many, lambda count, done=done: tell(done + count, 2 * many))  # type: ignore[misc]
            outputs.append(output)
    if all(isinstance(output, list) and all(isinstance(each, Raised) for each in output) for output in outputs):
        raise InputError("mechanism", f"raised {outputs[0][0].name} on every run", remedy="Check what it takes.")
    found = decide(tabulated(outputs[0], outputs[1], seen), loss, chance, sure)
    return replace(found, fresh=fresh)


def decide(tables: tuple[Table, Table], epsilon: Fraction, delta: Fraction, confidence: Fraction) -> Audited:
    """Search half of some runs for events, and test them on the other half."""
    alpha = float(1 - confidence) / 4
    fit, choose, test = ((tables[0].part(rows), tables[1].part(rows)) for rows in parts(len(tables[0])))
    claimed, growth = float(delta), math.exp(min(float(epsilon), 700.0))
    results = []
    for side, event in enumerate(find_events(fit, choose, alpha=alpha, delta=claimed)):
        hits = event.hits(test[0]), event.hits(test[1])
        p = lower_bound(hits[side], len(test[side]), alpha)
        q = upper_bound(hits[1 - side], len(test[1 - side]), alpha)
        loss = math.log((p - claimed) / q) if p > claimed else 0.0
        results.append((max(0.0, loss), max(0.0, p - growth * q), "xy"[side], str(event), hits))
    loss, chance, favours, words, hits = max(results, key=lambda each: (each[1] > claimed, *each[:2]))
    return Audited(
        epsilon=epsilon,
        delta=delta,
        trials=2 * len(tables[0]),
        confidence=confidence,
        epsilon_at_least=loss,
        delta_at_least=chance,
        event=words,
        favours=favours,
        hits=hits,
        deciding=(len(test[0]), len(test[1])),
    )


def _vectorised(mechanism: Callable[..., Any]) -> bool:
    try:
        return "size" in inspect.signature(mechanism).parameters
    except (TypeError, ValueError):  # a function written in C tells no signature
        return False


def _run_singly(mechanism: Callable[..., Any], data: Any, runs: int, tell: Callable[[int], None]) -> list[Any]:
    found: list[Any] = []
    step = max(1, runs // 200)
    for place in range(runs):
        try:
            found.append(mechanism(data))
        except Exception as failure:  # noqa: BLE001  (whoever watches sees that it failed: it is an outcome)
            found.append(Raised(type(failure).__name__))
        if (place + 1) % step == 0:
            tell(place + 1)
    return found


def _run_vectorised(
    mechanism: Callable[..., Any], data: Any, runs: int, tell: Callable[[int], None]
) -> tuple[NDArray[Any], bool]:
    """Return the outcomes, and whether separate calls differ: a seed that is set anew repeats its draws."""
    blocks: list[NDArray[Any]] = []
    done = 0
    while done < runs:
        size = min(_BLOCK, runs - done, max(1, runs // 2))  # two calls at least
        try:
            block = np.asarray(mechanism(data, size=size))
        except Exception as failure:
            rule = f"raised {type(failure).__name__} when it was called with size={size}"
            raise InputError("mechanism", rule, remedy="Check what it takes.") from failure
        if block.ndim == 0 or len(block) != size:
            raise InputError(
                "mechanism",
                ": called with size=n it must return n outcomes along the first axis",
                given=safe_repr(block),
            )
        blocks.append(block)
        done += size
        tell(done)
    repeats = (
        len(blocks) > 1
        and blocks[0].shape == blocks[1].shape
        and blocks[0].dtype.kind in "biuf"
        and np.array_equal(blocks[0], blocks[1])
        and len(np.unique(blocks[0])) > 1
        and _entropy(blocks[0]) * len(blocks[0]) > 64
    )
    return np.concatenate(blocks), not repeats


def _entropy(block: NDArray[Any]) -> float:
    """About how many bits an outcome has, by how often the most frequent one occurs."""
    counts = np.unique(block.reshape(len(block), -1), axis=0, return_counts=True)[1]
    return -math.log2(counts.max() / len(block))


def _down(value: float) -> str:
    """A number to three digits, rounded down."""
    if value <= 0 or not math.isfinite(value):
        return f"{value:g}"
    scale = 10.0 ** (2 - math.floor(math.log10(value)))
    return f"{math.floor(value * scale) / scale:.3g}"


Progress: TypeAlias = Callable[[int, int], None]


@contextmanager
def progress_bar(given: Progress | None = None) -> Iterator[Progress]:
    """Yield what is told how many of all runs are done: the caller's function, a bar on a terminal, or nothing."""
    if given is not None or not sys.stderr.isatty():
        yield given if given is not None else (lambda _done, _total: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Auditing", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
