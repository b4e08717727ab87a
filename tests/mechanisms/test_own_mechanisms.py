"""The guide to mechanisms of one's own runs as it stands, and what it declares is true."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

from flexdp import Histogram
from flexdp.mechanisms import Mechanism
from flexdp.noise import DropNoise

GUIDE = Path(__file__).parent.parent.parent / "docs" / "own-mechanisms.md"


def test_the_guide_runs_and_prints_what_it_shows() -> None:
    found = doctest.testfile(str(GUIDE), module_relative=False, encoding="utf-8")
    assert found.attempted > 25 and found.failed == 0


def names() -> dict[str, Any]:
    space: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(GUIDE.read_text()):
        exec(compile(example.source, str(GUIDE), "single"), space)
    return space


def test_the_guide_names_every_member_that_may_be_declared() -> None:
    told = GUIDE.read_text()
    public = {name for name in vars(Mechanism) if not name.startswith("_")}
    others = {"accuracy", "explain", "from_json", "law_after", "name", "steps"}
    assert all(f"`{name}" in told or f"{name}(" in told for name in public - others)


def test_the_understated_count_has_the_privacy_that_it_declares() -> None:
    """The exact law of n − J for neighbouring sizes; its hockey-stick divergence is the real δ."""
    count = names()["count"]
    noise = DropNoise(1, "1e-6")
    assert count.privacy.delta_real == noise.delta_real
    for size in (1, 5, 40):
        one, two = (
            {
                max(0, n - j): sum(w for i, w in enumerate(noise.weights) if max(0, n - i) == max(0, n - j))
                for j in range(28)
            }
            for n in (size, size + 1)
        )
        for here, there in ((one, two), (two, one)):
            excess = sum(max(0.0, w - 2.718281828459045 * there.get(y, 0)) for y, w in here.items())
            assert excess <= float(noise.delta_real) * 2**64 * (1 + 1e-9)


def test_the_filter_keeps_neighbours_and_the_clock_its_bound() -> None:
    space = names()
    below, clock = space["Below"](18.0), space["CLOCK"]
    for key in (3.0, 17.9, 18.0, 40.0):
        one = below(Histogram.from_counts({5.0: 3}))
        two = below(Histogram.from_counts({5.0: 3, key: 1}))
        assert two.size - one.size in (0, 1)
    for a in range(48):
        for b in range(48):
            assert clock(a % 24, b % 24) <= abs(a - b)
