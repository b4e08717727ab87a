"""flexdp: differential privacy that only ever leaves records out.

>>> import flexdp
>>> r = flexdp.release([18.5, 19.0] * 500, epsilon=1, delta=1e-6, width=5)
>>> print(r.max())
Highest value: 15–20. At most 27 records per bucket were left out; among the rest this is exact.
"""

import importlib
from typing import Any

from flexdp._release.answers import Answer
from flexdp._release.api import query, release
from flexdp._release.promises import Certificate
from flexdp._release.published import Release
from flexdp._release.several import Releases
from flexdp.errors import CertificateError, DataError, FlexdpError, InputError
from flexdp.guarantees import Accuracy, Privacy
from flexdp.histogram import Histogram
from flexdp.planning import plan
from flexdp.version import __version__

__all__ = [
    "Accuracy",
    "Answer",
    "Certificate",
    "CertificateError",
    "DataError",
    "FlexdpError",
    "Histogram",
    "InputError",
    "Privacy",
    "Release",
    "Releases",
    "__version__",
    "plan",
    "query",
    "release",
]

_ON_DEMAND = (
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
    """Load a public submodule on first use, as in ``flexdp.report.chart``."""
    if name in _ON_DEMAND:
        return importlib.import_module(f"flexdp.{name}")
    raise AttributeError(f"module 'flexdp' has no attribute {name!r}")
