"""The report: made from the JSON alone, the same from everywhere, sound HTML, small, and silent about the data."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from _support.command import flexdp as run
from _support.documents import HOSTILE, ages, texts
from _support.markup import read_html, with_pictures

import flexdp
from flexdp import InputError, Release, Releases
from flexdp._core.text import prose
from flexdp.noise import DropNoise, TotalNoise

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


@pytest.fixture
def released() -> Release:
    values = np.concatenate([np.full(500, 12.0), np.full(1000, 33.0), np.full(400, 57.0), [101.0]])
    return flexdp.release(values, **SPEND, width=5, bounds=(0, 120))


def test_the_same_file_from_everywhere(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n" + "".join(f"{20 + i % 60}\n" for i in range(6000)))
    made = run("release", "t.csv", "age", "--epsilon", 1, "--delta", "1e-6", "--width", 5, "-o", "a.html", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    html = (tmp_path / "a.html").read_bytes()
    (tmp_path / "r.json").write_text(read_html(html.decode()).json)
    assert run("report", "r.json", "-o", "b.html", cwd=tmp_path).returncode == 0
    assert (tmp_path / "b.html").read_bytes() == html
    assert run("report", "r.json", cwd=tmp_path).stdout.encode() == html
    Release.from_json((tmp_path / "r.json").read_text()).report(tmp_path / "c.html")
    assert (tmp_path / "c.html").read_bytes() == html
    # Also through the JSON that release writes, indented or with answers.
    spend = ("--epsilon", 1, "--delta", "1e-6", "--exact")
    spent = run("release", "t.csv", "age", *spend, "-o", "s.json", "--json", cwd=tmp_path)
    (tmp_path / "with-answers.json").write_text(spent.stdout)
    pages = [run("report", name, cwd=tmp_path).stdout for name in ("s.json", "with-answers.json")]
    pages.append(run("report", "-", cwd=tmp_path, typed=spent.stdout).stdout)
    assert pages[0] == pages[1] == pages[2] and pages[0]


def test_the_version_named_is_that_of_the_release(released: Release, tmp_path: Path) -> None:
    document = {**json.loads(released.to_json()), "flexdp": "0.0.7"}
    (tmp_path / "r.json").write_text(json.dumps(document))
    assert "Made with flexdp 0.0.7." in run("report", tmp_path / "r.json").stdout


def test_answers_come_first_with_their_sentences(released: Release) -> None:
    text = "".join(read_html(released.to_html()).text)
    shown = (released.max(), released.min(), released.median(), released.quantile("0.99"))
    places = [text.index(condition) for condition in released.conditions]
    assert [text.count(condition) for condition in released.conditions] == [1], "said once"
    places += [text.index(answer.text, places[-1]) for answer in shown[:1]]
    places.append(text.index("Promised to the people in the data"))
    places += [text.index(answer.statement) for answer in shown]
    assert places == sorted(places)
    sections = [
        "Guaranteed to the reader",
        "Not promised",
        "Reading and quoting",
        "Method",
        "Appendix: proof of privacy",
        "Citation",
    ]
    order = [places[-1], *(text.index(title) for title in sections)]
    assert order == sorted(order)
    assert released.privacy.odds in text and "73.2%" in text
    for promise in released.certificate().promises[1:]:
        assert promise in text
    proof = text.index(str(released.certificate().evidence.first_weight))
    assert order[-2] < proof < order[-1], "proof integers are left to the appendix"
    assert "PMLR 151" in text and "Partition Selection" in text


def test_the_json_is_inside_and_is_the_release(released: Release) -> None:
    found = read_html(released.to_html()).json
    assert "<" not in found
    assert json.loads(found) == json.loads(released.to_json())
    assert Release.from_json(found).max() == released.max()


def test_nothing_runs_and_nothing_is_fetched(released: Release) -> None:
    html = released.to_html()
    read_html(html)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', html)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "http:" not in html.replace("http://www.w3.org/2000/svg", "") and "https:" not in html
    assert "@import" not in style and not re.search(r"url\(", style)


def test_the_reader_of_pages_is_strict() -> None:
    """The checks above would notice."""
    for wrong in ("<p><b></p></b>", '<p onclick="x">a</p>', "<script>x</script>", "<i>a</i>", "<p>a", "<!-- x -->"):
        with pytest.raises(AssertionError):
            read_html(wrong)
    for wrong in ('<p class="a" id="x">a</p><p id="x">b</p>', "<p>\x1b</p>", "<p>https://example.org</p>"):
        with pytest.raises(AssertionError):
            read_html(wrong)


@pytest.mark.parametrize(("bars", "limit"), [(1000, 100_000), (10_000, 600_000)])
def test_reports_stay_small(bars: int, limit: int) -> None:
    values = np.repeat(np.arange(bars) * 0.37 + 0.1, 60)
    released = flexdp.release(values, **SPEND, width="0.37", bounds=(0, 0.37 * bars + 1))
    assert len(released.bars) == bars
    assert len(released.to_html().encode()) < limit
    open_domain = flexdp.release(values * 1e5, **SPEND, relative="0.001")
    if len(open_domain.bars) <= 1000:
        assert len(open_domain.to_html().encode()) < 100_000


def test_long_texts_do_not_swell_the_page_beyond_the_json() -> None:
    keys = tuple(f"{i}" + "x" * 300 for i in range(50))
    document = texts(keys)
    html = Release.from_json(json.dumps(document)).to_html()
    assert len(html) < 3 * len(json.dumps(document)) + 30_000


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_columns_and_keys_are_only_text(name: str) -> None:
    for document in ({**ages(), "column": name}, {**texts((name, "b")), "column": name}):
        released = Release.from_json(json.dumps(document))
        found = read_html(released.to_html())
        assert json.loads(found.json) == document
        for html in (released._repr_html_(), released.mode()._repr_html_(), released.support()._repr_html_()):
            read_html(html)


def test_a_lone_surrogate_is_refused_when_a_document_is_read() -> None:
    with pytest.raises(InputError, match="complete and unchanged"):
        Release.from_json(json.dumps({**ages(), "column": "a\ud800b"}))


def test_kinds_of_columns() -> None:
    days = np.datetime64("2024-01-01") + np.arange(100).repeat(50)
    for source, options in (
        (days, {"width": 7}),
        (days, {}),
        ([True, False] * 100, {"kind": "text"}),
        (np.array([True, False] * 100), {}),
        ([f"k{i % 40}" for i in range(4000)], {"kind": "text"}),
        (np.arange(1.0, 5000.0), {"relative": "0.2"}),
        ([10**30 + i % 2 for i in range(200)], {"kind": "integer"}),
        (["a"], {"kind": "text"}),
        ([1.0], {"width": 5, "bounds": (0, 10)}),
    ):
        released = flexdp.release(source, **SPEND, **options)
        found = read_html(released.to_html())
        assert Release.from_json(found.json).to_json() == released.to_json()
        read_html(released._repr_html_())
    text = " ".join(read_html(flexdp.release(["a"], **SPEND, kind="text").to_html()).text)
    assert "Nothing survived" in text


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    places = np.arange(6000)
    return pd.DataFrame(
        {
            "age": 20.0 + places % 60,
            "ward": pd.array(np.array(["north", "south", "<b>east"])[places % 3], dtype="string"),
            "lat": 47.0 + places % 5,
            "lon": 7.0 + places % 7,
            "pid": pd.array(places // 4, dtype="Int64"),
            "seen": pd.Timestamp("2024-03-01") + pd.to_timedelta(places * 97 % 500_000, unit="s"),
        }
    )


SHAPES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "groups": ("age", {"width": 5, "by": "ward"}, "each bucket of each ward"),
    "declared groups": (
        "age",
        {"width": 5, "bounds": (0, 120), "by": "ward", "groups": ["north", "west"]},
        "each bucket of each ward",
    ),
    "grid": (["lat", "lon"], {"width": 1}, "each cell may hold up to 27 more, never fewer"),
    "grid of groups": (["lat", "lon"], {"width": 1, "by": "ward"}, "each cell of each ward"),
    "three columns": (["lat", "lon", "age"], {"width": [1, 1, 20]}, "each cell may hold"),
    "units": (
        "age",
        {"width": 20, "unit": "pid", "max_buckets_per_unit": 2},
        "one unit (pid), counted in at most 2 buckets",
    ),
    "one value a unit": (
        "age",
        {"width": 20, "unit": "pid", "per_unit": "max"},
        "of whose values only the highest counts",
    ),
    "datetimes": ("seen", {"kind": "datetime", "width": "1 day"}, "Latest seen: 2024-03-06 or later."),
    "certified": ("age", {"width": 5, "certify": "0.1"}, "counted records is published: 6"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_release_has_its_page(shape: str, table: pd.DataFrame) -> None:
    column, options, words = SHAPES[shape]
    released = flexdp.release(table, column, **SPEND, **options)
    html = released.to_html()
    found = read_html(html)
    text = " ".join(found.text)
    assert words in text
    assert Release.from_json(found.json).to_html() == html
    assert all(promise in text for promise in released.certificate().promises)
    assert ("One record is protected, not one person" in text) == ("unit" not in options)
    assert ("Each group by itself" in text) == ("by" in options)
    read_html(released._repr_html_())
    read_html(released.mode()._repr_html_())


def test_columns_released_separately(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "1,7\n" * 300)
    line = ["release", "t.csv", "a", "b", "--width", 5, "--epsilon", 1, "--delta", "1e-6"]
    assert run(*line, "-o", "r.json", cwd=tmp_path).returncode == 0
    page_of_b = run("report", "r.json", "--column", "b", cwd=tmp_path)
    assert "Release of b" in page_of_b.stdout
    out = run("report", "r.json", "--column", "c", cwd=tmp_path)
    assert out.returncode == 2 and "'a', 'b'" in out.stderr and len(out.stderr.splitlines()) == 1
    together = run("report", "r.json", cwd=tmp_path)
    assert "Summary of 2 columns" in together.stdout and "ε = 1" in together.stdout
    both = Releases.from_json((tmp_path / "r.json").read_text())
    assert together.stdout == both.to_html()
    (tmp_path / "r.html").write_text(together.stdout)
    assert run("report", "r.html", cwd=tmp_path).stdout == together.stdout, "a page is made from itself again"
    read_html(together.stdout)
    assert run(*line, "-o", "now.html", cwd=tmp_path).returncode == 0
    assert "Summary of 2 columns" in (tmp_path / "now.html").read_text()
    told = json.loads(run("report", "r.json", "--json", cwd=tmp_path).stdout)
    assert [each["column"] for each in told["releases"]] == ["a", "b"] and told["releases"][0]["answers"]
    (tmp_path / "one.json").write_text(flexdp.release([1.0] * 99, **SPEND, width=5).to_json())
    assert "Leave it out" in run("report", "one.json", "--column", "b", cwd=tmp_path).stderr


def test_nothing_but_the_json_can_be_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No path, no row count, no true value: two files that differ in their folder and in rare and missing rows make the
    same page. Every bar loses as much as it can. What is looked for is too long to be a coordinate of the picture."""
    monkeypatch.setattr(DropNoise, "sample", lambda noise, size: np.full(size, noise.max_drop, dtype=np.int64))
    monkeypatch.setattr(TotalNoise, "sample", lambda noise: np.full(noise.buckets, noise.max_drop, dtype=np.int64))
    found = []
    for folder, more in (
        ("secretfolder", "8765432109876543\n"),
        ("secretother", "8765432109876543\n" * 5 + "n.a.\n" * 9),
    ):
        secret = tmp_path / folder
        secret.mkdir()
        (secret / "secretfile.csv").write_text("age\n" + "33\n" * 2345 + more)
        released = flexdp.release(secret / "secretfile.csv", "age", **SPEND, width=5, kind="number")
        cards = (released._repr_html_(), released.max()._repr_html_(), released.plot()._repr_html_())
        found.append((released.to_html(), *map(with_pictures, cards)))
        for text in found[-1]:
            for canary in ("secret", "8765432", "8.765432", str(tmp_path)):
                assert canary not in text
    assert found[0] == found[1]


