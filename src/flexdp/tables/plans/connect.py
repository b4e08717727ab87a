"""Plans of Spark Connect, as the client holds them: the server is asked only what a name stands for."""

from __future__ import annotations

import glob
import posixpath
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from flexdp.tables.plans.refusal import UNKNOWN, UNKNOWN_FUNCTION, file_twice, not_records
from flexdp.tables.plans.words import Word, check_expression, source_of, words_of

__all__ = ["FORMATS", "check_message", "names_of"]

_ROW_BY_ROW = {
    "read", "project", "filter", "sort", "sql", "local_relation", "cached_local_relation",
    "chunked_cached_local_relation", "range", "subquery_alias", "repartition", "repartition_by_expression", "to_df",
    "with_columns_renamed", "drop", "with_columns", "hint", "to_schema", "fill_na", "drop_na", "replace",
}  # fmt: skip
_EXPRESSIONS = {
    "literal", "unresolved_attribute", "unresolved_function", "expression_string", "unresolved_star", "alias", "cast",
    "unresolved_regex", "sort_order", "unresolved_extract_value",
}  # fmt: skip
_REASONS = {
    "join": "a join", "as_of_join": "a join", "lateral_join": "a join", "limit": "a limit", "tail": "a limit",
    "offset": "a limit", "aggregate": "an aggregate", "sample": "a sample", "deduplicate": "DISTINCT",
    "set_op": "a UNION of what may be the same records twice", "window": "a window",
    "subquery_expression": "a subquery", "common_inline_user_defined_function": "code of its own",
}  # fmt: skip
_SIGNS = {
    "+", "-", "*", "/", "%", "==", "=", "!=", "<>", "<", "<=", ">", ">=", "<=>", "AND", "OR", "NOT", "!", "NEGATIVE",
}  # fmt: skip
_SCALAR = {
    "ABS", "COALESCE", "IFNULL", "NULLIF", "NVL", "IF", "WHEN", "ISNULL", "ISNOTNULL", "ISNAN", "LENGTH",
    "LOWER", "UPPER", "SUBSTR", "SUBSTRING", "TRIM", "LTRIM", "RTRIM", "REPLACE", "ROUND", "SIGN", "FLOOR", "CEIL",
    "CEILING", "SQRT", "POW", "POWER", "EXP", "LN", "LOG", "CAST", "TRY_CAST", "DATE", "TO_DATE", "TO_TIMESTAMP",
    "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "DATE_TRUNC", "COLLATE", "IN", "LIKE", "RLIKE", "CONTAINS",
    "STARTSWITH", "ENDSWITH", "CONCAT", "ARRAY", "DECIMAL", "VARCHAR", "CHAR",
}  # fmt: skip
_WORDS = {"SELECT", "FROM", "WHERE", "AS", "AND", "OR", "NOT", "CASE", "WHEN", "THEN", "ELSE", "END", "IS", "NULL",
          "ORDER", "BY", "CAST", "IN", "BETWEEN", "LIKE"}  # fmt: skip
_SYNTAX = {"TRY_CAST", "VARCHAR"}  # which are no functions
_QUERIES = {"TABLE", "FROM", "VALUES", "MAP", "REDUCE"}  # begin a subquery that has no SELECT
_METADATA = "_metadata"  # the hidden column of files with the numbers of rows and the sizes of blocks
# Formats of files and tables that keep rows; others may compute them, or take them from elsewhere.
FORMATS = {"", "parquet", "csv", "json", "orc", "text", "xml", "avro", "binaryfile", "delta", "iceberg", "hudi"}
_COMPUTED = "a source that may compute its rows"


def check_message(root: Any, is_table: Callable[[str], bool], is_builtin: Callable[[str], bool | None]) -> None:
    """Refuse a plan, a message of the protocol, unless it works row by row.

    ``is_builtin`` tells whether a name calls a function of Spark itself; None if it calls none.
    """
    for message in _messages(root):
        kind = message.DESCRIPTOR.name
        if kind == "Relation":
            step = message.WhichOneof("rel_type")
            if step not in _ROW_BY_ROW:
                raise not_records(_REASONS.get(step, UNKNOWN))
            if step == "sql":
                if "\\" in message.sql.query:  # it may quote a quote
                    raise not_records(UNKNOWN)
                words = words_of(message.sql.query)
                _check_source(source_of(words, _SCALAR), is_table)
                _check_words(words, is_builtin)
            if step == "read" and message.read.data_source.format.lower() == "jdbc":
                raise not_records("a table of another database, which may be a view")
            if step == "read" and message.read.data_source.format.lower() not in FORMATS:
                raise not_records(_COMPUTED)
            if step == "read" and not _different(list(message.read.data_source.paths)):
                raise file_twice()
            if step == "read" and message.read.HasField("named_table"):
                _check_name(message.read.named_table.unparsed_identifier, is_table)
        elif kind == "Expression":
            step = message.WhichOneof("expr_type")
            if step not in _EXPRESSIONS:
                raise not_records(_REASONS.get(step, UNKNOWN))
            if step == "expression_string":
                words = words_of(message.expression_string.expression)
                check_expression(words, _SCALAR)
                _check_words(words, is_builtin)
            if step == "unresolved_attribute":
                _check_words(words_of(message.unresolved_attribute.unparsed_identifier), is_builtin)
            if step == "unresolved_function":
                called = message.unresolved_function.function_name.upper()
                if called not in _SIGNS and called not in _SCALAR:
                    raise not_records(UNKNOWN_FUNCTION)
                _check_call(called, is_builtin)


