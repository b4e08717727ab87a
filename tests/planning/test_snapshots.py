"""Plans cell by cell, as they were. FLEXDP_SNAPSHOTS=write rewrites the files; then read the diff.

``tables.json`` holds one digest of each table with its privacy, in the order of the grids below; ``texts.txt`` holds
whole plans, word for word.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from flexdp import InputError, plan

FOLDER = Path(__file__).parent / "snapshots"
WRITE = os.environ.get("FLEXDP_SNAPSHOTS") == "write"
Case = dict[str, Any]


def given() -> Iterator[Case]:
    shapes: tuple[Case, ...] = ({"width": 5, "bounds": (0, 120)}, {"buckets": 24}, {"width": 1, "bounds": (0, 1000)})
    for epsilon, delta, shape, records, units, releases in product(
        ("0.3", "1"), ("1e-6", "1e-9"), shapes, (None, 1000, 50_000), (None, 3), (1, 4)
    ):
        yield {"epsilon": epsilon, "delta": delta, **shape, "records_about": records, "max_buckets_per_unit": units,
               "releases": releases}  # fmt: skip


def targets() -> Iterator[Case]:
    for share, records in product(("0.01", "0.002", "0.2"), (10_000, 50_000, 10**6)):
        yield {"delta": "1e-7", "records_about": records, "lose_share": share, "buckets": 24}


def asked() -> Iterator[Case]:
    answers = (["max", "min"], ["max", "median", "q0.99"], ["range", "count"], ["q0.05", "q0.5", "q0.95"])
    for epsilon, records, ask, kind, bounds, units, releases in product(
        ("0.5", "2"), (200, 10_000, 10**6), answers, ("number", "integer"), (None, (0, 500)), (None, 2), (1, 2)
    ):
        yield {"epsilon": epsilon, "records_about": records, "ask": ask, "kind": kind, "bounds": bounds,
               "max_buckets_per_unit": units, "releases": releases}  # fmt: skip


def automatic() -> Iterator[Case]:
    for epsilon, records, bounds, units, releases in product(
        ("0.1", "1", "3"), (500, 5000, 100_000, 10**7), (None, (0, 500)), (None, 3), (1, 2)
    ):
        yield {"epsilon": epsilon, "delta": "1e-6", "records_about": records, "bounds": bounds,
               "max_buckets_per_unit": units, "releases": releases}  # fmt: skip


GRIDS = {"given": given, "targets": targets, "asked": asked, "automatic": automatic}
TEXTS: tuple[Case, ...] = (
    {"delta": "1e-6", "bounds": (0, 120), "width": 5},
    {"epsilon": 1, "delta": "1e-6", "bounds": (0, 120), "width": 5, "records_about": 50_000, "simulate": "normal"},
    {"epsilon": 1, "delta": "1e-6", "bounds": (0, 120), "lose_share": "0.02", "records_about": 50_000},
    {"lose_in_all": 500, "bounds": (1, 120), "relative": "0.1", "records_about": 50_000},
    {"epsilon": 12, "edges": [0, 18, 65, 120], "by": "ward", "groups": ["A", "B"], "records_about": 900},
    {"epsilon": 1, "delta": "1e-6", "width": 5, "releases": 52, "max_buckets_per_unit": 2, "stats": "mean"},
    {"epsilon": 1, "kind": "text", "by": "ward", "groups_about": 3, "records_about": 5000},
    {"epsilon": 1, "ask": ["max", "q0.99", "count"], "records_about": 10_000},
    {"epsilon": 1, "ask": ["median", "mean"], "records_about": 9000, "bounds": (0, 100), "kind": "integer"},
    {"epsilon": 1, "ask": "max", "records_about": 20_000, "by": "ward", "groups_about": 4},
    {"epsilon": 1, "delta": "1e-6", "records_about": 100_000},
    {"epsilon": 1, "delta": "1e-6", "ask": ["q0.999", "mean"], "records_about": 5000},
    {"epsilon": 1, "delta": "1e-6", "records_about": 6000, "ask": [], "max_buckets_per_unit": 3},
)  # fmt: skip


def said(case: Case) -> str:
    """The table of a plan and its privacy, or the parameter that is refused."""
    try:
        found = plan(**case)
        return json.dumps([*found.table(), str(found.privacy)], ensure_ascii=False)
    except InputError as refusal:
        return f"refused: {refusal.parameter}"


@pytest.mark.parametrize("name", GRIDS)
def test_tables_have_not_changed(name: str) -> None:
    path = FOLDER / "tables.json"
    recorded = json.loads(path.read_text()) if path.exists() else {}
    cases = list(GRIDS[name]())
    found = [hashlib.sha256(said(case).encode()).hexdigest()[:10] for case in cases]
    if WRITE:
        path.write_text(json.dumps(recorded | {name: found}, indent=0) + "\n")
        return
    changed = [case for case, old, new in zip(cases, recorded[name], found, strict=True) if old != new]
    assert not changed, f"{len(changed)} of {len(cases)} differ, first {changed[0]}: {said(changed[0])}"


def test_texts_have_not_changed() -> None:
    path = FOLDER / "texts.txt"
    found = "\n".join(f"=== {case}\n\n{plan(**case)}\n" for case in TEXTS)
    if WRITE:
        path.write_text(found)
    assert found == path.read_text()
