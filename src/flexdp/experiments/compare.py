"""Comparisons of any mechanisms on any simulated or public data: the same errors, table and figure as the study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import array, function, integer, path_text
from flexdp._core.exact import Number
from flexdp._core.files import write_whole
from flexdp._core.text import is_short, plain_scalar, safe_repr, thousands
from flexdp._release.api import prepare
from flexdp.baselines.base import Empty, Ties
from flexdp.distortions import Distortion
from flexdp.errors import InputError, P
from flexdp.experiments.contenders import import_reference, is_reference, read_contenders
from flexdp.experiments.figure import png, svg
from flexdp.experiments.paper import ALPHA, DELTA, EPSILONS, Experiment
from flexdp.experiments.study import (
    Average,
    Progress,
    Row,
    Settings,
    Study,
    format_table,
    read_epsilons,
    results_csv,
    run,
)
from flexdp.histogram import Histogram
from flexdp.simulation import LARGEST, DataLaw, Fixed, Generator, parse_law, stream
from flexdp.statistics import parse

__all__ = ["Comparison", "Generated", "average", "compare", "count_public_column", "read_data", "read_statistic"]

MOST_BARS = 100_000  # of a column of a public table


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

    @property
    def rows(self) -> list[Row]:
        """One row per data set, mechanism and ε, as in ``results.csv``."""
        return self.study.rows

    def __str__(self) -> str:
        return format_table(self.study)

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
        return frames.DataFrame([row.columns() for row in self.rows])

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
            If the ending is another, or matplotlib is not installed.
        """
        target = Path(path_text("path", path))
        kinds = {".svg": svg, ".png": png}
        if target.suffix.lower() not in kinds:
            raise InputError("path", "must end in .svg or .png", given=safe_repr(str(path)))
        write_whole(target, kinds[target.suffix.lower()](self.study))
        return target


