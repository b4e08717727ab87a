"""Chains of mechanisms: what ``>>`` derives is true by enumeration, and does not depend on the grouping."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from _support.own import Declared, Own, identical
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flexdp import Accuracy, Histogram, InputError, Privacy
from flexdp._core.exact import float_up
from flexdp.calculus import Error, Sigma, Step, identity, jump, only_at_zero, unchanged
from flexdp.calculus.privacy import Relation
from flexdp.distortions import DropMove, Move, OwnDistortion, Winf
from flexdp.guarantees import ONE_RECORD, AddRemove, OwnNeighbours, Replace
from flexdp.mechanisms import (
    HISTOGRAMS,
    IDENTITY,
    NUMBERS,
    BucketHistogram,
    Bucketing,
    Dropping,
    Known,
    Laplace,
    Mechanism,
    ReadOff,
    Space,
    STLap,
)
from flexdp.noise import DropNoise
from flexdp.noise.bits import Bits
from flexdp.statistics import CountAbove, Max, Mean, Mode, Range, Support

Bars = dict[float, int]
Law = dict[tuple[tuple[float, int], ...], float]
BOUNDS = (0, 8)
LIMIT, SPREAD = 5, 0.5
SAME = identity()
NOISE_FOR_BARS = DropNoise(1, "0.1")
CHANCES_FOR_BARS = [float(Fraction(weight, 1 << NOISE_FOR_BARS.bits)) for weight in NOISE_FOR_BARS.weights]


class Renamed(Mechanism):
    """A chain that is one step of another."""

    inner: Mechanism
    label: str = "renamed"

    @property
    def name(self) -> str:
        return self.label

    @property
    def source(self) -> Space:
        return self.inner.source

    @property
    def target(self) -> Space:
        return self.inner.target

    @property
    def function(self) -> Any:
        return self.inner.function

    @property
    def preserves(self) -> Relation | None:
        return self.inner.preserves

    def draw(self, x: Any, bits: Bits) -> Any:
        return self.inner.draw(x, bits)

    def step(self, known: Known) -> Step:
        return self.inner.step(known)


def own(name: str, run: Callable[[Bars], Bars], *, beta: float, **declared: Any) -> Own:
    """A mechanism as a user writes one, on histograms."""
    made = Own(name, lambda x, _: Histogram.from_counts(run(dict(x.items()))), Declared(**declared))
    assert made.accuracy() == Accuracy(alpha=0, beta=beta, metric=Winf())
    return made


def jumps(error: Error) -> Error:
    return error.through(jump)


def spreads(error: Error) -> Error:
    return error.plus(SPREAD)


def low(x: Bars) -> Bars:
    return {key: count for key, count in x.items() if key < LIMIT}


def spread(x: Bars) -> Bars:
    """The records of a bar in five, none of them further away than SPREAD."""
    found: Counter[float] = Counter()
    for key, count in x.items():
        for i in range(count):
            found[key + (i % 5) / 10] += 1
    return dict(found)


def filtering() -> Own:
    return own("low", low, beta=0, tau=jumps, buckets="kept", adds_bars=False)


def spreading() -> Own:
    return identical(own("spread", spread, beta=SPREAD, tau=spreads, keeps_records=True))


def pairs(x: Bars) -> Bars:
    """Every record twice: where it is, and twenty further on."""
    found: Counter[float] = Counter()
    for key, count in x.items():
        found[key] += count
        found[key + 20] += count
    return dict(found)


def pairing() -> Own:
    """What one record changes are two buckets."""
    made = own("pairs", pairs, beta=0, sigma=only_at_zero())
    return replace(made, preserves=(ONE_RECORD, AddRemove(buckets=2)))


def shifted(x: Bars, by: float) -> Bars:
    """All records moved; keys that differ in their last bit may meet."""
    found: Counter[float] = Counter()
    for key, count in x.items():
        found[key + by] += count
    return dict(found)


def jittering() -> Own:
    """All keys moved by half, to one side or the other: a random mechanism of a user's own."""
    coin = random.Random(7)
    made = own("jitter", dict, beta=SPREAD, tau=spreads, keeps_records=True, buckets="kept", adds_bars=False)
    return replace(
        identical(made),
        does=lambda x, _: Histogram.from_counts(shifted(dict(x.items()), coin.choice((-SPREAD, SPREAD)))),
    )


