"""The composition theorem as a picture: what a chain does, and the distorted data for which its answer is exact.

x ──M₁──▶ y₁ ──M₂──▶ y₂        drawn: the chain
┊          ║          ║        ║ at most β apart, except with probability γ
x′ ──f──▶ f(x′) ──f──▶ …       what it is compared with, on data that are distorted by α in all (┊)
           ┊ α₂
           Y                   a step distorts its own input; σ says what that costs on the table
"""

from __future__ import annotations

from collections.abc import Iterator

from flexdp._core.domains import flag, instance
from flexdp._core.exact import upper_text
from flexdp.guarantees import Accuracy, percent_text
from flexdp.mechanisms import Derivation
from flexdp.mechanisms.derivation import Derived
from flexdp.report.charts.svg import coordinate, picture, picture_name, text

__all__ = ["derivation_chart"]

_LEAST, _EDGE, _LETTER = 150.0, 70.0, 7.0  # pixels between columns at least, around them, and of a letter, about
_TOP, _BOTTOM, _ROW = 56.0, 146.0, 56.0  # of the two rows, and between the rows of distortions below them
_STONE = 5.0
_STYLE = (
    "<style>.fd .given{fill:var(--fd-ink)}.fd .found{fill:var(--fd-band);stroke:var(--fd-ink)}"
    ".fd .go{stroke:var(--fd-soft);stroke-width:1.2;fill:none}.fd .near{stroke:var(--fd-bar);stroke-width:2;fill:none}"
    ".fd .drop{stroke:var(--fd-mark);stroke-width:1.6;stroke-dasharray:1.5 3;stroke-linecap:round;fill:none}"
    ".fd .tip{fill:var(--fd-soft)}</style>"
)


def derivation_chart(derivation: Derivation, *, name: str = "d", alone: bool = True) -> str:
    """Draw how the accuracy of a chain follows from its steps by the composition theorem.

    The upper row is the chain; the lower one is the function on data of which a little was left out or moved, and
    answers are compared between the rows. Dotted lines are distortions: those of a step's own input, what they amount
    to on the table by σ, and their sum.

    Parameters
    ----------
    derivation
        What ``mechanism.explain()`` returns.
    name
        Prefix of the ids inside.
    alone
        Include the style; False inside a page that has it.

    Returns
    -------
    str
        The picture, as SVG.

    Examples
    --------
    >>> from flexdp.mechanisms import Bucketing, Dropping, ReadOff
    >>> from flexdp.statistics import Max
    >>> mechanism = Bucketing(width=5, bounds=(0, 120)) >> Dropping(1, "1e-6") >> ReadOff(Max())
    >>> drawn = derivation_chart(mechanism.explain(records_at_least=64_800))
    >>> drawn[:4], "α = 1%" in drawn, "β = 2.5" in drawn
    ('<svg', True, True)
    """
    name, alone = picture_name(name), flag("alone", alone)
    told = instance("derivation", derivation, Derivation, "a Derivation: mechanism.explain() returns one")
    steps, whole = told.steps, told.accuracy
    wide = max(_LEAST, *(len(each.name) * _LETTER + 40 for each in steps))
    below = [place for place, each in enumerate(steps) if each.step.alpha != 0]
    height = _BOTTOM + 40 + _ROW * len(below)
    body = [_STYLE, *_draw_rows(steps, wide), *_draw_errors(steps, wide)]
    for row, place in enumerate(below, start=1):
        body += _draw_distortion(steps[place], place, _BOTTOM + _ROW * row, wide)
    body += [
        _line(_EDGE, _TOP, _EDGE, _BOTTOM, "drop"),
        text(_EDGE + 8, (_TOP + _BOTTOM) / 2 + 4, f"α = {_alpha(whole, whole.alpha)}", anchor="start"),
    ]
    if whole.moved:
        moved = f"moved by {upper_text(whole.moved, 6)}"
        body.append(text(_EDGE + 8, (_TOP + _BOTTOM) / 2 + 19, moved, anchor="start", kind="s"))
    words = " ".join(f"{'; '.join(f'{head}: {cell}' for head, cell in zip(told.table[0], row, strict=True))}."
                     for row in told.table[1:])  # fmt: skip
    width = 2 * _EDGE + wide * len(steps) + 40
    return picture(round(width), round(height), str(whole), words, body, name=name, alone=alone)


