"""Columns of stored tables that are computed when they are read: is each cell computed from its own row?

A column that is computed when a row is written is stored like any other. One that is computed when it is read is like a
view: with a variable of the session or a number of the row, one record changes the cells of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from flexdp._core.text import safe_repr
from flexdp.errors import InputError, P
from flexdp.tables.plans.words import Word, depths_of

__all__ = ["DOUBTFUL", "VARIABLE", "calls", "definitions", "not_of_the_row", "with_dependents"]

DOUBTFUL = "a function that is not known to depend on the row alone"
VARIABLE = "a variable of the session"
_OPENING, _CLOSING, _COMMA = ("sign", "("), ("sign", ")"), ("sign", ",")


def not_of_the_row(column: str, reason: str) -> InputError:
    """Return the refusal of a computed column; ``reason`` names a kind of function, never a part of the definition."""
    return InputError(
        "source",
        f"is a table whose rows need not be records: column {safe_repr(column)} is computed when it is read and has "
        f"{reason}, so that one record may change several rows",
        remedy=(
            "Use other columns; or set ", P("rows_are_records", True),
            " if every record yields at most one row and no row depends on more than one record.",
        ),
    )  # fmt: skip


def definitions(words: Sequence[Word]) -> dict[str, list[Word]]:
    """Return the expressions of the columns that a CREATE TABLE computes when they are read, by the column's name."""
    found = {}
    for part in _parts(words):
        places = [i for i, word in enumerate(part) if _is(word, "AS") and part[i + 1 : i + 2] == [_OPENING]]
        outer = [i for i in places if depths_of(part)[i] == 0]
        if not outer:
            continue
        start = outer[0] + 2
        depths = depths_of(part[start - 1 :])
        end = start - 1 + next(i for i, word in enumerate(part[start - 1 :]) if word == _CLOSING and depths[i] == 1)
        if not any(_is(word, "STORED", "PERSISTENT") for word in part[end + 1 : end + 2]):
            found[_plain(part[0])] = part[start:end]
    return found


def _parts(words: Sequence[Word]) -> list[list[Word]]:
    """Return what stands in the first bracket of a statement, split at its commas."""
    parts: list[list[Word]] = [[]]
    depths, inside = depths_of(list(words)), False
    for word, depth in zip(words, depths, strict=True):
        if depth == 1 and word == _CLOSING:
            break
        if inside and depth == 1 and word == _COMMA:
            parts.append([])
        elif inside:
            parts[-1].append(word)
        inside = inside or word == _OPENING
    return [part for part in parts if part]


def calls(words: Sequence[Word]) -> set[Word]:
    """Return the words and quoted names that stand before a bracket."""
    return {word for word, following in pairwise(words) if word[0] in ("word", "name") and following == _OPENING}


def with_dependents(reasons: Mapping[str, str], expressions: Mapping[str, Iterable[Word]]) -> dict[str, str]:
    """Return the refused columns with those that are computed from them."""
    found = dict(reasons)
    names = {name: {_plain(word).lower() for word in words} for name, words in expressions.items()}
    while more := {
        name: reason
        for other, reason in found.items()
        for name, used in names.items()
        if name not in found and other.lower() in used
    }:
        found |= more
    return found


def _plain(word: Word) -> str:
    """Return a word without quotes; SQLite accepts names in single ones."""
    return word[1][1:-1].replace("''", "'") if word[0] == "text" else word[1]


def _is(word: Word, *among: str) -> bool:
    return word[0] == "word" and word[1].upper() in among
