"""Groups that are not known, asked about on every engine: the same list and the same answers from the same bits."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import flexdp
from engines.conftest import ENGINES, Engine
from flexdp._release import asked_checks
from flexdp._release.api import prepare
from flexdp._release.asked import Column, Result, answer
from flexdp._release.asking import AskedBudget, Wanted
from flexdp.histogram import KeyedHistogram
from flexdp.noise.bits import Bits
from flexdp.sharp.column import Column as Values
from flexdp.sharp.column import places_on
from flexdp.sharp.ranks import Tally
from flexdp.sharp.scale import INTEGERS, NUMBERS
from flexdp.tables import ranks as ranks_module
from flexdp.tables.ranks import open_ranks
from flexdp.tables.sql import rank_query
from flexdp.tables.sql.rank_query import NAMED, RankQuery

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


def reference(budget: AskedBudget, wanted: Wanted) -> dict[tuple[str, ...], Result]:
    """The list and the answers, from plain lists of values."""
    table = rows()
    kept: dict[str, list[float]] = {}
    for value, group in zip(table["x"][1], table["g"][1], strict=True):
        if value is not None:
            kept.setdefault(group, []).append(value)
    names, bits = sorted(kept), seeded()()
    assert budget.listing is not None
    large = [name for name in names if len(kept[name]) >= NAMED]
    small = [name for name in names if name not in large]
    assert small == ["rare"]
    left: dict[str, int] = {}
    for part in (large, small):  # large groups by their keys, then small ones by their sizes
        left |= zip(part, budget.listing.draw([len(kept[name]) for name in part], bits), strict=True)
    column, parts = Column(scale=NUMBERS), budget.parts(wanted)
    return {
        (name,): answer(wanted, parts, column, Values.from_values(np.array(kept[name])), seeded()(), listed=records)
        for name, records in left.items()
        if records
    }


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark-lenient"], indirect=True)
def test_every_engine_lists_and_answers_alike(engine: Engine, small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not small:
        monkeypatch.setattr(ranks_module, "FEW", -1)
    monkeypatch.setattr(asked_checks, "Bits", seeded())
    wanted = Wanted(("median", "q0.3")) if engine.name == "spark" else WANTED  # a statement takes Spark seconds
    found = flexdp.release(
        engine.load(rows()), "x", by="g", epsilon=2, delta="1e-4", ask=list(wanted.words), **engine.parameters
    )
    assert found.asked is not None
    expected = reference(AskedBudget(Fraction(2), delta=Fraction("1e-4")), wanted)
    assert set(expected) == {("a",), ("A",), ("o'brien",)}
    assert dict(found.asked.results) == expected
    assert flexdp.Release.from_json(found.to_json()) == found


@pytest.mark.parametrize("engine", ["duckdb", "polars"], indirect=True)
def test_groups_are_read_together_whatever_their_sizes(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of many records are looked into one by one, others fill batches: the answers are the same."""
    monkeypatch.setattr(asked_checks, "Bits", seeded())
    source = engine.load(rows())
    options: dict[str, Any] = {"by": "g", "epsilon": 2, "delta": "1e-4", "ask": list(WANTED.words), **engine.parameters}
    expected = flexdp.release(source, "x", **options).asked
    for most in (350, 720):  # one group in a batch and two on the engine; two batches
        monkeypatch.setattr(ranks_module, "FEW", most)
        assert flexdp.release(source, "x", **options).asked == expected


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"], indirect=True)
def test_statements_do_not_grow_with_the_number_of_groups(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of small groups are fetched together, and everything else follows from them."""

    def never(*_: Any) -> str:
        raise AssertionError("a statement for one group")

    for name in ("values", "tallied", "pieces", "parts"):
        monkeypatch.setattr(RankQuery, name, never)
    values = [float(i) for i in range(1800)]
    source = engine.load({"x": ("double", values), "g": ("bigint", [i % 60 for i in range(1800)])})
    groups = list(range(90))  # some of them empty
    words = ["median", "mean", "max"]
    found = flexdp.release(source, "x", by="g", groups=groups, epsilon=12, delta=0, ask=words, **engine.parameters)
    assert len(found.asked.results) == 90
    assert 40 < sum(result.answered for result in found.asked.results.values()) <= 90
    monkeypatch.setattr(ranks_module, "FEW", 200)  # a few groups a statement
    again = flexdp.release(source, "x", by="g", groups=groups[:20], epsilon=12, delta=0, ask=words, **engine.parameters)
    assert len(again.asked.results) == 20


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark-lenient"], indirect=True)
def test_a_tally_is_the_same_wherever_it_is_computed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of halves between two steps, and of values beyond the ends: which way is taken depends on the records."""
    monkeypatch.setattr(ranks_module, "SORTED_AT_MOST", -1)
    rng = np.random.default_rng(2)
    numbers = [*rng.normal(0, 40, 400).tolist(), *(i * 0.05 for i in range(-300, 300)), 1e39, -1e39, 0.1 + 0.2]
    whole = [*rng.integers(-(2**60), 2**60, 200).tolist(), *range(-(len(numbers) - 200) // 2, 10**6)][: len(numbers)]
    source = engine.load({"x": ("double", numbers), "i": ("bigint", whole)})
    for column, scale, values in (("x", NUMBERS, numbers), ("i", INTEGERS, whole)):
        question = prepare(source, column, width=1, **engine.parameters).questions[0]
        with open_ranks(question.table, question.counting) as ranks:
            query, session = ranks._query, ranks._session  # type: ignore[attr-defined]
            one = scale.ten(0)
            for tally in (
                Tally(low=-7 * one, step=one // 10 or 2, cells=140),
                Tally(low=0, step=3 * one, cells=7),
                Tally(low=-(2**59), step=2**40 + 1, cells=10**6),
                Tally(low=-(2**61), step=2**50 + 1, cells=4096),
            ):
                own = int(places_on(np.array(values), tally, scale).sum())
                assert own == int(session.ask(query.tallied(tally, ()))[0][0])


ODD_KEYS = ["b", "a", "A", "B", "é", "ä", "z", "Z", "_", "a ", " a", "aa", "10", "9", "𝔸", "x" * 2000 + "b", "x" * 2000]


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark-lenient"], indirect=True)
def test_every_engine_finds_small_groups_by_their_turn(engine: Engine) -> None:
    """Among the groups of as many records in the order of their bytes: the turn names the same group everywhere."""
    sizes = {(key, number): 1 + place % 3 for place, key in enumerate(ODD_KEYS) for number in (-(10**10), -1, 0, 7)}
    sizes |= {("b", 8): NAMED - 1, ("b", 9): NAMED, ("a", 9): NAMED + 5}
    rows = [group for group, size in sizes.items() for _ in range(size)]
    random.Random(4).shuffle(rows)
    names, numbers = map(list, zip(*rows, strict=True))
    cells = {"x": ("double", [1.5] * len(rows)), "g": ("text", names), "h": ("bigint", numbers)}
    question = prepare(engine.load(cells), "x", by=["g", "h"], width=1, **engine.parameters).questions[0]
    small: dict[int, list[tuple[str, int]]] = {}
    for group, size in sorted(sizes.items(), key=lambda item: (item[0][0].encode(), item[0][1])):
        if size < NAMED:
            small.setdefault(size, []).append(group)
    with open_ranks(question.table, question.counting) as ranks:
        large, few = ranks.group_sizes()
        assert held(large) == {("b", 9): NAMED, ("a", 9): NAMED + 5}
        assert few == [len(small.get(size, ())) for size in range(NAMED)]
        places = {
            (size, turn): 10 * size + turn for size, groups in small.items() for turn in range(1, len(groups) + 1)
        }
        for chosen in (places, dict(list(places.items())[::5]), {}):
            expected = {small[size][turn - 1]: number for (size, turn), number in chosen.items()}
            assert held(ranks.groups_at(chosen)) == expected
        with pytest.raises(flexdp.DataError):
            ranks.groups_at({(1, len(small[1]) + 1): 1})


def held(histogram: KeyedHistogram) -> dict[tuple[Any, ...], int]:
    return dict(zip(histogram.rows(slice(None)), histogram.counts.tolist(), strict=True))


Law = dict[frozenset[tuple[Any, int]], Fraction]
CHANCES = [Fraction(1, 6), Fraction(1, 2), Fraction(1, 3)]  # of a drop of 0, 1 or 2
OF_GROUPS = {"e": 1, "b": 1, "a": 2, "d": 2, "c": 6}


class Scripted:
    """Drops in a given order."""

    def __init__(self, drops: tuple[int, ...], *, shared: bool = False) -> None:
        self.drops, self.shared, self.next = drops, shared, 0

    def draw(self, counts: list[int], _bits: Bits) -> tuple[int, ...]:
        own = range(self.next, self.next + len(counts))
        self.next = own.stop
        return tuple(max(0, n - self.drops[own[0] if self.shared else i]) for n, i in zip(counts, own, strict=True))


class FirstTurns:
    """Ranks that return the first groups of a size, whichever turns are asked for."""

    def __init__(self, ranks: Any) -> None:
        self.ranks, self.group_sizes = ranks, ranks.group_sizes

    def groups_at(self, places: dict[tuple[int, int], int]) -> KeyedHistogram:
        moved: dict[tuple[int, int], int] = {}
        for (size, _), number in sorted(places.items()):
            moved[size, 1 + sum(own == size for own, _ in moved)] = number
        found: KeyedHistogram = self.ranks.groups_at(moved)
        return found


def law_of_list(ranks: Any, spec: Any, *, shared: bool = False) -> Law:
    """The exact law of what is listed: every sequence of drops, with its probability."""
    law: Law = {}
    for drops in product(range(len(CHANCES)), repeat=len(OF_GROUPS)):
        listed = asked_checks._listed(ranks, spec, Scripted(drops, shared=shared))  # type: ignore[arg-type]
        outcome = frozenset(listed.items())
        law[outcome] = law.get(outcome, Fraction(0)) + math.prod(CHANCES[drop] for drop in drops)
    return law


def test_the_law_of_the_list_is_that_of_groups_which_drop_records_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly; and neither one drop for all groups of a size, nor always the first of them, has that law."""
    for module in (ranks_module, rank_query):
        monkeypatch.setattr(module, "NAMED", 4)
    expected: Law = {frozenset(): Fraction(1)}
    for group, size in OF_GROUPS.items():
        before, expected = expected, {}
        for outcome, chance in before.items():
            for drop, own in enumerate(CHANCES):
                grown = outcome | {((group,), size - drop)} if size > drop else outcome
                expected[grown] = expected.get(grown, Fraction(0)) + chance * own
    groups = [group for group, size in OF_GROUPS.items() for _ in range(size)]
    frame = pl.DataFrame({"x": [1.5] * len(groups), "g": groups})
    question = prepare(frame, "x", by="g", ask=["max"]).questions[0]
    with open_ranks(question.table, question.counting) as ranks:
        assert sum(expected.values()) == 1
        assert len(expected) == 2 * 2 * 3 * 3 * 3
        assert law_of_list(ranks, question.spec) == expected
        assert law_of_list(ranks, question.spec, shared=True) != expected
        assert law_of_list(FirstTurns(ranks), question.spec) != expected
