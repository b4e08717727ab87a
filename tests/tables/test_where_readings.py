"""Columns that declare no type in filters: how they are read, and what is refused."""

from __future__ import annotations

import datetime as dt
import json
import operator
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from _support.command import flexdp as command

import flexdp
from flexdp import InputError, ReadingWarning, Release
from flexdp._release.api import prepare

CELLS = [
    "9", "10", "65", "100", "1000.5", "-3", "1e2", " 7 ", "007", "", "k.A.", "2024-03-01", "2023-12-31", "2024-02-30",
    "2024-03-01 10:30", "2024-03-01T00:00:00", "01.03.2024", "true", "FALSE", "5.0", "12345678901234567890", "ä", "1,5",
]  # fmt: skip
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def as_number(cell: str) -> float | None:
    return float(cell) if re.fullmatch(r"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[0-9]+)?[ \t]*", cell) else None


def as_integer(cell: str) -> int | None:
    return int(cell.split(".")[0]) if re.fullmatch(r"[ \t]*[+-]?[0-9]+(\.0*)?[ \t]*", cell) else None


def as_text(cell: str) -> str | None:
    return cell or None


def as_date(cell: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(cell) if len(cell) == 10 else None
    except ValueError:
        return None


def as_datetime(cell: str) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(cell) if cell.startswith("2") else None
    except ValueError:
        return None


READERS: dict[str, Callable[[str], Any]] = {
    "number": as_number, "integer": as_integer, "text": as_text, "date": as_date, "datetime": as_datetime,
}  # fmt: skip


def as_number_of_pandas(cell: str) -> float | None:
    """Texts that pandas may hold as booleans, and these as integers, are 1 and 0."""
    flag = {"true": 1.0, "false": 0.0}.get(cell.lower())
    return as_number(cell) if flag is None else flag


def passing(source: Any, where: str, **options: Any) -> list[Any]:
    (question,) = prepare(source, "k", kind="integer", where=where, exact=True, **options).questions
    return sorted(question.table.count([question.counting])[0].parts[0].tolist())


def written(tmp_path: Path, rows: list[tuple[str, str]], form: str) -> Any:
    named = [{"k": str(k), "a": a, "b": b} for k, (a, b) in enumerate(rows)]
    if form == "pandas":
        return pd.DataFrame([{key: cell or None for key, cell in row.items()} for row in named], dtype=object)
    if form == "jsonl":
        (tmp_path / "t.jsonl").write_text(
            "".join(json.dumps({key: cell for key, cell in row.items() if cell}) + "\n" for row in named)
        )
    else:
        pd.DataFrame(named).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / f"t.{form}"


@pytest.mark.parametrize("form", ["csv", "jsonl", "pandas"])
def test_every_reading_is_that_of_plain_python(form: str, tmp_path: Path) -> None:
    """Seed 7: random pairs of cells, each comparison by brute force."""
    rng = random.Random(7)
    rows = [(rng.choice(CELLS), rng.choice(CELLS)) for _ in range(120)]
    source = written(tmp_path, rows, form)
    for kind, read in READERS.items():
        if form == "pandas" and kind == "integer":
            continue  # integers of an inferred dtype are limited in size
        if form == "pandas" and kind == "number":
            pairs = [(as_number_of_pandas(a), as_number_of_pandas(b)) for a, b in rows]
        elif form == "pandas" and kind == "text":  # what pandas may hold as something else is no text
            texts = ("", "k.A.", "ä")
            pairs = [(as_text(a) if a in texts else None, as_text(b) if b in texts else None) for a, b in rows]
        else:
            pairs = [(read(a), read(b)) for a, b in rows]
        if form == "pandas" and kind == "number":  # booleans, which an integer among them makes 1 and 0
            flags = {"true": 1.0, "FALSE": 0.0}
            pairs = [(flags.get(a, x), flags.get(b, y)) for (a, b), (x, y) in zip(rows, pairs, strict=True)]
        for sign, holds in SIGNS.items():
            wanted = [k for k, (a, b) in enumerate(pairs) if a is not None and b is not None and holds(a, b)]
            assert passing(source, f"{kind}(a) {sign} {kind}(b)") == wanted, (kind, sign)
            if kind != "integer":
                assert passing(source, f"a {sign} {kind}(b)") == wanted, (kind, sign)  # the other has the same kind
        firsts = [a if a is not None else b for a, b in pairs]
        assert passing(source, f"coalesce({kind}(a), {kind}(b)) IS NULL") == [
            k for k, v in enumerate(firsts) if v is None
        ]
        assert passing(source, f"{kind}(a) IS NOT NULL") == [k for k, (a, _) in enumerate(pairs) if a is not None]


def test_beside_integers_there_may_be_fractions(tmp_path: Path) -> None:
    source = written(tmp_path, [("1.5", "1"), ("0.5", "1"), ("2", "x")], "csv")
    assert passing(source, "a > integer(b)") == [0]
    assert passing(source, "a > k") == [0]  # released as integers: 1.5 > 0, 0.5 > 1, 2 > 2
    assert passing(source, "coalesce(a, integer(b)) >= 1.5") == [0, 2]


def test_differences_of_dates_are_days(tmp_path: Path) -> None:
    days = [dt.date(2024, 2, 27) + dt.timedelta(days=i) for i in range(4)]
    rows = [(f"{early:%d.%m.%Y}", f"{late:%d.%m.%Y}") for early in days for late in days]
    source = written(tmp_path, [*rows, ("", "01.03.2024"), ("2024-03-01", "01.03.2024")], "csv")
    options: dict[str, Any] = {"derive": {"stay": "date(b) - date(a)"}, "date_format": "%d.%m.%Y", "exact": True}
    (question,) = prepare(source, "stay", **options).questions
    bars = question.table.count([question.counting])[0]
    assert question.counting.values[0].kind == "integer"
    wanted = Counter((late - early).days for early in days for late in days)
    assert dict(zip(bars.parts[0].tolist(), bars.counts.tolist(), strict=True)) == wanted


def test_a_format_of_dates_holds_for_texts_of_pandas() -> None:
    frame = pd.DataFrame({"k": [0, 1], "d": ["01.03.2024", "02.04.2024"]})
    for where in ("d >= DATE '2024-03-15'", "date(d) >= '2024-03-15'", "datetime(d) > DATE '2024-03-15'",
                  "month(d) = 4", "coalesce(d, d) > DATE '2024-03-15'"):  # fmt: skip
        assert passing(frame, where, date_format="%d.%m.%Y") == [1], where


REFUSED = {
    "a > b": r"a and b declare no type, so nothing shows how to order them. Write number\(a\) > number\(b\), date",
    "NOT a <= b": r"Write number\(a\) > number\(b\)",
    "a BETWEEN b AND coalesce(b, a)": r"Write number\(a\) >= number\(b\)",
    "coalesce(a, b) < b": "declare no type",
    "CASE WHEN a < b THEN 1 ELSE 0 END = 1": "declare no type",
    "a > '65'": r"'65' is a number in quotes. Write 65 without quotes, or text\(a\) if the order of texts is meant",
    "'65' < a": "is a number in quotes",
    "a BETWEEN '1' AND '5.5'": "is a number in quotes",
    "coalesce(a, b) >= '-1e3'": "is a number in quotes",
    "a >= '01.03.2024'": "'01.03.2024' is a date in quotes. Write DATE '2024-12-31'",
    "a = ''": "column 'a' has no empty texts, because empty cells are missing. Write a IS NULL, or a IS NOT NULL",
    "a <> ''": "has no empty texts",
    "text(a) = ''": "has no empty texts",
    "a IN ('x', '')": "has no empty texts",
    "a NOT IN ('')": "has no empty texts",
    "number(a) > 5 AND text(a) > 'x' AND a IS NULL": "is used as a number and as a text",
    "date(a) > number(b)": "a date cannot be compared with a number",
    "text(a) > 5": "a text cannot be compared with a number",
    "number(a) = 'x'": "a number cannot be compared with a text",
    "boolean(a) = 1": "a boolean cannot be compared with a number. Write = TRUE, or = FALSE",
    "number(nothing) = 1": "no column named 'nothing'",
}


@pytest.mark.parametrize(("where", "why"), REFUSED.items())
def test_comparisons_of_texts_by_mistake_are_refused(where: str, why: str, tmp_path: Path) -> None:
    source = written(tmp_path, [("1", "2")], "csv")
    with pytest.raises(InputError, match=why) as refusal:
        prepare(source, "k", kind="integer", where=where)
    assert refusal.value.parameter == "where" and len(str(refusal.value)) < 400
    with pytest.raises(InputError, match="derive"):
        prepare(source, "new", kind="integer", derive={"new": f"CASE WHEN {where} THEN 1 ELSE 0 END"})


@pytest.mark.parametrize("literal", ["2024-03-01", "2024-03-01 10:30", "01.03.2024", "1.3.2024"])
def test_quoted_dates_beside_a_format_of_dates_are_refused(literal: str, tmp_path: Path) -> None:
    source = written(tmp_path, [("01.03.2024", "2")], "csv")
    remedy = "TIMESTAMP '2024-03-01 10:30'" if ":" in literal else "DATE '2024-03-01'"
    with pytest.raises(InputError, match=rf"is a date in quotes. Write {remedy}, or text\(a\)"):
        prepare(source, "k", kind="integer", where=f"a >= '{literal}'", date_format="%d.%m.%Y")
    assert passing(source, f"a = '{literal}'", date_format="%d.%m.%Y") == [0] * (literal == "01.03.2024")


def test_what_is_harmless_is_taken_as_before(tmp_path: Path) -> None:
    rows = [("ICU", "2024-01-01"), ("A", "2023-12-31"), ("", "2024-05-05")]
    source = written(tmp_path, rows, "csv")
    assert passing(source, "b >= '2024-01-01'") == [0, 2]  # texts in the order of their dates
    assert passing(source, "b >= '2024-01-01'", date_format="%Y-%m-%d") == [0, 2]
    assert passing(source, "b BETWEEN '2024-01-01 00:00' AND '2024-12'") == [2]
    assert passing(source, "a > 'B' AND k >= 0") == [0]
    assert passing(source, "a = '65' OR a <> b") == [0, 1]
    assert passing(source, "a IN ('65', 'A')") == [1]
    assert passing(source, "coalesce(a, '') = ''") == [2]
    assert passing(source, "a > ''") == [0, 1]
    assert passing(source, "k > 1999 - 3 - 1 OR k > -1") == [0, 1, 2]
    for form in ("jsonl", "pandas"):
        other = written(tmp_path, rows, form)
        assert passing(other, "a = ''") == []  # there, a cell may be an empty text
    frame = pl.DataFrame({"k": [0, 1], "s": ["", "7"], "t": ["a", "8"], "d": [dt.date(2024, 1, 1)] * 2})
    assert passing(frame, "s < t AND s >= '7' AND d >= '2024-01-01' AND text(t) <> ''") == [1]  # declared
    assert passing(pd.DataFrame({"k": [0, 1], "x": [1.5, 2], "i": [2, 1]}), "x < i AND number(i) > 1") == [0]


def test_a_released_column_tells_the_kind_of_others(tmp_path: Path) -> None:
    source = written(tmp_path, [("9", "10"), ("10", "9"), ("x", "1")], "csv")
    (question,) = prepare(source, "a", kind="number", where="a < b", exact=True).questions
    assert question.table.count([question.counting])[0].parts[0].tolist() == [9]


def test_the_range_of_a_filter_is_found_with_a_reading(tmp_path: Path) -> None:
    from flexdp._release.filtered import range_of_filter

    source = written(tmp_path, [("9", "10")], "csv")
    for where in ("number(a) > 5 AND a <= 7", "number(a) BETWEEN 5 AND 7"):
        (question,) = prepare(source, "a", kind="number", where=where).questions
        assert range_of_filter(question.spec) == (5, 7)


# ---- what is told

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "kind": "text"}


