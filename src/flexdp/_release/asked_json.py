"""The part ``asked`` of a release's JSON: asked answers, written and read back.

What a program published beyond its outcomes follows from them (:func:`flexdp._release.asked.rebuilt`), so a document is
checked by writing it again: ways, budgets, targets and promises must come out the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flexdp._core.documents import UnfitError
from flexdp._core.domains import DELTA
from flexdp._core.exact import json_value, number_text
from flexdp._release.asked import Asked, Column, Outcomes, Result, rebuilt
from flexdp._release.asked_checks import asked_column, lists_groups
from flexdp._release.asked_promises import mean_promise, rank_promises
from flexdp._release.asking import AskedBudget, wanted
from flexdp._release.columns import sorted_groups
from flexdp._release.groups import group_places
from flexdp._release.spec import Spec
from flexdp.guarantees import Privacy
from flexdp.histogram import KeyedHistogram
from flexdp.sharp.scale import Scale

__all__ = ["asked_in", "read_asked", "write_asked"]

_RULES = 4  # the number of the public rules of flexdp.sharp.rules
_LARGEST_COUNT = 2**63
_LARGEST_SUM = 2**160
_LONGEST = 100  # characters of a number


def write_asked(document: dict[str, Any], spec: Spec, asked: Asked | None, privacy: Privacy) -> dict[str, Any]:
    """Return a document with the asked answers added, and the privacy of all parts together."""
    if asked is None:
        return document
    told = {**document["privacy"], "epsilon": str(privacy.epsilon), "delta": str(privacy.delta)}
    results = [
        ({"group": json_value(list(group))} if spec.by else {}) | _written(asked, result)
        for group, result in asked.results.items()
    ]
    part: dict[str, Any] = {
        "statistics": list(asked.wanted.words),
        "epsilon": str(asked.budget.epsilon),
        "rules": _RULES,
    }
    if asked.budget.listing is not None:
        part["listing"] = {
            "delta": str(asked.budget.delta),
            "q": asked.budget.listing.noise.q,
            "max_drop": asked.budget.listing.noise.max_drop,
        }
    return {**document, "privacy": told, "asked": {**part, "results": results}}


def _written(asked: Asked, result: Result) -> dict[str, Any]:
    out: dict[str, Any] = {}
    scale = asked.column.scale
    if result.listed is not None:
        out["listed"] = result.listed
    if asked.count_epsilon is not None:
        seen = result.count
        if seen is None:
            seen = (result.levels or result.mean).records_about  # type: ignore[union-attr]
        out["records_about"] = seen
        out["records_epsilon"] = str(asked.count_epsilon)
    if result.levels is not None:
        promises = rank_promises(asked, result)
        out["helpers"] = [{"level": str(q), "value": scale.text(value)} for q, value in result.levels.helpers]
        out["answers"] = [
            {
                "level": str(each.level),
                "value": scale.text(each.value),
                "way": each.way,
                "epsilon": str(each.epsilon),
                "target": each.target,
                "gamma": str(promises[each.level].gamma),
                "between": promises[each.level].between,
                "beyond": promises[each.level].beyond,
                "reaches": _text(scale, promises[each.level].reaches),
                "decades": promises[each.level].decades,
                "decimals": promises[each.level].decimals,
            }
            for each in result.levels.answers
        ]
    if result.mean is not None:
        mean, promise = result.mean, mean_promise(asked, result.mean)
        out["mean"] = {
            "anchor": _text(scale, mean.anchor),
            "low": _text(scale, mean.low),
            "high": _text(scale, mean.high),
            "step": None if mean.tally is None else scale.text(mean.tally.step),
            "cells": None if mean.tally is None else mean.tally.cells,
            "sums": None if mean.sums is None else list(mean.sums),
            "epsilon": str(mean.epsilon),
            "value": number_text(mean.mean) if asked.has_mean(mean) else None,
            "gamma": None if promise is None else str(promise.gamma),
            "off": None if promise is None or promise.mean is None else str(promise.mean),
            "outside": None if promise is None else promise.outside,
        }
    return out


def read_asked(document: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the document of the buckets alone, with their own budget, and the part of the asked answers."""
    if not isinstance(document, dict) or "asked" not in document:
        return document, None
    part, privacy = document["asked"], document["privacy"]
    if "bars" not in document:
        return document, part
    own = _number(privacy["epsilon"]) - _number(part["epsilon"])
    return {**document, "privacy": {**privacy, "epsilon": str(own)}}, part


