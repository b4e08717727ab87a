"""What a document can prove is proved again, and what was changed in it is found.

The heart is a list: ``FREE`` names every field that may be changed without a contradiction, and why. Any other number
or text of a document, changed in any of the tried ways, must be caught. What is free, only a signature protects.
"""

from __future__ import annotations

import copy
import datetime as dt
import json
import os
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any
from zlib import crc32

import polars as pl
import pytest
from _support.command import flexdp as command

import flexdp
from flexdp import InputError, Release, Releases
from flexdp.audit import CheckedDocument, verify_document

DEEP = os.environ.get("FLEXDP_DEEP") == "1"
STORED = sorted((Path(__file__).parent.parent / "release" / "documents").glob("*.json"))
ROWS = 3000
FRAME = pl.DataFrame(
    {
        "x": [float(i % 97) for i in range(ROWS)],
        "n": [i % 5 for i in range(ROWS)],
        "g": ["a", "b"] * (ROWS // 2),
        "u": [i // 4 for i in range(ROWS)],
        "d": [dt.date(2024, 1, 1) + dt.timedelta(days=i % 300) for i in range(ROWS)],
        "t": [f"k{i % 3}" for i in range(ROWS)],
    }
)
SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
PURE: dict[str, Any] = {"epsilon": 1, "delta": 0}
WIDE: dict[str, Any] = {"width": 25, **SPEND}
KINDS: dict[str, Callable[[], Release | Releases]] = {
    "width": lambda: flexdp.release(FRAME, "x", **WIDE),
    "certified": lambda: flexdp.release(FRAME, "x", bounds=(0, 100), certify="0.05", **WIDE),
    "relative": lambda: flexdp.release(FRAME, "x", relative="0.3", bounds=(1, 100), **SPEND),
    "edges": lambda: flexdp.release(FRAME, "x", edges=[0, 10, 50, 100], **SPEND),
    "exact": lambda: flexdp.release(FRAME, "n", exact=True, **SPEND),
    "text": lambda: flexdp.release(FRAME, "t", title="T", publisher="P", period="2024", **SPEND),
    "months": lambda: flexdp.release(FRAME, "d", width="3 months", where="g = 'a'", **SPEND),
    "groups": lambda: flexdp.release(FRAME, "x", by="g", **WIDE),
    "declared groups": lambda: flexdp.release(FRAME, "x", by="g", groups=["a", "b", "c"], **WIDE),
    "units": lambda: flexdp.release(FRAME, "x", unit="u", max_buckets_per_unit=3, certify="0.3", **WIDE),
    "per unit": lambda: flexdp.release(FRAME, "x", unit="u", max_buckets_per_unit=1, per_unit="max", **WIDE),
    "points": lambda: flexdp.release(FRAME, ["x", "n"], **WIDE),
    "separately": lambda: flexdp.release(FRAME, ["x", "n"], separately=True, **WIDE),
    "automatic": lambda: flexdp.release(FRAME, "x", **SPEND),
    "automatic by group": lambda: flexdp.release(FRAME, "x", by="g", **SPEND),
    "automatic, units": lambda: flexdp.release(
        FRAME, "x", unit="u", max_buckets_per_unit=2, certify="0.1", epsilon=2, delta="1e-6"
    ),
    "too few": lambda: flexdp.release([1.0, 2.0] * 30, kind="number", epsilon="0.5", delta="1e-6"),
    "too few, asked": lambda: flexdp.release([1.0, 2.0] * 30, kind="number", epsilon="0.5", delta="1e-6", ask="max"),
    "asked": lambda: flexdp.release(FRAME, "x", ask=["max", "q0.99", "median", "mean", "count"], **PURE),
    "asked with buckets": lambda: flexdp.release(FRAME, "x", ask=["max", "mean"], **WIDE),
    "asked, automatic": lambda: flexdp.release(FRAME, "x", ask=["max"], **SPEND),
    "asked of groups": lambda: flexdp.release(FRAME, "x", by="g", groups=["a", "b"], ask="median", **PURE),
    "asked of listed groups": lambda: flexdp.release(FRAME, "x", by="g", ask=["max", "mean"], **SPEND),
    "asked, units": lambda: flexdp.release(
        FRAME, "x", by="g", ask=["max"], unit="u", max_buckets_per_unit=3, epsilon=2, delta="1e-6"
    ),
    "asked, bounded mean": lambda: flexdp.release(FRAME, "x", bounds=(0, 100), ask="mean", **PURE),
    "summary": lambda: flexdp.summary(FRAME, epsilon=3, delta="1e-6", skip=["u"]),
    "nothing survived": lambda: flexdp.release([1.0], width=5, **SPEND),
}

CHEAP = ("certified", "text", "months", "declared groups", "units", "per unit", "points", "separately")  # milliseconds


@cache
def text_of(kind: str) -> str:
    return KINDS[kind]().to_json()


@cache
def with_answers(kind: str) -> str:
    """A document with the conditions and answers that the command line adds."""
    from flexdp._release.api import prepare
    from flexdp.cli.output import json_document, parse_stats

    options: dict[str, Any] = {"width": 25, "by": "g"} if kind == "groups" else {"width": 25}
    if kind == "asked":
        options |= {"ask": ["max", "mean"]}
    request = prepare(FRAME, "x", **options).with_budget(1, "1e-6")
    words = ["max", "q0.99", "mean", "counts"] + (["top:2", "support"] if kind != "asked" else [])
    return json.dumps(json_document(request.run(), parse_stats(words, request)))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_every_stored_document_verifies(path: Path) -> None:
    """Of former schemas nothing is left out: they are upgraded."""
    found = verify_document(path.read_bytes())
    assert found.holds, str(found)
    names = [check.name for check in found.checks]
    assert "budget" in names and "certificate" in names
    assert ("together" in names) == ("several" in path.stem) and ("answers" in names) == ("schema-2" in path.stem)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_release_verifies(kind: str) -> None:
    found = verify_document(text_of(kind))
    assert found.holds, str(found)
    released = (Releases if kind in ("separately", "summary") else Release).from_json(text_of(kind))
    assert found.privacy is not None
    assert (found.privacy.epsilon, found.privacy.delta) == (released.privacy.epsilon, released.privacy.delta)
    if DEEP or kind in CHEAP:
        assert verify_document(text_of(kind).encode()) == found
        assert verify_document(json.dumps(json.loads(text_of(kind)), indent=4)) == found
    names = {check.name for check in found.checks}
    assert ("noise" in names) == ("bars" in text_of(kind)) and {"description", "budget"} <= names
    assert "<table>" in found._repr_html_() and json.loads(json.dumps(found.to_dict()))["holds"] is True


@pytest.mark.parametrize("kind", ["width", "groups", "asked"])
def test_answers_of_the_command_line_verify(kind: str) -> None:
    found = verify_document(with_answers(kind))
    assert found.holds and found.checks[-1].name == "statements", str(found)


# ---------------------------------------------------------------------------------------------- what may be changed

FREE = {  # fields, as patterns, and why no document can show that one was changed
    r"flexdp": "the version that wrote it is believed",
    r"about\..*": "declared by the publisher: title, names, period",
    r"column(\.\d+)?|by\.\d+|privacy\.unit": "names of columns, which nothing follows from",
    r"(by_)?kind(\.\d+)?": "how the data were read; keys or answers fit another kind, too",
    r"where|derived\..*|zone|rows_are_records": "how the data were read: any other filter is one as well",
    r"read_as(\..*)?|keyed": "how the data were read",
    r"buckets(\.\d+)?\.(bounds\.\d+|outside)|privacy\.per_unit": "how the data were read; keys fit other bounds, too",
    r"buckets(\.\d+)?\.(width|relative|edges\.\d+)": "of a release without counts; or keys fit other ones, too",
    r"bars\.count\.\d+": "an outcome: any positive integer",
    r"bars\.(key|group|index)\.\d+(\.\d+)?|groups\.\d+\.\d+": "an outcome: any value or group in order, of its kind",
    r"certified\.records_at_most": "an outcome, within what the noise allows",
    r"cap\.\d+\.(touched|others)": "an outcome: any noisy number of units",
    r"privacy\.delta": "another δ for which the same table is the smallest, and proved private",
    r"auto\.(records_about|cuts\.\d+|leaf_counts\.\d+)": "an outcome, of which the same shares and edges follow",
    r"asked\.results\.\d+\.(records_about|listed|helpers\.\d+\.value|answers\.\d+\.value)": "an outcome, in order",
    r"asked\.results\.\d+\.mean\.(anchor|low|high|sums\.\d+)": "an outcome",
    r"asked\.statistics\.\d+": "where there were too few records for any answer, nothing follows from what was asked",
    r"asked\.results\.\d+\.group\.\d+": "the name of a listed group",
}
VOCABULARY = (
    ("integer", "number", "text", "date", "datetime", "boolean"), ("clamp", "drop"), ("max", "min", "mean"),
    ("cut", "ladder"), ("record", "u"),
)  # fmt: skip


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, step))
    else:
        yield path, value


