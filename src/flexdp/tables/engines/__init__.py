"""The engines. A new one is a folder with the same file names, and an entry in ``registry.py``.

==========  ===============================================================================================
dialect.py  its SQL: a table of spellings, then the methods that differ (``sql/dialect.py``); how its cells are read
session.py  how statements run, are interrupted and leave nothing behind (``tables/session.py``)
engine.py   the connections it recognises, how it describes a table, and what it refuses (``tables/engine.py``)
==========  ===============================================================================================
"""

__all__: list[str] = []
