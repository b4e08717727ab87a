"""Declarations of a mechanism, checked against what is computed on finitely many inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from flexdp._core.domains import elements, instance
from flexdp._core.exact import Number, float_up, said
from flexdp._core.text import safe_repr
from flexdp.calculus.compose import Error, Known, Step
from flexdp.calculus.finite import bound_given, distortion_sensitivity, metric_sensitivity, value_text
from flexdp.calculus.preserving import preserves_neighbours
from flexdp.calculus.spaces import Outputs, point_text, points_given
from flexdp.calculus.tau import error_sensitivity
from flexdp.distances.axioms import Amount, amount
from flexdp.distortions import Drop, Move
from flexdp.errors import InputError, P
from flexdp.guarantees import OwnNeighbours
from flexdp.histogram import Histogram
from flexdp.mechanisms.base import IDENTITY, Mechanism
from flexdp.mechanisms.spaces import HISTOGRAMS, NUMBERS

__all__ = ["Checked", "Claim", "check_declared"]

_NAMES = {"M": "law", "f": "function", "d1": "distortion", "d2": "output_distortion"}  # of the functions called here
_SLACK = 1e-12  # relative, where a metric computes in doubles
_ROUNDING = 2.0**-50  # relative, where a bound is evaluated at a number that is no double
_MOST_PARTS = 200  # of one histogram, whose buckets are taken apart


@dataclass(frozen=True, slots=True)
class Claim:
    """One declaration beside what was computed.

    Parameters
    ----------
    name
        What was declared, such as "τ(1)".
    declared, computed
        The declared bound, and the value on the points given.
    holds
        True if the declaration is not contradicted.
    where
        The case that attains the computed value, in words.

    Examples
    --------
    >>> print(Claim("τ(1)", 0.5, 1, False, "with X = 0 and X′ = 1 the best Y is 1"))
    τ(1) is declared as 0.5, but is 1: with X = 0 and X′ = 1 the best Y is 1
    """

    name: str
    declared: Any
    computed: Any
    holds: bool
    where: str

    def __str__(self) -> str:
        declared, computed = (_text(value) for value in (self.declared, self.computed))
        if self.holds:
            return f"{self.name} is declared as {declared}, and is {computed}"
        return f"{self.name} is declared as {declared}, but is {computed}: {self.where}"


@dataclass(frozen=True, slots=True)
class Checked:
    """Declarations of a mechanism and what was computed; True as a condition if none is contradicted.

    Parameters
    ----------
    claims
        All declarations that were checked.

    Examples
    --------
    >>> bool(Checked((Claim("τ(1)", 2.0, 1, True, ""),)))
    True
    """

    claims: tuple[Claim, ...]

    @property
    def contradictions(self) -> tuple[Claim, ...]:
        """Declarations that the points contradict."""
        return tuple(claim for claim in self.claims if not claim.holds)

    def __bool__(self) -> bool:
        return not self.contradictions

    def __str__(self) -> str:
        if self.contradictions:
            return "; ".join(map(str, self.contradictions)) + "."
        return f"None of {len(self.claims)} declarations is contradicted on these points."


def check_declared(
    mechanism: Mechanism,
    points: Any = None,
    *,
    function: Callable[[Any], Any] | None = None,
    law: Callable[[Any], Any] | None = None,
    distortion: Any = None,
    output_distortion: Any = None,
    betas: Sequence[Number] = (0,),
    alphas: Sequence[Number] = (0,),
    gammas: Sequence[Number] = (0,),
    metric: Any = None,
    output_metric: Any = None,
    known: Known | None = None,
) -> Checked:
    """Check what a mechanism declares against what is computed on some of its inputs.

    Compared are the parts of ``step``: τ with its α, σ, Δ, what is known afterwards, and what becomes of the records of
    a bucket, on those points that have at most 200 parts, and so have their outputs; and the neighbours that are
    preserved. A declaration that holds on these points may still fail on others; one that is contradicted is false, and
    the case that contradicts it is named. Errors between histograms are measured among those of equal size, as
    declarations are.

    Parameters
    ----------
    mechanism
        The mechanism.
    points
        Inputs to check it on: all of a small space, so that distorted inputs are among them. Those of which ``known``
        is not true only serve as distorted inputs. Left out, all histograms of at most three records with each of two
        keys, or the numbers 0 to 5.
    function
        The function that it approximates; left out, the one that the mechanism tells, or the identity.
    law
        The law of its outputs at a point, as for :func:`flexdp.error_sensitivity`; left out, the one that the mechanism
        tells; if there is none, it is run, and must not be random.
    distortion, output_distortion
        Distortions of inputs and of outputs; by default ``Drop()`` on histograms. Without one of the outputs σ is not
        checked.
    betas, alphas, gammas
        Errors of the input, distortions of the output, and losses of the input at which to check.
    metric, output_metric
        Metrics of inputs and outputs; by default the usual ones, of histograms ``Move()``.
    known
        Public knowledge of the inputs, which the declarations may rest on.

    Returns
    -------
    Checked
        True as a condition if nothing is contradicted.

    Raises
    ------
    InputError
        A parameter is wrong, a function raises, or the mechanism is random and ``law`` was left out.

    Examples
    --------
    >>> from flexdp import Histogram
    >>> from flexdp.mechanisms import Bucketing
    >>> tables = [Histogram.from_values(values) for values in ([1], [4], [1, 4], [4, 4])]
    >>> print(check_declared(Bucketing(width=5, bounds=(0, 10)), tables, betas=[0, 3]))
    None of 8 declarations is contradicted on these points.
    """
    if not isinstance(mechanism, Mechanism):
        raise InputError("mechanism", "must be a Mechanism", given=safe_repr(mechanism))
    setting = instance("known", Known() if known is None else known, Known, "a Known")
    step = instance("step", mechanism.step(setting), Step, "a Step")
    everything = points_given("points", _small(mechanism) if points is None else points)
    inputs = [point for point in everything if _fits(point, setting)]
    if not inputs:
        raise InputError("points", ("must include inputs of which ", P("known"), " is true"))
    f = _or(function, _or(mechanism.function, IDENTITY))
    run = _or(law, mechanism)
    tables = all(isinstance(each, Histogram) for each in everything)
    space = _Space(
        inputs, everything, run, f, _or(distortion, Drop() if tables else None), _or(metric, Move() if tables else None)
    )
    outputs = Outputs()
    outputs.laws("law" if law is not None else "mechanism", run, inputs)
    outputs.laws("function", f, everything)
    histograms = all(isinstance(each, Histogram) for each in outputs.points)
    named: Any = mechanism.target.metric if mechanism.target.metric.computes else None
    within = _or(output_metric, Move() if histograms else named)
    after = _or(output_distortion, Drop() if histograms else None)
    try:
        found = [
            *_errors(space, step, _numbers("betas", betas), _numbers("gammas", gammas), within),
            *_sigmas(space, step, _numbers("alphas", alphas), after, within),
            *_moves(space, step, _numbers("betas", betas), within),
            *_neighbours(space, mechanism),
            *_afterwards(space, step),
            *_bars(space, step, within),
        ]
    except InputError as problem:
        name = _NAMES.get(problem.parameter, problem.parameter)
        raise InputError(name, problem.rule, given=problem.given, remedy=problem.remedy) from problem.__cause__
    return Checked(tuple(found))


@dataclass(frozen=True, eq=False, slots=True)
class _Space:
    points: list[Any]
    everything: list[Any]
    run: Callable[[Any], Any]
    function: Callable[[Any], Any]
    distortion: Any
    metric: Any


def _or(given: Any, default: Any) -> Any:
    return default if given is None else given


def _fits(point: Any, known: Known) -> bool:
    """Return True if what is known of inputs is true of a point; others only serve as what it is distorted to."""
    if not isinstance(point, Histogram):
        return True
    enough = known.records_at_least is None or point.size >= known.records_at_least
    return enough and (known.bars is None or len(point) <= known.bars)


def _numbers(name: str, given: object) -> list[Any]:
    listed = elements(given)
    if listed is None:
        raise InputError(name, "must be a list of numbers", given=safe_repr(given))
    return [bound_given(name, each) for each in listed]


def _claim(name: str, bound: Callable[..., float], at: tuple[Amount, ...], computed: Any, where: object) -> Claim:
    """Compare a declared bound with what was computed, exactly.

    A bound is a function of doubles. At another number, such as 1/3, it is evaluated at the next double above, which a
    true bound survives but for the rounding of its own arithmetic.
    """
    doubles = [_double_above(number) for number in at]
    declared, value = bound(*doubles), amount(computed)
    assert value is not None
    rounded = any(math.isfinite(up) and said(up) != number for up, number in zip(doubles, at, strict=True))
    slack = _SLACK if isinstance(computed, float) else _ROUNDING if rounded else 0
    limit = math.inf if math.isinf(declared) else said(float(declared)) * (1 + Fraction(slack))
    return Claim(name, declared, computed, value <= limit, str(where))


def _double_above(number: Amount) -> float:
    return float_up(number) if isinstance(number, Fraction) else float(number)


def _text(value: Any) -> str:
    return str(value) if isinstance(value, bool | str) else value_text(value)


def _small(mechanism: Mechanism) -> Any:
    """All inputs of a small space, for mechanisms on histograms of numbers or on numbers."""
    if mechanism.source == HISTOGRAMS:
        empty = mechanism.target == HISTOGRAMS  # of which many statistics have no value
        return [_histogram({1: one, 4: other}) for one, other in product(range(4), repeat=2) if one + other or empty]
    if mechanism.source == NUMBERS:
        return range(6)
    raise InputError("points", f"must be given: there is no small space of {mechanism.source}")


def _histogram(counts: dict[Any, int]) -> Histogram:
    left = {key: count for key, count in counts.items() if count}
    return Histogram.from_counts(left) if left else Histogram([], [])


def _errors(space: _Space, step: Step, betas: list[Any], gammas: list[Any], within: Any) -> Iterator[Claim]:
    distortion, alpha = space.distortion, 0 if step.alpha is None else step.alpha
    if step.max_drop is not None and step.distortion == Drop():
        distortion, alpha = _bucket_loss, step.max_drop
    elif step.alpha is None:
        return  # neither a share nor a number of records is declared
    if distortion is None:
        raise InputError("distortion", "must be given: the points are not histograms")
    for beta, gamma in product(betas, gammas):
        promised = step.tau(Error(_double_above(beta), _double_above(gamma)))
        if promised.relative:
            continue  # a fraction of the values
        found = error_sensitivity(
            space.run, space.function, space.points, distortion, alpha, min(promised.gamma, 1), beta, gamma,
            targets=space.everything, metric=space.metric, output_metric=within,
        )  # fmt: skip
        yield _claim(found.symbol, lambda b, g: step.tau(Error(b, g)).beta, (beta, gamma), found.value, found.witness)


def _bucket_loss(x: Histogram, y: Histogram) -> float:
    """The most records that a bucket of x must lose to become y."""
    have, want = dict(x.items()), dict(y.items())
    if any(count > have.get(key, 0) for key, count in want.items()):
        return math.inf
    return max((count - want.get(key, 0) for key, count in have.items()), default=0)


def _sigmas(space: _Space, step: Step, alphas: list[Any], output_distortion: Any, within: Any) -> Iterator[Claim]:
    sigma = step.sigma
    if output_distortion is None or space.distortion is None or math.isinf(sigma.omega):
        return
    for alpha in alphas:
        found = distortion_sensitivity(
            space.function, space.everything, space.distortion, output_distortion, alpha, sigma.theta, sigma.omega,
            output_metric=within,
        )  # fmt: skip
        yield _claim(found.symbol, sigma.bound, (alpha,), found.value, found.witness)


def _moves(space: _Space, step: Step, betas: list[Any], within: Any) -> Iterator[Claim]:
    for beta in betas:
        found = metric_sensitivity(space.function, space.points, beta, metric=space.metric, output_metric=within)
        yield _claim(found.symbol, step.moves, (beta,), found.value, found.witness)


def _neighbours(space: _Space, mechanism: Mechanism) -> Iterator[Claim]:
    relation = mechanism.preserves
    if relation is None or any(isinstance(each, OwnNeighbours) for each in relation):
        return
    found = preserves_neighbours(space.run, space.points, *relation)
    yield Claim("preserves", "preserved", "preserved" if found else "not preserved", bool(found), str(found))


def _afterwards(space: _Space, step: Step) -> Iterator[Claim]:
    """Check that what is declared as known of outputs is true of each."""
    least, most = step.after.records_at_least, step.after.bars
    outputs = Outputs()
    laws = outputs.laws("law", space.run, space.points)
    pairs = [(x, outputs.points[y]) for x, law in zip(space.points, laws, strict=True) for y in law]
    if not all(isinstance(y, Histogram) for _, y in pairs):
        return
    rules: list[tuple[str, int | None, Callable[[Histogram], bool]]] = [
        ("records_at_least after it", least, lambda y: y.size >= (least or 0)),
        ("bars after it", most, lambda y: most is None or len(y) <= most),
    ]
    for name, declared, holds in rules:
        if declared is not None:
            wrong = next(((x, y) for x, y in pairs if not holds(y)), None)
            where = "" if wrong is None else f"{point_text(wrong[0])} becomes {point_text(wrong[1])}"
            yield Claim(name, declared, "so" if wrong is None else "not so", wrong is None, where)


def _bars(space: _Space, step: Step, within: Any) -> Iterator[Claim]:
    """Whether what is left out of each bucket of an output can be left out of each bucket of the input.

    Each output y of x is the function's value, to within β, on x without what the step itself may leave out. Then each
    part z of y must be its value on a part of that, for which no bucket loses more records than some bucket of y did.
    """
    exact = step.tau(Error())
    if step.buckets == "mixed" or exact.relative:
        return
    near, tested, laws = _Near(within, exact.beta), 0, Outputs()
    own = step.max_drop if step.max_drop is not None else 0 if step.alpha == 0 else math.inf
    for x, law in zip(space.points, laws.laws("law", space.run, space.points), strict=True):
        outputs = [laws.points[place] for place in law]
        if not all(isinstance(each, Histogram) and _parts_of(each) <= _MOST_PARTS for each in (x, *outputs)):
            continue
        values = _values(space.function, x)
        if values is None:
            return  # a randomised function has no values
        tested += 1
        empty = any(not part.size for part, _ in values)  # the function has a value on no records, too
        for y in outputs:
            wholes = [part for part, value in values if _bucket_loss(x, part) <= own and near(value, y)]
            if not wholes:
                continue  # then τ is false, which is said of it
            wrong = next((z for z in _parts(y) if (empty or z.size) and not _left(wholes, values, y, z, near)), None)
            if wrong is not None:
                where = (
                    f"{point_text(x)} becomes {point_text(y)}, and to leave {point_text(wrong)} of it takes more "
                    f"from a bucket of {point_text(x)}"
                )
                yield Claim("buckets", step.buckets, "not so", holds=False, where=where)
                return
    if tested:
        yield Claim("buckets", step.buckets, "so", holds=True, where="")


class _Near:
    """Whether two histograms lie within a distance, remembered."""

    def __init__(self, metric: Any, most: float) -> None:
        self._metric, self._found = getattr(metric, "exactly", metric), dict[tuple[Histogram, Histogram], bool]()
        self._most = math.inf if math.isinf(most) else said(float(most)) * (1 + Fraction(_SLACK))

    def __call__(self, a: Histogram, b: Histogram) -> bool:
        if (a, b) not in self._found:
            apart = amount(self._metric(a, b))
            self._found[a, b] = apart is not None and apart <= self._most
        return self._found[a, b]


def _left(
    wholes: list[Histogram], values: list[tuple[Histogram, Any]], y: Histogram, z: Histogram, near: _Near
) -> bool:
    """Return True if some part of a whole has the value z, and loses no more of a bucket than z does of y."""
    most = _bucket_loss(y, z)
    return any(near(value, z) and any(_bucket_loss(x, part) <= most for x in wholes) for part, value in values)


def _values(function: Callable[[Any], Any], x: Histogram) -> list[tuple[Histogram, Any]] | None:
    """The parts of a histogram on which a function has a value, with that; None if a value is random."""
    found = []
    for part in _parts(x):
        outputs = Outputs()
        try:
            (law,) = outputs.laws("function", function, [part])
        except InputError:
            if part.size:
                raise
            continue  # many functions are not defined on no records
        if len(law) != 1:
            return None
        found.append((part, outputs.points[0]))
    return found


def _parts_of(x: Histogram) -> int:
    return math.prod(count + 1 for count in x.counts.tolist())


def _parts(x: Histogram) -> Iterator[Histogram]:
    """All parts of a histogram, the largest first."""
    bars = list(x.items())
    for kept in product(*(range(count, -1, -1) for _, count in bars)):
        left = {key: count for (key, _), count in zip(bars, kept, strict=True) if count}
        yield Histogram.from_counts(left) if left else Histogram(x.keys[:0], [])
