"""Statements about many groups of a private copy at once."""

from __future__ import annotations

from collections.abc import Sequence

from flexdp.sharp.ranks import Near
from flexdp.tables.sql.query import literal
from flexdp.tables.sql.rank_query import RankQuery

__all__ = ["first_statement", "values_together"]


def values_together(query: RankQuery, groups: Sequence[Sequence[object]]) -> str:
    """Return the statement that fetches all values of several groups, with the place of each group in the list."""
    shown = query.dialect.as_text("v") if query.wide else "v"
    return f"SELECT place, {shown} AS v FROM {query.rows} JOIN ({_list_of(query, groups)}) AS g ON {_same_group(query)}"


def _list_of(query: RankQuery, groups: Sequence[Sequence[object]]) -> str:
    """List groups with their places."""
    d = query.dialect
    names = ("place", *(f"k{i}" for i in range(len(query.counting.groups))))
    rows = [
        [str(place), *(literal(value, d) for value in group)]
        for place, group in enumerate(groups)
        if d.holds_nul or not any("\0" in str(value) for value in group)
    ]
    if rows:
        return d.rows_of(names, rows)
    nothing = [literal("" if isinstance(value, str) else value, d) for value in groups[0]]
    return f"SELECT * FROM ({d.rows_of(names, [['0', *nothing]])}) AS o WHERE 1 = 0"


def _same_group(query: RankQuery) -> str:
    return " AND ".join(f"b{i} = k{i}" for i in range(len(query.counting.groups)))


def first_statement(query: RankQuery, windows: Sequence[Near], groups: Sequence[Sequence[object]]) -> str:
    """Return the statement of windows without ends for several groups: rows of what, group, which, below, upto, v.

    Of what 1 is a value in a window, 2 the total, as in :meth:`RankQuery.statement`.
    """
    d = query.dialect
    order = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    running = d.as_integer(f"sum(m) OVER (PARTITION BY g ORDER BY c ASC {order})")
    inside = d.as_integer(f"sum(m) OVER (PARTITION BY g, c ORDER BY v ASC {order})")
    goal = "(level * n + shift)"
    listed = f"({_list_of(query, groups)}) AS l ON {_same_group(query)}"
    rows = f"(SELECT place AS g, v, {query._cell('v')} AS c FROM {query.rows} {d.probes} {listed}) AS k"
    named = {
        "mine": f"SELECT place AS g, c, m FROM {query.cells} {d.probes} {listed}",
        "sizes": f"SELECT g, {d.as_integer('sum(m)')} AS n FROM mine GROUP BY g",
        "around": f"SELECT g, c, m, {running} AS upto FROM mine",
        "wanted": query._wanted(windows, ()),
        "limits": f"SELECT g, w, CASE WHEN {goal} > n THEN n ELSE {goal} END - reach AS lowest, "
        f"CASE WHEN {goal} < 0 THEN 0 ELSE {goal} END + reach AS highest FROM sizes CROSS JOIN wanted",
        "hot": "SELECT DISTINCT a.g AS hg, a.c AS hc, a.upto - a.m AS start FROM around AS a JOIN limits AS r "
        "ON a.g = r.g AND a.upto >= r.lowest AND a.upto - a.m <= r.highest",
        "near": f"SELECT g, c, v, start, count(*) AS m FROM {rows} {d.probes} hot ON g = hg AND c = hc "
        "GROUP BY g, c, v, start",
        "line": f"SELECT g, v, m, start + {inside} AS upto FROM near",
    }
    clauses = ",\n".join(f"{name} AS{d.materialized} ({text})" for name, text in named.items())
    value = d.as_text("v") if query.wide else "v"
    nothing = f"CAST(NULL AS {d.text_type if query.wide else query._type})"
    return (
        f"WITH {clauses}\nSELECT 2 AS what, g, 0 AS which, n AS below, n AS upto, {nothing} AS v FROM sizes\n"
        f"UNION ALL SELECT 1, x.g, w, upto - m, upto, {value} FROM line AS x JOIN limits AS r ON x.g = r.g "
        "AND upto >= lowest AND upto - m <= highest"
    )
