"""``python -m flexdp.cli``."""

from __future__ import annotations

from flexdp.cli import main

__all__: list[str] = []

main()
