"""The page as HTML: sound, named for those who do not see it, escaped, and with the planner's numbers."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp._core.text import markup, visible
from flexdp.web.entries import CHOICES, DEFAULTS, STATISTICS, Entries
from flexdp.web.example import MOST_LOST
from flexdp.web.page import page

VOID = {"meta", "link", "input", "br"}
HOSTILE = (
    '"><script>alert(1)</script>',
    "' autofocus onfocus=alert(1) x='",
    "</select></form><img src=x onerror=alert(1)>",
    "\x1b[31m\u202e",
    "{{7*7}}${7*7}",
    "1" * 4000,
)


class Reader(HTMLParser):
    """Elements nest, ids are unique, nothing runs inline and nothing comes from elsewhere."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self._within: list[str | None] = []
        self.feed(html)
        self.close()
        assert not self.open
        ids = [attributes["id"] for _, attributes in self.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        self.ids = set(ids)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), tag
        for name, value in attrs:
            assert not name.startswith("on") and name != "style", (tag, name)
            assert name == "xmlns" or "//" not in (value or "") or tag in ("input",), (tag, name, value)
        assert tag not in ("script", "style") or attributes.get("src") == "/page.js"
        self.elements.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)
            self._within.append(attributes.get("id"))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag
        self._within.pop()

    def handle_data(self, data: str) -> None:
        data = data.replace("\xa0", " ")
        for name in self._within:
            if name:
                self.text[name] = self.text.get(name, "") + data


def read(**asked: str) -> Reader:
    return Reader(page(Entries.read(asked)))


def controls(found: Reader) -> list[dict[str, str | None]]:
    return [attributes for tag, attributes in found.elements if tag in ("input", "select")]


@pytest.mark.parametrize("stat", STATISTICS)
def test_the_page_is_sound_for_every_statistic(stat: str) -> None:
    for fix in CHOICES["fix"]:
        found = read(stat=stat, fix=fix)
        assert found.text["command"].endswith(f"--stat {stat}")
        assert found.text["result"]


def test_every_control_has_a_name_and_a_place_for_its_error() -> None:
    found = read()
    labelled = {attributes["for"] for tag, attributes in found.elements if tag == "label" and "for" in attributes}
    names = set()
    for control in controls(found):
        if control.get("type") == "radio":
            names.add(control["name"])
            continue
        assert control["id"] in labelled or control.get("aria-label"), control
        if control.get("type") != "range":
            names.add(control["name"])
            assert set((control["aria-describedby"] or "").split()) <= found.ids
    assert names == set(DEFAULTS)


@pytest.mark.parametrize(
    "field", ["epsilon", "delta", "records_about", "size", "low", "max_buckets_per_unit", "groups"]
)
def test_an_error_stands_beside_its_field_and_the_field_keeps_its_text(field: str) -> None:
    found = read(**{field: "nonsense"})
    wrong = [control for control in controls(found) if control.get("aria-invalid")]
    assert [control["id"] for control in wrong] == ([field, "high"] if field == "low" else [field])
    assert wrong[0]["value"] == "nonsense"
    assert f"e-{field}" in (wrong[0]["aria-describedby"] or "")
    assert "got 'nonsense'" in found.text[f"e-{field}"]
    assert "command" not in found.text


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("field", DEFAULTS)
def test_hostile_texts_are_text(field: str, text: str) -> None:
    found = read(**{field: text})
    if field not in CHOICES:
        control = next(control for control in controls(found) if control.get("id") == field)
        assert control["value"] == visible(text.strip())


@given(st.fixed_dictionaries({}, optional={name: st.text(max_size=12) for name in DEFAULTS}))
@settings(max_examples=60, deadline=None)
def test_whatever_is_entered_there_is_a_page(asked: dict[str, str]) -> None:
    found = Reader(page(Entries.read(asked)))
    errors = sum(bool(found.text.get(f"e-{name}")) for name in DEFAULTS)
    assert errors <= 1


def test_the_figures_are_the_row_of_the_plan() -> None:
    own = ({}, {"fix": "loss"}, {"max_buckets_per_unit": "4"}, {"delta": "", "epsilon": "2.5"}, {"releases": "4"})
    for asked in (*own, {"way": "auto"}, {"way": "ask", "stat": "range"}):
        html = page(Entries.read(asked))
        headings, rows = Entries.read(asked).plan().table()
        row = dict(zip(headings, next(row for row in rows if row[0]), strict=True))
        shown = re.findall(r'<div><dt>(.*?)</dt><dd>(.*?)</dd><dd class="why">(.+?)</dd></div>', html)
        assert [value.replace("\xa0", " ") for _, value, _ in shown] == [markup(row[n]) for n in headings if n]