def names_of(root: Any) -> set[str]:
    """Return every word of a plan that may be the name of a column or of a variable."""
    found: set[str] = set()
    for message in _messages(root):
        if message.DESCRIPTOR.name == "SQL":
            found |= _names(message.query)
        elif message.DESCRIPTOR.name == "ExpressionString":
            found |= _names(message.expression)
        elif message.DESCRIPTOR.name == "UnresolvedAttribute":
            found |= _names(message.unparsed_identifier)
    return found


def _names(text: str) -> set[str]:
    """Return the names in a text, without those of functions, of new columns, and the words of SELECT itself."""
    around = [("sign", ""), *words_of(text), ("sign", "")]
    return {
        word
        for before, (kind, word), after in zip(around, around[1:], around[2:], strict=False)
        if (kind == "name" or (kind == "word" and word.upper() not in _WORDS))
        and after != ("sign", "(")
        and before[1].upper() != "AS"
    }


def _check_words(words: list[Word], is_builtin: Callable[[str], bool | None]) -> None:
    """Refuse what Spark alone understands, and functions that somebody has named like those of Spark."""
    for (kind, text), following in pairwise([*words, ("sign", ";")]):
        word, opens = text.upper(), following == ("sign", "(")
        if kind in ("word", "name") and text.lower() == _METADATA:
            raise not_records("the number of a row, which depends on the rows before it")
        if kind == "word" and word == "MINUS":
            raise not_records("EXCEPT")
        if (kind, text) == ("sign", "|") and following == ("sign", ">"):
            raise not_records(UNKNOWN)
        if (kind, text) == ("sign", "(") and following[0] == "word" and following[1].upper() in _QUERIES:
            raise not_records("a subquery")
        if kind in ("word", "name") and opens and word in _SCALAR:
            _check_call(word, is_builtin)


def _check_call(called: str, is_builtin: Callable[[str], bool | None]) -> None:
    if not is_builtin(called) and (called not in _SYNTAX or is_builtin(called) is False):
        raise not_records("a function that somebody has written")


def _different(paths: list[str]) -> bool:
    """Tell whether several paths of the server are written so that none can be, match or hold another."""
    # In this order, what a folder holds comes right after it.
    plain = sorted(posixpath.normpath(path).replace("//", "/").rstrip("/") + "/" for path in paths)
    starts = {path.split("/")[0] if path.startswith("/") or ":" in path.split("/")[0] else "." for path in paths}
    return len(paths) < 2 or (
        len(starts) == 1
        and not any(glob.has_magic(path) or "{" in path or "\\" in path for path in paths)
        and not any(following.startswith(path) for path, following in pairwise(plain))
    )


def _messages(message: Any) -> Iterator[Any]:
    """Yield a message and all those within it."""
    yield message
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        if field.message_type.GetOptions().map_entry:
            inner = [each for each in value.values() if hasattr(each, "DESCRIPTOR")]
        else:
            inner = list(value) if hasattr(value, "append") else [value]
        for each in inner:
            yield from _messages(each)


def _check_source(source: list[Word], is_table: Callable[[str], bool]) -> None:
    first = source[0][1].upper() if source else ""
    if first == "VALUES" or (first == "RANGE" and source[1:2] == [("sign", "(")] and source[-1] == ("sign", ")")):
        return
    if any(kind not in ("word", "name") and text != "." for kind, text in source) or "AS" in [
        t.upper() for _, t in source
    ]:
        raise not_records("a join, or a subquery")
    _check_name("".join(text for _, text in source), is_table)


def _check_name(name: str, is_table: Callable[[str], bool]) -> None:
    if not is_table(name):
        raise not_records("a view, whose plan is not shown")
