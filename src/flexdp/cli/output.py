"""What a terminal, a pipe or a file gets to see of a release: text that cannot act, files that are whole."""

from __future__ import annotations

import csv
import datetime as dt
import difflib
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, TypeVar

from flexdp._core.display import key_text
from flexdp._core.domains import path_text
from flexdp._core.exact import number_text
from flexdp._core.text import for_spreadsheet, safe_repr
from flexdp._core.text import visible as safe
from flexdp._release.answers import Answer, check_order
from flexdp._release.api import Release, Releases, Request
from flexdp._release.readable import Readable
from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.statistics import Max, MaxAtLeast, Median, Min, Mode, Quantile, Range, Statistic, Support, Top

__all__ = [
    "AtomicFile",
    "StatQuery",
    "all_answers",
    "json_answer",
    "json_document",
    "parse_stats",
    "print_answers",
    "safe",
]

_S = TypeVar("_S")
_NOT_OFFERED = ("mean", "average", "sum", "std", "var")  # no small error can be promised of them
_MOST_BARS = 60  # that a terminal is shown; a file or JSON has them all


@dataclass(frozen=True, slots=True)
class StatQuery:
    """A statistic asked for by its word on the command line."""

    word: str
    ask: Callable[[Readable], Answer]

    def __call__(self, readable: Readable) -> Answer:
        return self.ask(readable)


def parse_stats(words: Sequence[str], request: Request) -> list[StatQuery]:
    """The questions that the words ask, checked against the kinds of the keys before anything is spent."""
    kinds = {kind for question in request.questions for kind in question.spec.kinds}
    points = any(len(question.spec.columns) > 1 for question in request.questions)
    unordered = points or kinds & {"text", "boolean"}
    if not words:
        words = ("mode", "support", "counts") if unordered else ("max", "min", "median", "q0.99")
    return [_question(word, kinds, points) for word in words]


def _made(word: str, statistic: Callable[[str], _S], argument: str) -> _S:
    try:
        return statistic(argument)
    except InputError as refusal:
        raise InputError(f"stat {safe_repr(word)} cannot be asked: {refusal}") from None


def _question(word: str, kinds: set[Kind], points: bool) -> StatQuery:
    name, _, argument = word.partition(":")
    plain: dict[str, tuple[Statistic | None, Callable[[Readable], Answer]]] = {
        "max": (Max(), Readable.max),
        "min": (Min(), Readable.min),
        "range": (Range(), Readable.range),
        "median": (Median(), Readable.median),
        "mode": (Mode(), Readable.mode),
        "support": (Support(), Readable.support),
        "counts": (None, Readable.counts),
    }
    statistic: Statistic | None
    if word in plain:
        statistic, ask = plain[word]
    elif name == "max_at_least" and argument:
        statistic = threshold = _made(word, MaxAtLeast, argument)
        ask = partial(Readable.max_at_least, count=threshold.count)
    elif name == "top" and argument:
        statistic = tallest = _made(word, Top, argument)
        ask = partial(Readable.top, count=tallest.count)
    elif re.fullmatch(r"q[0-9.].*", word):
        statistic = quantile = _made(word, Quantile, word[1:])
        ask = partial(Readable.quantile, level=quantile.level)
    else:
        known = [*plain, "q0.99", "max_at_least:500", "top:10"]
        near = [] if word in _NOT_OFFERED else difflib.get_close_matches(word.lower(), known, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known)}."
        if "," in word:
            hint = "Give --stat once for each."
        raise InputError(f"stat {safe_repr(word)} is not known. {hint}")
    if statistic is not None:
        if points and statistic.ordered:
            raise InputError(f"stat {word} needs one column; of points ask for mode, support, top or counts.")
        for kind in kinds:
            check_order(statistic, kind)
    return StatQuery(word, ask)


def json_document(release: Release, questions: Sequence[StatQuery]) -> dict[str, Any]:
    """A release as JSON, with the answers that were asked for, and those of each group."""
    document: dict[str, Any] = json.loads(release.to_json())
    document["conditions"] = list(release.conditions)
    document["answers"] = [json_answer(question.word, question(release)) for question in questions]
    for group, view in _groups(release):
        answers = [json_answer(question.word, question(view)) for question in questions]
        document["answers"] += [{**answer, "group": [_plain(part) for part in group]} for answer in answers]
    return document


def _groups(release: Release) -> Iterator[tuple[tuple[Any, ...], Readable]]:
    if release.spec.by:
        single = len(release.spec.by) == 1
        for group, view in release.by_group().items():
            yield (group,) if single else group, view


def json_answer(word: str, answer: Answer) -> dict[str, Any]:
    """An answer as plain JSON values."""
    value = answer.value
    if isinstance(value, dict):
        value = [[_plain(key), records] for key, records in value.items()]
    elif isinstance(value, tuple):
        value = [[_plain(part) for part in item] if isinstance(item, tuple) else _plain(item) for item in value]
    accuracy = answer.accuracy
    return {
        "stat": word,
        "value": _plain(value),
        "alpha": accuracy.alpha if accuracy else None,
        "beta": accuracy.beta if accuracy else None,
        "beta_is_relative": accuracy.relative if accuracy else None,
        "moved": accuracy.moved if accuracy else None,
        "interval": [_plain(end) for end in answer.interval] if answer.interval else None,
        "statement": answer.statement,
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str | list):
        return value
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.days if value == dt.timedelta(days=value.days) else str(value)
    return str(value)


def all_answers(release: Release, questions: Sequence[StatQuery]) -> list[Answer]:
    """The answers for all groups together, then those of each group, as far as a terminal is shown them."""
    answers = [question(release) for question in questions]
    return answers + [question(view) for _, view in islice(_groups(release), _MOST_BARS) for question in questions]


