"""Automatic buckets through ``release``: what is published, on every kind, source, group and unit."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import numpy as np
import polars as pl
import pytest
from _support.bits import seed
from _support.lite import opened

import flexdp
from flexdp import InputError, Release
from flexdp._release.api import prepare
from flexdp._release.automatic import Auto, AutoBudget
from flexdp.buckets import OpenEdges
from flexdp.sharp.shares import shares

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
SCHEMA = json.loads((Path(__file__).parents[2] / "src" / "flexdp" / "data" / "release.schema.json").read_text())


@pytest.fixture
def bits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Every random bit of a release from a seed, which may be set again."""
    seed(monkeypatch, 1)
    yield lambda number: seed(monkeypatch, number)


def delays(n: int = 20_000, seed: int = 3) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    return np.round(rng.lognormal(3, 1, n) - 15, 1)


def auto_of(release: Any) -> Auto:
    assert isinstance(release, Release) and release.auto is not None
    return release.auto


def checked(release: Any) -> Release:
    """What must hold of every automatic release, whatever the data."""
    auto = auto_of(release)
    assert Release.from_json(release.to_json()) == release
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    reported = sum(cap.epsilon for cap in release.caps)
    assert release.privacy.epsilon == auto.budget.whole + reported and release.privacy.delta == auto.budget.delta
    assert release.to_html() and release._repr_html_() and str(release.certificate()) and repr(release)
    if not auto.chosen:
        assert release.budget is None and not len(release.cells)
        return release
    assert sum(auto.epsilons.values()) == auto.budget.epsilon
    partition = release.partition
    assert isinstance(partition, OpenEdges) and partition.count <= auto.shares.most_buckets  # type: ignore[union-attr]
    assert release.budget is not None and release.budget.epsilon == auto.epsilons["buckets"]
    assert release.mechanism.privacy.epsilon == release.budget.epsilon
    return release


# --- answers that are asked for as well ---------------------------------------------------------------------------


def test_asked_answers_share_the_budget_with_automatic_buckets(bits: Any) -> None:  # noqa: ARG001
    values = delays()
    release = flexdp.release(values, **SPEND, ask=["max", "min"], split=[3, 1])
    auto, asked = auto_of(release), release.asked
    assert auto.chosen and asked is not None and Release.from_json(release.to_json()) == release
    assert (auto.budget.epsilon, auto.budget.answers, asked.budget.epsilon) == (
        Fraction(3, 4),
        Fraction(1, 4),
        Fraction(1, 4),
    )
    assert sum(auto.epsilons.values()) == Fraction(3, 4) and release.privacy.epsilon == 1
    assert release.max().value > 2 * release.buckets[-1].lower  # the last bucket alone says nothing beyond its edge
    assert abs(release.median().value - float(np.median(values))) < 1
    assert "25% into the answers asked for" in " ".join(release.conditions)
    thirds = flexdp.release(values, **SPEND, ask=["max"], split=[2, 1])
    assert "and 33.33% into the answers asked for" in " ".join(thirds.conditions)
    proof = " ".join(release.certificate().proof)
    assert "Choosing buckets" in proof and "together they spend ε = 0.25" in proof


def test_too_few_for_buckets_leave_their_budget_to_the_answers(bits: Any) -> None:  # noqa: ARG001
    release = flexdp.release(delays(500), **SPEND, ask=["max", "median"])
    auto, asked = auto_of(release), release.asked
    assert not auto.chosen and release.budget is None and asked is not None
    assert asked.budget.epsilon + auto.epsilons["records"] == 1 == release.privacy.epsilon
    assert [answer.name for answer in release.answers()] == ["maximum", "median"]
    (told,) = [line for line in release.conditions if line.startswith("About ")]
    assert ": too few for buckets at ε = 1 (about " in told
    assert told.endswith("; the answers asked for got the rest of ε.")
    assert Release.from_json(release.to_json()) == release
    with pytest.raises(InputError, match="answers only what was asked for"):
        release.quantile("0.9")


