"""The exact samplers against enumeration of every bit they read, chosen bits at every boundary, and closed forms."""

from __future__ import annotations

import importlib
import math
import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp import CertificateError, InputError
from flexdp.noise import exponential as exponential_module
from flexdp.noise.bits import Bits
from flexdp.noise.exponential import LARGEST_DECAY, Decay, check_depth, decay, prove_decay
from flexdp.noise.geometric import (
    bernoulli_exp,
    bernoulli_exp_of,
    first_bernoulli_exp,
    geometric,
    two_sided_geometric,
)

geometric_module = importlib.import_module("flexdp.noise.geometric")  # the room exports a function of that name


class Scripted(Bits):
    """Uniform integers from a script; where it ends, the procedure is cut and told which choice was open."""

    class OpenError(Exception):
        """The next choice is open."""

    class AgainError(Exception):
        """An attempt was rejected."""

    def __init__(self, script: tuple[int, ...]) -> None:
        super().__init__()
        self.script, self.place, self.flipped = script, 0, False

    def below(self, limit: int) -> int:
        if self.flipped and limit > 1:
            raise Scripted.AgainError  # with coins, integers are drawn at the start of an attempt only
        return 0 if limit == 1 else self._next([Fraction(1, limit)] * limit)

    def coin(self, chance: Fraction) -> bool:
        self.flipped = True
        return bool(self._next([1 - chance, chance]))

    def _next(self, chances: list[Fraction]) -> int:
        if self.place == len(self.script):
            raise Scripted.OpenError(chances)
        self.place += 1
        return self.script[self.place - 1]


def enumerate_law(procedure: Callable[[Bits], Any], cut: Fraction) -> tuple[dict[Any, Fraction], Fraction]:
    """Every path of a procedure with its exact probability; paths less likely than ``cut`` are left open."""
    law: dict[Any, Fraction] = {}
    left = Fraction(0)
    paths: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while paths:
        script, chance = paths.pop()
        try:
            outcome = procedure(Scripted(script))
        except Scripted.AgainError:
            outcome = "again"
        except Scripted.OpenError as stop:
            if chance < cut:
                left += chance
            else:
                paths += [((*script, choice), chance * each) for choice, each in enumerate(stop.args[0])]
            continue
        law[outcome] = law.get(outcome, Fraction(0)) + chance
    return law, left


ROUNDING = Fraction(1, 10**50)  # of exponentials with sixty digits