class Nibbling(Mechanism):
    """Every bucket loses a record, or none: one that leaves records out, and declares how many are left."""

    source = target = HISTOGRAMS
    preserves = (ONE_RECORD, ONE_RECORD)
    function = IDENTITY

    def draw(self, x: Histogram, bits: Bits) -> Histogram:
        return Histogram(x.keys, [count - bits.below(2) for count in x.counts.tolist()])

    def step(self, known: Known) -> Step:
        share = left = None
        if known.records_at_least is not None and known.bars is not None:
            share = min(1.0, float_up(Fraction(known.bars, known.records_at_least)))
            left = max(0, known.records_at_least - known.bars) or None
        after = Known(records_at_least=left, bars=known.bars)
        return Step(unchanged, metric=Winf(), alpha=share, max_drop=1, sigma=SAME, after=after, buckets="kept")


class Hiding(Mechanism):
    """Everything, or nothing: private with δ = 0.7, whatever ε, and for one record alone."""

    source = target = HISTOGRAMS
    privacy = Privacy(epsilon="0.1", delta="0.7")

    def draw(self, x: Histogram, bits: Bits) -> Histogram:
        return x if bits.accept(7, 10) else Histogram([], [])

    def step(self, known: Known) -> Step:
        return Step(unchanged, metric=Winf(), alpha=1, after=Known(bars=known.bars))


def outcome(mech: Callable[[], Any]) -> Any:
    """What a derivation gives: a guarantee, or that it is refused."""
    try:
        return mech()
    except InputError:
        return "refused"


# --- conditions on the number of records ---


@pytest.mark.parametrize(
    "first",
    [
        Bucketing(width=50, bounds=(0, 100), outside="drop"),
        Bucketing(width=50),
        Bucketing(edges=[0, 50, 100], outside="drop"),
        Bucketing(relative="0.5", bounds=(1, 2), outside="drop"),
        filtering(),
        Bucketing(width=50, bounds=(0, 100)) >> filtering(),
    ],
    ids=lambda mech: mech.name,
)
def test_a_condition_on_the_number_of_records_ends_where_records_are_lost(first: Mechanism) -> None:
    noisy = STLap("0.1", "0.5", records_at_least=1000, bars=2)
    assert first.step(Known(records_at_least=1000)).after.records_at_least is None
    for mech in (first >> noisy, (first >> noisy) >> ReadOff(Max()), first >> (noisy >> ReadOff(Max()))):
        assert mech.privacy is None and mech.needs.records_at_least is None
        assert mech.accuracy(records_at_least=1000, bars=2).alpha == 1
    found = (first >> Dropping(1, "1e-6")).accuracy(records_at_least=1000, bars=2)
    assert found.alpha is None and found.max_drop == 27
    late = first >> BucketHistogram(alpha="0.2", beta=25, epsilon=1, bounds=(0, 100), records_at_least=1000)
    assert late.needs.records_at_least is None
    assert outcome(lambda: late.accuracy().alpha) in (None, "refused")


def test_dropped_records_leave_few_of_which_one_more_is_seen() -> None:
    """3 of 1000 records lie within the bounds, and with q = 0.3 the noise hides none of them: two neighbours differ."""
    first = Bucketing(width=50, bounds=(0, 100), outside="drop")
    noisy = STLap("0.1", "0.5", records_at_least=1000, bars=2)
    x, y = Histogram.from_counts({10: 3, 500: 997}), Histogram.from_counts({10: 4, 500: 997})
    assert {noisy(first(z)).size for z in (x,) for _ in range(50)} == {3}
    assert {noisy(first(z)).size for z in (y,) for _ in range(50)} == {4}
    assert (first >> noisy).privacy is None


