"""How a budget is divided and what it adds up to."""

__all__: list[str] = []
