"""Whatever stands where a parameter belongs: it is taken, or refused in one line of ours that does not repeat it.

Every public callable is called with values that are right, and then with each of its parameters replaced by each value
of a zoo. Nothing is drawn: the same calls are made every time. What a function of the caller's own raises when it is
called is the caller's, and not looked at.
"""

from __future__ import annotations

import importlib
import inspect
import os
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import pytest

import flexdp
from flexdp import (
    Histogram,
    InputError,
    accounting,
    audit,
    baselines,
    calculus,
    distances,
    distortions,
    experiments,
    guarantees,
    measure,
    mechanisms,
    noise,
    planning,
    report,
    statistics,
)
from flexdp.distances import Difference
from flexdp.distortions import Drop
from flexdp.errors import BudgetError, DataError
from flexdp.guarantees import ONE_RECORD
from flexdp.histogram import KeyedHistogram

DEEP = os.environ.get("FLEXDP_DEEP") == "1"
SECRET = "HOSTILEHOSTILE"  # what an object of the zoo would say of itself, and no message may


class HostileError(Exception):
    """What the objects of the zoo raise; no user may see it."""


def _refuse(*_arguments: Any, **_options: Any) -> Any:
    raise HostileError(SECRET)


def _shout(_self: Any) -> str:
    return SECRET


DUNDERS = (
    "__len__", "__iter__", "__eq__", "__bool__", "__float__", "__int__", "__index__", "__fspath__", "__repr__",
    "__str__", "__hash__", "__getitem__", "__contains__", "__lt__", "__array__", "__getattr__", "__call__",
    "__format__", "__arrow_c_stream__",
)  # fmt: skip
PRINTING = ("__repr__", "__str__", "__format__")
COMPARING = ("__eq__", "__hash__", "__lt__", "__gt__", "__bool__")


def _hostile(base: type, value: Any, *dunders: str) -> Any:
    """An object of a subclass of ``base`` that fails when it is touched, and tells its content when printed."""
    members = {"__repr__": _shout, "__str__": _shout} if base is object else {}
    kind = type("Hostile", (base,), {**members, **dict.fromkeys(dunders, _refuse)})
    return kind() if base is object else kind(value)


def _numbers() -> Iterator[int]:
    yield from (1, 2)


# Made anew for each call, because some are used up.
ZOO: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "NaN": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-1": lambda: -1,
    "0": lambda: 0,
    "2.5": lambda: 2.5,
    "10**400": lambda: 10**400,
    "1/10**400": lambda: Fraction(1, 10**400),
    "complex": lambda: 1j,
    "True": lambda: True,
    "empty text": lambda: "",
    "text": lambda: "nonsense",
    "NUL": lambda: "a\0b",
    "newline": lambda: "a\nb",
    "surrogate": lambda: "a\ud800b",
    "long text": lambda: "y" * 100_000,
    "bytes": lambda: b"\xff\0",
    "Series": lambda: pd.Series([1.0, 2.0]),
    "DataFrame": lambda: pd.DataFrame({"x": [1.0, 2.0]}),
    "NaT": lambda: pd.NaT,
    "NA": lambda: pd.NA,
    "0-d array": lambda: np.array(1.5),
    "1-d array": lambda: np.array([1.0, 2.0]),
    "2-d array": lambda: np.ones((2, 2)),
    "array of objects": lambda: np.array([None, "x", object()], dtype=object),
    "float32 NaN": lambda: np.float32("nan"),
    "datetime64": lambda: np.datetime64("NaT"),
    "empty list": list,
    "mixed list": lambda: [[1], "x", None],
    "list of Series": lambda: [pd.Series([1, 2]), pd.Series([1, 2])],
    "pair of None": lambda: (None, None),
    "set": lambda: {1, 2},
    "dict": lambda: {"a": 1},
    "dict of Series": lambda: {pd.NaT: pd.Series([1, 2])},
    "range": lambda: range(3),
    "generator": _numbers,
    "class": lambda: Path,
    "lambda": lambda: lambda *_arguments, **_options: 1,
    "module": lambda: np,
    "object": object,
    "Histogram": lambda: Histogram.from_values([1, 2]),
    **{dunder: lambda dunder=dunder: _hostile(object, None, dunder) for dunder in DUNDERS},  # type: ignore[misc]
    "all dunders": lambda: _hostile(object, None, *DUNDERS),
    "hostile str": lambda: _hostile(str, "nonsense", "__len__", "__iter__", "__contains__", *COMPARING, *PRINTING),
    "hostile int": lambda: _hostile(int, 1, "__int__", "__index__", *COMPARING, *PRINTING),
    "hostile float": lambda: _hostile(float, 0.5, "__float__", "__int__", *COMPARING, *PRINTING),
    "hostile Decimal": lambda: _hostile(Decimal, "0.5", "is_finite", "as_integer_ratio", *COMPARING, *PRINTING),
    "hostile Fraction": lambda: _hostile(Fraction, "1/2", "as_integer_ratio", *COMPARING, *PRINTING),
    "signalling NaN": lambda: Decimal("sNaN"),
    "timedelta64": lambda: np.timedelta64("NaT"),
    "hostile list": lambda: _hostile(list, [1, 2], "__len__", "__iter__", "__getitem__", *COMPARING),
    "hostile tuple": lambda: _hostile(tuple, (1, 2), "__len__", "__iter__", "__getitem__", *COMPARING),
    "hostile dict": lambda: _hostile(dict, {1: 2}, "__len__", "__iter__", "__getitem__", "keys", "items", "get"),
    "list of hostile": lambda: [_hostile(object, None, *DUNDERS), _hostile(object, None, *DUNDERS)],
    "strange name": lambda: type("a\nb", (), {})(),
}

# Parameters that take a function: one that is callable may raise what it likes.
FUNCTIONS = {
    "function",
    "sensitivity",
    "metric",
    "distance",
    "distortion",
    "measure",
    "progress",
    "mechanisms",
    "bound",
    "lossy_bound",
    "functions",
    "f",
    "M",
    "d1",
    "d2",
    "output_metric",
    "output_distortion",
    "relation",
    "output_relation",
    "law",
    "measured",
    "named",
}
FUNCTIONS_OF = {  # a function is a statistic, or a mechanism, too
    ("flexible_error", "statistic"),
    ("flexible_error_bounds", "statistic"),
    ("accuracy_curve", "statistic"),
    ("flexible_error", "outputs"),
    ("smallest_beta", "statistic"),
    ("exact_delta", "mechanism"),
    ("verify", "mechanism"),
    ("audit", "mechanism"),
    ("audit", "outcome"),
}

BARS = Histogram.from_counts({1: 40, 2: 50, 3: 60})
RIGHT: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
TABLE = pd.DataFrame(
    {"x": [1.0, 2.0] * 60, "y": [1.0, 1.0] * 60, "ward": ["A", "B"] * 60, "pid": [f"p{i}" for i in range(120)]}
).astype({"ward": "string", "pid": "string"})
WHOLE = flexdp.release([1.0, 2.0, 3.0] * 200, **RIGHT, width=1, bounds=(0, 9))
GROUPED = flexdp.release(TABLE, "x", **RIGHT, width=1, by="ward", by_kind="text", groups=["A", "B"], kind="number")
SEVERAL = flexdp.release(TABLE, ["x", "y"], **RIGHT, width=1)
EACH = flexdp.release(TABLE, ["x", "y"], **RIGHT, width=1, separately=True)
COUNTS = np.array([30, 20, 0, 5])
ACCURACY = flexdp.Accuracy(alpha=0.1, beta=1)
PRIVACY = flexdp.Privacy(epsilon=1, delta=0)
ERROR = calculus.function_step(lambda beta: beta, metric=Difference())
DROPS = noise.DropNoise(1, 1e-6)
DROPPING = mechanisms.Dropping(1, 1e-6)
DISCRETE, NEAR = distances.Equality(), guarantees.AnswersWithin(1)
BUCKETING = mechanisms.Bucketing(width=1, bounds=(0, 9))
PLAN = flexdp.plan(epsilon=1, delta=1e-6, records_about=1000, buckets=10)
ASKED = {"statistic": statistics.Max(), **RIGHT, "empty": "zero", "ties": "smallest"}


@dataclass
class Call:
    """A callable, arguments that are right, and which of them are varied: all, where none is named."""

    function: Callable[..., Any]
    right: dict[str, Any]
    varied: Sequence[str] = ()


class Estimator:
    """What fit takes."""

    def fit(self, X: Any, sample_weight: Any = None) -> Any:  # noqa: N803, ARG002
        return self


def weighted(points: Any, weights: Any) -> Any:
    return distances.lossy_winf(distances.Weighted(points, weights), [0.0, 1.0])


def none(*names: str) -> dict[str, None]:
    return dict.fromkeys(names)


def book(folder: Path) -> flexdp.Ledger:
    """A ledger with a budget that nothing exhausts."""
    ledger = flexdp.Ledger(folder / "book.db")
    if not (folder / "book.db").exists():
        ledger.create("a", epsilon=10**4, delta="0.9")
    return ledger


def budgets(folder: Path) -> dict[str, Call]:
    """Composition and ledgers."""
    ledger, losses = book(folder), accounting.privacy_curve([DROPS])
    receipt, names = ledger.charge("a", PRIVACY), (f"d{number}" for number in range(10**6))
    charge = {"dataset": "a", "privacy": PRIVACY, "unit": "record", "request": "r", "details": {"a": 1}}
    declared: dict[str, Any] = {"unit": "record", "columns": {"x": "number"}, "name": "a", "ledger": ledger}
    data = flexdp.Dataset({"x": [1.0] * 90}, **declared)
    return {
        "compose": Call(flexdp.compose, {"releases": [WHOLE, DROPS, PRIVACY], "delta": 1e-5}),
        "privacy_curve": Call(flexdp.privacy_curve, {"releases": [EACH]}),
        "PrivacyCurve.delta_at": Call(losses.delta_at, {"epsilon": 1}),
        "PrivacyCurve.epsilon_at": Call(losses.epsilon_at, {"delta": 1e-5}),
        "PrivacyCurve.points": Call(losses.points, {"count": 3}),
        "calibrate": Call(accounting.calibrate, {**RIGHT, "releases": 3, "max_buckets_per_unit": 2, "aside": 0.04}),
        "Ledger": Call(flexdp.Ledger, {"address": folder / "x.db", "patience": 1}),
        "Ledger.create": Call(
            lambda dataset=None, **rest: ledger.create(dataset or next(names), **rest), {**RIGHT, "unit": "record"}
        ),
        "Ledger.create named": Call(lambda dataset: ledger.create(dataset, **RIGHT), {"dataset": next(names)}),
        "Ledger.account": Call(ledger.account, {"dataset": "a"}),
        "Ledger.charge": Call(ledger.charge, charge),
        "Ledger.store": Call(ledger.store, {"receipt": receipt, "document": "{}", "request": "r"}),
        "Ledger.find": Call(ledger.find, {"dataset": "a", "request": "r"}),
        "Ledger.document": Call(ledger.document, {"dataset": "a", "number": 1}),
        "Ledger.history": Call(ledger.history, {"dataset": "a"}),
        "Ledger.verify": Call(ledger.verify, {"receipts": [receipt]}),
        "Receipt.parse": Call(accounting.Receipt.parse, {"given": str(receipt)}),
        "Column": Call(flexdp.Column, {"kind": "integer", "derive": "a + b"}),
        "Dataset": Call(flexdp.Dataset, {"source": {"x": [1.0] * 90}, **declared}),
        "Dataset.release": Call(data.release, {"column": "x", **RIGHT, "fresh": False, "width": 1}),
        "Dataset.query": Call(data.query, {"column": "x", "width": 1}),
        "Dataset.check": Call(data.check, {"column": "x"}),
    }


