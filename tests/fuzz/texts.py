"""CSV files, JSON lines and JSON arrays, through ``release`` and ``check``.

The first byte chooses the format, the second one the parameters, the rest is the file. What a file's records hold must
not decide how a release ends: the same header with no records must end alike.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from _support.outcomes import PARAMETERS, SPEND

import flexdp
from fuzz.oracles import Outcome, demand, outcome_of
from fuzz.places import folder

__all__ = ["WORDS", "run", "seeds"]

FORMATS = ("csv", "jsonl", "json")
GZIP = b"\x1f\x8b"


def run(data: bytes) -> None:
    """Release and check a file."""
    if len(data) < 2:
        return
    form, place, content = FORMATS[data[0] % len(FORMATS)], data[1] % len(PARAMETERS), data[2:]
    found = outcome(form, place, content)
    wide = "utf-16" in str(PARAMETERS[place].get("encoding"))  # where lines end is not seen in the bytes
    if content.startswith(GZIP) or (form == "json" and found[0][0]) or wide:
        kinds = {kind for kind, _ in found[:2]}
        demand(kinds <= {"", "DataError", "InputError"}, f"damage to a file ends in {kinds}")
        return
    demand(found == alike(form, place, schema(form, content)), f"a record decides how a release ends: {found}")


def schema(form: str, content: bytes) -> bytes:
    """What a file declares: the header line of a CSV file, and nothing of JSON."""
    if form != "csv":
        return b"[]" if form == "json" else b""
    ends = [place for place in (content.find(b"\n"), content.find(b"\r")) if place >= 0]
    return content[: min(ends) + 1] if ends else content


@lru_cache(maxsize=5000)
def alike(form: str, place: int, content: bytes) -> tuple[Outcome, Outcome, str]:
    return outcome(form, place, content)


def outcome(form: str, place: int, content: bytes) -> tuple[Outcome, Outcome, str]:
    """How a release and a check of a file end, and what warnings say."""
    path = folder("texts") / f"t.{form}"
    path.write_bytes(content)
    parameters = dict(PARAMETERS[place])
    column = parameters.pop("column", "x")
    if form != "csv":
        parameters.pop("delimiter", None)
    budget = {**SPEND, "delta": 0} if parameters.get("ask") and "width" not in parameters else SPEND
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        released, ended = outcome_of(lambda: flexdp.release(path, column, **budget, **parameters), heard=True)
    if released is not None:
        demand(type(released).from_json(released.to_json()).to_json() == released.to_json(), "its own JSON is refused")
    kept = ("kind", "zone", "delimiter", "encoding", "decimal", "thousands", "currency", "date_format")
    checking = {name: parameters[name] for name in kept if name in parameters}
    _, checked = outcome_of(lambda: flexdp.check(path, column, **checking))
    return ended, checked, " ".join(str(each.message) for each in said)


ROWS: tuple[dict[str, Any], ...] = tuple(
    {"x": x, "g": g, "u": u}
    for x, g, u in [
        ("1", "a", "1"), ("2.5", "b", "2"), ("", "a", ""), ("nan", "", "x"), ("1e300", "a", "1"), ("-0.0", "a,b", "2"),
        ("2024-02-29", "é", "3"), ("2024-02-29T23:59:59+01:00", 'say "x"', "3"), ("1.234,50 €", "c", "4"),
        ("99999999999999999999", "a", "18446744073709551616"), ("true", "b", "1"), ("CANARY", "a\nb", "5"), ("0x10",
        "a", ""),
    ]
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    """A small table in every format, with all parameters, and hostile lines."""
    quoted = ['"' + str(cell).replace('"', '""') + '"' for row in ROWS for cell in row.values()]
    lines = [",".join(quoted[i : i + 3]) for i in range(0, len(quoted), 3)]
    csv = "\n".join(["x,g,u", *lines]) + "\n"
    forms = (csv, "".join(json.dumps(row) + "\n" for row in ROWS), json.dumps(ROWS))
    for place in range(len(PARAMETERS)):
        for number, text in enumerate(forms):
            encoding = str(PARAMETERS[place].get("encoding", "utf-8"))
            yield bytes([number, place]) + text.encode(encoding, "replace")
    for broken in (b'x,g\n"1,a\n2,b\n', b"x;g\r1;a\r\n2;b\n", b"\xef\xbb\xbfx\n1\n", b'x\n"\n' * 3, b"x\n\0\n1\n", b""):
        yield b"\0\0" + broken
    for broken in (
        b'{"x": 1\n{"x": NaN}\n[1]\n',
        b'{"x": {"x": 1}}\n{"x": [1], "x": 2}\n',
        b"\n\n",
        b'{"x":1e999}\r\n',
    ):
        yield b"\1\0" + broken
    for broken in (b"[", b"[1,2", b'[{"x": 1}}, {"x": 2}]', b'[{"x": "]"}, "a\\"]', b"[]]", b" [null, {}]"):
        yield b"\2\0" + broken


WORDS = (
    "x", "g", "u", ",", ";", '"', '""', "\n", "\r\n", "\r", "\t", "nan", "inf", "-0.0", "1e400", "9" * 40, "\ufeff",
    "\0",
    '{"x":', '"}', "}", "[", "]", "null", "true", "\\u0000", "\\ud800", "2024-02-30", "2024-02-29T24:00:00Z", "CANARY",
    "0001-01-01", "9999-12-31", "\x1f", "\xa0", "1.000,5", "€ 5", "+5", "5e", "\x1a",
)  # fmt: skip
