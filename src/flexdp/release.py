"""Release: a table's column goes in, a public histogram comes out, and every answer is read off that.

Private records exist only inside :func:`release`, between the count and the noise. A :class:`Release` holds nothing
but what may be printed: parameters, and the bars that survived.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdp._parameters import Number, exact, float_up, shown
from flexdp.answers import Answer, Certificate, Reader
from flexdp.bucketing import bucket_parameters, make_buckets
from flexdp.buckets import Bucket, Buckets, Exact, Kind
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.histogram import Histogram
from flexdp.mechanisms import Bucketing, Dropping, Mechanism
from flexdp.noise import DropNoise
from flexdp.statistics import Max, MaxAtLeast, Median, Min, Mode, Quantile, Range, Support, Top
from flexdp.version import __version__

if TYPE_CHECKING:
    from flexdp.tables import Column, Table

__all__ = ["Release", "Request", "prepare", "query", "release"]

SCHEMA = "flexdp.release/1"


def release(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number,
    delta: Number,
    width: Number | None = None,
    relative: Number | None = None,
    edges: Sequence[Any] | None = None,
    bounds: Sequence[Any] | None = None,
    outside: str = "clamp",
    kind: str | None = None,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
) -> Release:
    """Publish a column: count its records by bucket, let every bucket lose a few, keep what is left.

    The result is (ε, δ)-differentially private under adding or removing one record, and answers every statistic at no
    further cost. Every call spends (ε, δ) again.

    Parameters
    ----------
    source
        A path (CSV, Parquet, JSON lines; also gzip, patterns, or a list of paths), a numpy array or list of values, a
        pandas, polars or pyarrow table or column, or a DuckDB relation.
    column
        The column's name; left out where the source is a single column.
    epsilon, delta
        The privacy loss, taken exactly as written. There are no defaults.
    width, relative, edges
        How values are bucketed: in buckets of one width; each within a fraction of its centre; between given edges.
        Without any of them every value is its own bar.
    bounds
        A public pair (lower, upper). It is never needed for privacy; it makes the fraction left out certifiable.
    outside
        Whether values outside the bounds count at the nearer end ("clamp") or are left out ("drop").
    kind
        How to read a column that declares no type: "integer", "number", "text" or "date".
    format, delimiter
        Of files, where the name and the header line do not tell.

    >>> ages = [30 + i % 40 for i in range(4000)]
    >>> answer = release(ages, epsilon=1, delta=1e-6, width=10, bounds=(0, 120)).max()
    >>> answer.value, answer.accuracy.beta
    (65.0, 5.0)
    """
    noise = DropNoise(epsilon, delta)
    request = prepare(
        source,
        column,
        width=width,
        relative=relative,
        edges=edges,
        bounds=bounds,
        outside=outside,
        kind=kind,
        format=format,
        delimiter=delimiter,
    )
    return request.run(noise)


def query(
    source: Any,
    column: str | None = None,
    *,
    width: Number | None = None,
    relative: Number | None = None,
    edges: Sequence[Any] | None = None,
    bounds: Sequence[Any] | None = None,
    outside: str = "clamp",
    kind: str | None = None,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
) -> str:
    """The SQL text that a release of these parameters would run. It reads the declared schema and runs nothing."""
    request = prepare(
        source,
        column,
        width=width,
        relative=relative,
        edges=edges,
        bounds=bounds,
        outside=outside,
        kind=kind,
        format=format,
        delimiter=delimiter,
    )
    return request.query()


@dataclass(frozen=True, kw_only=True)
class Request:
    """A release that has been checked against everything declared, and has not read a record yet."""

    table: Table
    column: Column
    kind: Kind
    partition: Buckets

    def query(self) -> str:
        """The SQL text that :meth:`run` would use."""
        return self.table.query(self.column, self.kind, self.partition)

    def run(self, noise: DropNoise) -> Release:
        """Count, let every bucket lose a few records, and keep what is left."""
        from flexdp.tables import count  # tables are loaded when the first is read

        private = count(self.table, self.column, self.kind, self.partition)
        bars = Histogram(private.keys, noise.thin(private.counts))
        return Release(column=self.column.name, kind=self.kind, partition=self.partition, noise=noise, bars=bars)


def prepare(
    source: Any,
    column: object = None,
    *,
    width: Number | None = None,
    relative: Number | None = None,
    edges: Sequence[Any] | None = None,
    bounds: Sequence[Any] | None = None,
    outside: str = "clamp",
    kind: object = None,
    format: object = None,  # noqa: A002
    delimiter: object = None,
) -> Request:
    """Everything that can be refused is refused here, before a record is read."""
    from flexdp.tables import open_table, reading

    table = open_table(source, column, file_format=format, delimiter=delimiter)
    declared = table.column(column)
    bucketed = any(given is not None for given in (width, relative, edges, bounds))
    read_as = reading(declared, kind, bucketed=bucketed)
    partition = make_buckets(read_as, width=width, relative=relative, edges=edges, bounds=bounds, outside=outside)
    return Request(table=table, column=declared, kind=read_as, partition=partition)


@dataclass(frozen=True, kw_only=True)
class Release:
    """A published histogram and everything that may be read off it. It holds nothing private.

    ``bars`` is keyed by bucket index; :attr:`histogram` has the same bars keyed by the buckets' centres.
    """

    column: str | None
    kind: Kind
    partition: Buckets
    noise: DropNoise
    bars: Histogram

    @cached_property
    def histogram(self) -> Histogram:
        """The released bars, keyed by the buckets' centres."""
        return Histogram(self.partition.centres(self.bars.keys), self.bars.counts)

    @property
    def buckets(self) -> list[Bucket]:
        """The edges of each released bucket, in the order of ``histogram.keys``."""
        return self.partition.edges_of(self.bars.keys)

    @property
    def privacy(self) -> Privacy:
        """What is promised to the people in the data."""
        if self.mechanism.privacy is None:
            raise AssertionError("dropping is private")
        return self.mechanism.privacy

    @cached_property
    def mechanism(self) -> Mechanism:
        """What was run: the bucketing, which the engine did while counting, and then the dropping."""
        return Bucketing(partition=self.partition) >> Dropping(noise=self.noise)

    @property
    def max_drop(self) -> int:
        """The most records that any bucket can have lost."""
        return self.noise.max_drop

    @cached_property
    def _reader(self) -> Reader:
        return Reader(
            kind=self.kind,
            partition=self.partition,
            noise=self.noise,
            mechanism=self.mechanism,
            bars=self.bars,
            shown=self.histogram,
        )

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
        return self._reader.counts(debias=debias)

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
        if not callable(function):
            raise InputError(f"function must be callable on a histogram; got {shown(function)}.")
        if sensitivity is not None and self.partition.relative:
            raise InputError("sensitivity does not fit relative buckets; leave it out for the drop-move promise.")
        label = name or f"value of {getattr(function, '__name__', type(function).__name__)}"
        return self._reader.function(label, function, _sensitivity(sensitivity))

    def fit(self, estimator: Any) -> Answer:
        """A scikit-learn estimator fitted on the released histogram, its counts as sample weights.

        The answer's value is a fitted copy. Its promise is the drop-move one: it is exactly what the estimator learns
        from data in which a few records per bucket were left out and every value was moved to its bucket's centre.
        """
        if self.kind not in ("integer", "number"):
            raise InputError(f"fit needs a column of numbers, and this one is {self.kind}.")
        learn = getattr(estimator, "fit", None)
        wanted = inspect.signature(learn).parameters if callable(learn) else {}
        if "sample_weight" not in wanted:
            raise InputError("estimator must have a fit method that takes sample_weight, as scikit-learn's do.")
        if "y" in wanted and wanted["y"].default is inspect.Parameter.empty:
            raise InputError("estimator must learn without labels; this release holds none.")

        def work(histogram: Histogram) -> Any:
            points = histogram.keys.astype(np.float64).reshape(len(histogram), -1)
            return copy.deepcopy(estimator).fit(points, sample_weight=histogram.counts.astype(np.float64))

        return self._reader.function(f"fit of {type(estimator).__name__}", work, lambda beta: math.inf if beta else 0.0)

    def certificate(self) -> Certificate:
        """All promises of this release, and the integer evidence for its privacy."""
        return Certificate(
            promises=(str(self.privacy), *self._reader.promises()),
            evidence=self.noise.certify(),
        )

    def to_json(self, *, indent: int | None = None) -> str:
        """The release as JSON, by the schema in docs/release-json.md; :meth:`from_json` reads it back."""
        return json.dumps(self._document(), indent=indent, ensure_ascii=False, allow_nan=False)

    def _document(self) -> dict[str, Any]:
        evidence = self.noise.certify()
        bars: dict[str, Any] = {"key": [_json_key(key) for key in self.histogram.keys.tolist()]}
        if not isinstance(self.partition, Exact):
            bars["index"] = self.bars.keys.tolist()
        bars["count"] = self.bars.counts.tolist()
        return {
            "schema": SCHEMA,
            "flexdp": __version__,
            "column": self.column,
            "kind": self.kind,
            "buckets": bucket_parameters(self.partition),
            "privacy": {
                "epsilon": str(self.noise.epsilon),
                "delta": str(self.noise.delta),
                "unit": "record",
                "neighbours": "add or remove one",
            },
            "mechanism": {
                "name": "dropping",
                "q": self.noise.q,
                "max_drop": self.noise.max_drop,
                "bits": self.noise.bits,
                "first_weight": str(evidence.first_weight),
                "growth": [str(evidence.growth_numerator), str(evidence.growth_denominator)],
            },
            "bars": bars,
        }

    def to_html(self) -> str:
        """The report of this release as one HTML file that asks for nothing from outside, made from its JSON alone."""
        from flexdp.report.page import page

        return page(self._document(), self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file; ``flexdp report`` makes the same file from the JSON, byte for byte."""
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"path must name a file, for example 'age.html'; got {shown(path)}.")
        try:
            Path(path).write_text(self.to_html(), encoding="utf-8", newline="")
        except (OSError, ValueError):
            raise InputError(
                f"path {shown(str(path))} cannot be written. Check the folder and its permissions."
            ) from None

    def _repr_html_(self) -> str:
        from flexdp.report.notebook import release_card

        return release_card(self._document(), self)

    @classmethod
    def from_json(cls, document: str | bytes) -> Release:
        """The release that :meth:`to_json` wrote, refused if anything in it was changed that can be checked.

        The noise table is rebuilt from ε and δ, the keys from the buckets; the document must say the same of both.
        """
        try:
            content = json.loads(document)
            found = cls._from_document(content)
            same = {**found._document(), "flexdp": content["flexdp"]}
            content.pop("answers", None)  # what the command line adds is read off again, not believed
        except InputError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError):
            raise InputError("document must be the JSON of a flexdp release, complete and unchanged.") from None
        if same != content or not isinstance(content["flexdp"], str):
            raise InputError("document must be the JSON of a flexdp release, complete and unchanged.")
        return found

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Release:
        if document["schema"] != SCHEMA:
            raise InputError(f"schema must be {SCHEMA!r}; got {shown(document['schema'])}.")
        kind, column = document["kind"], document["column"]
        if kind not in ("integer", "number", "text", "date", "boolean") or not isinstance(column, str | None):
            raise TypeError("no kind that flexdp knows, or a column without a name")
        partition = make_buckets(kind, **document["buckets"])
        bars = document["bars"]
        index = _exact_index(kind, bars["key"]) if isinstance(partition, Exact) else bars["index"]
        released = Histogram(index, [_positive(entry) for entry in bars["count"]])
        if partition.count is not None and len(released):
            low, high = int(released.keys[0]), int(released.keys[-1])
            if not partition.first <= low <= high < partition.first + partition.count:
                raise ValueError("a bucket outside the bounds")
        noise = DropNoise(document["privacy"]["epsilon"], document["privacy"]["delta"])
        return cls(column=column, kind=kind, partition=partition, noise=noise, bars=released)

    def to_frame(self, library: str | None = None) -> Any:
        """The bars as a frame with columns key, lower, upper, count: pandas, polars or pyarrow, whichever is there."""
        lower, upper = zip(*self.buckets, strict=True) if len(self.bars) else ((), ())
        columns = {
            "key": _framed(self.histogram.keys.tolist()),
            "lower": _framed(list(lower)),
            "upper": _framed(list(upper)),
            "count": self.bars.counts.tolist(),
        }
        choices = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
        if library is not None and (not isinstance(library, str) or library not in choices):
            raise InputError(f"library must be 'pandas', 'polars' or 'pyarrow'; got {shown(library)}.")
        for name in [library] if library else choices:
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            return getattr(module, choices[name])(columns)
        raise InputError("to_frame needs pandas, polars or pyarrow; install one of them, or use histogram.items().")

    def __repr__(self) -> str:
        what = "values" if self.column is None else repr(self.column)
        return f"<Release of {what}: {self.partition.spec}, {len(self.bars)} released>"


def _sensitivity(given: Number | Callable[[float], float] | None) -> Callable[[float], float]:
    if given is None:
        return lambda beta: math.inf if beta else 0.0
    if callable(given):
        return given
    factor = exact("sensitivity", given)
    if factor < 0:
        raise InputError(f"sensitivity must be at least 0; got {shown(given)}.")
    return lambda beta: float_up(factor * Fraction(beta))


def _framed(keys: list[Any]) -> list[Any]:
    """Keys as frames take them: numbers that no 64-bit integer or double holds become the nearest double."""
    if any(isinstance(key, Fraction) or (isinstance(key, int) and not -(2**63) <= key < 2**63) for key in keys):
        return [float(key) for key in keys]
    return keys


def _json_key(key: Any) -> Any:
    if isinstance(key, Fraction):
        return str(key)
    return key if isinstance(key, bool | int | float | str) else key.isoformat()


def _exact_index(kind: Kind, keys: list[Any]) -> Any:
    if kind == "date":
        day = np.array(keys, dtype="datetime64[D]")
        return day.astype(np.int64)
    wanted = {"integer": int, "number": float | int, "text": str, "boolean": bool}[kind]
    if not all(isinstance(key, wanted) and isinstance(key, bool) == (kind == "boolean") for key in keys):
        raise TypeError("keys do not fit the kind")
    return [float(key) for key in keys] if kind == "number" else keys


def _positive(entry: Any) -> int:
    if not isinstance(entry, int) or isinstance(entry, bool) or not 0 < entry < 2**63:
        raise TypeError("a released count is a positive integer")
    return entry
