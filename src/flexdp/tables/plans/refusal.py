"""The question that is put where rows need not be records."""

from __future__ import annotations

from collections.abc import Callable

from flexdp._core.text import safe_repr
from flexdp.errors import FlexdpError, InputError, P

__all__ = ["checked", "not_of_the_row", "not_records", "shadowed"]


def not_records() -> InputError:
    """Return the refusal of a query, a view, a stream or a computed table."""
    return InputError(
        "source",
        "is a query, a view, a stream or a computed table, whose rows need not be records",
        remedy=(
            "Does every row come from exactly one record, and does no record make two rows? GROUP BY, joins, windows, "
            "DISTINCT, LIMIT, UNION, randomness, row numbers and files read twice say no. If yes, set ",
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
        ": its DuckDB connection has a macro with the name of a built-in function or operator, which would be used "
        "instead of it, also by flexdp",
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
