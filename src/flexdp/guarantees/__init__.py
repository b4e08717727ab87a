"""Guarantees: privacy for the people in the data, accuracy for the people who read the answer.

Guarantees are frozen values. The relation of neighbours, the condition on the table, the distortion of the input and
the metric of the output are types, compared as values; ``str`` puts each of them into words.
"""

from __future__ import annotations

from flexdp.guarantees.accuracy import Accuracy
from flexdp.guarantees.accuracy import percent_text as percent_text
from flexdp.guarantees.privacy import Privacy
from flexdp.guarantees.privacy import limit_text as limit_text
from flexdp.guarantees.privacy import sure_text as sure_text
from flexdp.guarantees.relations import (
    ONE_RECORD,
    AddRemove,
    AnswersWithin,
    Condition,
    Neighbours,
    OwnNeighbours,
    Replace,
)

__all__ = [
    "ONE_RECORD",
    "Accuracy",
    "AddRemove",
    "AnswersWithin",
    "Condition",
    "Neighbours",
    "OwnNeighbours",
    "Privacy",
    "Replace",
]
