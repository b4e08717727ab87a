"""The statistics that ``ask=`` names, checked before anything is read, and the budget that each of them gets.

All quantiles are answered by one program out of one part of the budget, the mean and the sum by another, the count by
a third. A part's share is its number of units: one for the count, one for mean and sum together, and for the quantiles
as many as their tree is deep, and one for both ends, which run in parallel.

Groups that are not known are listed first, by their numbers of records, dropped with a quarter of ε and all of δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flexdp._core.domains import EPSILON, sequence
from flexdp._core.exact import exact, exact_text, number_text, said, smallest_where, to_double, upper_text
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.buckets.base import Kind
from flexdp.buckets.partition import Buckets
from flexdp.calculus.privacy import of_each_member, split
from flexdp.errors import InputError, P
from flexdp.guarantees import AddRemove, Privacy
from flexdp.noise.exponential import LARGEST_DECAY, Decay
from flexdp.sharp.answers import deepest_table
from flexdp.sharp.automatic import DroppedBars
from flexdp.sharp.halving import tree_depth
from flexdp.sharp.ranks import Span
from flexdp.sharp.rules import RULES
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale
from flexdp.statistics import IQR, Count, Max, Mean, Median, Min, Quantile, Range, Sum
from flexdp.statistics.parse import parse_statistic

__all__ = [
    "BOTH_ENDS",
    "AskedBudget",
    "Wanted",
    "asks",
    "asks_nothing",
    "ends_of",
    "level_of",
    "scale_of",
    "share_of_ends",
    "wanted",
    "word_of",
]

_WORDS: dict[type, str] = {Max: "max", Min: "min", Median: "median", Range: "range", IQR: "iqr", Count: "count",
                           Sum: "sum", Mean: "mean"}  # fmt: skip
_LEVELS: dict[str, tuple[Fraction, ...]] = {
    "min": (Fraction(0),),
    "median": (Fraction(1, 2),),
    "max": (Fraction(1),),
    "range": (Fraction(0), Fraction(1)),
    "iqr": (Fraction(1, 4), Fraction(3, 4)),
}
_STATISTICS = (*_WORDS, Quantile)
_OF_BOOLEANS = ("mean", "sum", "count")  # of 1 for true and 0 for false
_MOST = 50  # levels in one release
_LISTING = (Fraction(1, 4), Fraction(3, 4))  # shares of ε: of the list of groups, and of the answers
_EXAMPLE = ("For example, ", P("ask", ["max", "q0.99", "median"]), ".")


def wanted(ask: object, kinds: tuple[Kind, ...]) -> Wanted:
    """Return what ``ask=`` names, each statistic once.

    Parameters
    ----------
    ask
        A statistic or its name, or a list of them.
    kinds
        The kinds of the released columns.

    Returns
    -------
    Wanted
        The statistics in the order in which they were named.

    Raises
    ------
    InputError
        If a name or a level is wrong, or the columns have no such statistic.

    Examples
    --------
    >>> wanted(["max", "p99", "q0.990", "iqr"], ("number",)).words
    ('max', 'q0.99', 'iqr')
    """
    listed = [ask] if isinstance(ask, (str, *_STATISTICS)) else sequence(ask)
    if not listed:
        raise InputError("ask", "must be a list of statistics", given=safe_repr(ask), remedy=_EXAMPLE)
    words = tuple(dict.fromkeys(_word(each) for each in listed))
    if len(kinds) != 1:
        raise InputError("ask", "needs a single released column", remedy="Release each column by itself.")
    if kinds[0] == "text":
        raise InputError(
            "ask",
            "needs a column of numbers, dates or booleans, but this one is of kind text",
            remedy=("Leave it out, or use ", P("kind", "number"), " where texts hold numbers."),
        )
    for word in words:
        if kinds[0] == "boolean" and word not in _OF_BOOLEANS:
            raise InputError(
                "ask",
                f": {word} needs a column of numbers or dates, and this one is of kind boolean",
                remedy=("Ask for the share of true with ", P("ask", ["mean"]), ", for their number with ",
                        P("ask", ["sum"]), ", or for the count."),
            )  # fmt: skip
        if word in ("sum", "mean") and kinds[0] in ("date", "datetime"):
            raise InputError("ask", f": the {word} needs a column of numbers, and this one is of kind {kinds[0]}")
    found = Wanted(words)
    if len(found.levels) > _MOST:
        raise InputError("ask", f"must name at most {_MOST} quantiles", given=str(len(found.levels)))
    return found


def _word(given: object) -> str:
    if isinstance(given, _STATISTICS):
        return str(word_of(given))
    name = plain_scalar(given)
    if isinstance(name, str):
        if name in _WORDS.values():
            return name
        percent = name.removeprefix("p")
        if name != percent and percent[:1] in "0123456789." and percent:
            return _percentile(name, percent)
    statistic = parse_statistic(given, parameter="ask", known=_KNOWN)
    word = word_of(statistic)
    if word is None:
        rule = f": {name} cannot be asked for directly"
        remedy = f"Release buckets, from which it can be read; or choose from {', '.join(_KNOWN)}."
        raise InputError("ask", rule, remedy=remedy)
    return word


_KNOWN = ("max", "min", "median", "q0.99", "range", "iqr", "count", "sum", "mean")


def _percentile(name: str, percent: str) -> str:
    """A percentile such as "p99" or "p99.9"."""
    try:
        return str(word_of(Quantile(exact("ask", percent) / 100)))
    except InputError:
        raise InputError(
            "ask", f": invalid statistic {safe_repr(name)}", remedy="A percentile is from p0 to p100."
        ) from None


def word_of(statistic: object) -> str | None:
    """Return the word of a statistic that can be asked for, None of any other."""
    if isinstance(statistic, Quantile):
        level = statistic.level
        return {0: "min", 1: "max", Fraction(1, 2): "median"}.get(level, f"q{exact_text(level)}")
    return _WORDS.get(type(statistic))


def level_of(word: str) -> Fraction | None:
    """Return the level of a word that names a single quantile; None for other statistics."""
    if word in _LEVELS:
        return _LEVELS[word][0] if len(_LEVELS[word]) == 1 else None
    return Fraction(word[1:]) if word[:1] == "q" else None


@dataclass(frozen=True)
class Wanted:
    """The statistics that were asked for, by their canonical words.

    Parameters
    ----------
    words
        Such as "max", "q0.99", "iqr" or "mean"; each once.

    Examples
    --------
    >>> Wanted(("range", "median", "count")).levels
    (Fraction(0, 1), Fraction(1, 2), Fraction(1, 1))
    """

    words: tuple[str, ...]

    @cached_property
    def levels(self) -> tuple[Fraction, ...]:
        """The levels that answer them, ascending."""
        found = {level for word in self.words for level in _LEVELS.get(word, ())}
        found |= {level for word in self.words if (level := level_of(word)) is not None}
        return tuple(sorted(found))

    @property
    def counts(self) -> bool:
        """True if the number of records itself was asked for."""
        return "count" in self.words

    @property
    def sums(self) -> bool:
        """True if the mean or the sum was asked for."""
        return "mean" in self.words or "sum" in self.words

    @property
    def units(self) -> dict[str, int]:
        """Units of the budget by part, in the order in which they run."""
        inner = sum(0 < level < 1 for level in self.levels)
        quantiles = tree_depth(inner) + int(inner < len(self.levels))
        each = {"count": int(self.counts), "levels": quantiles, "mean": int(self.sums)}
        return {part: units for part, units in each.items() if units}


@dataclass(frozen=True)
class AskedBudget:
    """The budget of all asked answers for one unit, and how it is divided.

    Parameters
    ----------
    epsilon
        ε of one unit.
    most
        Most records that one unit counts with.
    delta
        δ of one unit, which the list of groups needs where they are not known; otherwise 0.

    Examples
    --------
    >>> from flexdp._release.asking import Wanted
    >>> AskedBudget(Fraction(1), 2).parts(Wanted(("max", "mean")))
    {'levels': Fraction(1, 4), 'mean': Fraction(1, 4)}
    >>> unknown = AskedBudget(Fraction(1), delta=Fraction(1, 10**6))
    >>> unknown.listing.epsilon, unknown.listing.noise.max_drop, unknown.parts(Wanted(("max",)))
    (Fraction(1, 4), 94, {'levels': Fraction(3, 4)})
    """

    epsilon: Fraction
    most: int = 1
    delta: Fraction = Fraction(0)

    def privacy(self, unit: str = "record") -> Privacy:
        """Return what is promised to each unit: pure differential privacy, unless groups had to be listed."""
        return Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=AddRemove(unit, self.most))

    @property
    def of_each(self) -> Fraction:
        """ε of one record of a unit."""
        return of_each_member(Privacy(epsilon=self.epsilon, delta=0), self.most).epsilon

    @cached_property
    def listing(self) -> DroppedBars | None:
        """The step that lists the groups, for one record; None where they are known.

        A unit changes the numbers of records of all groups by k in total: k steps of one, by
        :func:`flexdp.calculus.of_each_member`.
        """
        if not self.delta:
            return None
        share = Privacy(epsilon=self.epsilon * _LISTING[0], delta=self.delta)
        each = of_each_member(share, self.most)
        return DroppedBars(epsilon=each.epsilon, delta=each.delta)

    def parts(self, asked: Wanted) -> dict[str, Fraction]:
        """Return ε of each part, for one record."""
        units = asked.units
        whole = self.of_each * (_LISTING[1] if self.delta else 1)
        shares = split(Privacy(epsilon=whole, delta=0), list(units.values()))
        return {part: share.epsilon for part, share in zip(units, shares, strict=True)}

    def fits(self, asked: Wanted, *, bounded: bool) -> bool:
        """Return True if no answer needs a table that is too large."""
        parts, deepest = self.parts(asked), 0
        if "levels" in parts:
            deepest = deepest_table(asked.levels, parts["levels"])
        if "mean" in parts and not bounded:
            deepest = max(deepest, Decay.depth_for(parts["mean"] * RULES.anchor_least, 1))
        return deepest <= LARGEST_DECAY

    def check(self, asked: Wanted, *, bounded: bool, given: Fraction | None = None) -> None:
        """Refuse a budget whose tables would be too large, before anything is read; it may be a part of ``given``."""
        if self.listing is not None:
            _ = self.listing.noise  # refused where no noise can meet its share
        if not self.fits(asked, bounded=bounded):
            whole = self.epsilon if given is None else given
            least = self._least(asked, bounded=bounded) * whole / self.epsilon
            raise InputError(
                "epsilon",
                f"is too small for these answers, which need at least {upper_text(least, 2)}",
                given=number_text(whole),
                remedy=("Choose a larger ", P("epsilon"), ", or ask for fewer answers."),
            )

    def _least(self, asked: Wanted, *, bounded: bool) -> Fraction:
        """The least ε of one unit for which no answer needs a table that is too large, as a double is written."""

        def holds(size: float) -> bool:
            return AskedBudget(said(size), self.most, self.delta).fits(asked, bounded=bounded)

        return said(smallest_where(holds, to_double(self.epsilon), to_double(EPSILON.high or self.epsilon)))


BOTH_ENDS = Wanted(("min", "max"))  # asked beside automatic buckets, which are open at both ends
_ENDS = Fraction(1, 3)  # their share of ε


def share_of_ends(epsilon: Fraction, *, most: int = 1) -> Fraction:
    """Return the share of ε for both ends beside automatic buckets; none where ε is too small for exact tables.

    Parameters
    ----------
    epsilon
        ε of one unit, of everything.
    most
        Most records that one unit counts with.

    Returns
    -------
    Fraction
        A public number: nothing is read.

    Examples
    --------
    >>> share_of_ends(Fraction(1)), share_of_ends(Fraction(1, 100))
    (Fraction(1, 3), Fraction(0, 1))
    """
    return _ENDS if AskedBudget(epsilon * _ENDS, most).fits(BOTH_ENDS, bounded=False) else Fraction(0)


def asks(ask: object) -> bool:
    """Return True if ``ask=`` names statistics; an empty list, or "none", says that no answer is wanted.

    Examples
    --------
    >>> [asks(each) for each in (None, [], "none", ["none"], "max", ["max", "none"])]
    [False, False, False, False, True, True]
    """
    return ask is not None and not asks_nothing(ask)


def asks_nothing(ask: object) -> bool:
    """Return True if ``ask=`` says that no answer is wanted beside the buckets."""
    listed = [ask] if isinstance(ask, str) else sequence(ask)
    if listed is None or len(listed) > 1:
        return False
    return not listed or (isinstance(listed[0], str) and plain_scalar(listed[0]) == "none")


def scale_of(kind: Kind) -> Scale:
    """Return the scale on which a kind's values are counted."""
    return NUMBERS if kind == "number" else INTEGERS


def ends_of(buckets: Buckets) -> Span:
    """Return the public bounds of a column in units, as its values are clamped to them; booleans are 0 or 1."""
    if buckets.kind == "boolean":
        return Span(0, 2)
    bounds = getattr(buckets, "bounds", None)
    scale = scale_of(buckets.kind)
    if bounds is None:
        return Span()
    low, high = (scale.units(float(end)) if scale is NUMBERS else scale.units(int(end)) for end in bounds)
    if low >= high:
        raise InputError("bounds", ("must differ within ±10^39 with ", P("ask")))
    return Span(low, high + 1)
