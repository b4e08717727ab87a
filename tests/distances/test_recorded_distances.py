"""Distances, sensitivities and smallest β of drawn cases are recorded: a rewrite changes none of them.

``python tests/distances/test_recorded_distances.py`` records them anew.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import flexdp
from flexdp import Histogram
from flexdp.distances import (
    Chebyshev,
    Cyclic,
    EditDistance,
    Equality,
    Manhattan,
    Weighted,
    lossy_w1,
    lossy_winf,
    total_variation,
)
from flexdp.distortions import Drop, DropMove, Move
from flexdp.measure import smallest_beta

RECORDED = Path(__file__).parent / "recorded" / "grid.json"
METRICS: list[tuple[str, Any]] = [
    ("line", None), ("clock", Cyclic(24)), ("cdist", "cityblock"), ("own", lambda a, b: abs(a - b) ** 0.5),
]  # fmt: skip


def distances(draw: random.Random) -> Iterator[tuple[str, Any]]:
    for trial in range(60):
        p, q = ({draw.randint(0, 23): draw.randint(1, 5) for _ in range(draw.randint(1, 7))} for _ in "pq")
        x, y = Histogram.from_counts(p), Histogram.from_counts(q)
        gamma = Fraction(draw.randint(0, 5), 10)
        for name, metric in METRICS:
            winf, w1 = lossy_winf(x, y, gamma, metric), lossy_w1(x, y, gamma, metric)
            yield f"{trial} {name} winf", [winf.value, str(winf.left_p), str(winf.left_q)]
            yield f"{trial} {name} w1", [w1.value, str(w1.left_p), str(w1.left_q)]
        yield f"{trial} tv", str(total_variation(x, y).left_p)
        points = [[(draw.randint(0, 9), draw.randint(0, 9)) for _ in range(draw.randint(1, 5))] for _ in "pq"]
        for name, metric in (("", None), ("taxi", Manhattan()), ("king", Chebyshev()), ("cdist", "chebyshev")):
            both = [f(points[0], points[1], gamma, metric).value for f in (lossy_winf, lossy_w1)]
            yield f"{trial} plane {name}", both
        words = [[draw.choice(["cat", "cut", "cute", "dog", "do"]) for _ in range(4)] for _ in "pq"]
        for name, metric in (("edit", EditDistance()), ("equal", Equality())):
            yield f"{trial} words {name}", [f(words[0], words[1], gamma, metric).value for f in (lossy_winf, lossy_w1)]
        thirds = [Weighted(list(each), [Fraction(v, 7) for v in each.values()]) for each in (p, q)]
        yield f"{trial} weighted", lossy_winf(thirds[0], thirds[1], gamma).value
        yield f"{trial} extended", flexdp.distortions.extend(Cyclic(24), p, q).value
        size = min(x.size, 6)
        a, b = (Histogram.from_values([draw.randint(0, 9) for _ in range(size)]) for _ in "ab")
        ring = (DropMove("0.1", Cyclic(10)), Move(Cyclic(10)))
        for name, distortion in zip(
            ("move", "drop-move", "ring drop-move", "ring"), (Move(), DropMove("0.1"), *ring), strict=True
        ):
            yield f"{trial} {name}", str(distortion.exactly(a, b))  # type: ignore[attr-defined]
        fewer = Histogram(a.keys, [draw.randint(0, n) for n in a.counts.tolist()])
        for name, distortion in (("drop", Drop()), ("drop-move", DropMove("0.1"))):
            yield f"{trial} fewer {name}", str(distortion.exactly(a, fewer))  # type: ignore[attr-defined]


def law(draw: random.Random, outputs: int, most: int) -> dict[int, Fraction]:
    weights = {draw.randrange(outputs): draw.randint(1, 4) for _ in range(draw.randint(1, most))}
    return {each: Fraction(w, sum(weights.values())) for each, w in weights.items()}


def sensitivities(draw: random.Random) -> Iterator[tuple[str, Any]]:
    points = list(range(5))
    gap = lambda a, b: abs(a - b)  # noqa: E731
    steep = lambda a, b: b - a if a <= b else 2 * (a - b)  # noqa: E731
    for trial in range(40):
        m, f = ({p: law(draw, 9, 1 + trial % 3) for p in points} for _ in "mf")
        alpha, beta, gamma, lost = (
            draw.randint(0, 2),
            draw.randint(0, 2),
            *(Fraction(draw.randint(0, 3), 10) for _ in "gl"),
        )
        found = flexdp.error_sensitivity(
            m.__getitem__, f.__getitem__, points, steep, alpha, gamma, beta, lost if trial % 2 else 0, metric=gap
        )
        yield f"{trial} tau", str(found.value)
        found = flexdp.metric_sensitivity(f.__getitem__, points, beta)
        yield f"{trial} delta", str(found)
        sigma = flexdp.distortion_sensitivity(f.__getitem__, points, steep, gap, alpha, gamma, beta, targets=range(9))
        yield f"{trial} sigma", str(sigma.value)


def betas(draw: random.Random) -> Iterator[tuple[str, Any]]:
    for trial in range(60):
        x = Histogram.from_counts({key: draw.randint(1, 3) for key in draw.sample(range(6), 3)})
        alpha, gamma = Fraction(draw.randint(0, x.size - 1), x.size), Fraction(draw.randint(0, 4), 10)
        outputs = law(draw, 9, 4)

        def ends(h: Histogram) -> dict[int, Fraction]:
            keys = h.keys.tolist()
            return {keys[0]: Fraction(1, 2), keys[-1]: Fraction(1, 2)} if len(keys) > 1 else {keys[0]: Fraction(1)}

        found = smallest_beta(x, outputs, ends, alpha, gamma)
        yield f"{trial} beta", found.value


def cases() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, make in (("distances", distances), ("sensitivities", sensitivities), ("betas", betas)):
        draw = random.Random(11)
        found[name] = dict(make(draw))
    return found


def test_every_recorded_value_stays() -> None:
    recorded, now = json.loads(RECORDED.read_text(encoding="utf-8")), cases()
    assert {name: list(each) for name, each in now.items()} == {name: list(each) for name, each in recorded.items()}
    for name, each in now.items():
        different = {key: (value, recorded[name][key]) for key, value in each.items() if value != recorded[name][key]}
        assert not different, name


if __name__ == "__main__":
    text = json.dumps(cases(), ensure_ascii=False).replace(', "', ',\n"')
    RECORDED.write_text(text + "\n", encoding="utf-8")
