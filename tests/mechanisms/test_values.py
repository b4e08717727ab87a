"""Mechanisms are values: equal by parameters, printed as what makes them, written as JSON and read back."""

from __future__ import annotations

import copy
import datetime
import json
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flexdp
import flexdp.mechanisms
import flexdp.statistics
from flexdp import Histogram, InputError, Release
from flexdp.calculus import Step, of_group, of_unit, total
from flexdp.distortions import Winf
from flexdp.guarantees import AddRemove, Privacy
from flexdp.histogram import KeyedHistogram
from flexdp.mechanisms import (
    HISTOGRAMS,
    BucketHistogram,
    Bucketing,
    Chain,
    Dropping,
    Emptiness,
    Known,
    Laplace,
    Mechanism,
    ReadOff,
    STLap,
)
from flexdp.noise import DropNoise
from flexdp.noise.bits import Bits
from flexdp.planning import solve
from flexdp.statistics import CountAbove, Max, Mean, Quantile, Range, Support, Top

PUBLIC = {
    "datetime": datetime,
    **{name: getattr(flexdp.mechanisms, name) for name in flexdp.mechanisms.__all__},
    **{name: getattr(flexdp.statistics, name) for name in flexdp.statistics.__all__},
}

MAKERS: dict[str, Callable[[], Mechanism]] = {
    "exact": lambda: Bucketing(),
    "text": lambda: Bucketing(kind="text"),
    "width": lambda: Bucketing(width="0.1", bounds=(0, 120)),
    "third": lambda: Bucketing(width="1/3"),
    "drop": lambda: Bucketing(width=5, bounds=("-0.5", 120), outside="drop"),
    "integers": lambda: Bucketing(kind="integer", width=2, bounds=(0, 10)),
    "relative": lambda: Bucketing(relative="0.05", bounds=(1, 1000)),
    "edges": lambda: Bucketing(edges=[0, "0.5", 100]),
    "weeks": lambda: Bucketing(kind="date", width="1 week", bounds=("2024-01-01", "2024-12-31")),
    "months": lambda: Bucketing(kind="date", width="1 month"),
    "minutes": lambda: Bucketing(kind="datetime", width="15 minutes", bounds=("2024-01-01", "2024-01-02")),
    "points": lambda: Bucketing(width=5, bounds=(0, 100), dimensions=3),
    "grid": lambda: Bucketing(axes=[Bucketing(width=5, bounds=(0, 100)), Bucketing(edges=[0, 1, 9])]),
    "units": lambda: Bucketing(width=5, unit="pid", max_buckets_per_unit=2),
    "dropping": lambda: Dropping(1, "1e-6"),
    "thirds": lambda: Dropping("1/3", "1/7", dimensions=2),
    "unit": lambda: Dropping(1, "1e-6", unit="pid", max_buckets_per_unit=2, certify="0.1"),
    "stlap": lambda: STLap("0.05", "0.5", records_at_least=2001, bars=3),
    "stlap alone": lambda: STLap("0.05", "0.5"),
    "emptiness": lambda: Emptiness(1, "1e-3"),
    "maximum": lambda: ReadOff(Max()),
    "quantile": lambda: ReadOff(Quantile("0.9"), dimensions=2),
    "top": lambda: ReadOff(Top(3)),
    "late": lambda: ReadOff(CountAbove(datetime.date(2024, 3, 1))),
    "laplace": lambda: Laplace(sensitivity="0.5", epsilon=1),
    "laplace of": lambda: Laplace(Mean(), sensitivity=1, epsilon="0.1"),
    "histogram": lambda: BucketHistogram("0.2", 10, epsilon=1, bounds=(0, 100), records_at_least=1000),
    "histogram of points": lambda: BucketHistogram(
        alpha="0.2", beta=20, epsilon=1, bounds=(0, 100), records_at_least=10**5, dimensions=2
    ),
    "chain": lambda: Bucketing(width=5, bounds=(0, 120)) >> Dropping(1, "1e-6") >> ReadOff(Range()),
    "chain of one": lambda: Chain([Dropping(1, "1e-6")]),
}  # fmt: skip
made = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@made
def test_equal_parameters_make_equal_values(make: Callable[[], Mechanism]) -> None:
    one, two = make(), make()
    assert one is not two and one == two and hash(one) == hash(two) and len({one, two}) == 1
    one.privacy, one.steps  # noqa: B018  (what is computed on the way is no part of the value)
    assert one == two == pickle.loads(pickle.dumps(one)) == copy.deepcopy(one)
    assert isinstance(one, Mechanism) and type(one).__name__ in flexdp.mechanisms.__all__
    with pytest.raises(FrozenInstanceError):
        one.unit = "other"  # type: ignore[attr-defined]