@pytest.mark.parametrize("size", [500, 20_000])
@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["auto"].pop("answers"),
        lambda d: d["auto"].update(answers="1/4"),
        lambda d: d["auto"].update(answers="-1/2"),
        lambda d: d["asked"].update(epsilon="1/4"),
        lambda d: d["privacy"].update(epsilon="2"),
        lambda d: d.pop("asked"),
    ],
)
def test_a_changed_division_is_refused(size: int, change: Any, bits: Any) -> None:  # noqa: ARG001
    document = json.loads(flexdp.release(delays(size), **SPEND, ask=["max"]).to_json())
    assert Release.from_json(json.dumps(document))
    change(document)
    with pytest.raises(InputError):
        Release.from_json(json.dumps(document))


def test_asked_answers_come_from_the_copy_that_chose_the_buckets(bits: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    from flexdp.tables import ranks

    opened: list[Any] = []
    original = ranks.open_ranks
    monkeypatch.setattr(ranks, "open_ranks", lambda *a, **k: opened.append(1) or original(*a, **k))  # type: ignore[func-returns-value]
    flexdp.release(pl.DataFrame({"x": delays()}), "x", **SPEND, ask=["max", "mean"])
    assert len(opened) == 1


# --- what is published -------------------------------------------------------------------------------------------


def test_nothing_but_epsilon_and_delta_is_needed(bits: Any) -> None:  # noqa: ARG001
    values = delays()
    release = checked(flexdp.release(values, **SPEND))
    auto = auto_of(release)
    found = shares(auto.records_about, Fraction(2, 3), Fraction(1, 10**6))
    assert found is not None and auto.share == found.share and auto.levels == found.levels
    counts = np.bincount(release.partition.locate(values), minlength=release.partition.count)  # type: ignore[union-attr]
    lost = counts[release.bars.keys] - release.bars.counts
    assert (lost >= 0).all() and (lost <= release.max_drop).all()
    assert release.bars.size > 0.96 * len(values)
    assert release.buckets[0].lower == -math.inf and release.buckets[-1].upper == math.inf
    told = (
        "Buckets were chosen privately with 16% of ε; 50.67% went into the counts and 33.33% into minimum and maximum."
    )
    assert told in release.conditions
    assert abs(release.median().value - np.median(values)) < 1
    assert release.max().accuracy is None and release.max().value > 1.5 * release.buckets[-1].lower
    assert (values > release.max().value).sum() <= release.max().promise.beyond  # type: ignore[union-attr]
    assert release.max().text.startswith("about ") and release.min().text.startswith("about ")
    lines = "\n".join(release.certificate().proof)
    assert "6 levels of a tree" in lines and "together these steps spend ε = 0.16 of 2/3" in lines


@pytest.mark.parametrize("nothing", [[], (), "none", ["none"]])
def test_no_answers_beside_the_buckets_where_none_are_wanted(nothing: Any, bits: Any) -> None:  # noqa: ARG001
    release = checked(flexdp.release(delays(), **SPEND, ask=nothing))
    assert release.asked is None and auto_of(release).budget.epsilon == 1
    assert "Buckets were chosen privately with 22% of ε; 78% went into the counts." in release.conditions
    assert "or more" in release.max().text and release.max().accuracy is None


@pytest.mark.parametrize("epsilon", ["1/2", 1, 3])
@pytest.mark.parametrize("ask", [[], ["max"]])
def test_the_shares_that_are_told_add_up_to_all_of_epsilon(epsilon: Any, ask: Any, bits: Any) -> None:  # noqa: ARG001
    release = checked(flexdp.release(delays(), epsilon=epsilon, delta="1e-6", ask=ask))
    (told,) = [line for line in release.conditions if line.startswith("Buckets were chosen privately with ")]
    shares = [float(share) for share in re.findall(r"([0-9.]+)%", told)]
    assert len(shares) == 2 + len(ask) and sum(shares) == pytest.approx(100, abs=0.02)
    auto = auto_of(release)
    assert shares[0] == pytest.approx(float(100 * auto.share * auto.budget.epsilon / auto.budget.whole), rel=1e-3)


@pytest.mark.parametrize("epsilon", ["1/3", "7/3"])
def test_the_account_of_what_chose_the_buckets_adds_up(epsilon: str, bits: Any) -> None:  # noqa: ARG001
    release = checked(flexdp.release(delays(), epsilon=epsilon, delta="1e-6", ask=[]))
    auto = auto_of(release)
    (told,) = [line for line in release.certificate().proof if line.startswith("Choosing buckets: ")]
    spent = [Fraction(each) for each in re.findall(r"ε = ([0-9]+(?:[./][0-9]+)?)", told)]
    (levels,) = re.findall(r" ([0-9]+) levels of a tree ", told)
    assert auto.shares is not None
    exact = [auto.epsilons["records"], auto.shares.per_level, auto.shares.leaves]
    for said, truly in zip(spent, exact, strict=False):
        assert truly <= said <= truly * Fraction(100_002, 100_000), "rounded up, to six digits"
    chosen = exact[0] + int(levels) * exact[1] + exact[2]
    assert chosen == auto.share * Fraction(epsilon) == spent[3] and f" of {epsilon}, and the counts spend" in told


def test_shares_of_buckets_and_ends_can_be_chosen(bits: Any) -> None:  # noqa: ARG001
    auto = auto_of(checked(flexdp.release(delays(), **SPEND, split=[4, 1])))
    assert (auto.budget.epsilon, auto.budget.answers) == (Fraction(4, 5), Fraction(1, 5))


def test_ends_are_left_out_where_epsilon_is_too_small_for_their_tables() -> None:
    """From public parameters alone: ε decides, whatever the table."""
    request = prepare(delays(50)).with_budget("0.01", "1e-6")
    (budget,) = request.budgets
    assert isinstance(budget, AutoBudget) and budget.answers == 0 and budget.epsilon == Fraction(1, 100)
    (enough,) = prepare(delays(50)).with_budget("0.02", "1e-6").budgets
    assert isinstance(enough, AutoBudget) and enough.answers == Fraction(1, 150)


def test_groups_and_bounds_have_no_answers_unless_asked(bits: Any) -> None:  # noqa: ARG001
    frame = pl.DataFrame({"x": delays(9000), "g": ["a", "b", "c"] * 3000})
    assert flexdp.release(frame, "x", by="g", **SPEND).asked is None
    assert flexdp.release(frame, "x", bounds=(0, 50), **SPEND).asked is None


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([i % 300 for i in range(5000)], "integer"),
        ([i % 300 / 7 for i in range(5000)], "number"),
        ([dt.date(2020, 1, 1) + dt.timedelta(i % 900) for i in range(5000)], "date"),
        ([dt.datetime(2020, 1, 1) + dt.timedelta(minutes=i % 90_000) for i in range(5000)], "datetime"),
    ],
)
def test_every_ordered_kind(values: list[Any], kind: Any, bits: Any) -> None:  # noqa: ARG001
    release = checked(flexdp.release(values, kind=kind, **SPEND))
    assert len(release.cells) > 5
    assert release.min().value <= sorted(values)[2500] <= release.max().value
    assert len(release.to_frame("polars")) == len(release.cells)
    assert all(low <= high for low, high in auto_of(release).leaves[1:-1])