def releases(folder: Path) -> dict[str, Call]:
    """Releases that between them use every parameter."""
    path = folder / "t.csv"
    TABLE.to_csv(path, index=False)
    one = [1.0, 2.0] * 60
    shape = none("column", "width", "relative", "edges", "beta", "bounds", "kind", "zone", "by", "groups", "unit")
    rest = none("by_kind", "unit_kind", "max_buckets_per_unit", "per_unit", "certify", "split", "engine", "format")
    rest |= none("delimiter", "ask")
    pays = {"ledger": book(folder), "dataset": "a", "fresh": False}
    table: dict[str, Any] = {
        "source": TABLE, "column": "x", **RIGHT, "kind": "number", "width": 1, "bounds": (0, 9), "by": "ward",
        "by_kind": "text", "groups": ["A", "B"], "unit": "pid", "unit_kind": "text", "max_buckets_per_unit": 1,
        "per_unit": None, "certify": 0.1, "cap_report": True,
    }  # fmt: skip
    both: dict[str, Any] = {"source": TABLE, "column": ["x", "y"], **RIGHT}
    days = {"source": ["2024-01-01"] * 100, **RIGHT, "kind": "date", "width": "1 week"}
    datetimes = {"source": ["2024-01-01T10:00"] * 100, **RIGHT, "kind": "datetime", "width": "1 hour"}
    whole = {"source": [1, 2] * 100, **RIGHT, "kind": "integer", "width": 2, "bounds": (0, 9)}
    per_column = ("width", "relative", "edges", "bounds", "kind")
    written_cells = {
        "decimal": ",",
        "thousands": ".",
        "currency": ["€"],
        "date_format": "%d.%m.%Y",
        "encoding": "cp1252",
    }
    written_cells |= none("sheet")
    about = {"title": "T", "publisher": "P", "dataset_name": "N", "period": "2024"}
    written: dict[str, Any] = {**written_cells, **about}
    return {
        "release": Call(
            flexdp.release,
            {
                "source": one,
                **RIGHT,
                **shape,
                **rest,
                "outside": "clamp",
                "separately": False,
                "exact": False,
                "rows_are_records": False,
                **none("where", "derive"),
            },
        ),
        "release of a part": Call(
            flexdp.release,
            {
                "source": TABLE,
                "column": "z",
                **RIGHT,
                "width": 1,
                "where": "ward = 'A' AND x < 9",
                "derive": {"z": "x + y"},
                "rows_are_records": False,
            },
            ["column", "where", "derive", "rows_are_records"],
        ),
        "release that is paid for": Call(flexdp.release, {"source": one, **RIGHT, "width": 1, **pays}, list(pays)),
        "release of a frame": Call(flexdp.release, table, [name for name in table if name not in ("source", *RIGHT)]),
        "release of a file": Call(
            flexdp.release,
            {**table, "source": path, "format": "csv", "delimiter": ",", "engine": None},
            ["source", "column", "format", "delimiter", "engine"],
        ),
        "release of a file as it is written": Call(flexdp.release, {**table, "source": path, **written}, list(written)),
        "check": Call(
            flexdp.check,
            {
                "source": path,
                "column": "x",
                **written_cells,
                "kind": "number",
                "zone": None,
                **none("format", "delimiter"),
            },
        ),
        "release of columns": Call(
            flexdp.release, {**both, **none(*per_column, "beta"), "width": [1, 2]}, ["column", *per_column, "beta"]
        ),
        "release of columns by beta": Call(flexdp.release, {**both, "beta": 1}, ["beta"]),
        "release separately": Call(
            flexdp.release,
            {**both, **none(*per_column), "separately": True, "split": [1, 2], "width": {"x": 1}, "certify": 0.1},
            ["separately", "split", *per_column],
        ),
        "release of answers": Call(
            flexdp.release,
            {"source": [1, 2] * 500, "epsilon": 1, "delta": 0, "kind": "integer", "ask": ["max"], "split": None},
            ["ask", "split", "delta"],
        ),
        "release of dates": Call(flexdp.release, {**days, "bounds": ("2024-01-01", "2024-12-31")}, ["width", "bounds"]),
        "release of dates between edges": Call(
            flexdp.release, {**days, "width": None, "edges": ["2024-01-01", "2024-02-01"]}, ["edges"]
        ),
        "release of datetimes": Call(
            flexdp.release, {**datetimes, "bounds": None, "zone": None}, ["width", "bounds", "zone"]
        ),
        "release between edges": Call(flexdp.release, {"source": one, **RIGHT, "edges": [0, 1, 5]}, ["edges"]),
        "release of relative buckets": Call(flexdp.release, {"source": one, **RIGHT, "relative": 0.1}, ["relative"]),
        "release of integers": Call(flexdp.release, {**whole, "edges": None}, ["width", "bounds", "edges"]),
        "release of other groups": Call(
            flexdp.release,
            {"source": TABLE, "column": "x", **RIGHT, "width": 1, "by": "ward", "groups": ["A"], "other": "rest"},
            ["by", "groups", "other"],
        ),
        "summary": Call(
            flexdp.summary,
            {"source": TABLE, "columns": ["x", "ward"], **RIGHT, "skip": None, "split": None, "width": {"x": 1}},
            ["columns", "skip", "split"],
        ),
        "query": Call(
            flexdp.query,
            {"source": path, "column": "x", "kind": "number", "width": 1, "dialect": "postgres"},
            ["source", "column", "dialect"],
        ),
    }


