"""The researcher's commands: ``flexdp experiment`` and ``flexdp compare``. Parse, call, print.

The experiments are loaded when one of them is run, so that the other commands start as fast without them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flexdp.errors import InputError

if TYPE_CHECKING:
    from flexdp.experiments.cells import Contender, Settings
    from flexdp.experiments.runner import Progress, Study
    from flexdp.experiments.sensitivity import Flip
    from flexdp.experiments.worst import WorstCase

__all__ = ["compare", "experiment"]

QUICK = {"runs": "100", "datasets": "10"}
FULL = {"runs": "100", "datasets": "100"}
QUICK_SEARCH = 60  # histograms that number 7 looks at in each place with --quick
KEPT = "what is finished is kept, and the same command goes on from there."

_F = TypeVar("_F", bound=Callable[..., Any])
_MEASURED = (
    click.option(
        "--mechanism", "-m", "mechanisms", multiple=True, metavar="NAME", help="Repeatable; default: all nine."
    ),
    click.option("--epsilon", "-e", metavar="E,E,…", help="Default: 0.05 to 2 in twelve steps."),
    click.option("--delta", "-d", default="1/1048576", show_default=True, metavar="D"),
    click.option(
        "--alpha",
        default="0.005",
        show_default=True,
        metavar="A",
        help="Fraction that flexible errors may leave out.",
    ),
    click.option("--runs", metavar="N", help="Runs on each data set; default: 100."),
    click.option("--datasets", metavar="N", help="Data sets; default: 100, or 10 with --quick."),
    click.option("--seed", default="0", show_default=True, metavar="S", help="Same seed, same bytes."),
    click.option("--quick", is_flag=True, help="Ten data sets: seconds instead of a minute."),
    click.option(
        "--empty",
        type=click.Choice(["zero", "random"]),
        default="zero",
        show_default=True,
        help="What an output without an answer counts as: bar 0, or a bar at random.",
    ),
    click.option(
        "--ties",
        type=click.Choice(["smallest", "largest", "random"]),
        default="smallest",
        show_default=True,
        help="Which of several tallest bars is the mode.",
    ),
    click.option(
        "--binning",
        type=click.Choice(["floor", "nearest"]),
        default="floor",
        show_default=True,
        help="How draws become bars.",
    ),
    click.option(
        "--step-noise",
        default="default",
        show_default=True,
        metavar="none|uniform:N|poisson",
        help="On the bars of steps; by default none in (2) and (4), uniform:5 in (6).",
    ),
    click.option("--no-figure", is_flag=True, help="Only tables; needs no matplotlib."),
    click.option("--json", "as_json", is_flag=True, help="Print as JSON."),
)


def _measured(function: _F) -> _F:
    return reduce(lambda wrapped, option: option(wrapped), reversed(_MEASURED), function)


@click.command()
@click.argument("names", metavar="1 2 …|all|7", nargs=-1, required=True)
@click.option("--out", required=True, metavar="DIR", help="Folder for the results; also holds what is finished.")
@_measured
@click.option("--sensitivity", is_flag=True, help="Also try every switch, and say which verdicts it turns round.")
@click.option("--jobs", default="1", show_default=True, metavar="N", help="Processes; the results are the same.")
@click.pass_obj
def experiment(
    run: Any,
    /,
    names: tuple[str, ...],
    out: str,
    mechanisms: tuple[str, ...],
    epsilon: str | None,
    quick: bool,
    no_figure: bool,
    sensitivity: bool,
    jobs: str,
    as_json: bool,
    **settings: Any,
) -> int:
    """Run experiments of the paper on simulated data, and judge what it says of them.

    DIR gets results.csv, datasets.csv, verdicts.csv, timings.csv, figure.svg, figure.png and index.html. A run that was
    stopped goes on where it was. Number 7 is our own: worst cases found by search (worst.csv), by default at ε = 1.
    """
    from flexdp._core.domains import integer
    from flexdp.experiments.claims import judge
    from flexdp.experiments.files import output_folder
    from flexdp.experiments.journal import Journal
    from flexdp.experiments.outputs import Finished
    from flexdp.experiments.paper import WORST, chosen
    from flexdp.experiments.runner import chosen_mechanisms
    from flexdp.experiments.runner import run as study_of

    searched, others = [name for name in names if name in WORST], [name for name in names if name not in WORST]
    asked, wanted = chosen_mechanisms(mechanisms), chosen(others) if others else ()
    grid, checked = _grid(epsilon), _settings(quick, settings)
    processes = integer("jobs", jobs)
    _try_matplotlib(no_figure or not others)
    folder = output_folder(out)
    worst = _worst(folder, mechanisms, epsilon, quick, checked) if searched else ()
    if not others:
        click.echo(json.dumps(_worst_document(worst), indent=2) if as_json else _worst_text(worst))
        return 0
    run.kept = KEPT
    with Journal(folder, checked) as journal, _shown("Experiments") as progress:
        study = study_of(wanted, asked, grid, checked, journal=journal, jobs=processes, progress=progress)
    turned = _turned(study, asked, folder, processes) if sensitivity else None
    finished = Finished(study=study, judged=judge(study), turned=turned, worst=worst)
    finished.write(folder, figures=not no_figure)
    _tell_time(study)
    if as_json:
        click.echo(json.dumps({**finished.document(), **_worst_document(worst)}, indent=2, allow_nan=False))
    else:
        click.echo(finished.text() + ("\n\n" + _worst_text(worst) if worst else ""))
    click.echo(f"Written to {out}{'' if no_figure else ': open index.html there'}.", err=True)
    return 0


@click.command()
@click.argument("source", metavar="[FILE", required=False)
@click.argument("column", metavar="COLUMN]", required=False)
@click.option("--stat", "-s", "statistic", default="max", show_default=True, metavar="max|max_at_least:K|mode")
@click.option("--law", metavar="LAW", help="Simulated data: cauchy:45,4, normal:50,10, steps:540x50,490x50, …")
@click.option("--records", default="10000", show_default=True, metavar="N", help="Draws of a law.")
@click.option("--bars", default="100", show_default=True, metavar="B", help="Bars of a law.")
@click.option("--width", metavar="W", help="Bucket width of COLUMN.")
@click.option("--bounds", metavar="LO:HI", help="Bounds of COLUMN.")
@click.option("--kind", type=click.Choice(["integer", "number", "date"]), help="Where the file declares no type.")
@click.option("--data-is-public", is_flag=True, help="FILE may be seen by anybody; its true answers will be shown.")
@click.option("--out", metavar="DIR", help="Folder for a CSV and figures.")
@_measured
@click.pass_obj
def compare(
    run: Any,
    /,
    source: str | None,
    column: str | None,
    statistic: str,
    law: str | None,
    records: str,
    bars: str,
    width: str | None,
    bounds: str | None,
    kind: str | None,
    data_is_public: bool,
    out: str | None,
    mechanisms: tuple[str, ...],
    epsilon: str | None,
    quick: bool,
    no_figure: bool,
    as_json: bool,
    **settings: Any,
) -> int:
    """Compare mechanisms on simulated data (--law), or on COLUMN of a public FILE."""
    from dataclasses import asdict

    from flexdp.experiments.comparison import Comparison, parse_statistic
    from flexdp.experiments.files import output_folder, write_whole
    from flexdp.experiments.paper import Experiment
    from flexdp.experiments.public import public_column
    from flexdp.experiments.runner import chosen_mechanisms
    from flexdp.experiments.runner import run as study_of
    from flexdp.simulation.laws import StepNoise, parse_law

    if (law is None) == (source is None):
        raise InputError("compare needs either --law LAW or FILE and COLUMN, and not both.")
    asked, grid, checked = chosen_mechanisms(mechanisms), _grid(epsilon), _settings(quick, settings)
    question = parse_statistic(statistic)
    if source is not None and column is None:
        raise InputError("COLUMN must be named after FILE.")
    if out is not None:
        _try_matplotlib(no_figure)
    folder = None if out is None else output_folder(out)
    if law is not None:
        noise = checked.step_noise or StepNoise()
        data: Any = parse_law(law, records=records, bars=bars, binning=checked.binning, noise=noise)
    else:
        limits = None if bounds is None else tuple(bounds.split(":", 1))
        data = public_column(source, str(column), data_is_public=data_is_public, width=width, bounds=limits, kind=kind)
    panel = Experiment(name=str(data), statistic=question, law=data, about=str(data))
    run.kept = "nothing was written."
    with _shown("Comparing") as progress:
        found = Comparison(study=study_of([panel], asked, grid, checked, progress=progress))
    _tell_time(found.study)
    if folder is not None:
        stem = "compare" if law is not None else "INTERNAL-compare"
        write_whole(folder / f"{stem}.csv", found.to_csv())
        for ending in () if no_figure else ("svg", "png"):
            found.figure(folder / f"{stem}.{ending}")
        click.echo(f"Written to {out}.", err=True)
    document = {"settings": checked.texts(), "results": [asdict(row) for row in found.rows]}
    click.echo(json.dumps(document, indent=2, allow_nan=False) if as_json else str(found))
    return 0


def _grid(epsilon: str | None) -> Any:
    from flexdp.experiments.cells import epsilon_grid
    from flexdp.experiments.paper import EPSILONS

    return EPSILONS if epsilon is None else epsilon_grid(epsilon)


def _settings(quick: bool, given: dict[str, Any]) -> Settings:
    from flexdp.experiments.cells import Settings

    usual = QUICK if quick else FULL
    words: dict[str, Any] = {name: usual.get(name) if value is None else value for name, value in given.items()}
    return Settings.checked(**words)


def _worst(
    folder: Path, names: tuple[str, ...], epsilon: str | None, quick: bool, checked: Settings
) -> list[WorstCase]:
    from flexdp.experiments.files import write_whole
    from flexdp.experiments.worst import LAWFUL, csv_text, search

    rows: list[WorstCase] = []
    for each in [1] if epsilon is None else _grid(epsilon):
        effort: dict[str, Any] = {"evaluations": QUICK_SEARCH} if quick else {}
        rows += search(names or LAWFUL, epsilon=each, delta=checked.delta, seed=checked.seed, **effort).rows
    write_whole(folder / "worst.csv", csv_text(rows))
    return rows


def _worst_text(rows: Sequence[WorstCase]) -> str:
    from flexdp._core.exact import number_text
    from flexdp.experiments.worst import WorstCases

    lines = ["Worst β found, in % of the bars, at the α that dropping guarantees"]
    for epsilon in dict.fromkeys(row.epsilon for row in rows):
        found = WorstCases(rows=tuple(row for row in rows if row.epsilon == epsilon), seed=0)
        lines.append(f"\nε = {number_text(epsilon)}\n{found}")
    return "\n".join(lines)


def _worst_document(rows: Sequence[WorstCase]) -> dict[str, Any]:
    from flexdp._core.exact import number_text

    if not rows:
        return {}
    return {
        "worst": [
            {
                "mechanism": row.mechanism,
                "statistic": row.statistic,
                "bars": row.bars,
                "records": row.records,
                "epsilon": number_text(row.epsilon),
                "alpha": number_text(row.alpha),
                "gamma": number_text(row.gamma),
                "worst": row.worst,
                "exhaustive": row.exhaustive,
                "histogram": row.histogram,
            }
            for row in rows
        ]
    }


def _turned(study: Study, asked: tuple[Contender, ...], folder: Path, jobs: int) -> list[Flip]:
    from flexdp.experiments.claims import judge
    from flexdp.experiments.sensitivity import flips, variants, vary

    judged, out = judge(study), []
    for variant in variants(study.settings):
        with _shown(variant.name) as progress:
            varied = vary(study, asked, variant, folder=folder, jobs=jobs, progress=progress)
        out += flips(judged, variant.name, varied)
    return out


def _try_matplotlib(no_figure: bool) -> None:
    from importlib.util import find_spec

    if not no_figure and find_spec("matplotlib") is None:
        raise InputError("figures need matplotlib: pip install 'flexdp[lab]', or pass --no-figure for tables only.")


def _tell_time(study: Study) -> None:
    whole = sum(study.seconds.values())
    if whole:
        shares = ", ".join(f"{name} {spent / whole:.0%}" for name, spent in study.seconds.items())
        click.echo(f"Processor time {whole:.1f} s: {shares}.", err=True)


@contextmanager
def _shown(title: str) -> Iterator[Progress | None]:
    """A bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total, label: bar.update(task, completed=done, total=total, description=f"{title} {label}")
