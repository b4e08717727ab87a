"""The page: a form and its result. It works without JavaScript; with it, the result follows every change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flexdp._core.exact import number_text, upper_text
from flexdp._core.text import markup, plural, prose, thousands
from flexdp._release.ranges import value_words
from flexdp.errors import InputError, spelled
from flexdp.guarantees import limit_text
from flexdp.mechanisms import Bucketing, Dropping, ReadOff
from flexdp.planning import Plan
from flexdp.planning.asked import AskedAnswers
from flexdp.planning.given import GivenBuckets
from flexdp.report.charts.plans import tradeoff
from flexdp.report.html.tables import scrolling
from flexdp.statistics import Statistic
from flexdp.web.controls import dial, setting
from flexdp.web.entries import STATISTICS, Entries, sentence
from flexdp.web.example import MOST_LOST, Simulated, flights, records_of, simulate
from flexdp.web.pictures import comparison, icons, icons_after

__all__ = ["page"]

_WHY = {
    "ε": "privacy loss: smaller protects more",
    "smallest ε that fits": "privacy loss: smaller protects more",
    "most lost per bucket": "records that a bucket can lose, at random",
    "survives from": "records that make a bucket certain to appear",
    "most lost in total": "records of all buckets together",
    "certified share": "of all records left out, whatever the data",
    "expected share": "of the simulated records left out on average",
    "50% sure becomes": "an observer’s certainty that somebody is in the data",
    "target": "what you can afford to lose",
    "ε for edges": "the part of ε that chooses the buckets",
    "tree levels": "rounds of splitting that choose the buckets",
    "number of buckets": "about, chosen from the data, privately",
    "left out on average": "of all records",
}
_LOST = "Records lost against privacy"
_WIDE, _BESIDE, _NARROW = 640, 540, 340  # pictures are drawn in both widths; the style sheet shows one


def page(entries: Entries) -> str:
    """Return the whole page; an error is shown beside its field, and the fields keep what was entered."""
    try:
        plan = entries.plan()
        errors, result, said = {}, _result(entries, plan), _said(plan)
    except InputError as refusal:
        errors = {entries.field_of(refusal): sentence(refusal.message(entries.spell))}
        result = "<p>Correct the highlighted field to see the plan.</p>"
        said = "Correct the highlighted field."
    return "".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>flexdp: plan a release</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="/page.css">',
            '<script src="/page.js" defer></script></head>\n<body><a class="skip" href="#result">To the plan</a>',
            "<header><h1>Plan a release</h1><p>Choose ε and the buckets, and see what will be lost. This page runs on "
            "your machine, reads no data and spends nothing.</p></header>\n<main>",
            f'<form action="/" method="get" autocomplete="off">{dial(entries, errors, said)}{setting(entries, errors)}',
            f'<div id="result" data-errors="{len(errors)}" data-said="{markup(said)}">{result}</div>',
            "</form></main></body></html>\n",
        ]
    )


def _result(entries: Entries, plan: Plan) -> str:
    document = plan.document()
    headings, rows = plan.table()
    marked = next((place for place, row in enumerate(rows) if row[0]), None)
    parts = [
        "" if marked is None else _figures(plan, dict(zip(headings, rows[marked], strict=True))),
        "".join(
            f'<p class="warning">{markup(sentence(spelled(caution, entries.spell)))}</p>' for caution in plan.cautions
        ),
        _command(plan),
        *(f"<p>{prose(line)}</p>" for line in [*_promise(entries, plan), *plan.notes]),
        '<section class="two">',
        _curve(plan, document),
        "" if marked is None else _odds(plan, rows[marked][-2 if "target" in headings else -1].removeprefix("≤ ")),
        "</section>",
        _example(entries, plan),
        "<details><summary>All options</summary>",
        scrolling("Options", headings, rows, marked=marked),
        f"<p>In a terminal: <code>{_line(entries.plan_line)}</code></p></details>",
    ]
    return "".join(parts)


def _curve(plan: Plan, document: dict[str, Any]) -> str:
    """The picture of the losses, or of the errors of asked answers, which lose nothing."""
    title = "Accuracy against privacy" if isinstance(plan.design, AskedAnswers) else _LOST
    drawn = _twice(
        lambda name, width: tradeoff(document, name=name, alone=False, width=width, height=280), "curve", 540
    )
    caption = f"<figcaption>{prose(plan.heading)}</figcaption>"
    return f"<figure><h2>{title}</h2>{drawn}{caption}</figure>"


def _said(plan: Plan) -> str:
    """The plan in one line, shown beside the slider."""
    many = len(plan.warnings)
    warned = "" if not many else f" {plural(many, 'warning')}."
    if plan.epsilon is None or plan.chosen is None:
        return f"No ε is chosen.{warned}"
    drop, certainty = plan.chosen.get("max_drop"), limit_text(plan.chosen["certainty"])
    if drop is None:
        return f"ε = {number_text(plan.epsilon)}: {plan.odds}.{warned}"
    return (
        f"ε = {number_text(plan.epsilon)}: a bucket loses at most {thousands(drop)}; 50% sure becomes {certainty}."
        f"{warned}"
    )


def _twice(draw: Callable[[str, int], str], name: str, wide: int = _WIDE) -> str:
    """A picture for wide and one for narrow screens; the style sheet hides one of them."""
    return "".join(
        f'<div class="{kind}">{draw(f"{name}-{kind}", width)}</div>'
        for kind, width in (("wide", wide), ("narrow", _NARROW))
    )


def _figures(plan: Plan, row: dict[str, str]) -> str:
    """The row of the chosen option in large type, each number with what it means."""
    row = {name: value for name, value in row.items() if name}
    if plan.epsilon_is == "solved":
        row = {"smallest ε that fits": row.pop("ε"), **row}
    items = "".join(
        f'<div><dt>{markup(name)}</dt><dd>{prose(value)}</dd><dd class="why">{markup(_why(name, plan))}</dd></div>'
        for name, value in row.items()
    )
    return f'<dl class="figures">{items}</dl>'


def _why(name: str, plan: Plan) -> str:
    return _WHY.get(name, "in records, with 95% probability" if isinstance(plan.design, AskedAnswers) else "")


def _command(plan: Plan) -> str:
    return (
        '<div class="command"><h2 id="l-command">The command to run</h2>'
        f'<pre id="line" tabindex="0" aria-labelledby="l-command" role="region"><code id="command">'
        f"{_line(plan.command)}</code></pre>"
        f'<button type="button" id="copy" class="with-script">Copy</button></div>'
    )


def _line(command: str) -> str:
    """A command that is not broken at hyphens."""
    return " ".join(f"<span>{markup(word)}</span>" for word in command.split(" "))


def _promise(entries: Entries, plan: Plan) -> list[str]:
    """The accuracy of the statistic, derived from the mechanism that the command runs, in buckets that are given."""
    label, statistic = STATISTICS[entries["stat"]]
    if not isinstance(plan.design, GivenBuckets) or plan.chosen is None or plan.epsilon is None:
        return []
    if statistic is None:
        most = thousands(plan.chosen["max_drop"])
        return [f"The lower end of every count is at most {most} too low and never too high. No bucket is invented."]
    noise, apart = plan.design.noise(plan.rest(plan.epsilon)), bool(plan.design.groups.by)
    records = None if apart else plan.design.records  # how many a group has is not known
    mechanism = Bucketing(**entries.buckets) >> Dropping(noise.epsilon, noise.delta) >> ReadOff(statistic)
    known = mechanism.accuracy(records_at_least=records) if records else mechanism.accuracy()
    promise = str(known)
    given = (
        f"If there are at least {plural(records or 0, 'record', thousands)}, the"
        if known.alpha is not None and known.alpha < 1
        else "The"
    )
    limited = f" limited to {entries['low']}–{entries['high']}" if "bounds" in entries.buckets else ""
    unit = " Here a record is one person in one bucket." if plan.by_unit else ""
    group = " of each group" if apart else ""
    subject = f"{given} published {label.lower()} of the readable values{group}{limited}"
    return [f"{subject} is {promise[:1].lower()}{promise[1:]}{unit}"]


def _odds(plan: Plan, certainty: str) -> str:
    after = icons_after(certainty)
    key = (
        '<p class="key"><span class="full round"></span> before: 50 of 100<br>'
        f'<span class="hatched round"></span> after: at most {after - 50} more<br>'
        '<span class="bare round"></span> the doubt that is left</p>'
    )
    return (
        f"<figure><h2>What an observer can learn</h2>{icons(certainty, name='odds')}"
        f"<figcaption>{key}{markup(plan.odds[:1].upper() + plan.odds[1:])}.</figcaption></figure>"
    )


def _example(entries: Entries, plan: Plan) -> str:
    """The buckets that are given, of simulated records or of public flights, beside the truth."""
    if not isinstance(plan.design, GivenBuckets) or plan.chosen is None or plan.epsilon is None:
        return ""
    data = records_of(plan) if entries.simulated else flights()
    total = None if data is None else thousands(int(data.counts.sum()))
    one = ", one group" if plan.design.groups.by else ""
    what = f"simulated records in your buckets{one}" if entries.simulated else "public flights"
    title = f"<h2>Example: {total or ''} {what}</h2>"
    if data is None or plan.chosen["max_drop"] > MOST_LOST:
        words = f"Not drawn if a bucket may lose more than {thousands(MOST_LOST)} records: it would take too long."
        return f'<section class="example">{title}<p>{markup(words)}</p></section>'
    example = simulate(plan.design.noise(plan.rest(plan.epsilon)), data)
    statistic = STATISTICS[entries["stat"]][1]
    drawn = _twice(lambda name, width: comparison(example, statistic, name=name, width=width), "example")
    rows = [
        [label, _value(example.published(each)), _value(example.truth(each))]
        for label, each in STATISTICS.values()
        if each is not None
    ]
    marked = next((place for place, row in enumerate(rows) if row[0] == STATISTICS[entries["stat"]][0]), None)
    key = '<p class="key"><span class="full"></span> published <span class="hatched"></span> left out</p>'
    head = [data.unit or "statistic", "published", "truth" if data.unit else "truth, in buckets"]
    return (
        f'<section class="example">{title}<figure>{drawn}'
        f"<figcaption>{key}{prose(_told(example, statistic))}</figcaption></figure>"
        f"{scrolling('Published and true values', head, rows, marked=marked)}</section>"
    )


def _told(example: Simulated, statistic: Statistic | None) -> str:
    data = example.data
    total, within = int(data.counts.sum()), data.within
    share = number_text(float(f"{100 * example.lost / total:.2g}"))
    said = (
        f"{data.told}. {thousands(example.lost)} of {plural(total, 'record', thousands)} ({share}%) are left out, at "
        f"most {thousands(example.max_drop)} from each bucket."
    )
    if statistic is None:
        return f"{said} Every count that is left is at most {thousands(example.max_drop)} too low."
    value = example.published(statistic)
    if value is None:
        return f"{said} Nothing is left."
    fixed = "The random numbers are fixed, so that only your choices change it."
    if data.axis.even:
        return f"{said} {fixed}"
    moved, unit = statistic.sensitivity(float(within)), f" {data.unit}" if data.unit else ""
    margin = (
        f"to within {upper_text(moved, 6)}{unit}"
        if moved < float("inf")
        else f"once every value is moved by at most {upper_text(within, 6)}{unit}"
    )
    return (
        f"{said} The published {statistic.name}, {value_words(value)}, is exact for the records that remain, "
        f"{margin}: this is flexible accuracy. {fixed}"
    )


def _value(value: object) -> str:
    return "nothing left" if value is None else value_words(value)
