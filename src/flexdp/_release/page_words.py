"""The words of a page, of one column or of several: what was published, how to read it, what is not promised, how.

A number that differs from column to column names its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flexdp._core.text import plural, thousands
from flexdp._release.answers import Answer
from flexdp._release.asking import BOTH_ENDS
from flexdp._release.published import Release
from flexdp._release.ranges import joined
from flexdp._release.sentences import Words, is_capped, of_unit, once_each, record_count, short_name, unit_id
from flexdp._release.spec import Spec

__all__ = [
    "CITATIONS",
    "Shown",
    "group_note",
    "how_it_was_made",
    "how_to_read",
    "not_promised",
    "once_of_each",
    "protected",
    "published",
]

ABOUT = (
    "“About” marks an estimate: the mean loss is added back to each count, and the count of a bucket is spread "
    "evenly over it, or with decreasing density in the outermost buckets. An estimate may lie outside the range of the "
    "data; any guarantee is stated beside it."
)
ESTIMATE = (
    "An answer that was drawn separately is an estimate: it lies at random near the exact one, need not occur in the "
    "data, and may lie beyond all values. Any error bound is stated beside it."
)
CITATIONS = (
    "A. Bansal, R. Chunduru, D. Data, M. Prabhakaran. Flexible Accuracy for Differential Privacy. AISTATS 2022, "
    "PMLR 151, pages 3847–3882.",
    "D. Desfontaines, J. Voss, B. Gipson, C. Mandayam. Differentially Private Partition Selection. Proceedings on "
    "Privacy Enhancing Technologies 2022 (1), pages 339–352.",
)
CHOSEN = (
    "were chosen first, with part of ε: the number of values was estimated with noise, private medians split the "
    "line again and again where the values are, and noisy counts of the parts determined edges at round numbers."
)
OPEN = " The first and the last bucket are open, so that no value is left out for being far away."
_ROW = "row of the given query"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a page shows of one release, as far as its words depend on it.

    Parameters
    ----------
    spec
        The public description of the release.
    max_drop
        The most that a bucket can have lost; None without buckets.
    asked
        The statistics that were answered directly, by their canonical words.
    automatic
        True if buckets were to be chosen privately, after an estimate of how many values there are.
    records_at_most
        The published bound on the number of contributions, where one was paid for.

    Examples
    --------
    >>> from flexdp.buckets.parse import make_buckets
    >>> age = Spec(columns=("age",), partitions=(make_buckets("number", width=5),))
    >>> print(published([Shown(spec=age, max_drop=27)]).partition(": ")[2])
    a random number of records, possibly none, was left out of every bucket, and nothing was added anywhere.
    """

    spec: Spec
    max_drop: int | None = None
    asked: tuple[str, ...] = ()
    automatic: bool = False
    records_at_most: int | None = None

    @classmethod
    def of(cls, release: Release) -> Shown:
        """Return what a page shows of a release."""
        return cls(
            spec=release.spec,
            max_drop=None if release.budget is None else release.max_drop,
            asked=() if release.asked is None else release.asked.wanted.words,
            automatic=release.auto is not None,
            records_at_most=release.records_at_most,
        )

    @property
    def name(self) -> str:
        """The column, within a sentence."""
        return joined([short_name(name or "values") for name in self.spec.columns])

    @property
    def drop(self) -> int:
        """The most that a bucket can have lost."""
        return self.max_drop or 0


def published(shown: Sequence[Shown]) -> str:
    """Return what was done to the data, as the first sentence of a page."""
    if all(each.max_drop is None for each in shown):
        return (
            "Published with differential privacy: each answer is drawn at random near the exact one; nothing else "
            "about the data is published."
        )
    lost = f"a random number of {_counted(shown[0].spec)}, possibly none, was left out of every bucket"
    told = f"Published with differential privacy: {lost}, and"
    drawn = [each for each in shown if each.asked]
    if not drawn:
        return f"{told} nothing was added anywhere."
    both = all(each.asked == BOTH_ENDS.words for each in drawn)
    if len(shown) == 1:
        which = "Minimum and maximum" if both else "The answers asked for"
    else:
        names = joined([each.name for each in drawn])
        which = f"Minimum and maximum of {names}" if both else f"Answers about {names}"
    return (
        f"{told} nothing was added to any. {which} were drawn separately, with noise: they are estimates, need not "
        "occur in the data, and may lie beyond all values."
    )