def test_a_report_is_written_whole_or_not_at_all(
    tmp_path: Path, released: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "r.html"
    released.report(place)
    assert place.read_bytes() == released.to_html().encode()
    place.write_text("before")

    def full(path: Path, content: bytes) -> int:
        with path.open("wb") as stream:
            stream.write(content[:100])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="cannot be written"):
        released.report(place)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("r.html", "before")]


def test_a_report_follows_no_link_in_a_circle(tmp_path: Path, released: Release) -> None:
    (tmp_path / "r.html").symlink_to(tmp_path / "r.html")
    with pytest.raises(InputError, match="cannot be written"):
        released.report(tmp_path / "r.html")


def test_where_a_report_cannot_be_written(tmp_path: Path, released: Release) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        released.report(tmp_path / "nowhere" / "r.html")
    for odd in (5, None, b"x.html"):
        with pytest.raises(InputError, match="path"):
            released.report(odd)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="path"):
        released.report("a\0b.html")
    for ending in ("r.pdf", "r", "html", "r.html.txt"):
        for either in (released, Releases([released])):
            with pytest.raises(InputError, match=r"path must end in .html or .htm; got"):
                either.report(tmp_path / ending)
    assert not list(tmp_path.iterdir())
    for ending in ("r.htm", "R.HTML"):
        Releases([released]).report(tmp_path / ending)
        (tmp_path / ending).unlink()
    (tmp_path / "r.json").write_text(released.to_json())
    for arguments, words in (
        (["report", "missing.json"], "'missing.json' cannot be read"),
        (["report", "."], "cannot be read"),
        (["report", "r.json", "-o", "nowhere/x.html"], "cannot be written"),
        (["report", "r.json", "-o", "x.json"], "--output must end in .html; got 'x.json'"),
        (["report", "r.json", "-o", "r.json"], "is the input. Name another file."),
    ):
        out = run(*arguments, cwd=tmp_path)
        assert out.returncode == 2 and out.stdout == "", arguments
        assert words in out.stderr and len(out.stderr.splitlines()) == 1
    (tmp_path / "no.json").write_text("{}")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    for name in ("no.json", "bytes.json"):
        out = run("report", name, cwd=tmp_path)
        assert out.returncode == 2 and len(out.stderr.splitlines()) == 1 and f"'{name}'" in out.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bytes.json", "no.json", "r.json"]
    assert json.loads(run("report", "r.json", "--json", cwd=tmp_path).stdout)["answers"][0]["stat"] == "maximum"


