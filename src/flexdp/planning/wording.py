"""Words of a plan: its setting in one sentence, and its options as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from flexdp._core.exact import upper_text
from flexdp._core.text import plural, thousands
from flexdp.buckets.partition import Buckets
from flexdp.planning.command import open_width
from flexdp.planning.groups import Groups
from flexdp.planning.options import Setting

__all__ = ["setting_words", "table_lines"]

_ORIGIN = {"given": "", "solved": " (the smallest for this target)", "proposed": " (proposed)"}


def setting_words(
    setting: Setting,
    groups: Groups,
    partition: Buckets | None,
    *,
    origin: str,
    by_unit: bool,
    counted: bool,
    sharp: str | None,
    pure: bool,
) -> str:
    """Return a setting in one sentence.

    ``origin`` is that of δ. ``sharp`` are the words of asked answers, then ``pure``, or of automatic buckets.
    """
    records = (
        "any number of records"
        if setting.records_about is None
        else f"about {plural(setting.records_about, 'record', thousands)}"
    )
    unit = "one record" if not by_unit else f"one unit, in at most {plural(setting.buckets_per_unit, 'bucket')}"
    shared = "" if setting.releases == 1 else f", shared by {setting.releases} releases"
    told = "; 4% of ε tells how many units have more" if setting.reported else ""
    delta = f"{upper_text(setting.delta)}{_ORIGIN[origin]}" if setting.delta else "0"
    if pure:
        unit = unit.replace("in at most", "with at most").replace("bucket", "value")
        return f"For {records}{groups}; {sharp}; δ = {delta}{shared}; protects {unit}{told}."
    spec = "" if partition is None or open_width(partition, counted=counted) else f" ({partition.spec})"
    many = "buckets not counted in advance" if setting.buckets is None else plural(setting.buckets, "bucket", thousands)
    return f"For {records} in {sharp or many}{spec}{groups}; δ = {delta}{shared}; protects {unit}{told}."


def table_lines(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines of text, each heading in two lines."""
    upper, lower = zip(*map(_two_lines, headings), strict=True)
    listed = [upper, lower, *rows]
    widths = [max(len(line[place]) for line in listed) for place in range(len(headings))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in listed]


def _two_lines(heading: str) -> tuple[str, str]:
    """A heading broken in two where the longer line is shortest."""
    words = heading.split(" ")
    breaks = [(" ".join(words[:place]), " ".join(words[place:])) for place in range(len(words))]
    return min(breaks, key=lambda lines: max(map(len, lines)))
