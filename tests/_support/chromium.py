"""A real Chromium, and the planning page that it looks at."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
REMEDY = "NO BROWSER: the browser tests need Debian's chromium; run 'make .venv/browser' or apt-get install chromium"
PATIENCE = 1_800_000  # milliseconds after which something is taken never to happen, on however busy a machine
expect.set_options(timeout=PATIENCE)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, with a profile of its own; skipped where there is none, unless the environment demands one."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None and os.environ.get("FLEXDP_NEEDS_BROWSER"):
        pytest.fail(REMEDY)
    if path is None:
        pytest.skip(REMEDY)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS, timeout=PATIENCE)
        yield browser
        browser.close()


@contextmanager
def planning_page() -> Iterator[str]:
    """The address of a running `flexdp web`."""
    command = [sys.executable, "-m", "flexdp", "web", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@contextmanager
def opened(browser: Browser, address: str, *, strict: bool = True, **options: Any) -> Iterator[Page]:
    """A page in a fresh context. Afterwards: nothing was complained of, and nothing was asked of anybody else."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    yield page
    context.close()
    own = "file://" if address.startswith("file://") else address.split("?")[0]
    assert all(url.startswith(own) for url in asked), asked
    assert not strict or said == [], said


def grave(page: Page) -> list[str]:
    """What axe finds serious or critical."""
    found = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:120]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
