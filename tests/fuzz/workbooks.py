"""Excel workbooks: the XML of their parts, put into a sound archive, or the bytes of an archive."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

import openpyxl

import flexdp
from fuzz.oracles import demand, outcome_of
from fuzz.places import folder

__all__ = ["WORDS", "run", "seeds"]

MARK = b"\n==\n"  # between the parts
PARTS = (
    "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml",
    "xl/styles.xml",
)  # fmt: skip
CANARY = "CANARY"
SPEND: dict[str, object] = {"epsilon": 1, "delta": "1e-9"}
OPTIONS: tuple[dict[str, object], ...] = (
    {"kind": "number", "width": 1},
    {"kind": "text"},
    {"kind": "date", "width": "1 day"},
    {"kind": "datetime", "width": "1 hour"},
    {"kind": "number", "width": 1, "sheet": "Other"},
    {"kind": "boolean"},
)


def run(data: bytes) -> None:
    """Release and check a column of a workbook; damage is a DataError or an InputError that repeats no cell."""
    if len(data) < 2:
        return
    path = folder("workbooks") / "t.xlsx"
    path.write_bytes(data[2:] if data[0] % 2 else archived(data[2:].split(MARK)))
    options = OPTIONS[data[1] % len(OPTIONS)]
    released, ended = outcome_of(lambda: flexdp.release(path, "x", **SPEND, **options))  # type: ignore[call-overload]
    checking = {name: options[name] for name in ("kind", "sheet") if name in options}
    _, checked = outcome_of(lambda: flexdp.check(path, "x", **checking))
    demand(released is None or released.to_json(), "nothing is written")
    for kind, message in (ended, checked):
        demand(kind in ("", "DataError", "InputError"), f"a workbook ends in {kind}")
        demand(CANARY not in message, f"a cell is told: {message}")


def archived(parts: list[bytes]) -> bytes:
    """An archive of the parts, which need not be those of a workbook."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in zip(PARTS, parts, strict=False):
            archive.writestr(name, part)
    return out.getvalue()


def seeds() -> Iterator[bytes]:
    """Workbooks of a second library, and cells that no library writes."""
    import datetime as dt

    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ["x", "y"],
        [1, CANARY],
        [2.5, True],
        ["3,5", dt.date(2024, 1, 2)],
        [dt.datetime(2024, 1, 2, 3, 4), None],
    ):
        sheet.append(row)
    book.create_sheet("Other").append(["x"])
    out = io.BytesIO()
    book.save(out)
    with zipfile.ZipFile(out) as archive:
        parts = [archive.read(name) if name in archive.namelist() else b"" for name in PARTS]
    for place in range(len(OPTIONS)):
        yield bytes([0, place]) + MARK.join(parts)
    yield bytes([1, 0]) + out.getvalue()
    head, rels, _, texts, styles = parts
    for cells in (
        b'<c r="A2" t="s"><v>99</v></c><c r="ZZZ9"><v>1e999</v></c>',
        b'<c t="inlineStr"><is><t>_x0041__xD800_</t><rPh><t>no</t></rPh></is></c>',
        b'<c t="d"><v>2024-13-01</v></c><c t="e"><v>#N/A</v></c><c s="999999999999"><v>5</v></c>',
        b'<c t="b"><v>2</v></c><c><v>0x10</v></c><c><v/></c><c/>',
    ):
        rows = b'<row r="1"><c t="str"><v>x</v></c></row><row r="2">' + cells + b'</row><row r="-1"><c/></row>'
        made = b"<worksheet><sheetData>" + rows + b"</sheetData></worksheet>"
        yield bytes([0, 1]) + MARK.join([head, rels, made, texts, styles])


WORDS = (
    '<row r="', '<c r="A1" t="s">', 't="inlineStr"', 't="d"', 't="b"', 't="e"', 's="1"', "<v>", "</v>", "<is><t>",
    "</c>",
    "</row>", "<rPh>", "_x0000_", "_xD800_", "&#0;", "&lt;", "<!DOCTYPE a>", "<!--", "-->", "<![CDATA[", "]]>",
    "<?xml?>",
    'encoding="UTF-16"', 'date1904="1"', "numFmtId=", "formatCode=", "1e999", "2958465.99999999", "-1", "CANARY",
    "A1048577",
    "XFD1", "xmlns:r=", "==", "ZZZ1",
)  # fmt: skip
