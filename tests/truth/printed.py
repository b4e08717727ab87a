"""Every number that a release prints: it belongs to a claim, or to what was public before the data was read."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from flexdp import InputError, Release
from flexdp._release.claims import Between, Beyond, BeyondShare, OutsideShare
from flexdp._release.ranges import bucket_texts
from flexdp.cli.output import AtomicFile, StatQuery, all_answers, json_document, print_answers
from flexdp.report.charts.bars import lengths
from flexdp.statistics import Quantile
from truth.answers import QUESTIONS, answers_of, told
from truth.judging import unprinted
from truth.raw import on_line

_PLAIN = (int, float, Fraction, str, dt.date, dt.timedelta)
_THIN = "\u00a0\u202f\u2009"
_STAMP = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?|\b\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\b"
)
_NUMBER = re.compile(
    rf"(?<![\w.])[-−]?\d+(?:[ {_THIN}]\d{{3}})*(?:\.\d+)?(?:e[+-]?\d+)?(?:/\d+)?%?(?![\w])", re.IGNORECASE
)
_CODE = re.compile(r"\x1b\[[0-9;]*m")  # of a colour
_ORDINAL = re.compile(r"(\d+(?:\.\d+)?)(?:st|nd|rd|th)\b")


# What is the same in every release: limits of what is read.
_FIXED = re.compile(
    r"UTF-8|65.536 bytes|2\.2250738585072014e-308|2\^\d+|37 digits|years 1 to 9999|SHA-256|"
    r"flexdp \d+\.\d+\.\d+|"
    r"\(about [\d\s]+ are needed[,;]( or about ε = [\d.]+ for this many)?|and ε = [\d.]+ needs about [\d\s]+|"
    r"would need about ε = [\d.]+|"  # what another ε would do, by public rules
    r"Buckets were chosen privately with [^.]*(?:\.\d+%[^.]*)*\.|took [\d.]+% of ε",  # how ε was divided
)


def numbers_in(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the numbers of a text as they stand, each with what it is; dates and times as they stand.

    >>> [value for _, value in numbers_in("the 99th: about 1 234.5, 73.2% on 2024-03-01 12:30")]
    [Fraction(99, 1), '2024-03-01 12:30', Fraction(2469, 2), Fraction(183, 250)]
    """
    text = _FIXED.sub(" ", text)
    for found in _ORDINAL.finditer(text):
        yield found.group(), Fraction(found.group(1))
    text = _ORDINAL.sub(" ", text)
    for found in _STAMP.finditer(text):
        yield found.group(), found.group().replace("T", " ")
    for found in _NUMBER.finditer(_STAMP.sub(" ", text)):
        plain = re.sub(rf"[ {_THIN}]", "", found.group()).replace("−", "-")
        share = plain.endswith("%")
        yield found.group(), Fraction(plain.rstrip("%")) / (100 if share else 1)


class _Words(HTMLParser):
    """The words of a page that a reader sees: not its style, its scripts, its drawings or its proofs."""

    def __init__(self, skipped: Iterable[str]) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._skipped, self._inside = set(skipped), 0

    def handle_starttag(self, tag: str, _attributes: Any) -> None:
        self._inside += tag in self._skipped

    def handle_endtag(self, tag: str) -> None:
        self._inside -= tag in self._skipped

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.texts.append(data)


def words_of(page: str) -> str:
    """Return the words that a page shows; those of its drawings have scales, which are of no claim."""
    reader = _Words(("style", "script", "svg", "details"))
    reader.feed(page)
    return "\n".join(reader.texts).partition("\nCitation\n")[0]


class _Terminal(io.StringIO):
    """Collects what is printed as a terminal shows it."""

    def isatty(self) -> bool:
        return True


