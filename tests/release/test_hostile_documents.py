"""Documents of releases that somebody has tampered with: each is a release or an InputError, and none takes long."""

from __future__ import annotations

import copy
import json
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, NoReturn

import pytest
from _support.documents import every_shape
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import InputError, Release, Releases
from flexdp.accounting.budget import Budget, has_reach
from flexdp.calculus.powers import group_factor

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


DOCUMENTS = every_shape()
NUMBERS = st.sampled_from([0, 1, -1, 28, 2**53, 2**63, 10**6, 10**18, 10**400, 0.5, 1e308, -0.0, "9" * 5000, "-1e999"])
TEXTS = st.sampled_from(
    ["", "a", "\ud800", "1e-9", "1e-6", "10000", "1/3", "0." + "3" * 900, "1e400", "nan", "text", "integer", "datetime",
     "2024-01-01", "1 month", "x" * 70_000, "=1+1", "\x1b[31m"]
)  # fmt: skip
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.dictionaries(st.sampled_from(["width", "relative", "edges", "bounds", "q", "key"]), SCALARS, max_size=3),
    st.builds(lambda: [[[[]]]]),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a value can be changed."""
    found: list[tuple[Any, ...]] = [path] if path else []
    if isinstance(value, dict):
        found += [place for key in value for place in places(value[key], (*path, key))]
    elif isinstance(value, list):
        found += [place for i in range(min(len(value), 2)) for place in places(value[i], (*path, i))]
    return found


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def text_of(document: Any) -> str:
    """As JSON, in which numbers may be longer than Python writes or reads them."""
    return json.dumps(document).replace(f'"{"9" * 5000}"', "9" * 5000).replace('"-1e999"', "-1e999")


@st.composite
def tampered(draw: st.DrawFn) -> str:
    document = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(document)))
        holder, last, value = at(document, path[:-1]), path[-1], draw(VALUES)
        how = draw(st.sampled_from(["replace", "drop", "insert"]))
        if how == "replace":
            holder[last] = value
        elif how == "drop":
            del holder[last]
        elif isinstance(holder, list):
            holder.insert(last, value)
        else:
            holder[draw(st.sampled_from(["zone", "by", "groups", "certified", "other"]))] = value
    return text_of(document)


@settings(
    max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)
@given(tampered())
def test_a_tampered_document_is_a_release_or_refused(text: str) -> None:
    try:
        found = Release.from_json(text)
    except InputError as refusal:
        assert "\n" not in str(refusal) and str(refusal).isprintable()
        return
    told = found.mode() if found.budget is not None else found.median()
    for written in (found.to_json(), repr(found), str(found.certificate()), str(told)):
        written.encode()  # whatever was let through can be shown


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document["column"]))
def test_the_documents_that_are_tampered_with_are_valid(document: dict[str, Any]) -> None:
    assert json.loads(Release.from_json(json.dumps(document)).to_json()) == document


@pytest.mark.parametrize(
    "change",
    [
        ('"q": 28', '"q": 27, "q": 28'),
        ('{"schema"', '{"answers": [NaN], "schema"'),
        ('{"schema"', '{"answers": [-Infinity], "schema"'),
        ('{"schema"', '{"answers": ["\\ud83d"], "schema"'),
        ('"w1"', '"\\uDC00w"'),
        ('"w1"', '"' + "w" * 65_537 + '"'),
        ('"flexdp": "', '"flexdp": "\\udfff'),
        ('{"schema"', '{"answers": ' + "[" * 100_000 + "]" * 100_000 + ', "schema"'),
        ('"q": 28', '"q": ' + "9" * 5000),
    ],
    ids=range(9),
)
def test_what_json_allows_and_a_release_does_not(change: tuple[str, str]) -> None:
    text = json.dumps(DOCUMENTS[1])
    assert change[0] in text
    for wrong in (text.replace(*change, 1), text.replace(*change, 1).encode()):
        with pytest.raises(InputError, match="complete and unchanged"):
            Release.from_json(wrong)
        with pytest.raises(InputError, match="complete and unchanged"):
            Releases.from_json(wrong)


def test_texts_beyond_the_first_plane_are_read_however_they_are_written() -> None:
    released = flexdp.release(["🙂", "é"] * 100, kind="text", **SPEND)
    for text in (released.to_json(), json.dumps(json.loads(released.to_json()))):
        for form in (text, text.encode(), text.encode("utf-16-le")):
            assert Release.from_json(form).support().value == ("é", "🙂")
    with pytest.raises(InputError, match="complete and unchanged"):
        Release.from_json(released.to_json().replace("🙂", "\ud83d").encode("utf-8", "surrogatepass"))


def test_a_claim_of_another_reach_is_refused_before_its_table_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of a reach of a million takes seconds."""

    def made(*_: Any) -> NoReturn:
        raise AssertionError("a table was made")

    monkeypatch.setattr("flexdp.noise.drop.noise_table", made)
    for privacy in ({"epsilon": "1/1000000000"}, {"epsilon": "1/100000"}, {"delta": "1/1000000000000000000000"}):
        document = {**DOCUMENTS[0], "privacy": {**DOCUMENTS[0]["privacy"], **privacy}}
        with pytest.raises(InputError, match="complete and unchanged"):
            Release.from_json(json.dumps(document))


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("certify", [None, "1/3"])
def test_a_reach_is_told_without_its_table(most: int, certify: str | None) -> None:
    q = Budget(1, "1e-6", most=most, certify=certify).bars.q
    assert has_reach(q, 1, "1e-6", most=most, certify=certify)
    for other in (q - 1, q + 1, 0, -1, 10**6, 10**400, float(q), str(q), None, True):
        assert not has_reach(other, 1, "1e-6", most=most, certify=certify)


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 10**9), Fraction(5, 3), Fraction(1, 100)])
@pytest.mark.parametrize("times", [2, 3, 7, 64, 1000, 10**6])
def test_what_steps_add_up_to_is_bounded_from_above_and_closely(step: Fraction, times: int) -> None:
    """Against (e^{ks} − 1)/(e^s − 1), computed with four hundred digits."""
    context = Context(prec=400, rounding=ROUND_FLOOR)
    one = context.divide(Decimal(step.numerator), Decimal(step.denominator))
    all_of_them = context.divide(Decimal(step.numerator * times), Decimal(step.denominator))
    whole = context.divide(context.subtract(context.exp(all_of_them), 1), context.subtract(context.exp(one), 1))
    share = group_factor(step, times) / Fraction(whole)
    assert 1 <= share <= 1 + Fraction(1, 10**40)


def test_a_million_buckets_for_each_unit_are_answered() -> None:
    """A loop over them would not come to an end here."""
    with pytest.raises(InputError, match="too small to be shared by max_buckets_per_unit and certify"):
        Budget(10_000, "1e-6", most=10**6, certify="0.5")
    with pytest.raises(InputError):
        Budget(10_000, "1e-6", most=10**300, certify="0.5")
    privacy = {**DOCUMENTS[7]["privacy"], "epsilon": "10000", "max_buckets_per_unit": 10**6}
    with pytest.raises(InputError):
        Release.from_json(json.dumps({**DOCUMENTS[7], "privacy": privacy}))
