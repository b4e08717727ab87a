"""``flexdp lab``: the paper's experiments, and comparisons of mechanisms, on simulated or public data.

The experiments are imported when a command runs, so that they do not slow down the start of other commands.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flexdp._core.domains import path_text
from flexdp._core.exact import number_text
from flexdp._core.files import write_whole
from flexdp._core.text import safe_repr
from flexdp.cli.errors import Run, Subcommands
from flexdp.cli.options import AS_JSON, all_of, bounds_pair
from flexdp.errors import FlexdpError, InputError, P

if TYPE_CHECKING:
    from flexdp.experiments.claims import Flip, Judgement
    from flexdp.experiments.study import Progress, Settings, Study

__all__ = ["lab"]

_QUICK = 10  # data sets
_MEASURED: Callable[[Any], Any] = all_of(
    (
        click.option(
            "--mechanism",
            "-m",
            "mechanisms",
            multiple=True,
            metavar="NAME",
            help="Mechanism to run; repeatable; default: all ten. With compare, also module:function.",
        ),
        click.option("--epsilon", "-e", metavar="E,E,…", help="Values of ε; default: twelve from 0.05 to 2."),
        click.option(
            "--delta", "-d", default="1/1048576", show_default=True, metavar="D", help="δ of every mechanism."
        ),
        click.option(
            "--alpha",
            default="0.005",
            show_default=True,
            metavar="A",
            help="Largest distortion that flexible errors allow; by default a fraction of the records, left out.",
        ),
        click.option("--runs", default="100", show_default=True, metavar="N", help="Runs per data set."),
        click.option("--datasets", metavar="N", help="Data sets; default: 100, or 10 with --quick."),
        click.option(
            "--seed",
            default="0",
            show_default=True,
            metavar="S",
            help="Random seed; the same seed gives the same bytes.",
        ),
        click.option("--quick", is_flag=True, help="Ten data sets: seconds instead of a minute."),
        click.option(
            "--empty",
            type=click.Choice(["zero", "random"]),
            default="zero",
            show_default=True,
            help="Value used when a mechanism gives no answer: bucket 0, or a random bucket.",
        ),
        click.option(
            "--ties",
            type=click.Choice(["smallest", "largest", "random"]),
            default="smallest",
            show_default=True,
            help="Mode when several buckets tie for the highest count.",
        ),
        click.option(
            "--binning",
            type=click.Choice(["floor", "nearest"]),
            default="floor",
            show_default=True,
            help="Rounding of draws to buckets.",
        ),
        click.option(
            "--step-noise",
            default="default",
            metavar="none|uniform:N|poisson",
            help="Noise on the buckets of a step law; default: none in (2) and (4), uniform:5 in (6).",
        ),
        click.option("--no-figure", is_flag=True, help="Tables only; needs no matplotlib."),
        AS_JSON,
    )
)


@click.group(cls=Subcommands)
def lab() -> None:
    """Rerun the paper's experiments, and compare mechanisms, on simulated or public data."""


@lab.command()
@click.argument("names", metavar="1 2 …|all", nargs=-1, required=True)
@click.option("--out", required=True, metavar="DIR", help="Folder for the results.")
@_MEASURED
@click.option("--sensitivity", is_flag=True, help="Also vary every setting, and report the verdicts that change.")
@click.pass_obj
def experiment(
    run: Run,
    /,
    names: tuple[str, ...],
    out: str,
    mechanisms: tuple[str, ...],
    epsilon: str | None,
    quick: bool,
    no_figure: bool,
    sensitivity: bool,
    as_json: bool,
    **settings: Any,
) -> int:
    """Run the paper's experiments on simulated data and test its claims.

    Writes results.csv, datasets.csv, verdicts.csv, figure.svg and figure.png to DIR.
    """
    from flexdp.experiments.claims import find_flips, flips_csv, judge, list_variants, vary, verdicts_csv
    from flexdp.experiments.contenders import choose_mechanisms
    from flexdp.experiments.paper import choose_experiments
    from flexdp.experiments.study import datasets_csv, results_csv
    from flexdp.experiments.study import run as run_study

    asked, wanted, grid = choose_mechanisms(mechanisms), choose_experiments(names), _read_grid(epsilon)
    checked = _read_settings(settings, 100, quick)
    folder = _make_folder(out, no_figure)
    run.kept = "nothing was written"
    with _show_progress("Experiments") as progress:
        study = run_study(wanted, asked, grid, checked, progress=progress)
    judged, flips = judge(study), list[Any]()
    for variant in list_variants(checked) if sensitivity else ():
        with _show_progress(variant.name) as progress:
            flips += find_flips(judged, variant.name, vary(study, asked, variant, progress=progress))
    tables = {"results": results_csv(study), "datasets": datasets_csv(study), "verdicts": verdicts_csv(judged)}
    if sensitivity:
        tables["sensitivity"] = flips_csv(flips)
    _write(folder, {f"{name}.csv": text for name, text in tables.items()} | _draw(study, "figure", no_figure))
    _tell_time(study)
    document = _document(study) | {"verdicts": [_verdict_document(each) for each in judged]}
    if sensitivity:
        document["sensitivity"] = [
            {"claim": each.judgement.claim.name, "reading": each.judgement.reading, "switch": str(each)}
            for each in flips
        ]
    click.echo(json.dumps(document, indent=2, allow_nan=False) if as_json else _text(study, judged, flips))
    click.echo(f"Written to {out}.", err=True)
    return 0


