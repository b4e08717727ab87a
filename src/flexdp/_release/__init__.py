"""A release: checked, counted, thinned, described and read."""

__all__: list[str] = []
