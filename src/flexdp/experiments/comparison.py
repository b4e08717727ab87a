"""Any mechanisms, beside each other, on any simulated or public data: the same errors, table and figure.

A mechanism is a name (see :mod:`flexdp.baselines`), an object with that package's protocol, or a function of your own:

    def mine(counts, rng): ...

``counts`` is a read-only row of int64, how many records lie in each of the bars 0, …, B − 1; ``rng`` a numpy generator
of its own, from which all its randomness should come. It returns the place of its answer on that row, as one number,
and is then called once for each run; or an array of one number for each run. If it has parameters called ``runs``,
``epsilon``, ``delta`` or ``statistic``, it is given those too, by name. The function is trusted: it sees the data, and
nobody checks that it is private.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import array, attribute, elements, function, integer, path_text, sequence, text
from flexdp._core.domains import pairs as pairs_of
from flexdp._core.exact import Number
from flexdp._core.text import is_short, plain_scalar, safe_repr
from flexdp.baselines import BASELINES, Baseline, baseline
from flexdp.baselines.base import Readable
from flexdp.errors import FlexdpError, InputError
from flexdp.experiments.cases import Case
from flexdp.experiments.cells import Contender, Settings, epsilon_grid, named
from flexdp.experiments.files import write_whole
from flexdp.experiments.paper import ALPHA, DELTA, EPSILONS, Experiment
from flexdp.experiments.results import Row, results_csv, rows, short_table
from flexdp.experiments.runner import Progress, Study, run
from flexdp.histogram import Histogram
from flexdp.simulation.laws import Fixed, Law, parse_law
from flexdp.simulation.streams import Generator
from flexdp.statistics import Max, MaxAtLeast, Mode

__all__ = ["Comparison", "compare", "parse_statistic"]

_MOST_BARS = 10**9
_OFFERED = ("runs", "epsilon", "delta", "statistic")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What came out: ``rows`` as in ``results.csv``, a table by ``str()``, a frame, a figure."""

    study: Study = field(repr=False)

    @cached_property
    def rows(self) -> list[Row]:
        """One for each data law, mechanism and ε."""
        return rows(self.study)

    def __str__(self) -> str:
        return short_table(self.study)

    def to_csv(self) -> str:
        """The rows as the text of a CSV file."""
        return results_csv(self.study)

    def to_frame(self) -> Any:
        """The rows as a pandas frame."""
        try:
            from importlib import import_module

            frames = import_module("pandas")
        except ImportError:
            raise InputError("frames need pandas. Install it with: pip install pandas.") from None
        return frames.DataFrame([asdict(row) for row in self.rows])

    def figure(self, path: str | Path) -> Path:
        """Draw to a file that ends in .svg or .png."""
        from flexdp.experiments.figure import png, svg

        target = Path(path_text("path", path))
        kinds = {".svg": svg, ".png": png}
        if target.suffix.lower() not in kinds:
            raise InputError(f"path must end in .svg or .png; got {safe_repr(str(path))}.")
        write_whole(target, kinds[target.suffix.lower()](self.study))
        return target


