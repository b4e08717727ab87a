"""What the README shows, run as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from _support.waiting import HANG

README = (Path(__file__).parent.parent.parent / "README.md").read_text()


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, options in (("patients.parquet", "FORMAT parquet"), ("patients.csv", "HEADER")):
        rows = "SELECT 20.0 + i % 75 AS age, 'ward ' || i % 3 AS ward FROM range(20000) r(i)"
        duckdb.execute(f"COPY ({rows}) TO '{tmp_path / name}' ({options})")
    visits = (
        "SELECT i % 4000 AS patient_id, (i * 7 % 1000)::DOUBLE AS cost, DATE '2024-01-01' + (i % 366)::INTEGER AS day, "
        "(i % 100) / 50e0 AS lat, (i % 90) / 45e0 AS lon FROM range(20000) r(i)"
    )
    duckdb.execute(f"COPY ({visits}) TO '{tmp_path / 'visits.parquet'}' (FORMAT parquet)")
    return tmp_path


def test_the_python_examples(patients: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 3
    names = {"Path": Path}
    for block in blocks:
        code = block.replace('open("age.json", "w").write', "Path('age.json').write_text")
        exec(compile(code, "README", "exec"), names)
    assert (patients / "age.json").exists()
    out = capsys.readouterr().out
    assert "Highest age: 90–95. At most 27 records per bucket were left out; among the rest this is exact." in out
    assert "Highest age (ward ward 2): 90–95." in out


def test_the_command_lines(patients: Path) -> None:
    (block,) = (b for b in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "flexdp columns" in b)
    for line in block.splitlines():
        words = line.split("#")[0].split()
        out = subprocess.run(
            [sys.executable, "-m", "flexdp", *words[1:]], capture_output=True, text=True, timeout=HANG, check=False
        )
        assert out.returncode == 0, (line, out.stderr)
        assert out.stdout
    assert (patients / "age.json").exists()


def test_the_numbers_it_states() -> None:
    from flexdp import Privacy
    from flexdp.noise import DropNoise

    assert f"{DropNoise(1, '1e-6').max_drop} records at ε = 1, δ = 1e-6" in README
    assert "at most 73.2% sure" in Privacy(epsilon=1, delta="1e-6").odds
    assert "73.2% sure" in README
