"""The command line: results on standard output, everything else on standard error."""

from __future__ import annotations

import click

from flexdp.cli.check import check
from flexdp.cli.columns import columns
from flexdp.cli.compare import compare
from flexdp.cli.demo import demo
from flexdp.cli.errors import Commands, run_and_exit
from flexdp.cli.experiment import experiment
from flexdp.cli.plan import plan
from flexdp.cli.query import query
from flexdp.cli.release import release
from flexdp.cli.report import report
from flexdp.cli.web import web
from flexdp.version import __version__

__all__ = ["cli", "main"]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="flexdp")
def cli() -> None:
    """Publish columns of a table with differential privacy that only ever leaves records out."""


for _command in (release, check, columns, query, report, plan, experiment, compare, demo, web):
    cli.add_command(_command)


def main() -> None:
    """Run the command line and exit with its code."""
    run_and_exit(cli)


if __name__ == "__main__":
    main()
