"""Files: which there are, and their bytes, unpacked and turned into UTF-8 while they are read.

Patterns are expanded, and every file must exist, be readable, and be named once. A path is repeated in a message only
where it was given as one: a list may hold values that were meant as data.

Only encodings in which a strange byte damages its own line are known: those of one byte per character that keep ASCII,
and UTF-16, whose line ends are found after decoding. Encodings with a state that outlasts a line are refused.
"""

from __future__ import annotations

import codecs
import glob
import os
import select
import stat
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import Any, Literal, TypeAlias

from flexdp._core.domains import path_text
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import DataError, InputError, P

__all__ = [
    "FORMATS",
    "STDIN",
    "WIDE",
    "FileFormat",
    "ReadInto",
    "check_array",
    "check_encoding",
    "find_files",
    "format_of",
    "header_line",
    "is_gzip",
    "open_bytes",
    "read_blocks",
    "shown_path",
    "transcoded",
]

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


ReadInto: TypeAlias = "Callable[[memoryview], int | None]"

WIDE = ("utf-16", "utf-16-le", "utf-16-be")  # of two bytes and more a character
_UTF_8 = ("utf-8", "utf-8-sig", "ascii")
_KNOWN = frozenset(
    [
        *WIDE,
        *(f"iso8859-{part}" for part in (*range(1, 11), *range(13, 17))),
        *(f"cp{page}" for page in (*range(1250, 1259), 437, 850, 852, 855, 857, 858, 860, 861, 863, 865, 866)),
        "koi8-r",
        "koi8-u",
        "mac-roman",
    ]
)
_STRANGE = "flexdp.strange"  # name of the error handler
_BLOCK = 1 << 18  # bytes decoded at a time
_GZIP = b"\x1f\x8b"
_POLL_SECONDS = 0.1
_LONGEST_HEADER = 1 << 20
_MOST_BLANKS = 1 << 16  # before an array
_FEW = 64  # bytes in which other formats have some that no line of text has
_OTHERS = {  # by their first bytes
    b"PAR1": ("a Parquet file", "parquet", ""),
    b"ARROW1": ("an Arrow file", "arrow", ""),
    b"PK\x03\x04": ("an Excel workbook or another ZIP archive", "xlsx", ", or unzip it"),
}


class _DamagedError(OSError):
    """A gzip file is truncated, possibly before its first byte, or damaged."""


class _UnmarkedError(OSError):
    """A file in UTF-16 does not begin with the mark that tells the order of its bytes."""


def check_encoding(given: object) -> str | None:
    """Return the canonical name of an encoding; None for UTF-8, which needs no decoding."""
    if given is None:
        return None
    name, found = plain_scalar(given), None
    if isinstance(name, str):
        with suppress(LookupError, ValueError, UnicodeError):
            found = codecs.lookup(name).name
    if found in _UTF_8:
        return None
    if found is None:
        example = "Name that of the file, for example cp1252, latin-1 or utf-16."
        raise InputError("encoding", f": unknown encoding {safe_repr(given)}", remedy=example)
    if found not in _KNOWN:
        raise InputError(
            "encoding",
            "must be one in which a strange byte damages its own line only",
            given=safe_repr(given),
            remedy="Convert the file to UTF-8.",
        )
    return found


@contextmanager
def open_bytes(file: str, stopped: threading.Event | None = None, encoding: str | None = None) -> Iterator[ReadInto]:
    """Open a file for reading into buffers, decompressed if its name ends in .gz; standard input continues.

    An ``encoding`` other than UTF-8 is turned into it.
    """
    with _open_raw(file, stopped or threading.Event()) as read_into:
        yield read_into if encoding is None else transcoded(read_into, encoding)


@contextmanager
def _open_raw(file: str, stopped: threading.Event) -> Iterator[ReadInto]:
    if file == STDIN:
        yield partial(_read_stdin, stopped)
    elif is_gzip(file):
        with Path(file).open("rb") as packed, GzipFile(fileobj=packed) as unpacked:
            start = packed.peek(2)[:2]
            if len(start) < 2:
                raise _DamagedError
            if start != _GZIP:
                raise BadGzipFile
            yield partial(_unpack, unpacked)
    else:
        with Path(file).open("rb", buffering=0) as plain:
            yield plain.readinto


