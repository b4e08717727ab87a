"""Frames of pandas, polars and pyarrow."""

__all__: list[str] = []