def test_a_release_tells_how_the_columns_of_its_filter_are_read(tmp_path: Path) -> None:
    source = written(tmp_path, [("9", "2024-01-01")] * 300, "csv")
    with pytest.warns(ReadingWarning) as caught:
        flexdp.release(source, "k", where="a - b > 5", **SPEND)
    (warning,) = caught
    assert str(warning.message) == (
        "In filters and derived columns, columns 'a' and 'b' are read as numbers written like 1234.5; other cells are "
        "missing there. There, number(x), date(x) or text(x) says how a column x is read. If cells are written in "
        "another way, set decimal, thousands or currency. flexdp.check counts the cells that are read. "
        "The file is read as UTF-8; lines in another encoding are not counted. Set encoding if it has another."
    )
    for where in ("a > 5", "year(b) = 2024", "b <> 'x'", "a BETWEEN 1 AND 20", "k IN ('x', 'y')", "k LIKE 'x%'",
                  "a / b > 1", "a - 1 > 2"):  # fmt: skip
        flexdp.release(source, "k", where=where, **SPEND)  # the text shows the kind: no warning
    with pytest.warns(ReadingWarning, match=r"^Columns 'a' and 'b' are compared as texts. There, number\(x\)"):
        flexdp.release(source, "k", where="a <> b", **SPEND)
    flexdp.release(source, "k", where="number(a) > 5 AND text(b) > '1' AND b <> 'x'", **SPEND)  # told: no warning
    out = command("release", source, "s", "--derive", "s=date(b) - date(a)", "--where", "number(a) > 1000",
                  "--exact", "-e", 1, "-d", "1e-6")  # fmt: skip
    assert "columns 'b' and 'a' were read as dates written like 2024-12-31;" in out.stderr
    assert "column 'a' was read as numbers written like 1234.5; other cells were missing there." in out.stderr


