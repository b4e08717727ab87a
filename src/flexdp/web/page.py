"""The page: a form and its result. It works without JavaScript; with it, the result follows every change."""

from __future__ import annotations

from collections.abc import Callable

from flexdp._core.display import key_text, table
from flexdp._core.exact import number_text, upper_text
from flexdp._core.text import markup, plural, thousands
from flexdp.errors import InputError, spelled
from flexdp.mechanisms import Bucketing, Dropping, ReadOff
from flexdp.planning import Advice, Option
from flexdp.report.charts.plans import tradeoff
from flexdp.statistics import Statistic
from flexdp.web.controls import dial, setting
from flexdp.web.entries import STATISTICS, Entries, sentence
from flexdp.web.example import MOST_LOST, Simulated, flights, simulate
from flexdp.web.pictures import comparison, icons

__all__ = ["page"]

_WIDE, _NARROW = 640, 340  # pictures are drawn in both widths; the style sheet shows one


def page(entries: Entries) -> str:
    """Return the whole page; an error is shown beside its field, and the fields keep what was entered."""
    try:
        advice = entries.plan()
        errors, result, said = {}, _result(entries, advice), _said(advice)
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
            f'<form action="/" method="get" autocomplete="off">{setting(entries, errors)}{dial(entries, errors, said)}',
            f'<div id="result" data-errors="{len(errors)}" data-said="{markup(said)}">{result}</div>',
            "</form></main></body></html>\n",
        ]
    )


def _result(entries: Entries, advice: Advice) -> str:
    chosen, document = advice.chosen, advice.document()
    headings, rows = advice.table()
    curve = _twice(lambda name, width: tradeoff(document, name=name, alone=False, width=width, height=260), "curve")
    parts = [
        "" if chosen is None else _figures(advice, headings, rows),
        "".join(
            f'<p class="warning">{markup(sentence(spelled(caution, entries.spell)))}</p>' for caution in advice.cautions
        ),
        _command(entries, advice),
        "" if chosen is None else f"<p>{markup(_promise(entries, advice))}</p>",
        '<section class="two"><figure><h2>Records lost against privacy</h2>',
        f"{curve}<figcaption>{markup(advice.heading)}</figcaption></figure>",
        "" if chosen is None else _odds(advice, chosen),
        "</section>",
        "" if chosen is None else _example(entries, advice, chosen),
        "<details><summary>All options</summary>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Options; scrolls sideways if narrow">',
        table(headings, rows, marked=next((place for place, row in enumerate(rows) if row[0]), None)),
        f"</div><p>In a terminal: <code>{_line(entries.plan_line)}</code></p></details>",
    ]
    return "".join(parts)


def _said(advice: Advice) -> str:
    """The plan in one line, shown beside the slider."""
    chosen, many = advice.chosen, len(advice.warnings)
    warned = "" if not many else f" {plural(many, 'warning')}."
    if chosen is None:
        return f"No ε is chosen.{warned}"
    return (
        f"ε = {number_text(chosen.epsilon)}: a bucket loses at most {thousands(chosen.max_drop)}; 50% sure becomes "
        f"at most {chosen.certainty}.{warned}"
    )


def _twice(draw: Callable[[str, int], str], name: str) -> str:
    """A picture for wide and one for narrow screens; the style sheet hides one of them."""
    return "".join(
        f'<div class="{kind}">{draw(f"{name}-{kind}", width)}</div>'
        for kind, width in (("wide", _WIDE), ("narrow", _NARROW))
    )


def _figures(advice: Advice, headings: list[str], rows: list[list[str]]) -> str:
    """The row of the chosen option in large type."""
    row = next(row for row in rows if row[0])
    said = dict(zip(headings, row, strict=True))
    said.pop("")
    if advice.epsilon_origin == "solved":
        said = {"smallest ε that fits": said.pop("ε"), **said}
    items = "".join(f"<div><dt>{markup(name)}</dt><dd>{markup(value)}</dd></div>" for name, value in said.items())
    return f'<dl class="figures">{items}</dl>'


def _command(entries: Entries, advice: Advice) -> str:
    return (
        '<div class="command"><h2 id="l-command">The command to run</h2>'
        f'<pre id="line" tabindex="0" aria-labelledby="l-command" role="region"><code id="command">'
        f"{_line(entries.release_line(advice))}</code></pre>"
        '<button type="button" id="copy" class="with-script">Copy</button></div>'
    )


def _line(command: str) -> str:
    """A command that is not broken at hyphens."""
    return " ".join(f"<span>{markup(word)}</span>" for word in command.split(" "))


def _promise(entries: Entries, advice: Advice) -> str:
    """The accuracy of the statistic, derived from the mechanism that the command runs."""
    label, statistic = STATISTICS[entries["stat"]]
    if statistic is None or advice.epsilon is None:
        drop = advice.chosen.max_drop if advice.chosen else 0
        return f"Every count is at most {drop} too low and never too high, and no bucket is invented."
    share, records = advice.setting.bucket_privacy(advice.epsilon), advice.setting.records_about
    mechanism = Bucketing(**entries.buckets) >> Dropping(share.epsilon, share.delta) >> ReadOff(statistic)
    known = mechanism.accuracy(records_at_least=records) if records else mechanism.accuracy()
    promise = str(known)
    given = (
        f"If there are at least {plural(records or 0, 'record', thousands)}, the"
        if known.alpha is not None and known.alpha < 1
        else "The"
    )
    limited = f" limited to {entries['low']}–{entries['high']}" if "bounds" in entries.buckets else ""
    unit = " Here a record is one person in one bucket." if advice.by_unit else ""
    subject = f"{given} published {label.lower()} of the readable values{limited}"
    return f"{subject} is {promise[:1].lower()}{promise[1:]}{unit}"


def _odds(advice: Advice, chosen: Option) -> str:
    return (
        f"<figure><h2>What an observer can learn</h2>{icons(chosen.certainty, name='odds')}"
        f"<figcaption>{markup(advice.odds[:1].upper() + advice.odds[1:])}.</figcaption></figure>"
    )


def _example(entries: Entries, advice: Advice, chosen: Option) -> str:
    title = f"<h2>Example: {thousands(int(flights().counts.sum()))} public flights</h2>"
    if chosen.max_drop > MOST_LOST:
        words = f"Not drawn if a bucket may lose more than {thousands(MOST_LOST)} records: it would take too long."
        return f'<section class="example">{title}<p>{markup(words)}</p></section>'
    example = simulate(advice.setting.bucket_privacy(chosen.epsilon))
    statistic = STATISTICS[entries["stat"]][1]
    drawn = _twice(lambda name, width: comparison(example, statistic, name=name, width=width), "flights")
    rows = [
        [label, _minutes(example.published(each)), _minutes(example.truth(each))]
        for label, each in STATISTICS.values()
        if each is not None
    ]
    marked = next((place for place, row in enumerate(rows) if row[0] == STATISTICS[entries["stat"]][0]), None)
    key = '<p class="key"><span class="full"></span> published <span class="hatched"></span> left out</p>'
    return (
        f'<section class="example">{title}<figure>{drawn}'
        f"<figcaption>{key}{markup(_told(example, statistic))}</figcaption></figure>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="Published and true values">'
        f"{table(['minutes', 'published', 'truth'], rows, marked=marked)}</div></section>"
    )


def _told(example: Simulated, statistic: Statistic | None) -> str:
    total, within = int(example.flights.counts.sum()), example.flights.within
    share = number_text(float(f"{100 * example.lost / total:.2g}"))
    said = (
        "Departure delays from New York in 2013, in buckets of 15 minutes, on a logarithmic scale. "
        f"{thousands(example.lost)} of {thousands(total)} flights ({share}%) are left out, at most {example.max_drop} "
        "from each bucket."
    )
    if statistic is None:
        return f"{said} Every count that is left is at most {example.max_drop} too low."
    value = example.published(statistic)
    if value is None:
        return f"{said} Nothing is left."
    moved = statistic.sensitivity(float(within))
    margin = (
        f"to within {upper_text(moved, 6)} minutes"
        if moved < float("inf")
        else f"once every delay is moved by at most {upper_text(within, 6)} minutes"
    )
    return (
        f"{said} The published {statistic.name}, {number_text(value)}, is exact for the flights that remain, "
        f"{margin}: this is flexible accuracy. The random numbers are fixed, so that only your choices change it."
    )


def _minutes(value: object) -> str:
    return "nothing left" if value is None else key_text(value)
