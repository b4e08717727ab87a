"""One generator of hostile records: the whole corpus first, then as many more as are wanted, drawn from a seed."""

from __future__ import annotations

import datetime as dt
import math
import random
import struct
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any, TypeAlias

from _support import corpus

__all__ = ["COLUMNS", "Row", "calm", "csv_line", "elements", "json_lines", "lines", "records", "sheet_rows", "unit_of"]

Row: TypeAlias = "dict[str, Any] | bytes"  # typed cells by column, or a line of a text file as it stands
COLUMNS = {
    "t": "text", "x": "double", "i": "bigint", "b": "boolean", "d": "date", "s": "datetime", "z": "zoned", "g": "text",
    "u": "bigint",
}  # fmt: skip
_ODD = "aAée\u0301ßıİ日\U0001f642\0\x1f\x7f\x85\u200b\u202e\u2028\ufeff\ufffd'\"\\`%$;,-/*()[]{}<>&= \t07."
_CORPUS: dict[str, list[Any]] = {
    "x": [*corpus.NUMBERS, *corpus.MORE_NUMBERS],
    "i": [*corpus.INTEGERS, *corpus.MORE_INTEGERS],
    "t": corpus.TEXTS,
    "b": corpus.BOOLEANS,
    "d": corpus.DATES,
    "s": corpus.DATETIMES,
    "z": corpus.ZONED,
}
_NEW_UNIT = 10**9  # no calm record has it


def calm(rows: int) -> list[Row]:
    """A table in which nothing is strange: two records a unit, and several in most buckets."""
    start = dt.datetime(2024, 1, 1)
    return [
        {
            "t": f"w{i % 5}",
            "x": float(i * 7 % 90),
            "i": i * 5 % 60,
            "b": i % 3 == 0,
            "d": dt.date(2024, 1 + i % 9, 1 + i % 28),
            "s": start + dt.timedelta(minutes=37 * (i % 50)),
            "z": (start + dt.timedelta(minutes=41 * (i % 50))).replace(tzinfo=dt.UTC),
            "g": "ab"[i % 2],
            "u": i // 2,
        }
        for i in range(rows)
    ]


def records(seed: int, more: int) -> list[dict[str, Any]]:
    """Records that are strange in every column: each cell of the corpus is in one of them."""
    rng = random.Random(seed)
    longest = max(map(len, _CORPUS.values()))
    stored = [{name: cells[row % len(cells)] for name, cells in _CORPUS.items()} for row in range(longest)]
    drawn = list(islice(_drawn(rng), more))
    return [
        {**row, "g": rng.choice(["a", "b", "c", None, row["t"]]), "u": _NEW_UNIT + place}
        for place, row in enumerate([*stored, *drawn])
    ]


def _drawn(rng: random.Random) -> Iterator[dict[str, Any]]:
    for _ in count():
        micros = rng.randrange(-62135596800 * 10**6, 253402300800 * 10**6)
        near = rng.choice([-5.0, 0.0, 5.0, 18.0, 65.0, 115.0, 120.0])
        yield {
            "t": "".join(rng.choices(_ODD, k=rng.randrange(6))),
            "x": rng.choice(
                [
                    struct.unpack("<d", rng.randbytes(8))[0],
                    math.nextafter(near, rng.choice([-math.inf, math.inf])),
                    near,
                    rng.uniform(-200, 200),
                ]
            ),
            "i": max(-(2**63), min(2**63 - 1, rng.choice([-1, 1]) * 2 ** rng.randrange(64) + rng.randrange(-1, 2))),
            "b": rng.choice([True, False, None]),
            "d": dt.date.fromordinal(rng.randrange(1, 3652060)),
            "s": dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros),
            "z": dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=micros),
        }


def unit_of(row: dict[str, Any], others: list[dict[str, Any]]) -> list[Row]:
    """A unit with several strange records, in more buckets than it may count in."""
    return [row, *({**other, "u": row["u"]} for other in others)]


def lines(seed: int, more: int) -> list[tuple[str, Row]]:
    """Lines of a CSV file whose first columns are a text and a number; each is one physical line."""
    rng = random.Random(seed)
    stored = [(name, raw) for name, raw in corpus.CSV_LINES.items() if b"\r" not in raw]
    stored += [
        (f"cell {cell[:20]!r}", csv_line(["a", cell])) for cell in (*corpus.CELLS, *corpus.INFERRED, *corpus.WRITTEN)
    ]
    inside = [octets for octets in corpus.BYTES if not {10, 13} & set(octets)]
    drawn = (b"".join(rng.choices([*inside, b"a,7,", b'","', b"5"], k=rng.randrange(1, 12))) + b"\n" for _ in count())
    return [*stored, *((f"drawn {place}", raw) for place, raw in enumerate(islice(drawn, more)))]


def csv_line(cells: Iterable[str]) -> bytes:
    """A line of a CSV file, every cell in quotes."""
    quoted = ('"' + cell.replace('"', '""') + '"' for cell in cells)
    return ",".join(quoted).encode("utf-8", "surrogatepass") + b"\n"


def json_lines(seed: int, more: int) -> list[tuple[str, Row]]:
    """Lines of a JSON-lines file with the keys x and t; each is one physical line."""
    rng = random.Random(seed)
    stored: list[tuple[str, Row]] = [
        (name, raw.replace(b"age", b"x").replace(b"\\u0061ge", b"\\u0078")) for name, raw in corpus.JSON_LINES.items()
    ]
    parts = [b"{", b"}", b"[", b"]", b'"x":', b'"t":', b'"', b"\\", b"7", b"1e5", b",", b"null", b"\xff", b"\x00", b" "]
    drawn = (b"".join(rng.choices(parts, k=rng.randrange(1, 12))) + b"\n" for _ in count())
    return [*stored, *((f"drawn {place}", raw) for place, raw in enumerate(islice(drawn, more)))]


def elements() -> list[tuple[str, Row]]:
    """Elements of a JSON array with the key x."""
    return [(f"element {text[:20]!r}", text.encode()) for text in corpus.JSON_ELEMENTS]


def sheet_rows() -> list[tuple[str, Row]]:
    """Rows of an Excel sheet with a strange number, of a unit that has no other."""
    return [(f"sheet {str(cell)[:20]!r}", {"t": "a", "x": cell, "g": "a", "u": 10**9}) for cell in corpus.SHEET_CELLS]