@lab.command()
@click.argument("source", metavar="[FILE", required=False)
@click.argument("column", metavar="COLUMN]", required=False)
@click.option(
    "--stat",
    "-s",
    "statistic",
    default="max",
    show_default=True,
    metavar="STAT",
    help="Statistic to compare: max, max_at_least:K, mode, median, q0.9, range, support, …, or module:function.",
)
@click.option(
    "--law",
    "laws",
    multiple=True,
    metavar="LAW",
    help="Simulated data, repeatable: cauchy:45,4, normal:50,10, steps:540x50,490x50, …, or module:function.",
)
@click.option("--average", "averaged", is_flag=True, help="Average over several laws instead of one table for each.")
@click.option("--records", default="10000", show_default=True, metavar="N", help="Number of records drawn from LAW.")
@click.option("--bars", default="100", show_default=True, metavar="B", help="Number of buckets of LAW.")
@click.option("--width", metavar="W", help="Bucket width of COLUMN.")
@click.option("--bounds", metavar="LO:HI", callback=bounds_pair, help="Bounds of COLUMN.")
@click.option("--kind", type=click.Choice(["integer", "number", "date"]), help="Type of COLUMN, if FILE declares none.")
@click.option("--data-is-public", is_flag=True, help="FILE is public: its true answers will be shown.")
@click.option(
    "--distortion",
    default="drop",
    show_default=True,
    metavar="drop|move|drop-move:ETA",
    help="Measure of --alpha: records left out, moved by numbers of buckets, or both.",
)
@click.option("--gamma", metavar="G", help="Also show β: the flexible error that is exceeded with probability G.")
@click.option("--out", metavar="DIR", help="Folder for a CSV file and figures.")
@_MEASURED
@click.pass_obj
def compare(
    run: Run,
    /,
    source: str | None,
    column: str | None,
    statistic: str,
    laws: tuple[str, ...],
    averaged: bool,
    records: str,
    bars: str,
    width: str | None,
    bounds: tuple[str, str] | None,
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
    from flexdp.experiments.compare import average, count_data_sets, count_public_column, read_data, read_statistic
    from flexdp.experiments.contenders import choose_contenders, is_reference
    from flexdp.experiments.paper import Experiment
    from flexdp.experiments.study import format_table, results_csv
    from flexdp.experiments.study import run as run_study
    from flexdp.simulation import StepNoise, parse_law

    if bool(laws) == (source is not None):
        raise click.UsageError("compare needs either --law LAW or FILE and COLUMN, not both.")
    asked = read_statistic(statistic)
    contenders, grid = choose_contenders(mechanisms, asked), _read_grid(epsilon)
    checked = _read_settings(settings, 100, quick)
    if source is not None and column is None:
        raise click.UsageError("COLUMN must be named after FILE.")
    folder = None if out is None else _make_folder(out, no_figure)
    if source is None:
        drawn: dict[str, Any] = {"records": records, "bars": bars, "binning": checked.binning}
        noise = checked.step_noise or StepNoise()
        data = read_data([law if is_reference(law) else parse_law(law, noise=noise, **drawn) for law in laws], None)
    else:
        given: dict[str, Any] = {"width": width, "bounds": bounds, "kind": kind}
        found = count_public_column(source, str(column), data_is_public=data_is_public, **given)
        data = {str(found): found}
    if averaged:
        data = average(data)
        checked = _read_settings(settings, count_data_sets(next(iter(data.values()))), quick)
    panels = [Experiment(name=label, statistic=asked, law=law, about=label) for label, law in data.items()]
    run.kept = "nothing was written"
    with _show_progress("Comparing") as progress, _name_failures():
        study = run_study(panels, contenders, grid, checked, progress=progress)
    _tell_time(study)
    if folder is not None:
        stem = "compare" if source is None else "INTERNAL-compare"
        _write(folder, {f"{stem}.csv": results_csv(study)} | _draw(study, stem, no_figure))
        click.echo(f"Written to {out}.", err=True)
    click.echo(json.dumps(_document(study), indent=2, allow_nan=False) if as_json else format_table(study))
    return 0


# Input


def _read_grid(epsilon: str | None) -> Any:
    """Return the list of ε that was asked for, or the paper's."""
    from flexdp.experiments.paper import EPSILONS
    from flexdp.experiments.study import read_epsilons

    return EPSILONS if epsilon is None else read_epsilons(epsilon)


def _read_settings(given: Mapping[str, Any], datasets: int, quick: bool) -> Settings:
    """Return the settings of a study, with the usual number of data sets where none is given."""
    from flexdp.experiments.study import Settings

    usual = _QUICK if quick else datasets
    return Settings(**{**given, "datasets": usual if given["datasets"] is None else given["datasets"]})


@contextmanager
def _name_failures() -> Iterator[None]:
    """Turn what a function of the user's raises into one line that names it."""
    try:
        yield
    except FlexdpError:
        raise
    except Exception as failure:
        told = " ".join(str(failure).split())[:200]
        raise InputError("mechanism", f"or data or statistic raised {type(failure).__name__}: {told}") from failure


# Output


def _make_folder(out: str, no_figure: bool) -> Path:
    """Make the folder before any work is done, and refuse figures where matplotlib is missing."""
    if not no_figure and find_spec("matplotlib") is None:
        raise InputError(
            "figures",
            "need matplotlib",
            remedy=("Run pip install 'flexdp[lab]', or pass ", P("no_figure", True), " for tables only."),
        )
    folder = Path(path_text("out", out))
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError("out", "must be a folder", given=f"the file {safe_repr(out)}")
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.NamedTemporaryFile(prefix=".flexdp-", dir=folder).close()
    except OSError:
        raise _unwritable(folder) from None
    return folder


def _unwritable(folder: Path) -> InputError:
    remedy = "Check the folder, its permissions and the space left, or choose another."
    return InputError("out", f": cannot write {safe_repr(str(folder))}", remedy=remedy)


def _write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files, each whole or not at all; they are identical for equal parameters and seed."""
    try:
        for name, content in files.items():
            write_whole(folder / name, content)
    except OSError:
        raise _unwritable(folder) from None


def _draw(study: Study, stem: str, no_figure: bool) -> dict[str, str | bytes]:
    from flexdp.experiments.figure import png, svg

    return {} if no_figure else {f"{stem}.svg": svg(study), f"{stem}.png": png(study)}


def _text(study: Study, judged: list[Judgement], flips: list[Flip]) -> str:
    """Return the text for a terminal: a short table, then the verdicts."""
    from flexdp.experiments.study import format_table

    lines = [format_table(study)]
    if judged:
        lines.append("\nThe paper's statements about its figure")
    for says, group in groupby(judged, key=lambda each: each.claim.says):
        readings: dict[str, list[str]] = {}
        for each in group:
            readings.setdefault(each.verdict, []).append(each.reading)
        lines.append(f"\n{says}")
        several = len(readings) > 1
        lines += [f"  {' and '.join(of) + ': ' if several else ''}{verdict}" for verdict, of in readings.items()]
    if flips:
        lines.append("\nVerdicts reversed by a switch\n")
    for flip in flips:
        reading = f" ({flip.judgement.reading})" if flip.judgement.reading else ""
        lines.append(f"  {flip.judgement.claim.name}{reading}, {flip}")
    return "\n".join(lines)


def _document(study: Study) -> dict[str, Any]:
    return {
        "settings": study.settings.texts(),
        "results": [row.columns() for row in study.rows],
        "seconds": {name: round(spent, 3) for name, spent in study.seconds.items()},
    }


def _verdict_document(judgement: Judgement) -> dict[str, Any]:
    return {
        "claim": judgement.claim.name,
        "says": judgement.claim.says,
        "means": judgement.claim.means,
        "reading": judgement.meant,
        "verdict": judgement.verdict,
        "outcomes": {number_text(epsilon): outcome for epsilon, outcome in judgement.outcomes.items()},
        "why": judgement.why,
        "worst": judgement.worst,
    }


def _tell_time(study: Study) -> None:
    """Print where the processor time went."""
    whole = sum(study.seconds.values())
    if whole:
        shares = ", ".join(f"{name} {spent / whole:.0%}" for name, spent in study.seconds.items())
        click.echo(f"Processor time {whole:.1f} s: {shares}.", err=True)


@contextmanager
def _show_progress(title: str) -> Iterator[Progress | None]:
    """Show a progress bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total, label: bar.update(task, completed=done, total=total, description=f"{title} {label}")
