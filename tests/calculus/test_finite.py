"""Computed sensitivities: against linear programs of another make, random cases, and the composition theorem."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import flexdp
from flexdp import Histogram, InputError, distortion_sensitivity, error_sensitivity, metric_sensitivity
from flexdp.calculus import tau
from flexdp.calculus.coupling import Group, most_matched
from flexdp.distances import Cyclic, Equality, Weighted, lossy_winf
from flexdp.distortions import Drop, extend

Law = dict[int, Fraction]
seeds = st.integers(0, 10**9)
few = settings(max_examples=200 if os.environ.get("FLEXDP_DEEP") == "1" else 12)  # each solves dozens of programmes


@dataclass(frozen=True)
class Finite:
    """A finite space with a quasi-metric, which is a metric if it is symmetric."""

    size: int
    table: tuple[tuple[float, ...], ...]

    def __call__(self, a: int, b: int) -> float:
        return self.table[a][b]


def space(dice: random.Random, size: int, *, symmetric: bool, infinite: bool = False) -> Finite:
    """Shortest paths between random points, some of which cannot be reached."""
    far = [1, 2, 3, 5, math.inf] if infinite else [1, 2, 3, 5]
    d = [[0 if i == j else dice.choice(far) for j in range(size)] for i in range(size)]
    if symmetric:
        d = [[d[min(i, j)][max(i, j)] for j in range(size)] for i in range(size)]
    for k, i, j in product(range(size), repeat=3):
        d[i][j] = min(d[i][j], d[i][k] + d[k][j])
    return Finite(size, tuple(map(tuple, d)))


def random_law(dice: random.Random, outputs: int, most: int) -> Law:
    places = dice.sample(range(outputs), dice.randint(1, min(most, outputs)))
    weights = [dice.randint(1, 4) for _ in places]
    return {place: Fraction(weight, sum(weights)) for place, weight in zip(places, weights, strict=True)}


def random_map(dice: random.Random, inputs: int, outputs: int, most: int) -> Callable[[int], Law]:
    laws = [random_law(dice, outputs, most) for _ in range(inputs)]
    return lambda x: laws[x]


def push(law: Law, f: Callable[[int], Law]) -> Law:
    found: dict[int, Fraction] = {}
    for x, chance in law.items():
        for y, share in f(x).items():
            found[y] = found.get(y, Fraction(0)) + chance * share
    return found


def blur(dice: random.Random, law: Law, reach: Callable[[int], Sequence[int]]) -> Law:
    """Send each point at random to points within its reach."""
    found: dict[int, Fraction] = {}
    for x, chance in law.items():
        targets = [dice.choice(reach(x)) for _ in range(2)]
        for share, y in zip((Fraction(1, 3), Fraction(2, 3)), targets, strict=True):
            found[y] = found.get(y, Fraction(0)) + chance * share
    return found


def winf(p: Law, q: Law, metric: Finite, gamma: Fraction) -> float:
    everywhere = range(metric.size)
    table = np.array(metric.table, dtype=float)
    return lossy_winf([p.get(i, 0) for i in everywhere], [q.get(i, 0) for i in everywhere], gamma, metric=table).value


def matched(
    law: Law, parts: Sequence[tuple[float, Sequence[Law]]], near: Callable[[int, int], bool], outputs: int
) -> float:
    """The most of a law that mixtures can match, by HiGHS: flow(c, d) first, then the weights of each part."""
    pairs = [(c, d) for c in law for d in range(outputs) if near(c, d)]
    laws = [(g, each) for g, (_, part) in enumerate(parts) for each in part]
    rows, bounds = [], []
    for c in law:
        rows.append([float(a == c) for a, _ in pairs] + [0.0] * len(laws))
        bounds.append(float(law[c]))
    for d in range(outputs):
        rows.append([float(b == d) for _, b in pairs] + [-float(each.get(d, 0)) for _, each in laws])
        bounds.append(0.0)
    weighing = [[0.0] * len(pairs) + [float(h == g) for h, _ in laws] for g in range(len(parts))]
    costs = [-1.0] * len(pairs) + [0.0] * len(laws)
    solved = linprog(costs, A_ub=rows, b_ub=bounds, A_eq=weighing, b_eq=[float(mass) for mass, _ in parts])
    assert solved.success
    return float(-solved.fun)


@given(seeds)
def test_mixtures_match_as_much_as_another_solver_finds(seed: int) -> None:
    dice = random.Random(seed)
    outputs = dice.randint(1, 5)
    law = random_law(dice, outputs, 4)
    mass = Fraction(dice.randint(0, 4), 4)
    parts = [[random_law(dice, outputs, 3) for _ in range(dice.randint(1, 3))] for _ in range(2)]
    near = {(c, d): dice.random() < 0.5 for c in range(outputs) for d in range(outputs)}
    groups = [Group(mass, parts[0]), Group(1 - mass, parts[1])]
    found = most_matched(law, groups, lambda c, d: near[c, d])
    expected = matched(law, [(each.mass, each.laws) for each in groups], lambda c, d: near[c, d], outputs)  # type: ignore[misc]
    assert float(found.mass) == pytest.approx(expected, abs=1e-9)
    assert all(sum(weights) <= group.mass for weights, group in zip(found.weights, groups, strict=True))
    enough = Fraction(1, 2)
    some = most_matched(law, groups, lambda c, d: near[c, d], enough=enough)
    assert min(some.mass, enough) == min(found.mass, enough)


def cheapest(x: int, y: Law, f: Callable[[int], Law], d1: Finite, metric: Finite, theta: Any, omega: Any) -> float:
    """The least distortion of x that gives Y, level by level."""
    for bound in sorted({d1(x, z) for z in range(d1.size)} - {math.inf}):
        laws = [f(z) for z in range(d1.size) if d1(x, z) <= bound]
        got = matched(y, [(1.0, laws)], lambda c, d: metric(d, c) <= omega, metric.size)
        if got >= 1 - theta - 1e-9:
            return bound
    return math.inf


@pytest.mark.parametrize("most", [1, 2])
@few
@example(seed=3)  # these find a θ that is taken wrongly
@example(seed=8)
@given(seed=seeds)
def test_distortion_sensitivity_is_the_worst_case_of_the_definition(seed: int, most: int) -> None:
    dice = random.Random(seed)
    size, outputs = dice.randint(1, 4), dice.randint(1, 4)
    d1, d2 = (space(dice, n, symmetric=False, infinite=True) for n in (size, outputs))
    metric = space(dice, outputs, symmetric=True)
    f = random_map(dice, size, outputs, most)
    alpha, omega = dice.choice([0, 1, 2, 5]), dice.choice([0, 0, 1, 3])
    theta = dice.choice([Fraction(0), Fraction(1, 4), Fraction(1, 2)])
    found = distortion_sensitivity(
        f, range(size), d1, d2, alpha, theta, omega, targets=range(outputs), output_metric=metric
    )
    case = found.witness
    y = dict(case.y)
    assert extend(d2, list(f(case.x).items()), list(case.y)).value <= alpha
    assert cheapest(case.x, y, f, d1, metric, theta, omega) == found.value
    if case.by is None:
        assert found.value == math.inf
    else:
        assert sum(chance for _, chance in case.by) == 1
        assert max(d1(case.x, z) for z, _ in case.by) <= found.value
        assert winf(push(dict(case.by), f), y, metric, theta) <= omega
    for x in range(size):
        moved = blur(dice, f(x), lambda b: [c for c in range(outputs) if d2(b, c) <= alpha])
        assert cheapest(x, moved, f, d1, metric, theta, omega) <= found.value


def least_error(
    x: Law, other: Law, mechanism: Any, f: Any, distortion: Finite, alpha: Any, gamma: Any, metric: Finite
) -> float:
    """The least lossy distance from mechanism(X) to f(Y) over distortions Y of X′, level by level."""
    parts = [
        (float(chance), [f(y) for y in range(distortion.size) if distortion(z, y) <= alpha])
        for z, chance in other.items()
    ]
    for bound in sorted({metric(a, b) for a in range(metric.size) for b in range(metric.size)}):
        got = matched(push(x, mechanism), parts, lambda c, d, bound=bound: metric(c, d) <= bound, metric.size)  # type: ignore[misc]
        if got >= 1 - gamma - 1e-9:
            return bound
    raise AssertionError("everything is within the largest distance")


@pytest.mark.parametrize("most", [1, 2])
@few
@example(seed=21)  # these find a v of X that is not looked for, or told wrongly
@example(seed=51)
@example(seed=135)
@given(seed=seeds)
def test_error_sensitivity_is_the_worst_case_of_the_definition(seed: int, most: int) -> None:
    dice = random.Random(seed)
    size, outputs = dice.randint(1, 4), dice.randint(1, 4)
    distortion = space(dice, size, symmetric=False, infinite=True)
    inner, outer = (space(dice, n, symmetric=True) for n in (size, outputs))
    mechanism, f = random_map(dice, size, outputs, 3), random_map(dice, size, outputs, most)
    if dice.random() < 0.8:  # a mechanism that is not far from the function
        close = [blur(dice, f(x), lambda c: [d for d in range(outputs) if outer(c, d) <= 1]) for x in range(size)]
        mechanism = close.__getitem__
    alpha, beta = dice.choice([0, 0, 1]), dice.choice([0, 1, 2])
    gamma, lost = (dice.choice([Fraction(0), Fraction(1, 4), Fraction(2, 3), Fraction(1)]) for _ in range(2))
    found = error_sensitivity(
        mechanism, f, range(size), distortion, alpha, gamma, beta, lost, metric=inner, output_metric=outer
    )
    x, other, y = (dict(law) for law in (found.witness.x, found.witness.other, found.witness.y))
    assert sum(x.values()) == sum(other.values()) == sum(y.values()) == 1
    assert winf(x, other, inner, lost) <= beta
    assert extend(distortion, list(other.items()), list(y.items())).value <= alpha
    assert winf(push(x, mechanism), push(y, f), outer, gamma) <= found.value
    assert least_error(x, other, mechanism, f, distortion, alpha, gamma, outer) == found.value
    for _ in range(3):
        one = random_law(dice, size, 3)
        two = blur(dice, one, lambda z: [w for w in range(size) if inner(z, w) <= beta])
        free = random_law(dice, size, 2)
        two = {z: (1 - lost) * two.get(z, Fraction(0)) + lost * free.get(z, Fraction(0)) for z in range(size)}
        two = {z: chance for z, chance in two.items() if chance}
        assert winf(one, two, inner, lost) <= beta
        assert least_error(one, two, mechanism, f, distortion, alpha, gamma, outer) <= found.value


@pytest.mark.parametrize(("most", "gamma"), [(1, "0"), (2, "1/5")])
def test_a_loss_of_the_input_is_looked_for_everywhere(most: int, gamma: str) -> None:
    """All vertices (x, x′, v, v′) by the other solver, for a mechanism that does well without a loss."""
    size, lost, allowed = 3, Fraction(1, 4), Fraction(gamma)
    line = Finite(4, tuple(tuple(abs(a - b) for b in range(4)) for a in range(4)))
    laws: list[Law] = [
        {x: Fraction(2, 3), x + 1: Fraction(1, 3)} if most == 2 else {x: Fraction(1)} for x in range(size)
    ]
    rough = [{**dict.fromkeys(law, Fraction(1, 2 * len(law))), (x + 1): Fraction(1, 2)} for x, law in enumerate(laws)]
    rough = [{c: chance / sum(law.values()) for c, chance in law.items()} for law in rough]
    found = error_sensitivity(
        rough.__getitem__, laws.__getitem__, range(size), Equality(), 0, allowed, 1, lost, output_metric=line
    )
    worst = max(
        least_error(
            blend(lost, x, v), blend(lost, to, w), rough.__getitem__, laws.__getitem__,
            Finite(size, tuple(tuple(9 * (a != b) for b in range(size)) for a in range(size))), 0, allowed, line,
        )
        for x, to, v, w in product(range(size), repeat=4)
        if abs(x - to) <= 1
    )  # fmt: skip
    assert found.value == worst
    one, two, y = (dict(law) for law in (found.witness.x, found.witness.other, found.witness.y))
    assert two == y
    assert least_error(one, two, rough.__getitem__, laws.__getitem__, line, 0, allowed, line) == worst


def blend(lost: Fraction, one: int, other: int) -> Law:
    return {one: Fraction(1)} if one == other else {one: 1 - lost, other: lost}


def spread_out(dice: random.Random) -> tuple[list[Law], list[Law], Any]:
    """Points in clusters on a line, so that some pairs touch and others do not; the laws of M and f, and the rest."""
    size = dice.randint(3, 4)
    places = [dice.choice([0, 1, 2, 9, 10, 30]) for _ in range(size)]

    def law(place: int, most: int) -> Law:
        parts = {place + dice.randint(0, 3): dice.randint(1, 4) for _ in range(dice.randint(1, most))}
        return {c: Fraction(weight, sum(parts.values())) for c, weight in parts.items()}

    mechanism, f = [law(place, 3) for place in places], [law(place, 2) for place in places]
    f[0] = {places[0]: Fraction(1, 2), places[0] + 1: Fraction(1, 2)}  # randomised for certain
    gamma, lost = dice.choice([(0, 1), (1, 4), (1, 2), (1, 1), (2, 1)]), dice.choice([4, 10])
    return mechanism, f, (dice.choice([0, 1]), Fraction(gamma[0], lost * gamma[1]), 1, Fraction(1, lost))


def too_much(mechanism: list[Law], f: list[Law], setting: Any, bound: float) -> list[tuple[int, int, int, int]]:
    """All vertices that lose more than γ₂ at a distance, each by a program (checked above against another solver)."""
    alpha, gamma, beta, lost = setting
    size, found = len(mechanism), []
    for x, to, v, w in product(range(size), repeat=4):
        if abs(x - to) <= beta:
            parts = [
                Group(chance, [f[y] for y in range(size) if abs(z - y) <= alpha])
                for z, chance in blend(lost, to, w).items()
            ]
            one = push(blend(lost, x, v), mechanism.__getitem__)
            if most_matched(one, parts, lambda c, d: abs(c - d) <= bound).mass < 1 - gamma:
                found.append((x, to, v, w))
    return found


def worst_of(mechanism: list[Law], f: list[Law], setting: Any) -> Any:
    apart = lambda a, b: abs(a - b)  # noqa: E731
    return error_sensitivity(
        mechanism.__getitem__, f.__getitem__, range(len(f)), apart, *setting, metric=apart, output_metric=apart
    ).value


@settings(max_examples=200 if os.environ.get("FLEXDP_DEEP") == "1" else 6, deadline=None)
@example(seed=4)
@given(seed=seeds)
def test_no_blend_is_passed_over(seed: int) -> None:
    mechanism, f, setting = spread_out(random.Random(seed))
    worst = worst_of(mechanism, f, setting)
    assert not too_much(mechanism, f, setting, worst)
    assert worst == 0 or too_much(mechanism, f, setting, worst - 1)


@pytest.mark.parametrize("fault", ["nothing touches", "the nearest outputs decide"])
def test_blends_passed_over_by_a_planted_fault_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    search = tau._Search
    if fault == "nothing touches":  # then every blend counts as the sum of its parts
        look = search._look

        def blind(self: Any) -> None:
            look(self)
            self._touch[:] = False

        monkeypatch.setattr(search, "_look", blind)
    else:
        monkeypatch.setattr(tau, "_farthest_outputs", lambda space: np.zeros((len(space.mechanism),) * 2))
    caught = 0
    for seed in range(12):
        mechanism, f, setting = spread_out(random.Random(seed))
        try:
            worst = worst_of(mechanism, f, setting)
        except AssertionError:
            caught += 1
        else:
            caught += bool(too_much(mechanism, f, setting, worst))
        if caught:
            return
    raise AssertionError("the fault was not seen")


@few
@given(seeds)
def test_metric_sensitivity_is_the_largest_over_pairs_and_an_error_sensitivity(seed: int) -> None:
    dice = random.Random(seed)
    size, outputs = dice.randint(1, 5), dice.randint(1, 4)
    inner, outer = (space(dice, n, symmetric=True) for n in (size, outputs))
    f, beta = random_map(dice, size, outputs, dice.randint(1, 3)), dice.choice([0, 1, 2, 5])
    found = metric_sensitivity(f, range(size), beta, metric=inner, output_metric=outer)
    pairs = [(a, b) for a in range(size) for b in range(size) if inner(a, b) <= beta]
    assert found.value == max(winf(f(a), f(b), outer, Fraction(0)) for a, b in pairs)
    a, b = found.witness.x, found.witness.other
    assert (a, b) in pairs and winf(f(a), f(b), outer, Fraction(0)) == found.value
    same = error_sensitivity(f, f, range(size), Equality(), beta1=beta, metric=inner, output_metric=outer)
    assert same.value == found.value


@given(seeds)
def test_the_composition_theorem_holds_as_printed(seed: int) -> None:
    dice = random.Random(seed)
    a, b, c = (dice.randint(1, 3) for _ in range(3))
    first, second = (space(dice, n, symmetric=False, infinite=dice.random() < 0.3) for n in (a, b))
    middle, outer = (space(dice, n, symmetric=True) for n in (b, c))
    m1, f1 = random_map(dice, a, b, 2), random_map(dice, a, b, dice.randint(1, 2))
    m2, f2 = random_map(dice, b, c, 2), random_map(dice, b, c, dice.randint(1, 2))
    alpha1, alpha2 = dice.choice([0, 1, 3]), dice.choice([0, 1, 3])
    gamma1, gamma2 = (dice.choice([Fraction(0), Fraction(1, 5), Fraction(1, 2)]) for _ in range(2))
    sigma = distortion_sensitivity(f1, range(a), first, second, alpha2, targets=range(b))
    beta1 = error_sensitivity(m1, f1, range(a), first, alpha1, gamma1, output_metric=middle, metric=Equality())
    tau = error_sensitivity(
        m2, f2, range(b), second, alpha2, gamma2, beta1.value, gamma1, metric=middle, output_metric=outer
    )
    alpha = alpha1 + sigma.value
    whole = error_sensitivity(
        lambda x: push(m1(x), m2),
        lambda x: push(f1(x), f2),
        range(a),
        first,
        alpha if sigma.value < math.inf else math.inf,
        gamma2,
        metric=Equality(),
        output_metric=outer,
    )
    if sigma.value < math.inf:
        assert whole.value <= tau.value


@given(seeds)
def test_relaxed_sensitivities_compose_as_chains_compose_them(seed: int) -> None:
    """α = α₁ + σ^{θ,ω}(α₂), β = τ₂ + Δ_{f₂}(ω), γ = γ₂ + θ; and σ of f₂∘f₁ from those of f₁ and f₂."""
    dice = random.Random(seed)
    a, b, c = (dice.randint(1, 3) for _ in range(3))
    first, second, third = (space(dice, n, symmetric=False, infinite=dice.random() < 0.3) for n in (a, b, c))
    middle, outer = (space(dice, n, symmetric=True) for n in (b, c))
    m1, f1 = random_map(dice, a, b, 2), random_map(dice, a, b, dice.randint(1, 2))
    m2, f2 = random_map(dice, b, c, 2), random_map(dice, b, c, dice.randint(1, 2))
    whole = lambda x: push(f1(x), f2)  # noqa: E731
    alpha1, alpha2 = dice.choice([0, 1]), dice.choice([1, 3])
    gamma1, gamma2, theta = (dice.choice([Fraction(0), Fraction(1, 5), Fraction(1, 3)]) for _ in range(3))
    omega = dice.choice([0, 1, 2])
    moved = metric_sensitivity(f2, range(b), omega, metric=middle, output_metric=outer).value
    loose = distortion_sensitivity(
        f1, range(a), first, second, alpha2, theta, omega, targets=range(b), output_metric=middle
    )
    inner = distortion_sensitivity(
        f2, range(b), second, third, alpha2, gamma2, 1, targets=range(c), output_metric=outer
    )
    if loose.value < math.inf:
        beta1 = error_sensitivity(m1, f1, range(a), first, alpha1, gamma1, metric=Equality(), output_metric=middle)
        tau = error_sensitivity(
            m2, f2, range(b), second, alpha2, gamma2, beta1.value, gamma1, metric=middle, output_metric=outer
        )
        found = error_sensitivity(
            lambda x: push(m1(x), m2), whole, range(a), first, alpha1 + loose.value, min(gamma2 + theta, Fraction(1)),
            metric=Equality(), output_metric=outer,
        )  # fmt: skip
        assert found.value <= tau.value + moved
    if inner.value < math.inf:
        outside = distortion_sensitivity(
            f1, range(a), first, second, inner.value, theta, omega, targets=range(b), output_metric=middle
        )
        both = distortion_sensitivity(
            whole, range(a), first, third, alpha2, min(gamma2 + theta, Fraction(1)), moved + 1,
            targets=range(c), output_metric=outer,
        )  # fmt: skip
        assert both.value <= outside.value


def test_a_constant_mechanism_forgets_the_loss_of_its_input() -> None:
    numbers = range(5)
    constant = error_sensitivity(lambda _x: 7, lambda _x: 7, numbers, Equality(), beta1=1, gamma1="0.1")
    assert constant.value == 0
    same = error_sensitivity(lambda x: x, lambda x: x, numbers, Equality(), beta1=1, gamma1="0.1")
    assert same.value == 4  # the lost tenth may lie anywhere
    assert error_sensitivity(lambda x: x, lambda x: x, numbers, Equality(), 0, "0.1", 1, "0.1").value == 1
    assert str(same).startswith("τ(1, 0.1) = 4: with X = ")


@few
@given(seeds)
def test_masses_of_any_size_are_added_up_exactly(seed: int) -> None:
    """τ of a deterministic f by its formula in fractions, at losses that a mass of 2⁻¹⁰⁰ decides."""
    dice = random.Random(seed)
    size, bits = 4, dice.choice([20, 60, 130])
    weights = [[dice.randint(1, 2**bits) for _ in range(size)] for _ in range(size)]
    weights[dice.randrange(size)] = weights[0]
    laws = [{c: Fraction(w, sum(row)) for c, w in enumerate(row)} for row in weights]
    lost, beta = dice.choice([Fraction(0), Fraction(1, 3), Fraction(1)]), dice.choice([0, 1, 2])

    def loss(bound: int) -> Fraction:
        far = [[sum(p for c, p in law.items() if abs(c - to) > bound) for to in range(size)] for law in laws]
        near = [(x, to) for x in range(size) for to in range(size) if abs(x - to) <= beta]
        return max((1 - lost) * far[x][to] + lost * max(row[to] for row in far) for x, to in near)

    tiny = Fraction(1, 2**200)
    edges = sorted({loss(bound) + more for bound in range(size) for more in (0, tiny, -tiny)})
    for gamma in dice.sample([edge for edge in edges if 0 <= edge <= 1], 4):
        found = error_sensitivity(lambda x: laws[x], lambda x: x, range(size), Equality(), 0, gamma, beta, lost)
        assert found.value == min(bound for bound in range(size) if loss(bound) <= gamma)


def test_the_examples_of_the_paper() -> None:
    tables = [
        Histogram.from_counts({g: n for g, n in zip("ab", counts, strict=True) if n})
        for counts in product(range(3), repeat=2)
    ]
    for alpha in ("0", "1/4", "1/2", "2/3", 1):
        found = distortion_sensitivity(lambda x: x, tables, Drop(), Drop(), alpha)
        assert Fraction(found.value) <= Fraction(alpha)  # of the identity
    assert distortion_sensitivity(lambda x: x, tables, Drop(), Drop(), "1/3").value == Fraction(1, 3)
    zero = distortion_sensitivity(lambda x: {x.size: 1, 0: 1}, tables, Drop(), lambda a, b: abs(a - b), 0)
    assert zero.value == 0  # σ(0) = 0 of every function, randomised ones too


def test_functions_may_return_laws_in_several_forms() -> None:
    forms: list[Callable[[int], Any]] = [
        lambda x: {x: 1, x + 1: 3},
        lambda x: [(x, "0.25"), (x + 1, "0.75")],
        lambda x: [(x, Fraction(1, 4)), (x + 1, Fraction(1, 2)), (x + 1, 0.25)],
        lambda x: Weighted([x, x + 1], [1, 3]),
    ]

    class Mechanism:
        def law(self, x: int) -> Any:
            return forms[0](x)

    for form in (*forms, Mechanism()):
        assert error_sensitivity(form, lambda x: x, range(4), Equality(), 0, "1/4").value == 1
        assert error_sensitivity(form, lambda x: x, range(4), Equality(), 0, "3/4").value == 0
        assert error_sensitivity(form, lambda x: x, range(4), Equality(), 0, "0.7499999").value == 1


def test_ground_metrics_change_the_answer() -> None:
    late = metric_sensitivity(lambda h: h, range(24), 1, metric=Cyclic(24))
    assert late.value == 23
    assert metric_sensitivity(lambda h: h, range(24), 1, metric=Cyclic(24), output_metric=Cyclic(24)).value == 1
    assert metric_sensitivity(lambda h: h, range(24), 1, metric="cityblock", output_metric="cityblock").value == 1
    flat = metric_sensitivity(lambda p: p[0], [(0, 0), (3, 4), (6, 8)], 5)
    assert flat.value == 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metric_sensitivity(lambda x: x, [], 1), "points must be a list of at least one point"),
        (lambda: metric_sensitivity(lambda x: 1 / x, [1, 0], 1), "f raised ZeroDivisionError at points[1] = 0"),
        (lambda: metric_sensitivity(lambda x: x, ["a", "b"], 1), "metric must be given"),
        (lambda: metric_sensitivity(lambda x: (0,) * x, [1, 2], 1), "different numbers of coordinates. Between sets"),
        (lambda: metric_sensitivity(lambda x: x, range(3), 1, metric=lambda a, b: a - b), "metric must be at least 0"),
        (lambda: metric_sensitivity(lambda x: x, range(3), 1, metric=lambda _a, _b: 1), "0 from each point to itself"),
        (
            lambda: metric_sensitivity(lambda x: x, range(3), 1, metric=lambda a, b: max(0, b - a)),
            "metric must be symmetric: it is not between points[0] = 0 and points[1] = 1",
        ),
        (
            lambda: metric_sensitivity(lambda x: x, range(3), 1, metric=lambda a, b: (a - b) ** 2),
            "from points[0] = 0 to points[2] = 2 it is more than by way of points[1] = 1",
        ),
        (
            lambda: metric_sensitivity(lambda x: x, range(3), 1, metric=lambda _a, _b: "near"),
            "metric must return a num",
        ),
        (lambda: metric_sensitivity(lambda x: x, range(3), 1, metric=lambda _a: 1), "it raised TypeError on points[0]"),
        (lambda: metric_sensitivity(lambda x: x, range(3), -1), "beta must be at least 0"),
        (lambda: metric_sensitivity(lambda x: [x], range(3), 1), "must be hashable points"),
        (lambda: metric_sensitivity(lambda x: {x: -1}, range(3), 1), "probabilities of at least 0"),
        (lambda: metric_sensitivity(random.random, range(3), 1), "f raised TypeError"),
        (lambda: metric_sensitivity(lambda _x: random.random(), range(3), 1), "draws at random at points[0] = 0"),
        (
            lambda: distortion_sensitivity(lambda x: x, range(3), lambda a, b: (a - b) ** 2, Equality(), 1),
            "d1 must satisfy the triangle inequality of a quasi-metric",
        ),
        (lambda: distortion_sensitivity(lambda x: x, range(3), Equality(), 3, 1), "d2 must be a function"),
        (lambda: distortion_sensitivity(lambda x: x, range(3), Equality(), Equality(), 1, 2), "theta must be in"),
        (lambda: error_sensitivity(lambda x: x, lambda x: x, range(3), Equality(), 0, 0, 0, 2), "gamma1 must be in"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_names_are_public() -> None:
    for name in ("distortion_sensitivity", "error_sensitivity", "metric_sensitivity", "preserves_neighbours"):
        assert getattr(flexdp, name) is getattr(flexdp.calculus, name)
