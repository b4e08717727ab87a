"""Tables in Parquet, CSV and JSON lines files."""

__all__: list[str] = []
