"""Replays of the whole pipeline on neighbouring tables, with frozen noise and salt, and everything that can be seen.

A release is observed from outside: its document, page and sentences; the query shown and the statements run; what is
logged, warned and printed; the error, or the exit code of the command. Two neighbours may differ in the changed unit's
buckets alone, by one each.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import flexdp
from _support.bits import seed
from _support.command import flexdp as command
from _support.hostile import COLUMNS, Row
from flexdp import FlexdpError, Release
from flexdp.noise import DropNoise, TotalNoise

__all__ = ["ASKED", "CASES", "Observed", "Replay", "Source", "difference", "same_shape"]

SPEND: dict[str, Any] = {"epsilon": 20, "delta": "1e-3"}  # a bucket loses at most 2 records: most of them survive
KINDS = {"x": "number", "i": "integer", "t": "text", "b": "boolean", "d": "date", "s": "datetime", "z": "datetime"}
CASES: dict[str, dict[str, Any]] = {
    "width": {"column": "x", "width": 5},
    "texts": {"column": "t"},
    "units": {"column": "x", "width": 5, "unit": "u", "max_buckets_per_unit": 2},
    "exact": {"column": "x", "exact": True},
    "integers": {"column": "i", "width": 7},
    "bounded": {"column": "x", "width": 5, "bounds": (0, 120)},
    "months": {"column": "d", "width": "1 month"},
    "groups": {"column": "x", "width": 20, "by": "t"},
    "relative": {"column": "x", "relative": "0.05"},
    "hours": {"column": "s", "width": "1 hour"},
    "where": {"column": "x", "width": 5, "where": "i > 3 AND t <> 'w1'"},
    "edges": {"column": "x", "edges": [0, 18, 65, 120]},
    "columns": {"column": ["x", "i"], "separately": True, "width": {"x": 5, "i": 7}},
    "exact integers": {"column": "i", "exact": True},
    "zoned": {"column": "z", "width": "1 hour", "zone": "Europe/Berlin"},
    "largest": {"column": "x", "width": 5, "unit": "u", "per_unit": "max", "by": "g"},
    "flags": {"column": "b"},
    "certified": {"column": "x", "width": 5, "certify": "0.1"},
}
ASKED: dict[str, dict[str, Any]] = {
    "automatic": {"column": "x"},
    "asked": {"column": "i", "ask": ["max", "median", "count"], "delta": 0},
    "asked of units": {"column": "x", "ask": ["min", "q0.9"], "delta": 0, "unit": "u", "per_unit": "max"},
}


@dataclass(frozen=True)
class Source:
    """A kind of table: ``load`` writes rows and returns what ``release`` takes and the name to hide in statements."""

    name: str
    load: Callable[[Sequence[Row]], tuple[Any, str]]
    label: str = ""  # of the test
    holds: frozenset[str] = frozenset(COLUMNS)
    fits: Callable[[str, Any], bool] = lambda _column, _cell: True
    undeclared: bool = False  # columns have no types, and the parameters say them
    alone: str | None = None  # the one column of a source without names
    words: Callable[[Any], list[str]] | None = None  # how the command line names the source
    parameters: dict[str, Any] = field(default_factory=dict)
    hostile: Callable[[], list[tuple[str, Row]]] = list  # lines that only this format knows

    def takes(self, case: dict[str, Any]) -> bool:
        """Tell whether the source has the columns of a case, and types for them."""
        listed = case["column"] if isinstance(case["column"], list) else [case["column"]]
        others = [case[name] for name in ("by", "unit") if name in case] + (["i", "t"] if "where" in case else [])
        if self.alone is not None:
            return listed == [self.alone] and not others
        return {*listed, *others} <= self.holds

    def row(self, row: Row) -> Row:
        """The same record, without cells that the source cannot hold: those are missing."""
        if isinstance(row, bytes):
            return row
        kept = {name: row.get(name) for name in COLUMNS if name in self.holds}
        return {name: cell if cell is None or self.fits(name, cell) else None for name, cell in kept.items()}

    def asked(self, case: dict[str, Any]) -> dict[str, Any]:
        """The parameters of a case, with the kinds that the source does not declare."""
        given = {**SPEND, **case, **self.parameters}
        if self.undeclared or self.alone is not None:
            columns = case["column"]
            given["kind"] = {c: KINDS[c] for c in columns} if isinstance(columns, list) else KINDS[columns]
            if "by" in case:
                given["by_kind"] = "text"
            if "unit" in case:
                given["unit_kind"] = "integer"
        if self.alone is not None:
            given["column"] = None
        return given


@dataclass(frozen=True)
class Observed:
    """Everything that a release shows: documents that may differ in buckets, and the rest, which may not."""

    documents: list[dict[str, Any]]
    pages: list[str]
    heard: dict[str, Any]

    @property
    def bars(self) -> list[dict[Any, int]]:
        """The published counts of each release, by all that names a bucket."""
        return [_bars(document) for document in self.documents]


class Replay:
    """Releases of one source with the same noise and salt each time, observed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], folder: Path) -> None:
        self._patch, self._capfd, self._folder = monkeypatch, capfd, folder
        self._statements = _recorded(monkeypatch)

    def freeze(self, noise: str) -> None:
        """Let buckets lose the ``least``, the ``most``, or what the same ``bits`` give."""
        alone, together = _SAMPLERS[noise]
        self._patch.setattr(DropNoise, "sample", alone)
        self._patch.setattr(TotalNoise, "sample", together)

    def release(
        self, source: Source, table: tuple[Any, str], case: dict[str, Any], *, thorough: bool = True
    ) -> Observed:
        """Release through the library; ``thorough`` renders the page and shows the query, too."""
        given, own = table
        parameters = source.asked(case)
        shown = {name: value for name, value in parameters.items() if name not in ("epsilon", "delta", "certify")}
        heard: dict[str, Any] = {"query": _hidden(flexdp.query(given, **shown), own) if thorough else None}
        documents: list[dict[str, Any]] = []
        pages: list[str] = []
        seed(self._patch, 5)
        self._statements.clear()
        self._capfd.readouterr()
        with _listening() as (log, warned):
            try:
                found: Any = flexdp.release(given, **parameters)
            except FlexdpError as error:
                heard["error"] = (type(error).__name__, _hidden(str(error), own))
            else:
                each = [found] if isinstance(found, Release) else list(found.values())
                documents = [json.loads(one.to_json()) for one in each]
                pages = [text for one in each for text in _published(one, page=thorough)]
                again = [Release.from_json(one.to_json()) for one in each]
                assert pages == [text for one in again for text in _published(one, page=thorough)]
        heard |= {"log": log, "warnings": warned, "printed": tuple(self._capfd.readouterr())}
        heard["statements"] = [_hidden(statement, own) for statement in self._statements]
        return Observed(documents, pages, heard)

    def run(self, source: Source, table: tuple[Any, str], case: dict[str, Any]) -> Observed:
        """Release through the command line."""
        assert source.words is not None
        document = self._folder / "out.json"
        document.unlink(missing_ok=True)
        seed(self._patch, 5)
        self._capfd.readouterr()
        with _listening() as (log, warned):
            ended = command("release", *source.words(table[0]), *_words(source.asked(case)), "-o", document)
        heard = {"code": ended.returncode, "log": log, "warnings": warned, "printed": tuple(self._capfd.readouterr())}
        heard["errors"] = _hidden(ended.stderr, table[1])
        found = json.loads(document.read_text()) if document.exists() else None
        documents = [] if found is None else found.get("releases", [found])
        return Observed(documents, [ended.stdout], heard)