def planned() -> dict[str, Call]:
    """Everything that is planned with."""
    known = {**RIGHT, "records_about": 1000, "width": 1, "bounds": (0, 9), "kind": "number", "releases": 1}
    losses = none("lose_per_bucket", "lose_in_all", "lose_share")
    rest = none("relative", "buckets", "max_buckets_per_unit", "simulate", "public_sample")
    solved = {**RIGHT, "records_at_least": 1000, "buckets": 10, "buckets_per_unit": 1}
    regime = {"name": "inverse-root", "records_at_least": 1000, "buckets": 3}
    return {
        "plan": Call(flexdp.plan, {**known, **losses, **rest, "ask": None}),
        "plan of answers": Call(flexdp.plan, {"epsilon": 1, "records_about": 1000, "ask": ["max"]}, ["ask"]),
        "plan of buckets": Call(
            flexdp.plan,
            {"delta": 1e-6, "records_about": 1000, "buckets": 10, "lose_share": 0.1},
            ["buckets", "lose_share"],
        ),
        "plan of edges": Call(
            flexdp.plan, {**RIGHT, "records_about": 1000, "edges": [0, 10, 20], "stats": ["max"]}, ["edges", "stats"]
        ),
        "plan of units": Call(
            flexdp.plan,
            {**known, "max_buckets_per_unit": 2, "cap_report": True},
            ["max_buckets_per_unit", "cap_report"],
        ),
        "plan of groups": Call(
            flexdp.plan, {**known, "by": ["ward"], "groups": ["A", "B"], "groups_about": None}, ["by", "groups"]
        ),
        "plan of unknown groups": Call(flexdp.plan, {**known, "by": ["ward"], "groups_about": 3}, ["groups_about"]),
        "plan of a sample": Call(flexdp.plan, {**known, "public_sample": [1.0, 2.0]}, ["public_sample"]),
        "Plan.to_json": Call(PLAN.to_json, {"indent": None}),
        "solve": Call(planning.solve, {**solved, **none("q", "max_drop", "alpha", "beta", "span")}),
        "regime": Call(planning.regime, {**regime, **none("beta", "span", "tau", "exponent")}),
        "per_bucket": Call(planning.per_bucket, {**RIGHT, "buckets_per_unit": 2}),
        "most_buckets_per_unit": Call(planning.most_buckets_per_unit, {**RIGHT, "q": 100}),
        "smallest_delta": Call(planning.smallest_delta, {"epsilon": 1, "q": 20, "buckets_per_unit": 1}),
        "smallest_epsilon": Call(planning.smallest_epsilon, {"q": 20, "delta": 1e-6, "buckets_per_unit": 1}),
    }


def answers(folder: Path) -> dict[str, Call]:
    """Everything that is asked of a release."""
    groups = GROUPED.by_group()
    largest = groups.max()
    found = {
        "Release.from_json": Call(flexdp.Release.from_json, {"document": WHOLE.to_json()}),
        "Releases.from_json": Call(flexdp.Releases.from_json, {"document": EACH.to_json()}),
        "Releases": Call(flexdp.Releases, {"releases": [WHOLE]}),
        "Releases.__getitem__": Call(EACH.__getitem__, {"column": "x"}),
        "Releases.__contains__": Call(EACH.__contains__, {"column": "x"}),
        "Releases.to_json": Call(EACH.to_json, {"indent": None}),
        "Release.report": Call(WHOLE.report, {"path": str(folder / "r.html")}),
        "Release.to_json": Call(WHOLE.to_json, {"indent": None}),
        "Release.to_frame": Call(WHOLE.to_frame, {"library": None}),
        "Release.fit": Call(WHOLE.fit, {"estimator": Estimator()}),
        "Release.marginal": Call(SEVERAL.marginal, {"column": "x"}),
        "Groups.__getitem__": Call(groups.__getitem__, {"group": "A"}),
        "Groups.__contains__": Call(groups.__contains__, {"group": "A"}),
        "GroupAnswers.__getitem__": Call(largest.__getitem__, {"group": "A"}),
        "GroupAnswers.__contains__": Call(largest.__contains__, {"group": "A"}),
        "GroupAnswers.to_frame": Call(largest.to_frame, {"library": None}),
        "chart": Call(report.chart, {"document": WHOLE.to_json(), "name": "fd", "alone": True}),
        "accuracy_chart": Call(
            report.accuracy_chart,
            {
                "curve": measure.accuracy_curve(BARS, [1, 2], statistics.Max(), alphas=[0], gammas=[0]),
                "promised": guarantees.Accuracy(alpha="0.05", beta=1),
                "name": "a",
                "alone": True,
            },
        ),
        "derivation_chart": Call(
            report.derivation_chart, {"derivation": (BUCKETING >> DROPPING).explain(), "name": "d", "alone": True}
        ),
        "coupling_chart": Call(
            report.coupling_chart, {"p": [0, 1], "q": [0, 2], "gamma": 0, "name": "w", "alone": True}
        ),
        "noise_chart": Call(report.noise_chart, {"noise": noise.DropNoise(1, "1e-3"), "name": "n", "alone": True}),
        "pebbles": Call(
            report.pebbles,
            {
                "chain": mechanisms.Bucketing(width=1) >> mechanisms.Dropping(1, "0.1"),
                "histogram": BARS,
                "game": "composition",
                "outputs": None,
                "functions": None,
                "name": "g",
                "alone": True,
            },
        ),
        "page": Call(report.page, {"document": WHOLE._document(), "release": WHOLE}),
        "tradeoff": Call(
            report.tradeoff, {"document": PLAN.to_json(), "name": "p", "alone": True, "width": 640, "height": 300}
        ),
        "Document.read": Call(report.Document.read, {"document": WHOLE.to_json()}),
    }
    asked: dict[str, Any] = {"Release": WHOLE, "Groups": groups, "View": groups["A"]}
    for of, readable in asked.items():
        found |= {
            f"{of}.quantile": Call(readable.quantile, {"level": 0.5}),
            f"{of}.top": Call(readable.top, {"count": 2}),
            f"{of}.max_at_least": Call(readable.max_at_least, {"count": 2}),
            f"{of}.counts": Call(readable.counts, {"debias": False}),
            f"{of}.apply": Call(readable.apply, {"function": len, "sensitivity": 1, "name": "size"}),
        }
    return found


