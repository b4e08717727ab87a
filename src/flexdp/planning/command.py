"""The command that a plan ends in."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from fractions import Fraction

from flexdp._core.exact import exact_text
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import bucket_parameters
from flexdp.buckets.partition import Buckets
from flexdp.buckets.width import Width
from flexdp.planning.expected import UNORDERED
from flexdp.planning.groups import Groups
from flexdp.planning.options import Setting
from flexdp.planning.trials import column_words

__all__ = ["bucket_words", "command_of", "open_width"]


def command_of(
    setting: Setting,
    epsilon: Fraction | None,
    column: list[str],
    groups: Groups,
    stats: Sequence[str],
    *,
    by_unit: bool,
) -> str:
    """Return the command of a plan; FILE and COLUMN are to be replaced, and E if no ε is chosen.

    ``column`` are the words that describe the buckets, or what is asked.
    """
    each = setting.each(Fraction(1) if epsilon is None else epsilon)
    words = ["flexdp release FILE COLUMN --epsilon", "E" if epsilon is None else exact_text(each.epsilon)]
    words += ["--delta", exact_text(each.delta), *column, *groups.words]
    words += [f"--stat {shlex.quote(stat)}" for stat in stats]
    if by_unit:
        words.append(f"--unit UNIT_COLUMN --max-buckets-per-unit {setting.buckets_per_unit}")
        words += [] if setting.reported else ["--no-cap-report"]
    return " ".join(words)


def open_width(partition: Buckets | None, *, counted: bool) -> bool:
    """Tell whether a plan is that of buckets whose width is still open.

    Without one, a release would choose its buckets with a part of ε. Where a law or a public sample was ``counted``,
    every value is its own bucket.
    """
    if partition is None:
        return True
    return isinstance(partition, Exact) and partition.kind not in UNORDERED and not counted


def bucket_words(partition: Buckets | None, *, counted: bool) -> list[str]:
    """Return the options of a command that describe buckets; W stands for a width that is still open."""
    if partition is None:
        return ["--width W"]
    said, kind = bucket_parameters(partition), partition.kind
    given: dict[str, str] = {name: _point(said[name], kind) for name in ("width", "relative") if name in said}
    if isinstance(partition, Width):
        given["width"] = partition.width_text
    if isinstance(partition, Exact) and kind not in UNORDERED:
        own = ["--exact"] if counted else ["--width W"]
        return own + column_words(partition)
    if "edges" in said:
        given["edges"] = ",".join(_point(edge, kind) for edge in said["edges"])
    if "bounds" in said:
        given["bounds"] = ":".join(_point(bound, kind) for bound in said["bounds"])
    words = [f"--{name} {shlex.quote(text)}" for name, text in given.items()]
    return words + ([f"--kind {kind}"] if kind not in ("number", "boolean") else [])


def _point(text: str, kind: str) -> str:
    """A width or a bound as people write it: as a decimal if that is exact."""
    return exact_text(Fraction(text)) if kind in ("integer", "number") else text
