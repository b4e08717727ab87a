"""Tables and views of ClickHouse, on a connection of chdb or of another DB-API driver."""

__all__: list[str] = []
