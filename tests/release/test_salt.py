"""The salt that chooses a unit's bars: 128 bits that nobody knows, drawn anew whenever records are counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest

import flexdp
import flexdp.tables
from flexdp._release.api import prepare
from flexdp.noise import fresh_salt
from flexdp.tables.counting import SHOWN_SALT

FRAME = pl.DataFrame({"x": [1.0, 2.0] * 50, "y": [3.0] * 100, "u": [i // 2 for i in range(100)]})
RULE: dict[str, Any] = {"width": 1, "unit": "u", "max_buckets_per_unit": 1}


@pytest.fixture
def salts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The salts of all counts that were run, in their order."""
    used: list[str] = []
    count = flexdp.tables.Source.count

    def counted(table: Any, countings: Any) -> Any:
        used.extend(each.units.salt for each in countings)
        return count(table, countings)

    monkeypatch.setattr(flexdp.tables.Source, "count", counted)
    return used


def test_every_release_draws_a_salt_of_its_own(salts: list[str]) -> None:
    """Two of nine salts of 128 bits are alike with a chance below 1e-36."""
    request = prepare(FRAME, "x", **RULE).with_budget(1, "1e-6")
    for _ in range(3):
        request.run()  # also where one request is run again
    for _ in range(2):
        flexdp.release(FRAME, "x", epsilon=1, delta="1e-6", **RULE)
    for _ in range(2):  # separate columns choose a unit's bars independently of each other
        flexdp.release(FRAME, ["x", "y"], epsilon=1, delta="1e-6", separately=True, **RULE)
    # Buckets, and the number of units that have more of them, are counted with one salt: they speak of one choice.
    assert len(salts) == 18 and sorted(Counter(salts).values()) == [2] * 9
    assert SHOWN_SALT not in salts


def test_every_one_of_128_random_bits_changes_the_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    made = set()
    for chosen in (0, *(1 << bit for bit in range(128))):
        octets = chosen.to_bytes(16, "little")
        monkeypatch.setattr("os.urandom", lambda size, octets=octets: octets[:size].ljust(size, b"\0"))
        made.add(fresh_salt())
    assert len(made) == 129
