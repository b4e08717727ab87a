"""A search for neighbours that the door lets through unlike: any source, any option, and one odd record more.

Both sides are released by the code that users call. One side draws its noise; its public outcomes are put in where the
other side would draw. Then everything that shows must be the same: that there is a release, or the refusal word for
word; the document, the warnings, what is printed, the exit code; every step and its public parameters. What is left is
the likelihood of those outcomes, which is computed step by step from the private data that each step met.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from flexdp._core.domains import Domain, integer, sequence
from flexdp._core.exact import Number
from flexdp._core.text import plain_scalar, plural, safe_repr, thousands
from flexdp._release.api import query, release
from flexdp._release.summary import summary
from flexdp.audit.door_requests import Asked, asked, simpler
from flexdp.audit.door_tables import FORMS, Form, Kinds, Row, calm_rows, kinds_of, odd_rows, picked
from flexdp.audit.steps import Apart, Watch, step_loss, watched
from flexdp.errors import FlexdpError, InputError
from flexdp.simulation import Generator, stream

__all__ = ["Finding", "Searched", "search"]

Command = Callable[[Sequence[str]], int]

_SECONDS = Domain(name="seconds", low=Fraction(0), remedy="Give the processor time of the search, for example 60.")
_SIZES = (0, 3, 40, 120, 120, 200)
_ROUNDING = 1 + 1e-9
_SHOWN = 160  # characters of either side
_TYPES_FIRST = 500  # pairs, nearly all of which have a cell of another type
_MOST_OF_A_UNIT = 4  # records
_TRIES = 24  # to make a finding simpler
_TIMES = re.compile(
    r"[0-9.]+[mµ]?s\b|[ \u2500]+"
)  # in a profile, and the blanks and lines that are as long as they are
_QUERIES = ("epsilon", "delta", "certify", "split")  # are no parameters of a query


class Pair(NamedTuple):
    """Two tables that differ by one unit, and what is asked of both."""

    number: int
    form: Form
    kinds: Kinds
    request: Asked
    rows: list[Row]
    more: list[Row]
    place: int
    swapped: bool  # the larger side draws the noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What one side shows, and what was noted while it ran."""

    shown: dict[str, Any]
    watch: Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A pair of neighbours that are told apart.

    Parameters
    ----------
    pair
        The number of the pair, which with the seed makes it again.
    seconds
        When it was found.
    form
        The form of the tables.
    request
        What was asked of both.
    record
        What the larger table has more: an odd record, or those of one unit.
    records
        The number of records of the smaller table.
    what
        What differs: "outcome", "document", "warnings", "output", "query", "steps" or "loss".
    one, other
        The difference, on the smaller table and on the larger one; of a loss, what is claimed and what was found.
    times
        How many findings of this search are alike.

    Examples
    --------
    >>> request = "release('v', kind='number', epsilon=1, delta=1e-3)"
    >>> found = Finding(pair=7, seconds=1.5, form="CSV file", request=request, record="{'v': 'a'}", records=40,
    ...     what="outcome", one="released", other="DataError")
    >>> print(found)
    outcome: CSV file, release('v', kind='number', epsilon=1, delta=1e-3), 40 records and {'v': 'a'}
        without: released
        with:    DataError
    """

    pair: int
    seconds: float
    form: str
    request: str
    record: str
    records: int
    what: str
    one: str
    other: str
    times: int = 1

    def __str__(self) -> str:
        return (
            f"{self.what}: {self.form}, {self.request}, {plural(self.records, 'record')} and {self.record}\n"
            f"    without: {self.one}\n    with:    {self.other}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """The result of a search.

    Parameters
    ----------
    seed
        Its seed.
    seconds
        How long it took.
    pairs, released, steps
        The number of pairs, of those among them that were released on both sides, and of steps that were compared.
    forms, options
        How often each form of tables and each parameter came up.
    findings
        What was found, each kind once.

    Examples
    --------
    >>> found = search(pairs=3, forms=["list"], seed=1)
    >>> found.statement[:40], list(found.forms), found.findings
    ('no violation found (3 pairs of neighbour', ['list'], ())
    """

    seed: int
    seconds: float
    pairs: int
    released: int
    steps: int
    forms: dict[str, int]
    options: dict[str, int]
    findings: tuple[Finding, ...]

    @property
    def violation(self) -> bool:
        """True if anything was found."""
        return bool(self.findings)

    @property
    def statement(self) -> str:
        """The result in one sentence."""
        covered = (
            f"{plural(self.pairs, 'pair', thousands)} of neighbours, {thousands(self.released)} of them released, "
            f"{plural(self.steps, 'step', thousands)}, {plural(len(self.forms), 'form')} of tables, "
            f"{plural(len(self.options), 'parameter')}; seed {self.seed}, {self.seconds:.0f} s"
        )
        if not self.findings:
            return f"no violation found ({covered}). This does not prove privacy"
        times = sum(each.times for each in self.findings)
        return f"violation: {plural(times, 'pair', thousands)} told apart, in {len(self.findings)} ways ({covered})"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON.

        Returns
        -------
        dict
            The fields, ``violation`` and ``statement``.

        Examples
        --------
        >>> search(pairs=1, forms=["list"]).to_dict()["violation"]
        False
        """
        names = ("seed", "seconds", "pairs", "released", "steps", "forms", "options")
        found = [{name: getattr(each, name) for name in Finding.__slots__} for each in self.findings]
        plain = {name: getattr(self, name) for name in names}
        return {"violation": self.violation, "statement": self.statement, **plain, "findings": found}

    def __str__(self) -> str:
        return "\n".join([self.statement, *(f"  {each}" for each in self.findings)])


