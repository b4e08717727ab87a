"""Are the rows of a source records? One rule for all engines.

::

    a stored table, a file, a frame or array in memory ────────▶ yes
    a query with a plan of nodes (DuckDB, polars, PostgreSQL, classic Spark)
        only steps that make a row of one row, over one scan ──▶ yes
        any other step, word, function or second scan ─────────▶ the question
    any other query or view, a column that is computed when read ▶ the question

A count is private if one record makes, or changes, one row. In ``x - mean(x)``, a window, a limit or a join, one record
also changes other rows, and the guarantee would be false. The question is one message, and ``rows_are_records=True`` is
the answer. Plans show steps, but not all functions, so the text of a query, and the texts of the views and macros that
it names, are searched for words that depend on more than one row. Texts are never parsed, and messages never repeat
them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote

from flexdp._core.text import safe_repr
from flexdp.errors import FlexdpError, InputError, P

__all__ = [
    "all_different", "checked", "in_folder", "is_remote", "local_path", "not_of_the_row", "not_records", "shadowed",
]  # fmt: skip


def not_records() -> InputError:
    """Return the refusal of a query, a view, a stream or a computed table."""
    return InputError(
        "source",
        "is a query, a view, a stream or a computed table, whose rows need not be records",
        remedy=(
            "Does every row come from exactly one record, and does no record make two rows? For GROUP BY, joins, "
            "windows, DISTINCT, LIMIT, UNION, randomness, row numbers and files read twice the answer is no. If yes, "
            "set ",
            P("rows_are_records", True), "; if not, pass the table itself, with ", P("where"), " or ", P("derive"), ".",
        ),
    )  # fmt: skip


def not_of_the_row(column: str) -> InputError:
    """Return the refusal of a column that is computed when it is read."""
    return InputError(
        "source",
        f"is a table whose rows need not be records: column {safe_repr(column)} is computed when it is read",
        remedy=(
            "Is each of its cells computed from its own row alone, and the same whenever it is read? If yes, set ",
            P("rows_are_records", True), "; if not, use other columns.",
        ),
    )  # fmt: skip


def shadowed() -> InputError:
    """Return the refusal of a connection on which a built-in function or operator means something else."""
    return InputError(
        "source",
        ": its DuckDB connection has a macro with the name of a built-in function or operator, which "
        "flexdp's own queries would call instead",
        remedy="Drop or rename the macro, or pass a connection that does not have it.",
    )


def checked(check: Callable[[], None]) -> None:
    """Check a definition; one that cannot be read is refused."""
    read = False
    try:
        check()
        read = True
    except FlexdpError:
        raise
    except Exception:  # noqa: BLE001  (the engine's message is not repeated)
        read = False
    if not read:
        raise not_records()


_LOCAL = "file:"


def is_remote(path: str) -> bool:
    """Tell whether a path is the address of a file elsewhere."""
    return "://" in path and not path.lower().startswith(_LOCAL)


def local_path(path: str) -> str:
    """Return a path without the scheme of local files."""
    if not path.lower().startswith(_LOCAL) or Path(path).exists():
        return path
    rest = path[len(_LOCAL) :]
    rest = "/" + rest.lstrip("/") if rest.startswith("/") else rest
    return rest if Path(rest).exists() else unquote(rest)


def all_different(files: Sequence[str]) -> bool:
    """Tell whether files are known to be different, also where links or other spellings of a path lead to them."""
    if len(files) < 2:
        return True
    try:
        entries = [os.stat(local_path(file)) for file in files]  # noqa: PTH116
    except (OSError, ValueError):
        return False
    return len({(entry.st_dev, entry.st_ino) for entry in entries}) == len(files)


def in_folder(path: str) -> list[str]:
    """Return the files in a directory; none if an engine may follow a link, or not."""
    inside = sorted(Path(path).rglob("*"))
    return [] if any(each.is_symlink() for each in inside) else [str(each) for each in inside if each.is_file()]
