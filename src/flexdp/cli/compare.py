"""``flexdp compare``: mechanisms beside each other on simulated or public data."""

from __future__ import annotations

import json
from typing import Any

import click

from flexdp.cli.errors import Run
from flexdp.cli.options import bounds_pair
from flexdp.cli.studies import epsilons, progress_bar, require_matplotlib, settings_of, study_options, tell_time

__all__ = ["compare"]


@click.command()
@click.argument("source", metavar="[FILE", required=False)
@click.argument("column", metavar="COLUMN]", required=False)
@click.option(
    "--stat",
    "-s",
    "statistic",
    default="max",
    show_default=True,
    metavar="STAT",
    help="Statistic to compare: max, max_at_least:K, mode, median, q0.9, range, support, …",
)
@click.option("--law", metavar="LAW", help="Simulated data: cauchy:45,4, normal:50,10, steps:540x50,490x50, …")
@click.option("--records", default="10000", show_default=True, metavar="N", help="Number of records drawn from LAW.")
@click.option("--bars", default="100", show_default=True, metavar="B", help="Number of buckets of LAW.")
@click.option("--width", metavar="W", help="Bucket width of COLUMN.")
@click.option("--bounds", metavar="LO:HI", callback=bounds_pair, help="Bounds of COLUMN.")
@click.option("--kind", type=click.Choice(["integer", "number", "date"]), help="Type of COLUMN, if FILE declares none.")
@click.option("--data-is-public", is_flag=True, help="FILE is public: its true answers will be shown.")
@click.option("--out", metavar="DIR", help="Folder for a CSV file and figures.")
@study_options
@click.pass_obj
def compare(
    run: Run,
    /,
    source: str | None,
    column: str | None,
    statistic: str,
    law: str | None,
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
    from dataclasses import asdict

    from flexdp.experiments.comparison import Comparison, parse_statistic
    from flexdp.experiments.contenders import compared
    from flexdp.experiments.files import output_folder, write_whole
    from flexdp.experiments.paper import Experiment
    from flexdp.experiments.public import public_column
    from flexdp.experiments.runner import run as study_of
    from flexdp.simulation import StepNoise, parse_law

    if (law is None) == (source is None):
        raise click.UsageError("compare needs either --law LAW or FILE and COLUMN, not both.")
    question = parse_statistic(statistic)
    asked, grid, checked = compared(mechanisms, question), epsilons(epsilon), settings_of(quick, settings)
    if source is not None and column is None:
        raise click.UsageError("COLUMN must be named after FILE.")
    if out is not None:
        require_matplotlib(no_figure)
    folder = None if out is None else output_folder(out)
    if law is not None:
        noise = checked.step_noise or StepNoise()
        data: Any = parse_law(law, records=records, bars=bars, binning=checked.binning, noise=noise)
    else:
        data = public_column(source, str(column), data_is_public=data_is_public, width=width, bounds=bounds, kind=kind)
    panel = Experiment(name=str(data), statistic=question, law=data, about=str(data))
    run.kept = "nothing was written"
    with progress_bar("Comparing") as progress:
        found = Comparison(study=study_of([panel], asked, grid, checked, progress=progress))
    tell_time(found.study)
    if folder is not None:
        stem = "compare" if law is not None else "INTERNAL-compare"
        write_whole(folder / f"{stem}.csv", found.to_csv())
        for ending in () if no_figure else ("svg", "png"):
            found.figure(folder / f"{stem}.{ending}")
        click.echo(f"Written to {out}.", err=True)
    document = {"settings": checked.texts(), "results": [asdict(row) for row in found.rows]}
    click.echo(json.dumps(document, indent=2, allow_nan=False) if as_json else str(found))
    return 0
