"""The JSON of a release, written and read back; docs/release-json.md describes the schema.

A document is checked as it is read: nothing outside the bounds or the declared groups, no key that does not fit its
kind. Documents of the first schema are still read.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import numpy as np

from flexdp._core.documents import UnfitError, parse_json
from flexdp._core.domains import integer
from flexdp._core.exact import json_value
from flexdp._core.text import is_short, safe_repr
from flexdp._release.about import NOTHING
from flexdp._release.columns import GROUP_KINDS, declared_groups
from flexdp._release.filters import check_readings, check_texts
from flexdp._release.spec import Spec, group_index, group_labels
from flexdp._release.stat_words import about_in
from flexdp.accounting.budget import Budget, has_reach
from flexdp.buckets.base import LONGEST_TEXT, Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import bucket_parameters, make_buckets
from flexdp.buckets.partition import Buckets
from flexdp.errors import InputError
from flexdp.histogram import KeyedHistogram
from flexdp.version import __version__

__all__ = [
    "SCHEMA",
    "SCHEMA_OF_SEVERAL",
    "bars_budget",
    "exact_index",
    "group_columns",
    "json_text",
    "parse",
    "read",
    "unreadable",
    "upgraded",
    "write",
]

Published: TypeAlias = "tuple[Spec, Budget | None, KeyedHistogram, int | None]"

SCHEMA, SCHEMA_OF_SEVERAL = "flexdp.release/2", "flexdp.releases/2"
_FORMER, _FORMER_OF_SEVERAL = "flexdp.release/1", "flexdp.releases/1"
_KINDS = ("integer", "number", "text", "date", "datetime", "boolean")
_WIDEST_INDENT = 16
_LARGEST_COUNT = 2**63
_PER_UNIT = (None, "max", "min", "mean")


def json_text(document: dict[str, Any], indent: object) -> str:
    """Return a document as text: on one line, or indented by so many spaces."""
    spaces = None if indent is None else integer("indent", indent, at_least=0, at_most=_WIDEST_INDENT)
    return json.dumps(document, indent=spaces, ensure_ascii=False, allow_nan=False)


def parse(document: str | bytes) -> Any:
    """Return the JSON values of a document, after refusing repeated names, infinite numbers and broken Unicode."""
    return upgraded(parse_json(document))


def upgraded(values: Any) -> Any:
    """Return a document of the first schema in the words of this one, which says "datetime" for "moment"."""
    if not isinstance(values, dict):
        return values
    if values.get("schema") == _FORMER_OF_SEVERAL and isinstance(values.get("releases"), list):
        return {**values, "schema": SCHEMA_OF_SEVERAL, "releases": [upgraded(each) for each in values["releases"]]}
    if values.get("schema") != _FORMER:
        return values
    renamed = {**values, "schema": SCHEMA}
    kind = values.get("kind")
    if isinstance(kind, list):
        renamed["kind"] = ["datetime" if each == "moment" else each for each in kind]
    elif kind == "moment":
        renamed["kind"] = "datetime"
    return renamed


def write(spec: Spec, budget: Budget | None, cells: KeyedHistogram, records_at_most: int | None) -> dict[str, Any]:
    """Return the document of a release, as plain JSON values; without a budget there are no buckets."""
    alone = len(spec.columns) == 1
    first = len(spec.by)
    parts = [(axis, cells.parts[first + i]) for i, axis in enumerate(spec.partitions)]
    keys = [json_value(axis.centres(part).tolist()) for axis, part in parts]
    bars: dict[str, Any] = {}
    if spec.by:
        named = [json_value(column) for column in group_columns(spec, cells)]
        bars["group"] = [list(row) for row in zip(*named, strict=True)]
    bars["key"] = keys[0] if alone else [list(point) for point in zip(*keys, strict=True)]
    if alone and not isinstance(spec.partitions[0], Exact):
        bars["index"] = parts[0][1].tolist()
    elif not alone:
        index = [part.tolist() for _, part in parts]
        bars["index"] = [list(cell) for cell in zip(*index, strict=True)]
    bars["count"] = cells.counts.tolist()
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "flexdp": __version__,
        "column": spec.columns[0] if alone else list(spec.columns),
        "kind": spec.kinds[0] if alone else list(spec.kinds),
        "buckets": bucket_parameters(spec.partitions[0])
        if alone
        else [bucket_parameters(axis) for axis in spec.partitions],
    }
    if spec.about != NOTHING:
        document["about"] = spec.about.document()
    if spec.zone is not None:
        document["zone"] = spec.zone
    if spec.by:
        document["by"] = list(spec.by)
        document["by_kind"] = list(spec.by_kinds)
        document["groups"] = json_value(spec.groups)
    if spec.where is not None:
        document["where"] = spec.where
    if spec.derived:
        document["derived"] = dict(spec.derived)
    if spec.read_as:
        document["read_as"] = {kind: list(names) for kind, names in spec.read_as}
    if spec.keyed:
        document["keyed"] = True
    if spec.of_query:
        document["rows_are_records"] = True
    document["privacy"] = {
        "epsilon": str(0 if budget is None else budget.epsilon),
        "delta": str(0 if budget is None else budget.delta),
        "unit": "record" if spec.unit is None else spec.unit,
        "neighbours": "add or remove one",
    }
    if spec.unit is not None:
        document["privacy"]["max_buckets_per_unit"] = spec.max_buckets_per_unit
        if spec.per_unit is not None:
            document["privacy"]["per_unit"] = spec.per_unit
    if budget is None:
        return document
    noise = budget.bars
    evidence = noise.certify()
    if budget.share is not None:
        document["certified"] = {"share": str(budget.share), "records_at_most": records_at_most}
    document["mechanism"] = {
        "name": "dropping",
        "q": noise.q,
        "max_drop": noise.max_drop,
        "bits": noise.bits,
        "first_weight": str(evidence.first_weight),
        "growth": [str(evidence.growth_numerator), str(evidence.growth_denominator)],
    }
    if budget.limited is not None:
        document["mechanism"] |= {"buckets": budget.limited.buckets, "total": budget.limited.total}
    document["bars"] = bars
    return document


def read(document: dict[str, Any]) -> Published:
    """Return what a document holds, after refusing what cannot be so."""
    if document["schema"] != SCHEMA:
        several = document["schema"] == SCHEMA_OF_SEVERAL
        raise InputError(
            "schema",
            f"must be {SCHEMA!r}",
            given=safe_repr(document["schema"]),
            remedy="Read it with Releases.from_json." if several else "",
        )
    spec = _spec(document)
    if ("asked" in document or "auto" in document) and "bars" not in document:
        if len(spec.columns) != 1 or not isinstance(spec.partitions[0], Exact):
            raise UnfitError("buckets without counts", "counts")
        return spec, None, KeyedHistogram([[] for _ in range(len(spec.by) + 1)], []), None
    certified, bars = document.get("certified"), document["bars"]
    alone = len(spec.columns) == 1
    keys = [bars["key"]] if alone else _columns(bars["key"], len(spec.columns))
    listed = keys[0] if alone and isinstance(spec.partitions[0], Exact) else bars["index"]
    index = [listed] if alone else _columns(listed, len(spec.columns))
    parts: list[Any] = []
    if spec.by:
        values = [
            exact_index(k, part) for k, part in zip(spec.by_kinds, _columns(bars["group"], len(spec.by)), strict=True)
        ]
        parts += values
    for axis, own_index in zip(spec.partitions, index, strict=True):
        parts.append(_inside(axis, own_index) if isinstance(axis, Exact) else _within(axis, own_index))
    cells = KeyedHistogram(parts, [_positive(entry) for entry in bars["count"]])
    if spec.groups is not None:
        declared = set(map(group_index, spec.groups))
        if not declared.issuperset(cells.rows(slice(len(spec.by)))):
            raise UnfitError("a group that was not declared", "counts")
    budget = bars_budget(document, spec.public_buckets)
    at_most = None if certified is None else certified["records_at_most"]
    if certified is not None and not (type(at_most) is int and sum(cells.counts.tolist()) <= at_most < _LARGEST_COUNT):
        raise UnfitError("no bound, or one that the release itself exceeds", "bound")
    return spec, budget, cells, at_most


def bars_budget(document: dict[str, Any], buckets: int | None) -> Budget:
    """Return the budget of the buckets in a document of buckets alone, unless the noise in it has another reach."""
    certified, privacy = document.get("certified"), document["privacy"]
    most = privacy.get("max_buckets_per_unit", 1)
    share = None if certified is None else certified["share"]
    if not has_reach(document["mechanism"]["q"], privacy["epsilon"], privacy["delta"], most=most, certify=share):
        raise UnfitError("a reach that its ε and δ do not lead to", "noise")
    return Budget(privacy["epsilon"], privacy["delta"], most=most, certify=share, buckets=buckets)


def unreadable(what: str = "a flexdp release") -> InputError:
    """Return the refusal of a document that is not one, or that was changed."""
    return InputError("document", f"must be the JSON of {what}, complete and unchanged")


def _spec(document: dict[str, Any]) -> Spec:
    """The public description of a release from its document."""
    column, kind, buckets, privacy = (document[name] for name in ("column", "kind", "buckets", "privacy"))
    several = isinstance(column, list)
    columns = tuple(column) if several else (column,)
    kinds = tuple(kind) if several else (kind,)
    own = buckets if several else [buckets]
    names_fit = all(isinstance(name, str) for name in columns) or columns == (None,)
    if not names_fit or not all(each in _KINDS for each in kinds) or not len(columns) == len(kinds) == len(own):
        raise UnfitError("no kind that flexdp knows, or a column without a name")
    by, by_kinds = tuple(document.get("by", ())), tuple(document.get("by_kind", ()))
    if len(by) != len(by_kinds) or not all(isinstance(name, str) for name in by):
        raise UnfitError("groups without names or kinds")
    if not all(isinstance(each, str) and each in GROUP_KINDS for each in by_kinds):
        raise UnfitError("groups of a kind that no groups have")
    groups, zone = document.get("groups"), document.get("zone")
    unit, most, per_unit, named = None, 1, None, [*columns, *by]
    if "max_buckets_per_unit" in privacy:
        unit, most, per_unit = privacy["unit"], privacy["max_buckets_per_unit"], privacy.get("per_unit")
        if per_unit not in _PER_UNIT or not isinstance(unit, str) or type(most) is not int:
            raise UnfitError("no unit that flexdp knows")
        if per_unit is not None and most != 1:
            raise UnfitError("one value of each unit is in one bucket")
        named.append(unit)
    if len(set(named)) < len(named) or (None in named and len(named) > 1):
        raise UnfitError("a column with two parts to play, or one without a name among others")
    if zone is not None and not (isinstance(zone, str) and is_short(zone) and {"date", "datetime"} & set(kinds)):
        raise UnfitError("no time zone, or nothing to read by it")
    where, derived = check_texts(document.get("where"), document.get("derived", {}))
    filtered = where is not None or bool(derived)
    readings, keyed = check_readings(document.get("read_as", {}), document.get("keyed", False), filtered=filtered)
    of_query = document.get("rows_are_records", False)
    if type(of_query) is not bool:
        raise UnfitError("neither rows of a table nor of a query")
    return Spec(
        columns=columns,
        partitions=tuple(make_buckets(each, **given) for each, given in zip(kinds, own, strict=True)),
        zone=zone,
        by=by,
        by_kinds=by_kinds,
        groups=None if groups is None else declared_groups(groups, by_kinds),
        unit=unit,
        max_buckets_per_unit=most,
        per_unit=per_unit,
        where=where,
        derived=derived,
        read_as=readings,
        keyed=keyed,
        of_query=of_query,
        about=about_in(document.get("about"), kinds),
    )


def group_columns(spec: Spec, cells: KeyedHistogram) -> list[list[Any]]:
    """Return the groups of all buckets, a list for each column of ``by``."""
    parts = [part.tolist() for part in cells.parts[: len(spec.by)]]
    return list(map(group_labels, spec.by_kinds, parts))


def _columns(rows: Any, count: int) -> list[list[Any]]:
    """Rows of equal length as columns."""
    if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != count for row in rows):
        raise UnfitError("rows of different lengths", "counts")
    return [[row[i] for row in rows] for i in range(count)]


def _within(axis: Buckets, index: Any) -> Any:
    """Bucket indices, none outside the bounds."""
    if not isinstance(index, list) or any(type(entry) is not int for entry in index):
        raise UnfitError("an index is a whole number", "counts")
    if axis.count is not None and any(not axis.first <= entry < axis.first + axis.count for entry in index):
        raise UnfitError("a bucket outside the bounds", "counts")
    return index


def _inside(axis: Exact, keys: list[Any]) -> Any:
    """Keys that are their own buckets, none outside the bounds."""
    index = exact_index(axis.kind, keys)
    if axis.bounds is not None:
        low, high = (float(bound) if axis.kind == "number" else bound for bound in axis.bounds)
        if any(not low <= entry <= high for entry in np.asarray(index, dtype=object).tolist()):
            raise UnfitError("a value outside the bounds", "counts")
    return index


def exact_index(kind: Kind, keys: list[Any]) -> Any:
    """Return keys that are their own buckets as the engine numbers them, after refusing those of another kind."""
    if kind == "date":
        day = np.array(keys, dtype="datetime64[D]")
        return day.astype(np.int64)
    if kind == "datetime":
        return np.array(keys, dtype="datetime64[us]").astype(np.int64)
    wanted = {"integer": int, "number": float | int, "text": str, "boolean": bool}[kind]
    if not all(isinstance(key, wanted) and isinstance(key, bool) == (kind == "boolean") for key in keys):
        raise UnfitError("keys do not fit the kind", "counts")
    if kind == "text" and any(len(key.encode()) > LONGEST_TEXT for key in keys):
        raise UnfitError("a text that is not read on any engine", "counts")
    return [float(key) for key in keys] if kind == "number" else keys


def _positive(entry: Any) -> int:
    if not isinstance(entry, int) or isinstance(entry, bool) or not 0 < entry < _LARGEST_COUNT:
        raise UnfitError("a released count is a positive integer", "counts")
    return entry
