"""flexdp beside its peers: accuracy and speed, as JSON and as a page of the documentation.

    make bench-peers [PEERS="--quick"] [PEERS="--minutes 60"] [PEERS="--panels speed"]

Accuracy comes in blocks: one table, number of records and ε, in which every method answers every statistic, as often as
``--draws`` says or until half a second of processor time is spent on one method and statistic, at least three times.
Finished blocks are kept in a journal, so that an interrupted run can resume; ε = 1 and 10^4 records come first. At the
end, also after ``--minutes``, docs/peers.json and docs/peers.md are written from the journal. A part of the methods or
statistics, and ``--quick``, have journals of their own, and the page is only printed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import _peer_keys
import _peer_numbers
import _peer_speed
import _peer_tables
import _peer_tumult
import numpy as np
import peers_page
from _peers import check_diffprivlib
from panel_peers import OURS, TIE, clearly, verdict

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
PACKAGES = (
    "flexdp", "opendp", "diffprivlib", "python-dp", "pipeline-dp", "dp-accounting", "POT", "numpy", "scipy",
    "scikit-learn", "duckdb", "polars", "pyarrow", "numba",
)  # fmt: skip
STATISTICS = (*_peer_numbers.STATISTICS, *_peer_keys.STATISTICS)
SIZES = (10**4, 10**3, 10**5, 10**6)
EPSILONS = ("1", "0.1", "3", "0.3")
ENOUGH, LEAST = 0.5, 3  # seconds of processor time for one method and statistic in a block; answers at least
DECISIVE = 8  # answers of both methods, below which the approximation of the rank-sum test is too optimistic
Block = tuple[str, str, int, str]


class Journal:
    """On-disk journal of finished blocks: one JSON line each, after a line that says what made them."""

    def __init__(self, path: Path) -> None:
        self.path, self.found = path, {}
        made_with = versions()
        if path.exists():
            first, *lines = path.read_text().splitlines()
            if json.loads(first)["versions"] != made_with:
                raise SystemExit(f"{path.name} was made with other versions; remove it or give another --journal")
            self.found = {tuple(entry["block"]): entry for entry in map(json.loads, lines)}
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"versions": made_with}) + "\n")

    def add(self, block: tuple[Any, ...], **entry: Any) -> None:
        self.found[block] = {"block": list(block), **entry}
        with self.path.open("a") as file:
            file.write(json.dumps(self.found[block]) + "\n")


def versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def repeated(answer: Callable[[], Any], draws: int) -> Iterator[Any]:
    """Answers until there are enough or they have taken long enough."""
    started = time.process_time()
    for turn in range(draws):
        if turn >= LEAST and time.process_time() - started > ENOUGH:
            return
        yield answer()


def measure(
    block: Block, draws: int, peers: set[str] | None, statistics: set[str] | None
) -> dict[str, dict[str, dict[str, Any]]]:
    """Statistic → method → error measures of every answer."""
    panel, table, size, epsilon = block
    found: dict[str, dict[str, dict[str, Any]]] = {}

    def note(statistic: str, method: str, measures: dict[str, float] | None) -> bool:
        if measures is not None and not measures:
            return False
        if statistics is not None and statistic not in statistics:
            return True
        kept = found.setdefault(statistic, {}).setdefault(method, {"refused": 0, "errors": {}})
        kept["refused"] += measures is None
        for name, error in (measures or {}).items():
            kept["errors"].setdefault(name, []).append(error)
        return True

    if panel == "numbers":
        values, bounds = _peer_tables.numbers(table, size)
        for method, statistic, answer in _peer_numbers.answers(values, bounds, epsilon, peers):
            wanted = statistics is None or statistic in statistics
            for measures in repeated(answer, draws if wanted else 0):
                if not note(statistic, method, measures):
                    break
    else:
        task = _peer_keys.KeyTask(_peer_tables.keys(table, size))
        for method, answer in _peer_keys.answers(task, float(epsilon), peers):
            for by_statistic in repeated(answer, draws):
                if not sum(note(statistic, method, measures) for statistic, measures in by_statistic.items()):
                    break
    return found


def blocks(given: argparse.Namespace) -> list[Block]:
    """All blocks that were asked for, the most telling first; a real table is not asked for more than it has."""
    wanted = set()
    names = {"numbers": _peer_tables.NUMBERS, "keys": _peer_tables.KEYS}
    for panel in (name for name in given.panels if name in names):
        for table, size, epsilon in itertools.product(names[panel], given.sizes, given.epsilons):
            if given.tables is None or table in given.tables:
                wanted.add((panel, table, min(size, _peer_tables.size_limit(table) or size), epsilon))

    def order(block: Block) -> tuple[int, str, int, str]:
        size = min((size for size in SIZES if size >= block[2]), default=max(SIZES))
        late = EPSILONS.index(block[3]) if block[3] in EPSILONS else len(EPSILONS)
        return SIZES.index(size) + late, block[0], block[2], block[1]

    return sorted(wanted, key=order)


def _digits(value: float) -> float | None:
    return None if not math.isfinite(value) else float(f"{value:.3g}")


def compile_cell(block: Block, statistic: str, methods: dict[str, Any]) -> dict[str, Any]:
    """Medians and 90 % errors of each method, and flexdp's verdict against it by the first measure."""
    panel, table, size, epsilon = block
    mine_by = _peer_keys.DEBIASED if statistic == "counts" else OURS
    mine = next(iter(methods.get(mine_by, {}).get("errors", {}).values()), None)
    declined = mine_by in methods and 2 * methods[mine_by]["refused"] > methods[mine_by]["refused"] + len(mine or ())
    rows = {}
    for method, kept in methods.items():
        first = next(iter(kept["errors"].values()), [])
        row: dict[str, Any] = {"answers": len(first)}
        if kept["refused"]:
            row["refused"] = kept["refused"]
        for name, errors in kept["errors"].items():
            row[name] = [_digits(float(np.quantile(errors, q, method="inverted_cdf"))) for q in (0.5, 0.9)]
        if method.split(",")[0] != OURS and mine and not declined and first:
            outcome = verdict(float(np.median(mine)), float(np.median(first)))
            row["flexdp"] = ("wins", "ties", "loses")[outcome]
            if outcome != 1 and len(mine) + len(first) >= DECISIVE and clearly(mine, first):
                row["flexdp"] = "clearly " + row["flexdp"]
        rows[method] = row
    return {
        "panel": panel, "table": table, "records": size, "epsilon": epsilon, "statistic": statistic,
        "declined": declined, "methods": rows,
    }  # fmt: skip


