"""Data sets that are declared once: what a declaration passes on, what a file may hold, and what init proposes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from _support.command import flexdp as command

import flexdp
from flexdp import Dataset, InputError
from flexdp._release.api import Request
from flexdp._release.config import dataset_in
from flexdp._release.dataset import options_for

ROWS = [(f"p{i % 900}", f"{i % 400},50", f"{1 + i % 28:02}.{1 + i % 9:02}.2024", "AB"[i % 2]) for i in range(3000)]
DECLARED = """
[datasets.visits]
source = "exports/visits-*.csv"
unit = "patient"
max_buckets_per_unit = 3
decimal = ","
date_format = "%d.%m.%Y"
[datasets.visits.columns]
cost = "number"
admitted = "date"
ward = "text"
month = { derive = "month(admitted)" }
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two exports as a German spreadsheet writes them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exports").mkdir()
    for part, rows in enumerate((ROWS[:1500], ROWS[1500:])):
        lines = ["patient;cost;admitted;ward", *(";".join(row) for row in rows)]
        (tmp_path / "exports" / f"visits-{part}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def requests(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Every request that is run, without running it."""
    seen: list[Request] = []

    def run(self: Request) -> Any:
        seen.append(self)
        raise InputError("test", "stops here")

    monkeypatch.setattr(Request, "run", run)
    return seen


def test_a_name_stands_for_everything_that_is_declared(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name and spelled out, in Python and on the command line: four equal requests."""
    (place / "flexdp.toml").write_text(DECLARED)
    seen = requests(monkeypatch)
    spelled = {
        "kind": "number",
        "unit": "patient",
        "max_buckets_per_unit": 3,
        "decimal": ",",
        "date_format": "%d.%m.%Y",
    }
    budget = {"epsilon": 1, "delta": 1e-6, "by": "ward", "where": "month = 2"}
    declared = dataset_in(place / "flexdp.toml", "visits")
    assert declared is not None
    with pytest.raises(InputError, match="stops here"):
        declared.release("cost", **budget)
    with pytest.raises(InputError, match="stops here"):
        flexdp.release(
            "exports/visits-*.csv", "cost", **budget, **spelled, by_kind="text", derive={"month": "month(admitted)"}
        )  # type: ignore[call-overload]
    line = ["cost", "-e", 1, "-d", "1e-6", "--by", "ward", "--where", "month = 2"]
    assert command("release", "visits", *line).returncode == 2
    options = [f"--{name.replace('_', '-')}={value}" for name, value in spelled.items()]
    options += ["--by-kind=text", "--derive=month=month(admitted)"]
    assert command("release", "exports/visits-*.csv", *line, *options).returncode == 2
    assert len(seen) == 4
    for request in seen:
        assert request.questions[0].spec == seen[0].questions[0].spec
        assert request.questions[0].counting == seen[0].questions[0].counting
    assert seen[0].questions[0].spec.unit == "patient" and seen[0].questions[0].spec.max_buckets_per_unit == 3


def test_what_is_given_takes_precedence(place: Path) -> None:
    (place / "flexdp.toml").write_text(DECLARED)
    out = command("query", "visits", "cost", "--width", 10, "--max-buckets-per-unit", 1, "--json")
    assert out.returncode == 0, out.stderr
    declared = dataset_in(place / "flexdp.toml", "visits")
    assert declared is not None
    assert options_for(declared, ["cost"], {"kind": "text", "max_buckets_per_unit": 1})["kind"] == "text"
    assert "derive" not in options_for(declared, ["cost"], {}) and options_for(declared, ["month"], {})["derive"]


def test_the_file_is_found_from_folders_below(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "flexdp.toml").write_text(DECLARED)
    (place / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(place / "deep" / "down")
    out = command("check", "visits", "--json")
    assert out.returncode == 0, out.stderr
    found = json.loads(out.stdout)
    assert found["records"] == 3000
    assert {each["column"]: each["read"] for each in found["columns"]} == {"cost": 3000, "admitted": 3000, "ward": 3000}
    summary = command("summary", "visits", "-e", 20, "-d", "0.1", "--json")
    assert summary.returncode == 0, summary.stderr
    assert [each["column"] for each in json.loads(summary.stdout)["releases"]] == ["cost", "admitted", "ward", "month"]
    elsewhere = command("release", "visits", "cost", "-e", 1, "-d", "1e-6", "--config", "none.toml")
    assert elsewhere.returncode == 2 and "--config: 'none.toml' does not exist" in elsewhere.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[datasets.visits]\nunit = 'record'", "source is missing"),
        ("[datasets.visits]\nsource = 'a.csv'", "unit: whom does the data set protect?"),
        ("[datasets.visits]\nsource = 'a.csv'\nunit = 'record'\nepsilon = 1", "epsilon does not belong into a file"),
        ("[datasets.visits]\nsource = 'a.csv'\nunti = 'record'", "'unti' is not known. Did you mean 'unit'?"),
        (
            "[datasets.visits]\nsource = 'a.csv'\nunit = 'record'\nper_unit = 'max'",
            "per_unit needs a column as --unit",
        ),
        ("[datasets.visits]\nsource = 'a.csv'\nunit = 'record'\n[datasets.visits.columns]\nx = 'float'", "kind"),
        ("[datasets.visits]\nsource = 'a.csv'\nunit = 'record'\n[datasets.visits.columns]\nx = 3", "must be a kind"),
        ("[other]\nx = 1", "must hold [datasets.NAME] tables and nothing else"),
        ("[datasets", "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(place: Path, text: str, told: str) -> None:
    (place / "flexdp.toml").write_text(text)
    out = command("release", "visits", "cost", "-e", 1, "-d", "1e-6")
    assert out.returncode == 2 and told in out.stderr and out.stderr.count("\n") == 1, out.stderr


def test_whom_it_protects_is_asked() -> None:
    with pytest.raises(InputError, match=r"unit: whom does the data set protect\?\.? .*unit='record'"):
        Dataset([1.0])
    with pytest.raises(TypeError, match=r"Dataset\(\) got an unexpected keyword argument 'widht'"):
        Dataset([1.0], unit="record", widht=5)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="max_buckets_per_unit needs a column as unit"):
        Dataset([1.0], unit="record", max_buckets_per_unit=2)
    assert "patient" in repr(Dataset([1.0], unit="patient", max_buckets_per_unit=1))


def test_init_proposes_and_a_person_confirms(place: Path) -> None:
    """Counts are printed and never written; the file is comments until it is confirmed, and then it is used."""
    line = ["init", "exports/visits-*.csv", "--name", "visits", "--unit", "patient", "--max-buckets-per-unit", 3]
    out = command(*line)
    assert out.returncode == 0 and out.stdout.startswith("INTERNAL") and "3 000 records" in out.stdout, out.stderr
    text = (place / "flexdp.toml").read_text()
    assert "3000" not in text and "3 000" not in text and "p17" not in text
    proposed = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
    assert {'decimal = ","', 'date_format = "%d.%m.%Y"', 'cost = "number"', 'admitted = "date"'} <= set(proposed)
    refused = command("release", "visits", "cost", "-e", 1, "-d", "1e-6")
    assert refused.returncode == 2 and "declares no type" in refused.stderr, "a proposal decides nothing"
    again = command(*line)
    assert again.returncode == 2 and "declares 'visits' already" in again.stderr
    (place / "flexdp.toml").write_text(text.replace("# ", "").replace("Proposals from", "# Proposals from"))
    assert command("release", "visits", "cost", "-e", 20, "-d", "0.1").returncode == 0
    (place / "flexdp.toml").unlink()
    assert command(*line, "--yes").returncode == 0
    assert "# " not in (place / "flexdp.toml").read_text()
    assert command("release", "visits", "admitted", "-e", 20, "-d", "0.1").returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--unit", "patient"], "--unit needs to know how much of one unit counts. Add --max-buckets-per-unit 3"),
        (["--unit", "pat", "--per-unit", "max"], "--unit: no column named 'pat'"),
        (["--unit", "record", "--config", "no/flexdp.toml"], "--config: cannot write"),
        ([], "Missing option '--unit'"),
    ],
)
def test_init_refuses_in_one_line(place: Path, words: list[str], told: str) -> None:
    out = command("init", "exports/visits-*.csv", "--name", "visits", *words)
    assert out.returncode == 2 and told in out.stderr and out.stderr.count("\n") == 1, out.stderr
    assert not (place / "flexdp.toml").exists()
