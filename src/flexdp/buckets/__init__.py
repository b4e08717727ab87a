"""How values are bucketed: partitions of a column, and the parameters that name them."""

from __future__ import annotations

from flexdp.buckets.parse import bound_given, bucket_parameters, make_buckets, make_grid
from flexdp.buckets.partitions import (
    Bucket,
    Buckets,
    Edges,
    Exact,
    Grid,
    Kind,
    LogWidth,
    Months,
    Outside,
    Partition,
    Width,
)

__all__ = [
    "Bucket",
    "Buckets",
    "Edges",
    "Exact",
    "Grid",
    "Kind",
    "LogWidth",
    "Months",
    "Outside",
    "Partition",
    "Width",
    "bound_given",
    "bucket_parameters",
    "make_buckets",
    "make_grid",
]
