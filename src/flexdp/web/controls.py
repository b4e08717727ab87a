"""The controls of the form as HTML, each with a label and a place for its error message."""

from __future__ import annotations

from flexdp._core.text import markup
from flexdp.web.entries import CHOICES, Entries

__all__ = ["dial", "setting"]


def setting(entries: Entries, errors: dict[str, str]) -> str:
    """Return the fields for what is known beforehand: statistic, records, bounds, buckets, δ, unit, releases."""
    both = errors | ({"high": errors["low"]} if "low" in errors else {})  # a message about bounds concerns both
    bounds = (
        '<div class="pair">'
        f"{_input(entries, 'low', both, label='lowest value')}<span aria-hidden='true'>to</span>"
        f"{_input(entries, 'high', both, label='highest value', described='e-low')}</div>"
    )
    return (
        '<fieldset class="setting"><legend>What to publish</legend>'
        f"{_row('How', 'way', _select(entries, 'way', errors), errors)}"
        f"{_row('Statistic', 'stat', _select(entries, 'stat', errors), errors)}"
        f"{_row('Number of records, about', 'records_about', _input(entries, 'records_about', errors), errors)}"
        f'<div class="row" role="group" aria-labelledby="l-bounds"><span id="l-bounds">Public bounds</span>{bounds}'
        f"{_error('low', errors)}</div>"
        '<div class="row if-buckets"><label for="size">Buckets</label><div class="pair">'
        f"{_input(entries, 'size', errors)}"
        f"{_select(entries, 'sizing', errors, label='unit of the bucket size', described='e-size e-sizing')}</div>"
        f"{_error('size', errors)}{_error('sizing', errors)}</div>"
        '<div class="if-delta">'
        f"{_row('Probability δ that the promise fails', 'delta', _input(entries, 'delta', errors), errors)}</div>"
        + _row(
            "Most buckets (or values) of one person",
            "max_buckets_per_unit",
            _input(entries, "max_buckets_per_unit", errors, described="h-unit e-max_buckets_per_unit"),
            errors,
            hint="If empty, one record is protected rather than one person.",
            hint_id="h-unit",
        )
        + _row("Groups that are counted apart, about", "groups", _input(entries, "groups", errors), errors)
        + _row(
            "Releases that share ε and δ",
            "releases",
            _input(entries, "releases", errors, described="h-releases e-releases"),
            errors,
            hint="Columns or weeks, say, that are published out of one budget.",
            hint_id="h-releases",
        )
        + '<div class="if-buckets">'
        + _row("Example data", "law", _select(entries, "law", errors), errors)
        + "</div></fieldset>"
    )


def dial(entries: Entries, errors: dict[str, str], said: str) -> str:
    """Return the switch between a fixed ε and a fixed loss, with a slider for browsers that run JavaScript.

    ``said`` is the plan in one line. It is never empty: a browser that had to make room for it while the slider is
    dragged would let go of the slider.
    """
    switch = "".join(
        f'<label><input type="radio" name="fix" value="{value}" id="fix-{value}"'
        f"{' checked' if entries['fix'] == value else ''}>{markup(label)}</label>"
        for value, label in CHOICES["fix"].items()
    )
    share = _select(entries, "lose", errors, label="unit of the loss", described="e-loss e-lose")
    loss = f"{_input(entries, 'loss', errors)}{share}"
    return (
        f'<fieldset class="dial"><legend>What to fix</legend><div class="switch if-buckets">{switch}</div>'
        f'{_error("fix", errors)}<div class="row if-epsilon"><label for="epsilon">Privacy loss ε</label>'
        f'<div class="pair">{_input(entries, "epsilon", errors)}'
        '<input type="range" id="slider" class="with-script" min="0" max="230" step="1" aria-label="ε, as a slider">'
        "</div>"
        f"{_error('epsilon', errors)}</div>"
        f'<div class="row if-loss"><label for="loss">I can afford to lose</label><div class="pair">{loss}</div>'
        f"{_error('loss', errors)}{_error('lose', errors)}</div>"
        '<button type="submit" class="without-script">Plan</button><p role="status" class="status">'
        f"{markup(said)}</p></fieldset>"
    )


def _row(label: str, name: str, control: str, errors: dict[str, str], *, hint: str = "", hint_id: str = "") -> str:
    said = f'<small id="{hint_id}">{markup(hint)}</small>' if hint else ""
    return f'<div class="row"><label for="{name}">{markup(label)}</label>{control}{said}{_error(name, errors)}</div>'


def _input(entries: Entries, name: str, errors: dict[str, str], *, label: str = "", described: str = "") -> str:
    """A text field, because numbers are taken as they are written ("1e-6", "1/3")."""
    return (
        f'<input id="{name}" name="{name}" value="{markup(entries[name])}" spellcheck="false" maxlength="60"'
        f"{_marked(name, errors, label, described)}>"
    )


def _select(entries: Entries, name: str, errors: dict[str, str], *, label: str = "", described: str = "") -> str:
    options = "".join(
        f'<option value="{value}"{" selected" if value == entries[name] else ""}>{markup(words)}</option>'
        for value, words in CHOICES[name].items()
    )
    return f'<select id="{name}" name="{name}"{_marked(name, errors, label, described)}>{options}</select>'


def _marked(name: str, errors: dict[str, str], label: str, described: str) -> str:
    """Attributes for screen readers: the label, the id of the error message, and whether there is one."""
    invalid = ' aria-invalid="true"' if name in errors else ""
    named = f' aria-label="{markup(label)}"' if label else ""
    return f'{named} aria-describedby="{described or f"e-{name}"}"{invalid}'


def _error(name: str, errors: dict[str, str]) -> str:
    return f'<p class="error" id="e-{name}">{markup(errors.get(name, ""))}</p>'
