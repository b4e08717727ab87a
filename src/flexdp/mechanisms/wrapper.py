"""Mechanisms that promise what another one does, under a name or a condition of their own."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from flexdp.calculus.privacy import Relation
from flexdp.calculus.sensitivities import DistortionSensitivity, ErrorSensitivity
from flexdp.distribution import Law
from flexdp.guarantees import Accuracy, Privacy
from flexdp.mechanisms.base import Mechanism
from flexdp.mechanisms.spaces import Known, Space
from flexdp.noise.bits import Bits

__all__ = ["Wrapper"]


class Wrapper(Mechanism):
    """A single step in a chain that otherwise behaves as another mechanism, ``inner``."""

    @property
    @abstractmethod
    def inner(self) -> Mechanism:
        """The mechanism that is run."""

    @property
    def source(self) -> Space:
        return self.inner.source

    @property
    def target(self) -> Space:
        return self.inner.target

    def draw(self, x: Any, bits: Bits) -> Any:
        return self.inner.draw(x, bits)

    def law(self, x: Any) -> Law | None:
        return self.inner.law(x)

    def tau(self, known: Known) -> ErrorSensitivity:
        return self.inner.tau(known)

    def accuracy_in(self, known: Known) -> Accuracy:
        return self.inner.accuracy_in(known)

    @property
    def privacy(self) -> Privacy | None:
        return self.inner.privacy

    @property
    def relation(self) -> Relation | None:
        return self.inner.relation

    @property
    def sigma(self) -> DistortionSensitivity:
        return self.inner.sigma

    @property
    def bars(self) -> int | None:
        return self.inner.bars

    @property
    def most_bars(self) -> int | None:
        return self.inner.most_bars

    @property
    def least_records(self) -> int | None:
        return self.inner.least_records

    @property
    def keeps_records(self) -> bool:
        return self.inner.keeps_records

    @property
    def keeps_bars(self) -> bool:
        return self.inner.keeps_bars

    @property
    def adds_bars(self) -> bool:
        return self.inner.adds_bars

    @property
    def lossy(self) -> bool:
        return self.inner.lossy

    @property
    def identity(self) -> bool:
        return self.inner.identity

    def metric_sensitivity(self, beta: float) -> float:
        return self.inner.metric_sensitivity(beta)

    def records_left(self, known: Known) -> int | None:
        return self.inner.records_left(known)
