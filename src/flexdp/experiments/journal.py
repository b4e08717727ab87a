"""On-disk journal of finished cells, so that an interrupted study can resume.

The first line is a fingerprint of all settings that determine the numbers. A study with other settings, or a second
process, cannot use the same folder. A line truncated by a crash is dropped and computed again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from flexdp._core.exact import ratio
from flexdp._core.files import lock
from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.experiments.cells import Cell, Key, Settings
from flexdp.experiments.files import writing
from flexdp.version import __version__

__all__ = ["Journal", "fingerprint"]

NAME = "progress.jsonl"


def fingerprint(settings: Settings) -> dict[str, str]:
    """Return the settings and the versions that the random streams depend on."""
    return {**settings.texts(), "flexdp": __version__, "numpy": np.__version__}


class Journal:
    """Finished cells of one folder; a context manager."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._path = folder / NAME
        self._print = fingerprint(settings)
        self._stream: BinaryIO | None = None
        self.cells: dict[Key, Cell] = {}

    def __enter__(self) -> Journal:
        if self._path.exists() and not self._path.is_file():
            raise self._unusable(f"contains a {NAME} that is not a regular file", "Choose another folder.")
        with writing(self._path):
            self._stream = self._path.open("a+b")
        try:
            lock(self._stream)
        except OSError:
            self._stream.close()
            raise self._unusable(
                "is in use by another run", "Wait for it to finish, or choose another folder."
            ) from None
        try:
            self._load(self._stream)
        except BaseException:
            self._stream.close()
            raise
        return self

    def add(self, cell: Cell) -> None:
        """Write a finished cell to disk."""
        self.cells[cell.key] = cell
        document = {
            "experiment": cell.experiment,
            "mechanism": cell.mechanism,
            "epsilon": str(cell.epsilon),
            "actual": cell.actual,
            "flexible": cell.flexible,
            "betas": cell.betas,
        }
        self._append(document)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            with writing(self._path):
                self._stream.close()

    def _append(self, document: Mapping[str, Any]) -> None:
        if self._stream is None:
            raise InputError("journal", "is closed", remedy="Use it as a context manager.")
        with writing(self._path):
            self._stream.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")
            self._stream.flush()

    def _load(self, stream: BinaryIO) -> None:
        stream.seek(0)
        whole = stream.read()
        end = whole.rfind(b"\n") + 1
        if end < len(whole):
            stream.truncate(end)
        lines = whole[:end].splitlines()
        if not lines:
            self._append(self._print)
            return
        try:
            found = json.loads(lines[0])
            cells = [_cell(json.loads(line)) for line in lines[1:]]
        except (ValueError, KeyError, TypeError):
            raise self._unusable(
                f"contains a {NAME} that cannot be read", "Delete it, or choose another folder."
            ) from None
        differing = sorted(name for name in {*found, *self._print} if found.get(name) != self._print.get(name))
        if differing:
            name = differing[0]
            raise self._unusable(
                f"contains a study with {name} {safe_repr(found.get(name))}, not {safe_repr(self._print.get(name))}",
                f"Choose another folder, or delete {NAME} in it.",
            )
        self.cells = {cell.key: cell for cell in cells}

    def _unusable(self, why: str, remedy: str) -> InputError:
        return InputError("out", f"{safe_repr(str(self._path.parent))} {why}", remedy=remedy)


def _cell(document: Mapping[str, Any]) -> Cell:
    return Cell(
        experiment=str(document["experiment"]),
        mechanism=str(document["mechanism"]),
        epsilon=ratio(document["epsilon"]),
        actual=tuple(map(float, document["actual"])),
        flexible=tuple(map(float, document["flexible"])),
        betas=tuple(map(float, document["betas"])),
    )
