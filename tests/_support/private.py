"""The private counts before the noise, which no user ever sees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flexdp._release.api import Request, prepare
from flexdp.histogram import KeyedHistogram
from flexdp.tables.engines.duckdb.session import engines_kept


@engines_kept()  # as a release does
def private_counts(source: Any, column: str | None = None, **parameters: Any) -> dict[Any, int]:
    """What a release would count, keyed by the buckets' centres; without buckets, value by value."""
    if not {"width", "relative", "edges", "beta"} & set(parameters):
        parameters = {"exact": True, **parameters}
    request = prepare(source, column, **parameters)
    private = private_bars(request)
    keys = request.partition.centres(private.parts[0]).tolist()
    return dict(zip(keys, private.counts.tolist(), strict=True))


def private_bars(request: Request, salt: str = "fixed") -> KeyedHistogram:
    """What a prepared release would count, before the noise; with a salt that is the same in every test."""
    question = request.questions[0]
    units = question.counting.units
    salted = None if units is None else replace(units, salt=salt)
    return question.table.count([replace(question.counting, units=salted)])[0]


def private_units(request: Request) -> KeyedHistogram:
    """The units by whether the cap touches them (key 1) or not (key 0), before the noise."""
    question = request.questions[0]
    return question.table.count([replace(question.counting, of_units=True)])[0]
