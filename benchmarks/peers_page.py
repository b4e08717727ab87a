"""The page docs/peers.md, made from docs/peers.json alone: no number on it is typed by hand.

python benchmarks/peers_page.py        writes the page again
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
WIDE = " (1000× bounds)"
OURS = "flexdp"
TITLES = {
    "max": "maximum", "min": "minimum", "q01": "1st percentile", "median": "median", "q99": "99th percentile", "count": "count",
    "sum": "sum", "mean": "mean", "mode": "mode", "support": "keys that occur", "top10": "ten commonest keys",
    "counts": "counts of unknown keys",
}  # fmt: skip
MEASURES = {
    "value": "error in interquartile ranges", "rank": "records between the answer and the exact rank", "relative": "relative error",
    "gap": "records by which the returned key falls short of the commonest, as a fraction of all",
    "wrong": "keys missed or invented, as a fraction of all keys that occur or were published", "missed": "fraction missed (counts: of the keys with at least 20/ε records)",
    "invented": "published although they do not occur, a fraction of what was published or (counts) a number of keys", "count error": "mean absolute error of the ten counts", "released": "keys published",
    "error": "mean absolute error of the counts of keys with at least 20/ε records (0 if missing)",
}  # fmt: skip
# What is said where a library clearly wins more cells of a statistic than it loses: the reason, and the choice.
REASONS = {
    "counts": (
        "noise in both directions needs a threshold of about 14/ε records at δ = 10⁻⁶, and its mean error is about 1/ε. flexdp "
        "never counts too high, so every count loses about 14/ε records; adding the mean loss back (`counts(debias=True)`, which is what is compared here) leaves an error somewhat larger than 1/ε.",
        "For counts that are right on average, small keys included: OpenDP's threshold, or PipelineDP's with "
        "`post_aggregation_thresholding`. If no count may exceed the truth: flexdp.",
    ),
    "support": (
        "a threshold on noisy counts and flexdp publish nearly the same keys, so a single cell may be chance; truncated geometric selection "
        "with all of (ε, δ) publishes each key as often as (ε, δ) allows at all.",
        "For the list alone, without counts: PyDP's or PipelineDP's truncated geometric selection.",
    ),
    "top10": (
        "where the list of keys is public, no threshold is needed: keys of fewer than about 14/ε records, which flexdp mostly leaves out, "
        "can still be found.",
        "For keys that are public and rare: diffprivlib's `histogram` or OpenDP's counts by category. flexdp does the same with `groups=` and "
        '`ask=["count"]`.',
    ),
    "mode": (
        "a public list needs no threshold: where even the commonest key has fewer than about 14/ε records, flexdp often publishes none, "
        "and a noisy maximum always answers.",
        "For the one commonest key of a public list with small counts: OpenDP's `make_noisy_max` or diffprivlib's `PermuteAndFlip`.",
    ),
    "count": (
        "diffprivlib's `count_nonzero` takes the length of the array as public and never exceeds it; here that is the true count itself. The "
        "others add the same noise as flexdp, and a difference is chance.",
        "Choose any of the others: a number of records that must stay private is not public.",
    ),
    "sum": (
        "good bounds make the noise small, and OpenDP's and diffprivlib's sums know the number of records. flexdp spends part of ε on "
        "finding bounds, and cuts off the values beyond them.",
        "For sums of columns whose bounds are public and tight: OpenDP, or Tumult Analytics on Spark.",
    ),
    "mean": (
        "good bounds make the noise small, and OpenDP's and diffprivlib's means are told the number of records. flexdp spends part of "
        "ε on finding bounds, and cuts off the values beyond them.",
        "For means of columns whose bounds are public and tight: OpenDP.",
    ),
    "min": (
        "a bound at or just below the lowest value nearly tells the answer.",
        "For a minimum where a tight public bound exists: that bound, or OpenDP's quantile with it.",
    ),
    "max": (
        "a good bound is close to the answer, and overshooting costs little there; flexdp stays a few records below the maximum.",
        "For a maximum where a tight public bound exists: OpenDP's or diffprivlib's quantile.",
    ),
}
INNER = (
    "with good bounds the exponential mechanism needs no budget for a record count and a place to start, on which flexdp spends a part.",
    "For one quantile of a column with good public bounds: diffprivlib where values differ, OpenDP with candidates where they repeat.",
)


def render(found: dict[str, Any]) -> str:
    """The whole page."""
    parts = [_head(found), _verdicts(found), _wins(found), _details(found), _speed(found), _peers(found)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _head(found: dict[str, Any]) -> str:
    given, versions = found["parameters"], found["versions"]
    cells = found["accuracy"]
    sizes = sorted({cell["records"] for cell in cells})
    return f"""
