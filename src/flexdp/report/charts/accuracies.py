"""Measured accuracy as a picture: the smallest β for each α and γ, beside what is promised."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from flexdp._core.domains import flag, instance
from flexdp._core.exact import float_up, number_text, said, upper_text
from flexdp._core.text import plural
from flexdp.errors import InputError
from flexdp.guarantees import Accuracy
from flexdp.measure import AccuracyCurve
from flexdp.report.charts.svg import LogScale, Scale, coordinate, count_name, picture, picture_name, text

__all__ = ["accuracy_chart"]

_WIDTH, _TOP, _BOTTOM, _LEFT = 372, 26.0, 186.0, 38.0
_MOST_GAMMAS = 4
_LETTER = 6.6  # pixels, about
_STYLE = (
    "<style>.fd .y1,.fd .y2,.fd .y3{stroke-width:2;fill:none}.fd .y1{stroke:var(--fd-mark);stroke-dasharray:6 3}"
    ".fd .y2{stroke:var(--fd-soft);stroke-dasharray:2 3}.fd .y3{stroke:var(--fd-band);stroke-dasharray:9 3 2 3}"
    ".fd .p0{fill:var(--fd-bar)}.fd .p1{fill:var(--fd-mark)}.fd .p2{fill:var(--fd-soft)}.fd .p3{fill:var(--fd-band)}"
    ".fd .star{fill:var(--fd-ink);stroke:var(--fd-paper);stroke-width:1.5}</style>"
)


def accuracy_chart(
    curve: AccuracyCurve, *, promised: Accuracy | None = None, name: str = "a", alone: bool = True
) -> str:
    """Draw measured accuracy as SVG: β against α, one line for each γ, and the promise as a diamond.

    The values of α stand side by side at equal distances, as they were asked for; β is on a logarithmic scale that
    begins at 0. A measurement compares with the true data and is not private.

    Parameters
    ----------
    curve
        The measurement, from :func:`flexdp.measure.accuracy_curve`; at most four values of γ.
    promised
        A guarantee to draw beside it.
    name
        Prefix of the ids inside.
    alone
        Include the style; False inside a page that has it.

    Returns
    -------
    str
        The picture.

    Raises
    ------
    InputError
        There are more than four values of γ, or the α of the promise is not known.

    Examples
    --------
    >>> from flexdp import Histogram
    >>> from flexdp.measure import accuracy_curve
    >>> from flexdp.statistics import Max
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> curve = accuracy_curve(h, [70, 20, 12, 60], Max(), alphas=[0, "0.01"], gammas=[0, "0.25"])
    >>> drawn = accuracy_chart(curve, promised=Accuracy(alpha="0.05", beta=10))
    >>> drawn[:4], "promised: β = 10 at α = 0.05" in drawn
    ('<svg', True)
    """
    name, alone = picture_name(name), flag("alone", alone)
    measured = instance("curve", curve, AccuracyCurve, "an AccuracyCurve, as accuracy_curve returns it")
    if len(measured.gammas) > _MOST_GAMMAS:
        raise InputError("curve", f"must have at most {_MOST_GAMMAS} values of gamma", given=str(len(measured.gammas)))
    star: tuple[Fraction, float] | None = None
    if promised is not None:
        promise = instance("promised", promised, Accuracy, "an Accuracy")
        if promise.alpha is None:
            raise InputError(
                "promised",
                "must have a known alpha",
                given=f"one that states only {promise.left_out}",
                remedy="Derive it with records_at_least and bars, from steps that keep the number of records: buckets "
                "with bounds that clamp, and steps that say what is known after them.",
            )
        star = said(promise.alpha), promise.beta
    shares = sorted({*measured.alphas, *([star[0]] if star else [])})
    places = {share: i for i, share in enumerate(shares)}
    across = Scale(-0.5, len(shares) - 0.5, _LEFT, _WIDTH - 6)
    finite = [float(beta) for beta in measured.beta.ravel() if math.isfinite(beta)]
    high = max([1.0, *finite, *([star[1]] if star and math.isfinite(star[1]) else [])])
    up = LogScale(high * 1.15, _BOTTOM, _TOP)
    body = [_STYLE, text(4, 14, "β: error", anchor="start"), *_grid(up, high)]
    body += _shares(shares, across)
    if len(finite) < measured.beta.size or (star and math.isinf(star[1])):
        body.append(text(_LEFT - 5, _TOP - 2, "∞", anchor="end", kind="s"))
    for series, gamma in enumerate(measured.gammas):
        points = [
            (across(places[share]), up(beta) if math.isfinite(beta) else _TOP - 6)
            for share, beta in zip(measured.alphas, measured.beta[:, series].tolist(), strict=True)
        ]
        body += _line(points, series)
        body += _key(series, f"γ = {number_text(gamma)}", len(measured.gammas))
    height = _BOTTOM + 70
    if star:
        x, y = across(places[star[0]]), up(star[1]) if math.isfinite(star[1]) else _TOP - 6
        words = f"promised: β = {upper_text(star[1])} at α = {upper_text(star[0])}"
        body += [_diamond(x, y), _diamond(14, height - 4), text(24, height, words, anchor="start", kind="s")]
        height += 16
    return picture(_WIDTH, round(height), "Measured accuracy", _told(measured, star), body, name=name, alone=alone)


def _grid(up: LogScale, high: float) -> Iterator[str]:
    levels = [0.0] + [10.0**power for power in range(-1, 13) if 0.3 <= 10.0**power <= high]
    for level in levels:
        y = up(level)
        yield f'<path class="grid" d="M{coordinate(_LEFT)} {coordinate(y)}H{_WIDTH - 6}"/>'
        yield text(_LEFT - 5, y + 4, count_name(level), anchor="end", kind="s")


def _shares(shares: list[Fraction], across: Scale) -> Iterator[str]:
    names = [count_name(float(share)) for share in shares]
    room = (across.end - across.start) / len(shares)
    every = max(1, math.ceil((_LETTER * max(map(len, names)) + 4) / room))
    for i, label in enumerate(names):
        yield f'<path class="axis" d="M{coordinate(across(i))} {coordinate(_BOTTOM)}v4"/>'
        if i % every == 0:
            yield text(across(i), _BOTTOM + 17, label, kind="s")
    yield text((across.start + across.end) / 2, _BOTTOM + 35, "α: fraction left out, or other distortion", kind="s")


def _line(points: list[tuple[float, float]], series: int) -> Iterator[str]:
    path = " ".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
    yield f'<path class="{"curve" if not series else f"y{series}"}" d="M{path}"/>'
    for x, y in points:
        yield f'<circle class="p{series}" cx="{coordinate(x)}" cy="{coordinate(y)}" r="3"/>'


def _key(series: int, label: str, of: int) -> Iterator[str]:
    x, y = 6 + series * (_WIDTH - 12) / of, _BOTTOM + 50
    kind = "curve" if not series else f"y{series}"
    yield f'<path class="{kind}" d="M{coordinate(x)} {coordinate(y - 4)}h20"/>'
    yield text(x + 25, y, label, anchor="start", kind="s")


def _diamond(x: float, y: float) -> str:
    return f'<path class="star" d="M{coordinate(x)} {coordinate(y - 7)}l6 7l-6 7l-6 -7z"/>'


def _told(curve: AccuracyCurve, star: tuple[Fraction, float] | None) -> str:
    rows = [
        f"at α = {number_text(alpha)}: "
        + ", ".join(
            f"{upper_text(float(beta))} with γ = {number_text(gamma)}"
            for gamma, beta in zip(curve.gammas, row, strict=True)
        )
        for alpha, row in zip(curve.alphas, curve.beta, strict=True)
    ]
    source = "for the exact distribution of the outputs" if curve.runs is None else f"over {plural(curve.runs, 'run')}"
    promise = "" if star is None else f" Promised is β = {upper_text(star[1])} at α = {upper_text(float_up(star[0]))}."
    return f"The smallest error bound β, {source}, {'; '.join(rows)}.{promise}"
