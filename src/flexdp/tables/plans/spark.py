"""Plans of Spark DataFrames: the analysed logical plan, before an optimiser could hide a step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from flexdp.tables.plans.connect import check_message
from flexdp.tables.plans.refusal import UNKNOWN, checked, not_records

__all__ = ["check_frame"]

_ROW_BY_ROW = {
    "Project", "Filter", "SubqueryAlias", "View", "Sort", "Repartition", "RepartitionByExpression", "ResolvedHint",
    "CollectMetrics", "LogicalRelation", "Relation", "LogicalRDD", "LocalRelation", "HiveTableRelation", "RelationV2",
    "DataSourceV2Relation", "Range", "OneRowRelation",
}  # fmt: skip
_REASONS = {
    "Window": "a window", "Aggregate": "an aggregate", "GlobalLimit": "a limit", "LocalLimit": "a limit",
    "Tail": "a limit", "Offset": "a limit", "Join": "a join", "AsOfJoin": "a join", "Distinct": "DISTINCT",
    "Deduplicate": "DISTINCT", "Sample": "a sample", "Generate": "a step that makes several rows of one",
    "Expand": "a step that makes several rows of one", "Pivot": "a pivot", "Intersect": "INTERSECT",
    "Except": "EXCEPT", "Union": "a UNION of what may be the same records twice",
}  # fmt: skip
_MANY_ROWS = re.compile(r"Subquery|UDF|UDAF|Exists|Aggregat|Window|Generator|Udf")
_MOST_NODES = 20_000


def check_frame(frame: Any) -> None:
    """Refuse a DataFrame unless its plan works row by row."""
    if not hasattr(frame, "_jdf"):
        checked(lambda: check_message(frame._plan.to_proto(frame.sparkSession.client).root, _is_table(frame)))
        return
    names: list[str] | None = None
    deterministic = False
    with suppress(Exception):  # the engine's message is not repeated; refused below
        names, deterministic = _classic(frame._jdf.queryExecution().analyzed())
    if names is None:
        raise not_records("a plan that cannot be read")
    for name in names:
        if name not in _ROW_BY_ROW:
            raise not_records(_REASONS.get(name, UNKNOWN))
    if not deterministic:
        raise not_records("a subquery, code of its own or an expression that depends on the order of rows")


def _classic(plan: Any) -> tuple[list[str], bool]:
    """Return the steps of a plan in the JVM, and True if every expression looks at one row only."""
    names, sound, seen = [], True, 0
    for node in _nodes(plan):
        names.append(str(node.nodeName()))
        for expression in _listed(node.expressions()):
            for part in _nodes(expression):
                seen += 1
                simple = str(part.getClass().getSimpleName())
                if not part.deterministic() or _MANY_ROWS.search(simple) or seen > _MOST_NODES:
                    sound = False
    return names, sound


def _nodes(root: Any) -> Iterator[Any]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += _listed(node.children())


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]


def _is_table(frame: Any) -> Callable[[str], bool]:
    """Return the function that tells whether a name is that of a stored table, not of a view."""
    catalog = frame.sparkSession.catalog
    return lambda name: str(catalog.getTable(name).tableType) in ("MANAGED", "EXTERNAL")
