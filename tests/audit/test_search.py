"""The neighbour search over the whole door: silent where it should be, and every planted fault is found."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _support.command import flexdp as command
from _support.cuts import chances, whole_cut, window_of

from flexdp import DataError, InputError
from flexdp._release import api, asking, automatic
from flexdp._release.reading import warn_of_reading
from flexdp.audit import Searched, door, search
from flexdp.audit.door_tables import FORMS
from flexdp.audit.steps import Watch, step_loss, watched
from flexdp.mechanisms import Dropping, dropping
from flexdp.noise import DropNoise
from flexdp.sharp.automatic import DroppedBars
from flexdp.sharp.column import Column
from flexdp.sharp.count import NoisyCount, TwoSums
from flexdp.sharp.goal import Goal
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.prior import Listed
from flexdp.sharp.ranks import Request
from flexdp.tables.engines.duckdb import engine
from flexdp.tables.engines.duckdb import session as duckdb_session
from flexdp.tables.frames import pandas
from flexdp.tables.memory.source import MemoryColumn, open_array

DEEP = os.environ.get("FLEXDP_DEEP") == "1"
SECONDS = float(os.environ.get("FLEXDP_SEARCH_SECONDS", "3600" if DEEP else "6"))
FEW = 300  # pairs in which a planted fault must be found; a search takes a few seconds of processor time for them
PLAIN = ["dict of lists", "list"]


def run(*words: str) -> int:
    """A command line in this process, printed as in a process of its own."""
    out = command(*words)
    sys.stdout.write(f"{out.stdout}\n{out.stderr}")
    return out.returncode


# ---- today's code


def test_neighbours_are_not_told_apart() -> None:
    found = search(SECONDS, seed=time.time_ns() % 10**6 if DEEP else 1, command=run)
    assert not found.violation, str(found)
    assert found.steps >= found.released > 0
    assert len(found.forms) == len([form for form in FORMS if form.available]) or found.pairs < FEW


# ---- planted faults


def planted(**options: Any) -> Searched:
    return search(10**6, **{"pairs": FEW, "seed": 0, "forms": PLAIN, "findings": 1, **options})


def kinds_found(found: Searched) -> set[str]:
    return {each.what for each in found.findings}


def test_control_nothing_is_found_without_a_fault() -> None:
    found = planted(pairs=100)
    assert not found.violation and found.pairs == 100


def test_a_kind_taken_from_a_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    real = vars(door)["release"]

    def faulty(source: Any, column: Any, **options: Any) -> Any:
        cells = source[column] if isinstance(source, dict) and column in source else source
        if "kind" not in options and isinstance(cells, list):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                dtype = np.array(cells).dtype.kind if len({type(cell) for cell in cells}) < 2 else "O"
            options["kind"] = {"i": "integer", "f": "number", "b": "boolean"}.get(dtype, "text")
        return real(source, column, **options)

    monkeypatch.setattr(door, "release", faulty)
    found = planted()
    assert kinds_found(found) & {"outcome", "document"}, str(found)


# ---- repairs that are undone


def dtypes_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    real = pandas._inferred
    monkeypatch.setattr(
        pandas,
        "_inferred",
        lambda series, name: (
            open_array(series.to_numpy(), name=name) if isinstance(series.dtype, np.dtype) else real(series, name)
        ),
    )


def dtypes_show_in_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    real = MemoryColumn.expression

    def faulty(self: MemoryColumn, cell: str, kind: Any) -> Any:
        found = real(self, cell, kind)
        return found._replace(value=f"({found.value} /* {getattr(self.cells, 'dtype', 'object')} */)")

    monkeypatch.setattr(MemoryColumn, "expression", faulty)


def texts_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    real = warn_of_reading

    def faulty(request: Any) -> None:
        for part in getattr(request.questions[0].table, "parts", ()):
            if callable(part.cells) and any(isinstance(cell, str) for cell in part.cells()):
                warnings.warn("texts are not counted", UserWarning, stacklevel=1)
                break
        real(request)

    monkeypatch.setattr(api, "warn_of_reading", faulty)


def relations_over_frames_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_PANDAS", re.compile("(?!)"))
    monkeypatch.setattr(engine, "check_relation", lambda *_args, **_more: None)  # which refuses such scans, too


def profiles_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_session, "_end", lambda _ask, _setting: None)


FRAMES = ["pandas frame", "pandas.read_csv", "pandas sparse arrays"]
UNDONE: list[tuple[Callable[[pytest.MonkeyPatch], None], list[str], set[str]]] = [
    (dtypes_decide, FRAMES, {"outcome", "document", "warnings", "loss"}),
    (dtypes_show_in_queries, FRAMES, {"document"}),
    (texts_are_warned_of, FRAMES, {"warnings"}),
    (relations_over_frames_are_read, ["DuckDB relation over pandas"], {"outcome", "document", "loss"}),
    (profiles_are_printed, ["DuckDB with profiling"], {"output"}),
]


@pytest.mark.parametrize(("undo", "forms", "wanted"), UNDONE, ids=lambda each: getattr(each, "__name__", ""))
def test_a_repair_that_is_undone_is_found(
    undo: Callable[[pytest.MonkeyPatch], None], forms: list[str], wanted: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    undo(monkeypatch)
    assert kinds_found(planted(forms=forms)) & wanted


# ---- other faults


def test_epsilon_that_is_not_divided_by_the_buckets_of_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    real = vars(dropping)["divide"]
    monkeypatch.setattr(
        dropping, "divide", lambda asked, buckets, certify: real(asked, buckets=buckets // 3 or 1, certify=certify)
    )
    found = planted()
    assert kinds_found(found) == {"loss"}, str(found)


def test_epsilon_that_is_not_divided_by_the_records_of_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (asking, automatic):
        monkeypatch.setattr(module, "of_each_member", lambda whole, _most: whole)
    found = planted()
    assert kinds_found(found) == {"loss"}, str(found)


def a_release_that(looks: Callable[[Any], None]) -> Callable[..., Any]:
    """A release that looks at single cells first."""
    real = vars(door)["release"]

    def faulty(source: Any, column: Any, **options: Any) -> Any:
        for cells in source.values() if isinstance(source, dict) else [source]:
            for cell in cells:
                looks(cell)
        return real(source, column, **options)

    return faulty


def test_a_warning_that_a_cell_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    def looks(cell: Any) -> None:
        if isinstance(cell, bytes):
            warnings.warn("bytes are not counted", UserWarning, stacklevel=1)

    monkeypatch.setattr(door, "release", a_release_that(looks))
    assert kinds_found(planted()) == {"warnings"}


def test_an_error_that_a_value_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def looks(cell: Any) -> None:
        if isinstance(cell, float) and abs(cell) == math.inf:
            raise DataError

    monkeypatch.setattr(door, "release", a_release_that(looks))
    found = planted()
    assert kinds_found(found) == {"outcome"}
    assert any(each.other.startswith("DataError") for each in found.findings)


def test_a_line_that_is_printed_for_a_value(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def looks(cell: Any) -> None:
        if isinstance(cell, complex):
            os.write(1, b"a complex number\n")  # as an engine prints

    monkeypatch.setattr(door, "release", a_release_that(looks))
    assert kinds_found(planted()) == {"output"}
    assert "complex" not in capfd.readouterr().out


def test_a_reach_that_the_data_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's q = τ·|x|: it is sampled, whatever the mechanism says of itself."""
    real = Dropping.thin

    def faulty(self: Dropping, private: Any) -> Any:
        given = {**self.arguments(), "delta": self.delta / max(1, len(private))}
        return real(Dropping(**given), private)

    monkeypatch.setattr(Dropping, "thin", faulty)
    assert "outcome" in kinds_found(planted())


