"""Shared by all tests: the private counts before the noise, which no user ever sees."""

from __future__ import annotations

from typing import Any

import pytest

from flexdp.release import prepare
from flexdp.tables import count


def private_counts(source: Any, column: str | None = None, **parameters: Any) -> dict[Any, int]:
    """What a release would count, keyed by the buckets' centres."""
    request = prepare(source, column, **parameters)
    private = count(request.table, request.column, request.kind, request.partition)
    return dict(zip(request.partition.centres(private.keys).tolist(), private.counts.tolist(), strict=True))


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
