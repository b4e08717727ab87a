"""Ladders whose counts are limited, on engines: the release of the unlimited ladders in memory, from the same bits."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from _support.bits import seed

import flexdp
from engines.conftest import Engine
from flexdp.sharp.column import Column
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.ranks import Reply, Request
from flexdp.tables import ranks as ranks_module
from flexdp.tables.sql import rank_query

VALUES = np.round(np.random.default_rng(4).lognormal(3, 1, 40_000), 3)
ASKED: dict[str, Any] = {"ask": ["min", "q0.999", "max"], "epsilon": 8, "delta": 0}


@pytest.mark.parametrize("engine", ["duckdb", "polars", "sqlite", "postgres"], indirect=True)
def test_the_same_bits_give_the_release_of_unlimited_ladders(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks_module, "SORTED_AT_MOST", -1)
    monkeypatch.setattr(ranks_module, "FEW", -1)
    monkeypatch.setattr(rank_query, "CELL_BITS", 5)  # so that many values share a piece
    source = engine.load({"x": ("double", VALUES.tolist())})
    for number in (1,):
        with monkeypatch.context() as unlimited:
            unlimited.setattr(Ladder, "limit", property(lambda _: 10**18))
            seed(monkeypatch, number)
            here = flexdp.release(VALUES, **ASKED)
        reached = _watch(monkeypatch)
        seed(monkeypatch, number)
        there = flexdp.release(source, "x", **ASKED, **engine.parameters)
        assert json.loads(here.to_json()) | {"column": "x"} == json.loads(there.to_json())
        assert any(reached)  # some count was limited, and not exact on the engine


def _watch(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note for each request whether a count before a cut was not the exact one."""
    found: list[bool] = []
    fetch = Column.fetch

    def watched(self: Any, request: Request) -> Reply:
        reply = fetch(self, request)
        if request.enough is not None:
            exact = [int((self.scale.first_double(cut) > VALUES).sum()) for cut in request.cuts]
            found.append(exact != list(reply.before))
        return reply

    monkeypatch.setattr(Column, "fetch", watched)
    return found
