"""Faults with real processes: each ends in one clear line or a clean result, and nothing half-written is left."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _support.command import process
from _support.waiting import HANG, wait_for

import flexdp
from flexdp import DataError, UnavailableError
from flexdp._core.files import private_folder, replacing, write_new, write_whole
from flexdp._release.api import prepare
from flexdp.noise.bits import Bits
from flexdp.tables.files import lines
from flexdp.tables.interrupts import signals_held

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
DEEP = os.environ.get("FLEXDP_DEEP") == "1"
posix = pytest.mark.skipif(os.name != "posix", reason="forks, limits and locks that end with their process are POSIX")


def python(text: str, *words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    command = [sys.executable, "-c", text, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False, **options)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text("age,pid\n" + "".join(f"{i % 90},{i}\n" for i in range(9000)))
    return path


FORK = """
import os, threading, flexdp
from flexdp.tables.files import lines
spend = dict(kind="number", width=5, epsilon=1, delta=0.1)
reading, forked, split = threading.Event(), threading.Event(), lines.split_lines
def slowly(*given, **options):
    reading.set()
    forked.wait()
    yield from split(*given, **options)
lines.split_lines = slowly
thread = threading.Thread(target=lambda: flexdp.release("a.jsonl", "x", **spend))
thread.start()
reading.wait()
child = os.fork()
if not child:
    for source, column in (("a.jsonl", "x"), ([1.0, 2.0], None)):
        try:
            flexdp.release(source, column, **spend)
        except flexdp.InputError as refusal:
            print(refusal, flush=True)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
forked.set()
thread.join()
"""


@posix
def test_a_fork_inside_a_release_is_refused_and_ends(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n')
    done = python(FORK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *said, code = done.stdout.splitlines()
    assert code == "7" and len(said) == 2
    assert all("forked while another thread was inside a release" in line and "spawn" in line for line in said)


@posix
def test_a_fork_between_releases_is_none_of_our_business(table: Path) -> None:
    text = """
import os, sys, flexdp
spend = dict(kind="number", width=5, epsilon=1, delta="1e-6")
flexdp.release(sys.argv[1], "age", **spend)
child = os.fork()
os.write(1, f"{flexdp.release(sys.argv[1], 'age', **spend).max().value}\\n".encode())  # at once: both write
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    done = python(text, table)
    assert (done.returncode, done.stdout.split()) == (0, ["87.5"] * 2), done.stderr


def _broken(_size: int) -> bytes:
    raise OSError("CANARY")


@pytest.mark.parametrize("broken", [_broken, lambda size: bytes(size - 1), lambda size: bytes(size + 1)])
@pytest.mark.parametrize("units", [{}, {"unit": "pid", "unit_kind": "integer", "max_buckets_per_unit": 1}])
@pytest.mark.parametrize("what", [{"width": 5}, {"ask": ["max"]}, {}])
def test_a_generator_that_fails(
    table: Path, monkeypatch: pytest.MonkeyPatch, broken: Callable[[int], bytes], units: dict[str, Any], what: Any
) -> None:
    request = prepare(table, "age", kind="number", **what, **units).with_budget(**SPEND)
    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises((UnavailableError, DataError)) as caught:
        request.run()
    assert isinstance(caught.value, UnavailableError) == bool(units)  # the salt is drawn before any record is read
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert "CANARY" not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(UnavailableError, match="generator failed or returned too few bytes"):
        Bits().below(1000)


WRITING = """
import sys, time
from pathlib import Path
from flexdp._core import files
from flexdp._core.files import private_folder, replacing
if len(sys.argv) > 2:  # as on a drive that has no files without a name
    files._nameless = lambda folder: None
with replacing(Path(sys.argv[1])) as draft, private_folder() as folder:
    draft.write_text("half of a relea")
    Path(folder, "spilled").write_text("private")
    print(folder, flush=True)
    time.sleep(100000)
"""


