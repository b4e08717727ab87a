"""Sizes of vectors, batches, row groups, blocks and spill files: their boundaries change no count.

One more record, in front of all others, moves every record across such a boundary. Only its own bucket may change, and
every count is exact.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from _support.lite import opened
from _support.private import private_bars, private_counts

import flexdp
from flexdp import DataError, Release
from flexdp._release.api import prepare
from flexdp.tables.engines.duckdb import session
from flexdp.tables.engines.duckdb import session as duckdb_session

pytestmark = pytest.mark.own_engines

SIZES = [2047, 2048, 2049, 65_535, 65_536, 65_537, 122_879, 122_880, 122_881]  # vectors, our blocks, row groups
WAYS: dict[str, Callable[[np.ndarray, Path], tuple[Any, str | None]]] = {
    "numpy": lambda x, _: (x, None),
    "float32": lambda x, _: (x.astype(np.float32), None),
    "masked": lambda x, _: (np.ma.MaskedArray(x, mask=np.zeros(len(x), bool)), None),
    "pandas": lambda x, _: (pd.DataFrame({"x": x}), "x"),
    "polars": lambda x, _: (pl.DataFrame({"x": x}), "x"),
    "polars chunks": lambda x, _: (pl.concat([pl.DataFrame({"x": part}) for part in (x[:7], x[7:])]), "x"),
    "lazy": lambda x, _: (pl.LazyFrame({"x": x}), "x"),
    "arrow": lambda x, _: (pa.table({"x": x}), "x"),
    "arrow batches": lambda x, _: (pa.Table.from_batches(pa.table({"x": x}).to_batches(max_chunksize=1000)), "x"),
    "arrow slice": lambda x, _: (pa.table({"x": np.concatenate([[55.5] * 13, x])}).slice(13), "x"),
    "parquet": lambda x, folder: (parquet(x, folder), "x"),
    "parquet row groups": lambda x, folder: (parquet(x, folder, row_group_size=2048), "x"),
    "parquet pages": lambda x, folder: (parquet(x, folder, data_page_size=512, use_dictionary=False), "x"),
    "parquet no statistics": lambda x, folder: (parquet(x, folder, write_statistics=False, compression="zstd"), "x"),
    "relation": lambda x, _: (relation(x), "x"),
    "csv": lambda x, folder: (text(folder / "t.csv", "x\n" + "".join(f"{v}\n" for v in x.tolist())), "x"),
    "jsonl": lambda x, folder: (text(folder / "t.jsonl", "".join(f'{{"x":{v}}}\n' for v in x.tolist())), "x"),
    "sqlite": lambda x, _: (database(x), "x"),
}  # fmt: skip


def parquet(x: np.ndarray, folder: Path, **options: Any) -> Path:
    pq.write_table(pa.table({"x": x}), folder / "t.parquet", **options)
    return folder / "t.parquet"


def relation(x: np.ndarray) -> Any:
    con = duckdb.connect()
    con.register("given", pa.table({"x": x}))
    con.execute("CREATE TABLE t AS SELECT * FROM given")
    return con.table("t")


def text(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def database(x: np.ndarray) -> Any:
    con = opened()
    con.execute("CREATE TABLE t (x REAL)")
    con.executemany("INSERT INTO t VALUES (?)", [(v,) for v in x.tolist()])
    con.commit()
    return con, "t"


def calm(size: int) -> np.ndarray:
    """Runs of equal values, so that pages and row groups have statistics and dictionaries of their own."""
    return np.repeat(np.arange(90, dtype=np.float64), -(-size // 90))[:size]


def wanted(x: np.ndarray, width: int) -> dict[float, int]:
    indices, counts = np.unique(np.floor(x / width), return_counts=True)
    return {i * width + width / 2: n for i, n in zip(indices.tolist(), counts.tolist(), strict=True)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("way", WAYS)
def test_one_more_record_in_front_of_all_others(tmp_path: Path, way: str, size: int) -> None:
    said = {"kind": "number"} if way in ("csv", "jsonl") else {}
    for bounds in ({}, {"bounds": (0, 120)}):
        x = np.concatenate([[101.0], calm(size)])
        for values in (x[1:], x):
            source, column = WAYS[way](values, tmp_path)
            assert private_counts(source, column, width=5, **said, **bounds) == wanted(values, 5)


def spilling(monkeypatch: pytest.MonkeyPatch, memory: str, threads: int) -> None:
    changed = {**duckdb_session._SETTINGS, "memory_limit": memory, "threads": str(threads)}
    monkeypatch.setattr(duckdb_session, "_SETTINGS", changed)


@pytest.mark.parametrize("threads", [1, 7])
def test_counts_that_spill_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    rng = np.random.default_rng(threads)
    x = rng.integers(0, 120_000, 150_000)
    path = tmp_path / "t.parquet"
    for values in (x, np.append(-1, x)):
        pq.write_table(pa.table({"x": [f"a key of some length {v}" for v in values.tolist()]}), path)
        spilling(monkeypatch, "24MB", threads)
        bars = private_bars(prepare(path, "x"))
        found = Counter(dict(zip(bars.parts[0].tolist(), bars.counts.tolist(), strict=True)))
        assert found == Counter(f"a key of some length {v}" for v in values.tolist())


@pytest.mark.parametrize("threads", [1, 3])
def test_units_that_spill_are_bounded_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """One more unit, in front of all others, adds one to its own bucket; memory and threads make no difference."""
    rng = np.random.default_rng(5)
    ids, x = rng.integers(0, 50_000, 150_000), rng.integers(0, 90, 150_000).astype(float)
    path, found = tmp_path / "t.parquet", []
    for memory, more in (("600MB", False), ("40MB", False), ("40MB", True)):
        table = {"id": np.append(10**9, ids) if more else ids, "x": np.append(101.0, x) if more else x}
        pq.write_table(pa.table(table), path, row_group_size=20_000)
        spilling(monkeypatch, memory, threads)
        found.append(private_counts(path, "x", width=5, unit="id", max_buckets_per_unit=2))
    assert found[0] == found[1]
    assert found[2] == {**found[1], 102.5: 1}
    assert sum(found[0].values()) == sum(min(2, n) for n in Counter(distinct(ids, x)).values())


def distinct(ids: np.ndarray, x: np.ndarray) -> list[int]:
    """The id of each pair of an id and a bucket."""
    return [unit for unit, _ in set(zip(ids.tolist(), np.floor(x / 5).tolist(), strict=True))]


def test_objects_of_many_sizes(tmp_path: Path) -> None:
    """JSON lines of very different lengths, so that batches end at every kind of place."""
    rng = np.random.default_rng(3)
    rows = [{"pad": "p" * int(size), "x": int(size) % 40} for size in rng.integers(0, 5000, 1200)]
    path = tmp_path / "t.jsonl"
    for more in ([], [{"x": 41}]):
        path.write_text("\r\n".join(json.dumps(row) for row in [*more, *rows]))
        counts = private_counts(path, "x", kind="integer")
        assert counts == Counter(row["x"] for row in [*more, *rows])


DEEP = os.environ.get("FLEXDP_DEEP") == "1"
MANY = 10**7 if DEEP else 400_000
MEMORY = {"enough": "600MB" if DEEP else "24MB", "too little": "2MB"}


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("buckets", [{"exact": True}, {}], ids=["exact", "automatic"])
def test_many_distinct_keys_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buckets: dict[str, Any], memory: str
) -> None:
    """A clean release or one line, and nothing is left on disk: ``benchmarks/distinct_keys.py`` does it with 10^8."""
    path, spilled = tmp_path / "t.parquet", tmp_path / "spill"
    spilled.mkdir()
    pq.write_table(pa.table({"x": np.arange(MANY, dtype=np.int64) * 2654435761 % 2**32}), path)
    monkeypatch.setattr(tempfile, "tempdir", str(spilled))
    spilling(monkeypatch, MEMORY[memory], 2)
    monkeypatch.setattr(session, "FOR_COPIES", MEMORY[memory])
    if memory == "enough":
        released = flexdp.release(path, "x", epsilon=1, delta="1e-6", **buckets)
        assert Release.from_json(released.to_json()) == released and released.histogram.size <= MANY
    else:
        with pytest.raises(DataError) as caught:
            flexdp.release(path, "x", epsilon=1, delta="1e-6", **buckets)
        assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert not list(spilled.iterdir())