def difference(before: Observed, after: Observed, bound: int) -> list[dict[Any, int]]:
    """Check that two neighbours, the second with one unit more, differ as they may; return the buckets that moved."""
    for name, heard in before.heard.items():
        assert after.heard.get(name) == heard, f"{name}: {heard!r:.900} and {after.heard.get(name)!r:.900}"
    assert after.heard.keys() == before.heard.keys()
    assert len(after.documents) == len(before.documents)
    moved = []
    for one, other, smaller, larger in zip(before.documents, after.documents, before.bars, after.bars, strict=True):
        keys = smaller.keys() | larger.keys()
        changed = {key: larger.get(key, 0) - smaller.get(key, 0) for key in keys}
        changed = {key: change for key, change in changed.items() if change}
        assert len(changed) <= bound and set(changed.values()) <= {1}, f"{len(changed)} buckets moved"
        more = sum(changed.values())
        if one.get("certified"):  # counts also what vanishes from its bucket
            grown = other["certified"]["records_at_most"] - one["certified"]["records_at_most"]
            assert more <= grown <= bound, f"the certified number moved by {grown}"
            more = grown
        for report, again in zip(one.get("cap", []), other.get("cap", []), strict=True):  # a unit is of one sort
            grown = sorted(again[sort] - report[sort] for sort in ("touched", "others"))
            assert grown in ([0, 0], [0, 1]), f"the numbers of units on either side of the cap moved by {grown}"
            assert grown == [0, 1] or not changed, "a unit that moved a bucket is of neither sort"
        assert _without(one, changed) == _without(other, changed, more), "something else differs"
        assert _sorted(other)
        moved.append(changed)
    if not any(moved) and before.documents == after.documents:
        assert after.pages == before.pages, "a page or a sentence differs although the document does not"
    return moved


def same_shape(before: Observed, after: Observed) -> None:
    """Check what noise shared by choices leaves the same: the messages, the query, and the outline of the document."""
    assert {**after.heard, "statements": None} == {**before.heard, "statements": None}
    assert [_outline(document) for document in after.documents] == [_outline(document) for document in before.documents]


def _outline(document: Any) -> Any:
    """The names in a document and the types of its values; lists may be longer or shorter."""
    if isinstance(document, dict):
        chosen = ("bars", "auto", "buckets", "mechanism")  # these exist if the noisy number of records suffices
        return {name: _outline(value) for name, value in document.items() if name not in chosen}
    if isinstance(document, list):
        return sorted({json.dumps(_outline(value), sort_keys=True) for value in document})
    return None if document is None else type(document).__name__


