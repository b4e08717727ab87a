"""Random releases, one after the other, and the verdicts on what they say.

``python -m truth --releases 10000`` runs many, and prints every false claim with the request that led to it.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import flexdp
from flexdp import InputError, Release
from flexdp._release import run
from flexdp._release.claims import Claim
from truth.judging import Verdict, judge
from truth.raw import Raw
from truth.requests import Request, random_request, seeded
from truth.tables import Rng, Table, random_table

SALT = "fixed"
SEVERAL = 1 / 6  # of the releases are of two columns
COLUMNS = ["v", "x"]
OF_A_COLUMN = {"width", "relative", "edges", "exact", "bounds", "outside"}


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
    """What was judged: claims by kind, those that were false, and those that said too little.

    ``likely`` and ``missed`` count the claims that may fail, each once in a release, and those that did; ``certain``
    and ``wide`` the certain intervals whose widest possible error is known, and those that are twice as wide; ``about``
    and ``astray`` the estimates, and those that are beyond ten times the range of most values.
    """

    releases: int = 0
    refused: int = 0
    claims: Counter[str] = field(default_factory=Counter)
    false: list[tuple[Case, str, Verdict]] = field(default_factory=list)
    likely: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    certain: Counter[str] = field(default_factory=Counter)
    wide: list[tuple[Case, str, Claim]] = field(default_factory=list)
    about: Counter[str] = field(default_factory=Counter)
    astray: list[tuple[Case, str, Claim]] = field(default_factory=list)
    unread: list[Case] = field(default_factory=list)

    def add(self, case: Case) -> None:
        """Judge every claim of a release."""
        from truth.judging import all_claims, is_astray
        from truth.tightness import too_wide

        self.releases += 1
        if Release.from_json(case.release.to_json()) != case.release:
            self.unread.append(case)
        raw = Raw(case.table, case.request, case.release, SALT)
        seen: set[Claim] = set()
        for statement, claim in all_claims(case.release):
            name = type(claim.quantity).__name__
            if claim.relation == "is about":
                astray = None if claim in seen else is_astray(claim, raw)
                seen.add(claim)
                self.about.update([name] if astray is not None else [])
                self.astray += [(case, statement, claim)] if astray else []
            verdict = judge(claim, raw)
            if verdict is None:
                continue
            self.claims[f"{name}, {claim.relation}"] += 1
            if claim.confidence == 1:
                if not verdict.holds:
                    self.false.append((case, statement, verdict))
                wide = too_wide(claim, case) if claim.relation == "is" else None
                self.certain.update([name] if wide is not None else [])
                self.wide += [(case, statement, claim)] if wide else []
            elif claim not in seen:
                seen.add(claim)
                self.likely[name] += 1
                self.missed[name] += not verdict.holds

    def join(self, other: Tally) -> None:
        """Add what another tally counted."""
        for each in fields(self):
            mine, own = getattr(self, each.name), getattr(other, each.name)
            if isinstance(mine, Counter):
                mine.update(own)
            else:
                setattr(self, each.name, mine + own)

    def all_well(self) -> bool:
        """Tell whether nothing was false, too wide, unreadable or missed too often."""
        return not (self.false or self.wide or self.unread or self.too_often_missed())

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
    """Yield random releases with the salt of their units known; None for what is refused before anything is read.

    One in six is a release of two columns or a summary, of which each column is a case.
    """
    with patch.object(run, "fresh_salt", lambda: SALT):
        for seed in range(first, first + count):
            rng = seeded(seed)
            table = random_table(rng, **fixed)
            request = random_request(rng, table)
            parts = [(table, request)]
            if rng.random() < SEVERAL:
                other = table.with_values(rng)
                parts = columns_of(rng, (table, request), (other, random_request(rng, other)))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    releases = _released_together(parts)
            except InputError:
                yield None
                continue
            for (own, asked), release in zip(parts, releases, strict=True):
                yield Case(seed, own, asked, release)


def _released_together(parts: Sequence[tuple[Table, Request]]) -> list[Release]:
    """The release of one column, or those of two: separately, or as a summary where no buckets are given."""
    table, request = parts[0]
    if len(parts) == 1:
        return [flexdp.release(table.frame(), "v", **request.parameters)]
    frame = table.frame().with_columns(x=parts[1][0].frame()["v"])
    shared = {name: value for name, value in request.parameters.items() if name not in OF_A_COLUMN}
    own: dict[str, dict[str, Any]] = {}
    for column, (_, each) in zip(COLUMNS, parts, strict=True):
        for name in OF_A_COLUMN & each.parameters.keys():
            own.setdefault(name, {})[column] = each.parameters[name]
    if own.keys() <= {"exact"}:
        made = flexdp.summary(frame, COLUMNS, **shared)
    else:
        made = flexdp.release(frame, COLUMNS, separately=True, **shared, **own)
    return [made[column] for column in COLUMNS]


def columns_of(rng: Rng, *parts: tuple[Table, Request]) -> list[tuple[Table, Request]]:
    """Return the requests for two columns of a table: each with its own buckets, the rest alike, nothing asked.

    Half of them have no buckets but the values of texts and booleans, so that they may be a summary.
    """
    shared = {k: v for k, v in parts[0][1].parameters.items() if k not in {*OF_A_COLUMN, "ask", "certify"}}
    shared["delta"] = 1e-6
    summary, out = rng.random() < 0.5, []
    for table, request in parts:
        own = {name: request.parameters[name] for name in OF_A_COLUMN & request.parameters.keys()}
        if summary:
            own = {"exact": True} if table.kind in ("text", "boolean") else {}
        out.append((table, Request({**shared, **own})))
    return out


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
