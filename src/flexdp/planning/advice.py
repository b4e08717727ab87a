"""Advice: options for a release, what each would cost, where the choice is senseless, and what to run."""

from __future__ import annotations

import json
import shlex
import zlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flexdp._core.display import card, code, from_report, sentence, table
from flexdp._core.domains import LARGE_EPSILON, integer
from flexdp._core.exact import exact_text, number_text, upper_text
from flexdp._core.text import plural, thousands
from flexdp.buckets.parse import bucket_parameters
from flexdp.buckets.partition import Buckets
from flexdp.errors import InputError
from flexdp.guarantees import AddRemove, Privacy
from flexdp.noise.drop import DropNoise
from flexdp.planning.expected import Counts, Expected, expected
from flexdp.planning.options import FAR, Option, Setting, digits_up
from flexdp.planning.target import Target, proposed_delta

__all__ = ["Advice"]

_SIMULATED = 50_000  # a chosen option that may lose more from a bucket has no expectation


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Options for a release, what each would cost, which of them meet the target, and what to run.

    ``epsilon`` is the chosen one, None where neither ε nor a target was given. Everything in it is public.
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

    @property
    def delta(self) -> Fraction:
        """δ of everything that is planned."""
        return self.setting.delta

    @property
    def chosen(self) -> Option | None:
        """The option of the chosen ε."""
        return next((option for option in self.options if option.epsilon == self.epsilon), None)

    @property
    def privacy(self) -> Privacy | None:
        """What a unit is promised by everything that is planned."""
        if self.epsilon is None:
            return None
        unit = "unit" if self.by_unit else "record"
        return Privacy(
            epsilon=self.epsilon, delta=self.delta, neighbours=AddRemove(unit, self.setting.buckets_per_unit)
        )

    @cached_property
    def expectations(self) -> dict[Fraction, Expected]:
        """What is to be expected at each ε, where a law or a public sample was given."""
        if self.counts is None:
            return {}
        found = {}
        for option in self.options:
            if option.survives_from <= (_SIMULATED if option.epsilon == self.epsilon else FAR):
                bar = self.setting.bar(option.epsilon)
                found[option.epsilon] = expected(self.counts, DropNoise(bar.epsilon, bar.delta))
        return found

    @property
    def expected(self) -> Expected | None:
        """What is to be expected at the chosen ε."""
        return None if self.epsilon is None else self.expectations.get(self.epsilon)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Where the choice is senseless, and what to do about it."""
        return tuple(_warnings(self))

    @property
    def command(self) -> str:
        """The command line to run; FILE and COLUMN are yours to fill in, and E where no ε was chosen."""
        epsilon = "E" if self.epsilon is None else exact_text(self.epsilon / self.setting.releases)
        words = ["flexdp release FILE COLUMN --epsilon", epsilon, "--delta"]
        words.append(exact_text(self.delta / self.setting.releases))
        if self.partition is not None:
            said, kind = bucket_parameters(self.partition), self.partition.kind
            given: dict[str, str] = {n: _point(said[n], kind) for n in ("width", "relative") if n in said}
            if "bounds" in said:
                given["bounds"] = ":".join(_point(bound, kind) for bound in said["bounds"])
            words += [f"--{name} {shlex.quote(text)}" for name, text in given.items()]
            words += [f"--kind {self.partition.kind}"] if self.partition.kind not in ("number", "boolean") else []
        if self.by_unit:
            words.append(f"--unit UNIT_COLUMN --max-buckets-per-unit {self.setting.buckets_per_unit}")
        return " ".join(words)

    def curve(self) -> list[tuple[float, int]]:
        """ε against the most records that a bucket loses, as points of a smooth line."""
        return self.setting.curve()

    def to_json(self, *, indent: int | None = None) -> str:
        """The plan as JSON: exact numbers as text, the options, the warnings, the command."""
        spaces = None if indent is None else integer("indent", indent, at_least=0, at_most=16)
        return json.dumps(self.document(), indent=spaces, ensure_ascii=False, allow_nan=False)

    def document(self) -> dict[str, Any]:
        """What :meth:`to_json` writes, as plain values; charts are drawn from it."""
        setting = self.setting
        return {
            "schema": "flexdp.plan/1",
            "epsilon": None if self.epsilon is None else exact_text(self.epsilon),
            "epsilon_is": self.epsilon_origin,
            "delta": exact_text(self.delta),
            "delta_is": self.delta_origin,
            "unit": "unit" if self.by_unit else "record",
            "max_buckets_per_unit": setting.buckets_per_unit,
            "releases": setting.releases,
            "records_about": setting.records_about,
            "buckets": setting.buckets,
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
        """The options as text: headings, and a row for each; the first cell marks the chosen one."""
        columns = {
            "": [("→" if option.epsilon == self.epsilon else "") for option in self.options],
            "ε": [number_text(option.epsilon) for option in self.options],
            "most lost per bucket": [thousands(option.max_drop) for option in self.options],
            "survives from": [thousands(option.survives_from) for option in self.options],
        }
        if self.setting.buckets is not None:
            columns["most lost in all"] = [thousands(option.total or 0) for option in self.options]
        if self.setting.records_about is not None and self.setting.buckets is not None:
            columns["certified share"] = [f"≤ {_percent_up(o.alpha or Fraction(0))}" for o in self.options]
        if self.counts is not None:
            shares = (self.expectations.get(option.epsilon) for option in self.options)
            columns["expected share"] = ["–" if e is None else f"{100 * e.share:.3g}%" for e in shares]
        columns["50% sure becomes"] = [f"≤ {option.certainty}" for option in self.options]
        if self.setting.limit is not None:
            columns["target"] = ["met" if option.meets else "–" for option in self.options]
        return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]

    @property
    def heading(self) -> str:
        """What the options are for, in a sentence."""
        setting = self.setting
        records = (
            "any number of records"
            if setting.records_about is None
            else f"about {plural(setting.records_about, 'record', thousands)}"
        )
        spec = "" if self.partition is None else f" ({self.partition.spec})"
        many = (
            "buckets not counted in advance"
            if setting.buckets is None
            else plural(setting.buckets, "bucket", thousands)
        )
        unit = (
            "one record" if not self.by_unit else f"one unit, in at most {plural(setting.buckets_per_unit, 'bucket')}"
        )
        shared = "" if setting.releases == 1 else f", shared by {setting.releases} releases"
        origin = {"given": "", "solved": " (the smallest for this target)", "proposed": " (proposed)"}[
            self.delta_origin
        ]
        return (
            f"For {records} in {many}{spec}; δ = {upper_text(setting.delta)}{origin}{shared}; "
            f"what is protected: {unit}."
        )

    def __str__(self) -> str:
        headings, rows = self.table()
        upper, lower = zip(*map(_two_lines, headings), strict=True)
        listed = [upper, lower, *rows]
        widths = [max(len(line[place]) for line in listed) for place in range(len(headings))]
        lines = [self.heading]
        if str(self.target):
            lines.append(f"Target: {self.target}.")
        lines.append("")
        for line in listed:
            lines.append("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        if self.privacy is not None:
            lines += ["", f"At ε = {number_text(self.epsilon or 0)}: {self.odds}."]
        lines += ["", str(self.expected)] if self.expected is not None else []
        lines += ["", *(f"Warning: {warning}" for warning in self.warnings)] if self.warnings else []
        return "\n".join([*lines, "", "Run:", f"  {self.command}"])

    @property
    def odds(self) -> str:
        """ε in words, for the unit that is protected."""
        if self.privacy is None:
            return ""
        return f"{self.privacy.odds}, except with chance {upper_text(self.delta)}"

    def __repr__(self) -> str:
        chosen = self.chosen
        lost = (
            "no ε chosen" if chosen is None else f"ε = {number_text(chosen.epsilon)}, {chosen.max_drop} lost per bucket"
        )
        return f"<Advice: {len(self.options)} options, {lost}>"

    def _repr_html_(self) -> str:
        headings, rows = self.table()
        name = f"fd{zlib.crc32(str(self).encode()):x}"  # of its ids: a page may show several plans
        marked = next((place for place, row in enumerate(rows) if row[0]), None)
        said = [self.heading, *([f"Target: {self.target}."] if str(self.target) else [])]
        after = [f"{self.odds[0].upper()}{self.odds[1:]}."] if self.odds else []
        after += [str(self.expected)] if self.expected is not None else []
        after += [f"Warning: {warning}" for warning in self.warnings]
        return card(
            "Plan",
            *map(sentence, said),
            from_report("html.notebook.plan_picture")(self.document(), name=name),
            table(headings, rows, marked=marked),
            *map(sentence, after),
            code(self.command),
        )


def _two_lines(heading: str) -> tuple[str, str]:
    """A heading broken at the space that leaves the shorter lines."""
    words = heading.split(" ")
    breaks = [(" ".join(words[:place]), " ".join(words[place:])) for place in range(len(words))]
    return min(breaks, key=lambda lines: max(map(len, lines)))


def _point(text: str, kind: str) -> str:
    """A width or a bound as one would write it: a decimal where that is exact."""
    return exact_text(Fraction(text)) if kind in ("integer", "number") else text


def _percent_up(share: Fraction) -> str:
    return f"{number_text(digits_up(100 * share))}%" if share else "0%"


def _warnings(advice: Advice) -> list[str]:
    setting, chosen, found = advice.setting, advice.chosen, []
    records = setting.records_about
    if records is not None and setting.delta * records >= 1:
        found.append(
            f"delta={number_text(setting.delta)} is not below one in {thousands(records)} records: a release that "
            "published one record outright would keep such a promise. Choose at most "
            f"{number_text(proposed_delta(records))}."
        )
    if setting.buckets is not None and setting.buckets_per_unit > setting.buckets:
        found.append(
            f"max_buckets_per_unit={setting.buckets_per_unit} is more than there are buckets: {setting.buckets} is as "
            "good, and loses fewer records, unless groups multiply them."
        )
    if not advice.options:
        found.append(
            f"every usual epsilon lets a bucket lose more than {thousands(FAR)} records. Plan fewer releases, or fewer "
            "buckets for a unit."
        )
    if chosen is None:
        found.append(
            "no epsilon was chosen: give epsilon, or what you can bear to lose (lose_per_bucket, for example)."
        )
        return found
    if chosen.epsilon > LARGE_EPSILON:
        found.append(
            f"epsilon={number_text(chosen.epsilon)} is above {LARGE_EPSILON}: an observer who was 50% sure may become "
            f"{chosen.certainty} sure. That is hardly a promise; allow a larger loss or wider buckets instead."
        )
    if advice.counts is not None and advice.expected is None:
        found.append(f"nothing is computed where a bucket may lose more than {thousands(_SIMULATED)} records.")
    if chosen.meets is False:
        found.append(
            f"epsilon={number_text(chosen.epsilon)} does not meet the target: a bucket can lose "
            f"{plural(chosen.max_drop, 'record')}, and at most {setting.limit} may be lost. {_way_out(setting)}"
        )
    if records is not None and setting.buckets is not None and records < chosen.survives_from * setting.buckets:
        average = records / setting.buckets
        found.append(
            f"a bucket needs {plural(chosen.survives_from, 'record')} to be sure to survive; "
            f"{plural(records, 'record', thousands)} over {plural(setting.buckets, 'bucket', thousands)} hold "
            f"{_about(average)} on average. Choose wider buckets or a larger epsilon."
        )
    if chosen.alpha == 1:
        found.append("all records may be lost: nothing can be certified about the share that is left out.")
    if setting.buckets is not None and (advice.partition is None or advice.partition.count is None):
        found.append(
            "a release certifies a share only where the buckets are public: give it bounds with width or relative "
            f"for {plural(setting.buckets, 'bucket', thousands)}."
        )
    return found


def _way_out(setting: Setting) -> str:
    try:
        return f"The smallest that does is {number_text(setting.smallest_epsilon())}."
    except InputError:
        return "No epsilon does at this delta; allow a larger loss."


def _about(average: float) -> str:
    return f"{average:.2g}" if average < 10 else str(int(average))
