"""``flexdp audit``: run a mechanism, or a whole release, on two neighbouring data sets and look for a violation."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flexdp._core.text import safe_repr, visible
from flexdp.cli.errors import VIOLATION, Run, Subcommands, guarded
from flexdp.cli.options import (
    AS_JSON,
    REQUEST,
    PanelCommand,
    comma_separated,
    prepared,
    shares,
)
from flexdp.errors import InputError

if TYPE_CHECKING:
    from flexdp.audit import Audited

__all__ = ["audit"]

_FUNCTION = "function"
_MANY, _FEW = "20000", "1000"  # runs of a release, where the records are counted once, and where they are not
_CONFIDENCE = click.option(
    "--confidence",
    default="0.999",
    show_default=True,
    metavar="C",
    help="Confidence: a false alarm has probability at most 1 − C.",
)


class _Targets(Subcommands):
    """A release, or else a function: the first word decides."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            args = [_FUNCTION, *args]
        return super().resolve_command(ctx, args)


@click.group(cls=_Targets, subcommand_metavar="MODULE:FUNCTION X Y | release ONE OTHER COLUMN | search")
def audit() -> None:
    """Run a mechanism very often on two neighbouring data sets and look for a violation of its claim.

    With search, release random tables of every form beside their neighbours, and look for any difference.

    Exit code 5 if one is found. Finding none does not prove privacy. Use test data: what is found is printed.
    """


@audit.command(_FUNCTION, hidden=True)
@click.argument("target", metavar="MODULE:FUNCTION")
@click.argument("x", metavar="X")
@click.argument("y", metavar="Y")
@click.option("--epsilon", "-e", required=True, metavar="E", help="Claimed ε.")
@click.option("--delta", "-d", default="0", show_default=True, metavar="D", help="Claimed δ.")
@click.option(
    "--trials", "-n", default="100000", show_default=True, metavar="N", help="Number of runs, on X and Y together."
)
@_CONFIDENCE
@AS_JSON
@click.pass_obj
def function(
    run: Run, /, target: str, x: str, y: str, epsilon: str, delta: str, trials: str, confidence: str, as_json: bool
) -> int:
    """Audit FUNCTION of MODULE on two neighbouring data sets, each in JSON or as MODULE:NAME.

    A function that takes size= is called for many runs at once, and returns an array.
    """
    from flexdp.audit import audit as audited

    run.kept = "nothing was decided"
    mechanism = _loaded("target", target)
    found = audited(
        mechanism,
        _data("x", x),
        _data("y", y),
        epsilon,
        delta,
        trials,  # type: ignore[arg-type]  # texts are read as numbers
        confidence=confidence,
    )
    return _told(found, as_json)


@audit.command(cls=PanelCommand)
@click.argument("beside", metavar="OTHER")
@REQUEST
@click.option("--epsilon", "-e", required=True, metavar="E", help="Privacy loss ε of the release.")
@click.option("--delta", "-d", required=True, metavar="D", help="δ of the release.")
@click.option("--claim", metavar="E,D", callback=comma_separated, help="Other ε and δ to test; default: its own.")
@click.option(
    "--certify",
    metavar="S",
    help="Share of the budget that bounds all that was left out, where buckets or groups are unknown.",
)
@click.option("--split", multiple=True, metavar="[NAME=]S", callback=shares, help="Shares, as for a release.")
@click.option(
    "--trials",
    "-n",
    metavar="N",
    help=f"Number of runs; default: {_MANY}, or {_FEW} with --unit, --ask or automatic buckets, which count each time.",
)
@_CONFIDENCE
@click.pass_obj
def release(
    run: Run,
    /,
    source: str,
    beside: str,
    columns: tuple[str, ...],
    table: str | None,
    epsilon: str,
    delta: str,
    claim: list[str] | None,
    certify: str | None,
    split: Any,
    trials: str | None,
    confidence: str,
    as_json: bool,
    config: str | None,  # noqa: ARG001  (test data is no declared data set)
    **options: Any,
) -> int:
    """Audit a release of columns: OTHER and FILE are two tables of test data that differ by one record, or one unit.

    Takes the options of flexdp release.
    """
    from flexdp.audit import audit as audited

    run.kept = "nothing was decided"
    if claim is not None and len(claim) != 2:
        raise InputError("claim", "must be ε and δ, separated by a comma", given=safe_repr(",".join(claim)))
    requests = [
        prepared(file, columns, table, **options).with_budget(epsilon, delta, certify=certify, split=split)
        for file in (beside, source)
    ]
    runners = [request.repeated() for request in requests]
    many = trials or (_MANY if all(once for _, once in runners) else _FEW)
    claimed = (epsilon, delta) if claim is None else (claim[0], claim[1])
    found = audited(
        lambda runner: runner(),
        runners[0][0],
        runners[1][0],
        *claimed,
        many,  # type: ignore[arg-type]
        confidence=confidence,
        outcome=_published,
    )
    return _told(found, as_json)