def theory() -> dict[str, Call]:
    """Histograms, noise, guarantees, distances and mechanisms."""
    accuracy = {"alpha": 0.1, "beta": 1, "gamma": 0, "relative": False, "max_drop": 3, "moved": 0, "unit": ""}
    words = {"distortion": Drop(), "metric": Difference(), "counted": "record", "place": "each bucket"}
    buckets = {"width": 1, "bounds": (0, 9), "outside": "clamp", "kind": "number", "dimensions": 1}
    unit = {"unit": "record", "max_buckets_per_unit": 1}
    proof = {"weights": DROPS.weights, "bits": DROPS.bits, "growth": (3, 2)}
    measured = {"histogram": BARS, "outputs": [1, 2], "statistic": statistics.Max()}
    reach = {"distortion": distortions.Drop(), **none("distance", "domain", "candidates")}
    curve = measure.accuracy_curve(BARS, [1, 2], statistics.Max(), [0.1], [0])
    computed = {"f": lambda x: x, "points": [1, 2], "output_metric": None}
    naming = {"named": Difference(), "measured": Drop(), "targets": (), "metric": None}
    lost = {"alpha2": 0, "gamma2": 0, "beta1": 0, "gamma1": 0}
    checking = none("function", "law", "distortion", "output_distortion", "metric", "output_metric", "known")
    found = {
        "Histogram": Call(Histogram, {"keys": [1, 2], "counts": [3, 4]}),
        "Histogram.from_counts": Call(Histogram.from_counts, {"counts": {1: 2}}),
        "Histogram.from_values": Call(Histogram.from_values, {"values": [1, 2]}),
        "Privacy": Call(flexdp.Privacy, {**RIGHT, "neighbours": ONE_RECORD, "given": None}),
        "Accuracy": Call(flexdp.Accuracy, {**accuracy, **words}),
        "Accuracy.but": Call(ACCURACY.but, {"alpha": 0.1, "beta": 1, "relative": None}),
        "Accuracy.of": Call(ACCURACY.of, {"counted": "record", "place": "each bucket"}),
        "DropNoise": Call(noise.DropNoise, RIGHT),
        "DropNoise.mean_drop": Call(DROPS.mean_drop, {"count": 3}),
        "DropNoise.survival": Call(DROPS.survival, {"count": 3}),
        "DropNoise.sample": Call(DROPS.sample, {"size": 3}),
        "DropNoise.thin": Call(DROPS.thin, {"counts": np.array([3, 4])}),
        "TotalNoise": Call(noise.TotalNoise, {**RIGHT, "buckets": 3, "units": 1, "q": None}),
        "TotalNoise.smallest": Call(noise.TotalNoise.smallest, {**RIGHT, "buckets": 3, "units": 1}),
        "TotalNoise.thin": Call(noise.TotalNoise(**RIGHT, buckets=3).thin, {"counts": np.array([3, 4])}),
        "TotalNoise.law": Call(noise.TotalNoise(1, "0.1", 2).law, {"counts": [3, 4]}),
        "prove_total": Call(
            noise.prove_total, {"noise": DROPS, "delta": "1e-6", "buckets": 3, "total": 60, "units": 1}
        ),
        "smallest_reach": Call(noise.smallest_reach, {**RIGHT, "at_most": 100}),
        "prove": Call(noise.prove, {**proof, **RIGHT}),
        "lossy_winf": Call(distances.lossy_winf, {"p": [1, 2], "q": [2, 3], "gamma": 0, "metric": None}),
        "lossy_w1": Call(distances.lossy_w1, {"p": [1, 2], "q": [2, 3], "theta": 0, "metric": None}),
        "total_variation": Call(distances.total_variation, {"p": [1, 2], "q": [2, 3]}),
        "hausdorff": Call(distances.hausdorff, {"a": [1, 2], "b": [2, 3], "metric": None}),
        "Weighted": Call(weighted, {"points": [1, 2], "weights": [2, 3]}),
        "Move": Call(distortions.Move, {"metric": None}),
        "DropMove": Call(distortions.DropMove, {"eta": 1, "metric": None}),
        "Cyclic": Call(distances.Cyclic, {"period": 24}),
        "Spherical": Call(distances.Spherical, {"radius": 1}),
        "Product": Call(distances.Product, {"metrics": [distances.Cyclic(24)], "combine": "sum"}),
        "Coupling.completed": Call(distances.lossy_winf([0, 1], [1, 2], "1/2").coupling.completed, {"side": "p"}),
        "Accuracy.priced": Call(ACCURACY.priced, {"eta": 1}),
        "distortion_sensitivity": Call(
            calculus.distortion_sensitivity,
            {**computed, "d1": DISCRETE, "d2": DISCRETE, "alpha": 1, "theta": 0, "omega": 1, "targets": (3,)},
        ),
        "error_sensitivity": Call(
            calculus.error_sensitivity,
            {**computed, "M": lambda x: x, "distortion": DISCRETE, **lost, "targets": (3,), "metric": None},
        ),
        "sigma_on": Call(
            calculus.sigma_on, {**computed, "d1": DISCRETE, "d2": DISCRETE, "theta": 0, "omega": 1, "targets": (3,)}
        ),
        "tau_on": Call(
            calculus.tau_on,
            {**computed, "M": lambda x: x, "distortion": DISCRETE, "alpha2": 0, "gamma2": 0, **naming},
        ),
        "metric_sensitivity": Call(calculus.metric_sensitivity, {**computed, "beta": 1, "metric": None}),
        "preserves_neighbours": Call(
            calculus.preserves_neighbours,
            {"M": lambda x: x, "points": [1, 2], "relation": NEAR, "output_relation": NEAR, "equal": True},
        ),
        "check_declared": Call(
            mechanisms.check_declared,
            {"mechanism": BUCKETING, "points": [BARS], "betas": [0], "alphas": [0], "gammas": [0], **checking},
        ),
        "extend": Call(distortions.extend, {"distortion": distortions.Drop(), "p": [(BARS, 1)], "q": [(BARS, 1)]}),
        "Bucketing": Call(mechanisms.Bucketing, {**buckets, **none("relative", "edges", "axes", "partition"), **unit}),
        "BucketHistogram": Call(
            mechanisms.BucketHistogram,
            {"alpha": 0.1, "beta": 1, "epsilon": 1, "bounds": (0, 10), "records_at_least": 10_000, "dimensions": 1},
        ),
        "Dropping": Call(
            mechanisms.Dropping,
            {**RIGHT, "dimensions": 1, "certify": None, "total": [1, 2], "groups": 1, "q": None, **unit},
        ),
        "Bucketing.are_centres": Call(BUCKETING.are_centres, {"value": BARS}),
        "Dropping.thin": Call(DROPPING.thin, {"private": KeyedHistogram([[1, 2]], [30, 40])}),
        "Chain": Call(mechanisms.Chain, {"parts": [BUCKETING, DROPPING]}),
        "Known": Call(mechanisms.Known, {"records_at_least": 10, "bars": 3, "gamma": 0}),
        "Mechanism.from_json": Call(mechanisms.Mechanism.from_json, {"document": DROPPING.to_json(), "own": ()}),
        "Emptiness": Call(mechanisms.Emptiness, RIGHT),
        "Laplace": Call(mechanisms.Laplace, {"statistic": statistics.Max(), "sensitivity": 1, "epsilon": 1}),
        "ReadOff": Call(mechanisms.ReadOff, {"statistic": statistics.Max(), "dimensions": 1, "metric": Difference()}),
        "STLap": Call(
            mechanisms.STLap, {"tau": 0.1, "epsilon": 1, "records_at_least": 1000, "bars": 3, "dimensions": 1}
        ),
        "compose": Call(mechanisms.compose, {"first": BUCKETING, "second": DROPPING}),
        "Mechanism.__rshift__": Call(BUCKETING.__rshift__, {"other": DROPPING}),
        "Mechanism.accuracy": Call(BUCKETING.accuracy, {"records_at_least": 10, "bars": 3, "gamma": 0}),
        "flexible_error": Call(measure.flexible_error, {**measured, "alpha": 0.1, **reach}),
        "flexible_error_bounds": Call(measure.flexible_error_bounds, {**measured, "alpha": 0.1, **reach}),
        "accuracy_curve": Call(measure.accuracy_curve, {**measured, "alphas": [0.1], "gammas": [0], **reach}),
        "smallest_beta": Call(measure.smallest_beta, {**measured, "alpha": 0.1, "gamma": 0, **reach}),
        "AccuracyCurve.at": Call(curve.at, {"alpha": 0.1, "gamma": 0}),
        "compose_accuracy": Call(
            calculus.compose_accuracy,
            {"first": ACCURACY, "second": ERROR, "sigma": calculus.identity(), "keeps_bars": False},
        ),
        "compose_steps": Call(calculus.compose_steps, {"first": ERROR, "second": ERROR}),
        "function_step": Call(
            calculus.function_step,
            {"sensitivity": float, "metric": Difference(), "takes": None, "scales": False},
        ),
        "drop_move_accuracy": Call(
            calculus.drop_move_accuracy, {"first": ACCURACY, "metric": Difference(), "eta": None}
        ),
        "laplace_accuracy": Call(calculus.laplace_accuracy, {"sensitivity": 1, "epsilon": 1, "gamma": 0.1}),
        "post_process": Call(calculus.post_process, {"privacy": PRIVACY}),
        "pre_process": Call(
            calculus.pre_process,
            {"privacy": PRIVACY, "relation": (PRIVACY.neighbours, PRIVACY.neighbours), "keeps_condition": False},
        ),
        "of_unit": Call(calculus.of_unit, {"privacy": PRIVACY, "buckets": 2, "unit": "u"}),
        "of_each_bucket": Call(calculus.of_each_bucket, {"privacy": PRIVACY, "buckets": 2}),
        "of_group": Call(calculus.of_group, {"privacy": PRIVACY, "size": 2}),
        "of_each_member": Call(calculus.of_each_member, {"privacy": PRIVACY, "size": 2}),
        "split": Call(calculus.split, {"privacy": PRIVACY, "shares": [1, 2]}),
        "divide": Call(calculus.divide, {"privacy": PRIVACY, "buckets": 2, "certify": None}),
        "total": Call(calculus.total, {"privacies": [PRIVACY]}),
        "AddRemove": Call(guarantees.AddRemove, {"unit": "u", "buckets": 2}),
        "Replace": Call(guarantees.Replace, {"unit": "u"}),
        "AnswersWithin": Call(guarantees.AnswersWithin, {"sensitivity": 1}),
        "OwnNeighbours": Call(guarantees.OwnNeighbours, {"name": "n"}),
        "Condition": Call(
            guarantees.Condition, {"records_at_least": 10, "buckets_at_most": 2, "rows_are_records": True}
        ),
        "OwnDistortion": Call(distortions.OwnDistortion, {"name": "d", "measure": None, "fraction": True}),
        "OwnMetric": Call(distances.OwnMetric, {"name": "m", "distance": None}),
        "relax": Call(calculus.relax, {"sigma": calculus.identity(), "theta": 0, "omega": 0}),
        "useful_accuracy": Call(calculus.useful_accuracy, {"beta": 1, "gamma": 0, "psi": 0}),
        "perturbed_accuracy": Call(calculus.perturbed_accuracy, {"beta": 1, "gamma": 0, "psi": 0, **none("distance")}),
        "perturbation": Call(calculus.perturbation, none("distance")),
        "Sigma": Call(calculus.Sigma, {"bound": float, "theta": 0.0, "omega": 0.0}),
        "Step": Call(
            calculus.Step,
            {
                "tau": ERROR.tau,
                "metric": Difference(),
                "alpha": 0.0,
                "max_drop": None,
                "takes": None,
                "buckets": "kept",
            },
        ),
    }
    for distortion in (distortions.Drop(), distortions.Move(), distortions.DropMove(1)):
        name = type(distortion).__name__
        found[f"{name}.__call__"] = Call(distortion, {"x": BARS, "y": BARS})
        found[f"{name}.witness"] = Call(distortion.witness, {"x": BARS, "y": BARS})
    for mechanism in (
        BUCKETING,
        DROPPING,
        mechanisms.Emptiness(1, 1e-6),
        mechanisms.ReadOff(statistics.Max()),
        mechanisms.STLap(0.1, 1, records_at_least=100, bars=3),
        mechanisms.Laplace(statistics.Max(), sensitivity=1, epsilon=1),
        mechanisms.Laplace(sensitivity=1, epsilon=1),
    ):
        takes_numbers = mechanism.source.name in ("numbers", "set sizes")
        found[f"{mechanism}.__call__"] = Call(mechanism, {"x": 5 if takes_numbers else BARS})
    return found


