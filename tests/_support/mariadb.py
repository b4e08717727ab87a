"""A private MariaDB server, made anew in a folder of its own and reached through a socket."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest

from _support.waiting import wait_for

REMEDY = (
    "NO MARIADB: its tests need Debian's mariadb-server-core and mariadb-client-core; "
    "run 'make .venv/mariadb' or apt-get install both"
)
_SETTINGS = ("--skip-networking", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M", "--skip-log-bin")


@contextmanager
def mariadb_server(folder: Path) -> Iterator[str]:
    """The address of a server; skipped where there is none, unless the environment demands one."""
    server, install = (_program(name) for name in ("mariadbd", "mariadb-install-db"))
    if server is None or install is None:
        if os.environ.get("FLEXDP_NEEDS_MARIADB"):
            pytest.fail(REMEDY)
        pytest.skip(REMEDY)
    data, place = folder / "data", folder / "s"
    user = ["--user=root"] if os.geteuid() == 0 else []
    common = ["--no-defaults", *user, f"--datadir={data}"]
    made = subprocess.run(
        [install, *common, "--auth-root-authentication-method=normal", "--skip-test-db"],
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    log = folder / "log"
    command = [server, *common, *_SETTINGS, f"--socket={place}", f"--pid-file={folder / 'pid'}", f"--log-error={log}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(lambda: process.poll() is not None or _answers(place))
            assert process.poll() is None, log.read_text()
            yield f"mariadb://root@localhost/flexdp?unix_socket={place}"
        finally:
            process.terminate()


def connected(address: str, **options: Any) -> Any:
    """A connection of PyMySQL to that address."""
    return pymysql.connect(
        **{
            "unix_socket": address.partition("unix_socket=")[2],
            "user": "root",
            "database": "flexdp",
            "charset": "utf8mb4",
            **options,
        }
    )


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def _answers(place: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as line:
        if line.connect_ex(str(place)):
            return False
    with pymysql.connect(unix_socket=str(place), user="root") as con, con.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS flexdp CHARACTER SET utf8mb4")
    return True
