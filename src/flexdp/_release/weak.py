"""Budgets that protect little: said before anything is spent, by the library and by the command line alike."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import TYPE_CHECKING

from flexdp._core.domains import LARGE_EPSILON
from flexdp._core.exact import number_text
from flexdp.errors import P, Phrase, PrivacyWarning, spelled

if TYPE_CHECKING:
    from flexdp._release.run import Request

__all__ = ["little_privacy", "warn_of_little_privacy"]

_LARGE_DELTA = Fraction(1, 100)  # warn from here


def little_privacy(request: Request) -> list[Phrase]:
    """Say what of a request's budget protects little. It is carried out all the same."""
    spent = [each.privacy() for each in (*request.budgets, request.asked) if each is not None]
    epsilon = sum(each.epsilon for each in spent) + sum(request.caps)
    delta = sum(each.delta for each in spent)
    found: list[Phrase] = []
    if epsilon > LARGE_EPSILON:
        given = P("epsilon", _Written(number_text(epsilon)))
        found.append((given, f" is above {LARGE_EPSILON} and gives little privacy protection."))
    if delta >= _LARGE_DELTA:
        often = f" allows the guarantee to fail in one of {int(1 / delta)} cases; "
        given = P("delta", _Written(number_text(delta)))
        found.append((given, often, "it should be far smaller than 1 divided by the number of records."))
    return found


def warn_of_little_privacy(request: Request) -> None:
    """Warn of it, before anything is spent: a warning may be made an error. It points to the caller of the library."""
    told = [spelled(phrase) for phrase in little_privacy(request)]
    if told:
        warnings.warn(" ".join(told), PrivacyWarning, stacklevel=3)


class _Written(str):
    """A number as it is written, in Python too."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