def test_icons_are_as_many_as_the_odds_rounded_up() -> None:
    for epsilon in ("0.05", "0.5", "1", "3", "10"):
        html = page(Entries.read({"epsilon": epsilon}))
        sure = 100 / (1 + math.exp(-float(epsilon)))
        after = math.ceil(sure)
        assert html.count('<circle class="bar"') == 50
        assert html.count('<circle class="more"') == after - 50
        assert html.count('<circle class="no"') == 100 - after


def test_the_example_has_the_buckets_that_were_entered() -> None:
    html = page(Entries.read({"low": "100", "high": "160", "size": "10", "law": "uniform", "records_about": "6000"}))
    drawn = html[html.index('id="example-wide-t"') : html.index('class="narrow"', html.index('id="example-wide-t"'))]
    assert "6 buckets; 0 of them vanish" in drawn and "simulated records in your buckets" in html
    assert {"100", "160"} <= set(re.findall(r"<text[^>]*>([^<]*)</text>", drawn))
    flights = page(Entries.read({"law": "flights", "low": "100", "high": "160"}))
    assert "Example: 328 521 public flights" in flights.replace("\xa0", " ") and "departure delay, minutes" in flights
    group = page(Entries.read({"groups": "5", "records_about": "6000", "law": "uniform"})).replace("\xa0", " ")
    assert "Example: 1 200 simulated records in your buckets, one group" in group
    relative = page(Entries.read({"sizing": "relative", "size": "0.2", "low": "1", "high": "1e4", "law": "lognormal"}))
    assert "value, logarithmic scale" in relative


@pytest.mark.parametrize("way", ["auto", "ask"])
def test_other_ways_to_publish(way: str) -> None:
    found = read(way=way)
    assert ("Records lost against privacy" in found.text["result"]) == (way == "auto")
    assert "What an observer can learn" in found.text["result"] and "Example" not in found.text["result"]
    assert "before: 50 of 100" in found.text["result"] and "after: at most 24 more" in found.text["result"]
    assert ("--ask max" in found.text["command"]) == (way == "ask")


def test_an_example_without_sense_is_not_worked_out() -> None:
    asked = {"epsilon": "0.05", "max_buckets_per_unit": "20"}
    option = Entries.read(asked).plan().chosen
    assert option is not None and option["max_drop"] > MOST_LOST
    assert "Not drawn" in page(Entries.read(asked))
    assert "Not drawn" not in page(Entries.read({"epsilon": "0.05"}))


def test_without_epsilon_there_are_options_and_no_promise() -> None:
    found = read(epsilon="")
    assert "No ε is chosen. Give ε, or a target such as the loss per bucket." in found.text["result"]
    assert "--epsilon E " in found.text["command"] and "figures" not in found.ids


def test_a_larger_epsilon_is_named_and_not_in_the_command_to_copy() -> None:
    entries = Entries.read({"epsilon": "0.01", "records_about": "500", "law": "flights"})
    html, found = page(entries), entries.plan()
    assert found.leaves_nothing and found.larger is not None
    assert Reader(html).text["command"].startswith("flexdp release FILE COLUMN --epsilon 0.01 ")
    assert f"The smallest usual ε that leaves something is {found.larger}, at which" in html
    hopeless = page(Entries.read({"epsilon": "0.001", "records_about": "5", "law": "flights"}))
    assert "Almost nothing would be left, at any usual ε." in hopeless


def test_warnings_of_the_plan_are_shown() -> None:
    asked: dict[str, Any] = {"records_about": "100", "delta": "0.1"}
    warnings = Entries.read(asked).plan().warnings
    assert len(warnings) >= 2
    assert page(Entries.read(asked)).count('class="warning"') == len(warnings)


def test_the_promise_is_about_what_is_read() -> None:
    said = read().text["result"]
    assert "If there are at least 50 000 records, the published maximum of the readable values limited to 0–120" in said
    assert "to within 2.5." in said
    assert "limited to" not in read(low="", high="").text["result"]
    grouped = read(groups="6").text["result"]
    assert "The published maximum of the readable values of each group limited to 0–120 is exact after" in grouped
    assert "together at most" not in grouped, "of a group whose size is not known, no share is promised"
    assert "If there are" not in read(records_about="10", delta="1e-6").text["result"]


def test_what_is_promised_of_a_person_is_said_so() -> None:
    assert "one person in one bucket" in read(max_buckets_per_unit="2").text["result"]
    assert "one person in one bucket" not in read().text["result"]
