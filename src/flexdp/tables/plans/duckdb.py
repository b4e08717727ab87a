"""Plans of DuckDB relations and views: the logical plan, before an optimiser could hide a step."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from flexdp.errors import InputError, P
from flexdp.tables.plans.duckdb_files import FRAME_SCANS, check_files, without_reader_options
from flexdp.tables.plans.refusal import UNKNOWN, checked, computed_query, not_records, shadowed

__all__ = ["Function", "check_macros", "check_relation", "functions_of"]

_ROW_BY_ROW = {"PROJECTION", "FILTER", "ORDER_BY", "CTE", "CTE_SCAN", "MATERIALIZED_CTE", "UNION"}
_TABLES = {
    "SEQ_SCAN", "TABLE_SCAN", "PARQUET_SCAN", "READ_PARQUET", "ARROW_SCAN", "ARROW_SCAN_DUMB", "PYTHON_ARROW_SCAN",
    "PANDAS_SCAN", "ICEBERG_SCAN", "DELTA_SCAN", "RANGE", "GENERATE_SERIES", "EXPRESSION_GET", "DUMMY_SCAN",
}  # fmt: skip
_ELSEWHERE = "a table of another database, which may be a view"
_REASONS = {
    "WINDOW": "a window", "AGGREGATE": "an aggregate", "LIMIT": "a limit", "TOP_N": "a limit",
    "SAMPLE": "a sample", "DISTINCT": "DISTINCT", "UNNEST": "an UNNEST", "COMPARISON_JOIN": "a join",
    "CROSS_PRODUCT": "a join or a subquery", "ASOF_JOIN": "a join", "POSITIONAL_JOIN": "a join", "ANY_JOIN": "a join",
    "DEPENDENT_JOIN": "a join or a subquery", "DELIM_JOIN": "a join or a subquery", "REC_CTE": "a recursion",
    "EXCEPT": "EXCEPT", "INTERSECT": "INTERSECT", "PIVOT": "a pivot", "SQLITE_SCAN": _ELSEWHERE,
    "POSTGRES_SCAN": _ELSEWHERE, "MYSQL_SCAN": _ELSEWHERE,
}  # fmt: skip
_EXPLAINED = "explain_output"
# By its full name, and without an operator: any of them may be somebody's macro. One reading of the list takes 11 ms.
_FUNCTIONS = (
    "SELECT function_name, function_type, internal, parameter_types, extension_name, stability, macro_definition "
    "FROM system.main.duckdb_functions()"
)
_MACROS = {"macro", "table_macro"}
# Functions that make rows and may stand in a text. Some others leave no step of their own in a plan.
_MAKING_ROWS = {
    "arrow_scan", "arrow_scan_dumb", "delta_scan", "glob", "iceberg_scan", "pandas_scan", "parquet_scan",
    "python_arrow_scan", "read_parquet", "unnest",
}  # fmt: skip
_QUERIES = {"query", "query_table"}
_DEFINITIONS = """
SELECT view_name, sql FROM duckdb_views() WHERE NOT internal
UNION ALL SELECT table_name, generation_expression FROM duckdb_columns() WHERE is_generated
"""
_PLACES = re.compile(r"(?<!\w)(rowid|file_row_number|file_index)(?!\w)", re.IGNORECASE)
_STEADY = {"CONSISTENT", ""}  # of functions of their arguments alone; functions that make rows have no stability
# Constant within a query, and none of them depends on records, as the number of the transaction or a setting may.
_CLOCKS_AND_NAMES = {
    "current_date", "get_current_time", "get_current_timestamp", "now", "today", "transaction_timestamp",
    "current_database", "current_schema", "current_schemas", "in_search_path",
}  # fmt: skip
_PLANNING = {"json_serialize_plan"}  # said to be consistent, but an optimised plan depends on statistics of tables
_HIDDEN = re.compile(r"__duckdb_source_\w+")  # how a text names a variable of Python: a frame, or a relation
# Between a name and its bracket: DuckDB ends a comment at either end of a line, and reads these signs as blanks.
_CALLED = r'(?<!\w)({})"?(?:[\s\u200b-\u200d\u2060\ufeff]|/\*.*?\*/|--[^\n\r]*[\n\r])*\('


class Function(NamedTuple):
    """A function or macro that a connection knows, as DuckDB lists it."""

    name: str
    kind: str
    internal: bool
    types: str
    extension: str
    stability: str
    definition: str

    @property
    def is_macro(self) -> bool:
        """True of macros of both kinds."""
        return self.kind in _MACROS


def functions_of(ask: Callable[[str], Any]) -> list[Function]:
    """Return the functions and macros that a connection knows; refuse it if it does not list them."""
    found: list[Function] = []
    checked(
        lambda: found.extend(
            Function(name, kind, internal, str(types), extension or "", stability or "", str(definition))
            for name, kind, internal, types, extension, stability, definition in ask(_FUNCTIONS).fetchall()
        )
    )
    return found


def check_macros(functions: Collection[Function]) -> None:
    """Refuse a connection with a macro that takes the place of a built-in function.

    Functions are also called by operators, by ``[a, b]``, by ``EXTRACT`` and by built-in macros, so that no text shows
    whether such a macro is used.
    """
    built_in = {each.name.lower() for each in functions if each.internal}
    own = {each.name.lower() for each in functions if each.is_macro and not each.internal}
    if own & built_in or not all(re.search(r"\w", name) for name in own):
        raise shadowed()


def check_relation(
    ask: Callable[[str], Any],
    name: str,
    text: Callable[[], str],
    functions: Collection[Function],
    built_in: Callable[[], Collection[Function]],
    *,
    stored: bool = False,
) -> None:
    """Refuse a relation unless its plan works row by row, and its text names nothing else.

    ``ask`` queries it under a name; ``functions`` are those of its connection, and ``built_in`` returns those of a new
    one. A ``stored`` table is no query.
    """
    names = _check_plan(ask, name, stored)
    checked(lambda: _check_words(ask, names, text(), functions, built_in))


def _check_words(
    ask: Callable[[str], Any],
    names: list[str],
    text: str,
    functions: Collection[Function],
    built_in: Callable[[], Collection[Function]],
) -> None:
    """Refuse what a plan does not show, since it prints an expression by its alias, wherever it stands in the text.

    The text is searched as it is, with its comments and its constants, so that no way of quoting can hide a name.
    """
    whole = _definitions(ask, text, functions)
    making_rows = {each.name for each in functions if each.kind == "table"} - _MAKING_ROWS
    if _called(whole, (making_rows - {each.name for each in functions if each.kind == "scalar"}) | _QUERIES):
        raise computed_query()
    if _PLACES.search(whole) and _PLACES.search(without_reader_options(whole, "file_row_number")):
        raise not_records("the number of a row, which depends on the rows before it")
    if "(" in whole and _called(whole, _doubtful(functions, built_in())):
        raise not_records("randomness, a sequence or a function that may depend on more than one row")
    if len(set(_HIDDEN.findall(text))) > sum(name in FRAME_SCANS for name in names):
        raise not_records("another relation, whose text is not shown")
    check_files(ask, whole, names)


def _doubtful(functions: Collection[Function], built_in: Collection[Function]) -> set[str]:
    """Return the names of functions that may differ for the same row, and of those that somebody has registered."""
    doubtful = {
        each.name
        for each in functions
        if not each.is_macro
        and (
            (each.stability not in _STEADY and each.name not in _CLOCKS_AND_NAMES)
            or (not each.extension and each not in built_in)
        )
    }
    doubtful |= _PLANNING
    macros = [each for each in functions if each.is_macro and each.internal]
    while more := {each.name for each in macros if each.name not in doubtful and _called(each.definition, doubtful)}:
        doubtful |= more
    return doubtful


def _called(text: str, names: set[str]) -> bool:
    alternatives = "|".join(map(re.escape, sorted(names)))
    return re.search(_CALLED.format(alternatives), text, re.IGNORECASE | re.DOTALL) is not None


def _definitions(ask: Callable[[str], Any], text: str, functions: Collection[Function]) -> str:
    """Return a text with the definitions of what it names, and what they name: views, macros, computed columns."""
    waiting: dict[str, list[str]] = {}  # several of one name: of other schemas, or with other arguments
    macros = [(each.name, each.definition) for each in functions if each.is_macro and not each.internal]
    for name, words in [*ask(_DEFINITIONS).fetchall(), *macros]:
        waiting.setdefault(str(name), []).append(str(words))
    parts = [text]
    for part in parts:  # which grows
        for name in [each for each in waiting if _names(part, each)]:
            parts += waiting.pop(name)
    return "\n".join(parts)


def _names(text: str, name: str) -> bool:
    quoted = re.escape(name.replace('"', '""'))
    return re.search(rf"(?<!\w){quoted}(?!\w)", text, re.IGNORECASE) is not None


def _check_plan(ask: Callable[[str], Any], name: str, stored: bool) -> list[str]:
    """Refuse a plan unless it works row by row; return its steps."""
    plan: Any = None
    fixed = False
    with suppress(Exception):  # the engine's message is not repeated; refused below
        fixed = _shows_plans(ask) is None
        if not fixed or stored:
            plan = json.loads(_plan_of(ask, name, fixed))
    if plan is None and fixed:
        raise InputError(
            "source",
            "is a query on a DuckDB connection whose configuration is locked, so that its plan cannot be shown",
            remedy=(
                "Pass the table itself, or set ",
                P("rows_are_records", True),
                " if every record yields at most one row and no row depends on more than one record.",
            ),
        )
    if plan is None:
        raise not_records("a plan that cannot be read")
    nodes = list(_nodes(plan))
    names = [str(node["name"]).strip().upper() for node in nodes]
    for each in names:
        if each not in _ROW_BY_ROW and each not in _TABLES:
            raise not_records(_REASONS.get(each, UNKNOWN))
    if "UNION" in names and not _all_different(nodes, names):
        raise not_records("a UNION of what may be the same records twice")
    return names


def _shows_plans(ask: Callable[[str], Any]) -> bool | None:
    """Tell whether a connection shows all plans already; None if it does not, and its settings are locked."""
    shown, locked = ask(f"SELECT current_setting('{_EXPLAINED}'), current_setting('lock_configuration')").fetchall()[0]
    return True if str(shown).lower() == "all" else None if locked else False


def _plan_of(ask: Callable[[str], Any], name: str, fixed: bool) -> str:
    """Explain with the setting that shows all plans, and restore the caller's.

    Where settings are ``fixed``, only the plan that is run is shown, from which an optimiser may have removed a step.
    """
    before = ask(f"SELECT current_setting('{_EXPLAINED}')").fetchall()[0][0]
    changes = not fixed and str(before).lower() != "all"
    if changes:
        ask(f"SET {_EXPLAINED} = 'all'")
    try:
        rows = ask(f"EXPLAIN (FORMAT JSON) FROM {name}").fetchall()
    finally:
        if changes:
            ask(f"SET {_EXPLAINED} = '{str(before).lower()}'")
    return str(next(text for kind, text in rows if kind == ("physical_plan" if fixed else "logical_plan")))


def _nodes(plan: Any) -> Iterator[Any]:
    for node in plan if isinstance(plan, list) else [plan]:
        yield node
        yield from _nodes(node["children"])


def _all_different(nodes: list[Any], names: list[str]) -> bool:
    """Tell whether a union reads tables that are known by name, and each of them once."""
    leaves = [node for node in nodes if not node["children"]]
    tables = [node.get("extra_info", {}).get("Table") for node in leaves]
    return "CTE" not in names and None not in tables and len(set(tables)) == len(tables)
