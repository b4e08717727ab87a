"""True and false cells of files, counted with other columns in one pass."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp._release.api import prepare

pytestmark = pytest.mark.own_engines

CELLS = st.sampled_from([True, False, None])


def counts(path: Path, names: list[str], **options: object) -> dict[str, dict[object, int]]:
    request = prepare(path, names, separately=True, **options)
    counted = request.questions[0].table.count([each.counting for each in request.questions])
    return {
        name: dict(zip((key for (key,) in each.rows(slice(None))), each.counts.tolist(), strict=True))
        for name, each in zip(names, counted, strict=True)
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flags")


@given(st.lists(st.tuples(CELLS, CELLS, st.sampled_from(["x", "y", None])), max_size=12))
def test_flags_are_the_numbers_of_cells(folder: Path, rows: list[tuple[bool | None, bool | None, str | None]]) -> None:
    path = folder / "t.parquet"
    schema = {"a": pl.Boolean, "b": pl.Boolean, "t": pl.String}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(path)
    for names in (["a", "t", "b"], ["b", "a"]):
        columns = {name: [row["abt".index(name)] for row in rows] for name in names}
        present = {name: [cell for cell in cells if cell is not None] for name, cells in columns.items()}
        assert counts(path, names) == {name: dict(Counter(cells)) for name, cells in present.items()}


def test_a_filter_and_groups_are_counted_as_they_were(folder: Path) -> None:
    path = folder / "filtered.parquet"
    cells = {"a": [True, True, False, None], "b": [False] * 4, "n": [1.0, float("nan"), 3.0, 4.0], "g": ["x", "y"] * 2}
    pl.DataFrame(cells).write_parquet(path)
    assert counts(path, ["a", "b"], where="n > 0") == {"a": {True: 1, False: 1}, "b": {False: 3}}


def test_lines_are_read_once(folder: Path) -> None:
    path = folder / "t.csv"
    path.write_text("a,b\ntrue,false\nfalse,\n")
    assert counts(path, ["a", "b"], kind="boolean") == {"a": {True: 1, False: 1}, "b": {False: 1}}
