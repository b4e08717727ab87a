"""Warnings about choices that make no sense, each with a way out."""

from __future__ import annotations

from collections.abc import Sequence

from flexdp._core.domains import LARGE_EPSILON
from flexdp._core.exact import number_text
from flexdp._core.text import plural, thousands
from flexdp.errors import InputError, P, Phrase
from flexdp.planning.options import FAR, Option, Setting, plain_number
from flexdp.planning.target import proposed_delta

__all__ = ["MOST_EXPECTED", "cautions"]

MOST_EXPECTED = 50_000  # records that a bucket may lose: beyond it, no expected losses are computed


def cautions(
    setting: Setting, options: Sequence[Option], chosen: Option | None, *, unexpected: bool, public: bool
) -> list[Phrase]:
    """Return the warnings about a plan, in parts.

    ``unexpected`` is true if expected losses were asked for and not computed, ``public`` if the buckets are public.
    """
    found: list[Phrase] = []
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
    return found + _about_chosen(setting, chosen, unexpected=unexpected, public=public)


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
