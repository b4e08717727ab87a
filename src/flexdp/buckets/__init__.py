"""Partitions of a column into buckets, and their parameters."""

from __future__ import annotations

from flexdp.buckets.base import Bucket, Kind, Outside
from flexdp.buckets.edges import Edges
from flexdp.buckets.exact import Exact
from flexdp.buckets.grid import Grid
from flexdp.buckets.months import Months
from flexdp.buckets.open_edges import Cut, OpenEdges
from flexdp.buckets.parse import bound_given, bucket_parameters, make_buckets, make_grid
from flexdp.buckets.partition import Buckets, Partition
from flexdp.buckets.relative import RelativeWidth
from flexdp.buckets.width import Width

__all__ = [
    "Bucket",
    "Buckets",
    "Cut",
    "Edges",
    "Exact",
    "Grid",
    "Kind",
    "Months",
    "OpenEdges",
    "Outside",
    "Partition",
    "RelativeWidth",
    "Width",
    "bound_given",
    "bucket_parameters",
    "make_buckets",
    "make_grid",
]