@posix
def test_what_a_killed_process_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    target, (killed, living) = tmp_path / "a.json", ([], [])
    for number, listed in ((signal.SIGKILL, killed), (None, living)):
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        started = subprocess.Popen(
            [sys.executable, "-c", WRITING, target, "named"], stdout=subprocess.PIPE, text=True, env=environment
        )
        assert started.stdout is not None
        listed += [started, Path(started.stdout.readline().strip())]
        if number is not None:
            started.send_signal(number)
            started.communicate()
            assert len(list(tmp_path.glob(".flexdp-*"))) == 1 and (listed[1] / "spilled").exists()
    try:
        # The second process has removed what the first left, and a third leaves alone what the second has in use.
        assert len(list(tmp_path.glob(".flexdp-*"))) == 1
        assert not killed[1].exists() and living[1].exists()
        (tmp_path / "flexdp-abcdefgh").mkdir()  # somebody's own folder
        write_whole(target, "whole")
        python("from flexdp._core.files import private_folder as p\nwith p(): pass", env=environment)
        assert target.read_text() == "whole"
        assert len(list(tmp_path.glob(".flexdp-*"))) == 1 and (living[1] / "spilled").exists()
        assert (tmp_path / "flexdp-abcdefgh").exists()
    finally:
        living[0].kill()
        living[0].communicate()
    write_whole(target, "whole")
    assert not list(tmp_path.glob(".flexdp-*"))


nameless = pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="only Linux has files without a name")


@nameless
def test_a_killed_process_leaves_no_draft(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITING, tmp_path / "a.json"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    folder = started.stdout.readline().strip()
    assert list(tmp_path.iterdir()) == [], "while it is written"
    started.kill()
    started.communicate()
    assert list(tmp_path.iterdir()) == []
    shutil.rmtree(folder)


@nameless
def test_a_killed_release_leaves_nothing_beside_its_output(tmp_path: Path) -> None:
    """It waits for the rest of its input, with the output tried and open."""
    command = [sys.executable, "-m", "flexdp", "release", "-", "age", "--kind", "number", "--width", "5"]
    command += ["-e", "1", "-d", "1e-6", "-o", "out.html"]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert started.stdin is not None
    started.stdin.write("age\n" + "33\n" * 99)
    started.stdin.flush()
    wait_for(lambda: _has_open(started.pid, tmp_path))
    assert list(tmp_path.iterdir()) == []
    started.kill()
    started.communicate()
    assert list(tmp_path.iterdir()) == []


def _has_open(process: int, folder: Path) -> bool:
    """Tell whether a process has a file of a folder open, with or without a name."""
    found = []
    for file in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            found.append(str(file.readlink()))
    return any(place.startswith(f"{folder}/") for place in found)


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_a_draft_takes_its_place_on_every_kind_of_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool, links: bool
) -> None:
    def refuse(*_given: object, **_named: object) -> None:
        raise OSError

    if named:
        monkeypatch.setattr("flexdp._core.files._nameless", lambda _: None)
    if not links:
        monkeypatch.setattr(os, "link", refuse)
    target = tmp_path / "a.txt"
    for content in ("first", "second"):
        write_whole(target, content)
        assert target.read_text() == content and list(tmp_path.iterdir()) == [target]
    with pytest.raises(FileExistsError):
        write_new(target, b"third")
    write_new(tmp_path / "b", b"new", private=True)
    assert (tmp_path / "b").read_bytes() == b"new" and (tmp_path / "b").stat().st_mode & 0o777 == 0o600
    assert target.read_text() == "second" and sorted(each.name for each in tmp_path.iterdir()) == ["a.txt", "b"]


def test_drafts_and_folders_vanish_when_something_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(RuntimeError), replacing(tmp_path / "a.json"), private_folder() as folder:
        assert Path(folder).stat().st_mode & 0o777 == 0o700
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_signal_right_after_a_private_folder_is_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = os.mkdir, []

    def interrupted(path: str, mode: int) -> None:
        make(path, mode)
        made.append(path)
        raise KeyboardInterrupt

    (tmp_path / "flexdp-of-somebody-else").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt), private_folder():
        pytest.fail("the folder was not made")
    assert made and [left.name for left in tmp_path.iterdir()] == ["flexdp-of-somebody-else"]


AT_IMPORT = """
import os, signal, sys
wanted, how, *words = sys.argv[1:]
class Signal:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            sys.meta_path.remove(self)
            Dying() if how == "callback" else os.kill(os.getpid(), int(how))
class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000): pass
sys.meta_path.insert(0, Signal())
sys.argv = ["flexdp", "release", *words]
from flexdp.cli import main
main()
"""