def _bars(document: dict[str, Any]) -> dict[Any, int]:
    bars = document["bars"]
    names = [name for name in bars if name != "count"]
    keys = [json.dumps(row) for row in zip(*(bars[name] for name in names), strict=True)]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, bars["count"], strict=True))


def _without(document: dict[str, Any], keys: Any, more: int = 0) -> str:
    """The document, byte for byte, without some buckets and numbers of units; a certified number has ``more`` less."""
    kept = dict(document)
    if "cap" in kept:
        kept["cap"] = [{**report, "touched": None, "others": None} for report in kept["cap"]]
    places = [place for place, key in enumerate(_bars(document)) if key not in keys]
    kept["bars"] = {name: [column[place] for place in places] for name, column in document["bars"].items()}
    if document.get("certified"):
        certified = document["certified"]
        kept["certified"] = {**certified, "records_at_most": certified["records_at_most"] - more}
    return json.dumps(kept)


def _sorted(document: dict[str, Any]) -> bool:
    """Tell whether the buckets are in the order of groups and keys, each once: not in the order of an engine."""
    bars = document["bars"]
    place = "index" if "index" in bars else "key"
    groups = bars.get("group", [[]] * len(bars["count"]))
    rows = [(*group, key) for group, key in zip(groups, bars[place], strict=True)]
    return all(one < other for one, other in pairwise(rows))


def _published(release: Release, *, page: bool) -> list[str]:
    texts = [release.to_json(), repr(release), str(release.certificate()), *release.conditions]
    texts += [str(answer) for answer in release.answers()] if release.asked is not None else []
    if len(release.cells):
        texts += [str(release.support()), str(release.mode())]
    return [*texts, release.to_html()] if page else texts


def _least(noise: DropNoise, size: int) -> Any:  # noqa: ARG001
    return np.zeros(size, dtype=np.int64)


def _most(noise: DropNoise, size: int) -> Any:
    return np.full(size, noise.max_drop, dtype=np.int64)


_SAMPLERS: dict[str, Any] = {
    "least": (_least, lambda noise: _least(noise.noise, noise.buckets)),
    "most": (_most, lambda noise: _most(noise.noise, noise.buckets)),  # more than all may lose: nothing here counts it
    "bits": (DropNoise.sample, TotalNoise.sample),
}


def _words(parameters: dict[str, Any]) -> list[str]:
    """The options that say these parameters."""
    words = [parameters["column"]]
    for name, value in parameters.items():
        option = f"--{name.replace('_', '-')}"
        if name == "column":
            continue
        if name == "bounds":
            value = ":".join(map(str, value))
        elif name == "edges":
            value = ",".join(map(str, value))
        if value is True:
            words.append(option)
        else:
            words += [word for each in (value if isinstance(value, list) else [value]) for word in (option, str(each))]
    return words


def _hidden(text: str, own: str) -> str:
    """A text without the table's own name, which differs between the neighbours, and without random names."""
    if own:
        text = re.sub(rf"(?<!\w){re.escape(own)}(?!\w)", "THE TABLE", text)  # t12 is no part of Int128
    return re.sub(r"(flexdp\w*?_|flexdp-)[0-9a-f]{8,}", r"\1…", text)


@contextmanager
def _listening() -> Iterator[tuple[list[Any], list[Any]]]:
    """Collect what is logged and warned."""
    log: list[Any] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if not record.name.startswith("py4j"):  # which numbers its objects
                log.append((record.name, record.levelno, record.getMessage()))

    handler, root = Handler(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    warned: list[Any] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield log, warned
            warned += [(each.category.__name__, str(each.message)) for each in caught]
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


class _Recording:
    """A connection of DuckDB that notes its statements."""

    def __init__(self, con: Any, statements: list[str]) -> None:
        self._con, self._statements = con, statements

    def execute(self, statement: str, *rest: Any) -> Any:
        self._statements.append(statement)
        return self._con.execute(statement, *rest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._con, name)


def _recorded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note every statement that is run through a driver from now on."""
    statements: list[str] = []
    plain, lite = duckdb.connect, sqlite3.connect

    def traced(*args: Any, **options: Any) -> Any:
        con = lite(*args, **options)
        con.set_trace_callback(statements.append)
        return con

    monkeypatch.setattr(duckdb, "connect", lambda *args, **options: _Recording(plain(*args, **options), statements))
    monkeypatch.setattr(sqlite3, "connect", traced)
    for module, name, method in (
        ("psycopg", "Cursor", "execute"), ("pg8000.dbapi", "Cursor", "execute"),
        ("pymysql.cursors", "Cursor", "execute"), ("chdb.state.sqlitelike", "Cursor", "execute"),
        ("pyspark.sql", "SparkSession", "sql"),
    ):  # fmt: skip
        if module in sys.modules:
            _note(monkeypatch, getattr(sys.modules[module], name), method, statements)
    return statements


def _note(monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, statements: list[str]) -> None:
    original = getattr(owner, method)

    def noted(self: Any, statement: Any, *rest: Any, **options: Any) -> Any:
        statements.append(statement.decode() if isinstance(statement, bytes) else str(statement))
        return original(self, statement, *rest, **options)

    monkeypatch.setattr(owner, method, noted)