def every_statistic() -> dict[str, Call]:
    """The statistics: how each is made, and every method."""
    given = {"threshold": 2, "level": 0.5, "rank": 2, "count": 2, "trim": 0.1, "span": 10}
    equal = {"statistic": statistics.Max(), "beta": 1.0}
    found = {"equal_size_sensitivity": Call(statistics.equal_size_sensitivity, equal)}
    for name in statistics.__all__:
        kind = getattr(statistics, name)
        if not isinstance(kind, type) or kind is statistics.Statistic:
            continue
        made = {own: given[own] for own in inspect.signature(kind).parameters}
        if made:
            found[name] = Call(kind, made)
        for method, right in {
            "__call__": {"histogram": BARS},
            "sensitivity": {"beta": 1.0},
            "equal_size_sensitivity": {"beta": 1.0},
            "attainable": {"histogram": BARS, "alpha": 0.1},
            "flexible_error": {"histogram": BARS, "outputs": [(1, 2)], "alpha": 0.1},
        }.items():
            if hasattr(kind, method):
                found[f"{name}.{method}"] = Call(getattr(kind(**made), method), right)
    return found


def nothing() -> Iterator[Any]:
    """A program that draws nothing."""
    return
    yield


def audits() -> dict[str, Call]:
    """Exact audits and audits by running."""
    small = mechanisms.Dropping(1, "0.2")
    pair = {"mechanism": small, "x": {"a": 3}, "y": {"a": 4}}
    search = {"mechanism": small, "size": 1, "values": ["a"], "records": 1}
    run = {"trials": 80, "confidence": 0.99, **none("outcome", "progress")}
    data = {"x": Histogram.from_counts({"a": 3}), "y": Histogram.from_counts({"a": 4})}
    released = flexdp.release([1.0] * 60, epsilon=1, delta="1e-6", width=5)
    event = audit.exact_delta(**pair, epsilon=1).event
    assert event is not None
    return {
        "exact_delta": Call(audit.exact_delta, {**pair, "epsilon": 1}),
        "verify_document": Call(audit.verify_document, {"document": released.to_json()}),
        "verify": Call(audit.verify, {**search, "epsilon": 1, "delta": "0.2"}),
        "neighbours": Call(lambda **given: list(audit.neighbours(**given)), search),
        "audit": Call(audit.audit, {"mechanism": small, **data, "epsilon": 1, "delta": "0.2", **run}),
        "search": Call(
            audit.search,
            {
                "seconds": 1,
                "seed": 0,
                "pairs": 1,
                "first": 0,
                "findings": 1,
                "forms": ["dict of lists"],
                "command": None,
                "told": print,
            },
        ),
        "Event.__contains__": Call(lambda outcome: outcome in event, {"outcome": (3,)}),
    }


