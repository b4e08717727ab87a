"""Likely causes where nothing survived. They follow from the public parameters alone, never from the data."""

from __future__ import annotations

from flexdp._core.text import thousands
from flexdp._release.ranges import joined
from flexdp._release.sentences import is_capped, is_cut, once_each, record_count, short_name, unit_id
from flexdp._release.spec import Spec
from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.open_edges import OpenEdges
from flexdp.calculus.loss import survives_from

__all__ = ["likely_causes"]

_NOT_READ = {
    "integer": ("texts that do not read as whole numbers",),
    "number": ("NaN", "infinities", "texts that do not read as numbers"),
    "date": ("texts that do not read as dates",),
    "datetime": ("texts that do not read as datetimes",),
    "boolean": ("texts that do not read as true or false",),
}
_READ_AS: dict[Kind, str] = {"number": "numbers", "integer": "whole numbers", "boolean": "true or false"}


def likely_causes(spec: Spec, max_drop: int | None) -> tuple[str, ...]:
    """Return what may have left nothing, the likeliest first.

    Parameters
    ----------
    spec
        The public description of the release.
    max_drop
        The most records that a bucket can lose; None where there are no buckets.

    Returns
    -------
    tuple of str
        Sentences.
    """
    spot = "bucket" if len(spec.columns) == 1 else "cell"
    least = None if max_drop is None else record_count(spec, survives_from(max_drop))
    out = [] if least is None else _of_buckets(spec, spot, least)
    unread = [each for kind in dict.fromkeys(spec.kinds) for each in _NOT_READ.get(kind, ())]
    out.append(f"{joined(['Missing values', *unread])} are not counted.")
    if is_cut(spec.partitions):
        out.append("Values outside the bounds are not counted.")
    if spec.where is not None:
        out.append("Records that do not match the filter are not counted.")
    out += [_of_readings(kind, [short_name(name) for name in names]) for kind, names in spec.read_as]
    if spec.keyed:
        out.append("Keys of JSON records are not declared: a key that no record has, or that is misspelt, is missing.")
    labels = [*spec.by, *([] if spec.unit is None else [spec.unit])]
    for name in labels:
        if spec.other_group is None or name not in spec.by:
            out.append(f"Records without {short_name(name)} are not counted.")
    if spec.by:
        out += _of_groups(spec, spot, buckets=least is not None)
    if is_capped(spec):
        out.append(f"What counts is {once_each(spec, drawn=least is None)}.")
    elif spec.unit is not None:
        out.append(f"Each unit{unit_id(spec)} counts once.")
    holds = f"{least} are counted in it" if is_capped(spec) else f"it holds {least}"
    sure = "" if least is None else f": a {spot} is certain to survive if {holds}"
    counted = "records" if spec.unit is None else f"units{unit_id(spec)}"
    out.append(f"There may be too few {counted}{sure}; a larger ε requires fewer.")
    return tuple(out)


def _of_readings(kind: Kind, names: list[str]) -> str:
    """Columns that declare no type and may have been meant to be read otherwise."""
    read = f"{joined(names)} {'was' if len(names) == 1 else 'were'} read as"
    if kind in ("date", "datetime"):
        form = "%Y-%m-%d" if kind == "date" else "%Y-%m-%dT%H:%M"
        return f"{read} {kind}s, written as {form} unless date_format says otherwise."
    other = f"date({names[0]})" if kind in ("number", "integer") else f"text({names[0]})"
    return f"{read} {_READ_AS[kind]}, because no type is declared; write {other} for {other.partition('(')[0]}s."


def _of_buckets(spec: Spec, spot: str, least: str) -> list[str]:
    """Buckets that may hold too little."""
    if any(isinstance(axis, Exact) for axis in spec.partitions):
        wider = "" if spec.kinds[0] in ("text", "boolean") else " Wider buckets hold more."
        return [f"Every value is a {spot} of its own, and perhaps none has {least}.{wider}"]
    if any(isinstance(axis, OpenEdges) for axis in spec.partitions):
        return []  # chosen so that they hold enough
    return [f"The {spot}s may be too narrow: perhaps none holds {least}. Wider ones hold more."]


def _of_groups(spec: Spec, spot: str, *, buckets: bool) -> list[str]:
    """Groups that divide the records, or leave some out."""
    names, out = ", ".join(map(short_name, spec.labels)), []
    if spec.groups is not None and spec.other_group is None:
        out.append(f"Records outside the declared groups ({names}) are not counted.")
    number = "" if spec.groups is None else f" of the {thousands(len(spec.groups))} declared"
    own = f"{spot}s" if buckets else "records"
    return [*out, f"Each group{number} of {names} has {own} of its own."]