@pytest.mark.parametrize(
    "first",
    [
        Bucketing(width=50, bounds=(0, 100)),
        Bucketing(edges=[0, 50, 100]),
        Bucketing(width=1, bounds=(0, 2), kind="integer", outside="clamp"),
        Bucketing(relative="0.5"),
    ],
    ids=lambda mech: mech.name,
)
def test_a_condition_on_the_number_of_records_passes_where_they_are_kept(first: Mechanism) -> None:
    noisy = STLap("0.1", "0.5", records_at_least=1000, bars=3)
    assert first.step(Known(records_at_least=1000)).after.records_at_least == 1000
    private = (first >> noisy).privacy
    assert private is not None and private == noisy.privacy
    assert (first >> noisy).needs.records_at_least == 1000
    assert (first >> noisy).accuracy(bars=3).alpha == noisy.accuracy(bars=first.step(Known(bars=3)).after.bars).alpha


def test_a_condition_on_the_number_of_bars_ends_where_bars_are_added() -> None:
    noisy = STLap("0.1", "0.5", records_at_least=1000, bars=3)
    assert (spreading() >> noisy).privacy is None and (spreading() >> noisy).needs.bars is None
    with pytest.raises(InputError, match="bars is missing"):
        (spreading() >> noisy).accuracy(records_at_least=1000, bars=3)
    few = spreading() >> Bucketing(width=4, bounds=BOUNDS) >> noisy  # two buckets, whatever was before
    assert few.privacy == noisy.privacy


def test_bars_are_not_inherited_through_what_adds_them() -> None:
    dropping = Dropping(1, "1e-6")
    x = Histogram.from_counts({1: 250})
    for mech in (spreading() >> dropping, spreading() >> (dropping >> Bucketing(width=1, bounds=BOUNDS))):
        told = outcome(lambda mech=mech: mech.accuracy(records_at_least=250, bars=1).alpha)
        assert told in (None, "refused")
    assert (spreading() >> dropping).step(Known(bars=1)).after.bars is None
    worst = sum(min(count, 27) for count in spreading()(x).counts.tolist())
    assert worst / 250 > 27 / 250, "five bars lose more than the one there was"


def test_the_number_of_records_after_dropping_is_what_is_left_at_least() -> None:
    heard: list[Known] = []
    listening = replace(spreading(), heard=heard.append)
    chain = Dropping(1, "1e-6") >> listening
    heard.clear()
    chain.accuracy(records_at_least=560, bars=10)
    chain.accuracy(records_at_least=200, bars=10)
    assert [setting.records_at_least for setting in heard] == [560 - 270, None]
    twice = (Dropping(1, "1e-6") >> Dropping(1, "1e-6")).accuracy(records_at_least=5600, bars=10)
    assert twice.alpha is not None and Fraction(twice.alpha) >= Fraction(270, 5600) + Fraction(270, 5330)
    (STLap("0.01", 1) >> listening).accuracy(records_at_least=1000, bars=10)
    assert heard[-1].records_at_least == 1000 - 10 * (10 + Fraction(1, 2))


def test_what_merged_bars_lost_is_not_said_of_each() -> None:
    """Bars that lost 27 each fall together, and lose 27 more: 27 is not the most that one has lost."""
    known = {"records_at_least": 10**5, "bars": 20}
    found = (Dropping(1, "1e-6") >> Bucketing(width=4, bounds=BOUNDS) >> Dropping(1, "1e-6")).accuracy(**known)
    assert found.max_drop is None and found.alpha is not None
    assert (Dropping(1, "1e-6") >> STLap("0.01", 1)).accuracy(**known).max_drop is None


# --- what each bucket loses ---


