"""Faults that a ledger must survive, with real processes: crowds, kills, full disks, locks, damage, old copies."""

from __future__ import annotations

import datetime as dt
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flexdp import BudgetError, InputError, Ledger, LedgerError, Privacy

TESTS = Path(__file__).parent.parent
ONE = Privacy(epsilon=1, delta=0)


def helper(*words: object) -> list[int]:
    """Run a helper in a process without threads, which may fork."""
    out = subprocess.run(
        [sys.executable, "-m", "_support.ledgers", *map(str, words)],
        capture_output=True, text=True, check=False, cwd=TESTS, env=os.environ | {"PYTHONPATH": _path()},
    )  # fmt: skip
    assert out.returncode == 0, out.stderr
    return [int(word) for word in out.stdout.split()]


def _path() -> str:
    return os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "b.db"
    ledger = Ledger(place)
    ledger.create("a", epsilon=40, delta="1e-3")
    ledger.close()
    return place


def test_64_processes_at_once(path: Path) -> None:
    granted = helper("charge", path, 64, 1)
    assert sorted(granted) == [0] * 24 + [1] * 40  # the budget is not exceeded, and no charge that fits is refused
    ledger = Ledger(path)
    assert ledger.account("a").spent_epsilon == 40
    assert len(ledger.history("a")) == 41 and ledger.verify().intact


def test_killed_a_few_times(tmp_path: Path) -> None:
    notes, spent = helper("kill", tmp_path, 24, 1)
    assert 0 < notes <= spent


def test_killed_500_times(tmp_path: Path) -> None:
    notes, spent = helper("kill", tmp_path, 500, 2)
    assert notes > 50 and spent > 0


FULL = """
import resource, sys
from pathlib import Path
import flexdp
from flexdp import Ledger
path = Path(sys.argv[1])
ledger = Ledger(path)
first = flexdp.release([33.0] * 200, epsilon=1, delta="1e-6", width=5, ledger=ledger, dataset="a")
size = max(Path(f"{path}{end}").stat().st_size for end in ("", "-wal", "-shm"))
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 2000, resource.RLIM_INFINITY))
for _ in range(2):
    try:
        flexdp.release([33.0] * 200, epsilon=2, delta="1e-6", width=5, ledger=ledger, dataset="a")
        print("released")
    except flexdp.LedgerError as refusal:
        print(refusal.retry, refusal)
"""


def test_a_full_disk_refuses_and_recovers(path: Path) -> None:
    out = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    first, *later = out.stdout.splitlines()
    assert first.startswith("True the ledger") and "nothing was read" in first
    released = later.count("released")  # closing the ledger empties its log, which may make room
    ledger = Ledger(path)
    assert ledger.verify().intact and ledger.account("a").spent_epsilon == 1 + 2 * released
    ledger.charge("a", ONE)
    assert ledger.account("a").spent_epsilon == 2 + 2 * released
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


READ_ONLY = """
import os, sys
from pathlib import Path
from flexdp import Ledger, LedgerError, Privacy
folder = Path(sys.argv[1])
import fcntl, sqlite3  # which the other user may not be able to read
if os.geteuid() == 0:  # root may write everywhere
    os.chown(folder, 65534, 65534)
    os.seteuid(65534)
ledger = Ledger(folder / "b.db")
ledger.create("a", epsilon=2, delta=0)
ledger.close()
folder.chmod(0o500)
for change in (lambda: None, lambda: (folder / "b.db").chmod(0o400)):
    change()
    for work in (lambda: Ledger(folder / "b.db").charge("a", Privacy(epsilon=1, delta=0)),
                 lambda: Ledger(folder / "c.db").create("a", epsilon=1, delta=0)):
        try:
            work()
            print("done")
        except LedgerError as refusal:
            print(refusal)
folder.chmod(0o700)
(folder / "b.db").chmod(0o600)
print(Ledger(folder / "b.db").account("a").spent_epsilon)
"""


def test_a_read_only_folder() -> None:
    folder = tempfile.mkdtemp(prefix="flexdp-test-")
    try:
        out = subprocess.run([sys.executable, "-c", READ_ONLY, folder], capture_output=True, text=True, check=False)
        assert out.returncode == 0, out.stderr
        *refusals, spent = out.stdout.splitlines()
        assert len(refusals) == 4 and all("could not be" in line for line in refusals) and spent == "0", out.stdout
    finally:
        shutil.rmtree(folder)


def test_a_locked_ledger(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="locked by another process; nothing was charged") as refusal:
        Ledger(path, patience=0.1).charge("a", ONE)
    assert refusal.value.retry
    other.execute("ROLLBACK")
    other.close()
    Ledger(path, patience=0.1).charge("a", ONE)
    assert Ledger(path).account("a").spent_epsilon == 1


