"""Pictures of releases and plans as SVG."""

from __future__ import annotations

from flexdp.report.charts.api import chart
from flexdp.report.charts.plans import tradeoff

__all__ = [
    "chart",
    "tradeoff",
]
