"""Columns that a connection may not read: found before anything is charged, and without reading a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.declared import Column
from flexdp.tables.sql.workspace import Ask

__all__ = ["not_permitted", "unread_columns"]


def not_permitted(table: str, column: str = "") -> InputError:
    """Return the refusal of a table, or of one of its columns, for which a privilege is missing."""
    what = f"{column} of {safe_repr(table)}" if column else safe_repr(table)
    return InputError(
        "source",
        f": the connection may not read {what}: the SELECT privilege is missing",
        remedy="Ask the owner of the table to grant it. Nothing was read.",
    )


def unread_columns(ask: Ask, name: str, columns: Sequence[Column], identifier: Callable[[str], str]) -> frozenset[str]:
    """Return the columns that cannot be selected, by selecting no row; for engines that go on after an error."""
    names = [column.engine_name or column.name or "" for column in columns]
    if _selects(ask, name, [identifier(each) for each in names]):
        return frozenset()
    ask("SELECT 1")  # raises if the connection is lost
    return frozenset(each for each in names if not _selects(ask, name, [identifier(each)]))


def _selects(ask: Ask, name: str, written: Sequence[str]) -> bool:
    try:
        ask(f"SELECT {', '.join(written)} FROM {name} WHERE 1 = 0")
    except Exception:  # noqa: BLE001  (the engine's message is not repeated)
        return False
    return True
