"""Results of a study: rows, CSV files, and a short table for a terminal.

Errors are in percent of the number of buckets. ``actual`` is the distance from the true answer, ``flexible`` that from
the nearest answer attainable by dropping a fraction α of the records; both are means over runs, then over data sets,
with standard errors over data sets. ``beta_50``, ``beta_90`` and ``beta_99`` are quantiles of the flexible error over
all runs.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from fractions import Fraction

import numpy as np

from flexdp._core.exact import number_text, value_text
from flexdp.experiments.cells import Cell
from flexdp.experiments.runner import Study

__all__ = ["Row", "datasets_csv", "mean_and_error", "results_csv", "rows", "short_table", "timings_csv"]

SHOWN = 4  # values of ε in a terminal table


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of ``results.csv``; errors are in percent of the number of buckets.

    Parameters
    ----------
    experiment, mechanism
        Names.
    epsilon
        Privacy parameter.
    actual, flexible
        Mean errors over all data sets.
    actual_se, flexible_se
        Their standard errors over data sets.
    beta_50, beta_90, beta_99
        Quantiles of the flexible error over all runs.

    Examples
    --------
    >>> from flexdp.experiments import compare
    >>> row = compare("dropping", [5, 0, 900], "max", epsilon=1, runs=20, datasets=2).rows[0]
    >>> row.mechanism, row.actual, row.beta_99
    ('dropping', 0.0, 0.0)
    """

    experiment: str
    mechanism: str
    epsilon: float
    actual: float
    actual_se: float
    flexible: float
    flexible_se: float
    beta_50: float
    beta_90: float
    beta_99: float


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean over data sets and its standard error.

    >>> mean_and_error([1.0, 2.0, 3.0])
    (2.0, 0.5773502691896258)
    """
    sample = np.asarray(values, dtype=np.float64)
    return float(sample.mean()), float(sample.std(ddof=1) / math.sqrt(len(sample)))


def rows(study: Study) -> list[Row]:
    """Return one row per cell, in the order of the study."""
    return [_row(cell) for cell in study.cells]


def _row(cell: Cell) -> Row:
    actual, flexible = mean_and_error(cell.actual), mean_and_error(cell.flexible)
    return Row(
        experiment=cell.experiment,
        mechanism=cell.mechanism,
        epsilon=float(cell.epsilon),
        actual=round(actual[0], 9),
        actual_se=round(actual[1], 9),
        flexible=round(flexible[0], 9),
        flexible_se=round(flexible[1], 9),
        beta_50=cell.betas[0],
        beta_90=cell.betas[1],
        beta_99=cell.betas[2],
    )


def results_csv(study: Study) -> str:
    """Return ``results.csv``, identical for equal parameters and seed."""
    return _csv([each.name for each in fields(Row)], (map(value_text, astuple(row)) for row in rows(study)))


def datasets_csv(study: Study) -> str:
    """Return ``datasets.csv``: one row per data set and cell, for paired comparisons."""
    lines = (
        map(value_text, (cell.experiment, cell.mechanism, cell.epsilon, place, actual, flexible))
        for cell in study.cells
        for place, (actual, flexible) in enumerate(zip(cell.actual, cell.flexible, strict=True))
    )
    return _csv(["experiment", "mechanism", "epsilon", "dataset", "actual", "flexible"], lines)


def timings_csv(study: Study) -> str:
    """Return ``timings.csv``: processor seconds of each mechanism in this run, and its share."""
    whole = sum(study.seconds.values()) or 1.0
    lines = ([name, f"{spent:.3f}", f"{spent / whole:.3f}"] for name, spent in study.seconds.items())
    return _csv(["mechanism", "seconds", "share"], lines)


def short_table(study: Study) -> str:
    """Return a table for a terminal: errors at a few ε, one block per experiment."""
    picked = _few(study.epsilons)
    width = max(map(len, study.mechanisms)) + 2
    blocks = []
    for experiment in study.experiments:
        lines = [experiment.title, " " * width + "".join(f"{'ε = ' + number_text(e):>16}" for e in picked)]
        for name in study.mechanisms:
            cells = (_row(study.cell(experiment.name, name, epsilon)) for epsilon in picked)
            shown = "".join(f"{f'{cell.actual:.1f} / {cell.flexible:.1f}':>16}" for cell in cells)
            lines.append(f"{name:<{width}}{shown}")
        blocks.append("\n".join(lines))
    return "Mean error in % of the number of buckets (actual / flexible)\n\n" + "\n\n".join(blocks)


def _few(epsilons: Sequence[Fraction]) -> list[Fraction]:
    if len(epsilons) <= SHOWN:
        return list(epsilons)
    return [epsilons[round(place * (len(epsilons) - 1) / (SHOWN - 1))] for place in range(SHOWN)]


def _csv(header: Sequence[str], lines: Iterable[Iterable[str]]) -> str:
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    return target.getvalue()