def search(
    seconds: Number = 60,
    *,
    seed: int = 0,
    pairs: int | None = None,
    first: int = 0,
    findings: int | None = None,
    forms: Sequence[str] | None = None,
    command: Command | None = None,
    told: Callable[[Finding], None] = lambda _finding: None,
) -> Searched:
    """Release made-up tables beside their neighbours, and look for anything that tells them apart.

    Tables, requests and odd records come from the seed; the noise is drawn as always. While a search runs, this process
    keeps what is private of every release, so release nothing else in it.

    Parameters
    ----------
    seconds
        How long to search, in seconds of processor time.
    seed
        The seed.
    pairs
        The most pairs to try.
    first
        The number of the first pair: with ``pairs=1``, a pair that was found is made again.
    findings
        The most kinds of findings, after which the search ends.
    forms
        The forms of tables, by name; by default all whose packages are installed. The pairs depend on them.
    command
        Runs a command line of flexdp in this process and returns its exit code; without it none is run.
    told
        Called for each kind of finding, at once.

    Returns
    -------
    Searched

    Raises
    ------
    InputError
        If a parameter is wrong.

    Examples
    --------
    >>> found = search(pairs=5, forms=["dict of lists"])
    >>> found.pairs, found.violation
    (5, False)
    """
    from flexdp.tables.engines.duckdb.session import engines_kept

    limit, known = _SECONDS.check(seconds), _forms(forms)
    seed, number = integer("seed", seed, at_least=0), integer("first", first, at_least=0)
    pairs, findings = (
        None if most is None else integer(name, most) for name, most in (("pairs", pairs), ("findings", findings))
    )
    began = time.process_time()
    found: dict[tuple[str, ...], Finding] = {}
    known_as: dict[tuple[str, ...], tuple[str, ...]] = {}  # findings as they came, and as the simpler ones they led to
    counted: dict[str, Counter[str]] = {"forms": Counter(), "options": Counter()}
    tried = released = steps = 0
    with engines_kept(), tempfile.TemporaryDirectory(prefix="flexdp-") as name:
        folder = Path(name)
        while (pairs is None or tried < pairs) and (tried == 0 or time.process_time() - began < limit):
            pair = _made(stream(seed, "door", number), number, known)
            number += 1
            compared = _compared(pair, folder, command)
            if compared is None:  # there is no such table
                continue
            tried += 1
            counted["forms"][pair.form.name] += 1
            counted["options"].update([*pair.request.options, pair.request.entry])
            differences, met = compared
            released += met > 0
            steps += met
            if not differences:
                continue
            after = time.process_time() - began
            raw = _alike(_finding(pair, differences[0], seconds=after))
            if raw not in known_as:
                finding = _finding(*_simplest(pair, differences, folder, command), seconds=after)
                known_as[raw] = _alike(finding)
                if known_as[raw] not in found:
                    found[known_as[raw]] = replace(finding, times=0)
                    told(finding)
            key = known_as[raw]
            found[key] = replace(found[key], times=found[key].times + 1)
            if len(found) == findings:
                break
    return Searched(
        seed=seed,
        seconds=time.process_time() - began,
        pairs=tried,
        released=released,
        steps=steps,
        forms=dict(counted["forms"].most_common()),
        options=dict(counted["options"].most_common()),
        findings=tuple(found.values()),
    )


