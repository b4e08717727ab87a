"""Estimators fitted on released counts."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from flexdp._core.domains import attribute
from flexdp._release.json import group_columns
from flexdp._release.spec import Spec
from flexdp.errors import InputError, P
from flexdp.histogram import Histogram, KeyedHistogram

__all__ = ["fitting"]


def fitting(estimator: Any, spec: Spec, cells: KeyedHistogram) -> Callable[[Histogram], Any]:
    """Return the function that fits a copy of an estimator on a histogram, its counts as sample weights.

    An estimator that learns labels gets the groups, which are never bucketed, for labels.
    """
    if any(kind not in ("integer", "number") for kind in spec.kinds):
        raise InputError("estimator", f"needs columns of numbers, and this one is of kind {spec.kinds[0]}")
    learn = attribute(estimator, "fit")
    wanted = inspect.signature(learn).parameters if callable(learn) else {}
    if "sample_weight" not in wanted:
        raise InputError("estimator", "must have a fit method that takes sample_weight, as scikit-learn's do")
    labelled = "y" in wanted and wanted["y"].default is inspect.Parameter.empty
    if labelled and len(spec.by) != 1:
        raise InputError(
            "estimator", "learns labels", remedy=("Release with ", P("by"), ", the one column that holds them.")
        )

    def work(histogram: Histogram) -> Any:
        learner = copy.deepcopy(estimator)
        if not labelled:
            points = histogram.keys.astype(np.float64).reshape(len(histogram), -1)
            return learner.fit(points, sample_weight=histogram.counts.astype(np.float64))
        index = cells.parts[len(spec.by) :]
        centres = [axis.centres(part) for axis, part in zip(spec.partitions, index, strict=True)]
        points = np.stack([part.astype(np.float64) for part in centres], axis=1)
        labels = np.array(group_columns(spec, cells)[0])
        return learner.fit(points, labels, sample_weight=cells.counts.astype(np.float64))

    return work