def results(journal: Journal, planned: list[Block], draws: int) -> dict[str, Any]:
    """All that was measured, without a trace of the machine but its number of processors."""
    cells, speed, tumult = [], [], {}
    for block, entry in journal.found.items():
        if block[0] in ("numbers", "keys"):
            extra = journal.found.get(("tumult", *block), {}).get("found", {})
            for statistic, methods in entry["found"].items():
                cells.append(compile_cell(block, statistic, {**methods, **extra.get(statistic, {})}))
        elif block[0] == "speed":
            speed += entry["found"]
        elif block == ("tumult",):
            tumult = entry["found"]
    return {
        "measured": dt.date.today().isoformat(),
        "command": "make bench-peers",
        "versions": versions(),
        "tumult": tumult,
        "parameters": {
            "seed": _peer_tables.SEED, "delta": _peer_keys.DELTA, "draws": draws, "tie": TIE,
            "sizes": sorted(SIZES), "epsilons": sorted(EPSILONS, key=float),
            "tables": _peer_tables.ABOUT, "blocks planned": len(planned),
            "blocks measured": sum(block[0] in ("numbers", "keys") for block in journal.found),
        },
        "accuracy": sorted(cells, key=lambda c: (c["panel"], c["statistic"], c["table"], c["records"], c["epsilon"])),
        "speed": speed,
    }  # fmt: skip


def write(found: dict[str, Any]) -> None:
    """JSON with one line a cell, and the page made from it."""
    head = {key: value for key, value in found.items() if key not in ("accuracy", "speed")}
    lines = [json.dumps(head, indent=1, ensure_ascii=False)[:-2]]
    for name in ("accuracy", "speed"):
        cells = ",\n".join(json.dumps(cell, ensure_ascii=False, separators=(",", ":")) for cell in found[name])
        lines.append(f',\n "{name}": [\n{cells}\n ]')
    text = "".join(lines) + "\n}\n"
    (DOCS / "peers.json").write_text(text, encoding="utf-8")
    (DOCS / "peers.md").write_text(peers_page.render(json.loads(text)), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="few tables, 10^3 and 10^4 records, ε = 1, small speed cases"
    )
    parser.add_argument("--panels", nargs="+", default=["speed", "numbers", "keys", "tumult"])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--epsilons", nargs="+", default=list(EPSILONS))
    parser.add_argument("--tables", nargs="+", help="only these tables")
    parser.add_argument("--peers", nargs="+", help="only these libraries (flexdp OpenDP diffprivlib PyDP PipelineDP)")
    parser.add_argument("--statistics", nargs="+", help=f"only these: {' '.join(STATISTICS)}")
    parser.add_argument("--draws", type=int, default=9, help="answers of a method to a statistic in a block")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no new block after so long")
    parser.add_argument("--journal", type=Path, default=HERE.parent / "build" / "peers.jsonl")
    parser.add_argument("--tumult", type=Path, default=HERE.parent / ".venv-tumult" / "bin" / "python")
    parser.add_argument("--dry", action="store_true", help="print the page instead of writing it and its JSON")
    given = parser.parse_args()
    if given.quick:
        given.sizes, given.epsilons, given.draws = [10**3, 10**4], ["1"], min(given.draws, 5)
        given.tables = given.tables or ["flights", "ages", "words", "carriers"]
    if given.quick or given.peers or given.statistics:  # a part: neither the journal nor the page of the whole
        chosen = "-".join(["quick"] * given.quick + sorted((given.peers or []) + (given.statistics or [])))
        given.dry = True
        if given.journal == parser.get_default("journal"):
            given.journal = given.journal.with_name(f"peers-{chosen}.jsonl")
    check_diffprivlib()
    journal, planned = Journal(given.journal), blocks(given)
    started = time.monotonic()

    def some(names: list[str] | None) -> set[str] | None:
        return set(names) if names else None

    def late() -> bool:
        return time.monotonic() - started > 60 * given.minutes

    def say(block: tuple[Any, ...]) -> None:
        print(f"{(time.monotonic() - started) / 60:6.1f} min  {' '.join(map(str, block))}", flush=True)

    if "speed" in given.panels:
        for name, case in _peer_speed.CASES.items():
            block = ("speed", name, "quick" if given.quick else "whole")
            if block not in journal.found and not late():
                journal.add(block, found=[{"room": name, **row} for row in case(given.quick)])
                say(block)
    for block in planned:
        if block not in journal.found and not late():
            journal.add(block, found=measure(block, given.draws, some(given.peers), some(given.statistics)))
            say(block)
    if "tumult" in given.panels:
        _peer_tumult.run(given.tumult, journal, late, say)
    found = results(journal, planned, given.draws)
    if given.dry:
        print(peers_page.render(found))
    else:
        write(found)


if __name__ == "__main__":
    main()
