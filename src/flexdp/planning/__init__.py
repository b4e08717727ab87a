"""Parameters chosen before any data is read: from what is known, solve for the rest.

Three relations tie the parameters of a bucketed release together (paper, Sec. choosing-params, corrected):

- **privacy**: q is the smallest reach for (ε, δ), or, if one unit may change k buckets, for the share of each bucket,
  ε/k and 1 − (1 − δ)^{1/k};
- **buckets**: T = ⌈B / 2β⌉ buckets of width 2β cover a public interval of length B;
- **records left out**: of at least n records at most D·T are left out, D = q − 1, hence α = D·T / n; where buckets are
  public, at most m instead (:mod:`flexdp.noise.total`).

Parameters beyond those needed are demands, and an error if they cannot be met; a plan states what is attained, which is
at least as good as what was asked. All numbers are exact rationals. Where a relation has no rational solution (ε, δ),
the solution is rounded to twelve digits on the private side and checked against the noise table itself.

:func:`plan` comes first: it lists options, the cost of each, which of them meet a target, and the command to run.
:func:`solve` completes one set of parameters from those that determine it. ::

    plan(…) ─▶ Design: GivenBuckets │ AskedAnswers │ AutomaticBuckets      public facts of one release
                 │ row(budget of one release) ─▶ {"max_drop": 27, "alpha": 181/25000, …}
                 ▼
    Plan(design, ε, δ, releases) ─▶ a row for each usual ε and the chosen one ─▶ table · text · JSON · card · page

Nothing here reads data: ``records_at_least`` is a public promise, and q follows from public numbers only. Where the
paper lets q grow with the number of records present, its privacy theorem fails.
"""

from __future__ import annotations

from flexdp.noise.calibration import most_buckets_per_unit, per_bucket, smallest_delta, smallest_epsilon
from flexdp.planning.api import plan
from flexdp.planning.expected import Expected
from flexdp.planning.plans import Plan
from flexdp.planning.regimes import REGIMES, regime
from flexdp.planning.solve import Solved, solve

__all__ = [
    "REGIMES",
    "Expected",
    "Plan",
    "Solved",
    "most_buckets_per_unit",
    "per_bucket",
    "plan",
    "regime",
    "smallest_delta",
    "smallest_epsilon",
    "solve",
]
