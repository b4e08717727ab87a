"""Automatic buckets on every engine: the same bits choose and count the same as in memory."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from _support.bits import seed

import flexdp
from engines.conftest import ENGINES, Engine

VALUES = np.round(np.random.default_rng(4).lognormal(3, 1, 1500) - 15, 1)


# A statement takes Spark seconds, so that it runs one of the two.
PAIRS = [(name, column) for name in ENGINES for column in "xi" if not name.startswith("spark") or column == "i"]


@pytest.mark.parametrize(
    ("engine", "column"), [each for each in PAIRS if each[0] != "spark-lenient"], indirect=["engine"]
)
def test_the_same_bits_give_the_same_release(engine: Engine, column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = (VALUES * 10).astype(np.int64)
    values: Any = VALUES if column == "x" else whole
    spend: dict[str, Any] = {"epsilon": 2, "delta": "1e-6", "ask": ["max", "mean"]}
    source = engine.load({"x": ("double", VALUES.tolist()), "i": ("bigint", whole.tolist())})
    seed(monkeypatch, 11)
    here = flexdp.release(values, **spend)
    seed(monkeypatch, 11)
    there = flexdp.release(source, column, **spend, **engine.parameters)
    assert here.auto is not None and here.auto.chosen
    assert json.loads(here.to_json()) | {"column": column} == json.loads(there.to_json())
