"""Keys of records as numpy arrays: one dtype for each kind, equal keys equal."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import elements
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError

__all__ = ["canonical_keys", "object_keys"]

_FLAT = "must be a flat sequence, or a two-dimensional array with one point per row"


def canonical_keys(keys: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return keys as one array: bool, int64, float64, or Python objects (texts, dates, numbers too large for those)."""
    if isinstance(keys, np.ndarray) and keys.ndim == 2 and keys.dtype.kind in "iuf":
        return _finite(keys.astype(np.float64))  # points, a row each
    if isinstance(keys, np.ndarray) and keys.ndim != 1:
        raise InputError("keys", _FLAT)
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "biuf":
        if keys.dtype.kind == "b":
            return keys.copy()
        if keys.dtype.kind == "i" or (keys.dtype.kind == "u" and keys.dtype.itemsize < 8):
            return keys.astype(np.int64)
        if keys.dtype.kind == "f":
            return _finite(keys.astype(np.float64))
    listed = elements(keys.tolist() if isinstance(keys, np.ndarray) else keys)
    if listed is None:
        raise InputError("keys", _FLAT, given=safe_repr(keys))
    cells: list[Any] = [plain_scalar(key) for key in listed]
    if not cells:
        return np.empty(0, dtype=np.int64)
    if all(isinstance(k, bool | np.bool_) for k in cells):
        return np.array(cells, dtype=bool)
    if all(isinstance(k, Real | Decimal) for k in cells):
        return _number_keys(cells)
    if all(isinstance(k, str) for k in cells):
        return object_keys(cells)
    if all(isinstance(k, dt.date) and not isinstance(k, dt.datetime) for k in cells):
        return object_keys(cells)
    if all(isinstance(k, dt.datetime) and k.tzinfo is None for k in cells):
        return object_keys(cells)
    if all(isinstance(k, tuple) and k and all(isinstance(part, Real) for part in k) for k in cells):
        if len({len(k) for k in cells}) == 1:
            return _finite(np.array(cells, dtype=np.float64))
        raise InputError("keys", "must be points of the same dimension")
    raise InputError("keys", "must be all numbers, all strings, all dates, all datetimes or all booleans")


def _number_keys(cells: list[Any]) -> NDArray[Any]:
    if all(isinstance(k, Integral | np.bool_) for k in cells):
        whole = [int(k) for k in cells]
        fits = all(-(2**63) <= k < 2**63 for k in whole)
        return np.array(whole, dtype=np.int64) if fits else object_keys(whole)
    if any(isinstance(k, Fraction) for k in cells):
        return object_keys([_exact_key(k) for k in cells])
    try:
        return _finite(np.array([float(k) for k in cells], dtype=np.float64))
    except OverflowError:
        raise InputError("keys", "must fit into doubles unless all are integers") from None


def _exact_key(key: Any) -> Any:
    """Keep a number exactly: a double remains a double beside rationals."""
    if isinstance(key, float) and math.isfinite(key):
        return key + 0.0
    return Fraction(key)


def _finite(keys: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(keys).all():
        raise InputError("keys", "must be finite", remedy="Leave out NaN and infinities.")
    return keys + 0.0  # −0.0 becomes 0.0


def object_keys(cells: list[Any]) -> NDArray[Any]:
    """Return Python objects as an array, one object per cell."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
