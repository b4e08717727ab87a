"""HTML reports in a real browser: accessible, on two sheets of paper, on every screen, and deaf to hostile names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from _support.chromium import chromium, grave, opened
from playwright.sync_api import Browser

import flexdp
from flexdp.report.html.tables import scrolling

pytestmark = pytest.mark.xdist_group("browser")

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
HOSTILE = (
    "<script>document.title='run'</script>",
    "</script><img src=x onerror=alert(1)>",
    "</title></desc></svg><svg onload=alert(1)>",
    '" onmouseover="alert(1)" autofocus onfocus="alert(1)',
    "]]><!-- --><b>",
    "javascript:alert(1)",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of every shape: numbers, texts, groups, a grid."""
    folder = tmp_path_factory.mktemp("reports")
    values = np.repeat(np.arange(24) * 5 + 2.0, 200 + 37 * (np.arange(24) % 7))
    frame = pd.DataFrame(
        {"age": values, "ward": np.where(np.arange(len(values)) % 3 == 0, "north", "south"), "y": values[::-1]}
    )
    bounded: dict[str, Any] = {"width": 5, "bounds": (0, 120)}
    texts = [key for key in HOSTILE for _ in range(200)]
    made = {
        "numbers": flexdp.release(frame, "age", **SPEND, **bounded),
        "groups": flexdp.release(
            frame.assign(ward=frame["ward"].astype("string")), "age", by="ward", **SPEND, width=20
        ),
        "grid": flexdp.release(frame, ["age", "y"], **SPEND, width=20),
        "texts": flexdp.release(texts, **SPEND, kind="text"),
    }
    for name, release in made.items():
        release.report(folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in made}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_reports_are_accessible_and_ask_for_nothing(browser: Browser, reports: dict[str, Path], scheme: Any) -> None:
    for path in reports.values():
        options: dict[str, Any] = {"color_scheme": scheme, "bypass_csp": True}  # axe is put into the page by the test
        with opened(browser, path.as_uri(), **options, viewport={"width": 1440, "height": 900}) as page:
            assert grave(page) == [], path.name


def test_reports_fit_every_screen(browser: Browser, reports: dict[str, Path]) -> None:
    for path in reports.values():
        for width in (375, 1440):
            with opened(browser, path.as_uri(), viewport={"width": width, "height": 812}) as page:
                assert page.evaluate("document.documentElement.scrollWidth") <= width, path.name


def test_the_first_table_of_a_summary_hides_no_column(browser: Browser, tmp_path: Path) -> None:
    days = pd.date_range("2023-01-01 07:30", periods=4000, freq="3h")
    visits = pl.DataFrame({"patient number": range(100_000, 104_000), "day": days, "left": days, "cost": [9.5] * 4000})
    flexdp.summary(visits, epsilon=9, delta="1e-6").report(tmp_path / "summary.html")
    with opened(browser, (tmp_path / "summary.html").as_uri(), viewport={"width": 1100, "height": 900}) as page:
        beyond = "table => table.scrollWidth - table.clientWidth"
        assert page.locator(".scroll").first.locator("th").count() == 7
        assert page.locator(".scroll").first.evaluate(beyond) <= 0
        # The longest cells, which are rare.
        head = ["Column", "Minimum", "Minimum, guaranteed", "Median", "Highest", "Maximum", "Maximum, guaranteed"]
        longest = ["left", *["at most 2023-01-26 11:59:59.999999"] * 6]
        drawn = scrolling("Columns", head, [longest, ["cost", *["about 9.4999999875"] * 6]], wraps=True)
        page.locator(".scroll").first.evaluate("(table, drawn) => { table.outerHTML = drawn }", drawn)
        assert page.locator(".scroll").first.evaluate(beyond) <= 0
        page.locator(".scroll").first.evaluate("table => { table.style.width = '300px' }")
        assert page.locator(".scroll").first.evaluate(beyond) > 0, "the test sees what is hidden"


def test_the_first_screen_has_all_that_a_reader_needs_first(browser: Browser, reports: dict[str, Path]) -> None:
    """Title, answers, picture and promise, without scrolling; on a narrow screen a picture of its own width."""
    with opened(browser, reports["numbers"].as_uri(), viewport={"width": 1440, "height": 900}) as page:
        places = [page.locator(what).bounding_box() for what in ("h1", "table.answers", ".wide svg", ".promise")]
        tops = [place["y"] for place in places if place is not None]
        last = places[-1]
        assert tops == sorted(tops) and last is not None and last["y"] + last["height"] <= 900
        assert page.locator(".narrow svg").is_hidden()
    for name in ("numbers", "groups", "grid"):
        with opened(browser, reports[name].as_uri(), viewport={"width": 375, "height": 812}) as page:
            assert page.locator(".wide svg").is_hidden()
            drawn = page.locator(".narrow svg").bounding_box()
            assert drawn is not None and drawn["x"] >= 0 and drawn["x"] + drawn["width"] <= 375, "nothing is cut off"
            letters = page.evaluate(
                """() => { const svg = document.querySelector('.narrow svg');
                return 12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width }"""
            )
            assert letters >= 10, "letters stay readable"


def test_reports_print_on_two_pages(browser: Browser, reports: dict[str, Path]) -> None:
    for path in reports.values():
        with opened(browser, path.as_uri()) as page:
            pages = re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4"))
            assert 1 <= len(pages) <= 2, path.name


def test_hostile_names_do_not_run(browser: Browser, tmp_path: Path) -> None:
    values = [float(i % 60) for i in range(6000)]
    for place, name in enumerate(HOSTILE):
        frame = pd.DataFrame({name: values, "by": pd.array([HOSTILE[i % 6] for i in range(6000)], dtype="string")})
        path = tmp_path / f"{place}.html"
        flexdp.release(frame, name, by="by", **SPEND, width=20).report(path)
        with opened(browser, path.as_uri()) as page:
            assert page.title() == f"Release of {name} by by"
            assert page.evaluate("document.scripts.length") == 1
            assert page.evaluate("document.scripts[0].type") == "application/json"
            assert page.evaluate("document.images.length") == 0
            page.mouse.move(300, 300)
            page.keyboard.press("Tab")


def test_a_page_that_does_run_something_is_caught(browser: Browser, tmp_path: Path) -> None:
    """The control: without escaping and without its policy, the same names do run, ask, and are noticed."""
    path = tmp_path / "open.html"
    path.write_text(f"<title>x</title><h1>{HOSTILE[1]}</h1><img src='http://127.0.0.1:9/x.png' width=2000 height=9>")
    found: dict[str, Any] = {}
    narrow = {"viewport": {"width": 375, "height": 812}}
    with pytest.raises(AssertionError, match=r"127\.0\.0\.1:9"), opened(browser, path.as_uri(), **narrow) as page:
        found = {"width": page.evaluate("document.documentElement.scrollWidth"), "grave": grave(page)}
    assert found["width"] > 375 and any("image-alt" in each for each in found["grave"])
    speaking = HOSTILE[1].replace("alert(1)", "alert(1);window.answered=true")
    path.write_text(f"<title>x</title><h1>{speaking}</h1>")
    with pytest.raises(AssertionError, match="dialog: 1"), opened(browser, path.as_uri()) as page:
        page.wait_for_function("window.answered")