def asked_in(part: dict[str, Any], spec: Spec, cells: KeyedHistogram | None) -> Asked:
    """Return the asked answers of a document, after refusing what no program publishes.

    Parameters
    ----------
    part
        The part ``asked`` of a document.
    spec
        The public description of the release.
    cells
        The counts of its buckets; None where it has none.

    Returns
    -------
    Asked
        The answers.

    Raises
    ------
    InputError, ValueError, KeyError, TypeError
        If the document cannot be that of a release.
    """
    words = part["statistics"]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise UnfitError("no statistics", "answers")
    asked = wanted(words, spec.kinds)
    if asked.words != tuple(words):
        raise UnfitError("statistics in other words", "answers")
    lists = lists_groups(spec, bucketed=cells is not None)
    if lists != ("listing" in part):
        raise UnfitError("groups that were listed though known, or not listed", "answers")
    delta = DELTA.check(_number(part["listing"]["delta"])) if lists else Fraction(0)
    budget, column = AskedBudget(_number(part["epsilon"]), spec.max_buckets_per_unit, delta), asked_column(spec)
    if budget.epsilon <= 0:
        raise UnfitError("no budget", "answers")
    if budget.listing is not None and not budget.listing.has_reach(part["listing"]["q"]):
        raise UnfitError("a reach that its ε and δ do not lead to", "noise")
    budget.check(asked, bounded=column.bounded)
    groups: Sequence[tuple[Any, ...]] = [()]
    if lists:
        groups = sorted_groups([told["group"] for told in part["results"]], spec.by_kinds)
    elif spec.by:
        groups = list(spec.groups or ()) if cells is None else list(group_places(spec, cells))
    if len(part["results"]) != len(groups):
        raise UnfitError("groups without results", "answers")
    if part.get("rules") != _RULES:
        raise UnfitError("rules that are not known", "answers")
    parts = budget.parts(asked)
    results = {}
    for group, told in zip(groups, part["results"], strict=True):
        seen, listed = told.get("records_about"), told.get("listed")
        if any(number is not None and not _is_count(number) for number in (seen, listed)):
            raise UnfitError("no number of records", "answers")
        if lists != (listed is not None) or (listed is not None and listed <= 0):
            raise UnfitError("a group that was listed without records", "answers")
        levels = None if "answers" not in told else _levels(told, column.scale)
        mean = None if "mean" not in told else _mean(told["mean"], column)
        if ("levels" in parts) != (levels is not None) or ("mean" in parts) != (mean is not None):
            raise UnfitError("answers that were not asked for, or asked for and missing", "answers")
        if seen is None and (not lists or "count" in parts) and not (column.bounded and set(parts) == {"mean"}):
            raise UnfitError("no number of records", "answers")
        results[group] = rebuilt(asked, parts, column, records_about=seen, levels=levels, mean=mean, listed=listed)
    return Asked(wanted=asked, budget=budget, column=column, results=results)


def _is_count(number: Any) -> bool:
    return type(number) is int and abs(number) < _LARGEST_COUNT


def _levels(told: dict[str, Any], scale: Scale) -> Outcomes:
    cuts = [*told["helpers"], *told["answers"]]
    return Outcomes(values={_number(each["level"]): _units(scale, each["value"]) for each in cuts})


def _mean(told: dict[str, Any], column: Column) -> Outcomes:
    scale, sums = column.scale, told["sums"]
    if sums is not None and (len(sums) != 2 or any(type(each) is not int or abs(each) > _LARGEST_SUM for each in sums)):
        raise UnfitError("no sums", "answers")
    low, high = (None if told[end] is None else _units(scale, told[end]) for end in ("low", "high"))
    return Outcomes(
        anchor=None if told["anchor"] is None else _units(scale, told["anchor"]),
        ends=None if low is None or high is None else (low, high),
        sums=None if sums is None else (sums[0], sums[1]),
    )


def _text(scale: Scale, units: int | None) -> str | None:
    return None if units is None else scale.text(units)


def _units(scale: Scale, text: Any) -> int:
    """A number of units from its exact decimal text."""
    found = scale.exactly(_number(text))
    if abs(found) > scale.limit or scale.text(found) != text:
        raise UnfitError("a value that no answer has", "answers")
    return found


def _number(text: Any) -> Fraction:
    if not isinstance(text, str) or len(text) > _LONGEST or "e" in text.lower():
        raise UnfitError("no exact number", "answers")
    return Fraction(text)
