"""Tables of SQLite, by what SQLite lists of them; plans of SQLite do not show a limit, nor every aggregate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flexdp.tables.plans.refusal import not_records

__all__ = ["check_stored"]

_COMPUTED = 2  # of a generated column that is not stored
_KINDS = """
SELECT t.type FROM pragma_table_list AS t LEFT JOIN pragma_database_list AS d ON d.name = t.schema
WHERE t.name = {name} COLLATE NOCASE AND {schema} IN ('', t.schema) ORDER BY t.schema <> 'temp', d.seq LIMIT 1
"""


def check_stored(
    ask: Callable[[str], Sequence[Sequence[Any]]], name: str, schema: str, quote: Callable[[str], str]
) -> set[str]:
    """Refuse what is no stored table; return the columns that are computed when they are read."""
    kinds = ask(_KINDS.format(name=quote(name), schema=quote(schema.lower())))
    if [row[0] for row in kinds] != ["table"] or name.lower().startswith("sqlite_"):  # those count the rows of others
        raise not_records()
    place = f", {quote(schema)}" if schema else ""
    found = ask(f"SELECT name, hidden FROM pragma_table_xinfo({quote(name)}{place})")
    return {str(row[0]) for row in found if row[1] == _COMPUTED}
