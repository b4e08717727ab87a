"""Plans of DuckDB relations and views: the logical plan, before an optimiser could hide a step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from flexdp.tables.plans.refusal import UNKNOWN, not_records

__all__ = ["check_relation"]

_ROW_BY_ROW = {"PROJECTION", "FILTER", "ORDER_BY", "CTE", "CTE_SCAN", "MATERIALIZED_CTE", "UNION"}
_TABLES = {
    "SEQ_SCAN", "TABLE_SCAN", "PARQUET_SCAN", "READ_PARQUET", "ARROW_SCAN", "ARROW_SCAN_DUMB", "PYTHON_ARROW_SCAN",
    "PANDAS_SCAN", "SQLITE_SCAN", "POSTGRES_SCAN", "MYSQL_SCAN", "ICEBERG_SCAN", "DELTA_SCAN", "RANGE",
    "GENERATE_SERIES", "EXPRESSION_GET", "DUMMY_SCAN",
}  # fmt: skip
_REASONS = {
    "WINDOW": "a window", "AGGREGATE": "an aggregate", "LIMIT": "a limit", "TOP_N": "a limit",
    "SAMPLE": "a sample", "DISTINCT": "DISTINCT", "UNNEST": "an UNNEST", "COMPARISON_JOIN": "a join",
    "CROSS_PRODUCT": "a join or a subquery", "ASOF_JOIN": "a join", "POSITIONAL_JOIN": "a join", "ANY_JOIN": "a join",
    "DEPENDENT_JOIN": "a join or a subquery", "DELIM_JOIN": "a join or a subquery", "REC_CTE": "a recursion",
    "EXCEPT": "EXCEPT", "INTERSECT": "INTERSECT", "PIVOT": "a pivot",
}  # fmt: skip
_EXPLAINED = "explain_output"


def check_relation(ask: Callable[[str], Any], name: str) -> None:
    """Refuse a relation, queried by ``ask`` under a name, unless its plan works row by row."""
    plan: Any = None
    with suppress(Exception):  # the engine's message is not repeated; refused below
        plan = json.loads(_logical_plan(ask, name))
    if plan is None:
        raise not_records("a plan that cannot be read")
    nodes = list(_nodes(plan))
    names = [str(node["name"]).strip().upper() for node in nodes]
    for each in names:
        if each not in _ROW_BY_ROW and each not in _TABLES:
            raise not_records(_REASONS.get(each, UNKNOWN))
    if "UNION" in names and not _all_different(nodes, names):
        raise not_records("a UNION of what may be the same records twice")


def _logical_plan(ask: Callable[[str], Any], name: str) -> str:
    """Explain with the setting that shows all plans, and restore the caller's."""
    before = ask(f"SELECT current_setting('{_EXPLAINED}')").fetchall()[0][0]
    ask(f"SET {_EXPLAINED} = 'all'")
    try:
        rows = ask(f"EXPLAIN (FORMAT JSON) FROM {name}").fetchall()
    finally:
        ask(f"SET {_EXPLAINED} = '{str(before).lower()}'")
    return str(next(text for kind, text in rows if kind == "logical_plan"))


def _nodes(plan: Any) -> Iterator[Any]:
    for node in plan if isinstance(plan, list) else [plan]:
        yield node
        yield from _nodes(node["children"])


def _all_different(nodes: list[Any], names: list[str]) -> bool:
    """Tell whether a union reads tables that are known by name, and each of them once."""
    leaves = [node for node in nodes if not node["children"]]
    tables = [node.get("extra_info", {}).get("Table") for node in leaves]
    return "CTE" not in names and None not in tables and len(set(tables)) == len(tables)
