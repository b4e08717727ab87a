"""PostgreSQL, from version 14: a psycopg connection or an address, with a table or view."""

__all__: list[str] = []
