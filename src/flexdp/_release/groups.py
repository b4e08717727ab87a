"""Everything that may be asked of a release, of one group of it, of all groups one by one, or of one of its columns."""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

from flexdp._core.display import card, key_text, listed, sentence, short, table
from flexdp._core.domains import attribute, choice, flag, text
from flexdp._core.domains import function as callable_given
from flexdp._core.exact import Number, exact, float_up, number_text, said
from flexdp._core.text import plural, safe_repr
from flexdp._release.answers import Answer, Reader
from flexdp.errors import InputError
from flexdp.histogram import Histogram
from flexdp.statistics import Max, MaxAtLeast, Median, Min, Mode, Quantile, Range, Support, Top

__all__ = ["GroupAnswers", "Groups", "Readable", "View", "frame_of", "group_column"]

_ANSWERS = ("value", "alpha", "beta", "sentence")
_MOST_SHOWN = 60  # groups in a card
_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


class Readable(ABC):
    """The questions. All of them are answered from released bars alone, at no further privacy cost."""

    @property
    @abstractmethod
    def _reader(self) -> Reader:
        """What reads the bars in question."""

    @property
    def histogram(self) -> Histogram:
        """The released bars, keyed by the buckets' centres."""
        return self._reader.shown

    def max(self) -> Answer:
        """The largest value."""
        return self._reader.extreme(Max())

    def min(self) -> Answer:
        """The smallest value."""
        return self._reader.extreme(Min())

    def range(self) -> Answer:
        """The largest value less the smallest."""
        return self._reader.spread(Range())

    def quantile(self, level: Number) -> Answer:
        """The smallest value with at least a fraction ``level`` of the records at or below it."""
        return self._reader.quantile(Quantile(level), Fraction(Quantile(level).level))

    def median(self) -> Answer:
        """The 0.5-quantile."""
        return self._reader.quantile(Median(), Fraction(1, 2))

    def mode(self) -> Answer:
        """The most frequent value; of several, the smallest."""
        return self._reader.categorical(Mode())

    def support(self) -> Answer:
        """All values that occur."""
        return self._reader.support(Support())

    def max_at_least(self, count: int) -> Answer:
        """The largest value that at least ``count`` released records share."""
        return self._reader.categorical(MaxAtLeast(count))

    def top(self, count: int) -> Answer:
        """The most frequent values with their counts."""
        return self._reader.categorical(Top(count))

    def counts(self, debias: bool = False) -> Answer:
        """Every released count; with ``debias`` the mean loss is added back, and counts may then be too high."""
        return self._reader.counts(debias=flag("debias", debias))

    def apply(
        self,
        function: Callable[[Histogram], Any],
        *,
        sensitivity: Number | Callable[[float], float] | None = None,
        name: str | None = None,
    ) -> Answer:
        """Any function of the released histogram, at no further privacy cost.

        ``sensitivity`` is how far the value moves when every record moves by at most β: a factor of β, or a function of
        it. Without it the promise is the drop-move one: exact for data in which records were left out and values moved.
        """
        work = callable_given("function", function, "a histogram")
        if sensitivity is not None and self._reader.partition.relative:
            raise InputError("sensitivity does not fit relative buckets; leave it out for the drop-move promise.")
        label = f"value of {_name_of(work)}" if name is None else text("name", name)
        return self._reader.function(label, work, _sensitivity(sensitivity))


@dataclass(frozen=True)
class View(Readable):
    """One group of a release, or one of its columns with the others added up."""

    reader: Reader

    @property
    def _reader(self) -> Reader:
        return self.reader

    def __repr__(self) -> str:
        return f"<View of {len(self.reader.bars)} released bars{self.reader.scope.where}>"


class Groups(Mapping[Any, View]):
    """The groups of a release, each to be asked by itself; or the same question to all of them.

    Listed are the groups of which something survived, or all that were declared. A key is the group's value, a tuple of
    values where the release is by several columns.
    """

    def __init__(
        self, by: Sequence[str], places: Mapping[tuple[Any, ...], slice], view: Callable[[tuple[Any, ...], slice], View]
    ) -> None:
        self._by = tuple(by)
        self._places = places
        self._view = view  # made when it is asked for: there may be very many groups
        self._groups = {(group[0] if len(self._by) == 1 else group): group for group in places}

    def __getitem__(self, group: Any) -> View:
        try:
            values = self._groups[group]
        except Exception:  # noqa: BLE001  (an object may raise anything when it is hashed)
            raise InputError(f"group {safe_repr(group)} is not in the release; list() shows those that are.") from None
        return self._view(values, self._places[values])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, group: object) -> bool:
        return _holds(self._groups, group)

    def _ask(self, question: Callable[[View], Answer]) -> GroupAnswers:
        return GroupAnswers(
            self._by, {group: question(self._view(group, where)) for group, where in self._places.items()}
        )

    def max(self) -> GroupAnswers:
        """The largest value of each group."""
        return self._ask(Readable.max)

    def min(self) -> GroupAnswers:
        """The smallest value of each group."""
        return self._ask(Readable.min)

    def range(self) -> GroupAnswers:
        """The largest value less the smallest, of each group."""
        return self._ask(Readable.range)

    def quantile(self, level: Number) -> GroupAnswers:
        """A quantile of each group."""
        return self._ask(lambda view: view.quantile(level))

    def median(self) -> GroupAnswers:
        """The median of each group."""
        return self._ask(Readable.median)

    def mode(self) -> GroupAnswers:
        """The most frequent value of each group."""
        return self._ask(Readable.mode)

    def support(self) -> GroupAnswers:
        """All values that occur in each group."""
        return self._ask(Readable.support)

    def max_at_least(self, count: int) -> GroupAnswers:
        """The largest value that at least ``count`` released records of a group share."""
        return self._ask(lambda view: view.max_at_least(count))

    def top(self, count: int) -> GroupAnswers:
        """The most frequent values of each group, with their counts."""
        return self._ask(lambda view: view.top(count))

    def counts(self, debias: bool = False) -> GroupAnswers:
        """Every released count of each group."""
        return self._ask(lambda view: view.counts(debias=debias))

    def apply(self, function: Callable[[Histogram], Any], **options: Any) -> GroupAnswers:
        """Any function of each group's histogram; options as for a release."""
        return self._ask(lambda view: view.apply(function, **options))

    def __repr__(self) -> str:
        return f"<Groups by {', '.join(self._by)}: {len(self)}>"

    def _repr_html_(self) -> str:
        return card(
            f"{plural(len(self), 'group')} by {' and '.join(self._by)}",
            sentence(listed(map(key_text, self), _MOST_SHOWN)),
        )


