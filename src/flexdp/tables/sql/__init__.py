"""The count query, written once for all dialects."""

__all__: list[str] = []