@audit.command()
@click.option(
    "--seconds", default="60", show_default=True, metavar="S", help="Processor time to spend on the search, in seconds."
)
@click.option("--seed", default="0", show_default=True, metavar="N", help="Seed of the tables and requests.")
@click.option("--pairs", metavar="N", help="Maximum number of pairs to try.")
@click.option(
    "--first",
    default="0",
    show_default=True,
    metavar="N",
    help="Number of the first pair; --pairs 1 repeats a finding.",
)
@click.option("--form", "forms", multiple=True, metavar="F", help="Form of tables, e.g. 'CSV file'; repeatable.")
@AS_JSON
@click.pass_obj
def search(
    run: Run, /, seconds: str, seed: str, pairs: str | None, first: str, forms: tuple[str, ...], as_json: bool
) -> int:
    """Release random tables that differ by one odd record, in every form and with many options.

    Both sides get the same public outcomes. Everything visible must be the same (release or refusal, document,
    warnings, output, steps), and no step may be likelier on one side than its ε allows. It does not read your data.
    """
    from flexdp.audit import search as searched

    run.kept = "nothing was decided"
    found = searched(
        seconds,
        seed=seed,  # type: ignore[arg-type]  # texts are read as numbers
        pairs=pairs,  # type: ignore[arg-type]
        first=first,  # type: ignore[arg-type]
        forms=forms or None,
        command=_command,
        told=lambda each: click.echo(
            f"Found after {each.seconds:.1f} s: {each.what} of {visible(each.form)}.", err=True
        ),
    )
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else "\n".join(map(visible, str(found).split("\n"))))
    return VIOLATION if found.violation else 0


def _command(words: Sequence[str]) -> int:
    """Run a command line in this process, as a process of its own would."""
    from flexdp.cli.app import cli

    former = sys.argv
    sys.argv = ["flexdp", *words]
    try:
        return guarded(cli)
    finally:
        sys.argv = former


def _told(found: Audited, as_json: bool) -> int:
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else visible(str(found)))
    return VIOLATION if found.violation else 0


def _published(released: Any) -> Any:
    """Everything in a release that was drawn: buckets, the certified total, answers, and edges that were chosen."""
    if isinstance(released, list | tuple) or hasattr(released, "values"):
        return [_published(each) for each in (released.values() if hasattr(released, "values") else released)]
    drawn: dict[str, Any] = {"buckets": released.cells, "at most": released.records_at_most}
    if released.asked is not None or released.auto is not None:
        document = json.loads(released.to_json())
        drawn |= {name: document.get(name) for name in ("asked", "auto")}
        drawn["edges"] = (document.get("buckets") or {}).get("edges")
    return drawn


def _loaded(parameter: str, target: str) -> Callable[..., Any]:
    """Import a function by its module and name; the current folder is searched first."""
    found = _named(parameter, target, "function")
    if not callable(found):
        raise InputError(parameter, "must name a function", given=safe_repr(target))
    return found  # type: ignore[no-any-return]


def _named(parameter: str, target: str, kind: str = "object") -> Any:
    module, colon, name = target.partition(":")
    if not colon or not module.replace(".", "").replace("_", "").isalnum() or not name:
        raise InputError(parameter, "must be written MODULE:NAME", given=safe_repr(target))
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    found: Any = None
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as failure:  # noqa: BLE001  (a module may raise anything when it is imported)
        reason = f"could not load {safe_repr(target)} ({type(failure).__name__})"
        if isinstance(failure, ModuleNotFoundError) and f"{module}.".startswith(f"{failure.name}."):
            reason = f"no module named {safe_repr(module)}"
        elif isinstance(failure, AttributeError) and found is not None:
            reason = f"module {safe_repr(module)} has no {kind} {safe_repr(name)}"
        raise InputError(parameter, f": {reason}") from None
    finally:
        sys.path.remove(folder)
    return found


def _data(parameter: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    if ":" not in text:
        raise InputError(
            parameter, "must be JSON, or MODULE:NAME", given=safe_repr(text), remedy="For example 5 or [1, 2, 3]."
        )
    return _named(parameter, text)
