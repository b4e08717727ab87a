"""Files: Parquet, CSV and JSON lines."""

__all__: list[str] = []
