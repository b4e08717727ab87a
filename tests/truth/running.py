"""Random releases, one after the other, and the verdicts on what they say.

``python -m truth --releases 10000`` runs many, and prints every false claim with the request that led to it.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import flexdp
from flexdp import InputError, Release
from flexdp._release import run
from truth.judging import Verdict, judge
from truth.raw import Raw
from truth.requests import Request, random_request, seeded
from truth.tables import Table, random_table

SALT = "fixed"


@dataclass(frozen=True)
class Case:
    """A release with the table and the request behind it."""

    seed: int
    table: Table
    request: Request
    release: Release

    def __str__(self) -> str:
        return f"seed {self.seed}: {len(self.table)} {self.table.law}, {self.request.parameters}"


@dataclass
class Tally:
    """What was judged: claims by kind, and those that were false."""

    releases: int = 0
    refused: int = 0
    claims: Counter[str] = field(default_factory=Counter)
    false: list[tuple[Case, str, Verdict]] = field(default_factory=list)
    likely: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case) -> None:
        """Judge every claim of a release."""
        from truth.judging import all_claims

        self.releases += 1
        raw = Raw(case.table, case.request, case.release, SALT)
        for statement, claim in all_claims(case.release):
            verdict = judge(claim, raw)
            if verdict is None:
                continue
            name = type(claim.quantity).__name__
            self.claims[f"{name}, {claim.relation}"] += 1
            if claim.confidence == 1:
                if not verdict.holds:
                    self.false.append((case, statement, verdict))
            else:
                self.likely[name] += 1
                self.missed[name] += not verdict.holds

    def too_often_missed(self) -> list[str]:
        """Return the kinds of claim that fail more often than chance explains, with a false alarm below 1e-6 in all."""
        return [
            f"{name}: {self.missed[name]} of {count}"
            for name, count in self.likely.items()
            if upper_tail(count, Fraction(1, 20), self.missed[name]) < 1e-6 / len(self.likely)
        ]


def upper_tail(count: int, chance: Fraction, seen: int) -> float:
    """Return the probability that at least ``seen`` of independent events happen; 1 where they do not stand out."""
    if seen <= count * chance:
        return 1.0
    share = seen / count
    rate = share * math.log(share / chance) + ((1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0)
    return math.exp(-count * rate)


def random_cases(count: int, first: int = 0, **fixed: Any) -> Iterator[Case | None]:
    """Yield random releases with the salt of their units known; None for what is refused before anything is read."""
    with patch.object(run, "fresh_salt", lambda: SALT):
        for seed in range(first, first + count):
            rng = seeded(seed)
            table = random_table(rng, **fixed)
            request = random_request(rng, table)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    release = flexdp.release(table.frame(), "v", **request.parameters)
            except InputError:
                yield None
                continue
            yield Case(seed, table, request, release)


def released(table: Table, request: Request, seed: int = 0) -> Case:
    """Release a table, with the salt of its units known."""
    with patch.object(run, "fresh_salt", lambda: SALT):
        return Case(seed, table, request, flexdp.release(table.frame(), "v", **request.parameters))


def judged(count: int, first: int = 0) -> Tally:
    """Judge the claims of random releases."""
    tally = Tally()
    for case in random_cases(count, first):
        if case is None:
            tally.refused += 1
        else:
            tally.add(case)
    return tally
