"""The targets by name, and what the runner has to know of each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

__all__ = ["BROKE", "NAMES", "Target", "target"]

NAMES = ("documents", "filters", "grammars", "texts", "workbooks", "commands", "ledgers")
BROKE = Path(__file__).parent / "broke"  # everything that ever broke a target, in a folder for each
_LONGEST = {"documents": 16_000, "filters": 400, "grammars": 200, "texts": 1500, "workbooks": 12_000, "commands": 600}


@dataclass(frozen=True)
class Target:
    """A function of bytes that raises if a promise is broken, inputs to begin with, and how to change them."""

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    words: tuple[str, ...]  # that mean something to the target
    mutated: Callable[[bytes, random.Random, Callable[[bytes], bytes]], bytes] | None
    longest: int


def target(name: str) -> Target:
    """Load a target; nothing else of flexdp is imported before."""
    module = import_module(f"fuzz.{name}")
    return Target(
        name, module.run, module.seeds, module.WORDS, getattr(module, "mutated", None), _LONGEST.get(name, 40_000)
    )
