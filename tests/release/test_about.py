"""What a publisher declares about a release reaches its JSON and its page, and changes no number."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from _support.command import flexdp as command

import flexdp
from flexdp import InputError, Release, Releases
from flexdp._core.documents import UnfitError
from flexdp._release.stat_words import about_in, stat_question, stat_words
from flexdp.buckets.base import Kind

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
SCHEMA = json.loads((Path(__file__).parents[2] / "src" / "flexdp" / "data" / "release.schema.json").read_text())
ABOUT = {
    "title": "Waiting <times>",
    "publisher": "City of Basel",
    "dataset_name": "visits & more",
    "period": "2024-01 to 2024-06",
}
VALUES = [float(i % 40) for i in range(4000)]


def test_it_is_written_read_back_and_shown() -> None:
    released = flexdp.release(VALUES, width=5, **SPEND, **ABOUT)
    content = json.loads(released.to_json())
    jsonschema.validate(content, SCHEMA)
    assert content["about"] == ABOUT
    assert Release.from_json(released.to_json()) == released
    page = released.to_html()
    assert '<h1 class="long">Waiting &lt;times&gt;</h1>' in page and "<title>Waiting &lt;times&gt;</title>" in page
    facts = "Published by City of Basel. Data set: visits &amp; more. Period: 2024-01 to 2024-06."
    assert f'<p class="long">Release of values. {facts}</p>' in page
    assert "about" not in json.loads(flexdp.release(VALUES, width=5, **SPEND).to_json())


def test_asked_answers_and_several_columns_have_it_too() -> None:
    asked = flexdp.release(VALUES, kind="number", ask="median", epsilon=1, delta=0, **ABOUT)
    assert Release.from_json(asked.to_json()) == asked and "Published by City of Basel." in asked.to_html()
    table = pl.DataFrame({"x": VALUES, "y": VALUES})
    both = flexdp.release(table, ["x", "y"], separately=True, width=5, **SPEND, **ABOUT)
    assert Releases.from_json(both.to_json())["y"].spec.about == both["x"].spec.about
    assert '<h1 class="long">Waiting &lt;times&gt;</h1>' in both.to_html()


def test_the_declared_changes_nothing_that_is_published() -> None:
    released = flexdp.release(VALUES, width=5, **SPEND, **ABOUT)
    content = json.loads(released.to_json())
    del content["about"]
    plain = Release.from_json(json.dumps(content))
    assert plain.max() == released.max() and plain.certificate() == released.certificate()
    assert plain.privacy == released.privacy


@pytest.mark.parametrize("name", list(ABOUT))
@pytest.mark.parametrize("value", ["", " x", "x\n", "a\x1b[31m", "x" * 201, 7, "\ud800", "\u202egnp"])
def test_wrong_metadata_is_refused_before_anything_is_read(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{name} must be one line of 1 to 200 printable characters"):
        flexdp.release(VALUES, width=5, **SPEND, **{name: value})


@pytest.mark.parametrize(
    "about",
    [{}, [], "x", {"nope": "x"}, {"title": ""}, {"title": 5}, {"stats": []}, {"stats": "max"}, {"stats": ["nope"]},
     {"stats": [5]}, {"stats": ["max", "max"]}, {"stats": ["max"] * 60}, {"title": None}],
)  # fmt: skip
def test_documents_that_declare_anything_else_are_refused(about: Any) -> None:
    content = json.loads(flexdp.release(VALUES, width=5, **SPEND).to_json())
    with pytest.raises(InputError):
        Release.from_json(json.dumps({**content, "about": about}))


def test_named_statistics_are_on_the_page_before_the_usual_ones(tmp_path: Path) -> None:
    released = flexdp.release(VALUES, width=5, bounds=(0, 40), **SPEND)
    stats = ["q0.9", "range", "max_at_least:50", "top:3", "max", "counts"]
    page = released.to_html(stats=stats)
    for word, answer in (("q0.9", released.quantile("0.9")), ("range", released.range()), ("max", released.max())):
        assert page.count(f'<td class="short">{answer.text}</td>') >= 1, word
        assert page.count(f"{answer.parts[0]} ") == 1, "and once as a sentence"
    assert page.index(released.quantile("0.9").parts[0]) < page.index(released.median().parts[0])
    assert json.loads(released.to_json()).get("about") is None, "the release itself is as it was"
    released.report(tmp_path / "t.html", stats=stats)
    assert (tmp_path / "t.html").read_text() == page
    out = command("report", tmp_path / "t.html")
    assert out.stdout == page, "the page holds what it was made from"
    with pytest.raises(InputError, match="invalid statistic 'q7'"):
        released.to_html(stats=["q7"])


class Asked:
    """Writes down the queries that are made of it."""

    def __getattr__(self, name: str) -> Any:
        return lambda *given: (name, *given)


@pytest.mark.parametrize(
    ("word", "query"),
    [
        *((word, (word,)) for word in ("max", "min", "range", "median", "iqr", "mode", "support", "count", "sum")),
        *((word, (word,)) for word in ("mean", "std", "counts")),
        ("q0.9", ("quantile", Fraction(9, 10))),
        ("p75", ("quantile", Fraction(3, 4))),
        ("max_at_least:50", ("max_at_least", 50)),
        ("top:3", ("top", 3)),
    ],
)
def test_a_word_is_answered_by_the_query_of_its_name(word: str, query: tuple[Any, ...]) -> None:
    kinds: tuple[set[Kind], ...] = ({"number"}, {"integer"})
    for each in kinds:
        assert stat_question(word, each, points=False)(Asked()) == query  # type: ignore[arg-type, comparison-overlap]


def test_words_that_columns_do_not_have_are_refused_by_the_name_of_their_parameter() -> None:
    """With the word, and with what can be asked for instead."""
    refused: dict[tuple[str, Kind, bool], str] = {
        ("max", "number", True): "{} max needs a single column. For points, ask for mode, support, top or counts.",
        ("q0.9", "number", True): "{} q0.9 needs a single column. For points, ask for mode, support, top or counts.",
        ("max", "text", False): "{}: the maximum needs a column of numbers or dates; this one is text. Ask for mode, "
        "support, top or counts; or use kind='number' where texts hold numbers.",
        **{
            (word, kind, False): f"{{}}: the {name} needs a column of numbers; this one is {kind}. Ask for the median "
            "or another quantile."
            for word, name in (("mean", "mean"), ("sum", "sum"), ("std", "standard deviation"))
            for kind in ("date", "datetime")
        },
        ("std", "boolean", False): "{}: the standard deviation needs a column of numbers; this one is boolean. Ask for "
        "mode, support, top or counts.",
        ("conts", "text", False): "{}: invalid statistic 'conts'. Did you mean counts?",
    }
    for (word, kind, points), message in refused.items():
        with pytest.raises(InputError) as plain:
            stat_question(word, {kind}, points=points)
        assert str(plain.value) == message.format("stat")
        with pytest.raises(InputError) as named:
            stat_words([word], [kind] * (1 + points))
        assert str(named.value) == message.format("stats")
    for word in ("mode", "support", "top:2", "counts", "count"):
        assert stat_words(word, ["text", "number"]) == (word,)
        assert callable(stat_question(word, {"text"}, points=True))
    assert stat_words(["median", "max"], ["datetime"]) == ("median", "max")


def test_named_statistics_are_each_shown_once_and_no_more_than_fifty() -> None:
    assert stat_words("max", ["number"]) == ("max",)
    assert stat_words(np.array(["max", "q0.9", "max"]), ["number"]) == ("max", "q0.9")
    assert stat_words(["max"] * 50, ["number"]) == ("max",)
    for wrong in (["max"] * 51, 7, None):
        with pytest.raises(InputError, match=r"^stats must be a list of at most 50 names of statistics"):
            stat_words(wrong, ["number"])
    content = json.loads(flexdp.release(VALUES, width=5, **SPEND).to_json())
    read = Release.from_json(json.dumps({**content, "about": {"title": "T", "stats": ["q0.9", "max"]}}))
    assert read.spec.about.stats == ("q0.9", "max") and read.spec.about.title == "T"
    assert about_in({"title": "T"}, ["number"]).stats == ()
    for wrong in ({"stats": []}, {"stats": "max"}, {"stats": ("max",)}):
        with pytest.raises(UnfitError, match=r"^no list of statistics$"):
            about_in(wrong, ["number"])
    for wrong in ({}, [], "title", ["title"], {"title": "T", "nope": 1}):
        with pytest.raises(UnfitError, match=r"^no metadata that flexdp knows$"):
            about_in(wrong, ["number"])


def test_groups_have_a_column_for_each_named_statistic() -> None:
    table = pl.DataFrame({"x": VALUES, "g": ["a", "b"] * 2000})
    page = flexdp.release(table, "x", by="g", width=5, **SPEND).to_html(stats=["q0.9"])
    assert '<th scope="col">90th percentile</th>' in page
    words = flexdp.release(["a"] * 900, kind="text", **SPEND)
    assert "Top" in words.to_html(stats=["top:2"]) or words.top(2).parts[0] in words.to_html(stats=["top:2"])
    with pytest.raises(InputError):
        words.to_html(stats=["max"])


def test_the_command_line_writes_both_to_every_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{value},{value}\n" for value in VALUES))
    common = (path, "x", "--kind", "number", "--width", "5", "-e", "1", "-d", "1e-6")
    said = ("--title", "Waiting", "--publisher", "Basel", "--dataset-name", "visits", "--period", "2024")
    for ending in ("html", "json"):
        out = command("release", *common, *said, "-s", "q0.9", "-s", "max", "-o", tmp_path / f"t.{ending}")
        assert out.returncode == 0, out
    content = json.loads((tmp_path / "t.json").read_text())
    assert content["about"] == {
        "title": "Waiting", "publisher": "Basel", "dataset_name": "visits", "period": "2024", "stats": ["q0.9", "max"],
    }  # fmt: skip
    page = (tmp_path / "t.html").read_text()
    assert "90th percentile" in page and '<h1 class="long">Waiting</h1>' in page
    assert "90th percentile" in command("report", tmp_path / "t.json").stdout
    out = command("release", *common, "y", "-s", "q0.9", "-o", tmp_path / "two.html")
    assert out.returncode == 0 and (tmp_path / "two.html").read_text().count("90th percentile") >= 2
    out = command("release", *common, "--period", "")
    assert out.returncode == 2 and out.stderr.startswith("Error: --period must be one line"), out


def test_a_summary_takes_files_as_they_are_written_and_metadata(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x;day\n" + "".join(f"{i % 40},5;{1 + i % 28}.01.2024\n" for i in range(4000)))
    out = command(
        "summary", path, "--decimal", ",", "--date-format", "%d.%m.%Y", "x=number", "day=date",
        "--title", "All of it", "-e", "4", "-d", "1e-6", "-o", tmp_path / "t.html",
    )  # fmt: skip
    assert out.returncode == 0, out
    page = (tmp_path / "t.html").read_text()
    assert '<h1 class="long">All of it</h1>' in page and "2024" in page
