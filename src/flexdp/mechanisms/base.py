"""``Mechanism`` and chains of mechanisms: what they draw, what they promise, and what composition needs to know.

draw(x, bits)     one outcome, from exact random bits
law(x)            the law of that outcome, if it is known
privacy           (ε, δ) for a relation of neighbours, or None
preserves         neighbour relation of inputs → that of outputs, or None
step(known)       α, τ, σ, Δ, and what is known afterwards: flexdp.calculus.Step

Bucketing(…) >> Dropping(…) >> ReadOff(…)     Chain: everything about it follows from its steps, in order, so that
                                              grouping does not matter
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any

from flexdp._core.domains import GAMMA, elements, instance, integer
from flexdp._core.exact import Number
from flexdp._core.fields import Taken, Value, param
from flexdp._core.text import safe_repr
from flexdp.calculus.accuracy import drop_move_accuracy
from flexdp.calculus.compose import Error, Known, Step, compose_steps, composed, sigma_of
from flexdp.calculus.powers import gamma_share
from flexdp.calculus.privacy import Relation, post_process, pre_process
from flexdp.distortions import Winf
from flexdp.distribution import REFUSED, Law, point, read_law
from flexdp.errors import InputError
from flexdp.guarantees import Accuracy, Privacy
from flexdp.guarantees.relations import neighbours_given
from flexdp.mechanisms.derivation import Derivation, derive
from flexdp.mechanisms.spaces import Space
from flexdp.noise.bits import Bits

__all__ = ["IDENTITY", "Chain", "Identity", "Mechanism", "compose"]


class Identity(Value):
    """The function that changes nothing; ``function = IDENTITY`` says that a mechanism approximates it.

    Examples
    --------
    >>> IDENTITY(3)
    3
    """

    def __call__(self, x: Any) -> Any:
        """Return the input.

        Parameters
        ----------
        x
            Anything.

        Returns
        -------
        Any
            The same.
        """
        return x


IDENTITY = Identity()


class Mechanism(Value, ABC):
    """A mechanism for a function: it draws, and knows what it promises.

    Mechanisms are values: compared by their parameters, hashable, printed as the expression that makes them, written
    as JSON and read back. ``first >> second`` chains two of them and derives what the chain promises.

    Write your own as a subclass; its annotated fields are its parameters. Required are
    :attr:`source`, :attr:`target` and :meth:`draw`; accuracy needs :meth:`step`. Everything else is a declaration with
    a safe default that assumes nothing, so that leaving it out may weaken a guarantee but never makes it false.
    docs/own-mechanisms.md has a worked example.

    See Also
    --------
    flexdp.mechanisms.Chain : several mechanisms in a row.

    Examples
    --------
    >>> from flexdp import Histogram
    >>> from flexdp.calculus import identity
    >>> from flexdp.mechanisms import HISTOGRAMS
    >>> class Shift(Mechanism):
    ...     by: float
    ...     source = target = HISTOGRAMS
    ...     function = IDENTITY
    ...
    ...     def draw(self, x, bits):
    ...         return Histogram(x.keys + self.by, x.counts)
    ...
    ...     def step(self, known):
    ...         own = lambda error: error.plus(abs(self.by))
    ...         return Step(own, metric=HISTOGRAMS.metric, sigma=identity(), after=known, buckets="kept")
    >>> Shift(2.5)(Histogram.from_values([1, 5])).keys.tolist()
    [3.5, 7.5]
    >>> Shift(2.5).step(Known()).tau(Error(1.0)).beta
    3.5
    >>> print(Shift(2.5).accuracy())
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
        {True: 0.251, False: 0.749}
        """
        return None

    def law_after(self, law: Law) -> Law:
        """Return the law of the outcomes if the input is random; where an earlier step refused, so does this one.

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
        {1: 0.749, 5: 0.251}
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

    def step(self, known: Known) -> Step:  # noqa: ARG002  (nothing is promised)
        """Return what composition needs: own distortion and loss, what becomes of errors, what is known of the output.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        Step
            For the function that the mechanism approximates; by default its error has no bound.
        """
        return Step(_unbounded, metric=self.target.metric)

    @property
    def function(self) -> Callable[[Any], Any] | None:
        """Function that the mechanism approximates: IDENTITY, a function or method, or None where it is unknown."""
        return None

    @property
    def needs(self) -> Known:
        """Condition on the input on which the guarantees depend."""
        return _NOTHING

    @property
    def privacy(self) -> Privacy | None:
        """Privacy of the mechanism, or None."""
        return None

    @property
    def preserves(self) -> Relation | None:
        """Neighbour relation of inputs, and the one that outputs then satisfy; None if none is preserved."""
        return None

    @property
    def name(self) -> str:
        """Name in messages."""
        return type(self).__name__

    # --- for everybody ---

    @property
    def steps(self) -> tuple[Mechanism, ...]:
        """Steps of a chain; a mechanism by itself is its only step."""
        return (self,)

    def __call__(self, x: Any) -> Any:
        """Draw one outcome, with bits from the operating system's generator.

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

    def __rshift__(self, other: Mechanism) -> Chain:
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
        return Chain([self, other])

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
        known = self._known(records_at_least, bars, gamma)
        return accuracies(self.steps, promises(self.steps, known))[-1]

    def explain(self, *, records_at_least: int | None = None, bars: int | None = None, gamma: Number = 0) -> Derivation:
        """Derive the accuracy step by step, showing which σ, τ and α gave which number.

        Parameters
        ----------
        records_at_least, bars, gamma
            As for :meth:`accuracy`.

        Returns
        -------
        Derivation
            A table in words, when it is printed; its ``accuracy`` is that of :meth:`accuracy`.

        Examples
        --------
        >>> from flexdp.mechanisms import Bucketing, Dropping
        >>> found = (Bucketing(width=5, bounds=(0, 50)) >> Dropping(1, "1e-6")).explain(records_at_least=2700)
        >>> print(found.steps[1].cells[2:4])
        ('10%, 27 of each bucket', '10%')
        """
        known = self._known(records_at_least, bars, gamma)
        steps = promises(self.steps, known)
        sigmas = (sigma_of(steps[:i]) for i in range(len(steps)))
        carried = [None if step.alpha is None else sigma(step.alpha) for step, sigma in zip(steps, sigmas, strict=True)]
        return derive([part.name for part in self.steps], known, steps, carried, accuracies(self.steps, steps))

    def _known(self, records_at_least: int | None, bars: int | None, gamma: Number) -> Known:
        needs = self.needs
        return Known(
            records_at_least=needs.records_at_least
            if records_at_least is None
            else integer("records_at_least", records_at_least),
            bars=needs.bars if bars is None else integer("bars", bars),
            gamma=GAMMA.check(gamma) or _NOTHING.gamma,
        )


def _unbounded(error: Error) -> Error:
    return Error(math.inf, error.gamma)


_NOTHING = Known()
Parts = tuple[Mechanism, ...]


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
    holds of the table only if every step before carries it over: else a conditional privacy is none, and an α that
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
    >>> chain.arguments() == {"parts": chain.steps}
    True
    >>> public = Bucketing(width=5, bounds=(0, 10)) >> Dropping(1, "1e-6")
    >>> public(Histogram.from_counts({3: 1000})).keys.tolist()
    [2.5]
    >>> step = public.step(Known(records_at_least=5400))
    >>> step.alpha, step.tau(Error(1.0)).beta, step.after.records_at_least
    (0.01, 3.5, 5346)
    """

    parts: Taken[Sequence[Mechanism], Parts] = param(_steps_given)

    def _check(self) -> None:
        """Refuse steps that do not fit, and declarations of the wrong type."""
        for i, part in enumerate(self.parts):
            for name in ("source", "target"):
                instance(name, getattr(part, name), Space, "a Space, for example HISTOGRAMS")
            for neighbours in part.preserves or ():
                neighbours_given("preserves", neighbours)
            allowed = instance("needs", part.needs, Known, "a Known").bars
            given = None if allowed is None else _known_after(self.parts[:i], _NOTHING).bars
            if allowed is not None and given is not None and given > allowed:
                raise InputError(
                    "parts",
                    f"must fit: {part.name} is private for at most {allowed} buckets, and {self.parts[i - 1].name} "
                    f"gives up to {given}",
                )
        for one, two in pairwise(self.parts):
            if one.target != two.source:
                rule = (
                    f"must fit: {two.name} takes {two.source}, and {one.name} gives {one.target}; they must be the same"
                )
                raise InputError("parts", rule)

    @property
    def steps(self) -> Parts:
        """Steps of the chain, in order."""
        return self.parts

    def __iter__(self) -> Iterator[Mechanism]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def name(self) -> str:
        """Names of the steps."""
        return " >> ".join(part.name for part in self.parts)

    @property
    def source(self) -> Space:
        """Space of the first step's inputs."""
        return self.parts[0].source

    @property
    def target(self) -> Space:
        """Space of the last step's outputs."""
        return self.parts[-1].target

    def draw(self, x: Any, bits: Bits) -> Any:
        """Draw the outcomes of all steps in turn; return the last.

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
        return reduce(lambda value, part: part.draw(value, bits), self.parts, x)

    def law(self, x: Any) -> Law:
        """Return the law of the last step's outcomes; independent bars stay separate until a step mixes them."""
        return law_of(self.parts, x)

    def step(self, known: Known) -> Step:
        """Return all steps as one.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        Step
            Composed from the first to the last.
        """
        return reduce(compose_steps, promises(self.parts, known))

    @property
    def function(self) -> Callable[[Any], Any] | None:
        """Composition of the steps' functions, if all are known."""
        functions = [part.function for part in self.parts]
        told = [each for each in functions if each is not None and each != IDENTITY]
        if None in functions:
            return None
        return (lambda x: reduce(lambda value, f: f(value), told, x)) if told else IDENTITY

    @property
    def needs(self) -> Known:
        """Conditions on the table that the steps need: those that hold before a step only if they hold of the table."""
        found = [_needed_before(self.parts[:i], part.needs) for i, part in enumerate(self.parts)]
        least = [each.records_at_least for each in found if each.records_at_least is not None]
        most = [each.bars for each in found if each.bars is not None]
        return Known(records_at_least=max(least, default=None), bars=min(most, default=None))

    @property
    def privacy(self) -> Privacy | None:
        """Privacy with respect to the table that follows, or None."""
        if self.parts[0].privacy is not None:
            return post_process(self.parts[0].privacy)
        for i, part in enumerate(self.parts[1:], 1):
            relation, private = _preserved(self.parts[:i]), part.privacy
            if relation is None:
                return None
            if private is not None and private.neighbours.covers(relation[1]) and _keeps(self.parts[:i], private):
                return post_process(pre_process(private, relation=relation, keeps_condition=True))
        return None

    @property
    def preserves(self) -> Relation | None:
        """Neighbour relation that all steps together preserve."""
        return _preserved(self.parts)

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.parts)) if len(self.parts) > 1 else f"Chain([{self.parts[0]!r}])"


