"""Budgets: of one release, of several together, and in a ledger that lasts.

::

    Budget ─▶ losses of a release ─▶ sums on a lattice ─▶ PrivacyCurve: compose     declared beforehand: tight
       │                                                    │
       └──────────── calibrate ◀─────────────────────────────┘                      the other way round
    Privacy ─▶ Ledger.charge ─▶ a row of a chain, in a store ─▶ Receipt             one after another: basic
"""

from flexdp.accounting.calibration import Calibration, calibrate
from flexdp.accounting.chain import Account, Entry, Receipt
from flexdp.accounting.composition import PrivacyCurve, compose, privacy_curve
from flexdp.accounting.ledger import Ledger, Payment, Stored, Verdict
from flexdp.accounting.losses import LossDistribution

__all__ = [
    "Account",
    "Calibration",
    "Entry",
    "Ledger",
    "LossDistribution",
    "Payment",
    "PrivacyCurve",
    "Receipt",
    "Stored",
    "Verdict",
    "calibrate",
    "compose",
    "privacy_curve",
]
