"""Simulated or public values, and seeded trials of private programs on them. No private record is ever read here."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import exact_text
from flexdp._core.text import thousands
from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import bucket_parameters
from flexdp.errors import InputError
from flexdp.noise.bits import Bits
from flexdp.planning.expected import sample_values
from flexdp.sharp.column import Column
from flexdp.simulation import ValueLaw, stream

__all__ = ["MOST_RECORDS", "Sample", "column_words", "law_sample", "public_sample", "trial_bits"]

MOST_RECORDS = 200_000  # of a trial; errors in ranks hardly change beyond


@dataclass(frozen=True, eq=False)
class Sample:
    """Values to try a release on.

    Parameters
    ----------
    source
        Their origin, in words.
    values
        The values, ascending, as a column stores them.
    """

    source: str
    values: NDArray[Any]

    @property
    def column(self) -> Column:
        """The values as programs read them."""
        return Column.from_values(self.values)

    def __repr__(self) -> str:
        return f"<Sample of {self.source}>"


def law_sample(law: ValueLaw, records: int, buckets: Exact) -> Sample:
    """Put records at the quantiles of a law; integers are rounded down, and bounds apply."""
    many = min(records, MOST_RECORDS)
    values = buckets.locate(_of_kind(law.values(many), buckets.kind))
    return Sample(f"{thousands(many)} records of {law.text}", np.sort(values))


def public_sample(sample: Any, records: int | None, buckets: Exact) -> Sample:
    """Take a public sample, with as many records as are planned for at its quantiles."""
    values = np.sort(sample_values(sample, buckets))
    size = len(values)
    if not size:
        raise InputError("public_sample", "must hold at least one value that can be read")
    many = min(size if records is None else records, MOST_RECORDS)
    if many != size:
        values = values[((np.arange(many) + 0.5) / many * size).astype(np.int64)]
    scaled = "" if many == size else f", scaled from {thousands(size)}"
    return Sample(f"{thousands(many)} records of the public sample{scaled}", values)


def _of_kind(values: NDArray[np.float64], kind: Kind) -> NDArray[Any]:
    if kind != "integer":
        return values
    return np.clip(np.floor(values), -(2.0**62), 2.0**62).astype(np.int64)


def column_words(buckets: Exact, *, told: bool = False) -> list[str]:
    """Return the options of a command that describe a column: bounds and kind, if ``told`` also that of numbers."""
    said = bucket_parameters(buckets)
    out = []
    if "bounds" in said:
        numbers = buckets.kind in ("integer", "number")
        ends = [exact_text(Fraction(end)) if numbers else str(end) for end in said["bounds"]]
        out.append(f"--bounds {shlex.quote(':'.join(ends))}")
    return out + ([f"--kind {buckets.kind}"] if told or buckets.kind != "number" else [])


def trial_bits(seed: int, *name: object) -> Bits:
    """Return seeded bits for one trial. They protect nobody: a release draws its own from the operating system."""
    return Bits(stream(seed, "plan", *name).bytes)
