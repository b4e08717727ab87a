"""Plans of Spark DataFrames: the analysed logical plan, before an optimiser could hide a step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from flexdp.tables.plans.refusal import UNKNOWN, not_records

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
_NODE = re.compile(r"[\s:+\-|]*'?([A-Za-z]\w*)")
_MOST_NODES = 20_000


def check_frame(frame: Any) -> None:
    """Refuse a DataFrame unless its plan works row by row."""
    names: list[str] | None = None
    deterministic = False
    with suppress(Exception):  # the engine's message is not repeated; refused below
        if hasattr(frame, "_jdf"):
            names, deterministic = _classic(frame._jdf.queryExecution().analyzed())
        else:
            names, deterministic = _described(frame._explain_string(mode="extended")), True
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


def _described(text: str) -> list[str]:
    """Return the steps of the analysed plan in a description, of which a server tells nothing else."""
    analysed = text.split("== Analyzed Logical Plan ==")[1].split("== Optimized Logical Plan ==")[0]
    lines = analysed.strip("\n").splitlines()[1:]  # the first line lists the columns
    found = [_NODE.match(line) for line in lines if line.strip()]
    names = ["" if match is None else match.group(1) for match in found]
    return [*names, "Subquery"] if "subquery" in analysed else names
