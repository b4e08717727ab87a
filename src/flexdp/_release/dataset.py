"""A data set: declared once, then released from.

::

    Dataset("visits-*.csv", columns={"cost": "number"}, unit="pid", max_buckets_per_unit=3, ledger="budget.db")
       │                                                                    flexdp.toml holds the same, by name
       ├── release("cost", epsilon=1, delta=1e-6, by="ward")   =  flexdp.release(source, "cost", kind=…, unit=…, …)
       ├── summary(epsilon=2, delta=1e-5) · query("cost") · check()
       └── remaining · account                                      of the ledger

A declaration is public and written by a person. It reads no record, holds no private value and chooses no ε.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, get_args

from flexdp._core.domains import choice, pairs, path_text, sequence, text
from flexdp._core.exact import Number
from flexdp._core.text import is_short, safe_repr
from flexdp._release.api import query, release
from flexdp._release.parameters import DatasetOptions, Options, parameters, refuse_unknown, spelled_out
from flexdp._release.published import Release
from flexdp._release.several import Releases
from flexdp._release.summary import summary
from flexdp.accounting.books import accounts_card, bar
from flexdp.accounting.chain import Account, amount
from flexdp.accounting.ledger import Ledger
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, P

if TYPE_CHECKING:
    from flexdp.tables.check import Check

__all__ = ["RECORD", "Column", "Dataset", "Left", "columns_of_summary", "options_for", "paying"]

RECORD = "record"  # as a unit: every record is protected by itself
_OF_UNITS = ("max_buckets_per_unit", "per_unit", "cap_report", "unit_kind")


@dataclass(frozen=True)
class Column:
    """A declared column: its kind, and the expression for a computed one.

    Parameters
    ----------
    kind
        "integer", "number", "text", "date", "datetime" or "boolean"; None where the source declares it.
    derive
        The expression that computes it from other columns, record by record.

    Examples
    --------
    >>> Column("integer", derive="date(discharged) - date(admitted)").kind
    'integer'
    """

    kind: Kind | None = None
    derive: str | None = None

    def __post_init__(self) -> None:
        if self.kind is not None:
            choice("kind", self.kind, get_args(Kind))
        if self.derive is not None:
            text("derive", self.derive)


class Left(NamedTuple):
    """What is left of a budget.

    >>> print(Left(Fraction(1, 2), Fraction(0)))
    ε = 0.5, δ = 0
    """

    epsilon: Fraction
    delta: Fraction

    def __str__(self) -> str:
        return amount(self.epsilon, self.delta)


class Dataset:
    """A data set, declared once: where it is, how it is read, whom it protects and which ledger pays.

    Parameters
    ----------
    source
        The table, as for :func:`flexdp.release`.
    unit
        The column of the privacy unit, such as a patient's number; or "record", if each record is protected by itself.
    columns
        Kinds of columns by name, or a :class:`Column` for a computed one. Without it, the types that the source
        declares.
    name
        The name of the data set; with a ledger, the name under which it was declared there.
    ledger
        The :class:`flexdp.Ledger` that pays, or its address.
    {options}

    Raises
    ------
    InputError
        If the declaration contradicts itself, or the ledger does not know the data set. No record is read.

    Examples
    --------
    >>> import tempfile, flexdp
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = flexdp.Ledger(f"{folder.name}/budget.db")
    >>> _ = ledger.create("visits", epsilon=2, delta="2e-6", by_period=True)
    >>> table = {"cost": [33.0] * 900, "ward": ["A"] * 900}
    >>> kinds = {"cost": "number", "ward": "text"}
    >>> with Dataset(table, unit="record", columns=kinds, name="visits", ledger=ledger, period="2026-01") as visits:
    ...     costs = visits.release("cost", epsilon=1, delta="1e-6", width=5)
    ...     again = visits.release("cost", epsilon=1, delta="1e-6", width=5)
    ...     again == costs, again.payment.free, str(visits.remaining)
    (True, True, 'ε = 1, δ = 1e-06')
    >>> visits.query("cost", width=5).splitlines()[-1].strip()[:8], visits.check("cost").columns[0].kind
    ('GROUP BY', 'number')
    >>> visits.account.spent_epsilon
    Fraction(1, 1)
    >>> print(visits)
    visits  [████████████░░░░░░░░░░░░]  spent ε = 1 of 2, δ = 1e-06 of 2e-06; left ε = 1, δ = 1e-06 for each record
    >>> list(visits.summary(epsilon="0.5", delta="5e-7", fresh=True))
    ['cost', 'ward']
    >>> ledger.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        source: Any,
        *,
        unit: str | None = None,
        columns: Mapping[str, Kind | Column | None] | None = None,
        name: str | None = None,
        ledger: Any = None,
        **options: Unpack[DatasetOptions],
    ) -> None:
        refuse_unknown(options, "Dataset", DatasetOptions)
        if unit is None:
            raise InputError(
                "unit",
                ": whom does the data set protect?",
                remedy=("Name the column that identifies a person, or say ", P("unit", RECORD), "."),
            )
        whom = text("unit", unit)
        if whom == RECORD:
            for word in _OF_UNITS:
                if options.get(word) is not None:
                    raise InputError(word, ("needs a column as ", P("unit")))
        self._source, self._unit = source, None if whom == RECORD else whom
        self._columns = _declared(columns)
        self._name = None if name is None else text("name", name)
        self._options: dict[str, Any] = dict(options)
        self._closes = ledger is not None and not isinstance(ledger, Ledger)
        self._ledger: Ledger | None = Ledger(path_text("ledger", ledger)) if self._closes else ledger
        if self._ledger is not None:
            if self._name is None:
                raise InputError("name", ("is missing: ", P("ledger"), " needs the declared name of the data set"))
            self._ledger.account(self._name)  # it must exist before anything is planned on it

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._closes and self._ledger is not None:
            self._ledger.close()

    def release(
        self,
        column: str | Sequence[str] | None = None,
        *,
        epsilon: Number,
        delta: Number,
        certify: Number | None = None,
        separately: bool = False,
        split: Sequence[Number] | None = None,
        fresh: bool = False,
        **options: Unpack[Options],
    ) -> Any:
        """Publish a column, as :func:`flexdp.release` does, with the declared parameters; a ledger is charged first.

        Parameters
        ----------
        column
            The column's name, or several; left out where the source is a single column.
        epsilon, delta
            The privacy loss.
        certify, separately, split
            As for :func:`flexdp.release`.
        fresh
            True to pay again for a release that was made before.
        options
            As for :func:`flexdp.release`; they take precedence over the declaration.

        Returns
        -------
        Release or Releases
            What was published, with its ``payment``.
        """
        names = _listed(column)
        publish: Any = release
        made: Release | Releases = publish(
            self._source, column, epsilon=epsilon, delta=delta, certify=certify, separately=separately,
            split=split, **self._paying(fresh), **options_for(self, names, options),
        )  # fmt: skip
        return made

    def summary(
        self,
        columns: Sequence[str] | None = None,
        *,
        epsilon: Number,
        delta: Number,
        skip: Sequence[str] | str | None = None,
        split: Sequence[Number] | Mapping[str, Number] | None = None,
        fresh: bool = False,
        **options: Unpack[Options],
    ) -> Releases:
        """Publish every declared column out of one budget, as :func:`flexdp.summary` does.

        Parameters
        ----------
        columns
            The columns; default: all declared ones.
        epsilon, delta
            The privacy loss of all columns together.
        skip, split
            As for :func:`flexdp.summary`.
        fresh
            True to pay again for a summary that was made before.
        options
            As for :func:`flexdp.summary`; they take precedence over the declaration.

        Returns
        -------
        Releases
            One release for each column.
        """
        names = columns_of_summary(self, options.get("by"), skip) if columns is None else list(columns)
        return summary(
            self._source, names, epsilon=epsilon, delta=delta, split=split, skip=None if names else skip,
            **self._paying(fresh), **options_for(self, names, options),
        )  # fmt: skip

    def query(
        self, column: str | Sequence[str] | None = None, *, dialect: str | None = None, **options: Unpack[Options]
    ) -> str:
        """Return the SQL that a release would run; costs nothing. See :func:`flexdp.query`.

        Parameters
        ----------
        column
            The column's name, or several; left out where the source is a single column.
        dialect
            Another dialect to show it in.
        options
            As for :func:`flexdp.query`.

        Returns
        -------
        str
            The statement.
        """
        names = _listed(column)
        return query(self._source, column, dialect=dialect, **options_for(self, names, options))

    def check(self, column: str | Sequence[str] | None = None) -> Check:
        """Count the cells that a release would and would not read, by reason; NOT private. See :func:`flexdp.check`.

        Parameters
        ----------
        column
            The column, or several; default: all declared columns that are not computed.

        Returns
        -------
        Check
            True counts, for whoever holds the data.
        """
        from flexdp.tables.check import check

        stored = [name for name, each in self._columns.items() if each.derive is None]
        known = inspect_names(check)
        reading = {name: value for name, value in self._options.items() if name in known}
        kinds = {name: each.kind for name, each in self._columns.items()}
        return check(self._source, stored or None if column is None else column, kind=kinds, **reading)

    @property
    def name(self) -> str | None:
        """Name of the data set."""
        return self._name

    @property
    def source(self) -> Any:
        """Source of the data."""
        return self._source

    @property
    def account(self) -> Account:
        """The data set's budget, and what everybody has spent of it."""
        if self._ledger is None or self._name is None:
            raise InputError("ledger", "is not declared: nothing keeps a budget of this data set")
        return self._ledger.account(self._name)

    @property
    def remaining(self) -> Left:
        """The (ε, δ) that is left."""
        found = self.account
        return Left(found.remaining_epsilon, found.remaining_delta)

    def _paying(self, fresh: bool) -> dict[str, Any]:
        return {**paying(self), **({"fresh": fresh} if self._ledger is not None or fresh else {})}

    def _kind(self, name: Any) -> Kind | None:
        found = self._columns.get(name) if isinstance(name, str) else None
        return None if found is None else found.kind

    def __str__(self) -> str:
        return repr(self) if self._ledger is None else bar(self.account)

    def __repr__(self) -> str:
        place = safe_repr(self._source) if isinstance(self._source, str) and is_short(self._source) else "…"
        names = ", ".join(self._columns)
        told = [
            place,
            f"unit={RECORD if self._unit is None else self._unit!r}",
            *([f"columns: {names}"] if names else []),
        ]
        return f"<Dataset {self._name or ''}{' ' if self._name else ''}{'; '.join(told)}>"

    def _repr_html_(self) -> str | None:
        return None if self._ledger is None else accounts_card([self.account])


