"""The promises of a release in words: conditions, certainties, and how to read, quote and check it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flexdp._core.display import card, folded, sentence
from flexdp._core.exact import float_up, number_text, upper_text
from flexdp._core.text import plural, thousands, visible
from flexdp._release.answers import Reader
from flexdp._release.ranges import bounds_text, joined, quoted, shortened
from flexdp._release.sentences import (
    Words,
    is_capped,
    is_cut,
    of_unit,
    once_each,
    record_count,
    record_words,
    short_name,
    unit_id,
)
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.buckets.base import LONGEST_TEXT, SMALLEST_NORMAL
from flexdp.buckets.relative import RelativeWidth
from flexdp.buckets.width import Width
from flexdp.calculus.loss import survives_from
from flexdp.guarantees import Privacy, percent_text
from flexdp.noise.certificate import Evidence
from flexdp.noise.total import TotalEvidence

__all__ = [
    "Certificate",
    "conditions",
    "exact_parameters",
    "exactly",
    "missing_groups",
    "picture_caption",
    "promises",
    "share_of_budget",
]

LONGEST_WHERE = 10_000  # characters: all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The promises of a release, line by line, and the integers that prove its privacy.

    Parameters
    ----------
    promises
        Privacy first, then everything that holds of the release with probability one.
    evidence
        The proof for the noise of one bucket; None without buckets.
    total_evidence
        The proof for the noise of the total, where a bound on it was paid for.
    limit
        The proof that what all buckets lose together is private, where they are public.
    shared
        How the budget is divided among the parts that are proved; empty where there is only one.
    asked
        The account of the asked answers and the proofs of their tables, line by line.
    exact
        ε and δ as fractions, where their decimals are rounded.

    Examples
    --------
    >>> import flexdp
    >>> certificate = flexdp.release([33.0] * 900, epsilon=1, delta=1e-6, width=5).certificate()
    >>> certificate.evidence.holds
    True
    >>> print(certificate.promises[1])
    Released: buckets of width 5.
    """

    promises: tuple[str, ...]
    evidence: Evidence | None
    total_evidence: Evidence | None = None
    limit: TotalEvidence | None = None
    shared: str = ""
    asked: tuple[str, ...] = ()
    exact: str = ""

    @property
    def proof(self) -> tuple[str, ...]:
        """The integers that prove the privacy, in words."""
        lines = [self.shared] if self.shared else []
        if self.evidence is not None:
            lines.append(f"Proof{' for each bucket' if self.shared or self.asked else ''}: {self.evidence}")
        if self.total_evidence is not None:
            lines.append(f"Proof for the total: {self.total_evidence}")
        if self.limit is not None:
            lines.append(f"Proof for all buckets together: {self.limit}")
        return (*lines, *self.asked)

    def __str__(self) -> str:
        return "\n".join((*self.promises, *filter(None, [self.exact]), *self.proof))

    def _repr_html_(self) -> str:
        proof = [*filter(None, [self.exact]), *self.proof]
        return card("Certificate", *map(sentence, self.promises), folded("Proof of privacy", proof))


def conditions(spec: Spec, *, bucketed: bool = True, asked: bool = False) -> tuple[str, ...]:
    """Return the conditions that all answers of a release share: which records count, and how often.

    ``bucketed`` and ``asked`` tell whether it has buckets, and answers that were asked for.
    """
    names = [short_name(name) for name in spec.columns if name is not None]
    values = f"readable values{f' of {names[0]}' if names else ''}"
    if len(names) > 1:
        values = f"readable points ({', '.join(names)})"
    bounded = ""
    if any(axis.bounds is not None for axis in spec.partitions):
        clamped = any(axis.bounds is not None and axis.outside == "clamp" for axis in spec.partitions)
        bounded = f" {'limited to' if clamped else 'within'} {' × '.join(map(bounds_text, spec.partitions))}"
    needed = [short_name(name) for name in spec.labels] if spec.groups is None else []
    needed += [] if spec.unit is None else [short_name(spec.unit)]
    records = record_words(spec, LONGEST_WHERE)
    which = f", {' '.join(records)}" if spec.of_query else f", in records {records[0]}" if records else ""
    out = [f"Counted: {values}{bounded}{_owners(spec, needed)}{which}."]
    out += [_derived(spec, name, text) for name, text in spec.derived]
    if is_capped(spec):
        out.append(_capped(spec, bucketed=bucketed, asked=asked))
    if spec.per_unit is not None:
        where = ", in the group that has it" if spec.by else ""
        out.append(f"Each unit{unit_id(spec)} counts once, with its {of_unit(spec)} {names[0]}{where}.")
    if spec.zone is not None:
        out.append(f"Times are read in {spec.zone}.")
    return tuple(out)