def test_texts_booleans_and_points_are_counted_value_by_value() -> None:
    frame = pl.DataFrame({"t": ["a", "b"] * 400, "b": [True, False] * 400, "x": [1.0, 2.0] * 400, "y": [3, 4] * 400})
    for column, given in (("t", {}), ("b", {}), (["x", "y"], {"exact": True})):
        release = flexdp.release(frame, column, **SPEND, **given)
        assert isinstance(release, Release) and release.auto is None and len(release.cells) == 2


def test_exact_makes_every_value_its_own_bucket() -> None:
    release = flexdp.release([1.5, 2.5] * 400, kind="number", exact=True, **SPEND)
    assert release.auto is None and release.histogram.keys.tolist() == [1.5, 2.5]
    assert release.partition.spec == "every value its own bucket"


# --- documents ---------------------------------------------------------------------------------------------------


def change(document: dict[str, Any], path: list[Any], value: Any) -> str:
    place: Any = document
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value(place[path[-1]]) if callable(value) else value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["auto", "records_about"], lambda n: n + 5000),
        (["auto", "records_about"], 150),
        (["auto", "records_about"], True),
        (["auto", "share"], "1/4"),
        (["auto", "levels"], 4),
        (["auto", "most_buckets"], lambda n: n + 1),
        (["auto", "epsilon", "tree"], "1/25"),
        (["auto", "leaf_counts", 0], lambda n: n + 900),
        (["auto", "leaf_counts"], lambda counts: counts[1:]),
        (["auto", "cuts", 3], "12.3456"),
        (["auto", "cuts"], lambda cuts: cuts[::-1]),
        (["auto", "cuts"], lambda cuts: [*cuts, "1e39"]),
        (["buckets", "edges", 2], "3.25"),
        (["buckets", "edges"], lambda edges: edges[1:]),
        (["buckets", "open"], False),
        (["privacy", "epsilon"], "2"),
        (["privacy", "delta"], "1/100000"),
        (["mechanism", "q"], lambda q: q + 1),
    ],
)
def test_a_changed_document_is_refused(path: list[Any], value: Any, bits: Any) -> None:  # noqa: ARG001
    document = json.loads(flexdp.release(delays(), **SPEND).to_json())
    assert Release.from_json(json.dumps(document))  # the document itself is read
    with pytest.raises(InputError):
        Release.from_json(change(document, path, value))


