"""Rank errors of asked answers on 26 laws of people's data: geometric means over the laws, in per cent of the records.

``python benchmarks/panel_asked.py 10000 1 4`` runs n = 10 000 at ε = 1, four seeds a law.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction as F

import numpy as np

from flexdp.mechanisms.program import run
from flexdp.noise.bits import Bits
from flexdp.sharp.answers import ask
from flexdp.sharp.column import Column


def _clip(x, a, b):
    return np.clip(x, a, b)


def heaped_age(r, n):
    a = np.floor(_clip(r.normal(43, 19, n), 0, 104))
    h = r.random(n) < 0.35
    a[h] = np.round(a[h] / 5) * 5
    return a.astype(np.int64)


def prices(r, n):
    p = np.floor(r.lognormal(2.7, 0.9, n))
    s = r.choice([0.99, 0.95, 0.0, 0.49], n, p=[0.6, 0.15, 0.15, 0.1])
    return np.round(p + s, 2)


def default_dates(r, n):
    d = r.integers(9000, 20000, n)
    d[r.random(n) < 0.08] = 0
    return d


def epoch(r, n):
    return (1_700_000_000 + np.cumsum(r.exponential(1, n)) * 1e7 / n).astype(np.int64)


def dropout(r, n):
    w = np.minimum(52, np.ceil(r.exponential(20, n)))
    return w.astype(np.int64)


def income0(r, n):
    x = np.round(r.lognormal(7.7, 0.6, n), -1)
    x[r.random(n) < 0.37] = 0
    return x


def clusters(r, n):
    return np.where(r.random(n) < 0.5, r.normal(40, 2, n), r.normal(40_000, 900, n)).round(2)


def grades(r, n):
    return r.choice(
        [1, 1.3, 1.7, 2, 2.3, 2.7, 3, 3.3, 3.7, 4, 5],
        n,
        p=[0.06, 0.08, 0.1, 0.12, 0.13, 0.12, 0.1, 0.09, 0.07, 0.08, 0.05],
    )


def donations(r, n):
    return r.choice(
        [5, 10, 20, 25, 50, 100, 250, 500, 1000], n, p=[0.1, 0.22, 0.2, 0.12, 0.18, 0.11, 0.04, 0.02, 0.01]
    ).astype(np.int64)


def pressure(r, n):
    return (np.round(r.normal(128, 17, n) / 2) * 2).astype(np.int64)


def stay(r, n):
    return np.ceil(r.weibull(0.8, n) * 4).astype(np.int64)


def commute(r, n):
    m = r.gamma(2, 14, n)
    return (np.maximum(1, np.where(r.random(n) < 0.7, np.round(m / 5) * 5, np.round(m)))).astype(np.int64)


def birthyear(r, n):
    y = np.round(2005 - r.gamma(4, 9, n))
    y[r.random(n) < 0.03] = 1900
    return y.astype(np.int64)


def salary(r, n):
    return np.round(r.lognormal(8.1, 0.45, n), -2)


def waits(r, n):
    return np.round(r.exponential(340, n), 1)


def children(r, n):
    return r.poisson(1.4, n)


def votes(r, n):
    return np.minimum(r.zipf(1.7, n), 10**9)


def celsius(r, n):
    return np.round(r.normal(4, 11, n), 1)


def coords(r, n):
    return np.round(r.normal(52.52, 0.07, n), 6)


def weight(r, n):
    return np.round(r.normal(76, 15, n) * 2) / 2


def screen(r, n):
    return np.where(r.random(n) < 0.12, 1440, np.round(r.gamma(3, 80, n))).astype(np.int64)


def balance(r, n):
    return np.round(r.standard_t(2.2, n) * 900 + 300, 2)


def account(r, n):
    return r.integers(10**9, 10**10, n)


def micro(r, n):
    return r.normal(3.2e-6, 4e-7, n)


def rating(r, n):
    return r.choice([1, 2, 3, 4, 5], n, p=[0.12, 0.05, 0.08, 0.2, 0.55])


def delay(r, n):
    return np.round(r.gamma(0.5, 40, n) - 8).astype(np.int64)


LAWS = {
    f.__name__: f
    for f in (
        heaped_age,
        prices,
        default_dates,
        epoch,
        dropout,
        income0,
        clusters,
        grades,
        donations,
        pressure,
        stay,
        commute,
        birthyear,
        salary,
        waits,
        children,
        votes,
        celsius,
        coords,
        weight,
        screen,
        balance,
        account,
        micro,
        rating,
        delay,
    )
}
SETS = {
    "median": ["1/2"],
    "q.99": ["99/100"],
    "q.999": ["999/1000"],
    "q.9": ["9/10"],
    "max": ["1"],
    "quart": ["1/4", "1/2", "3/4"],
    "five": ["0", "1/4", "1/2", "3/4", "1"],
    "tails": ["1/100", "1/4", "1/2", "3/4", "99/100"],
    "minmax": ["0", "1"],
    "9dec": [f"{k}/10" for k in range(1, 10)],
    "19": [f"{k}/20" for k in range(1, 20)],
    "high4": ["1/2", "9/10", "99/100", "1"],
}


def go(sets, n, eps, runs, base=77000, detail=False):
    out = {}
    for name in sets:
        lv = [F(x) for x in SETS[name]]
        cols = {}
        worst = 0
        for law, f in LAWS.items():
            errs = []
            for s in range(runs):
                x = f(np.random.default_rng(base + s), n)
                c = Column.from_values(x)
                o = np.sort(x)
                a = run(ask(lv, F(eps), c.scale), c, Bits(np.random.default_rng(base + 7919 * s).bytes)).value
                if not a.answers:
                    errs.append(n / 2)
                    continue
                for each in a.answers:
                    v = float(c.scale.value(each.value))
                    r = float(each.level) * n
                    if each.level in (0, 1):
                        pass
                    lo, hi = np.searchsorted(o, v, "left"), np.searchsorted(o, v, "right")
                    k = min(max(round(r, 6), 0.5), n - 0.5) if each.level in (0, 1) else r
                    e = max(0, lo - np.ceil(k), np.floor(k) - hi)
                    if each.level in (0, 1):
                        wide = o[-max(1, n // 100)] - o[n // 100]
                        if (v - o[-1] if each.level else o[0] - v) > 10 * max(wide, 1e-12):
                            worst += 1
                    errs.append(e)
            cols[law] = np.mean(errs)
        g = np.exp(np.mean(np.log(np.maximum(list(cols.values()), 0.2)))) / n * 100
        out[name] = g
        print(f"{name:7s} n={n} eps={eps}: {g:.4f} %  absurd {worst}", flush=True)
        if detail:
            print({k: round(float(v), 1) for k, v in cols.items()})
    return out


if __name__ == "__main__":
    n = int(float(sys.argv[1]))
    eps = sys.argv[2]
    runs = int(sys.argv[3])
    sets = sys.argv[4].split(",") if len(sys.argv) > 4 else list(SETS)
    t = time.process_time()
    go(sets, n, eps, runs, detail=len(sys.argv) > 5)
    print("cpu", round(time.process_time() - t, 1))
