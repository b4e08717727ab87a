"""Simulated data: laws to draw it from, and seeded streams."""

__all__: list[str] = []