def test_a_document_without_what_chose_its_buckets_states_another_budget(bits: Any) -> None:  # noqa: ARG001
    document = json.loads(flexdp.release(delays(), **SPEND).to_json())
    del document["auto"]
    with pytest.raises(InputError):
        Release.from_json(json.dumps(document))


# --- too few -----------------------------------------------------------------------------------------------------


def test_too_few_for_buckets_are_five_answers(bits: Any) -> None:  # noqa: ARG001
    release = checked(flexdp.release(delays(250), **SPEND))
    assert release.survived and release.asked is not None
    assert [answer.name for answer in release.answers()] == [
        "minimum", "25th percentile", "median", "75th percentile", "maximum",
    ]  # fmt: skip
    (told,) = [line for line in release.conditions if line.startswith("About")]
    up = Context(prec=2, rounding=ROUND_CEILING)
    enough = up.divide(Decimal(600), Decimal(auto_of(release).seen))
    assert told == (
        f"About {auto_of(release).seen} records: too few for buckets at ε = 1 (about 600 are needed, or about "
        f"ε = {enough} for this many; with 95% probability, the estimate of "
        f"{auto_of(release).seen} is off by at most 112); five answers instead."
    )
    assert release.asked.results[()].levels.records_about == auto_of(release).seen  # type: ignore[union-attr]
    assert release.asked.budget.epsilon == 1
    with pytest.raises(InputError, match="answers only what was asked for"):
        release.quantile("0.99")


@pytest.mark.parametrize("n", [0, 30])
def test_too_few_for_any_answer_is_a_published_refusal(n: int, bits: Any) -> None:  # noqa: ARG001
    release = checked(flexdp.release(delays(n), **SPEND))
    assert not release.survived
    (told,) = [line for line in release.conditions if line.startswith("About")]
    assert "too few for any answer at ε = 1 (about 100 are needed" in told
    assert f"the estimate of {auto_of(release).records_about} is off by at most 112, so there may be none)." in told
    assert "or about ε = " not in told, "which would be spent on nothing"
    assert release.max().value is None
    assert release.likely_causes[0].startswith("Missing values, NaN, infinities and texts that do not read as numbers")