def test_likely_causes_tell_how_columns_were_read(tmp_path: Path) -> None:
    source = written(tmp_path, [("2024-01-01", "2024-01-05")] * 300, "csv")
    with pytest.warns(ReadingWarning, match="columns 'b' and 'a' are read as numbers"):
        made = flexdp.release(source, "k", where="b - a > 3", **SPEND)
    assert json.loads(made.to_json())["read_as"] == {"number": ["b", "a"]}
    cause = "b and a were read as numbers, because no type is declared; write date(b) for dates."
    assert cause in made.likely_causes
    assert Release.from_json(made.to_json()).likely_causes == made.likely_causes
    made = flexdp.release(source, "k", where="year(b) = 1999", **SPEND)
    assert "b was read as dates, written as %Y-%m-%d unless date_format says otherwise." in made.likely_causes
    keys = written(tmp_path, [("1", "2")] * 300, "jsonl")
    made = flexdp.release(keys, "k", where="misspelt = 'x'", **SPEND)
    assert any(cause.startswith("Keys of JSON records are not declared") for cause in made.likely_causes)
    assert Release.from_json(made.to_json()).likely_causes == made.likely_causes
    document = json.loads(made.to_json())
    for wrong in ({"keyed": 1}, {"read_as": {"text": ["a"]}}, {"read_as": {"number": []}}, {"read_as": {"number": [1]}},
                  {"read_as": ["a"]}, {"read_as": {"number": ["a"]}, "where": None}):  # fmt: skip
        with pytest.raises(InputError):
            Release.from_json(json.dumps({**document, **wrong}))


def test_dtypes_of_frames_are_not_published() -> None:
    """One record may make a column of objects: the document must not show it."""
    for cells in (["1", "2"], [1.0, 2.0], [1, 2]):
        frame = pd.DataFrame({"k": pd.array(["a", "b"] * 300, dtype="string"), "x": cells * 300})
        made = flexdp.release(frame, "k", epsilon=1, delta="1e-6", where="x > 0")
        assert not {"read_as", "keyed"} & set(json.loads(made.to_json()))


@pytest.mark.parametrize("where", ["date(b) - date(a) > 3", "number(a) > number(b)", "text(\"b\") >= '5'"])
def test_a_stated_filter_parses_to_itself(where: str, tmp_path: Path) -> None:
    source = written(tmp_path, [("9", "2024-01-01")] * 30, "csv")
    made = flexdp.release(source, "k", where=where, **SPEND)
    stated = json.loads(made.to_json())["where"]
    assert (
        flexdp.release(source, "k", where=stated, **SPEND).spec == made.spec == Release.from_json(made.to_json()).spec
    )
