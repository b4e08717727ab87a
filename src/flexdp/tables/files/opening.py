"""Opening files: their format, and what describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flexdp._core.domains import choice
from flexdp._core.text import is_unicode, safe_repr
from flexdp.errors import InputError
from flexdp.tables.files.bytes import WIDE, check_encoding
from flexdp.tables.files.columnar import ParquetSource, open_arrow_files
from flexdp.tables.files.csv_lines import CsvSource
from flexdp.tables.files.json_lines import JsonSource, SheetSource
from flexdp.tables.files.paths import FORMATS, STDIN, find_files, format_of
from flexdp.tables.files.source import FileSource
from flexdp.tables.source import Source
from flexdp.tables.written import read_written, refuse_offsets

__all__ = ["open_files"]


def open_files(
    paths: Sequence[Any],
    file_format: object = None,
    delimiter: object = None,
    *,
    echo: bool = False,
    encoding: object = None,
    sheet: object = None,
    **written: object,
) -> Source:
    """Open files of one format as one table; only headers and footers are read, and sheets of Excel.

    ``echo`` allows messages to repeat the paths: a list may hold values that were meant as data. ``written`` says how
    cells of text are written (:func:`flexdp.tables.written.read_written`).
    """
    single = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in '"\r\n' and is_unicode(delimiter)
    if delimiter is not None and not single:
        raise InputError(
            "delimiter", "must be a single character, not a quote or a line break", given=safe_repr(delimiter)
        )
    asked: Any = None if file_format is None else choice("format", file_format, tuple(FORMATS))
    decoded, how = check_encoding(encoding), read_written(**written)
    files = tuple(find_files(paths, echo=echo))
    chosen = format_of(files, asked)
    for name, given, fitting, what in (
        ("delimiter", delimiter, ("csv",), "CSV files"),
        ("encoding", encoding, ("csv", "jsonl", "json"), "CSV and JSON files"),
        ("sheet", sheet, ("xlsx",), "Excel files"),
    ):
        if given is not None and chosen not in fitting:
            raise InputError(name, f"applies to {what} only", remedy="Leave it out.")
    if decoded in WIDE and STDIN in files:
        raise InputError(
            "encoding",
            ": UTF-16 cannot be read from standard input",
            given=repr(decoded),
            remedy="Pass the file itself.",
        )
    if chosen in ("parquet", "arrow"):
        refuse_offsets(how)
    if chosen == "arrow":
        return open_arrow_files(files, how)
    table: FileSource
    if chosen == "parquet":
        table = ParquetSource(files, how=how)
    elif chosen == "csv":
        table = CsvSource(files, decoded, delimiter if isinstance(delimiter, str) else None, how=how)
    elif chosen == "xlsx":
        table = SheetSource(files, sheet=sheet, how=how)
    else:
        table = JsonSource(files, decoded, chosen == "json", how=how)
    table.seen, table.columns  # noqa: B018  (reads the schema now, so that a bad file is refused before anything else)
    return table