def test_different_parameters_make_different_values() -> None:
    values = [make() for make in MAKERS.values()]
    assert len(set(values)) == len(values)
    assert all(one != two for i, one in enumerate(values) for two in values[:i])


def test_numbers_are_taken_exactly_however_they_are_written() -> None:
    for same in (Dropping(1.0, 1e-6), Dropping("1", Fraction(1, 10**6))):
        assert same == Dropping(epsilon=1, delta="1e-6")
    assert Bucketing(width=5, bounds=[0, 120]) == Bucketing(width="5.0", bounds=(Fraction(0), 120.0))
    assert Dropping(0.1, 1e-6) == Dropping("1/10", 1e-6) != Dropping(0.1 + 1e-17 + 1e-16, 1e-6)
    assert Dropping(1, 1e-6) != Dropping(1, 1e-6, unit="pid") and isinstance(Dropping(1, 1e-6), Dropping)


@made
def test_what_is_printed_makes_it_again(make: Callable[[], Mechanism]) -> None:
    mechanism = make()
    again = eval(repr(mechanism), dict(PUBLIC))
    assert again == mechanism and type(again) is type(mechanism) and repr(again) == repr(mechanism)


@made
def test_json_there_and_back(make: Callable[[], Mechanism]) -> None:
    mechanism = make()
    document = mechanism.to_json()
    again = Mechanism.from_json(document)
    assert again == mechanism and again.to_json() == document
    assert again == type(mechanism).from_json(document.encode())
    assert again.privacy == mechanism.privacy and again.source == mechanism.source


def test_the_parts_of_a_chain_are_visible() -> None:
    a, b, c = Bucketing(width=5), Dropping(1, "1e-6"), ReadOff(Max())
    chain = (a >> b) >> c
    assert isinstance(chain, Chain) and chain == a >> (b >> c) == Chain([a, b, c]) == Chain([a, b >> c])
    assert list(chain) == [a, b, c] == list(chain.parts) == list(chain.steps) and len(chain) == 3 and a.steps == (a,)
    assert isinstance(chain.parts[1], Dropping) and chain.parts[1].max_drop == 27
    with pytest.raises(InputError, match="parts must be a list"):
        Chain([])


# --- documents that somebody else wrote ---

RIGHT = json.loads((Bucketing(width=5, bounds=(0, 120)) >> Dropping(1, "1e-6") >> ReadOff(Quantile("0.9"))).to_json())


def _mutations() -> list[str]:
    part: dict[str, Any] = {"kind": "Dropping", "given": {"epsilon": 1, "delta": "1e-06"}}
    schema = {"schema": "flexdp.value/1"}
    with_parameters = lambda **given: {**schema, "kind": "Dropping", "given": given}  # noqa: E731
    wrong = [
        None, 1, "x", [], {}, schema, part, {**schema, **part, "more": 1}, {"schema": "flexdp.release/2", **part},
        {**schema, "kind": "object", "given": {}}, {**schema, "kind": "Mechanism", "given": {}},
        {**schema, "kind": "Value", "given": {}}, {**schema, "kind": ["Dropping"], "given": {}},
        {**schema, "kind": "Dropping", "given": []}, {**schema, "kind": "Dropping"},
        with_parameters(), with_parameters(epsilon=1), with_parameters(epsilon=1, delta="1e-06", salt=3),
        with_parameters(epsilon=1, delta=0), with_parameters(epsilon="1e-9", delta="1e-30"),
        with_parameters(epsilon=True, delta="1e-06"), with_parameters(epsilon=[1], delta="1e-06"),
        with_parameters(epsilon=1, delta="1e-06", dimensions=1),
        with_parameters(epsilon=1, delta="1e-06", max_buckets_per_unit=10**400),
        with_parameters(epsilon={"fraction": "1/0"}, delta="1e-06"),
        with_parameters(epsilon={"fraction": [1]}, delta="1e-06"),
        with_parameters(epsilon={"kind": "Dropping", "given": {}}, delta="1e-06"),
        {**schema, "kind": "ReadOff", "given": {"kind": "Max"}},
        {**schema, "kind": "ReadOff", "given": {"statistic": {"kind": "to_python", "given": {}}}},
        {**schema, "kind": "ReadOff", "given": {"statistic": {"kind": "Statistic", "given": {}}}},
        {**schema, "kind": "ReadOff", "given": {"statistic": {"kind": "Max", "given": {"x": 1}}}},
        {**schema, "kind": "Chain", "given": {"parts": []}},
        {**schema, "kind": "Chain", "given": {"parts": [part] * 2000}},
        {**schema, "kind": "Chain", "given": {"parts": [part, {"date": "2024-13-01"}]}},
        {**schema, "kind": "Chain", "given": {"parts": {"kind": "Chain", "given": {}}}},
        {**schema, "kind": "Bucketing", "given": {"partition": "Width"}},
        {**schema, "kind": "Bucketing", "given": {"axes": [part]}},
        {**schema, "kind": "Bucketing", "given": {"width": 5, "outside": "clamp"}},
    ]  # fmt: skip
    texts = ["", "{", "[" * 10_000, '{"schema": 1, "schema": 2}', '{"schema": NaN}', "\ud800", "x" * 200_000]
    return [*texts, *map(json.dumps, wrong), _nested(3000)]