def compose(first: Mechanism, second: Mechanism) -> Chain:
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


# --- what follows for several steps ---


def law_of(parts: Sequence[Mechanism], x: Any) -> Law:
    """Return the law of the last step's outcomes on an input: each step maps a law to a law."""
    first, *others = parts
    return reduce(lambda law, part: part.law_after(law), others, first._law_of(x))


def _promise(part: Mechanism, known: Known) -> Step:
    return instance("step", part.step(known), Step, "a Step")


def _known_after(parts: Parts, known: Known) -> Known:
    return reduce(lambda before, part: _promise(part, before).after, parts, known)


def _needed_before(parts: Parts, needed: Known) -> Known:
    """The part of a condition that holds after some steps if it holds before them, and not unconditionally."""

    def rests(alone: Known) -> bool:
        return not _known_after(parts, _NOTHING).implies(alone) and _known_after(parts, alone).implies(alone)

    least, most = Known(records_at_least=needed.records_at_least), Known(bars=needed.bars)
    return Known(
        records_at_least=least.records_at_least if rests(least) else None, bars=most.bars if rests(most) else None
    )


def _keeps(parts: Parts, private: Privacy) -> bool:
    """Return True if a condition on the table carries over to what the steps make of it."""
    given = private.given
    if given is None:
        return True
    needed = Known(records_at_least=given.records_at_least, bars=given.buckets_at_most)
    return _known_after(parts, needed).implies(needed)


