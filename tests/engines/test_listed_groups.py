"""Groups that are not known, asked about on every engine: the same list and the same answers from the same bits."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import flexdp
from engines.conftest import ENGINES, Engine
from flexdp._release import asked_checks
from flexdp._release.asked import Column, Result, answer
from flexdp._release.asking import AskedBudget, Wanted
from flexdp.noise.bits import Bits
from flexdp.sharp.column import Column as Values
from flexdp.sharp.scale import NUMBERS
from flexdp.tables import ranks as ranks_module

SIZES = {"a": 700, "A": 400, "o'brien": 300, "rare": 2, "none": 0}
WANTED = Wanted(("median", "max", "mean"))


def seeded() -> Callable[[], Bits]:
    return lambda: Bits(random.Random(11).randbytes)


def rows() -> dict[str, tuple[str, list[Any]]]:
    """Each group has as many readable values, beside others that do not count."""
    rng = np.random.default_rng(5)
    values: list[Any] = []
    groups: list[str] = []
    for name, size in SIZES.items():
        values += [*np.round(rng.lognormal(3, 1, size), 2).tolist(), None, None]
        groups += [name] * (size + 2)
    order = rng.permutation(len(values)).tolist()
    return {"x": ("double", [values[i] for i in order]), "g": ("text", [groups[i] for i in order])}


def reference(budget: AskedBudget) -> dict[tuple[str, ...], Result]:
    """The list and the answers, from plain lists of values."""
    table = rows()
    kept: dict[str, list[float]] = {}
    for value, group in zip(table["x"][1], table["g"][1], strict=True):
        if value is not None:
            kept.setdefault(group, []).append(value)
    names = sorted(kept)
    assert budget.listing is not None
    left = budget.listing.draw([len(kept[name]) for name in names], seeded()())
    column, parts = Column(scale=NUMBERS), budget.parts(WANTED)
    return {
        (name,): answer(WANTED, parts, column, Values.from_values(np.array(kept[name])), seeded()(), listed=records)
        for name, records in zip(names, left, strict=True)
        if records
    }


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark-lenient"], indirect=True)
def test_every_engine_lists_and_answers_alike(engine: Engine, small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not small:
        monkeypatch.setattr(ranks_module, "SORTED_AT_MOST", -1)
    elif engine.name not in ("duckdb", "polars", "lazy", "pyarrow"):
        pytest.skip("this engine has one way only")
    monkeypatch.setattr(asked_checks, "Bits", seeded())
    found = flexdp.release(
        engine.load(rows()), "x", by="g", epsilon=2, delta="1e-4", ask=list(WANTED.words), **engine.parameters
    )
    assert found.asked is not None
    expected = reference(AskedBudget(Fraction(2), delta=Fraction("1e-4")))
    assert set(expected) == {("a",), ("A",), ("o'brien",)}
    assert dict(found.asked.results) == expected
    assert flexdp.Release.from_json(found.to_json()) == found
