"""Comparisons of any mechanisms on any simulated or public data: the same errors, table and figure as the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import array, function, integer, path_text, sequence
from flexdp._core.exact import Number
from flexdp._core.text import is_short, plain_scalar, safe_repr
from flexdp.baselines.base import Empty, Ties
from flexdp.errors import InputError
from flexdp.experiments.cells import Settings, epsilon_grid
from flexdp.experiments.contenders import contenders, is_a, labelled
from flexdp.experiments.figure import png, svg
from flexdp.experiments.files import write_whole
from flexdp.experiments.paper import ALPHA, DELTA, EPSILONS, Experiment
from flexdp.experiments.reading import Asked
from flexdp.experiments.results import Row, results_csv, rows, short_table
from flexdp.experiments.runner import Progress, Study, run
from flexdp.histogram import Histogram
from flexdp.simulation import DataLaw, Fixed, parse_law
from flexdp.statistics import parse
from flexdp.statistics.base import statistic_given

__all__ = ["Comparison", "compare", "parse_statistic"]

_MOST_BARS = 10**9


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The results of a comparison; ``str()`` gives a table.

    Parameters
    ----------
    study
        The underlying study.

    Examples
    --------
    >>> found = compare(["dropping", "bns"], [5, 0, 900], "max", epsilon=[1], runs=20, datasets=2)
    >>> print(found)
    Mean error in % of the number of buckets (actual / flexible)
    <BLANKLINE>
    max, data
                         ε = 1
    dropping         0.0 / 0.0
    bns              0.0 / 0.0
    >>> found.to_csv().splitlines()[0]
    'experiment,mechanism,epsilon,actual,actual_se,flexible,flexible_se,beta_50,beta_90,beta_99'
    >>> list(found.to_frame()["mechanism"])
    ['dropping', 'bns']
    >>> found.figure("comparison.pdf")
    Traceback (most recent call last):
    flexdp.errors.InputError: path must end in .svg or .png; got 'comparison.pdf'.
    """

    study: Study = field(repr=False)

    @cached_property
    def rows(self) -> list[Row]:
        """One row per data set, mechanism and ε, as in ``results.csv``."""
        return rows(self.study)

    def __str__(self) -> str:
        return short_table(self.study)

    def to_csv(self) -> str:
        """Return the rows as CSV.

        Returns
        -------
        str
            The text of ``results.csv``.
        """
        return results_csv(self.study)

    def to_frame(self) -> Any:
        """Return the rows as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            One row per data set, mechanism and ε.

        Raises
        ------
        InputError
            If pandas is not installed.
        """
        from importlib import import_module

        try:
            frames = import_module("pandas")
        except ImportError:
            raise InputError("to_frame", "needs pandas", remedy="Run pip install pandas.") from None
        return frames.DataFrame([asdict(row) for row in self.rows])

    def figure(self, path: str | Path) -> Path:
        """Draw the figure.

        Parameters
        ----------
        path
            File that ends in .svg or .png.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            If the ending is another, matplotlib is not installed, or the file cannot be written.
        """
        target = Path(path_text("path", path))
        kinds = {".svg": svg, ".png": png}
        if target.suffix.lower() not in kinds:
            raise InputError("path", "must end in .svg or .png", given=safe_repr(str(path)))
        write_whole(target, kinds[target.suffix.lower()](self.study), "path")
        return target