# Beside its peers, statistic by statistic

Measured on {found["measured"]} with `{found["command"]}`: flexdp {versions["flexdp"]} beside OpenDP {versions["opendp"]}, diffprivlib
{versions["diffprivlib"]}, PyDP {versions["python-dp"]}, PipelineDP {versions["pipeline-dp"]}{_tumult(found)}, dp-accounting
{versions["dp-accounting"]} and POT {versions["POT"]}. This page is made from [peers.json](peers.json) by a script; earlier and larger runs of
the order statistics are in [the comparison](comparison.md).

**How.** Every answer has all of ε, and δ = {given["delta"]:g} where keys are unknown. flexdp is given no bounds and no list of keys. Peers are used as
their documentation says, with good bounds (the next 1, 2 or 5 × 10^k beyond all values) and with bounds 1000 times as wide;
methods that choose among a public list get exactly the keys that occur, and then a list 1000 times as long, at most 20 000 keys.
flexdp *wins* a cell (table, records, ε, statistic) if its median error is smaller by more than {round(100 * (given["tie"] - 1))}%, *clearly* if a
rank-sum test at 5% agrees and both gave at least eight answers together.

**Scope.** {given["blocks measured"]} of {given["blocks planned"]} blocks (table × records × ε) were run, {len(cells)} cells, with
{_span(found)} answers of each method, fewer where it is slow. Records: {_listed(_thin(size) for size in sizes)}. ε and records run:

{_coverage(cells)}

