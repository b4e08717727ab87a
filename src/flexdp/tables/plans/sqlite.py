"""Views of SQLite, by the words of their definitions: plans of SQLite do not show a limit, nor every aggregate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from flexdp.tables.plans.computed import calls, definitions, with_dependents
from flexdp.tables.plans.refusal import UNKNOWN, not_records
from flexdp.tables.plans.words import Word, depths_of, source_of, words_of

__all__ = ["check_view", "computed_columns"]

_SCALAR = {
    "ABS", "COALESCE", "IFNULL", "NULLIF", "IIF", "LENGTH", "LOWER", "UPPER", "SUBSTR", "SUBSTRING", "TRIM", "LTRIM",
    "RTRIM", "REPLACE", "INSTR", "ROUND", "SIGN", "TYPEOF", "UNICODE", "HEX", "DATE", "TIME", "DATETIME", "JULIANDAY",
    "STRFTIME", "PRINTF", "FORMAT", "CAST", "CEIL", "CEILING", "FLOOR", "SQRT", "POW", "POWER", "EXP", "LN", "LOG",
}  # fmt: skip
_OF_TWO = {"MAX", "MIN"}  # of one row with two arguments, aggregates with one
_DEEPEST = 20
_TOO_DEEP = "views that are nested too deep"
_PLACES = {"ROWID", "_ROWID_", "OID"}
_CODE = {"REGEXP", "MATCH"}  # operators without a meaning of their own
# Names of functions that somebody has registered, perhaps in the place of built-in ones.
_REGISTERED = "SELECT upper(name), builtin FROM pragma_function_list WHERE NOT builtin OR type <> 's'"
_WRITTEN = "a function that somebody has written"
_COLLATIONS = {"BINARY", "NOCASE", "RTRIM"}
_Named = dict[str, tuple[list[Word], Any]]  # what WITH names, each with the names that it sees itself


def check_view(
    ask: Callable[[str], Sequence[Sequence[Any]]],
    name: str,
    schema: str,
    quote: Callable[[str], str],
    identifier: Callable[[str], str],
) -> dict[str, str]:
    """Refuse a view unless it works row by row; tables pass, but for virtual ones.

    Return the columns of a table that may be computed from more than their row, each with the reason. Views of a table
    that has such columns are refused.
    """
    viewed = False
    everywhere = ["temp", *(str(row[1]) for row in ask("PRAGMA database_list") if row[1] != "temp")]
    databases = [schema] if schema else everywhere
    for _ in range(_DEEPEST):
        rows = [
            (*row, database)
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
            computed = computed_columns(words, lambda: {str(row[0]) for row in ask(_REGISTERED) if not row[1]})
            if viewed and computed:
                raise not_records(next(iter(computed.values())))
            return computed
        viewed = True
        registered = ask(_REGISTERED)
        own = {str(row[0]) for row in registered if str(row[0]) not in _OF_TWO or not row[1]}
        _check_words(words, own)
        name, schema = _table_of(words, {}, _DEEPEST)
        place = str(rows[0][2])  # a view of temp looks in all databases, temp first; any other in its own alone
        databases = [schema] if schema else everywhere if _folded(place) == "temp" else [place]
    raise not_records(_TOO_DEEP)


def computed_columns(words: list[Word], registered: Callable[[], set[str]]) -> dict[str, str]:
    """Return the columns of a CREATE TABLE that call what somebody has ``registered``, each with the reason.

    SQLite itself refuses all other functions that are not of the row alone, but believes that these are.
    """
    expressions = definitions(words)
    if not expressions:
        return {}
    own = {_folded(name) for name in (*registered(), *_CODE)}
    collated = [text.upper() for word, (_, text) in pairwise(words) if _starts([word], "COLLATE")]
    reasons = {}
    for name, expression in expressions.items():
        called = {_folded(text) for _, text in calls(expression)}
        called |= {_folded(word[1]) for word in expression if _starts([word], "LIKE", "GLOB", *_CODE)}
        called |= {"->", "->>"} if ("sign", ">") in expression else set()
        if called & own or not _COLLATIONS.issuperset(collated):
            reasons[name] = _WRITTEN
    return with_dependents(reasons, expressions)


def _check_words(words: list[Word], registered: set[str]) -> None:
    """Refuse what is written without a bracket: numbers of rows, and operators that call somebody's function."""
    upper = {text.upper() for kind, text in words if kind in ("word", "name")}
    if upper & _PLACES:
        raise not_records("the number of a row, which depends on the rows before it")
    if upper & (_CODE | (registered & (_SCALAR | _OF_TWO | {"LIKE", "GLOB"}))):
        raise not_records(_WRITTEN)


