"""What the README shows, run as it stands on the flights that ship with flexdp."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from _support.command import flexdp as command
from _support.waiting import HANG

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()


@pytest.fixture
def flights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert command("demo", "--save", "flights.parquet").returncode == 0
    return tmp_path


def test_the_python_examples(flights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks:
        code = block.replace('open("delays.json", "w").write', "Path('delays.json').write_text")
        exec(compile(code, "README", "exec"), {"Path": Path} | names, names)
    assert (flights / "delays.json").exists() and (flights / "delays.html").exists()
    out = capsys.readouterr().out
    assert re.search(r"^Highest departure_delay: about \d+\. With 95% probability at most \d+ records are above", out)
    assert "Highest departure_delay (airport JFK): " in out
    assert "Values of carrier that occur: 9E, AA, AS, B6, " in out
    assert "Δ(1) = 3: from x = 0 to x′ = 23 the output goes from 0 to 3." in out


def test_the_command_lines(flights: Path) -> None:
    (block,) = (b for b in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "--save" in b)
    lines = block.splitlines()
    assert len(lines) == 7
    for line in lines:
        words = line.split("#")[0].split()
        out = subprocess.run(
            [sys.executable, "-m", "flexdp", *words[1:]], capture_output=True, text=True, timeout=HANG, check=False
        )
        assert out.returncode == 0, (line, out.stderr)
        assert out.stdout
    assert (flights / "delays.html").exists() and (flights / "flights.html").exists()


def test_the_numbers_it_states() -> None:
    from flexdp import Privacy
    from flexdp.noise import DropNoise

    assert f"{DropNoise(1, '1e-6').max_drop} records at ε = 1, δ = 1e-6" in README
    assert "at most 73.2% sure" in Privacy(epsilon=1, delta="1e-6").odds
    assert "73.2% sure" in README


def test_the_table_beside_other_libraries_is_what_was_measured() -> None:
    found = json.loads((files("flexdp") / "data" / "peers.json").read_text())
    peers = found["lowest, median and highest answer"]
    assert (
        f"| exact | flexdp | {' | '.join(f'{name} {number}' for name, number in found['versions'].items())} |" in README
    )
    for question, (_, own, _) in found["flexdp"].items():
        cells = [
            f"{_shown(peers[name][question]['good'][1])}, {_shown(peers[name][question]['wide'][1])}" for name in peers
        ]
        (row,) = re.findall(rf"^\| {question} \| ([^|]+) \| (.+) \|$", README, re.MULTILINE)
        assert row[1] == " | ".join([_shown(own), *cells])
    low, high = (_shown(end) for end in found["bounds"]["good"])
    assert f"bounds {low} to\n{high}" in README and f"the median of {found['runs']} answers" in README


def test_what_it_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README)
    assert len(links) > 20
    missing = [link for link in links if not link.startswith("https://") and not (ROOT / link).exists()]
    assert not missing


def _shown(value: float) -> str:
    if value != int(value):
        return f"{value:.4g}".replace("-", "−")
    return (f"{int(value):,}".replace(",", " ") if abs(value) >= 10_000 else str(int(value))).replace("-", "−")
