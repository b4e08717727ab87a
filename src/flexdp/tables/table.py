"""A source of records, and the one step in which they are counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from flexdp._core.faults import FaultError, concealed
from flexdp.buckets.base import LARGEST_INDEX
from flexdp.buckets.exact import Exact
from flexdp.errors import FlexdpError, InputError
from flexdp.histogram import KeyedHistogram
from flexdp.tables.counting import Axis, Counted, Counting
from flexdp.tables.declared import Column
from flexdp.tables.sql.rank_query import RankQuery

__all__ = ["Table", "count", "histogram_of"]


class Table(Protocol):
    """A source of records whose declared columns are known and whose records have not been read.

    Examples
    --------
    >>> from flexdp.tables import open_table
    >>> table = open_table([3, 1, 3])
    >>> counting = Counting(values=(Axis(column=table.column(None), kind="integer", buckets=Exact("integer")),))
    >>> "GROUP BY b0" in table.query(counting)
    True
    >>> sorted(table.count(counting).records.tolist())
    [1, 2]
    >>> statements, copied = table.ranked(counting, "rows", "looked")
    >>> copied.startswith("SELECT")
    True
    """

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns."""

    def column(self, name: object) -> Column:
        """Return the declared column of that name.

        Parameters
        ----------
        name
            The name as the caller gave it; None for a source that is a single column.

        Returns
        -------
        Column
            The declared column.
        """

    def query(self, counting: Counting) -> str:
        """Return the SQL that counts, without running it.

        Parameters
        ----------
        counting
            The count.

        Returns
        -------
        str
            The SQL text.
        """

    def ranked(self, counting: Counting, rows: str, looked: str) -> tuple[RankQuery, str]:
        """Return the statements about the ranks of a column, and the query of the private copy that they read.

        Parameters
        ----------
        counting
            What counts; every value is its own bucket.
        rows, looked
            The names of the copy, and of the table of pieces that are looked into.

        Returns
        -------
        RankQuery
            The statements.
        str
            The query of the copy.
        """

    def count(self, counting: Counting) -> Counted:
        """Count: the one place where records are read.

        Parameters
        ----------
        counting
            The count.

        Returns
        -------
        Counted
            The non-empty buckets.
        """


def count(table: Table, countings: Sequence[Counting]) -> list[KeyedHistogram]:
    """Count the records of a table.

    Parameters
    ----------
    table
        The table.
    countings
        The counts; made in one pass where the engine can.

    Returns
    -------
    list of KeyedHistogram
        The private histogram of each count. Equal keys are summed here, before any noise.

    Raises
    ------
    DataError
        If anything goes wrong. The message never varies.

    Examples
    --------
    >>> from flexdp.buckets.exact import Exact
    >>> from flexdp.tables import open_table
    >>> table = open_table([3, 1, 3])
    >>> axis = Axis(column=table.column(None), kind="integer", buckets=Exact("integer"))
    >>> count(table, [Counting(values=(axis,))])[0].counts
    array([1, 2])
    """
    together = getattr(table, "together", None)

    def counted() -> list[KeyedHistogram]:
        if len(countings) > 1 and together is not None:
            found = together(countings)
        else:
            found = [table.count(counting) for counting in countings]
        return [histogram_of(each, counting.keys) for each, counting in zip(found, countings, strict=True)]

    return concealed(counted, passing=(FlexdpError,))


def histogram_of(counted: Counted, axes: Sequence[Axis]) -> KeyedHistogram:
    """Make a histogram by these axes. A key that no bucket has, NULL or NaN, belongs to records that do not count."""
    keys, records = [np.ma.getdata(part) for part in counted.keys], np.ma.getdata(counted.records)
    sound = np.ones(len(records), dtype=bool)
    for part, key, axis in zip(counted.keys, keys, axes, strict=True):
        sound &= ~np.ma.getmaskarray(part)
        if key.dtype.kind == "f":
            sound &= np.isfinite(key) if isinstance(axis.buckets, Exact) else np.abs(key) <= LARGEST_INDEX
    if not sound.all():
        keys, records = [key[sound] for key in keys], records[sound]
    try:
        return KeyedHistogram([_index(key, axis) for key, axis in zip(keys, axes, strict=True)], records)
    except InputError:
        raise FaultError("keys that no bucket has") from None


def _index(keys: Any, axis: Axis) -> Any:
    """Return keys as the partition numbers its buckets."""
    if axis.kind == "boolean":
        return keys.astype(bool)
    if axis.kind == "text" or (isinstance(axis.buckets, Exact) and axis.kind == "number"):
        return keys
    if keys.dtype == object:  # integers too wide for the engine's arrays come as texts
        return [int(key) for key in keys]
    return keys.astype(np.int64, copy=False)