def compare(
    mechanisms: Any,
    data: Any,
    statistic: Asked | str,
    *,
    epsilon: Any = EPSILONS,
    delta: Number = DELTA,
    alpha: Number = ALPHA,
    runs: Number = 100,
    datasets: Number = 100,
    seed: Number = 0,
    empty: Empty = "zero",
    ties: Ties = "smallest",
    bars: Number | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare mechanisms on simulated or public data; never on private data, since true answers are shown.

    Parameters
    ----------
    mechanisms
        A name, a baseline, a :class:`~flexdp.mechanisms.Mechanism`, a function ``mechanism(counts, rng)`` or its name
        "module:function" (see :mod:`flexdp.experiments.contenders`), a list of these, or a mapping from names to them.
    data
        A law or its text ("cauchy:45,4"), an array of counts, a Histogram with keys 0, …, B − 1, or a list or mapping
        of these, each of which becomes a panel. A law is drawn ``datasets`` times; fixed counts are reused as they are.
    statistic
        ``Max()``, ``MaxAtLeast(k)``, ``Mode()``, or any other with values on the scale of the buckets, such as
        ``Median()``, ``Quantile("0.9")``, ``Range()`` or ``Support()`` (Hausdorff distance); or its word on the command
        line, as "q0.9". Others than the first three are read off what histogram mechanisms publish; "em" takes numbers.
    epsilon
        One or several values of ε.
    delta
        Privacy parameter δ of all mechanisms.
    alpha
        Fraction of the records that flexible errors may drop.
    runs, datasets
        Runs per data set, and number of data sets.
    seed
        Seed of all random streams.
    empty
        Output of a noisy histogram without an answer: bucket 0 ("zero"), or a random bucket ("random").
    ties
        Which of several tallest buckets is the mode.
    bars
        B, the number of buckets, of a law or Histogram; by default 100 for a law, and for a Histogram its largest key
        is the last bucket.
    progress
        Called after each cell with the number of cells done, their total and a label.

    Returns
    -------
    Comparison
        The results.

    Examples
    --------
    >>> def blind(counts, rng, runs):
    ...     return rng.integers(len(counts), size=runs)
    >>> found = compare(["dropping", blind], [5, 0, 900], "max", epsilon=[1], runs=50, datasets=4)
    >>> [(row.mechanism, row.flexible) for row in found.rows][0]
    ('dropping', 0.0)
    >>> from flexdp.mechanisms import Dropping
    >>> found = compare({"mine": Dropping(1, "1e-6")}, [500, 0, 900], "median", epsilon=[1], runs=5, datasets=2)
    >>> found.rows[0].actual
    0.0
    """
    asked = parse_statistic(statistic)
    settings = Settings.checked(
        seed=seed, runs=runs, datasets=datasets, delta=delta, alpha=alpha, empty=empty, ties=ties
    )
    if progress is not None:
        function("progress", progress, "the number of cells done, their total and a label")
    width = None if bars is None else integer("bars", bars, at_most=_MOST_BARS)
    panels = [
        Experiment(name=label, statistic=asked, law=law, about=label) for label, law in _laws(data, width).items()
    ]
    study = run(panels, contenders(mechanisms), epsilon_grid(epsilon), settings, progress=progress)
    return Comparison(study=study)


def parse_statistic(statistic: Asked | str) -> Asked:
    """Parse a statistic as written on the command line; a plain object is taken as it is.

    >>> parse_statistic("max_at_least:500")
    MaxAtLeast(count=500)
    """
    asked: object = plain_scalar(statistic)
    return statistic_given(parse.parse_statistic(asked) if isinstance(asked, str) else asked)


def _laws(data: Any, bars: int | None) -> dict[str, DataLaw]:
    if isinstance(data, Mapping):
        found = {label: _law(each, label, bars) for label, each in labelled("data", data)}
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
        raise InputError("data", "must contain at least one law, array of counts or Histogram")
    return found


def _several(data: object) -> list[Any] | None:
    """Return a list of data sources; None for a single one, which may be a list of counts."""
    listed = sequence(data) if isinstance(data, list | tuple) else None
    return None if listed is None or all(isinstance(each, int | np.integer) for each in listed) else listed


def _law(data: Any, label: str, bars: int | None) -> DataLaw:
    if isinstance(data, str):
        return parse_law(data) if bars is None else parse_law(data, bars=bars)
    if isinstance(data, Histogram):
        return Fixed(_places(data, bars), label)
    if is_a(data, DataLaw) and not isinstance(data, type):
        return data  # type: ignore[no-any-return]
    row = array(data)
    if row is None or row.ndim != 1 or row.dtype.kind not in "iu" or not len(row) or int(row.min()) < 0:
        raise InputError(
            "data",
            "must be a distribution, an array of non-negative integers, a Histogram, or a list of these",
            given=safe_repr(data),
        )
    return Fixed(row.astype(np.int64), label)


def _places(histogram: Histogram, bars: int | None) -> NDArray[np.int64]:
    keys: Sequence[Any] = histogram.keys.tolist()
    if not keys or not all(isinstance(key, int | float) and key == int(key) and key >= 0 for key in keys):
        raise InputError("data", ": keys of a Histogram must be bucket numbers 0, …, B − 1")
    last = int(max(keys)) + 1
    if bars is not None and last > bars:
        raise InputError("bars", "must exceed the largest key of the histogram", given=str(bars))
    row = np.zeros(bars or last, dtype=np.int64)
    row[np.asarray(keys, dtype=np.int64)] = histogram.counts
    return row
