"""Tables and views of MariaDB, by an address or on a connection of a DB-API driver."""

__all__: list[str] = []