def _forms(names: Sequence[str] | None) -> list[Form]:
    """The forms of these names, of which everything that they need is installed."""
    if names is None:
        return [form for form in FORMS if form.available]
    known = {form.name: form for form in FORMS}
    listed = [plain_scalar(name) for name in sequence(names) or [names]]
    found = [known[name] for name in listed if isinstance(name, str) and name in known]
    if len(found) < len(listed):
        wrong = next(name for name in listed if not isinstance(name, str) or name not in known)
        remedy = "Some are 'list', 'pandas frame', 'CSV file' and 'DuckDB table'."
        raise InputError("forms", "must name forms of tables", given=safe_repr(wrong), remedy=remedy)
    for form in found:
        if not form.available:
            raise InputError("forms", f": {form.name!r} needs {' and '.join(form.needs)}")
    return found


def _made(rng: Generator, number: int, forms: Sequence[Form]) -> Pair:
    form, kinds = picked(rng, [form for form in forms for _ in range(form.weight)]), kinds_of(rng)
    if form.alone is not None:
        kinds = {form.alone: kinds[form.alone]}
    request = asked(rng, form, kinds)
    size = int(picked(rng, _SIZES))
    made = calm_rows(rng, kinds, size + _MOST_OF_A_UNIT)
    rows, calm = made[:size], made[size:]
    types = bool(rng.integers(4)) if number > _TYPES_FIRST else number % 8 > 0
    more = odd_rows(rng, form, kinds, request.unit, calm, types=types, used=request.used(kinds))
    place = int(picked(rng, (0, len(rows), int(rng.integers(len(rows) + 1)))))
    return Pair(number, form, kinds, request, rows, more, place, bool(rng.integers(2)))


# ---- one pair


class Difference(NamedTuple):
    """Something that tells two sides apart: what it is, and how it looks on the smaller side and on the larger one."""

    what: str
    one: str
    other: str


def _compared(pair: Pair, folder: Path, command: Command | None) -> tuple[list[Difference], int] | None:
    """Release both sides; return how they differ, and the number of steps. None where there is no such table."""
    small = pair.form.cells(pair.rows, pair.kinds)
    large = pair.form.cells([*pair.rows[: pair.place], *pair.more, *pair.rows[pair.place :]], pair.kinds)
    sides = (large, small) if pair.swapped else (small, large)
    one = _observed(pair, sides[0], folder, command, None)
    other = None if one is None else _observed(pair, sides[1], folder, command, one.watch)
    if one is None or other is None:
        return None
    differences = _apart(one, other)
    if not differences:
        differences = _losses(pair.request, one.watch, other.watch)
    elif pair.swapped:
        differences = [Difference(each.what, each.other, each.one) for each in differences]
    return differences, len(one.watch.steps)


def _apart(one: Observed, other: Observed) -> list[Difference]:
    found = []
    for what in one.shown:
        a, b = one.shown[what], other.shown[what]
        if a != b:
            found.append(Difference(what, *_shown(a, b)))
    if not found and one.watch.steps.keys() != other.watch.steps.keys():
        found.append(Difference("steps", plural(len(one.watch.steps), "step"), plural(len(other.watch.steps), "step")))
    return found


def _shown(a: Any, b: Any) -> tuple[str, str]:
    """Both sides from where they begin to differ."""
    one, other = str(a), str(b)
    start = next((i for i, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other)))
    start = 0 if max(len(one), len(other)) <= _SHOWN else max(0, start - 40)
    return tuple(" ".join(text[start : start + _SHOWN].split()) or "nothing" for text in (one, other))  # type: ignore[return-value]


def _losses(request: Asked, one: Watch, other: Watch) -> list[Difference]:
    """What the steps cost, one by one and together."""
    spent, kept = 0.0, Fraction(1)
    for place, step in one.steps.items():
        loss = step_loss(step.mechanism, step.data, other.steps[place].data, request.most, step.tables)
        if loss.fault:
            return [Difference("loss", f"{type(step.mechanism).__name__}, step {place[1] + 1}", loss.fault)]
        spent += loss.share
        kept *= 1 - loss.delta
    claim = f"ε = {request.epsilon}, δ = {request.delta} for the release"
    if spent > float(request.epsilon) * _ROUNDING:
        return [Difference("loss", claim, f"the steps that meet the unit cost ε = {spent:.4g} together")]
    if 1 - kept > Fraction(request.delta):
        return [Difference("loss", claim, f"the steps that meet the unit cost δ = {float(1 - kept):.4g} together")]
    return []


