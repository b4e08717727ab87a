"""Parameters of releases of a table with the columns x, g and u, between them of every kind that a table may decide."""

from __future__ import annotations

from typing import Any

__all__ = ["PARAMETERS", "SPEND"]

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-9"}
TEXTS: dict[str, Any] = {"by_kind": "text", "unit_kind": "text"}
PARAMETERS: tuple[dict[str, Any], ...] = (
    {"kind": "number", "width": 1},
    {"kind": "number", "width": 1, "bounds": (0, 10)},
    {"kind": "number", "width": "0.1", "bounds": (0, 1), "outside": "drop"},
    {"kind": "number", "exact": True},
    {"kind": "number", "relative": "0.1"},
    {"kind": "number", "edges": [0, 1, 2.5, 100]},
    {"kind": "number"},
    {"kind": "integer", "width": 3},
    {"kind": "integer", "exact": True, "bounds": (-5, 5)},
    {"kind": "text"},
    {"kind": "boolean"},
    {"kind": "date", "width": "1 month"},
    {"kind": "date", "exact": True},
    {"kind": "datetime", "width": "15 minutes"},
    {"kind": "datetime", "width": "1 month", "zone": "Europe/Berlin"},
    {"width": 5},
    {"kind": "number", "width": 1, "by": "g", "by_kind": "text"},
    {"kind": "number", "width": 1, "bounds": (0, 9), "by": "g", "by_kind": "text", "groups": ["a", "b"], "other": "c"},
    {"kind": "number", "width": 1, "unit": "u", "unit_kind": "text", "max_buckets_per_unit": 2},
    {"kind": "integer", "width": 1, "unit": "u", "unit_kind": "integer", "per_unit": "max"},
    {"kind": "number", "width": 1, "bounds": (0, 9), "unit": "u", "unit_kind": "text", "per_unit": "mean"},
    {"kind": "number", "width": 1, "where": "g = 'a' OR u IS NULL"},
    {"column": "z", "kind": "number", "width": 1, "derive": {"z": "x / u"}, "where": "z > 0"},
    {"kind": "number", "ask": ["max", "median", "mean"]},
    {"kind": "number", "width": 1, "certify": "0.2"},
    {"column": ["x", "u"], "kind": "number", "width": 1},
    {"column": ["x", "g"], "kind": {"x": "number", "g": "text"}, "width": {"x": 1}, "separately": True},
    {"kind": "number", "width": 1, "decimal": ",", "thousands": ".", "currency": ["€"]},
    {"kind": "date", "width": "1 week", "date_format": "%d.%m.%Y"},
    {"kind": "text", "encoding": "cp1252"},
    {"kind": "number", "width": 1, "encoding": "utf-16"},
    {"kind": "number", "width": 1, "delimiter": ";"},
)
