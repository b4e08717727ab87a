"""Relations and views of DuckDB: the logical plan, before an optimiser could hide a step, and forbidden words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from flexdp.tables.records import all_different, checked, in_folder, is_remote, not_records, shadowed

__all__ = ["Function", "check_macros", "check_relation", "functions_of"]

_ROW_BY_ROW = {"PROJECTION", "FILTER", "ORDER_BY", "CTE", "CTE_SCAN", "MATERIALIZED_CTE", "DUMMY_SCAN"}
_FILES = {"PARQUET_SCAN", "READ_PARQUET"}
# Of stored rows; a scan of an Arrow stream is none, because the stream may be computed.
_SCANS = {
    *_FILES, "SEQ_SCAN", "TABLE_SCAN", "ICEBERG_SCAN", "DELTA_SCAN", "RANGE", "GENERATE_SERIES", "EXPRESSION_GET",
}  # fmt: skip
# By its full name, and without an operator: any of them may be somebody's macro. One reading of the list takes 11 ms.
_FUNCTIONS = (
    "SELECT function_name, function_type, internal, parameter_types, extension_name, stability, macro_definition "
    "FROM system.main.duckdb_functions()"
)
_DEFINITIONS = """
SELECT view_name, sql FROM duckdb_views() WHERE NOT internal
UNION ALL SELECT table_name, generation_expression FROM duckdb_columns() WHERE is_generated
"""
# Constant within a query, and none of them depends on records, as the number of the transaction or a setting may.
_STEADY = {
    "current_date", "get_current_time", "get_current_timestamp", "now", "today", "transaction_timestamp",
    "current_database", "current_schema", "current_schemas", "in_search_path",
}  # fmt: skip
_MAKING_ROWS = {  # functions that are scans or constants; others run queries, or show what the engine knows of tables
    "delta_scan", "generate_series", "iceberg_scan", "parquet_scan", "range", "read_parquet", "unnest",
}  # fmt: skip
_PLANNING = {"query", "query_table", "json_serialize_plan"}  # a query that is a value; a plan with statistics
_ROW_NUMBERS = re.compile(r"(?<!\w)(rowid|file_row_number(?! := false[,)])|file_index)(?!\w)", re.IGNORECASE)
_HIDDEN = "__duckdb_source_"  # in the name of a variable of Python: a frame, or a relation, whose text is not shown
# Between a name and its bracket: DuckDB ends a comment at either end of a line, and reads these signs as blanks.
_CALLED = r'(?<!\w)({})"?(?:[\s\u200b-\u200d\u2060\ufeff]|/\*.*?\*/|--[^\n\r]*[\n\r])*\('
_READER = re.compile(r"read_parquet|parquet_scan", re.IGNORECASE)
_PATHS = re.compile(  # constants alone, in a reader or after FROM; DuckDB itself writes list_value into views
    r"""(?:read_parquet|parquet_scan)\(\s*(
        '[^']*' | \['[^']*'(?:\s*,\s*'[^']*')*\] | (?:main\.)?list_value\('[^']*'(?:\s*,\s*'[^']*')*\)
    )\s*[,)] | (?:FROM|TABLE)\s+('[^']*parquet[^']*'|"[^"]*parquet[^"]*")""",
    re.IGNORECASE | re.VERBOSE,
)


class Function(NamedTuple):
    """A function or macro that a connection knows, as DuckDB lists it."""

    name: str
    kind: str
    internal: bool
    types: str
    extension: str
    stability: str
    definition: str


def functions_of(ask: Callable[[str], Any]) -> list[Function]:
    """Return the functions and macros that a connection knows; refuse it if it does not list them."""
    found: list[Function] = []
    checked(
        lambda: found.extend(
            Function(name, kind, internal, str(types), extension or "", stability or "CONSISTENT", str(definition))
            for name, kind, internal, types, extension, stability, definition in ask(_FUNCTIONS).fetchall()
        )
    )
    return found


def check_macros(functions: Collection[Function]) -> None:
    """Refuse a connection with a macro that takes the place of a built-in function.

    Functions are also called by operators, by ``[a, b]``, by ``EXTRACT`` and by built-in macros, so that no text shows
    whether such a macro is used.
    """
    own = {each.name.lower() for each in functions if not each.internal}
    if own & {each.name.lower() for each in functions if each.internal} or not all(re.search(r"\w", n) for n in own):
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
    """Refuse a relation unless it makes each of its rows of one row of one scan.

    ``ask`` queries it under a name; ``functions`` are those of its connection, and ``built_in`` returns those of a new
    one. A ``stored`` table is no query, but may have computed columns.
    """

    def check() -> None:
        names = [str(node["name"]).strip().upper() for node in _nodes(_plan_of(ask, name, stored))]
        scans = [each for each in names if each in _SCANS]
        whole = _with_definitions(ask, text(), functions)
        if (
            not _ROW_BY_ROW.issuperset(set(names) - _SCANS)
            or len(scans) != 1
            or _ROW_NUMBERS.search(whole)
            or _called(whole, _forbidden(functions, built_in()))
            or _HIDDEN in whole
            or (scans[0] in _FILES and not _reads_files_once(ask, whole))
        ):
            raise not_records()

    checked(check)


def _plan_of(ask: Callable[[str], Any], name: str, stored: bool) -> Any:
    """Explain with the setting that shows all plans, and restore the caller's.

    Where settings are locked, only the plan that is run is shown, from which an optimiser may have removed a step.
    """
    shown, locked = ask("SELECT current_setting('explain_output'), current_setting('lock_configuration')").fetchall()[0]
    changes = str(shown).lower() != "all" and not locked
    if locked and str(shown).lower() != "all" and not stored:
        raise not_records()
    if changes:
        ask("SET explain_output = 'all'")
    try:
        plans = dict(ask(f"EXPLAIN (FORMAT JSON) FROM {name}").fetchall())
    finally:
        if changes:
            ask(f"SET explain_output = '{str(shown).lower()}'")
    return json.loads(plans["physical_plan" if stored and locked else "logical_plan"])


def _nodes(plan: Any) -> Iterator[Any]:
    for node in plan:
        yield node
        yield from _nodes(node["children"])


def _with_definitions(ask: Callable[[str], Any], text: str, functions: Collection[Function]) -> str:
    """Return a text with the definitions of what it names, and what they name: views, macros, computed columns."""
    macros = [(each.name, each.definition) for each in functions if not each.internal]
    waiting: dict[str, list[str]] = {}  # several of one name: of other schemas, or with other arguments
    for name, words in [*ask(_DEFINITIONS).fetchall(), *macros]:
        waiting.setdefault(str(name), []).append(str(words))
    parts = [text]
    for part in parts:  # which grows
        for name in [each for each in waiting if _word(each).search(part)]:
            parts += waiting.pop(name)
    return "\n".join(parts)


def _word(name: str) -> re.Pattern[str]:
    quoted = re.escape(name.replace('"', '""'))
    return re.compile(rf"(?<!\w){quoted}(?!\w)", re.IGNORECASE)


def _forbidden(functions: Collection[Function], built_in: Collection[Function]) -> set[str]:
    """Return the names of functions that may differ for the same row, run a query, or were written by somebody."""
    macros = [each for each in functions if "macro" in each.kind]
    own = {each.name for each in functions if each not in built_in and not each.extension and each not in macros}
    unsteady = {each.name for each in functions if each.stability != "CONSISTENT"} - _STEADY
    scalar = {each.name for each in functions if each.kind == "scalar"}
    tables = {each.name for each in functions if each.kind == "table"} - _MAKING_ROWS - scalar
    calling = {each.name for each in macros if each.internal and _called(each.definition, unsteady)}
    return own | unsteady | tables | calling | _PLANNING


def _called(text: str, names: Collection[str]) -> bool:
    alternatives = "|".join(map(re.escape, sorted(names)))
    return re.search(_CALLED.format(alternatives), text, re.IGNORECASE | re.DOTALL) is not None


def _reads_files_once(ask: Callable[[str], Any], text: str) -> bool:
    """Tell whether the paths of one scan are constants, and their files known to be different."""
    found = _PATHS.findall(text)
    named = {tuple(re.findall(r"""['"]([^'"]*)['"]""", "".join(each))) for each in found}
    if len(named) != 1 or len(_READER.findall(text)) != sum(bool(reader) for reader, _ in found):
        return False
    paths = named.pop()
    if len(paths) == 1 and is_remote(paths[0]):  # a store has no links, and lists every name once
        return True
    listed = [_files_of(ask, path) for path in paths]
    return [] not in listed and all_different([file for files in listed for file in files])


def _files_of(ask: Callable[[str], Any], path: str) -> list[str]:
    """Return the files of a path as the engine finds them; a directory is searched here."""
    if is_remote(path) or Path(path).is_dir():
        return [] if is_remote(path) else in_folder(path)
    return [str(row[0]) for row in ask(f"SELECT file FROM glob('{path}')").fetchall()]
