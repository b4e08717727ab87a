"""What a source of ranks can do, and what a table must do to be one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from flexdp.buckets.open_edges import OpenEdges
from flexdp.histogram import KeyedHistogram
from flexdp.sharp.cells import ColumnInMemory
from flexdp.sharp.ranks import Ranks, Reply, Request
from flexdp.sharp.scale import Scale
from flexdp.tables.counting import Counting
from flexdp.tables.sql.workspace import Workspace

__all__ = ["NOTHING", "Copyable", "GroupedRanks", "Probed", "Sortable"]


NOTHING = Request()


class GroupedRanks(Protocol):
    """A private column that answers requests, as a whole or by group.

    Without groups it is a :class:`~flexdp.sharp.ranks.Ranks` itself.
    """

    @property
    def scale(self) -> Scale:
        """The scale of the values, which is public."""

    def fetch(self, request: Request) -> Reply:
        """Answer a request about the whole column; of a column without groups."""

    def group(self, key: Sequence[Any]) -> Ranks:
        """Return the ranks of one group, which need not occur; its key is written as in ``Counting.declared``."""

    def together(
        self, groups: Sequence[tuple[Any, ...]], first: Request = NOTHING
    ) -> Iterator[tuple[tuple[Any, ...], Ranks]]:
        """Return each of several groups with its ranks, in any order; small ones are read together where possible.

        Otherwise the windows of ``first``, which have no ends, are read for all groups together. Ranks are to be used
        before the next are asked for.
        """

    def whole(self) -> Ranks:
        """Return the ranks of all records that count, whatever their groups."""

    def group_counts(self) -> KeyedHistogram:
        """Return the private number of readable records, or units, in every group that occurs."""

    def bars(self, buckets: OpenEdges) -> KeyedHistogram:
        """Return the private number of records, or units, in every bucket of every group that holds any."""


@runtime_checkable
class Sortable(Protocol):
    """A table in memory; one of its columns alone is sorted here."""

    def sorted_column(self, counting: Counting) -> ColumnInMemory:
        """Return the readable values of a column."""


@runtime_checkable
class Probed(Protocol):
    """A table whose engine may refuse private copies, whatever its records are."""

    def check_copies(self) -> None:
        """Refuse a session in which no private copy can be made."""


@runtime_checkable
class Copyable(Protocol):
    """A table whose records can be copied privately on its engine."""

    def workspace(self, counting: Counting) -> AbstractContextManager[Workspace]:
        """Open a session that can make and read private copies."""
