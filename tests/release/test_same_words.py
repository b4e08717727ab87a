"""JSON, printed sentence, notebook card and page say the same words; conditions stand once above the answers."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

import polars as pl
import pytest
from _support.markup import read_html

import flexdp
from flexdp._release.api import prepare
from flexdp.cli.output import json_document, parse_stats, print_answers

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
ROWS = 6000
TABLE = pl.DataFrame(
    {
        "age": [20.0 + i * 7 % 60 for i in range(ROWS)],
        "visits": [1 + i % 12000 for i in range(ROWS)],
        "ward": ["north", "Ear, nose", "south"] * (ROWS // 3),
        "company": [i // 2 for i in range(ROWS)],
        "day": [dt.date(2024, 1, 1) + dt.timedelta(days=i % 366) for i in range(ROWS)],
        "seen": [dt.datetime(2024, 3, 1) + dt.timedelta(minutes=7 * (i % 900)) for i in range(ROWS)],
    }
)
SHAPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "open": ("age", {"width": 5}),
    "bounded": ("age", {"width": 5, "bounds": (0, 120)}),
    "within": ("age", {"width": 5, "bounds": (0, 50), "outside": "drop"}),
    "exact": ("age", {"exact": True}),
    "automatic": ("age", {}),
    "automatic by group": ("age", {"by": "ward"}),
    "automatic days": ("day", {}),
    "relative": ("visits", {"relative": "0.3"}),
    "large": ("visits", {"width": 1000}),
    "groups": ("age", {"width": 20, "by": "ward"}),
    "declared": ("age", {"width": 20, "bounds": (0, 120), "by": "ward", "groups": ["north", "south"]}),
    "units": ("age", {"width": 20, "unit": "company", "max_buckets_per_unit": 2, "by": "ward"}),
    "one value": ("age", {"width": 20, "unit": "company", "per_unit": "min"}),
    "certified": ("age", {"width": 5, "certify": "0.1"}),
    "months": ("day", {"width": "1 month"}),
    "hours": ("seen", {"width": "12 hours"}),
    "texts": ("ward", {}),
    "points": (["age", "visits"], {"width": [20, 3000]}),
    "nothing": ("age", {"width": 5, "bounds": (500, 600), "outside": "drop"}),
}


def spoken(html: str) -> str:
    """The text of a page or a card, as a reader sees it."""
    return re.sub(r"\s+", " ", " ".join(read_html(html).text))


@pytest.mark.parametrize("shape", SHAPES)
def test_json_sentence_card_and_page_say_the_same(shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    column, options = SHAPES[shape]
    released = flexdp.release(TABLE, column, **SPEND, **options)
    questions = parse_stats((), prepare(TABLE, column, **{k: v for k, v in options.items() if k != "certify"}))
    answers = [question(released) for question in questions]
    document = json_document(released, questions)
    assert [each["statement"] for each in document["answers"][: len(answers)]] == [str(answer) for answer in answers]
    assert document["conditions"] == list(released.conditions)
    assert flexdp.Release.from_json(json.dumps(document)) == released
    print_answers(released, answers)
    printed = capsys.readouterr().out.splitlines()
    assert printed[: len(released.conditions)] == list(released.conditions)
    page, card = spoken(released.to_html()), spoken(released._repr_html_())
    for answer in answers:
        assert str(answer) in printed
        assert str(answer) in spoken(answer._repr_html_())
        assert answer.text in str(answer) or answer.name == "counts" or answer.text == "nothing survived"
    from flexdp.report.html.page import standard_answers

    for answer in standard_answers(released):
        assert str(answer) in page and str(answer) in card
        assert page.index(" ".join(released.conditions)) < page.index(str(answer))
        assert card.index(" ".join(released.conditions)) < card.index(str(answer))
    certificate = str(released.certificate())
    assert all(condition in certificate for condition in released.conditions)
    if released.spec.by:
        for answer in released.by_group().max().values():
            assert str(answer) in spoken(released.by_group().max()._repr_html_())


@pytest.mark.parametrize("shape", SHAPES)
def test_the_voice(shape: str) -> None:
    """No plural of a column's name, no bare long number, no quantile by its level, no sentence that runs on."""
    column, options = SHAPES[shape]
    released = flexdp.release(TABLE, column, **SPEND, **options)
    texts = [spoken(released.to_html()), spoken(released._repr_html_()), str(released.certificate())]
    for text in texts:
        assert not re.search(r"companys|pids|\bwards\b|-quantile|surely|in all\b|never too high and", text), text
        assert "bar is present" not in text
    for text in (texts[0].split("Appendix")[0], texts[1]):
        proof = re.sub(r"[0-9.]+e-[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}", "", text)
        assert not re.search(r"(?<![0-9.])[0-9]{5,}", proof), "thousands are set apart"
    for answer in (released.mode(), released.support(), released.counts()):
        assert str(answer).endswith(".") and "  " not in str(answer)


def test_the_example_of_the_style_guide() -> None:
    """One unit, one ward, ages from 20 to 80 in buckets of five."""
    released = flexdp.release(TABLE, "age", width=5, by="ward", unit="company", max_buckets_per_unit=1, **SPEND)
    text = released.max().text
    told = re.fullmatch(
        r"Highest age(?P<once>, .+)?: (?P<range>[0-9]{2}–[0-9]{2}) or more\. (?P<rest>.+)\.", str(released.max())
    )
    assert told is not None and text == f"{told['range']} or more"
    assert told["rest"] == (
        "So counted, at most 27 units (company) per bucket and ward were left out; up to 27 of each ward may lie in "
        f"each higher bucket, and apart from those the highest lies in {told['range']}"
    )
