"""Releases to draw: real ones, and documents of the shapes that a release may have, made by hand."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import polars as pl

import flexdp

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "</title></desc></svg><svg onload=alert(1)>",
    '" onmouseover="alert(1)',
    "' style='position:fixed",
    "&lt;b&gt; &amp; &#x3c;",
    "]]><!--",
    "--><b>",
    "\x1b[31mred\x07",
    "\u202egnihton",
    "line\u2028break\r\nand\ttab",
    "\x00\x0b",
    "{{7*7}} ${7*7} javascript:alert(1)",
    "=cmd|' /C calc'!A0",
    "Ω≈ç√ 東京 🏥",
    "a" * 5000,
)


def ages(bars: int = 24, height: int = 300) -> dict[str, Any]:
    """The document of a release of numbers in buckets of width 5."""
    values = [5 * (i % bars) + 2.0 for i in range(bars * height)]
    released = flexdp.release(values, epsilon=1, delta="1e-6", width=5, bounds=(0, 5 * bars))
    document: dict[str, Any] = json.loads(released.to_json())
    return document


def with_bars(document: dict[str, Any], **bars: Any) -> dict[str, Any]:
    return {**document, "bars": bars}


def grouped(names: tuple[Any, ...] = ("north", "south", "east")) -> dict[str, Any]:
    """Numbers by group, in the form that a grouped release has."""
    base = ages(6)
    keys, index, counts = (base["bars"][name] for name in ("key", "index", "count"))
    many = len(keys)
    bars = {
        "key": keys * len(names),
        "index": index * len(names),
        "count": [count // (place + 1) for place in range(len(names)) for count in counts],
        "group": [[name] for name in names for _ in range(many)],
    }
    return {**base, "by": ["ward"], "groups": None, "bars": bars}


def grid(across: int = 8, up: int = 5) -> dict[str, Any]:
    """Two columns of numbers, in the form that a release of a grid has."""
    base = ages(4)
    cells = [(x, y) for x in range(across) for y in range(up)]
    return {
        **base,
        "column": ["lat", "lon"],
        "kind": ["number", "number"],
        "buckets": [{"width": "1"}, {"width": "2"}],
        "bars": {
            "key": [[x + 0.5, 2.0 * y + 1] for x, y in cells],
            "index": [[x, y] for x, y in cells],
            "count": [1 + x * y for x, y in cells],
        },
    }


def datetimes() -> dict[str, Any]:
    base = ages(4)
    keys = [f"2024-03-0{day}T12:00:00" for day in range(1, 6)]
    return {
        **base,
        "kind": "datetime",
        "buckets": {"width": "1 day"},
        "bars": {"key": keys, "count": [50, 60, 70, 80, 90]},
    }


def texts(keys: tuple[str, ...] = ("ward a", "ward b", "ward c")) -> dict[str, Any]:
    released = flexdp.release([key for key in keys for _ in range(200)], epsilon=1, delta="1e-6", kind="text")
    document: dict[str, Any] = json.loads(released.to_json())
    return document


def units() -> dict[str, Any]:
    base = ages()
    privacy = {**base["privacy"], "unit": "patient_id", "max_buckets_per_unit": 1}
    return {**base, "privacy": privacy}


def every_shape() -> list[dict[str, Any]]:
    """Valid documents of all shapes, small ones."""
    rows = 400
    spend: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
    labels: dict[str, Any] = {"by_kind": "text", "unit_kind": "integer"}
    frame = pl.DataFrame(
        {
            "x": [float(i % 7) for i in range(rows)],
            "y": [float(i % 3) for i in range(rows)],
            "t": ["a", "b"] * (rows // 2),
            "u": list(range(rows)),
        }
    )
    days = [dt.date(2024, 1, 1 + i % 3) for i in range(rows)]
    made = [
        flexdp.release([i % 5 for i in range(rows)], kind="integer", exact=True, **spend),
        flexdp.release([f"w{i % 3}" for i in range(rows)], kind="text", **spend),
        flexdp.release(days, kind="date", width="1 week", **spend),
        flexdp.release(frame, "x", width=2, bounds=(0, 6), **spend),
        flexdp.release(frame, "x", relative="0.1", certify="0.3", **spend),
        flexdp.release(frame, "x", edges=[0, 2, 7], by="t", by_kind="text", groups=["a", "b"], **spend),
        flexdp.release(frame, ["x", "y"], width=2, **spend),
        flexdp.release(frame, "x", width=3, by="t", unit="u", max_buckets_per_unit=2, certify="0.5", **labels, **spend),
        flexdp.release([i % 99 for i in range(4000)], kind="integer", **spend),
        flexdp.release([i % 99 for i in range(250)], kind="integer", **spend),
    ]
    return [json.loads(released.to_json()) for released in made]
