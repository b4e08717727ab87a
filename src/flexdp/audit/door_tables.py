"""Made-up tables, in every form that a release takes, and one odd record more.

Libraries that make tables are loaded by name where they are installed: nothing of flexdp needs them. A form is *typed*
where a table declares its columns' types, and cells that do not fit cannot be in it; in all others any cell can be.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from flexdp.simulation import Generator

__all__ = ["FORMS", "Form", "Kinds", "Row", "calm_rows", "kinds_of", "odd_rows", "picked"]

Row = dict[str, Any]
Kinds = Mapping[str, str]
_NAMES = ("v", "i", "t", "g", "u", "d", "b", "s")
_FIRST_UNIT = 100
_NEW_UNIT = 10**6
_DAY = dt.date(2024, 1, 1)
_TIME = dt.datetime(2024, 1, 1)
_TYPES: tuple[Any, ...] = (
    "a", None, math.nan, math.inf, True, 2**70, Decimal("1.5"), b"x", dt.date(2024, 5, 6), dt.datetime(2024, 5, 6, 7),
    [1], {"k": 1}, 1.5, "1", "7.0", "2024-05-06", "", -math.inf, dt.time(7), 1 + 2j, np.float32(1.5), np.int8(3),
    np.datetime64("NaT"), Decimal("NaN"), "True", "1e5", 10**400, Decimal("sNaN"), Fraction(7, 2), np.bool_(True),
    dt.datetime(2024, 5, 6, 7, tzinfo=dt.UTC), dt.timedelta(1), np.datetime64("2024-05-06T07"), "\ud800", object,
    "2024-05-06 07:00", "2024-05-06 07:00+02:00",
)  # fmt: skip
_VALUES: dict[str, tuple[Any, ...]] = {
    "number": (0.0, -0.0, 50.0, 50.000001, -1.0, 1e300, -1e300, 5e-324, 2.0**53 + 2, 1e17, 25.0),
    "integer": (0, -1, 50, 51, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 5),
    "text": ("", "x" * 300, "a\0b", "é", "e\u0301", "w1 ", "W1", "1", "w1", "a", "b", "it's", "\u00df"),
    "date": (dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2024, 2, 29), dt.date(1969, 12, 31), _DAY),
    "boolean": (True, False),
    "datetime": (
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
        dt.datetime(1969, 12, 31, 23),
        dt.datetime(2024, 3, 31, 2, 30),
        _TIME,
    ),
}
_LINES = ('"', '"a,1', ",,,,,,,,,,", "", "\ufeff", "{", "null", '{"v": 1', '{"v": {"v": 1}}', "7,7,7", "\0", "'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A form of tables.

    Parameters
    ----------
    name
        What it is called in reports.
    build
        Makes a source of rows and kinds, in a folder that is its own; it raises where no such table can be.
    typed
        True if the table declares types.
    alone
        The one column that there is, without a name; None for tables.
    needs
        Packages that make it.
    words
        Command-line words that name the source; empty where there is no file.
    table
        The table in it, for databases.
    lines
        True for files in which any line can stand.
    weight
        How often it comes up; less where a release takes long.
    """

    name: str
    build: Callable[[Sequence[Row], Kinds, Path], Any]
    typed: bool = False
    alone: str | None = None
    needs: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    table: str | None = None
    lines: bool = False
    weight: int = 4

    @property
    def available(self) -> bool:
        """True if everything that it needs is installed."""
        return all(find_spec(package) is not None for package in self.needs)

    def cells(self, rows: Sequence[Row], kinds: Kinds) -> list[Row]:
        """Return the rows as the form can hold them: in a typed one, what does not fit is missing."""
        if not self.typed:
            return list(rows)
        return [{name: _fitted(row.get(name), kind) for name, kind in kinds.items()} for row in rows if "" not in row]


def picked(rng: Generator, among: Sequence[Any]) -> Any:
    """Return one of some things."""
    return among[int(rng.integers(len(among)))]


def kinds_of(rng: Generator) -> dict[str, str]:
    """Return the columns of a table and their kinds."""
    return {
        "v": "number",
        "i": "integer",
        "t": "text",
        "g": "text",
        "u": picked(rng, ("integer", "integer", "text")),
        "d": "date",
        "b": "boolean",
        "s": "datetime",
    }


