"""Plans of polars lazy frames, by the words of their description: those that are known to work row by row."""

from __future__ import annotations

import re

from flexdp.tables.plans.refusal import UNKNOWN, not_records

__all__ = ["check_lazy"]

_QUOTED = re.compile(r'"[^"\n]*"')
_LINE = re.compile(
    r"(DF \[.*\]; PROJECT( \*?/?[0-9*/]+)? COLUMNS|(Parquet|IPC|PYTHON) SCAN \[.*\]|PROJECT( [0-9*/]+)? COLUMNS"
    r"|ESTIMATED ROWS: [0-9]+|FROM|(FILTER|SELECTION:) (?P<test>.*)|WITH_COLUMNS:"
    r"|(SELECT |WITH_COLUMNS )?\[(?P<columns>.*)\]|SORT BY \[(?P<order>.*)\]|CACHE\[id: [0-9a-f-]+\]"
    r"|simple . [0-9/]+ \[.*\])"
)
_CALL = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)\(")
_BARE = re.compile(r"(?<![\w.])[a-z_][A-Za-z0-9_.]*(?![\w.(])")
_PLAIN = {"descending", "nulls_last", "dyn", "int", "float", "str", "null", "true", "false", "and", "or", "not", "lit"}
_ELEMENTWISE = {
    "col", "when", "then", "otherwise", "alias", "cast", "strict_cast", "is_null", "is_not_null", "is_nan",
    "is_not_nan", "is_finite", "is_infinite", "fill_null", "fill_nan", "abs", "round", "floor", "ceil", "clip", "sign",
    "is_in", "is_between", "coalesce", "not", "negate", "sqrt", "exp", "log", "pow",
    "str.to_uppercase", "str.to_lowercase", "str.len_chars", "str.len_bytes", "str.slice", "str.starts_with",
    "str.ends_with", "str.contains", "str.replace", "str.replace_all", "str.strip_chars",
    "dt.year", "dt.month", "dt.day", "dt.hour", "dt.minute", "dt.second", "dt.weekday", "dt.week", "dt.quarter",
    "dt.ordinal_day", "dt.date", "dt.time", "dt.truncate", "dt.timestamp",
}  # fmt: skip
_REASONS = (
    (r"^AGGREGATE\b", "an aggregate"), (r"\bJOIN\b", "a join"), (r"^SLICE\b", "a limit"), (r"^UNIQUE\b", "a distinct"),
    (r"^(END )?UNION\b|^PLAN [0-9]+:", "a concatenation of what may be the same records twice"),
    (r"^EXPLODE\b|^UNPIVOT\b", "a step that makes several rows of one"), (r"^OPAQUE_PYTHON\b", "Python code"),
    (r"^ROW INDEX\b", "a row index"),
)  # fmt: skip


def check_lazy(plan: str) -> None:
    """Refuse a lazy frame unless the description of its plan, not optimised, is of steps that work row by row."""
    lines = [line.strip() for line in _QUOTED.sub('""', plan).splitlines()]
    for line in filter(None, lines):
        found = _LINE.fullmatch(line)
        if found is None:
            raise not_records(next((why for pattern, why in _REASONS if re.search(pattern, line)), UNKNOWN))
        for part in ("test", "columns", "order"):
            words = found.group(part) or ""
            calls = {call.lstrip(".") for call in _CALL.findall(words)}
            if calls - _ELEMENTWISE or set(_BARE.findall(words)) - _PLAIN or "Series" in words:
                raise not_records("an aggregate, a window or another expression that may look at several rows")
