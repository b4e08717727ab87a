"""Spark DataFrames, classic or of Spark Connect, counted in their own session."""

__all__: list[str] = []