def calm_rows(rng: Generator, kinds: Kinds, size: int) -> list[Row]:
    """Return a table in which nothing is strange: every column of one type, in some with a few cells missing."""
    digits, holes = bool(rng.integers(4) == 0), {name for name in _NAMES if rng.integers(8) == 0}
    text = kinds.get("u") == "text"
    numbers = rng.integers(0, 100, size=(size, len(_NAMES)))
    rows = []
    for place, (v, i, t, g, u, d, b, s) in enumerate(numbers.tolist()):
        unit = _FIRST_UNIT + (place if u < 50 else u % max(1, size))
        row = {
            "v": v / 2,
            "i": i % 61,
            "t": f"{t % 5 + 1}" if digits else f"w{t % 5}",
            "g": "abc"[g % 3],
            "u": f"p{unit}" if text else unit,
            "d": _DAY + dt.timedelta(days=d),
            "b": b % 2 == 0,
            "s": _TIME + dt.timedelta(hours=s),
        }
        missing = {name for name in holes if (place + len(name) + v) % 7 == 0}
        rows.append({name: None if name in missing else row[name] for name in kinds})
    return rows


def odd_rows(
    rng: Generator,
    form: Form,
    kinds: Kinds,
    unit: str | None,
    calm: Sequence[Row],
    *,
    types: bool,
    used: Sequence[str] = (),
) -> list[Row]:
    """Return what one side has more: an odd record, or the odd records of one unit, made of calm ones.

    With ``types``, some cells are of another type than their columns; otherwise they are strange values, mostly in the
    columns that are ``used``. The unit has no other record in the table.
    """
    if form.lines and unit is None and rng.integers(20) == 0:
        return [{"": picked(rng, _LINES)}]
    if unit is None and rng.integers(12) == 0:
        return [dict(calm[0])]
    own: Any = _NEW_UNIT if kinds.get("u") == "integer" else "q1"
    if unit is not None and rng.integers(6) == 0:
        own = picked(rng, [cell for cell in _TYPES if not isinstance(cell, str) or cell in ("a", "")])
    rows = []
    for row in map(dict, calm[: 1 if unit is None else 1 + int(rng.integers(len(calm)))]):
        many = int(picked(rng, (1, 1, 1, 2, 3) if unit is None else (0, 0, 1)))
        for _ in range(many):
            among = [name for name in (used if rng.integers(4) else kinds) if name != unit] or list(kinds)
            name = str(picked(rng, among))
            row[name] = picked(rng, _TYPES if types else _VALUES[kinds[name]])
        rows.append(row if unit is None else {**row, unit: own})
    return rows


