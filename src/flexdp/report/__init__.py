"""Pictures, reports and cards: public JSON in, SVG and HTML out. Nothing here can know more than the JSON says.

======================= ================================================================
``chart(document)``     a release as SVG: histogram with its band, groups, or a map
``tradeoff(document)``  a plan as SVG: records lost against ε
``page(document, r)``   a release as one self-contained HTML file
======================= ================================================================
"""

from __future__ import annotations

from flexdp.report.charts import chart
from flexdp.report.document import Document
from flexdp.report.page import page
from flexdp.report.plans import tradeoff

__all__ = ["Document", "chart", "page", "tradeoff"]
