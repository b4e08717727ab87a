"""Statements about many groups at once, on small copies: the rows that they return, and the words that they hold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pytest

from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.sharp.goal import Goal
from flexdp.sharp.ranks import Near
from flexdp.tables.counting import Axis, Counting
from flexdp.tables.declared import Column
from flexdp.tables.duckdb.dialect import DUCKDB
from flexdp.tables.postgres.dialect import POSTGRES
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.group_query import first_statement, values_together
from flexdp.tables.sql.rank_query import RankQuery

GROUPS: list[tuple[Any, ...]] = [("a", 1), ("a", 2), ("o'b", 1), ("none", 1)]
SIZES = (120, 40, 1, 0)
NEAR = (
    Near(goal=Goal.quantile(Fraction(1, 2)), reach=1),
    Near(goal=Goal.quantile(Fraction(0)), reach=0),
    Near(goal=Goal.quantile(Fraction(1)), reach=3),
)
SLACK = 2  # ranks by which windows are wider in an engine


def asked(kind: Kind, *, wide: bool = False, dialect: Dialect = DUCKDB) -> RankQuery:
    def axis(name: str, of: Kind) -> Axis:
        return Axis(column=Column(name=name, type_name="", kind=of), kind=of, buckets=Exact(of))

    counting = Counting(values=(axis("x", kind),), groups=(axis("g", "text"), axis("h", "integer")))
    return RankQuery(dialect, counting, wide, "rows", "cells")


@pytest.fixture(params=["number", "integer", "wide"])
def copy(request: pytest.FixtureRequest) -> Any:
    """A copy with its cells, and the values of each group: some of them tied, many in one cell."""
    rng = np.random.default_rng(4)
    query = asked("number") if request.param == "number" else asked("integer", wide=request.param == "wide")
    values: list[list[Any]] = []
    for size in SIZES:
        drawn = np.round(rng.normal(100, 40, size))
        if request.param == "number":
            values.append((drawn / 8).tolist())
        else:
            values.append([int(value) + (2**70 if request.param == "wide" else 2**40) for value in drawn])
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE rows (b0 VARCHAR, b1 BIGINT, v {query._type})")
    listed = [(*group, value) for group, own in zip(GROUPS, values, strict=True) for value in own]
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", [*listed, ("other", 1, 5), ("a", 3, 5)])
    connection.execute(f"CREATE TABLE cells AS {query.grouped()}")
    yield query, connection, values
    connection.close()


def test_values_of_several_groups(copy: Any) -> None:
    query, connection, values = copy
    found = connection.execute(values_together(query, GROUPS)).fetchall()
    own = [(place, str(value) if query.wide else value) for place, some in enumerate(values) for value in some]
    assert sorted(found) == sorted(own)


def test_groups_are_counted_together(copy: Any) -> None:
    query, connection, values = copy
    found = {row[:-1]: row[-1] for row in connection.execute(query.group_counts()).fetchall()}
    sizes = {(name, str(number)): len(own) for (name, number), own in zip(GROUPS, values, strict=True) if own}
    assert found == sizes | {("other", "1"): 1, ("a", "3"): 1}


def test_windows_of_several_groups(copy: Any) -> None:
    query, connection, values = copy
    expected: list[tuple[Any, ...]] = []
    for place, own in enumerate(values):
        if own:
            expected.append((2, place, 0, len(own), len(own), None))
        for which, near in enumerate(NEAR):
            goal = near.goal.level * len(own) + near.goal.offset
            lowest, highest = min(goal, len(own)) - near.reach - SLACK, max(goal, 0) + near.reach + SLACK
            for value in sorted(set(own)):
                below, upto = sum(each < value for each in own), sum(each <= value for each in own)
                if upto >= lowest and below <= highest:
                    expected.append((1, place, which, below, upto, str(value) if query.wide else value))
    found = connection.execute(first_statement(query, NEAR, GROUPS)).fetchall()
    assert sorted(found, key=str) == sorted(expected, key=str)
    kinds = {type(row[-1]) for row in found if row[0] == 1}
    assert kinds == ({str} if query.wide else {int} if query.scale.integral else {float})


def test_groups_with_a_nul_are_in_no_copy_of_an_engine_whose_texts_have_none() -> None:
    some: list[tuple[Any, ...]] = [("a\0", 1), ("b", 2), ("c", 3), ("\0", 4)]
    names = ("place", "k0", "k1")
    listed = POSTGRES.rows_of(names, [["1", POSTGRES.text("b"), "2"], ["2", POSTGRES.text("c"), "3"]])
    start, end = "SELECT place, v AS v FROM rows JOIN (", ") AS g ON b0 = k0 AND b1 = k1"
    assert values_together(asked("number", dialect=POSTGRES), some) == f"{start}{listed}{end}"
    nothing = f"SELECT * FROM ({POSTGRES.rows_of(names, [['0', POSTGRES.text(''), '1']])}) AS o WHERE 1 = 0"
    assert values_together(asked("number", dialect=POSTGRES), [some[0], some[3]]) == f"{start}{nothing}{end}"
    every = values_together(asked("number"), some)
    assert all(f"({place}, " in every for place in range(4))


def test_nothing_has_the_type_of_the_values() -> None:
    for query, kind in ((asked("number"), DUCKDB.double_type), (asked("integer"), DUCKDB.integer_type)):
        assert f"CAST(NULL AS {kind}) AS v FROM sizes" in first_statement(query, NEAR, GROUPS)
    wide = first_statement(asked("integer", wide=True), NEAR, GROUPS)
    assert f"CAST(NULL AS {DUCKDB.text_type}) AS v FROM sizes" in wide
