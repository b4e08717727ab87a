"""Documents of asked answers and of buckets that gave way to them; statistics that are named in two ways."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from _support.bits import seed
from _support.command import flexdp as command

import flexdp
from flexdp import InputError, Release
from flexdp._release.stat_words import canonical, each_once, stat_words
from flexdp.audit import verify_document

FEW = pl.DataFrame({"v": [float(x % 9) for x in range(250)], "w": ["a", "b"] * 125})
SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


def test_a_certified_share_is_kept_where_buckets_gave_way_to_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 1)
    found = flexdp.release(FEW, "v", by="w", certify="0.1", **SPEND)
    assert found.budget is None and found.asked is None
    assert json.loads(found.to_json())["auto"]["certify"] == "1/10"
    assert Release.from_json(found.to_json()) == found
    plain = flexdp.release(FEW, "v", **SPEND)
    assert "certify" not in json.loads(plain.to_json())["auto"] and Release.from_json(plain.to_json()) == plain


@pytest.mark.parametrize("kinds", [["max"], [{"x": 1}], ["number"], [None], ["datetime"], ["TEXT"]])
def test_kinds_of_groups_are_checked(kinds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of groups whose automatic buckets gave way a document has nothing else."""
    seed(monkeypatch, 2)
    document = json.loads(flexdp.release(FEW, "v", by="w", **SPEND).to_json())
    assert "bars" not in document and Release.from_json(json.dumps(document)).spec.by_kinds == ("text",)
    text = json.dumps({**document, "by_kind": kinds})
    with pytest.raises(InputError, match="complete and unchanged"):
        Release.from_json(text)
    assert not verify_document(text).holds


def test_the_smallest_integer_is_a_bucket_without_a_warning() -> None:
    values = [-(2**63)] * 500 + [5] * 500
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({"width": 1}, {"exact": True}, {"width": 5}):
            found = flexdp.release(values, kind="integer", **SPEND, **options)  # type: ignore[arg-type]
            for answer in (found.min(), found.max(), found.range(), found.median(), found.quantile("0.2")):
                assert str(answer)
            assert found.min().value == -(2**63)


def test_statistics_are_compared_as_such() -> None:
    assert [canonical(word) for word in ("p99", "q0.99", "q.990", "p50", "p0", "q1", "std", "p101")] == [
        "q0.99", "q0.99", "q0.99", "median", "min", "max", "std", "p101",
    ]  # fmt: skip
    assert each_once(["p99", "q0.99", "top:3", "top:3", "max"], among=["q1"]) == ["p99", "top:3"]
    assert stat_words(["p99", "q0.99"], ("number",)) == ("p99",)


@pytest.mark.parametrize("options", [[], ["--width", "5"], ["--by", "w", "--groups", "a,b"]])
def test_a_statistic_that_is_asked_for_and_named_is_told_once(options: list[str], tmp_path: Path) -> None:
    FEW.write_parquet(tmp_path / "t.parquet")
    small = "1e-6" if "--width" in options else "0"
    spent = ["-e", "30", "-d", small, "--ask", "p99", "-s", "q0.990", "-s", "p99"]
    told = command("release", str(tmp_path / "t.parquet"), "v", *spent, *options)
    assert told.returncode == 0, told.stderr
    lines = [line for line in told.stdout.splitlines() if line.startswith("99th percentile of v")]
    assert len(lines) == (2 if "--by" in options else 1)