def _capped(spec: Spec, *, bucketed: bool, asked: bool) -> str:
    """How often a unit counts, and that nothing follows for all of its values."""
    together = " across all groups" if spec.by else ""
    own = ", and in answers drawn separately ".join(
        f"{once_each(spec, drawn=drawn)}{together}"
        for drawn, there in ((False, bucketed), (True, asked or not bucketed))
        if there
    )
    return f"What counts is {own}; nothing is guaranteed about the column itself."


def _owners(spec: Spec, needed: Sequence[str]) -> str:
    """Whose values: those of records with a group and a unit, or of declared groups."""
    declared = ""
    if spec.groups and spec.other_group is None:
        declared = f" of the declared groups ({joined([short_name(name) for name in spec.labels])})"
    having = f" with {joined(needed)}" if needed else ""
    return f", in records{declared}{having}" if declared or having else ""


def _derived(spec: Spec, name: str, text: str) -> str:
    """What a derived column stands for; the group of all others by its name."""
    if spec.other_group is not None and name == spec.by[0]:
        group = quoted(shortened(spec.other_group))
        return f"Group {group}: records with another {short_name(spec.labels[0])}, or with none."
    return f"Here {short_name(name)} is {visible(text)}."


def promises(spec: Spec, reader: Reader, chosen: Sequence[str] = (), *, asked: bool = False) -> tuple[str, ...]:
    """Return what holds of the whole release, with probability one.

    ``chosen`` tells how buckets were chosen, ``asked`` that there are answers beside them.
    """
    words = Words(spec, reader.noise.max_drop, total=reader.total)
    least = record_count(spec, survives_from(reader.noise.max_drop))
    out = [
        f"Released: {reader.partition.spec}.",
        *conditions(spec, asked=asked),
        *chosen,
        f"Not counted: {'; '.join(_not_counted(spec))}.{_counted_as_another(spec)}",
        words.counting(f"The lower end of each count is {words.too_low} and never too high."),
        words.counting(f"Every {words.place.removeprefix('each ')} with at least {least} is present."),
        f"No empty {words.spot}{f' of any {joined(words.groups)}' if words.groups else ''} is listed.",
    ]
    share = reader.share
    if share is not None and share < 1:
        left_out = f"At most {percent_text(float_up(share))} of what was counted was left out in total."
        out.append(words.counting(left_out))
    if reader.total is not None:
        were = "was" if reader.total == 1 else "were"
        how = " (certified with part of the privacy budget)" if spec.public_buckets is None else ""
        out.append(words.counting(f"At most {record_count(spec, reader.total)} {were} left out in total{how}."))
    return tuple(out)


def _not_counted(spec: Spec) -> list[str]:
    """Records that no count and no answer refers to, whatever the noise."""
    axes = spec.partitions
    out = ["missing cells", "cells that do not read as the column's kind"]
    if "number" in spec.kinds:
        out.append("infinities")
    out.append(f"texts of more than {thousands(LONGEST_TEXT)} bytes in UTF-8")
    out.append("lines of text files that are not in the declared encoding (UTF-8 by default) or very long")
    if is_cut(axes):
        out.append("values outside the bounds")
    if "integer" in spec.kinds:
        out.append("integers of more than 37 digits")
    if any(isinstance(axis, Width) and axis.bounds is None and axis.kind == "number" for axis in axes):
        out.append("values further than 2^51 buckets from zero")
    if {"date", "datetime"} & set(spec.kinds):
        out.append("times outside the years 1 to 9999")
    if spec.by and spec.other_group is None:
        out.append("records that lie in none of the groups")
    if spec.where is not None:
        out.append("records that fail the filter, or for which a missing cell leaves it open")
    if spec.unit is not None:
        out.append(f"records without {short_name(spec.unit)}")
    return out


