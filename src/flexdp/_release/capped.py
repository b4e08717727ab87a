"""How many units a cap touched: two private counts beside every release whose units count with some of their values.

Buckets and asked answers are two populations, each with a report of its own; both share a twenty-fifth of ε.

A unit is either touched, if it has more ranges (of asked answers: more different values) than it may count with, or it
is not. One unit more, with all its records, changes one of the two numbers by one and leaves the other as it is, so
both together cost the ε of one. Nothing is said of records: one unit may have any number of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flexdp._core.documents import UnfitError
from flexdp._core.exact import number_text, upper_text
from flexdp._core.text import plural, thousands
from flexdp._release.answers import Answer
from flexdp._release.claims import Claim, Population, Quantity, Touched
from flexdp._release.ranges import joined
from flexdp._release.sentences import is_capped, short_name, unit_id
from flexdp._release.spec import Spec
from flexdp.buckets.exact import Exact
from flexdp.guarantees import AddRemove, Privacy, percent_text
from flexdp.noise.bits import Bits
from flexdp.sharp.count import TwoSums
from flexdp.sharp.promise import count_error
from flexdp.statistics import Count

if TYPE_CHECKING:
    from flexdp.histogram import KeyedHistogram

__all__ = [
    "SHARE",
    "CapReport",
    "after_cap",
    "cap_answer",
    "cap_epsilon",
    "cap_in",
    "cap_proof",
    "drawn_cap",
    "holds_all",
    "read_cap",
    "reports_of",
    "write_cap",
]

SHARE = Fraction(1, 25)  # of ε
_GAMMA = Fraction(1, 20)  # the chance that one of the two bounds fails
_LARGEST_COUNT = 2**63
_OF = ("ranges", "values")
_NUMBERS = ("touched", "others")


@dataclass(frozen=True, kw_only=True)
class CapReport:
    """The noisy numbers of units on either side of a cap.

    Parameters
    ----------
    drawn
        True of asked answers, where units count with some of their values; False of buckets.
    epsilon
        ε of both together, for one unit.
    touched
        About how many units have more ranges, or values, than they count with.
    others
        About how many units count with all of them.

    Examples
    --------
    >>> report = CapReport(drawn=False, epsilon=Fraction(1, 25), touched=1003, others=30_009)
    >>> report.units, report.off
    (31012, (92, 184))
    """

    drawn: bool
    epsilon: Fraction
    touched: int
    others: int

    @property
    def mechanism(self) -> TwoSums:
        """The mechanism that drew them: each unit adds one to one of two sums."""
        return TwoSums(epsilon=self.epsilon, cells=1)

    @property
    def most_touched(self) -> int:
        """About how many units the cap touched, never below 0."""
        return max(0, self.touched)

    @property
    def units(self) -> int:
        """About how many units count at all."""
        return max(0, self.touched + self.others, self.most_touched)

    @property
    def off(self) -> tuple[int, int]:
        """How far the two printed numbers are off at most, together with probability 95 %."""
        each = count_error(self.epsilon, _GAMMA / 2)
        return each, 2 * each

    def privacy(self, spec: Spec) -> Privacy:
        """Return what is promised to each unit."""
        return Privacy(
            epsilon=self.epsilon, delta=0, neighbours=AddRemove(spec.unit or "record", spec.max_buckets_per_unit)
        )


def cap_epsilon(epsilon: Fraction, *, reported: bool) -> Fraction:
    """Return the part of ε for a report on the cap, where there is one."""
    return epsilon * SHARE if reported else Fraction(0)


def after_cap(epsilon: Fraction, *, reported: bool) -> Fraction:
    """Return ε of everything else."""
    return epsilon - cap_epsilon(epsilon, reported=reported)


def holds_all(spec: Spec) -> bool:
    """Return True if the cap can touch no unit: it counts with both values of a boolean."""
    return spec.kinds == ("boolean",) and not spec.by and spec.max_buckets_per_unit > 1


def reports_of(spec: Spec, *, bucketed: bool, asked: bool) -> tuple[bool, ...]:
    """Return which reports a release has: False of its buckets, True of asked answers, where these count others.

    Parameters
    ----------
    spec
        The public description of the release.
    bucketed, asked
        True if it has buckets, and if it has answers that were asked for.

    Returns
    -------
    tuple of bool
        In the order in which they are drawn.
    """
    if not bucketed:
        return (True,)
    same = len(spec.partitions) == 1 and isinstance(spec.partitions[0], Exact)  # values are the buckets themselves
    return (False, True) if asked and not same else (False,)


def drawn_cap(private: KeyedHistogram, epsilon: Fraction, *, drawn: bool) -> CapReport:
    """Draw both numbers: the one step from private to public.

    Parameters
    ----------
    private
        The private number of units by key: 1 of those that the cap touched, 0 of all others.
    epsilon
        ε of both together, for one unit.
    drawn
        As for :class:`CapReport`.

    Returns
    -------
    CapReport
        What may be published.
    """
    found = dict(zip(private.parts[0].tolist(), private.counts.tolist(), strict=True))
    touched, others = TwoSums(epsilon=epsilon, cells=1).draw((found.get(1, 0), found.get(0, 0)), Bits())
    return CapReport(drawn=drawn, epsilon=epsilon, touched=touched, others=others)


def cap_answer(spec: Spec, report: CapReport, whole: Fraction) -> Answer:
    """Return how many units the cap touched, in words and as claims.

    Parameters
    ----------
    spec
        The public description of the release.
    report
        The two numbers.
    whole
        ε of the whole release.

    Returns
    -------
    Answer
        The number of units that it touched; its statement gives that of all units, too.
    """
    drawn = report.drawn
    touched, units, (one, both) = report.most_touched, report.units, report.off
    unit = f"{plural(units, 'unit', thousands)}{unit_id(spec)}"
    text = f"about {thousands(touched)} of {unit}"
    share = percent_text(float(report.epsilon / whole))
    statement = (
        f"{text[:1].upper()}{text[1:]} {_more(spec, drawn=drawn)}. With {percent_text(float(1 - _GAMMA))} probability "
        f"the first number is off by at most {thousands(one)} and the second by at most {thousands(both)}; publishing "
        f"both took {share} of ε."
    )
    limited, everybody = Population(counted="values" if drawn else "ranges"), Population(counted="units")
    quantities: tuple[tuple[Quantity, Population, int, int], ...] = (
        (Touched(), limited, touched, one),
        (Count(), everybody, units, both),
    )
    claims = []
    for quantity, population, about, off in quantities:
        claims += [
            Claim(quantity=quantity, population=population, relation="is about", lower=about, upper=about),
            Claim(
                quantity=quantity,
                population=population,
                lower=max(0, about - off),
                upper=about + off,
                confidence=1 - _GAMMA,
            ),
        ]
    return Answer(
        name="units beyond the cap", value=touched, accuracy=None, statement=statement, text=text, claims=tuple(claims)
    )


def _more(spec: Spec, *, drawn: bool) -> str:
    """What the cap does to a unit: "have cost in more than 3 ranges, and count in 3 of them"."""
    names = joined([short_name(name or "values") for name in spec.columns])
    most = spec.max_buckets_per_unit
    number = "one" if most == 1 else thousands(most)
    several = len(spec.columns) > 1
    together = " across all groups" if spec.by else ""
    if drawn or (not several and isinstance(spec.partitions[0], Exact)):
        values = "value" if most == 1 else "different values"
        return f"have more than {number} {values} of {names}{together}, and count with {number} of them"
    spot = plural(most, "cell" if several else "range").partition(" ")[2]
    return f"have {names} in more than {number} {spot}{together}, and count in {number} of them"


def cap_proof(report: CapReport) -> str:
    """Return the account of the two numbers."""
    what = "values" if report.drawn else "ranges"
    return (
        f"Units affected by the cap on their {what}, and all other units: two numbers with two-sided geometric noise, "
        f"ε = {upper_text(report.epsilon, 6)} each. A unit is counted in one of them, so both together spend "
        f"ε = {number_text(report.epsilon)}."
    )


def write_cap(document: dict[str, Any], reports: tuple[CapReport, ...], privacy: Privacy) -> dict[str, Any]:
    """Return a document with the reports on the cap added, and the privacy of all parts together."""
    if not reports:
        return document
    told = {**document["privacy"], "epsilon": str(privacy.epsilon), "delta": str(privacy.delta)}
    parts = [
        {
            "of": _OF[report.drawn],
            "epsilon": str(report.epsilon),
            "touched": report.touched,
            "others": report.others,
            "off": list(report.off),
        }
        for report in reports
    ]
    return {**document, "privacy": told, "cap": parts}


def read_cap(document: dict[str, Any]) -> tuple[dict[str, Any], tuple[CapReport, ...]]:
    """Return the document without its reports on the cap, with the budget of the rest, and the reports.

    Raises
    ------
    ValueError, KeyError, TypeError
        If no release has such a report.
    """
    if not isinstance(document, dict) or "cap" not in document:
        return document, ()
    parts, privacy = document["cap"], document["privacy"]
    if not isinstance(parts, list) or not parts:
        raise UnfitError("no numbers of units", "cap")
    whole = Fraction(_text(privacy["epsilon"]))
    if whole <= 0 or any(Fraction(_text(part["epsilon"])) != whole * SHARE / len(parts) for part in parts):
        raise UnfitError("another share of ε for the cap than releases have", "cap")
    if any(type(part[each]) is not int or abs(part[each]) >= _LARGEST_COUNT for part in parts for each in _NUMBERS):
        raise UnfitError("no numbers of units", "cap")
    reports = tuple(
        CapReport(
            drawn=_OF.index(part["of"]) == 1,
            epsilon=whole * SHARE / len(parts),
            touched=part["touched"],
            others=part["others"],
        )
        for part in parts
    )
    rest = {name: each for name, each in document.items() if name != "cap"}
    return {**rest, "privacy": {**privacy, "epsilon": str(whole * (1 - SHARE))}}, reports


def cap_in(reports: tuple[CapReport, ...], spec: Spec, *, bucketed: bool, asked: bool) -> tuple[CapReport, ...]:
    """Return the reports that were read, after refusing those that no such release has."""
    if not reports:
        return ()
    found = tuple(report.drawn for report in reports)
    if not is_capped(spec) or found != reports_of(spec, bucketed=bucketed, asked=asked):
        raise UnfitError("a cap where none is", "cap")
    return reports


def _text(number: Any) -> str:
    if not isinstance(number, str) or len(number) > 100 or "e" in number.lower():
        raise UnfitError("no exact number", "cap")
    return number
