"""Relations of neighbours, and conditions on the table under which privacy holds."""

from __future__ import annotations

from abc import ABC, abstractmethod

from flexdp._core.domains import SENSITIVITY, flag, instance
from flexdp._core.exact import number_text
from flexdp._core.fields import Exact, Value, maybe, param, whole, word
from flexdp._core.text import plural, safe_repr
from flexdp.distances.metrics import short_name
from flexdp.errors import InputError

__all__ = [
    "ONE_RECORD",
    "AddRemove",
    "AnswersWithin",
    "Condition",
    "Neighbours",
    "OwnNeighbours",
    "Replace",
]


class Neighbours(Value, ABC):
    """Relation between two data sets that a private mechanism makes hard to tell apart.

    Relations are compared as values, never by their words: :class:`AddRemove`, :class:`Replace`,
    :class:`AnswersWithin`, or a relation of your own by name, :class:`OwnNeighbours`.
    """

    @property
    def unit(self) -> str:
        """Name of what two neighbours differ by: "record", or a privacy unit."""
        return "record"

    def covers(self, other: Neighbours) -> bool:
        """Return True if all neighbours by ``other`` are neighbours by this relation, too.

        Parameters
        ----------
        other
            Another relation.

        Returns
        -------
        bool
            True if privacy under this relation is privacy under the other.

        Examples
        --------
        >>> AddRemove("patient", buckets=5).covers(AddRemove("patient", buckets=2))
        True
        >>> Replace().covers(AddRemove())
        False
        """
        return self == other

    @property
    @abstractmethod
    def scope(self) -> str:
        """Words for whom the guarantee holds, as in "for each record"."""

    @property
    @abstractmethod
    def doubt(self) -> str:
        """Words for what an observer may be unsure of, as in "that a given record is in the data"."""


class AddRemove(Neighbours):
    """Neighbours that differ by the presence of one record, or of all records of one privacy unit.

    Parameters
    ----------
    unit
        Name of the protected unit: "record", or the column that identifies the units.
    buckets
        Most buckets in which one unit counts, once in each. A record lies in one.

    Examples
    --------
    >>> print(AddRemove())
    add or remove one record
    >>> print(AddRemove("patient", buckets=2))
    add or remove one patient, counted once in each of at most 2 buckets
    >>> AddRemove("patient", buckets=2).covers(AddRemove("patient"))
    True
    """

    unit: str = param(word("'patient'"), default="record")
    buckets: int = param(whole(), default=1)

    def covers(self, other: Neighbours) -> bool:
        """Return True for the same unit in no more buckets.

        Parameters
        ----------
        other
            Another relation.

        Returns
        -------
        bool
            True if all its neighbours are neighbours by this relation.
        """
        return isinstance(other, AddRemove) and other.unit == self.unit and other.buckets <= self.buckets

    @property
    def scope(self) -> str:
        """Words for whom the guarantee holds."""
        return f"for each {self.unit}"

    @property
    def doubt(self) -> str:
        """Words for what an observer may be unsure of."""
        return f"that a given {self.unit} is in the data"

    def __str__(self) -> str:
        if self.buckets == 1:
            return f"add or remove one {self.unit}"
        return f"add or remove one {self.unit}, counted once in each of at most {plural(self.buckets, 'bucket')}"


class Replace(Neighbours):
    """Neighbours of equal size that differ in the values of one record, or of one privacy unit.

    Parameters
    ----------
    unit
        Name of the protected unit.

    Examples
    --------
    >>> print(Replace())
    replace one record by another
    """

    unit: str = param(word("'patient'"), default="record")

    @property
    def scope(self) -> str:
        """Words for whom the guarantee holds."""
        return f"for the values of each {self.unit}"

    @property
    def doubt(self) -> str:
        """Words for what an observer may be unsure of."""
        return f"which of two values a given {self.unit} has"

    def __str__(self) -> str:
        return f"replace one {self.unit} by another"


