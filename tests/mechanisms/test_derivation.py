"""The derivation in words: every number of it is one that the theorem gave."""

from __future__ import annotations

from typing import Any

import pytest

from flexdp import InputError
from flexdp.calculus import Known
from flexdp.mechanisms import Bucketing, Dropping, Laplace, Mechanism, ReadOff, STLap
from flexdp.statistics import Max, Mode

PUBLIC = Bucketing(width=5, bounds=(0, 120)) >> Dropping(1, "1e-6")


@pytest.mark.parametrize(
    ("chain", "known"),
    [
        (PUBLIC >> ReadOff(Max()), {"records_at_least": 50_000}),
        (PUBLIC >> ReadOff(Mode()), {"records_at_least": 50_000}),
        (PUBLIC >> ReadOff(Max()) >> Laplace(sensitivity=1, epsilon=1), {"gamma": "0.05"}),
        (Bucketing(relative="0.1", bounds=(1, 100)) >> Dropping(1, "1e-6") >> ReadOff(Max()), {}),
        (Dropping(1, "1e-6") >> Dropping(1, "1e-6"), {"records_at_least": 5600, "bars": 10}),
        (STLap("0.01", 1), {"records_at_least": 1000, "bars": 4}),
    ],
)
def test_the_last_line_is_the_accuracy_and_each_line_begins_where_the_one_before_ends(
    chain: Mechanism, known: dict[str, Any]
) -> None:
    found = chain.explain(**known)
    assert found.accuracy == chain.accuracy(**known) and str(found).endswith(str(found.accuracy))
    assert [each.name for each in found.steps] == [part.name for part in chain.steps]
    for one, two in zip(found.steps, found.steps[1:], strict=False):
        assert one.after == two.before and two.known.records_at_least == one.step.after.records_at_least
    assert found.steps[0].known == Known(**known) and len({len(row) for row in found.table}) == 1
    shares = [each.carried for each in found.steps]
    if None not in shares:
        assert found.accuracy.alpha is not None
        assert sum(share or 0 for share in shares) == pytest.approx(found.accuracy.alpha)
    assert all(cell in str(found) for row in found.table for cell in row)


def test_what_jumps_is_said_where_the_error_becomes_a_move() -> None:
    found = (PUBLIC >> ReadOff(Mode())).explain(records_at_least=50_000)
    assert [each.moved for each in found.steps] == [False, True, False]
    assert "2.5 → 0, a move instead: a later function jumps" in str(found)
    assert "moved by 2.5" in found.steps[1].cells[-1] and "Derivation" in found._repr_html_()
    with pytest.raises(InputError, match="bars is missing"):
        STLap("0.01", 1).explain()
