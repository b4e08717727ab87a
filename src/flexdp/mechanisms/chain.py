"""Chains of mechanisms: what follows from their steps, derived in order, so that grouping does not matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

from flexdp._core.domains import elements, flag, instance
from flexdp._core.fields import Taken, param
from flexdp._core.text import safe_repr
from flexdp.calculus.accuracy import compose_error
from flexdp.calculus.privacy import Relation
from flexdp.calculus.sensitivities import DistortionSensitivity, ErrorSensitivity
from flexdp.distribution import Law
from flexdp.errors import InputError
from flexdp.guarantees import Accuracy, Privacy
from flexdp.guarantees.relations import neighbours_given
from flexdp.mechanisms.base import Mechanism
from flexdp.mechanisms.derived import (
    Parts,
    accuracy_of,
    bars_of,
    keeps_bars_of,
    moved_by,
    privacy_of,
    relation_of,
    seen_after,
    settings_of,
    sigma_of,
)
from flexdp.mechanisms.spaces import Known, Space
from flexdp.noise.bits import Bits

__all__ = ["Chain", "compose", "law_of"]


def _steps_given(name: str, parts: object) -> Parts:
    listed = elements(parts)
    if not listed:
        raise InputError(name, "must be a list of mechanisms", given=safe_repr(parts))
    for part in listed:
        if not isinstance(part, Mechanism):
            raise InputError(
                name,
                "must be mechanisms: only mechanisms compose",
                given=safe_repr(part),
                remedy="Read a statistic off with ReadOff(…).",
            )
    return tuple(step for part in listed for step in part.steps)


class Chain(Mechanism):
    """Mechanisms in a row, with the privacy and the accuracy that the composition theorems give.

    Privacy comes from the first private step that sees neighbours where the table has neighbours (pre-processing), and
    holds of all that follows (post-processing); else there is none. A condition on the number of records or buckets
    holds of the table only if every step before keeps that number: else a conditional privacy is none, and an α that
    needs the number of records is not known.

    Parameters
    ----------
    parts
        The steps, in order; a chain among them is replaced by its own steps.

    Raises
    ------
    InputError
        A part is not a mechanism, or does not take what the one before it gives.

    Examples
    --------
    >>> from flexdp import Histogram
    >>> from flexdp.mechanisms import Bucketing, Dropping
    >>> chain = Bucketing(width=5) >> Dropping(1, "1e-6")
    >>> chain == Chain([Bucketing(width=5), Dropping(1, "1e-6")])
    True
    >>> [type(part).__name__ for part in chain]
    ['Bucketing', 'Dropping']
    >>> chain
    Bucketing(width=5) >> Dropping(epsilon=1, delta='1e-06')
    >>> chain.arguments() == {"parts": chain.parts}
    True
    >>> public = Bucketing(width=5, bounds=(0, 10)) >> Dropping(1, "1e-6")
    >>> public(Histogram.from_counts({3: 1000})).keys.tolist()
    [2.5]
    >>> known = Known(records_at_least=5400)
    >>> public.accuracy_in(known).alpha, public.tau(known).bound(1.0), public.records_left(known)
    (0.01, 3.5, 5346)
    >>> public.metric_sensitivity(1.0)
    1.0
    """

    parts: Taken[Sequence[Mechanism], Parts] = param(_steps_given)

    def _check(self) -> None:
        """Refuse steps that do not fit."""
        for step in self.parts:
            _check_declared(step)
        for one, two in pairwise(self.parts):
            if one.target != two.source:
                rule = (
                    f"must fit: {two.name} takes {two.source}, and {one.name} gives {one.target}; they must be the same"
                )
                raise InputError("parts", rule)
        self._check_bars()

    def _check_bars(self) -> None:
        for i, part in enumerate(self.steps):
            allowed, given = part.most_bars, bars_of(self.steps[:i])
            if allowed is not None and given is not None and given > allowed:
                raise InputError(
                    "parts",
                    f"must fit: {part.name} is private for at most {allowed} buckets, and {self.steps[i - 1].name} "
                    f"gives up to {given}",
                )

    @property
    def steps(self) -> Parts:
        """Steps of the chain, in order."""
        return self.parts

    def __iter__(self) -> Iterator[Mechanism]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def name(self) -> str:
        """Names of the steps."""
        return " >> ".join(part.name for part in self.steps)

    @property
    def source(self) -> Space:
        """Space of the first step's inputs."""
        return self.steps[0].source

    @property
    def target(self) -> Space:
        """Space of the last step's outputs."""
        return self.steps[-1].target

    def draw(self, x: Any, bits: Bits) -> Any:
        """Draw one step after the other.

        Parameters
        ----------
        x
            An input of the first step.
        bits
            The source of all randomness.

        Returns
        -------
        Any
            The output of the last step.
        """
        return reduce(lambda value, step: step.draw(value, bits), self.steps, x)

    def law(self, x: Any) -> Law:
        """Return the law of the last step's outcomes; independent bars stay apart until a step mixes them."""
        return law_of(self.steps, x)

    @property
    def sigma(self) -> DistortionSensitivity:
        """Distortion sensitivity of the composed function."""
        return sigma_of(self.steps)

    def tau(self, known: Known) -> ErrorSensitivity:
        """Return the error sensitivity of the chain.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        ErrorSensitivity
            Composed step by step.
        """
        settings = settings_of(self.steps, known)
        found = self.steps[0].tau(settings[0])
        for i in range(1, len(self.steps)):
            step = self.steps[i]
            moves, sigma = step.metric_sensitivity, sigma_of(self.steps[:i])
            kept = keeps_bars_of(self.steps[:i])
            found = compose_error(found, step.tau(settings[i]), sigma=sigma, sensitivity=moves, keeps_bars=kept)
        return found

    def accuracy_in(self, known: Known) -> Accuracy:
        """Return the accuracy of the chain.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        Accuracy
            Composed step by step.
        """
        return accuracy_of(self.steps, known)

    @property
    def privacy(self) -> Privacy | None:
        """Privacy that follows for the table, or None."""
        return privacy_of(self.steps)

    @property
    def relation(self) -> Relation | None:
        """Neighbours that all steps together map to neighbours."""
        return relation_of(self.steps)

    @property
    def bars(self) -> int | None:
        """Largest number of buckets of the output, if public."""
        return bars_of(self.steps)

    @property
    def most_bars(self) -> int | None:
        """Smallest limit of buckets among steps that see no more of them than the table has."""
        found = [
            part.most_bars
            for i, part in enumerate(self.steps)
            if part.most_bars is not None and not any(step.adds_bars for step in self.steps[:i])
        ]
        return min(found, default=None)

    @property
    def least_records(self) -> int | None:
        """Largest number of records needed among steps that see as many as the table has."""
        found = [
            part.least_records
            for i, part in enumerate(self.steps)
            if part.least_records is not None and all(step.keeps_records for step in self.steps[:i])
        ]
        return max(found, default=None)

    @property
    def keeps_records(self) -> bool:
        """True if every step keeps the number of records."""
        return all(part.keeps_records for part in self.steps)

    @property
    def keeps_bars(self) -> bool:
        """True if every step keeps the records of a bucket together."""
        return keeps_bars_of(self.steps)

    @property
    def adds_bars(self) -> bool:
        """True if a step may add buckets."""
        return any(part.adds_bars for part in self.steps)

    @property
    def lossy(self) -> bool:
        """True if a step spends γ."""
        return any(part.lossy for part in self.steps)

    @property
    def identity(self) -> bool:
        """True if every step approximates the identity."""
        return all(part.identity for part in self.steps)

    def metric_sensitivity(self, beta: float) -> float:
        """Return the metric sensitivity of the composed function: that of each step of what the one before gives.

        Parameters
        ----------
        beta
            Distance of two inputs.

        Returns
        -------
        float
            The bound; infinite where there is none.
        """
        return moved_by(self.steps, beta)

    def records_left(self, known: Known) -> int | None:
        """Return the smallest number of records after the last step.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        int or None
            The number, or None if nothing is known.
        """
        return seen_after(self.steps, known).records_at_least

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.steps)) if len(self.steps) > 1 else f"Chain([{self.steps[0]!r}])"