def compare(
    mechanisms: Any,
    data: Any,
    statistic: Any,
    *,
    averaged: bool = False,
    epsilon: Any = EPSILONS,
    delta: Number = DELTA,
    alpha: Number = ALPHA,
    distortion: Distortion | str = "drop",
    gamma: Number | None = None,
    runs: Number = 100,
    datasets: Number | None = None,
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
        An answer outside the buckets is refused.
    data
        A law or its text ("cauchy:45,4"), a generator of your own: a function ``data(rng)`` that returns counts, or its
        name "module:function"; an array of counts, a Histogram with keys 0, …, B − 1, or a list or mapping of these,
        each of which becomes a panel. A law is drawn ``datasets`` times; fixed counts are reused as they are.
    statistic
        ``Max()``, ``MaxAtLeast(k)``, ``Mode()``, or any other with values on the scale of the buckets, such as
        ``Median()``, ``Quantile("0.9")``, ``Range()`` or ``Support()`` (Hausdorff distance); or its word on the command
        line, as "q0.9"; or a plain function of a histogram of bucket numbers, or its name "module:function". Others
        than the first three are read off what histogram mechanisms publish; "em" takes numbers.
    averaged
        Average over several ``data`` in one panel, instead of one panel for each.
    epsilon
        One or several values of ε.
    delta
        Privacy parameter δ of all mechanisms.
    alpha
        Largest distortion that flexible errors allow; by default a fraction of the records, which are dropped.
    distortion
        "drop", "move" or "drop-move:ETA", or ``Drop()``, ``Move()``, ``DropMove(eta)``: records move by numbers of
        buckets.
    gamma
        A γ whose β is shown: the error that flexible errors exceed with this probability.
    runs, datasets
        Runs per data set, and number of data sets: by default 100, and where several data are averaged a multiple of
        their number.
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
    >>> def two_peaks(rng):
    ...     return rng.poisson([300, 2, 2, 2, 280])
    >>> found = compare("dropping", two_peaks, "mode", epsilon=[1], gamma="0.05", runs=20, datasets=5)
    >>> found.rows[0].beta("0.05")
    0.0
    """
    asked = read_statistic(statistic)
    width = None if bars is None else integer("bars", bars, at_most=LARGEST)
    laws = read_data(data, width)
    if averaged:
        laws = average(laws)
    (first, *_) = laws.values()
    settings = Settings(
        seed=seed,
        runs=runs,
        datasets=count_data_sets(first) if datasets is None else datasets,
        delta=delta,
        alpha=alpha,
        distortion=distortion,
        gamma=gamma,
        empty=empty,
        ties=ties,
    )
    if progress is not None:
        function("progress", progress, "the number of cells done, their total and a label")
    panels = [Experiment(name=label, statistic=asked, law=law, about=label) for label, law in laws.items()]
    return Comparison(
        study=run(panels, read_contenders(mechanisms), read_epsilons(epsilon), settings, progress=progress)
    )


def read_statistic(statistic: Any) -> Any:
    """Read a statistic: an object or a function as it is, a word, or "module:function".

    >>> read_statistic("max_at_least:500")
    MaxAtLeast(count=500)
    """
    asked: object = plain_scalar(statistic)
    if is_reference(asked):
        asked = import_reference(asked, "statistic")
    found = parse.parse_statistic(asked) if isinstance(asked, str) else asked
    if not callable(found) or isinstance(found, type):
        raise InputError(
            "statistic", "must be a statistic, its word, or a function of a histogram", given=safe_repr(found)
        )
    return found


# Data


@dataclass(frozen=True, slots=True)
class Generated:
    """Data sets of a function ``draw(rng)``, which returns the counts of all buckets."""

    draw: Callable[[Generator], Any]
    label: str

    def __str__(self) -> str:
        return self.label

    @property
    def bars(self) -> int:
        """B of a first data set."""
        return len(self.counts(stream(0, "bars")))

    def counts(self, rng: Generator) -> NDArray[np.int64]:
        """Draw one data set; see :class:`DataLaw`."""
        return _read_counts(self.draw(rng), f"{safe_repr(self.label)} must return")


def average(laws: Mapping[str, DataLaw]) -> dict[str, DataLaw]:
    """Make one source of several, whose data sets are averaged."""
    label = f"average of {len(laws)} data sets" if len(laws) > 1 else next(iter(laws))
    return {label: Average(tuple(laws.values()), label)}


def count_data_sets(law: DataLaw) -> int:
    """Return the usual number of data sets: 100, or enough that each of several sources gives as many."""
    sources = law.laws if isinstance(law, Average) else (law,)
    return len(sources) * max(2, -(-100 // len(sources)))


def read_data(data: Any, bars: int | None) -> dict[str, DataLaw]:
    """Read what a comparison is given as data, as laws by label."""
    if isinstance(data, Mapping):
        found = {str(label): _read_law(each, str(label), bars) for label, each in data.items()}
    elif _is_several(data):
        laws = [_read_law(each, f"data {place}", bars) for place, each in enumerate(data, 1)]
        labels = [str(law) if is_short(str(law)) else f"data {place}" for place, law in enumerate(laws, 1)]
        if len(set(labels)) < len(labels):
            labels = [f"{label} #{place}" for place, label in enumerate(labels, 1)]
        found = dict(zip(labels, laws, strict=True))
    else:
        law = _read_law(data, "data", bars)
        found = {str(law) if is_short(str(law)) else "data": law}
    if not found:
        raise InputError("data", "must contain at least one law, array of counts or Histogram")
    return found


def _is_several(data: object) -> bool:
    """Return True for a list of data sources; False for a single one, which may be a list of counts."""
    return isinstance(data, list | tuple) and not all(isinstance(each, int | np.integer) for each in data)


def _read_law(data: Any, label: str, bars: int | None) -> DataLaw:
    if is_reference(data):
        data = import_reference(data, "data")
    if isinstance(data, str):
        return parse_law(data) if bars is None else parse_law(data, bars=bars)
    if isinstance(data, Histogram):
        return Fixed(_place_records(data, bars), label)
    if isinstance(data, DataLaw) and not isinstance(data, type):
        return data
    if callable(data):
        name = getattr(data, "__name__", label)
        return Generated(data, label if name == "<lambda>" else name)
    return Fixed(
        _read_counts(data, "must be a distribution, a function of a generator, a Histogram, a list of these, or"), label
    )


def _read_counts(given: Any, rule: str) -> NDArray[np.int64]:
    row = array(given)
    if row is None or row.ndim != 1 or row.dtype.kind not in "iu" or not len(row) or int(row.min()) < 0:
        raise InputError("data", f"{rule} an array of non-negative integers", given=safe_repr(given))
    return row.astype(np.int64)


def _place_records(histogram: Histogram, bars: int | None) -> NDArray[np.int64]:
    keys: Sequence[Any] = histogram.keys.tolist()
    if not keys or not all(isinstance(key, int | float) and key == int(key) and key >= 0 for key in keys):
        raise InputError("data", ": keys of a Histogram must be bucket numbers 0, …, B − 1")
    last = int(max(keys)) + 1
    if bars is not None and last > bars:
        raise InputError("bars", "must exceed the largest key of the histogram", given=str(bars))
    row = np.zeros(bars or last, dtype=np.int64)
    row[np.asarray(keys, dtype=np.int64)] = histogram.counts
    return row


def count_public_column(source: Any, column: str, *, data_is_public: bool, **parameters: Any) -> Fixed:
    """Return the exact count of every bucket; refuse unless the caller declares the data public."""
    if not data_is_public:
        raise InputError(
            "data_is_public",
            "must be set to compare mechanisms on a table",
            remedy=(
                "A comparison shows true answers next to noisy ones. If anybody may see the data, pass ",
                P("data_is_public", True),
                "; for private data, make a release instead.",
            ),
        )
    (question,) = prepare(source, column, **parameters).questions
    (buckets,) = question.spec.partitions
    bars = buckets.count
    if bars is None:
        raise InputError(
            "bounds",
            ("and ", P("width"), " are required"),
            remedy="All mechanisms must know the buckets in advance.",
        )
    if bars > MOST_BARS:
        raise InputError(
            "width",
            f"must make at most {thousands(MOST_BARS)} buckets",
            given=thousands(bars),
            remedy="Choose a larger width.",
        )
    (counted,) = question.table.count([question.counting])
    row = np.zeros(bars, dtype=np.int64)
    row[counted.parts[0].astype(np.int64) - buckets.first] = counted.counts
    return Fixed(row, str(column))
