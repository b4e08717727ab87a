"""Random calls of the public API, mostly nonsense and sometimes sensible: a value, or a refusal of ours with its parts.

Beside ``tests/core/test_wrong_values.py``, which replaces one argument at a time, here several are drawn together, so
that checks that depend on each other are met in any order. Everything is bounded in processor time.
"""

from __future__ import annotations

import datetime as dt
import os
import tempfile
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fuzz.oracles import Finding, bounded, demand, outcome_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import Accuracy, Histogram, Privacy, accounting, distances, distortions, measure, mechanisms, statistics
from flexdp.errors import DataError, InputError
from flexdp.noise import DropNoise

DEEP = os.environ.get("FLEXDP_DEEP") == "1"
MANY = settings(
    max_examples=int(os.environ.get("FLEXDP_CALLS", 600 if DEEP else 15)),
    deadline=None,
    database=None,
    derandomize=not DEEP,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
Arguments = dict[str, Any]

NONSENSE = st.sampled_from(
    [
        None, float("nan"), float("inf"), -1, 0, 2.5, 5e-324, 10**400, 2**63, Fraction(1, 10**400), Fraction(1, 3), 1j,
        True, "", "nonsense", "a\0b", "a\nb", "\ud800", "1e999999999", "-1e-400", "9" * 2000, "nan", b"\xff", [], {},
        (), (None, None), [[1], "x", None], {"a": 1}, {1: 2}, object(), range(3), Decimal("sNaN"), Decimal("1e9999"),
        np.array(1.5), np.array([1.0, np.nan]), np.ones((2, 2)), np.datetime64("NaT"), pd.NaT, pd.NA,
        dt.date(2024, 1, 1), dt.timedelta(days=1), pd.Series([1.0]), pd.DataFrame({"x": [1.0]}), Path("nowhere"),
        lambda *_a, **_o: 1, float,
    ]
)  # fmt: skip


def some(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


@st.composite
def arguments(draw: st.DrawFn, known: dict[str, st.SearchStrategy[Any]], needed: tuple[str, ...]) -> Arguments:
    """Some arguments of a call: those that are needed, a few others, of which none, some or most are nonsense."""
    others = [name for name in known if name not in needed]
    names = [*needed, *draw(st.lists(st.sampled_from(others), unique=True, max_size=5) if others else st.just([]))]
    wrong = draw(st.sampled_from((0, 0, 1, 1, 2, len(names))))
    nonsense = set(draw(st.permutations(names))[:wrong])
    return {name: draw(NONSENSE if name in nonsense else known[name]) for name in names}


EPSILON = some(1, "0.5", 3.0, Fraction(1, 10), "1e-3", 10**5)
DELTA = some("1e-6", 1e-9, 0, Fraction(1, 2**20), 0.5, "1e-300")
TABLE = pd.DataFrame(
    {
        "x": [1.0, 2.0] * 60,
        "n": [1, 2] * 60,
        "ward": pd.array(["A", "B"] * 60, dtype="string"),
        "day": [dt.date(2024, 1, 1 + i % 9) for i in range(120)],
        "pid": pd.array([f"p{i}" for i in range(120)], dtype="string"),
    }
)
COLUMN = some("x", "n", "ward", "day", "pid", ["x", "n"], ["x", "ward"], "z", None)
OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "width": some(1, "0.1", 10, "1 month", {"x": 1}, [1, 2], 1e-300, 10**30),
    "relative": some(0.1, "1/3", 0.999, "1e-12", {"x": 0.1}),
    "edges": some([0, 1, 5], ["2024-01-01", "2024-02-01"], [0, 1e-300, 1], {"x": [0, 1, 5]}),
    "beta": some(1, "0.5"),
    "bounds": some((0, 9), ("2024-01-01", "2024-12-31"), (-1e300, 1e300), ("0", "1e-9"), [(0, 9), None], {"x": (0, 9)}),
    "outside": some("clamp", "drop", {"x": "drop"}, {"n": "clamp"}),
    "kind": some("number", "integer", "text", "date", "datetime", "boolean", {"x": "number"}),
    "zone": some("UTC", "Europe/Berlin"),
    "by": some("ward", ["ward", "n"], "pid"),
    "by_kind": some("text", "integer", {"ward": "text"}),
    "groups": some(["A", "B"], [("A", 1)], [1, 2]),
    "other": some("rest", "A"),
    "unit": some("pid", "n"),
    "unit_kind": some("text", "integer"),
    "max_buckets_per_unit": some(1, 2, 50, 10**6),
    "per_unit": some("max", "min", "mean", "random"),
    "engine": some("postgres", "duckdb"),
    "format": some("csv", "parquet"),
    "delimiter": some(",", ";"),
    "encoding": some("cp1252", "utf-16"),
    "sheet": some("S"),
    "decimal": some(".", ","),
    "thousands": some(",", " "),
    "currency": some("€", ["$", "EUR"]),
    "date_format": some("%d.%m.%Y", "%Y%m%d"),
    "ask": some("max", ["q0.9", "mean"], ["count"], statistics.Max(), ["p1e-9"], [], "none"),
    "where": some("x > 1", "ward = 'A' AND year(day) = 2024", "nope = 1"),
    "derive": some({"z": "x + n"}, {"z": "coalesce(ward, pid)"}, {"x": "n"}),
    "rows_are_records": some(True, False),
    "exact": some(True, False, {"x": True}),
    "title": some("T", "x" * 5000),
    "publisher": some("P"),
    "dataset_name": some("N"),
    "period": some("2024"),
}
SPENDING = {"certify": some("0.1", 0.5), "separately": some(True, False), "split": some([1, 2], [1], ["0.5", 3])}


@cache
def files() -> dict[str, Path]:
    folder = Path(tempfile.mkdtemp())
    TABLE.to_csv(folder / "t.csv", index=False)
    TABLE.to_parquet(folder / "t.parquet")
    TABLE.to_json(folder / "t.jsonl", orient="records", lines=True, date_format="iso")
    return {form: folder / f"t.{form}" for form in ("csv", "parquet", "jsonl")}


SOURCE = some("frame", "csv", "parquet", "jsonl", "list", "array", "dict")


def source_of(name: Any) -> Any:
    """A source by its name; what is no name is passed on as it is."""
    if not isinstance(name, str):
        return name
    made: dict[str, Any] = {"frame": TABLE, "list": [1.0, 2.0] * 50, "array": np.arange(90) % 7, **files()}
    return made.get(name, {"x": [1, 2] * 50, "n": [3] * 100} if name == "dict" else name)


def settled(call: Callable[[], Any]) -> Any:
    """What a call gives, or None if it is refused; within the bounds of time and memory."""
    found: list[Any] = []
    bounded(lambda _: found.append(outcome_of(call)[0]), b"")
    return found[0]


def _look_at(released: Any) -> None:
    """Use what a release gives."""
    if released is None:
        return
    demand(type(released).from_json(released.to_json()).to_json() == released.to_json(), "another document")
    for each in released.values() if isinstance(released, flexdp.Releases) else [released]:
        str(each.certificate()), repr(each)
        for name in ("max", "median", "mode", "mean", "support", "counts", "answers"):
            outcome_of(lambda each=each, name=name: str(getattr(each, name)()))


@MANY
@given(arguments({"source": SOURCE, "column": COLUMN, "epsilon": EPSILON, "delta": DELTA, **OPTIONS, **SPENDING},
                 ("source", "column", "epsilon", "delta")))  # fmt: skip
def test_release(drawn: Arguments) -> None:
    drawn["source"] = source_of(drawn["source"])
    _look_at(settled(lambda: flexdp.release(**drawn)))


@MANY
@given(arguments({"source": SOURCE, "column": COLUMN, "separately": some(True, False),
                  "dialect": some("postgres", "sqlite", "spark", "mariadb", "clickhouse", "duckdb"), **OPTIONS},
                 ("source", "column")))  # fmt: skip
def test_query(drawn: Arguments) -> None:
    drawn["source"] = source_of(drawn["source"])
    text = settled(lambda: flexdp.query(**drawn))
    assert text is None or "SELECT" in text.upper()


@MANY
@given(arguments({"source": SOURCE, "columns": some(None, ["x", "ward"], ["x"]), "epsilon": EPSILON, "delta": DELTA,
                  "skip": some(["ward"], "pid"), "split": some([1, 2], {"x": 2}), **OPTIONS},
                 ("source", "epsilon", "delta")))  # fmt: skip
def test_summary(drawn: Arguments) -> None:
    drawn["source"] = source_of(drawn["source"])
    _look_at(settled(lambda: flexdp.summary(**drawn)))


READING = ("kind", "zone", "format", "delimiter", "encoding", "sheet", "decimal", "thousands", "currency",
           "date_format", "engine", "rows_are_records")  # fmt: skip


@MANY
@given(arguments({"source": SOURCE, "column": COLUMN, **{name: OPTIONS[name] for name in READING}}, ("source",)))
def test_check(drawn: Arguments) -> None:
    drawn["source"] = source_of(drawn["source"])
    found = settled(lambda: flexdp.check(**drawn))
    assert found is None or str(found)


PLANNED = {
    "epsilon": EPSILON, "delta": DELTA, "records_about": some(10, 1000, 10**9), "lose_per_bucket": some(3, 30),
    "lose_in_all": some(100, 0.5), "lose_share": some(0.1, "1e-9"), "buckets": some(1, 24, 10**6),
    "groups_about": some(3, 10**6), "releases": some(1, 12, 365), "simulate": some("normal:5,1", "zipf:1.2", "cauchy"),
    "public_sample": some([1.0, 2.0], np.arange(9)), "stats": some(["max"], ["q0.9", "mean"]),
    **{name: OPTIONS[name]
       for name in ("width", "relative", "edges", "bounds", "kind", "by", "groups", "max_buckets_per_unit", "ask")},
}  # fmt: skip


@MANY
@given(arguments(PLANNED, ("epsilon", "delta", "records_about")))
def test_plan(drawn: Arguments) -> None:
    found = settled(lambda: flexdp.plan(**drawn))
    assert found is None or (str(found) and found.to_json())


# ---- mechanisms, statistics, distances

HISTOGRAM = st.one_of(
    st.dictionaries(st.integers(-3, 9), st.integers(0, 60), max_size=5).map(lambda d: ("counts", d)),
    st.dictionaries(st.text("ab", max_size=2), st.integers(1, 60), max_size=4).map(lambda d: ("counts", d)),
    st.lists(st.floats(allow_nan=False, width=32), max_size=6).map(lambda v: ("values", v)),
    some(("counts", {2**70: 3, -1: 2**62}), ("values", [1e308, -1e308, 5e-324]), ("values", [dt.date(2024, 1, 1)] * 3)),
)


def histogram_of(drawn: tuple[str, Any]) -> Any:
    how, given_ = drawn
    made = Histogram.from_counts if how == "counts" else Histogram.from_values
    return outcome_of(lambda: made(given_))[0]  # type: ignore[operator]


PLAIN = ("Max", "Min", "Range", "Median", "Mode", "Support", "Count", "Sum", "Mean", "Std", "IQR", "Distinct",
         "MidpointMedian", "SampleVariance")  # fmt: skip
STATISTIC = some(
    *(getattr(statistics, name)() for name in PLAIN),
    statistics.Quantile("0.9"),
    statistics.MaxAtLeast(5),
    statistics.Top(2),
    statistics.KthLargest(2),
    statistics.TrimmedMean("0.1"),
    statistics.CountAbove(3),
    statistics.Variance(10),
    statistics.InterpolatedQuantile("1/3"),
)
MAKING: dict[str, tuple[dict[str, st.SearchStrategy[Any]], tuple[str, ...]]] = {
    "Bucketing": ({name: OPTIONS[name] for name in ("width", "relative", "edges", "bounds", "outside", "kind")}
                  | {"dimensions": some(1, 2), "unit": some("u"), "max_buckets_per_unit": some(1, 3)}, ()),
    "Dropping": ({"epsilon": EPSILON, "delta": DELTA, "dimensions": some(1, 2), "certify": some("0.1"),
                  "total": some([1, 2], (3,)),
                  "groups": some(1, 3), "unit": some("u"), "max_buckets_per_unit": some(1, 3)}, ("epsilon", "delta")),
    "BucketHistogram": ({"alpha": some("0.1"), "beta": some(1), "epsilon": EPSILON, "bounds": some((0, 10)),
                         "records_at_least": some(10**4, 10**9), "dimensions": some(1, 2)},
                        ("alpha", "beta", "epsilon", "bounds", "records_at_least")),
    "Emptiness": ({"epsilon": EPSILON, "delta": DELTA}, ("epsilon", "delta")),
    "Laplace": ({"statistic": STATISTIC, "sensitivity": some(1, "0.5", 1e300), "epsilon": EPSILON},
                ("sensitivity", "epsilon")),
    "ReadOff": ({"statistic": STATISTIC, "dimensions": some(1, 2)}, ("statistic",)),
    "STLap": ({"tau": some("0.1", 0.5), "epsilon": EPSILON, "records_at_least": some(100), "bars": some(3)},
              ("tau", "epsilon")),
    "Known": ({"records_at_least": some(10), "bars": some(3), "gamma": some(0, "0.1")}, ()),
}  # fmt: skip


@st.composite
def mechanism(draw: st.DrawFn) -> tuple[str, Arguments]:
    name = draw(st.sampled_from([name for name in MAKING if name != "Known"]))
    return name, draw(arguments(*MAKING[name]))


@MANY
@given(st.lists(mechanism(), min_size=1, max_size=4), HISTOGRAM, st.one_of(some(1000, None), NONSENSE), EPSILON)
def test_mechanisms_and_their_chains(made: list[tuple[str, Arguments]], data: Any, records: Any, more: Any) -> None:
    histogram, chain = histogram_of(data), None
    for name, drawn in made:
        part = settled(lambda name=name, drawn=drawn: getattr(mechanisms, name)(**drawn))
        if part is None:
            continue
        joined = part if chain is None else settled(lambda chain=chain, part=part: chain >> part)
        chain = joined if joined is not None else chain
    if chain is None:
        return
    repr(chain), str(chain)
    settled(lambda: chain.privacy)
    settled(lambda: chain.accuracy(records_at_least=records))
    settled(lambda: mechanisms.Mechanism.from_json(chain.to_json()))
    settled(lambda: chain(histogram if more != 3.0 else 5))


@MANY
@given(STATISTIC, HISTOGRAM, st.one_of(some(0, "0.1", 0.5), NONSENSE), st.one_of(some([1, 2], [(1, 2)]), NONSENSE))
def test_statistics(statistic: Any, data: Any, alpha: Any, outputs: Any) -> None:
    histogram = histogram_of(data)
    settled(lambda: statistic(histogram))
    if hasattr(statistic, "attainable"):
        settled(lambda: statistic.attainable(histogram, alpha))
    settled(lambda: statistic.sensitivity(alpha))
    settled(lambda: measure.flexible_error(histogram, outputs, statistic, alpha))
    settled(lambda: measure.accuracy_curve(histogram, outputs, statistic, alphas=[alpha], gammas=[0, "0.1"]))


@MANY
@given(HISTOGRAM, HISTOGRAM, st.one_of(some(0, "0.1", 0.999), NONSENSE),
       st.one_of(some(None, "euclidean", distances.Equality(), distances.Cyclic(5), distances.Manhattan()), NONSENSE),
       st.one_of(some([0.0, 1.0], np.ones((2, 2))), NONSENSE))  # fmt: skip
def test_distances_and_distortions(one: Any, two: Any, loss: Any, metric: Any, other: Any) -> None:
    p, q = histogram_of(one), histogram_of(two)
    for first, second in ((p, q), (p, other)):
        pair: tuple[Any, Any] = (first, second)
        settled(lambda pair=pair: distances.lossy_winf(pair[0], pair[1], loss, metric).value)
        settled(lambda pair=pair: distances.lossy_w1(pair[0], pair[1], loss, metric).coupling)
        settled(lambda pair=pair: distances.total_variation(*pair).value)
        settled(lambda pair=pair: distances.hausdorff(pair[0], pair[1], metric).value)
        for make in (distortions.Drop, distortions.Move, lambda: distortions.DropMove(loss)):
            distortion = settled(make)
            if distortion is not None:
                settled(lambda distortion=distortion, pair=pair: distortion(*pair))
                settled(lambda distortion=distortion, pair=pair: distortion.witness(*pair))


# ---- budgets

ONE, MUCH = Privacy(epsilon=1, delta=0), Privacy(epsilon=10**4, delta=0)
PART = st.one_of(
    some(ONE, Privacy(epsilon="0.1", delta="1e-6"), DropNoise(1, "1e-6"), DropNoise("0.1", "1e-3")), NONSENSE
)


@MANY
@given(st.one_of(st.lists(PART, max_size=4), NONSENSE), st.one_of(some("1e-5", 0, 0.5), NONSENSE), NONSENSE)
def test_compositions(parts: Any, delta: Any, other: Any) -> None:
    settled(lambda: flexdp.compose(parts, delta=delta))
    curve = settled(lambda: flexdp.privacy_curve(parts))
    if curve is not None:
        settled(lambda: curve.delta_at(delta))
        settled(lambda: curve.epsilon_at(delta))
        settled(lambda: curve.points(other))
    settled(lambda: Privacy(epsilon=delta, delta=other))
    settled(lambda: Accuracy(alpha=delta, beta=other))


STEPS = {
    "create": ({"dataset": some("a", "b"), "epsilon": EPSILON, "delta": DELTA, "unit": some("record", "person")},
               ("dataset", "epsilon", "delta")),
    "charge": ({"dataset": some("a", "b", "c"), "privacy": some(ONE, MUCH), "unit": some("record"),
                "request": some("r", "s"), "details": some({"a": 1}, None)}, ("dataset", "privacy")),
    "account": ({"dataset": some("a", "c")}, ("dataset",)),
    "history": ({"dataset": some("a", "c")}, ("dataset",)),
    "find": ({"dataset": some("a"), "request": some("r")}, ("dataset", "request")),
    "document": ({"dataset": some("a"), "number": some(0, 1, 10**9)}, ("dataset", "number")),
    "store": ({"receipt": some("last"), "document": some("{}", "x" * 10**5), "request": some("r")},
              ("receipt", "document")),
    "verify": ({"receipts": some((), ["last"])}, ()),
    "accounts": ({}, ()),
}  # fmt: skip


@st.composite
def step(draw: st.DrawFn) -> tuple[str, Arguments]:
    name = draw(st.sampled_from(list(STEPS)))
    return name, draw(arguments(*STEPS[name]))  # type: ignore[arg-type]


@MANY
@given(st.lists(step(), min_size=1, max_size=8))
def test_ledgers(steps: list[tuple[str, Arguments]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger, last = flexdp.Ledger(Path(folder) / "b.db"), None
        ledger.create("a", epsilon=100, delta="0.5")
        for name, drawn in steps:
            drawn = {key: last if isinstance(value, str) and value == "last" else value for key, value in drawn.items()}
            found = settled(lambda name=name, drawn=drawn: getattr(ledger, name)(**drawn))
            last = found if isinstance(found, accounting.Receipt) else last
        assert ledger.verify().intact
        assert ledger.account("a").remaining_epsilon <= 100
        ledger.close()


# ---- controls: what must not pass


def _raises(error: BaseException) -> Callable[[], Any]:
    def call() -> Any:
        raise error

    return call


@pytest.mark.parametrize(
    "wrong",
    [
        InputError("width", "must be\npositive"),
        InputError("", "must be positive"),
        InputError("width", ""),
        InputError("width", "must be positive", given=5),
        InputError("width", "x" * 5000),
        flexdp.FlexdpError("not one of the known kinds"),
    ],
    ids=str,
)  # fmt: skip
def test_refusals_without_their_parts_are_found(wrong: BaseException) -> None:
    with pytest.raises(Finding):
        settled(_raises(wrong))


def test_other_exceptions_and_long_runs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="not ours"):
        settled(_raises(ValueError("not ours")))
    assert settled(_raises(DataError())) is None
    monkeypatch.setattr("fuzz.oracles.MOST_SECONDS", 0.1)
    with pytest.raises(Finding, match="processor time"):
        settled(lambda: _spin(0.2))


def _spin(seconds: float) -> None:
    import time

    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