@posix
@pytest.mark.parametrize(
    ("module", "how", "code"),
    [
        ("numpy", signal.SIGINT, 130),
        ("click", signal.SIGTERM, 143),
        ("flexdp.cli.release", signal.SIGINT, 130),
        ("duckdb", signal.SIGTERM, 143),
    ],
)
def test_signals_during_imports_and_in_callbacks_are_one_line(table: Path, module: str, how: Any, code: int) -> None:
    asked = ["age", "--kind", "number", "--width", 5, "--epsilon", 1, "--delta", "1e-6"]
    done = python(AT_IMPORT, module, how if isinstance(how, str) else int(how), table, *asked)
    assert done.returncode in (code, -signal.SIGINT), done.stderr  # Python may end itself by the signal it got
    assert done.stdout == ""
    words = "terminated by a signal" if code == 143 else "interrupted"
    assert done.stderr.strip() == f"Error: {words}; nothing was released."


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_wait_although_another_thread_would_take_them(number: int) -> None:
    """A thread that blocks no signal receives them at once, and Python calls the handler in this thread."""
    taken: list[int] = []
    before = signal.signal(number, lambda number, _: taken.append(number))
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    try:
        with signals_held():
            for _ in range(3):
                os.kill(os.getpid(), number)
                time.sleep(0.02)
            assert not taken
        assert taken == [number]
    finally:
        ended.set()
        other.join()
        signal.signal(number, before)


def test_signals_that_are_ignored_stay_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with signals_held():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _grown(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"1,1\n")


def _replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("name\nCANARY\n")
    other.replace(path)


@pytest.mark.parametrize("change", [_emptied, _cut, _grown, _replaced])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("when", ["before", "while"])
def test_a_file_that_changes_is_never_released_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], ending: str, when: str
) -> None:
    path = tmp_path / f"a.{ending}"
    rows = [f"{i % 9},{i}" if ending == "csv" else f'{{"x": {i % 9}}}' for i in range(2000)]
    path.write_text("\n".join([*(["x,y"] if ending == "csv" else []), *rows]) + "\n")
    request = prepare(path, "x", kind="number", width=5).with_budget(**SPEND)
    split = lines.split_lines

    def changing(*given: Any, **options: Any) -> Iterator[Any]:
        batches = split(*given, **options)
        yield next(batches)
        change(path)
        yield from batches

    if when == "before":
        change(path)
    else:
        monkeypatch.setattr(lines, "split_lines", changing)
    with pytest.raises(DataError) as caught:
        request.run()
    assert str(caught.value) == str(DataError()) and caught.value.__context__ is None
    monkeypatch.undo()
    path.write_text("\n".join([*(["x,y"] if ending == "csv" else []), *rows]) + "\n")
    assert flexdp.release(path, "x", kind="number", width=5, **SPEND).max().value == 7.5  # opened anew, it is read


@posix
@pytest.mark.parametrize("megabytes", [300, 700] if not DEEP else [*range(20, 1600, 20)])
def test_too_small_an_address_space_is_one_line(table: Path, megabytes: int) -> None:
    import resource

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    asked = ["age", "--kind", "number", "--width", 5, "--epsilon", 1, "--delta", "1e-6"]
    done = process("release", table, *asked, preexec_fn=limited)
    assert done.returncode in (0, 1, 2, 6)  # no crash of the engine's library
    assert "Traceback" not in done.stderr
    assert megabytes < 100 or len(done.stderr.splitlines()) == 1
    if megabytes in (300, 700):
        assert done.returncode == 2 and "RLIMIT_AS" in done.stderr


@posix
def test_without_home_and_environment(table: Path) -> None:
    kept = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    asked = ["age", "--kind", "number", "--width", 5, "--epsilon", 1, "--delta", "1e-6", "--json"]
    done = process("release", table, *asked, env=kept)
    assert done.returncode == 0 and done.stdout.startswith("{"), done.stderr


def test_threads_and_cancelled_tasks_release_alike(table: Path) -> None:
    found: list[Any] = []

    def once() -> Any:
        return flexdp.release(table, "age", kind="number", width=5, **SPEND).max().value

    threads = [threading.Thread(target=lambda: found.append(once())) for _ in range(100 if DEEP else 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [87.5] * len(threads)

    async def cancelled() -> Any:
        task = asyncio.create_task(asyncio.to_thread(once))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.to_thread(once)

    assert asyncio.run(cancelled()) == 87.5


@pytest.mark.skipif(not DEEP, reason="half a minute")
def test_a_page_with_a_million_buckets() -> None:
    values = np.repeat(np.arange(10**6), 60)
    released = flexdp.release(values, kind="integer", width=1, bounds=(0, 10**6), **SPEND)
    assert len(released.to_html()) < 30e6