def law_of(steps: Sequence[Mechanism], x: Any) -> Law:
    """Return the law of the last step's outcomes on an input: each step maps a law to a law."""
    first, *others = steps
    return reduce(lambda law, step: step.law_after(law), others, first._law_of(x))


def compose(first: Mechanism, second: Mechanism) -> Mechanism:
    """Chain two mechanisms: ``first >> second``.

    Parameters
    ----------
    first, second
        The mechanisms; the second takes what the first gives.

    Returns
    -------
    Chain
        Both in a row, with the guarantees that follow.

    Examples
    --------
    >>> from flexdp.mechanisms import Dropping, ReadOff
    >>> from flexdp.statistics import Max
    >>> compose(Dropping(1, "1e-6"), ReadOff(Max()))
    Dropping(epsilon=1, delta='1e-06') >> ReadOff(Max())
    """
    return Chain([first, second])


def _check_declared(part: Mechanism) -> None:
    """Refuse declarations of the wrong type, which a mechanism of the caller's own may hold."""
    for name in ("keeps_records", "keeps_bars", "adds_bars", "lossy", "identity"):
        flag(name, getattr(part, name))
    for name in ("source", "target"):
        instance(name, getattr(part, name), Space, "a Space, for example HISTOGRAMS")
    for neighbours in part.relation or ():
        neighbours_given("relation", neighbours)
