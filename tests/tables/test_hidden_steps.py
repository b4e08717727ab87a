"""Steps that a text does not show: queries that are values, macros in the place of operators, quotes in names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import InputError
from flexdp._release.api import prepare

RUN = [
    "SELECT stats(x)::VARCHAR AS y FROM t", "SELECT rowid AS y FROM t", "SELECT random() AS y FROM t",
    "SELECT x AS y FROM t",
]  # fmt: skip


def filled() -> Any:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT range AS k, (range % 100)::DOUBLE AS x FROM range(500)")
    return con


def refused(source: Any, column: str = "y") -> None:
    with pytest.raises(InputError, match="rows need not be records"):
        prepare(source, column)


@pytest.mark.parametrize("text", RUN)
def test_a_query_that_is_a_parameter_or_a_built_text(text: str) -> None:
    con = filled()
    built = " || ".join(f"'{part}'" for part in (text[:10], text[10:18], text[18:]))
    for source in (
        con.sql("FROM query(?)", params=[text]),
        con.sql(f"FROM query({built})"),
        con.sql(f'FROM "QUERY" /* a */ -- b\r\n ({built})'),
        con.sql(f"SELECT y FROM query({built}) -- SELECT x FROM t"),
    ):
        refused(source)
    con.execute(f"CREATE VIEW v AS FROM query({built})")
    con.execute("CREATE VIEW w AS SELECT y FROM v WHERE y IS NOT NULL")
    con.execute("CREATE MACRO m(a) AS TABLE FROM query(a)")
    for source in ((con, "v"), (con, "w"), con.sql("FROM m(?)", params=[text])):
        refused(source)
    assert prepare((con, "w"), "y", exact=True, rows_are_records=True).questions


def test_a_table_that_is_named_by_a_value() -> None:
    con = filled()
    con.execute("CREATE VIEW numbered AS SELECT rowid AS y FROM t")
    con.execute("CREATE VIEW plain AS SELECT x AS y FROM t")
    for name in ("numbered", "plain"):
        refused(con.sql("FROM query_table(?)", params=[name]))
        refused(con.sql(f"FROM query_table('{name[:3]}' || '{name[3:]}')"))
    assert prepare(con.sql("SELECT y, 'query' AS query FROM plain WHERE y > ?", params=[3]), "y", width=1).questions


def test_a_query_that_is_a_parameter_may_read_a_file_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"y": [1.0, 2.0]}).write_parquet(path)
    con, twice = duckdb.connect(), f"SELECT y FROM read_parquet(['{path}', '{tmp_path}/./a.parquet'])"
    source = con.sql(f"WITH d AS (FROM read_parquet('{path}')) FROM query(?)", params=[twice])
    assert len(source.fetchall()) == 4
    refused(source)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT random --\r() AS y FROM t", "SELECT random\N{ZERO WIDTH SPACE}() AS y FROM t",
        "SELECT random /* /* a */ b */ () AS y FROM t",
        "SELECT json_serialize_plan('FROM t WHERE x > 99', optimize := true)::VARCHAR AS y FROM t",
        "FROM json_execute_serialized_sql(json_serialize_sql('SELECT rowid AS y FROM t'))", "EXECUTE numbered",
        "SELECT getvariable('y') AS y FROM t",
    ],
)  # fmt: skip
def test_other_ways_to_hide_a_call(text: str) -> None:
    con = filled()
    con.execute("PREPARE numbered AS SELECT rowid AS y FROM t")
    con.execute("SET VARIABLE y = 3")
    refused(con.sql(text))


SHADOWING = {
    'CREATE MACRO "+"(a, b) AS (random() * 3)::INT': "SELECT x+1 AS y FROM t",
    'CREATE TEMP MACRO "||"(a, b) AS random()::VARCHAR': "SELECT k||'a' AS y FROM t",
    'CREATE MACRO "~~"(a, b) AS random() < 0.5': "SELECT x AS y FROM t WHERE 'a' LIKE 'b'",
    "CREATE MACRO date_part(a, b) AS random()": "SELECT extract(year FROM DATE '2024-01-01') + x AS y FROM t",
    "CREATE MACRO Floor(a) AS random()": "SELECT x AS y FROM t",
    "CREATE MACRO duckdb_functions() AS TABLE SELECT 1 AS a": "SELECT x AS y FROM t",
}


@pytest.mark.parametrize("macro", SHADOWING)
def test_a_macro_in_the_place_of_a_function_or_an_operator(macro: str) -> None:
    """flexdp's own queries would call it, too, so that nobody can vouch for it."""
    con = filled()
    con.execute(macro)
    con.execute(f"CREATE VIEW v AS {SHADOWING[macro]}")
    for source in (con.sql(SHADOWING[macro]), (con, "v"), (con, "t")):
        for vouched in (False, True):
            with pytest.raises(InputError, match="macro with the name of a built-in function") as refusal:
                prepare(source, "x" if source == (con, "t") else "y", rows_are_records=vouched)
            assert "random" not in str(refusal.value)


def test_a_macro_with_a_name_of_its_own_passes() -> None:
    con = filled()
    con.execute("CREATE MACRO plus(a, b) AS a + b")
    con.execute('CREATE MACRO "more than"(a) AS a + 1')
    assert prepare(con.sql('SELECT "more than"(plus(x, k)) AS y FROM t'), "y", width=1).questions


