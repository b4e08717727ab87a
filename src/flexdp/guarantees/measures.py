"""Distortions of the input and metrics of the output: the measures of α and β, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from flexdp._core.domains import ETA, attribute, flag, function, instance
from flexdp._core.exact import Number, number_text
from flexdp.errors import InputError
from flexdp.guarantees.relations import short_name

__all__ = [
    "DIFFERENCE",
    "DROP",
    "DROP_MOVE",
    "EQUALITY",
    "HAUSDORFF",
    "HISTOGRAM_DISTANCE",
    "MOVE",
    "Distortion",
    "Measured",
    "Metric",
    "distortion_given",
    "metric_given",
    "name_of",
]


@dataclass(frozen=True, init=False, slots=True)
class Distortion:
    """Measure of α: how the input may be distorted before the answer counts as exact.

    The constants ``DROP``, ``MOVE`` and ``DROP_MOVE`` are those of the paper; :mod:`flexdp.distortions` computes them.
    A distortion of your own is known by its name, and may bring the function that computes it.

    Parameters
    ----------
    name
        Name of the distortion. Two distortions are the same if their names and η are.
    eta
        For "drop-move" (also "drop-move by" some metric) alone: the price of moving by one. Without it a guarantee
        tells what is dropped and what is moved apart, and so holds for every η.
    fraction
        True if α is a fraction of the records, at most 1; False if it is a distance.
    measure
        Function of two data sets that computes the distortion, infinite where there is none.

    Raises
    ------
    InputError
        A parameter does not fit; ``eta`` is given for another distortion than "drop-move".

    Examples
    --------
    >>> print(DROP, MOVE, Distortion("drop-move", eta="0.1"))
    drop move drop-move (η = 0.1)
    >>> swaps = Distortion("swap", fraction=False, measure=lambda x, y: float(sum(a != b for a, b in zip(x, y))))
    >>> swaps == Distortion("swap", fraction=False), swaps("abc", "acb")
    (True, 2.0)
    """

    name: str
    eta: Fraction | None
    fraction: bool
    measure: Callable[[Any, Any], float] | None = field(compare=False, repr=False)

    def __init__(
        self,
        name: str,
        *,
        eta: Number | None = None,
        fraction: bool = True,
        measure: Callable[[Any, Any], float] | None = None,
    ) -> None:
        object.__setattr__(self, "name", short_name("'swap'")("name", name))
        if eta is not None and not (self.name == "drop-move" or self.name.startswith("drop-move by ")):
            raise InputError("eta", "is for the distortion 'drop-move' alone", remedy="Leave it out.")
        object.__setattr__(self, "eta", None if eta is None else ETA.check(eta))
        object.__setattr__(self, "fraction", flag("fraction", fraction) and eta is None)
        object.__setattr__(self, "measure", None if measure is None else function("measure", measure, "two data sets"))

    def __call__(self, x: Any, y: Any) -> float:
        """Compute the distortion that turns x into y.

        Parameters
        ----------
        x, y
            Two data sets.

        Returns
        -------
        float
            The distortion, infinite where x cannot become y.

        Raises
        ------
        InputError
            The distortion was named without the function that computes it.
        """
        if self.measure is None:
            raise InputError(
                "measure",
                f"was not given for the distortion {self.name!r}",
                remedy="flexdp.distortions has the paper's.",
            )
        return float(self.measure(x, y))

    def __str__(self) -> str:
        return self.name if self.eta is None else f"{self.name} (η = {number_text(self.eta)})"


@dataclass(frozen=True, init=False, slots=True)
class Metric:
    """Measure of β: the distance between an answer and the exact one.

    The constants ``DIFFERENCE``, ``HAUSDORFF``, ``HISTOGRAM_DISTANCE`` and ``EQUALITY`` are those of the built-in
    statistics. A metric of your own is known by its name, and may bring the function that computes it; it can then be
    passed to :func:`flexdp.distances.lossy_winf`, too.

    Parameters
    ----------
    name
        Name of the metric. Two metrics are the same if their names are.
    distance
        Function of two answers that computes it.

    Examples
    --------
    >>> angle = Metric("angle", distance=lambda a, b: min(abs(a - b), 360 - abs(a - b)))
    >>> angle == Metric("angle"), angle(350, 20)
    (True, 30.0)
    """

    name: str
    distance: Callable[[Any, Any], float] | None = field(compare=False, repr=False)

    def __init__(self, name: str, *, distance: Callable[[Any, Any], float] | None = None) -> None:
        object.__setattr__(self, "name", short_name("'angle'")("name", name))
        object.__setattr__(
            self, "distance", None if distance is None else function("distance", distance, "two answers")
        )

    def __call__(self, a: Any, b: Any) -> float:
        """Compute the distance between two answers.

        Parameters
        ----------
        a, b
            Two answers.

        Returns
        -------
        float
            The distance.

        Raises
        ------
        InputError
            The metric was named without the function that computes it.
        """
        if self.distance is None:
            raise InputError(
                "distance",
                f"was not given for the metric {self.name!r}",
                remedy="flexdp.distances has the paper's, and HISTOGRAMS.metric that of histograms.",
            )
        return float(self.distance(a, b))

    def __str__(self) -> str:
        return self.name


DROP, MOVE, DROP_MOVE = Distortion("drop"), Distortion("move", fraction=False), Distortion("drop-move")
DIFFERENCE = Metric("absolute difference", distance=lambda a, b: abs(a - b))
EQUALITY = Metric("equality", distance=lambda a, b: 0.0 if a == b else 1.0)
HAUSDORFF, HISTOGRAM_DISTANCE = Metric("Hausdorff"), Metric("W∞ between equal sizes")


class _Computing(Protocol):
    """Object that computes a distortion and names it, as those of :mod:`flexdp.distortions` do."""

    @property
    def named(self) -> Distortion: ...


Measured: TypeAlias = Distortion | _Computing | Callable[[Any, Any], float]


def distortion_given(name: str, value: object) -> Distortion:
    """A parameter that must be a distortion, an object of flexdp.distortions that computes one, or a function."""
    found = value if isinstance(value, Distortion) else attribute(value, "named")
    if found is None and callable(value) and not isinstance(value, type):
        share = attribute(value, "fraction")
        return Distortion(name_of(name, value), fraction=share is True, measure=value)
    return instance(name, value if found is None else found, Distortion, "a Distortion, for example DROP")


def metric_given(name: str, value: object) -> Metric:
    """A parameter that must be a metric, or a function with a name that computes one."""
    if not isinstance(value, Metric) and callable(value) and not isinstance(value, type):
        return Metric(name_of(name, value), distance=value)
    return instance(name, value, Metric, "a Metric, for example DIFFERENCE or Metric('angle')")


def name_of(parameter: str, value: object) -> str:
    """The name by which a function is known in a guarantee: its own, or that of its class."""
    own = attribute(value, "name")
    found = own if isinstance(own, str) else attribute(value, "__name__")
    found = found if isinstance(found, str) else type(value).__name__
    if found == "<lambda>":
        raise InputError(
            parameter,
            "must have a name, by which guarantees are compared",
            given="a lambda",
            remedy="Define it with def, or wrap it: Distortion('swap', measure=…), Metric('angle', distance=…).",
        )
    return found
