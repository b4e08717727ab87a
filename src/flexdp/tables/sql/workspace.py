"""A session on an engine in which private copies live until it is closed.

The records that count are copied once, by one statement. Everything that follows reads the copy, so that all requests
of a program see the same records, whatever happens to the table meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from flexdp.tables.arrow_column import Numbers
from flexdp.tables.sql.dialect import Dialect

__all__ = ["Ask", "Workspace"]

Ask: TypeAlias = Callable[[str], Sequence[Sequence[Any]]]  # runs one statement and fetches all rows


@dataclass(frozen=True)
class Workspace:
    """A session on an engine.

    ``ask`` runs one statement and fetches its rows; ``keep`` stores the rows of a query under a name, until the session
    is closed; ``arrays``, on engines in this process, fetches columns as arrays, and ``numbers`` one of doubles or
    64-bit integers without its NULLs, or None if it has more than so many rows. All of them fail with one error and can
    be interrupted. A source that ``rereads`` can be read several times at little cost.
    """

    dialect: Dialect
    ask: Ask = field(repr=False)
    keep: Callable[[str, str], None] = field(repr=False)
    arrays: Callable[[str], dict[str, Any]] | None = field(default=None, repr=False)
    numbers: Callable[[str, int], Numbers | None] | None = field(default=None, repr=False)
    rows: str = "flexdp_records"
    cells: str = "flexdp_cells"
    rereads: bool = False