def _counted_as_another(spec: Spec) -> str:
    """Values that count as one that differs from them a little."""
    out = ""
    if any(isinstance(axis, Width | RelativeWidth) and axis.kind == "number" for axis in spec.partitions):
        out += f" Numbers closer to 0 than {number_text(SMALLEST_NORMAL)} count as 0."
    if "datetime" in spec.kinds:
        out += " Datetimes with nanoseconds count as the microsecond in which they lie."
    return out


def share_of_budget(budget: Budget) -> str:
    """Return how (ε, δ) is divided among parts that are proved one by one; empty where there is only one."""
    most, total = budget.most, budget.paid
    if most == 1 and total is None:
        return ""
    bars = budget.bars
    parts = [f"{plural(most, 'bucket')} with ε = {upper_text(bars.epsilon, 6)}, δ = {upper_text(bars.delta)}"]
    parts[0] += " each" if most > 1 else ""
    if total is not None:
        each = "" if most == 1 else f" for each of {most} steps"
        parts.append(f"the total with ε = {upper_text(total.epsilon, 6)}, δ = {upper_text(total.delta)}{each}")
    return f"The budget is divided among {' and '.join(parts)}; each part is proved below."


def exactly(privacy: Privacy) -> str:
    """Return ε and δ as fractions; empty where their printed decimals are exact."""
    printed = Fraction(upper_text(privacy.epsilon, 6)), Fraction(upper_text(privacy.delta))
    same = printed == (privacy.epsilon, privacy.delta)
    return "" if same else f"Exactly, ε = {privacy.epsilon} and δ = {privacy.delta}."


def exact_parameters(budget: Budget, privacy: Privacy) -> str:
    """Return ε and δ of the counts exactly, for those who rebuild the proof; those of everything where they differ."""
    whole = ""
    if (budget.epsilon, budget.delta) != (privacy.epsilon, privacy.delta):
        whole = f" of the counts, out of ε = {privacy.epsilon}, δ = {privacy.delta} in total"
    return (
        f"Exact parameters: ε = {budget.epsilon}, δ = {budget.delta}{whole}. The table of weights and its proof can be "
        "rebuilt from these with flexdp."
    )


def picture_caption(words: Words, *, empty: bool, coloured: bool, areas: bool = False) -> str:
    """Return what a picture of the release shows; ``areas`` tells that widths differ, and areas are counts."""
    drop, place = thousands(words.max_drop), words.place
    if is_capped(words.spec):
        place = f"{place} ({once_each(words.spec)})"
    if empty:
        return f"Nothing survived. At most {drop} can have been in {place}."
    if coloured:
        return f"Colours show what was published; {place} may hold up to {drop} more, never fewer."
    shown = (
        "The areas of bars show what was published, because widths differ."
        if areas
        else "Bars show what was published."
    )
    return (
        f"{shown} The hatched band is what {place} may hold beyond that, at most {drop} more; the true count is never "
        "below a bar."
    )


def missing_groups(spec: Spec, max_drop: int) -> str:
    """Return which groups may be missing from a list of them; empty without groups.

    Parameters
    ----------
    spec
        The public description of the release.
    max_drop
        The most that a bucket can have lost.

    Returns
    -------
    str
        A sentence.
    """
    if not spec.by:
        return ""
    spot, least = "bucket" if len(spec.columns) == 1 else "cell", record_count(spec, survives_from(max_drop))
    enough = (
        f"at least {least} are counted in a {spot} of it"
        if is_capped(spec)
        else f"a {spot} of it holds at least {least}"
    )
    named = joined([short_name(name) for name in spec.labels])
    return f"A group ({named}) is certain to be listed if {enough}; others may be missing."
