"""Every answer that a release gives, by group and for all groups together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flexdp import InputError, Release
from flexdp._release.answers import Answer

QUESTIONS: dict[str, Any] = {
    "max": lambda r: r.max(),
    "min": lambda r: r.min(),
    "range": lambda r: r.range(),
    "median": lambda r: r.median(),
    "q0.99": lambda r: r.quantile(0.99),
    "q0.9": lambda r: r.quantile(0.9),
    "q0.05": lambda r: r.quantile(0.05),
    "iqr": lambda r: r.iqr(),
    "count": lambda r: r.count(),
    "sum": lambda r: r.sum(),
    "mean": lambda r: r.mean(),
    "std": lambda r: r.std(),
    "mode": lambda r: r.mode(),
    "support": lambda r: r.support(),
    "max_at_least": lambda r: r.max_at_least(40),
    "top": lambda r: r.top(3),
    "counts": lambda r: r.counts(),
    "debiased": lambda r: r.counts(debias=True),
}


def answers_of(release: Release) -> Iterator[Answer]:
    """Yield all answers; what cannot be asked of a release is left out."""
    yield from release.capped_units
    views = [release, *(release.by_group().values() if release.spec.by else [])]
    for view in views:
        for ask in QUESTIONS.values():
            try:
                yield ask(view)
            except InputError:
                continue
