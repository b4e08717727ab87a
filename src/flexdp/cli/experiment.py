"""``flexdp experiment``: the paper's experiments on simulated data, and a search for worst cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flexdp.cli.errors import Run
from flexdp.cli.studies import epsilons, progress_bar, require_matplotlib, settings_of, study_options, tell_time

if TYPE_CHECKING:
    from flexdp.experiments.cells import Contender, Settings
    from flexdp.experiments.runner import Study
    from flexdp.experiments.sensitivity import Flip
    from flexdp.experiments.worst import WorstCase

__all__ = ["experiment"]

_QUICK_SEARCH = 60  # histograms that number 7 examines in each place with --quick
_KEPT = "finished work is kept, and the same command resumes it"


@click.command()
@click.argument("names", metavar="1 2 …|all|7", nargs=-1, required=True)
@click.option("--out", required=True, metavar="DIR", help="Folder for the results and the journal of finished work.")
@study_options
@click.option("--sensitivity", is_flag=True, help="Also vary every setting, and report the verdicts that change.")
@click.option(
    "--jobs", default="1", show_default=True, metavar="N", help="Number of processes; the results do not depend on it."
)
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
    jobs: str,
    as_json: bool,
    **settings: Any,
) -> int:
    """Run the paper's experiments on simulated data and test its claims.

    Writes results.csv, datasets.csv, verdicts.csv, timings.csv, figure.svg, figure.png and index.html to DIR. An
    interrupted run resumes where it stopped. Number 7 is our own: worst cases found by search (worst.csv), by default
    at ε = 1.
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
    grid, checked = epsilons(epsilon), settings_of(quick, settings)
    processes = integer("jobs", jobs)
    require_matplotlib(no_figure or not others)
    folder = output_folder(out)
    worst = _worst(folder, mechanisms, epsilon, quick, checked) if searched else ()
    if not others:
        click.echo(json.dumps(_worst_document(worst), indent=2) if as_json else _worst_text(worst))
        return 0
    run.kept = _KEPT
    with Journal(folder, checked) as journal, progress_bar("Experiments") as progress:
        study = study_of(wanted, asked, grid, checked, journal=journal, jobs=processes, progress=progress)
    turned = _turned(study, asked, folder, processes) if sensitivity else None
    finished = Finished(study=study, judged=judge(study), turned=turned, worst=worst)
    finished.write(folder, figures=not no_figure)
    tell_time(study)
    if as_json:
        click.echo(json.dumps({**finished.document(), **_worst_document(worst)}, indent=2, allow_nan=False))
    else:
        click.echo(finished.text() + ("\n\n" + _worst_text(worst) if worst else ""))
    click.echo(f"Written to {out}{'' if no_figure else '; open index.html there'}.", err=True)
    return 0


def _worst(
    folder: Path, names: tuple[str, ...], epsilon: str | None, quick: bool, checked: Settings
) -> list[WorstCase]:
    from flexdp.experiments.files import write_whole
    from flexdp.experiments.worst import LAWFUL, csv_text, search

    rows: list[WorstCase] = []
    for each in [1] if epsilon is None else epsilons(epsilon):
        effort: dict[str, Any] = {"evaluations": _QUICK_SEARCH} if quick else {}
        rows += search(names or LAWFUL, epsilon=each, delta=checked.delta, seed=checked.seed, **effort).rows
    write_whole(folder / "worst.csv", csv_text(rows))
    return rows


def _worst_text(rows: Sequence[WorstCase]) -> str:
    from flexdp._core.exact import number_text
    from flexdp.experiments.worst import WorstCases

    lines = ["Worst β found, in % of the buckets, at the α that dropping guarantees"]
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
        with progress_bar(variant.name) as progress:
            varied = vary(study, asked, variant, folder=folder, jobs=jobs, progress=progress)
        out += flips(judged, variant.name, varied)
    return out