def changes(value: Any) -> list[Any]:
    """Other values in the place of one."""
    if isinstance(value, bool):
        found = [not value, None, int(value), "x"]
    elif value is None:
        found = [0, "x", True]
    elif isinstance(value, int | float):
        found = [value + 1, value - 1, -value - 1, 2 * value + 3, 0, 10**30, str(value), None, True]
    else:
        found = [f"{value}x", value[:-1], "", value.swapcase(), None, 5]
        found += [word for words in VOCABULARY if value in words for word in words]
        if re.fullmatch(r"-?\d+(/\d+)?", value):
            number = Fraction(value)
            factors = (2, Fraction(1, 2), Fraction(1001, 1000), Fraction(999, 1000), -1)
            found += [str(number + 1), *(str(number * factor) for factor in factors)]
    return [each for each in found if type(each) is not type(value) or each != value]


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    other = copy.deepcopy(document)
    holder = other
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return other


def caught(document: Any) -> bool:
    try:
        return not verify_document(json.dumps(document)).holds
    except InputError as refusal:
        assert "\n" not in str(refusal)
        return True


def is_free(path: tuple[Any, ...]) -> bool:
    name = ".".join(map(str, path)).removeprefix("releases.0.").removeprefix("releases.1.")
    return any(re.fullmatch(pattern, name) for pattern in FREE)


