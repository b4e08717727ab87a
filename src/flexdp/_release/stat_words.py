"""Statistics of a release by name, as ``--stat`` and a page ask for them: the word, and the query that answers it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from flexdp._core.documents import UnfitError
from flexdp._core.domains import sequence
from flexdp._core.text import plain_scalar, safe_repr
from flexdp._release.about import DECLARED, NOTHING, About, declared_about
from flexdp._release.answerable import check_kind, check_units
from flexdp._release.answers import Answer
from flexdp._release.asking import word_of
from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.statistics import MaxAtLeast, Quantile, Top
from flexdp.statistics.parse import parse_statistic

if TYPE_CHECKING:
    from flexdp._release.readable import Readable
    from flexdp._release.spec import Spec

__all__ = ["MOST_SHOWN", "about_in", "canonical", "each_once", "stat_question", "stat_words"]

MOST_SHOWN = 50  # statistics that a page shows beside the usual ones


def canonical(word: object) -> str:
    """Return one spelling of a statistic: words that name the same one are compared by it.

    Parameters
    ----------
    word
        A word of ``--stat``.

    Returns
    -------
    str
        The word by which it can be asked for, where it can; else the word itself.

    Examples
    --------
    >>> canonical("p99"), canonical("q0.990"), canonical("q0.5"), canonical("top:10"), canonical("counts")
    ('q0.99', 'q0.99', 'median', 'top:10', 'counts')
    """
    try:
        return word_of(parse_statistic(word)) or str(word)
    except InputError:
        return str(word)


def each_once(words: Iterable[str], among: Iterable[str] = ()) -> list[str]:
    """Return the words whose statistics are not named before, nor ``among`` others.

    Parameters
    ----------
    words
        Words of ``--stat``.
    among
        Words of statistics that are there already.

    Returns
    -------
    list of str
        As they were spelled, in their order.

    Examples
    --------
    >>> each_once(["p99", "max", "q0.99"]), each_once(["p50", "max"], among=["median"])
    (['p99', 'max'], ['max'])
    """
    seen, found = set(map(canonical, among)), []
    for word in words:
        if (name := canonical(word)) not in seen:
            seen.add(name)
            found.append(word)
    return found


def stat_question(
    word: object, kinds: set[Kind], *, points: bool, spec: Spec | None = None, parameter: str = "stat"
) -> Callable[[Readable], Answer]:
    """Return the query that answers a statistic, after refusing one that columns of these kinds do not have.

    With the public description of a release, one that its privacy units do not allow is refused, too.
    """
    if word == "counts":
        return lambda readable: readable.counts()
    statistic = parse_statistic(word, parameter=parameter, also=("counts",))
    if points and statistic.ordered:
        raise InputError(
            parameter, f"{word} needs a single column", remedy="For points, ask for mode, support, top or counts."
        )
    check_kind(statistic, kinds, parameter)
    if spec is not None:
        check_units(statistic, spec.unit, spec.max_buckets_per_unit, parameter)
    if isinstance(statistic, MaxAtLeast):
        return partial(_with_count, "max_at_least", statistic.count)
    if isinstance(statistic, Top):
        return partial(_with_count, "top", statistic.count)
    if isinstance(statistic, Quantile):
        level = statistic.level
        return lambda readable: readable.quantile(level)
    return partial(_plain, str(word))


def _with_count(name: str, count: int, readable: Readable) -> Answer:
    answer: Answer = getattr(readable, name)(count)
    return answer


def _plain(name: str, readable: Readable) -> Answer:
    answer: Answer = getattr(readable, name)()
    return answer


def about_in(part: Any, kinds: Sequence[Kind]) -> About:
    """Return the metadata of a document, after refusing what no release declares."""
    if part is None:
        return NOTHING
    if not isinstance(part, dict) or not part or not set(part) <= {*DECLARED, "drawn", "stats"}:
        raise UnfitError("no metadata that flexdp knows")
    if "drawn" in part and not _is_day(part["drawn"]):
        raise UnfitError("no day on which it was drawn")
    stats: tuple[str, ...] = ()
    if "stats" in part:
        if not isinstance(part["stats"], list) or not part["stats"]:
            raise UnfitError("no list of statistics")
        stats = stat_words(part["stats"], kinds)
    return replace(declared_about(part), drawn=part.get("drawn"), stats=stats)


def _is_day(text: object) -> bool:
    try:
        return isinstance(text, str) and dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def stat_words(stats: object, kinds: Sequence[Kind], spec: Spec | None = None) -> tuple[str, ...]:
    """Return the words of statistics that a page is to show, each once, after refusing what the columns do not have."""
    given = plain_scalar(stats)
    listed = [given] if isinstance(given, str) else sequence(stats)
    if listed is None or len(listed) > MOST_SHOWN:
        raise InputError("stats", f"must be a list of at most {MOST_SHOWN} names of statistics", given=safe_repr(stats))
    words = [plain_scalar(each) for each in listed]
    for word in words:
        stat_question(word, set(kinds), points=len(kinds) > 1, spec=spec, parameter="stats")
    return tuple(each_once(str(word) for word in words))
