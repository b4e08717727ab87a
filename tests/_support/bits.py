"""Releases whose every random bit comes from a seed, in this process."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from flexdp.noise import sampler


def seed(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Draw all random bits of releases from a seed until the test ends."""
    monkeypatch.setattr(sampler, "os", SimpleNamespace(urandom=random.Random(number).randbytes))
