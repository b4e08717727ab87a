"""Are the rows of a source records? One rule for all engines.

::

    a stored table, a file, a frame or array in memory ────────▶ yes
    a query with a plan of nodes (DuckDB, polars, PostgreSQL, classic Spark)
        only steps that make a row of one row, over one scan ──▶ yes
        any other step, word, function or second scan ─────────▶ the question
    any other query or view, a column that is computed when read ▶ the question

A count is private if one record makes, or changes, one row. In ``x - mean(x)``, a window, a limit or a join, one record
moves other rows, too, and the promise would be false. The question is one message, and ``rows_are_records=True`` its
answer. Plans show steps, but not all functions, so that the texts of a query and of what it names are searched for
words that depend on more than a row. Texts are never parsed, and nothing of them is repeated in a message.
"""

__all__: list[str] = []
