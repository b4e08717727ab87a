"""Files that are not UTF-8: every line is read as Python decodes it, and a strange byte damages its own line only."""

from __future__ import annotations

import codecs
import gzip
import io
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from _support.command import flexdp as command
from _support.corpus import UNDECODABLE
from _support.private import private_counts

import flexdp
from flexdp import InputError
from flexdp.tables.files.bytes import _KNOWN, WIDE, check_encoding, transcoded

SINGLE = sorted(_KNOWN - set(WIDE))


@pytest.mark.parametrize("encoding", SINGLE)
def test_a_byte_is_a_character_and_ascii_stays(encoding: str) -> None:
    """So line ends, quotes and delimiters are found in bytes, and no byte can swallow the next."""
    assert bytes(range(128)).decode(encoding) == "".join(map(chr, range(128)))
    for byte in range(128, 256):
        text = bytes([byte, 10]).decode(encoding, "replace")
        assert len(text) == 2 and text[1] == "\n"


@pytest.mark.parametrize("encoding", [*WIDE, "cp1252", "iso8859-1", "cp437"])
def test_blocks_of_any_size_give_what_python_decodes(encoding: str) -> None:
    rng = random.Random(encoding)
    text = "".join(rng.choices('aé€\n\r,;"0𝄞' if encoding in WIDE else "aé\n\r,;0", k=3000))
    raw = text.encode(encoding)
    for size in (1, 2, 3, 5, 64, 5000):
        source = io.BytesIO(raw)
        read, out = transcoded(lambda block, s=source, n=size: s.readinto(block[:n]), encoding), b""  # type: ignore[misc]
        buffer = memoryview(bytearray(7))
        while got := read(buffer):
            out += bytes(buffer[:got])
        assert out.decode() == text


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("encoding", UNDECODABLE)
def test_what_cannot_be_decoded_is_not_counted_and_moves_nothing_else(
    tmp_path: Path, encoding: str, packed: bool
) -> None:
    plain = encoding if encoding != "utf-16" else "utf-16-le"
    lines = [f"é{i % 5},{i % 9}\n".encode(plain) for i in range(400)]
    head = (codecs.BOM_UTF16_LE if encoding == "utf-16" else b"") + "näme,x\n".encode(plain)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    counts = []
    for place in (None, 0, 200, 400):
        body = lines if place is None else [*lines[:place], UNDECODABLE[encoding], *lines[place:]]
        raw = head + b"".join(body)
        path.write_bytes(gzip.compress(raw) if packed else raw)
        counts.append(private_counts(path, "x", kind="integer", encoding=encoding))
    assert counts == [dict(Counter(i % 9 for i in range(400)))] * 4
    assert private_counts(path, "näme", kind="text", encoding=encoding) == Counter(f"é{i % 5}" for i in range(400))


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_json_in_other_encodings(tmp_path: Path, form: str) -> None:
    text = '{"ä": "é"}\n{"ä": 5}\n' if form == "jsonl" else '[{"ä": "é"}, {"ä": 5}]'
    for encoding in ("utf-16", "cp1252"):
        (tmp_path / f"t.{form}").write_text(text, encoding=encoding)
        assert private_counts(tmp_path / f"t.{form}", "ä", kind="text", encoding=encoding) == {"é": 1, "5": 1}


@pytest.mark.parametrize("name", ["nope", "", "a\0b", 7])
def test_unknown_encodings_are_called_unknown(tmp_path: Path, name: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n")
    with pytest.raises(
        InputError,
        match=r"^encoding: unknown encoding .*\. Name that of the file, for example cp1252, latin-1 or utf-16\.$",
    ):
        flexdp.query(path, "x", width=1, encoding=name)


@pytest.mark.parametrize("name", ["shift_jis", "utf-7", "iso2022_jp", "cp037", "utf-32", "rot13"])
def test_encodings_in_which_a_byte_could_reach_further_are_refused(tmp_path: Path, name: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n")
    with pytest.raises(InputError, match="encoding must be one in which a strange byte damages its own line only"):
        flexdp.query(path, "x", width=1, encoding=name)


def test_names_of_encodings_are_those_of_python(tmp_path: Path) -> None:
    assert [check_encoding(name) for name in ("UTF-8", "utf_8_sig", "ascii", None)] == [None] * 4
    assert [check_encoding(name) for name in ("Windows-1252", "latin1", "UTF16")] == ["cp1252", "iso8859-1", "utf-16"]
    path = tmp_path / "t.parquet"
    path.touch()
    with pytest.raises(InputError, match="encoding applies to CSV and JSON files only"):
        flexdp.query(path, "x", width=1, encoding="cp1252")


def test_a_header_in_another_encoding_names_the_option(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for encoding in ("cp1252", "utf-16"):
        path.write_text("näme,x\n", encoding=encoding)
        with pytest.raises(InputError, match=r"the header line of .* is not UTF-8\. Set encoding, for example"):
            flexdp.query(path, "x", width=1)
    out = command("check", path, "--columns", "--encoding", "utf-16")
    assert out.stdout.splitlines() == ["näme\tundeclared", "x\tundeclared"], out


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (b"PAR1\x15\x04", "is a Parquet file, not CSV. Set format='parquet'."),
        (b"ARROW1\0\0\xff", "is an Arrow file, not CSV. Set format='arrow'."),
        (b"PK\x03\x04\x14", "is an Excel workbook or another ZIP archive, not CSV. Set format='xlsx', or unzip it."),
    ],
)
def test_files_of_other_formats_are_told_by_their_first_bytes(tmp_path: Path, first: bytes, words: str) -> None:
    path = tmp_path / "export.csv"
    path.write_bytes(first + b"\xff" * 100)
    with pytest.raises(InputError) as refusal:
        flexdp.release(path, "age", epsilon=1, delta="1e-6", kind="integer")
    assert re.fullmatch(rf"format: '[^']*export\.csv' {re.escape(words)}", str(refusal.value))


def test_columns_may_be_called_like_the_first_bytes_of_other_formats(tmp_path: Path) -> None:
    path = tmp_path / "parities.csv"
    path.write_text("PAR1\tPAR2\n1\t2\n")
    assert command("check", path, "--columns").stdout.splitlines() == ["PAR1\tundeclared", "PAR2\tundeclared"]
    path.write_text("ARROW1,PAR1\n1,2\n")
    assert private_counts(path, "ARROW1", kind="integer") == {1: 1}
