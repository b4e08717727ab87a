"""The one count query, written once over the dialects of the engines."""

__all__: list[str] = []
