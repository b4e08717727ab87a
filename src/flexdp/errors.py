"""The exceptions of flexdp, and what has been spent when each is raised.

::

    FlexdpError
    ├── InputError        a parameter is invalid or does not fit the declared schema; nothing was read or spent
    │   └── UnavailableError  a source is valid but out of reach for now: try again; nothing was read or spent
    ├── BudgetError       a ledger's budget does not cover a release; nothing was read or spent
    ├── LedgerError       a ledger could not be read or written, or it was damaged; nothing was read
    ├── DataError         reading failed after records had been touched; always the same message
    └── CertificateError  a noise table failed its proof; nothing may be released with it

Messages contain parameters, never records: no cell, no row count, no text of an engine. An :class:`InputError` is built
from parts, so that the command line and the planning page can name options and fields without parsing English.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

__all__ = [
    "BoundsWarning",
    "BudgetError",
    "CertificateError",
    "DataError",
    "FlexdpError",
    "InputError",
    "LedgerError",
    "P",
    "Phrase",
    "PrivacyWarning",
    "ReadingWarning",
    "UnavailableError",
    "spelled",
]


class FlexdpError(Exception):
    """Base class of all errors raised by flexdp."""


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()  # unlike None, which may itself be the wrong value


@dataclass(frozen=True, slots=True)
class P:
    """A parameter mentioned in a message, with or without a value: ``width``, ``kind='date'``.

    The command line shows it as ``--width`` and ``--kind date``.

    Parameters
    ----------
    name
        The parameter's name in Python.
    value
        A suggested value; omitted if only the parameter is meant.

    Examples
    --------
    >>> print(P("width"), P("kind", "date"))
    width kind='date'
    """

    name: str
    value: Any = ABSENT

    def __str__(self) -> str:
        return self.name if self.value is ABSENT else f"{self.name}={self.value!r}"


Phrase: TypeAlias = "str | P | tuple[str | P, ...]"  # a part of a message; parameters in it are marked by P


class InputError(FlexdpError, ValueError):
    """A parameter is invalid or does not fit the declared schema. Nothing was read, nothing was spent.

    The message is "``parameter`` ``rule``; got ``given``. ``remedy``".

    Parameters
    ----------
    parameter
        Name of the parameter at fault, as Python spells it.
    rule
        The rule that it breaks: a predicate ("must be positive") or, after a colon, a statement (": no column named
        'w'").
    given
        Text of the value given, from :func:`flexdp._core.text.safe_repr`: only short scalars are repeated, anything
        else is named by its type. Omitted if the rule says it all.
    remedy
        One or more sentences that say what to do instead.

    Examples
    --------
    >>> print(InputError("width", "must be positive", given="0", remedy=("Leave it out, or say ", P("width", 5), ".")))
    width must be positive; got 0. Leave it out, or say width=5.
    """

    def __init__(self, parameter: str, rule: Phrase, *, given: str | None = None, remedy: Phrase = "") -> None:
        super().__init__(parameter, rule, given, remedy)
        self.parameter = parameter
        self.rule = rule
        self.given = given
        self.remedy = remedy

    def message(self, name: Callable[[P], str] = str) -> str:
        """Build the message, with ``name`` to spell its parameters.

        Parameters
        ----------
        name
            Spells a parameter, with its value if it has one; as in Python by default.

        Returns
        -------
        str
            The message in one line.

        Examples
        --------
        >>> error = InputError("width", "must be positive", given="0")
        >>> error.message(lambda parameter: f"--{parameter.name}")
        '--width must be positive; got 0.'
        """
        rule = spelled(self.rule, name)
        text = f"{name(P(self.parameter))}{'' if rule.startswith(':') else ' '}{rule}"
        if self.given is not None:
            text += f"; got {self.given}"
        remedy = spelled(self.remedy, name)
        return f"{text}. {remedy}" if remedy else f"{text}."

    def __str__(self) -> str:
        return self.message()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.parameter, self.rule, self.given, self.remedy)


def spelled(phrase: Phrase, name: Callable[[P], str] = str) -> str:
    """Turn a phrase into text.

    Parameters
    ----------
    phrase
        A text, a parameter, or a tuple of both.
    name
        Spells a parameter, with its value if it has one; as in Python unless given.

    Returns
    -------
    str
        The parts of the phrase, joined.

    Examples
    --------
    >>> spelled(("Give ", P("width"), " or ", P("edges", [0, 18]), "."))
    'Give width or edges=[0, 18].'
    """
    parts = phrase if isinstance(phrase, tuple) else (phrase,)
    return "".join(name(part) if isinstance(part, P) else part for part in parts)


def _rebuilt(kind: type[InputError], parameter: str, rule: Phrase, given: str | None, remedy: Phrase) -> InputError:
    return kind(parameter, rule, given=given, remedy=remedy)


class UnavailableError(InputError):
    """A source is out of reach for now: its server does not answer, or another program has locked its file.

    Trying again later makes sense. Nothing was read, nothing was spent.

    Parameters
    ----------
    parameter, rule, given, remedy
        As in :class:`InputError`.

    Examples
    --------
    >>> print(UnavailableError("source", ": cannot connect to the server", remedy="Check that it is running."))
    source: cannot connect to the server. Check that it is running.
    """


class DataError(FlexdpError):
    """Reading the records failed. The message is always the same, so it reveals nothing about them."""

    def __init__(self) -> None:
        super().__init__(
            "the table could not be read to its end, so nothing was released; "
            "check that its files are complete and readable, and that disk and memory suffice"
        )


class ReadingWarning(UserWarning):
    """A text file or a column of objects declares no type, and the caller gave no kind: it says how cells are read.

    Lists are not warned of: they may hold numbers as well as texts, and cells must not decide a warning.
    """


class PrivacyWarning(UserWarning):
    """The budget of a release protects little: ε is above 10, or δ is at least 0.01."""


class BoundsWarning(UserWarning):
    """Errors were computed only as upper bounds; the warning says how far above the exact ones they may be."""


class BudgetError(FlexdpError):
    """The budget of a data set does not cover a release. Nothing was read, nothing was spent.

    Parameters
    ----------
    dataset
        Declared name of the data set.
    asked, left
        (ε, δ) that was asked for, and that is left, in words.

    Examples
    --------
    >>> print(BudgetError("payroll", "ε = 1, δ = 1e-06", "ε = 0.5, δ = 1e-06"))
    the budget of 'payroll' is insufficient: requested ε = 1, δ = 1e-06; remaining ε = 0.5, δ = 1e-06. Nothing was read.
    """

    def __init__(self, dataset: str, asked: str, left: str) -> None:
        super().__init__(dataset, asked, left)
        self.dataset, self.asked, self.left = dataset, asked, left

    def __str__(self) -> str:
        return (
            f"the budget of {self.dataset!r} is insufficient: requested {self.asked}; remaining {self.left}. Nothing "
            "was read."
        )


class LedgerError(FlexdpError):
    """A ledger could not be read or written, or it was damaged. No record was read.

    Parameters
    ----------
    message
        One sentence; it holds no text of the database.
    retry
        True if trying again later makes sense: the ledger is locked, or the disk is full.

    Examples
    --------
    >>> LedgerError("the ledger is locked", retry=True).retry
    True
    """

    def __init__(self, message: str, *, retry: bool = False) -> None:
        super().__init__(message)
        self.retry = retry


class CertificateError(FlexdpError):
    """A table of noise weights does not satisfy the inequalities that prove its privacy."""
