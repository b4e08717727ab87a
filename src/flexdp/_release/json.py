"""The JSON of a release, written and read back. docs/release-json.md is the schema in words.

What is read is checked: nothing outside the bounds or the declared groups, no key that does not fit its kind.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

import numpy as np

from flexdp._core.domains import integer
from flexdp._core.text import is_short, safe_repr
from flexdp._release.checks import Shape, UnitRule, declared_groups, group_index
from flexdp.accounting.budget import Budget, has_reach
from flexdp.buckets.base import LONGEST_TEXT, Kind, times
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import bucket_parameters, make_buckets
from flexdp.buckets.partition import Buckets
from flexdp.errors import InputError
from flexdp.histogram import KeyedHistogram
from flexdp.version import __version__

__all__ = ["SCHEMA", "SCHEMA_OF_SEVERAL", "Content", "group_columns", "json_text", "labels", "parse", "read", "write"]

SCHEMA, SCHEMA_OF_SEVERAL = "flexdp.release/2", "flexdp.releases/2"
_FORMER, _FORMER_OF_SEVERAL = "flexdp.release/1", "flexdp.releases/1"
_KINDS = ("integer", "number", "text", "date", "datetime", "boolean")
_WIDEST_INDENT = 16
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_PER_UNIT = (None, "max", "min", "mean")


class Content(NamedTuple):
    """What a document holds, all of it public."""

    shape: Shape
    budget: Budget
    cells: KeyedHistogram
    records_at_most: int | None


def json_text(document: dict[str, Any], indent: object) -> str:
    """A document as text: on one line, or with so many spaces of indentation."""
    spaces = None if indent is None else integer("indent", indent, at_least=0, at_most=_WIDEST_INDENT)
    return json.dumps(document, indent=spaces, ensure_ascii=False, allow_nan=False)


def parse(document: str | bytes) -> Any:
    """The JSON values of a document, in which no name comes twice, every number is finite and every text is Unicode."""
    if isinstance(document, str):
        text = str.__str__(document)
    elif isinstance(document, bytes | bytearray):
        text = bytes(document).decode(json.detect_encoding(bytes(document)))
    else:
        raise TypeError("neither text nor bytes")
    values = json.loads(text, object_pairs_hook=_named_once, parse_constant=_refuse_constant)
    if _SURROGATE.search(text):
        json.dumps(values, ensure_ascii=False).encode()  # fails unless they come in pairs
    return _upgraded(values)


def _upgraded(values: Any) -> Any:
    """Documents of the first schema in the words of this one, which says "datetime" for "moment"."""
    if not isinstance(values, dict):
        return values
    if values.get("schema") == _FORMER_OF_SEVERAL and isinstance(values.get("releases"), list):
        return {**values, "schema": SCHEMA_OF_SEVERAL, "releases": [_upgraded(each) for each in values["releases"]]}
    if values.get("schema") != _FORMER:
        return values
    upgraded = {**values, "schema": SCHEMA}
    kind = values.get("kind")
    if isinstance(kind, list):
        upgraded["kind"] = ["datetime" if each == "moment" else each for each in kind]
    elif kind == "moment":
        upgraded["kind"] = "datetime"
    return upgraded


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name that comes twice")
    return values


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def write(content: Content) -> dict[str, Any]:
    """The document of a release, as plain JSON values."""
    cells, budget, noise = content.cells, content.budget, content.budget.bars
    evidence, shape, rule = noise.certify(), content.shape, content.shape.unit
    alone = len(shape.columns) == 1
    first = len(shape.by)
    parts = [(axis, cells.parts[first + i]) for i, axis in enumerate(shape.partitions)]
    keys = [[_json_key(key) for key in axis.centres(part).tolist()] for axis, part in parts]
    bars: dict[str, Any] = {}
    if shape.by:
        named = [[_json_key(label) for label in column] for column in group_columns(content)]
        bars["group"] = [list(row) for row in zip(*named, strict=True)]
    bars["key"] = keys[0] if alone else [list(point) for point in zip(*keys, strict=True)]
    if alone and not isinstance(shape.partitions[0], Exact):
        bars["index"] = parts[0][1].tolist()
    elif not alone:
        index = [part.tolist() for _, part in parts]
        bars["index"] = [list(cell) for cell in zip(*index, strict=True)]
    bars["count"] = cells.counts.tolist()
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "flexdp": __version__,
        "column": shape.columns[0] if alone else list(shape.columns),
        "kind": shape.kinds[0] if alone else list(shape.kinds),
        "buckets": bucket_parameters(shape.partitions[0])
        if alone
        else [bucket_parameters(axis) for axis in shape.partitions],
    }
    if shape.zone is not None:
        document["zone"] = shape.zone
    if shape.by:
        document["by"] = list(shape.by)
        document["by_kind"] = list(shape.by_kinds)
        document["groups"] = None
        if shape.groups is not None:
            document["groups"] = [[_json_key(part) for part in group] for group in shape.groups]
    document["privacy"] = {
        "epsilon": str(budget.epsilon),
        "delta": str(budget.delta),
        "unit": "record" if rule is None else rule.name,
        "neighbours": "add or remove one",
    }
    if rule is not None:
        document["privacy"]["max_buckets_per_unit"] = rule.most
        if rule.per_unit is not None:
            document["privacy"]["per_unit"] = rule.per_unit
    if budget.share is not None:
        document["certified"] = {"share": str(budget.share), "records_at_most": content.records_at_most}
    document["mechanism"] = {
        "name": "dropping",
        "q": noise.q,
        "max_drop": noise.max_drop,
        "bits": noise.bits,
        "first_weight": str(evidence.first_weight),
        "growth": [str(evidence.growth_numerator), str(evidence.growth_denominator)],
    }
    document["bars"] = bars
    return document


def read(document: dict[str, Any]) -> Content:
    """What a document says, refused where it cannot be so."""
    if document["schema"] != SCHEMA:
        several = document["schema"] == SCHEMA_OF_SEVERAL
        remedy = " Read it with Releases.from_json." if several else ""
        raise InputError(f"schema must be {SCHEMA!r}; got {safe_repr(document['schema'])}.{remedy}")
    shape = _shape(document)
    certified, privacy, bars = document.get("certified"), document["privacy"], document["bars"]
    alone = len(shape.columns) == 1
    keys = [bars["key"]] if alone else _columns(bars["key"], len(shape.columns))
    listed = keys[0] if alone and isinstance(shape.partitions[0], Exact) else bars["index"]
    index = [listed] if alone else _columns(listed, len(shape.columns))
    parts: list[Any] = []
    if shape.by:
        values = [
            _exact_index(k, part)
            for k, part in zip(shape.by_kinds, _columns(bars["group"], len(shape.by)), strict=True)
        ]
        parts += values
    for axis, own_index in zip(shape.partitions, index, strict=True):
        parts.append(_inside(axis, own_index) if isinstance(axis, Exact) else _within(axis, own_index))
    cells = KeyedHistogram(parts, [_positive(entry) for entry in bars["count"]])
    if shape.groups is not None:
        declared = set(map(group_index, shape.groups))
        if not declared.issuperset(cells.rows(slice(len(shape.by)))):
            raise ValueError("a group that was not declared")
    most = 1 if shape.unit is None else shape.unit.most
    share = None if certified is None else certified["share"]
    if not has_reach(document["mechanism"]["q"], privacy["epsilon"], privacy["delta"], most=most, certify=share):
        raise ValueError("noise of another reach, whose table may be long in the making")
    budget = Budget(privacy["epsilon"], privacy["delta"], most=most, certify=share)
    at_most = None if certified is None else certified["records_at_most"]
    if certified is not None and (type(at_most) is not int or at_most < sum(cells.counts.tolist())):
        raise ValueError("no bound, or one that the release itself exceeds")
    return Content(shape, budget, cells, at_most)


def _shape(document: dict[str, Any]) -> Shape:
    """The public parameters of a release from its document."""
    column, kind, buckets, privacy = (document[name] for name in ("column", "kind", "buckets", "privacy"))
    several = isinstance(column, list)
    columns = tuple(column) if several else (column,)
    kinds = tuple(kind) if several else (kind,)
    own = buckets if several else [buckets]
    names_fit = all(isinstance(name, str) for name in columns) or columns == (None,)
    if not names_fit or not all(each in _KINDS for each in kinds) or not len(columns) == len(kinds) == len(own):
        raise TypeError("no kind that flexdp knows, or a column without a name")
    by, by_kinds = tuple(document.get("by", ())), tuple(document.get("by_kind", ()))
    if len(by) != len(by_kinds) or not all(isinstance(name, str) for name in by):
        raise TypeError("groups without names or kinds")
    groups, zone = document.get("groups"), document.get("zone")
    rule, named = None, [*columns, *by]
    if "max_buckets_per_unit" in privacy:
        per_unit = privacy.get("per_unit")
        if per_unit not in _PER_UNIT or not isinstance(privacy["unit"], str):
            raise TypeError("no unit that flexdp knows")
        if per_unit is not None and privacy["max_buckets_per_unit"] != 1:
            raise ValueError("one value of each unit is in one bucket")
        named.append(privacy["unit"])
        rule = UnitRule(name=privacy["unit"], most=privacy["max_buckets_per_unit"], per_unit=per_unit)
    if len(set(named)) < len(named) or (None in named and len(named) > 1):
        raise ValueError("a column with two parts to play, or one without a name among others")
    if zone is not None and not (isinstance(zone, str) and is_short(zone) and {"date", "datetime"} & set(kinds)):
        raise TypeError("no time zone, or nothing to read by it")
    return Shape(
        columns=columns,
        kinds=kinds,
        partitions=tuple(make_buckets(each, **given) for each, given in zip(kinds, own, strict=True)),
        zone=zone,
        by=by,
        by_kinds=by_kinds,
        groups=None if groups is None else declared_groups(groups, by_kinds),
        unit=rule,
    )


def labels(kind: Kind, index: list[Any]) -> list[Any]:
    """The values of groups as people know them, from how the engine numbers them."""
    return times("date", np.array(index, dtype=np.int64)).tolist() if kind == "date" else index


def group_columns(content: Content) -> list[list[Any]]:
    """The groups of all bars, a list for each column of ``by``."""
    parts = [part.tolist() for part in content.cells.parts[: len(content.shape.by)]]
    return list(map(labels, content.shape.by_kinds, parts))


def _columns(rows: Any, count: int) -> list[list[Any]]:
    """Rows of equal length as columns."""
    if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != count for row in rows):
        raise TypeError("rows of different lengths")
    return [[row[i] for row in rows] for i in range(count)]


def _within(axis: Buckets, index: Any) -> Any:
    """Bucket indices, none outside the bounds."""
    if not isinstance(index, list) or any(type(entry) is not int for entry in index):
        raise TypeError("an index is a whole number")
    if axis.count is not None and any(not axis.first <= entry < axis.first + axis.count for entry in index):
        raise ValueError("a bucket outside the bounds")
    return index


def _inside(axis: Exact, keys: list[Any]) -> Any:
    """Keys that are their own bars, none outside the bounds."""
    index = _exact_index(axis.kind, keys)
    if axis.bounds is not None:
        low, high = (float(bound) if axis.kind == "number" else bound for bound in axis.bounds)
        if any(not low <= entry <= high for entry in np.asarray(index, dtype=object).tolist()):
            raise ValueError("a value outside the bounds")
    return index


def _json_key(key: Any) -> Any:
    if isinstance(key, Fraction):
        return str(key)
    return key if isinstance(key, bool | int | float | str) else key.isoformat()


def _exact_index(kind: Kind, keys: list[Any]) -> Any:
    if kind == "date":
        day = np.array(keys, dtype="datetime64[D]")
        return day.astype(np.int64)
    if kind == "datetime":
        return np.array(keys, dtype="datetime64[us]").astype(np.int64)
    wanted = {"integer": int, "number": float | int, "text": str, "boolean": bool}[kind]
    if not all(isinstance(key, wanted) and isinstance(key, bool) == (kind == "boolean") for key in keys):
        raise TypeError("keys do not fit the kind")
    if kind == "text" and any(len(key.encode()) > LONGEST_TEXT for key in keys):
        raise ValueError("a text that is not read on any engine")
    return [float(key) for key in keys] if kind == "number" else keys


def _positive(entry: Any) -> int:
    if not isinstance(entry, int) or isinstance(entry, bool) or not 0 < entry < 2**63:
        raise TypeError("a released count is a positive integer")
    return entry
