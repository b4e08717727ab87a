"""Statistics by name: the words of ``--stat`` and of the planning page, parsed once.

==================  ===================================
word                statistic
==================  ===================================
max, min, range     :class:`Max`, :class:`Min`, :class:`Range`
median, iqr         :class:`Median`, :class:`IQR`
q0.99, p99          :class:`Quantile` at level 0.99
mode, support       :class:`Mode`, :class:`Support`
count, sum          :class:`Count`, :class:`Sum`
mean, std           :class:`Mean`, :class:`Std`
max_at_least:500    :class:`MaxAtLeast` with count 500
top:10              :class:`Top` with count 10
==================  ===================================
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence

from flexdp._core.exact import exact
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError, P, Phrase
from flexdp.statistics.base import Statistic
from flexdp.statistics.frequency import Count, MaxAtLeast, Mode, Support, Top
from flexdp.statistics.moments import Mean, Std, Sum
from flexdp.statistics.order import IQR, Max, Median, Min, Quantile, Range

__all__ = ["EXAMPLES", "parse_statistic"]

_PLAIN: dict[str, Statistic] = {
    "max": Max(),
    "min": Min(),
    "range": Range(),
    "median": Median(),
    "iqr": IQR(),
    "mode": Mode(),
    "support": Support(),
    "count": Count(),
    "sum": Sum(),
    "mean": Mean(),
    "std": Std(),
}
_COUNTED: dict[str, Callable[[str], Statistic]] = {"max_at_least": MaxAtLeast, "top": Top}
EXAMPLES = (*_PLAIN, "q0.99", "max_at_least:500", "top:10")  # one word of each form
_OTHER_NAMES = {"average": "mean", "avg": "mean", "stddev": "std", "sd": "std", "variance": "std", "var": "std",
                "maximum": "max", "minimum": "min", "n": "count",
                "units": "count", "records": "count", "rows": "count", "number": "count", "size": "count"}  # fmt: skip


def parse_statistic(
    word: object, *, parameter: str = "statistic", also: Sequence[str] = (), known: Sequence[str] = EXAMPLES
) -> Statistic:
    """Return the statistic that a word names.

    Parameters
    ----------
    word
        For example ``"max"``, ``"q0.99"`` or ``"top:10"``; see the table above.
    parameter
        The parameter that holds the word, to be named in error messages.
    also
        Words that the caller understands itself, to be listed among the known ones.
    known
        Words to choose from, where the caller does not take all of them.

    Returns
    -------
    Statistic
        The statistic.

    Raises
    ------
    InputError
        If the word names no statistic, or its number is out of range.

    Examples
    --------
    >>> parse_statistic("q0.99"), parse_statistic("max_at_least:500")
    (Quantile(level='0.99'), MaxAtLeast(count=500))
    >>> parse_statistic("medain")
    Traceback (most recent call last):
    flexdp.errors.InputError: statistic: invalid statistic 'medain'. Did you mean median?
    """
    given = plain_scalar(word)
    if not isinstance(given, str):
        raise InputError(parameter, "must be the name of a statistic, such as 'max' or 'q0.99'", given=safe_repr(word))
    name, _, number = given.partition(":")
    if given in _PLAIN:
        return _PLAIN[given]
    if name in _COUNTED and number:
        return _made(given, _COUNTED[name], number, parameter)
    if given[:1] == "q" and given[1:2] in "0123456789." and len(given) > 1:
        return _made(given, Quantile, given[1:], parameter)
    if given[:1] == "p" and given[1:2] in "0123456789." and len(given) > 1:
        return _made(given, _percentile, given[1:], parameter)
    raise InputError(
        parameter, f": invalid statistic {safe_repr(word)}", remedy=_hint(given, [*known, *also], parameter)
    )


def _percentile(number: str) -> Quantile:
    return Quantile(exact("Quantile", number) / 100)


def _made(word: str, statistic: Callable[[str], Statistic], number: str, parameter: str) -> Statistic:
    try:
        return statistic(number)
    except InputError as refusal:
        remedy = _sentence(str(refusal))
        if statistic in (Quantile, _percentile):
            remedy = "Write the 99th percentile as q0.99 or p99: levels are from q0 to q1, percentiles from p0 to p100."
        raise InputError(parameter, f": invalid statistic {safe_repr(word)}", remedy=remedy) from None


def _hint(word: str, known: Sequence[str], parameter: str) -> Phrase:
    if "," in word:
        if parameter == "statistic":
            return "Give one statistic at a time."
        words = [part.strip() for part in word.split(",")]
        plain = all(re.fullmatch("[a-z][a-z_0-9.:]{1,19}", part) for part in words)
        return "Write ", P(parameter, words if plain else ["max", "median"]), "."
    other = _OTHER_NAMES.get(word.lower())
    near = [other] if other in known else difflib.get_close_matches(word.lower(), known, n=1)
    return f"Did you mean {near[0]}?" if near else f"Choose from {', '.join(known)}."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
