"""A real JupyterLab with a notebook of cards, trusted or not, light or dark."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

REMEDY = (
    "NO JUPYTERLAB: the tests of notebook cards need it; run 'make deep', pip install -e '.[notebook]', or set "
    "FLEXDP_JUPYTER to the folder of another environment's programs"
)


def program(name: str) -> str:
    """A program of JupyterLab's environment: this one, or another that is named; skipped where there is none."""
    folder = Path(os.environ.get("FLEXDP_JUPYTER") or Path(sys.executable).parent)
    if not (folder / "jupyter-lab").exists():
        if os.environ.get("FLEXDP_DEEP") == "1":
            pytest.fail(REMEDY)
        pytest.skip(REMEDY)
    return str(folder / name)


def notebook(shown: Mapping[str, Any]) -> str:
    """A notebook that holds what a kernel would have answered: each object as HTML and as text."""
    cells = []
    for number, (source, value) in enumerate(shown.items(), 1):
        html = value if isinstance(value, str) else value._repr_html_()
        data = {"text/plain": repr(value), "text/html": html}
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}
        cells.append(
            {
                "cell_type": "code",
                "id": f"c{number}",
                "execution_count": number,
                "metadata": {},
                "source": source,
                "outputs": [result],
            }
        )
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


class Laboratory:
    """A running JupyterLab."""

    def __init__(self, folder: Path, address: str, environment: dict[str, str]) -> None:
        self._folder, self.address, self._environment = folder, address, environment

    def put(self, name: str, text: str, *, trusted: bool) -> str:
        """Store a notebook, and return its address. What is signed is the content: it must differ if trust does."""
        place = self._folder / "notebooks" / f"{name}.ipynb"
        place.write_text(text)
        if trusted:
            command = [program("jupyter"), "trust", str(place)]
            subprocess.run(command, env=self._environment, check=True, capture_output=True)
        return f"{self.address}/doc/tree/{place.name}?reset"

    def theme(self, name: str) -> None:
        """Choose the theme of the pages that are opened from now on."""
        self._setting("apputils-extension/themes", {"theme": f"JupyterLab {name}"})
        self._setting("apputils-extension/notification", {"fetchNews": "false", "checkForUpdates": False})
        self._setting("notebook-extension/tracker", {"windowingMode": "none", "autoStartDefaultKernel": False})

    def _setting(self, name: str, value: dict[str, Any]) -> None:
        place = self._folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(value))


@contextmanager
def laboratory(folder: Path) -> Iterator[Laboratory]:
    """JupyterLab on a free port of this machine, with nobody's settings."""
    (folder / "notebooks").mkdir()
    own = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
    own |= {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces", "HOME": "home"}
    environment = os.environ | {name: str(folder / place) for name, place in own.items()}
    environment.pop("PYTHONPATH", None)
    command = [
        program("jupyter"), "lab", "--no-browser", "--allow-root", "--port=0", "--ServerApp.port_retries=0",
        "--IdentityProvider.token=", f"--ServerApp.root_dir={folder / 'notebooks'}",
    ]  # fmt: skip
    log = folder / "log.txt"
    with log.open("w") as out, subprocess.Popen(command, env=environment, stdout=out, stderr=out) as process:
        try:
            yield Laboratory(folder, _address(log, process), environment)
        finally:
            process.terminate()


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    while process.poll() is None:
        found = re.search(r"http://(?:localhost|127\.0\.0\.1):([0-9]+)/", log.read_text())
        if found and found[1] != "0":
            return f"http://127.0.0.1:{found[1]}"
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"JupyterLab ended: {log.read_text()[-2000:]}")
