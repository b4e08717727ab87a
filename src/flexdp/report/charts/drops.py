"""The noise of one bucket as a picture: the chance to survive beside the law of the records lost."""

from __future__ import annotations

from collections.abc import Iterator

from flexdp._core.domains import flag, instance
from flexdp._core.exact import number_text, upper_text
from flexdp._core.text import thousands
from flexdp.noise import DropNoise
from flexdp.report.charts.svg import Scale, coordinate, count_name, picture, picture_name, steps, text, ticks

__all__ = ["noise_chart"]

_WIDTH, _HEIGHT = 372, 206
_TOP, _BOTTOM = 34.0, 150.0


def noise_chart(noise: DropNoise, *, name: str = "n", alone: bool = True) -> str:
    """Draw the noise of a bucket as SVG: p_k = Pr[a bucket of k records is reported], beside Pr[J = j].

    The paper's figure of the optimal test for emptiness and of the noise it amounts to, for the integers that are
    drawn: p_k is the chance that fewer than k records are lost.

    Parameters
    ----------
    noise
        The table of one bucket.
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
        ``noise`` is not a table.

    Examples
    --------
    >>> drawn = noise_chart(DropNoise("0.5", "1e-3"))
    >>> drawn[:4], "at most 23 records" in drawn
    ('<svg', True)
    """
    name, alone = picture_name(name), flag("alone", alone)
    table = instance("noise", noise, DropNoise, "a DropNoise, for example DropNoise(1, 1e-6)")
    chances = table.pmf.tolist()
    survives = [sum(chances[:k]) for k in range(table.q + 1)]
    body = [*_survival(survives, Scale(0, table.q, 34.0, 178.0)), *_law(chances, Scale(1 - table.q, 0, 222.0, 364.0))]
    settings = f"ε = {number_text(table.epsilon)}, δ = {number_text(table.delta)}"
    body.append(
        text(_WIDTH / 2, _HEIGHT - 6, f"{settings}: at most {thousands(table.max_drop)} records are lost", kind="s")
    )
    words = (
        f"Left: p_k, the probability that a bucket of k records is reported: 0 at k = 0, {upper_text(survives[1])} at "
        f"k = 1, 1 at k = {thousands(table.q)}. Right: the noise −J on 0 to −{thousands(table.max_drop)} records, "
        f"symmetric, most likely in the middle, with probability {upper_text(max(chances))}. {settings}."
    )
    return picture(_WIDTH, _HEIGHT, "Chance to survive, and noise", words, body, name=name, alone=alone)


def _survival(survives: list[float], across: Scale) -> Iterator[str]:
    up = Scale(0, 1, _BOTTOM, _TOP)
    yield text(6, 16, "p_k: bucket of k is reported", anchor="start")
    for share in (0.0, 0.5, 1.0):
        y = coordinate(up(share))
        yield f'<path class="grid" d="M{coordinate(across.start)} {y}H{coordinate(across.end)}"/>'
        yield text(across.start - 5, up(share) + 4, count_name(share), anchor="end", kind="s")
    points = [(coordinate(across(k)), coordinate(up(chance))) for k, chance in enumerate(survives)]
    yield f'<path class="curve" d="M{" ".join(f"{x} {y}" for x, y in points)}"/>'
    if len(points) <= 60:
        yield "".join(f'<circle class="dot" cx="{x}" cy="{y}" r="2.2"/>' for x, y in points)
    yield from _below([0, (len(survives) - 1) // 2, len(survives) - 1], across)
    yield text((across.start + across.end) / 2, _BOTTOM + 31, "records k", kind="s")


def _law(chances: list[float], across: Scale) -> Iterator[str]:
    high = max(chances)
    up = Scale(0, high, _BOTTOM, _TOP)
    half = (across.end - across.start) / max(1, len(chances) - 1) / 2
    bar = min(8.0, max(0.5, 0.8 * half))
    yield text(across.start - 26, 16, "noise −J: probability", anchor="start")
    for level in ticks(0, high, 2):
        y = coordinate(up(level))
        yield f'<path class="grid" d="M{coordinate(across.start - 6)} {y}H{coordinate(across.end)}"/>'
        yield text(across.start - 9, up(level) + 4, count_name(level), anchor="end", kind="s")
    spans = [(across(-j) - bar, across(-j) + bar, up(chance), _BOTTOM) for j, chance in enumerate(chances)]
    yield f'<path class="bar" d="{steps(spans)}"/>'
    yield from _below([1 - len(chances), -(len(chances) // 2), 0], across)
    yield text((across.start + across.end) / 2, _BOTTOM + 31, "records lost", kind="s")


def _below(places: list[int], across: Scale) -> Iterator[str]:
    for place in dict.fromkeys(places):
        yield f'<path class="axis" d="M{coordinate(across(place))} {coordinate(_BOTTOM)}v4"/>'
        yield text(across(place), _BOTTOM + 17, f"−{-place}" if place < 0 else place, kind="s")
