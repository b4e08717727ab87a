"""The statements behind sharp answers as text, which is shown and not run."""

from __future__ import annotations

from collections.abc import Sequence

from flexdp.sharp.ranks import Request
from flexdp.tables.counting import Counting
from flexdp.tables.ranks import check_ranks, cuts_within
from flexdp.tables.sql.rank_query import RankQuery, exactly
from flexdp.tables.sql.translate import ranked_in, shown_in
from flexdp.tables.table import Table

__all__ = ["rank_query_of"]

_RECORDS, _CELLS = "flexdp_records", "flexdp_cells"


def rank_query_of(
    table: Table,
    counting: Counting,
    requests: Sequence[Request] = (),
    *,
    listing: bool = False,
    dialect: object = None,
) -> str:
    """Return the statements that a program runs, without running them.

    Parameters
    ----------
    table
        The table.
    counting
        As in :func:`flexdp.tables.ranks.open_ranks`.
    requests
        The requests that are known beforehand. One more statement is shown for those that depend on answers; in it
        ``:cuts`` stands for their public cuts, and ``:enough`` for the count from which on counts are alike.
    listing
        Show the statement that counts the records of each group, by which groups are listed.
    dialect
        The dialect to show them in; that of the table's own engine by default.

    Returns
    -------
    str
        The copy, its cells, and one statement for each request, with semicolons between them.
    """
    check_ranks(table, counting)
    exact = exactly(counting)
    if dialect is None:
        return _text(*table.ranked(exact, _RECORDS, _CELLS), exact, requests, listing=listing)
    return shown_in(
        dialect, lambda name: _text(*ranked_in(name, exact, _RECORDS, _CELLS), exact, requests, listing=listing)
    )


def _text(query: RankQuery, records: str, exact: Counting, requests: Sequence[Request], *, listing: bool) -> str:
    group = () if not exact.groups else tuple(exact.declared[0]) if exact.declared else ("…",) * len(exact.groups)
    copy = f"CREATE TEMPORARY TABLE {_RECORDS} AS\n{records}"
    cells = f"CREATE TEMPORARY TABLE {_CELLS} AS\n{query.grouped()}"
    listed = [query.group_counts()] if listing else []
    asked = [query.statement(request, cuts_within(query, request), group) for request in requests]
    later = query.statement(Request(), (), group, shown="SELECT place, x FROM :cuts")
    return ";\n\n".join(text + query.dialect.ending for text in (copy, cells, *listed, *asked, later))