def exp(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def test_uniform_integers_by_enumeration_of_all_bytes() -> None:
    for limit in (2, 3, 5, 6, 7, 200, 255, 256):
        seen: Counter[int] = Counter()
        rejected = 0
        for byte in range(256):
            left = [b"\x00", bytes([byte])]
            drawn = Bits(lambda size, left=left: left.pop()[:size]).below(limit)  # type: ignore[misc]
            if not left:
                rejected += 1  # and the zero byte that followed gave 0
            else:
                seen[drawn] += 1
        assert set(seen.values()) == {256 >> (limit - 1).bit_length()}
        assert len(seen) == limit and rejected == 256 - sum(seen.values())


def test_boundaries_of_uniform_integers() -> None:
    def source(*words: int) -> Callable[[int], bytes]:
        left = list(words)
        return lambda size: left.pop(0).to_bytes(size, "little")

    limit = 2**64 + 1  # 65 bits of nine bytes: seven are left over
    assert Bits(source(2**64 << 7)).below(limit) == 2**64
    assert Bits(source((2**64 + 1) << 7, 0)).below(limit) == 0
    assert Bits(source((2**72) - 1, (2**64 << 7) - 1)).below(limit) == 2**64 - 1
    with pytest.raises(InputError):
        Bits().below(0)
    assert Bits(source()).below(1) == 0


def test_choices_follow_their_weights() -> None:
    law, left = enumerate_law(lambda bits: bits.choose([3, 0, 4, 1]), Fraction(0))
    assert law == {0: Fraction(3, 8), 2: Fraction(1, 2), 3: Fraction(1, 8)} and left == 0
    with pytest.raises(InputError):
        Bits().choose([0, 0])


@pytest.mark.parametrize("x", ["0", "1/3", "2/3", "1", "5/2", "7/3"])
def test_bernoulli_is_the_exponential(x: str) -> None:
    law, left = enumerate_law(lambda bits: bernoulli_exp(Fraction(x), bits), Fraction(1, 10**9))
    assert left < Fraction(1, 10**6)
    assert law.get(True, Fraction(0)) <= exp(-Fraction(x)) <= law.get(True, Fraction(0)) + left
    assert law.get(False, Fraction(0)) <= 1 - exp(-Fraction(x)) <= law.get(False, Fraction(0)) + left


@pytest.mark.parametrize("exponent", [1, 2, 5, 17, 70, 139, 256])
def test_the_bytes_of_whole_exponentials_are_exact(exponent: int) -> None:
    """Against the exponential of decimals, with as many digits as 800 bits take, and more."""
    places = 100
    with localcontext() as context:
        context.prec = 500
        expected = int(Decimal(-exponent).exp() * 2 ** (8 * places))
    found = int.from_bytes(bytes(geometric_module._byte(exponent, place) for place in range(places)), "big")
    assert found == expected


def test_bytes_are_exact_however_few_bits_are_computed_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits that do not decide on a byte are never believed: more of them are computed."""
    asked = [(exponent, place) for exponent in (*range(1, 60), 256) for place in range(16)]
    exact = [geometric_module._byte(*each) for each in asked]
    computed = []

    def inverse(precision: int, plain: Callable[[int], int] = geometric_module._inverse_of_e) -> int:
        computed.append(precision)
        return plain(precision)

    monkeypatch.setattr(geometric_module, "_inverse_of_e", inverse)
    for guard in (0, 1):
        monkeypatch.setattr(geometric_module, "_GUARD", guard)
        geometric_module._byte.cache_clear()
        computed.clear()
        assert [geometric_module._byte(*each) for each in asked] == exact
        assert len(computed) > len(asked)  # sometimes the first bits did not decide
    geometric_module._byte.cache_clear()


@pytest.mark.parametrize("exponent", [1, 3, 70])
def test_a_uniform_number_is_compared_byte_by_byte(exponent: int) -> None:
    """At every boundary: all bytes up to a place are those of e^−m, and the next is one more or one less."""
    own = [geometric_module._byte(exponent, place) for place in range(20)]
    for place in range(20):
        for step, outcome in ((-1, True), (1, False)):
            last = own[place] + step
            if 0 <= last < 256:
                left = [*own[:place], last]
                bits = Bits(lambda size, left=left: bytes([left.pop(0)]) * size)  # type: ignore[misc]
                assert geometric_module._whole(exponent, bits) is outcome
                assert not left


def test_large_exponents_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[int] = []
    with monkeypatch.context() as patched:
        patched.setattr(geometric_module, "_whole", lambda exponent, bits: parts.append(exponent) or True)  # noqa: ARG005
        assert bernoulli_exp_of(2 * 10**4, 2, Bits())
    assert sum(parts) == 10**4 and max(parts) == geometric_module._MOST_AT_ONCE
    assert not bernoulli_exp_of(10**30, 1, Bits(lambda size: b"\xff" * size))


def scripted(*blocks: bytes) -> tuple[Bits, list[bytes]]:
    """Bits from blocks of bytes, each of which must be asked for as a whole."""
    left = list(blocks)

    def source(size: int) -> bytes:
        block = left.pop(0)
        assert len(block) == size
        return block

    return Bits(source), left


def test_from_where_on_a_success_is_rare() -> None:
    assert [geometric_module._byte(exponent, 0) for exponent in range(5, 260)] == [1] + [0] * 254
    assert geometric_module._RARE == 6


@pytest.mark.parametrize("exponent", [6, 7, 11])
def test_the_first_of_one_rare_success_is_a_rare_success(exponent: int) -> None:
    """All pairs of bytes: success means that they are less than those of e^−m."""
    own = [geometric_module._byte(exponent, place) for place in range(2)]
    for byte in range(1, 256):
        assert first_bernoulli_exp([exponent], Fraction(1), scripted(bytes([byte]))[0]) is None
    for byte in range(256):
        if byte != own[1]:  # equal bytes ask for a third
            bits, left = scripted(b"\0", bytes([byte]))
            assert first_bernoulli_exp([exponent], Fraction(1), bits) == (0 if byte < own[1] else None)
            assert not left


def test_the_first_of_several_rare_successes() -> None:
    """Each draw has its own first byte, which decides unless it is 0; bytes that follow are drawn for it alone."""
    second = geometric_module._byte(7, 1)
    assert 0 < second < 255
    less, more = bytes([second - 1]), bytes([second + 1])
    for blocks, found in (
        ([b"\1\2\3\xff"], None),
        ([b"\0\2\3\xff", less], 0),
        ([b"\1\0\0\xff", more, less], 2),
        ([b"\1\0\0\0", more, more, more], None),
        ([b"\1\2\3\0", bytes([second]), b"\0"], 3),
        ([b"\1\2\3\0", bytes([second]), b"\xff"], None),
    ):
        bits, left = scripted(*blocks)
        assert first_bernoulli_exp([14] * 4, Fraction(1, 2), bits) == found
        assert not left


def test_rare_successes_between_others() -> None:
    """Runs of rare ones are drawn together, and the others by themselves, in their order."""
    draws: list[tuple[int, int]] = []

    def fails(numerator: int, denominator: int, bits: Bits) -> bool:
        assert isinstance(bits, Bits)
        draws.append((numerator, denominator))
        return False

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(geometric_module, "bernoulli_exp_of", fails)
        bits, left = scripted(b"\7\7", b"\7", b"\7\7\7")
        assert first_bernoulli_exp([9, 30, 8, 2, 9, 1, 400, 9, 9], Fraction(2, 3), bits) is None
        assert not left and draws == [(16, 3), (4, 3), (2, 3)]
    assert first_bernoulli_exp([-4, 9], Fraction(2, 3), scripted()[0]) == 0
    assert first_bernoulli_exp([], Fraction(2, 3), scripted()[0]) is None


@given(
    st.lists(st.integers(-5, 4000), max_size=9),
    st.fractions(Fraction(1, 50), 4, max_denominator=60),
    st.integers(0, 2**32),
)
def test_what_a_first_success_leaves_is_drawn_like_any_other(counts: list[int], rate: Fraction, seed: int) -> None:
    """Whatever the first byte leaves open is Bernoulli(e^−rest), and the parts add up to the exponent."""
    drawn = random.Random(seed)
    parts: list[tuple[Fraction, int]] = []

    def succeeds(exponent: Any, bits: Bits, place: int = 0) -> bool:
        assert isinstance(bits, Bits)
        parts.append((Fraction(exponent), place))
        return True

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(geometric_module, "_whole", succeeds)
        patched.setattr(geometric_module, "_up_to_one", lambda a, b, bits: succeeds(Fraction(a, b), bits))
        bits = Bits(lambda size: bytes(drawn.choice((0, 1)) for _ in range(size)))
        found = first_bernoulli_exp(counts, rate, bits)
    assert (found is None) == (not parts)
    if found is not None:
        exponent = max(0, counts[found]) * rate
        assert sum(part for part, _ in parts) == exponent
        assert parts[0][1] == (1 if exponent >= 6 else 0) and not any(place for _, place in parts[1:])


@pytest.fixture
def _coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bernoulli draws, enumerated above, as one choice of two, so that longer procedures can be enumerated."""
    monkeypatch.setattr(geometric_module, "_up_to_one", lambda a, b, bits: bits.coin(exp(-Fraction(a, b))))


@pytest.mark.usefixtures("_coins")
@pytest.mark.parametrize("rate", ["1/2", "2/3", "1", "3", "4/25"])
def test_geometric_tails_are_exponentials(rate: str) -> None:
    law, left = enumerate_law(lambda bits: geometric(Fraction(rate), bits), Fraction(1, 10**9))
    again = law.pop("again", Fraction(0))  # a rejected attempt begins afresh, so what is left is the law
    law, left = {drawn: p / (1 - again) for drawn, p in law.items()}, left / (1 - again) + ROUNDING
    assert left < Fraction(1, 10**6)
    for j in range(12):
        tail = sum((p for drawn, p in law.items() if drawn >= j), Fraction(0))
        assert tail - ROUNDING <= exp(-Fraction(rate) * j) <= tail + left


@pytest.mark.usefixtures("_coins")
def test_control_enumeration_rejects_a_geometric_that_is_off_by_one() -> None:
    law, left = enumerate_law(lambda bits: geometric(Fraction(1), bits) + 1, Fraction(1, 10**9))
    tail = sum((p for drawn, p in law.items() if drawn >= 1), Fraction(0))
    assert not tail <= exp(Fraction(-1)) <= tail + left


@pytest.mark.usefixtures("_coins")
def test_two_sided_is_symmetric() -> None:
    law, left = enumerate_law(lambda bits: two_sided_geometric(Fraction(2), bits), Fraction(1, 10**9))
    assert left < Fraction(1, 10**6)
    r = exp(Fraction(-2))
    for z in range(-3, 4):
        assert law[z] - ROUNDING <= (1 - r) / (1 + r) * r ** abs(z) <= law[z] + left


@pytest.mark.parametrize("bad", [Fraction(0), Fraction(-1)])
def test_rates_are_positive(bad: Fraction) -> None:
    with pytest.raises(InputError):
        geometric(bad, Bits())
    with pytest.raises(InputError):
        bernoulli_exp(Fraction(-1, 2), Bits())


def test_nothing_is_shared_across_fork() -> None:
    bits = Bits()
    bits.below(2**64)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, str(bits.below(2**128)).encode())
        os._exit(0)
    mine = bits.below(2**128)
    os.waitpid(child, 0)
    theirs = int(os.read(reading, 100))
    os.close(reading)
    os.close(writing)
    assert mine != theirs  # equal with probability 2^-128


