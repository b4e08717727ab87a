"""release() and query() have one typed signature: a type checker, inspect and Python itself agree on it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import flexdp
from flexdp._release.parameters import Options

GOOD = """
import datetime as dt
from fractions import Fraction
import flexdp

one: flexdp.Release = flexdp.release("t.csv", "age", epsilon=1, delta="1e-6", width=5, bounds=(0, 120))
two: flexdp.Releases = flexdp.release("t.csv", ["a", "b"], epsilon=1, delta=1e-6, separately=True, split=[1, "2"])
points = flexdp.release("t.csv", ["a", "b"], epsilon=1, delta=1e-6, width=[1, 2], bounds=[(0, 9), (0, 4)])
named = flexdp.release("t.csv", ["a", "b"], epsilon=1, delta=1e-6, width={"a": Fraction(1, 3)}, kind={"a": "number"})
edges = flexdp.release("t.csv", "age", epsilon=1, delta=1e-6, edges=[0, 18, 65, 120], outside="drop", certify=0.1)
days = flexdp.release("t.csv", "d", epsilon=1, delta=1e-6, kind="date", width="1 month",
                      bounds=("2024-01-01", dt.date(2024, 12, 31)), zone="UTC")
hours = flexdp.release("t.csv", "t", epsilon=1, delta=1e-6, kind="datetime", width=dt.timedelta(hours=1))
units = flexdp.release("t.csv", "age", epsilon=1, delta=1e-6, by=["ward"], by_kind="text", groups=["A", "B"],
                       unit="pid", unit_kind="integer", max_buckets_per_unit=2)
text: str = flexdp.query("t.csv", "age", width=5, outside="clamp", per_unit="max", unit="pid", dialect="bigquery")
several: str = flexdp.query("t.csv", ["a", "b"], separately=True, engine="mariadb", format="csv", delimiter=";")
one.to_frame("polars")
"""
PAIRS = {  # a call with a gap, what is wrong in it, what is right
    'release("t.csv", "a", epsilon=1, delta=1e-6, outside=...)': ('"clmap"', '"clamp"'),
    'query("t.csv", "a", outside=...)': ('"clmap"', '"drop"'),
    'release("t.csv", "a", epsilon=1, delta=1e-6, kind=...)': ('"integr"', '"integer"'),
    'query("t.csv", "a", kind=...)': ('"integr"', '"integer"'),
    'release("t.csv", "a", epsilon=1, delta=1e-6, unit="u", per_unit=...)': ('"first"', '"max"'),
    'query("t.csv", "a", by="g", by_kind=...)': ('"float"', '"boolean"'),
    'query("t.csv", "a", unit="u", unit_kind=...)': ('"boolean"', '"text"'),
    'query("t.csv", "a", format=...)': ('"xls"', '"jsonl"'),
    'query(("c", "t"), "a", engine=...)': ('"oracle"', '"postgres"'),
    'release("t.csv", "a", epsilon=1, delta=1e-6, ...=5)': ("widht", "width"),
    'query("t.csv", "a", ...=5)': ("widht", "width"),
    'query("t.csv", "a", ...=1)': ("epsilon", "beta"),
    'release("t.csv", "a", delta=1e-6, ...=1)': ("beta", "epsilon"),
    'release("t.csv", "a", epsilon=1, delta=1e-6, width=[...])': ("object()", "5"),
    'release("t.csv", "a", epsilon=1, delta=1e-6).to_frame(...)': ('"excel"', '"pandas"'),
}


@pytest.mark.slow
def test_a_type_checker_catches_wrong_choices_and_passes_correct_calls(tmp_path: Path) -> None:
    wrong, right = (
        ["import flexdp", *(f"flexdp.{call.replace('...', pair[side])}" for call, pair in PAIRS.items())]
        for side in (0, 1)
    )
    (tmp_path / "good.py").write_text("\n".join([GOOD, *right]) + "\n")
    (tmp_path / "bad.py").write_text("\n".join(wrong) + "\n")
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = True\nignore_missing_imports = True\n")  # a user's settings
    settings = ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *settings, str(tmp_path / "good.py"), str(tmp_path / "bad.py")]
    out = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    errors = [line for line in out.stdout.splitlines() if ": error: " in line]
    assert not [line for line in errors if "good.py" in line], errors
    for place, call in enumerate(wrong[1:], start=2):
        assert any(f"bad.py:{place}: " in line for line in errors), f"{call} passes: {errors} {out.stderr}"


def test_both_functions_have_the_same_options_spelled_out() -> None:
    of_release, of_query = (inspect.signature(function).parameters for function in (flexdp.release, flexdp.query))
    for name in Options.__annotations__:
        assert of_release[name] == of_query[name] and of_release[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert of_release["outside"].default == "clamp" and "'drop'" in str(of_release["outside"].annotation)
    assert set(of_release) - set(of_query) == {"epsilon", "delta", "certify", "split", "ledger", "dataset", "fresh"}
    assert set(of_query) - set(of_release) == {"dialect"}
    assert of_release["epsilon"].default is inspect.Parameter.empty


@pytest.mark.parametrize("function", [flexdp.release, flexdp.query])
def test_every_option_is_taken_and_no_other(function: object) -> None:
    budget = {"epsilon": 1, "delta": "1e-6"} if function is flexdp.release else {}
    defaults = {name: each.default for name, each in inspect.signature(flexdp.query).parameters.items()}
    options = {name: defaults[name] for name in Options.__annotations__}
    assert function([1.5], kind="number", **{k: v for k, v in options.items() if k != "kind"}, **budget)  # type: ignore[operator]
    with pytest.raises(TypeError, match="unexpected keyword argument 'widht'"):
        function([1.5], kind="number", widht=5, **budget)  # type: ignore[operator]