@pytest.mark.parametrize("groups", [None, ["a", "b"]])
def test_too_few_for_buckets_by_group_is_a_refusal(groups: Any, bits: Any) -> None:  # noqa: ARG001
    frame = pl.DataFrame({"x": delays(250), "g": ["a", "b"] * 125})
    release = checked(flexdp.release(frame, "x", by="g", groups=groups, **SPEND))
    assert not release.survived and release.groups == [] and release.answers() == []
    assert any("too few for buckets by g at ε = 1" in line for line in release.conditions)
    with pytest.raises(InputError, match=r"\babout [0-9]+ records: too few for buckets by g"):
        release.max()
    assert release.columns_of_bars()["count"] == []


# --- groups, units, bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [None, ["a", "b", "nobody"]])
def test_groups_share_their_edges(groups: Any, bits: Any) -> None:  # noqa: ARG001
    frame = pl.DataFrame({"x": delays(9000), "g": ["a", "b", "c"] * 3000})
    release = checked(flexdp.release(frame, "x", by="g", groups=groups, **SPEND))
    views = release.by_group()
    assert sorted(views) == (["a", "b", "c"] if groups is None else ["a", "b", "nobody"])
    true = release.partition.locate(frame.filter(pl.col("g") == "a")["x"].to_numpy())  # type: ignore[union-attr]
    counts = np.bincount(true, minlength=release.partition.count)  # type: ignore[union-attr]
    found = views["a"]._reader.index
    lost = counts[found.keys] - found.counts
    assert (lost >= 0).all() and (lost <= release.max_drop).all()
    expected = 9000 if groups is None else 6000
    assert abs(auto_of(release).records_about - expected) < 400


@pytest.mark.parametrize("per_unit", ["max", "min", "mean", "random"])
def test_one_value_a_unit_costs_what_a_record_costs(per_unit: Any, bits: Any) -> None:  # noqa: ARG001
    frame = pl.DataFrame({"x": delays(9000), "u": [i % 3000 for i in range(9000)]})
    release = checked(flexdp.release(frame, "x", unit="u", per_unit=per_unit, **SPEND))
    assert auto_of(release).budget.five == 1
    assert abs(auto_of(release).records_about - 3000) < 400
    assert 2000 < release.bars.size <= 3000