def _read_stdin(stopped: threading.Event, buffer: memoryview) -> int:
    """Read, waiting in short steps, so that the wait can be stopped."""
    with suppress(OSError):  # on Windows, only sockets can be waited for
        while not select.select([0], [], [], _POLL_SECONDS)[0] and not stopped.is_set():
            pass
    if stopped.is_set():
        raise InterruptedError
    found = os.read(0, len(buffer))
    buffer[: len(found)] = found
    return len(found)


def _unpack(unpacked: GzipFile, buffer: memoryview) -> int:
    try:
        return unpacked.readinto(buffer)
    except (EOFError, BadGzipFile, zlib.error):
        raise _DamagedError from None


def transcoded(read_into: ReadInto, encoding: str) -> ReadInto:
    """Return a function that reads UTF-8; what cannot be decoded becomes bytes that are not, so its line is blanked."""

    def blocks() -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(encoding)(errors=_STRANGE)
        block, got = memoryview(bytearray(_BLOCK)), 1
        while got:
            got = read_into(block) or 0
            try:
                decoded = decoder.decode(bytes(block[:got]), final=not got).encode("utf-8", "surrogatepass")
            except UnicodeError:  # whatever else is strange has been dealt with
                raise _UnmarkedError from None
            yield decoded

    return read_blocks(blocks())


def read_blocks(blocks: Iterator[bytes]) -> ReadInto:
    """Return a function that reads one block after the other."""
    ready = memoryview(b"")

    def read(buffer: memoryview) -> int:
        nonlocal ready
        while not ready:
            block = next(blocks, None)
            if block is None:
                return 0
            ready = memoryview(block)
        part, ready = ready[: len(buffer)], ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    return read


def _strange(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\ud800", error.end  # half a character, which is not valid in UTF-8


codecs.register_error(_STRANGE, _strange)


def header_line(file: str, encoding: str | None = None) -> str:
    """Return the header line of a CSV file, decoded: the only content of a text file that Python looks at."""
    line = _beginning(file, encoding, _LONGEST_HEADER).replace(b"\r", b"\n").split(b"\n", 1)[0]
    _refuse_other_formats(file, line)
    try:
        decoded = line.decode((encoding if file == STDIN else None) or "utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            "source",
            f": the header line of {shown_path(file)} is not {(encoding or 'utf-8').upper()}",
            remedy=("Set ", P("encoding"), ", for example to 'cp1252' or 'utf-16', or decompress the file."),
        ) from None
    if not decoded.strip() or len(line) == _LONGEST_HEADER or "\0" in decoded:
        raise InputError(
            "source",
            f": {shown_path(file)} has no header line",
            remedy="The first line of a CSV file must name its columns.",
        )
    return decoded


def check_array(file: str, encoding: str | None = None) -> None:
    """Refuse a file that does not begin as a JSON array does."""
    if not _beginning(file, encoding, _MOST_BLANKS).removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n").startswith(b"["):
        raise InputError(
            "source",
            f": {shown_path(file)} does not begin with a JSON array",
            remedy=("If it has one object a line, set ", P("format", "jsonl"), "."),
        )


def _beginning(file: str, encoding: str | None, most: int) -> bytes:
    """Return the first bytes of a file, in UTF-8; of standard input, of which no more may be taken, the first line."""
    head = bytearray()
    try:
        if file == STDIN:
            while len(head) < most and (byte := os.read(0, 1)) not in (b"", b"\n", b"\r"):
                head += byte
            return bytes(head)
        with open_bytes(file, encoding=encoding) as read_into:
            block = memoryview(bytearray(most))
            while len(head) < most and (got := read_into(block)):
                head += block[:got]
    except _UnmarkedError:
        raise InputError(
            "encoding",
            f": {shown_path(file)} does not begin with a byte order mark",
            remedy=("Use ", P("encoding", "utf-16-le"), " or ", P("encoding", "utf-16-be"), "."),
        ) from None
    except _DamagedError:
        raise DataError from None  # as for damage anywhere else in the file
    except OSError:
        raise InputError(
            "source", f": {shown_path(file)} cannot be read", remedy="Check that it is a text file, or one in gzip."
        ) from None
    return bytes(head[:most])


def _refuse_other_formats(file: str, line: bytes) -> None:
    """Name the format of a file that is none of lines; a column of a CSV file may be called PAR1, too."""
    if not any(byte < ord(" ") and byte != ord("\t") for byte in line[:_FEW]):
        return
    for first, (what, name, otherwise) in _OTHERS.items():
        if line.startswith(first):
            raise InputError(
                "format",
                f": {shown_path(file)} is {what}, not CSV",
                remedy=("Set ", P("format", name), f"{otherwise}."),
            )
