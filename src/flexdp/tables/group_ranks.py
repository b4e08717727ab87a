"""The first request of many groups by one statement, on engines that keep their records.

Every program begins with requests that are the same for all groups, because nothing about a group is public yet. They
are answered together; what follows depends on a group's own answers, and is asked of it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from flexdp.sharp.ranks import Near, Ranks, Reply, Request, Window
from flexdp.sharp.scale import Scale
from flexdp.tables.sorted_ranks import safely
from flexdp.tables.sql.group_query import first_statement
from flexdp.tables.sql.rank_query import RankQuery
from flexdp.tables.sql.workspace import Workspace

__all__ = ["first_together"]

MOST_ROWS = 1 << 20  # that one statement returns
MakeWindow = Callable[[Scale, Near, Sequence[Sequence[Any]], int, int], Window]


def first_together(
    query: RankQuery,
    workspace: Workspace,
    groups: Sequence[tuple[Any, ...]],
    first: Request,
    alone: Callable[[tuple[Any, ...]], Ranks],
    window: MakeWindow,
) -> Iterator[tuple[tuple[Any, ...], Ranks]]:
    """Return groups with their ranks, which know the reply to a request that all of them begin with.

    Parameters
    ----------
    query, workspace
        The statements, and the session that they run in.
    groups
        The groups.
    first
        Windows without ends, which all groups begin with; nothing else of it is used.
    alone
        Returns the ranks of one group.
    window
        Makes a window of rows.

    Yields
    ------
    tuple
        A group and its ranks.
    """
    rows = sum(2 * near.reach + 5 for near in first.windows) + 1
    many = max(1, MOST_ROWS // rows)
    for start in range(0, len(groups), many):
        part = groups[start : start + many]
        answered = workspace.ask(first_statement(query, first.windows, part))
        totals, found = safely(partial(_sorted, answered, len(part)))
        for place, group in enumerate(part):
            yield group, _Begun(alone(group), totals[place], first.windows, found[place], window)


def _sorted(rows: Sequence[Sequence[Any]], groups: int) -> tuple[list[int], list[dict[int, list[Sequence[Any]]]]]:
    """The number of records and the rows of each window, by group."""
    totals = [0] * groups
    found: list[dict[int, list[Sequence[Any]]]] = [{} for _ in range(groups)]
    for what, place, w, below, upto, value in rows:
        if int(what) == 2:
            totals[int(place)] = int(below)
        else:
            found[int(place)].setdefault(int(w), []).append((1, w, below, upto, value))
    return totals, found


class _Begun:
    """The ranks of one group, whose first reply is known."""

    def __init__(
        self,
        ranks: Ranks,
        total: int,
        windows: Sequence[Near],
        rows: dict[int, list[Sequence[Any]]],
        window: MakeWindow,
    ) -> None:
        self._ranks, self._total, self._windows, self._rows, self._window = ranks, total, tuple(windows), rows, window

    @property
    def scale(self) -> Scale:
        return self._ranks.scale

    def fetch(self, request: Request) -> Reply:
        if request.cuts or request.tallies or not all(near in self._windows for near in request.windows):
            return self._ranks.fetch(request)
        return safely(lambda: Reply(total=self._total, windows=[self._made(near) for near in request.windows]))

    def _made(self, near: Near) -> Window:
        return self._window(self.scale, near, self._rows.get(self._windows.index(near), []), 0, self._total)

    def __repr__(self) -> str:
        return "<Ranks>"  # its content is private