def compare(
    mechanisms: Any,
    data: Any,
    statistic: Readable | str,
    *,
    epsilon: Any = EPSILONS,
    delta: Number = DELTA,
    alpha: Number = ALPHA,
    runs: Number = 100,
    datasets: Number = 100,
    seed: Number = 0,
    empty: str = "zero",
    ties: str = "smallest",
    bars: Number | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Measure mechanisms on data that is simulated or public; never on private data, whose truth it would show.

    ``mechanisms``: one or a list of names, baselines and functions, or a mapping that names them. ``data``: a law or
    its text ("cauchy:45,4"), a row of counts, a Histogram whose keys are places 0, …, B − 1 (``bars`` says B; else the
    largest key is the last bar), or a list or mapping of these, each of which becomes a panel. A law is drawn
    ``datasets`` times; a fixed row is taken that often as it is. ``statistic``: Max(), MaxAtLeast(k), Mode(), or
    "max", "max_at_least:k", "mode".

    >>> def blind(counts, rng, runs):
    ...     return rng.integers(len(counts), size=runs)
    >>> found = compare(["dropping", blind], [5, 0, 900], "max", epsilon=[1], runs=50, datasets=4)
    >>> [(row.mechanism, row.flexible) for row in found.rows][0]
    ('dropping', 0.0)
    """
    asked = parse_statistic(statistic)
    settings = Settings.checked(
        seed=seed, runs=runs, datasets=datasets, delta=delta, alpha=alpha, empty=empty, ties=ties
    )
    if progress is not None:
        function("progress", progress, "what is done, how much there is, and a label")
    width = None if bars is None else integer("bars", bars, at_most=_MOST_BARS)
    panels = [
        Experiment(name=label, statistic=asked, law=law, about=label) for label, law in _laws(data, width).items()
    ]
    study = run(panels, _mechanisms(mechanisms), epsilon_grid(epsilon), settings, progress=progress)
    return Comparison(study=study)


def parse_statistic(statistic: Readable | str) -> Readable:
    """A statistic from its word on the command line.

    >>> parse_statistic("max_at_least:500")
    MaxAtLeast(count=500)
    """
    if isinstance(statistic, Max | MaxAtLeast | Mode):
        return statistic
    given = plain_scalar(statistic)
    name, _, argument = given.partition(":") if isinstance(given, str) else ("", "", "")
    if isinstance(given, str) and given in ("max", "mode"):
        return Max() if given == "max" else Mode()
    if name == "max_at_least" and argument:
        return MaxAtLeast(argument)
    raise InputError(f"statistic must be max, max_at_least:k or mode; got {safe_repr(statistic)}.")


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    """A user's function as a mechanism; what it raises is told with its name and kind, not passed on as ours."""

    name: str
    function: Callable[..., Any]

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        """A function makes no claim that could be refused."""

    def outputs(self, case: Case, experiment: Experiment, epsilon: Fraction, settings: Settings, rng: Generator) -> Any:
        offered = {
            "runs": settings.runs,
            "epsilon": float(epsilon),
            "delta": float(settings.delta),
            "statistic": experiment.statistic,
        }
        counts = case.counts.copy()
        counts.flags.writeable = False
        wanted = {name: offered[name] for name in _named_parameters(self.function)}
        try:
            first = np.asarray(self.function(counts, rng, **wanted))
            if first.ndim:
                return first
            return [first, *(self.function(counts, rng, **wanted) for _ in range(settings.runs - 1))]
        except FlexdpError:
            raise
        except Exception as failure:
            raise InputError(
                f"mechanism {safe_repr(self.name)} raised {type(failure).__name__}: {_told(failure)}. It is called as "
                "mechanism(counts, rng), and given runs, epsilon, delta or statistic where it names them."
            ) from failure


def _named_parameters(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except Exception:  # noqa: BLE001  (some built-in functions do not tell, and other objects raise what they like)
        return []
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return list(_OFFERED)
    return [each.name for each in parameters if each.name in _OFFERED and each.kind is not each.POSITIONAL_ONLY]


def _told(failure: Exception) -> str:
    try:
        said = " ".join(str(failure).split()).rstrip(".")
    except Exception:  # noqa: BLE001  (an exception of the caller's own may do that, too)
        said = ""
    return said if is_short(said, 200) and said else "no message"


def _mechanisms(given: Any) -> list[Contender]:
    if isinstance(given, Mapping):
        pairs = _labelled("mechanisms", given)
    else:
        alone = isinstance(given, str) or callable(given) or _is_a(given, Baseline)
        listed = [given] if alone or not isinstance(given, Iterable) else elements(given)
        if listed is None:
            raise InputError(f"mechanisms must be one or a list of them; got {safe_repr(given)}.")
        pairs = [(_name(each), each) for each in listed]
    if not pairs:
        raise InputError(f"mechanisms must hold at least one. Choose from {', '.join(BASELINES)}, or give a function.")
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"mechanism {safe_repr(twice[0])} is given twice; name each by a mapping {{name: mechanism}}.")
    return [_mechanism(name, each) for name, each in pairs]


def _name(mechanism: Any) -> str:
    if isinstance(mechanism, str):
        return baseline(mechanism).name
    names = (attribute(mechanism, "name"), attribute(mechanism, "__name__"), type(mechanism).__name__)
    return next(name for name in names if isinstance(name, str) and name)


def _is_a(value: object, protocol: type) -> bool:
    """Whether an object has what a protocol asks for."""
    try:
        return isinstance(value, protocol)
    except Exception:  # noqa: BLE001  (an object may raise anything when it is asked for an attribute)
        return False


def _labelled(name: str, given: object) -> list[tuple[str, Any]]:
    """A mapping from names to what they stand for."""
    found = pairs_of(given)
    if found is None:
        raise InputError(f"{name} must be a mapping from names to what they stand for; this one cannot be read.")
    return [(text(f"a name in {name}", label), each) for label, each in found]


@dataclass(frozen=True, slots=True, eq=False)
class _Renamed:
    """A mechanism under the name that the user gave it."""

    name: str
    inner: Contender

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        self.inner.refuse(epsilon, settings)

    def outputs(self, case: Case, experiment: Experiment, epsilon: Fraction, settings: Settings, rng: Generator) -> Any:
        try:
            return self.inner.outputs(case, experiment, epsilon, settings, rng)
        except FlexdpError:
            raise
        except Exception as failure:
            raise InputError(
                f"mechanism {safe_repr(self.name)} raised {type(failure).__name__}: {_told(failure)}."
            ) from failure


def _mechanism(name: str, mechanism: Any) -> Contender:
    if isinstance(mechanism, str):
        return _Renamed(name, named(baseline(mechanism)))
    if _is_a(mechanism, Baseline):
        return _Renamed(name, named(mechanism))
    if callable(mechanism):
        return _Own(name, mechanism)
    raise InputError(f"mechanism must be a name, a Baseline or a function (counts, rng); got {safe_repr(mechanism)}.")


def _laws(data: Any, bars: int | None) -> dict[str, Law]:
    if isinstance(data, Mapping):
        found = {label: _law(each, label, bars) for label, each in _labelled("data", data)}
    elif (listed := _several(data)) is not None:
        laws = [_law(each, f"data {place}", bars) for place, each in enumerate(listed, 1)]
        labels = [str(law) if is_short(str(law)) else f"data {place}" for place, law in enumerate(laws, 1)]
        if len(set(labels)) < len(labels):
            labels = [f"{label} #{place}" for place, label in enumerate(labels, 1)]
        found = dict(zip(labels, laws, strict=True))
    else:
        law = _law(data, "data", bars)
        found = {str(law) if is_short(str(law)) else "data": law}
    if not found:
        raise InputError("data must hold at least one law, row of counts or Histogram.")
    return found


def _several(data: object) -> list[Any] | None:
    """A list of laws or rows; None for a single one, which may be a list of counts."""
    listed = sequence(data) if isinstance(data, list | tuple) else None
    return None if listed is None or all(isinstance(each, int | np.integer) for each in listed) else listed


def _law(data: Any, label: str, bars: int | None) -> Law:
    if isinstance(data, str):
        return parse_law(data) if bars is None else parse_law(data, bars=bars)
    if isinstance(data, Histogram):
        return Fixed(_places(data, bars), label)
    if _is_a(data, Law) and not isinstance(data, type):
        return data  # type: ignore[no-any-return]
    row = array(data)
    if row is None or row.ndim != 1 or row.dtype.kind not in "iu" or not len(row) or int(row.min()) < 0:
        raise InputError(
            f"data must be a law, a row of whole counts, a Histogram, or a list of these; got {safe_repr(data)}."
        )
    return Fixed(row.astype(np.int64), label)


def _places(histogram: Histogram, bars: int | None) -> NDArray[np.int64]:
    keys: Sequence[Any] = histogram.keys.tolist()
    if not keys or not all(isinstance(key, int | float) and key == int(key) and key >= 0 for key in keys):
        raise InputError("data has keys that are not places; number the bars of the histogram 0, …, B − 1.")
    last = int(max(keys)) + 1
    if bars is not None and last > bars:
        raise InputError(f"bars must reach to the last key of the histogram; got {bars}.")
    row = np.zeros(bars or last, dtype=np.int64)
    row[np.asarray(keys, dtype=np.int64)] = histogram.counts
    return row
