"""Pebble games: what is drawn exists, every measured value is within its bound, and a broken bound shows."""

from __future__ import annotations

import datetime as dt
import math
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from _support.markup import read_svg
from _support.own import Declared, Own
from hypothesis import given
from hypothesis import strategies as st

from flexdp import Accuracy, Histogram, InputError
from flexdp.calculus import Known, Step, identity, jump
from flexdp.guarantees import ONE_RECORD
from flexdp.measure import accuracy_curve
from flexdp.mechanisms import HISTOGRAMS, NUMBERS, Bucketing, Dropping, Laplace, Mechanism, ReadOff
from flexdp.noise import DropNoise
from flexdp.noise.bits import Bits
from flexdp.report import accuracy_chart, noise_chart, pebbles
from flexdp.report.boards import Board
from flexdp.report.games import GAMES, play
from flexdp.statistics import Max, Mode, Support

DOCS = Path(__file__).parent.parent.parent / "docs"
BUCKETS, DROPS = Bucketing(width=10, bounds=(0, 50)), Dropping(2, "0.1")
TABLES = st.dictionaries(st.integers(0, 49), st.integers(1, 9), min_size=1, max_size=5).map(
    lambda counts: Histogram.from_counts({**counts, 49: 30})  # the last one always survives
)


class Below(Mechanism):
    limit: float
    source = target = HISTOGRAMS
    preserves = (ONE_RECORD, ONE_RECORD)

    def draw(self, x: Histogram, bits: Bits) -> Histogram:  # noqa: ARG002
        return Histogram(x.keys[x.keys < self.limit], x.counts[x.keys < self.limit])

    def step(self, known: Known) -> Step:
        after = Known(bars=known.bars)
        return Step(lambda error: error.through(jump), metric=HISTOGRAMS.metric, sigma=identity(), after=after)


PROMISE = Accuracy(alpha="0.03", beta=20)


def measured(gammas: list[Any], outputs: Any = (70, 20, 12, 60, 11)) -> Any:
    table = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    return accuracy_curve(table, list(outputs), Max(), alphas=[0, "0.01", "0.1"], gammas=gammas)


def records(table: Histogram) -> list[float]:
    return sorted(float(key) for key, count in table.items() for _ in range(count))


def apart(one: Any, two: Any) -> float:
    """W∞ of histograms of one size: sorted records in order; the difference of numbers."""
    if isinstance(one, Histogram):
        assert one.size == two.size
        return max(abs(a - b) for a, b in zip(records(one), records(two), strict=True))
    return abs(one - two)


def check(board: Board) -> None:
    """Recompute every label from the boxes, and compare it with its bound."""
    for edge in board.edges:
        one, two = board.boxes[edge.start].content, board.boxes[edge.end].content
        if edge.kind == "distortion":
            counts = dict(one.items())
            assert all(counts.get(key, 0) >= count for key, count in two.items()), "records were only left out"
            value = 1 - two.size / one.size
        elif edge.kind == "distance":
            value = apart(one, two)
        else:
            continue
        measured, limit = re.fullmatch(r"\S+ (\S+) ≤ (\S+)", edge.label).groups()  # type: ignore[union-attr]
        assert float(measured) == pytest.approx(value, rel=0.01, abs=1e-9)
        assert value <= float(limit)


CHAINS = [
    BUCKETS >> DROPS >> ReadOff(Max()),
    BUCKETS >> DROPS >> DROPS,
    BUCKETS >> DROPS >> Bucketing(width=20, bounds=(0, 60)) >> ReadOff(Max()),
    BUCKETS >> Bucketing(width=20, bounds=(0, 60)) >> DROPS,
]


@given(TABLES, st.sampled_from(GAMES), st.sampled_from(CHAINS))
def test_what_is_drawn_exists_and_is_within_its_bounds(table: Histogram, game: str, chain: Mechanism) -> None:
    if game == "distortion" and chain.steps[1] is not DROPS:
        game = "accuracy"
    board = play(chain, table, game, None, None)
    check(board)
    assert {box.rule for box in board.boxes.values()} == set(range(len(board.rules) + 1))
    for edge in board.edges:
        if edge.kind == "map" and edge.label == "identity":
            assert board.boxes[edge.start].content == board.boxes[edge.end].content
    if game == "distortion":
        assert BUCKETS(board.boxes["X"].content) == board.boxes["Y"].content


