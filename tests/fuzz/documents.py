"""Documents from strangers: releases, several releases, mechanisms."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _support.documents import every_shape

import flexdp
from flexdp import Release, Releases
from flexdp.mechanisms import Bucketing, Dropping, Mechanism, ReadOff
from flexdp.statistics import Max, Quantile
from fuzz.oracles import demand, outcome_of

__all__ = ["WORDS", "mutated", "run", "seeds"]

DOCUMENTS = Path(__file__).parent.parent / "release" / "documents"
ASKED = ("max", "min", "range", "median", "iqr", "mode", "support", "count", "sum", "mean", "std", "counts", "answers")
MOST_GROUPS = 3


def run(data: bytes) -> None:
    """Read bytes as each kind of document; whatever is taken must be the same when it is written and read again."""
    for kind in (Release, Releases, Mechanism):
        found, _ = outcome_of(lambda kind=kind: kind.from_json(data))
        if found is None:
            continue
        written = found.to_json()
        again, refusal = outcome_of(lambda kind=kind, written=written: kind.from_json(written))
        demand(again is not None, f"its own document is refused: {refusal[1]}")
        demand(again == found or again.to_json() == written, "another value when it is read again")
        demand(again.to_json() == written, "another document when it is written again")
        if isinstance(found, Release):
            demand(again == found, "another release when it is read again")
        for release in [found] if isinstance(found, Release) else found.values() if isinstance(found, Releases) else []:
            _ask(release)


def _ask(release: Release) -> None:
    """Ask everything of a release: what was let through can be shown."""
    texts = [repr(release), str(release.certificate()), *release.conditions]
    for name in ASKED:
        answer, _ = outcome_of(getattr(release, name))
        texts += map(str, answer) if isinstance(answer, list) else [str(answer)]
    outcome_of(lambda: release.quantile("0.9"))
    outcome_of(lambda: release.top(3))
    outcome_of(lambda: release.max_at_least(5))
    if release.spec.by:
        groups = release.by_group()
        for group in list(groups)[:MOST_GROUPS]:
            outcome_of(lambda group=group: groups[group].median())
    outcome_of(release.columns_of_bars)
    if len(release.cells) <= 50:
        texts.append(release.to_html())
    for text in texts:
        text.encode()


def seeds() -> Iterator[bytes]:
    """Documents of former versions, and of every shape that a release has now."""
    for path in sorted(DOCUMENTS.glob("*.json")):
        yield path.read_bytes()
    for document in every_shape():
        yield json.dumps(document).encode()
    numbers = [i % 90 for i in range(900)]
    spend: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
    asked = flexdp.release(numbers, kind="integer", epsilon=1, delta=0, ask=["max", "q0.9", "mean", "count"])
    both = flexdp.release(numbers, kind="integer", ask=["median"], width=10, **spend)
    table = {"x": numbers, "y": numbers, "g": ["a", "b", "c"] * 300}
    kinds: dict[str, Any] = {"kind": "integer", "by": "g", "by_kind": "text"}
    grouped = flexdp.release(table, "x", ask=["max"], groups=["a", "b"], epsilon=1, delta=0, **kinds)
    part = flexdp.release(table, "z", derive={"z": "x + y"}, where="g = 'a'", width=20, title="T", **spend)
    several = flexdp.release(table, ["x", "y"], kind="integer", width=20, separately=True, **spend)
    for release in (asked, both, grouped, part, several):
        yield release.to_json().encode()
    chain = Bucketing(width=5, bounds=(0, 100)) >> Dropping(1, "1e-6")
    for mechanism in (chain, chain >> ReadOff(Max()), chain >> ReadOff(Quantile("0.9"))):
        yield mechanism.to_json().encode()


VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 27, 28, 2**31, 2**53, 2**63, 2**64, 10**18, 10**30, -(2**63), 0.5, 1.5, -0.0, 1e308,
    5e-324, 1e300, "", "a", "0", "1", "1/3", "1e-6", "1e-300", "1e400", "1e9999999", "9" * 400, "nan", "-1", ">0",
    "0.1", "text", "integer", "number", "date", "datetime", "boolean", "2024-01-01", "2024-01-01T00:00:00",
    "0001-01-01",
    "9999-12-31", "1 month", "1 day", "1 week", "UTC", "Europe/Berlin", "clamp", "drop", "max", "record", "x", "y", "g",
    "\ud83d\ude00", "\x00", "\x1b[31m", "x = 1", "x + 1", [], {}, [[]], [0], [1, 2], ["0", "10"], {"width": "1"},
    {"edges": ["0", "1"]}, {"fraction": "1/2"}, {"fraction": "1e9999999"}, {"mechanism": "Dropping", "parameters": {}},
    {"statistic": "Max", "parameters": {}},
)  # fmt: skip


def mutated(data: bytes, rng: random.Random, bytewise: Callable[[bytes], bytes]) -> bytes:
    """Change values of a document in their places; now and then bytes, so that the parser itself is tried, too."""
    if rng.random() < 0.15:
        return bytewise(data)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return bytewise(data)
    if not isinstance(document, dict | list):
        return bytewise(data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        found = list(_places(document))
        if not found:
            break
        holder, key = rng.choice(found)
        _change(holder, key, rng, [document, *(each[place] for each, place in found)])
    return json.dumps(document, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where a value can be changed."""
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(min(len(value), 6)))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _change(holder: Any, key: Any, rng: random.Random, all_values: list[Any]) -> None:
    how = rng.randrange(9)
    value = holder[key]
    if how == 0:
        del holder[key]
    elif how == 1:
        holder[key] = copy.deepcopy(rng.choice(all_values))
    elif how == 2 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(rng.choice([value, *VALUES])))
    elif how == 3 and isinstance(holder, dict):
        names = [name for each in all_values if isinstance(each, dict) for name in each]
        holder[rng.choice(names or ["x"])] = copy.deepcopy(rng.choice(VALUES))
    elif how == 4 and isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = value + rng.choice((-1, 1, 0.5, 10, -value, 2**32))
    elif how == 5 and isinstance(value, str):
        place = rng.randint(0, len(value))
        holder[key] = (
            value[:place] + rng.choice(("", "0", "e", "-", "/", ".", "9" * 30, "\0", "é", ">")) + value[place + 1 :]
        )
    elif how == 6 and isinstance(value, list):
        holder[key] = rng.choice((value[:-1], value * 2, value[::-1], value[:1], [*value, rng.choice(VALUES)]))
    else:
        holder[key] = copy.deepcopy(rng.choice(VALUES))


WORDS = (
    "flexdp.release/1",
    "flexdp.release/2",
    "flexdp.releases/2",
    "Infinity",
    "NaN",
    "\\ud800",
    "1e999",
    "[[[[",
    "}",
)
