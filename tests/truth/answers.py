"""Every answer that a release gives, by group and for all groups together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from flexdp import InputError, Release
from flexdp._release.answers import Answer
from flexdp._release.claims import Absent, Claim, Missing, MissingShare, Population
from flexdp.statistics import Count

QUESTIONS: dict[str, Any] = {
    "max": lambda r: r.max(),
    "min": lambda r: r.min(),
    "range": lambda r: r.range(),
    "median": lambda r: r.median(),
    "q0.99": lambda r: r.quantile(0.99),
    "q0.9": lambda r: r.quantile(0.9),
    "q0.05": lambda r: r.quantile(0.05),
    "q0.25": lambda r: r.quantile(0.25),
    "q0.75": lambda r: r.quantile(0.75),
    "iqr": lambda r: r.iqr(),
    "count": lambda r: r.count(),
    "sum": lambda r: r.sum(),
    "mean": lambda r: r.mean(),
    "std": lambda r: r.std(),
    "mode": lambda r: r.mode(),
    "support": lambda r: r.support(),
    "max_at_least": lambda r: r.max_at_least(40),
    "top": lambda r: r.top(3),
    "counts": lambda r: r.counts(),
    "debiased": lambda r: r.counts(debias=True),
}


def answers_of(release: Release) -> Iterator[Answer]:
    """Yield all answers; what cannot be asked of a release is left out."""
    yield from release.capped_units
    if release.asked is not None and not release.spec.by:
        yield release.records_about
    views = [release, *(release.by_group().values() if release.spec.by else [])]
    for view in views:
        for ask in QUESTIONS.values():
            try:
                yield ask(view)
            except InputError:
                continue


_NUMBER = r"(\d+(?:\s\d{3})*)"
_SEEN = re.compile(rf"the estimate of {_NUMBER} is off by at most {_NUMBER}[,)]")
_TOTAL = re.compile(rf"[Aa]t most {_NUMBER} (?:records?|units?)[^.;]* left out in total")
_SHARE = re.compile(r"[Aa]t most ([\d.]+)% of what was counted was left out in total")
_LOW = re.compile(rf"[Tt]he lower end of each count is at most {_NUMBER} too low(?: and never too high)?\.")
_PRESENT = re.compile(rf"[Ee]very \w+ (?:of each .* )?with at least {_NUMBER} (?:records?|units?)[^.]* is present")


def told(release: Release) -> Iterator[tuple[str, Claim]]:
    """Yield what the conditions and the certificate say, read off their words: they are about a release as a whole."""
    capped = release.spec.unit is not None and release.spec.per_unit is None
    values = Population(counted="values" if capped else "records")
    ranges = Population(counted="ranges" if capped else "records")
    lines = (*release.conditions, *(release.certificate().promises if release.budget is not None else ()))
    for line in lines:
        for found in _SEEN.finditer(line):
            seen, off = map(_whole, found.groups())
            yield (
                line,
                Claim(
                    quantity=Count(), population=values, lower=seen - off, upper=seen + off, confidence=Fraction(19, 20)
                ),
            )
            yield line, Claim(quantity=Count(), population=values, relation="is about", lower=seen, upper=seen)
        for found in _TOTAL.finditer(line):
            yield line, Claim(quantity=Missing(total=True), population=ranges, upper=_whole(found.group(1)))
        for found in _SHARE.finditer(line):
            yield line, Claim(quantity=MissingShare(), population=ranges, upper=Fraction(found.group(1)) / 100)
        for found in _LOW.finditer(line):
            yield line, Claim(quantity=Missing(), population=ranges, lower=0, upper=_whole(found.group(1)))
        for found in _PRESENT.finditer(line):
            yield line, Claim(quantity=Absent(), population=ranges, upper=_whole(found.group(1)) - 1)


def _whole(text: str) -> int:
    return int("".join(text.split()))
