"""DuckDB, the default engine: it reads files, frames and its own relations."""

__all__: list[str] = []