def test_formulas_in_csv_are_made_harmless_and_numbers_stay(tmp_path: Path) -> None:
    risky = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "＝1+1", " =1+1", "a;=1+1", '"=1+1', "-5", "plain"]
    lines = "".join('"' + text.replace('"', '""') + '"\n' for text in risky for _ in range(100))
    (tmp_path / "t.csv").write_text("a\n" + lines)
    out = run("release", "t.csv", "a", "--epsilon", 1, "--delta", "1e-6", "--kind", "text", "-o", "o.csv", cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    raw = (tmp_path / "o.csv").read_text()
    keys = [row[0] for row in csv.reader(raw.splitlines())][1:]
    assert sorted(keys) == sorted(
        ["'=1+1", "'+cmd", "'-2+3", "'@SUM(A1)", "'＝1+1", "' =1+1", "a;=1+1", '"=1+1', "-5", "plain"]
    )
    assert '"a;=1+1"' in raw, "quoted, so that a semicolon does not begin a cell"
    (tmp_path / "n.csv").write_text("a\n" + "-7\n" * 200)
    run("release", "n.csv", "a", "--epsilon", 1, "--delta", "1e-6", "--width", 5, "-o", "n-out.csv", cwd=tmp_path)
    row = (tmp_path / "n-out.csv").read_text().splitlines()[1].split(",")
    assert [float(cell) for cell in row[:3]] == [-7.5, -10.0, -5.0]


def test_groups_without_buckets_are_exact_in_the_table_as_in_the_answers() -> None:
    frame = pl.DataFrame(
        {"x": [1.5, 2.5] * 200, "g": ["a", "b"] * 200, "company": list(range(400)), "company_half": [1, 2] * 200}
    )
    spend = {"epsilon": 1, "delta": "1e-6", "by": "g"}
    exact = flexdp.release(frame, "x", exact=True, **spend).to_html()
    beyond = ", and may lie beyond the highest and the lowest shown"
    note = f"Each group by itself: at most 27 {{}} per bucket were left out{beyond}."
    assert note.format("records") in exact and "1.5" in exact and "half a bucket" not in exact
    bucketed = flexdp.release(frame, "x", width=1, **spend).to_html()
    assert f"{note.format('records')} “About” marks an estimate" in bucketed
    assert "1–2" in bucketed and "half a bucket" not in bucketed
    capped = flexdp.release(frame, "x", exact=True, unit="company", max_buckets_per_unit=1, **spend)
    by_unit, said = capped.to_html(), note.format("units (company)").replace(": at", ": so counted, at")
    assert said.replace("27", str(capped.max_drop)) in by_unit and "companys" not in by_unit
    texts = flexdp.release(frame, "g", epsilon=1, delta="1e-6", by="company_half").to_html()
    assert note.format("records").replace(beyond, "") in texts


def test_blanks_at_the_ends_of_keys_and_groups_are_seen() -> None:
    table = pd.DataFrame({"ward": ["ENT", "ENT  "] * 300, "age": [7.0, 8.0] * 300}).astype({"ward": "string"})
    seen = "&#x27;ENT\xa0\xa0&#x27;"
    keys = flexdp.release(table, "ward", **SPEND)
    groups = flexdp.release(table, "age", width=5, by="ward", **SPEND)
    for found in (keys, groups):
        page = found.to_html()
        shown = page[: page.index('id="release"')]
        assert seen in shown and not re.search(r">ENT +<", shown)
        assert seen in found._repr_html_() or "ENT  &#x27;" in found._repr_html_()
    assert f'<td class="w">{seen}</td>' in groups.to_html()


def test_bounds_of_answers_by_group_are_on_the_page() -> None:
    table = {"x": [float(i % 900) for i in range(6000)], "g": [i % 2 for i in range(6000)]}
    options: dict[str, Any] = {"by": "g", "by_kind": "integer", "groups": [0, 1], "kind": "number", "epsilon": 1}
    for asked in (["mean"], ["mean", "max"]):
        for more in ({"delta": 0}, {"delta": "1e-6", "width": 50}):
            found = flexdp.release(table, "x", ask=asked, **options, **more)
            page = found.to_html()
            shown = page[: page.index("The answers as sentences")]
            for answer in found.answers():
                assert answer.parts[1].startswith("With 95% probability")
                assert f'<td class="w known">{prose(answer.parts[1])}</td>' in shown
            assert f"Asked for: {', '.join(asked)}." in page
            assert '<li class="long">The bound that an answer states holds with 95% probability.</li>' in page
