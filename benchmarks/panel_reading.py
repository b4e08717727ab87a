"""Accuracy of quantiles read off buckets, before and after: laws × buckets × levels, on seeds that tuned nothing.

    python benchmarks/panel_reading.py [--runs 5] [--records 100000] [--epsilon 1]

*before* is the centre of the bucket that holds the quantile of the released counts, *after* the answer of a release:
corrected for the mean loss and interpolated. Errors are distances from numpy's quantile of the data, in interquartile
ranges. Widths are a third, a tenth and a fiftieth of the interquartile range. *edges* are eight buckets between the
5 %, 10 %, 25 %, 50 %, 75 %, 90 % and 95 % quantiles, and bounds three interquartile ranges beyond the 0.1 % quantiles.
*auto* are automatic buckets, which are chosen with part of ε. A level wins where its median error over the runs is 20 %
smaller.
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction

import numpy as np
from _columns import LAWS

from flexdp._release.answers import Reader
from flexdp.buckets.open_edges import Cut, OpenEdges
from flexdp.buckets.parse import make_buckets
from flexdp.buckets.partition import Buckets
from flexdp.histogram import Histogram
from flexdp.mechanisms.program import run
from flexdp.noise import DropNoise
from flexdp.noise.bits import Bits
from flexdp.sharp.automatic import automatic_buckets
from flexdp.sharp.column import Column
from flexdp.statistics import Quantile

SEED = 90_301
DELTA = Fraction(1, 10**6)
TIE = 1.2  # errors within 20 % of each other are a tie
LEVELS = ("0.01", "0.05", "0.25", "0.5", "0.75", "0.95", "0.99", "0.999")
SHARES = {"IQR/3": 3, "IQR/10": 10, "IQR/50": 50}


def round_width(wanted: float, *, whole: bool) -> Fraction:
    """The largest of 1, 2, 5 × 10^k up to a width."""
    power = Fraction(10) ** math.floor(math.log10(wanted))
    found = max(m * power for m in (1, 2, 5) if m * power <= Fraction(wanted) or m == 1)
    return max(Fraction(1), found) if whole else found


def released(values: np.ndarray, buckets: Buckets, noise: DropNoise, rng: np.random.Generator) -> Reader | None:
    """What a release of these buckets would hold, with seeded losses."""
    index, counts = np.unique(buckets.locate(values), return_counts=True)
    left = np.maximum(counts - noise._draw(len(counts), rng.bytes), 0)
    if not left.any():
        return None
    kept = Histogram(index[left > 0], left[left > 0])
    return Reader(
        partition=buckets, noise=noise, index=kept, centres=Histogram(buckets.centres(kept.keys), kept.counts)
    )


def automatic(values: np.ndarray, epsilon: Fraction) -> Reader | None:
    """Automatic buckets, chosen and counted with (ε, δ)."""
    column = Column.from_values(values)
    found = run(automatic_buckets(epsilon, DELTA, column.scale), column, Bits()).value
    if not found.bars or found.shares is None:
        return None
    kind = "integer" if column.scale.integral else "number"
    cuts = [Cut(column.scale.value(found.edges[0]))] if found.edges else []
    for before, edge in zip(found.edges, found.edges[1:], strict=False):
        point = kind == "number" and edge - before == 1
        cuts.append(Cut(column.scale.value(before if point else edge), after=point))
    buckets = OpenEdges(kind, tuple(cuts))
    noise = DropNoise(found.shares.bars, DELTA)
    kept = Histogram(np.flatnonzero(found.bars), np.array([bar for bar in found.bars if bar]))
    return Reader(
        partition=buckets, noise=noise, index=kept, centres=Histogram(buckets.centres(kept.keys), kept.counts)
    )


def readers(values: np.ndarray, spread: float, noise: DropNoise, rng: np.random.Generator) -> dict[str, Reader | None]:
    whole = values.dtype.kind == "i"
    kind = "integer" if whole else "number"
    found: dict[str, Reader | None] = {}
    for name, share in SHARES.items():
        buckets = make_buckets(kind, width=round_width(spread / share, whole=whole))
        found[name] = released(values, buckets, noise, rng)
    inner = np.quantile(values, [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
    ends = np.quantile(values, [0.001, 0.999]) + 3 * spread * np.array([-1, 1])
    edges = sorted({Fraction(f"{edge:.{0 if whole else 4}{'f' if whole else 'g'}}") for edge in (*inner, *ends)})
    if max(ends) / spread < 10**3:  # short decimals tell edges apart
        found["edges"] = released(values, make_buckets(kind, edges=edges), noise, rng)
    found["relative 0.1"] = released(values, make_buckets(kind, relative="0.1"), noise, rng)
    found["auto"] = automatic(values, noise._epsilon)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--records", type=int, default=10**5)
    parser.add_argument("--epsilon", default="1")
    given = parser.parse_args()
    noise = DropNoise(given.epsilon, DELTA)
    totals: dict[str, list[tuple[float, float]]] = {}
    by_level: dict[tuple[str, str], list[tuple[float, float]]] = {}
    outside = answers = 0
    for law, make in LAWS.items():
        rng = np.random.default_rng([SEED, given.records, *law.encode()])
        errors: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for _ in range(given.runs):
            values = make(rng, given.records)
            true = {level: float(np.quantile(values, float(level), method="inverted_cdf")) for level in LEVELS}
            spread = float(np.subtract(*np.quantile(values, [0.75, 0.25]))) or float(np.ptp(values)) or 1.0
            for name, reader in readers(values, spread, noise, rng).items():
                for level in LEVELS if reader is not None else ():
                    statistic = Quantile(level)
                    centre, reading = float(statistic(reader.centres)), reader.quantile(statistic, statistic.level)
                    both = abs(centre - true[level]) / spread, abs(float(reading.value) - true[level]) / spread
                    errors.setdefault((name, level), []).append(both)
                    if reading.interval is not None:
                        answers += 1
                        outside += not reading.interval[0] <= true[level] <= reading.interval[1]
        shown = []
        for name in (*SHARES, "edges", "relative 0.1", "auto"):
            found = [np.median(errors[name, level], axis=0) for level in LEVELS if (name, level) in errors]
            if not found:
                continue
            for level, pair in zip(LEVELS, found, strict=True):
                by_level.setdefault((name, level), []).append((float(pair[0]), float(pair[1])))
            totals.setdefault(name, []).extend((float(before), float(after)) for before, after in found)
            before, after = np.mean(found, axis=0)
            shown.append(f"{name} {before:.3g} → {after:.3g}")
        print(f"{law:12s}  {'   '.join(shown)}")
    print("\nmedian over laws, by level: before → after")
    for name in totals:
        cells = [(level, np.median(by_level[name, level], axis=0)) for level in LEVELS]
        print(f"  {name:13s}" + "  ".join(f"q{level} {b:.3g} → {a:.3g}" for level, (b, a) in cells))
    print("\nall laws and levels: wins, ties, losses; median error")
    for name, pairs in totals.items():
        wins = sum(after * TIE < before for before, after in pairs)
        losses = sum(before * TIE < after for before, after in pairs)
        before, after = np.median(pairs, axis=0)
        print(f"  {name:13s} {wins:3d} {len(pairs) - wins - losses:3d} {losses:3d}   {before:.4f} → {after:.4f}")
    print(f"\nsure intervals that did not hold: {outside} of {answers}")


if __name__ == "__main__":
    main()
