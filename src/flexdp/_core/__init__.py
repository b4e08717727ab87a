"""What everything may import, and what knows nothing of privacy."""

__all__: list[str] = []
