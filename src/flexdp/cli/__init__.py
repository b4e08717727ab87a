"""The command line: one command a file, with shared options, error handling and output."""

from __future__ import annotations

from flexdp.cli.app import cli, main

__all__ = ["cli", "main"]
