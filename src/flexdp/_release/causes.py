"""Likely causes where nothing survived. They follow from the public parameters alone, never from the data."""

from __future__ import annotations

from flexdp._core.text import thousands
from flexdp._release.sentences import is_cut, record_count, short_name
from flexdp._release.spec import Spec
from flexdp.buckets.exact import Exact
from flexdp.calculus.loss import survives_from

__all__ = ["likely_causes"]

_WRITTEN = {
    "integer": "whole numbers (1234)",
    "number": "numbers (1234.5)",
    "date": "dates (2024-12-31)",
    "datetime": "datetimes (2024-12-31T18:30)",
    "boolean": "true or false",
}


def likely_causes(spec: Spec, max_drop: int) -> tuple[str, ...]:
    """Return what may have left nothing, the likeliest first.

    Parameters
    ----------
    spec
        The public description of the release.
    max_drop
        The most records that a bucket can lose.

    Returns
    -------
    tuple of str
        Sentences.
    """
    least = record_count(spec, survives_from(max_drop))
    spot = "bucket" if len(spec.columns) == 1 else "cell"
    out = []
    if any(isinstance(axis, Exact) for axis in spec.partitions):
        wider = "" if spec.kinds[0] in ("text", "boolean") else " Wider buckets hold more."
        out.append(f"Every value is a {spot} of its own, and none need have {least}.{wider}")
    unread = [kind for kind in dict.fromkeys(spec.kinds) if kind in _WRITTEN]
    if unread:
        out.append(f"Cells that do not read as {' or '.join(_WRITTEN[kind] for kind in unread)} are not counted.")
    if is_cut(spec.partitions):
        out.append("Values outside the bounds are not counted.")
    if spec.where is not None:
        out.append("Records that do not match the filter are not counted.")
    if spec.by:
        groups = "" if spec.groups is None else f" of the {thousands(len(spec.groups))} declared"
        out.append(f"Each group{groups} of {', '.join(map(short_name, spec.by))} has {spot}s of its own.")
    if spec.unit is not None:
        out.append(f"Each {short_name(spec.unit)} counts in {thousands(spec.max_buckets_per_unit)} at most.")
    out.append(f"There are few records: a {spot} is certain to survive with {least}, and with fewer at a larger ε.")
    return tuple(out)
