"""Advice: options for a release, the cost of each, warnings, and the command to run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flexdp._core.display import card, code, from_report, sentence, table
from flexdp._core.domains import integer
from flexdp._core.exact import exact_text, number_text, upper_text
from flexdp._core.text import plural, thousands
from flexdp.buckets.parse import bucket_parameters
from flexdp.buckets.partition import Buckets
from flexdp.errors import P, Phrase, spelled
from flexdp.guarantees import AddRemove, Privacy, limit_text, sure_text
from flexdp.noise.drop import DropNoise
from flexdp.planning.cautions import MOST_EXPECTED, cautions
from flexdp.planning.command import bucket_words, command_of
from flexdp.planning.declared import Declared, declared_of
from flexdp.planning.expected import Counts, Expected, expected
from flexdp.planning.groups import NO_GROUPS, Groups
from flexdp.planning.options import FAR, Option, Setting, digits_up, percent
from flexdp.planning.target import Target
from flexdp.planning.wording import setting_words, table_lines

if TYPE_CHECKING:
    from flexdp.planning.answers import AskedOutlook
    from flexdp.planning.automatic import AutomaticOutlook

__all__ = ["Advice"]


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Options for a release, the cost of each, warnings, and the command to run. All of it is public.

    Parameters
    ----------
    setting
        Everything that the options have in common.
    epsilon
        The chosen ε; None if neither ε nor a target was given.
    epsilon_origin
        "given", "solved" from the target, or "open".
    delta_origin
        "given", "solved" from ε and the target, or "proposed".
    by_unit
        True if a unit with several records is protected, rather than one record.
    partition
        The buckets; None if at most their number is known.
    target
        The most that may be lost.
    options
        The usual ε and the chosen one, ascending.
    counts
        Simulated or public counts to compute expectations from.
    sharp
        The plan of asked answers, or of automatic buckets; None where buckets are given.
    groups, stats
        The groups, and the statistics that the command reads off the release.
    instead, instead_because
        The plan whose command is to be run because this one would leave nothing, and the reason; a reason alone if
        there is none to be run.
    larger
        A plan with a larger ε that would leave something, offered where this one would leave nothing.

    Examples
    --------
    >>> from flexdp import plan
    >>> advice = plan(lose_per_bucket=30, delta="1e-6", bounds=(0, 120), width=5)
    >>> advice
    <Advice: 10 options, ε = 0.861, 30 lost per bucket>
    >>> advice.table()[0]
    ['', 'ε', 'most lost per bucket', 'survives from', 'most lost in total', '50% sure becomes', 'target']
    >>> advice.to_json() == plan(lose_per_bucket=30, delta="1e-6", bounds=(0, 120), width=5).to_json()
    True
    >>> advice.document()["epsilon"], advice.curve()[0], advice.text() == str(advice)
    ('0.861', (0.05, 406), True)
    """

    setting: Setting
    epsilon: Fraction | None
    epsilon_origin: str
    delta_origin: str
    by_unit: bool
    partition: Buckets | None
    target: Target
    options: tuple[Option, ...]
    counts: Counts | None
    sharp: AskedOutlook | AutomaticOutlook | None = None
    groups: Groups = NO_GROUPS
    stats: tuple[str, ...] = ()
    instead: Advice | None = None
    instead_because: Phrase | None = None
    larger: Advice | None = None

    @property
    def delta(self) -> Fraction:
        """δ of everything planned."""
        return self.setting.delta

    @property
    def chosen(self) -> Option | None:
        """The option of the chosen ε."""
        return next((option for option in self.options if option.epsilon == self.epsilon), None)

    @property
    def privacy(self) -> Privacy | None:
        """Privacy of one unit from everything planned; None unless an ε is chosen."""
        if self.epsilon is None:
            return None
        unit = "unit" if self.by_unit else "record"
        return Privacy(
            epsilon=self.epsilon, delta=self.delta, neighbours=AddRemove(unit, self.setting.buckets_per_unit)
        )

    @cached_property
    def expectations(self) -> dict[Fraction, Expected]:
        """The expected losses at each ε, if a law or a public sample was given."""
        if self.counts is None:
            return {}
        found = {}
        for option in self.options:
            if option.survives_from <= (MOST_EXPECTED if option.epsilon == self.epsilon else FAR):
                share = self.setting.bucket_privacy(option.epsilon)
                found[option.epsilon] = expected(self.counts, DropNoise(share.epsilon, share.delta))
        return found

    @property
    def expected(self) -> Expected | None:
        """The expected losses at the chosen ε."""
        return None if self.epsilon is None else self.expectations.get(self.epsilon)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Choices that make no sense, and what to do about them."""
        return tuple(map(spelled, self.cautions))

    @cached_property
    def cautions(self) -> tuple[Phrase, ...]:
        """The warnings in parts, so that a command line or a page can spell the parameters its own way."""
        last = () if self.instead_because is None else (self.instead_because,)
        if self.sharp is not None and (self.sharp.pure or (self.epsilon is not None and self.chosen is None)):
            return (*self.sharp.cautions(self.epsilon), *last)
        unexpected = self.counts is not None and self.expected is None
        found = cautions(
            self.setting,
            self.options,
            self.chosen,
            self.partition,
            self.groups,
            unexpected=unexpected,
            counted=self.counts is not None,
            automatic=self.sharp is not None,
        )
        return (*found, *(() if self.sharp is None else self.sharp.cautions(self.epsilon)), *last)

    @property
    def command(self) -> str | None:
        """The command to run, of ``instead`` if there is one; None where every command would leave nothing.

        Replace FILE and COLUMN, E if no ε is chosen, and W if no width is.
        """
        if self.instead is not None:
            return self.instead.command
        if self.instead_because is not None:
            return None
        column = bucket_words(self.partition, counted=self.counts is not None)
        column = column if self.sharp is None else self.sharp.words
        return command_of(self.setting, self.epsilon, column, self.groups, self.stats, by_unit=self.by_unit)

    @property
    def alternative(self) -> str:
        """What a larger ε would change, as a heading of its command; empty where none is offered."""
        if self.larger is None or self.larger.privacy is None or self.privacy is None:
            return ""
        often = self.setting.releases
        together = "" if often == 1 else f" for the {often} releases together"
        left = "there are likely to be answers"
        if self.larger.chosen is not None:
            left = f"a bucket of {plural(self.larger.chosen.survives_from, 'record', thousands)} is certain to survive"
        return (
            f"With ε = {number_text(self.larger.epsilon or 0)} instead of {number_text(self.epsilon or 0)}{together}, "
            f"{left}, but an observer who was 50% sure may become {sure_text(self.larger.privacy.certainty)} instead "
            f"of {self.privacy.certainty}"
        )

    @cached_property
    def declared(self) -> Declared | None:
        """Budget of each release if all are declared beforehand, where that loses fewer records than an even split."""
        return None if self.sharp is not None else declared_of(self.setting, self.epsilon)

    def curve(self) -> list[tuple[float, int]]:
        """Return the most records that a bucket loses as a function of ε.

        Returns
        -------
        list of tuple
            Points (ε, records) of a smooth line; none for asked answers, which lose nothing.
        """
        return self.setting.curve() if self.sharp is None else self.sharp.curve()

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the plan as JSON, with exact numbers as text.

        Parameters
        ----------
        indent
            Spaces of indentation; one line unless given.

        Returns
        -------
        str
            The JSON of :meth:`document`.
        """
        spaces = None if indent is None else integer("indent", indent, at_least=0, at_most=16)
        return json.dumps(self.document(), indent=spaces, ensure_ascii=False, allow_nan=False)

    def document(self) -> dict[str, Any]:
        """Return the plan as plain JSON values, which charts are drawn from.

        Returns
        -------
        dict
            Setting, target, options, curve, expectations, warnings and command.
        """
        setting = self.setting
        return {
            "schema": "flexdp.plan/1",
            "epsilon": None if self.epsilon is None else exact_text(self.epsilon),
            "epsilon_is": self.epsilon_origin,
            "delta": exact_text(self.delta),
            "delta_is": self.delta_origin,
            "unit": "unit" if self.by_unit else "record",
            "max_buckets_per_unit": setting.buckets_per_unit,
            "cap_report": setting.reported,
            "releases": setting.releases,
            "declared_beforehand": None if self.declared is None else self.declared.document(),
            "records_about": setting.records_about,
            "buckets": setting.buckets,
            "groups": self.groups.document(),
            "stats": list(self.stats),
            "bucketing": {} if self.partition is None else bucket_parameters(self.partition),
            "target": {
                "lose_per_bucket": self.target.per_bucket,
                "lose_in_all": self.target.in_all,
                "lose_share": None if self.target.share is None else exact_text(self.target.share),
                "max_drop": setting.limit,
            },
            "options": [self._row(option) for option in self.options],
            "curve": self.curve(),
            "expected": None if self.expected is None else self.expected.document(),
            "warnings": list(self.warnings),
            "command": self.command,
            "larger_epsilon": None
            if self.larger is None
            else {"epsilon": exact_text(self.larger.epsilon or Fraction(0)), "command": self.larger.command},
            **({} if self.sharp is None else self.sharp.document(self.epsilon)),
        }

    def _row(self, option: Option) -> dict[str, Any]:
        outlook = self.expectations.get(option.epsilon)
        return {
            "epsilon": exact_text(option.epsilon),
            "max_drop": option.max_drop,
            "survives_from": option.survives_from,
            "total": option.total,
            "alpha": None if option.alpha is None else float(option.alpha),
            "certainty": option.certainty,
            "meets": option.meets,
            "chosen": option.epsilon == self.epsilon,
            "expected_share": None if outlook is None else outlook.share,
        }

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the options as a table of text.

        Returns
        -------
        tuple
            The headings, and a row for each option; the first cell marks the chosen one.
        """
        if self.sharp is not None:
            return self.sharp.table(self.epsilon)
        columns = {
            "": [("→" if option.epsilon == self.epsilon else "") for option in self.options],
            "ε": [number_text(option.epsilon) for option in self.options],
            "most lost per bucket": [thousands(option.max_drop) for option in self.options],
            "survives from": [thousands(option.survives_from) for option in self.options],
        }
        if self.setting.buckets is not None:
            columns["most lost in total"] = [thousands(option.total or 0) for option in self.options]
        if self.setting.records_about is not None and self.setting.buckets is not None:
            columns["certified share"] = [f"≤ {_percent_up(o.alpha or Fraction(0))}" for o in self.options]
        if self.counts is not None:
            shares = (self.expectations.get(option.epsilon) for option in self.options)
            columns["expected share"] = ["–" if e is None else percent(e.share, 3) for e in shares]
        columns["50% sure becomes"] = [limit_text(option.certainty) for option in self.options]
        if self.setting.limit is not None:
            columns["target"] = ["met" if option.meets else "–" for option in self.options]
        return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]

    @property
    def heading(self) -> str:
        """The setting in one sentence."""
        sharp = self.sharp
        return setting_words(
            self.setting,
            self.groups,
            self.partition,
            origin=self.delta_origin,
            by_unit=self.by_unit,
            counted=self.counts is not None,
            sharp=None if sharp is None else sharp.heading,
            pure=sharp is not None and sharp.pure,
        )

    def __str__(self) -> str:
        return self.text()

    def text(self, name: Callable[[P], str] = str) -> str:
        """Return the plan as text.

        Parameters
        ----------
        name
            Spells a parameter in the warnings; as in Python unless given.

        Returns
        -------
        str
            The setting, the options as a table, the odds, the expected losses, the warnings and the command.
        """
        lines = [self.heading]
        if str(self.target):
            lines.append(f"Target: {self.target}.")
        lines += ["", *table_lines(*self.table())]
        if self.privacy is not None:
            lines += ["", f"At ε = {number_text(self.epsilon or 0)}: {self.odds}."]
        for note in self.notes:
            lines += ["", note]
        lines += ["", *(f"Warning: {spelled(caution, name)}" for caution in self.cautions)] if self.cautions else []
        lines += [] if self.declared is None else ["", str(self.declared)]
        each = "" if self.setting.releases == 1 else f"for each of the {self.setting.releases} releases"
        if self.larger is not None:
            lines += ["", f"{self.alternative}{each and f'; run {each}'}:", f"  {self.larger.command}"]
        if self.command is not None:
            lines += ["", f"Run{each and f', {each}'}:", f"  {self.command}"]
        return "\n".join(lines)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to expect, and the conditions of bounds."""
        if self.sharp is not None:
            return tuple(self.sharp.notes(self.epsilon))
        return () if self.expected is None else (str(self.expected),)

    @property
    def odds(self) -> str:
        """ε as odds, for the unit that is protected."""
        if self.privacy is None:
            return ""
        return f"{self.privacy.odds}{f', except with probability {upper_text(self.delta)}' if self.delta else ''}"

    def __repr__(self) -> str:
        if self.sharp is not None and self.sharp.pure:
            loss = "no ε chosen" if self.epsilon is None else f"ε = {number_text(self.epsilon)}"
            return f"<Advice: {self.sharp.heading}, {loss}>"
        loss = "no ε chosen" if self.epsilon is None else f"ε = {number_text(self.epsilon)}"
        lost = "" if self.chosen is None else f", {self.chosen.max_drop} lost per bucket"
        return f"<Advice: {len(self.options)} options, {loss}{lost}>"

    def _repr_html_(self) -> str:
        headings, rows = self.table()
        marked = next((place for place, row in enumerate(rows) if row[0]), None)
        said = [self.heading, *([f"Target: {self.target}."] if str(self.target) else [])]
        after = [f"{self.odds[0].upper()}{self.odds[1:]}."] if self.odds else []
        after += self.notes
        after += [f"Warning: {warning}" for warning in self.warnings]
        drawn = self.sharp is None or not self.sharp.pure
        return card(
            "Plan",
            *map(sentence, said),
            *([from_report("html.notebook.plan_picture")(self.document())] if drawn else []),
            table(headings, rows, marked=marked),
            *map(sentence, after),
            *([] if self.command is None else [code(self.command)]),
            *([sentence(f"{self.alternative}:"), code(self.larger.command or "")] if self.larger is not None else []),
        )


def _percent_up(share: Fraction) -> str:
    return f"{number_text(digits_up(100 * share))}%" if share else "0%"
