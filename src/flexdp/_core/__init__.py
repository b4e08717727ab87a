"""Tools that every room may import, and that know nothing of privacy."""

__all__: list[str] = []