def halved(x: Bars) -> Bars:
    return {key: count // 2 for key, count in x.items() if count > 1}


def halving() -> Own:
    """Half of each bar: what a bar of the output loses, its bar of the input must lose twice."""
    return own("halve", halved, beta=0, tau=jumps, adds_bars=False, sigma=only_at_zero())


def scattering() -> Own:
    """Every record moved by half, to one side or the other, as its own coin says."""
    coin = random.Random(11)

    def run(x: Bars) -> Bars:
        return Counter(key + coin.choice((-SPREAD, SPREAD)) for key, count in x.items() for _ in range(count))

    return identical(own("scatter", run, beta=SPREAD, tau=spreads, keeps_records=True))


def _scattered(x: Bars) -> Law:
    """All ways in which the records of one bar fall to its two sides."""
    ((key, count),) = x.items()
    return {
        _frozen({key - SPREAD: k, key + SPREAD: count - k}): math.comb(count, k) / 2**count for k in range(count + 1)
    }


def _chance_of_more(law: Law, x: Bars, most: int, function: Callable[[Bars], Bars], near: float) -> float:
    """The chance that an outcome is not the exact one for x without at most so many records of each bar."""
    parts = product(*(range(max(0, count - most), count + 1) for count in x.values()))
    exact = [function(dict(zip(x, kept, strict=True))) for kept in parts]
    none = lambda _key: False  # noqa: E731
    return sum(
        chance
        for y, chance in law.items()
        if not any(_within_each_bar(z, dict(y), 0, near=near, free=none) for z in exact)
    )


@pytest.mark.parametrize(
    ("first", "law", "function", "near", "x"),
    [
        (halving(), lambda x: {_frozen(halved(x)): 1.0}, halved, 0.0, {3: 2 * NOISE_FOR_BARS.max_drop + 1}),
        (spreading(), lambda x: {_frozen(spread(x)): 1.0}, dict, SPREAD, {3: 4 * NOISE_FOR_BARS.q}),
        (scattering(), _scattered, dict, SPREAD, {3: 4 * NOISE_FOR_BARS.q}),
    ],
    ids=["halves", "spreads", "scatters"],
)  # fmt: skip
def test_what_a_bucket_loses_is_not_carried_through_a_step_that_splits_it(
    first: Own, law: Callable[[Bars], Law], function: Callable[[Bars], Bars], near: float, x: Bars
) -> None:
    """Each of these, declared to keep bars, would say what its exact law contradicts; undeclared, nothing is said."""
    noise = Dropping(NOISE_FOR_BARS.epsilon, NOISE_FOR_BARS.delta)
    outcomes: Law = {}
    for value, chance in law(x).items():
        for y, share in _thinned(dict(value), CHANCES_FOR_BARS).items():
            outcomes[y] = outcomes.get(y, 0.0) + chance * share
    assert sum(outcomes.values()) == pytest.approx(1)
    careless = (first.but(buckets="kept") >> noise).accuracy()
    assert careless.max_drop == NOISE_FOR_BARS.max_drop
    assert _chance_of_more(outcomes, x, careless.max_drop, function, near) > 0.05
    for mech in (first >> noise, first >> (noise >> ReadOff(Max())), (first >> noise) >> ReadOff(Max())):
        assert mech.step(Known()).buckets == "mixed"
        with pytest.raises(InputError, match=r"alpha is not known, nor the loss of each bucket: .* its buckets"):
            mech.accuracy()
        assert mech.step(Known()).max_drop is None
    before = (noise >> first).accuracy()  # what was lost before the step is known of the table's own buckets
    assert before.max_drop == NOISE_FOR_BARS.max_drop
    assert (noise >> first).step(Known()).max_drop == before.max_drop


def test_what_a_bucket_loses_is_carried_through_steps_that_keep_it() -> None:
    """A fraction that is known stands where the loss of each bucket does not; and the whole chain keeps its buckets."""
    for first in (filtering(), jittering(), Bucketing(width=2), Nibbling(), Bucketing(width=2) >> filtering()):
        mech = first >> Dropping(1, "1e-6")
        extra = 1 if isinstance(first, Nibbling) else 0
        assert mech.step(Known()).buckets != "mixed" and mech.accuracy().max_drop == 27 + extra
    assert Renamed(Bucketing(width=2) >> filtering()).step(Known()).buckets == "merged"
    assert Renamed(spreading()).step(Known()).buckets == "mixed"
    few = spreading().but(adds_bars=False) >> Dropping(1, "1e-6")
    told = few.accuracy(records_at_least=5400, bars=2)
    assert (told.alpha, told.max_drop) == (0.01, None)


def test_the_delta_of_the_table_stands_beside_the_one_asked_for() -> None:
    noise = DropNoise(1, "1e-6")
    for mech in (Dropping(1, "1e-6"), Bucketing(width=2) >> Dropping(1, "1e-6") >> ReadOff(Max())):
        assert mech.privacy is not None
        assert (mech.privacy.delta, mech.privacy.delta_real) == (Fraction(1, 10**6), noise.delta_real)
        assert "δ = 1e-06 (in fact at most 7.15e-07)" in str(mech.privacy)


# --- what kind of error ---


def test_noise_on_an_answer_is_not_called_a_move_of_the_values() -> None:
    """No moving of values changes how many there are: noise on a count is no distortion of the input."""
    above = Own(
        "above", lambda value, _: float(value > 10), Declared(tau=jumps), source=NUMBERS, target=NUMBERS, preserves=None
    )
    noisy = Laplace(CountAbove(5), sensitivity=1, epsilon=1)
    with pytest.raises(InputError, match="no bounded error"):
        (noisy >> above).accuracy(gamma="0.05")
    with pytest.raises(InputError, match="no bounded error"):
        (Bucketing(width=2, bounds=BOUNDS) >> noisy >> above).accuracy(gamma="0.05")
    found = (Bucketing(width=2, bounds=BOUNDS) >> ReadOff(Range()) >> above).accuracy()
    assert (found.moved, found.beta, found.distortion) == (1, 0, DropMove()), "records moved by 1, not by the range's 2"


def test_a_relative_error_and_noise_are_told_apart() -> None:
    mech = Bucketing(relative="0.05") >> Dropping(1, "1e-6") >> ReadOff(Max()) >> Laplace(sensitivity=1, epsilon=1)
    found = mech.accuracy(gamma="0.05")
    assert (found.moved, found.distortion, found.relative_beta) == (0.05, DropMove(), False)
    assert found.beta == pytest.approx(math.log(20))
    assert "to within 2.99574" in str(found) and "5% of it away" in str(found)


def test_a_value_that_was_moved_across_a_bound_is_lost() -> None:
    """9.5 lies within the bounds, goes to 10.5, and is left out: an output error alone would not say so."""
    first, second = Bucketing(width=3), Bucketing(width=2, bounds=(0, 10), outside="drop")
    assert (first >> second)(Histogram.from_values([9.5])).size == 0
    found = (first >> second).accuracy()
    assert (found.alpha, found.moved, found.beta, found.distortion) == (0, 1.5, 1, DropMove())


def test_a_distortion_of_another_kind_is_not_forgotten() -> None:
    moving = spreading().but(tau=unchanged, alpha=3, distortion=Move())
    known = {"records_at_least": 1000, "bars": 2}
    one, two = Dropping(1, "1e-6"), Bucketing(width=2, bounds=BOUNDS)
    for mech in ((one >> two) >> moving, one >> (two >> moving)):
        with pytest.raises(InputError, match="distortion must be the same"):
            mech.accuracy(**known)
    for mech in (two >> moving, two >> Renamed(two >> moving)):
        found = mech.accuracy(**known)
        assert (found.alpha, found.distortion) == (3, Move())


# --- grouping ---


def _steps() -> list[Mechanism]:
    a, b = OwnNeighbours("a"), OwnNeighbours("b")
    relations = [(a, b), (b, ONE_RECORD), (ONE_RECORD, a), (ONE_RECORD, AddRemove("pid", 2)), (Replace(), ONE_RECORD)]
    swaps = OwnDistortion("swap")
    return [
        Bucketing(width=2, bounds=BOUNDS),
        Bucketing(width=2),
        Bucketing(width=2, bounds=BOUNDS, outside="drop"),
        Bucketing(relative="0.1"),
        Bucketing(relative="0.1", bounds=(1, 8)),
        Dropping(1, "1e-6"),
        STLap("0.01", "0.5", records_at_least=5000, bars=4),
        STLap("0.01", "0.5"),
        Dropping(1, "1e-6", max_buckets_per_unit=2),
        Dropping(1, "1e-6", unit="pid", max_buckets_per_unit=3),
        pairing(),
        jittering(),
        Nibbling(),
        Hiding(),
        BucketHistogram(alpha="0.2", beta=2, epsilon=1, bounds=BOUNDS, records_at_least=1000),
        filtering(),
        spreading(),
        replace(spreading(), preserves=None),
        *(replace(spreading().but(adds_bars=False), preserves=relation) for relation in relations),
        spreading().but(
            tau=lambda error: error.through(lambda beta: 2 * beta),
            alpha=0.5,
            distortion=Move(),
            sigma=Sigma(lambda alpha: 2 * alpha),
        ),
        spreading().but(tau=unchanged, alpha=2.0, distortion=swaps),
    ]


def _last() -> list[Mechanism]:
    return [
        *(ReadOff(statistic) for statistic in (Max(), Mean(), Mode(), Range(), Support())),
        Laplace(Max(), sensitivity=8, epsilon=1),
        Laplace(CountAbove(3), sensitivity=1, epsilon=1),
        *(Laplace(sensitivity=1, epsilon=1) for _ in range(2)),
    ]


def _facts(build: Callable[[], Mechanism]) -> Any:
    """All that is derived of a chain; a refusal is one, too."""
    mech = outcome(build)
    if mech == "refused":
        return mech
    known: list[dict[str, Any]] = [{}, {"records_at_least": 10**4}, {"records_at_least": 10**4, "bars": 4}]
    accuracies = [outcome(lambda k=k: mech.accuracy(gamma="0.05", **k)) for k in known]

    def told(public: dict[str, Any]) -> Any:
        step = mech.step(Known(**public))
        return step.alpha, step.max_drop, step.after, step.buckets, step.distortion

    steps = [outcome(lambda k=k: told(k)) for k in known]
    return accuracies, steps, [getattr(mech, name) for name in ("privacy", "preserves", "needs", "name")]


@settings(max_examples=150, deadline=None)
@given(
    chain=st.lists(st.sampled_from(_steps()), min_size=2, max_size=4),
    last=st.lists(st.sampled_from(_last()), max_size=2),
)
def test_grouping_does_not_matter_for_random_mechanisms(chain: list[Mechanism], last: list[Mechanism]) -> None:
    steps = [*chain, *last]

    def grouped(low: int, high: int) -> list[Callable[[], Mechanism]]:
        """Every way to put brackets."""
        if high - low == 1:
            return [lambda: steps[low]]
        ways = [(one, two) for cut in range(low + 1, high) for one in grouped(low, cut) for two in grouped(cut, high)]
        return [lambda one=one, two=two: one() >> two() for one, two in ways]  # type: ignore[misc]

    first, *others = (_facts(way) for way in grouped(0, len(steps))[:5])
    assert all(other == first for other in others)


# --- enumeration ---


@dataclass(frozen=True)
class Part:
    """A mechanism and its law, worked out apart from it."""

    mech: Mechanism
    law: Callable[[Bars], Law]
    keeps: Callable[[float], bool] = lambda _key: True
    protects: int = 0  # in how many buckets a record may count that the step by itself hides
    random: bool = False


def _frozen(x: Bars) -> tuple[tuple[float, int], ...]:
    return tuple(sorted((float(key), count) for key, count in x.items() if count))


def _sure(function: Callable[[Bars], Bars]) -> Callable[[Bars], Law]:
    return lambda x: {_frozen(function(x)): 1.0}


def _cells(x: Bars, *, drop: bool = False) -> Bars:
    found: Counter[float] = Counter()
    for key, count in x.items():
        if not drop or 0 <= key <= 8:
            found[1.0 + 2 * min(3, max(0, math.floor(key / 2)))] += count
    return dict(found)


NOISE = DropNoise(1, "0.3")
CHANCES = [float(Fraction(int(weight), sum(map(int, NOISE.weights)))) for weight in NOISE.weights]


TWICE = Dropping(1, "0.3", max_buckets_per_unit=2)
CHANCES_TWICE = [float(Fraction(weight, 1 << TWICE.noise.bits)) for weight in TWICE.noise.weights]


def _losing(chances: list[float]) -> Callable[[Bars], Law]:
    """The law of buckets that lose records independently."""

    def law(x: Bars) -> Law:
        assume(len(chances) ** len(x) <= 700)
        return _thinned(x, chances)

    return law


def _thinned(x: Bars, chances: list[float]) -> Law:
    found: Law = {}
    for losses in product(enumerate(chances), repeat=len(x)):
        left = _frozen({key: max(0, c - loss) for (key, c), (loss, _) in zip(x.items(), losses, strict=True)})
        found[left] = found.get(left, 0.0) + math.prod(chance for _, chance in losses)
    return found


def _jittered(x: Bars) -> Law:
    return {_frozen(shifted(x, by)): 0.5 for by in (-SPREAD, SPREAD)} if x else {(): 1.0}


def _hidden(x: Bars) -> Law:
    return {_frozen(x): 0.7, (): 0.3} if x else {(): 1.0}


STEPS = [
    Part(Bucketing(width=2, bounds=BOUNDS), _sure(_cells)),
    Part(
        Bucketing(width=2, bounds=BOUNDS, outside="drop"),
        _sure(lambda x: _cells(x, drop=True)),
        keeps=lambda key: 0 <= key <= 8,
    ),
    Part(Dropping(NOISE.epsilon, NOISE.delta), _losing(CHANCES), protects=1, random=True),
    Part(filtering(), _sure(low), keeps=lambda key: key < LIMIT),
    Part(spreading(), _sure(spread)),
    Part(jittering(), _jittered, random=True),
    Part(Nibbling(), _losing([0.5, 0.5]), random=True),
]
PAIRS = Part(pairing(), _sure(pairs))
PRIVATE = [*STEPS, PAIRS, PAIRS, Part(TWICE, _losing(CHANCES_TWICE), protects=2, random=True),
           Part(Hiding(), _hidden, protects=1, random=True)]  # fmt: skip


def _law(steps: list[Part], x: Bars) -> Law:
    law: Law = {_frozen(x): 1.0}
    for step in steps:
        assume(len(law) <= 300)
        after: Law = {}
        for value, chance in law.items():
            for result, share in step.law(dict(value)).items():
                after[result] = after.get(result, 0.0) + chance * share
        law = after
    return law


def _explained(x: Bars, y: Bars, *, near: float, free: Callable[[float], bool]) -> int | None:
    """The fewest records of x that are left out if y is the rest, moved by at most ``near``; None where it is not.

    Records for which ``free`` holds need not be counted. On the line the records that are kept can be matched in order.
    """
    xs = sorted(key for key, count in x.items() for _ in range(count))
    ys = sorted(key for key, count in y.items() for _ in range(count))
    costs: list[float] = [0.0] + [math.inf] * len(ys)  # of matching the first j of ys
    for key in xs:
        skipped = 0 if free(key) else 1
        matched = [math.inf] + [c if abs(key - ys[j]) <= near + 1e-9 else math.inf for j, c in enumerate(costs[:-1])]
        costs = [min(cost + skipped, match) for cost, match in zip(costs, matched, strict=True)]
    return None if math.isinf(costs[-1]) else int(costs[-1])


def _within_each_bar(x: Bars, y: Bars, most: int, *, near: float, free: Callable[[float], bool]) -> bool:
    """Return True if y is a part of x, moved by at most ``near``, for which no bar loses more than ``most`` records."""
    ys = sorted(key for key, count in y.items() for _ in range(count))
    losses = [range((count if free(key) else min(count, most)) + 1) for key, count in x.items()]
    for lost in product(*losses):
        xs = sorted(key for (key, count), each in zip(x.items(), lost, strict=True) for _ in range(count - each))
        if len(xs) == len(ys) and all(abs(a - b) <= near + 1e-9 for a, b in zip(xs, ys, strict=True)):
            return True
    return False


tables = st.dictionaries(st.integers(0, 9), st.integers(1, 4), min_size=1, max_size=2)
chains = st.lists(st.sampled_from(STEPS), min_size=1, max_size=4).filter(
    lambda steps: sum(step.random for step in steps) <= 2
)
private_chains = st.lists(st.sampled_from(PRIVATE), min_size=1, max_size=3).filter(
    lambda steps: sum(step.random for step in steps) <= 2
)


def _chain(steps: list[Part]) -> Mechanism:
    mech = steps[0].mech
    for step in steps[1:]:
        mech = mech >> step.mech
    return mech


def _hides(steps: list[Part]) -> bool:
    """Whether some step hides a record: one that protects as many buckets as a record counts in when it gets there.

    Of steps that see a record in two buckets it is known only of pairing what they make of it, and so nothing is
    known after another one of them.
    """
    buckets: int | None = 1
    for step in steps:
        if buckets is None:
            return False
        if step.protects:
            if buckets <= step.protects:
                return True
            buckets = None
        elif buckets > 1:
            buckets = None
        elif step is PAIRS:
            buckets = 2
    return False


@settings(max_examples=150, deadline=None)
@given(steps=chains, x=tables, statistic=st.sampled_from([None, Max()]), many=st.sampled_from([0, 0, 5, 20]))
def test_no_outcome_contradicts_the_accuracy_that_is_derived(
    steps: list[Part], x: Bars, statistic: Max | None, many: int
) -> None:
    """Each outcome is the exact one for a part of the table, moved as far as is said: found by matching records."""
    x = {key: count * (1 + many if i == 0 else 1) for i, (key, count) in enumerate(x.items())}
    if not any(not step.keeps(9) for step in steps):
        x = {key: count for key, count in x.items() if key <= 8}  # buckets with bounds speak of values within them
    assume(x)
    mech = _chain(steps)
    if statistic is not None:
        mech = mech >> ReadOff(statistic)
    size, outcomes = sum(x.values()), [dict(bars) for bars in _law(steps, x)]
    for known in ({"records_at_least": size, "bars": len(x)}, {"records_at_least": size}, {"bars": len(x)}, {}):
        told = outcome(lambda known=known: mech.accuracy(**known))
        if told == "refused":
            continue
        near = told.moved + told.beta

        def free(key: float, moved: float = told.moved) -> bool:
            return any(not step.keeps(key + shift) for step in steps for shift in (-moved, 0, moved))

        budget = size if told.alpha is None else math.floor(said_share(told.alpha) * size)
        for y in outcomes:
            if statistic is None:
                lost = _explained(x, y, near=near, free=free)
                assert lost is not None and lost <= budget
                if told.max_drop is not None:
                    assert _within_each_bar(x, y, told.max_drop, near=near, free=free)
            elif y:
                answer = max(y)
                tops = [key for key in x if abs(key - answer) <= near + 1e-9]
                left_out = [sum(c for k, c in x.items() if k > top and not free(k)) for top in tops]
                assert left_out and min(left_out) <= budget
                if told.max_drop is not None:
                    worst = [max((c for k, c in x.items() if k > top and not free(k)), default=0) for top in tops]
                    assert min(worst) <= told.max_drop


def said_share(alpha: float) -> Fraction:
    return Fraction(alpha) + Fraction(1, 10**12)


@settings(max_examples=200, deadline=None)
@given(steps=private_chains, x=tables, extra=st.integers(0, 9))
def test_no_pair_of_neighbours_contradicts_the_privacy_that_is_derived(steps: list[Part], x: Bars, extra: int) -> None:
    mech = _chain(steps)
    private = mech.privacy
    assert (private is not None) == _hides(steps)
    if private is None:
        return
    assert isinstance(private.neighbours, AddRemove) and private.neighbours.unit == "record"
    more = dict(x)
    for key in range(extra, extra + private.neighbours.buckets):  # one more in as many buckets as are promised
        more[key] = more.get(key, 0) + 1
    one, two = _law(steps, x), _law(steps, more)
    growth = math.exp(private.epsilon)
    for here, there in ((one, two), (two, one)):
        excess = sum(max(0.0, chance - growth * there.get(y, 0.0)) for y, chance in here.items())
        assert excess <= (private.delta if private.delta_real is None else private.delta_real) + 1e-9


@settings(max_examples=60, deadline=None)
@given(steps=private_chains, x=tables)
def test_the_laws_that_are_enumerated_are_those_of_the_mechanisms(steps: list[Part], x: Bars) -> None:
    mech, law = _chain(steps), _law(steps, x)
    assert sum(law.values()) == pytest.approx(1)
    for _ in range(3):
        assert _frozen(dict(mech(Histogram.from_counts(x)).items())) in law


@given(x=st.just({3: 2}))
def test_a_record_in_two_buckets_is_not_hidden_by_noise_for_one(x: Bars) -> None:
    """The rule that >> applies is needed: noise for one bucket, on records that count in two, exceeds its own δ."""
    one = [PAIRS, STEPS[2]]
    assert _chain(one).privacy is None and _chain([PAIRS, Part(TWICE, _losing(CHANCES_TWICE))]).privacy is not None
    here, there = _law(one, x), _law(one, {3: x[3] + 1})
    excess = sum(max(0.0, p - math.e * here.get(y, 0.0)) for y, p in there.items())
    assert excess > NOISE.delta_real * Fraction(11, 10)
