"""Empirical audit of sharp answers: the whole chain, run very often on two neighbouring tables, with real random bits.

    python benchmarks/audit_sharp.py [--runs 1000000] [--case max]

One table has a record more than the other. Everything that is published counts as the outcome: the number of records,
the anchor and every answer. On a fifth of the runs the set of outcomes is searched that tells the two tables
apart best; the other runs decide, by Clopper–Pearson bounds on its probability under each table. "Refuted" means
that privacy at the claimed ε is refuted at a false-alarm rate of 10^−6 for each case. The controls spend more than
they claim and must be refuted. No violation found is not a proof: the exact
enumerations in tests/sharp are.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context

import numpy as np
from _pool import Pool
from scipy.stats import beta

from flexdp.histogram import Histogram
from flexdp.mechanisms.program import run
from flexdp.noise.bits import Bits
from flexdp.sharp.answers import ask
from flexdp.sharp.column import Column
from flexdp.sharp.ranks import Reply, Request, Span
from flexdp.sharp.scale import INTEGERS

FALSE_ALARMS = 1e-6  # of each case, both directions together
RECORDS = 2000
CLAIMED = Fraction(1)
BOUNDS = Span(0, 41)  # public bounds 0 and 40: fewer rungs to climb, so that there is time for more runs
_GRAIN = 50  # published numbers of records are told apart in steps of this many

Outcome = Hashable


class Remembered:
    """A column that answers a request once and remembers the reply; what is drawn from it is drawn anew."""

    def __init__(self, counts: dict[int, int]) -> None:
        self._column = Column.from_histogram(
            Histogram(np.array(list(counts), dtype=np.int64), np.array(list(counts.values())))
        )
        self._known: dict[Request, Reply] = {}

    @property
    def scale(self) -> object:
        return self._column.scale

    def fetch(self, request: Request) -> Reply:
        if request not in self._known:
            self._known[request] = self._column.fetch(request)
        return self._known[request]


@dataclass(frozen=True)
class Case:
    """Two neighbouring tables and the levels that are asked for, with the ε that is really spent."""

    name: str
    levels: tuple[str, ...]
    table: dict[int, int]
    more: int
    spent: Fraction = CLAIMED
    control: bool = False
    share: Fraction = Fraction(1)

    def tables(self) -> tuple[Remembered, Remembered]:
        larger = dict(self.table)
        larger[self.more] = larger.get(self.more, 0) + 1
        return Remembered(self.table), Remembered(larger)


# The ladder's law is as tight as it can be: its steps from 7 to 10 have many records beyond them and do not stop it, 11
# and 12 are there once each, and it stops at 12 e^ε′ times as often with one more record there as without.
TAIL = {7: RECORDS - 60, 11: 60}
TWO_ENDS = {17: RECORDS // 2, 23: RECORDS // 2}
CASES = (
    Case("max", ("1",), TAIL, 12),
    Case("median", ("1/2",), TWO_ENDS, 23, share=Fraction(1, 4)),
    Case("min, median, max", ("0", "1/2", "1"), TAIL, 12, share=Fraction(1, 5)),
    Case("max, 20 % more than claimed", ("1",), TAIL, 12, spent=Fraction(6, 5), control=True),
    Case("max, 50 % more than claimed", ("1",), TAIL, 12, spent=Fraction(3, 2), control=True, share=Fraction(1, 5)),
)


def outcomes(case: Case, which: int, runs: int) -> Counter[Outcome]:
    """Run the chain on one of the tables and count what it publishes."""
    table, bits = case.tables()[which], Bits(Pool())
    levels = [Fraction(level) for level in case.levels]
    found: Counter[Outcome] = Counter()
    for _ in range(runs):
        value = run(ask(levels, case.spent, INTEGERS, ends=BOUNDS), table, bits).value
        key = (value.records_about - RECORDS) // _GRAIN, value.anchor, *(answer.value for answer in value.answers)
        found[key] += 1
    return found


def counted(case: Case, runs: int, pool: Executor, workers: int) -> list[Counter[Outcome]]:
    """Count what the chain publishes about both tables, each in several processes with random bits of their own."""
    parts = [runs // workers + (place < runs % workers) for place in range(workers)]
    jobs = [[pool.submit(outcomes, case, which, part) for part in parts] for which in (0, 1)]
    return [sum((job.result() for job in each), Counter[Outcome]()) for each in jobs]


def least_log_ratio(hits: int, others: int, runs: int, alpha: float) -> float:
    """A lower bound on ln(p/q), false with probability at most ``alpha``; p and q by Clopper–Pearson."""
    if not hits:
        return -math.inf
    p = beta.ppf(alpha / 2, hits, runs - hits + 1)
    q = 1.0 if others == runs else beta.ppf(1 - alpha / 2, others + 1, runs - others)
    return math.log(p / q)


def best_event(one: Counter[Outcome], other: Counter[Outcome], runs: int, alpha: float) -> frozenset[Outcome]:
    """The outcomes that favour one table most: those of largest likelihood ratio, as many as make the bound largest."""
    order = sorted(one, key=lambda key: (one[key] + 0.5) / (other[key] + 0.5) * (1 - 2 / math.sqrt(one[key] + 4)))
    best, chosen, hits, others = -math.inf, 0, 0, 0
    for size, key in enumerate(reversed(order), 1):
        hits, others = hits + one[key], others + other[key]
        bound = least_log_ratio(hits, others, runs, alpha)
        if bound > best:
            best, chosen = bound, size
    return frozenset(order[::-1][:chosen])


def audit(case: Case, runs: int, workers: int = 1, say: Callable[[str], None] = print) -> bool:
    """Return whether the claim is refuted."""
    started, search, test = time.perf_counter(), runs // 10, runs // 2 - runs // 10
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        searched, tested = (counted(case, part, pool, workers) for part in (search, test))
    bounds = []
    for a, b in ((0, 1), (1, 0)):
        event = best_event(searched[a], searched[b], search, FALSE_ALARMS / 2)
        hits, others = (sum(tested[i][key] for key in event) for i in (a, b))
        bounds.append((least_log_ratio(hits, others, test, FALSE_ALARMS / 2), hits, others))
    bound, hits, others = max(bounds)
    refuted = bound > CLAIMED
    estimate = math.log(hits / others) if others else math.inf
    say(
        f"{case.name:30s}{2 * (search + test):9d} runs   event {hits} : {others}   "
        f"ln ratio {estimate:.3f}, at least {bound:.3f}   "
        f"claimed {float(CLAIMED):.2f}   {'REFUTED' if refuted else 'no violation found'}"
        f"{' (control)' if case.control else ''}   {time.perf_counter() - started:.0f} s"
    )
    return refuted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000, help="of a case, over both tables")
    parser.add_argument("--case", help="only this case")
    parser.add_argument("--workers", type=int, default=1, help="processes at once")
    given = parser.parse_args()
    print(f"{RECORDS} records and one more, ε = {CLAIMED}, false alarms at most {FALSE_ALARMS:.0e} a case")
    for case in CASES:
        if given.case in (None, case.name):
            refuted = audit(case, int(given.runs * case.share), given.workers)
            if refuted != case.control:
                raise SystemExit(f"{case.name}: {'refuted' if refuted else 'the control was not caught'}")


if __name__ == "__main__":
    main()
