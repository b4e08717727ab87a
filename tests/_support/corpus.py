"""The corpus: every record, cell and line that ever broke a count, or was built to, in one place.

Whatever a fault turns up is added here, beside its like; :mod:`_support.hostile` draws from all of it, always.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

# Numbers as doubles. NaN was bucket 0 on Spark without ANSI, and counted by Parquet statistics that ignore it; 1e300
# raised in FLOOR; an ulp below the upper bound fell past the last bucket; a small number below zero into the next one.
NUMBERS: list[float | None] = [
    math.nan, math.inf, -math.inf, 1e300, -1e300, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, -5e-324,
    -0.0, 2.2250738585072014e-308, 1e-310, 2.0**53, 2.0**53 * 5, -(2.0**63), 119.99999999999999, 120.00000000000001,
    -1e-300, 9007199254740993.0, None,
]  # fmt: skip
MORE_NUMBERS: list[float | None] = [
    0.1 + 0.2, 0.3, 4.999999999999999, 9.999999999999998, -2.5, -5.0, 1e-30, 1e39, 1e16, 2.0**51, 0.9500000000000001,
]  # fmt: skip
# Integers at the ends of 64 bits and where doubles lose them.
INTEGERS: list[int | None] = [2**63 - 1, -(2**63), 2**53 + 1, None, 0, -1]
MORE_INTEGERS: list[int | None] = [-(2**53) - 1, 2**62, -(2**62), 2**31, -(2**31) - 1, 9, 10**18]
# Texts that a collation, a normal form, a padding rule or a C string would merge or cut; that some dialect would run;
# that no page, terminal or CSV file should show as they are; around the limit of 65 536 bytes.
TEXTS: list[str | None] = [
    None, "a", "A", "a ", "a  ", " a", "", "\u00e9", "e\u0301", "ß", "ss", "ı", "İ", "日本", "o'brien", "back\\slash",
    "50%", "${x}", "`q`", 'say "no"', "x'; DROP TABLE t; --", "a\0", "a\0b", "\0", "\ufeffa", "a\u200b",
    "\u202egnihton",
    "\x1b[31mred\x07", "\x7f\x85", "<script>alert(1)</script>", "=1+1", "\U0001f642", "\U0010ffff", "\ufffd", "NULL",
    "nan", "[]", "{}", "x" * 65536, "x" * 65537, "é" * 32768 + "x", "x" * 400_000,
]  # fmt: skip
BOOLEANS: list[bool | None] = [None, True, False]
DATES: list[dt.date | None] = [
    None, dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(1899, 12, 31), dt.date(1900, 2, 28),
    dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2000, 2, 29), dt.date(2038, 1, 19), dt.date(2262, 4, 12),
    dt.date(2299, 12, 31), dt.date(9999, 12, 31),
]  # fmt: skip
# Around the starts of calendars and types, and in the hour that summer time leaves out or repeats.
DATETIMES: list[dt.datetime | None] = [
    None, dt.datetime(1, 1, 1), dt.datetime(1582, 10, 15, 12), dt.datetime(1677, 9, 21, 0, 12, 43),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(1970, 1, 1), dt.datetime(2024, 3, 10, 2, 30),
    dt.datetime(2024, 2, 29, 23, 59, 59, 1), dt.datetime(2024, 10, 27, 2, 30), dt.datetime(2262, 4, 11, 23, 47, 17),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
]  # fmt: skip
ZONED: list[dt.datetime | None] = [
    None, dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC), dt.datetime(2024, 3, 31, 0, 59, 59, 0, dt.UTC),
    dt.datetime(2024, 3, 31, 1, tzinfo=dt.UTC), dt.datetime(2024, 10, 27, 0, 59, 59, 0, dt.UTC),
    dt.datetime(2024, 10, 27, 1, tzinfo=dt.UTC), dt.datetime(1905, 1, 1, tzinfo=dt.UTC),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999, dt.UTC), dt.datetime(1, 1, 1, tzinfo=dt.UTC),
]  # fmt: skip

# Cells as text: TRY_CAST reads '1.5' as the integer 2 and '0x10' as 16, SQLite 'abc' as 0.0.
CELLS: list[str] = [
    "abc", "3.7", "0x10", "1_000", "1,000", "inf", "nan", "-Infinity", "1e400", "1e999999", "", " ", "\t7 ", "+7",
    "007",
    "7.", ".5", "٣", "7\u00a0", "9" * 400, "-" + "9" * 400, "1e-400", "true", "None", "NULL", "2020-01-01", "--5", "5-",
    "=1+1", "NaN", "1d", "1f", "\x00", "7\x00", "\ud800",
]  # fmt: skip
# Cells that change the type that a reader infers.
INFERRED: list[str] = [
    "", "n.a.", "A7", "7", "7.5", "-3", "1e5", "9007199254740993", "True", "2024-05-11", "99999999999999999999",
]  # fmt: skip
# Numbers as people write them, nearly.
WRITTEN: list[str] = [
    "", " ", "€", "-€-5", "€€5", "1.234,5,6", ",", ".", "1.", "\x00", "1\x00", "9" * 400, "1e99999", "5 € 6", "'",
]  # fmt: skip
# Objects in lists and in pandas columns of objects.
OBJECTS: list[Any] = [
    object(), [1], {"a": 1}, (), b"7", Decimal("sNaN"), Decimal("1e999999"), Decimal("3.5"), Fraction(7, 2), 10**400,
    -(10**40),
    True, np.float32(3.5), np.int8(7), np.nan, pd.NA, pd.NaT, dt.datetime(2020, 1, 1, 12), 3 + 0j, float,
    np.datetime64("NaT"),
    np.datetime64("2020-01-01T05"), dt.timedelta(1),
]  # fmt: skip

# Lines of a CSV file with the columns name and age. An unclosed quote took 1998 of 1999 records with it.
CSV_LINES: dict[str, bytes] = {
    "unclosed quote": b'"abc,5\n',
    "quote inside": b'a"b,5\n',
    "quotes doubled": b'"a""b",5\n',
    "quoted delimiter": b'"a,b",5\n',
    "only quotes": b'""""""""\n',
    "lone carriage return": b"a\rb,5\n",
    "windows line": b"a,5\r\n",
    "empty line": b"\n",
    "one cell": b"a\n",
    "many cells": b"," * 50_000 + b"\n",
    "not UTF-8": b"\xff\xfe\xff,5\n",
    "not UTF-8 in the cell": b"a,\xc3\n",
    "NUL": b"a\x00b,5\n",
    "unit separator": b"a\x1fb,5\n",
    "byte order mark": b"\xef\xbb\xbfa,5\n",
    "line of 5 MB": b"x" * 5_000_000 + b",5\n",
    "end of file character": b"\x1a,5\n",
    "comment": b"#x,5\n",
    "backslash": b"\\,5\n",
    "line separator": "a\u2028b,5\n".encode(),
    "text in a number": b"a,abc\n",
    "decimal in an integer": b"a,3.7\n",
    "hexadecimal": b"a,0x10\n",
    "infinity": b"a,inf\n",
    "huge": b"a,1e400\n",
    "400 digits": b"a," + b"9" * 400 + b"\n",
    "header again": b"name,age\n",
    "semicolons": b"a;5;6;7\n",
}
# Lines of a JSON-lines file with the key age.
JSON_LINES: dict[str, bytes] = {
    "deep nesting": b"[" * 200_000 + b"\n",
    "deep and closed": b'{"age":5,"b":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "list": b'{"age":[1,2]}\n',
    "object": b'{"age":{"a":1}}\n',
    "text": b'{"age":"7"}\n',
    "huge": b'{"age":1e999}\n',
    "30 digits": b'{"age":123456789012345678901234567890}\n',
    "twice": b'{"age":1,"age":2}\n',
    "cut off": b'{"age":\n',
    "NaN": b'{"age":NaN}\n',
    "escaped key": b'{"\\u0061ge":3}\n',
    "half a surrogate": b'{"age":"\\ud800"}\n',
    "true": b'{"age":true}\n',
    "null": b'{"age":null}\n',
    "absent": b'{"other":3}\n',
    "array": b'[{"age":3}]\n',
    "scalar": b"3\n",
    "empty line": b"\n",
    "no JSON": b"hello\n",
    "not UTF-8": b'{"age":"\xff"}\n',
    "NUL": b'{"age":"a\\u0000b"}\n',
}
# Elements of a JSON array with the key x.
JSON_ELEMENTS: list[str] = [
    '{"x": NaN}', '{"x": 1e999}', '{"x": }', "nonsense", '{"x": "\\ud800"}', '{"x": [5]}', "5", "null",
    '{"x": {"x": 5}}', '{"x": "' + "y" * 2_000_000 + '"}', '{"x": 5, "x": 6}', "", '{"x": \x00}', '"x"',
]  # fmt: skip
# Bytes around line ends, encodings and buffers.
BYTES: list[bytes] = [
    b"\n", b"\r", b"\r\n", b"\n\r", b"\r\r\n", b"\n\n", b"\r\n\r\n", b"a", b"7", b",", b'"', b"\xc3\xa9", b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\x00", b"\x1f", b"\x1a", b"\x0b", b"\x0c", b"\x85", b"toolongaline", b"",
]  # fmt: skip
# Cells of an Excel sheet, formatted as dates.
SHEET_CELLS: list[Any] = [1e308, -1e308, 99_999_999.5, "=1/0", "#REF!", "é" * 30_000, "_x0000_", 2**70]
# What cannot be decoded, by the encoding of a CSV file.
UNDECODABLE: dict[str, bytes] = {
    "cp1252": b"\x81,7\n",
    "utf-16-le": b"\x00\xd8" + ",7\n".encode("utf-16-le"),
    "utf-16": b"\x00\xdc" + ",7\n".encode("utf-16-le"),
    "utf-16-be": b"\xd8\x00" + ",7\n".encode("utf-16-be"),
}
# Bytes that SQLite takes for a text, by the encoding of the database.
SQLITE_BYTES: dict[str, tuple[str, ...]] = {
    "UTF-8": ("ff41", "fe"), "UTF-16le": ("00d8", "01d84100"), "UTF-16be": ("d800", "d8010041"),
}  # fmt: skip
# Days that DuckDB holds and Python does not.
ENGINE_DAYS: list[str | None] = [
    "infinity", "-infinity", "290000-01-01", "0001-01-01 (BC)", "9999-12-31", None,
]  # fmt: skip
