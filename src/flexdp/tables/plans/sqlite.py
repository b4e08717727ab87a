"""Views of SQLite, by the words of their definitions: plans of SQLite do not show a limit, nor every aggregate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flexdp.tables.plans.refusal import not_records
from flexdp.tables.plans.words import Word, source_of, words_of

__all__ = ["check_view"]

_SCALAR = {
    "ABS", "COALESCE", "IFNULL", "NULLIF", "IIF", "LENGTH", "LOWER", "UPPER", "SUBSTR", "SUBSTRING", "TRIM", "LTRIM",
    "RTRIM", "REPLACE", "INSTR", "ROUND", "SIGN", "TYPEOF", "UNICODE", "HEX", "DATE", "TIME", "DATETIME", "JULIANDAY",
    "STRFTIME", "PRINTF", "FORMAT", "CAST", "CEIL", "CEILING", "FLOOR", "SQRT", "POW", "POWER", "EXP", "LN", "LOG",
}  # fmt: skip
_DEEPEST = 20
_PLACES = {"ROWID", "_ROWID_", "OID"}
_CODE = {"REGEXP", "MATCH"}  # operators without a meaning of their own
# Names of functions that somebody has registered, perhaps in the place of built-in ones.
_REGISTERED = "SELECT upper(name) FROM pragma_function_list WHERE NOT builtin OR type <> 's'"


def check_view(
    ask: Callable[[str], Sequence[Sequence[Any]]],
    name: str,
    schema: str,
    quote: Callable[[str], str],
    identifier: Callable[[str], str],
) -> None:
    """Refuse a view unless it works row by row; tables pass, but for virtual ones."""
    databases = (
        [schema] if schema else ["temp", *(str(row[1]) for row in ask("PRAGMA database_list") if row[1] != "temp")]
    )
    for _ in range(_DEEPEST):
        rows = [
            row
            for database in databases
            for row in ask(
                f"SELECT type, sql FROM {identifier(database)}.sqlite_schema "
                f"WHERE name = {quote(name)} COLLATE NOCASE AND type IN ('table', 'view')"
            )
        ]
        if not rows or name.lower().startswith("sqlite_"):  # those count the rows of others
            raise not_records("a table that is computed, not stored")
        words = words_of(str(rows[0][1]))
        if rows[0][0] == "table":
            if [text.upper() for _, text in words[1:2]] == ["VIRTUAL"]:
                raise not_records("a virtual table, whose rows may be computed")
            return
        _check_words(words, {str(row[0]) for row in ask(_REGISTERED)})
        name, schema = _table_of(source_of(words, _SCALAR))
        databases = [schema] if schema else databases
    raise not_records("views that are nested too deep")


def _check_words(words: list[Word], registered: set[str]) -> None:
    """Refuse what is written without a bracket: numbers of rows, and operators that call somebody's function."""
    upper = {text.upper() for kind, text in words if kind in ("word", "name")}
    if upper & _PLACES:
        raise not_records("the number of a row, which depends on the rows before it")
    if upper & (_CODE | (registered & (_SCALAR | {"LIKE", "GLOB"}))):
        raise not_records("a function that somebody has written")


def _table_of(source: list[Word]) -> tuple[str, str]:
    """Return the one table after FROM, which may have another name after it, and its database."""
    if not source or source[0][0] not in ("word", "name"):
        raise not_records("a subquery")
    schema = ""
    if source[1:2] == [("sign", ".")] and len(source) > 2:
        schema, source = source[0][1], source[2:]
    alias = [text.upper() for kind, text in source[1:] if kind in ("word", "name")]
    if len(alias) < len(source) - 1 or len(alias) > 2 or (len(alias) == 2 and alias[0] != "AS"):
        raise not_records("a join")
    return source[0][1], schema
