"""Fuzzing: targets that take bytes, the runner that feeds them, and everything that ever broke one of them."""
