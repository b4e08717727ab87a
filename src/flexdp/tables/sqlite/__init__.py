"""SQLite: a file, or a connection of the sqlite3 module, with a table."""

__all__: list[str] = []