@given(TABLES, st.sampled_from([DROPS >> BUCKETS, DROPS >> BUCKETS >> DROPS, DROPS, BUCKETS >> ReadOff(Max())]))
def test_any_order_of_steps_is_drawn(table: Histogram, chain: Mechanism) -> None:
    for game in ("composition", "accuracy"):
        check(play(chain, table, game, None, None))


def test_relative_errors_dates_and_points() -> None:
    table = Histogram.from_counts({10: 40, 100: 50, 1000: 45})
    chain = Bucketing(relative="0.1") >> DROPS >> ReadOff(Max())
    labels = [edge.label for edge in play(chain, table, "composition", None, None).edges]
    assert any(re.fullmatch(r"apart [0-9.]+ \(≤ 10%\)", label) for label in labels)

    days = Histogram.from_counts({dt.date(2024, 1, 1): 40, dt.date(2024, 2, 5): 30})
    board = play(DROPS >> ReadOff(Max()), days, "accuracy", [days, dt.date(2024, 2, 3)], None)
    assert "apart 2 > 0" in [edge.label for edge in board.edges], "in days; and a wrong answer shows"

    points = Histogram([(1.0, 2.0), (8.0, 9.0)], [40, 50])
    plane = Bucketing(width=5, bounds=(0, 10), dimensions=2) >> Dropping(2, "0.1", dimensions=2)
    board = play(plane >> ReadOff(Support(), dimensions=2), points, "composition", None, None)
    assert [edge.label for edge in board.edges if edge.kind == "distance"][-1] == "apart 1.58 ≤ 3.54"
    assert "90 records" in pebbles(plane >> ReadOff(Support(), dimensions=2), points)


def test_the_answer_is_the_exact_one_of_the_distorted_data() -> None:
    table = Histogram.from_counts({3: 20, 14: 30, 33: 1})
    board = play(
        BUCKETS >> DROPS >> ReadOff(Max()),
        table,
        "composition",
        [BUCKETS(table), Histogram.from_counts({5: 18, 15: 29}), 15.0],
        None,
    )
    assert board.boxes["f₃f₂f₁(X)"].content == max(records(board.boxes["X"].content)) == 14
    assert board.boxes["X"].before == table and board.boxes["X"].content.size == 47


def test_a_filter_is_followed_back_to_the_data() -> None:
    """The function before the step that drops is no identity: X is a part of x that it maps to what is left."""
    table = Histogram.from_counts({3: 20, 14: 30, 33: 5})
    chain = Below(20.0) >> DROPS
    left = Histogram.from_counts({3: 18, 14: 29})
    board = play(chain, table, "composition", [Below(20.0)(table), left], None)
    found = board.boxes["X"].content
    assert dict(found.items()) == {3: 18, 14: 29, 33: 5} and Below(20.0)(found) == left
    assert board.boxes["f₁(X)"].content == left


def test_a_jumping_statistic_is_exact_for_moved_data() -> None:
    table = Histogram.from_counts({3: 20, 14: 30, 33: 9})
    outputs = [BUCKETS(table), Histogram.from_counts({5: 18, 15: 29, 35: 8}), 15.0]
    for game in ("composition", "accuracy"):
        board = play(BUCKETS >> DROPS >> ReadOff(Mode()), table, game, outputs, None)
        (moved,) = (edge.label for edge in board.edges if edge.kind == "distortion")
        assert re.fullmatch(r"drop 0\.0678 ≤ 0\.\d+, move 2 ≤ 5", moved)
        assert "apart 0 ≤ 0" in [edge.label for edge in board.edges]


def test_a_broken_bound_shows() -> None:
    """An output of bucketing that moved a record too far, as a wrong mechanism would give it."""
    table = Histogram.from_counts({3: 20, 14: 30})
    wrong = [Histogram.from_counts({5: 20, 25: 30}), Histogram.from_counts({5: 20, 25: 29})]
    labels = [edge.label for edge in play(BUCKETS >> DROPS, table, "composition", wrong, None).edges]
    assert "W∞ 11 > 5" in labels
    assert "W∞ 11 &gt; 5" in pebbles(BUCKETS >> DROPS, table, outputs=wrong)