class AnswersWithin(Neighbours):
    """Exact answers that differ by at most a sensitivity, for mechanisms that take a number.

    Parameters
    ----------
    sensitivity
        Largest difference between two neighbouring answers.

    Examples
    --------
    >>> print(AnswersWithin(10))
    answers that differ by at most 10
    >>> AnswersWithin(10).covers(AnswersWithin(3))
    True
    """

    sensitivity: Exact = param(SENSITIVITY)

    def covers(self, other: Neighbours) -> bool:
        """Return True for answers that are no further apart.

        Parameters
        ----------
        other
            Another relation.

        Returns
        -------
        bool
            True if all its neighbours are neighbours by this relation.
        """
        return isinstance(other, AnswersWithin) and other.sensitivity <= self.sensitivity

    @property
    def scope(self) -> str:
        """Words for whom the guarantee holds."""
        return f"for {self}"

    @property
    def doubt(self) -> str:
        """Words for what an observer may be unsure of."""
        return "which of two such answers is the exact one"

    def __str__(self) -> str:
        return f"answers that differ by at most {number_text(self.sensitivity)}"


class OwnNeighbours(Neighbours):
    """A relation of your own, known by its name alone.

    Parameters
    ----------
    name
        Name of the relation; two relations are the same where their names are.

    Examples
    --------
    >>> print(OwnNeighbours("move one visit by a day"))
    move one visit by a day
    """

    name: str = param(short_name("'move one visit by a day'"))

    @property
    def scope(self) -> str:
        """Words for whom the guarantee holds."""
        return f"for neighbours by {self.name!r}"

    @property
    def doubt(self) -> str:
        """Words for what an observer may be unsure of."""
        return "which of two neighbouring data sets was used"

    def __str__(self) -> str:
        return self.name


ONE_RECORD = AddRemove()
_VOUCHED = (
    "provided that every record yields at most one row of the given query and no row depends on more than one record, "
    "as the publisher vouches"
)


class Condition(Value):
    """Public knowledge of the table without which a guarantee does not hold.

    Parameters
    ----------
    records_at_least
        Smallest number of records of the table.
    buckets_at_most
        Largest number of its non-empty buckets.
    rows_are_records
        True if every record yields at most one row of a given query and no row depends on more than one record.

    Raises
    ------
    InputError
        None of them is given, or a number is not a positive integer.

    Examples
    --------
    >>> print(Condition(records_at_least=1000, buckets_at_most=3))
    in tables of at least 1000 records and at most 3 buckets
    >>> Condition(records_at_least=1000) & Condition(records_at_least=50, buckets_at_most=3)
    Condition(records_at_least=1000, buckets_at_most=3)
    """

    records_at_least: int | None = param(maybe(whole()), default=None, kw_only=True)
    buckets_at_most: int | None = param(maybe(whole()), default=None, kw_only=True)
    rows_are_records: bool = param(flag, default=False, kw_only=True)

    def _check(self) -> None:
        """Refuse a condition of nothing."""
        if self.records_at_least is None and self.buckets_at_most is None and not self.rows_are_records:
            raise InputError("records_at_least", "or buckets_at_most must be given: a condition needs one of them")

    def __and__(self, other: Condition) -> Condition:
        both = (self, instance("other", other, Condition, "a Condition"))
        least = [each.records_at_least for each in both if each.records_at_least is not None]
        most = [each.buckets_at_most for each in both if each.buckets_at_most is not None]
        return Condition(
            records_at_least=max(least, default=None),
            buckets_at_most=min(most, default=None),
            rows_are_records=any(each.rows_are_records for each in both),
        )

    def __str__(self) -> str:
        least, most = self.records_at_least, self.buckets_at_most
        limits = [] if least is None else [f"at least {plural(least, 'record')}"]
        if most is not None:
            limits.append(f"at most {plural(most, 'bucket')}")
        tables = f"in tables of {' and '.join(limits)}" if limits else ""
        rows = _VOUCHED if self.rows_are_records else ""
        return ", ".join(filter(None, (tables, rows)))


def neighbours_given(name: str, value: object) -> Neighbours:
    """A parameter that must be a relation of neighbours."""
    if not isinstance(value, Neighbours):
        rule = "must be a relation of neighbours, for example AddRemove('patient')"
        raise InputError(name, rule, given=safe_repr(value))
    return value