@pytest.mark.parametrize("size", [0, 1, 15, 16, 99, 100, 511, 4096, 8192, 20000, -1])
def test_a_truncated_ledger_is_refused(path: Path, size: int) -> None:
    ledger = Ledger(path)
    for _ in range(30):
        ledger.charge("a", ONE)
    ledger.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:size])
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path).verify()
    for work in (lambda: Ledger(path).charge("a", ONE), lambda: Ledger(path).create("b", epsilon=1, delta=0)):
        try:
            work()
        except LedgerError as refusal:
            assert "nothing was read" in str(refusal)
        else:  # what is missing is not what this needs: the sums are still there, or their loss is noticed
            assert size == -1
            with suppress(LedgerError):
                assert Ledger(path).account("a").spent_epsilon >= 30


def test_no_flipped_byte_gives_budget_back(path: Path) -> None:
    ledger = Ledger(path)
    for _ in range(5):
        ledger.charge("a", ONE)
    ledger.close()
    whole, rng, found = path.read_bytes(), random.Random(3), 0
    used = [place for place in range(len(whole)) if whole[place]]
    for place in rng.sample(used, 150):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            verdict = Ledger(path).verify()
            found += not verdict.intact
        except (LedgerError, InputError):
            found += 1
        try:
            assert Ledger(path).account("a").remaining_epsilon <= 35, place
        except (LedgerError, InputError):
            continue
        finally:
            for ending in ("-wal", "-shm"):
                Path(f"{path}{ending}").unlink(missing_ok=True)
    assert found > 100


def test_a_clock_that_jumps_back_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(dt.datetime):
        hours = 0

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            cls.hours += 1
            return dt.datetime(2030, 1, 20, tzinfo=tz) - dt.timedelta(hours=cls.hours)

    monkeypatch.setattr("flexdp.accounting.chain.dt", SimpleNamespace(datetime=Clock, UTC=dt.UTC))
    ledger = Ledger(path)
    for _ in range(3):
        ledger.charge("a", ONE)
    rows = ledger.history("a")
    assert [row.number for row in rows] == [0, 1, 2, 3] and rows[1].at > rows[2].at > rows[3].at
    assert ledger.verify().intact and ledger.account("a").spent_epsilon == 3


@pytest.mark.parametrize("version", ["1", "3", "x"])
def test_another_schema_is_left_alone(path: Path, version: str) -> None:
    con = sqlite3.connect(path)
    con.execute("UPDATE flexdp_meta SET value = ? WHERE key = 'schema'", (version,))
    con.commit()
    con.close()
    before = path.read_bytes()
    for work in (lambda: Ledger(path).charge("a", ONE), lambda: Ledger(path).create("b", epsilon=1, delta=0)):
        with pytest.raises(LedgerError, match=f"has schema '{version}', and this version of flexdp knows 2"):
            work()
    assert path.read_bytes() == before


def test_other_files_are_no_ledgers(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (x)").connection.close()
    (tmp_path / "text.db").write_text("no database, but long enough to have a header of a hundred bytes. " * 4)
    for name in ("other.db", "text.db"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(LedgerError, match="is not a ledger, or it was damaged"):
            Ledger(tmp_path / name).create("a", epsilon=1, delta=0)
        assert (tmp_path / name).read_bytes() == before


def test_an_old_copy_that_was_put_back(path: Path, tmp_path: Path) -> None:
    """A copy is intact in itself: receipts detect it, and so does a process that has seen more."""
    ledger = Ledger(path)
    first = ledger.charge("a", ONE)
    ledger.close()
    shutil.copy(path, tmp_path / "copy.db")
    second = ledger.charge("a", ONE)
    ledger.close()
    os.replace(tmp_path / "copy.db", path)  # noqa: PTH105
    new = Ledger(path)
    assert new.verify().intact and new.account("a").spent_epsilon == 1  # not detected by the file alone
    verdict = new.verify(receipts=[first, str(second)])
    assert not verdict.intact and "Row 2 of 'a' is not the one of the receipt" in str(verdict)
    with pytest.raises(LedgerError, match="an older copy was put back"):
        ledger.charge("a", ONE)
    new.charge("a", ONE)  # another row 2: the receipt still tells
    assert not new.verify(receipts=[second]).intact


def test_a_budget_survives_a_fork(path: Path) -> None:
    ledger = Ledger(path)
    ledger.charge("a", ONE)
    code = "import sys; from _support.ledgers import charge_at_once; print(*charge_at_once(sys.argv[1], 2, 3))"
    out = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True, text=True, check=True, cwd=TESTS, env=os.environ | {"PYTHONPATH": _path()},
    )  # fmt: skip
    assert out.stdout.split() == ["3", "3"] and ledger.account("a").spent_epsilon == 7
    with pytest.raises(BudgetError, match="remaining ε = 33"):
        ledger.charge("a", Privacy(epsilon=Fraction(331, 10), delta=0))
