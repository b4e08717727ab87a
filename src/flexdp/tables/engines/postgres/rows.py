"""Views of PostgreSQL: the plan of their rows, and what their definitions depend on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flexdp.tables.records import not_records

__all__ = ["check_stored", "check_view"]

_SCANS = {"Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Tid Scan", "Tid Range Scan"}
_ROW_BY_ROW = {
    "Bitmap Index Scan", "BitmapAnd", "BitmapOr", "Result", "Subquery Scan", "Gather", "Gather Merge", "Sort",
    "Incremental Sort", "Materialize",
}  # fmt: skip
# Of a table or view: its kind and its schema; and of the tables and views that it is made of, itself included, how many
# have a policy for rows; how many things no plan shows: functions of users that their definitions and policies call,
# age(xid), which counts transactions, and other materialised views; and how many are foreign tables, or have one as a
# partition or a child.
_LOOK = """
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
SELECT CAST(t.relkind AS TEXT), CAST(CAST(t.relnamespace AS regnamespace) AS TEXT),
  (SELECT count(*) FROM inside AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.one WHERE c.relrowsecurity),
  (SELECT count(*) FROM definitions AS e
   JOIN pg_catalog.pg_depend AS d ON d.classid = e.catalog AND d.objid = e.rule AND d.refclassid IN (
     CAST('pg_catalog.pg_proc' AS regclass), CAST('pg_catalog.pg_operator' AS regclass)))
  + (SELECT count(*) FROM definitions WHERE strpos(words, ':funcid 1181 ') > 0)
  + (SELECT count(*) FROM inside AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.one
     WHERE c.relkind = 'm' AND i.one <> t.oid),
  (SELECT count(*) FROM family AS f JOIN pg_catalog.pg_class AS c ON c.oid = f.one WHERE c.relkind = 'f')
FROM pg_catalog.pg_class AS t WHERE t.oid = pg_catalog.to_regclass({name})
"""
_DEFINED = "SELECT pg_catalog.pg_get_viewdef(pg_catalog.to_regclass({name}))"
_NOT_IMMUTABLE = "SELECT DISTINCT proname FROM pg_catalog.pg_proc WHERE provolatile <> 'i'"
# Functions that depend on their arguments, the clock, the time zone or the encoding, but on no record.
_STEADY = {
    "now", "statement_timestamp", "transaction_timestamp", "age", "date_part", "date_trunc", "extract", "timezone",
    "date_add", "date_subtract", "make_timestamptz", "to_char", "to_date", "to_timestamp", "to_number", "timestamptz",
    "timestamp", "date", "time", "timetz", "overlaps", "length", "concat", "concat_ws", "format", "quote_literal",
    "quote_nullable", "array_to_string", "convert_from", "convert_to", "numeric", "timestamptz_pl_interval",
    "timestamptz_mi_interval", "interval_pl_timestamptz", "current_database", "current_schema",
}  # fmt: skip
_SYSTEM_COLUMNS = {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}
_LOOKS = re.compile(r"pg_\w*|has_\w*|\w+_to_xml")  # functions that look at tables and catalogues
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


def check_stored(ask: Callable[[str], Sequence[Sequence[Any]]], quoted: str) -> None:
    """Refuse catalogues of the server, and foreign tables: alone, in a view, as a partition or by inheritance.

    ``quoted`` is a literal of a name in SQL.
    """
    _, schema, _, _, foreign = ask(_LOOK.format(name=quoted))[0]
    if _is_catalog(schema) or foreign:
        raise not_records()


def check_view(ask: Callable[[str], Sequence[Sequence[Any]]], name: str, quoted: str, readable: Sequence[str]) -> None:
    """Refuse a view unless it makes each of its rows of one row of one table; stored tables pass without a policy.

    ``name`` is a name in SQL, ``quoted`` a literal of it; ``readable`` are the columns that may be read.
    """
    kind, _, policies, unseen, _ = ask(_LOOK.format(name=quoted))[0]
    if kind not in ("v", "m") and not policies:
        return
    if unseen:
        raise not_records()
    query = ask(_DEFINED.format(name=quoted))[0][0] if kind == "m" else f"SELECT {', '.join(readable)} FROM {name}"
    found = ask(f"EXPLAIN (FORMAT JSON, VERBOSE) {query}")[0][0]
    nodes = list(
        _nodes((json.loads(found) if isinstance(found, str) else found)[0]["Plan"])
    )  # as the driver returns it
    kinds = [node["Node Type"] for node in nodes]
    texts = " ".join(_QUOTED.sub("", text) for node in nodes for text in _texts(node))
    calls = set(re.findall(r"(\w+)\(", texts))
    if (
        not _ROW_BY_ROW.issuperset(set(kinds) - _SCANS)
        or sum(each in _SCANS for each in kinds) != 1
        or any(node.get("Parent Relationship") in ("InitPlan", "SubPlan") for node in nodes)
        or any(_is_catalog(str(node.get("Schema", ""))) for node in nodes)
        or calls & ({str(row[0]) for row in ask(_NOT_IMMUTABLE)} - _STEADY)
        or any(_LOOKS.fullmatch(each) for each in calls)
        or _SYSTEM_COLUMNS.intersection(re.findall(r"\w+", texts))
    ):
        raise not_records()


def _is_catalog(schema: str) -> bool:
    """Tell whether a schema is one of the server's own; those of temporary tables hold what users have made."""
    return schema.startswith(("pg_", "information_schema")) and not schema.startswith("pg_temp")


def _texts(node: Any) -> Iterator[str]:
    """Yield the expressions of a node, without those of the nodes below."""
    for key, value in node.items():
        if key != "Plans":
            yield from (str(each) for each in (value if isinstance(value, list) else [value]))


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
