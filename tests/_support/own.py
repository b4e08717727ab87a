"""A mechanism of a user's own whose declarations are fields, for tests of what chains derive from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flexdp._core.exact import sum_up
from flexdp._core.fields import Value
from flexdp.calculus import Error, Known, Sigma, Step, identity, unchanged
from flexdp.calculus.compose import Buckets
from flexdp.calculus.privacy import Relation
from flexdp.distances import Difference, Metric
from flexdp.distortions import Distortion, Drop
from flexdp.guarantees import ONE_RECORD
from flexdp.mechanisms import HISTOGRAMS, IDENTITY, Mechanism, Space
from flexdp.noise.bits import Bits


class Declared(Value):
    """What a step declares, beside what it does."""

    tau: Callable[[Error], Error] = unchanged
    alpha: float = 0.0
    sigma: Sigma = identity()
    distortion: Distortion = Drop()
    buckets: Buckets = "mixed"
    keeps_records: bool = False
    adds_bars: bool = True


class Own(Mechanism):
    """It does what it is told, and declares what it is told."""

    label: str
    does: Callable[[Any, Bits], Any]
    declared: Declared = Declared()
    source: Space = HISTOGRAMS
    target: Space = HISTOGRAMS
    preserves: Relation | None = (ONE_RECORD, ONE_RECORD)
    function: Any = None
    heard: Callable[[Known], object] = bool  # what is known of the input is told

    @property
    def name(self) -> str:
        return self.label

    def draw(self, x: Any, bits: Bits) -> Any:
        return self.does(x, bits)

    def step(self, known: Known) -> Step:
        self.heard(known)
        declared = self.declared
        after = Known(
            records_at_least=known.records_at_least if declared.keeps_records else None,
            bars=None if declared.adds_bars else known.bars,
        )
        return Step(
            declared.tau,
            metric=self.target.metric,
            alpha=declared.alpha,
            sigma=declared.sigma,
            moves=lambda beta: beta,
            after=after,
            buckets=declared.buckets,
            distortion=declared.distortion,
        )

    def but(self, **declared: Any) -> Own:
        """Return a copy that declares something else."""
        return replace(self, declared=replace(self.declared, **declared))


def identical(mechanism: Own) -> Own:
    """Return a copy that approximates the identity."""
    return replace(mechanism, function=IDENTITY)


def bounded(
    bound: Callable[[float], float],
    *,
    metric: Metric = Difference(),
    gamma: float = 0.0,
    lossy: Callable[[float, float], float] | None = None,
    scales: bool = False,
    relative: bool = False,
    **more: Any,
) -> Step:
    """A step with a bound on the error; ``lossy`` is one by the error and the loss of the input."""

    def tau(before: Error) -> Error:
        if lossy is not None and before.gamma:
            return Error(lossy(before.beta, before.gamma), gamma)
        if relative:
            before.plus(0.0, relative=True)  # refuses a distance
        lost = min(sum_up(before.gamma, gamma), 1.0)
        if before.relative and before.beta and not scales:
            return Error(math.inf, lost)
        return Error(bound(before.beta), lost, relative or before.relative)

    return Step(tau, metric=metric, **more)
