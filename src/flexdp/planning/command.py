"""The command that a plan ends in."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from fractions import Fraction

from flexdp._core.exact import exact_text
from flexdp.buckets.parse import bucket_parameters
from flexdp.buckets.partition import Buckets
from flexdp.planning.groups import Groups
from flexdp.planning.options import Setting

__all__ = ["bucket_words", "command_of"]


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
    return " ".join(words)


def bucket_words(partition: Buckets) -> list[str]:
    """Return the options of a command that describe buckets."""
    said, kind = bucket_parameters(partition), partition.kind
    given: dict[str, str] = {name: _point(said[name], kind) for name in ("width", "relative") if name in said}
    if "edges" in said:
        given["edges"] = ",".join(_point(edge, kind) for edge in said["edges"])
    sized = bool(given)
    if "bounds" in said:
        given["bounds"] = ":".join(_point(bound, kind) for bound in said["bounds"])
    words = [f"--{name} {shlex.quote(text)}" for name, text in given.items()]
    # Without buckets, a text file must be told that its cells are numbers.
    return words + ([f"--kind {kind}"] if kind not in ("number", "boolean") or (kind == "number" and not sized) else [])


def _point(text: str, kind: str) -> str:
    """A width or a bound as people write it: as a decimal if that is exact."""
    return exact_text(Fraction(text)) if kind in ("integer", "number") else text
