"""Other libraries, audited as ours is: public functions, the neighbours and parameters of their documentation.

    python benchmarks/audit_peers.py [--runs 1000000] [--only opendp]

Each case runs a function on two neighbouring data sets and looks for a violation of the ε and δ that the library
claims (flexdp.audit.audit, 99.9 % confidence for each case). Continuous noise is looked at twice: to the last bit of
the doubles that come back, and rounded to multiples of 2^−20, which hides those bits and leaves the law. Slow functions
get fewer runs. No violation found is no proof; a violation in the last bits says nothing about the law.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import diffprivlib.mechanisms as diffprivlib
import diffprivlib.tools as tools
import numpy as np
import opendp.prelude as opendp
from pydp.algorithms import laplacian as pydp

from flexdp import Histogram
from flexdp.audit import audit
from flexdp.mechanisms import Dropping

opendp.enable_features("contrib")
warnings.filterwarnings("ignore", module="diffprivlib")


@dataclass(frozen=True)
class Case:
    """A function of a library, two neighbouring data sets, and the claim."""

    library: str
    name: str
    mechanism: Callable[..., Any]
    x: Any
    y: Any
    epsilon: float = 1.0
    delta: float = 0.0
    share: float = 1.0  # of the runs, for slow functions


def rounded(mechanism: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda data: np.round(np.asarray(mechanism(data), dtype=float) * 2.0**20) / 2.0**20


def many(measurement: Any, *, coarse: bool = False) -> Callable[..., Any]:
    """An OpenDP measurement of vectors, run on many copies of a number at once."""

    def run(x: Any, size: int) -> np.ndarray:
        found = np.array(measurement([x] * size))
        return np.round(found * 2.0**20) / 2.0**20 if coarse else found

    return run


def of_opendp() -> Iterator[Case]:
    numbers = opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.l1_distance(T=float)
    integers = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l1_distance(T=int)
    laplace = opendp.m.make_laplace(*numbers, scale=1.0)
    yield Case("opendp", "make_laplace, floats, last bits", many(laplace), 0.0, 1.0, laplace.map(1.0))
    yield Case("opendp", "make_laplace, floats, rounded", many(laplace, coarse=True), 0.0, 1.0, laplace.map(1.0))
    whole = opendp.m.make_laplace(*integers, scale=1.0)
    yield Case("opendp", "make_laplace, integers", many(whole), 0, 1, whole.map(1))
    geometric = opendp.m.make_geometric(*integers, scale=1.0)
    yield Case("opendp", "make_geometric", many(geometric), 0, 1, geometric.map(1))
    keys = opendp.map_domain(opendp.atom_domain(T=str), opendp.atom_domain(T=int))
    threshold = opendp.m.make_laplace_threshold(
        keys, opendp.l01inf_distance(opendp.absolute_distance(T=int)), scale=1.0, threshold=4
    )
    epsilon, delta = threshold.map((1, 1, 1))
    yield Case("opendp", "make_laplace_threshold", threshold, {"b": 9}, {"a": 1, "b": 9}, epsilon, delta, 0.1)


def of_diffprivlib() -> Iterator[Case]:
    laplace = diffprivlib.Laplace(epsilon=1, sensitivity=1).randomise
    yield Case("diffprivlib", "Laplace, last bits", laplace, 0.0, 1.0, share=0.3)
    yield Case("diffprivlib", "Laplace, rounded", rounded(laplace), 0.0, 1.0, share=0.3)
    truncated = diffprivlib.LaplaceTruncated(epsilon=1, sensitivity=1, lower=0, upper=20).randomise
    yield Case("diffprivlib", "LaplaceTruncated, last bits", truncated, 5.0, 6.0, share=0.3)
    yield Case("diffprivlib", "LaplaceTruncated, rounded", rounded(truncated), 5.0, 6.0, share=0.3)
    snapping = diffprivlib.Snapping(epsilon=1, sensitivity=1, lower=-100, upper=100).randomise
    yield Case("diffprivlib", "Snapping, last bits", snapping, 0.0, 1.0, share=0.3)
    geometric = diffprivlib.Geometric(epsilon=1, sensitivity=1).randomise
    yield Case("diffprivlib", "Geometric", geometric, 5, 6, share=0.3)
    yield Case(
        "diffprivlib",
        "tools.histogram, range given",
        lambda x: tools.histogram(x, epsilon=1, bins=2, range=(0, 4))[0],
        [1.0, 1.0, 3.0],
        [1.0, 1.0, 3.0, 3.0],
        share=0.1,
    )
    yield Case(
        "diffprivlib",
        "tools.mean, bounds given, rounded",
        rounded(lambda x: tools.mean(x, epsilon=1, bounds=(0, 10))),
        [5.0, 5.0, 5.0, 0.0],
        [5.0, 5.0, 5.0, 10.0],
        share=0.1,
    )
    yield Case(
        "diffprivlib",
        "tools.quantile, bounds given, rounded",
        rounded(lambda x: tools.quantile(x, 0.5, epsilon=1, bounds=(0, 10))),
        [2.0, 4.0, 6.0, 1.0],
        [2.0, 4.0, 6.0, 9.0],
        share=0.1,
    )


def of_pydp() -> Iterator[Case]:
    yield Case(
        "python-dp", "Count", lambda x: pydp.Count(epsilon=1, dtype="int").quick_result(x), [1, 2, 3], [1, 2, 3, 4]
    )

    def total(x: list[float]) -> float:
        return float(pydp.BoundedSum(epsilon=1, lower_bound=0, upper_bound=1, dtype="float").quick_result(x))

    yield Case("python-dp", "BoundedSum, floats, last bits", total, [0.5, 0.25], [0.5, 0.25, 1.0])
    yield Case("python-dp", "BoundedSum, floats, rounded", rounded(total), [0.5, 0.25], [0.5, 0.25, 1.0])
    yield Case(
        "python-dp",
        "Max, bounds given",
        lambda x: pydp.Max(epsilon=1, lower_bound=0, upper_bound=8, dtype="int").quick_result(x),
        [3, 3, 3, 3],
        [3, 3, 3, 3, 8],
        share=0.1,
    )


def of_flexdp() -> Iterator[Case]:
    x, y = Histogram.from_counts({1: 7, 2: 5}), Histogram.from_counts({1: 7, 2: 6})
    yield Case("flexdp", "Dropping", Dropping(1, "0.01"), x, y, 1.0, 0.01, share=0.1)
    yield Case("flexdp", "Dropping, 0.001 claimed (control)", Dropping(1, "0.01"), x, y, 1.0, 0.001, share=0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000, help="of a fast case, over both data sets")
    parser.add_argument("--only", help="one library")
    given = parser.parse_args()
    for cases in (of_opendp, of_diffprivlib, of_pydp, of_flexdp):
        for case in cases():
            if given.only not in (None, case.library):
                continue
            started = time.process_time()
            trials = int(given.runs * case.share)
            found = audit(case.mechanism, case.x, case.y, case.epsilon, case.delta, trials)
            print(
                f"{case.library} {version(case.library)}: {case.name}: {found} [{time.process_time() - started:.0f} s]"
            )


if __name__ == "__main__":
    main()