def _preserved(parts: Parts) -> Relation | None:
    found = parts[0].preserves
    for part in parts[1:]:
        if found is None or part.preserves is None or not part.preserves[0].covers(found[1]):
            return None
        found = (found[0], part.preserves[1])
    return found


def promises(parts: Parts, known: Known) -> list[Step]:
    """What each step promises, given what is known of its input; steps that spend γ share it equally."""

    def told(gamma: Fraction) -> list[Step]:
        found, now = [], known if known.gamma == gamma else replace(known, gamma=gamma)
        for part in parts:
            found.append(_promise(part, now))
            after = found[-1].after
            now = after if after.gamma == gamma else replace(after, gamma=gamma)
        return found

    found = told(known.gamma)
    if not known.gamma or len(parts) == 1:
        return found
    spending = sum(each.tau(Error()).gamma > 0 for each in found)
    return told(gamma_share(known.gamma, spending)) if spending > 1 else found


def accuracies(parts: Parts, steps: Sequence[Step]) -> list[Accuracy]:
    """The accuracy before the first step and after each, by the composition theorem.

    Where a step's error is unbounded, the error of the last histogram before it becomes a distortion of the input
    (drop-move), and the steps since then are derived anew.
    """
    found = [Accuracy(alpha=0, metric=parts[0].source.metric)]
    keeps = [True, *accumulate((step.buckets != "mixed" for step in steps), lambda one, two: one and two)]
    while len(found) <= len(parts):
        i = len(found) - 1
        sigma = sigma_of(steps[:i])
        done = composed(found[-1], steps[i], sigma=sigma, keeps_bars=keeps[i])
        if done is not None:
            found.append(done)
            continue
        last = max((j for j in range(i + 1) if found[j].metric == Winf()), default=0)
        if not found[last].beta or any(part.function != IDENTITY for part in parts[:last]):
            before = f" after {parts[i - 1].name}" if i else ""
            raise InputError(
                "parts",
                f"have no accuracy in a row: {parts[i].name} has no bounded error{before}, and drop-move holds only "
                "for the error of a histogram whose records were moved",
            )
        found = [*found[:last], drop_move_accuracy(found[last], metric=found[last].metric)]
    return found