def test_several_buckets_a_unit_divide_the_budget(bits: Any) -> None:  # noqa: ARG001
    frame = pl.DataFrame({"x": delays(20_000), "u": [i // 5 for i in range(20_000)]})
    release = checked(flexdp.release(frame, "x", unit="u", max_buckets_per_unit=2, **SPEND))
    auto = auto_of(release)
    assert auto.budget.five == Fraction(12, 25) and abs(auto.records_about - 8000) < 800
    assert auto.shares is not None and auto.shares.reach == release.noise.q
    assert release.bars.size <= 8000
    (told,) = [line for line in release.certificate().proof if line.startswith("Choosing buckets: ")]
    assert told.endswith(" of 0.32 for each of 2 records of a unit, and the counts spend the rest.")


def test_all_buckets_lose_little_together(bits: Any) -> None:  # noqa: ARG001
    release = checked(flexdp.release(delays(), **SPEND))
    assert release.budget is not None and release.budget.limited is not None
    assert release.budget.buckets == len(auto_of(release).edges) + 1
    lost = 20_000 - release.bars.size
    assert lost <= release.budget.limited.total < release.max_drop * release.budget.buckets
    assert f"At most {release.budget.limited.total} records were left out in total." in release.certificate().promises
    with pytest.raises(InputError, match="certify buys nothing where all buckets are public"):
        flexdp.release(delays(), certify="0.1", **SPEND)


@pytest.mark.parametrize("outside", ["clamp", "drop"])
def test_bounds_close_the_ends(outside: Any, bits: Any) -> None:  # noqa: ARG001
    values = delays()
    release = checked(flexdp.release(values, bounds=(0, 100), outside=outside, **SPEND))
    assert isinstance(release.partition, OpenEdges) and release.partition.bounds == (0, 100)
    assert release.buckets[0].lower == 0.0 and release.buckets[-1].upper == 100.0
    inside = int(((values >= 0) & (values <= 100)).sum())
    wanted = inside if outside == "drop" else len(values)
    assert 0.95 * wanted < release.bars.size <= wanted
    if outside == "drop":
        assert release.max().accuracy is not None, "a closed bucket has its β"
    else:
        assert release.max().accuracy is None, "values far beyond the bound count in the last bucket, too"
        assert release.max().value == 100.0 and "the highest value is not known" in str(release.max())


def test_separately_each_column_has_buckets_of_its_own(bits: Any) -> None:  # noqa: ARG001
    frame = pl.DataFrame({"x": delays(), "t": ["a", "b"] * 10_000, "n": [i % 50 for i in range(20_000)]})
    found = flexdp.release(frame, ["x", "t", "n"], separately=True, split=[2, 1, 1], **SPEND)
    assert found["x"].auto is not None and found["t"].auto is None and found["n"].auto is not None
    assert [found[name].privacy.epsilon for name in ("x", "t", "n")] == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    assert found.privacy.epsilon == 1
    assert flexdp.Releases.from_json(found.to_json())["n"] == found["n"]


# --- the same bits, the same release -----------------------------------------------------------------------------


def sources(tmp_path: Path, frame: pl.DataFrame) -> dict[str, Any]:
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    con = opened()
    con.execute("CREATE TABLE t (x REAL, n INTEGER, g TEXT, u INTEGER)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", frame.rows())
    own = duckdb.connect()
    own.register("given", frame.to_arrow())
    own.execute("CREATE TABLE held AS FROM given")
    return {
        "file": tmp_path / "t.parquet",
        "csv": tmp_path / "t.csv",
        "sqlite": (con, "t"),
        "duckdb": own.table("held"),
        "frame": frame,
    }


@pytest.mark.parametrize(
    ("options", "way"),
    [
        ({"column": "x"}, "sorted"),
        ({"column": "x"}, "on the engine"),
        ({"column": "n"}, "on the engine"),
        ({"column": "x", "bounds": (0, 50)}, "sorted"),
        ({"column": "x", "by": "g"}, "on the engine"),
        ({"column": "x", "by": "g", "groups": ["a", "b"]}, "sorted"),
        ({"column": "n", "unit": "u", "per_unit": "max"}, "sorted"),
        ({"column": "n", "unit": "u", "max_buckets_per_unit": 2}, "on the engine"),
    ],
    ids=str,
)
def test_the_same_bits_give_the_same_release_on_every_engine(
    options: dict[str, Any], way: str, tmp_path: Path, bits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory, in files, in frames, and on engines with and without their own ranks."""
    from flexdp.tables import ranks

    if way == "on the engine":
        monkeypatch.setattr(ranks, "SORTED_AT_MOST", -1)
        monkeypatch.setattr(ranks, "FEW", -1)
    values = delays(4000)
    values[::50] = 0.0
    frame = pl.DataFrame({
        "x": values, "n": [int(value * 7) for value in values], "g": ["a", "b", "c", "d"] * 1000,
        "u": [i % 1500 for i in range(4000)],
    })  # fmt: skip
    found = {}
    named = sources(tmp_path, frame)
    if set(options) <= {"column", "bounds"}:
        named["memory"] = frame[options["column"]].to_numpy()
    for name, source in named.items():
        bits(7)
        given = dict(options)
        if name == "csv":
            given |= {"kind": {"x": "number", "n": "integer"}[options["column"]]}
            given |= {"unit_kind": "integer"} if "unit" in options else {}
        if name == "memory":
            given["column"] = None
        release = flexdp.release(source, **given, **SPEND)
        found[name] = json.loads(release.to_json()) | {"column": None}
    first = found["file"]
    assert first["bars"]["count"] and len(found) >= 5
    assert all(each == first for each in found.values())


def test_other_bits_give_another_release(bits: Any) -> None:
    """Control: the bits decide."""
    values = delays(4000)
    bits(7)
    first = flexdp.release(values, **SPEND)
    bits(8)
    assert flexdp.release(values, **SPEND) != first


# --- edge cases --------------------------------------------------------------------------------------------------


def test_a_constant_column_is_one_bucket(bits: Any) -> None:  # noqa: ARG001
    for values, kind in (([7.25] * 5000, "number"), ([7] * 5000, "integer")):
        release = checked(flexdp.release(values, kind=kind, **SPEND))
        told = "7" if kind == "integer" else "7.25"
        assert [release.max().text, release.min().text] == [f"about {values[0]}"] * 2
        bare = flexdp.release(values, kind=kind, **SPEND, ask=[])
        assert [bare.max().text, bare.min().text] == [f"{told} or more", f"{told} or less"]
        lies = f"apart from those the highest is {'' if kind == 'integer' else 'exactly '}{told}."
        assert lies in str(bare.max()) and str(bare.median()).endswith(f": {told}. This is certain.")
        assert 5000 - release.max_drop <= release.bars.size <= 5000
        assert release.median().value == values[0]


@pytest.mark.parametrize("cells", [[], [None] * 3000, [math.nan, math.inf] * 1500])
def test_nothing_readable_is_too_few(cells: list[Any], bits: Any) -> None:  # noqa: ARG001
    release = checked(flexdp.release(cells, kind="number", **SPEND))
    assert not release.survived


def test_two_spikes_are_two_points(bits: Any) -> None:  # noqa: ARG001
    release = checked(flexdp.release([0.0] * 5000 + [1000.0] * 5000, kind="number", **SPEND))
    texts = [release.min().text, release.max().text]
    assert texts == ["about 0", "about 1000"]
    assert [bucket for bucket in release.buckets if bucket.lower == bucket.upper] == [(0.0, 0.0), (1000.0, 1000.0)]


def test_an_outlier_is_counted_and_moves_nothing_else(bits: Any) -> None:
    values = delays(5000)
    bits(5)
    calm = flexdp.release(values, **SPEND, ask=[])
    for outlier in (1e300, -1e300):
        bits(5)
        release = checked(flexdp.release(np.append(values[1:], outlier), **SPEND, ask=[]))
        assert abs(float(release.median().value) - float(calm.median().value)) < 2
        assert all(abs(edge) < 1e4 for bucket in release.buckets for edge in bucket if math.isfinite(edge))


def test_integers_near_two_to_the_eightieth(bits: Any) -> None:
    bits(3)  # in a few of a hundred draws the edges stay coarse there
    base = 2**80
    release = checked(flexdp.release([base + i % 1000 for i in range(20_000)], kind="integer", **SPEND))
    assert release.bars.size > 0.9 * 20_000
    assert abs(release.median().value - (base + 500)) < 2000


def test_huge_numbers_are_the_last_bucket(bits: Any) -> None:  # noqa: ARG001
    release = checked(flexdp.release([1e300] * 5000, kind="number", **SPEND))
    assert release.max().text == "1e+39 or more" and len(release.cells) == 1


def test_values_hugging_a_round_number(bits: Any) -> None:  # noqa: ARG001
    rng = np.random.default_rng(2)
    values = np.round(1e6 + rng.normal(0, 1, 20_000), 3)
    release = checked(flexdp.release(values, **SPEND))
    assert abs(release.median().value - 1e6) < 0.2
    assert abs(release.quantile("0.9").value - np.quantile(values, 0.9)) < 0.3


def test_heavy_ties_become_points(bits: Any) -> None:  # noqa: ARG001
    values = np.where(np.arange(20_000) % 5 < 3, 0.0, delays(20_000))
    release = checked(flexdp.release(values, **SPEND))
    assert release.mode().text == "exactly 0" and release.mode().value == 0.0


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"exact": True, "width": 5}, "width and exact exclude each other"),
        ({"exact": 3}, "exact must be True or False"),
        ({"delta": 0}, "delta must"),
        ({"epsilon": "1e-9"}, "epsilon"),
        ({"epsilon": "1e-4", "delta": "0.4"}, "epsilon is too small for automatic buckets"),
        ({"bounds": ("1e-40", "2e-40")}, "bounds must differ"),
        ({"split": [1, 1], "ask": []}, "split needs"),
        ({"split": [1, 1, 1]}, "split must be two shares"),
    ],
)
def test_refused_before_anything_is_read(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        flexdp.release(delays(50), **{**SPEND, **options})


def test_text_cells_need_a_kind(tmp_path: Path, bits: Any) -> None:  # noqa: ARG001
    path = tmp_path / "t.csv"
    path.write_text("cost\n" + "12.5\n" * 900)
    with pytest.raises(InputError, match="kind is missing") as refusal:
        prepare(path, "cost")
    assert "kind='number'" in str(refusal.value) and "exact=True" in str(refusal.value)
    assert flexdp.release(path, "cost", kind="number", **SPEND).max().value == 12.5
    assert flexdp.release(path, "cost", exact=True, **SPEND).kind == "text"


def test_a_budget_never_exceeds_what_was_given() -> None:
    """Whatever the number of records: every step adds up to ε, and the reach is that of the counts' own budget."""
    for most, certify in ((1, None), (3, None), (1, "0.2")):
        budget = AutoBudget.checked(1, "1e-6", most=most, certify=certify)
        for records in (400 * most, 1000 * most, 12_345 * most, 10**5 * most, 10**7 * most):
            found = budget.divided(records)
            assert found is not None
            chosen = budget.each / 25 + found.per_level * (found.levels + 1) + found.leaves
            assert chosen == budget.each * found.share
            assert budget.bars(found.share).bars.q == found.reach
            assert most * chosen + budget.bars(found.share).epsilon == 1


@pytest.mark.parametrize(("few", "extra", "statements"), [(True, 0, 3), (True, 1e-7, 3), (False, 1e-7, 6)])
def test_a_release_takes_few_statements(
    few: bool, extra: float, statements: int, bits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy and its pieces; all values where they are few, else looks. The table is read once, whatever the levels."""
    if not few:
        monkeypatch.setattr("flexdp.tables.ranks.FEW", -1)
    con = opened()
    con.execute("CREATE TABLE visits (x REAL)")
    values = delays(9000)
    con.executemany("INSERT INTO visits VALUES (?)", [(value + i * extra,) for i, value in enumerate(values.tolist())])
    con.commit()
    bits(3)
    heard: list[str] = []
    con.set_trace_callback(heard.append)
    release = checked(flexdp.release((con, "visits"), "x", **SPEND))
    con.set_trace_callback(None)
    assert auto_of(release).levels == 5
    copies = [text for text in heard if text.startswith("CREATE TEMP TABLE") and " AS SELECT" in text]
    read = [text for text in heard if text.startswith("SELECT") and "flexdp_records" in text]
    assert len(copies) == 1 and len(copies) + len(read) <= statements
    assert sum('"visits"' in text and "SELECT" in text for text in heard) <= 2


def test_the_statements_are_shown(tmp_path: Path) -> None:
    pl.DataFrame({"x": delays(50), "u": list(range(50))}).write_parquet(tmp_path / "t.parquet")
    shown = flexdp.query(tmp_path / "t.parquet", "x")
    assert "CREATE TEMPORARY TABLE flexdp_records" in shown and "JOIN flexdp_looked" in shown
    assert "salt" in flexdp.query(tmp_path / "t.parquet", "x", unit="u", max_buckets_per_unit=2)
    other = flexdp.query(tmp_path / "t.parquet", "x", dialect="postgres")
    assert other != shown and "JOIN flexdp_looked" in other


def test_the_statements_beside_asked_answers_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"x": delays(), "pid": np.arange(20_000) // 2}).write_parquet(path)
    units: dict[str, Any] = {"unit": "pid", "max_buckets_per_unit": 2}
    alone, both = flexdp.query(path, "x", **units), flexdp.query(path, "x", **units, ask=["max"])
    assert alone == both  # the ranks, and the count of units in their buckets
    assert flexdp.query(path, "x", ask=["max"]) == flexdp.query(path, "x")


@pytest.mark.parametrize("number", range(12))
def test_few_records_are_refused_or_answered_and_proved(number: int, bits: Any) -> None:
    """On either side of the threshold the certificate follows the steps that were run."""
    bits(number)
    checked(flexdp.release(delays(100), **SPEND))