def test_numbers_of_rows_are_not_taken_for_an_option_of_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"x": [1.0, 2.0, 3.0], "k": [0, 1, 2]}).write_parquet(path)
    con, file = duckdb.connect(), f"read_parquet('{path}'"
    for text in (
        f"SELECT x AS y FROM {file}) WHERE file_row_number = false::BIGINT + k",
        f"SELECT x AS y FROM {file}) WHERE file_row_number = false",
        f"SELECT x AS y FROM {file}) WHERE (file_row_number = false)",
        f"SELECT x AS y FROM {file}) WHERE abs(k) = 1 OR (k > 0, (file_row_number = false)) = (true, true)",
        f"SELECT x + file_row_number AS y FROM {file}, file_row_number := false)",
        f"SELECT x AS y FROM {file}, file_row_number = true) WHERE file_row_number = false",
    ):
        refused(con.sql(text))
    passing = [con.read_parquet(str(path)).project("x AS y")]
    con.execute(f"CREATE OR REPLACE VIEW v AS SELECT x AS y FROM {file}, file_row_number := false)")
    passing += [con.sql(f"SELECT x AS y FROM {file}, file_row_number := false, filename = true)"), (con, "v")]
    for source in passing:
        assert prepare(source, "y", width=1).questions


def test_a_quote_in_a_name_does_not_hide_a_mean() -> None:
    frame = pl.DataFrame({"Age": [float(i % 50) for i in range(500)], 'Screen 15"': [1] * 500})
    age = pl.col("Age")
    for lazy in (
        frame.lazy().select(pl.col('Screen 15"'), (age - age.mean()).alias("Centred")),
        frame.lazy().select(pl.lit('a" + ') + pl.len().cast(pl.String) + pl.lit(' + "q'), Centred="Age"),
        frame.lazy().select(Centred=pl.lit('"') + pl.Series(["a"] * 500) + pl.lit('"')),
        frame.lazy().select(age.alias('Centred"\n"'), (age - age.mean()).alias("Centred")),
    ):
        refused(lazy, "Centred")
        with pytest.raises(InputError, match="rows need not be records"):
            flexdp.release(lazy, "Centred", epsilon=1, delta=1e-6, width=1)
    assert prepare(frame.lazy().select(pl.col("Age").alias("Age (years) [a]")), "Age (years) [a]", width=1).questions
    assert prepare(frame.lazy().filter(age > 3), "Age", width=1).questions  # the other name is not in an expression


NAMES = st.one_of(
    st.sampled_from(
        ['Age"', '"Age', '"', '""', '") + col("', 'X").alias("Z', "Series", "A B", "a'b", "A\nB", "[", "col"]
    ),
    st.text(st.sampled_from(list('aA"" ()[],.\n+')), min_size=1, max_size=8),
).filter(lambda name: name not in ("Y", "Text"))  # capitals: a word in small letters is refused wherever it stands
ROW_BY_ROW = st.sampled_from(
    [
        lambda e: e + 1, lambda e: e * e, lambda e: e.abs(), lambda e: e.fill_null(0), lambda e: -e,
        lambda e: e.cast(pl.Float32), lambda e: pl.when(e > 1).then(e).otherwise(0.0), lambda e: e.clip(0, 3),
        lambda e: pl.sum_horizontal(e, e), lambda e: e.is_in([1.0, 2.0]).cast(pl.Float64),
    ]
)  # fmt: skip
SEVERAL_ROWS = st.sampled_from(
    [
        lambda e: e - e.mean(), lambda e: e / e.max(), lambda e: e.cum_sum(), lambda e: e.shift(1), lambda e: e.sum(),
        lambda e: e.rank(), lambda e: e.sort(), lambda e: e.head(1), lambda e: e.first() + e, lambda e: e + pl.len(),
        lambda e: e.sort_by(e), lambda e: e.sum().over(e), lambda e: e.reverse(), lambda e: e.diff(),
        lambda e: e.rolling_mean(2), lambda e: e.forward_fill(), lambda e: e.unique(), lambda e: e.filter(e > 1),
        lambda e: e.is_duplicated().cast(pl.Float64), lambda e: e.quantile(0.5) + e, lambda e: e.count() + e,
    ]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_random_expressions_over_hostile_names(data: st.DataObject) -> None:
    """One step that looks at several rows is refused, wherever it stands and whatever columns are called."""
    names = data.draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    frame = pl.DataFrame({name: [1.0, 2.0, 3.0] for name in names}).lazy()
    made = pl.col(data.draw(st.sampled_from(names)))
    steps = [
        *data.draw(st.lists(ROW_BY_ROW, max_size=2)),
        data.draw(SEVERAL_ROWS),
        *data.draw(st.lists(ROW_BY_ROW, max_size=2)),
    ]
    for step in steps:
        made = step(made)
    text = data.draw(st.sampled_from(names))
    others = [pl.col(name) for name in names if data.draw(st.booleans())] + [pl.lit(text).alias("Text")]
    before = data.draw(st.integers(0, len(others)))
    columns = [*others[:before], made.alias("Y"), *others[before:]]
    lazy = frame.with_columns(columns) if data.draw(st.booleans()) else frame.select(columns)
    if data.draw(st.booleans()):
        lazy = frame.filter(made > 1).select(pl.col(names[0]).alias("Y"), *others)
    refused(lazy, "Y")


@settings(max_examples=100, deadline=None)
@given(st.lists(ROW_BY_ROW, max_size=4), st.sampled_from(["x", "Age", "A B", "Cost (EUR)", "Temp [C]", "1) a", "o'b"]))
def test_random_expressions_of_one_row_pass(steps: list[Any], name: str) -> None:
    made = pl.col(name)
    for step in steps:
        made = step(made)
    frame = pl.LazyFrame({name: [1.0, 2.0, 3.0], "z": [1.0, 2.0, 3.0]})
    for lazy in (frame.select(pl.col(name), y=made), frame.filter(made > 1).select(y=pl.col("z"))):
        assert prepare(lazy, "y", width=1).questions
