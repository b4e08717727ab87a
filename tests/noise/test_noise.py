"""The noise table against everything independent of it: closed forms, exact enumeration, a linear program."""

from __future__ import annotations

import math
from bisect import bisect_right
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from flexdp import CertificateError, InputError, UnavailableError
from flexdp.noise import LARGEST_REACH, DropNoise, prove, smallest_reach
from flexdp.noise import table as noise_module
from flexdp.noise.sampler import Sampler, fresh_salt, system_bytes

TABLE = {  # the reach for (ε, δ), from the closed form
    ".01": (1714, 1705, 3086, 4468),
    ".1": (219, 218, 356, 494),
    ".5": (51, 51, 79, 107),
    "1": (28, 28, 41, 55),
    "3": (11, 11, 15, 20),
}
DELTAS = (Fraction(1, 2**20), "1e-6", "1e-9", "1e-12")
SMALL = [("1", "0.1"), ("1", "0.02"), ("0.5", "0.05"), ("2", "0.01"), ("0.1", "0.15"), ("3", "0.2"), ("0.25", "0.4")]


def growth_of(noise: DropNoise) -> Fraction:
    evidence = noise.certify()
    return Fraction(evidence.growth_numerator, evidence.growth_denominator)


def best_delta(epsilon: str, q: int) -> Decimal:
    """δ*(q) = 1/(S_⌈q/2⌉ + S_⌊q/2⌋), in sixty digits."""
    with localcontext() as context:
        context.prec = 60
        e = Decimal(epsilon).exp()
        s = [(e**k - 1) / (e - 1) for k in (-(-q // 2), q // 2)]
        return 1 / sum(s)


def law(noise: DropNoise, height: int) -> dict[int, Fraction]:
    """The exact law of what is reported of a bar, by enumeration of the table."""
    out: dict[int, Fraction] = {}
    for drop, weight in enumerate(noise.weights):
        left = max(0, height - drop)
        out[left] = out.get(left, Fraction(0)) + Fraction(weight, 1 << noise.bits)
    return out


def hockey_stick(p: dict[int, Fraction], q: dict[int, Fraction], growth: Fraction) -> Fraction:
    return sum((max(Fraction(0), mass - growth * q.get(out, Fraction(0))) for out, mass in p.items()), Fraction(0))


@pytest.mark.parametrize("epsilon", TABLE)
def test_reach_is_that_of_the_closed_form(epsilon: str) -> None:
    assert tuple(DropNoise(epsilon, delta).q for delta in DELTAS) == TABLE[epsilon]


@pytest.mark.parametrize("epsilon", TABLE)
@pytest.mark.parametrize("delta", DELTAS)
def test_delta_real_is_the_optimum_to_within_rounding(epsilon: str, delta: str | Fraction) -> None:
    noise = DropNoise(epsilon, delta)
    best = best_delta(epsilon, noise.q)
    real = Decimal(noise.delta_real.numerator) / Decimal(noise.delta_real.denominator)
    assert noise.delta_real <= noise.delta
    assert 0 <= real / best - 1 < Decimal("4e-6")
    assert best_delta(epsilon, noise.q - 1) > Decimal(noise.delta.numerator) / Decimal(noise.delta.denominator)


@pytest.mark.parametrize(("epsilon", "delta"), SMALL)
def test_enumerated_divergence_of_neighbours_is_delta_real(epsilon: str, delta: str) -> None:
    noise = DropNoise(epsilon, delta)
    worst = Fraction(0)
    for height in range(1, 2 * noise.q + 2):
        taller, shorter = law(noise, height), law(noise, height - 1)
        for p, q in ((taller, shorter), (shorter, taller)):
            worst = max(worst, hockey_stick(p, q, growth_of(noise)))
    assert worst == noise.delta_real <= noise.delta


@pytest.mark.parametrize("epsilon", ["0.001", "0.05", "0.3", "1", "2.5", "7", "20"])
@pytest.mark.parametrize("delta", ["0.3", "0.001", "1e-6", "1e-9", "1e-15"])
def test_divergence_stays_within_delta_on_a_grid(epsilon: str, delta: str) -> None:
    noise = DropNoise(epsilon, delta)
    a, b = (noise.certify().growth_numerator, noise.certify().growth_denominator)
    w = [0, *noise.weights, 0]
    up = sum(max(0, b * w[j] - a * w[j - 1]) for j in range(1, len(w)))
    down = sum(max(0, b * w[j] - a * w[j + 1]) for j in range(len(w) - 1))
    assert Fraction(max(up, down), b << noise.bits) == noise.delta_real <= noise.delta


def test_growth_is_a_lower_bound_of_the_exponential() -> None:
    for epsilon in ("0.001", "0.1", "1", "3", "20"):
        noise = DropNoise(epsilon, "1e-6")
        with localcontext() as context:
            context.prec = 80
            assert growth_of(noise) <= Fraction(Decimal(epsilon).exp())
        evidence = noise.certify()
        too_much = (evidence.growth_numerator * (2**64 + 1) // 2**64 + 1, evidence.growth_denominator)
        upper = prove(noise.weights, bits=noise.bits, epsilon=noise.epsilon, delta=noise.delta, growth=too_much)
        assert not upper.growth_below_exp_epsilon
        assert not upper.holds


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.5", "0.01"), ("0.1", "1e-6"), ("3", "1e-9")])
def test_any_uncapped_weight_moved_by_one_breaks_the_proof(epsilon: str, delta: str) -> None:
    noise = DropNoise(epsilon, delta)
    evidence = noise.certify()
    growth = (evidence.growth_numerator, evidence.growth_denominator)
    cap = max(noise.weights)
    uncapped = [j for j, w in enumerate(noise.weights) if w < cap - 1]
    centre = noise.q // 2

    def holds(weights: list[int]) -> bool:
        return prove(weights, bits=noise.bits, epsilon=noise.epsilon, delta=noise.delta_real, growth=growth).holds

    assert holds(list(noise.weights))
    for j in uncapped:
        for change in (1, -1):
            moved = list(noise.weights)
            moved[j] += change
            assert not holds(moved), "the total is off"
            moved[centre] -= change
            interior = 0 < j < noise.q - 1 and min(j, noise.q - 1 - j) + 1 in uncapped
            if change == 1 or interior:
                assert not holds(moved), (j, change)


def test_certify_refuses_a_broken_table(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = DropNoise(1, "1e-6")
    broken = noise_module.Table(
        (noise.weights[0] + 1, *noise.weights[1:-1], noise.weights[-1] - 1), 64, noise._table.growth, 96
    )
    monkeypatch.setattr(noise, "_table", broken)
    with pytest.raises(CertificateError):
        noise.certify()


@pytest.mark.parametrize("reach", [2, 3, 4, 5])
def test_no_drop_only_rule_has_a_smaller_delta(reach: int) -> None:
    """A linear program over all rules that report between x − D and x, never anything on an empty bar."""
    growth, heights, drop = math.exp(0.7), 2 * reach + 2, reach - 1
    place: dict[tuple[int, int], int] = {}
    for x in range(heights):
        for y in {0, *range(max(0, x - drop), x + 1)} if x <= drop else range(x - drop, x + 1):
            place[x, y] = len(place)
    slack: dict[tuple[int, int, int], int] = {}
    for x in range(1, heights):
        for direction, (one, other) in enumerate(((x, x - 1), (x - 1, x))):
            del other
            for y in range(heights):
                if (one, y) in place:
                    slack[x, direction, y] = len(place) + len(slack)
    delta = len(place) + len(slack)
    above, rights, equal, totals = [], [], [], []
    for (x, direction, y), s in slack.items():
        one, other = (x, x - 1) if direction == 0 else (x - 1, x)
        row = np.zeros(delta + 1)
        row[place[one, y]], row[s] = 1, -1
        if (other, y) in place:
            row[place[other, y]] = -growth
        above.append(row)
        rights.append(0)
    for x in range(1, heights):
        for direction in (0, 1):
            row = np.zeros(delta + 1)
            for (x2, d2, _), s in slack.items():
                if (x2, d2) == (x, direction):
                    row[s] = 1
            row[delta] = -1
            above.append(row)
            rights.append(0)
    for x in range(heights):
        row = np.zeros(delta + 1)
        for (x2, _), p in place.items():
            if x2 == x:
                row[p] = 1
        equal.append(row)
        totals.append(1)
    cost = np.zeros(delta + 1)
    cost[delta] = 1
    found = linprog(cost, A_ub=np.array(above), b_ub=rights, A_eq=np.array(equal), b_eq=totals)
    assert found.fun == pytest.approx(float(best_delta("0.7", reach)), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    epsilon=st.fractions(min_value=Fraction(1, 100), max_value=20),
    delta=st.fractions(min_value=Fraction(1, 10**15), max_value=Fraction(99, 100)),
)
def test_every_table_is_certified_unimodal_and_symmetric(epsilon: Fraction, delta: Fraction) -> None:
    noise = DropNoise(epsilon, max(delta, Fraction(1, 10**15)))
    w = noise.weights
    assert noise.certify().holds
    assert sum(w) == 1 << noise.bits
    assert all(abs(a - b) <= 1 for a, b in zip(w, reversed(w), strict=True))
    assert w[0] == w[-1] == min(w)
    half = w[: (noise.q + 1) // 2]
    assert list(half) == sorted(half)


def test_wide_weights_where_narrow_ones_would_cost_reach() -> None:
    noise = DropNoise("1e-3", "1e-15")
    assert (noise.q, noise.bits) == (53877, 128)
    assert sum(noise.weights) == 2**128
    drops = noise.sample(2000)
    assert drops.min() >= 0
    assert drops.max() < noise.q


@pytest.mark.parametrize(("epsilon", "delta"), [("20", "1e-15"), ("20", "0.5"), ("50", "1e-20"), ("1e4", "1e-30")])
def test_large_epsilon_is_a_short_table(epsilon: str, delta: str) -> None:
    noise = DropNoise(epsilon, delta)
    assert 2 <= noise.q <= 6
    assert noise.certify().holds


def test_reach_beyond_a_million_is_refused() -> None:
    with pytest.raises(InputError, match=str(LARGEST_REACH)):
        DropNoise("1e-6", "1e-9")
    with pytest.raises(InputError, match="epsilon must be at least 1e-09"):
        DropNoise("1e-12", "1e-6")


@pytest.mark.parametrize(
    "bad", [0, -1, "0", float("nan"), float("inf"), "-0.5", True, None, "one", "1/0", "1e999999999"]
)
def test_bad_epsilon_is_refused_in_one_line(bad: object) -> None:
    with pytest.raises(InputError, match=r"^epsilon .*[^\n]$"):
        DropNoise(bad, "1e-6")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, 1, 1.5, -1e-6, "1e-31", float("nan"), None, [1]])
def test_bad_delta_is_refused_in_one_line(bad: object) -> None:
    with pytest.raises(InputError, match=r"^delta .*[^\n]$"):
        DropNoise(1, bad)  # type: ignore[arg-type]


def test_numbers_are_taken_as_written() -> None:
    same = [DropNoise(e, d) for e, d in [("0.1", "1e-6"), (0.1, 1e-6), (Decimal("0.1"), Decimal("1e-6"))]]
    same += [DropNoise(Fraction(1, 10), Fraction(1, 10**6)), DropNoise(np.float64(0.1), np.float64(1e-6))]
    same += [DropNoise(np.float32(0.1), "1/1000000")]
    assert {(noise.epsilon, noise.delta) for noise in same} == {(Fraction(1, 10), Fraction(1, 10**6))}
    assert len(set(same)) == 1


def test_mean_drop_is_the_mean_of_the_table() -> None:
    noise = DropNoise(1, "1e-6")
    for count in (0, 1, 5, 27, 28, 1000):
        exact = sum(Fraction(w, 2**64) * min(count, j) for j, w in enumerate(noise.weights))
        assert noise.mean_drop(count) == exact
    assert noise.mean_drop() == noise.mean_drop(10**9) == Fraction(27, 2)
    assert noise.pmf.sum() == pytest.approx(1)
    assert noise.pmf[0] == float(noise.delta_real)


class Bits:
    """A source of chosen bits: the 16-bit prefixes first, then for each open case the rest of its word."""

    def __init__(self, *blocks: bytes) -> None:
        self.blocks = list(blocks)

    def __call__(self, size: int) -> bytes:
        block = self.blocks.pop(0)
        assert len(block) == size
        return block


def drop_for(noise: DropNoise, u: int) -> int:
    """What the sampler makes of the K-bit number u."""
    word, low = u >> (noise.bits - 64), u & ((1 << (noise.bits - 64)) - 1)
    prefix = (word >> 48).to_bytes(2, "little")
    rest = ((word & (2**48 - 1)) << 16).to_bytes(8, "little")
    tail = [low.to_bytes((noise.bits - 64) // 8, "little")] if noise.bits > 64 else []
    return int(noise._draw(1, Bits(prefix, rest, *tail))[0])


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-9"), ("20", "1e-15"), ("0.001", "1e-15")])
def test_sampler_turns_over_exactly_at_every_boundary(epsilon: str, delta: str) -> None:
    noise = DropNoise(epsilon, delta)
    running = np.cumsum(np.array(noise.weights, dtype=object))
    assert drop_for(noise, 0) == 0
    assert drop_for(noise, (1 << noise.bits) - 1) == noise.q - 1
    step = max(1, noise.q // 500)
    for j in range(0, noise.q - 1, step):
        assert drop_for(noise, int(running[j]) - 1) == j
        assert drop_for(noise, int(running[j])) == j + 1


def test_thinning_never_adds_and_never_takes_more_than_the_reach() -> None:
    noise = DropNoise(1, "1e-6")
    counts = np.array([0, 1, 5, 27, 28, 10**6, 2**63 - 1], dtype=np.int64)
    for _ in range(200):
        left = noise.thin(counts)
        assert (left <= counts).all()
        assert (left >= np.maximum(counts - noise.max_drop, 0)).all()
        assert left[4] > 0


def test_repr_shows_parameters_only() -> None:
    assert repr(DropNoise(1, "1e-6")) == "DropNoise(epsilon=1, delta=1e-06)"


def around_prefixes() -> tuple[int, ...]:
    """64-bit weights whose running sums lie on the first number of a 16-bit prefix, one before it, or one after."""
    places = [place << 48 for place in (1, 2, 3, 100, 101, 32768, 65534, 65535)]
    sums = sorted({place + step for place in places for step in (-1, 0, 1)})
    return tuple(b - a for a, b in pairwise([0, *sums, 1 << 64]))


def alike_in_64_bits() -> tuple[int, ...]:
    """128-bit weights whose running sums share their first 64 bits, so that only the last 64 tell them apart."""
    top = 0x1234_5678_9ABC_DEF0 << 64
    sums = [1, top, top + 1, top + 2**63, top + 2**64 - 1, (2**64 - 1) << 64, 2**128 - 1]
    return tuple(b - a for a, b in pairwise([0, *sums, 1 << 128]))


TABLES = {
    "narrow": (DropNoise("1", "1e-6").weights, 64),
    "many boundaries in a prefix": (DropNoise("0.05", "1e-6").weights, 64),
    "wide": (DropNoise("0.001", "1e-15").weights, 128),
    "boundaries around prefixes": (around_prefixes(), 64),
    "boundaries alike in 64 bits": (alike_in_64_bits(), 128),
    "one sure drop": ((1 << 64,), 64),
}


@pytest.mark.parametrize("table", TABLES)
def test_every_prefix_decides_as_all_of_its_bits_would(table: str) -> None:
    """J is the number of running sums, the last one aside, that are ≤ u.

    All 2^16 prefixes are completed by zeros and by ones: a prefix that decides alone must be right at both ends.
    """
    weights, bits = TABLES[table]
    assert sum(weights) == 1 << bits
    sampler = Sampler(weights, bits)
    prefixes = np.arange(1 << 16, dtype="<u2")
    sums = list(accumulate(weights))[:-1]
    for fill in (0x00, 0xFF):
        first = [prefixes.tobytes()]

        def source(size: int, first: list[bytes] = first, fill: int = fill) -> bytes:
            return first.pop() if first else bytes([fill]) * size

        rest = (1 << (bits - 16)) - 1 if fill else 0
        wanted = [bisect_right(sums, (prefix << (bits - 16)) | rest) for prefix in range(1 << 16)]
        assert sampler.draw(1 << 16, source).tolist() == wanted


@pytest.mark.parametrize("table", TABLES)
def test_the_sampler_turns_over_at_every_boundary_of_any_table(table: str) -> None:
    weights, bits = TABLES[table]
    sampler = Sampler(weights, bits)
    sums = list(accumulate(weights))[:-1]
    for boundary in sums[:: max(1, len(sums) // 200)]:
        for u in {max(boundary - 1, 0), boundary, min(boundary + 1, (1 << bits) - 1)}:
            parts = [u >> (bits - 16), (u >> (bits - 64)) << 16 & (2**64 - 1), u & ((1 << (bits - 64)) - 1)]
            octets = [part.to_bytes(size, "little") for part, size in zip(parts, (2, 8, 8), strict=True)]
            assert int(sampler.draw(1, lambda _size, octets=octets: octets.pop(0))[0]) == bisect_right(sums, u)


def test_every_draw_has_bits_of_its_own() -> None:
    """Replayed from the bits that were handed out: three blocks, each with its own prefixes and its own rests."""
    noise = DropNoise("0.1", "1e-3")
    sums = list(accumulate(noise.weights))[:-1]
    open_prefixes = {boundary >> 48 for boundary in sums}
    generator, handed = np.random.default_rng(11), []

    def source(size: int) -> bytes:
        handed.append(generator.bytes(size))
        return handed[-1]

    size = 2 * 65536 + 1000
    drops = noise._draw(size, source)
    wanted: list[int] = []
    blocks = iter(handed)
    while len(wanted) < size:
        prefixes = np.frombuffer(next(blocks), dtype="<u2").tolist()
        unsettled = sum(prefix in open_prefixes for prefix in prefixes)
        rests = iter(np.frombuffer(next(blocks), dtype="<u8").tolist() if unsettled else [])
        for prefix in prefixes:  # two sums may share a prefix, so that its rest must be looked at
            rest = next(rests) >> 16 if prefix in open_prefixes else 0
            wanted.append(bisect_right(sums, (prefix << 48) | rest))
        assert next(rests, None) is None
    assert next(blocks, None) is None
    assert drops.tolist() == wanted


def test_no_two_blocks_of_draws_are_alike() -> None:
    """Two blocks of 2^16 independent draws are alike with a chance below 2^-65536, as no drop is more likely than ½."""
    noise = DropNoise("1", "1e-6")
    assert max(noise.pmf) < 0.5
    blocks = noise.sample(3 << 16).reshape(3, -1)
    assert len({block.tobytes() for block in blocks}) == 3
    again = np.tile(blocks[0], (3, 1))
    assert len({block.tobytes() for block in again}) == 1  # a control: repeated bits would be seen


def test_survival_is_the_chance_that_anything_is_left() -> None:
    for epsilon, delta in SMALL:
        noise = DropNoise(epsilon, delta)
        for height in range(noise.q + 3):
            left = law(noise, height)
            assert noise.survival(height) == 1 - left.get(0, Fraction(0))
        assert noise.survival(0) == 0 and noise.survival(1) == noise.delta_real
        assert noise.survival(noise.max_drop) < 1 == noise.survival(noise.q)


@pytest.mark.parametrize("spoil", ["first weight", "last weight", "total", "order"])
def test_no_table_is_used_that_is_not_proved(spoil: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the construction yields, DropNoise refuses it at birth unless the inequalities hold."""
    honest = noise_module._Growth.weights

    def spoilt(self: Any, q: int) -> tuple[int, ...]:
        weights = list(honest(self, q))
        if spoil == "total":
            weights[q // 2] -= 1
        elif spoil == "order":
            weights.sort()
        else:
            end = 0 if spoil == "first weight" else -1
            weights[end], weights[q // 2] = weights[q // 2], weights[end]
        return tuple(weights)

    noise_module.noise_table.cache_clear()
    monkeypatch.setattr(noise_module._Growth, "weights", spoilt)
    with pytest.raises(CertificateError):
        DropNoise(1, "1e-3")
    monkeypatch.undo()
    assert DropNoise(1, "1e-3").certify().holds


def test_the_proof_s_limit_is_never_above_delta() -> None:
    """Two equal weights have δ = ½ exactly. A claim a third of a unit in the last place below it must fail."""
    half = 1 << 63
    claims = {Fraction(1, 2): True, Fraction(3 * half - 1, 3 << 64): False, Fraction(3 * half + 1, 3 << 64): True}
    for delta, holds in claims.items():
        evidence = prove((half, half), bits=64, epsilon=Fraction(1), delta=delta, growth=(1, 1))
        assert evidence.holds is holds is (evidence.delta_real <= delta)


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        ((2, 2, 2, 2), "first_weight"),  # δ = ¼ where ⅛ is claimed
        ((1, 2, 2, 1), "total"),
        ((1, 3, 2, 1, 1), "forward"),  # rises by more than twofold: 1 + (3 − 2·1) > 1
        ((1, 1, 2, 3, 1), "backward"),  # falls by more than twofold: 1 + (3 − 2·1) > 1
    ],
)
def test_each_inequality_of_the_proof_is_needed(weights: tuple[int, ...], why: str) -> None:
    """Tables of three bits at ε = 0.7 (growth 2 ≤ e^0.7), of which one inequality, and it alone, fails."""
    evidence = prove(weights, bits=3, epsilon=Fraction(7, 10), delta=Fraction(1, 8), growth=(2, 1))
    failing = {
        "first_weight": evidence.first_weight > evidence.weight_limit,
        "total": evidence.total != 8,
        "forward": evidence.forward > evidence.allowance,
        "backward": evidence.backward > evidence.allowance,
    }
    assert [name for name, fails in failing.items() if fails] == [why]
    assert not evidence.holds


def test_noises_differ_where_either_parameter_does() -> None:
    noise = DropNoise(1, "1e-6")
    assert noise == DropNoise("1", 1e-6)
    assert noise != DropNoise(1, "1e-7") and noise != DropNoise(2, "1e-6") and noise != "noise"
    assert len({noise, DropNoise("1", 1e-6)}) == 1 and hash(noise) != hash(DropNoise(1, "1e-7"))


def test_the_reach_is_found_without_the_table_up_to_a_limit_that_counts() -> None:
    for epsilon, delta in SMALL:
        q = DropNoise(epsilon, delta).q
        assert [smallest_reach(epsilon, delta, at_most=most) for most in (q - 1, q, q + 1)] == [None, q, q]
        growth = noise_module._Growth(Fraction(epsilon), Fraction(delta), 128)
        assert growth.smallest_reach(q) == q and growth.smallest_reach((q - 1) // 2 * 2) is None  # the limit is even


@pytest.mark.parametrize(("epsilon", "delta"), SMALL)
def test_no_smaller_first_weight_attains_the_total(epsilon: str, delta: str) -> None:
    noise = DropNoise(epsilon, delta)
    evidence = noise.certify()

    def attained(start: int) -> int:
        side = [start]
        while len(side) < -(-noise.q // 2):
            side.append(evidence.growth_numerator * side[-1] // evidence.growth_denominator)
        return 2 * sum(side) - (side[-1] if noise.q % 2 else 0)

    assert attained(evidence.first_weight) >= 1 << noise.bits > attained(evidence.first_weight - 1)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1, Fraction(3, 2**64)), ("1/2", Fraction(2, 2**64)), ("3/10", Fraction(9, 2**64)), ("1/2", Fraction(1, 2**62))],
)
def test_what_is_cut_from_the_centre_leaves_no_dip(epsilon: Any, delta: Any) -> None:
    """With a first weight of a few units so much is cut that three weights share the rest, the centre first."""
    growth = noise_module._Growth(Fraction(epsilon), Fraction(delta), 64)
    q = growth.smallest_reach()
    assert q is not None
    weights = growth.weights(q)
    assert sum(weights) == 2**64
    left, right = weights[: q // 2 + 1], weights[: -(q // 2) - 2 : -1]
    assert list(left) == sorted(left) and list(right) == sorted(right)  # both up to the centre
    assert all(abs(one - other) <= 1 for one, other in zip(left, right, strict=True))
    for weight, following in pairwise(weights[: q // 2 - 1]):  # no more than three are cut
        assert following == growth.growth * weight >> growth.precision


def test_the_evidence_is_about_the_table_that_was_given() -> None:
    evidence = prove([1, 2, 1], bits=2, epsilon="0.7", delta="1/4", growth=(2, 1))
    assert (evidence.epsilon, evidence.delta) == (Fraction(7, 10), Fraction(1, 4))
    assert (evidence.q, evidence.bits, evidence.total, evidence.first_weight, evidence.weight_limit) == (3, 2, 4, 1, 1)
    assert evidence.growth_below_exp_epsilon and evidence.holds
    assert str(evidence).split(";")[0] == "3 integer weights sum to 2^2"


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        ({"weights": []}, "weights"),
        ({"weights": [1, 2.0, 1]}, "weights"),
        ({"weights": [1, True, 1]}, "weights"),
        ({"growth": (2, 1, 1)}, "growth"),
        ({"growth": (2, "x")}, "growth"),
        ({"growth": 2}, "growth"),
        ({"bits": 4097}, "bits"),
        ({"bits": 0}, "bits"),
    ],
)
def test_a_proof_of_something_else_is_refused(wrong: dict[str, Any], parameter: str) -> None:
    right: dict[str, Any] = {"weights": [1, 2, 1], "bits": 2, "epsilon": 1, "delta": "1/4", "growth": (2, 1)}
    with pytest.raises(InputError, match=f"^{parameter} "):
        prove(**{**right, **wrong})
    assert prove([1], bits=4096, epsilon=1, delta="1/4", growth=(2, 1)).bits == 4096


def test_nothing_to_thin_and_nothing_to_draw() -> None:
    noise = DropNoise(1, "1e-6")
    assert noise.sample(3).dtype == np.int64
    assert noise.sample(0).tolist() == [] and noise.thin(np.array([], dtype=np.int64)).tolist() == []
    assert noise.thin(np.array([0, 10**6], dtype=np.uint32))[1] >= 10**6 - noise.max_drop
    with pytest.raises(InputError, match="size must be"):
        noise.sample(2**40 + 1)
    for wrong in (object(), "3", np.array([[1]]), np.array([1.0])):
        with pytest.raises(InputError, match="counts must be a flat array of integers"):
            noise.thin(wrong)


def test_the_smallest_epsilon_has_a_table_and_no_smaller_one_has() -> None:
    """At half the probability for a weight of one, q = 3: 1/4, 1/2, 1/4 without any growth worth the name."""
    least = noise_module.SMALLEST_EPSILON
    assert smallest_reach(least, "0.4") == DropNoise(least, "0.4").q == 3
    assert smallest_reach(least / 2, "0.4") is None
    with pytest.raises(InputError, match="epsilon must be at least"):
        DropNoise(least / 2, "0.4")


@pytest.mark.parametrize("fault", ["refused", "missing", "short", "long"])
def test_no_draw_without_all_of_its_random_bytes(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def generator(size: int) -> bytes:
        if fault in ("refused", "missing"):
            raise OSError if fault == "refused" else NotImplementedError
        return b"\0" * (size - 1 if fault == "short" else size + 1)

    assert len(bytes.fromhex(fresh_salt())) == 16
    monkeypatch.setattr("os.urandom", generator)
    for size in range(1, 9):
        with pytest.raises(UnavailableError):
            system_bytes(size)
    for draw in (lambda: DropNoise(1, "1e-6").sample(3), fresh_salt):
        with pytest.raises(UnavailableError, match="the operating system's generator failed"):
            draw()


def test_a_total_that_is_attained_exactly_needs_no_longer_table() -> None:
    assert DropNoise(1, "1/2").weights == (2**63, 2**63)
    attained = 0
    for epsilon in (Fraction(3, 10), Fraction(9, 10), Fraction(3)):
        growth = noise_module._Growth(epsilon, Fraction(1, 4), 128)
        first = (growth.total << growth.precision) // ((2 << growth.precision) + growth.growth) + 1
        attained += 2 * first + (growth.growth * first >> growth.precision) == growth.total
        assert smallest_reach(epsilon, Fraction(first, 2**128)) == 3
        assert smallest_reach(epsilon, Fraction(first - 1, 2**128)) == 4
    assert attained == 3
