"""Views of PostgreSQL: the plan of their rows, and what their definitions depend on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flexdp.tables.plans.refusal import UNKNOWN, not_records

__all__ = ["check_stored", "check_view"]

_ROW_BY_ROW = {
    "Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Bitmap Index Scan", "BitmapAnd", "BitmapOr",
    "Tid Scan", "Tid Range Scan", "Result", "Subquery Scan", "Gather", "Gather Merge", "Append",
    "Merge Append", "Sort", "Incremental Sort", "Materialize",
}  # fmt: skip
_ELSEWHERE = "a table of another server, which may be a view"
_CATALOG = "a table of the server itself, which may count the rows of others"
_GROUPED = "an aggregate or DISTINCT"  # the server chooses the step by statistics of the data
_REASONS = {
    "WindowAgg": "a window", "Aggregate": _GROUPED, "Group": _GROUPED, "Unique": _GROUPED, "Limit": "a limit",
    "Nested Loop": "a join", "Hash Join": "a join", "Merge Join": "a join", "Foreign Scan": _ELSEWHERE,
    "SetOp": "EXCEPT or INTERSECT", "Sample Scan": "a sample", "ProjectSet": "a step that makes several rows of one",
    "Function Scan": "a function that makes rows", "CTE Scan": "a WITH clause that is used several times",
    "Recursive Union": "a recursion",
}  # fmt: skip
_KIND = (
    "SELECT CAST(relkind AS TEXT), CAST(relnamespace AS regnamespace) "
    "FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass({name})"
)
_DEFINED = "SELECT pg_catalog.pg_get_viewdef(pg_catalog.to_regclass({name}))"
# Tables and views that a view is made of, itself included; those with a policy for rows; what users have written that
# their definitions and policies call, or age(xid), which counts transactions; materialised views among them; and
# foreign tables among them, their partitions and the tables that inherit from them.
_INSIDE = """
WITH RECURSIVE inside(one) AS (
  SELECT CAST(pg_catalog.to_regclass({name}) AS oid)
  UNION
  SELECT d.refobjid FROM inside AS i
  JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = i.one
  JOIN pg_catalog.pg_depend AS d ON d.classid = CAST('pg_catalog.pg_rewrite' AS regclass) AND d.objid = r.oid
    AND d.refclassid = CAST('pg_catalog.pg_class' AS regclass)
),
family(one) AS (
  SELECT one FROM inside
  UNION
  SELECT h.inhrelid FROM family AS f JOIN pg_catalog.pg_inherits AS h ON h.inhparent = f.one
),
definitions(catalog, rule, words) AS (
  SELECT CAST('pg_catalog.pg_rewrite' AS regclass), r.oid, CAST(r.ev_action AS TEXT)
  FROM inside AS i JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = i.one
  UNION ALL
  SELECT CAST('pg_catalog.pg_policy' AS regclass), p.oid, CAST(p.polqual AS TEXT)
  FROM inside AS i JOIN pg_catalog.pg_policy AS p ON p.polrelid = i.one
)
SELECT
  (SELECT count(*) FROM inside AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.one WHERE c.relrowsecurity),
  (SELECT count(*) FROM definitions AS e
   JOIN pg_catalog.pg_depend AS d ON d.classid = e.catalog AND d.objid = e.rule AND d.refclassid IN (
     CAST('pg_catalog.pg_proc' AS regclass), CAST('pg_catalog.pg_operator' AS regclass)))
  + (SELECT count(*) FROM definitions WHERE strpos(words, ':funcid 1181 ') > 0),
  (SELECT count(*) FROM inside AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.one AND c.relkind = 'm'
   WHERE i.one <> CAST(pg_catalog.to_regclass({name}) AS oid)),
  (SELECT count(*) FROM family AS f JOIN pg_catalog.pg_class AS c ON c.oid = f.one WHERE c.relkind = 'f')
