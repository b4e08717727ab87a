"""Views of PostgreSQL: the plan of their rows, and what their definitions depend on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flexdp.tables.plans.refusal import UNKNOWN, not_records

__all__ = ["check_view"]

_ROW_BY_ROW = {
    "Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Bitmap Index Scan", "BitmapAnd", "BitmapOr",
    "Tid Scan", "Tid Range Scan", "Foreign Scan", "Result", "Subquery Scan", "Gather", "Gather Merge", "Append",
    "Merge Append", "Sort", "Incremental Sort", "Materialize",
}  # fmt: skip
_REASONS = {
    "WindowAgg": "a window", "Aggregate": "an aggregate", "Group": "an aggregate", "Limit": "a limit",
    "Nested Loop": "a join", "Hash Join": "a join", "Merge Join": "a join", "Unique": "DISTINCT",
    "SetOp": "EXCEPT or INTERSECT", "Sample Scan": "a sample", "ProjectSet": "a step that makes several rows of one",
    "Function Scan": "a function that makes rows", "CTE Scan": "a WITH clause that is used several times",
    "Recursive Union": "a recursion",
}  # fmt: skip
# Views, materialised or not, that a view is made of, itself included; and the functions of users that they call.
_KIND = "SELECT CAST(relkind AS TEXT) FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass({name})"
_DEFINED = "SELECT pg_catalog.pg_get_viewdef(pg_catalog.to_regclass({name}))"
_INSIDE = """
WITH RECURSIVE inside(view) AS (
  SELECT CAST(pg_catalog.to_regclass({name}) AS oid)
  UNION
  SELECT d.refobjid FROM inside AS i
  JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = i.view
  JOIN pg_catalog.pg_depend AS d ON d.classid = CAST('pg_catalog.pg_rewrite' AS regclass) AND d.objid = r.oid
    AND d.refclassid = CAST('pg_catalog.pg_class' AS regclass)
  JOIN pg_catalog.pg_class AS c ON c.oid = d.refobjid AND c.relkind IN ('v', 'm')
)
SELECT
  (SELECT count(*) FROM inside AS i JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = i.view
   JOIN pg_catalog.pg_depend AS d ON d.classid = CAST('pg_catalog.pg_rewrite' AS regclass) AND d.objid = r.oid
     AND d.refclassid = CAST('pg_catalog.pg_proc' AS regclass)),
  (SELECT count(*) FROM inside AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.view AND c.relkind = 'm'
   WHERE i.view <> CAST(pg_catalog.to_regclass({name}) AS oid))
"""


def check_view(ask: Callable[[str], Sequence[Sequence[Any]]], name: str, quoted: str) -> None:
    """Refuse a view unless it works row by row; tables pass. ``name`` is a name in SQL, ``quoted`` a literal of it."""
    kind = ask(_KIND.format(name=quoted))[0][0]
    if kind not in ("v", "m"):
        return
    functions, stored = ask(_INSIDE.format(name=quoted))[0]
    if functions:
        raise not_records("a function that somebody has written")
    if stored:
        raise not_records("a materialised view in a view")
    query = f"SELECT * FROM {name}" if kind == "v" else str(ask(_DEFINED.format(name=quoted))[0][0])
    found = ask(f"EXPLAIN (FORMAT JSON, VERBOSE) {query}")[0][0]
    plan = json.loads(found) if isinstance(found, str) else found  # as the driver returns it
    nodes = list(_nodes(plan[0]["Plan"]))
    for node in nodes:
        if node.get("Parent Relationship") in ("InitPlan", "SubPlan"):
            raise not_records("a subquery")
        if node["Node Type"] not in _ROW_BY_ROW:
            raise not_records(_REASONS.get(node["Node Type"], UNKNOWN))
        if "nextval(" in str(node.get("Output", "")):
            raise not_records("a sequence, which numbers rows by their order")
    scanned = [(node.get("Schema"), node["Relation Name"]) for node in nodes if "Relation Name" in node]
    if len(set(scanned)) < len(scanned):
        raise not_records("a UNION of the same records twice")


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
