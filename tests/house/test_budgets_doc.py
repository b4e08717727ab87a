"""The tutorial on budgets: its code runs, and prints what its comments say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import flexdp
from flexdp.accounting.books import bar

DAY = r"\d{4}-\d\d-\d\d"
TEXT = (Path(__file__).parent.parent.parent / "docs" / "budgets.md").read_text()


def test_the_code_prints_what_its_comments_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for block in blocks:
            exec(compile(block, "budgets.md", "exec"), space)
    told = re.findall(r"print\(.*\) +# (.+)", TEXT)
    printed = out.getvalue().splitlines()
    assert len(printed) == len(told) == 5
    for line, comment in zip(printed[:3], told[:3], strict=True):
        assert re.sub(DAY, "DAY", line) == re.sub(DAY, "DAY", comment)
    assert told[3].startswith(f"{printed[3]} instead of 36.5")
    assert " instead of ".join(printed[4].split()) in told[4]
    ledger = space["ledger"]
    assert isinstance(ledger, flexdp.Ledger) and ledger.verify().intact


def test_the_bar_is_the_one_shown(tmp_path: Path) -> None:
    ledger = flexdp.Ledger(tmp_path / "b.db")
    ledger.create("payroll-2026", epsilon=3, delta="4e-6", unit="person")
    ledger.charge("payroll-2026", flexdp.Privacy(epsilon=1, delta="1e-6"), unit="person")
    assert bar(ledger.account("payroll-2026"), plain=True) in TEXT
