"""Engines and connections of SQLAlchemy, whose driver's own connection is used."""

__all__: list[str] = []