def _observed(
    pair: Pair, rows: Sequence[Row], folder: Path, command: Command | None, before: Watch | None
) -> Observed | None:
    """Run a request on one side. None where no such table can be made."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = pair.form.build(rows, pair.kinds, folder)
    except Exception:  # noqa: BLE001  (a library refuses such a table, before flexdp sees it)
        return None
    watch = Watch(before)
    with _captured() as printed, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)
        with watched(watch):
            outcome, document = _ended(pair, source, folder, command)
    return Observed(
        shown={
            "outcome": outcome,
            "document": document,
            "warnings": [f"{each.category.__name__}: {each.message}" for each in said],
            "output": printed(),
        },
        watch=watch,
    )


def _ended(pair: Pair, source: Any, folder: Path, command: Command | None) -> tuple[str, str]:
    """How a request ends, and what it makes."""
    request = pair.request
    try:
        if request.entry == "command" and command is not None:
            return f"exit code {_in(folder, command, request.words(pair.form))}", ""
        budget: dict[str, Any] = {"epsilon": request.epsilon, "delta": request.delta}
        if request.entry == "query":
            shown = {name: value for name, value in request.options.items() if name not in _QUERIES}
            return "shown", query(source, request.column, **shown)
        if request.column is None and pair.form.alone is None:
            given = dict(request.options)
            return "released", summary(source, given.pop("columns", None), **budget, **given).to_json()
        return "released", _release(source, request.column, **budget, **request.options).to_json()
    except Apart as apart:
        return str(apart), ""
    except FlexdpError as refusal:
        return f"{type(refusal).__name__}: {refusal}", ""
    except Exception as failure:  # noqa: BLE001  (which must be the same on the other side)
        return f"unexpected {type(failure).__name__}: {failure}", ""


def _release(source: Any, column: Any, **parameters: Any) -> Any:
    return release(source, column, **parameters)


def _in(folder: Path, command: Command, words: Sequence[str]) -> int:
    former = Path.cwd()
    os.chdir(folder)
    try:
        return command(words)
    finally:
        os.chdir(former)


@contextmanager
def _captured() -> Iterator[Callable[[], str]]:
    """Collect everything that is printed, by Python and by engines that write to the process's own streams."""
    out, err = StringIO(), StringIO()
    kept: list[str] = []
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        sys.stderr.flush()
        former = [os.dup(1), os.dup(2)]
        try:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
            with redirect_stdout(out), redirect_stderr(err):
                yield lambda: "".join(kept)
        finally:
            with suppress(Exception):
                ctypes.CDLL(None).fflush(None)
            for number, own in zip((1, 2), former, strict=True):
                os.dup2(own, number)
                os.close(own)
            file.seek(0)
            kept += [out.getvalue(), err.getvalue(), _TIMES.sub(" ", file.read().decode("utf-8", "replace"))]


# ---- what is told of a finding


def _simplest(
    pair: Pair, differences: list[Difference], folder: Path, command: Command | None
) -> tuple[Pair, Difference]:
    """A simpler pair that is told apart in the same way, by leaving out what does not matter."""
    best, left = (pair, differences[0]), _TRIES
    progress = True
    while progress and left:
        progress = False
        for simple in _simpler(best[0]):
            if not left:
                break
            left -= 1
            compared = _compared(simple, folder, command)
            same = [each for each in (compared or ([], 0))[0] if _ending(each) == _ending(best[1])]
            if same:
                best, progress = (simple, same[0]), True
                break
    return best


def _ending(difference: Difference) -> tuple[str, ...]:
    """What a difference is about: how both sides end, if that is it."""
    sides = (difference.one, difference.other) if difference.what == "outcome" else ()
    return (difference.what, *(side.partition(" ")[0] for side in sides))


def _simpler(pair: Pair) -> Iterator[Pair]:
    if len(pair.more) > 1:
        yield pair._replace(more=pair.more[:1])
    calm = pair.rows[0] if pair.rows else {}
    for name in pair.kinds if calm and "" not in pair.more[0] else ():
        cell = pair.more[0].get(name)
        if name != pair.request.unit and (type(cell) is not type(calm[name]) or cell != cell):
            yield pair._replace(more=[{**row, name: calm[name]} for row in pair.more])
    for request in simpler(pair.request):
        if request.unit is None and len(pair.more) > 1:
            continue  # several records are no neighbours without their unit
        yield pair._replace(request=request)
    if pair.request.entry == "command":
        entry = "summary" if pair.request.column is None else "release"
        yield pair._replace(request=replace(pair.request, entry=entry))


def _finding(pair: Pair, difference: Difference, *, seconds: float) -> Finding:
    return Finding(
        pair=pair.number,
        seconds=round(seconds, 2),
        form=pair.form.name,
        request=str(pair.request),
        record=repr(pair.more[0] if len(pair.more) == 1 else pair.more),
        records=len(pair.rows),
        what=difference.what,
        one=difference.one,
        other=difference.other,
    )


def _alike(finding: Finding) -> tuple[str, ...]:
    """Findings of one kind, of which the first is told."""
    request = finding.request
    used = [name for name in ("where", "derive", "by=", "unit=", "ask", "kind=", "columns") if f"{name}" in request]
    return finding.what, finding.form, request.partition("(")[0], *used
