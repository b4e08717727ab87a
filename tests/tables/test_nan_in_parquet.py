"""NaN in Parquet files: statistics that ignore NaN must not make it count, whatever else the file holds."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flexdp._release.api import prepare
from flexdp.sharp.goal import Goal
from flexdp.sharp.ranks import Near, Request, Tally
from flexdp.sharp.scale import NUMBERS
from flexdp.tables import ranks
from flexdp.tables.engines.duckdb.session import engines_kept

VALUES = {"two values": [7.0] * 50 + [3.0] * 20, "one value": [7.0] * 70}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"width": 5},
    {"bounds": (0, 120)},
    {"bounds": (0, 120), "outside": "drop"},
    {"width": 5, "bounds": (0, 120)},
    {"width": 5, "bounds": (0, 120), "outside": "drop"},
    {"edges": [0, 5, 120]},
    {"edges": [0, 5, 120], "outside": "drop"},
    {"relative": "0.1"},
    {"relative": "0.1", "bounds": (1, 120)},
    {"relative": "0.1", "bounds": (1, 120), "outside": "drop"},
    {"kind": "integer"},
    {"kind": "integer", "width": 5, "bounds": (0, 120)},
    {"width": 5, "by": "g"},
    {"width": 5, "bounds": (0, 120), "by": "g"},
    {"width": 5, "unit": "u", "max_buckets_per_unit": 1},
    {"width": 5, "unit": "u", "max_buckets_per_unit": 2},
    {"unit": "u", "max_buckets_per_unit": 1, "by": "g"},
    {"width": 5, "by": "g", "unit": "u", "per_unit": "max"},
    {"width": 5, "bounds": (0, 120), "unit": "u", "per_unit": "max"},
    {"width": 5, "bounds": (0, 120), "unit": "u", "per_unit": "mean"},
]


def written(folder: Path, values: list[float], kind: Any) -> str:
    rows = len(values)
    table = {
        "v": pa.array(values, kind, from_pandas=False),
        "w": pa.array([1.0] * rows, pa.float64()),
        "g": pa.array(["a", "b"] * (rows // 2) + ["a"] * (rows % 2)),
        "u": pa.array([row % 31 for row in range(rows)]),
    }
    path = folder / "n.parquet"
    pq.write_table(pa.table(table), path)
    return str(path)


@engines_kept()  # as a release does
def bars_of(source: Any, column: Any, options: dict[str, Any]) -> list[dict[Any, int]]:
    questions = prepare(source, column, **options).questions
    counted = questions[0].table.count([question.counting for question in questions])
    return [dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True)) for bars in counted]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("values", VALUES)
def test_nan_counts_nowhere(tmp_path: Path, values: str, options: dict[str, Any], kind: Any) -> None:
    plain = bars_of(written(tmp_path, VALUES[values], kind), "v", options)
    mixed = [*VALUES[values], *[float("nan")] * 90]
    assert bars_of(written(tmp_path, mixed, kind), "v", options) == plain
    for outside in (
        np.inf,
        -np.inf,
    ):  # a value that changes the statistics and counts nowhere itself
        assert bars_of(written(tmp_path, [*mixed, outside], kind), "v", options) == plain
    relation = duckdb.connect().read_parquet(written(tmp_path, mixed, kind))
    assert bars_of(relation, "v", options) == plain


def test_nan_counts_nowhere_in_several_columns(tmp_path: Path) -> None:
    plain, mixed = VALUES["two values"], [*VALUES["two values"], *[float("nan")] * 90]
    for options in ({"width": 5}, {"width": 5, "bounds": (0, 120)}, {"width": 5, "outside": "drop", "bounds": (0, 9)}):
        alone = bars_of(written(tmp_path, plain, pa.float64()), ["v", "w"], options)
        assert bars_of(written(tmp_path, mixed, pa.float64()), ["v", "w"], options) == alone
        (first, _) = bars_of(written(tmp_path, plain, pa.float64()), ["v", "w"], {**options, "separately": True})
        (again, second) = bars_of(written(tmp_path, mixed, pa.float64()), ["v", "w"], {**options, "separately": True})
        assert again == first and sum(second.values()) == len(mixed)


@pytest.mark.parametrize(("most", "few"), [(1 << 22, 0), (-1, 1 << 22), (-1, -1)], ids=["sorted", "values", "pieces"])
@pytest.mark.parametrize("values", [*VALUES, "many values"])
def test_nan_has_no_rank(tmp_path: Path, values: str, most: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where all values are sorted, nor where each is counted, nor in pieces."""
    monkeypatch.setattr(ranks, "SORTED_AT_MOST", most)
    monkeypatch.setattr(ranks, "FEW", few)
    plain = VALUES.get(values, [2 + i / 64 for i in range(300)])
    request = Request(
        cuts=(NUMBERS.units(4.0), NUMBERS.units(8.0)),
        windows=(Near(goal=Goal.quantile(Fraction(1, 2)), reach=9),),
        tallies=(Tally(low=0, step=NUMBERS.one, cells=9),),
    )
    replies = []
    for mixed in (plain, [*plain, *[float("nan")] * 90], [*plain, float("nan"), float("inf"), float("-inf")]):
        (question,) = prepare(written(tmp_path, mixed, pa.float64()), "v", width=1).questions
        with ranks.open_ranks(question.table, question.counting) as opened:
            reply = opened.fetch(request)
        (window,) = reply.windows
        replies.append((reply.total, list(reply.before), window.values.tolist(), window.upto.tolist(), reply.tallies))
    assert replies == [replies[0]] * 3 and replies[0][0] == len(plain)
