"""Cards in a real JupyterLab: trusted or not, light or dark, and in a page that nbconvert makes of a notebook."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from _support.chromium import PATIENCE, chromium
from _support.jupyter import Laboratory, laboratory, notebook, program
from playwright.sync_api import Browser, Page

import flexdp
from flexdp import Accuracy, Privacy

pytestmark = pytest.mark.xdist_group("browser")

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
IN_THE_PICTURE = "at most 27 more in each bucket"
# What cards were made of before: JupyterLab sets the terms of a list upright, and shows the text of a picture.
FORMER = (
    "<div class='flexdp-card'><dl><dt>released</dt><dd>5 buckets</dd></dl>"
    f"<svg width='300' height='20'><text>former: {IN_THE_PICTURE}</text></svg></div>"
)
MEASURED = """() => [...document.querySelectorAll('.jp-OutputArea-output')].map(output => {
  const cells = [...output.querySelectorAll('th, td')], images = [...output.querySelectorAll('img')];
  const colour = text => text.match(/[0-9.]+/g).slice(0, 3).map(Number);
  const light = text => colour(text).map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const paper = getComputedStyle(document.body).getPropertyValue('--jp-layout-color0').trim();
  const probe = document.createElement('p'); probe.style.color = paper; document.body.append(probe);
  const ground = light(getComputedStyle(probe).color); probe.remove();
  const contrast = element => { const ink = light(getComputedStyle(element).color);
    return (Math.max(ink, ground) + .05) / (Math.min(ink, ground) + .05); };
  return {
    text: output.innerText,
    images: images.map(image => ({wide: image.naturalWidth, shown: image.getBoundingClientRect().width,
      alt: image.alt, filter: getComputedStyle(image).filter})),
    upright: cells.filter(cell => cell.innerText.trim().length > 5 && cell.getBoundingClientRect().width < 34).length,
    cut: [...output.querySelectorAll('table')].filter(
      table => table.getBoundingClientRect().right > output.getBoundingClientRect().right + 1).length,
    left: [...output.querySelectorAll('tr')].map(row => row.cells[0]).filter(cell => cell.innerText.length > 12)
      .map(cell => getComputedStyle(cell).textAlign),
    contrast: Math.min(9, ...[...cells, ...output.querySelectorAll('p')].map(contrast)),
    border: Math.max(0, ...[...output.querySelectorAll('.flexdp-card')].map(
      card => parseFloat(getComputedStyle(card).borderLeftWidth))),
  };
})"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One object of each kind that has a card; a former card comes last."""
    places = np.arange(6000)
    wards = np.array(["Cardiology", "Ear, nose and throat", "Surgery"])[places % 3]
    table = pl.DataFrame({"age": 20.0 + places % 60, "ward": wards})
    ledger = flexdp.Ledger(tmp_path_factory.mktemp("ledger") / "b.db")
    ledger.create("visits", epsilon=3, delta="1e-5")
    ledger.charge("visits", Privacy(**SPEND))
    ages = flexdp.release(table, "age", **SPEND, width=5, bounds=(0, 120))
    groups = flexdp.release(table, "age", by="ward", **SPEND, width=20)
    return {
        "ages": ages,
        "plot": ages.plot(),
        "groups": groups,
        "by group": groups.by_group().max(),
        "both": flexdp.release(table, ["age", "ward"], separately=True, epsilon=2, delta="1e-6", exact=True),
        "plan": flexdp.plan(**SPEND, records_about=50_000, bounds=(0, 120), width=5),
        "accuracy": Accuracy(alpha=0.02, beta=2.5),
        "ledger": ledger,
        "former": FORMER,
    }


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    program("jupyter-lab")
    with laboratory(tmp_path_factory.mktemp("lab")) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def measured(page: Page, many: int) -> list[dict[str, Any]]:
    """What each output looks like, once all are there and their pictures are read."""
    page.wait_for_function(f"document.querySelectorAll('.jp-OutputArea-output').length >= {many}")
    page.wait_for_function("[...document.querySelectorAll('.jp-OutputArea-output img')].every(i => i.complete)")
    if folder := os.environ.get("FLEXDP_LOOK"):  # to look at with one's own eyes
        page.screenshot(path=f"{folder}/{re.sub(r'[^a-z]+', '-', page.url.lower())[-40:]}.png", full_page=True)
    found: list[dict[str, Any]] = page.evaluate(MEASURED)
    assert len(found) == many
    return found


def check(found: list[dict[str, Any]], shown: dict[str, Any]) -> None:
    """What holds of every card, wherever it is shown."""
    for name, card in zip(shown, found[:-1], strict=False):
        assert card["upright"] == card["cut"] == 0, name
        assert set(card["left"]) <= {"left", "start"}, name
        assert card["contrast"] >= 4.5, (name, card["contrast"])
        assert IN_THE_PICTURE not in card["text"] and "fill:" not in card["text"], name
        assert all(image["wide"] > 600 and image["shown"] > 500 and image["alt"] for image in card["images"]), name
    by_name = dict(zip(shown, found, strict=True))
    assert [len(by_name[name]["images"]) for name in ("ages", "plot", "groups", "both", "plan")] == [1, 1, 1, 2, 1]
    assert "Highest age" in by_name["ages"]["text"] and "Ear, nose and throat" in by_name["groups"]["text"]
    assert "most lost" in by_name["plan"]["text"] and "33.3% of the budget spent" in by_name["ledger"]["text"]


@pytest.mark.parametrize("theme", ["Light", "Dark"])
@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
def test_cards_in_a_laboratory(
    lab: Laboratory, browser: Browser, shown: dict[str, Any], trusted: bool, theme: str
) -> None:
    lab.theme(theme)
    name = f"{'trusted' if trusted else 'untrusted'}-{theme.lower()}"
    address = lab.put(
        name, notebook({f"{source}  # {name}": value for source, value in shown.items()}), trusted=trusted
    )
    context = browser.new_context(viewport={"width": 1000, "height": 6000})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(address)
    found = measured(page, len(shown))
    assert page.evaluate("document.body.dataset.jpThemeLight") == str(theme == "Light").lower()
    context.close()
    check(found, shown)
    styled = [card["border"] for card in found if card is not found[1]]
    assert max(styled[:-1]) == (4 if trusted else 0), "a notebook that is not trusted loses the style, and nothing else"
    turned = {image["filter"] for card in found for image in card["images"]}
    assert (turned != {"none"}) == (trusted and theme == "Dark")
    assert trusted or "former" in found[-1]["text"], "the control: the text of an SVG picture is shown as garbage"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_cards_in_a_converted_notebook(browser: Browser, shown: dict[str, Any], tmp_path: Path, theme: str) -> None:
    (tmp_path / "n.ipynb").write_text(notebook(shown))
    command = [program("jupyter"), "nbconvert", "--to", "html", "--theme", theme, "n.ipynb"]
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HOME": str(tmp_path)}
    subprocess.run(command, cwd=tmp_path, env=alone, check=True, capture_output=True)
    context = browser.new_context(viewport={"width": 1000, "height": 2000})
    page = context.new_page()
    page.route(re.compile("^https?:"), lambda route: route.abort())  # the page would load MathJax from elsewhere
    page.goto((tmp_path / "n.html").as_uri())
    found = measured(page, len(shown))
    context.close()
    check(found, shown)
    assert ({image["filter"] for card in found for image in card["images"]} != {"none"}) == (theme == "dark")
