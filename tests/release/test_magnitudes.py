"""Columns of the smallest and the largest numbers that a double holds are released like any other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flexdp

COLUMNS = {
    "proton masses": lambda rng: 1.67262192e-27 * (1 + 1e-3 * rng.standard_normal(3000)),
    "one value": lambda _: np.full(3000, 1.67262192e-27),
    "below a decade": lambda rng: rng.choice([-1e-30, 1e-30, 1.0000000001e-30, 2e-30], 3000),
    "1e-300": lambda rng: 1e-300 * rng.random(3000),
    "subnormal": lambda rng: 5e-324 * rng.integers(0, 100, 3000),
    "1e300": lambda rng: 1e300 * rng.standard_normal(3000),
    "every magnitude": lambda rng: 10.0 ** rng.uniform(-320, 308, 3000),
    "close together": lambda rng: 1 + 1e-15 * rng.integers(0, 100, 3000),
}
ANSWERS = ["max", "min", "median", "mean", "q0.01", "q0.99"]
ASKED: list[dict[str, Any]] = [
    {},
    {"delta": 0, "ask": ANSWERS},
    {"delta": 0, "ask": ["q0.99"]},
    {"delta": 0, "ask": ["iqr"]},
]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_any_magnitude_is_released(name: str) -> None:
    values = COLUMNS[name](np.random.default_rng(3))
    for more in ASKED:
        for _ in range(2):
            released = flexdp.release(values, epsilon=1, **{"delta": "1e-6", **more})
            assert flexdp.Release.from_json(released.to_json()) == released
            assert "<h1" in released.to_html(), "every answer can be read"


def test_tiny_numbers_are_told_apart() -> None:
    """Nine tenths of the records are 1.67e-27 and 1.69e-27, so the quartiles are, too."""
    values = np.repeat([1.5e-27, 1.67e-27, 1.69e-27, 1.8e-27], [300, 2700, 2700, 300])
    released = flexdp.release(values, epsilon=3, delta=0, ask=["q0.25", "q0.75"])
    assert [released.quantile(level).value for level in ("0.25", "0.75")] == [1.67e-27, 1.69e-27]


def test_extremes_and_means_of_tiny_numbers_are_of_their_size() -> None:
    """The nearest rungs of a ladder lie as close to a tiny anchor, in proportion, as to any other."""
    rng = np.random.default_rng(3)
    values = np.concatenate([1.5e-27 + 3e-28 * rng.random(20_000), [2e-27]])
    released = flexdp.release(values, epsilon=4, delta=0, ask=["max", "min", "mean"])
    highest, lowest, mean = released.max().value, released.min().value, released.mean().value
    assert 1.75e-27 < highest < 2.5e-27 and 1e-27 < lowest < 1.55e-27 and mean == pytest.approx(1.65e-27, rel=0.01)


def test_one_such_column_does_not_end_a_summary() -> None:
    rng = np.random.default_rng(3)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({name: make(rng) for name, make in COLUMNS.items()} | {"age": rng.integers(0, 99, 3000)})
    with pytest.raises(flexdp.InputError, match=r"^columns is missing: pandas infers types from cells\."):
        flexdp.summary(table, epsilon=30, delta="1e-6")
    found = flexdp.summary(table, dict.fromkeys(COLUMNS, "number") | {"age": "integer"}, epsilon=30, delta="1e-6")
    assert set(found) == {*COLUMNS, "age"} and all(len(each.bars) for each in found.values())
