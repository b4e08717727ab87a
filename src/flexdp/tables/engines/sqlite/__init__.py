"""SQLite tables, in a file or on a connection of the sqlite3 module."""

__all__: list[str] = []
