"""Plans of polars lazy frames, by the words of their description: those that are known to work row by row."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from flexdp.tables.plans.files import all_different, expanded, is_remote
from flexdp.tables.plans.refusal import UNKNOWN, file_twice, not_records

__all__ = ["check_lazy"]

_QUOTED = re.compile(r'"[^"\n]*"')
_LINE = re.compile(
    r"(DF \[.*\]; PROJECT( \*?/?[0-9*/]+)? COLUMNS|(Parquet|IPC) SCAN \[(?P<files>.*)\]|PROJECT( [0-9*/]+)? COLUMNS"
    r"|ESTIMATED ROWS: [0-9]+|FROM|(FILTER|SELECTION:) (?P<test>.*)|WITH_COLUMNS:"
    r"|(SELECT |WITH_COLUMNS )?\[(?P<columns>.*)\]|SORT BY \[(?P<order>.*)\]|CACHE\[id: [0-9a-f-]+\]"
    r"|simple . [0-9/]+ \[.*\])"
)
_INSIDE = re.compile(r"[\w)]\(|\bSeries\b")  # how polars writes a call, and columns that are given
_HIDING = "a column name or a text with a quote, a call or the word Series in it, which may hide a step"
_MORE = re.compile(r", \.\.\. ([0-9]+) other sources$")
_CALL = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)\(")
_BARE = re.compile(r"(?<![\w.])[^\W\d][\w.]*(?![\w.(])")
_PLAIN = {
    "descending", "nulls_last", "dyn", "int", "float", "str", "null", "true", "false", "and", "or", "not", "lit", "inf",
    "NaN", "Boolean", "Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt16", "UInt32", "UInt64", "UInt128",
    "Float16", "Float32", "Float64", "String", "Binary", "Date", "Time", "Null",
}  # fmt: skip
_ZONE = re.compile(r"(?<=[0-9]:[0-9]{2}) ?(\.[0-9]+ ?)?[A-Z]{1,5}(?![\w.(])")  # after the time of a constant
# Categories as numbers: up to polars 1.44, those count how many categories came up before in any row.
_CUT, _TO_NUMBER = re.compile(r"\.cut\("), re.compile(r"cast\((U?Int|Float)[0-9]+\)")
# A replacement that is written out; one by columns would look at all of their rows.
_REPLACED = re.compile(r'\.replace\(\[\[[^()\[\]]*\](\.alias\(""\))?, \[[^()\[\]]*\](\.alias\(""\))?\]\)')
_ELEMENTWISE = {
    "col", "when", "then", "otherwise", "alias", "cast", "strict_cast", "is_null", "is_not_null", "is_nan",
    "is_not_nan", "is_finite", "is_infinite", "fill_null", "fill_nan", "abs", "round", "floor", "ceil", "clip", "sign",
    "is_in", "is_between", "coalesce", "not", "negate", "sqrt", "exp", "log", "pow",
    "str.to_uppercase", "str.to_lowercase", "str.len_chars", "str.len_bytes", "str.slice", "str.starts_with",
    "str.ends_with", "str.contains", "str.replace", "str.replace_all", "str.strip_chars",
    "dt.year", "dt.month", "dt.day", "dt.hour", "dt.minute", "dt.second", "dt.weekday", "dt.week", "dt.quarter",
    "dt.ordinal_day", "dt.date", "dt.time", "dt.truncate", "dt.timestamp", "dt.total_days", "dt.total_hours",
    "dt.total_minutes", "dt.total_seconds", "dt.total_milliseconds", "dt.total_microseconds", "sum_horizontal",
    "mean_horizontal", "min_horizontal", "max_horizontal", "str.concat_horizontal", "str.format", "cut",
}  # fmt: skip
_REASONS = (
    (r"^AGGREGATE\b", "an aggregate"), (r"\bJOIN\b", "a join"), (r"^SLICE\b", "a limit"), (r"^UNIQUE\b", "a distinct"),
    (r"^(END )?UNION\b|^PLAN [0-9]+:", "a concatenation of what may be the same records twice"),
    (r"^EXPLODE\b|^UNPIVOT\b", "a step that makes several rows of one"), (r"^OPAQUE_PYTHON\b", "Python code"),
    (r"^ROW INDEX\b", "a row index"), (r"^PYTHON SCAN\b", "a source that is read by Python code"),
)  # fmt: skip
_KEY, _OLD_KEY = "inner", "Local"  # of a path in a serialised plan; the second one in polars 1.34


def check_lazy(plan: str, serialised: Callable[[], str], stored: Callable[[], Iterable[str]]) -> None:
    """Refuse a lazy frame unless the description of its plan, not optimised, is of steps that work row by row.

    Parameters
    ----------
    plan
        The description.
    serialised
        Returns the plan as JSON; called only for a plan that reads several files.
    stored
        Returns the types of the columns that are scanned; called only for a plan that casts to numbers.
    """
    expressions: list[str] = []
    for raw in filter(None, map(str.strip, plan.splitlines())):
        line = _QUOTED.sub('""', raw)
        found = _LINE.fullmatch(line)
        if found is None:
            raise not_records(next((why for pattern, why in _REASONS if re.search(pattern, line)), UNKNOWN))
        if any(found.group(part) is not None for part in ("test", "columns", "order")) and _may_hide(raw):
            raise not_records(_HIDING)
        if found.group("files") is not None and not _read_once(found.group("files"), serialised):
            raise file_twice()
        for part in ("test", "columns", "order"):
            words = _ZONE.sub("", _REPLACED.sub("", found.group(part) or ""))
            calls = {call.lstrip(".") for call in _CALL.findall(words)}
            if calls - _ELEMENTWISE or set(_BARE.findall(words)) - _PLAIN or "Series" in words:
                raise not_records("an expression that may depend on more than one row")
            expressions.append(words)
    words = "\n".join(expressions)
    if _TO_NUMBER.search(words) and (_CUT.search(words) or any("Categorical" in each for each in stored())):
        raise not_records("categories and a cast to numbers, which may number them by the rows before")


def _may_hide(line: str) -> bool:
    """Tell whether quotes in a name or a text may hide a part of a line, since polars does not mark them.

    They would swap what is inside quotes and what is outside. What looks at other rows is a call, or a series.
    """
    hidden = "".join(_QUOTED.findall(line))
    return '"' in _QUOTED.sub("", line) or _INSIDE.search(hidden) is not None


def _read_once(listed: str, serialised: Callable[[], str]) -> bool:
    """Tell whether the files of a scan are different. From three on, their list is cut; patterns are expanded in it."""
    more = _MORE.search(listed)
    shown = listed.split(", ")
    if more is None and (len(shown) == 1 or all_different(shown)):
        return True
    number = 1 + int(more.group(1)) if more else len(shown)
    given: list[str] = []
    with suppress(Exception), warnings.catch_warnings():  # a message may quote the plan; without paths it is refused
        warnings.simplefilter("ignore")  # polars warns that this format may change
        given = list(_paths(json.loads(serialised())))
    if len(given) == 1 and is_remote(given[0]):  # one pattern; a store has no links, and lists every name once
        return True
    found = [expanded(path) for path in given]
    files = [file for each in found for file in each or ()]
    single = more is None and len(given) == 1 and files == given  # no pattern, but a comma in its name
    return bool(given) and None not in found and (single or (len(files) == number and all_different(files)))


def _paths(plan: Any) -> Iterator[str]:
    """Yield the paths of all scans, as they were given."""
    if isinstance(plan, dict):
        for path in plan["Paths"] if isinstance(plan.get("Paths"), list) else ():
            yield str(path[_KEY if _KEY in path else _OLD_KEY] if isinstance(path, dict) else path)
    for inner in plan.values() if isinstance(plan, dict) else plan if isinstance(plan, list) else ():
        yield from _paths(inner)