def test_nothing_is_shared_between_threads() -> None:
    bits, drawn = Bits(), []

    def work() -> None:
        drawn.extend(bits.below(2**96) for _ in range(500))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(drawn)) == 4000  # a repetition has probability 1e-22


@pytest.mark.parametrize(("epsilon", "sensitivity"), [("1", 1), ("0.1", 1), ("0.02", 3), ("3", 9), ("50", 1)])
def test_the_decay_is_that_of_the_exponential(epsilon: str, sensitivity: int) -> None:
    table = Decay(epsilon, sensitivity)
    most = exp(Fraction(epsilon) / (2 * sensitivity))
    assert table.depth == -(-140 * sensitivity * Fraction(epsilon).denominator // Fraction(epsilon).numerator)
    for weight, following in pairwise(table.weights):
        assert following <= weight <= most * following
        assert Fraction(weight, following) >= most * (1 - Fraction(1, 2**60))
    assert table.weights[-1] == 2**64
    assert table.certify().holds
    assert "integer weights fall from" in str(table.certify())


def _evidence(weights: list[int], table: Decay, growth: int | None = None, sensitivity: int | None = None) -> bool:
    evidence = table.certify()
    return prove_decay(
        weights,
        epsilon=table.epsilon,
        sensitivity=sensitivity or table.sensitivity,
        growth=(growth or evidence.growth_numerator, evidence.growth_denominator),
    ).holds


def test_control_the_certificate_rejects_every_fault() -> None:
    table = Decay("0.5", 2)
    weights = list(table.weights)
    assert _evidence(weights, table)
    for place in (0, 1, table.depth // 2, table.depth - 1):
        assert not _evidence([*weights[:place], weights[place] + 1, *weights[place + 1 :]], table)
    middle = table.depth // 2
    assert not _evidence([*weights[:middle], weights[middle + 1] - 1, *weights[middle + 1 :]], table)  # not falling
    assert not _evidence([*weights[:-1], 0], table)
    assert not _evidence(weights, table, growth=int(exp(Fraction(1, 8)) * 2**160) + 1)  # no lower bound of e^(ε/2M)
    assert not _evidence(weights, table, sensitivity=3)
    with pytest.raises(InputError):
        prove_decay([], epsilon=1, sensitivity=1, growth=(1, 1))


@pytest.mark.parametrize(
    ("weights", "fails"),
    [
        ([4, 2, 1], []),  # each exactly twice the next
        ([2, 3], ["flattest"]),
        ([5, 2], ["steepest"]),
        ([0, 0], ["last_weight"]),
        ([7], []),  # all losses alike
    ],
)
def test_each_inequality_of_a_decay_is_needed(weights: list[int], fails: list[str]) -> None:
    """At ε = 1.4 and M = 1 a growth of 2 is below e^(ε/2)."""
    evidence = prove_decay(weights, epsilon="1.4", sensitivity=1, growth=(2, 1))
    failing = {
        "steepest": evidence.steepest > 0,
        "flattest": evidence.flattest < 0,
        "last_weight": evidence.last_weight <= 0,
    }
    assert [name for name, failed in failing.items() if failed] == fails
    assert evidence.growth_below_exp and evidence.holds is not bool(fails)
    assert (evidence.epsilon, evidence.sensitivity, evidence.entries) == (Fraction(7, 5), 1, len(weights))
    assert (evidence.first_weight, evidence.last_weight) == (weights[0], weights[-1])
    assert len(weights) > 1 or evidence.steepest == evidence.flattest == 0


def test_the_evidence_of_a_decay_names_the_growth_that_it_proves() -> None:
    """The bound in the sentence is e^(ε/2M): the number under ε is twice the sensitivity."""
    for sensitivity in (1, 3):
        evidence = Decay(1, sensitivity, depth=2).certify()
        sentence = str(evidence)
        assert f"e^(ε/{2 * sensitivity})" in sentence and sentence.endswith("≥ 0).")
        assert f"{evidence.entries} integer weights" in sentence and evidence.entries == 3


def test_the_number_of_weights_may_be_chosen() -> None:
    assert (Decay(1, depth=5).depth, len(Decay(1, depth=5).weights)) == (5, 6)
    assert Decay(1, depth=5).weight(5) == Decay(1, depth=5).weight(6) == 2**64
    assert decay(Fraction(1), 1, 5).depth == 5
    assert Decay(1).sensitivity == decay(Fraction(1)).sensitivity == 1
    check_depth(LARGEST_DECAY)
    with pytest.raises(InputError, match="epsilon is too small"):
        check_depth(LARGEST_DECAY + 1)
    for wrong in ([], [1, 2.0], [True, 1]):
        with pytest.raises(InputError, match="weights must be"):
            prove_decay(wrong, epsilon=1, sensitivity=1, growth=(1, 1))


def test_no_digit_of_a_long_fraction_is_lost() -> None:
    """A draw of 2^61 − 1 is not below 2^61 − 1, and below the double that is nearest to it."""
    ones = Bits(lambda size: b"\xff" * size)
    assert bernoulli_exp(Fraction(2**61 - 1, 2**61), ones)
    assert bernoulli_exp_of(2 * (2**61 - 1), 2**62, ones)


def test_draws_from_whole_bytes_have_the_mean_of_the_law() -> None:
    """Seeded, so never a chance result: 4000 draws at rate 1 have a mean of 1/(e − 1) to within 5 standard errors."""
    bits = Bits(random.Random(1).randbytes)
    drawn = [geometric(Fraction(1), bits) for _ in range(4000)]
    r = math.exp(-1)
    assert abs(sum(drawn) / 4000 - r / (1 - r)) < 5 * math.sqrt(r) / (1 - r) / math.sqrt(4000)
    assert max(drawn) > 3


def test_as_many_draws_are_accepted_as_the_part_says() -> None:
    for part in range(7):
        draws = [Bits(lambda size, value=value: bytes([value << 5]) * size) for value in range(6)]  # type: ignore[misc]
        assert sum(bits.accept(part, 6) for bits in draws) == part


def test_there_is_no_choice_among_nothing() -> None:
    for nothing in ([], [0], [0, 0]):
        with pytest.raises(InputError, match="limit must be at least 1"):
            Bits().choose(nothing)


def test_a_table_that_fails_its_proof_is_never_used(monkeypatch: pytest.MonkeyPatch) -> None:
    true = exponential_module.exp_below  # type: ignore[attr-defined]
    monkeypatch.setattr(exponential_module, "exp_below", lambda x, bits: true(x, bits) + 2**64)
    with pytest.raises(CertificateError):
        Decay(1)


def test_a_table_beyond_the_cap_is_refused() -> None:
    with pytest.raises(InputError, match="epsilon is too small"):
        Decay(Fraction(139, LARGEST_DECAY))
    assert decay(Fraction(1), 1) is decay(Fraction(1), 1)
