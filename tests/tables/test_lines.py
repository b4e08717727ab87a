"""Physical lines of text files: no line is counted twice, joined or lost, wherever it lies.

The oracle is plain Python over the whole file; the code under test reads in blocks. FLEXDP_FUZZ_ROUNDS=100000 fuzzes
for longer than the tests do.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from _support.corpus import BYTES
from _support.private import private_bars, private_counts

import flexdp
from flexdp import DataError, InputError
from flexdp._release.api import prepare
from flexdp.tables.files import lines as lines_module
from flexdp.tables.files.lines import LONGEST_LINE, Lines, TextBatch, split_lines, text_stream

ROUNDS = int(os.environ.get("FLEXDP_FUZZ_ROUNDS", "400"))
CHUNK = 1 << 20


def lines_of(raw: bytes, longest: int, *, header: bool) -> list[bytes]:
    """The lines that count: whole, in UTF-8, not too long, not empty."""
    first, *rest = re.split(rb"[\r\n]", raw)
    kept = rest if header else [first.removeprefix(b"\xef\xbb\xbf") if len(first) <= longest else b"", *rest]
    return [line for line in kept if line and len(line) <= longest and is_text(line)]


def is_text(raw: bytes) -> bool:
    return "\ufffd" not in raw.decode(errors="replace") or b"\xef\xbf\xbd" in raw


def split(raw: bytes, chunk: int, longest: int, *, header: bool, reader: Any = None) -> list[bytes]:
    """The lines without their marks: '|', which no test writes, replaces line ends and blanked bytes."""
    out = []
    read_into = (reader or io.BytesIO(raw)).readinto
    for data, offsets in split_lines(read_into, b"|", skip_first=header, chunk=chunk, longest=longest):
        assert offsets[0] == 0
        assert offsets[-1] == len(data)
        whole = data.tobytes()
        for start, end in zip(offsets.tolist(), offsets.tolist()[1:], strict=False):
            assert whole[end - 1 : end] == b"|", "every line ends with the mark"
            out.append(whole[start:end].strip(b"|"))
    return [line for line in out if line]


@pytest.mark.parametrize("header", [True, False])
def test_hostile_bytes_at_every_offset_around_small_buffers(header: bool) -> None:
    base = b"h,k\n1,a\n22,bb\r\n333,c\n"
    for hostile in BYTES:
        for at in range(len(base) + 1):
            raw = base[:at] + hostile + base[at:]
            wanted = lines_of(raw, 9, header=header)
            for chunk in (1, 2, 3, 4, 5, 7, 8, 16, 64):
                assert split(raw, chunk, 9, header=header) == wanted, (raw, chunk)


def test_empty_lines_cost_the_engine_no_record() -> None:
    """A CRLF ends one line; the engine is not handed a second, empty one."""
    for raw in (b"1,a\r\n22,bb\r\n", b"1,a\n\n\n22,bb\n", b"1,a\r\n\r\n22,bb"):
        ((data, offsets),) = split_lines(io.BytesIO(raw + b"\n").readinto, b"|", skip_first=False)
        cells = [data.tobytes()[a:b].rstrip(b"|") for a, b in pairwise(offsets.tolist())]
        assert cells == [b"1,a", b"22,bb"]


class Trickle(io.BytesIO):
    """Returns fewer bytes than requested, as a pipe does."""

    def __init__(self, raw: bytes, rng: random.Random) -> None:
        super().__init__(raw)
        self._rng = rng

    def readinto(self, buffer: Any) -> int:
        return super().readinto(memoryview(buffer)[: self._rng.randint(1, len(buffer))])


def test_random_bytes_in_blocks_of_any_size() -> None:
    rng = random.Random(11)
    for _ in range(ROUNDS):
        raw = b"".join(rng.choices(BYTES, k=rng.randint(0, 40)))
        header, chunk, longest = rng.random() < 0.5, rng.randint(1, 30), rng.randint(0, 12)
        found = split(raw, chunk, longest, header=header, reader=Trickle(raw, rng))
        assert found == lines_of(raw, longest, header=header), (raw, chunk, longest, header)


def test_a_splitter_that_breaks_lines_at_blocks_is_noticed() -> None:
    def broken(raw: bytes, chunk: int) -> list[bytes]:
        blocks = [raw[i : i + chunk] for i in range(0, len(raw), chunk)]
        return [line for block in blocks for line in lines_of(block, 9, header=False)]

    raw = b"1,a\n22,bb\r\n333,c\n"
    assert broken(raw, 64) == lines_of(raw, 9, header=False)
    assert any(broken(raw, chunk) != lines_of(raw, 9, header=False) for chunk in (3, 5, 8))


def test_one_more_record_in_front_moves_its_own_bucket_only(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    calm = b"37.50000\r\n" * 3_300_000
    path.write_bytes(b"x\r\n" + calm)
    assert private_counts(path, "x", width=5) == {37.5: 3_300_000}
    path.write_bytes(b"x\r\n9.5000\r\n" + calm)
    assert private_counts(path, "x", width=5) == {7.5: 1, 37.5: 3_300_000}


ENDS = [b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b"\r\r\n", b"\n\r"]


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_whole_files_around_the_real_buffers(tmp_path: Path, form: str, packed: bool) -> None:
    """A hostile line, or line end, at every offset around the ends of the first buffers."""
    rng = random.Random(f"{form}{packed}")
    head = b"x,y\n" if form == "csv" else b""
    for _ in range(max(6, ROUNDS // 60)):
        ends = rng.choice(ENDS)
        filler = b"t" * rng.randint(1, 3000)
        rows = [b"%d,%s" % (i, filler) if form == "csv" else b'{"x": %d, "t": "%s"}' % (i, filler) for i in range(40)]
        block = ends.join(rows) + ends
        boundary = CHUNK * rng.choice([1, 2]) + rng.randint(-6, 6)
        body = block * (boundary // len(block))
        body += rows[0][:1] * (boundary - len(head) - len(body) - rng.randint(0, 3))
        raw = head + body + rng.choice([*BYTES, *ENDS]) + rng.choice(ENDS) + block * 3
        path = tmp_path / f"t.{form}{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(raw, 1) if packed else raw)
        wanted: Counter[int] = Counter()
        for line in lines_of(raw, LONGEST_LINE, header=form == "csv"):
            cell = line.split(b",")[0] if form == "csv" else member(line)
            if re.fullmatch(rb"[ \t]*[+-]?[0-9]{1,37}(\.0*)?[ \t]*", cell):
                wanted[int(cell.split(b".")[0])] += 1
        assert private_counts(path, "x", kind="integer") == wanted


def member(line: bytes) -> bytes:
    try:
        found = json.loads(line)
    except ValueError:
        return b""
    return str(found.get("x")).encode() if isinstance(found, dict) else b""


@pytest.mark.parametrize("lead", [0, 1, 5, CHUNK - 3, CHUNK, CHUNK + 1])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_length_of_a_line_is_limited_by_itself_alone(tmp_path: Path, lead: int, end: bytes) -> None:
    path = tmp_path / "long.csv"
    before = b"7,\n" * (lead // 3) + b"," * (lead % 3) + b"\n"
    for length, counted in ((LONGEST_LINE, 1), (LONGEST_LINE + 1, 0)):
        path.write_bytes(b"x,y\n" + before + b"5," + b"z" * (length - 2) + (end + b"6," if end else b""))
        found = private_counts(path, "x", kind="integer")
        assert (found.get(5, 0), found.get(6, 0), found.get(7, 0)) == (counted, bool(end), lead // 3)


def test_the_last_cell_of_a_line_is_whole(tmp_path: Path) -> None:
    for delimiter in (",", ";", "\t", "|", "\x1f", "¦", "→"):
        path = tmp_path / "t.csv"
        rows = [["a", "b"], ["x ", "7 "], ["", "8"], ['"q', '""9"'], ["9"], ["é", "é"], ["\x1f", "z"]]
        path.write_text("\r\n".join(delimiter.join(row) for row in rows), encoding="utf-8")
        found = private_counts(path, "b", kind="text", delimiter=delimiter)
        assert found == {"7 ": 1, "8": 1, "é": 1} | ({} if delimiter == "\x1f" else {"z": 1})


def test_a_byte_order_mark_before_the_first_line(tmp_path: Path) -> None:
    for name, raw in (("b.csv", b"x,y\n5,1\n"), ("b.jsonl", b'{"x": 5}\n')):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + raw)
        assert private_counts(tmp_path / name, "x", kind="integer") == {5: 1}


def test_a_name_is_taken_as_the_text_that_it_is(tmp_path: Path) -> None:
    class Strange(str):
        __slots__ = ()

        def __hash__(self) -> int:
            raise ValueError

    paths = [tmp_path / name for name in ("t.csv", "u.csv")]
    for path in paths:
        path.write_text("x,y\n1,2\n")
    request = prepare(paths, "x", by=Strange("y"), kind="integer")
    assert [part.tolist() for part in private_bars(request).parts] == [["2"], [1]]


def test_files_that_are_laid_out_differently_and_one_that_is_counted_twice(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("y;x\n2;1\n4;5\n")
    (tmp_path / "c.csv").write_text("x,y\n9,9")
    pattern = str(tmp_path / "*.csv")
    assert private_counts(pattern, "x", kind="integer") == {1: 2, 3: 1, 5: 1, 9: 1}
    request = prepare(pattern, "x", kind="integer", exact=True)
    shown = request.query()
    assert shown.count("read_csv") == 2, "files that are laid out alike are read together"
    assert dict(duckdb.sql(shown).fetchall()) == {"1": 2, "3": 1, "5": 1, "9": 1}
    assert [private_bars(request).counts.sum() for _ in range(2)] == [5, 5], "a request can be run again"


# Standard input


def run_flexdp(arguments: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [
        sys.executable,
        "-m",
        "flexdp.cli",
        "release",
        *arguments,
        "--epsilon",
        "20",
        "--delta",
        "1e-2",
        "--json",
    ]
    return subprocess.run(command, capture_output=True, check=False, **options)


def keys(out: subprocess.CompletedProcess[bytes]) -> set[str]:
    assert out.returncode == 0, out.stderr
    return set(json.loads(out.stdout)["bars"]["key"])


def test_standard_input_beside_files_publishes_no_header(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("x\n" + f"{name}\n" * 50)
    named = ["x", "--kind", "text", "--file", str(tmp_path / "a.csv"), "--file", str(tmp_path / "b.csv")]
    piped = b"x\r\n" + b"p\r\n" * 50
    assert keys(run_flexdp(["-", *named], input=piped)) == {"a", "b", "p"}
    (tmp_path / "p.txt").write_bytes(piped)
    with (tmp_path / "p.txt").open("rb") as stream:  # a file can be reread from its start, a pipe cannot
        assert keys(run_flexdp(["-", *named], stdin=stream)) == {"a", "b", "p"}
    assert keys(run_flexdp(["-", "x", "--kind", "text"], input=piped)) == {"p"}


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_standard_input_that_is_closed_is_refused(form: str) -> None:
    command = [sys.executable, "-m", "flexdp", "release", "-", "x", "--format", form, "-e", "1", "-d", "1e-6"]
    out = subprocess.run(["sh", "-c", '"$@" <&-', "sh", *command], capture_output=True, text=True, check=False)
    assert out.returncode == 2
    assert out.stderr.count("\n") == 1
    assert "nothing is piped" in out.stderr


def test_a_header_and_blanked_lines_are_no_values_with_any_delimiter(tmp_path: Path) -> None:
    for delimiter in (",", " ", "§", "😀"):
        path = tmp_path / "t.csv"
        mark = delimiter.encode()
        rows = [
            b"x" + mark + b"name",
            b"a" + mark + b"1",
            b"\xff\xff" + mark + b"1",
            b"q" * (LONGEST_LINE + 1),
            b"",
            b"b",
        ]
        for end in (b"\n", b"\r\n", b"\r"):
            path.write_bytes(end.join(rows))
            assert private_counts(str(path), "x", kind="text", delimiter=delimiter) == {"a": 1, "b": 1}


def test_ctrl_c_ends_waiting_for_standard_input() -> None:
    command = [sys.executable, "-m", "flexdp.cli", "release", "-", "x", "--epsilon", "1", "--delta", "1e-6"]
    with subprocess.Popen(
        [*command, "--width", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"x\n" + b"1\n" * (CHUNK // 2))
        process.stdin.flush()  # more than a pipe holds: when this returns, the lines are being read
        process.send_signal(signal.SIGINT)
        process.wait()
        assert process.returncode == 130
        assert process.stdout is not None
        assert process.stdout.read() == b""


def test_a_byte_order_mark_within_a_file_is_text(tmp_path: Path) -> None:
    """Standard input, whose header was consumed before, keeps a byte order mark in its first record, as a file does."""
    raw = "x,y\n\ufeffp,q\n" + "\ufeffp,q\n" * 50
    (tmp_path / "t.csv").write_text(raw, encoding="utf-8")
    assert keys(run_flexdp([str(tmp_path / "t.csv"), "x", "--kind", "text"])) == {"\ufeffp"}
    assert keys(run_flexdp(["-", "x", "--kind", "text"], input=raw.encode())) == {"\ufeffp"}
    batches = list(split_lines(io.BytesIO("\ufeffp\n".encode()).readinto, b",", skip_first=False, begun=True))
    assert batches[0].data.tobytes().decode() == "\ufeffp,"


# gzip


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_gzip_file_fails_alike_wherever_it_is_cut_off(tmp_path: Path, form: str) -> None:
    raw = b"x\n" + b"5\n7\n" * 40 if form == "csv" else b'{"x": 5}\n' * 40
    whole = gzip.compress(raw)
    path = tmp_path / f"t.{form}.gz"
    path.write_bytes(whole)
    assert sum(private_counts(path, "x", kind="integer").values()) in (80, 40)
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError):
            private_counts(path, "x", kind="integer")


@pytest.mark.parametrize("records", [3, CHUNK])
def test_a_damaged_gzip_file_fails_alike_whatever_its_size(tmp_path: Path, records: int) -> None:
    whole = gzip.compress(b"x\n" + b"5\n" * records, 1)
    path = tmp_path / "t.csv.gz"
    for damaged in (
        whole + whole[:1],
        whole + whole[:9],
        whole + b"more",
        whole[:-8] + bytes(8),
        whole[:2] + b"\xff" + whole[3:],
    ):
        path.write_bytes(damaged)
        with pytest.raises(DataError):
            private_counts(path, "x", kind="integer")


def test_what_is_no_gzip_is_refused_by_its_header(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(b"x\n5\n")
    with pytest.raises(InputError, match="text file"):
        private_counts(tmp_path / "t.csv.gz", "x")


# Missing headers


def test_no_cell_is_suggested_as_a_name(tmp_path: Path) -> None:
    path = tmp_path / "headless.csv"
    path.write_text("anne,Springfield,37\nbob,Shelbyville,44\n")
    for asked in ("anna", "ANNE", "springfield", "38"):
        with pytest.raises(InputError, match="no column named") as refused:
            flexdp.query(path, asked)
        told = str(refused.value).replace(asked, "")
        assert not any(cell in told for cell in ("anne", "Springfield", "37"))
    frame = pa.table({"age": [1.0]})
    with pytest.raises(InputError, match="Did you mean 'age'"):
        flexdp.query(frame, "agee")


# The Arrow stream


@pytest.fixture(autouse=True)
def _nothing_is_held() -> Iterator[None]:
    yield
    assert not lines_module._held
    assert not lines_module._streams


def batches() -> Iterator[TextBatch]:
    yield TextBatch(np.frombuffer(b"abcd\xc3\xa9", np.uint8), np.array([0, 1, 1, 4, 6], np.int32))
    yield TextBatch(np.empty(0, np.uint8), np.array([0], np.int32))
    yield TextBatch(np.frombuffer(b"a longer text than fits a pointer", np.uint8), np.array([0, 33], np.int32))


class Source:
    def __init__(self, begin: Any) -> None:
        self._begin = begin

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return text_stream("t", self._begin)


def test_two_readers_see_the_same_texts() -> None:
    wanted = ["a", "", "bcd", "é", "a longer text than fits a pointer"]
    assert pa.RecordBatchReader.from_stream(Source(batches)).read_all().to_pydict() == {"t": wanted}
    with duckdb.connect() as con:
        con.register("s", Source(batches))
        assert [row[0] for row in con.execute("SELECT t FROM s").fetchall()] == wanted
        con.unregister("s")


def test_arrays_outlive_their_stream_and_their_parents() -> None:
    reader = pa.RecordBatchReader.from_stream(Source(batches))
    first = reader.read_next_batch().column(0)
    del reader
    assert first.to_pylist() == ["a", "", "bcd", "é"]


def test_a_stream_that_nobody_reads_or_that_fails_leaves_nothing() -> None:
    def failing() -> Iterator[TextBatch]:
        yield from batches()
        raise ValueError("SECRET")

    text_stream("t", batches)
    with duckdb.connect() as con:
        con.register("s", Source(failing))
        with pytest.raises(duckdb.Error, match="could not be read") as failure:
            con.execute("SELECT count(*) FROM s").fetchall()
        con.unregister("s")
    assert "SECRET" not in str(failure.value)


def test_lines_stop_when_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    lines = Lines([str(tmp_path / "a.csv")], b",", header=True)
    lines.stopped.set()
    with duckdb.connect() as con:
        con.register("lines", lines)
        with pytest.raises(duckdb.Error, match="could not be read"):
            con.execute("SELECT count(*) FROM lines").fetchall()
        con.unregister("lines")
