"""Simulated data: the grammar of laws, laws to draw from, laws to plan with, and seeded streams."""

__all__: list[str] = []
