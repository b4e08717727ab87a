"""Excel workbooks and Arrow files. A second library writes the workbooks; their cells are read as it wrote them."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pytest
from _support.command import flexdp as command
from _support.corpus import SHEET_CELLS
from _support.private import private_bars, private_counts
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

import flexdp
from flexdp import DataError, InputError
from flexdp._release.api import prepare


def workbook(path: Path, rows: list[list[Any]], sheet: str = "Sheet") -> Path:
    book = openpyxl.Workbook()
    page = book.active if sheet == "Sheet" else book.create_sheet(sheet)
    for row in rows:
        page.append(row)
    book.save(path)
    return path


DAY, TIME = dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3, 4, 5)
CELLS: list[Any] = [
    1,
    2.5,
    "2,5",
    "3.5",
    True,
    DAY,
    TIME,
    "31.12.2023",
    None,
    "",
    " 7 ",
    "#N/A",
    1e300,
    -0.0,
    "x",
    dt.time(1),
]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"kind": "number"}, {1.0: 1, 2.5: 1, 3.5: 1, 7.0: 1, 1e300: 1, 0.0: 1}),
        ({"kind": "number", "decimal": ","}, {1.0: 1, 2.5: 2, 7.0: 1, 1e300: 1, 0.0: 1}),
        ({"kind": "integer"}, {1: 1, 7: 1, 0: 1}),
        ({"kind": "boolean"}, {True: 1}),
        ({"kind": "date"}, {DAY: 2}),
        ({"kind": "date", "date_format": "%d.%m.%Y"}, {DAY: 2, dt.date(2023, 12, 31): 1}),
        ({"kind": "datetime"}, {dt.datetime(2024, 1, 2): 1, TIME: 1}),
        (
            {"kind": "datetime", "date_format": "%d.%m.%Y"},
            {dt.datetime(2024, 1, 2): 1, TIME: 1, dt.datetime(2023, 12, 31): 1},
        ),
    ],
)
def test_cells_are_read_by_their_type_and_texts_as_declared(
    tmp_path: Path, options: dict[str, Any], wanted: dict[Any, int]
) -> None:
    path = workbook(tmp_path / "t.xlsx", [["x"], *([cell] for cell in CELLS)])
    assert private_counts(path, "x", **options) == wanted


def test_numbers_as_texts_are_written_as_people_write_them(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [["x"], [54], [54.0], [0.1], [DAY], [False], ["007"]])
    assert private_counts(path, "x", kind="text") == {"54": 2, "0.1": 1, "2024-01-02": 1, "false": 1, "007": 1}


@pytest.mark.parametrize("kind", ["number", "integer", "text", "date", "datetime"])
def test_one_strange_cell_moves_its_own_bucket_alone(tmp_path: Path, kind: str) -> None:
    calm = [[i % 9 if i % 2 else dt.datetime(2024, 1, 1 + i % 9), f"g{i % 3}"] for i in range(60)]
    before = private_counts(workbook(tmp_path / "a.xlsx", [["x", "g"], *calm]), "x", kind=kind)
    for strange in SHEET_CELLS:
        path = workbook(tmp_path / "b.xlsx", [["x", "g"], *calm[:30], [strange], *calm[30:]])
        book = openpyxl.load_workbook(path)
        book.active.cell(32, 1).number_format = "yyyy-mm-dd hh:mm"
        book.save(path)
        more = Counter(private_counts(path, "x", kind=kind))
        more.subtract(before)
        assert sorted(set(more.values()) - {0}) in ([], [1]) and sum(more.values()) <= 1, strange


def test_groups_units_several_columns_and_several_files(tmp_path: Path) -> None:
    rows = [["x", "ward", "id"], *([i % 7, f"w{i % 2}", 1000 + i % 50] for i in range(400))]
    first = workbook(tmp_path / "a.xlsx", rows)
    second = workbook(tmp_path / "b.xlsx", [["id", "more", "x", "ward"], [9999, "?", 3, "w1"]])
    options: dict[str, Any] = {"kind": "integer", "by": "ward", "unit": "id", "max_buckets_per_unit": 1}
    bars = private_bars(prepare([first, second], "x", **options))
    assert bars.counts.sum() == 51
    both = flexdp.release(
        first, ["x", "ward"], separately=True, kind={"x": "integer", "ward": "text"}, unit="id",
        max_buckets_per_unit=7, epsilon=20, delta="1e-3",
    )  # fmt: skip
    assert set(both["ward"].histogram.keys.tolist()) == {"w0", "w1"}


def test_sheets_are_chosen_by_name(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [["x"], [5]], sheet="Data")
    assert private_counts(path, "x", kind="integer", sheet="Data") == {5: 1}
    for sheet, words in (("data", "sheet: no sheet named 'data'"), (1, "sheet must be the name of a sheet; got 1")):
        with pytest.raises(InputError, match=words):
            flexdp.query(path, "x", width=1, sheet=sheet)
    with pytest.raises(InputError, match="has no header row"):
        flexdp.query(path, "x", width=1)  # the first sheet, which is empty
    assert command("check", path, "--columns", "--sheet", "Data").stdout == "x\tundeclared\n"


@pytest.mark.parametrize("rows", [[[], ["x"], [5]], [[None, " "], [1, 2]], []])
def test_a_sheet_without_names_in_its_first_row_is_refused(tmp_path: Path, rows: list[list[Any]]) -> None:
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    for place, row in enumerate(rows, 1):
        for column, cell in enumerate(row, 1):
            book.active.cell(place, column, cell)
    book.save(path)
    with pytest.raises(InputError, match="has no header row"):
        flexdp.query(path, "x", width=1)


def raw_sheet(path: Path, cells: str, workbook_properties: str = "", head: str = "") -> Path:
    """A workbook whose sheet is written by hand, with a header x."""
    book = openpyxl.Workbook()
    book.active.append(["x", "when"])
    book.active.cell(2, 2, DAY)  # so that there is a style of dates, the second
    book.save(path.with_name("plain.xlsx"))
    with zipfile.ZipFile(path.with_name("plain.xlsx")) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            text = old.read(name).decode()
            if name == "xl/worksheets/sheet1.xml":
                start = '<c r="A1" t="inlineStr"><is><t>x</t></is></c>'
                text = (
                    f'{head}<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
                    f'<row r="1">{start}</row>{cells}</sheetData></worksheet>'
                )
            if name == "xl/workbook.xml":
                text = text.replace("<workbookPr ", f"<workbookPr {workbook_properties} ")
            new.writestr(name, text)
    return path


BROKEN = [
    '<c r="A2"><v>NaN</v></c>', '<c r="A2"><v>abc</v></c>', '<c r="A2"><v></v></c>', '<c r="A2" t="s"><v>99</v></c>',
    '<c r="A2" t="s"><v>-1</v></c>', '<c r="A2" t="b"><v>7</v></c>', '<c r="A2" t="e"><v>#N/A</v></c>',
    '<c r="A2" t="d"><v>soon</v></c>', '<c r="A2" t="?"><v>5</v></c>', '<c r="A2" s="999"><v>1e999</v></c>',
    '<c r="ZZZZ9"><v>1e400</v></c>', '<c r="A2" s="1"><v>60</v></c>', '<c r="A2" s="1"><v>-3</v></c>',
    '<c r="A2" s="1"><v>2958466</v></c>', '<c r="A2" s="1"><v>0.5</v></c>', '<c/>', "",
]  # fmt: skip


@pytest.mark.parametrize("cell", BROKEN)
def test_a_cell_that_makes_other_readers_fail_is_missing(tmp_path: Path, cell: str) -> None:
    calm = "".join(f'<row><c><v>{i % 3}</v></c><c s="1"><v>45000</v></c></row>' for i in range(30))
    path = raw_sheet(tmp_path / "t.xlsx", calm + f"<row>{cell}</row>" + calm)
    for kind in ("number", "integer"):
        assert private_counts(path, "x", kind=kind) == {0: 20, 1: 20, 2: 20}
    assert private_counts(path, "x", kind="date") == private_counts(path, "x", kind="datetime") == {}


def test_days_are_those_of_another_reader(tmp_path: Path) -> None:
    serials = [1, 31, 59, 61, 62.5, 366, 25569, 45000.127835648, 45000.9999999999, 45293.25, 2958465, 2958465.75]
    cells = "".join(f'<row><c s="1"><v>{serial}</v></c></row>' for serial in serials)
    for from_1904, epoch in ((False, WINDOWS_EPOCH), (True, MAC_EPOCH)):
        path = raw_sheet(tmp_path / "t.xlsx", cells, 'date1904="1"' if from_1904 else "")
        wanted: Counter[dt.datetime] = Counter()
        for serial in serials:
            try:
                found = from_excel(serial, epoch)
            except (OverflowError, ValueError):
                continue
            day = found if isinstance(found, dt.datetime) else dt.datetime.combine(found, dt.time())
            wanted[day.replace(microsecond=day.microsecond // 1000 * 1000)] += 1
        assert len(wanted) >= 10
        found_here = private_counts(path, "x", kind="datetime")
        assert found_here == wanted


def test_entities_are_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY a "7"><!ENTITY b "&a;&a;&a;">]>'
    path = raw_sheet(tmp_path / "t.xlsx", "<row><c><v>&b;</v></c></row>", head=bomb)
    with pytest.raises(DataError):
        flexdp.query(path, "x", width=1)


def test_texts_are_put_together_and_pronunciations_left_out(tmp_path: Path) -> None:
    parts = '<is><r><t>Tō</t></r><r><t xml:space="preserve">kyō </t></r><rPh><t>とうきょう</t></rPh></is>'
    path = raw_sheet(
        tmp_path / "t.xlsx", f'<row><c t="inlineStr">{parts}</c></row><row><c t="str"><v>a_x0041_</v></c></row>'
    )
    assert private_counts(path, "x", kind="text") == {"Tōkyō ": 1, "aA": 1}


def test_damaged_workbooks_fail_without_a_word_of_theirs(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [["x"], ["SECRET7"]])
    whole = path.read_bytes()
    for part in (b"", b"PK", whole[:200], whole[: len(whole) // 2]):
        path.write_bytes(part)
        with pytest.raises(InputError, match="is not an Excel workbook, is encrypted or is damaged") as refusal:
            flexdp.query(path, "x", width=1)
        assert "SECRET" not in str(refusal.value)
    with zipfile.ZipFile(tmp_path / "good.xlsx", "w") as good, zipfile.ZipFile(workbook(path, [["x"], [5]])) as old:
        for name in old.namelist():
            text = old.read(name)
            good.writestr(name, text[: len(text) // 2] if "sheet1" in name else text)
    with pytest.raises(DataError):
        flexdp.query(tmp_path / "good.xlsx", "x", width=1)


def test_other_spreadsheets_are_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "t.ods").touch()
    with pytest.raises(InputError, match=r"is a spreadsheet\. Save it as \.xlsx\."):
        flexdp.query(tmp_path / "t.ods", "x", width=1)


def test_the_command_line_reads_a_sheet(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [["cost", "day"], *([1234.5, DAY] for _ in range(300))], sheet="Data")
    common = ("--sheet", "Data", "-e", "1", "-d", "1e-6", "--stat", "max")
    out = command("release", path, "cost", "--width", "100", "--kind", "number", *common)
    assert out.returncode == 0 and "Highest cost: 1200–1300 or more. At most 27 " in out.stdout, out
    out = command("release", path, "day", "--kind", "date", "--exact", *common)
    assert out.returncode == 0 and "2024-01-02" in out.stdout, out
    assert command("release", path, "cost", "--kind", "number", "-o", path, *common).returncode == 2


TABLE = pa.table(
    {
        "n": pa.array([1, 2, 2, None], pa.int64()),
        "t": pa.array(["1,5", "2,5", None, "x"]),
        "when": pa.array([dt.datetime(2024, 1, 1, 5)] * 4, pa.timestamp("ms")),
    }
)


@pytest.mark.parametrize("name", ["t.feather", "t.arrow", "t.ipc"])
def test_arrow_files_are_read_by_their_declared_types(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for compression in ("uncompressed", "lz4", "zstd"):
        feather.write_feather(TABLE, path, compression=compression)
        assert private_counts(path, "n") == {1: 1, 2: 2}
        assert private_counts(path, "t", kind="number", decimal=",") == {1.5: 1, 2.5: 1}
        assert private_counts(path, "when", kind="date") == {dt.date(2024, 1, 1): 4}
    assert [column.type_name for column in prepare(path, "n").questions[0].table.columns][:2] == ["BIGINT", "VARCHAR"]
    out = command("release", path, "n", "--exact", "-e", "1", "-d", "1e-9", "-o", path.with_suffix(".json"))
    assert out.returncode == 4, "nothing survives of four records"  # except with probability 1e-8


def stream_of(table: pa.Table, path: Path) -> Path:
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return path


def test_arrow_streams_in_files_are_read_as_files_are(tmp_path: Path) -> None:
    path = stream_of(TABLE, tmp_path / "t.arrow")
    assert private_counts(path, "n") == {1: 1, 2: 2}
    assert private_counts(path, "t", kind="number", decimal=",") == {1.5: 1, 2.5: 1}
    assert private_counts(path, "when", kind="date") == {dt.date(2024, 1, 1): 4}
    second = stream_of(TABLE, tmp_path / "u.arrow")
    assert private_counts([path, second], "n") == {1: 2, 2: 4}
    feather.write_feather(TABLE, second)
    with pytest.raises(InputError, match="Arrow files and Arrow streams cannot be read together"):
        flexdp.query([path, second], "n")


def test_a_stream_without_its_end_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    path = stream_of(TABLE, tmp_path / "t.arrow")
    raw = path.read_bytes()
    for length in range(0, len(raw), 8):
        path.write_bytes(raw[:length])
        with pytest.raises(InputError, match="is not an Arrow IPC file or stream, or is damaged"):
            flexdp.query(path, "n")


def test_several_arrow_files_have_one_schema(tmp_path: Path) -> None:
    first, second = tmp_path / "a.arrow", tmp_path / "b.arrow"
    feather.write_feather(TABLE, first)
    feather.write_feather(TABLE, second)
    assert private_counts([first, second], "n") == {1: 2, 2: 4}
    feather.write_feather(TABLE.select(["n"]), second)
    with pytest.raises(InputError, match="must have the same columns"):
        flexdp.query([first, second], "n")


@pytest.mark.parametrize("raw", [b"", b"ARROW1", b"x,y\n1,2\n", b"FEA1"])
def test_what_is_no_arrow_file_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "t.arrow"
    path.write_bytes(raw)
    with pytest.raises(InputError, match="is not an Arrow IPC file or stream, or is damaged"):
        flexdp.query(path, "n")


def test_a_damaged_arrow_file_fails_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    feather.write_feather(TABLE, path, compression="lz4")
    raw = bytearray(path.read_bytes())
    body = raw.find(b"\x04\x22\x4d\x18")
    raw[body : body + 12] = b"\xff" * 12
    path.write_bytes(raw)
    with pytest.raises(DataError):
        flexdp.release(path, "n", epsilon=1, delta=1e-6)


def test_the_sheets_that_there_are_are_listed(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.create_sheet("wards")
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(InputError, match=r"^sheet: no sheet named 'nope'\. Sheets: 'Sheet', 'wards'\.$"):
        flexdp.query(tmp_path / "t.xlsx", "x", width=1, sheet="nope")


def test_a_column_that_may_be_on_another_sheet(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["note"])
    book.active.append(["canary"])
    for name in ["Data", *(f"S{i}" for i in range(8))]:
        book.create_sheet(name).append(["cost", "of canaries"])
    book.save(path)
    listed = "'Data', 'S0', 'S1', 'S2', 'S3', 'S4', 'S5', 'S6', …"
    remedy = f"Check the spelling, or set sheet to choose another sheet: {listed}."
    with pytest.raises(InputError) as refused:
        flexdp.query(path, "cost", width=1)
    assert str(refused.value) == f"column: no column named 'cost'. {remedy}"
    with pytest.raises(InputError) as refused:
        flexdp.query(path, "note", width=1, where="cost > 1")
    assert str(refused.value) == f"where: no column named 'cost'. {remedy} Write a text in single quotes: 'ICU'."
    for words in (("release", path, "cost", "-e", "1", "-d", "1e-6"), ("check", path, "cost"),
                  ("summary", path, "cost", "-e", "1", "-d", "1e-6"), ("query", path, "cost")):  # fmt: skip
        ran = command(*words)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert f"no column named 'cost'. {remedy.replace('set sheet', 'set --sheet')}" in ran.stderr
    only = workbook(tmp_path / "one.xlsx", [["note"], ["canary"]])
    with pytest.raises(
        InputError, match=r"no column named 'cost'\. Check the spelling; `flexdp check --columns` lists"
    ):
        flexdp.query(only, "cost", width=1)


def test_an_empty_first_sheet_names_the_others(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [["x"], [5]], sheet="Data")
    rule = (
        r"has no header row\. The first row of a sheet must name its columns; set sheet to choose another sheet: 'Data'"
    )
    with pytest.raises(InputError, match=rule):
        flexdp.query(path, "x", width=1)