def test_noise_on_an_answer_tells_its_function() -> None:
    table, chain = (
        Histogram.from_counts({3: 40, 14: 30}),
        BUCKETS >> DROPS >> ReadOff(Max()) >> Laplace(sensitivity=50, epsilon=1),
    )
    for functions in (None, [None, None, lambda value: Max()(value), lambda value: value]):
        board = play(chain, table, "composition", None, functions)
        assert board.boxes["f₄…f₁(X)"].content == 14.0
    silent = chain >> Own("silent", lambda x, _: x, Declared(tau=lambda e: e.plus(1)), source=NUMBERS, target=NUMBERS)
    with pytest.raises(InputError, match="functions is missing: silent is not exact"):
        pebbles(silent, table)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"game": "chess"}, "game must be 'composition', 'accuracy', 'distortion' or 'error'"),
        ({"outputs": [1]}, "outputs must be a list of the outputs of all steps"),
        ({"outputs": [1, 2]}, "outputs must be what the steps give: Bucketing gives histograms"),
        ({"functions": [None]}, "functions must be a list of functions, one for each step"),
        ({"name": '"'}, "name must be letters"),
        ({"chain": ReadOff(Max()), "game": "error"}, "chain must have a step that leaves records out"),
        ({"chain": BUCKETS, "game": "distortion"}, "chain must be a step that maps histograms"),
        ({"chain": "max"}, "chain must be a mechanism"),
        ({"histogram": Histogram([], [])}, "histogram must not be empty"),
        ({"histogram": Histogram.from_values([3]), "outputs": [BUCKETS(Histogram.from_values([3])), Histogram([], [])]},
         "histogram has too few records"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(options: dict[str, Any], said: str) -> None:
    given_ = {"chain": BUCKETS >> DROPS, "histogram": Histogram.from_counts({3: 40})} | options
    with pytest.raises(InputError, match=re.escape(said)):
        pebbles(given_.pop("chain"), given_.pop("histogram"), **given_)


def test_pictures_are_sound_and_fit_a_telephone() -> None:
    """Valid, titled and described; no text reaches beyond the picture, which is no wider than 375 pixels."""
    table = Histogram.from_counts({1: 9, 4: 11, 12: 34, 23: 16, 31: 1})
    drawn = [
        pebbles(BUCKETS >> DROPS >> ReadOff(statistic), table, game=game)
        for statistic, game in product((Max(), Mode(), Support()), GAMES)
    ]
    plane = Bucketing(width=5, bounds=(0, 10), dimensions=2) >> Dropping(2, "0.1", dimensions=2)
    points = Histogram([(1.0, 2.0), (8.0, 9.0)], [40, 50])
    drawn.append(pebbles(plane >> ReadOff(Support(), dimensions=2), points))
    drawn += [noise_chart(DropNoise(epsilon, delta)) for epsilon, delta in ((1, "1e-6"), ("0.05", "1e-9"), (5, "0.4"))]
    drawn += [accuracy_chart(measured(gammas), promised=PROMISE) for gammas in ([0], [0, "0.1", "0.25", "0.5"])]
    for picture in drawn:
        root = read_svg(picture)
        width = float(root.get("width") or "inf")
        assert width <= 375
        title, desc = (next(el.text for el in root.iter() if el.tag.endswith(tag)) for tag in ("title", "desc"))
        assert title and desc and len(desc) > 80
        for element in (el for el in root.iter() if el.tag.endswith("text")):
            size = {"v": 9.0, "d": 6.0, "c": 5.9, "k": 5.9, "l": 5.9}.get(element.get("class") or "", 6.6)
            length, x = size * len(element.text or ""), float(element.get("x") or "nan")
            start = x - {"start": 0.0, "middle": length / 2, "end": length}[element.get("text-anchor") or ""]
            assert start >= -4 and start + length <= width + 4, element.text
            assert size != 9.0 or length <= 104, "a value stays in its box"


def test_keys_that_are_no_numbers_stand_in_order() -> None:
    drawn = pebbles(DROPS >> ReadOff(Mode()), Histogram.from_counts({"ash": 30, "elm": 40, "yew": 35}))
    assert "keys from ash to yew" in drawn


def test_the_figures_of_the_theory_are_those_of_its_code() -> None:
    theory = (DOCS / "theory.md").read_text()
    (block,) = (code for code in re.findall(r"```python\n(.*?)```", theory, re.DOTALL) if "figures" in code)
    space: dict[str, Any] = {}
    exec(compile(block, "theory.md", "exec"), space)
    lost = space["outputs"][0].counts - [*space["outputs"][1].counts, 0]
    assert lost.min() >= 0 and lost.max() <= space["chain"].parts[1].max_drop, "the run is one that can happen"
    assert set(re.findall(r"figures/([\w-]+)\.svg", theory)) == set(space["figures"])
    for name, picture in space["figures"].items():
        drawn = (DOCS / "figures" / f"{name}.svg").read_text()
        assert drawn == picture + "\n", f"{name} is of another time: run python tools/figures.py"


def test_the_chance_to_survive_is_drawn_as_it_is() -> None:
    noise = DropNoise("0.5", "1e-3")
    root = read_svg(noise_chart(noise))
    heights = [float(el.get("cy") or "nan") for el in root.iter() if el.tag.endswith("circle")]
    exact = [sum(noise.weights[:k]) / 2**noise.bits for k in range(noise.q + 1)]
    assert [(150 - y) / 116 for y in heights] == pytest.approx(exact, abs=1e-3)
    with pytest.raises(InputError, match="noise must be a DropNoise"):
        noise_chart("0.5")  # type: ignore[arg-type]


def test_measured_accuracy_is_drawn_as_it_is() -> None:
    """Heights are log(1 + β) between 0 and a little above the largest; α side by side, the promise among them."""
    curve = measured([0, "0.25"])
    drawn = accuracy_chart(curve, promised=PROMISE)
    root = read_svg(drawn)
    top = math.log1p(curve.beta.max() * 1.15)
    for series in (0, 1):
        dots = [el for el in root.iter() if el.get("class") == f"p{series}"]
        heights = [math.expm1((186 - float(el.get("cy") or "nan")) / 160 * top) for el in dots]
        assert heights == pytest.approx(curve.beta[:, series], rel=0.02, abs=0.02)
        across = [float(el.get("cx") or "nan") for el in dots]
        assert across[1] - across[0] == pytest.approx((across[2] - across[1]) / 2, abs=0.2), "0.03 stands between"
    assert "promised: β = 20 at α = 0.03" in drawn and "∞" not in drawn
    assert "∞" in accuracy_chart(measured([0], [None, 20]))


def test_a_promise_without_alpha_is_refused_with_what_is_missing() -> None:
    """Both numbers were given: what is missing are bounds, without which values far out are left out."""
    known = {"records_at_least": 10_000, "bars": 20}
    told = (Bucketing(width=5) >> Dropping(1, "1e-6") >> ReadOff(Max())).accuracy(**known)
    assert told.alpha is None
    with pytest.raises(InputError) as refused:
        accuracy_chart(measured([0]), promised=told)
    assert str(refused.value) == (
        "promised must have a known alpha; got one that states only at most 27 records from each bucket. Derive it "
        "with records_at_least and bars, from steps that keep the number of records: buckets with bounds that "
        "clamp, and steps that say what is known after them."
    )
    bounded = (Bucketing(width=5, bounds=(0, 100)) >> Dropping(1, "1e-6") >> ReadOff(Max())).accuracy(**known)
    assert "promised: β = 2.5 at α = 0.054" in accuracy_chart(measured([0]), promised=bounded)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"curve": "none"}, "curve must be an AccuracyCurve"),
        ({"curve": measured([0, "0.1", "0.2", "0.3", "0.4"])}, "curve must have at most 4 values of gamma"),
        ({"promised": Accuracy(alpha=None, beta=1, max_drop=3)}, "promised must have a known alpha"),
        ({"promised": 3}, "promised must be an Accuracy"),
    ],
)
def test_measurements_that_cannot_be_drawn_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        accuracy_chart(**{"curve": measured([0])} | options)