def laboratory() -> dict[str, Call]:
    """The compared mechanisms and the experiments."""
    stlap, law = (
        baselines.baseline("stlap"),
        {"mechanism": "dropping", "counts": COUNTS, "statistic": statistics.Max(), **RIGHT},
    )
    settings = {"seed": 0, "runs": 2, "datasets": 2, "delta": 1e-6, "alpha": 0.1, "empty": "zero", "ties": "smallest"}
    compared = {"mechanisms": ["stlap"], "data": COUNTS, "statistic": "max", "epsilon": [1]}
    return {
        "baseline": Call(baselines.baseline, {"name": "stlap"}),
        "Baseline.claim": Call(stlap.claim, RIGHT),
        "Baseline.run": Call(stlap.run, {"counts": COUNTS, "runs": 2, "rng": np.random.default_rng(1), **ASKED}),
        "attainable_places": Call(
            baselines.attainable_places,
            {"counts": COUNTS, "statistic": statistics.Max(), "alpha": 0.1, "ties": "smallest"},
        ),
        "exact_errors": Call(baselines.exact_errors, {**law, "alpha": 0.1}),
        "exact_law": Call(baselines.exact_law, law),
        "Settings": Call(experiments.Settings, {**settings, "binning": "floor", "step_noise": None}),
        "StepNoise.parse": Call(experiments.StepNoise.parse, {"text": "none"}),
        "choose_mechanisms": Call(experiments.choose_mechanisms, {"names": ["stlap"]}),
        "compare": Call(  # mechanisms, data and statistic are functions of a researcher, who gets a traceback
            experiments.compare,
            {**compared, **settings, "bars": None, "progress": None},
            varied=(*settings, "epsilon", "bars", "progress"),
        ),
        "parse_law": Call(
            experiments.parse_law,
            {"text": "normal:50,5", "records": 100, "bars": 100, "binning": "floor", "noise": None},
        ),
    }


