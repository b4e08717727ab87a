"""File paths: expand patterns, and check that every file exists, can be read, and is named once.

A path is repeated in a message only where it was given as one: a list may hold values that were meant as data.
"""

from __future__ import annotations

import glob
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from flexdp._core.domains import path_text
from flexdp._core.text import safe_repr
from flexdp.errors import InputError, P

__all__ = ["FORMATS", "STDIN", "FileFormat", "find_files", "format_of", "is_gzip", "shown_path"]

STDIN = "\0standard input"  # in a list of files; no file has such a name

FileFormat: TypeAlias = Literal["csv", "jsonl", "json", "parquet", "arrow", "xlsx"]

FORMATS: dict[FileFormat, tuple[str, ...]] = {  # with their extensions
    "csv": (".csv", ".tsv", ".txt"),
    "jsonl": (".jsonl", ".ndjson"),
    "json": (".json",),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "xlsx": (".xlsx", ".xlsm"),
}
_EXTENSIONS = {extension: name for name, extensions in FORMATS.items() for extension in extensions}
_WHOLE: dict[FileFormat, str] = {"parquet": "Parquet", "arrow": "Arrow", "xlsx": "Excel"}  # read from files only
_LONGEST_SHOWN = 160  # characters of a path that a message repeats
_SPREADSHEETS = (".xls", ".xlsb", ".ods", ".numbers")


def find_files(paths: Sequence[Any], *, echo: bool) -> list[str]:
    """Return the files that the paths and patterns name; ``echo`` allows messages to repeat a path."""
    files = []
    for place, given in enumerate(paths, 1):
        item = f"item {place}"
        path = _path(given, item, echo=echo)
        files += _expand(path, shown_path(path) if echo else item)
    if not files:
        raise InputError("source", "must name at least one file", given="an empty list")
    # A file named twice would count every record twice, at twice the stated privacy loss.
    entries = [os.fstat(0) if file == STDIN else os.stat(file) for file in files]  # noqa: PTH116
    if len({(entry.st_dev, entry.st_ino) for entry in entries}) < len(files):
        raise InputError("source", "names the same file more than once", remedy="Name each file once.")
    return files


def format_of(files: Sequence[str], asked: FileFormat | None) -> FileFormat:
    """Return the format that all files share: the one asked for, or that of their extensions."""
    formats = {_format_of(file, asked) for file in files}
    if len(formats) > 1:
        raise InputError("source", "must be files of one format", remedy="Release those of each format separately.")
    return formats.pop()


def is_gzip(file: str) -> bool:
    """Tell whether a file is read through gzip."""
    return file.lower().endswith(".gz")


def shown_path(file: str) -> str:
    """Return a path as a message may repeat it."""
    return "standard input" if file == STDIN else safe_repr(file, _LONGEST_SHOWN)


def _path(given: Any, item: str, *, echo: bool) -> str:
    try:
        return path_text("source", given)
    except InputError as refusal:
        if echo:
            raise
        remedy = refusal.remedy
    raise InputError("source", f": {item} must name a file", remedy=remedy)


def _expand(path: str, shown: str) -> list[str]:
    """Expand a pattern; check that every file exists, is regular and can be read."""
    if path == "-":
        if not _stdin_is_piped():
            raise InputError("source", "is standard input, but nothing is piped into it")
        return [STDIN]
    if not glob.has_magic(path) or os.path.lexists(path):
        _check_readable(path, shown)
        return [path]
    found = sorted(match for match in glob.glob(path, recursive=True) if not Path(match).is_dir())  # noqa: PTH207
    if not found:
        raise InputError("source", f": {shown} matches no file", remedy="Check the pattern.")
    for match in found:
        _check_readable(match, shown_path(match))
    return found


def _stdin_is_piped() -> bool:
    try:
        os.fstat(0)
    except OSError:
        return False
    return sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty()


def _format_of(file: str, asked: FileFormat | None) -> FileFormat:
    suffixes = [suffix.lower() for suffix in Path(file).suffixes]
    suffix = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else "".join(suffixes[-1:])
    chosen = asked or ("csv" if file == STDIN else _EXTENSIONS.get(suffix))
    if chosen is None and suffix in _SPREADSHEETS:
        raise InputError("source", f": {shown_path(file)} is a spreadsheet", remedy="Save it as .xlsx.")
    if chosen is None:
        raise InputError(
            "source",
            f": {shown_path(file)} has no known extension ({', '.join(_EXTENSIONS)}; texts also with .gz)",
            remedy=("Rename it, or set ", P("format"), f" to {', '.join(map(repr, FORMATS))}."),
        )
    if chosen in _WHOLE and (file == STDIN or is_gzip(file)):
        rule = f": {_WHOLE[chosen]} cannot be read from standard input or through gzip"
        raise InputError("source", rule, remedy="Pass the file itself.")
    return chosen


def _check_readable(file: str, shown: str) -> None:
    try:
        mode = Path(file).stat().st_mode
    except OSError:
        raise InputError("source", f": {shown} does not exist or cannot be reached", remedy="Check the path.") from None
    if stat.S_ISDIR(mode):
        raise InputError("source", f": {shown} is a directory", remedy="Name the files in it, or use a pattern.")
    if not stat.S_ISREG(mode):  # a pipe can be read only once, and the header is read first
        raise InputError(
            "source", f": {shown} is not a regular file", remedy="Pipe it into standard input and pass '-' instead."
        )
    if not os.access(file, os.R_OK):
        raise InputError("source", f": no permission to read {shown}", remedy="Check its permissions.")
