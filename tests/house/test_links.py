"""Every link between the pages leads somewhere: to a file that is there, and to a heading that it has."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from _support.pages import DOCS, ROOT, anchors, links

PAGES = sorted(
    [*DOCS.glob("*.md"), *ROOT.glob("*.md"), ROOT / "examples" / "README.md", ROOT / "benchmarks" / "README.md"]
)


def broken(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    wrong = []
    for target in links(text):
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        if not place.exists():
            wrong.append(f"{target}: no such file")
        elif anchor and (
            place.suffix != ".md" or anchor not in anchors(text if place == page else place.read_text("utf-8"))
        ):
            wrong.append(f"{target}: no such heading")
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    assert not broken(page, page.read_text("utf-8"))


def test_a_broken_link_would_be_noticed() -> None:
    page = DOCS / "index.md"
    good = "[a](filters.md#rows-that-are-not-records) ![b](idea.svg) [c](https://example.org) [d](#here)\n\n## Here\n"
    assert broken(page, good) == []
    assert broken(page, "[a](nowhere.md) [b](filters.md#nothing) [c](#here) [d](idea.svg#x)") == [
        "nowhere.md: no such file",
        "filters.md#nothing: no such heading",
        "#here: no such heading",
        "idea.svg#x: no such heading",
    ]
    assert links("```\n[a](b)\n```\n`[c](d)` [e](f)") == ["f"]


def test_the_start_page_leads_to_every_page() -> None:
    """Its lists are also the contents of the site."""
    index = (DOCS / "index.md").read_text("utf-8")
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", index, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert {page.name for page in DOCS.glob("*.md")} - {"index.md"} == {name for name in listed if "/" not in name}


def test_every_public_room_has_a_page() -> None:
    from test_docstrings import PUBLIC

    pages = {page.stem: page.read_text("utf-8") for page in (DOCS / "reference").glob("*.rst")}
    contents = pages["python"].split(":maxdepth: 1")[1].split()
    assert sorted(contents) == sorted(room.removeprefix("flexdp.") for room in PUBLIC)
    for room in PUBLIC:
        assert f".. public:: {room}\n" in pages[room.removeprefix("flexdp.")]
    assert set(pages) == {*contents, "python", "commands", "schema"}


def test_faults_of_a_built_site_would_be_noticed(tmp_path: Path) -> None:
    """``make docs`` ends with this check of what was built."""
    faults = runpy.run_path(str(ROOT / "tools" / "check_site.py"))["faults"]
    assert faults(tmp_path) == ["there is no page"]
    (tmp_path / "a.html").write_text(
        '<link rel="stylesheet" href="s.css"><link rel="canonical" href="https://example.org/a"><h1 id="x">A</h1>'
        '<img src="p.svg"><a href="https://example.org">out</a> <a href="b.html#%CE%B5">b</a> <a href="#x">up</a>'
    )
    (tmp_path / "b.html").write_text('<p id="ε">b</p>', encoding="utf-8")
    (tmp_path / "s.css").write_text("p { background: url(p.svg) }")
    assert faults(tmp_path) == []
    (tmp_path / "b.html").write_text(
        '<script src="https://example.org/s.js"></script><link rel="preload" href="//example.org/f.woff2">'
        '<a href="a.html#y">a</a><a href="c.html">c</a><style>@import "https://example.org/i.css";</style>'
    )
    (tmp_path / "s.css").write_text("@font-face { src: url('https://example.org/f.woff2') }")
    assert faults(tmp_path) == [
        "a.html links to b.html#ε, which is not there",
        "b.html loads https://example.org/s.js",
        "b.html loads //example.org/f.woff2",
        "b.html loads https://example.org/i.css",
        "b.html links to a.html#y, which is not there",
        "b.html links to c.html, which is not there",
        "s.css loads https://example.org/f.woff2",
    ]
