"""Tables in memory: numpy arrays and Python lists."""

__all__: list[str] = []