def print_answers(release: Release, answers: Sequence[Answer]) -> None:
    """A table on a terminal, sentences in a pipe; the conditions that all answers share stand once above them."""
    more = len(release.groups) - _MOST_BARS
    if more > 0:
        sys.stderr.write(f"The first {_MOST_BARS} groups are shown; --json or -o has the {more} others.\n")
    if not sys.stdout.isatty():
        sys.stdout.writelines(f"{safe(condition)}\n" for condition in release.conditions)
        for answer in answers:
            sys.stdout.write(safe(str(answer)) + "\n")
            if isinstance(answer.value, dict):
                sys.stdout.writelines(f"{safe(show(key))}\t{show(records)}\n" for key, records in answer.value.items())
            elif isinstance(answer.value, tuple) and answer.name == "support":
                sys.stdout.writelines(f"{safe(show(key))}\n" for key in answer.value)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", max_width=18)
    table.add_column(style="bold cyan", overflow="fold", max_width=28)
    table.add_column(overflow="fold", ratio=1)
    charted = [answer for answer in answers if isinstance(answer.value, dict)][:1]  # the bars of all groups together
    for answer in answers:
        if answer.name != "counts" or answer in charted:
            table.add_row(Text(safe(answer.name)), Text(_cell(answer)), Text(safe(answer.statement)))
    for condition in release.conditions:
        console.print(Text(safe(condition)))
    console.print(table)
    if any(isinstance(answer.value, dict) for answer in answers):
        console.print(bar_chart(release, max(4, min(40, console.width - 40))))


def _cell(answer: Answer) -> str:
    return "below" if isinstance(answer.value, dict) else safe(answer.text)


def show(value: Any) -> str:
    """A key or a count as people write it, whole."""
    return key_text(value, sys.maxsize)


def bar_chart(release: Release, width: int = 40) -> Any:
    """The released histogram as lines of a terminal."""
    from rich.table import Table
    from rich.text import Text

    chart = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    chart.add_column(justify="right")
    chart.add_column(justify="right", style="cyan")
    chart.add_column(style="blue", no_wrap=True)
    tallest = int(release.bars.counts.max()) if len(release.bars) else 1
    for place, (key, records) in enumerate(release.histogram.items()):
        if place == _MOST_BARS:
            chart.add_row("…", "", f"{len(release.bars) - _MOST_BARS} more; --json or -o has them all")
            break
        eighths = max(1, round(8 * width * records / tallest))
        chart.add_row(Text(safe(show(key))), str(records), "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8])
    return chart


class AtomicFile:
    """A file that is either written whole or not at all; the place is tried before anything is spent."""

    def __init__(
        self, path: str | None, *, inputs: Sequence[str] = (), endings: Sequence[str] = (".json", ".csv", ".html")
    ) -> None:
        self._path = None if path is None else Path(path_text("output", path))
        self._stream: TextIO | None = None
        if self._path is not None and any(_same(self._path, file) for file in inputs):
            raise InputError(f"output {safe_repr(path)} is what is read here; name another file.")
        if self._path is not None and self._path.suffix.lower() not in endings:
            *first, last = endings
            wanted = f"{', '.join(first)} or {last}" if first else last
            raise InputError(f"output must end in {wanted}; got {safe_repr(path)}.")

    def __enter__(self) -> AtomicFile:
        if self._path is not None:
            given = safe_repr(str(self._path))
            try:
                if self._path.is_dir():
                    raise InputError(f"output {given} is a directory; name a file.")
                if self._path.exists() and not os.access(self._path, os.W_OK):
                    raise InputError(f"output {given} exists and is write-protected; name another file.")
                self._path = self._path.resolve()  # what a link points to is replaced, not the link
                self._stream = tempfile.NamedTemporaryFile(
                    "w", encoding="utf-8", newline="", dir=self._path.parent, prefix=".flexdp-", delete=False
                )  # type: ignore[assignment]
            except (OSError, RuntimeError):  # links that lead in a circle
                raise InputError(
                    f"output {given} cannot be written. Check its name, and that the folder is there and open to you."
                ) from None
        return self

    def write(self, release: Release | Releases) -> None:
        """Write the release in the format of the file's ending."""
        if self._stream is None or self._path is None:
            return
        if self._path.suffix.lower() == ".json":
            self._stream.write(release.to_json(indent=2) + "\n")
            return
        if self._path.suffix.lower() == ".html":
            if isinstance(release, Releases):
                raise AssertionError("refused before anything was spent")
            self._stream.write(release.to_html())
            return
        # Texts are quoted, so that a spreadsheet which splits at semicolons does not find a formula inside one.
        writer = csv.writer(self._stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        several = isinstance(release, Releases)
        for place, one in enumerate(release.values() if isinstance(release, Releases) else [release]):
            columns = one.columns_of_bars()
            if not place:
                writer.writerow([*(["column"] if several else []), *map(for_spreadsheet, columns)])
            for row in zip(*columns.values(), strict=True):
                cells = (
                    Decimal(number_text(cell)) if isinstance(cell, Fraction) else for_spreadsheet(cell) for cell in row
                )
                writer.writerow([*([for_spreadsheet(one.column)] if several else []), *cells])

    def write_text(self, text: str) -> None:
        """Write a page that was made elsewhere."""
        if self._stream is not None:
            self._stream.write(text)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is None or self._path is None:
            return
        written = Path(self._stream.name)
        try:
            self._stream.close()
            if kind is None:
                written.chmod(0o666 & ~_umask())
                written.replace(self._path)
        finally:
            written.unlink(missing_ok=True)


def _same(path: Path, file: str) -> bool:
    """Whether two names are of one file; what is not there, or cannot be looked at, is not."""
    try:
        return path.samefile(file)
    except (OSError, ValueError):
        return False


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
