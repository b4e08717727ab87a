"""Noise in doubles: the paper's own laws, for study and comparison. No release uses it, because doubles leak."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

__all__ = ["laplace", "shifted_truncated_laplace"]


def laplace(size: int, *, scale: float) -> NDArray[np.float64]:
    """Laplace noise in doubles, from the operating system's generator."""
    u = _uniform(size) - 0.5
    return np.asarray(-scale * np.sign(u) * np.log1p(-2 * np.abs(u)))


def shifted_truncated_laplace(size: int, *, reach: float, epsilon: float) -> NDArray[np.float64]:
    """Laplace noise about −reach/2 cut to [−reach, 0], in doubles."""
    if reach == 0:
        return np.zeros(size)
    u = 2 * _uniform(size) - 1
    away = -np.log1p(np.abs(u) * np.expm1(-epsilon * reach / 2)) / epsilon
    return np.asarray(np.clip(np.sign(u) * away - reach / 2, -reach, 0.0))


def _uniform(size: int) -> NDArray[np.float64]:
    """Doubles strictly between 0 and 1."""
    bits = np.frombuffer(os.urandom(8 * size), dtype="<u8") >> np.uint64(11)
    return (bits.astype(np.float64) + 0.5) * 2.0**-53
