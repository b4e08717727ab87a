"""Pictures, reports and cards, made from public JSON alone.

======================= ================================================================
``chart(document)``     a release as SVG: histogram with its band, groups, or a map
``tradeoff(document)``  a plan as SVG: records lost against ε
``page(document, r)``   a release as one self-contained HTML file
======================= ================================================================
"""

from __future__ import annotations

from flexdp.report.charts.api import chart
from flexdp.report.charts.plans import tradeoff
from flexdp.report.document import Document
from flexdp.report.html.page import page

__all__ = ["Document", "chart", "page", "tradeoff"]