def _fitted(cell: Any, kind: str) -> Any:
    """A cell as a declared type holds it, None where it cannot."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    whole = isinstance(cell, int) and not isinstance(cell, bool)
    if kind == "number":
        real = isinstance(cell, float) or (whole and abs(cell) < 2**60)
        return float(cell) if real else None
    if kind == "integer":
        return cell if whole and -(2**63) <= cell < 2**63 else None
    if kind == "date":
        return cell if isinstance(cell, dt.date) and not isinstance(cell, dt.datetime) else None
    if kind == "datetime":
        return cell if isinstance(cell, dt.datetime) and cell.tzinfo is None else None
    if kind == "boolean":
        return cell if isinstance(cell, bool) else None
    return cell if isinstance(cell, str) else None


_TIMES = {"date": "datetime64[D]", "datetime": "datetime64[us]"}


def _columns(rows: Sequence[Row], kinds: Kinds) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in kinds}


# ---- in memory


def _list(rows: Sequence[Row], kinds: Kinds, _folder: Path, name: str = "v") -> Any:
    return _columns(rows, kinds)[name]


def _dict(rows: Sequence[Row], kinds: Kinds, _folder: Path) -> Any:
    return _columns(rows, kinds)


def _arrays(rows: Sequence[Row], kinds: Kinds, _folder: Path) -> Any:
    """Arrays with the types that numpy is told, but for the length of texts, which it infers."""
    found: dict[str, Any] = {}
    for name, cells in _columns(rows, kinds).items():
        kind = kinds[name]
        if kind == "number":
            found[name] = np.array([math.nan if cell is None else cell for cell in cells], dtype=np.float64)
        elif kind == "integer":
            missing = [cell is None for cell in cells]
            found[name] = np.ma.MaskedArray(np.array([cell or 0 for cell in cells], dtype=np.int64), mask=missing)
        elif kind in _TIMES:
            found[name] = np.array([cell or "NaT" for cell in cells], dtype=_TIMES[kind])
        elif kind == "boolean":
            found[name] = np.array([bool(cell) for cell in cells], dtype=np.bool_)
        else:
            found[name] = np.array([cell or "" for cell in cells], dtype=np.str_)
    return found


def _frame(rows: Sequence[Row], kinds: Kinds, _folder: Path) -> Any:
    return import_module("pandas").DataFrame([dict(row) for row in rows], columns=list(kinds))


def _series(rows: Sequence[Row], kinds: Kinds, _folder: Path, name: str = "v") -> Any:
    return import_module("pandas").Series(_columns(rows, kinds)[name])


def _read_csv(rows: Sequence[Row], kinds: Kinds, _folder: Path) -> Any:
    return import_module("pandas").read_csv(io.StringIO(_csv_text(rows, kinds)))


def _category(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    return _frame(rows, kinds, folder).astype("category")


def _sparse(rows: Sequence[Row], kinds: Kinds, _folder: Path) -> Any:
    pandas = import_module("pandas")
    cells = _columns(rows, kinds)
    return pandas.DataFrame(
        {name: pandas.arrays.SparseArray(own) if name in "viu" else pandas.Series(own) for name, own in cells.items()}
    )


def _objects(rows: Sequence[Row], kinds: Kinds, _folder: Path) -> Any:
    pandas = import_module("pandas")
    return pandas.DataFrame({name: pandas.Series(cells, dtype=object) for name, cells in _columns(rows, kinds).items()})


def _declared(rows: Sequence[Row], kinds: Kinds, _folder: Path) -> Any:
    pandas, types = import_module("pandas"), {"number": "Float64", "integer": "Int64", "text": "string",
                                              "date": "datetime64[s]", "datetime": "datetime64[us]",
                                              "boolean": "boolean"}  # fmt: skip
    return pandas.DataFrame(
        {name: pandas.Series(cells, dtype=types[kinds[name]]) for name, cells in _columns(rows, kinds).items()}
    )


def _arrow(rows: Sequence[Row], kinds: Kinds, _folder: Path) -> Any:
    pyarrow = import_module("pyarrow")
    types = {
        "number": pyarrow.float64(),
        "integer": pyarrow.int64(),
        "text": pyarrow.string(),
        "date": pyarrow.date32(),
        "datetime": pyarrow.timestamp("us"),
        "boolean": pyarrow.bool_(),
    }
    return pyarrow.table(
        {name: pyarrow.array(cells, types[kinds[name]]) for name, cells in _columns(rows, kinds).items()}
    )


def _of_arrow(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    pandas = import_module("pandas")
    return _arrow(rows, kinds, folder).to_pandas(types_mapper=pandas.ArrowDtype)


def _polars(rows: Sequence[Row], kinds: Kinds, folder: Path, *, lazy: bool = False) -> Any:
    found = import_module("polars").from_arrow(_arrow(rows, kinds, folder))
    return found.lazy() if lazy else found


# ---- files


def _written(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _csv_text(rows: Sequence[Row], kinds: Kinds) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(kinds)
    for row in rows:
        if "" in row:
            out.write(row[""] + "\n")
        else:
            writer.writerow([_written(row.get(name)) for name in kinds])
    return out.getvalue()


def _csv_file(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    path = folder / "t.csv"
    path.write_text(_csv_text(rows, kinds), encoding="utf-8")
    return path


def _json_file(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    path = folder / "t.jsonl"
    lines = [
        row[""] if "" in row else json.dumps({name: _plain(row.get(name)) for name in kinds}, default=str)
        for row in rows
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _json_array(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    path = folder / "t.json"
    named = [{name: _plain(row.get(name)) for name in kinds} for row in rows]
    path.write_text(json.dumps(named, default=str), encoding="utf-8")
    return path


def _workbook(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    path = folder / "t.xlsx"
    book = import_module("openpyxl").Workbook()
    sheet = book.active
    sheet.append(list(kinds))
    for row in rows:
        cells = [_plain(row.get(name)) for name in kinds]
        "".join(map(str, cells)).encode()  # raises where a text is none in Unicode: such a workbook is damaged
        sheet.append(cells)
    book.save(path)
    return path


def _arrow_file(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    path, table = folder / "t.arrow", _arrow(rows, kinds, folder)
    with import_module("pyarrow").ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) and not isinstance(cell, np.datetime64) else cell


def _parquet(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    path = folder / "t.parquet"
    import_module("pyarrow.parquet").write_table(_arrow(rows, kinds, folder), path)
    return path


def _sqlite(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    """A file of SQLite, whose columns may hold cells of other types than they declare."""
    path = folder / "t.sqlite"
    types = {"number": "REAL", "integer": "INTEGER", "text": "TEXT", "date": "DATE", "datetime": "DATETIME",
             "boolean": "BOOLEAN"}  # fmt: skip
    own = _sqlite_connection(str(path))
    own.execute("DROP TABLE IF EXISTS t")
    own.execute(f"CREATE TABLE t ({', '.join(f'{name} {types[kind]}' for name, kind in kinds.items())})")
    cells = [[_stored(_plain(row.get(name))) for name in kinds] for row in rows]
    own.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(kinds))})", cells)
    own.commit()
    own.close()
    return path, "t"


def _sqlite_connection(path: str) -> Any:
    return import_module("sqlite3").connect(path)


def _stored(cell: Any) -> Any:
    if isinstance(cell, bool):
        return int(cell)
    if isinstance(cell, int):
        return cell if -(2**63) <= cell < 2**63 else str(cell)
    return cell if cell is None or isinstance(cell, float | str | bytes) else str(cell)


# ---- DuckDB


@lru_cache(maxsize=1)
def _connection() -> Any:
    """A connection as a user has one."""
    return import_module("duckdb").connect()


def _table(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    con = _connection()
    con.register("made_up", _arrow(rows, kinds, folder))
    con.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM made_up")
    con.unregister("made_up")
    return con


def _duckdb(rows: Sequence[Row], kinds: Kinds, folder: Path, *, relation: bool) -> Any:
    con = _table(rows, kinds, folder)
    return con.table("t") if relation else (con, "t")


def _over_frame(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    con = _connection()
    con.register("frame", _frame(rows, kinds, folder))
    return con.sql("FROM frame")


@lru_cache(maxsize=1)
def _profiled_connection() -> Any:
    return import_module("duckdb").connect()


def _profiled(rows: Sequence[Row], kinds: Kinds, folder: Path) -> Any:
    """A connection that prints how many rows each operator made, once the table is there."""
    con = _profiled_connection()
    with suppress(Exception):
        con.execute("PRAGMA disable_profiling")
    con.register("made_up", _arrow(rows, kinds, folder))
    con.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM made_up")
    con.unregister("made_up")
    con.execute("SET enable_profiling = 'query_tree'")
    return con, "t"


_PANDAS = ("pandas",)
FORMS: tuple[Form, ...] = (
    Form(name="list", build=_list, alone="v"),
    Form(name="dict of lists", build=_dict),
    Form(name="dict of arrays", build=_arrays, typed=True),
    Form(name="pandas frame", build=_frame, needs=_PANDAS),
    Form(name="pandas.read_csv", build=_read_csv, needs=_PANDAS),
    Form(name="pandas categories", build=_category, needs=_PANDAS),
    Form(name="pandas sparse arrays", build=_sparse, needs=_PANDAS),
    Form(name="pandas objects", build=_objects, needs=_PANDAS),
    Form(name="pandas series", build=_series, alone="v", needs=_PANDAS),
    Form(name="pandas declared types", build=_declared, typed=True, needs=_PANDAS),
    Form(name="pandas types of Arrow", build=_of_arrow, typed=True, needs=("pandas", "pyarrow")),
    Form(name="pyarrow table", build=_arrow, typed=True, needs=("pyarrow",)),
    Form(name="polars frame", build=_polars, typed=True, needs=("polars", "pyarrow")),
    Form(name="polars lazy frame", build=partial(_polars, lazy=True), typed=True, needs=("polars", "pyarrow")),
    Form(name="DuckDB table", build=partial(_duckdb, relation=False), typed=True, needs=("pyarrow",), weight=1),
    Form(name="DuckDB relation", build=partial(_duckdb, relation=True), typed=True, needs=("pyarrow",), weight=1),
    Form(name="DuckDB relation over pandas", build=_over_frame, needs=_PANDAS, weight=1),
    Form(name="DuckDB with profiling", build=_profiled, typed=True, needs=("pyarrow",), weight=1),
    Form(name="CSV file", build=_csv_file, words=("t.csv",), lines=True),
    Form(name="JSON lines", build=_json_file, words=("t.jsonl",), lines=True),
    Form(name="JSON array", build=_json_array, words=("t.json",), weight=2),
    Form(name="Excel workbook", build=_workbook, needs=("openpyxl",), words=("t.xlsx",), weight=2),
    Form(name="Arrow file", build=_arrow_file, typed=True, needs=("pyarrow",), words=("t.arrow",), weight=2),
    Form(name="Parquet file", build=_parquet, typed=True, needs=("pyarrow",), words=("t.parquet",)),
    Form(name="SQLite file", build=_sqlite, words=("t.sqlite",), table="t", weight=2),
)
