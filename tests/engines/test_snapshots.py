"""The SQL of each dialect, word for word. FLEXDP_SNAPSHOTS=write rewrites the files; then read the diff."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from _support.private import private_bars, private_units

import flexdp
from engines.conftest import ARROW_TYPES, Cells, make_engine
from flexdp import InputError
from flexdp._release.api import prepare
from flexdp.tables.engines.registry import ENGINES

FOLDER = Path(__file__).parent / "snapshots"
RUN = ("clickhouse", "duckdb", "mariadb", "postgres", "spark", "sqlite")
CELLS: Cells = {
    "age": ("double", [float(i % 90) for i in range(200)]),
    "cost": ("double", [float(i % 70) for i in range(200)]),
    "visits": ("bigint", [i % 30 for i in range(200)]),
    "ward": ("text", ["A", "B", "o'c"] * 66 + ["A", None]),
    "day": ("date", [None] * 200),
    "who": ("bigint", [i // 4 for i in range(200)]),
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "numbers between bounds": {"column": "age", "width": 5, "bounds": (0, 120)},
    "numbers between bounds on both sides of zero": {"column": "age", "width": 5, "bounds": (-50, 50)},
    "declared groups": {"column": "age", "width": 5, "by": "ward", "groups": ["A", "o'c"]},
    "integers on an open domain": {"column": "visits", "width": 7},
    "numbers filtered by another": {"column": "age", "width": 5, "where": "cost < 50 AND ward <> 'B'"},
    "edges, filtered by another number": {"column": "age", "edges": [0, 65, 120], "where": "cost < 50"},
    "edges": {"column": "age", "edges": [0, 18, 65, 120]},
    "months": {"column": "day", "width": "1 month"},
    "units, at most two buckets each": {"column": "age", "width": 5, "unit": "who", "max_buckets_per_unit": 2},
    "the mean of each unit": {"column": "age", "width": 5, "unit": "who", "per_unit": "mean"},
}


def empty() -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array([], ARROW_TYPES[kind]) for name, (kind, _) in CELLS.items()})


def text_of(dialect: str) -> str:
    parts = []
    for title, question in QUESTIONS.items():
        try:
            sql = flexdp.query(empty(), **question, dialect=dialect)
        except InputError as refusal:
            sql = f"-- refused: {refusal}"
        parts.append(f"-- {title}\n{sql};\n")
    return "\n".join(parts)


@pytest.mark.parametrize("dialect", RUN)
def test_the_sql_of_a_dialect_has_not_changed(dialect: str) -> None:
    path, text = FOLDER / f"{dialect}.sql", text_of(dialect)
    if os.environ.get("FLEXDP_SNAPSHOTS") == "write":
        path.write_text(text)
    assert path.read_text() == text


def test_every_dialect_that_is_shown_is_run() -> None:
    assert sorted(engine.name for engine in ENGINES) == sorted(RUN) == sorted(path.stem for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", [*(pytest.param(name, id=name) for name in RUN)])
def test_what_is_shown_is_what_is_run(name: str, request: pytest.FixtureRequest) -> None:
    """The statements of the snapshot, run on the engine, count what a release counts."""
    engine = make_engine(name, request)
    source = engine.load(CELLS)
    for question in QUESTIONS.values():
        prepared = prepare(source, **question)
        statement, *of_units = prepared.query(name).split(";\n\n")
        rows = run_on(name, source, statement)
        bars = private_bars(prepared, salt="salt")
        assert sum(row[-1] for row in rows) == bars.counts.sum()
        assert sorted(row[-1] for row in rows) == sorted(bars.counts.tolist())
        assert len(of_units) == ("max_buckets_per_unit" in question)
        for statement in of_units:
            units = private_units(prepared)
            told = dict(zip(units.parts[0].tolist(), units.counts.tolist(), strict=True))
            assert {int(key): count for key, count in run_on(name, source, statement)} == told


def run_on(name: str, source: Any, statement: str) -> list[Any]:
    if name == "spark":
        source.createOrReplaceTempView("source")
        return [tuple(row) for row in source.sparkSession.sql(statement).collect()]
    con, table = source
    if name == "mariadb":
        from flexdp.tables.engines.mariadb.session import opened

        with opened(con, copies=False) as session:
            return list(session.ask(statement.replace("FROM source", f"FROM {table}")))
    if name == "clickhouse":  # word for word, with its settings
        cursor = con.cursor()
        cursor.execute(statement.replace("FROM source", f"FROM {table}"))
        return list(cursor.fetchall())
    if name == "sqlite":
        from flexdp.tables.engines.sqlite.session import opened as on_sqlite

        with on_sqlite(con) as session:
            return list(session.ask(statement.replace("FROM source", f'FROM "{table}"')))
    return list(con.execute(statement.replace("FROM source", f'FROM "{table}"')).fetchall())


def test_unknown_dialects_are_refused() -> None:
    with pytest.raises(InputError, match="Did you mean 'mariadb'"):
        flexdp.query(empty(), "age", width=5, dialect="maria")
    for wrong in (7, "snowflake", "mysql", "", None.__class__):
        with pytest.raises(InputError, match=r"dialect must be 'clickhouse', 'duckdb', .* or 'sqlite'; got "):
            flexdp.query(empty(), "age", width=5, dialect=wrong)
