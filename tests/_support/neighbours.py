"""Frames of pandas that differ in one record, whose cell may change the types that pandas infers for all others."""

from __future__ import annotations

import datetime as dt
import io
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from _support.private import private_bars
from flexdp import FlexdpError
from flexdp._release.api import prepare
from flexdp._release.reading import warn_of_reading
from flexdp._release.summary import prepare_summary
from flexdp.tables.engines.duckdb.session import engines_kept

__all__ = ["BASES", "REQUESTS", "Outcome", "differences", "outcome"]

ROWS = 40
START = dt.datetime(2024, 5, 1, 12)
Build = Callable[[list[Any]], Any]
Outcome = tuple[str, Any]


def _frame(cells: Any) -> pd.DataFrame:
    n = len(cells)
    return pd.DataFrame(
        {"v": np.ones(n), "x": pd.array([float(i % 12) for i in range(n)], dtype="Float64"),
         "g": pd.array(["ab"[i % 2] for i in range(n)], dtype="string"), "u": cells}
    )  # fmt: skip


def _grown(cells: list[Any]) -> pd.DataFrame:
    """As somebody appends a row to a frame."""
    return pd.concat([_frame(cells[:ROWS]), _frame(cells[ROWS:])], ignore_index=True) if cells[ROWS:] else _frame(cells)


def _sparse(cells: list[Any]) -> pd.DataFrame:
    return _frame(pd.arrays.SparseArray(cells))


def _dict(cells: list[Any]) -> dict[str, Any]:
    """As somebody picks columns of a frame."""
    return dict(_read(cells).items())


def _category(cells: list[Any]) -> pd.DataFrame:
    frame = _frame(cells)
    return frame.assign(u=frame["u"].astype("category"))


def _read(cells: list[Any], **options: Any) -> pd.DataFrame:
    lines = [f"1.0,{i % 12},{'ab'[i % 2]},{cell}" for i, cell in enumerate(cells)]
    dtypes = {"v": "Float64", "x": "Float64", "g": "string"}
    return pd.read_csv(io.StringIO("\n".join(["v,x,g,u", *lines])), dtype=dtypes, **options)


def _read_days(cells: list[Any]) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pandas cannot infer the format
        return _read(cells, parse_dates=["u"])


