"""The files that a DuckDB relation reads, by its text: the plan does not name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from flexdp.tables.plans.files import all_different, expanded, is_remote
from flexdp.tables.plans.refusal import file_twice

__all__ = ["FRAME_SCANS", "check_files", "without_reader_options"]

FRAME_SCANS = {"ARROW_SCAN", "ARROW_SCAN_DUMB", "PYTHON_ARROW_SCAN", "PANDAS_SCAN"}
_FILE_SCANS = {"PARQUET_SCAN", "READ_PARQUET"}
_READERS = {"parquet_scan", "read_parquet"}
_ASSIGNED = [[":", "="], ["=", ">"], ["="]]  # to an option of a reader
_LISTS = [["["], ["list_value", "("], ["main", ".", "list_value", "("]]  # the latter as a view is stored
_OWN_LISTS = """
SELECT 1 FROM duckdb_functions()
WHERE function_type LIKE '%macro' AND NOT internal AND lower(function_name) = 'list_value'
"""  # in the place of the built-in function
_WORD = re.compile(
    r"""\s+ | --[^\n\r]* | /\*(?:(?!/\*).)*?\*/
  | (?P<odd>[eExXuU]&?'|\$\w*\$|/\*)
  | (?P<text>'(?:[^']|'')*')
  | (?P<name>"(?:[^"]|"")*")
  | (?P<word>\w+)
  | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)


def check_files(ask: Callable[[str], Any], text: str, names: Sequence[str]) -> None:
    """Refuse a text unless every file that its plan scans is written out in it, and is read once.

    ``names`` are the steps of the plan.
    """
    scans = sum(name in _FILE_SCANS for name in names)
    if not scans:
        return
    found = list(_sources(_words(text)))
    if (
        len(found) < scans or ask(_OWN_LISTS).fetchall()
    ):  # by a variable, by another relation or by a name without quotes
        raise file_twice()
    for paths in found:
        if len(paths) == 1 and is_remote(paths[0]):  # a store has no links, and lists every name once
            continue
        listed = [_expanded(ask, path) for path in paths]
        if [] in listed or not all_different([file for files in listed for file in files]):
            raise file_twice()


def without_reader_options(text: str, option: str) -> str:
    """Return a text without ``option := false`` in the brackets of a reader, where no column can be meant."""
    words, kept = _split(text), []
    if any(kind == "odd" for kind, _ in words):
        return text
    open_brackets: list[bool] = []  # of each: is it a reader's, or one in it as a view is stored?
    for place, (kind, word) in enumerate(words):
        if word == "(" and kind == "sign":
            before = words[place - 1] if place else ("", "")
            named = before[0] in ("word", "name") and before[1].strip('"').lower() in _READERS
            around = open_brackets[-1:] == [True] and before == ("sign", ",")
            open_brackets.append(named or around)
        elif word == ")" and kind == "sign":
            del open_brackets[-1:]
        elif kind == "word" and word.lower() == option and open_brackets[-1:] == [True]:
            signs = [text.lower() for _, text in words[place + 1 : place + 5]]
            value = next((signs[len(each) :] for each in _ASSIGNED if signs[: len(each)] == each), [])
            if value[:1] == ["false"] and value[1:2] in ([","], [")"]) and words[place - 1][1] in ("(", ","):
                continue
        kept.append(word)
    return " ".join(kept)


def _words(text: str) -> list[tuple[str, str]]:
    """Split a text into its words; another way of quoting, or a comment in a comment, is refused."""
    out = _split(text)
    if any(kind == "odd" for kind, _ in out):
        raise file_twice()
    return out


def _split(text: str) -> list[tuple[str, str]]:
    return [(str(found.lastgroup), found.group()) for found in _WORD.finditer(text) if found.lastgroup is not None]


def _sources(words: Sequence[tuple[str, str]]) -> Iterator[list[str]]:
    """Yield the paths of every reader in a text, and of every file after FROM."""
    for place, (kind, text) in enumerate(words):
        after = words[place + 1 : place + 2]
        if kind in ("word", "name") and text.strip('"').lower() in _READERS and after == [("sign", "(")]:
            yield _argument(words[place + 2 :])
        elif kind == "word" and text.upper() in ("FROM", "TABLE") and after and after[0][0] in ("text", "name"):
            path = _unquoted(after[0][1])
            if "parquet" in path.lower() and path.lower() not in _READERS:
                yield [path]


def _argument(words: Sequence[tuple[str, str]]) -> list[str]:
    """Return the paths of a call: one literal, or a list of literals, and nothing that is computed."""
    signs = [text if kind != "text" else "" for kind, text in words]
    opening = next((each for each in _LISTS if signs[: len(each)] == each), [])
    place, paths = len(opening), []
    while words[place][0] == "text":
        paths.append(_unquoted(words[place][1]))
        place += 1
        if not opening or signs[place] != ",":
            break
        place += 1
    if opening:
        if signs[place] != ("]" if opening == ["["] else ")"):
            raise file_twice()
        place += 1
    if not paths or signs[place] not in (",", ")"):
        raise file_twice()
    return paths


def _unquoted(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0])


def _expanded(ask: Callable[[str], Any], path: str) -> list[str]:
    """Return the files of a path as the engine finds them; a directory is searched here."""
    if is_remote(path) or Path(path).is_dir():
        return expanded(path) or []
    quoted = path.replace("'", "''")
    return [str(row[0]) for row in ask(f"SELECT file FROM glob('{quoted}')").fetchall()]