def protected(spec: Spec, *, bucketed: bool = True, several: bool = False) -> str:
    """Return what is protected, and how much of it counts; ``several`` if it counts so in each of several columns."""
    if spec.unit is None:
        unit = _ROW if spec.of_query else "record"
        return (
            f"What is protected is one {unit}: with or without it, this page would be published with nearly the same "
            "probability (how nearly, ε and δ say)."
        )
    what = f"Among the {_ROW.replace('row', 'rows')}, what" if spec.of_query else "What"
    if spec.per_unit is not None:
        return f"{what} is protected is one unit{unit_id(spec)}, of whose values only the {of_unit(spec)} counts."
    counts = "counted in" if bucketed else "which contributes"
    return f"{what} is protected is one unit{unit_id(spec)}, {counts} {_most(spec, bucketed, several)}."


def once_of_each(shown: Sequence[Shown]) -> str:
    """Return what counts in the tables of several columns, where a unit counts with some of its values alone."""
    spec = shown[0].spec
    if not is_capped(spec):
        return ""
    some = [
        (each.spec, drawn)
        for each in shown
        for drawn in (False, True)
        if (each.asked if drawn else each.max_drop is not None)
    ]
    found = dict.fromkeys(once_each(own, drawn=drawn) for own, drawn in some)
    return f"Counted in each column: {', or '.join(found)}; nothing is guaranteed about the columns themselves."


def not_promised(shown: Sequence[Shown]) -> list[str]:
    """Return what readers might wrongly take for granted."""
    bucketed = [each for each in shown if each.max_drop is not None]
    asked = any(each.asked for each in shown)
    spec = (bucketed or shown)[0].spec
    chance = "A bound that is stated with a probability holds with that probability, not always"
    chance += ". Of several such bounds, some may fail." if sum(len(each.asked) for each in shown) > 1 else "."
    found = [
        _whose(spec, bucketed=bool(bucketed), several=len(shown) > 1),
        "Further releases of the same data are not covered. Their ε and δ add to those of this one.",
    ]
    if bucketed:
        found.append(
            "Facts about the population are not hidden: if most values are small, that says something about every "
            "person in the data."
        )
    if asked:
        found.append(chance if bucketed else f"{chance} An answer need not occur in the data.")
    if bucketed:
        found.append(_total(shown))
    return [
        *found,
        "Running time is not protected: there is no defence against timing side channels.",
        "Whether the data were right, complete or fairly collected is not examined.",
    ]


def _whose(spec: Spec, *, bucketed: bool, several: bool) -> str:
    if spec.unit is None:
        unit, more = (_ROW, "rows") if spec.of_query else ("record", "records")
        return f"One {unit} is protected, not one person: the more {more} a person has, the weaker the protection."
    if spec.per_unit is not None:
        return f"Each unit{unit_id(spec)} counts once, so counts are not counts of records."
    counts = "counts in" if bucketed else "contributes"
    return (
        f"Each unit{unit_id(spec)} {counts} {_most(spec, bucketed, several)}; anything beyond that was not "
        "counted, so counts are not counts of records, and nothing is guaranteed about the column itself: its median, "
        "for example, may be any other value."
    )


def _total(shown: Sequence[Shown]) -> str:
    """What is not published of the number of records."""
    spec, bounded = shown[0].spec, [each for each in shown if each.records_at_most is not None]
    if bounded:
        number = "number of counted records"
        if spec.unit is not None:
            number = f"total number of contributions of all units{unit_id(spec)}"
        most = _apart(bounded, lambda each: thousands(each.records_at_most or 0), shown)
        return f"Only an upper bound on the {number} is published: {most}."
    if any(each.automatic or each.asked for each in shown):
        return f"The exact number of {_counted(spec)} is not published, only an estimate of it."
    return (
        "The number of records in the data is not published, and no percentage of it can be computed from here, except "
        "where a bound is stated above."
    )


def how_to_read(shown: Sequence[Shown]) -> list[str]:
    """Return advice for people who will quote the numbers; nothing where there are no counts."""
    bucketed = [each for each in shown if each.max_drop is not None]
    if not bucketed:
        return []
    spec = bucketed[0].spec
    spot, asked = _spot(spec), any(each.asked for each in shown)
    group = f" per {joined([short_name(name) for name in spec.by])}" if spec.by else ""
    more = _apart(bucketed, lambda each: f"{thousands(each.drop)}{group}", bucketed)
    hidden = _apart(bucketed, lambda each: record_count(each.spec, each.drop), bucketed)
    true, there = "true count", f"in a {spot} of at most {hidden}"
    if is_capped(spec):
        true, there = f"true count, {once_each(spec)},", f"in a {spot} in which at most {hidden} were counted"
    found = [
        f"Every number of {_counted(spec)} is an estimate, with the range in which the {true} certainly lies, at "
        f"most {more} wide. Quote both.",
        f"What is listed is real: no {spot} or group appears that is empty. What is not listed may still exist, "
        f"{there}.",
    ]
    ordered = [each for each in bucketed if each.spec.ordered]
    if any(not {"min", "max"} <= set(each.asked) for each in ordered):
        which = "A maximum or minimum that is read off buckets" if asked else "A maximum or minimum"
        whole = "what was counted" if is_capped(spec) else "the data"
        found.append(
            f"{which} is that of {whole} with a few {_counted(spec)} left out. Single extreme cases are left out on "
            "purpose: they are what identifies people."
        )
    if len(ordered) < len(bucketed):
        found.append("Rare values are left out on purpose: they are what identifies people.")
    return [
        *found,
        *([ESTIMATE] if asked else []),
        "Quote ranges as they are printed, not their middles.",
        *([f"Quote every answer with what it counts: “{once_each(spec)}”."] if is_capped(spec) else []),
        *([ABOUT] if ordered else []),
        "Do not divide by the number of records, or subtract another release of the same data, to find out about "
        "a person: each release was protected by itself, and together they reveal more.",
    ]


