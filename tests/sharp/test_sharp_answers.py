"""Asked answers end to end on columns in memory, with seeded bits: accuracy, order, accounts, corners."""

from __future__ import annotations

import ast
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import duckdb
import numpy as np
import pytest

from flexdp import Histogram, InputError
from flexdp.mechanisms.program import Ran, run
from flexdp.noise.bits import Bits
from flexdp.noise.exponential import LARGEST_DECAY
from flexdp.sharp.answers import Answered, ask, deepest_table, divide, start_of
from flexdp.sharp.automatic import automatic_buckets
from flexdp.sharp.column import Column
from flexdp.sharp.mean import ask_mean
from flexdp.sharp.ranks import Reply, Request, Span
from flexdp.sharp.rules import RULES
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale

ONE, HALF = Fraction(1), Fraction(1, 2)
FIVE = ["0", "1/100", "1/2", "99/100", "1"]


class Watched:
    """Counts statements, and checks that what comes back is bounded."""

    def __init__(self, column: Column) -> None:
        self.column, self.requests = column, 0

    @property
    def scale(self) -> Scale:
        return self.column.scale

    def fetch(self, request: Request) -> Reply:
        self.requests += 1
        reply = self.column.fetch(request)
        assert len(reply.before) == len(request.cuts)
        for wanted, window in zip(request.windows, reply.windows, strict=True):
            assert len(window) <= 2 * wanted.reach + 3
        return reply


def answered(
    values: object, levels: list[str], epsilon: str = "1", seed: int = 0, ends: Span | None = None
) -> Ran[Answered]:
    column = values if isinstance(values, Column) else Column.from_values(values)  # type: ignore[arg-type]
    watched = Watched(column)
    program = ask([Fraction(level) for level in levels], Fraction(epsilon), column.scale, ends=ends or Span())
    ran = run(program, watched, Bits(np.random.default_rng(seed).bytes))
    assert ran.spent <= Fraction(epsilon)
    values_found = [answer.value for answer in ran.value.answers]
    assert values_found == sorted(values_found)
    return ran


def flights() -> Column:
    path = str(files("flexdp") / "data" / "flights.parquet")
    rows = duckdb.sql(f"SELECT departure_delay AS d FROM '{path}' WHERE d IS NOT NULL").fetchnumpy()["d"]
    return Column.from_values(np.asarray(rows, dtype=np.int64))


def test_the_flights() -> None:
    column = flights()
    for seed in range(5):
        one = {level: answered(column, [level], seed=seed).value for level in ("1/2", "99/100", "999/1000", "1")}
        assert one["1/2"].value(Fraction(1, 2)) == -2
        assert one["99/100"].value(Fraction(99, 100)) == 191
        assert abs(one["999/1000"].value(Fraction(999, 1000)) - 340) <= 3
        assert 780 <= one["1"].value(ONE) <= 2000
        five = answered(column, FIVE, seed=seed).value
        assert five.value(Fraction(1, 2)) == -2 and len(five.answers) == 5
        assert -60 <= five.value(Fraction(0)) <= -18


def test_bits_decide_everything() -> None:
    data = np.round(np.random.default_rng(9).lognormal(3, 1, 5000), 2)
    assert answered(data, FIVE, seed=3).value == answered(data, FIVE, seed=3).value
    assert answered(data, FIVE, seed=3).value != answered(data, FIVE, seed=4).value
    histogram = Histogram.from_values(data)
    assert answered(Column.from_histogram(histogram), FIVE, seed=3).value == answered(data, FIVE, seed=3).value


def test_a_constant_column_is_found() -> None:
    for seed in range(5):
        values = [answer.value for answer in answered([7] * 3000, FIVE, seed=seed).value.answers]
        assert values == [7] * 5
    assert answered([7] * 3000, ["1/2"]).value.value(Fraction(1, 2)) == 7


@pytest.mark.parametrize("values", [[], np.array([np.nan, np.inf]), [5, 5]])
def test_too_few_records(values: object) -> None:
    found = answered(values, ["1"]).value
    assert found.too_few and not found.helpers and found.answers == ()


def test_integers_near_two_to_the_eightieth() -> None:
    values = [2**80 + int(x) for x in np.random.default_rng(1).integers(-50, 50, 3000)]
    found = answered(values, ["1/2"]).value.value(Fraction(1, 2))
    assert abs(found - 2**80) < 30


