"""The engines. A new one is a folder with the files of the others, and an entry in ``registry.py``.

==========  ===============================================================================================
dialect.py  how it says things: a table of spellings, then the methods that differ (``sql/dialect.py``)
types.py    the kind that each declared type stands for, and the expression that reads a cell as a kind
session.py  how statements run, are interrupted and leave nothing behind (``tables/session.py``)
engine.py   what it recognises, how it describes a table, and what it refuses (``tables/engine.py``)
==========  ===============================================================================================
"""

__all__: list[str] = []
