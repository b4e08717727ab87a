"""Tables of MariaDB by their definitions: where rows are kept, and which columns are computed from more than a row."""

from __future__ import annotations

import re

from flexdp.tables.plans.computed import DOUBTFUL, VARIABLE, calls, definitions, with_dependents
from flexdp.tables.plans.refusal import not_records
from flexdp.tables.plans.words import Word

__all__ = ["check_stored", "computed_columns"]

# Storage engines that keep rows. Others compute them, or take them from elsewhere, perhaps by a query.
_STORED = ("innodb", "aria", "myisam", "memory", "rocksdb", "columnstore", "csv", "archive")
_ENGINE = re.compile(r"\n\) ENGINE=(\w+)")
# As the server prints definitions: texts with backslashes, names in backticks.
_WORD = re.compile(
    r"""\s+
  | (?P<text>'(?:[^'\\]|\\.|'')*')
  | (?P<name>`(?:[^`]|``)*`)
  | (?P<word>[^\W\d]\w*)
  | (?P<number>[0-9][\w.]*|\.[0-9]\w*)
  | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
# Functions of their arguments, as the server spells them. VIRTUAL columns may call others, such as rand() or uuid().
_SCALAR = {
    "abs", "acos", "addtime", "aes_decrypt", "aes_encrypt", "ascii", "asin", "atan", "atan2", "bin", "bit_count",
    "bit_length", "ceiling", "char", "char_length", "chr", "coalesce", "concat", "concat_ws", "conv", "convert",
    "convert_tz", "cos", "cot", "crc32", "crc32c", "date", "date_format", "datediff", "day", "dayname", "dayofmonth",
    "dayofweek", "dayofyear", "decode_oracle", "degrees", "elt", "exp", "export_set", "extract", "field", "find_in_set",
    "floor", "format", "from_base64", "from_days", "from_unixtime", "get_format", "greatest", "hex", "hour", "if",
    "ifnull", "inet6_aton", "inet6_ntoa", "inet_aton", "inet_ntoa", "insert", "instr", "interval", "is_ipv4", "is_ipv6",
    "json_array", "json_compact", "json_contains", "json_contains_path", "json_depth", "json_detailed", "json_equals",
    "json_exists", "json_extract", "json_insert", "json_keys", "json_length", "json_loose", "json_merge_patch",
    "json_merge_preserve", "json_normalize", "json_object", "json_overlaps", "json_query", "json_quote", "json_remove",
    "json_replace", "json_search", "json_set", "json_type", "json_unquote", "json_valid", "json_value", "last_day",
    "lcase", "least", "left", "length", "ln", "locate", "log", "log10", "log2", "lower", "lpad", "ltrim", "make_set",
    "makedate", "maketime", "md5", "microsecond", "mid", "minute", "mod", "month", "monthname", "natural_sort_key",
    "nullif", "oct", "octet_length", "ord", "period_add", "period_diff", "pi", "pow", "power", "quarter", "quote",
    "radians", "regexp_instr", "regexp_replace", "regexp_substr", "repeat", "replace", "reverse", "right", "round",
    "rpad", "rtrim", "sec_to_time", "second", "sha", "sha1", "sha2", "sign", "sin", "soundex", "space", "sqrt",
    "str_to_date", "strcmp", "substr", "substring", "substring_index", "subtime", "tan", "time", "time_format",
    "time_to_sec", "timediff", "timestamp", "timestampadd", "timestampdiff", "to_base64", "to_char", "to_days",
    "to_seconds", "trim", "truncate", "ucase", "unhex", "upper", "week", "weekday", "weekofyear", "weight_string",
    "year", "yearweek",
}  # fmt: skip
_CLOCKS = {  # at the beginning of the statement, for every row
    "curdate", "current_date", "current_time", "current_timestamp", "curtime", "localtime", "localtimestamp", "now",
    "unix_timestamp", "utc_date", "utc_time", "utc_timestamp",
}  # fmt: skip
_TYPES = {
    "binary", "cast", "char", "datetime", "decimal", "double", "float", "nchar", "varchar",
}  # fmt: skip
_OPERATORS = {
    "and", "as", "between", "both", "by", "case", "collate", "div", "else", "escape", "from", "in", "interval", "is",
    "leading", "like", "mod", "not", "or", "regexp", "rlike", "then", "trailing", "using", "when", "xor",
}  # fmt: skip


def check_stored(written: str) -> None:
    """Refuse a view, whose definition is not read here, and a table whose rows are not kept on the server."""
    if not written.startswith(("CREATE TABLE", "CREATE TEMPORARY TABLE")):
        raise not_records("a definition, which is not read on MariaDB")
    engine = _ENGINE.search(written)
    if engine is None or engine.group(1).lower() not in _STORED:
        raise not_records("a storage engine that may compute its rows")


def computed_columns(written: str) -> dict[str, str]:
    """Return the columns of a table that may be computed from more than their row, each with the reason."""
    words = _words(written)
    expressions = definitions(words)
    known = {("word", name) for name in _SCALAR | _CLOCKS | _TYPES | _OPERATORS}  # built-in names are not quoted
    reasons = {}
    for name, expression in expressions.items():
        if ("sign", "@") in expression:  # may be set row by row: @sum := @sum + x
            reasons[name] = VARIABLE
        elif not {(kind, text.lower()) for kind, text in calls(expression)} <= known:
            reasons[name] = DOUBTFUL
    return with_dependents(reasons, expressions)


def _words(text: str) -> list[Word]:
    out = []
    for found in _WORD.finditer(text):
        if found.lastgroup is not None:
            word = found.group()
            out.append((found.lastgroup, word[1:-1].replace("``", "`") if found.lastgroup == "name" else word))
    return out
