"""A study as a self-contained HTML page: figure, verdicts, numbers, definitions and commands.

The page loads nothing, follows the reader's light or dark setting, and has headings, captions and table headers for
screen readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from flexdp._core.exact import number_text
from flexdp._core.text import plural
from flexdp.baselines import BASELINES
from flexdp.experiments.cells import QUANTILES
from flexdp.experiments.checks import CLOSE, LEVEL, VISIBLE
from flexdp.experiments.claims import MUCH, Judgement
from flexdp.experiments.results import Row, rows
from flexdp.experiments.runner import Study
from flexdp.experiments.sensitivity import Flip
from flexdp.experiments.worst import WorstCase

__all__ = ["command", "page"]

_SWITCHES = {
    "empty": "an output without an answer counts as bucket 0 (zero) or as a random bucket (random)",
    "ties": "the bucket that is the mode when several are tallest",
    "binning": "draws are rounded down (floor) or to the nearest integer (nearest)",
    "step-noise": "noise on each bucket of a step; by default none in (2) and (4), −5 to 5 in (6)",
}
_STYLE = """
:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--soft:#f3f3f1;--line:#767676;--link:#0b57a4}
@media (prefers-color-scheme:dark){:root{--ink:#ececec;--paper:#161616;--soft:#242424;--line:#8a8a8a;--link:#8ab8ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}
main{max-width:72rem;margin:0 auto;padding:1.5rem}
a{color:var(--link)}
h1{font-size:1.6rem;line-height:1.2}
h2{font-size:1.2rem;margin-top:2.2rem}
figure{margin:0;background:#fff;color:#1b1b1b;padding:.5rem;border:1px solid var(--line)}
figure svg{width:100%;min-width:42rem;height:auto;display:block}
figcaption{font-size:.9rem;padding:.5rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.88rem;margin:.8rem 0}
caption{text-align:left;font-weight:600;padding:.3rem 0}
caption span{position:sticky;left:0;display:block;width:min(66rem,calc(100vw - 3rem))}
th,td{border-bottom:1px solid var(--line);padding:.3rem .7rem .3rem 0;text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
pre{background:var(--soft);padding:.8rem;white-space:pre-wrap;overflow-wrap:anywhere}
summary{cursor:pointer;padding:.3rem 0}
dt{font-weight:600;margin-top:.6rem}
dd{margin:0 0 0 1.2rem}
.holds::before{content:"✓ "}.fails::before{content:"✗ "}.partly::before{content:"◐ "}
"""


def page(
    study: Study,
    figure: bytes,
    judged: Sequence[Judgement],
    turned: Sequence[Flip] | None,
    *,
    worst: Sequence[WorstCase] = (),
    title: str,
    commands: Sequence[str],
) -> str:
    """Return the page; ``turned`` is None if the sensitivity was not computed."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(_summary(study))}</p>",
        _figure(study, figure),
        _verdicts(judged) if judged else "",
        _turned(judged, turned) if judged else "",
        _worst(worst) if worst else "",
        _numbers(study),
        _definitions(study),
        _mechanisms(study),
        "<h2>Commands</h2>",
        *(f"<pre><code>{escape(line)}</code></pre>" for line in commands),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def command(study: Study, *, sensitivity: bool = False) -> str:
    """Return the command that reproduces the study."""
    words = ["flexdp experiment", *(each.name for each in study.experiments)]
    if set(study.mechanisms) != set(BASELINES):
        words += [f"-m {name}" for name in study.mechanisms]
    words.append("--epsilon " + ",".join(number_text(epsilon) for epsilon in study.epsilons))
    words += [f"--{name} {text}" for name, text in study.settings.texts().items()]
    return " ".join([*words, *(["--sensitivity"] if sensitivity else []), "--out DIR"])


def _summary(study: Study) -> str:
    settings = study.settings
    return (
        f"{plural(len(study.mechanisms), 'mechanism')} at {plural(len(study.epsilons), 'value')} of ε, with "
        f"δ = {settings.delta}: {settings.datasets} simulated data sets per experiment and {settings.runs} runs on "
        f"each, seed {settings.seed}. Errors are in percent of the number of buckets; flexible errors allow a fraction "
        f"α = {number_text(settings.alpha)} of the records to be dropped."
    )


def _figure(study: Study, figure: bytes) -> str:
    drawing = figure.decode()
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    label = f"Mean errors against ε in {plural(len(study.experiments), 'panel')}, one per experiment; numbers below."
    drawing = drawing.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)
    return (
        f'<figure>\n<div class="wide" tabindex="0" role="region" aria-label="Figure">{drawing}</div>\n'
        "<figcaption>Solid: actual error. Dashed: flexible error. Inset: a typical histogram. "
        "Lines are drawn from thick to thin, so that coinciding lines remain visible.</figcaption></figure>"
    )


def _verdicts(judged: Sequence[Judgement]) -> str:
    lines: list[list[str]] = []
    for _, group in groupby(judged, key=lambda each: each.claim.name):
        alike: dict[str, list[Judgement]] = {}
        for each in group:
            alike.setdefault(each.verdict, []).append(each)
        claim = next(iter(alike.values()))[0].claim
        head = f"{escape(claim.says)}<br><small>{escape(claim.means)}</small>"
        for place, together in enumerate(alike.values()):
            first = [f'<th scope="rowgroup" rowspan="{len(alike)}">{head}</th>'] if not place else []
            lines.append([*first, *_judged(together)])
    return "<h2>The paper's statements about its figure</h2>\n" + _table(
        "Each statement, in our words and as an inequality. Last column: the comparison furthest beyond its bound, or "
        "closest to it, with its paired standard error. Where readings agree, comparisons are for the first",
        ["statement", "reading", "verdict", "failing comparisons", "critical comparison"],
        lines,
    )


def _judged(alike: Sequence[Judgement]) -> list[str]:
    """Return one row for readings with the same verdict; the comparisons are for the first."""
    each = alike[0]
    why = "; ".join(f"{about} ({epsilons})" for about, epsilons in each.reasons())
    return [
        f"<td>{'<br>'.join(escape(other.reading) for other in alike) or '—'}</td>",
        f'<td class="{_mark(each)}">{escape(each.verdict)}</td>',
        f"<td>{escape(why) or 'none'}</td>",
        f"<td>{escape(each.worst)}</td>",
    ]


def _turned(judged: Sequence[Judgement], turned: Sequence[Flip] | None) -> str:
    heading = "<h2>Sensitivity to details that the paper leaves open</h2>\n"
    if turned is None:
        return heading + "<p>Not computed. Run with <code>--sensitivity</code>.</p>"
    if not turned:
        return heading + "<p>No switch reverses any verdict at any ε.</p>"
    lines = (
        [
            f'<th scope="row">{escape(each.judgement.claim.says)}</th>',
            f"<td>{escape(each.judgement.reading) or '—'}</td>",
            f"<td>{escape(str(each))}</td>",
        ]
        for each in turned
    )
    moved = len({(each.judgement.claim.name, each.judgement.reading) for each in turned})
    return (
        heading
        + f"<p>Of {len(judged)} verdicts, {moved} are reversed by a switch at some ε.</p>"
        + _table("Verdicts reversed by a switch", ["statement", "reading", "switch"], lines)
    )


def _worst(worst: Sequence[WorstCase]) -> str:
    lines = (
        [
            f'<th scope="row">{escape(row.mechanism)}</th><td>{escape(row.statistic)}</td>',
            *(f'<td class="n">{number_text(value)}</td>' for value in (row.epsilon, row.bars, row.alpha, row.gamma)),
            f'<td class="n">{row.worst:.1f}</td>',
            f"<td>{' '.join(map(str, row.histogram)) if row.worst_bars else 'none found'}</td>",
        ]
        for row in worst
    )
    heads = ["mechanism", "statistic", "ε", "buckets", "α", "γ", "worst β found (%)", "histogram"]
    return (
        "<h2>Worst cases</h2>\n<p>Histograms found by search, at the α that dropping guarantees. At this α the β of "
        "dropping is 0 on every histogram; a large β of another mechanism proves that it has no such guarantee. "
        "Computed from exact distributions, without simulation.</p>\n" + _table("Worst cases", heads, lines)
    )


def _numbers(study: Study) -> str:
    every = rows(study)
    blocks = []
    for experiment in study.experiments:
        lines = ([*_cells(row)] for row in every if row.experiment == experiment.name)
        heads = ["mechanism", "ε", "actual", "± se", "flexible", "± se", *(f"β at {float(q):.0%}" for q in QUANTILES)]
        table = _table(experiment.title, heads, lines, numbers_from=1)
        blocks.append(f"<details><summary>{escape(experiment.title)}</summary>{table}</details>")
    return "<h2>Numbers</h2>\n" + "\n".join(blocks)


def _cells(row: Row) -> Iterable[str]:
    yield f'<th scope="row">{escape(row.mechanism)}</th>'
    yield f'<td class="n">{number_text(row.epsilon)}</td>'
    values = (row.actual, row.actual_se, row.flexible, row.flexible_se, row.beta_50, row.beta_90, row.beta_99)
    yield from (f'<td class="n">{value:.2f}</td>' for value in values)


def _definitions(study: Study) -> str:
    pairs = [
        ("actual error", "mean distance from the output to the true answer, in percent of the number of buckets"),
        ("flexible error", "the same to the nearest answer that the data can have once ⌊αn⌋ records are dropped"),
        ("± se", "standard error over data sets; for differences paired, on the same data sets"),
        ("β at 99%", "99th percentile of the flexible error over all runs"),
        ("dominates, matches", f"never worse, never different, by more than {VISIBLE:g}% of the buckets"),
        ("hard", "an actual error of at least half that of a random guess"),
        ("close to uniform", f"within {CLOSE:.0%} of the error of a random guess"),
        ("far beyond", f"at least {MUCH:g}% of the buckets"),
        ("holds, fails, undecided", f"significantly within the bound, beyond it, or neither (t-test, level {LEVEL:g})"),
        ("reading", "the mechanism meant (dropping, or the paper's stlap), BNS's calibration, and SanPoints' rules"),
        *((f"{name}: {study.settings.texts()[name]}", text) for name, text in _SWITCHES.items()),
    ]  # fmt: skip
    return (
        "<h2>Definitions</h2>\n<dl>" + "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in pairs) + "</dl>"
    )


def _mechanisms(study: Study) -> str:
    lines = (
        [
            f'<th scope="row">{escape(name)}</th>',
            f"<td>{escape(str(BASELINES[name].citation)) if name in BASELINES else 'supplied by the user'}</td>",
        ]
        for name in study.mechanisms
    )
    return "<h2>Mechanisms</h2>\n" + _table("Sources", ["name", "source"], lines)


def _mark(judgement: Judgement) -> str:
    found = set(judgement.outcomes.values())
    return "holds" if found == {"holds"} else "fails" if found == {"fails"} else "partly"


def _table(caption: str, heads: Sequence[str], lines: Iterable[Sequence[str]], *, numbers_from: int = 99) -> str:
    top = "".join(
        f'<th scope="col"{" class=n" if place >= numbers_from else ""}>{escape(head)}</th>'
        for place, head in enumerate(heads)
    )
    body = "\n".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption><span>{escape(caption)}</span></caption>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )
