"""The page of a ledger: spending over time of each data set, every release linked to its report.

It is drawn from the ledger alone, which holds public parameters and published releases.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flexdp._core.exact import number_text
from flexdp._core.files import write_whole
from flexdp._core.text import markup, plural
from flexdp._release.json import SCHEMA_OF_SEVERAL
from flexdp._release.published import Release
from flexdp._release.several import Releases
from flexdp.accounting.chain import Account, Entry
from flexdp.accounting.ledger import Ledger
from flexdp.report.charts.svg import Scale, coordinate, moment_ticks, picture, text, ticks
from flexdp.report.html.parts import figure, head, section

__all__ = ["ledger_page", "spending", "write_pages"]

_WIDTH, _NARROW, _HEIGHT = 720, 350, 260
_MOST_ROWS = 200  # of a table; the export has them all
_MOST_DOTS = 400
_PROMISES = (
    "A charge is on disk before any record is read; nothing is refunded.",
    "Charges add up (basic composition), so they may be chosen one after another, by anybody.",
    "The same request, of the same source and period, returns the stored release and costs nothing.",
    "Times are those of the machine's clock; the order of the rows does not depend on them.",
)


def spending(
    account: Account,
    history: Sequence[Entry],
    *,
    name: str = "s",
    links: dict[int, str] | None = None,
    alone: bool = True,
    width: int = _WIDTH,
) -> str:
    """Draw what was spent of ε over time as SVG, with the budget as a line above.

    Parameters
    ----------
    account
        The data set.
    history
        Its rows.
    name
        Prefix of the ids inside.
    links
        Addresses of reports, by the number of the charge.
    alone
        Include the style; False inside a page that has it.
    width
        Width in pixels.

    Returns
    -------
    str
        The picture.
    """
    charges = [row for row in history if row.kind == "charge"]
    budget = float(account.epsilon)
    left, right, top, bottom = 58.0, width - 18.0, 28.0, _HEIGHT - 44.0
    up = Scale(0, budget * 1.08, bottom, top)
    moments = [dt.datetime.fromisoformat(row.at).timestamp() for row in history]
    timed = len(moments) > 1 and moments == sorted(moments) and moments[-1] - moments[0] >= 1
    places = moments if timed else [float(row.number) for row in history]
    across = Scale(places[0], places[-1] if len(places) > 1 else places[0] + 1, left, right)
    body = []
    for tick in ticks(0, budget, 5):
        y = coordinate(up(tick))
        body.append(f'<path class="grid" d="M{coordinate(left)} {y}H{coordinate(right)}"/>')
        body.append(text(left - 6, up(tick) + 4, number_text(round(tick, 9)), anchor="end", kind="s"))
    body.append(f'<path class="axis" d="M{coordinate(left)} {coordinate(bottom)}H{coordinate(right)}"/>')
    marks = moment_ticks(places[0], places[-1]) if timed else [(p, number_text(p)) for p in _some(places)]
    last_label = -1e9
    for place, label in marks:
        x = across(place)
        body.append(f'<path class="axis" d="M{coordinate(x)} {coordinate(bottom)}v4"/>')
        if x - last_label > 90 and x > left + 20:
            body.append(text(min(x, right - 30), bottom + 17, label, kind="s"))
            last_label = x
    spent, path, dots = 0.0, f"M{coordinate(left)} {coordinate(bottom)}", []
    at = dict(zip((row.number for row in history), places, strict=True))
    for row in charges:
        x, spent = across(at[row.number]), spent + float(row.epsilon)
        path += f"H{coordinate(x)}V{coordinate(up(spent))}"
        dots.append((row, x, up(spent)))
    body.append(f'<path class="curve" d="{path}H{coordinate(right)}"/>')
    y = coordinate(up(budget))
    body.append(f'<path class="mark dash" d="M{coordinate(left)} {y}H{coordinate(right)}"/>')
    body.append(text(right, up(budget) - 6, f"budget ε = {number_text(account.epsilon)}", anchor="end", kind="m"))
    for row, x, height in dots[-_MOST_DOTS:]:
        dot = f'<circle class="dot" cx="{coordinate(x)}" cy="{coordinate(height)}" r="4">'
        dot += f"<title>{markup(_told(row))}</title></circle>"
        link = (links or {}).get(row.number)
        body.append(dot if link is None else f'<a href="{markup(link)}">{dot}</a>')
    body.append(text(left, 13, "ε spent", anchor="start", kind="s"))
    body.append(text((left + right) / 2, _HEIGHT - 8, "time (UTC)" if timed else "rows of the ledger", kind="s"))
    words = (
        f"{plural(len(charges), 'charge')} have spent ε = {number_text(account.spent_epsilon)} "
        f"of {number_text(account.epsilon)}."
    )
    return picture(width, _HEIGHT, f"Spending of {account.name}", words, body, name=name, alone=alone)


def _some(places: Sequence[float]) -> list[float]:
    every = max(1, len(places) // 6)
    return list(places[::every])


def _told(row: Entry) -> str:
    columns = (row.details.get("parameters") or {}).get("column")
    about = "" if columns is None else (columns if isinstance(columns, str) else ", ".join(map(str, columns))) + ": "
    return f"{about}ε = {number_text(row.epsilon)}, δ = {number_text(row.delta)}"


def ledger_page(ledger: Ledger, names: Sequence[str], links: dict[str, dict[int, str]]) -> str:
    """Return the page of a ledger.

    Parameters
    ----------
    ledger, names
        The ledger, and the data sets to show.
    links
        Addresses of reports, by data set and number of the charge.

    Returns
    -------
    str
        An HTML file.
    """
    parts = []
    for place, name in enumerate(names):
        account, history = ledger.account(name), ledger.history(name)
        own = links.get(name, {})
        caption = (
            f"Left for each {account.unit}: "
            f"ε = {number_text(account.remaining_epsilon)} of {number_text(account.epsilon)}, "
            f"δ = {number_text(account.remaining_delta)} of {number_text(account.delta)}."
        )
        drawn, narrow = (
            spending(account, history, name=f"s{place}{end}", links=own, alone=False, width=width)
            for end, width in (("", _WIDTH), ("n", _NARROW))
        )
        parts += [
            f'<section><h2 class="long">{markup(name)}</h2>',
            figure(drawn, caption, narrow),
            _table(history, own),
            "</section>",
        ]
    if not names:
        parts.append("<p>No data set has been declared.</p>")
    lead = (f"What {plural(len(names), 'data set')} may spend and have spent.", "Drawn from the ledger alone.")
    foot = "<footer><p>Made by <code>flexdp ledger show --html</code>.</p></footer></main></body></html>\n"
    return "".join([head("Privacy budgets", lead), *parts, section("How the budgets are kept", _PROMISES), foot])


def _table(history: Sequence[Entry], links: dict[int, str]) -> str:
    charges = [row for row in history if row.kind == "charge"]
    if not charges:
        return "<p>Nothing has been charged.</p>"
    rows = []
    for row in charges[-_MOST_ROWS:]:
        columns = (row.details.get("parameters") or {}).get("column")
        what = "declared by the caller" if columns is None and "parameters" not in row.details else columns or "values"
        link = links.get(row.number)
        shown = markup(what if isinstance(what, str) else ", ".join(map(str, what)))
        cells = [
            str(row.number), markup(f"{row.at[:16].replace('T', ' ')}"), markup(number_text(row.epsilon)),
            markup(number_text(row.delta)), markup(row.details.get("mechanism", "")),
            shown if link is None else f'<a href="{markup(link)}">{shown}</a>',
        ]  # fmt: skip
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    titles = ("row", "time (UTC)", "ε", "δ", "mechanism", "release")
    headings = "".join(f'<th scope="col">{title}</th>' for title in titles)
    more = f"<p><small>The last {_MOST_ROWS} of {len(charges)}.</small></p>" if len(charges) > _MOST_ROWS else ""
    return (
        '<div class="scroll words" tabindex="0" role="region" aria-label="Charges"><table>'
        f"<thead><tr>{headings}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{more}"
    )


def write_pages(ledger: Ledger, names: Sequence[str], path: Path) -> None:
    """Write the page of a ledger, and beside it, in a folder of its own, the report of each stored release.

    Parameters
    ----------
    ledger, names
        The ledger, and the data sets to show.
    path
        The page.
    """
    folder = path.with_name(f"{path.stem}-reports")
    links: dict[str, dict[int, str]] = {}
    for name in names:
        links[name] = {}
        for row in ledger.history(name):
            charge = row.details.get("charge")
            document = ledger.document(name, row.number) if row.kind == "store" else None
            if document is None or not isinstance(charge, int):
                continue
            report = folder / f"{name}-{charge}.html"
            folder.mkdir(exist_ok=True)
            write_whole(report, _read(document).to_html())
            links[name][charge] = f"{folder.name}/{report.name}"
    write_whole(path, ledger_page(ledger, names, links))


def _read(document: str) -> Any:
    several = json.loads(document).get("schema") == SCHEMA_OF_SEVERAL
    return (Releases if several else Release).from_json(document)
