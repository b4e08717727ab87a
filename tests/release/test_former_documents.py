"""Documents that the first schema wrote are still read, drawn and reported; kind "moment" is now called "datetime"."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from _support.markup import read_html, read_svg

import flexdp
from flexdp import InputError, Release, Releases
from flexdp.report import chart

DOCUMENTS = Path(__file__).parent / "documents"  # written by flexdp before schema 2


def stored(name: str) -> str:
    return (DOCUMENTS / f"schema-1-{name}.json").read_text()


@pytest.mark.parametrize("name", ["moments", "exact-moments", "units"])
def test_a_document_of_the_first_schema_is_a_release(name: str) -> None:
    former: dict[str, Any] = json.loads(stored(name))
    assert former["schema"] == "flexdp.release/1"
    release = Release.from_json(stored(name))
    now = json.loads(release.to_json())
    assert now["schema"] == "flexdp.release/2"
    assert now["bars"] == former["bars"] and now["privacy"] == former["privacy"] and now["buckets"] == former["buckets"]
    assert Release.from_json(release.to_json()) == release
    read_html(release.to_html())
    read_svg(chart(stored(name)))


def test_kind_moment_is_read_as_datetime() -> None:
    release = Release.from_json(stored("moments"))
    assert json.loads(stored("moments"))["kind"] == "moment" and release.kind == "datetime"
    assert release.max().value == dt.datetime(2024, 3, 16, 12) and release.max().text == "March 2024 or later"
    exact = Release.from_json(stored("exact-moments"))
    assert exact.max().value == dt.datetime(2024, 2, 10, 12) and exact.groups == ["A", "B"]
    assert exact.max().text == "2024-02-10 12:00 or later" and "2024-02-10 12:00" in exact.to_html()


def test_several_releases_of_the_first_schema() -> None:
    former = json.loads(stored("several"))
    assert former["schema"] == "flexdp.releases/1" and former["releases"][0]["kind"] == "moment"
    several = Releases.from_json(stored("several"))
    assert several["seen"].kind == "datetime" and several["age"].kind == "number"
    assert several["seen"].max().text == "2024-03-10 or later"
    assert json.loads(several.to_json())["schema"] == "flexdp.releases/2"


def test_units_and_a_paid_bound_of_the_first_schema() -> None:
    release = Release.from_json(stored("units"))
    assert release.spec.unit == "pid" and release.spec.max_buckets_per_unit == 2
    assert release.records_at_most == json.loads(stored("units"))["certified"]["records_at_most"]
    assert release.certificate().evidence.holds


def test_the_command_line_reports_a_document_of_the_first_schema(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(stored("moments"))
    command = [sys.executable, "-m", "flexdp", "report", str(tmp_path / "r.json")]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "March 2024" in out.stdout and '"kind":"datetime"' in out.stdout


@pytest.mark.parametrize(("change", "value"), [("kind", "instant"), ("schema", "flexdp.release/0"), ("rows", 900)])
def test_former_documents_are_checked_as_strictly(change: str, value: Any) -> None:
    document = {**json.loads(stored("moments")), change: value}
    with pytest.raises(InputError):
        flexdp.Release.from_json(json.dumps(document))
