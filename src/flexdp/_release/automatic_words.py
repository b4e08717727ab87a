"""Automatic buckets in words: how they were chosen, why there are none, and the account of their budget."""

from __future__ import annotations

import math
from fractions import Fraction

from flexdp._core.exact import number_text, upper_text
from flexdp._core.text import plural, thousands
from flexdp._release.asked import Asked
from flexdp._release.asked_promises import count_promise
from flexdp._release.asked_sentences import SURE, counted
from flexdp._release.asking import BOTH_ENDS
from flexdp._release.automatic import Auto
from flexdp._release.ranges import joined, outward
from flexdp._release.sentences import short_name
from flexdp._release.spec import Spec
from flexdp.noise.exponential import Decay
from flexdp.sharp.automatic import FEW, FEW_FOR_BARS

__all__ = ["auto_proof", "how_chosen", "too_few_for_groups"]


def how_chosen(spec: Spec, auto: Auto, asked: Asked | None, whole: Fraction) -> tuple[str, ...]:
    """Return how the buckets were chosen and with how much of ``whole``, ε of all; or why there are none."""
    if auto.chosen:
        return (_division(auto, asked, whole),)
    if spec.by:
        return (f"{_capital(too_few_for_groups(spec, auto, whole))}.",)
    if asked is not None and not auto.gave_five(asked):
        return (f"{_few(spec, auto, 'buckets', whole)}; the answers asked for got the rest of ε.",)
    if auto.too_few:
        return (f"{_few(spec, auto, None, whole)}.",)
    return (f"{_few(spec, auto, 'buckets', whole)}; five answers instead.",)


def _division(auto: Auto, asked: Asked | None, whole: Fraction) -> str:
    """What part of ε went where."""
    budget = auto.budget
    answers = "minimum and maximum" if asked is not None and asked.wanted == BOTH_ENDS else "the answers asked for"
    part = budget.epsilon / whole
    told = f"Buckets were chosen privately with {_percent(auto.share * part)} of ε"
    counts = _percent((1 - auto.share) * part)
    if not budget.answers:
        return f"{told}; {counts} went into the counts."
    return f"{told}; {counts} went into the counts and {_percent(budget.answers / whole)} into {answers}."


def too_few_for_groups(spec: Spec, auto: Auto, whole: Fraction) -> str:
    """Return why there are no buckets by group, as part of a sentence."""
    told = _few(spec, auto, f"buckets by {joined([short_name(name) for name in spec.labels])}", whole)
    return f"{told[:1].lower()}{told[1:]}"


def _few(spec: Spec, auto: Auto, what: str | None, whole: Fraction) -> str:
    """About how many there are, how many are needed for buckets or for any answer, and what ε would do."""
    budget = auto.budget
    least, each = (FEW, budget.five) if what is None else (FEW_FOR_BARS, budget.each)
    needed = math.ceil(least / each)
    told = (
        f"About {counted(spec, auto.records_about)}: too few for {what or 'any answer'} at "
        f"ε = {number_text(whole)} (about {thousands(needed)} are needed"
    )
    off = count_promise(auto.epsilons["records"] / budget.most)
    if auto.seen > off:
        enough = whole * least / (auto.seen * each)
        told += f", or about ε = {outward(enough, 2, up=True)} for this many"
    none = "" if auto.seen > off else ", so there may be none"
    seen = thousands(auto.records_about)
    return f"{told}; {SURE.lower()}, the estimate of {seen} is off by at most {thousands(off)}{none})"


def auto_proof(auto: Auto) -> tuple[str, ...]:
    """Return the account of what chose the buckets, and the integers that prove its table.

    Parameters
    ----------
    auto
        What chose the buckets.

    Returns
    -------
    tuple of str
        The steps with their ε, that they add up, and the proof of the tree's table.
    """
    budget, found = auto.budget, auto.shares
    each = "" if budget.most == 1 else f" for each of {budget.most} records of a unit"
    if found is None:
        return ()
    records = auto.epsilons["records"] / budget.most
    chosen = records + found.per_level * (found.levels + 1) + found.leaves
    steps = (
        f"Choosing buckets: records by two-sided geometric noise, ε = {upper_text(records, 6)}; "
        f"{plural(found.levels + 1, 'level')} of a tree by the exponential mechanism, the outer ends of the last one "
        f"by ladders, ε = {upper_text(found.per_level, 6)} each; leaf counts by two-sided geometric noise, "
        f"ε = {upper_text(found.leaves, 6)}. Nodes of a level and leaves hold disjoint records and run in parallel; "
        f"together these steps spend ε = {number_text(chosen)} of {number_text(budget.each)}{each}, and the counts "
        f"spend the rest."
    )
    return steps, f"Proof for ε = {number_text(found.per_level)}: {Decay(found.per_level, 1).certify()}"


def _percent(part: Fraction) -> str:
    """A share for people; the exact ones are in the JSON."""
    return f"{float(100 * part):.4g}%"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
