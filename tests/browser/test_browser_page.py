"""`flexdp web` in a real browser: every control, the command line's numbers, keyboard, screens, and no way out."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from _support.chromium import chromium, grave, opened, planning_page
from click.testing import CliRunner
from playwright.sync_api import Browser, Page, expect

from flexdp._core.exact import number_text
from flexdp.cli.app import cli
from flexdp.planning import plan

pytestmark = pytest.mark.xdist_group("browser")

WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
NARROW: dict[str, Any] = {"viewport": {"width": 375, "height": 812}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with planning_page() as found:
        yield found


def figures(page: Page) -> dict[str, str]:
    pairs = page.locator(".figures > div").all()
    return {pair.locator("dt").inner_text(): pair.locator("dd:not(.why)").inner_text() for pair in pairs}


def settled(page: Page, line: str) -> None:
    """Wait until the command is as it must become."""
    expect(page.locator("#command")).to_have_text(re.compile(line))


def most_lost(page: Page) -> int:
    return int(figures(page)["most lost per bucket"].replace("\xa0", ""))


def command_line(page: Page) -> dict[str, Any]:
    """What `flexdp plan` says to the question that the page names."""
    line = page.locator("details code").text_content() or ""
    said = CliRunner().invoke(cli, [*shlex.split(line)[1:], "--json"], standalone_mode=False)
    assert said.exception is None
    found: dict[str, Any] = json.loads(said.output)
    return found


def test_every_control_and_the_numbers_are_those_of_the_command_line(browser: Browser, address: str) -> None:
    changes: list[tuple[dict[str, str], str]] = [
        ({"epsilon": "0.8"}, "--epsilon=0.8 "),
        ({"records_about": "200000"}, "--records-about=200000 "),
        ({"delta": "1e-9"}, "--delta=1e-9 "),
        ({"high": "240"}, "--bounds=0:240 "),
        ({"low": "-20"}, "--bounds=-20:240 "),
        ({"size": "10"}, "--width=10 "),
        ({"max_buckets_per_unit": "2"}, "--max-buckets-per-unit=2 "),
        ({"low": "1", "size": "0.1", "sizing": "relative"}, "--bounds=1:240 --relative=0.1 "),
        ({"fix": "loss"}, "--lose-share=0.02 "),
        ({"loss": "40", "lose": "lose_per_bucket"}, "--lose-per-bucket=40 "),
        ({"loss": "8000", "lose": "lose_in_all"}, "--lose-in-all=8000 "),
        ({"fix": "epsilon"}, "--epsilon=0.8 "),
        ({"releases": "2"}, "--releases=2 "),
        ({"law": "uniform"}, "--simulate=uniform "),
        ({"groups": "3"}, "--groups-about=3 "),
        ({"way": "auto", "max_buckets_per_unit": "", "groups": "1"}, "--bounds=1:240 --stat=q0.99$"),
    ]
    with opened(browser, address, **WIDE) as page:
        page.select_option("#stat", "q0.99")
        settled(page, "--stat q0.99$")
        seen = []
        for change, asked in changes:
            for name, value in change.items():
                if name == "fix":
                    page.check(f"#fix-{value}")
                elif name in ("sizing", "lose", "law", "way"):
                    page.select_option(f"#{name}", value)
                else:
                    page.fill(f"#{name}", value)
            expect(page.locator("details code")).to_have_text(re.compile(asked))
            said = command_line(page)
            chosen = next(option for option in said["options"] if option["chosen"])
            shown = figures(page)
            assert most_lost(page) == chosen["max_drop"]
            assert shown["50% sure becomes"] == f"≤ {chosen['certainty']}"
            if "survives from" in shown:
                assert int(shown["survives from"].replace("\xa0", "")) == chosen["survives_from"]
            assert said["command"] == page.locator("#command").text_content()
            assert f"at most {chosen['max_drop']} lost" in page.locator(".wide svg").first.inner_html()
            expect(page.locator(".status")).to_contain_text(f"a bucket loses at most {chosen['max_drop']};")
            seen.append((*shown.values(), page.locator("details code").text_content()))
        assert len(set(seen)) == len(changes) - 1  # one takes the switch back


def test_raising_epsilon_never_raises_what_a_bucket_can_lose(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}?law=flights", **WIDE) as page:
        page.focus("#slider")
        page.keyboard.press("Home")
        settled(page, "--epsilon 0.05 ")
        losses, maxima = [most_lost(page)], [int(page.locator(".example tr.all td").nth(1).inner_text())]
        while page.locator("#slider").input_value() != "230":
            for _ in range(10):
                page.keyboard.press("ArrowRight")
            settled(page, f"--epsilon {re.escape(page.locator('#epsilon').input_value())} ")
            losses.append(most_lost(page))
            maxima.append(int(page.locator(".example tr.all td").nth(1).inner_text()))
        assert len(losses) == 24 and page.locator("#epsilon").input_value() == "10"
        assert all(less >= more for less, more in pairwise(losses)) and losses[0] > 10 * losses[-1]
        assert maxima[0] < maxima[-1], "the published maximum of the example moves towards the truth"


def test_the_picture_follows_a_drag(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}?law=flights", **WIDE) as page:
        drawn = page.locator(".example .wide path.bar")
        before = drawn.get_attribute("d")
        place = page.locator("#slider").bounding_box()
        assert place is not None
        middle = place["y"] + place["height"] / 2
        page.mouse.move(place["x"] + place["width"] / 2, middle)
        page.mouse.down()
        for step in range(1, 6):  # it is drawn anew while the button is still down
            page.mouse.move(place["x"] + place["width"] * (5 - step) / 10 + 4, middle)
            expect(drawn).not_to_have_attribute("d", before or "")
            before = drawn.get_attribute("d")
        page.mouse.up()
        settled(page, f"--epsilon {re.escape(page.locator('#epsilon').input_value())} ")
        assert float(page.locator("#epsilon").input_value()) < 0.1
        option = plan(epsilon=page.locator("#epsilon").input_value(), delta="1e-6").chosen
        assert option is not None and most_lost(page) == option["max_drop"]


def test_the_last_entry_is_what_stays(browser: Browser, address: str) -> None:
    """Answers are held back, so that several entries are made while one request is under way."""
    with opened(browser, address, **WIDE) as page:
        page.route("**/*", lambda route: (page.wait_for_timeout(120), route.continue_()))
        for epsilon in ("2", "3", "0.5", "0.25"):
            page.fill("#epsilon", epsilon)
            page.wait_for_timeout(170)
        settled(page, "--epsilon 0.25 ")
        page.wait_for_timeout(400)
        settled(page, "--epsilon 0.25 ")
        assert "epsilon=0.25&" in page.url


def test_a_bad_entry_is_told_beside_its_field_and_the_page_stays(browser: Browser, address: str) -> None:
    with opened(browser, address, **WIDE) as page:
        page.fill("#delta", "5")
        error = page.locator("#e-delta")
        expect(error).to_contain_text("δ must be in")
        assert page.locator("#delta").get_attribute("aria-invalid") == "true"
        assert "e-delta" in (page.locator("#delta").get_attribute("aria-describedby") or "")
        expect(page.locator(".status")).to_contain_text("from before")
        assert figures(page)["ε"] == "1"
        below, field = error.bounding_box(), page.locator("#delta").bounding_box()
        assert below is not None and field is not None and 0 <= below["y"] - field["y"] - field["height"] < 12
        assert grave(page) == []
        page.fill("#delta", "1e-8")
        settled(page, "--delta 1e-08 ")
        expect(error).to_be_empty()
        assert page.locator("#delta").get_attribute("aria-invalid") is None


def test_by_keyboard_alone(browser: Browser, address: str) -> None:
    context = {**WIDE, "permissions": ["clipboard-read", "clipboard-write"]}
    with opened(browser, address, **context) as page:
        reached = []
        for _ in range(40):
            page.keyboard.press("Tab")
            name = page.evaluate("document.activeElement.id || document.activeElement.className")
            reached.append(name)
            assert page.evaluate("document.activeElement.matches(':focus-visible')")
            if name == "high":
                page.keyboard.press("Control+A")
                page.keyboard.type("100")
            if name == "stat":
                page.keyboard.press("ArrowDown")
            if name == "slider":
                page.keyboard.press("End")
                settled(page, "--epsilon 10 ")
            if name == "copy":
                break
        assert reached[0] == "skip"
        wanted = [
            "stat",
            "records_about",
            "low",
            "high",
            "size",
            "sizing",
            "delta",
            "max_buckets_per_unit",
            "groups",
            "releases",
            "law",
        ]
        assert [name for name in reached if name in wanted] == wanted
        first = next(place for place, name in enumerate(reached) if name in wanted)
        assert reached[first - 3 : first] == ["epsilon", "slider", "way"] and reached[-2:] == ["line", "copy"]
        settled(page, "--bounds 0:100 --stat min")
        page.keyboard.press("Enter")
        expect(page.locator("#copy")).to_have_text("Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == page.locator("#command").text_content()
        assert copied.endswith("--bounds 0:100 --stat min") and "--epsilon 10 " in copied


def test_the_switch_by_keyboard(browser: Browser, address: str) -> None:
    with opened(browser, address, **WIDE) as page:
        expect(page.locator("#loss")).to_be_hidden()
        page.focus("#fix-epsilon")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#loss")).to_be_visible()
        expect(page.locator("#slider")).to_be_hidden()
        settled(page, "--epsilon 0.6")
        assert "smallest ε that fits" in figures(page)


def test_typing_does_not_lose_the_focus(browser: Browser, address: str) -> None:
    with opened(browser, address, **WIDE) as page:
        page.locator("details summary").click()
        page.fill("#epsilon", "2")
        page.focus("#copy")
        settled(page, "--epsilon 2 ")
        assert page.evaluate("document.activeElement.id") == "copy"
        assert page.locator("details").get_attribute("open") is not None


def test_without_a_script(browser: Browser, address: str) -> None:
    with opened(browser, address, **WIDE, java_script_enabled=False) as page:
        expect(page.locator("#slider")).to_be_hidden()
        expect(page.locator("#copy")).to_be_hidden()
        page.fill("#epsilon", "0.4")
        page.select_option("#stat", "median")
        page.get_by_role("button", name="Plan").click()
        settled(page, "--epsilon 0.4 .*--stat median")
        option = plan(epsilon="0.4", delta="1e-6").chosen
        assert option is not None and most_lost(page) == option["max_drop"]
        page.fill("#epsilon", "-1")
        page.keyboard.press("Enter")
        expect(page.locator("#e-epsilon")).to_contain_text("ε must be in")
        assert page.locator("#epsilon").input_value() == "-1"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", [WIDE, NARROW], ids=["wide", "narrow"])
def test_on_every_screen(browser: Browser, address: str, screen: dict[str, Any], scheme: Any) -> None:
    options = {**screen, "color_scheme": scheme, "reduced_motion": "reduce"}
    long = f"{address}?epsilon=0.123456789&records_about=123456789012&high=1e12&size=1e9&max_buckets_per_unit=7"
    for where in (address, long):
        with opened(browser, where, **options) as page:
            page.locator("details summary").click()
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= screen["viewport"]["width"], where
            assert grave(page) == []
            kind = "narrow" if screen is NARROW else "wide"
            drawn = page.locator(f".{kind} svg")
            assert drawn.count() >= 1 and all(one.is_visible() for one in drawn.all())
            smallest = page.evaluate(
                """kind => Math.min(...[...document.querySelectorAll(`.${kind} svg`)].map(
                    svg => 12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))""",
                kind,
            )
            assert smallest >= 10, "letters in pictures stay readable"


def test_the_page_prints(browser: Browser, address: str) -> None:
    with opened(browser, address, **WIDE) as page:
        page.emulate_media(media="print")
        for hidden in ("#slider", "#copy", ".skip"):
            expect(page.locator(hidden)).to_be_hidden()
        assert len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4"))) <= 3


def test_another_name_for_this_machine_is_refused(browser: Browser, address: str) -> None:
    port = address.rstrip("/").rsplit(":", 1)[1]
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(f"http://rebound.localhost:{port}/")
    assert answer is not None and answer.status == 403
    context.close()


def test_the_server_gone_is_told(browser: Browser) -> None:
    with planning_page() as gone, opened(browser, gone, strict=False, **WIDE) as page:
        page.route("**/*", lambda route: route.abort())
        page.fill("#epsilon", "2")
        expect(page.locator(".status")).to_contain_text("Is flexdp web still running")


def test_epsilon_is_shown_as_entered(browser: Browser, address: str) -> None:
    with opened(browser, address, **WIDE) as page:
        page.fill("#epsilon", "1/3")
        settled(page, "--epsilon 1/3 ")
        assert figures(page)["ε"] == number_text(plan(epsilon="1/3", delta="1e-6").epsilon or 0)
