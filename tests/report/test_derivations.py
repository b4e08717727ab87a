"""The picture of a derivation has every number that the derivation has, where the theorem puts it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from flexdp.errors import InputError
from flexdp.mechanisms import Bucketing, Chain, Dropping, Laplace, ReadOff
from flexdp.report import derivation_chart
from flexdp.statistics import Max, Mode

THINNED = Bucketing(width=5, bounds=(0, 120)) >> Dropping(1, "1e-6")


def words(chain: Chain, **known: int) -> list[str]:
    drawn = derivation_chart(chain.explain(**known))
    ElementTree.fromstring(drawn)
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawn)


def test_every_number_of_the_derivation_is_drawn() -> None:
    chain = THINNED >> ReadOff(Max())
    found = words(chain, records_at_least=64_800)
    assert found.count("β = 2.5") == 3 and "α = 1%" in found
    assert "α₂ = 1% of its input" in found and "σ: 1% of x" in found
    assert [each.name for each in chain.explain(records_at_least=64_800).steps] == [
        word for word in found if word in ("Bucketing", "Dropping", "ReadOff(maximum)")
    ]
    more = words(chain, records_at_least=6_480_000)
    assert "α = 0.01%" in more and "α = 1%" not in more, "the numbers are those of the derivation"


def test_an_error_that_becomes_a_move_is_dotted() -> None:
    found = words(THINNED >> ReadOff(Mode()), records_at_least=64_800)
    assert found.count("moved by 2.5") == 2 and found[-2] != "β = 2.5"


def test_what_is_not_known_is_said() -> None:
    assert "α₂ = not known of its input" in words(THINNED >> ReadOff(Max()))


def test_a_chance_stands_beside_its_error() -> None:
    chain = THINNED >> ReadOff(Max()) >> Laplace(sensitivity=1, epsilon=1)
    drawn = derivation_chart(chain.explain(records_at_least=64_800, gamma="0.05"))
    assert "γ = 0.05" in drawn


def test_only_a_derivation_is_drawn() -> None:
    with pytest.raises(InputError, match="derivation must be a Derivation"):
        derivation_chart("x")  # type: ignore[arg-type]
