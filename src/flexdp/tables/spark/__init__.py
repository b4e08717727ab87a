"""Spark: a DataFrame, classic or through Spark Connect; its own session counts it."""

__all__: list[str] = []
