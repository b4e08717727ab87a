"""Warnings about choices that make no sense, each with a way out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flexdp._core.domains import LARGE_EPSILON
from flexdp._core.exact import number_text
from flexdp._core.text import plural, thousands
from flexdp.buckets.partition import Buckets
from flexdp.buckets.relative import RelativeWidth
from flexdp.errors import InputError, P, Phrase
from flexdp.planning.groups import NO_GROUPS, Groups
from flexdp.planning.options import FAR, Option, Setting, plain_number
from flexdp.planning.target import proposed_delta

__all__ = ["MOST_EXPECTED", "cautions"]

_MANY = 1000  # relative buckets
MOST_EXPECTED = 50_000  # records that a bucket may lose: beyond it, no expected losses are computed


def cautions(
    setting: Setting,
    options: Sequence[Option],
    chosen: Option | None,
    partition: Buckets | None = None,
    groups: Groups = NO_GROUPS,
    *,
    unexpected: bool,
) -> list[Phrase]:
    """Return the warnings about a plan, in parts.

    ``unexpected`` is true if expected losses were asked for and not computed.
    """
    public = partition is not None and partition.count is not None
    found: list[Phrase] = _about_zero(partition)
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
    if not groups.public and setting.buckets is not None and public:
        found.append(("a release certifies a share only if its groups are public, too. Declare ", P("groups"), "."))
    return found


def _about_zero(partition: Buckets | None) -> list[Phrase]:
    """Warn of relative buckets between bounds that reach zero, towards which they become ever narrower."""
    if not isinstance(partition, RelativeWidth) or partition.count is None or partition.count <= _MANY:
        return []
    low, high = partition.bounds or (Fraction(0), Fraction(0))
    if not low <= 0 <= high or not high:
        return []
    least = Fraction(1) if high > 1 else high / 1000
    fewer = RelativeWidth(partition.kind, partition.rho, (least, high)).count
    shown = (plain_number(least), plain_number(high))
    return [
        (
            P("relative"), f" makes {thousands(partition.count)} buckets between bounds that reach 0, because they "
            "become ever narrower towards it. Begin at the smallest value that matters: ", P("bounds", shown),
            f" would leave {plural(fewer or 1, 'bucket', thousands)}. Or give neither, and flexdp chooses them.",
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
                f"become {chosen.certainty} sure. Allow a larger loss or wider buckets instead.",
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
                f" misses the target: a bucket may lose {plural(chosen.max_drop, 'record')}, and the target allows "
                f"{setting.limit}. {_way_out(setting)}",
            )
        )
    if records is not None and buckets is not None and records < chosen.survives_from * buckets:
        found.append(
            f"a bucket needs {plural(chosen.survives_from, 'record')} to be certain to survive, but "
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
