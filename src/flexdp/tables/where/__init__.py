"""Filters and derived columns: a small grammar of our own, parsed and never pasted, with one meaning on all engines."""

__all__: list[str] = []
