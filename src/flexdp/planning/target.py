"""Targets: the number of buckets, the loss per bucket and the δ that follow from the parameters of a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flexdp._core.domains import Domain, integer
from flexdp._core.exact import Number, number_text
from flexdp._core.text import plural
from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import make_buckets
from flexdp.buckets.partition import Buckets
from flexdp.calculus.privacy import of_each_release
from flexdp.errors import InputError, P
from flexdp.guarantees import Privacy
from flexdp.noise.calibration import needed_reach
from flexdp.noise.table import LARGEST_REACH
from flexdp.planning.options import digits_up

__all__ = ["Affordable", "Target", "partition_for", "proposed_delta"]

_SHARE = Domain(
    name="lose_share",
    low=Fraction(0),
    high=Fraction(1),
    remedy="It is the share of the records that may be left out, for example 0.02.",
)


@dataclass(frozen=True, slots=True)
class Target:
    """The most that may be lost: records of each bucket, records in total, a share of all records."""

    per_bucket: int | None
    in_all: int | None
    share: Fraction | None

    @classmethod
    def checked(cls, per_bucket: Number | None, in_all: Number | None, share: Number | None) -> Target:
        """Check the targets that were given."""
        return cls(
            None if per_bucket is None else integer("lose_per_bucket", per_bucket),
            None if in_all is None else integer("lose_in_all", in_all),
            None if share is None else _SHARE.check(share),
        )

    def total(self, records: int | None) -> int | None:
        """Return the most records that all buckets together may lose; None without such a target."""
        if self.share is not None and records is None:
            raise InputError("lose_share", "is a share of the records", remedy=("Give ", P("records_about"), " too."))
        parts = [] if self.in_all is None else [self.in_all]
        parts += [] if self.share is None or records is None else [math.floor(self.share * records)]
        return min(parts, default=None)

    def limit(self, records: int | None, buckets: int | None) -> int | None:
        """Return the most records that one bucket may lose so that every target is met; None without a target."""
        total = self.total(records)
        limits = [] if self.per_bucket is None else [self.per_bucket]
        if total is not None:
            name = "lose_in_all" if self.share is None else "lose_share"
            if buckets is None:
                raise InputError(
                    name,
                    "needs the number of buckets",
                    remedy=(
                        "Give ", P("bounds"), " with ", P("width"), ", ", P("relative"), " or ", P("epsilon"),
                        ", or give ", P("edges"), " or ", P("buckets"), "; with groups, ", P("groups"), " or ",
                        P("groups_about"), ".",
                    ),
                )  # fmt: skip
            if total < buckets:
                raise InputError(
                    name,
                    f"leaves less than one record for each of {plural(buckets, 'bucket')}: {total} in total",
                    remedy="Raise it, or choose fewer buckets.",
                )
            limits.append(total // buckets)
        return min((*limits, LARGEST_REACH - 1)) if limits else None  # no noise takes more

    def __str__(self) -> str:
        parts = []
        if self.per_bucket is not None:
            parts.append(f"at most {plural(self.per_bucket, 'record')} lost per bucket")
        if self.in_all is not None:
            parts.append(f"at most {plural(self.in_all, 'record')} lost in total")
        if self.share is not None:
            parts.append(f"at most {number_text(100 * self.share)}% of the records lost")
        return ", ".join(parts)


def proposed_delta(records: int | None) -> Fraction:
    """Propose δ: a hundredth of one in the number of records, as a power of ten, and at most a millionth.

    >>> float(proposed_delta(50_000)), float(proposed_delta(10**6))
    (1e-07, 1e-08)
    """
    zeros = 0 if records is None else len(str(records - 1)) + 2
    return Fraction(1, 10 ** max(6, zeros))


def partition_for(
    kind: Kind,
    *,
    width: Number | None,
    relative: Number | None,
    edges: Any = None,
    bounds: Any,
    buckets: int | None,
    affordable: Affordable,
) -> Buckets | None:
    """Return the partition that a release would use; None if at most the number of buckets is known.

    Bounds and a number of buckets determine the width. So do bounds, ε and a total that may be lost: there are then as
    many buckets as the total affords.
    """
    if width is not None or relative is not None or edges is not None:
        found = make_buckets(kind, width=width, relative=relative, edges=edges, bounds=bounds)
        if buckets is not None and found.count is not None and found.count != buckets:
            named = "width" if width is not None else "relative" if relative is not None else "edges"
            raise InputError(
                "buckets",
                ("contradicts ", P(named), f": there are {found.count} such buckets between ", P("bounds")),
                given=str(buckets),
                remedy="Leave one of them out.",
            )
        return found
    if bounds is None:
        return None if buckets is not None or kind == "number" else Exact(kind)
    bounded = make_buckets(kind, bounds=bounds)
    many = buckets if buckets is not None else affordable.buckets()
    if many is None or bounded.bounds is None:
        return bounded
    if kind == "datetime":
        raise InputError(
            "width",
            "must be given for datetimes, because it is not solved for",
            remedy=("Give ", P("width", "1 day"), ", for example."),
        )
    low, high = bounded.bounds
    step = (high - low + int(kind != "number")) / many
    if kind != "number":
        step = Fraction(math.ceil(step))
    elif buckets is None:
        step = digits_up(step)
    return make_buckets(kind, width=step, bounds=bounds)


@dataclass(frozen=True, slots=True)
class Affordable:
    """Number of buckets that a total affords, if ε, δ and the total are known."""

    epsilon: Fraction | None
    delta: Fraction | None
    total: int | None
    releases: int
    buckets_per_unit: int

    def buckets(self) -> int | None:
        """Return the number of buckets; None if something is unknown."""
        if self.epsilon is None or self.delta is None or self.total is None:
            return None
        each = of_each_release(Privacy(epsilon=self.epsilon, delta=self.delta), self.releases)
        drop = needed_reach(each.epsilon, each.delta, self.buckets_per_unit) - 1
        if self.total < drop:
            raise InputError(
                "epsilon",
                f"lets one bucket lose {drop} records, more than the {self.total} that may be lost in total",
                given=number_text(self.epsilon),
                remedy="Raise either.",
            )
        return self.total // drop
