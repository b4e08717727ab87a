"""Judge many random releases: ``python -m truth --releases 10000 --first 0 --jobs 2`` in the folder of the tests."""

from __future__ import annotations

import argparse
import sys
import time
from multiprocessing import Pool

from truth.running import Tally, judged


def _part(span: tuple[int, int]) -> Tally:
    return judged(span[1], span[0])


def main() -> int:
    """Judge, print, and tell by the exit code whether anything was false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=20)
    given = parser.parse_args()
    began, size = time.perf_counter(), 100
    spans = [
        (first, min(size, given.first + given.releases - first))
        for first in range(given.first, given.first + given.releases, size)
    ]
    total = Tally()
    with Pool(given.jobs) as pool:
        for part in pool.imap_unordered(_part, spans):
            for case, statement, verdict in part.false[: max(0, given.show - len(total.false))]:
                print(f"FALSE {case}\n  {statement}\n  {verdict.claim}\n  truth {verdict.truth}\n", flush=True)
            for name in ("wide", "astray"):
                for case, statement, claim in getattr(part, name)[: max(0, given.show - len(getattr(total, name)))]:
                    print(f"{name.upper()} {case}\n  {statement}\n  {claim}\n", flush=True)
            total.join(part)
    print(f"{total.releases} releases, {total.refused} refused requests, {time.perf_counter() - began:.0f} s")
    print(f"{sum(total.claims.values())} claims:", dict(total.claims.most_common()))
    print("missed:", {name: f"{total.missed[name]} of {count}" for name, count in total.likely.items()})
    print(f"{sum(total.certain.values())} certain intervals whose widest error is known:", dict(total.certain))
    print(f"{sum(total.about.values())} estimates:", dict(total.about))
    print(
        f"false: {len(total.false)}; too often missed: {total.too_often_missed()}; too wide: {len(total.wide)}; "
        f"astray: {len(total.astray)}; not read back: {len(total.unread)}"
    )
    return 0 if total.all_well() else 1


if __name__ == "__main__":
    sys.exit(main())