Few answers decide little: look at clear wins, and take a single one for chance, which gives one in twenty. Tables: {"; ".join(f"*{name}*, {about}" for name, about in given["tables"].items())}.
"""


def _tumult(found: dict[str, Any]) -> str:
    versions = found["tumult"].get("versions")
    return f", Tumult Analytics {versions['tmlt.analytics']}" if versions else ""


def _span(found: dict[str, Any]) -> str:
    answers = {row["answers"] for cell in found["accuracy"] for row in cell["methods"].values() if row["answers"]}
    return f"{min(answers)} to {max(answers)}"


def _coverage(cells: list[dict[str, Any]]) -> str:
    epsilons = sorted({cell["epsilon"] for cell in cells}, key=float)
    groups = ((1, 1000), (1001, 10_000), (10_001, 100_000), (100_001, 10**9))
    rows = [["tables run", *(f"ε = {epsilon}" for epsilon in epsilons)]]
    for low, high in groups:
        row = []
        for epsilon in epsilons:
            chosen = {
                (cell["panel"], cell["table"])
                for cell in cells
                if low <= cell["records"] <= high and cell["epsilon"] == epsilon
            }
            row.append(str(len(chosen)))
        if any(number != "0" for number in row):
            top = max(cell["records"] for cell in cells if low <= cell["records"] <= high)
            rows.append([f"up to {_thin(top)} records", *row])
    return _table(rows)


def _statistics(found: dict[str, Any]) -> list[str]:
    present = {cell["statistic"] for cell in found["accuracy"]}
    return [name for name in TITLES if name in present]


def _methods(cells: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(method for cell in cells for method in cell["methods"]))


def tally(cells: Iterable[dict[str, Any]], method: str) -> tuple[list[int], list[int]]:
    """Wins, ties and losses of flexdp against a method: plainly, and clearly."""
    plain, clear = [0, 0, 0], [0, 0, 0]
    for cell in cells:
        outcome = cell["methods"].get(method, {}).get("flexdp")
        if outcome is None:
            continue
        place = ("wins", "ties", "loses").index(outcome.removeprefix("clearly "))
        plain[place] += 1
        clear[place if outcome.startswith("clearly ") else 1] += 1
    return plain, clear


def _verdicts(found: dict[str, Any]) -> str:
    lines = [
        "## Who wins\n",
        "Clear wins / undecided / clear losses of flexdp, and in brackets plain wins / ties / losses. Left: good bounds or exact lists;",
        "right: a thousand times too wide (– where a method needs neither, or was not asked).\n",
    ]
    for statistic in _statistics(found):
        cells = [cell for cell in found["accuracy"] if cell["statistic"] == statistic]
        rows = [[TITLES[statistic], "flexdp against it", "the same, 1000 times too wide"]]
        for method in _methods(cells):
            if method.split(",")[0] == OURS or method.endswith(WIDE):
                continue
            rows.append(
                [_label(method, statistic), _score(*tally(cells, method)), _score(*tally(cells, method + WIDE))]
            )
        declined = sum(cell["declined"] for cell in cells)
        lines.append(_table(rows))
        lines.append(
            f"\n{declined} of {len(cells)} cells declined by flexdp for want of records.\n" if declined else ""
        )
    return "\n".join(lines)


def _label(method: str, statistic: str) -> str:
    if statistic == "top10":
        method = method.replace("noisy max", "noisy top k")
    return method.replace(WIDE, ", 1000× too wide")


def _score(plain: list[int], clear: list[int]) -> str:
    if not sum(plain):
        return "–"
    return f"**{clear[0]} / {clear[1]} / {clear[2]}** ({plain[0]} / {plain[1]} / {plain[2]})"


def _wins(found: dict[str, Any]) -> str:
    lines = ["## Where a peer wins, why, and what to choose instead\n"]
    even = []
    for statistic in _statistics(found):
        cells = [cell for cell in found["accuracy"] if cell["statistic"] == statistic]
        ahead = []
        for method in _methods(cells):
            plain, clear = tally(cells, method)
            if clear[2] > clear[0] or (plain[2] > plain[0] and clear[2]):
                ahead.append(
                    f"{_label(method, statistic)} (flexdp clearly wins {clear[0]} and loses {clear[2]} of {sum(plain)} cells)"
                )
        if not ahead:
            even.append(TITLES[statistic])
            continue
        why, instead = REASONS.get(statistic, INNER)
        lines.append(f"- **{TITLES[statistic].capitalize()}:** {'; '.join(ahead)}.\n  Why: {why}\n  {instead}")
    for row in found["speed"]:
        faster = [
            f"{name} ({_spread(kept['ratio'])} times flexdp's processor time)"
            for name, kept in row["contenders"].items()
            if kept["ratio"][1] < 1 and "not private" not in name and not name.startswith(OURS)
        ]
        if faster:
            lines.append(f"- **Speed, {row['case']}:** {'; '.join(faster)}.{_why_faster(row['case'])}")
    if even:
        lines.append(f"\nNo peer is clearly ahead over all cells in: {_listed(even)}. {_single_losses(found, even)}")
        lines.append(
            "\nThe larger runs of the order statistics in [the comparison](comparison.md) decide more cells, and name those lost."
        )
    return "\n".join(lines)


def _single_losses(found: dict[str, Any], titles: list[str]) -> str:
    """Cells that flexdp clearly loses to a peer with good bounds, in statistics in which no peer is ahead."""
    lost: dict[str, list[str]] = {}
    for cell in found["accuracy"]:
        winners = [
            method
            for method, row in cell["methods"].items()
            if row.get("flexdp") == "clearly loses" and not method.endswith(WIDE)
        ]
        if winners and TITLES[cell["statistic"]] in titles:
            place = (
                f"{cell['table']} ({_thin(cell['records'])} records, ε = {cell['epsilon']}) to {' and '.join(winners)}"
            )
            lost.setdefault(TITLES[cell["statistic"]], []).append(place)
    if not lost:
        return "flexdp clearly loses none of these cells to a peer with good bounds."
    told = "; ".join(f"**{title}**: {', '.join(places)}" for title, places in lost.items())
    return f"Cells that flexdp clearly loses there, with good bounds: {told}."


def _why_faster(case: str) -> str:
    if case.startswith("ε at δ"):
        return (
            "\n  Why: dp-accounting is told how many equal releases there are; flexdp takes a list of releases and looks at each, and the "
            "composition itself takes a small part of its time. Choose dp-accounting, with flexdp's `to_dp_accounting`, to add up thousands "
            "of equal releases often; the results agree (below)."
        )
    if "unknown" in case:
        return (
            "\n  Why: a Python dictionary counts short lists of keys without a query engine, and nothing is checked. Choose it where the "
            "keys are in memory already and their number of records is small."
        )
    if "quantile" in case:
        return (
            "\n  Why: flexdp's draws are exact, in integers, from the operating system's generator, which costs tens of milliseconds "
            "whatever the number of values. Choose by accuracy: the difference is milliseconds."
        )
    return "\n  Why: a compiled solver on floating-point numbers; flexdp keeps exact masses. Choose POT for distances without a lossy part."


def _details(found: dict[str, Any]) -> str:
    lines = [
        "## Errors\n",
        "Median over the cells of each cell's median error, and of its 90% error; only cells in which flexdp answered. Methods that",
        "were asked in fewer cells are not comparable row by row: the number of cells is given.\n",
    ]
    for statistic in _statistics(found):
        cells = [c for c in found["accuracy"] if c["statistic"] == statistic and not c["declined"]]
        names = list(
            dict.fromkeys(name for c in cells for row in c["methods"].values() for name in row if name in MEASURES)
        )
        rows = [[TITLES[statistic], "cells", *names]]
        for method in _methods(cells):
            shown = []
            for name in names:
                pairs = [c["methods"][method][name] for c in cells if name in c["methods"].get(method, {})]
                shown.append(f"{_middle(p[0] for p in pairs)}, {_middle(p[1] for p in pairs)}" if pairs else "–")
            number = sum(method in c["methods"] for c in cells)
            rows.append([_label(method, statistic), str(number), *shown])
        lines += [_table(rows), "\n" + "; ".join(f"*{name}*: {MEASURES[name]}" for name in names) + ".\n"]
    return "\n".join(lines)


def _middle(numbers: Iterable[float | None]) -> str:
    middle = statistics.median([float("inf") if number is None else number for number in numbers])
    return "fails" if middle == float("inf") else _number(middle)


def _speed(found: dict[str, Any]) -> str:
    lines = [
        "## Speed\n",
        "Processor time of one process, contenders in turn, least – median – most of the rounds, on a shared machine. Ratios are within a",
        "round, against the first row: above 1 is slower than flexdp.\n",
    ]
    for row in found["speed"]:
        valued = any("value" in kept for kept in row["contenders"].values())
        rows = [[row["case"], "seconds", "ratio", *(["result"] if valued else [])]]
        for name, kept in row["contenders"].items():
            extra = [_number(kept["value"]) if "value" in kept else "–"] if valued else []
            rows.append([name, _spread(kept["seconds"]), _spread(kept["ratio"]), *extra])
        lines.append(_table(rows))
        note = f"{row['rounds']} rounds" + (f"; {row['note']}" if row.get("note") else "") + "."
        if "in memory" in row:
            needs = ", ".join(f"{who} {size['gigabytes']:g} GB" for who, size in row["in memory"].items())
            note += (
                f" PyDP, diffprivlib and PipelineDP's local backend read no Parquet and take Python or numpy objects: for as many rows "
                f"they would hold about {needs} (measured on 10^5 rows, multiplied); diffprivlib needs the list of keys as well."
            )
        lines.append(f"\n{note}\n")
    return "\n".join(lines)


def _peers(found: dict[str, Any]) -> str:
    reason = found["tumult"].get("reason")
    versions = found["tumult"].get("versions")
    if versions:
        told = (
            f"installs, but needs numpy {versions['numpy']} and Java for Spark {versions['pyspark']}, so it answers from an environment of its "
            "own; an answer takes seconds, so it was asked in few cells and not timed against the others."
        )
    elif reason:
        told = f"was not asked: {reason}."
    else:
        told = "was not asked in this run."
    return f"""