def tried(kind: str, document: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All changes, or a fixed part of them where each takes long; of long lists the first entries."""
    share = 1 if DEEP else 4 if kind in CHEAP else 60
    for path, value in leaves(document):
        if any(isinstance(step, int) and step > 3 for step in path):
            continue
        for other in changes(value):
            if crc32(f"{kind} {path} {other!r}".encode()) % share == 0:
                yield path, other


@pytest.mark.parametrize("kind", [kind for kind in KINDS if DEEP or kind not in ("summary", "relative", "edges")])
def test_every_change_is_caught_but_in_the_fields_that_are_free(kind: str) -> None:
    document = json.loads(text_of(kind))
    missed = [(path, value) for path, value in tried(kind, document) if not caught(changed(document, path, value))]
    wrong = [each for each in missed if not is_free(each[0])]
    assert not wrong, wrong


@pytest.mark.parametrize("kind", ["width", "groups", "asked"])
def test_every_change_of_an_answer_or_a_condition_is_caught(kind: str) -> None:
    """Names and outcomes stand in the sentences as well, so that changing them alone is caught, too."""
    document = json.loads(with_answers(kind))
    share = 1 if DEEP else 90
    told = [path for path in leaves(document) if path[0][0] in ("answers", "conditions")]
    assert len(told) > 30
    for path, value in told:
        for other in changes(value):
            if crc32(f"{path} {other!r}".encode()) % share == 0:
                assert caught(changed(document, path, other)), (path, other)
    assert caught(changed(document, ("column",), "y"))
    for at in range(4):
        assert caught(changed(document, ("bars", "count", at), document["bars"]["count"][at] + 1))


def test_every_free_field_is_really_free() -> None:
    """A list that allowed more than it must would hide a gap."""
    examples: dict[str, list[tuple[tuple[Any, ...], Any]]] = {
        "text": [(("flexdp",), "9.9"), (("about", "title"), "Other"), (("column",), "y"), (("bars", "count", 0), 10**9),
                 (("bars", "key", 0), "a")],
        "months": [(("where",), "g = 'b'")],
        "certified": [(("buckets", "bounds", 1), "200"), (("buckets", "outside"), "drop"),
                      (("privacy", "delta"), "1001/1000000000")],
        "per unit": [(("privacy", "per_unit"), "min"), (("privacy", "unit"), "v")],
        "groups": [(("by", 0), "h"), (("bars", "group", 0, 0), "A")],
        "nothing survived": [(("buckets", "width"), "7"), (("kind",), "integer")],
        "exact": [(("kind",), "number")],
    }  # fmt: skip
    for kind, free in examples.items():
        for path, value in free:
            document = json.loads(text_of(kind))
            if path[-2:] == ("group", 0) or path[:2] == ("bars", "group"):  # of all counts of a group
                for at, group in enumerate(document["bars"]["group"]):
                    document["bars"]["group"][at] = ["A"] if group == ["a"] else group
            assert is_free(path) and not caught(changed(document, path, value)), (kind, path)


# ------------------------------------------------------------------------------------------- which check says what


def failed(document: Any) -> list[str]:
    return [check.name for check in verify_document(json.dumps(document)).failed]


def test_the_check_that_fails_is_named() -> None:
    def of(kind: str, *path: Any, value: Any) -> list[str]:
        return failed(changed(json.loads(text_of(kind)), path, value))

    assert of("width", "mechanism", "max_drop", value=26) == ["noise"]
    assert of("width", "mechanism", "first_weight", value="1") == ["noise"]
    assert of("width", "mechanism", "growth", value=["1", "1"]) == ["noise"]
    assert of("width", "mechanism", "q", value=27) == ["noise"]
    assert of("width", "privacy", "epsilon", value="1/2") == ["noise"]
    assert of("width", "bars", "count", 1, value=-5) == ["counts"]
    assert of("width", "bars", "key", 1, value=3.5) == ["counts"]
    assert of("width", "bars", "index", 1, value=0) == ["counts"]
    assert of("certified", "bars", "index", 0, value=99) == ["counts"]
    assert of("certified", "certified", "records_at_most", value=1) == ["bound"]
    assert of("certified", "certified", "records_at_most", value=10**6) == ["bound"]
    assert of("automatic", "auto", "share", value="1/5") == ["noise"]
    assert of("automatic", "auto", "leaf_counts", value=[]) == ["buckets"]
    assert of("asked", "asked", "results", 0, "answers", 0, "way", value="ladderx") == ["answers"]
    assert of("asked", "asked", "results", 0, "answers", 0, "value", value="1000000000") == ["answers"]
    assert of("width", "rows", value=900) == ["description"]
    assert of("width", "kind", value="moment") == ["description"]
    two = json.loads(text_of("separately"))
    two["releases"][1]["column"] = two["releases"][0]["column"]
    assert failed(two) == ["together"]
    with pytest.raises(InputError):
        Releases.from_json(json.dumps(two))


def test_a_missing_field_is_named() -> None:
    for name in json.loads(text_of("width")):
        document = json.loads(text_of("width"))
        del document[name]
        if name == "schema":
            with pytest.raises(InputError, match="it has no schema of flexdp"):
                verify_document(json.dumps(document))
        else:
            (wrong,) = verify_document(json.dumps(document)).failed
            assert name in wrong.statement


def test_parts_that_spend_more_than_is_stated_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """No document leads here, since the parts follow from the whole: a planted fault does."""
    from flexdp.audit.checks import spent_by as real

    monkeypatch.setattr("flexdp.audit.checks.spent_by", lambda *given: [*real(*given), real(*given)[0]])
    (wrong,) = verify_document(text_of("certified")).failed
    assert wrong.name == "budget" and "more than is stated" in wrong.statement


def test_a_table_that_is_not_private_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One weight off by one, and with it another."""
    from flexdp.noise.table import Table, noise_table

    def faulty(epsilon: Fraction, delta: Fraction) -> Table:
        right = noise_table(epsilon, delta)
        weights = (right.weights[0] + 1, right.weights[1] - 1, *right.weights[2:])
        return Table(weights, right.bits, right.growth, right.precision)

    monkeypatch.setattr("flexdp.noise.drop.noise_table", faulty)
    assert not verify_document(text_of("width")).holds


# --------------------------------------------------------------------------------------------------- hostile input


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (b"", "it is not JSON"),
        (b"{", "it is not JSON"),
        (b"[]", "it has no schema"),
        (b"null", "it has no schema"),
        (b'"flexdp.release/2"', "it has no schema"),
        (b'{"schema": "flexdp.release/3"}', "its schema 'flexdp.release/3' is not known to flexdp"),
        (b'{"schema": ["flexdp.release/2"]}', "is not known"),
        (b'{"schema": "flexdp.releases/2", "releases": []}', "it has no releases"),
        (b'{"schema": "flexdp.releases/2", "releases": [5]}', "it has no releases"),
        (b'{"schema": "flexdp.releases/2", "releases": [{"schema": "flexdp.releases/2"}]}', "it has no releases"),
        (b'{"schema": "flexdp.releases/2", "releases": [{}], "more": 1}', "it has other fields"),
        (b'{"schema": "flexdp.release/2", "a": 1, "a": 2}', "it has a name that comes twice"),
        (b'{"schema": "flexdp.release/2", "a": {"b": 1, "b": 1}}', "it has a name that comes twice"),
        (b'{"schema": "flexdp.release/2", "a": NaN}', "it has the word NaN in place of a number"),
        (b'{"schema": "flexdp.release/2", "a": 1e999}', "it has a number that no double holds"),
        (b'{"schema": "flexdp.release/2", "a": ' + b"9" * 10**6 + b"}", "it is not JSON"),
        (b'{"schema": "flexdp.release/2", "a": "\\ud800"}', "it is not"),
        (b'{"schema": "flexdp.release/2", "a": ' + b"[" * 10**5 + b"]" * 10**5 + b"}", "it is not JSON"),
        (b'\xef\xbb\xbf{"schema": "flexdp.release/2"}', "it is not JSON"),
        (b'{"schema": "flexdp.release/2", "a": "\xff"}', "it is not UTF-8"),
        ('{"schema": "flexdp.release/2"}'.encode("utf-16"), "it is not UTF-8"),
        (b'{"schema": "flexdp.release/2"} {}', "it is not JSON"),
        (b'{"schema": "flexdp.release/2"}\0', "it is not JSON"),
    ],
    ids=range(23),
)  # fmt: skip
def test_what_is_not_a_release_is_bad_input(document: bytes, why: str) -> None:
    started = process_time()
    with pytest.raises(InputError) as refusal:
        verify_document(document)
    assert why in str(refusal.value) and len(str(refusal.value)) < 300
    assert process_time() - started < 2


