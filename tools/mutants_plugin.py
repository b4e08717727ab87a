"""The pytest plugin of ``make mutants``: collect the tests once, then fork a process for each mutant.

The process that forks never runs a test, so that no cache, connection or thread of one reaches a mutant. First one
child runs every test and records the functions that it calls; then each mutant gets those that call its function, the
fastest first, up to the first failure.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.utils.format_utils import mangled_name_from_mutant_name

_EXAMPLES = 12  # random cases of a test
_MOST = 2.0  # seconds of processor time after which a test is given up
_PATIENCE = (4.0, 5.0)  # processor time of a test before it counts as endless: so many seconds, and times its own
_HANGS = 120.0  # seconds that a mutant may take by the clock, for those that wait instead of computing
_POLARS_THREAD = "tokio-rt-worker"  # a thread of polars
_MEMORY = 3 << 30  # bytes beyond those of the process that forks

KILLED, SURVIVED, TIMEOUT, UNREACHED, BROKEN = "killed", "survived", "timed out", "not reached", "broken"


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Draw few random cases, and the same for every mutant; a failure need not be made small."""
    settings.register_profile(
        "mutants",
        settings.get_profile("flexdp"),
        max_examples=_EXAMPLES,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        report_multiple_bugs=False,
    )
    settings.load_profile("mutants")
    config.pluginmanager.register(_Failures(), "mutants-failures")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Draw few cases also where a test names a number."""
    for item in items:
        function: Any = getattr(item, "function", None)
        named = getattr(function, "_hypothesis_internal_use_settings", None)
        if named is not None and named.max_examples > _EXAMPLES:
            function._hypothesis_internal_use_settings = settings(named, max_examples=_EXAMPLES)


class _Failures:
    """The tests that failed in this process."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Run every test once, then the mutants that ``order.json`` lists; write their fates to ``fates.jsonl``."""
    if session.testsfailed:
        raise session.Interrupted("tests could not be collected")
    if any(path.read_text().strip() == _POLARS_THREAD for path in Path("/proc/self/task").glob("*/comm")):
        raise session.Interrupted("a test module uses polars on import; its threads do not survive a fork")
    order = json.loads(Path("order.json").read_text())
    took, reached = _recorded(session)
    items = {item.nodeid: item for item in session.items}
    killers: dict[str, list[str]] = {}  # tests that have noticed mutants of a function come first
    running: dict[int, tuple[str, float]] = {}
    done = 0
    with Path("fates.jsonl").open("a") as fates:
        for name in [*order["names"], None, *[None] * order["jobs"]]:
            while len(running) >= (order["jobs"] if name else 1):
                for mutant, fate, killer in _ended(running):
                    if killer:
                        killers.setdefault(mangled_name_from_mutant_name(mutant), []).append(killer)
                    fates.write(json.dumps([mutant, fate]) + "\n")
                    fates.flush()
                    done += 1
                    if done % 50 == 0:
                        _tell(f"{done} of {len(order['names'])} mutants")
            if name is None:
                continue
            function = mangled_name_from_mutant_name(name)
            tests = _fastest(reached.get(function, []), took, order["seconds"])
            if not tests:
                fates.write(json.dumps([name, UNREACHED]) + "\n")
                done += 1
                continue
            tests.sort(key=lambda test: test not in killers.get(function, ()))
            running[_fork(session, name, [items[test] for test in tests], took)] = (name, time.monotonic())
    return True


def _fastest(tests: list[str], took: dict[str, float], most: float) -> list[str]:
    """Return the fastest tests, as many as fit into the time for one mutant, and at least one."""
    ordered = sorted(tests, key=lambda test: (took[test], test))
    together = list(accumulate(took[test] for test in ordered))
    return ordered[: max(1, bisect_right(together, most))]


def _recorded(session: pytest.Session) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Return the processor time of each test, and the tests that call each function."""
    pid = os.fork()
    if pid == 0:
        _quiet()
        set_mutant_under_test("stats")
        took: dict[str, float] = {}
        reached: dict[str, list[str]] = {}
        signal.signal(signal.SIGPROF, _give_up)
        for i, item in enumerate(session.items):
            _forget()
            state()._stats.clear()
            start = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, _MOST)
            _run(session, i, session.items)
            signal.setitimer(signal.ITIMER_PROF, 0)
            took[item.nodeid] = time.process_time() - start
            if took[item.nodeid] < _MOST:
                for function in state()._stats:
                    reached.setdefault(function, []).append(item.nodeid)
        failed = [test for test in _failures(session) if took[test] < _MOST]
        Path("tests.json").write_text(json.dumps({"took": took, "reached": reached, "failed": failed}))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if status:
        raise session.Interrupted(f"the run without mutants ended with {os.waitstatus_to_exitcode(status)}")
    found = json.loads(Path("tests.json").read_text())
    if found["failed"]:
        raise session.Interrupted(f"fails without a mutant: {found['failed'][0]}")
    fast = [seconds for seconds in found["took"].values() if seconds < _MOST]
    _tell(f"{len(fast)} of {len(found['took'])} tests are fast enough; together {sum(fast):.0f} s of processor time")
    return found["took"], found["reached"]


def _give_up(*_: object) -> None:
    pytest.skip("too slow for mutants")


def _fork(session: pytest.Session, name: str, items: list[pytest.Item], took: dict[str, float]) -> int:
    """Run the tests of one mutant in a child that ends with 1 at the first failure."""
    pid = os.fork()
    if pid:
        return pid
    try:
        _quiet()
        limit = _memory() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, also within a long operation
        set_mutant_under_test(name)
        for i, item in enumerate(items):
            _forget()
            signal.setitimer(signal.ITIMER_PROF, _PATIENCE[0] + _PATIENCE[1] * took[item.nodeid])
            _run(session, i, items)
            if _failures(session):
                Path(f"killer-{os.getpid()}").write_text(item.nodeid)
                os._exit(1)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - whatever a mutant raises beyond pytest is noticed, too
        os._exit(1)


def _run(session: pytest.Session, i: int, items: list[pytest.Item]) -> None:
    following = items[i + 1] if i + 1 < len(items) else None
    session.config.hook.pytest_runtest_protocol(item=items[i], nextitem=following)


def _ended(running: dict[int, tuple[str, float]]) -> list[tuple[str, str, str]]:
    """Wait for children, and return their mutants, fates and the tests that failed; end those that wait too long."""
    out = []
    for pid, (name, start) in list(running.items()):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            fates = {0: SURVIVED, 1: KILLED, -signal.SIGPROF: TIMEOUT, -signal.SIGKILL: TIMEOUT}
            noted = Path(f"killer-{pid}")
            out.append((name, fates.get(code, BROKEN), noted.read_text() if noted.exists() else ""))
            noted.unlink(missing_ok=True)
            del running[pid]
        elif time.monotonic() - start > _HANGS:
            os.kill(pid, signal.SIGKILL)
    if not out:
        time.sleep(0.01)
    return out


def _failures(session: pytest.Session) -> list[str]:
    plugin: Any = session.config.pluginmanager.get_plugin("mutants-failures")
    return list(plugin.failed)


def _quiet() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _forget() -> None:
    """Empty all caches: what another test computed would hide a mutant, and which tests reach it."""
    for clear in _clears():
        clear()


@cache
def _clears() -> list[Callable[[], None]]:
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "flexdp"]
    cached = {id(each): each for module in modules for each in vars(module).values() if hasattr(each, "cache_clear")}
    return [each.cache_clear for each in cached.values()]


def _tell(line: str) -> None:
    os.write(int(os.environ["MUTANTS_TELL"]), f"  {line}\n".encode())