def options_for(dataset: Dataset, names: Sequence[Any] | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a release of some columns: the declared ones, overridden by those given."""
    refuse_unknown(given, "release")
    unit = (
        {}
        if dataset._unit is None or "unit" in given
        else {"unit": dataset._unit, "unit_kind": dataset._kind(dataset._unit)}
    )
    found: dict[str, Any] = {**dataset._options, **unit}
    plain = [str.__str__(name) for name in names or () if isinstance(name, str)]
    groups = [str.__str__(name) for name in _listed(given.get("by")) or () if isinstance(name, str)]
    used = {*plain, *groups}
    where = given.get("where")
    computed = {
        name: each.derive
        for name, each in dataset._columns.items()
        if each.derive is not None and (name in used or (isinstance(where, str) and name in where))
    }
    if computed:
        found["derive"] = {**computed, **(given.get("derive") or {})}
    stored = [name for name in plain if name not in computed]
    kinds = {name: kind for name in stored if (kind := dataset._kind(name)) is not None}
    if kinds and given.get("kind") is None:
        found["kind"] = kinds
    of_groups = {name: kind for name in groups if (kind := dataset._kind(name)) is not None and name not in computed}
    if of_groups and given.get("by_kind") is None:
        found["by_kind"] = of_groups
    return {**found, **{name: value for name, value in given.items() if name != "derive" or not computed}}


def columns_of_summary(dataset: Dataset, by: Any = None, skip: Any = None) -> list[str] | None:
    """Return the declared columns that a summary publishes; None where the source declares them."""
    beside = {dataset._unit, *([by] if isinstance(by, str) else sequence(by) or [])}
    beside |= {skip} if isinstance(skip, str) else set(sequence(skip) or ())
    return [name for name in dataset._columns if name not in beside] or None


def paying(dataset: Dataset) -> dict[str, Any]:
    """Return the ledger and the data set that pay, as parameters of a release."""
    return {} if dataset._ledger is None else {"ledger": dataset._ledger, "dataset": dataset._name}


def _listed(column: object) -> list[Any] | None:
    """The names of the columns as far as they can be read; errors in them are reported later."""
    return [column] if isinstance(column, str) else sequence(column)


def inspect_names(function: Any) -> frozenset[str]:
    """Return the names of the parameters of a function."""
    import inspect

    return frozenset(inspect.signature(function).parameters)


def _declared(columns: Any) -> dict[str, Column]:
    """The columns by name, each with what is declared of it."""
    if columns is None:
        return {}
    listed = pairs(columns) if isinstance(columns, Mapping) else None
    if listed is None:
        raise InputError(
            "columns", "must be a dictionary", remedy=("For example ", P("columns", {"cost": "number"}), ".")
        )
    found = {}
    for name, each in listed:
        found[text("columns", name)] = each if isinstance(each, Column) else Column(each)
    return found


Dataset.__init__ = spelled_out(DatasetOptions)(Dataset.__init__)  # type: ignore[method-assign]
if Dataset.__doc__ is not None:
    Dataset.__doc__ = Dataset.__doc__.replace(
        "    {options}\n", f"    {', '.join(parameters(DatasetOptions))}\n        As for :func:`flexdp.release`.\n"
    )
