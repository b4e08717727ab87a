"""Planning and reporting: commands end to end, and sizes and times of reports and pictures."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from _timing import race, say

import flexdp
from flexdp.report import chart

SPEND = {"epsilon": 1, "delta": "1e-6"}
SETTING = {"bounds": (0, 120), "width": 5, "records_about": 50_000}


def released(bars: int) -> flexdp.Release:
    """Return a release of so many buckets, all certain to survive."""
    values = np.repeat(np.arange(bars) + 0.5, 40 + np.arange(bars) % 977)
    return flexdp.release(values, width=1, bounds=(0, bars), **SPEND)


def planning() -> None:
    line = "plan --epsilon 1 --delta 1e-6 --bounds 0:120 --width 5 --records-about 50000"
    plain = [sys.executable, "-m", "flexdp", *line.split()]
    best = race(
        {
            "plan": lambda: subprocess.run(plain, check=True, capture_output=True),
            "simulated": lambda: subprocess.run([*plain, "--simulate", "normal"], check=True, capture_output=True),
            "function": lambda: str(flexdp.plan(**SPEND, **SETTING)),
            "curve": lambda: flexdp.plan(**SPEND, **SETTING).to_json(),
        }
    )
    for name, label in (("plan", "flexdp plan, start to finish"), ("simulated", "the same with --simulate normal")):
        say(label, best[name], best[name] / 0.5, "≤ 1 (of 0.5 s)")
    say("flexdp.plan, in a running process", best["function"])
    say("flexdp.plan with its curve, as JSON", best["curve"], best["curve"] / 0.05, "≤ 1 (of 50 ms)")


def reports() -> None:
    for bars, limit in ((24, 100), (1000, 100), (10_000, 600)):
        release = released(bars)
        text = release.to_json()
        best = race(
            {
                "page": lambda text=text: flexdp.Release.from_json(text).to_html(),
                "picture": lambda text=text: chart(text),
            },
            rounds=5,
        )
        size = len(release.to_html().encode()) / 1000
        say(f"report of {bars} buckets from its JSON", best["page"], best["page"], "≤ 1 (of 1 s)")
        print(f"{'its size':58s}{size:12.1f} kB   ratio {size / limit:7.3f}   target ≤ 1 (of {limit} kB)")
        say("its picture alone", best["picture"])


def main() -> None:
    planning()
    reports()


if __name__ == "__main__":
    main()
