"""Experiments on simulated or public data; everything here is seeded and shows true answers."""

from flexdp.experiments.worst import WorstCase, WorstCases, csv_text, search

__all__ = ["WorstCase", "WorstCases", "csv_text", "search"]
