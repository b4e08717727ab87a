"""The server: this machine only, this host only, strict headers, no trace; and how the command begins and ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from _support.asking import PORT, ask
from _support.command import flexdp
from _support.waiting import HANG

from flexdp.errors import InputError
from flexdp.web import server
from flexdp.web.server import HEADERS, listen

COMMAND = [sys.executable, "-m", "flexdp", "web"]


@contextmanager
def running(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, once it has said where it is and answers there."""
    with subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}"])
def test_this_host_is_answered(host: str) -> None:
    answer = ask(hosts=(host,))
    assert answer.status == 200 and "Plan a release" in answer.text


@pytest.mark.parametrize(
    "hosts",
    [
        (),
        ("evil.example",),
        (f"evil.example:{PORT}",),
        ("127.0.0.1",),
        ("localhost",),
        (f"127.0.0.1:{PORT + 1}",),
        (f"127.0.0.1.evil.example:{PORT}",),
        (f"127.0.0.1:{PORT}", "evil.example"),
        (f"127.0.0.1:{PORT}", f"127.0.0.1:{PORT}"),
        (f"0.0.0.0:{PORT}",),
        (f"user@127.0.0.1:{PORT}",),
        ("",),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/", "/page.js"])
def test_another_host_is_refused(hosts: tuple[str, ...], path: str) -> None:
    answer = ask(path, hosts=hosts)
    assert answer.status == 403 and "Plan" not in answer.text
    assert dict(HEADERS).items() <= dict(answer.headers).items()


@pytest.mark.parametrize(
    ("path", "method", "status", "kind"),
    [
        ("/", "GET", 200, "text/html; charset=utf-8"),
        ("/", "HEAD", 200, "text/html; charset=utf-8"),
        ("/page.css", "GET", 200, "text/css; charset=utf-8"),
        ("/page.js", "GET", 200, "text/javascript; charset=utf-8"),
        ("/icon.svg", "GET", 200, "image/svg+xml"),
        ("/", "POST", 405, "text/plain; charset=utf-8"),
        ("/page.js", "DELETE", 405, "text/plain; charset=utf-8"),
        ("/../server.py", "GET", 404, "text/plain; charset=utf-8"),
        ("/static/page.js", "GET", 404, "text/plain; charset=utf-8"),
    ],
)
def test_every_answer_is_strict(path: str, method: str, status: int, kind: str) -> None:
    answer = ask(path, method=method)
    assert answer.status == status
    headers = dict(answer.headers)
    assert headers["content-type"] == kind
    assert dict(HEADERS).items() <= headers.items()
    assert "set-cookie" not in headers and "access-control-allow-origin" not in headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy and "http" not in policy


def test_a_bad_entry_is_an_ordinary_page() -> None:
    answer = ask(query="delta=5&epsilon=%3Cb%3E&unknown=1&delta=7")
    assert answer.status == 200 and "<b>" not in answer.text


def test_an_unexpected_failure_says_its_kind_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_entries: object) -> str:
        raise RuntimeError("secret")

    monkeypatch.setattr(server, "page", broken)
    answer = ask(failing=RuntimeError)
    assert answer.status == 500 and answer.text == "An unexpected RuntimeError stopped this page."
    assert dict(HEADERS).items() <= dict(answer.headers).items()
    with pytest.raises(RuntimeError, match="secret"):  # it is raised again for the server's log, which is silent
        ask()


def test_it_listens_on_the_loopback_address_alone() -> None:
    with listen(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
        with pytest.raises(InputError, match=r"port \d+ is in use"):
            listen(listener.getsockname()[1])


def test_it_runs_quietly_and_ends_without_a_word() -> None:
    with running("--port", "0") as (process, address):
        assert address.startswith("http://127.0.0.1:") and address.endswith("/")
        for query in ("", "?epsilon=0.123456789", "?delta=%3Cscript%3E"):
            with urllib.request.urlopen(address + query, timeout=HANG) as answer:
                assert answer.status == 200 and "server" not in {name.lower() for name, _ in answer.getheaders()}
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANG)
        assert process.returncode == 0
        assert out == "" and err == "Open this address in a browser on this machine. Press Ctrl-C to stop.\n"


def test_told_to_end_it_ends() -> None:
    with running("--port", "0") as (process, address):
        urllib.request.urlopen(address, timeout=HANG).close()
        process.terminate()
        _, err = process.communicate(timeout=HANG)
        assert process.returncode == 143 and "Traceback" not in err


def test_a_port_in_use_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = flexdp("web", "--port", taken.getsockname()[1])
    assert ran.returncode == 2 and ran.stdout == ""
    assert (
        ran.stderr.startswith("Error: --port ")
        and ran.stderr.count("\n") == 1
        and "or 0 for any free one" in ran.stderr
    )


@pytest.mark.parametrize("port", ["-1", "70000", "http", "1.5"])
def test_a_bad_port_is_one_line(port: str) -> None:
    ran = flexdp("web", f"--port={port}")
    assert ran.returncode == 2 and ran.stderr.startswith("Error: --port must be") and ran.stderr.count("\n") == 1


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_the_extra_the_remedy_is_named(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['flexdp', 'web', '--port', '0']; "
        "from flexdp.cli import main; main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG, check=False, env={**os.environ}
    )
    assert ran.returncode == 2 and ran.stdout == ""
    assert ran.stderr == "Error: web needs starlette and uvicorn. Run pip install 'flexdp[web]'.\n"