def test_one_outlier_does_not_carry_the_maximum_away() -> None:
    values = np.append(np.random.default_rng(2).normal(100, 5, 5000), 1e300)
    for seed in range(5):
        assert answered(values, ["1"], seed=seed).value.value(ONE) < 1000


def test_values_that_hug_a_round_number() -> None:
    values = np.random.default_rng(3).normal(1e6, 0.3, 5000)
    found = answered(values, ["1/2"]).value.value(Fraction(1, 2))
    assert abs(float(found) - 1e6) < 0.1


def test_bounds_hold_every_answer() -> None:
    values = np.clip(np.random.default_rng(4).integers(-50, 150, 3000), 0, 100)
    for seed in range(5):
        found = answered(values, FIVE, seed=seed, ends=Span(0, 101)).value
        assert all(0 <= answer.value <= 100 for answer in found.answers)


def test_no_candidate_within_the_bounds() -> None:
    """Numbers between two neighbouring candidates of all priors: the lower bound is the answer."""
    low = NUMBERS.ten(20) + 1
    column = Column.from_values(np.full(2000, 1e20))
    program = ask([Fraction(1, 2)], ONE, NUMBERS, ends=Span(low, low + 2))
    assert run(program, column, Bits(np.random.default_rng(0).bytes)).value.answers[0].value == low


def test_a_public_number_of_records_takes_the_place_of_the_count() -> None:
    column = Column.from_values(list(range(1000)))
    program = ask([ONE, Fraction(0)], ONE, INTEGERS, records_about=1000)
    ran = run(program, column, Bits(np.random.default_rng(0).bytes))
    assert ran.value.records_about == 1000 and ran.spent <= 1
    assert "records" not in {cost.name for cost in ran.costs}


def test_the_deepest_table_is_known_before_reading() -> None:
    """No path builds a larger table, and a table beyond the cap is refused where it is built."""
    for levels in (["1"], ["1/2"], ["1/4"], FIVE, ["0", "1"], ["9/10"], ["1/10", "19/20"]):
        exact = [Fraction(level) for level in levels]
        for epsilon in (Fraction(1), Fraction(1, 10)):
            most = deepest_table(exact, epsilon)
            assert most <= LARGEST_DECAY
    assert deepest_table([ONE], Fraction(1, 1000)) > LARGEST_DECAY
    for program in (
        lambda epsilon: ask([ONE], epsilon, INTEGERS),
        lambda epsilon: automatic_buckets(epsilon, Fraction(1, 10**6), INTEGERS),
        lambda epsilon: ask_mean(epsilon, INTEGERS),
    ):
        program(Fraction(1, 100)).close()
        with pytest.raises(InputError, match="epsilon is too small"):
            program(Fraction(1, 1000))  # before anything is read


def test_automatic_buckets_end_to_end() -> None:
    data = np.round(np.random.default_rng(6).lognormal(3, 1, 50_000), 2)
    column = Column.from_values(data)
    watched = Watched(column)
    ran = run(automatic_buckets(ONE, Fraction(1, 10**6), NUMBERS), watched, Bits(np.random.default_rng(0).bytes))
    found = ran.value
    assert found.shares is not None
    assert ran.spent == 1 and watched.requests == found.shares.levels + 4
    assert len(found.bars) == len(found.edges) + 1 <= found.shares.most_buckets
    edges = [float(NUMBERS.value(edge)) for edge in found.edges]
    true = np.histogram(data, [-np.inf, *edges, np.inf])[0]
    lost = true - np.array(found.bars)
    assert (lost >= 0).all() and (lost < found.shares.reach).all()
    assert lost.sum() < 0.02 * len(data)
    assert sum(cost.delta for cost in ran.costs) == Fraction(1, 10**6)


@pytest.mark.parametrize(("records", "kind"), [(20, "none"), (250, "five"), (5000, "bars")])
def test_automatic_buckets_by_size(records: int, kind: str) -> None:
    column = Column.from_values(np.random.default_rng(7).integers(0, 1000, records))
    ran = run(automatic_buckets(ONE, Fraction(1, 10**6), INTEGERS), column, Bits(np.random.default_rng(5).bytes))
    found = ran.value
    assert (found.too_few, found.five is not None, bool(found.bars)) == {
        "none": (True, False, False),
        "five": (False, True, False),
        "bars": (False, False, True),
    }[kind]
    assert ran.spent <= 1
    if found.five is not None:
        assert len(found.five.answers) == 5 and not any(cost.delta for cost in ran.costs)