## How each was used

- **OpenDP**: `make_private_quantile` with even and with geometric candidates; `make_laplace_threshold` with the lowest threshold that δ allows
  (the same as its polars queries choose, which are timed); `make_noisy_max` and `make_noisy_top_k`; sums and means of a known number of records.
- **diffprivlib**: `quantile`, `sum`, `mean`, `count_nonzero`; `histogram` over a public list of keys, since it has nothing for unknown ones;
  `PermuteAndFlip` with monotonic utility for the mode.
- **PyDP**: `Percentile`, `Max`, `Min`, `Median`, `BoundedSum`, `BoundedMean`, `Count`, its quantile tree; truncated geometric partition
  selection with half of ε and Laplace noise with the other half, or selection alone with all of it.
- **PipelineDP** on its local backend, records as privacy units: the same selection and noise, or `post_aggregation_thresholding`; percentiles by its
  quantile tree. It was not asked about more than 200 000 records.
- **Tumult Analytics** {told}
- **dp-accounting** composes the very loss distribution of flexdp's noise, exported to it; **POT** and scipy compute the same distances.

`make bench-peers PEERS="--help"` lists the options; `PEERS="--quick"` takes a few minutes and only prints. A run resumes where it was stopped.
"""


def _table(rows: list[list[str]]) -> str:
    head, *body = rows
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in body])


def _number(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 10_000 or abs(value) < 0.001:
        return f"{value:.2g}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _spread(three: list[float]) -> str:
    shown = list(map(_number, three))
    return shown[0] if len(set(shown)) == 1 else " – ".join(shown)


def _thin(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


if __name__ == "__main__":
    (DOCS / "peers.md").write_text(render(json.loads((DOCS / "peers.json").read_text("utf-8"))), encoding="utf-8")