"""
_NOT_IMMUTABLE = "SELECT DISTINCT proname FROM pg_catalog.pg_proc WHERE provolatile <> 'i'"
# Functions that depend on their arguments, the clock, the time zone or the encoding, but on no record.
_STEADY = {
    "now", "statement_timestamp", "transaction_timestamp", "age", "date_part", "date_trunc", "extract", "timezone",
    "date_add", "date_subtract", "make_timestamptz", "to_char", "to_date", "to_timestamp", "to_number", "timestamptz",
    "timestamp", "date", "time", "timetz", "overlaps", "length", "concat", "concat_ws", "format", "quote_literal",
    "quote_nullable", "array_to_string", "convert_from", "convert_to", "numeric", "timestamptz_pl_interval",
    "timestamptz_mi_interval", "interval_pl_timestamptz", "current_database", "current_schema",
}  # fmt: skip
_CATALOGS = ("pg_", "information_schema")
_TEMPORARY = "pg_temp"
_SYSTEM_COLUMNS = re.compile(r"\b(ctid|xmin|xmax|cmin|cmax|tableoid)\b")
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_CALL = re.compile(r"(\w+)\(")
_LOOKS = ("pg_", "has_")  # functions that look at tables and catalogues


def check_stored(ask: Callable[[str], Sequence[Sequence[Any]]], quoted: str) -> None:
    """Refuse catalogues of the server, and foreign tables: alone, in a view, as a partition or by inheritance.

    ``quoted`` is a literal of a name in SQL.
    """
    _, schema = ask(_KIND.format(name=quoted))[0]
    if _is_catalog(str(schema)):
        raise not_records(_CATALOG)
    if ask(_INSIDE.format(name=quoted))[0][-1]:
        raise not_records(_ELSEWHERE)


def check_view(ask: Callable[[str], Sequence[Sequence[Any]]], name: str, quoted: str, readable: Sequence[str]) -> None:
    """Refuse a view unless it works row by row; stored tables pass whose rows are all visible.

    ``name`` is a name in SQL, ``quoted`` a literal of it; ``readable`` are the columns that may be read.
    """
    kind, _ = ask(_KIND.format(name=quoted))[0]
    policies, functions, stored, _ = ask(_INSIDE.format(name=quoted))[0]
    if kind not in ("v", "m") and not policies:
        return
    if functions:
        raise not_records("a function that somebody has written")
    if stored:
        raise not_records("a materialised view in a view")
    listed = ", ".join(readable)
    query = str(ask(_DEFINED.format(name=quoted))[0][0]) if kind == "m" else f"SELECT {listed} FROM {name}"
    found = ask(f"EXPLAIN (FORMAT JSON, VERBOSE) {query}")[0][0]
    plan = json.loads(found) if isinstance(found, str) else found  # as the driver returns it
    nodes = list(_nodes(plan[0]["Plan"]))
    for node in nodes:
        if node.get("Parent Relationship") in ("InitPlan", "SubPlan"):
            raise not_records("a subquery")
        if node["Node Type"] not in _ROW_BY_ROW:
            raise not_records(_REASONS.get(node["Node Type"], UNKNOWN))
    words = [_QUOTED.sub("", text) for node in nodes for text in _texts(node)]
    doubtful = {str(row[0]) for row in ask(_NOT_IMMUTABLE)} - _STEADY
    calls = {call for text in words for call in _CALL.findall(text)}
    if calls & doubtful or any(call.startswith(_LOOKS) or call.endswith("_to_xml") for call in calls):
        raise not_records("randomness, a sequence or a function that may depend on more than one row")
    if any(_SYSTEM_COLUMNS.search(text) for text in words):
        raise not_records("the place or the transaction of a row, which depend on other rows")
    if any(_is_catalog(str(node.get("Schema", ""))) for node in nodes):
        raise not_records(_CATALOG)
    scanned = [(node.get("Schema"), node["Relation Name"]) for node in nodes if "Relation Name" in node]
    if len(set(scanned)) < len(scanned):
        raise not_records("a UNION of the same records twice")


def _is_catalog(schema: str) -> bool:
    """Tell whether a schema is one of the server's own; those of temporary tables hold what users have made."""
    return schema.startswith(_CATALOGS) and not schema.startswith(_TEMPORARY)


def _texts(node: Any) -> Iterator[str]:
    """Yield the expressions of a node, without those of the nodes below."""
    for key, value in node.items():
        if key != "Plans":
            yield from (str(each) for each in (value if isinstance(value, list) else [value]))


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
