"""The groups of a release: one query to each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.display import card, listed, sentence, table
from flexdp._core.exact import Number
from flexdp._core.text import plural, safe_repr
from flexdp._release.answers import Answer
from flexdp._release.frames import Library, frame_of, group_column
from flexdp._release.ranges import value_words
from flexdp._release.readable import Readable, View
from flexdp._release.spec import Part, Spec, group_index, group_labels
from flexdp.errors import InputError
from flexdp.histogram import Histogram, KeyedHistogram

__all__ = ["GroupAnswers", "Groups", "cells_summed", "group_places"]

_ANSWERS = ("value", "alpha", "beta", "statement")
_MOST_SHOWN = 60  # groups in a card


def group_places(spec: Spec, cells: KeyedHistogram) -> dict[tuple[Any, ...], slice]:
    """Return where the counts of each group are: of the declared groups, or of those found."""
    declared = () if spec.groups is None else map(group_index, spec.groups)
    member = {group: slice(0, 0) for group in declared}
    start = 0
    for group, rows in groupby(cells.rows(slice(len(spec.by)))):  # sorted by group first
        end = start + sum(1 for _ in rows)
        member[group] = slice(start, end)
        start = end
    indices = [list(part) for part in zip(*member, strict=True)] or [[] for _ in spec.by]
    values = zip(*map(group_labels, spec.by_kinds, indices), strict=True)
    return dict(zip(values, member.values(), strict=True))


def cells_summed(spec: Spec, cells: KeyedHistogram, part: Part) -> NDArray[np.int64] | None:
    """Return how many released cells each count of one column adds up; None where that is one."""
    alone = part.column is None and not spec.by
    if part.group is not None or alone or (part.column is None and len(spec.columns) > 1):
        return None
    _, found = np.unique(cells.parts[len(spec.by) + (part.column or 0)], return_counts=True)
    return found.astype(np.int64)


class Groups(Mapping[Any, View]):
    """The groups of a release, each with queries of its own; or one query to all of them.

    Listed are the groups of which something survived, or all that were declared. A key is the group's value, a tuple of
    values where the release is by several columns.
    """

    def __init__(
        self, by: Sequence[str], places: Mapping[tuple[Any, ...], slice], view: Callable[[tuple[Any, ...], slice], View]
    ) -> None:
        self._by = tuple(by)
        self._places = places
        self._view = view  # made on demand: there may be very many groups
        self._groups = {(group[0] if len(self._by) == 1 else group): group for group in places}

    def __getitem__(self, group: Any) -> View:
        try:
            values = self._groups[group]
        except Exception:  # noqa: BLE001  (an object may raise anything when it is hashed)
            raise _unknown(group) from None
        return self._view(values, self._places[values])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, group: object) -> bool:
        return _holds(self._groups, group)

    def _ask(self, query: Callable[[View], Answer]) -> GroupAnswers:
        return GroupAnswers(self._by, {group: query(self._view(group, where)) for group, where in self._places.items()})

    def max(self) -> GroupAnswers:
        """Return the largest value of each group."""
        return self._ask(Readable.max)

    def min(self) -> GroupAnswers:
        """Return the smallest value of each group."""
        return self._ask(Readable.min)

    def range(self) -> GroupAnswers:
        """Return the largest value less the smallest, of each group."""
        return self._ask(Readable.range)

    def iqr(self) -> GroupAnswers:
        """Return the interquartile range of each group."""
        return self._ask(Readable.iqr)

    def count(self) -> GroupAnswers:
        """Return the number of records of each group."""
        return self._ask(Readable.count)

    def mean(self) -> GroupAnswers:
        """Return the mean of each group."""
        return self._ask(Readable.mean)

    def sum(self) -> GroupAnswers:
        """Return the sum of each group."""
        return self._ask(Readable.sum)

    def std(self) -> GroupAnswers:
        """Return the standard deviation of each group."""
        return self._ask(Readable.std)

    def quantile(self, level: Number) -> GroupAnswers:
        """Return a quantile of each group."""
        return self._ask(lambda view: view.quantile(level))

    def median(self) -> GroupAnswers:
        """Return the median of each group."""
        return self._ask(Readable.median)

    def mode(self) -> GroupAnswers:
        """Return the most frequent value of each group."""
        return self._ask(Readable.mode)

    def support(self) -> GroupAnswers:
        """Return all values that occur in each group."""
        return self._ask(Readable.support)

    def max_at_least(self, count: int) -> GroupAnswers:
        """Return the largest value that at least ``count`` released records of a group share."""
        return self._ask(lambda view: view.max_at_least(count))

    def top(self, count: int) -> GroupAnswers:
        """Return the most frequent values of each group, with their counts."""
        return self._ask(lambda view: view.top(count))

    def counts(self, debias: bool = False) -> GroupAnswers:
        """Return every released count of each group."""
        return self._ask(lambda view: view.counts(debias=debias))

    def apply(self, function: Callable[[Histogram], Any], **options: Any) -> GroupAnswers:
        """Return any function of each group's histogram; options as for a release."""
        return self._ask(lambda view: view.apply(function, **options))

    def __repr__(self) -> str:
        return f"<Groups by {', '.join(self._by)}: {len(self)}>"

    def _repr_html_(self) -> str:
        return card(
            f"{plural(len(self), 'group')} by {' and '.join(self._by)}",
            sentence(listed(map(value_words, self), _MOST_SHOWN)),
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
            raise _unknown(group) from None
        return answer

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, group: object) -> bool:
        return _holds(self._keys, group)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The group's values, the answer's value, its α and β, and its statement."""
        out, names = [], self._names
        for group, answer in self._answers.items():
            row = dict(zip(names, group, strict=True))
            accuracy = answer.accuracy
            row |= {
                "value": answer.value,
                "alpha": None if accuracy is None else accuracy.alpha,
                "beta": None if accuracy is None else accuracy.beta,
                "statement": answer.statement,
            }
            out.append(row)
        return out

    @property
    def _names(self) -> list[str]:
        names: list[str] = []
        for name in self._by:
            names.append(group_column(name, names, clash=name in _ANSWERS))
        return names

    def to_frame(self, library: Library | None = None) -> Any:
        """Return the rows as a frame: pandas, polars or pyarrow, whichever is installed."""
        rows, names = self.rows, [*self._names, *_ANSWERS]
        return frame_of({name: [row[name] for row in rows] for name in names}, library)

    def __str__(self) -> str:
        return "\n".join(str(answer) for answer in self._answers.values())

    def __repr__(self) -> str:
        return f"<GroupAnswers by {', '.join(self._by)}: {len(self)}>"

    def _repr_html_(self) -> str:
        title = f"{next((answer.name for answer in self._answers.values()), 'answers')} by {' and '.join(self._by)}"
        rows = [
            [*map(value_words, group), answer.text, answer.statement]
            for group, answer in islice(self._answers.items(), _MOST_SHOWN)
        ]
        more = len(self) - len(rows)
        rest = sentence(f"{plural(more, 'more group')}: rows and to_frame() have them all.") if more > 0 else ""
        return card(title, table([*self._by, "value", "statement"], rows, words=len(self._by)), rest)


def _unknown(group: object) -> InputError:
    return InputError(
        "group", "is not in the release", given=safe_repr(group), remedy="list() shows the groups that are."
    )


def _holds(groups: Mapping[Any, Any], group: object) -> bool:
    try:
        return group in groups
    except Exception:  # noqa: BLE001  (as above)
        return False
