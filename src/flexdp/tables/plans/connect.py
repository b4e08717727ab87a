"""Plans of Spark Connect, as the client holds them: nothing is asked of the server but whether a name is a table."""

from __future__ import annotations

import glob
import posixpath
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from flexdp.tables.plans.refusal import UNKNOWN, UNKNOWN_FUNCTION, file_twice, not_records
from flexdp.tables.plans.words import Word, check_expression, source_of, words_of

__all__ = ["check_message"]

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
    "ABS", "COALESCE", "IFNULL", "NULLIF", "NVL", "IF", "IFF", "WHEN", "ISNULL", "ISNOTNULL", "ISNAN", "LENGTH",
    "LOWER", "UPPER", "SUBSTR", "SUBSTRING", "TRIM", "LTRIM", "RTRIM", "REPLACE", "ROUND", "SIGN", "FLOOR", "CEIL",
    "CEILING", "SQRT", "POW", "POWER", "EXP", "LN", "LOG", "CAST", "TRY_CAST", "DATE", "TO_DATE", "TO_TIMESTAMP",
    "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "DATE_TRUNC", "COLLATE", "IN", "LIKE", "RLIKE", "CONTAINS",
    "STARTSWITH", "ENDSWITH", "CONCAT", "ARRAY", "DECIMAL", "VARCHAR", "CHAR",
}  # fmt: skip


def check_message(root: Any, is_table: Callable[[str], bool]) -> None:
    """Refuse a plan, a message of the protocol, unless it works row by row."""
    for message in _messages(root):
        kind = message.DESCRIPTOR.name
        if kind == "Relation":
            step = message.WhichOneof("rel_type")
            if step not in _ROW_BY_ROW:
                raise not_records(_REASONS.get(step, UNKNOWN))
            if step == "sql":
                if "\\" in message.sql.query:  # it may quote a quote
                    raise not_records(UNKNOWN)
                _check_source(source_of(words_of(message.sql.query), _SCALAR), is_table)
            if step == "read" and message.read.data_source.format.lower() == "jdbc":
                raise not_records("a table of another database, which may be a view")
            if step == "read" and not _different(list(message.read.data_source.paths)):
                raise file_twice()
            if step == "read" and message.read.HasField("named_table"):
                _check_name(message.read.named_table.unparsed_identifier, is_table)
        elif kind == "Expression":
            step = message.WhichOneof("expr_type")
            if step not in _EXPRESSIONS:
                raise not_records(_REASONS.get(step, UNKNOWN))
            if step == "expression_string":
                check_expression(words_of(message.expression_string.expression), _SCALAR)
            called = message.unresolved_function.function_name.upper() if step == "unresolved_function" else "+"
            if called not in _SIGNS and called not in _SCALAR:
                raise not_records(UNKNOWN_FUNCTION)


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