def test_a_threshold_that_the_data_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Ladder.beyond

    def faulty(self: Ladder, total: int, before: Any) -> list[int]:
        object.__setattr__(self, "target", self.target + total % 2)
        return real(self, total, before)

    monkeypatch.setattr(Ladder, "beyond", faulty)
    assert "outcome" in kinds_found(planted())


def test_records_that_count_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Column.fetch

    def faulty(self: Column, request: Request) -> Any:
        reply = real(self, request)
        object.__setattr__(reply, "total", 2 * reply.total)
        return reply

    monkeypatch.setattr(Column, "fetch", faulty)
    found = planted()
    assert "loss" in kinds_found(found), str(found)


# ---- the loss of a step


def test_counts_sums_and_ladders() -> None:
    half = Fraction(1, 2)
    assert step_loss(NoisyCount(epsilon=half, sensitivity=4), 10, 7).epsilon == 0.375
    assert not step_loss(NoisyCount(epsilon=half), 10, 13, most=3).fault
    assert step_loss(NoisyCount(epsilon=half), 10, 14, most=3).fault
    assert step_loss(TwoSums(epsilon=half, cells=10), (3, 4), (7, 10)).epsilon == 0.5
    assert step_loss(TwoSums(epsilon=half, cells=10), (3, 4), (7, 11)).fault
    ladder = Ladder(rungs=(0, 1, 2), side=1, target=1, epsilon=half)
    assert step_loss(ladder, [3, 2, 0], [4, 3, 0]).epsilon == 0.5
    assert step_loss(ladder, [3, 2, 0], [4, 1, 0]).fault
    law = [ladder.chances(beyond) for beyond in ([3, 2, 0], [4, 3, 0])]
    worst = max(abs(math.log(law[0][place] / law[1][place])) for place in law[0])
    assert worst <= 0.5 < max(abs(math.log(law[0][p] / ladder.chances([4, 1, 0])[p])) for p in law[0]) * 2


