"""Settings of all tests: markers by folder, no clocks, no colours, and one worker for each server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

FOLDERS = {"engines": "engine", "browser": "browser", "statistical": "slow", "experiments": "slow"}

# Hypothesis measures time in two places; both would fail on a busy machine.
settings.register_profile("flexdp", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("flexdp")


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by where they lie, for ``make quick``."""
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder in FOLDERS:
            item.add_marker(FOLDERS[folder])


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
