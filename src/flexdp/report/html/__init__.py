"""Pages and notebook cards."""

__all__: list[str] = []