def test_bars_by_the_table_that_is_sampled() -> None:
    mechanism = Dropping(1, "0.01")
    bars = {(1,): 40, (2,): 3}
    found = step_loss(mechanism, bars, {**bars, (1,): 41})
    assert (found.epsilon, found.fault) == (1.0, "") and 0 < found.delta <= Fraction(1, 100)
    assert found.delta == mechanism.noise.delta_real
    assert step_loss(mechanism, bars, {**bars, (3,): 1}).delta <= Fraction(1, 100)
    assert "2 buckets differ" in step_loss(mechanism, bars, {(1,): 41, (2,): 4}).fault
    assert "more than one" in step_loss(mechanism, bars, {**bars, (1,): 42}).fault
    short = DropNoise(1, "0.1")
    assert "δ" in step_loss(mechanism, bars, {**bars, (1,): 41}, tables=[short]).fault
    two = Dropping(1, "0.01", max_buckets_per_unit=2, certify="0.5")
    both = step_loss(two, bars, {(1,): 41, (2,): 4})
    assert not both.fault and both.epsilon == pytest.approx(1) and both.delta <= Fraction(1, 100)
    groups = DroppedBars(epsilon=Fraction(1), delta=Fraction(1, 100))
    assert step_loss(groups, {("a",): 5}, {("a",): 6}).epsilon == 1
    assert step_loss(groups, {("a",): 5}, {("a",): 6, ("b",): 1}).fault


def test_quantiles_by_their_weights() -> None:
    prior = Listed(dict.fromkeys(range(12), 1))
    mechanism = whole_cut(goal=Goal.quantile(Fraction(1, 2)), epsilon=Fraction(1), prior=prior)
    windows = [
        window_of(mechanism, Column.from_values(np.array(values)))
        for values in ([1, 5, 7], [1, 5, 7, 9], [1, 9, 9, 9, 9, 9, 9])
    ]
    one, other, far = windows
    found = step_loss(mechanism, one, other)
    laws = [chances(mechanism, window) for window in (one, other)]
    worst = max(abs(math.log(laws[0][place] / laws[1][place])) for place in laws[0])
    assert found.epsilon == pytest.approx(worst) and 0 < worst <= 1 and not found.fault
    assert "a candidate has a loss" in step_loss(mechanism, one, far).fault


# ---- what it is made of


def test_everything_that_is_replaced_is_put_back() -> None:
    before = Dropping.thin, NoisyCount.draw, DropNoise._draw
    with pytest.raises(KeyError), watched(Watch()):
        assert Dropping.thin is not before[0]
        raise KeyError
    assert (Dropping.thin, NoisyCount.draw, DropNoise._draw) == before


def test_the_same_seed_makes_the_same_pairs() -> None:
    one, other = (search(10**6, seed=7, pairs=12, forms=PLAIN) for _ in range(2))
    assert (one.forms, one.options, one.released) == (other.forms, other.options, other.released)
    with pytest.raises(InputError, match=r"forms must name forms of tables; got 'matrix'\. Some are 'list', "):
        search(forms=["matrix"])
    with pytest.raises(InputError, match="seconds"):
        search(-1)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("audit", "search", "--pairs", 20, "--seed", 3)
    done = command(*words, "--form", "CSV file", "--form", "dict of lists", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert done.returncode == 0 and document["violation"] is False and document["pairs"] == 20
    assert document["options"]["command"] > 0 and set(document["forms"]) == {"CSV file", "dict of lists"}

    def looks(cell: Any) -> None:
        if cell is None or cell != cell:
            raise DataError

    monkeypatch.setattr(door, "release", a_release_that(looks))
    done = command("audit", "search", "--pairs", 20, "--form", "list", cwd=tmp_path)
    assert done.returncode == 5 and done.stdout.startswith("violation: "), done.stdout
    assert done.stderr.startswith("Found after ")
    assert command("audit", "search", "--form", "x").returncode == 2
