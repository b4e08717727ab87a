"""Any DB-API 2 connection whose engine the caller names."""

__all__: list[str] = []
