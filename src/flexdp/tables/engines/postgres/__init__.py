"""Tables and views of PostgreSQL 14 or later, by an address or on a psycopg connection."""

__all__: list[str] = []
