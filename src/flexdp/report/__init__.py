"""Pictures, reports and cards, made from public JSON alone; and pictures that explain the theory.

======================= ================================================================
``chart(document)``     a release as SVG: histogram with its band, groups, or a map
``tradeoff(document)``  a plan as SVG: records lost against ε
``page(document, r)``   a release as one self-contained HTML file
``pebbles(chain, x)``   what a guarantee says exists, for one run on data that may be shown
``accuracy_chart(c)``   measured accuracy, beside what is promised
``noise_chart(noise)``  the chance that a bucket survives, beside the law of its noise
``coupling_chart(p, q)`` a coupling within the lossy W∞ distance of two laws
``derivation_chart(d)``  how the accuracy of a chain follows from its steps
======================= ================================================================
"""

from __future__ import annotations

from flexdp.report.charts.accuracies import accuracy_chart
from flexdp.report.charts.api import chart
from flexdp.report.charts.drops import noise_chart
from flexdp.report.charts.plans import tradeoff
from flexdp.report.couplings import coupling_chart
from flexdp.report.derivations import derivation_chart
from flexdp.report.document import Document
from flexdp.report.html.page import page
from flexdp.report.pebbles import pebbles

__all__ = [
    "Document",
    "accuracy_chart",
    "chart",
    "coupling_chart",
    "derivation_chart",
    "noise_chart",
    "page",
    "pebbles",
    "tradeoff",
]