def test_automatic_buckets_find_spikes_and_gaps() -> None:
    column = Column.from_values(np.repeat([0, 1000], 25_000))
    found = run(
        automatic_buckets(ONE, Fraction(1, 10**6), INTEGERS), column, Bits(np.random.default_rng(1).bytes)
    ).value
    assert {0, 1, 1000, 1001} <= set(found.edges)
    constant = Column.from_values(np.full(20_000, 7))
    only = run(
        automatic_buckets(ONE, Fraction(1, 10**6), INTEGERS), constant, Bits(np.random.default_rng(2).bytes)
    ).value
    assert {7, 8} <= set(only.edges) and sum(only.bars) > 19_900


def test_no_release_can_choose_its_bits() -> None:
    """Only tests pass a source of bytes, and trials of plans, which see laws and public samples alone."""
    trials = Path(str(files("flexdp"))) / "planning" / "trials.py"
    for path in set(Path(str(files("flexdp"))).rglob("*.py")) - {trials}:
        code = ast.parse(path.read_text())
        for node in ast.walk(code):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Bits":
                assert not node.args and not node.keywords, path.name


# ---------------------------------------------------------------- what a number of records leads to


def test_the_budget_is_divided_by_public_numbers() -> None:
    """All ways, from a single level in the middle to ladders of both sides; no path spends more than it has."""
    five = [Fraction(level) for level in FIVE]
    found = divide([HALF], 10**4, ONE, ONE)
    assert (found.cut, found.epsilons, found.climbed) == ((HALF,), (ONE,), ())
    found = divide([Fraction(99, 100)], 10**4, ONE, ONE)  # a hundred records beyond
    assert found.cut == (HALF,) and found.single == (Fraction(99, 100), ONE - found.epsilons[0])
    found = divide([ONE], 10**4, ONE, ONE)
    assert found.cut == (HALF,) and found.climbed == (1,) and sum(found.epsilons) + found.each == 1
    found = divide([ONE], 10**6, ONE, ONE)  # the anchor is nearer where there are enough records beyond it
    assert found.cut == (1 - Fraction(60 * 50, 10**6),)
    found = divide(five, 500, ONE, ONE)
    assert found.cut == (HALF,) and found.climbed == (0, Fraction(1, 100), Fraction(99, 100), 1)
    assert found.epsilons == (found.each,) == (Fraction(1, 3),)
    found = divide(five, 10**4, ONE, ONE)
    assert found.cut == tuple(five[1:4]) and found.climbed == (0, 1) and found.each == Fraction(1, 3)
    found = divide(five, 10**6, ONE, ONE)  # helpers serve both ends
    assert set(found.cut) - set(five) == {Fraction(6, 10**4), 1 - Fraction(6, 10**4)}
    assert len(found.epsilons) == 3 and sum(found.epsilons) + found.each == 1


def test_ladders_start_where_enough_records_lie_beyond() -> None:
    few, many = (
        divide([Fraction(each) for each in ("0", "1/10", "1/2", "9/10", "1")], n, ONE, ONE) for n in (2000, 9000)
    )
    assert start_of(few, 1, 2000, RULES) == HALF
    assert start_of(many, 1, 9000, RULES) == Fraction(9, 10) and start_of(many, -1, 9000, RULES) == Fraction(1, 10)


@pytest.mark.parametrize("places", [3, 9, 19])
def test_quantiles_asked_together_come_from_one_tree(places: int) -> None:
    """Nine deciles of 10 000 records err by a few records each; a tree at a tenth of the budget, by more."""
    data = np.random.default_rng(1).lognormal(5, 1, 10_000)
    ordered, levels = np.sort(data), [f"{k}/{places + 1}" for k in range(1, places + 1)]
    errors = {}
    for epsilon in ("1", "1/10"):
        off = []
        for seed in range(4):
            for answer in answered(data, levels, epsilon=epsilon, seed=seed).value.answers:
                rank = np.searchsorted(ordered, float(NUMBERS.value(answer.value)))
                off.append(abs(rank - float(answer.level) * len(data)))
        errors[epsilon] = float(np.mean(off))
    assert errors["1"] < 8 < errors["1/10"]
