"""flexdp: differential privacy that leaves records out instead of adding noise.

>>> import flexdp
>>> r = flexdp.release([18.5, 19.0] * 500, epsilon=1, delta=1e-6, width=5)
>>> print(r.max())  # doctest: +NORMALIZE_WHITESPACE
Highest value: 15–20 or more. At most 27 records per bucket were left out; up to 27 may lie in each higher bucket, and
apart from those the highest lies in 15–20.
"""

import importlib
from typing import TYPE_CHECKING, Any

from flexdp.version import __version__

if TYPE_CHECKING:
    from flexdp._release.answers import Answer
    from flexdp._release.api import query, release
    from flexdp._release.dataset import Column, Dataset
    from flexdp._release.promises import Certificate
    from flexdp._release.published import Release
    from flexdp._release.several import Releases
    from flexdp._release.summary import summary
    from flexdp.accounting import Ledger, compose, privacy_curve
    from flexdp.calculus import distortion_sensitivity, error_sensitivity, metric_sensitivity, preserves_neighbours
    from flexdp.errors import (
        BudgetError,
        CertificateError,
        DataError,
        FlexdpError,
        InputError,
        LedgerError,
        PrivacyWarning,
        ReadingWarning,
        UnavailableError,
    )
    from flexdp.guarantees import Accuracy, Privacy
    from flexdp.histogram import Histogram
    from flexdp.planning import plan
    from flexdp.tables.check import Check, check

__all__ = [
    "Accuracy",
    "Answer",
    "BudgetError",
    "Certificate",
    "CertificateError",
    "Check",
    "Column",
    "DataError",
    "Dataset",
    "FlexdpError",
    "Histogram",
    "InputError",
    "Ledger",
    "LedgerError",
    "Privacy",
    "PrivacyWarning",
    "ReadingWarning",
    "Release",
    "Releases",
    "UnavailableError",
    "__version__",
    "check",
    "compose",
    "distortion_sensitivity",
    "error_sensitivity",
    "metric_sensitivity",
    "plan",
    "preserves_neighbours",
    "privacy_curve",
    "query",
    "release",
    "summary",
]

_NAMES = {  # where each public name is defined; loaded on first use, so that importing flexdp takes no time
    "Accuracy": "guarantees",
    "Answer": "_release.answers",
    "BudgetError": "errors",
    "Certificate": "_release.promises",
    "CertificateError": "errors",
    "Check": "tables.check",
    "DataError": "errors",
    "FlexdpError": "errors",
    "Histogram": "histogram",
    "InputError": "errors",
    "Ledger": "accounting",
    "LedgerError": "errors",
    "Privacy": "guarantees",
    "PrivacyWarning": "errors",
    "ReadingWarning": "errors",
    "Release": "_release.published",
    "Releases": "_release.several",
    "Column": "_release.dataset",
    "Dataset": "_release.dataset",
    "UnavailableError": "errors",
    "check": "tables.check",
    "compose": "accounting",
    "distortion_sensitivity": "calculus",
    "error_sensitivity": "calculus",
    "metric_sensitivity": "calculus",
    "plan": "planning",
    "preserves_neighbours": "calculus",
    "privacy_curve": "accounting",
    "query": "_release.api",
    "release": "_release.api",
    "summary": "_release.summary",
}
_ROOMS = (
    "accounting",
    "audit",
    "baselines",
    "calculus",
    "distances",
    "distortions",
    "experiments",
    "measure",
    "mechanisms",
    "report",
    "statistics",
)


def __getattr__(name: str) -> Any:
    """Load a public name or room on first use, as in ``flexdp.report.chart``."""
    if name in _NAMES:
        found = getattr(importlib.import_module(f"flexdp.{_NAMES[name]}"), name)
        globals()[name] = found
        return found
    if name in _ROOMS:
        return importlib.import_module(f"flexdp.{name}")
    raise AttributeError(f"module 'flexdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