@pytest.mark.parametrize("document", [None, 5, ["{}"], {"schema": "flexdp.release/2"}, object()], ids=range(5))
def test_other_objects_are_bad_input(document: Any) -> None:
    with pytest.raises(InputError, match="document must be a text or bytes"):
        verify_document(document)


def test_a_document_that_claims_too_much_work_is_refused_quickly() -> None:
    base = json.loads(with_answers("width"))
    answer = base["answers"][0]
    hostile: list[Any] = [
        {**base, "privacy": {**base["privacy"], "epsilon": "1/1000000000"}},
        {**base, "mechanism": {**base["mechanism"], "q": 10**6}},
        {**base, "answers": [{**answer, "stat": f"top:{i}"} for i in range(10**4)]},
        {**base, "answers": [answer] * 10**4},
        {**base, "answers": [{**answer, "stat": "q0." + "1" * 3000}]},
        {**base, "answers": {"max": 1}},
        {**base, "answers": [{"stat": ["max"]}]},
        {**base, "answers": [{"stat": "__class__"}]},
        {**base, "answers": [{"stat": "apply"}]},
        {**base, "conditions": "x" * 10**6},
        {**base, "x" * 10**6: 1},
        {**base, "flexdp": "x" * 10**6},
        {**base, "flexdp": "0.1.0\x1b[31m"},
    ]
    for document in hostile:
        started = process_time()
        found = verify_document(json.dumps(document))
        assert not found.holds and process_time() - started < 2
        assert len(str(found)) < 5000 and "\x1b" not in str(found)