def _printed_by_the_command(release: Release) -> Iterator[tuple[str, str]]:
    """What ``flexdp release`` prints and writes of a release: lines in a pipe, a table and a chart, JSON and CSV."""
    questions = [
        StatQuery(word, ask, whole=_answers(ask, release))
        for word, ask in QUESTIONS.items()
        if word != "debiased"
        and _answers(ask, *list(release.by_group().values())[:1] if release.spec.by else [release])
    ]
    answers = all_answers(release, questions)
    for name, stream in (("pipe", io.StringIO()), ("terminal", _Terminal())):
        with patch.dict(os.environ, {"COLUMNS": "300"}), redirect_stdout(stream):
            print_answers(release, answers)
        yield name, _CODE.sub("", stream.getvalue())
    for answer in json_document(release, questions)["answers"]:
        yield "JSON", "; ".join(str(value) for value in _scalars(list(answer.values()), parsed=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.csv"
        with AtomicFile(str(path)) as file:
            file.write(release)
        with path.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    for name in rows[0] if rows else ():
        yield f"CSV: {name}", "; ".join(str(row[name]) for row in rows)


def _answers(ask: Any, *views: Any) -> bool:
    try:
        return bool([ask(view) for view in views])
    except InputError:
        return False


def surfaces(release: Release) -> Iterator[tuple[str, str]]:
    """Yield all that is printed of a release, by the name of where it is printed."""
    yield from _printed_by_the_command(release)
    for answer in answers_of(release):
        yield "sentence", str(answer)
        yield "text", answer.text
    yield "conditions", "\n".join(release.conditions)
    yield "page", words_of(release.to_html())
    yield "card", words_of(release._repr_html_())
    columns = release.columns_of_answers() if release.budget is None else release.columns_of_bars()
    for name, values in columns.items():
        if name not in ("key", "lower", "upper"):
            yield f"frame: {name}", "; ".join(str(value) for value in values)


def unclaimed(release: Release, parameters: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the printed numbers that belong to no claim and to no parameter, with where they stand."""
    known = set(_known(release, parameters))
    out = []
    for name, text in surfaces(release):
        for word, value in numbers_in(text):
            if value not in known and -value not in known if isinstance(value, Fraction) else value not in known:
                out.append((name, word, text[:300]))
    return out


def _known(release: Release, parameters: dict[str, Any]) -> Iterator[Any]:
    answers = list(answers_of(release))
    claims = [claim for answer in answers for claim in (*answer.claims, *unprinted(answer, release))]
    for answer in answers:
        yield from _forms(answer.value if isinstance(answer.value, _PLAIN) else None)  # frames have all digits
        if answer.accuracy is not None:  # as JSON has it, beside the claims that follow from it
            for each in (answer.accuracy.alpha, answer.accuracy.beta, answer.accuracy.moved):
                yield from _forms(each)
        if hasattr(answer.value, "__len__"):
            yield Fraction(len(answer.value))  # buckets that were released
        about = {claim.quantity: claim.upper for claim in answer.claims if claim.relation == "is about"}
        for claim in answer.claims:
            if claim.confidence < 1 and claim.quantity in about and claim.upper is not None:  # also where 0 cuts it
                yield on_line(claim.upper) - on_line(about[claim.quantity])
    for claim in (*claims, *(claim for _, claim in told(release))):
        yield from _forms(claim.lower)
        yield from _forms(claim.upper)
        yield claim.confidence
        yield Fraction(claim.lost)
        if claim.confidence < 1 and claim.lower is not None and claim.upper is not None:  # "off by at most"
            yield from ((on_line(claim.upper) - on_line(claim.lower)) / 2, on_line(claim.upper) - on_line(claim.lower))
        if claim.given is not None:
            yield from (Fraction(10) ** claim.given.decades, Fraction(claim.given.decimals))
        if isinstance(claim.quantity, Beyond | BeyondShare | Between):
            yield from _forms(claim.quantity.value)
        if isinstance(claim.quantity, OutsideShare):
            yield from (*_forms(claim.quantity.low), *_forms(claim.quantity.high))
    yield from (Fraction(n) for n in range(4))  # words such as "top 3", "at least 1"
    yield from _public(release, parameters)


def _public(release: Release, parameters: dict[str, Any]) -> Iterator[Any]:
    for value in (*_scalars(parameters), *_scalars(json.loads(release.to_json()), parsed=True)):
        yield from _forms(value)
    for word in (
        *map(str, _scalars(parameters)),
        str(release.privacy),
        json.dumps(json.loads(release.to_json()).get("about", {})),
    ):
        yield from (value for _, value in numbers_in(word))
    for bucket in release.buckets if release.budget is not None and len(release.spec.columns) == 1 else []:
        yield from _forms(bucket.lower)
        yield from _forms(bucket.upper)
    if release.budget is not None:  # of a count: what it can have lost, and what it lost on average
        noise, mean, limited = release.noise, release.budget.mean_drop, release.budget.limited
        if limited is not None:  # of all buckets, and of those of one group
            each_group = limited.buckets // (release.spec.public_groups or 1)
            yield from (Fraction(min(limited.total, noise.max_drop * many)) for many in (limited.buckets, each_group))
        places = [1, *([len(release.spec.groups)] if release.spec.groups else [])]
        yield from (Fraction(each) * n for each in (noise.q, noise.max_drop, mean) for n in places)
        for count in {*release.cells.counts.tolist(), *release.bars.counts.tolist()}:
            yield from (count + mean * cells for cells in range(1, 8))
    yield from (Fraction(each.count) for each in release.spec.partitions if each.count is not None)
    if release.budget is not None and len(release.spec.columns) == 1:
        yield from _forms("; ".join(bucket_texts(release.spec.partitions[0], release.bars.keys)))
    if release.budget is not None:
        yield from (value for _, value in numbers_in(lengths(release).words))  # the scale of a drawing
    for level in (
        Quantile("0.99"),
        Quantile("0.9"),
        Quantile("0.05"),
        Quantile("0.25"),
        Quantile("0.75"),
        Quantile("0.5"),
    ):
        yield Fraction(level.level) * 100
    yield from (Fraction(50), Fraction(95, 100), Fraction(1, 2), Fraction(40))


def _scalars(value: Any, *, parsed: bool = False) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _scalars(each, parsed=parsed)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _scalars(each, parsed=parsed)
    elif value is not None and not isinstance(value, bool):
        yield value


def _forms(value: Any) -> Iterator[Any]:
    """A value in every form in which it may stand in a sentence."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        yield from (each for _, each in numbers_in(value))
    elif isinstance(value, dt.timedelta):
        yield from (Fraction(part) for part in (value.days, value.days + 1, value.seconds))
        yield from (each for _, each in numbers_in(str(value)))
        yield from (on_line(value) / micros for micros in (1, 10**6, 60 * 10**6, 3600 * 10**6, 86400 * 10**6))
    elif isinstance(value, dt.date):
        for moment in (value, value + dt.timedelta(days=1) if value.year < 9999 else value):
            yield from (each for _, each in numbers_in(str(moment)))
            yield from (each for _, each in numbers_in(str(moment)[:16]))
            yield from (each for _, each in numbers_in(str(moment)[:10]))
            yield from (Fraction(part) for part in (moment.year, moment.month, moment.day))
            if isinstance(moment, dt.datetime):
                yield from (each for _, each in numbers_in(moment.time().isoformat("minutes")))
    elif isinstance(value, int | float | Fraction):
        if isinstance(value, float) and not math.isfinite(value):
            return
        number = on_line(value)
        yield number
        yield number * 100
