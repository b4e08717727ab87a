"""Options and output that ``flexdp experiment`` and ``flexdp compare`` share.

The experiments are imported when a command runs, so that the other commands start as fast without them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from flexdp.cli.options import AS_JSON, all_of
from flexdp.errors import InputError, P

if TYPE_CHECKING:
    from flexdp.experiments.cells import Settings
    from flexdp.experiments.runner import Progress, Study

__all__ = ["epsilons", "progress_bar", "require_matplotlib", "settings_of", "study_options", "tell_time"]

_QUICK = {"runs": "100", "datasets": "10"}
_FULL = {"runs": "100", "datasets": "100"}
_MEASURED = (
    click.option(
        "--mechanism",
        "-m",
        "mechanisms",
        multiple=True,
        metavar="NAME",
        help="Mechanism to run; repeatable; default: all ten. With compare, also module:function.",
    ),
    click.option("--epsilon", "-e", metavar="E,E,…", help="Values of ε; default: twelve from 0.05 to 2."),
    click.option("--delta", "-d", default="1/1048576", show_default=True, metavar="D", help="δ of every mechanism."),
    click.option(
        "--alpha",
        default="0.005",
        show_default=True,
        metavar="A",
        help="Fraction of the records that the flexible error may leave out.",
    ),
    click.option("--runs", metavar="N", help="Runs per data set; default: 100."),
    click.option("--datasets", metavar="N", help="Data sets; default: 100, or 10 with --quick."),
    click.option(
        "--seed", default="0", show_default=True, metavar="S", help="Random seed; the same seed gives the same bytes."
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
        show_default=True,
        metavar="none|uniform:N|poisson",
        help="Noise on the buckets of a step law; by default none in (2) and (4), uniform:5 in (6).",
    ),
    click.option("--no-figure", is_flag=True, help="Tables only; needs no matplotlib."),
    AS_JSON,
)
study_options: Callable[[Any], Any] = all_of(_MEASURED)


def epsilons(epsilon: str | None) -> Any:
    """Return the list of ε that was asked for, or the paper's."""
    from flexdp.experiments.cells import epsilon_grid
    from flexdp.experiments.paper import EPSILONS

    return EPSILONS if epsilon is None else epsilon_grid(epsilon)


def settings_of(quick: bool, given: dict[str, Any]) -> Settings:
    """Return the settings of a study, with the usual numbers of runs and data sets where none were given."""
    from flexdp.experiments.cells import Settings

    usual = _QUICK if quick else _FULL
    words: dict[str, Any] = {name: usual.get(name) if value is None else value for name, value in given.items()}
    return Settings.checked(**words)


def require_matplotlib(no_figure: bool) -> None:
    """Refuse figures early where matplotlib is missing."""
    from importlib.util import find_spec

    if not no_figure and find_spec("matplotlib") is None:
        raise InputError(
            "figures",
            "need matplotlib",
            remedy=("Run pip install 'flexdp[lab]', or pass ", P("no_figure", True), " for tables only."),
        )


def tell_time(study: Study) -> None:
    """Print where the processor time went."""
    whole = sum(study.seconds.values())
    if whole:
        shares = ", ".join(f"{name} {spent / whole:.0%}" for name, spent in study.seconds.items())
        click.echo(f"Processor time {whole:.1f} s: {shares}.", err=True)


@contextmanager
def progress_bar(title: str) -> Iterator[Progress | None]:
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
