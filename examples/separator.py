"""A maximum-margin separator learned from a private release of labelled points, next to that of the true points.

The label is a group, so it is neither bucketed nor changed: only the points move, each to the centre of its bucket, and
a few points per bucket are left out. No small output error can be guaranteed for such a separator (an arbitrarily small
move of one point may turn it by any angle), but it is *exactly* the separator of data in which points were moved by at
most β and at most a known number per bucket were left out.

Run it with: python examples/separator.py
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from sklearn.svm import SVC

import flexdp

BETA = 0.1


def points(seed: int, each: int = 20_000) -> pl.DataFrame:
    """Simulate two clouds of points on either side of a line."""
    rng = np.random.default_rng(seed)
    cloud = rng.uniform(-2, 2, (20 * each, 2))
    side = cloud @ [math.cos(0.4), math.sin(0.4)]
    chosen = [cloud[side > 0.5][:each], cloud[side < -0.5][:each]]
    labels = ["above"] * len(chosen[0]) + ["below"] * len(chosen[1])
    x, y = np.vstack(chosen).T
    return pl.DataFrame({"x": x, "y": y, "label": labels})


def direction(separator: SVC) -> float:
    """Return the angle of the separator's normal, in degrees."""
    across, up = separator.coef_[0]
    return math.degrees(math.atan2(up, across)) % 180


def main() -> None:
    table = points(seed=1)
    release = flexdp.release(table, ["x", "y"], by="label", epsilon=1, delta="1e-6", beta=BETA)
    learned = release.fit(SVC(kernel="linear", C=1e3))
    true = SVC(kernel="linear", C=1e3).fit(table.select("x", "y").to_numpy(), table["label"].to_numpy())
    print(f"true separator:    {direction(true):.1f}° (simulated data, so it may be shown)")
    print(f"private separator: {direction(learned.value):.1f}°")
    print(learned)
    print(release.privacy)


if __name__ == "__main__":
    main()
