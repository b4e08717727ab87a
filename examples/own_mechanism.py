"""A mechanism of a researcher's own, chained with flexdp's: privacy and accuracy of the whole are derived, not declared.

The step keeps every value up to a cap and moves higher ones to it. It declares how it treats neighbours, distortion and
error; the calculus of the paper does the rest. Declarations can be wrong, so they are checked on small tables, and the
measured error is compared with the promised one.

Run it with: python examples/own_mechanism.py
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from flexdp import Histogram
from flexdp.calculus import Known, Step, identity
from flexdp.guarantees import ONE_RECORD
from flexdp.measure import accuracy_curve
from flexdp.mechanisms import HISTOGRAMS, Bucketing, Dropping, Mechanism, ReadOff, check_declared
from flexdp.noise.bits import Bits
from flexdp.statistics import Max


class Capped(Mechanism):
    """Values above ``cap`` count as ``cap``."""

    cap: float
    source = target = HISTOGRAMS
    preserves = (ONE_RECORD, ONE_RECORD)  # one record more in, at most one record more out

    def draw(self, x: Histogram, bits: Bits) -> Histogram:  # noqa: ARG002
        """Move high values down to the cap; equal keys are added up."""
        return Histogram(np.minimum(x.keys, self.cap), x.counts)

    def function(self, x: Any) -> Any:
        """Capping is exact for itself."""
        return self(x)

    def step(self, known: Known) -> Step:
        """Capping moves two values no further apart than they were, and keeps as many records and equal values equal.

        Leaving a record out of the output is leaving one out of the input (σ).
        """
        return Step(lambda error: error, metric=HISTOGRAMS.metric, sigma=identity(), after=known, buckets="merged")


def main() -> None:
    step = Capped(60.0)

    # All tables of up to three of these values, with every declaration computed by brute force.
    tables = [
        Histogram.from_values(each)
        for n in (1, 2, 3)
        for each in combinations_with_replacement((10.0, 59.0, 61.0, 90.0), n)
    ]
    print(check_declared(step, tables, betas=[0, 2]))

    chain = step >> Bucketing(width=5, bounds=(0, 65)) >> Dropping(1, "1e-6") >> ReadOff(Max())
    promised = chain.accuracy(records_at_least=5000)
    print(chain.privacy)
    print(promised)

    # Measured on made-up waiting times: the error after leaving out as much as promised, in the worst of 300 runs.
    waits = Histogram.from_counts({float(minute): round(400 * 0.93**minute) for minute in range(60)} | {600.0: 2})
    capped = step(waits)
    curve = accuracy_curve(capped, [chain(waits) for _ in range(300)], Max(), alphas=[promised.alpha], gammas=[0])
    print(f"promised: at most {promised.beta}; measured: {curve.at(promised.alpha)}")


if __name__ == "__main__":
    main()
