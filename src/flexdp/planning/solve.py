"""Completion of a plan: three relations tie its parameters together; what they leave open must be given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from flexdp._core.display import card, facts, sentence
from flexdp._core.domains import DELTA, EPSILON, POSITIVE_ALPHA, POSITIVE_BETA, SPAN, integer
from flexdp._core.exact import Number, number_text, upper_text
from flexdp._core.text import plural
from flexdp.calculus.loss import alpha_before, most_lost
from flexdp.errors import InputError, P
from flexdp.guarantees import Accuracy, AddRemove, Privacy
from flexdp.noise.calibration import (
    most_buckets_per_unit,
    needed_reach,
    per_bucket,
    reach_given,
    smallest_delta,
    smallest_epsilon,
)
from flexdp.noise.table import LARGEST_REACH
from flexdp.planning.design import plain_number

__all__ = ["Solved", "solve"]

#   ε ── δ ── q            the noise of a bucket
#             │
#   span ── β ── T         buckets of width 2β cover the span      any one quantity of a relation
#             │                                                    follows from the others
#        α ── n            at most (q − 1)·T of n records are lost
_RELATIONS = (
    frozenset({"epsilon", "delta", "q"}),
    frozenset({"span", "beta", "buckets"}),
    frozenset({"alpha", "records_at_least", "buckets", "q"}),
)
_NEEDED = ("epsilon", "delta", "records_at_least", "buckets", "alpha", "q")  # in the order of asking
_OPTIONAL = ("beta", "span")  # for numbers only


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A complete set of parameters, all public, and the guarantees that follow from them.

    Parameters
    ----------
    epsilon, delta
        Privacy of one unit.
    buckets_per_unit
        Most buckets that one unit may change.
    q
        Reach of the noise in each bucket: a bucket loses fewer than q records.
    buckets
        T, the number of buckets.
    records_at_least
        n, the least number of records.
    alpha
        Largest share of at least n records that is left out.
    beta
        Half a bucket's width; None if values are not numbers.
    span
        Length of the public interval; None if values are not numbers.

    Examples
    --------
    >>> plan = solve(epsilon=1, delta="1e-6", buckets=24, records_at_least=50_000)
    >>> plan.q, plan.max_drop, float(plan.alpha), plan.width
    (28, 27, 0.01296, None)
    """

    epsilon: Fraction
    delta: Fraction
    buckets_per_unit: int
    q: int
    buckets: int
    records_at_least: int
    alpha: Fraction
    beta: Fraction | None
    span: Fraction | None

    @property
    def max_drop(self) -> int:
        """D = q − 1, the most records that a bucket loses."""
        return self.q - 1

    @property
    def width(self) -> Fraction | None:
        """2β, the width of a bucket."""
        return None if self.beta is None else 2 * self.beta

    @property
    def privacy(self) -> Privacy:
        """Privacy of one unit, or of one record if a unit has one bucket."""
        unit = "record" if self.buckets_per_unit == 1 else "unit"
        return Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=AddRemove(unit, self.buckets_per_unit))

    @property
    def bucket_privacy(self) -> Privacy:
        """Privacy that the noise of each bucket must provide: the parameters of ``DropNoise``."""
        return per_bucket(self.epsilon, self.delta, self.buckets_per_unit)

    @property
    def accuracy(self) -> Accuracy:
        """Accuracy for readers, of data with at least ``records_at_least`` records."""
        return Accuracy(alpha=self.alpha, beta=self.beta or 0, max_drop=self.max_drop)

    def __str__(self) -> str:
        unit = "" if self.buckets_per_unit == 1 else f" for a unit in at most {plural(self.buckets_per_unit, 'bucket')}"
        width = "" if self.width is None else f" of width {number_text(self.width)}"
        share = (
            "possibly all of them: nothing is promised about the share"
            if self.alpha == 1
            else f"at most {upper_text(100 * self.alpha)}% of the records "
            f"where there are at least {self.records_at_least}"
        )
        odds = self.privacy.odds
        within = "" if self.beta is None else f" Values move by at most {upper_text(self.beta, 6)}."
        return (
            f"With ε = {upper_text(self.epsilon, 6)} and δ = {upper_text(self.delta)}{unit}, each of "
            f"{plural(self.buckets, 'bucket')}{width} loses at most {plural(self.max_drop, 'record')}, "
            f"together at most {most_lost(self.max_drop, self.buckets)}, {share}.{within} {odds[0].upper()}{odds[1:]}, "
            f"except with probability {upper_text(self.delta)}."
        )

    def _repr_html_(self) -> str:
        pairs = [
            ("ε, δ", f"{upper_text(self.epsilon, 6)}, {upper_text(self.delta)}"),
            ("most lost per bucket", self.max_drop),
            ("buckets", self.buckets),
            ("share left out, at most", f"{upper_text(100 * self.alpha)}%"),
        ]
        return card("Plan", facts(pairs), sentence(self))


