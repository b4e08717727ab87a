"""Noise in doubles: the laws of the paper, for study and comparison. No release uses it, because doubles leak."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexdp.noise.sampler import RandomBytes, system_bytes

__all__ = ["laplace", "shifted_truncated_laplace", "truncated_laplace_quantile"]


def laplace(size: int, source: RandomBytes = system_bytes, *, scale: float) -> NDArray[np.float64]:
    """Draw Laplace noise in doubles."""
    u = _uniform(size, source) - 0.5
    return np.asarray(-scale * np.sign(u) * np.log1p(-2 * np.abs(u)))


def shifted_truncated_laplace(
    size: int, source: RandomBytes = system_bytes, *, reach: float, epsilon: float
) -> NDArray[np.float64]:
    """Draw Laplace noise centred at −reach/2 and truncated to [−reach, 0], in doubles."""
    if reach == 0:
        return np.zeros(size)
    return truncated_laplace_quantile(_uniform(size, source), reach=reach, epsilon=epsilon)


def truncated_laplace_quantile(uniform: NDArray[np.float64], *, reach: float, epsilon: float) -> NDArray[np.float64]:
    """Map uniform numbers in [0, 1) to the noise by inversion: 0 to −reach, 1/2 to −reach/2, towards 0 at 1.

    Doubles resolve 2⁻⁵²: where e^{−ε·reach/2} is below that (δ below about 1e-16) the far ends are not reached, and 0
    counts as the next double, which avoids the logarithm of zero.

    >>> truncated_laplace_quantile(np.array([0.0, 0.5]), reach=28.0, epsilon=1.0).round(6).tolist()
    [-28.0, -14.0]
    """
    u = np.maximum(2 * uniform - 1, np.nextafter(-1.0, 0.0))
    away = -np.log1p(np.abs(u) * np.expm1(-epsilon * reach / 2)) / epsilon
    return np.asarray(np.clip(np.copysign(away, u) - reach / 2, -reach, 0.0))


def _uniform(size: int, source: RandomBytes) -> NDArray[np.float64]:
    """Draw doubles strictly between 0 and 1."""
    bits = np.frombuffer(source(8 * size), dtype="<u8") >> np.uint64(12)
    return (bits.astype(np.float64) + 0.5) * 2.0**-52  # with 53 bits the largest would round to 1
