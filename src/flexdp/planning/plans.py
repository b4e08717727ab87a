"""Plans: one design at the usual ε and a chosen one, as a table, in words, as JSON and as the command to run."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from flexdp._core.display import card, code, from_report, sentence, table
from flexdp._core.domains import LARGE_EPSILON, integer
from flexdp._core.exact import exact_text, number_text, upper_text
from flexdp._core.text import plural, thousands
from flexdp._release.capped import SHARE, after_cap
from flexdp.accounting.calibration import MOST_RELEASES, Calibration, calibrate
from flexdp.calculus.privacy import of_each_release
from flexdp.errors import InputError, P, Phrase, spelled
from flexdp.guarantees import AddRemove, Privacy, sure_text
from flexdp.planning.asked import AnswerBound, statistic_name
from flexdp.planning.design import COLUMNS, FAR, USUAL, Design, Row, plain_number, table_lines
from flexdp.planning.expected import Expected
from flexdp.planning.given import GivenBuckets

__all__ = ["Plan", "propose_delta"]

_ORIGIN = {"given": "", "solved": " (the smallest for this target)", "proposed": " (proposed)"}
_STEPS = 8  # points of the curve for each doubling of ε


def propose_delta(records: int | None) -> Fraction:
    """Propose δ: a hundredth of 1/n for n records, as a power of ten, and at most a millionth.

    >>> float(propose_delta(50_000)), float(propose_delta(10**6))
    (1e-07, 1e-08)
    """
    zeros = 0 if records is None else len(str(records - 1)) + 2
    return Fraction(1, 10 ** max(6, zeros))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A design at the usual ε and at a chosen one, what it costs, and the command to run. All of it is public.

    The releases share (ε, δ) equally, by basic composition, which also holds if each is chosen after seeing the
    others. Where the number of units that the cap touches is ``reported``, each release pays for that first.

    Parameters
    ----------
    design
        What is released: given buckets, asked answers or automatic buckets.
    epsilon, delta
        Privacy of everything planned; ε is None if neither ε nor a target was given.
    epsilon_is, delta_is
        "given", "solved" from the target, "proposed" or "open".
    releases
        Number of releases.
    by_unit
        True if a unit with several records is protected, rather than one record.
    reported
        Each release also reports how many units count with only some of their values.
    stats
        The statistics that the command reads off the release.

    Examples
    --------
    >>> from flexdp import plan
    >>> found = plan(lose_per_bucket=30, delta="1e-6", bounds=(0, 120), width=5)
    >>> found
    <Plan: 24 buckets (buckets of width 5), ε = 0.861>
    >>> found.table()[0]
    ['', 'ε', 'most lost per bucket', 'survives from', 'most lost in total', '50% sure becomes', 'target']
    >>> found.chosen["max_drop"], found.document()["epsilon"], found.curve()[0], found.text() == str(found)
    (30, '0.861', (0.05, 406), True)
    >>> json.loads(found.to_json())["options"][0]["total"], found.each(1) == found.rest(1)
    (9744, True)
    """

    design: Design
    epsilon: Fraction | None
    delta: Fraction
    epsilon_is: str = "given"
    delta_is: str = "given"
    releases: int = 1
    by_unit: bool = False
    reported: bool = False
    stats: tuple[str, ...] = ()

    def each(self, epsilon: Fraction) -> Privacy:
        """Return the budget of one release.

        Parameters
        ----------
        epsilon
            ε of everything planned.

        Returns
        -------
        Privacy
            An equal part of it and of δ.
        """
        return of_each_release(Privacy(epsilon=epsilon, delta=self.delta), self.releases)

    def rest(self, epsilon: Fraction) -> Privacy:
        """Return the budget of one release without what it pays to report the cap.

        Parameters
        ----------
        epsilon
            ε of everything planned.

        Returns
        -------
        Privacy
            The budget of the design.
        """
        each = self.each(epsilon)
        return replace(each, epsilon=after_cap(each.epsilon, reported=self.reported))

    @property
    def _rest(self) -> Privacy | None:
        return None if self.epsilon is None else self.rest(self.epsilon)

    @property
    def privacy(self) -> Privacy | None:
        """Privacy of one unit from everything planned; None unless an ε is chosen."""
        if self.epsilon is None:
            return None
        unit = AddRemove("unit" if self.by_unit else "record", self.design.per_unit)
        return Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=unit)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The numbers of the usual ε and of the chosen one, ascending."""
        epsilons = sorted({*USUAL} if self.epsilon is None else {*USUAL, self.epsilon})
        return tuple(row for row in map(self._row, epsilons) if row is not None)

    def _row(self, epsilon: Fraction) -> Row | None:
        chosen = epsilon == self.epsilon
        row = self.design.row(self.rest(epsilon), chosen=epsilon if chosen else None)
        if row is None:
            return None
        certainty = Privacy(epsilon=epsilon, delta=self.delta).certainty
        return {**row, "chosen": chosen, "epsilon": epsilon, "certainty": certainty}

    @property
    def chosen(self) -> Row | None:
        """The numbers of the chosen ε."""
        return next((row for row in self.rows if row["chosen"]), None)

    @cached_property
    def expected(self) -> Expected | None:
        """The expected losses at the chosen ε, if a law or a public sample was given."""
        if self._rest is None or not isinstance(self.design, GivenBuckets):
            return None
        return self.design.expected(self._rest)

    @cached_property
    def leaves_nothing(self) -> bool:
        """True if the planned release would leave almost nothing; False where this cannot be known."""
        return self._rest is not None and self.design.leaves_nothing(self._rest)

    @cached_property
    def larger(self) -> Fraction | None:
        """The smallest usual ε that leaves something, where the chosen one leaves nothing; None if there is none."""
        if self.epsilon is None or not self.leaves_nothing:
            return None
        larger = (row["epsilon"] for row in self.rows if row["epsilon"] > self.epsilon)
        return next((step for step in larger if not self.design.leaves_nothing(self.rest(step))), None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Choices that make no sense, and what to do about them."""
        return tuple(map(spelled, self.cautions))

    @cached_property
    def cautions(self) -> tuple[Phrase, ...]:
        """The warnings in parts, so that a command line or a page can spell the parameters its own way."""
        cautions: list[Phrase] = []
        records, epsilon, delta = self.design.records, self.epsilon, P("delta", plain_number(self.delta))
        if records is not None and self.delta * records >= 1:
            cautions.append((
                delta, f" is not below one in {thousands(records)} records: a release that published one record "
                f"outright could make the same promise. Choose at most {number_text(propose_delta(records))}.",
            ))  # fmt: skip
        if not self.rows:
            cautions.append(
                f"at every usual ε a bucket may lose more than {thousands(FAR)} records. Plan fewer releases, or fewer "
                "buckets per unit."
            )
        if epsilon is None:
            targets = (", or a target such as ", P("lose_per_bucket")) if isinstance(self.design, GivenBuckets) else ()
            cautions.append(("no ε is chosen. Give ", P("epsilon"), *targets, "."))
        elif epsilon > LARGE_EPSILON and self.chosen is not None:
            cautions.append((
                P("epsilon", plain_number(epsilon)), f" is above {LARGE_EPSILON} and gives little privacy protection: "
                f"an observer who was 50% sure may become {sure_text(self.chosen['certainty'])}."
                f"{' Allow a larger loss or wider buckets instead.' if isinstance(self.design, GivenBuckets) else ''}",
            ))  # fmt: skip
        cautions += self._missed()
        cautions += self.design.warnings(self._rest, epsilon)
        if self.leaves_nothing:
            cautions.append(self._nothing_left())
        return tuple(cautions)

    def _missed(self) -> list[Phrase]:
        """Warn of a chosen ε that misses the target."""
        design, chosen = self.design, self.chosen
        if not isinstance(design, GivenBuckets) or chosen is None or chosen["meets"] is not False:
            return []
        try:
            way_out = f"The smallest ε that meets it is {number_text(design.smallest_epsilon(self.rest))}."
        except InputError:
            way_out = "No ε meets it at this δ; allow a larger loss."
        within = design.limit is None or chosen["max_drop"] <= design.limit
        who, most, allowed = ("a bucket", chosen["max_drop"], design.limit)
        if within:
            who, most, allowed = ("all buckets together", chosen["total"], design.total_limit)
        return [(
            P("epsilon", plain_number(chosen["epsilon"])),
            f" misses the target: {who} may lose {plural(most, 'record', thousands)}, and the target allows "
            f"{thousands(allowed or 0)}. {way_out}",
        )]  # fmt: skip

    def _nothing_left(self) -> str:
        """Say that almost nothing would be left, and the smallest usual ε that leaves something, with its odds."""
        if self.larger is None:
            return (
                "almost nothing would be left, at any usual ε. Publish less: wider buckets, or fewer answers or groups."
            )
        certainty = Privacy(epsilon=self.larger, delta=self.delta).certainty
        return (
            f"almost nothing would be left at this ε. The smallest usual ε that leaves something is "
            f"{number_text(self.larger)}, at which an observer who was 50% sure may become {sure_text(certainty)}."
        )

    @property
    def command(self) -> str:
        """The command to run: replace FILE and COLUMN, E if no ε is chosen, and W if no width is."""
        each = self.each(Fraction(1) if self.epsilon is None else self.epsilon)
        words = ["flexdp release FILE COLUMN --epsilon", "E" if self.epsilon is None else exact_text(each.epsilon)]
        words += ["--delta", exact_text(each.delta), *self.design.options, *self.design.groups.words]
        words += [f"--stat {shlex.quote(stat)}" for stat in self.stats]
        if self.by_unit:
            words.append(f"--unit UNIT_COLUMN --max-buckets-per-unit {self.design.per_unit}")
            words += [] if self.reported else ["--no-cap-report"]
        return " ".join(words)

    @cached_property
    def declared(self) -> Calibration | None:
        """Budget of each release if all are declared beforehand, where that loses fewer records than an even split."""
        if self.epsilon is None or not isinstance(self.design, GivenBuckets) or not 1 < self.releases <= MOST_RELEASES:
            return None
        aside, most = SHARE if self.reported else None, self.design.per_unit
        buckets = self.design.buckets if self.design.public else None
        calibration = calibrate(
            self.epsilon, self.delta, releases=self.releases, max_buckets_per_unit=most, aside=aside, buckets=buckets
        )
        return calibration if calibration.saved else None

    def curve(self) -> list[tuple[float, int]]:
        """Return the most records that a bucket loses as a function of ε.

        Returns
        -------
        list of tuple
            Points (ε, records) of a smooth line; none for asked answers, which lose nothing.
        """
        whole = float(USUAL[-1] / USUAL[0])
        steps = round(_STEPS * math.log2(whole))
        epsilons = [Fraction(f"{float(USUAL[0]) * whole ** (step / steps):.4g}") for step in range(steps + 1)]
        points: list[tuple[float, int]] = []
        for epsilon in reversed(epsilons):
            drop = self.design.drop(self.rest(epsilon))
            if drop is None:  # nor is there one at any smaller ε
                break
            points.append((float(epsilon), drop))
        return points[::-1]

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
            Setting, design, options, curve, warnings and command.
        """
        declared = self.declared
        return {
            "schema": "flexdp.plan/1",
            "epsilon": None if self.epsilon is None else exact_text(self.epsilon),
            "epsilon_is": self.epsilon_is,
            "delta": exact_text(self.delta),
            "delta_is": self.delta_is,
            "unit": "unit" if self.by_unit else "record",
            "max_buckets_per_unit": self.design.per_unit,
            "cap_report": self.reported,
            "releases": self.releases,
            "declared_beforehand": None if declared is None else {
                "epsilon": exact_text(declared.each.epsilon),
                "delta": exact_text(declared.each.delta),
                "max_drop": declared.reach - 1,
                "saved": declared.saved,
            },
            "records_about": self.design.records,
            "groups": self.design.groups.document(),
            "stats": list(self.stats),
            **self.design.document(),
            "expected": None if self.expected is None else self.expected.document(),
            "options": [{name: _plain(name, value) for name, value in row.items()} for row in self.rows],
            "curve": self.curve(),
            "warnings": list(self.warnings),
            "command": self.command,
            "larger_epsilon": None if self.larger is None else exact_text(self.larger),
        }  # fmt: skip

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the options as a table of text.

        Returns
        -------
        tuple
            The headings, and a row for each option; the first cell marks the chosen one.
        """
        names = ["chosen", "epsilon", *self.design.columns]
        written = [COLUMNS[name] if name in COLUMNS else (statistic_name(name), str) for name in names]
        cells = [
            ["–" if row[name] is None else write(row[name]) for name, (_, write) in zip(names, written, strict=True)]
            for row in self.rows
        ]
        return [heading for heading, _ in written], cells

    @property
    def heading(self) -> str:
        """The setting in one sentence."""
        design, records = self.design, self.design.records
        about = "any number of records" if records is None else f"about {plural(records, 'record', thousands)}"
        unit = design.unit_words if self.by_unit else "one record"
        shared = "" if self.releases == 1 else f", shared by {self.releases} releases"
        report = "; 4% of ε tells how many units have more" if self.reported else ""
        delta = f"{upper_text(self.delta)}{_ORIGIN[self.delta_is]}" if self.delta else "0"
        return f"For {about}{design.words}; δ = {delta}{shared}; protects {unit}{report}."

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
        lines = [*self._setting, "", *table_lines(*self.table())]
        if self.odds:
            lines += ["", f"At ε = {number_text(self.epsilon or 0)}: {self.odds}."]
        for note in self.notes:
            lines += ["", note]
        lines += ["", *(f"Warning: {spelled(caution, name)}" for caution in self.cautions)] if self.cautions else []
        each = "" if self.releases == 1 else f", for each of the {self.releases} releases"
        return "\n".join([*lines, "", f"Run{each}:", f"  {self.command}"])

    @property
    def _setting(self) -> list[str]:
        target = str(self.design.target) if isinstance(self.design, GivenBuckets) else ""
        return [self.heading, *([f"Target: {target}."] if target else [])]

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to expect, the conditions of bounds, and what declaring all releases beforehand saves."""
        notes, declared = self.design.notes(self._rest), self.declared
        if declared is not None:
            epsilon, delta = exact_text(declared.each.epsilon), exact_text(declared.each.delta)
            notes.append(
                f"If all {declared.releases} releases are declared beforehand, each may use ε = {epsilon} and δ = "
                f"{delta}: a bucket then loses at most {thousands(declared.reach - 1)} records, "
                f"{thousands(declared.saved)} fewer."
            )
        return tuple(notes)

    @property
    def odds(self) -> str:
        """ε as odds, for the unit that is protected."""
        if self.privacy is None:
            return ""
        return f"{self.privacy.odds}{f', except with probability {upper_text(self.delta)}' if self.delta else ''}"

    def __repr__(self) -> str:
        loss = "no ε chosen" if self.epsilon is None else f"ε = {number_text(self.epsilon)}"
        return f"<Plan: {self.design.words.strip(' ,;').removeprefix('in ')}, {loss}>"

    def _repr_html_(self) -> str:
        headings, rows = self.table()
        marked = next((index for index, row in enumerate(rows) if row[0]), None)
        after = [f"{self.odds[0].upper()}{self.odds[1:]}."] if self.odds else []
        return card(
            "Plan",
            *map(sentence, self._setting),
            *([from_report("html.notebook.plan_picture")(self.document())] if self.curve() else []),
            table(headings, rows, marked=marked),
            *map(sentence, [*after, *self.notes, *(f"Warning: {warning}" for warning in self.warnings)]),
            code(self.command),
        )


def _plain(name: str, value: Any) -> Any:
    """Return a number of a row as JSON holds it: ε exactly, as text; shares as numbers."""
    if isinstance(value, AnswerBound):
        return {"kind": value.kind, "bound": value.bound, "needs": value.needs, "enough": value.enough}
    if isinstance(value, Fraction):
        return exact_text(value) if name == "epsilon" else float(value)
    return value