OBJECTS: list[Any] = [
    None, np.nan, pd.NA, pd.NaT, "a", "7", "", True, 7, 7.5, -1, 2**60, 2**70, np.inf, 3j, START, START.date(),
    START.replace(tzinfo=dt.UTC), dt.timedelta(1), Decimal("2.5"), [1], object(), np.float32(0.5),
]  # fmt: skip
TEXTS = [
    "",
    "NA",
    "a",
    "7",
    "7.5",
    "1e5",
    "True",
    "99999999999999999999",
    "9007199254740993",
    "2024-05-11",
    "x y",
    "inf",
]
INTEGERS = list(range(ROWS))
BASES: dict[str, tuple[Build, list[Any], list[Any]]] = {
    "integers": (_frame, INTEGERS, OBJECTS),
    "numbers": (_frame, [i / 2 for i in range(ROWS)], OBJECTS),
    "booleans": (_frame, [i % 2 == 0 for i in range(ROWS)], OBJECTS),
    "texts": (_frame, [f"w{i % 9}" for i in range(ROWS)], OBJECTS),
    "digits": (_frame, [f"{i:02d}" for i in range(ROWS)], OBJECTS),
    "datetimes": (_frame, [START + dt.timedelta(hours=i) for i in range(ROWS)], OBJECTS),
    "zoned": (_frame, [(START + dt.timedelta(hours=i)).replace(tzinfo=dt.UTC) for i in range(ROWS)], OBJECTS),
    "days": (_frame, [(START + dt.timedelta(days=i)).date() for i in range(ROWS)], OBJECTS),
    "appended integers": (_grown, INTEGERS, OBJECTS),
    "appended booleans": (_grown, [i % 2 == 0 for i in range(ROWS)], OBJECTS),
    "intervals": (_frame, pd.IntervalIndex.from_breaks(range(ROWS + 1)).tolist(), OBJECTS),
    "category of integers": (_category, INTEGERS, [each for each in OBJECTS if not isinstance(each, list)]),
    "category of texts": (_category, [f"w{i % 9}" for i in range(ROWS)], ["b", 7, None, 7.5, True]),
    "category of datetimes": (_category, [START + dt.timedelta(hours=i) for i in range(ROWS)], ["b", 7, None, START]),
    "sparse": (_sparse, [0, 0, 1, 2] * (ROWS // 4), ["a", np.nan, None, 7, 7.5, True, 2**60]),
    "sparse booleans": (_sparse, [True, False] * (ROWS // 2), ["a", np.nan, None, 7]),
    "read integers": (_read, [f"{i:02d}" for i in range(ROWS)], TEXTS),
    "dict of read integers": (_dict, [f"{i:02d}" for i in range(ROWS)], TEXTS),
    "read decimals": (_read, [f"{i}.50" for i in range(ROWS)], TEXTS),
    "read booleans": (_read, ["TRUE", "False"] * (ROWS // 2), TEXTS),
    "read texts": (_read, [f"w{i % 9}" for i in range(ROWS)], TEXTS),
    "read days": (_read_days, [f"2024-05-{i % 28 + 1:02d}" for i in range(ROWS)], TEXTS),
    "read zoned": (_read_days, [f"2024-05-{i % 28 + 1:02d}T10:00:00+02:00" for i in range(ROWS)], TEXTS),
}  # fmt: skip

_V: dict[str, Any] = {"column": "v", "kind": "number", "width": 5}
_X: dict[str, Any] = {"column": "x", "kind": "number", "width": 5}
_U: dict[str, Any] = {"column": "u"}
WHERE = [
    "u IS NULL", "u IS NOT NULL", "NOT u IS NULL", "u IS NULL OR v > 0", "coalesce(u, x) IS NOT NULL",
    "CASE WHEN v > 0 THEN u END IS NOT NULL", "u > 3", "u <> 7", "u IN (1, 7, 7.5)", "u BETWEEN 1 AND 9", "NOT u > 3",
    "u + 1 > 3", "u * 2 > 3", "u - 1 > 3", "u - x > 3", "u = 'w3'", "u <> 'w3'", "u LIKE 'w%'", "u IN ('w1', 'a')",
    "u = '07'", "u > '05'", "u = TRUE", "u <> TRUE", "u >= DATE '2024-05-02'", "u = TIMESTAMP '2024-05-01 12:00'",
    "u >= TIMESTAMP '2024-05-02 12:00+02:00'", "year(u) = 2024", "month(u) <> 5", "u = x", "u <> g", "u < x", "u = v",
    "number(u) IS NOT NULL", "integer(u) > 3", "text(u) IS NOT NULL", "text(u) > 'a'", "date(u) > DATE '2024-05-03'",
    "datetime(u) IS NULL", "boolean(u) = TRUE", "boolean(u) IS NULL", "coalesce(u, 5) > 3", "coalesce(u, 'z') <> 'a'",
    "coalesce(number(u), x) > 3", "CASE WHEN u IS NULL THEN 1 ELSE 0 END = 0", "CASE WHEN u > 3 THEN x ELSE v END > 2",
    "u > 3 OR u IS NULL", "u IS NOT NULL AND number(u) < 20", "u = 3 AND u = 'a'", "u = 9007199254740993",
]  # fmt: skip
REQUESTS: list[dict[str, Any]] = [
    *({**_V, "where": where} for where in WHERE),
    {**_X, "where": "u IS NOT NULL", "by": "g"},
    {**_X, "where": "u IS NOT NULL", "unit": "g", "max_buckets_per_unit": 9},
    {"column": "v", "ask": "count", "where": "u IS NOT NULL"},
    {"column": "v", "ask": ["max", "median"], "where": "u > 3"},
    {**_U}, {**_U, "exact": True}, {**_U, "width": 5}, {**_U, "width": "2 days"}, {**_U, "relative": "0.1"},
    {**_U, "bounds": (0, 20)}, {**_U, "ask": ["max", "mean"]}, {**_U, "ask": "count"},
    *({**_U, "kind": kind, "exact": True} for kind in ("number", "integer", "text", "date", "datetime", "boolean")),
    {**_U, "kind": "integer", "width": 2, "bounds": (0, 20), "outside": "drop"},
    {**_U, "kind": "datetime", "width": "1 day"},
    {**_U, "kind": "datetime", "width": "1 day", "zone": "Europe/Berlin"}, {**_U, "kind": "date", "zone": "UTC"},
    {**_U, "width": 5, "zone": "UTC"}, {**_U, "kind": "number", "width": 5, "decimal": ","},
    {**_U, "kind": "number", "width": 5, "thousands": ",", "currency": "€"},
    {**_U, "kind": "date", "width": "2 days", "date_format": "%d.%m.%Y"}, {**_V, "where": "u > 3", "decimal": ","},
    {**_X, "by": "u"},
    *({**_X, "by": "u", "by_kind": kind} for kind in ("text", "integer", "boolean", "date", "number")),
    {**_X, "by": "u", "by_kind": "text", "groups": ["w1", "a"], "other": "rest"},
    {**_X, "by": "u", "groups": ["w1", "a"], "other": "rest"}, {**_X, "by": "u", "by_kind": "text", "groups": ["07"]},
    {**_X, "by": "u", "by_kind": "integer", "groups": [1, 7]}, {**_X, "unit": "u", "max_buckets_per_unit": 9},
    *({**_X, "unit": "u", "unit_kind": kind, "max_buckets_per_unit": 9} for kind in ("text", "integer", "date")),
    {**_X, "unit": "u", "unit_kind": "integer", "per_unit": "max"},
    *({**_X, "column": "z", "derive": {"z": value}} for value in (
        "u", "number(u)", "u + x", "u - x", "number(u) - x", "coalesce(u, x)", "coalesce(number(u), x)", "year(u)",
        "CASE WHEN u IS NULL THEN 0 ELSE x END", "CASE WHEN u > 3 THEN u ELSE x END",
    )),
    {**_X, "derive": {"k": "CASE WHEN u > 5 THEN 'hi' ELSE 'lo' END"}, "by": "k"},
    {**_X, "derive": {"k": "coalesce(u, 'none')"}, "by": "k"},
    {"column": ["u", "x"], "kind": "number", "width": 3}, {"column": ["u", "x"], "width": 3},
    {"column": ["u", "g"], "exact": True}, {"column": "uu", "width": 5},
    {"columns": None}, {"columns": None, "kind": {"u": "number", "v": "number"}}, {"columns": ["u"]},
    {"columns": {"u": "text"}}, {"columns": {"u": "number", "x": "number"}},
]  # fmt: skip


def outcome(frame: Any, request: dict[str, Any]) -> Outcome:
    """What somebody sees of a request before the noise: a refusal in its words, or the warnings, the public description
    and the private counts."""
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            made = prepare_summary(frame, **request) if "columns" in request else prepare(frame, **request)
            warn_of_reading(made)
        bars = private_bars(made)
    except FlexdpError as refusal:
        return f"{type(refusal).__name__}: {refusal}", {}
    seen = [str(each.message) for each in warned] + [repr(question.spec) for question in made.questions]
    return "\n".join(seen), dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


def differences(
    bases: list[str], requests: Callable[[int], list[dict[str, Any]]], seen: Callable[..., Outcome] = outcome
) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield what one record changes beyond its own count: the base, the odd cell, what happens and the request.

    ``requests`` chooses those that are tried with the n-th pair of frames.
    """
    place = 0
    for name in bases:
        build, cells, odd_cells = BASES[name]
        before: dict[int, Outcome] = {}
        calm = build(cells)
        for odd in odd_cells:
            try:
                frame = build([*cells, odd])
            except Exception:  # noqa: BLE001  (a frame that pandas does not make)
                continue
            chosen = requests(place)
            place += 1
            with engines_kept():
                for request in chosen:
                    if id(request) not in before:
                        before[id(request)] = seen(calm, request)
                    told = _difference(before[id(request)], seen(frame, request))
                    if told:
                        yield name, repr(odd)[:30], told, request


def _difference(before: Outcome, after: Outcome) -> str:
    if before[0] != after[0]:
        return f"other words: {before[0]!r} became {after[0]!r}"
    moved = [n for key in {**before[1], **after[1]} if (n := after[1].get(key, 0) - before[1].get(key, 0))]
    return "" if moved in ([], [1]) else f"counts moved by {sorted(moved)[:5]}"
