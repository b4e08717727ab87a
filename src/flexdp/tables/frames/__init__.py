"""Frames: pandas, polars, pyarrow."""

__all__: list[str] = []