def how_it_was_made(shown: Sequence[Shown], version: str) -> list[str]:
    """Return the method, without its integers."""
    bucketed = [each for each in shown if each.max_drop is not None]
    automatic, asked = [each for each in bucketed if each.automatic], [each for each in shown if each.asked]
    where = "in the appendix" if len(shown) == 1 else "in the section of each column"
    found = []
    if automatic:
        found.append(f"Buckets{_of(automatic, shown)} {CHOSEN}{OPEN if any(map(_open, automatic)) else ''}")
    if asked:
        found += [
            "The number of values is first estimated with noise. Inner quantiles and deep tails are drawn by the "
            "exponential mechanism over decimal numbers; extremes are found by climbing a public ladder of numbers "
            "until few values seem to lie beyond.",
            f"Every choice follows tables of integers, whose proof of privacy is {where}.",
        ]
    if bucketed:
        spec = bucketed[0].spec
        spot, most = _spot(spec), _apart(bucketed, lambda each: thousands(each.drop), bucketed)
        who = "Records were" if spec.unit is None else f"Units{unit_id(spec)} were"
        found += [
            f"{who} counted by {spot}. A random number of them, from 0 to {most}, was then left out of every {spot} "
            f"that held any; the rest is published. An empty {spot} stays empty.",
            f"The random number follows a table of integer weights, whose proof of privacy is {where}.",
        ]
    return [*found, f"Made with flexdp {version}."]


def group_note(words: Words, answers: Sequence[Answer]) -> str:
    """Return what holds of the answers of each group by itself."""
    estimated = any(answer.text.startswith("about ") and answer.promise is None for answer in answers)
    about = f" {ABOUT}" if estimated else ""
    ends = [answer for answer in answers if answer.name in ("maximum", "minimum") and answer.promise is None]
    is_open = any(answer.accuracy is None and answer.value is not None for answer in ends)
    unbounded = " Where a range is open on one side, only its closed end is guaranteed." if is_open else ""
    if all(answer.accuracy is None for answer in answers) or not words.max_drop:
        return f"Each group by itself.{unbounded}{about}"
    beyond = ", and may lie beyond the highest and the lowest shown" if ends else ""
    lost, were = record_count(words.spec, words.max_drop), "was" if words.max_drop == 1 else "were"
    loss = words.so_counted(f"At most {lost} per {words.per} {were} left out{beyond}.")
    return f"Each group by itself: {loss[:1].lower()}{loss[1:]}{unbounded}{about}"


def _counted(spec: Spec) -> str:
    return "records" if spec.unit is None else f"units{unit_id(spec)}"


def _spot(spec: Spec) -> str:
    return "bucket" if len(spec.columns) == 1 else "cell"


def _open(shown: Shown) -> bool:
    """True if automatic buckets are open at both ends."""
    return getattr(shown.spec.partitions[0], "bounds", None) is None


def _most(spec: Spec, bucketed: bool, several: bool) -> str:
    """The most places that a unit counts in."""
    many = plural(spec.max_buckets_per_unit, _spot(spec) if bucketed else "distinct value", thousands)
    return f"at most {many}{' of each column' if several else ''}"


def _of(some: Sequence[Shown], shown: Sequence[Shown]) -> str:
    """Which columns are meant, where there are several: " of age and cost"."""
    return f" of {joined([each.name for each in some])}" if len(shown) > 1 else ""


def _apart(some: Sequence[Shown], text: Callable[[Shown], str], shown: Sequence[Shown]) -> str:
    """What all columns share, or what each has, with their names: "149 for age and cost, or 57 for ward"."""
    found: dict[str, list[str]] = {}
    for each in some:
        found.setdefault(text(each), []).append(each.name)
    if len(found) == 1 and len(some) == len(shown):
        return next(iter(found))
    return ", or ".join(f"{value} for {joined(names)}" for value, names in found.items())
