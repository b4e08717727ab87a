"""The refusal of a query whose rows are not records."""

from __future__ import annotations

from collections.abc import Callable

from flexdp.errors import FlexdpError, InputError, P

__all__ = ["UNKNOWN", "UNKNOWN_FUNCTION", "checked", "computed_query", "file_twice", "not_records", "shadowed"]

UNKNOWN = "a step that is not known to work row by row"
UNKNOWN_FUNCTION = "a function that may depend on more than one row"


def not_records(reason: str) -> InputError:
    """Return the refusal; ``reason`` names a kind of step, never a part of the plan."""
    return InputError(
        "source",
        f"is a query whose rows need not be records: it has {reason}, so that one record may change several rows",
        remedy=(
            "Pass the table itself, and release it with ", P("where"), " or ", P("derive"), "; or set ",
            P("rows_are_records", True),
            " if every record yields at most one row and no row depends on more than one record.",
        ),
    )  # fmt: skip


def file_twice() -> InputError:
    """Return the refusal of files of which one is, or may be, read twice."""
    return InputError(
        "source",
        "is a query whose rows need not be records: it may read the same file twice, so that one record makes two rows",
        remedy=(
            "Name each file once, by its literal path, not through a link; or set ",
            P("rows_are_records", True), " if no file is read twice.",
        ),
    )  # fmt: skip


def computed_query() -> InputError:
    """Return the refusal of a query that is itself a value: a text, a parameter or the name of a table."""
    return InputError(
        "source",
        "is a query whose rows need not be records: it calls a function that makes or runs another query, "
        "whose text is not shown",
        remedy=(
            "Pass the inner query itself; or set ", P("rows_are_records", True),
            " if every record yields at most one row and no row depends on more than one record.",
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
        raise not_records("a definition that cannot be read")
