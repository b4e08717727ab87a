"""Small languages: statistics, laws, buckets, bounds, durations, numbers, lists, formats of dates, zones, receipts.

The first byte of an input chooses the language, the rest is the text. Texts whose parts are several are split at ``|``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any, get_args

import click
import numpy as np

from flexdp import experiments
from flexdp._core.calendar import check_zone
from flexdp._core.exact import exact, exact_text
from flexdp.accounting import Receipt
from flexdp.buckets.base import Kind
from flexdp.buckets.parse import bucket_parameters, make_buckets
from flexdp.cli.options import comma_separated, named_values, pair_of
from flexdp.planning import plan
from flexdp.statistics.parse import parse_statistic
from flexdp.tables.written import DateFormat
from fuzz.oracles import demand, outcome_of

__all__ = ["WORDS", "run", "seeds"]

KINDS: tuple[Kind, ...] = get_args(Kind)
SHOWN = dt.datetime(2024, 2, 29, 18, 30, 15, 123456, tzinfo=dt.UTC)
OPTION = click.Option(["--groups"])


def _statistic(text: str) -> None:
    found = parse_statistic(text)
    demand(parse_statistic(text) == found and repr(found).isprintable(), "another statistic")


def _law(text: str) -> None:
    law = experiments.parse_law(text, records=20, bars=10)
    counts = law.counts(np.random.default_rng(1)) if law.bars <= 10_000 else None
    demand(counts is None or (counts.min(initial=0) >= 0 and len(counts) == law.bars), "heights that cannot be")


def _planned(text: str) -> None:
    found = plan(epsilon=1, delta="1e-6", records_about=200, bounds=(0, 100), width=10, simulate=text)
    found.to_json().encode()


def _buckets(text: str) -> None:
    """The parameters of buckets: kind | width | relative | edges, separated by ; | lower bound | upper bound | open."""
    parts = [*text.split("|"), *[""] * 6][:7]
    kind, width, relative, edges, low, high, ends = parts
    bounds = (low, high) if low or high else None
    listed = edges.split(";") if edges else None
    found = make_buckets(
        kind if kind in KINDS else KINDS[len(kind) % len(KINDS)],
        width=width or None,
        relative=relative or None,
        edges=listed,
        bounds=bounds,
        outside="drop" if ends == "drop" else "clamp",
        open=ends == "open",
    )
    again = make_buckets(found.kind, **bucket_parameters(found))
    demand(again == found, "other buckets from their own parameters")
    demand(found.spec.isprintable(), "a description that is not one line")


def _date_format(text: str) -> None:
    found = DateFormat.parse(text)
    demand(found.example and found.write(SHOWN), "nothing is written")


def _number(text: str) -> None:
    found = exact("epsilon", text)
    demand(exact("epsilon", exact_text(found)) == found, "another number when it is written and read again")


def _receipt(text: str) -> None:
    found = Receipt.parse(text)
    demand(Receipt.parse(str(found)) == found, "another receipt")


def _list(text: str) -> None:
    context = click.Context(click.Command("release"))
    demand(all(comma_separated(context, OPTION, text) or [""]), "an empty value")


def _named(text: str) -> None:
    context = click.Context(click.Command("release"))
    demand(all((named_values(context, OPTION, tuple(text.split("|"))) or {"": ""}).values()), "an empty value")


LANGUAGES: dict[str, Callable[[str], Any]] = {
    "statistic": _statistic,
    "law": _law,
    "plan": _planned,
    "buckets": _buckets,
    "bounds": lambda text: demand(all(pair_of(text)), "an empty bound"),
    "date format": _date_format,
    "number": _number,
    "receipt": _receipt,
    "list": _list,
    "named": _named,
    "zone": lambda text: check_zone(text),
    "step noise": lambda text: experiments.StepNoise.parse(text),
}
NAMES = list(LANGUAGES)


def run(data: bytes) -> None:
    """Parse a text of one of the languages."""
    if not data:
        return
    language = LANGUAGES[NAMES[data[0] % len(NAMES)]]
    text = data[1:].decode("utf-8", "surrogateescape")
    outcome_of(lambda: language(text))


EXAMPLES = {
    "statistic": ["max", "q0.99", "p99", "p1e-3", "top:10", "max_at_least:500", "medain", "average", "q1/3", "max,min"],
    "law": ["normal:50,10", "cauchy:45,4", "lognormal:median=20,sigma=0.5", "uniform:0,100", "zipf:1.5,100",
            "poisson:250", "steps:540x50,490x50", "couchy:1,2", "normal:sd=1,mean=5"],
    "plan": ["normal:50,10", "cauchy:45,4", "lognormal:3,0.5", "uniform:0,100", "zipf:1.5", "normal"],
    "buckets": ["number|5||||0|120", "number||0.1", "integer|5", "date|1 week", "datetime|15 minutes||",
                "datetime|1 month|||2024-01-01|2024-12-31T18:30", "number|||0;18;65", "number|||0;>0;10||open",
                "date|||2024-01-01;2024-02-01", "integer||||0|9|drop", "date|2 quarters", "number|1/3", "text",
                "boolean",
                "datetime|1 year|||0001-01-01|9999-12-31", "integer|||1;2;3"],
    "bounds": ["0:120", "2024-01-01T06:00:2024-12-31", "-1.5:2e3", "1:2:3"],
    "date format": ["%d.%m.%Y", "%Y-%m-%dT%H:%M:%S%z", "%d %B %y %I:%M %p", "%Y%m%d", "%%%d/%m/%Y", "%H"],
    "number": ["1", "0.1", "1e-6", "1/3", "-5", "1e400", "1_000", "٣", " 7 "],
    "receipt": ["a:1:0123456789abcdef", "a", ":1:"],
    "list": ["A,B", '"a,b", c', '"a ""b"""', ",", '"'],
    "named": ["stay=arr - dep", "a=1|b=2", "=", "x=number"],
    "zone": ["UTC", "Europe/Berlin", "../etc", "", "Etc/GMT+5"],
    "step noise": ["none", "poisson", "normal:1", "uniform:5"],
}  # fmt: skip


def seeds() -> Iterator[bytes]:
    """Texts of every language, right and wrong ones."""
    for place, name in enumerate(NAMES):
        for text in EXAMPLES[name]:
            yield bytes([place]) + text.encode()


WORDS = (
    *KINDS, "max_at_least:", "top:", "q0.", "p9", "normal:", "lognormal:median=", "sigma=", "steps:", "540x50", "zipf:",
    "poisson:", " month", " quarters", " minutes", " microseconds", " weeks", "2024-12-31", "T18:30", "0001-01-01",
    "9999-12-31T23:59:59.999999", "1e400", "1e-400", "1e999999999", "1/3", "9223372036854775808", "%d", "%m", "%Y",
    "%y", "%b", "%B", "%H", "%I", "%M", "%S", "%f", "%p", "%z", "%%", "|", ";", ">0", "drop", "open", "\u0663",
    "\u2212",
)  # fmt: skip