def solve(
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    q: Number | None = None,
    max_drop: Number | None = None,
    buckets: Number | None = None,
    records_at_least: Number | None = None,
    alpha: Number | None = None,
    beta: Number | None = None,
    span: Number | None = None,
    buckets_per_unit: Number | None = 1,
) -> Solved:
    """Complete a plan from any parameters that determine the others.

    Parameters that leave room for several plans are completed at their best: the smallest ε, δ, n, α and β, the largest
    q that α and n allow, the most buckets, the longest span.

    Parameters
    ----------
    epsilon, delta
        Privacy of one unit, at most.
    q, max_drop
        Reach of the noise, or the most records that a bucket loses, q − 1; at most.
    buckets
        T, the number of buckets.
    records_at_least
        n, the least number of records: public, never read from data.
    alpha
        Largest share of the records that may be left out, at most.
    beta
        Half a bucket's width, at most.
    span
        Length of the public interval that the buckets cover.
    buckets_per_unit
        Most buckets that one unit may change; None asks for the largest number that ε, δ and q allow.

    Returns
    -------
    Solved
        The complete plan. It states what is attained, which is at least as good as what was asked.

    Raises
    ------
    InputError
        If the parameters determine no plan, or exclude each other.

    Examples
    --------
    >>> print(solve(epsilon=1, delta="1e-6", span=120, beta="2.5", records_at_least=50_000))
    With ε = 1 and δ = 1e-06, each of 24 buckets of width 5 loses at most 27 records, together at most 648, at most \
1.296% of the records where there are at least 50000. Values move by at most 2.5. An observer who was 50% sure that a \
given record is in the data is at most 73.2% sure afterwards, except with probability 1e-06.
    >>> solve(epsilon=1, delta="1e-6", span=120, beta="2.5", alpha="0.01").records_at_least
    64800
    """
    reach = _reach(q, max_drop)
    if buckets_per_unit is not None:
        units = integer("buckets_per_unit", buckets_per_unit)
    elif epsilon is not None and delta is not None and reach is not None:
        units = most_buckets_per_unit(epsilon, delta, reach)
    else:
        raise InputError(
            "buckets_per_unit",
            ("is solved from ", P("epsilon"), ", ", P("delta"), " and ", P("q"), " or ", P("max_drop")),
            given="None",
            remedy="Give all three.",
        )
    asked: dict[str, Any] = {
        "epsilon": None if epsilon is None else EPSILON.check(epsilon),
        "delta": None if delta is None else DELTA.check(delta),
        "q": reach,
        "buckets": None if buckets is None else integer("buckets", buckets),
        "records_at_least": None if records_at_least is None else integer("records_at_least", records_at_least),
        "alpha": None if alpha is None else POSITIVE_ALPHA.check(alpha),
        "beta": None if beta is None else POSITIVE_BETA.check(beta),
        "span": None if span is None else SPAN.check(span),
    }
    known = {name: value for name, value in asked.items() if value is not None}
    _refuse_incomplete(frozenset(known))
    _settle_reach(known, units)
    while _step(known, units):
        _settle_reach(known, units)
    return _attained(known, units)


def _reach(q: Number | None, max_drop: Number | None) -> int | None:
    reach = None if q is None else reach_given(q)
    drop = None if max_drop is None else integer("max_drop", max_drop)
    if drop is None:
        return reach
    if reach is not None and reach != drop + 1:
        raise InputError("q", ("contradicts ", P("max_drop", drop), ", which is q − 1"), given=str(reach))
    return reach_given(drop + 1)


def _closure(known: frozenset[str]) -> frozenset[str]:
    while True:
        more = known.union(*(relation for relation in _RELATIONS if len(relation - known) == 1))
        if more == known:
            return known
        known = more


def _refuse_incomplete(known: frozenset[str]) -> None:
    """Refuse parameters that determine no plan, and name the fewest that are missing."""
    wanted = {*_NEEDED, *_OPTIONAL} if known & {*_OPTIONAL} else {*_NEEDED}
    if wanted <= _closure(known):
        return
    candidates = [name for name in (*_NEEDED, *_OPTIONAL) if name not in known]
    for size in range(1, len(candidates) + 1):
        choices = [more for more in combinations(candidates, size) if wanted <= _closure(known | set(more))]
        if choices and size == 1:
            raise _incomplete(_listed([name for (name,) in choices], " or "))
        if choices:
            raise _incomplete((f"{size} more, for example ", *_listed(choices[0], ", ")))


