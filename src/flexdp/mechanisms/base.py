"""The base of all mechanisms: a frozen value with its guarantees as functions of public knowledge."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from flexdp._core.domains import GAMMA, integer
from flexdp._core.exact import Number
from flexdp._core.fields import Value
from flexdp.calculus.privacy import Relation
from flexdp.calculus.sensitivities import DistortionSensitivity, ErrorSensitivity, only_at_zero
from flexdp.distribution import REFUSED, Law, point, read_law
from flexdp.errors import InputError
from flexdp.guarantees import Accuracy, Privacy
from flexdp.mechanisms.spaces import Known, Space
from flexdp.noise.bits import Bits

__all__ = ["Mechanism"]


class Mechanism(Value, ABC):
    """A mechanism for a function: it runs, and knows what it promises.

    Mechanisms are values: compared by their parameters, hashable, printed as the expression that makes them, written
    as JSON and read back. ``first >> second`` chains two of them and derives what the chain promises.

    Write your own as a class that derives from this one; its annotated fields are its parameters. Needed are
    :attr:`source`, :attr:`target`, :meth:`draw` and :meth:`tau`. Everything else is a declaration with a safe default,
    by which nothing is assumed, so that what is left out weakens a guarantee and never makes it false.
    docs/own-mechanisms.md has a worked example.

    See Also
    --------
    flexdp.mechanisms.Chain : several mechanisms in a row.

    Examples
    --------
    >>> from flexdp import Histogram
    >>> from flexdp.mechanisms import HISTOGRAMS
    >>> class Shift(Mechanism):
    ...     by: float
    ...     source = target = HISTOGRAMS
    ...     keeps_records = True
    ...
    ...     def draw(self, x, bits):
    ...         return Histogram(x.keys + self.by, x.counts)
    ...
    ...     def tau(self, known):
    ...         own = lambda beta: beta + abs(self.by)
    ...         return ErrorSensitivity(alpha=0, gamma=0, bound=own, metric=HISTOGRAMS.metric)
    >>> Shift(2.5)(Histogram.from_values([1, 5])).keys.tolist()
    [3.5, 7.5]
    >>> Shift(2.5).tau(Known()).bound(1.0), Shift(2.5).records_left(Known())
    (3.5, None)
    >>> Shift(2.5).metric_sensitivity(1.0)
    inf
    >>> print(Shift(2.5).accuracy_in(Known()))
    Exact after leaving out at most 0% of the records, to within 2.5.
    """

    # --- needed ---

    @property
    @abstractmethod
    def source(self) -> Space:
        """Space of the inputs."""

    @property
    @abstractmethod
    def target(self) -> Space:
        """Space of the outputs."""

    @abstractmethod
    def draw(self, x: Any, bits: Bits) -> Any:
        """Draw one outcome.

        Parameters
        ----------
        x
            An input.
        bits
            The source of all randomness.

        Returns
        -------
        Any
            A fresh output.
        """

    @abstractmethod
    def tau(self, known: Known) -> ErrorSensitivity:
        """Return the error sensitivity τ: the mechanism's own distortion and loss, and what becomes of input errors.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        ErrorSensitivity
            For the function that the mechanism approximates.
        """

    # --- its law, where it is known ---

    def law(self, x: Any) -> Law | None:  # noqa: ARG002  (by default it is not known)
        """Return the law of the outcomes; None if it is not known.

        It must be the law of :meth:`draw`. With it the mechanism is audited exactly, and measured without runs.

        Parameters
        ----------
        x
            An input.

        Returns
        -------
        Law or None
            For example a :class:`~flexdp.distribution.Distribution`, or a dictionary of exact probabilities.

        Examples
        --------
        >>> from flexdp.mechanisms import Emptiness
        >>> {answer: round(float(mass), 3) for answer, mass in Emptiness(1, "0.1").law(2).masses.items()}
        {True: 0.368, False: 0.632}
        """
        return None

    def law_after(self, law: Law) -> Law:
        """Return the law of the outcomes where the input has a law; that of a step that refused is to refuse.

        Parameters
        ----------
        law
            The law of the input.

        Returns
        -------
        Law
            Over all inputs.

        Examples
        --------
        >>> from flexdp.mechanisms import Dropping, ReadOff
        >>> from flexdp.statistics import Max
        >>> law = ReadOff(Max()).law_after(Dropping(1, "0.1").law({1: 9, 5: 2}))
        >>> {answer: round(float(mass), 3) for answer, mass in law.listed().masses.items()}
        {1: 0.632, 5: 0.368}
        """
        inputs = law.listed()
        if len(inputs.masses) == 1 and not inputs.error and not inputs.missing:
            return self._law_of(next(iter(inputs.masses)))
        return inputs.bind(self._law_of)

    def _law_of(self, x: Any) -> Law:
        if x is REFUSED:
            return point(REFUSED)
        found = self.law(x)
        if found is None:
            raise InputError(
                "mechanism", f": {self.name} has no law that can be enumerated", remedy="Use audit.audit instead."
            )
        return read_law("law", found)

    # --- declared, with safe defaults ---

    @property
    def name(self) -> str:
        """Name in messages."""
        return type(self).__name__

    @property
    def privacy(self) -> Privacy | None:
        """Privacy of the mechanism, or None."""
        return None

    @property
    def relation(self) -> Relation | None:
        """Neighbours that the mechanism takes, and the neighbours that it maps them to; None if it keeps none."""
        return None

    @property
    def sigma(self) -> DistortionSensitivity:
        """Distortion sensitivity σ of the function."""
        return only_at_zero()

    def metric_sensitivity(self, beta: float) -> float:
        """Return Δ_f(β) of the function: how far its values are apart for inputs within β, by the metric of its source.

        It is needed after a step whose σ is relaxed, and only then.

        Parameters
        ----------
        beta
            Distance of two inputs.

        Returns
        -------
        float
            The bound; by default β for the identity, and else infinite.
        """
        return beta if self.identity else math.inf

    @property
    def bars(self) -> int | None:
        """Largest number of buckets of the output, if public."""
        return None

    @property
    def most_bars(self) -> int | None:
        """Largest number of buckets of the input on which the guarantees rest."""
        return None

    @property
    def least_records(self) -> int | None:
        """Smallest number of records of the input on which the guarantees rest."""
        return None

    @property
    def keeps_records(self) -> bool:
        """True if the output always holds as many records as the input."""
        return False

    @property
    def keeps_bars(self) -> bool:
        """True if one record goes to one record of one bucket, the same for all records of a bucket, or is left out.

        Where a record goes, and whether its function leaves it out, must not depend on other records. Then a later step
        by which no bucket of the output loses more than D records takes no more from any bucket of the input.
        """
        return False

    @property
    def adds_bars(self) -> bool:
        """True if the output may have more buckets than the input."""
        return True

    @property
    def lossy(self) -> bool:
        """True if the mechanism spends the γ it is allowed."""
        return False

    @property
    def identity(self) -> bool:
        """True if it approximates the identity on histograms, so that its error is how far records were moved."""
        return False

    def records_left(self, known: Known) -> int | None:  # noqa: ARG002  (by default nothing is known)
        """Return the smallest number of records of the output, where the mechanism may lose some.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        int or None
            The number, or None if nothing is known.
        """
        return None

    def accuracy_in(self, known: Known) -> Accuracy:
        """Return the accuracy for the mechanism's own function: its error sensitivity for an exact input.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        Accuracy
            The guarantee.
        """
        error = self.tau(known)
        return Accuracy(
            alpha=error.alpha,
            beta=error.bound(0.0),
            gamma=error.gamma,
            relative=error.relative,
            max_drop=error.max_drop,
            distortion=error.distortion,
            metric=error.metric,
        )

    # --- for everybody ---

    @property
    def steps(self) -> tuple[Mechanism, ...]:
        """Steps of a chain; a mechanism by itself is its only step."""
        return (self,)

    def __call__(self, x: Any) -> Any:
        """Draw one outcome, with bits of the operating system's generator.

        Parameters
        ----------
        x
            An input.

        Returns
        -------
        Any
            A fresh output.
        """
        return self.draw(x, Bits())

    def __rshift__(self, other: Mechanism) -> Mechanism:
        """Return the chain of this mechanism and another.

        Parameters
        ----------
        other
            Mechanism that takes what this one gives.

        Returns
        -------
        Chain
            Both in a row, with the guarantees that follow.
        """
        return Value._kinds["Chain"]([self, other])  # type: ignore[call-arg,return-value]

    def accuracy(self, *, records_at_least: int | None = None, bars: int | None = None, gamma: Number = 0) -> Accuracy:
        """Derive the accuracy on all inputs of which so much is known.

        Parameters
        ----------
        records_at_least
            Smallest number of records; by default the number that the mechanism was made for, if any.
        bars
            Largest number of buckets, where it does not follow from public buckets.
        gamma
            Chance of failure allowed to the whole chain; mechanisms that spend it have equal shares.

        Returns
        -------
        Accuracy
            The guarantee.

        Examples
        --------
        >>> from flexdp.mechanisms import Bucketing, Dropping
        >>> mechanism = Bucketing(width=5, bounds=(0, 120)) >> Dropping(1, "1e-6")
        >>> print(mechanism.accuracy())
        Exact after leaving out at most 27 records from each bucket, to within 2.5.
        >>> mechanism.accuracy(records_at_least=64_800).alpha
        0.01
        """
        least = self.least_records if records_at_least is None else integer("records_at_least", records_at_least)
        most = self.most_bars if bars is None else integer("bars", bars)
        return self.accuracy_in(Known(records_at_least=least, bars=most, gamma=GAMMA.check(gamma)))
