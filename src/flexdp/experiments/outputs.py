"""Output of a finished study: files, JSON and terminal text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from flexdp._core.exact import number_text
from flexdp.experiments.checks import Check
from flexdp.experiments.claims import CLAIMS, Judgement
from flexdp.experiments.figure import png, svg
from flexdp.experiments.files import write_whole
from flexdp.experiments.page import command, page
from flexdp.experiments.results import datasets_csv, results_csv, rows, short_table, timings_csv
from flexdp.experiments.runner import Study
from flexdp.experiments.sensitivity import Flip
from flexdp.experiments.worst import WorstCase

__all__ = ["Finished"]

CLAIM = {each.name: each for each in CLAIMS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A study with its verdicts; ``turned`` is None if the sensitivity was not computed."""

    study: Study
    judged: Sequence[Judgement]
    turned: Sequence[Flip] | None = None
    worst: Sequence[WorstCase] = ()

    def write(self, folder: Path, *, figures: bool = True) -> None:
        """Write all files; all but ``timings.csv`` are identical for equal parameters and seed."""
        texts = {
            "results.csv": results_csv(self.study),
            "datasets.csv": datasets_csv(self.study),
            "verdicts.csv": self._verdicts_csv(),
            "timings.csv": timings_csv(self.study),
        }
        if self.turned is not None:
            texts["sensitivity.csv"] = self._sensitivity_csv(self.turned)
        for name, text in texts.items():
            write_whole(folder / name, text)
        if figures:
            drawing = svg(self.study)
            write_whole(folder / "figure.svg", drawing)
            write_whole(folder / "figure.png", png(self.study))
            write_whole(folder / "index.html", self._page(drawing))

    def text(self) -> str:
        """Return the text for a terminal: a short table, then the verdicts."""
        lines = [short_table(self.study)]
        if self.judged:
            lines.append("\nThe paper's statements about its figure")
        for name, judged in groupby(self.judged, key=lambda each: each.claim.name):
            readings: dict[str, list[str]] = {}
            for each in judged:
                readings.setdefault(each.verdict, []).append(each.reading)
            lines.append(f"\n{CLAIM[name].says}")
            told = ((verdict, " and ".join(of)) for verdict, of in readings.items())
            lines += [f"  {f'{of}: ' if len(readings) > 1 else ''}{verdict}" for verdict, of in told]
        for place, flip in enumerate(self.turned or ()):
            if not place:
                lines.append("\nVerdicts reversed by a switch\n")
            reading = f" ({flip.judgement.reading})" if flip.judgement.reading else ""
            lines.append(f"  {flip.judgement.claim.name}{reading}, {flip}")
        return "\n".join(lines)

    def document(self) -> dict[str, Any]:
        """Return the document for ``--json``."""
        found: dict[str, Any] = {
            "settings": self.study.settings.texts(),
            "results": [asdict(row) for row in rows(self.study)],
            "verdicts": [
                {
                    "claim": each.claim.name,
                    "says": each.claim.says,
                    "means": each.claim.means,
                    "ours": each.ours,
                    "bns": each.bns,
                    "sanpoints": each.sanpoints,
                    "verdict": each.verdict,
                    "outcomes": {number_text(epsilon): outcome for epsilon, outcome in each.outcomes.items()},
                    "why": each.why,
                    "worst": each.worst,
                }
                for each in self.judged
            ],
            "seconds": {name: round(spent, 3) for name, spent in self.study.seconds.items()},
        }
        if self.turned is not None:
            found["sensitivity"] = [
                {"claim": each.judgement.claim.name, "reading": each.judgement.reading, "switch": str(each)}
                for each in self.turned
            ]
        return found

    def _page(self, drawing: bytes) -> str:
        return page(
            self.study,
            drawing,
            self.judged,
            self.turned,
            worst=self.worst,
            title="Flexible accuracy: the experiments, reproduced",
            commands=[command(self.study, sensitivity=self.turned is not None)],
        )

    def _verdicts_csv(self) -> str:
        lines = [
            [
                each.claim.name,
                each.ours or "",
                each.bns or "",
                each.sanpoints or "",
                number_text(epsilon),
                outcome,
                *_told(each.closest[epsilon]),
            ]
            for each in self.judged
            for epsilon, outcome in each.outcomes.items()
        ]
        head = ["claim", "ours", "bns", "sanpoints", "epsilon", "outcome", "comparison", "mean", "se", "bound"]
        return _csv([head, *lines])

    def _sensitivity_csv(self, turned: Sequence[Flip]) -> str:
        lines = [
            [it.claim.name, it.ours or "", it.bns or "", it.sanpoints or "", each.variant, number_text(e), now]
            for each in turned
            for it in [each.judgement]
            for now, found in (("holds", each.now_holds), ("fails", each.now_fails))
            for e in found
        ]
        return _csv([["claim", "ours", "bns", "sanpoints", "switch", "epsilon", "now"], *lines])


def _told(check: Check) -> list[str]:
    bound = ("≤ " if not check.two_sided else "± ") + f"{check.bound:.4f}"
    return [check.about, f"{check.mean:.4f}", f"{check.error:.4f}", bound]


def _csv(lines: Sequence[Sequence[str]]) -> str:
    target = io.StringIO()
    csv.writer(target, lineterminator="\n").writerows(lines)
    return target.getvalue()