def outcome(call: Callable[..., Any], arguments: dict[str, Any]) -> str:
    """What is wrong with how a call ends; nothing, where it succeeds or is refused as it should be."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", flexdp.PrivacyWarning)  # a value that is taken, however little it protects
        warnings.simplefilter("always", flexdp.ReadingWarning)  # or taken, but cells may be read otherwise than meant
        try:
            call(**arguments)
        except (InputError, DataError, BudgetError) as refusal:
            said = str(refusal)
            if SECRET in said or "yyyyyyyy" in said:
                return f"repeats what was given: {said[:200]}"
            return "" if said.isprintable() and len(said) < 400 else f"is not one short line: {said[:200]!r}"
        except BaseException as error:  # noqa: BLE001  (whatever it is, it should not be)
            where = traceback.extract_tb(error.__traceback__)[-1]
            return f"raised {type(error).__name__} at {where.filename}:{where.lineno}"
    told = [str(each.message) for each in heard]
    return next((f"warns: {text[:200]!r}" for text in told if SECRET in text or not text.isprintable()), "")


@pytest.mark.parametrize(
    "part",
    ["releases", "budgets", "planned", "answers", "theory", "every_statistic", "laboratory", "audits"],
)
def test_every_wrong_value_is_taken_or_refused_in_one_line(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = {
        "releases": lambda: releases(tmp_path),
        "budgets": lambda: budgets(tmp_path),
        "planned": planned,
        "answers": lambda: answers(tmp_path),
        "theory": theory,
        "every_statistic": every_statistic,
        "laboratory": laboratory,
        "audits": audits,
    }[part]()
    wrong = []
    for name, call in calls.items():
        assert outcome(call.function, call.right) == "", name
        for parameter in call.varied or call.right:
            for label, make in ZOO.items():
                if not DEEP and crc32(f"{name} {parameter} {label}".encode()) % 2:
                    continue  # make test tries a fixed half of them
                value = make()
                takes_functions = parameter in FUNCTIONS or (name, parameter) in FUNCTIONS_OF
                if takes_functions and (callable(value) or label == "list of hostile"):
                    continue
                if said := outcome(call.function, {**call.right, parameter: value}):
                    wrong.append(f"{name}, {parameter}: {label} {said}")
    assert not wrong, "\n".join(wrong)


# Made by the library, not by users; or described in its docstring as a protocol.
RESULTS = {
    "Answer", "Certificate", "Check", "Release", "Evidence", "Coupling", "Farthest", "Transport", "Distortion",
    "Witness", "Mechanism", "Space", "Statistic", "AccuracyCurve", "Measurable", "Baseline", "Citation",
    "Compared", "ExactErrors", "SmallestBeta", "Perturbed", "ErrorBounds",
    "Cell", "Comparison", "Experiment", "Fixed", "Judgement", "DataLaw", "PoissonBars", "Row", "Sampled",
    "StepNoise", "Steps", "Study", "Document", "Expected", "Plan", "Solved",
    "Metric", "Thinned", "Neighbours", "Division", "Account", "Calibration", "Entry", "LossDistribution", "Payment",
    "PrivacyCurve", "Receipt", "Stored", "Verdict", "Completed", "Computed", "DistortionCase", "ErrorCase",
    "MetricCase", "Preserved", "Checked", "Claim",
    "Audited", "Event", "ExactDelta", "Verified", "CheckedDocument", "DocumentCheck", "Finding", "Searched",
    "ChanceBounds", "Errors", "TotalEvidence", "Derivation", "Derived", "Error", "IDENTITY", "jump", "unchanged",
}  # fmt: skip
# Take what other functions of ours have made and checked.
INNER = {"to_python", "judge", "run", "plan_picture", "release_card", "errors_of"}


def test_no_public_callable_is_forgotten(tmp_path: Path) -> None:
    tried = {
        name.removesuffix(".__call__")
        for calls in (
            releases(tmp_path),
            budgets(tmp_path),
            planned(),
            answers(tmp_path),
            theory(),
            every_statistic(),
            laboratory(),
            audits(),
        )
        for name in calls
    }
    for module in ("", ".noise", ".distances", ".distortions", ".mechanisms", ".statistics", ".measure", ".calculus",
                   ".accounting", ".guarantees", ".baselines", ".experiments", ".report", ".planning",
                   ".audit"):  # fmt: skip
        found = importlib.import_module(f"flexdp{module}")
        for name in found.__all__:
            public = getattr(found, name)
            if not callable(public) or (isinstance(public, type) and issubclass(public, BaseException)):
                continue
            if isinstance(public, distances.Metric | distortions.Distortion):  # constants that can be called
                continue
            if not inspect.signature(public).parameters or name in RESULTS | INNER:
                continue
            assert name in tried, f"flexdp{module}.{name}"
    for name, parameters in (("release", flexdp.release), ("plan", flexdp.plan)):
        varied = {
            parameter
            for label, call in {**releases(tmp_path), **planned()}.items()
            if label.startswith(name)
            for parameter in call.varied or call.right
        }
        assert varied == set(inspect.signature(parameters).parameters), name
