"""The part ``auto`` of a release's JSON: what chose automatic buckets, written and read back.

A document is checked by choosing again: the division of the budget must follow from the number of records, and the
edges from the leaves and their counts.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from flexdp._core.documents import UnfitError
from flexdp._release.asked_checks import asked_column
from flexdp._release.automatic import RULES_OF_EDGES, Auto, AutoBudget
from flexdp._release.spec import Spec
from flexdp.guarantees import Privacy
from flexdp.sharp.ranks import Span
from flexdp.sharp.scale import Scale

__all__ = ["auto_in", "read_auto", "write_auto"]

_LARGEST_COUNT = 2**63
_MOST_LEAVES = 2**7  # more than any tree has
_LONGEST = 100  # characters of a number


def write_auto(document: dict[str, Any], auto: Auto | None, privacy: Privacy) -> dict[str, Any]:
    """Return a document with what chose its buckets added, and the privacy of all steps together."""
    if auto is None:
        return document
    told = {**document["privacy"], "epsilon": str(privacy.epsilon), "delta": str(privacy.delta)}
    part: dict[str, Any] = {
        "records_about": auto.seen,
        "epsilon": {step: str(epsilon) for step, epsilon in auto.epsilons.items()},
    }
    if auto.budget.answers:
        part["answers"] = str(auto.budget.answers)
    if auto.shares is None and auto.budget.certify is not None:  # of buckets, the part "certified" has it
        part["certify"] = str(auto.budget.certify)
    if auto.shares is not None:
        scale = auto.column.scale
        part |= {
            "share": str(auto.share),
            "levels": auto.shares.levels,
            "most_buckets": auto.shares.most_buckets,
            "cuts": [scale.text(span.high) for span in auto.spans if span.high is not None][: len(auto.spans) - 1],
            "leaf_counts": list(auto.leaf_counts),
        }
        if auto.rules > 1:  # documents of the first rules do not name them
            part["rules"] = auto.rules
    return {**document, "privacy": told, "auto": part}


def read_auto(document: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the document of the counts alone, with their own budget, and the part of what chose the buckets."""
    if not isinstance(document, dict) or "auto" not in document:
        return document, None
    part, privacy = document["auto"], document["privacy"]
    if "bars" not in document:
        return document, part
    own = _number(privacy["epsilon"]) * (1 - _number(part["share"]))
    return {**document, "privacy": {**privacy, "epsilon": str(own)}}, part


def auto_in(document: dict[str, Any], spec: Spec, *, bucketed: bool) -> Auto:
    """Return what chose the buckets of a document, after refusing what no program publishes.

    Parameters
    ----------
    document
        The whole document.
    spec
        The public description of the release.
    bucketed
        True if the release has buckets.

    Returns
    -------
    Auto
        What chose them.

    Raises
    ------
    InputError, ValueError, KeyError, TypeError
        If the document cannot be that of a release.
    """
    part, privacy, certified = document["auto"], document["privacy"], document.get("certified")
    if len(spec.columns) != 1 or not spec.ordered:
        raise UnfitError("automatic buckets of several columns, or of texts", "buckets")
    answers = _number(part.get("answers", "0"))
    if answers < 0:
        raise UnfitError("negative cost of answers", "buckets")
    budget = AutoBudget.checked(
        _number(privacy["epsilon"]) - answers,
        privacy["delta"],
        most=spec.max_buckets_per_unit,
        certify=part.get("certify") if certified is None else certified["share"],
        answers=answers,
    )
    column, seen = asked_column(spec), part["records_about"]
    if not _is_count(seen):
        raise UnfitError("no number of records", "buckets")
    rules = part.get("rules", 1)
    if type(rules) is not int or not 1 <= rules <= RULES_OF_EDGES:
        raise UnfitError("unknown rules", "buckets")
    spans: tuple[Span, ...] = ()
    counts: tuple[int, ...] = ()
    if bucketed:
        cuts = [_units(column.scale, text) for text in part["cuts"]]
        if len(cuts) >= _MOST_LEAVES or cuts != sorted(set(cuts)):
            raise UnfitError("leaves that are not in order", "buckets")
        ends = [column.ends.low, *cuts, column.ends.high]
        spans = tuple(Span(low, high) for low, high in pairwise(ends))
        counts = tuple(part["leaf_counts"])
        if len(counts) != len(spans) or not all(map(_is_count, counts)):
            raise UnfitError("leaves without counts", "buckets")
    found = Auto(
        budget=budget,
        kind=spec.kinds[0],
        column=column,
        seen=seen,
        spans=spans,
        leaf_counts=counts,
        rules=rules if bucketed else RULES_OF_EDGES,
    )
    if found.chosen != bucketed:
        raise UnfitError("buckets of too few records, or none of enough", "buckets")
    partition = spec.partitions[0]
    if bucketed and found.partition(partition.bounds, partition.outside) != partition:
        raise UnfitError("edges that do not follow from the leaves", "buckets")
    return found


def _is_count(number: Any) -> bool:
    return type(number) is int and abs(number) < _LARGEST_COUNT


def _units(scale: Scale, text: Any) -> int:
    """A cut in units from its exact decimal text."""
    found = scale.exactly(_number(text))
    if abs(found) > scale.limit + 1 or scale.text(found) != text:
        raise UnfitError("a cut that no tree has", "buckets")
    return found


def _number(text: Any) -> Fraction:
    if not isinstance(text, str) or len(text) > _LONGEST or "e" in text.lower():
        raise UnfitError("no exact number", "buckets")
    return Fraction(text)
