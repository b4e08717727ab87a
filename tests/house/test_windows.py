"""What Windows lacks: modules, signals and devices of Unix are needed neither to import flexdp nor to release.

Windows itself cannot be had here. In a fresh interpreter its gaps are simulated: the modules cannot be imported, the
names are gone, and ``/dev`` does not exist.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ABSENT = ("fcntl", "pwd", "grp", "termios", "tty", "resource", "readline", "syslog", "posix_ipc")
ROOT = Path(__file__).parent.parent.parent
AS_WINDOWS = f"""
import builtins, importlib, os, pathlib, pkgutil, select, signal, socket, sys, types
import asyncio, concurrent.futures.process, subprocess, socketserver  # Python's own, which are others there
for name in {ABSENT!r}:
    sys.modules[name] = None
for owner, names in (
    (signal, ("SIGHUP", "SIGKILL", "SIGALRM", "SIGUSR1", "SIGCHLD", "SIGPIPE", "pthread_sigmask", "sigwait")),
    (os, ("readv", "preadv", "fork", "geteuid", "getuid", "fchmod", "fchown", "mkfifo", "sched_getaffinity")),
    (socket, ("AF_UNIX",)),
):
    for name in names:
        if hasattr(owner, name):
            delattr(owner, name)
locked = []
windows = types.ModuleType("msvcrt")
windows.LK_NBLCK, windows.locking = 2, lambda fd, mode, count: locked.append((mode, count))
sys.modules["msvcrt"] = windows
def no_device(function):
    def guarded(path, *args, **kwargs):
        if str(path).startswith("/dev/") and str(path) != os.devnull:
            raise FileNotFoundError(path)
        return function(path, *args, **kwargs)
    return guarded
builtins.open, os.stat, os.open = map(no_device, (builtins.open, os.stat, os.open))
def no_waiting(*_):
    raise OSError("only sockets can be waited for")
select.select = no_waiting
"""


def run(code: str, *, typed: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", AS_WINDOWS + code], input=typed, capture_output=True, check=False, cwd=cwd
    )


def test_every_module_is_imported() -> None:
    done = run(
        "import flexdp\n"
        "for each in pkgutil.walk_packages(flexdp.__path__, 'flexdp.'):\n"
        "    if not each.name.endswith('__main__'): importlib.import_module(each.name)\n"
        "print('all')"
    )
    assert (done.returncode, done.stdout) == (0, b"all\n"), done.stderr.decode()


def test_the_control_fails() -> None:
    """Control: what is taken away is indeed missed."""
    for code in ("import fcntl", "signal.SIGHUP", "open('/dev/stdin')", "os.readv", "select.select([0], [], [], 0)"):
        assert run(code).returncode == 1


def test_a_release_from_a_pipe_and_a_file(tmp_path: Path) -> None:
    text = "age\n" + "".join(f"{i % 50}\n" for i in range(3000))
    (tmp_path / "ages.csv").write_text(text)
    for source, typed in (("-", text.encode()), ("ages.csv", b"")):
        words = ["release", source, "age", "--epsilon", "1", "--delta", "1e-6", "--width", "10", "--json", "--quiet"]
        words += ["-o", "a.json"]
        done = run(f"sys.argv = ['flexdp', *{words!r}]\nfrom flexdp.cli import main\nmain()", typed=typed, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode()
        assert json.loads(done.stdout)["answers"]
        assert (tmp_path / "a.json").stat().st_size > 0


def test_time_zones_come_with_it() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert [each for each in declared if each.startswith("tzdata") and "sys_platform == 'win32'" in each]