class GroupAnswers(Mapping[Any, Answer]):
    """One answer for each group. ``rows`` is a list of plain dictionaries, which pandas and polars make a frame of."""

    def __init__(self, by: Sequence[str], answers: Mapping[tuple[Any, ...], Answer]) -> None:
        self._by = tuple(by)
        self._answers = dict(answers)
        self._keys = {(group[0] if len(self._by) == 1 else group): group for group in answers}

    def __getitem__(self, group: Any) -> Answer:
        try:
            answer: Answer = self._answers[self._keys[group]]
        except Exception:  # noqa: BLE001  (as above)
            raise InputError(f"group {safe_repr(group)} is not in the release; list() shows those that are.") from None
        return answer

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, group: object) -> bool:
        return _holds(self._keys, group)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The group's values, the answer's value, its α and β, and the sentence."""
        out, names = [], self._names
        for group, answer in self._answers.items():
            row = dict(zip(names, group, strict=True))
            accuracy = answer.accuracy
            row |= {
                "value": answer.value,
                "alpha": None if accuracy is None else accuracy.alpha,
                "beta": None if accuracy is None else accuracy.beta,
                "sentence": answer.sentence,
            }
            out.append(row)
        return out

    @property
    def _names(self) -> list[str]:
        names: list[str] = []
        for name in self._by:
            names.append(group_column(name, names, clash=name in _ANSWERS))
        return names

    def to_frame(self, library: str | None = None) -> Any:
        """The rows as a frame: pandas, polars or pyarrow, whichever is there."""
        rows, names = self.rows, [*self._names, *_ANSWERS]
        return frame_of({name: [row[name] for row in rows] for name in names}, library)

    def __str__(self) -> str:
        return "\n".join(str(answer) for answer in self._answers.values())

    def __repr__(self) -> str:
        return f"<GroupAnswers by {', '.join(self._by)}: {len(self)}>"

    def _repr_html_(self) -> str:
        title = f"{next((answer.name for answer in self._answers.values()), 'answers')} by {' and '.join(self._by)}"
        rows = [
            [*map(key_text, group), short(answer.name, answer.value), answer.statement]
            for group, answer in islice(self._answers.items(), _MOST_SHOWN)
        ]
        more = len(self) - len(rows)
        rest = sentence(f"{plural(more, 'more group')}: rows and to_frame() have them all.") if more > 0 else ""
        return card(title, table([*self._by, "value", "what it is"], rows), rest)


def group_column(by: str, taken: Iterable[str], *, clash: bool) -> str:
    """What a group's column is called in a frame, apart from those of bars and answers, and from other groups'."""
    name, used = f"{by} (group)" if clash else by, set(taken)
    while name in used:
        name += " (group)"
    return name


def frame_of(columns: dict[str, list[Any]], library: str | None) -> Any:
    """Columns as a frame of the library asked for, or of the first one that is installed."""
    for name in _FRAMES if library is None else [choice("library", library, _FRAMES)]:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return getattr(module, _FRAMES[name])({title: _framed(cells) for title, cells in columns.items()})
    raise InputError("to_frame needs pandas, polars or pyarrow; install one of them, or use histogram.items().")


def _framed(cells: list[Any]) -> list[Any]:
    """Cells as frames take them: numbers that no 64-bit integer or double holds make a column of decimals."""
    long = any(isinstance(cell, Fraction) or (isinstance(cell, int) and abs(cell) >= 2**63) for cell in cells)
    if not long or not all(cell is None or isinstance(cell, int | float | Fraction) for cell in cells):
        return cells
    return [None if cell is None else Decimal(f"{Decimal(number_text(cell)):f}") for cell in cells]


def _holds(groups: Mapping[Any, Any], group: object) -> bool:
    try:
        return group in groups
    except Exception:  # noqa: BLE001  (as above)
        return False


def _name_of(function: Callable[..., Any]) -> str:
    name = attribute(function, "__name__")
    return name if isinstance(name, str) else type(function).__name__


def _sensitivity(given: Number | Callable[[float], float] | None) -> Callable[[float], float]:
    if given is None:
        return lambda beta: math.inf if beta else 0.0
    if callable(given):
        return given
    factor = exact("sensitivity", given)
    if factor < 0:
        raise InputError(f"sensitivity must be at least 0; got {safe_repr(given)}.")
    return lambda beta: float_up(factor * said(beta))
