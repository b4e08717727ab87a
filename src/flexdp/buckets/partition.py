"""Partitions of a column's values into buckets: public, fixed before any record is read.

A partition maps a value to an index, and an index to the bucket's centre and edges. The engine counts by index; centres
are computed afterwards, for the few buckets that are released. Every partition has a half-width β; with bounds it has a
public number of buckets too, on which the certificates of α rest.

============= ============================================ ==========================================================
Exact         every value is its own bucket                β = 0
Width         [lower + i·w, lower + (i+1)·w)               β = w/2; on integers a bucket has w of them, β = (w−1)/2
RelativeWidth ratio (1+ρ)/(1−ρ), both signs, zero          β = ρ of the bucket's centre
Edges         [e_i, e_{i+1}), the last one closed          β = half the width of the bucket in question
OpenEdges     Edges without ends: below the first, and on  β = half the width of the bucket; none of an open one
Months        a number of months of the calendar           β = half the length of the bucket in question
Grid          a cell of several columns                    β = half the diagonal of a cell
============= ============================================ ==========================================================

All of them have these members:

============= =======================================================================================================
kind          kind of the values: "integer", "number", "text", "date", "datetime" or "boolean"
bounds        lower and upper bound as exact numbers, or None; dates are days, datetimes microseconds since 1970-01-01
outside       treatment of values outside the bounds, "clamp" or "drop"
count, first  number of public buckets and the first index; count is None if the buckets are not public
spec          the partition in a few words
beta, unit    largest half-width of a bucket, None if one is open; its unit: "" for numbers, "days" and so on for times
relative      True if beta is a fraction of the centre
beta_at       half-width of one bucket; None if it is open
beta_of       largest half-width of some buckets, including the effect of rounding on their keys
locate        indices of values; values that are not counted are left out (not of a grid, whose axes locate values)
centres       keys of buckets
edges_of      edges of buckets
============= =======================================================================================================
"""

from __future__ import annotations

from typing import TypeAlias

from flexdp.buckets.edges import Edges
from flexdp.buckets.exact import Exact
from flexdp.buckets.grid import Grid
from flexdp.buckets.months import Months
from flexdp.buckets.open_edges import OpenEdges
from flexdp.buckets.relative import RelativeWidth
from flexdp.buckets.width import Width

__all__ = ["Buckets", "Partition", "public_count"]

Buckets: TypeAlias = Exact | Width | RelativeWidth | Edges | OpenEdges | Months
Partition: TypeAlias = Buckets | Grid


def public_count(partition: Partition) -> int | None:
    """Return the number of public buckets: of the two values of a boolean, too; None where they are not public."""
    return 2 if partition.kind == "boolean" else partition.count