def _nested(depth: int) -> str:
    inner = '{"kind": "Dropping", "given": {"epsilon": 1, "delta": "1e-06"}}'
    start = '{"kind": "Chain", "given": {"parts": ['
    return '{"schema": "flexdp.value/1", ' + (start * depth)[1:] + inner + "]}}" * depth


@pytest.mark.parametrize("document", _mutations(), ids=range(len(_mutations())))
def test_documents_of_strangers_are_refused_in_one_line(document: str) -> None:
    with pytest.raises(InputError) as refusal:
        Mechanism.from_json(document)
    assert len(str(refusal.value)) < 400 and str(refusal.value).isprintable()


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_changed_document_is_another_mechanism_or_refused(data: st.DataObject) -> None:
    """One value anywhere in a document is replaced: what is read says exactly what the document says."""
    document = json.loads(json.dumps(RIGHT))
    place: Any = document
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else list(range(len(place)))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    leaf = st.none() | st.booleans() | st.integers(-3, 200) | st.floats(allow_nan=False) | st.text(max_size=4)
    place[key] = data.draw(leaf | st.lists(leaf, max_size=3) | st.dictionaries(st.text(max_size=4), leaf, max_size=2))
    try:
        found = Mechanism.from_json(json.dumps(document))
    except InputError:
        return
    assert json.loads(found.to_json()) == document


def test_only_the_class_that_is_asked_is_read() -> None:
    with pytest.raises(InputError, match="complete and unchanged"):
        Dropping.from_json(Bucketing(width=5).to_json())
    for wrong in (3, [3], [int], "Dropping"):
        with pytest.raises(InputError, match="own must be"):
            Mechanism.from_json(Dropping(1, 1e-6).to_json(), own=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="complete and unchanged"):
        Mechanism.from_json(3)  # type: ignore[arg-type]


class Scaled(Mechanism):
    """A mechanism of a user's own, with parameters of every type that JSON can hold."""

    factor: Fraction
    day: datetime.date
    inner: Mechanism
    names: tuple[str, ...] = ()
    source = target = HISTOGRAMS

    def draw(self, x: Histogram, bits: Bits) -> Histogram:  # noqa: ARG002
        return Histogram(x.keys * float(self.factor), x.counts)

    def step(self, known: Known) -> Step:  # noqa: ARG002
        factor = float(self.factor)
        return Step(lambda error: error.through(lambda beta: factor * beta), metric=Winf())


class Unwritable(Scaled):
    work: Any = len


def test_a_mechanism_of_one_s_own_is_read_only_where_it_is_named() -> None:
    mine = Scaled(Fraction(1, 3), datetime.date(2024, 2, 29), Dropping(1, 1e-6), ("a", "b"))
    for mechanism in (mine, Bucketing(width=5) >> mine):
        document = mechanism.to_json()
        assert Mechanism.from_json(document, own=[Scaled]) == mechanism
        with pytest.raises(InputError, match="complete and unchanged"):
            Mechanism.from_json(document)
        assert eval(repr(mechanism), {**PUBLIC, "Scaled": Scaled, "Fraction": Fraction}) == mechanism
    with pytest.raises(InputError, match="JSON cannot hold"):
        Unwritable(mine.factor, mine.day, mine.inner, work=print).to_json()
    broken = Bucketing(width=5).to_json().replace("Bucketing", "Scaled")
    with pytest.raises(InputError, match="complete and unchanged"):
        Mechanism.from_json(broken, own=[Scaled])