def test_what_reads_back_is_what_was_verified() -> None:
    """Both read the same bytes in the same way: no document verifies and is then refused, or read as another."""
    for kind in ("width", "asked with buckets", "automatic"):
        text = text_of(kind)
        assert json.loads(Release.from_json(text).to_json()) == json.loads(text)
        twice = text.replace('"epsilon": ', '"epsilon": "1/9", "epsilon": ', 1)
        assert json.loads(twice) == json.loads(text)  # others take the last one
        for read in (verify_document, Release.from_json):
            with pytest.raises(InputError):
                read(twice)


def test_numbers_are_equal_whatever_wrote_them_and_truth_is_none() -> None:
    """Another program may write 50.0 as 50; true is not 1."""
    document = json.loads(text_of("width"))
    document["bars"]["key"] = [int(key) if key == int(key) else key for key in document["bars"]["key"]]
    document["mechanism"]["max_drop"] = 27.0
    assert verify_document(json.dumps(document)).holds
    near = json.loads(flexdp.release([1.0] * 50, epsilon=40, delta="0.4", width=5).to_json())
    assert near["mechanism"]["max_drop"] == 1 or near["mechanism"]["q"] < 4
    near["mechanism"]["max_drop"] = bool(near["mechanism"]["max_drop"])
    assert failed(near) == ["noise"]


def test_nothing_checked_is_nothing_proved() -> None:
    assert not CheckedDocument(checks=()).holds


def test_reports_of_a_document_verify_as_well(tmp_path: Path) -> None:
    """``flexdp report --json`` names answers as the page does."""
    for kind in KINDS if DEEP else ("text", "asked with buckets", "asked of groups"):
        (tmp_path / "r.json").write_text(text_of(kind))
        told = command("report", tmp_path / "r.json", "--json").stdout
        assert verify_document(told).holds and '"answers"' in told, kind
