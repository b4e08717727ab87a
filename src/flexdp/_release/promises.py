"""The promises of a release in words: conditions, certainties, and how to read, quote and check it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flexdp._core.display import card, folded, sentence
from flexdp._core.exact import float_up, number_text, upper_text
from flexdp._core.text import plural, thousands, visible
from flexdp._release.answers import Answer, Reader
from flexdp._release.ranges import bounds_text, joined, quoted, shortened
from flexdp._release.sentences import Words, is_cut, of_unit, record_count, record_words, short_name, unit_id
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.buckets.base import LONGEST_TEXT, SMALLEST_NORMAL
from flexdp.buckets.relative import RelativeWidth
from flexdp.buckets.width import Width
from flexdp.calculus.loss import survives_from
from flexdp.guarantees import Privacy, percent_text
from flexdp.noise.certificate import Evidence

__all__ = [
    "CITATIONS",
    "PUBLISHED",
    "PUBLISHED_WITH_ANSWERS",
    "Certificate",
    "conditions",
    "exact_parameters",
    "group_note",
    "how_it_was_made",
    "how_to_read",
    "missing_groups",
    "not_promised",
    "picture_caption",
    "promises",
    "protected",
    "share_of_budget",
]

PUBLISHED = (
    "Published with differential privacy: every bucket lost a few records at random, and nothing was added anywhere."
)
PUBLISHED_WITH_ANSWERS = (
    "Published with differential privacy: every bucket lost a few records at random. Some answers were drawn "
    "separately, with noise, and need not occur in the data."
)
LONGEST_WHERE = 10_000  # characters: all of it
ABOUT = (
    "“About” marks an estimate: the mean loss is added back to each count, and the records of a bucket are spread "
    "over it, evenly or, at the ends, thinning out. What is guaranteed is said beside it."
)
CITATIONS = (
    "A. Bansal, R. Chunduru, D. Data, M. Prabhakaran. Flexible Accuracy for Differential Privacy. AISTATS 2022, "
    "PMLR 151, pages 3847–3882.",
    "D. Desfontaines, J. Voss, B. Gipson, C. Mandayam. Differentially Private Partition Selection. Proceedings on "
    "Privacy Enhancing Technologies 2022 (1), pages 339–352.",
)


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
    shared
        How the budget is divided among the parts that are proved; empty where there is only one.
    asked
        The account of the asked answers and the proofs of their tables, line by line.

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
    shared: str = ""
    asked: tuple[str, ...] = ()

    @property
    def proof(self) -> tuple[str, ...]:
        """The integers that prove the privacy, in words."""
        lines = [self.shared] if self.shared else []
        if self.evidence is not None:
            lines.append(f"Proof{' for each bucket' if self.shared or self.asked else ''}: {self.evidence}")
        if self.total_evidence is not None:
            lines.append(f"Proof for the total: {self.total_evidence}")
        return (*lines, *self.asked)

    def __str__(self) -> str:
        return "\n".join((*self.promises, *self.proof))

    def _repr_html_(self) -> str:
        return card("Certificate", *map(sentence, self.promises), folded("Proof of privacy", self.proof))


def conditions(spec: Spec, *, bucketed: bool = True) -> tuple[str, ...]:
    """Return the conditions that all answers of a release share: which records count, and how often."""
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
    if spec.unit is not None and spec.per_unit is None:
        spot = ("bucket" if len(spec.columns) == 1 else "cell") if bucketed else "distinct value"
        together = " of all groups together" if spec.by else ""
        many = plural(spec.max_buckets_per_unit, spot, thousands)
        out.append(f"Each unit{unit_id(spec)} {_counts_in(bucketed)} at most {many}{together}.")
    if spec.per_unit is not None:
        where = ", in the group that has it" if spec.by else ""
        out.append(f"Each unit{unit_id(spec)} counts once, with its {of_unit(spec)} {names[0]}{where}.")
    if spec.zone is not None:
        out.append(f"Times are read in {spec.zone}.")
    return tuple(out)


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


def promises(spec: Spec, reader: Reader, chosen: Sequence[str] = ()) -> tuple[str, ...]:
    """Return what holds of the whole release, with probability one; ``chosen`` tells how buckets were chosen."""
    words = Words(spec, reader.noise.max_drop)
    least = record_count(spec, survives_from(reader.noise.max_drop))
    out = [
        f"Released: {reader.partition.spec}.",
        *conditions(spec),
        *chosen,
        f"Not counted: {'; '.join(_not_counted(spec))}.{_counted_as_another(spec)}",
        f"Each count is {words.too_low} and never too high.",
        f"Every {words.place.removeprefix('each ')} with at least {least} is present.",
        f"No empty {words.spot}{f' of any {joined(words.groups)}' if words.groups else ''} is listed.",
    ]
    share = reader.share
    if share is not None and share < 1:
        out.append(f"At most {percent_text(float_up(share))} of what was counted was left out in total.")
    if reader.paid is not None:
        were = "was" if reader.paid == 1 else "were"
        out.append(
            f"At most {record_count(spec, reader.paid)} {were} left out in total (certified with part of the privacy "
            "budget)."
        )
    return tuple(out)


def _not_counted(spec: Spec) -> list[str]:
    """Records that no count and no answer refers to, whatever the noise."""
    axes = spec.partitions
    out = ["missing cells", "cells that do not read as the column's kind"]
    if "number" in spec.kinds:
        out.append("infinities")
    out.append(f"texts of more than {thousands(LONGEST_TEXT)} bytes in UTF-8")
    out.append("lines of text files that are not UTF-8 or very long")
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
    most, total = budget.most, budget.total
    if most == 1 and total is None:
        return ""
    bars = budget.bars
    parts = [f"{plural(most, 'bucket')} with ε = {upper_text(bars.epsilon, 6)}, δ = {upper_text(bars.delta)}"]
    parts[0] += " each" if most > 1 else ""
    if total is not None:
        each = "" if most == 1 else f" for each of {most} steps"
        parts.append(f"the total with ε = {upper_text(total.epsilon, 6)}, δ = {upper_text(total.delta)}{each}")
    return f"The budget is divided among {' and '.join(parts)}; each part is proved below."


def protected(spec: Spec, *, bucketed: bool = True) -> str:
    """Return what is protected, and how much of it counts."""
    if spec.unit is None:
        return "What is protected is one record: with or without it, this page would look much the same."
    spot = ("bucket" if len(spec.columns) == 1 else "cell") if bucketed else "distinct value"
    if spec.per_unit is not None:
        return f"What is protected is one unit{unit_id(spec)}, of whose values only the {of_unit(spec)} counts."
    many = plural(spec.max_buckets_per_unit, spot, thousands)
    if not bucketed:
        return f"What is protected is one unit{unit_id(spec)}, which contributes at most {many}."
    return f"What is protected is one unit{unit_id(spec)}, counted in at most {many}."


def _counts_in(bucketed: bool) -> str:
    return "counts in" if bucketed else "contributes"


def not_promised(
    spec: Spec, records_at_most: int | None, *, bucketed: bool = True, estimated: bool = False
) -> list[str]:
    """Return what readers might wrongly take for granted; ``estimated`` if the number of records is published."""
    if spec.unit is None:
        whose = (
            "One record is protected, not one person: somebody with several records is protected less, the more of "
            "them there are."
        )
    elif spec.per_unit is not None:
        whose = f"Each unit{unit_id(spec)} counts once, so counts are not counts of records."
    else:
        word = ("bucket" if len(spec.columns) == 1 else "cell") if bucketed else "distinct value"
        spot = plural(spec.max_buckets_per_unit, word, thousands)
        whose = (
            f"Each unit{unit_id(spec)} {_counts_in(bucketed)} at most {spot}; what it had beyond that was not counted, "
            "so counts are not counts of records."
        )
    total = (
        "The number of records in the data is not published, and no percentage of it can be computed from here, except "
        "where a bound is stated above."
    )
    if estimated:
        total = "The exact number of records is not published, only an estimate of it."
    if records_at_most is not None:
        counted = "records that count" if spec.unit is None else f"counts of each unit{unit_id(spec)}"
        total = f"Of the number of {counted}, only a bound is published: at most {thousands(records_at_most)}."
    return [
        whose,
        "Further releases of the same data are not covered. Their ε and δ add to those of this one.",
        "What is true of everybody is not hidden: that most values are small says something about each of them.",
        total,
        "Running time is not protected: there is no defence against timing side channels.",
        "Whether the data were right, complete or fairly collected is not examined.",
    ]


def how_to_read(spec: Spec, max_drop: int, *, asked: bool = False) -> list[str]:
    """Return advice for people who will quote the numbers; ``asked`` if answers were asked for as well."""
    extremes = (
        "A maximum or minimum holds once a few records are left out. Single extreme cases are left out on purpose: "
        "they are what identifies people."
    )
    if asked:
        extremes = (
            "An answer that was drawn separately is an estimate: it lies at random near the exact one, and need not "
            "occur in the data. How many records it may be off by is said beside it."
        )
    spot = "bucket" if len(spec.columns) == 1 else "cell"
    return [
        f"Every count is a lower bound. The true one is the count shown or up to {thousands(max_drop)} more, never "
        "less. Write “at least”, or give the range.",
        f"What is listed is real: no {spot} or group appears that is empty. What is not listed may still exist, in a "
        f"{spot} of at most {record_count(spec, max_drop)}.",
        extremes,
        "Quote ranges as they are printed, not their middles.",
        *([ABOUT] if spec.ordered else []),
        "Do not divide by the number of records, or subtract another release of the same data, to find out about "
        "somebody: each release was protected by itself, and together they reveal more.",
    ]


def how_it_was_made(spec: Spec, max_drop: int, version: str) -> list[str]:
    """Return the method, without its integers."""
    spot = "bucket" if len(spec.columns) == 1 else "cell"
    who = "Records were" if spec.unit is None else f"Units{unit_id(spec)} were"
    return [
        f"{who} counted by {spot}. Every {spot} that held any then lost a random number of them, from 0 to "
        f"{thousands(max_drop)}, and the rest is published. An empty {spot} stays empty.",
        "The random number follows a table of integer weights, whose proof of privacy is in the appendix.",
        f"Made with flexdp {version}.",
    ]


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
    named = joined([short_name(name) for name in spec.labels])
    return f"A group ({named}) is certain to be listed if a {spot} of it holds at least {least}; others may be missing."


def group_note(words: Words, answers: Sequence[Answer]) -> str:
    """Return what holds of the answers of each group by itself."""
    known = [answer.accuracy for answer in answers if answer.accuracy is not None]
    widest = max(known, key=lambda accuracy: accuracy.moved, default=None)
    estimated = any(answer.text.startswith("about ") and answer.promise is None for answer in answers)
    about = f" {ABOUT}" if estimated else ""
    if widest is None:
        return f"Each group by itself.{about}"
    loss = words.loss(widest.but(alpha=None, beta=widest.beta))
    if estimated:
        loss = loss.replace("this is exact", "the highest and the lowest are exact")
    return f"Each group by itself: {loss[:1].lower()}{loss[1:]}{about}"