def test_declarations_of_the_wrong_type_are_refused_when_a_chain_is_built() -> None:
    for name, wrong in {"preserves": ("a", "b"), "source": "histograms", "needs": 3}.items():
        odd = type("Odd", (Scaled,), {name: wrong})(Fraction(1), datetime.date(2024, 1, 1), Dropping(1, 1e-6))
        with pytest.raises(InputError, match=f"{name} must"):
            odd >> Dropping(1, "1e-6")


# --- a release runs the mechanism that it shows ---

ROWS = {"pid": [str(i % 40) for i in range(400)], "age": [float(i % 7) for i in range(400)], "b": [1.0] * 400}
ASKED: list[dict[str, Any]] = [
    {"width": 1, "bounds": (0, 7)},
    {"width": 1, "unit": "pid", "max_buckets_per_unit": 2},
    {"width": 1, "unit": "pid", "max_buckets_per_unit": 2, "certify": "0.3"},
    {"exact": True, "certify": "0.1"},
    {"relative": "0.1", "unit": "pid", "per_unit": "max"},
    {"column": ["age", "b"], "width": 1, "unit": "pid", "max_buckets_per_unit": 3},
    {"width": 1, "by": "pid"},
]


@pytest.mark.parametrize("asked", ASKED, ids=map(str, range(len(ASKED))))
def test_a_release_runs_the_very_mechanism_that_it_shows(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Dropping] = []
    thin = Dropping.thin

    def noted(self: Dropping, private: KeyedHistogram) -> Any:
        ran.append(self)
        return thin(self, private)

    monkeypatch.setattr(Dropping, "thin", noted)
    asked = {"column": "age", **asked}
    released = flexdp.release(pa.table(ROWS), epsilon=8, delta="0.01", **asked)
    assert [released.mechanism.parts[-1]] == ran
    bucketing, dropping = released.mechanism.parts
    assert isinstance(bucketing, Bucketing) and bucketing.partition == released.partition
    assert isinstance(dropping, Dropping) and dropping.noise == released.noise
    assert released.mechanism.privacy == dropping.privacy
    counts_of_units = [cap.privacy(released.spec) for cap in released.caps]  # beside the buckets, in no mechanism
    assert len(counts_of_units) == ("max_buckets_per_unit" in asked)
    if counts_of_units:
        assert [each.epsilon for each in counts_of_units] == [Fraction(8, 25)]
    both = total([dropping.privacy, *counts_of_units])
    assert released.privacy == (both if counts_of_units else dropping.privacy)
    assert (released.privacy.epsilon, released.privacy.delta) == (8, Fraction(1, 100))
    assert released.max_drop == dropping.max_drop
    again = Release.from_json(released.to_json())
    assert again.mechanism == released.mechanism == Mechanism.from_json(released.mechanism.to_json())


def test_a_unit_s_privacy_is_one_whoever_tells_it() -> None:
    """release(unit=…, max_buckets_per_unit=2): the release, its mechanism, its plan and the calculus agree."""
    rule = {"unit": "pid", "max_buckets_per_unit": 2}
    released = flexdp.release(pa.table(ROWS), "age", epsilon=1, delta="1e-6", width=1, cap_report=False, **rule)
    told = Privacy(epsilon=1, delta="1e-6", neighbours=AddRemove("pid", 2))
    assert released.privacy == released.mechanism.privacy == Dropping(1, "1e-6", **rule).privacy == told
    assert str(told).startswith("ε = 1, δ = 1e-06 for each pid: an observer")
    bucket = released.noise
    derived = of_unit(Privacy(epsilon=bucket.epsilon, delta=bucket.delta), 2, unit="pid")
    assert derived.epsilon == told.epsilon and derived.delta <= told.delta and derived.neighbours == told.neighbours
    planned = solve(epsilon=1, delta="1e-6", buckets=10, records_at_least=10**4, buckets_per_unit=2)
    assert planned.privacy == Privacy(epsilon=1, delta="1e-6", neighbours=AddRemove("unit", 2))
    assert planned.q == bucket.q and planned.privacy.unit == "unit" and "a given unit is in the data" in str(planned)


def test_the_delta_that_was_asked_for_and_the_real_one_stand_side_by_side() -> None:
    private = Dropping(1, "1e-6").privacy
    assert private.delta == Fraction(1, 10**6) and private.delta_real == DropNoise(1, "1e-6").delta_real
    assert float(private.delta_real) == pytest.approx(7.14400937984e-07)
    for rule in ({"max_buckets_per_unit": 3}, {"certify": "0.2"}, {"max_buckets_per_unit": 2, "certify": "0.2"}):
        mechanism = Dropping(1, "1e-3", unit="u", **rule)
        k, bound = mechanism.max_buckets_per_unit, mechanism.total_noise
        real = 1 - (1 - mechanism.noise.delta_real) ** k
        if bound is not None:
            step = Privacy(epsilon=bound.epsilon, delta=bound.delta_real)
            real += of_group(step, k).delta
        assert mechanism.privacy.delta_real is not None
        assert 0 <= mechanism.privacy.delta_real - real <= Fraction(1, 10**100)
        assert real < mechanism.privacy.delta == Fraction(1, 1000)


