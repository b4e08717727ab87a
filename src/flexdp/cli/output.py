"""Output of a release to a terminal, a pipe or a file: inert text, and files that are written whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import click

from flexdp._core.domains import path_text
from flexdp._core.exact import json_value, number_text
from flexdp._core.files import followed, replacing
from flexdp._core.text import for_spreadsheet, safe_repr, thousands, visible
from flexdp._release.answerable import check_several_buckets, repeats_units
from flexdp._release.answers import Answer
from flexdp._release.answers_json import json_answer, question_of
from flexdp._release.api import Release, Releases, Request
from flexdp._release.asking import wanted
from flexdp._release.by_column import of_column
from flexdp._release.ranges import bucket_texts, key_texts
from flexdp._release.readable import Readable
from flexdp._release.sentences import tally_ends, tally_text
from flexdp._release.stat_words import MOST_SHOWN, each_once
from flexdp.buckets.width import Width
from flexdp.errors import InputError, P, Phrase

__all__ = [
    "AtomicFile",
    "StatQuery",
    "all_answers",
    "between_words",
    "coarse",
    "json_document",
    "note",
    "parse_stats",
    "print_answers",
    "stats_of_each",
    "still_reading",
    "unanswered",
    "without_repeats",
]

SILENCE = 20.0  # seconds after which something is said
_NARROWEST = 40  # characters of a line
_COARSE = 2  # buckets that tell next to nothing of a column
_MOST_BARS = 60  # on a terminal; a file or JSON has them all
_WITHIN_NUMBER = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")
_GLUE = "\u2800"  # stands for the blanks within a number while lines are broken


@dataclass(frozen=True, slots=True)
class StatQuery:
    """A statistic that was asked for with ``--stat``; ``whole`` if all groups together have it, too."""

    word: str
    ask: Callable[[Readable], Answer]
    whole: bool = True

    def __call__(self, readable: Readable) -> Answer:
        return self.ask(readable)


def parse_stats(given: Sequence[str] | None, request: Request) -> list[StatQuery]:
    """Parse the statistics, and refuse before anything is spent those that the release could not answer.

    None are given where they cannot be chosen.
    """
    words = given or ()
    if len(words) > MOST_SHOWN:
        raise InputError("stat", f"must name at most {MOST_SHOWN} statistics", given=str(len(words)))
    spec = request.questions[0].spec
    kinds = {kind for question in request.questions for kind in question.spec.kinds}
    points = any(len(question.spec.columns) > 1 for question in request.questions)
    unordered = points or kinds & {"text", "boolean"}
    asked = request.questions[0].wanted
    if asked is not None and not request.questions[0].unasked:
        listed = [*asked.words, *each_once(words, among=asked.words)]
        if not request.budgets and len(listed) > len(asked.words):
            rule = f": {safe_repr(listed[-1])} was not asked for, and without buckets nothing can be read off"
            raise InputError("stat", rule, remedy=("Give it to ", P("ask"), ", or give ", P("width"), "."))
        if request.budgets and not words:
            read = ("mode", "support", "counts") if unordered else ("max", "min", "median", "q0.99")
            listed += each_once(read, among=listed)
        grouped = bool(spec.by) and repeats_units(spec.unit, spec.max_buckets_per_unit)
        return [
            StatQuery(
                word,
                question_of(word, kinds, points=points, asked=asked.words, spec=spec),
                whole=word != "count" or not grouped,  # of each group it was asked for; its buckets do not tell it
            )
            for word in listed
        ]
    if not words:
        words = ("mode", "support", "counts") if unordered else ("max", "min", "median", "q0.99")
    if not set(words) <= {"count", "counts"} and not request.questions[0].automatic:
        check_several_buckets(spec, chosen=given is not None)
    return [StatQuery(word, question_of(word, kinds, points=points, spec=spec)) for word in each_once(words)]


def stats_of_each(words: Sequence[str] | None, request: Request) -> list[list[StatQuery]]:
    """Parse the statistics for each column that is released separately, or for the one release."""
    found = []
    for question in request.questions:
        try:
            found.append(parse_stats(words, replace(request, questions=(question,))))
        except InputError as refusal:
            raise of_column(refusal, question.spec.columns[0], request.parameters) from None
    return found


def without_repeats(questions: Sequence[StatQuery]) -> list[StatQuery]:
    """Return the questions for people to read: the values that occur are also those that have a count."""
    counted = any(question.word == "counts" for question in questions)
    return [question for question in questions if question.word != "support" or not counted]


def json_document(release: Release, questions: Sequence[StatQuery]) -> dict[str, Any]:
    """Return a release as JSON, with the answers that were asked for: overall, then of each group."""
    document: dict[str, Any] = json.loads(release.to_json())
    document["conditions"] = list(release.conditions)
    if release.likely_causes:
        document["likely_causes"] = list(release.likely_causes)
    questions = _answerable(release, questions)
    whole = _as_a_whole(release, questions)
    document["answers"] = [json_answer(question.word, question(release)) for question in whole]
    for group, view in _groups(release):
        answers = [json_answer(question.word, question(view)) for question in questions]
        document["answers"] += [{**answer, "group": json_value(group)} for answer in answers]
    return document


def _answerable(release: Release, questions: Sequence[StatQuery]) -> Sequence[StatQuery]:
    """Return the questions themselves; or the five that are answered, where automatic buckets had too few records.

    Where there are too few for those, the conditions say so.
    """
    if release.auto is None or release.auto.chosen:
        return questions
    words = () if release.asked is None or release.auto.too_few else release.asked.wanted.words
    return [StatQuery(word, question_of(word, (), points=False, asked=words)) for word in words]


def _as_a_whole(release: Release, questions: Sequence[StatQuery]) -> list[StatQuery]:
    """Return the questions that have an answer for all groups together, which is read off buckets."""
    if release.asked is None or not release.spec.by:
        return list(questions)
    return [] if release.budget is None else [question for question in questions if question.whole]


def _groups(release: Release) -> Iterator[tuple[tuple[Any, ...], Readable]]:
    if release.spec.by:
        single = len(release.spec.by) == 1
        for group, view in release.by_group().items():
            yield (group,) if single else group, view


def all_answers(release: Release, questions: Sequence[StatQuery]) -> list[Answer]:
    """Return the answers over all groups, then those of each group, as many as a terminal is shown."""
    questions = _answerable(release, questions)
    answers = [question(release) for question in _as_a_whole(release, questions)]
    return answers + [question(view) for _, view in islice(_groups(release), _MOST_BARS) for question in questions]


def unanswered(release: Release, words: Sequence[str]) -> Phrase:
    """Say which statistics have no answer because five others took the place of buckets; empty if all have one."""
    if release.auto is None or release.auto.chosen or release.auto.too_few or release.asked is None:
        return ""
    found = {word: _asked_word(word, release) for word in words}
    missing = [word for word, asked in found.items() if asked not in release.asked.wanted.words]
    if not missing:
        return ""
    told = f"Not answered, because there are no buckets: {', '.join(missing)}."
    askable = [part for word in missing if found[word] is not None for part in (" ", P("ask", word))]
    return (told, " To answer without buckets, set", *askable, ".") if askable else told


def _asked_word(word: str, release: Release) -> str | None:
    """Return a statistic as ``ask`` names it; None if it cannot be asked for."""
    try:
        return wanted(word, release.spec.kinds).words[0]
    except InputError:
        return None


def print_answers(release: Release, answers: Sequence[Answer]) -> None:
    """Print a table on a terminal, sentences in a pipe; the conditions that all answers share stand once above."""
    more = len(release.groups) - _MOST_BARS
    if more > 0:
        sys.stderr.write(f"Showing the first {_MOST_BARS} groups; --json or -o has the other {more}.\n")
    if not sys.stdout.isatty():
        sys.stdout.writelines(f"{visible(condition)}\n" for condition in release.conditions)
        counted = any(isinstance(answer.value, dict) for answer in answers)  # which lists the values as well
        for answer in answers:
            sys.stdout.write(visible(str(answer)) + "\n")
            if isinstance(answer.value, dict):
                named = _ranges(release)
                told = zip(answer.value, answer.tallies, strict=True)
                sys.stdout.writelines(f"{visible(named[key])}\t{tally_text(tally)}\n" for key, tally in told)
            elif isinstance(answer.value, tuple) and answer.name == "support" and not counted:
                named = _ranges(release)
                sys.stdout.writelines(f"{visible(named[key])}\n" for key in answer.value)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def whole(text: str) -> Text:
        return Text(_glued(visible(text)))

    console = Console()
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", max_width=18)
    table.add_column(style="bold cyan", overflow="fold", max_width=28)
    table.add_column(overflow="fold", ratio=1)
    charted = [answer for answer in answers if isinstance(answer.value, dict)][:1]  # the bars of all groups together
    for answer in answers:
        if answer.name != "counts" or answer in charted:
            table.add_row(whole(answer.name), whole(_cell(answer)), whole(answer.statement))
    with console.capture() as drawn:
        for condition in release.conditions:
            console.print(whole(condition))
        console.print(table)
        if any(isinstance(answer.value, dict) for answer in answers):
            console.print(bar_chart(release, max(4, min(40, console.width - 40))))
    sys.stdout.write(drawn.get().replace(_GLUE, " "))


def _glued(text: str) -> str:
    """The text with its numbers in one piece, so that no line ends in "12" and begins with "500"."""
    return _WITHIN_NUMBER.sub(_GLUE, text)


def _ranges(release: Release) -> dict[Any, str]:
    """The buckets of a release, which are also those of its groups, as people read them, by their middles."""
    return dict(zip(release.counts().value, key_texts(release.partition, release.bars.keys), strict=True))


def _cell(answer: Answer) -> str:
    return "below" if isinstance(answer.value, dict) else answer.text


def bar_chart(release: Release, width: int = 40) -> Any:
    """Return the released histogram for a terminal: bars are as long as counts, or as densities if widths differ."""
    from rich.table import Table
    from rich.text import Text

    from flexdp.report.charts.bars import lengths

    chart = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    chart.add_column(justify="right")
    chart.add_column(justify="right", style="cyan")
    chart.add_column(style="blue", no_wrap=True)
    chart.add_column(justify="right")
    shown = release.bars.keys[:_MOST_BARS]
    tallies = release.tallies[:_MOST_BARS]
    found = lengths(release)
    chart.add_row("", "about", f"lengths are {found.words}" if found.words else "", "certainly")
    for words, tally, length in zip(bucket_texts(release.partition, shown), tallies, found.lengths, strict=False):
        eighths = max(1, round(8 * width * min(1.0, length)))
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8]
        drawn = f"{bar.rstrip()}…" if length > 1 else bar
        told = (_glued(each) for each in (visible(words), thousands(tally.about), tally_ends(tally)))
        name, about, ends = map(Text, told)
        chart.add_row(name, about, drawn, ends)
    if len(release.bars) > _MOST_BARS:
        chart.add_row("…", "", f"{len(release.bars) - _MOST_BARS} more; --json or -o has them all", "")
    return chart


def note(text: str) -> None:
    """Print a note on standard error; on a terminal, lines end between words."""
    click.echo(between_words(visible(text), sys.stderr), err=True)


@contextmanager
def still_reading() -> Iterator[None]:
    """Break a long silence on standard error, then ever longer ones; the work itself has nothing to say.

    The words depend on the clock alone, against which there is no defence anyway.
    """
    ended = threading.Event()

    def wait() -> None:
        silence = waited = SILENCE
        while not ended.wait(silence):
            with suppress(OSError, ValueError):  # standard error is closed: nobody listens
                note(f"Still reading after {round(waited)} seconds …")
            silence, waited = waited, 2 * waited

    waiting = threading.Thread(target=wait, name="flexdp-waiting", daemon=True)
    waiting.start()
    try:
        yield
    finally:
        ended.set()
        waiting.join()


def between_words(line: str, stream: TextIO) -> str:
    """Break a line that is too long for a terminal between words; elsewhere, and in a table, it stays as it is."""
    if not stream.isatty() or "  " in line.strip():
        return line
    try:
        own = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        own = 0
    width = max(_NARROWEST, own or shutil.get_terminal_size().columns)
    broken = textwrap.fill(_glued(line), width, break_long_words=False, break_on_hyphens=False)
    return broken.replace(_GLUE, " ") if len(line) > width else line


def coarse(release: Release) -> Phrase:
    """Say that all that was released lies in one or two buckets of a width that was given; empty otherwise."""
    axis = release.spec.partitions[0]
    narrowest = isinstance(axis, Width) and axis.kind in ("integer", "date") and axis.width == 1
    if not isinstance(axis, Width) or narrowest or release.budget is None or not release.spec.ordered:
        return ""
    found = bucket_texts(axis, release.bars.keys) if 0 < len(release.bars) <= _COARSE else []
    where = f"one bucket, {found[0]}" if len(found) == 1 else f"two buckets, {' and '.join(found)}"
    return (f"Everything released lies in {where}. A smaller ", P("width"), " shows more.") if found else ""


class AtomicFile:
    """A file that is written whole or not at all; the path is tried before anything is spent."""

    def __init__(
        self, path: str | None, *, inputs: Sequence[str] = (), endings: Sequence[str] = (".json", ".csv", ".html")
    ) -> None:
        self._path = None if path is None else Path(path_text("output", path))
        self._stream: TextIO | None = None
        self._open = ExitStack()
        if self._path is not None and any(_same(self._path, file) for file in inputs):
            raise InputError("output", f"{safe_repr(path)} is the input", remedy="Name another file.")
        if self._path is not None and self._path.suffix.lower() not in endings:
            *first, last = endings
            wanted = f"{', '.join(first)} or {last}" if first else last
            raise InputError("output", f"must end in {wanted}", given=safe_repr(path))

    def __enter__(self) -> AtomicFile:
        if self._path is not None:
            given = safe_repr(str(self._path))
            try:
                if self._path.is_dir():
                    raise InputError("output", f"{given} is a directory", remedy="Name a file.")
                if self._path.exists() and not os.access(self._path, os.W_OK):
                    raise InputError("output", f"{given} is write-protected", remedy="Name another file.")
                self._path = followed(self._path)  # what a link points to is replaced, not the link
                draft = self._open.enter_context(replacing(self._path))
                self._stream = self._open.enter_context(draft.open("w", encoding="utf-8", newline=""))
            except OSError:
                raise InputError(
                    "output", f"{given} cannot be written", remedy="Check its name and the permissions of its folder."
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
            self._stream.write(release.to_html())
            return
        # Texts are quoted, so that a spreadsheet that splits at semicolons finds no formula inside one.
        writer = csv.writer(self._stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        if isinstance(release, Release) and release.budget is None:
            columns = release.columns_of_answers()
        else:
            columns = release.columns_of_bars()
        writer.writerow(map(for_spreadsheet, columns))
        for row in zip(*columns.values(), strict=True):
            writer.writerow(
                Decimal(number_text(cell)) if isinstance(cell, Fraction) else for_spreadsheet(cell) for cell in row
            )

    def write_text(self, text: str) -> None:
        """Write a text that was rendered elsewhere."""
        if self._stream is not None:
            self._stream.write(text)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)  # closes the draft, then puts it in place or removes it


def _same(path: Path, file: str) -> bool:
    """Tell whether two paths name the same file; a missing or unreadable file is never the same."""
    try:
        return path.samefile(file)
    except (OSError, ValueError):
        return False
