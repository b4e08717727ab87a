"""Shared by all tests: the private counts before the noise, which no user ever sees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flexdp.bars import Bars
from flexdp.release import Request, prepare
from flexdp.tables import count


def private_counts(source: Any, column: str | None = None, **parameters: Any) -> dict[Any, int]:
    """What a release would count, keyed by the buckets' centres."""
    request = prepare(source, column, **parameters)
    private = private_bars(request)
    keys = request.partition.centres(private.parts[0]).tolist()
    return dict(zip(keys, private.counts.tolist(), strict=True))


def private_bars(request: Request, salt: str = "fixed") -> Bars:
    """What a prepared release would count, before the noise; with a salt that is the same in every test."""
    question = request.questions[0]
    units = question.counting.units
    salted = None if units is None else replace(units, salt=salt)
    return count(question.table, [replace(question.counting, units=salted)])[0]


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several workers, Spark, PostgreSQL and the browser are started in one each: tests go where theirs is."""
    from xdist.scheduler import LoadScopeScheduling

    class ByEngine(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if "browser/" in nodeid:
                return "browser"
            if "engines/" not in nodeid:
                return nodeid
            return "spark" if "spark" in nodeid else "databases"

    return ByEngine(config, log)
