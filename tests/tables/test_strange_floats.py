"""Floats at which numpy warns: signalling NaN, infinities, denormals. No warning and no other bucket reveals one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from _support.private import private_bars

import flexdp
from flexdp import InputError
from flexdp._release.api import prepare

BUCKETINGS: list[dict[str, Any]] = [
    {"width": 5},
    {"width": 5, "bounds": (0, 120)},
    {"width": 5, "bounds": (0, 120), "outside": "drop"},
    {"width": "1e-300", "bounds": (0, "1e-297")},
    {"relative": "0.05", "bounds": (-10, 120)},
    {"edges": [0, 18, 65, 120]},
    {"kind": "number"},
    {"kind": "integer", "width": 5, "bounds": (0, 120)},
    {"kind": "integer"},
]
# Signalling NaN of both signs, quiet NaN, infinities, the smallest and the largest number, −0.
BITS: dict[Any, tuple[Any, list[int]]] = {
    np.float16: (np.uint16, [0x7C01, 0xFC01, 0x7E00, 0x7C00, 0xFC00, 0x0001, 0x7BFF, 0x8000]),
    np.float32: (np.uint32, [0x7F800001, 0xFF800001, 0x7FC00000, 0x7F800000, 0xFF800000, 1, 0x7F7FFFFF, 0x80000000]),
    np.float64: (
        np.uint64,
        [0x7FF << 52 | 1, 0xFFF << 52 | 1, 0x7FF8 << 48, 0x7FF << 52, 0xFFF << 52, 1, (0x7FF << 52) - 1, 1 << 63],
    ),
}
# In the extended format of x86, also bit patterns that are not numbers: (mantissa, sign and exponent).
EXTENDED = [
    (1 << 63 | 1, 0x7FFF), (0xA << 60, 0xFFFF), (0xC << 60, 0x7FFF), (1 << 63, 0x7FFF), (1 << 63, 0xFFFF), (1, 0),
    (2**64 - 1, 0x7FFE), (1 << 63, 1), (0, 0x7FFF), (1, 0x7FFF), (1 << 62, 0x3FFF), (1 << 63, 0x3FFF - 1060),
]  # fmt: skip


def strange(dtype: Any) -> Any:
    if dtype is not np.longdouble:
        unsigned, bits = BITS[dtype]
        return np.array(bits, dtype=unsigned).view(dtype)
    if np.dtype(dtype).itemsize != 16 or np.finfo(dtype).nmant != 63:
        pytest.skip("no extended format of x86")
    raw = np.zeros((len(EXTENDED), 16), dtype=np.uint8)
    for row, (mantissa, exponent) in zip(raw, EXTENDED, strict=True):
        row[:8], row[8:10] = list(mantissa.to_bytes(8, "little")), list(exponent.to_bytes(2, "little"))
    return raw.view(dtype).ravel()


def tally(source: Any, column: str | None, **parameters: Any) -> dict[Any, int]:
    bars = private_bars(prepare(source, column, **parameters))
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


def frame(values: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": values, "g": pd.array(["a"] * len(values), dtype="string")})


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("parameters", BUCKETINGS, ids=str)
def test_a_strange_float_is_silent_and_changes_its_own_bucket_alone(dtype: Any, parameters: dict[str, Any]) -> None:
    cells = strange(dtype)
    calm = (np.arange(60) % 30).astype(dtype)
    sources: list[tuple[Any, str | None, dict[str, Any]]] = [(lambda values: values, None, {}), (frame, "x", {})]
    if "bounds" in parameters:  # counted by numpy; the engine has a single path
        sources.append((lambda values: values.astype(values.dtype.newbyteorder(">")), None, {}))
    else:
        sources.append((frame, "x", {"by": "g"}))
    for build, column, more in sources:
        before = tally(build(calm), column, **parameters, **more)
        through_engine = "bounds" not in parameters or "relative" in parameters
        for cell in cells[:2] if more else cells[::3] if through_engine else cells:
            values = np.empty(len(calm) + 1, dtype=dtype)
            values[:-1], values[-1:] = calm, np.array([cell], dtype=dtype)
            with warnings.catch_warnings(), np.errstate(all="raise"):
                warnings.simplefilter("error")
                after = tally(build(values), column, **parameters, **more)
            moved = {key: after.get(key, 0) - before.get(key, 0) for key in before | after}
            assert [change for change in moved.values() if change] in ([], [1]), cell


@pytest.mark.parametrize("build", [lambda values: values, frame], ids=["array", "frame"])
@pytest.mark.parametrize("kind", ["number", "integer"])
@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_asked_answers_read_strange_floats_in_silence(dtype: Any, kind: str, build: Any) -> None:
    cells = build(np.concatenate([np.arange(60).astype(dtype), strange(dtype)]))
    column = None if isinstance(cells, np.ndarray) else "x"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flexdp.release(cells, column, kind=kind, ask=["max", "mean"], epsilon=1, delta=0)


def test_floats_with_room_for_missing_cells_are_opened_in_silence() -> None:
    signalling = strange(np.float32)[:1]
    array = pd.arrays.FloatingArray(np.concatenate([np.float32([1, 7]), signalling]), np.array([False, False, False]))
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        assert tally(pd.DataFrame({"x": array}), "x", width=5) == {(0,): 1, (1,): 1}


def test_cells_of_a_list_are_read_in_silence() -> None:
    cells = [*strange(np.float32), *strange(np.float16), np.longdouble("1e4000"), 7.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("number", "integer"):
            assert tally(cells, None, kind=kind, width=5, bounds=(0, 9), outside="drop")[1,] == 1


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.clongdouble])
def test_complex_numbers_are_refused_by_their_dtype(dtype: Any) -> None:
    for values in (np.zeros(0, dtype=dtype), np.array([1 + 0j], dtype=dtype)):
        with pytest.raises(InputError, match="declared as complex"):
            prepare(values, width=5)


def test_one_complex_number_makes_all_numbers_of_a_pandas_column_complex() -> None:
    frame = pd.DataFrame({"x": [1.0, 7.0, 3j]})
    assert frame["x"].dtype == np.complex128
    assert tally(frame, "x", width=5) == {(0,): 1, (1,): 1}
