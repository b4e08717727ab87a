"""Warnings about choices that make no sense, each with a way out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flexdp._core.domains import LARGE_EPSILON
from flexdp._core.exact import number_text
from flexdp._core.text import plural, thousands
from flexdp.buckets.exact import Exact
from flexdp.buckets.partition import Buckets
from flexdp.buckets.relative import RelativeWidth
from flexdp.errors import InputError, P, Phrase
from flexdp.guarantees import sure_text
from flexdp.planning.command import open_width
from flexdp.planning.expected import UNORDERED
from flexdp.planning.groups import NO_GROUPS, Groups
from flexdp.planning.options import FAR, Option, Setting, plain_number
from flexdp.planning.target import proposed_delta

__all__ = ["MOST_EXPECTED", "assumed_buckets", "cautions"]

_MANY = 1000  # relative buckets
_FACTOR = 100  # between the values of a column that is not bounded
_FEW, _SEVERAL = 4, 10  # buckets of such a column: assumed, and those for which a warning is given
MOST_EXPECTED = 50_000  # records that a bucket may lose: beyond it, no expected losses are computed


def cautions(
    setting: Setting,
    options: Sequence[Option],
    chosen: Option | None,
    partition: Buckets | None = None,
    groups: Groups = NO_GROUPS,
    *,
    unexpected: bool,
    counted: bool = False,
    automatic: bool = False,
) -> list[Phrase]:
    """Return the warnings about a plan, in parts.

    ``unexpected`` is true if expected losses were asked for and not computed, ``counted`` if a law or a public sample
    was counted, and ``automatic`` if buckets are chosen by the release.
    """
    public = partition is not None and partition.count is not None
    found: list[Phrase] = _about_zero(partition)
    if not automatic and open_width(partition, counted=counted):
        found.append(
            (
                "the width of buckets is open: replace W. Without a width, flexdp chooses buckets with a part of ε, "
                "and each loses more: give ", P("records_about"), " and no target to plan these.",
            )
        )  # fmt: skip
    if not automatic and groups.by and groups.about is None:
        found.append(
            (
                "the number of groups is not known, and every bucket of every group loses records. Give ", P("groups"),
                " or ", P("groups_about"), ".",
            )
        )  # fmt: skip
    records = setting.records_about
    if records is not None and setting.delta * records >= 1:
        found.append(
            (
                P("delta", plain_number(setting.delta)),
                f" is not below one in {thousands(records)} records: a release that published one record outright "
                f"could make the same promise. Choose at most {number_text(proposed_delta(records))}.",
            )
        )
    if setting.buckets is not None and setting.buckets_per_unit > setting.buckets:
        found.append(
            (
                P("max_buckets_per_unit", setting.buckets_per_unit),
                f" exceeds the number of buckets. Choose {setting.buckets}, which protects as well and loses fewer "
                "records, unless groups multiply the buckets.",
            )
        )
    if not options:
        found.append(
            f"at every usual ε a bucket may lose more than {thousands(FAR)} records. Plan fewer releases, or fewer "
            "buckets per unit."
        )
    if chosen is None:
        found.append(("no ε is chosen. Give ", P("epsilon"), ", or a target such as ", P("lose_per_bucket"), "."))
        return found
    found += _about_chosen(setting, chosen, unexpected=unexpected, public=public)
    if not automatic and not counted:
        found += _about_unknown(setting, chosen, partition, groups)
    if not groups.public and setting.buckets is not None and public:
        found.append(("a release certifies a share only if its groups are public, too. Declare ", P("groups"), "."))
    return found


def _about_unknown(setting: Setting, chosen: Option, partition: Buckets | None, groups: Groups) -> list[Phrase]:
    """Warn of few records where nobody knows the number of buckets: what is certain of any number of them."""
    if setting.records_about is None or (partition is not None and partition.count is not None):
        return []
    records, needed = groups.of_each(setting.records_about), chosen.survives_from
    if setting.buckets is not None or records >= needed * max(assumed_buckets(partition), _SEVERAL):
        return []
    full, whole = records // needed, " per group" if groups.by else ""
    among = plural(records, "record", thousands)
    most = "no bucket is certain to survive"
    if full:
        most = (
            f"at most {plural(full, 'bucket')} {'is' if full == 1 else 'are'} certain to survive; the others may vanish"
        )
    return [
        f"a bucket needs {plural(needed, 'record', thousands)} to be certain to survive: with {among}{whole}, {most}."
    ]


def assumed_buckets(partition: Buckets | None) -> int:
    """Return the number of buckets that is assumed where nobody knows it.

    Relative buckets are those of values that differ by a factor of 100; otherwise there may be few, and a width that is
    open may be as large as all values.

    >>> assumed_buckets(RelativeWidth("number", Fraction("0.05")))
    47
    """
    if isinstance(partition, RelativeWidth):
        return math.ceil(math.log(_FACTOR) / math.log(partition.ratio))
    if partition is None or partition.kind == "boolean":
        return 1
    return 1 if isinstance(partition, Exact) and partition.kind not in UNORDERED else _FEW


def _about_zero(partition: Buckets | None) -> list[Phrase]:
    """Warn of relative buckets between bounds that include zero, towards which they become ever narrower."""
    if not isinstance(partition, RelativeWidth) or partition.count is None or partition.count <= _MANY:
        return []
    low, high = partition.bounds or (Fraction(0), Fraction(0))
    if not low <= 0 <= high:
        return []
    warned = (
        f" makes {thousands(partition.count)} buckets between bounds that include 0, because they become ever narrower "
        "towards it. "
    )
    if low < 0 < high:
        return [(P("relative"), warned, "Use ", P("width"), ", or omit both, and flexdp chooses the buckets.")]
    far = max(-low, high)
    least = Fraction(1) if far > 1 else far / 1000
    ends = (least, high) if high else (low, -least)
    fewer = RelativeWidth(partition.kind, partition.rho, ends).count
    shown = (plain_number(ends[0]), plain_number(ends[1]))
    return [
        (
            P("relative"), warned, "Begin at the smallest value that matters: ", P("bounds", shown),
            f" would make {plural(fewer or 1, 'bucket', thousands)}, and values nearer to 0 would count as "
            f"{number_text(ends[0] if high else ends[1])}. Or omit both, and flexdp chooses the buckets.",
        )
    ]  # fmt: skip


def _about_chosen(setting: Setting, chosen: Option, *, unexpected: bool, public: bool) -> list[Phrase]:
    found: list[Phrase] = []
    records, buckets, epsilon = setting.records_about, setting.buckets, P("epsilon", plain_number(chosen.epsilon))
    if chosen.epsilon > LARGE_EPSILON:
        found.append(
            (
                epsilon,
                f" is above {LARGE_EPSILON} and gives little privacy protection: an observer who was 50% sure may "
                f"become {sure_text(chosen.certainty)}. Allow a larger loss or wider buckets instead.",
            )
        )
    if unexpected:
        found.append(
            f"expected losses are not computed if a bucket may lose more than {thousands(MOST_EXPECTED)} records."
        )
    if chosen.meets is False:
        found.append(
            (
                epsilon,
                f" misses the target: a bucket may lose {plural(chosen.max_drop, 'record', thousands)}, and the target "
                f"allows {thousands(setting.limit or 0)}. {_way_out(setting)}",
            )
        )
    if records is not None and buckets is not None and records < chosen.survives_from * buckets:
        found.append(
            f"a bucket needs {plural(chosen.survives_from, 'record', thousands)} to be certain to survive, but "
            f"{plural(records, 'record', thousands)} in {plural(buckets, 'bucket', thousands)} average "
            f"{_about(records / buckets)}. Choose wider buckets or a larger ε."
        )
    if chosen.alpha == 1:
        found.append("all records may be lost: the share that is left out cannot be certified.")
    if buckets is not None and not public:
        found.append(
            (
                "a release certifies a share only if its buckets are public. Give it ", P("bounds"), " with ",
                P("width"), " or ", P("relative"), f", for {plural(buckets, 'bucket', thousands)}.",
            )
        )  # fmt: skip
    return found


def _way_out(setting: Setting) -> str:
    try:
        return f"The smallest ε that meets it is {number_text(setting.smallest_epsilon())}."
    except InputError:
        return "No ε meets it at this δ; allow a larger loss."


def _about(average: float) -> str:
    return f"{average:.2g}" if average < 10 else str(int(average))
