"""Budgets of releases, and the noise that they buy."""

__all__: list[str] = []