def _table_of(words: list[Word], named: _Named, deeper: int) -> tuple[str, str]:
    """Return the one table, and its database, that a statement reads row by row, also through subqueries and WITH."""
    if not deeper:
        raise not_records(_TOO_DEEP)
    words, named = _without_with(words, named)
    source = source_of(words, _SCALAR, _OF_TWO)
    if source[:1] == [("sign", "(")]:
        end = _closing(source)
        _check_alias(source[end + 1 :])
        inner = source[1:end]
        if not _starts(inner, "SELECT", "WITH"):
            inner = [("word", "SELECT"), ("sign", "*"), ("word", "FROM"), *inner]  # a table in brackets
        return _table_of(inner, named, deeper - 1)
    if not source or source[0][0] not in ("word", "name"):
        raise not_records(UNKNOWN)
    schema, rest = "", source
    if source[1:2] == [("sign", ".")] and len(source) > 2:
        schema, rest = source[0][1], source[2:]
    _check_alias(rest[1:])
    name = rest[0][1]
    if not schema and _folded(name) in named:
        return _table_of(*named[_folded(name)], deeper - 1)
    return name, schema


def _without_with(words: list[Word], named: _Named) -> tuple[list[Word], _Named]:
    """Return a statement from its SELECT on, and the names that it sees."""
    depths = depths_of(words)
    place = next(
        (i for i, word in enumerate(words) if depths[i] == 0 and _starts([word], "SELECT", "WITH")), len(words)
    )
    if not _starts(words[place:], "WITH"):
        return words[place:], named
    named, rest = dict(named), words[place + 1 :]
    if _starts(rest, "RECURSIVE"):
        raise not_records("a recursion")
    while rest:
        opening = next((i for i, word in enumerate(rest) if i and _starts([word], "AS")), len(rest))
        body = rest[opening + 1 :]
        body = body[1:] if _starts(body, "NOT") else body
        body = body[1:] if _starts(body, "MATERIALIZED") else body
        if rest[0][0] not in ("word", "name") or body[:1] != [("sign", "(")]:
            raise not_records(UNKNOWN)
        end = _closing(body)
        named[_folded(rest[0][1])] = (body[1:end], named)
        rest = body[end + 1 :]
        if rest[:1] != [("sign", ",")]:
            break
        rest = rest[1:]
    return rest, named


def _folded(name: str) -> str:
    """Return a name as SQLite compares it: ASCII letters without their case."""
    return "".join(char.lower() if char.isascii() else char for char in name)


def _starts(words: list[Word], *among: str) -> bool:
    return bool(words) and words[0][0] == "word" and words[0][1].upper() in among


def _closing(words: list[Word]) -> int:
    """Return the place of the bracket that closes the first one."""
    depths = depths_of(words)
    for place, word in enumerate(words):
        if word == ("sign", ")") and depths[place] == 1:
            return place
    raise not_records(UNKNOWN)


def _check_alias(words: list[Word]) -> None:
    """Refuse what follows a table, except another name for it and which index to use."""
    upper = [text.upper() if kind in ("word", "name") else "" for kind, text in words]
    if upper[-2:] == ["NOT", "INDEXED"]:
        upper = upper[:-2]
    elif upper[-3:-1] == ["INDEXED", "BY"]:
        upper = upper[:-3]
    if ("sign", ",") in words:
        raise not_records("a join")
    if ("sign", "(") in words:
        raise not_records("a function that makes rows")
    if "" in upper or len(upper) > 2 or (len(upper) == 2 and upper[0] != "AS"):
        raise not_records(UNKNOWN)
