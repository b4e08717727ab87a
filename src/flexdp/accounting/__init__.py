"""Budgets: of one release, of several together, and in a ledger that lasts."""

from flexdp.accounting.calibration import Calibration, calibrate
from flexdp.accounting.composition import PrivacyCurve, compose, privacy_curve
from flexdp.accounting.entries import Account, Entry, Receipt
from flexdp.accounting.ledger import Ledger
from flexdp.accounting.losses import LossDistribution
from flexdp.accounting.payment import Payment
from flexdp.accounting.rows import Stored, Verdict

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
