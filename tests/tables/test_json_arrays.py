"""JSON arrays: elements are found as a JSON parser finds them, in blocks of any size, and tested one by one."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from _support.command import flexdp as command
from _support.corpus import JSON_ELEMENTS
from _support.private import private_counts

import flexdp
from flexdp import DataError, InputError
from flexdp.tables.files.csv_json import ElementEnds
from flexdp.tables.files.lines import split_lines

TEXTS = ["", "a", '"', "\\", '\\"', "],", "{[", '\\\\"]', "é€", "\n", "x" * 30, "\\u0022", "},{"]


def value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(7 if depth < 3 else 4)
    if kind < 2:
        return "".join(rng.choices(TEXTS, k=rng.randint(0, 3)))
    if kind < 4:
        return rng.choice([0, 7, -1.5, True, None, 1e300])
    if kind == 4:
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {rng.choice(["x", "y", '"', "\\"]): value(rng, depth + 1) for _ in range(rng.randint(0, 3))}


def split(raw: bytes, chunk: int, ends: ElementEnds | None = None) -> list[bytes]:
    out, find = [], ends or ElementEnds()
    for data, offsets in split_lines(io.BytesIO(raw).readinto, b" ", skip_first=False, chunk=chunk, find_ends=find):
        whole = data.tobytes()
        out += [whole[a:b].strip() for a, b in zip(offsets.tolist(), offsets.tolist()[1:], strict=False)]
    return [element for element in out if element]


@pytest.mark.parametrize("indent", [None, 1])
def test_elements_are_those_of_a_parser(indent: int | None) -> None:
    rng = random.Random(f"elements {indent}")
    for _ in range(150):
        wanted = [value(rng) for _ in range(rng.randint(0, 6))]
        raw = json.dumps(wanted, indent=indent, ensure_ascii=rng.random() < 0.5).encode()
        for chunk in (1, 2, 3, 7, 16, 1000):
            assert [json.loads(element) for element in split(raw, chunk)] == wanted, (raw, chunk)


def test_a_splitter_that_forgets_the_escape_at_the_end_of_a_block_is_noticed() -> None:
    class Forgetful(ElementEnds):
        def __call__(self, data: Any) -> Any:
            self._escaped = False
            return super().__call__(data)

    raw = json.dumps([{"x": 'a"],["'}, {"x": 1}]).encode()

    assert len(split(raw, 1)) == 2
    assert len(split(raw, 1, Forgetful())) != 2


@pytest.mark.parametrize("place", [0, 150, 300])
def test_one_strange_element_moves_its_own_bucket_alone(tmp_path: Path, place: int) -> None:
    calm = [json.dumps({"x": i % 9, "t": '],["{'}) for i in range(300)]
    wanted = Counter(i % 9 for i in range(300))
    path = tmp_path / "t.json"
    for strange in JSON_ELEMENTS:
        path.write_text("[\n" + ",\n".join([*calm[:place], strange, *calm[place:]]) + "\n]\n")
        found = Counter(private_counts(path, "x", kind="integer"))
        found.subtract(wanted)
        assert sorted(set(found.values()) - {0}) in ([], [1]) and sum(found.values()) <= 1, strange


def test_bytes_that_are_not_text_are_contained(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'\xef\xbb\xbf[{"x": 1}, {"x": 2, "t": "\xff"}, {"x": 3}]')
    assert private_counts(path, "x", kind="integer") == {1: 1, 3: 1}


def test_files_that_break_off_or_are_packed(tmp_path: Path) -> None:
    raw = b'[{"x": 1}, {"x": 2}, {"x": 3'
    (tmp_path / "t.json").write_bytes(raw)
    assert private_counts(tmp_path / "t.json", "x", kind="integer") == {1: 1, 2: 1}
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(raw))
    assert private_counts(tmp_path / "t.json.gz", "x", kind="integer") == {1: 1, 2: 1}
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(raw)[:-9])
    with pytest.raises(DataError):
        private_counts(tmp_path / "t.json.gz", "x", kind="integer")
    (tmp_path / "t.json").write_bytes(b"[]")
    assert private_counts(tmp_path / "t.json", "x", kind="integer") == {}


@pytest.mark.parametrize("raw", [b"", b"  \n", b'{"x": 1}\n{"x": 2}\n', b"x,y\n", b'"[', b"\x1f\x8b"])
def test_what_does_not_begin_as_an_array_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"does not begin with a JSON array\. If it has one object a line"):
        flexdp.query(path, "x", width=1)


def test_numbers_are_numbers_and_texts_as_declared(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('[{"x": 1.5}, {"x": "2,5"}, {"x": "3.5"}, {"x": true}, {"x": [4.5]}]')
    assert private_counts(path, "x", kind="number") == {1.5: 1, 3.5: 1}
    assert private_counts(path, "x", kind="number", decimal=",") == {1.5: 1, 2.5: 1}
    assert private_counts(path, "x", kind="text", decimal=",") == {"1.5": 1, "2,5": 1, "3.5": 1, "true": 1}
    lines = tmp_path / "t.jsonl"
    lines.write_text('{"x": 1.5}\n{"x": "2,5"}\n')
    assert private_counts(lines, "x", kind="number", decimal=",") == {1.5: 1, 2.5: 1}


def test_the_query_that_is_shown_counts_the_same(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('[{"x": 1}, {"x": 2},\n {"x": 2}]')
    rows = duckdb.sql(flexdp.query(path, "x", kind="integer", width=1)).fetchall()
    assert sorted(count for _, count in rows) == [1, 2]


def test_the_command_line_reads_arrays(tmp_path: Path) -> None:
    path = tmp_path / "t.dump"
    path.write_text(json.dumps([{"x": i % 3} for i in range(600)], indent=1))
    out = command(
        "release",
        path,
        "x",
        "--format",
        "json",
        "--kind",
        "integer",
        "--width",
        "1",
        "-e",
        "1",
        "-d",
        "1e-6",
        "-s",
        "max",
    )
    assert out.returncode == 0 and "Highest x: 2 or more. At most 27 " in out.stdout, out