def test_shares_of_a_budget_add_up_to_it() -> None:
    mechanism = Dropping(1, "1e-3", unit="u", max_buckets_per_unit=2, certify="0.25")
    bars, bound = mechanism.noise, mechanism.total_noise
    assert bound is not None
    both = [
        of_unit(Privacy(epsilon=bars.epsilon, delta=bars.delta), 2, unit="u"),
        of_group(Privacy(epsilon=bound.epsilon, delta=bound.delta, neighbours=AddRemove("u", 2)), 2),
    ]
    spent = total(both)
    assert spent.epsilon == 1 and Fraction(999, 10**6) < spent.delta <= Fraction(1, 1000)
    assert spent.neighbours == mechanism.privacy.neighbours


# --- bucketing by units ---


def test_units_count_once_in_each_of_their_buckets_and_in_no_more_than_allowed() -> None:
    table = [("a", 1), ("a", 2), ("a", 11), ("b", 3), ("b", 25), ("b", 35), (None, 1), ("c", 500)]
    counts = lambda k: dict(Bucketing(width=10, bounds=(0, 100), unit="u", max_buckets_per_unit=k)(table).items())  # noqa: E731
    assert counts(3) == {5.0: 2, 15.0: 1, 25.0: 1, 35.0: 1, 95.0: 1}
    seen = set()
    for _ in range(200):
        one = counts(1)
        assert sum(one.values()) == 3
        seen.add(tuple(sorted(one.items())))
    assert len(seen) == 2 * 3, "which of its buckets a unit keeps is random, and each of them is kept at times"
    assert Bucketing(width=10, unit="u")([]).size == 0
    points = Bucketing(width=10, dimensions=2, unit="u", max_buckets_per_unit=2)([("a", (1, 2)), ("a", (3, 4))])
    assert points.keys.tolist() == [[5.0, 5.0]] and points.counts.tolist() == [1]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_one_unit_more_is_one_more_in_no_more_buckets_than_allowed(k: int) -> None:
    rng = np.random.default_rng(k)
    bucketing = Bucketing(width=10, bounds=(0, 100), unit="u", max_buckets_per_unit=k)
    for _ in range(30):
        table = [(int(u), float(v)) for u, v in zip(rng.integers(0, 9, 40), rng.uniform(0, 100, 40), strict=True)]
        few = [(u, v) for u, v in table if len({int(w // 10) for t, w in table if t == u}) <= k]  # none is cut
        more = [*few, *(("new", float(v)) for v in rng.uniform(0, 100, 6))]
        one, two = dict(bucketing(few).items()), dict(bucketing(more).items())
        changed = {key: two.get(key, 0) - one.get(key, 0) for key in one | two}
        assert set(changed.values()) <= {0, 1} and 1 <= sum(changed.values()) <= k


def test_histograms_do_not_tell_whose_records_they_count() -> None:
    bucketing = Bucketing(width=10, unit="u", max_buckets_per_unit=2)
    with pytest.raises(InputError, match="they must be the same"):
        Bucketing(width=1) >> bucketing
    with pytest.raises(InputError, match="pairs"):
        bucketing(Histogram.from_values([1, 2]))
    for rows in ([("a", 1, 2)], [3], 3, "ab"):
        with pytest.raises(InputError, match="pairs"):
            bucketing(rows)
    with pytest.raises(InputError, match="must name units by"):
        bucketing([(["SECRET"], 1)])
    with pytest.raises(InputError, match="needs unit"):
        Bucketing(width=1, max_buckets_per_unit=2)
    assert (bucketing >> Dropping(1, "1e-6", unit="u", max_buckets_per_unit=2)).privacy is not None
    assert (bucketing >> Dropping(1, "1e-6", unit="u")).privacy is None, "private for one bucket, and there are two"
    assert (bucketing >> Dropping(1, "1e-6", unit="v", max_buckets_per_unit=2)).privacy is None
    assert (bucketing >> Dropping(1, "1e-6", unit="u", max_buckets_per_unit=5)).privacy is not None
    assert (bucketing >> Dropping(1, "1e-6") >> ReadOff(Support())).privacy is None