def _draw_rows(steps: tuple[Derived, ...], wide: float) -> Iterator[str]:
    """Draw what the chain does, and below it the function on the distorted data."""
    for place, each in enumerate(steps):
        left, right = _EDGE + wide * place, _EDGE + wide * (place + 1)
        for y in (_TOP, _BOTTOM):
            yield _line(left + _STONE + 2, y, right - _STONE - 8, y, "go")
            yield f'<path class="tip" d="M{coordinate(right - _STONE - 2)} {coordinate(y)}l-8 -4v8z"/>'
        yield text((left + right) / 2, _TOP - 10, each.name)
        yield text((left + right) / 2, _BOTTOM - 8, f"f{_below(place + 1)}", kind="s")
    for place in range(len(steps) + 1):
        x = _EDGE + wide * place
        yield _stone(x, _TOP, "given" if place == 0 else "found")
        yield _stone(x, _BOTTOM, "found")
    yield text(_EDGE - 14, _TOP + 4, "x", anchor="end")
    yield text(_EDGE - 14, _BOTTOM + 4, "x′", anchor="end")


def _draw_errors(steps: tuple[Derived, ...], wide: float) -> Iterator[str]:
    """Draw the largest distance of each outcome from the row below it."""
    for place, each in enumerate(steps, start=1):
        x = _EDGE + wide * place
        yield _line(x, _TOP + _STONE, x, _BOTTOM - _STONE, "drop" if each.moved else "near")
        after = each.after
        told = f"moved by {upper_text(after.moved, 6)}" if each.moved else f"β = {_beta(after)}"
        yield text(x + 8, (_TOP + _BOTTOM) / 2 + 4, told, anchor="start")
        if after.gamma:
            yield text(x + 8, (_TOP + _BOTTOM) / 2 + 18, f"γ = {upper_text(after.gamma)}", anchor="start", kind="s")


def _draw_distortion(step: Derived, place: int, y: float, wide: float) -> Iterator[str]:
    """Draw the distortion that a step makes of its own input, and what it amounts to on the table."""
    x = _EDGE + wide * place
    yield _line(x, _BOTTOM + _STONE, x, y - _STONE, "drop")
    yield _stone(x, y, "found")
    yield text(
        x + 10, y + 4, f"α{_below(place + 1)} = {_alpha(step.after, step.step.alpha)} of its input", anchor="start"
    )
    if place:
        yield _line(_EDGE, _BOTTOM + _STONE, _EDGE, y - _STONE, "drop")
        yield _stone(_EDGE, y, "found")
        yield text(_EDGE + 10, y + 4, f"σ: {_alpha(step.after, step.carried)} of x", anchor="start")


def _alpha(told: Accuracy, alpha: float | None) -> str:
    if alpha is None:
        return "not known"
    if alpha == float("inf"):
        return "no bound"
    return percent_text(alpha) if told.distortion.fraction else upper_text(alpha, 6)


def _beta(told: Accuracy) -> str:
    return percent_text(told.beta) if told.relative_beta else upper_text(told.beta, 6)


def _below(number: int) -> str:
    """A number as a subscript.

    >>> _below(12)
    '₁₂'
    """
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _line(left: float, top: float, right: float, bottom: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{coordinate(left)} {coordinate(top)}L{coordinate(right)} {coordinate(bottom)}"/>'


def _stone(x: float, y: float, kind: str) -> str:
    return f'<circle class="{kind}" cx="{coordinate(x)}" cy="{coordinate(y)}" r="{coordinate(_STONE)}"/>'
