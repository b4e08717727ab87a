"""DuckDB, the default engine: reads files, frames and its own relations."""

__all__: list[str] = []
