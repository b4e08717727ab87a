"""Explicit buckets: each of them loses at most D records, whatever the data."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flexdp._core.domains import EPSILON, Domain, integer
from flexdp._core.enclosure import least_decimal
from flexdp._core.exact import Number, exact_text, number_text, to_digits
from flexdp._core.text import plural, thousands
from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import bucket_parameters, make_buckets
from flexdp.buckets.partition import Buckets, public_count
from flexdp.buckets.relative import RelativeWidth
from flexdp.buckets.width import Width
from flexdp.calculus.loss import alpha_before, most_lost, survives_from
from flexdp.errors import InputError, P, Phrase
from flexdp.guarantees import Privacy
from flexdp.noise.calibration import needed_reach, per_bucket
from flexdp.noise.drop import DropNoise
from flexdp.noise.table import LARGEST_REACH, SMALLEST_EPSILON, smallest_reach
from flexdp.noise.total import TotalNoise
from flexdp.planning.design import FAR, Design, Row, plain_number
from flexdp.planning.expected import UNORDERED, Counts, Expected, expect_losses

__all__ = ["NO_TARGET", "GivenBuckets", "Target", "affordable_buckets", "choose_partition", "column_options"]

_MOST_EXPECTED = 50_000  # records that a bucket may lose: beyond it, no expected losses are computed
_NEARLY_ALL = 0.9  # of the records
_MANY = 1000  # relative buckets, between bounds that include zero
_FACTOR = 100  # between the values of a column that is not bounded
_FEW, _SEVERAL = 4, 10  # buckets of such a column: assumed, and those for which a warning is given
_SHARE = Domain(
    name="lose_share",
    low=Fraction(0),
    high=Fraction(1),
    remedy="It is the share of the records that may be left out, for example 0.02.",
)


@dataclass(frozen=True, slots=True)
class Target:
    """The most that may be lost: records of each bucket, records in total, a share of all records."""

    per_bucket: int | None = None
    in_all: int | None = None
    share: Fraction | None = None

    @classmethod
    def of(cls, per_bucket: Number | None, in_all: Number | None, share: Number | None) -> Target:
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
        of_share = None if self.share is None or records is None else math.floor(self.share * records)
        return min((most for most in (self.in_all, of_share) if most is not None), default=None)

    def limit(self, records: int | None, buckets: int | None, *, public: bool) -> int | None:
        """Return the most records that one bucket may lose; None without a target.

        Buckets that are ``public`` have a total of their own; the target for all others is shared by them equally.
        """
        total, limits = self.total(records), [] if self.per_bucket is None else [self.per_bucket]
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
            if not public:
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


NO_TARGET = Target()


@lru_cache(maxsize=2048)
def _most_lost_of(each: Privacy, per_unit: int, at_most: int) -> int | None:
    """D of buckets that share a budget, cached: a curve stays the same while ε is being chosen."""
    share = per_bucket(each.epsilon, each.delta, per_unit)
    reach = smallest_reach(share.epsilon, share.delta, at_most=at_most + 1)
    return None if reach is None else reach - 1


@lru_cache(maxsize=32)
def _noise_of(each: Privacy, per_unit: int) -> DropNoise:
    """The noise of one bucket, cached with its law."""
    share = per_bucket(each.epsilon, each.delta, per_unit)
    return DropNoise(share.epsilon, share.delta)


@lru_cache(maxsize=2048)
def _total_of(each: Privacy, per_unit: int, buckets: int) -> int:
    """The most that public buckets lose together."""
    return TotalNoise(each.epsilon, each.delta, buckets, units=per_unit).total


def _is_within(each: Privacy, per_unit: int, buckets: int, drop: int, limit: int) -> bool:
    """Tell whether public buckets, which lose ``drop`` each, keep to a limit together: most often without the sums."""
    if drop * buckets <= limit or drop * buckets > 2 * limit + 1:  # m lies between half of D·T and all of it
        return drop * buckets <= limit
    return _total_of(each, per_unit, buckets) <= limit


def affordable_buckets(each: Privacy, per_unit: int, drop: int, limit: int) -> int:
    """Return the largest number of public buckets that keep to a limit together."""
    few, many = limit // drop, 2 * limit // drop + 2
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if _is_within(each, per_unit, middle, drop, limit) else (few, middle)
    return few


@dataclass(frozen=True, kw_only=True)
class GivenBuckets(Design):
    """Buckets of which at least the number or the shape is given.

    Parameters
    ----------
    records, per_unit, groups
        As of every design: the approximate number of records, the most buckets that one unit counts in, the groups.
    partition
        The buckets; None if at most their number is known.
    number
        Number of buckets of each group, where it does not follow from the partition.
    target
        The most that may be lost.
    counts
        Simulated or public counts, from which expected losses are computed.

    Examples
    --------
    >>> GivenBuckets(number=24, records=50_000).row(Privacy(epsilon=1, delta="1e-6"))["total"]
    648
    >>> bounded = make_buckets("number", width=5, bounds=(0, 120))
    >>> GivenBuckets(partition=bounded, records=50_000).row(Privacy(epsilon=1, delta="1e-6"))["total"]
    362
    """

    partition: Buckets | None = None
    number: int | None = None
    target: Target = NO_TARGET
    counts: Counts | None = None

    @property
    def buckets(self) -> int | None:
        """The number of buckets of all groups; None where it is not public."""
        return self.groups.times(self.number if self.partition is None else self.partition.count or self.number)

    @property
    def public(self) -> bool:
        """True if every bucket of every group is public in advance: all together then lose a certain total at most."""
        return self.partition is not None and public_count(self.partition) is not None and self.groups.public

    @property
    def limit(self) -> int | None:
        """The most records that a bucket may lose to meet the target; None without such a target."""
        return self.target.limit(self.records, self.buckets, public=self.public)

    @property
    def total_limit(self) -> int | None:
        """The most records that all buckets may lose, where they are public; None without such a target."""
        return self.target.total(self.records) if self.public else None

    @property
    def aims(self) -> bool:
        """True if there is a target."""
        return self.limit is not None or self.total_limit is not None

    def total(self, each: Privacy, drop: int) -> int | None:
        """Return the most that all buckets lose together, where a bucket loses ``drop``; None for an unknown number."""
        if self.buckets is None or not self.public:
            return most_lost(drop, self.buckets)
        return _total_of(each, self.per_unit, self.buckets)

    def fits(self, each: Privacy) -> bool:
        """Tell whether a release with this budget meets every target."""
        limit = LARGEST_REACH - 1 if self.limit is None else self.limit
        return self.meets(each, _most_lost_of(each, self.per_unit, limit))

    def meets(self, each: Privacy, drop: int | None) -> bool:
        """Tell whether a release meets every target."""
        if drop is None or (self.limit is not None and drop > self.limit):
            return False
        return self.total_limit is None or _is_within(each, self.per_unit, self.buckets or 0, drop, self.total_limit)

    @property
    def open_width(self) -> bool:
        """True if the width is still open: a release without one would choose its buckets with a part of ε."""
        return self.partition is None or (isinstance(self.partition, Exact) and self.partition.kind not in UNORDERED)

    @property
    def words(self) -> str:
        many = "buckets not counted in advance" if self.buckets is None else plural(self.buckets, "bucket", thousands)
        spec = "" if self.partition is None or self.open_width else f" ({self.partition.spec})"
        return f" in {many}{spec}{self.groups}"

    @property
    def options(self) -> list[str]:
        if self.partition is None:
            return ["--width W"]
        if isinstance(self.partition, Exact) and self.open_width:
            return ["--width W", *column_options(self.partition)]
        parameters, kind = bucket_parameters(self.partition), self.partition.kind
        given: dict[str, str] = {
            name: _decimal(parameters[name], kind) for name in ("width", "relative") if name in parameters
        }
        if isinstance(self.partition, Width):
            given["width"] = self.partition.width_text
        for name, between in (("edges", ","), ("bounds", ":")):
            if name in parameters:
                given[name] = between.join(_decimal(point, kind) for point in parameters[name])
        words = [f"--{name} {shlex.quote(text)}" for name, text in given.items()]
        return words + ([f"--kind {kind}"] if kind not in ("number", "boolean") else [])

    @property
    def columns(self) -> list[str]:
        known = {
            "max_drop": True,
            "survives_from": True,
            "total": self.buckets is not None,
            "alpha": self.buckets is not None and self.records is not None,
            "expected_share": self.counts is not None,
            "certainty": True,
            "meets": self.aims,
        }
        return [name for name, there in known.items() if there]

    def row(self, each: Privacy, *, chosen: Fraction | None = None) -> Row | None:
        if chosen is not None:
            drop: int | None = needed_reach(each.epsilon, each.delta, self.per_unit) - 1
        else:
            drop = self.drop(each)
        if drop is None:
            return None
        total = self.total(each, drop)
        row: Row = {"max_drop": drop, "survives_from": survives_from(drop), "total": total}
        known = self.buckets is not None and self.records is not None
        row["alpha"] = alpha_before(drop, self.buckets or 0, self.records or 0, total=total) if known else None
        losses = self.expected(each)
        row["expected_share"] = None if losses is None else losses.share
        row["meets"] = self.meets(each, drop) if self.aims else None
        return row

    def drop(self, each: Privacy) -> int | None:
        return _most_lost_of(each, self.per_unit, FAR - 1)

    def noise(self, each: Privacy) -> DropNoise:
        """Return the noise of one bucket."""
        return _noise_of(each, self.per_unit)

    def expected(self, each: Privacy) -> Expected | None:
        """Return the expected losses; None without counts, or where too much is lost to compute them."""
        if self.counts is None or _most_lost_of(each, self.per_unit, _MOST_EXPECTED - 1) is None:
            return None
        return expect_losses(self.counts, self.noise(each))

    def smallest_epsilon(self, rest: Callable[[Fraction], Privacy]) -> Fraction:
        """Return the smallest ε of three digits that meets the limit, as the noise itself proves.

        ``rest`` is the budget of one release, as a function of the ε of everything.
        """

        def fits(epsilon: Fraction) -> bool:
            each = rest(epsilon)
            if each.epsilon < SMALLEST_EPSILON * self.per_unit:
                return False
            return self.fits(each)

        largest = EPSILON.high or Fraction(1)
        smallest = least_decimal(fits, SMALLEST_EPSILON, largest, digits=3)
        if smallest is None:
            at = P("delta", plain_number(rest(largest).delta))
            raise InputError(
                "target",
                (f": {self._allowed}, and no ", P("epsilon"), " meets that at ", at),
                remedy=("Allow a larger loss, or a larger ", P("delta"), ", or plan fewer releases."),
            )
        return smallest

    @property
    def _allowed(self) -> str:
        """What the target allows."""
        limits = {"a bucket": self.limit, "all buckets together": self.total_limit}
        told = [
            f"{who} may lose {plural(most, 'record', thousands)}" for who, most in limits.items() if most is not None
        ]
        return " and ".join(told)

    def leaves_nothing(self, each: Privacy) -> bool:
        records, group, losses = self.records, self.records_of_group, self.expected(each)
        drop = _most_lost_of(each, self.per_unit, LARGEST_REACH - 1)
        if records is None or group is None or drop is None:
            return False
        if losses is not None:
            return losses.share > _NEARLY_ALL
        if self.buckets is None:
            return group <= max(drop, self._assumed * drop / 2)
        return records <= self.buckets * drop / 2

    @property
    def _assumed(self) -> int:
        """The number of buckets that is assumed where it is unknown.

        Relative buckets are those of values that differ by a factor of 100; otherwise there may be few, and a width
        that is open may be as large as all values.
        """
        if isinstance(self.partition, RelativeWidth):
            return math.ceil(math.log(_FACTOR) / math.log(self.partition.ratio))
        return 1 if self.partition is None or self.open_width or self.partition.kind == "boolean" else _FEW

    def notes(self, each: Privacy | None) -> list[str]:
        losses = None if each is None else self.expected(each)
        return [] if losses is None else [str(losses)]

    def warnings(self, each: Privacy | None, chosen: Fraction | None) -> list[Phrase]:
        warnings = self._of_the_shape()
        row = None if each is None else self.row(each, chosen=chosen)
        if row is None or each is None or chosen is None:
            return warnings
        records, buckets, needed = self.records, self.buckets, row["survives_from"]
        public = self.partition is not None and self.partition.count is not None
        if self.counts is not None and row["expected_share"] is None:
            most = thousands(_MOST_EXPECTED)
            warnings.append(f"expected losses are not computed if a bucket may lose {most} records or more.")
        if records is not None and buckets is not None and records < needed * buckets:
            average = records / buckets
            warnings.append(
                f"a bucket needs {plural(needed, 'record', thousands)} to be certain to survive, but "
                f"{plural(records, 'record', thousands)} in {plural(buckets, 'bucket', thousands)} average "
                f"{f'{average:.2g}' if average < 10 else int(average)}. Choose wider buckets or a larger ε."
            )
        if row["alpha"] == 1:
            warnings.append("all records may be lost: the share that is left out cannot be certified.")
        if buckets is not None and not public:
            warnings.append((
                "a release certifies a share only if its buckets are public. Give it ", P("bounds"), " with ",
                P("width"), " or ", P("relative"), f", for {plural(buckets, 'bucket', thousands)}.",
            ))  # fmt: skip
        if not public and self.counts is None:
            warnings += self._of_few_records(needed)
        if buckets is not None and public and not self.groups.public:
            warnings.append(
                ("a release certifies a share only if its groups are public, too. Declare ", P("groups"), ".")
            )
        return warnings

    def _of_the_shape(self) -> list[Phrase]:
        """Warn of problems at every ε."""
        warnings: list[Phrase] = []
        partition = self.partition
        if isinstance(partition, RelativeWidth) and partition.bounds and (partition.count or 0) > _MANY:
            low, high = partition.bounds
            if low <= 0 <= high:
                warnings.append((
                    P("relative"), f" makes {thousands(partition.count or 0)} buckets between bounds that include 0, "
                    "because they become ever narrower towards it. Begin ", P("bounds"), " at the smallest value that "
                    "matters, use ", P("width"), ", or omit all of them, and flexdp chooses the buckets.",
                ))  # fmt: skip
        if self.open_width:
            warnings.append((
                "the width of buckets is open: replace W. Without a width, flexdp chooses buckets with a part of ε, "
                "and each loses more: give ", P("records_about"), " and no target to plan these.",
            ))  # fmt: skip
        if self.groups.by and self.groups.about is None:
            warnings.append((
                "the number of groups is not known, and every bucket of every group loses records. Give ", P("groups"),
                " or ", P("groups_about"), ".",
            ))  # fmt: skip
        if self.buckets is not None and self.per_unit > self.buckets:
            warnings.append((
                P("max_buckets_per_unit", self.per_unit), f" exceeds the number of buckets. Choose {self.buckets}, "
                "which protects as well and loses fewer records, unless groups multiply the buckets.",
            ))  # fmt: skip
        return warnings

    def _of_few_records(self, needed: int) -> list[Phrase]:
        """Warn of few records where the number of buckets is unknown: what is certain for any number of them."""
        records = self.records_of_group
        if records is None or self.buckets is not None or records >= needed * max(self._assumed, _SEVERAL):
            return []
        full, among = records // needed, plural(records, "record", thousands)
        certain = (
            f"at most {plural(full, 'bucket')} {'is' if full == 1 else 'are'} certain to survive; the others may vanish"
        )
        return [
            f"a bucket needs {plural(needed, 'record', thousands)} to be certain to survive: with {among}"
            f"{' per group' if self.groups.by else ''}, {certain if full else 'no bucket is certain to survive'}."
        ]

    def document(self) -> dict[str, Any]:
        share = self.target.share
        return {
            "buckets": self.buckets,
            "bucketing": {} if self.partition is None else bucket_parameters(self.partition),
            "target": {
                "lose_per_bucket": self.target.per_bucket,
                "lose_in_all": self.target.in_all,
                "lose_share": None if share is None else exact_text(share),
                "max_drop": self.limit,
            },
        }


def column_options(column: Exact, *, named: bool = False) -> list[str]:
    """Return the options of a command that describe a column: bounds and kind, if ``named`` also that of numbers."""
    ends = bucket_parameters(column).get("bounds")
    bounds = [] if ends is None else [f"--bounds {shlex.quote(':'.join(_decimal(end, column.kind) for end in ends))}"]
    return bounds + ([f"--kind {column.kind}"] if named or column.kind != "number" else [])


def _decimal(text: str, kind: Kind) -> str:
    """A width or a bound as people write it: as a decimal if that is exact."""
    return exact_text(Fraction(text)) if kind in ("integer", "number") else text


def choose_partition(
    kind: Kind, *, width: Number | None, relative: Number | None, edges: Any, bounds: Any, buckets: int | None,
    affordable: Callable[[], int | None],
) -> Buckets | None:  # fmt: skip
    """Return the partition that a release would use; None if at most the number of buckets is known.

    Bounds and a number of buckets determine the width. So do bounds, ε and a total that may be lost: there are then as
    count buckets as are ``affordable``.
    """
    sizes = {"width": width, "relative": relative, "edges": edges}
    given = next((name for name, size in sizes.items() if size is not None), None)
    if given is not None:
        partition = make_buckets(kind, **sizes, bounds=bounds)
        if buckets is not None and partition.count is not None and partition.count != buckets:
            raise InputError(
                "buckets",
                ("contradicts ", P(given), f": there are {partition.count} such buckets between ", P("bounds")),
                given=str(buckets),
                remedy="Leave one of them out.",
            )
        return partition
    if bounds is None:
        return None if buckets is not None or kind == "number" else Exact(kind)
    bounded = make_buckets(kind, bounds=bounds)
    count = buckets if buckets is not None else affordable()
    if count is None or bounded.bounds is None:
        return bounded
    if kind == "datetime":
        raise InputError(
            "width",
            "must be given for datetimes, because it is not solved for",
            remedy=("Give ", P("width", "1 day"), ", for example."),
        )
    low, high = bounded.bounds
    step = (high - low + int(kind != "number")) / count
    if kind != "number":
        step = Fraction(math.ceil(step))
    elif buckets is None:
        step = to_digits(step, 3, up=True)
    return make_buckets(kind, width=step, bounds=bounds)