def _incomplete(missing: tuple[str | P, ...]) -> InputError:
    return InputError("parameters", "do not determine a plan", remedy=("Also give ", *missing, "."))


def _listed(names: Sequence[str], between: str) -> tuple[str | P, ...]:
    return tuple(part for name in names for part in (between, P(name)))[1:]


def _step(known: dict[str, Any], units: int) -> bool:
    """Derive one more quantity from a relation that lacks just one; return False if there is none."""
    derive: dict[tuple[int, str], Callable[[], Any]] = {
        (0, "q"): lambda: needed_reach(known["epsilon"], known["delta"], units),
        (0, "epsilon"): lambda: smallest_epsilon(known["q"], known["delta"], buckets_per_unit=units),
        (0, "delta"): lambda: smallest_delta(known["epsilon"], known["q"], buckets_per_unit=units),
        (1, "buckets"): lambda: math.ceil(known["span"] / (2 * known["beta"])),
        (1, "beta"): lambda: known["span"] / (2 * known["buckets"]),
        (1, "span"): lambda: 2 * known["beta"] * known["buckets"],
        (2, "alpha"): lambda: alpha_before(known["q"] - 1, known["buckets"], known["records_at_least"]),
        (2, "records_at_least"): lambda: math.ceil((known["q"] - 1) * known["buckets"] / known["alpha"]),
        (2, "buckets"): lambda: _affordable(known, "buckets", known["q"] - 1),
        (2, "q"): lambda: min(LARGEST_REACH, 1 + _affordable(known, "max_drop", known["buckets"])),
    }
    for index, relation in enumerate(_RELATIONS):
        lacking = relation - known.keys()
        if len(lacking) == 1:
            (name,) = lacking
            known[name] = derive[index, name]()
            return True
    return False


def _settle_reach(known: dict[str, Any], units: int) -> None:
    """Once ε and δ are known, set the reach to that of the noise; refuse if it exceeds the reach that was asked for."""
    if not _RELATIONS[0] <= known.keys():
        return
    reach = needed_reach(known["epsilon"], known["delta"], units)
    if reach > known["q"]:
        at = (P("delta", plain_number(known["delta"])), " and ", P("epsilon", plain_number(known["epsilon"])))
        raise InputError(
            "q",
            ("is too small for ", *at, f": it would have to be {reach}"),
            given=str(known["q"]),
            remedy="Raise one of the three.",
        )
    known["q"] = reach


def _affordable(known: dict[str, Any], name: str, each: int) -> int:
    """⌊αn / each⌋: buckets that can lose ``each`` records, or records that ``each`` buckets can lose."""
    found: int = math.floor(known["alpha"] * known["records_at_least"] / each)
    if found < 1:
        product = number_text(known["alpha"] * known["records_at_least"])
        raise InputError(
            "alpha",
            ("and ", P("records_at_least"), " leave no room for ", P(name), f": αn = {product}, and {each} are needed"),
            remedy="Raise either.",
        )
    return found


def _attained(known: dict[str, Any], units: int) -> Solved:
    """Return the plan that the parameters attain; refuse two of them that exclude each other."""
    reach, buckets, records, beta = known["q"], known["buckets"], known["records_at_least"], known.get("beta")
    if beta is not None:
        width_needs = math.ceil(known["span"] / (2 * beta))
        if width_needs > buckets:
            raise InputError(
                "beta",
                (
                    "and ",
                    P("buckets", buckets),
                    f" exclude each other: a span of {number_text(known['span'])} would need {width_needs} buckets",
                ),
                given=number_text(beta),
                remedy="Raise either.",
            )
        if width_needs < buckets:
            beta = known["span"] / (2 * buckets)
    alpha = alpha_before(reach - 1, buckets, records)
    if alpha > known["alpha"]:
        raise InputError(
            "alpha",
            (
                "and ",
                P("records_at_least", records),
                f" exclude each other: {buckets} buckets that lose up to {reach - 1} records each may lose a share of "
                f"{upper_text(alpha)}",
            ),
            given=number_text(known["alpha"]),
            remedy="Raise either.",
        )
    return Solved(
        epsilon=known["epsilon"],
        delta=known["delta"],
        buckets_per_unit=units,
        q=reach,
        buckets=buckets,
        records_at_least=records,
        alpha=alpha,
        beta=beta,
        span=known.get("span"),
    )
