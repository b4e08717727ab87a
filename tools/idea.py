"""Draw docs/idea.svg, the README's picture: one column of flights, exact, with noise added, and with records left out.

Every run draws anew, from the same samplers as a release: ``python tools/idea.py``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from html import escape
from importlib.resources import files
from pathlib import Path

import duckdb

from flexdp.noise import DropNoise
from flexdp.noise.bits import Bits
from flexdp.noise.geometric import two_sided_geometric

WIDTH, LOW, HIGH = 15, -90, 1500
LEFT, RIGHT, HEIGHT, GAP = 16, 744, 92, 64
STYLE = """
text{font:13px system-ui,sans-serif;fill:#24292f}.t{font-size:15px;font-weight:600}.a{font-size:12px;fill:#57606a}
.x{fill:#8c959f}.p{fill:#cf222e}.r{fill:#0969da}.o{fill:#d0d7de}.l{stroke:#8c959f;stroke-width:1}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.a{fill:#9198a1}.x{fill:#7d8590}.p{fill:#ff7b72}.r{fill:#58a6ff}
.o{fill:#3d444d}.l{stroke:#7d8590}}
"""


def main() -> None:
    counts = _counts()
    bits, noise = Bits(), DropNoise(1, "1e-6")
    noisy = {place: max(0, count + two_sided_geometric(Fraction(1), bits)) for place, count in counts.items()}
    dropped = noise.sample(len(counts))
    left = {
        place: max(0, count - int(lost)) if count else 0
        for (place, count), lost in zip(counts.items(), dropped, strict=True)
    }
    top = max(counts.values())
    phantoms = sum(not counts[place] and count > 0 for place, count in noisy.items())
    highest = max(place for place, count in left.items() if count)
    kept = sum(left.values()) / sum(counts.values())
    rows = [
        ("The flights as they are", "One flight was 1301 minutes late.", [("x", counts)]),
        (
            "Add noise to every bucket (ε = 1)",
            f"Flights appear in {phantoms} buckets that have none. No maximum can be read off this.",
            [
                ("p", {place: 0 if counts[place] else noisy[place] for place in counts}),
                ("x", {place: noisy[place] if counts[place] else 0 for place in counts}),
            ],
        ),
        (
            "Leave a few records out (ε = 1, δ = 10⁻⁶)",
            f"Nothing appears that is not there. {100 * kept:.1f}% of the flights are kept; their maximum is exactly "
            f"{highest}–{highest + WIDTH}.",
            [("o", counts), ("r", left)],
        ),
    ]
    parts, y = [], 0
    for title, told, layers in rows:
        parts.append(f'<text class="t" x="{LEFT}" y="{y + 18}">{escape(title)}</text>')
        parts.append(f'<text x="{LEFT}" y="{y + 37}">{escape(told)}</text>')
        base = y + 44 + HEIGHT
        for name, bars in layers:
            parts.append(f'<path class="{name}" d="{_bars(bars, base, top)}"/>')
        parts.append(f'<line class="l" x1="{LEFT}" x2="{RIGHT}" y1="{base}" y2="{base}"/>')
        y = base + GAP - 44
    for minutes in range(0, HIGH, 250):
        parts.append(f'<text class="a" x="{_x(minutes):.1f}" y="{y - 2}" text-anchor="middle">{minutes}</text>')
    axis = "departure delay in minutes, buckets of 15; heights are logarithms of counts"
    parts.append(f'<text class="a" x="{RIGHT}" y="{y + 16}" text-anchor="end">{axis}</text>')
    summary = "The same column three times: exact, with noise added, and with a few records of each bucket left out"
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {y + 26}" role="img" aria-label="{summary}">'
        f"<title>{summary}</title><style>{STYLE}</style>{''.join(parts)}</svg>\n"
    )
    (Path(__file__).parent.parent / "docs" / "idea.svg").write_text(picture)


def _counts() -> dict[int, int]:
    """Records of every bucket between the ends of the picture, empty ones too."""
    path = str(files("flexdp") / "data" / "flights.parquet")
    found = duckdb.execute(
        f"SELECT floor(departure_delay / {WIDTH})::INTEGER * {WIDTH}, count(*) FROM read_parquet(?) "
        "WHERE departure_delay IS NOT NULL GROUP BY 1",
        [path],
    ).fetchall()
    return {place: dict(found).get(place, 0) for place in range(LOW, HIGH, WIDTH)}


def _x(minutes: float) -> float:
    return LEFT + (RIGHT - LEFT) * (minutes - LOW) / (HIGH - LOW)


def _bars(bars: dict[int, int], base: float, top: int) -> str:
    """All bars as one path; a single record is visible."""
    out = []
    for place, count in bars.items():
        if count:
            height = HEIGHT * math.log1p(2 * count) / math.log1p(2 * top)
            x, width = _x(place), _x(place + WIDTH) - _x(place) - 1
            out.append(f"M{x:.1f} {base}v{-height:.1f}h{width:.1f}v{height:.1f}z")
    return "".join(out)


if __name__ == "__main__":
    main()
