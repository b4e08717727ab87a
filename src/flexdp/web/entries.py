"""What the form asks, and what was entered, in the words of :func:`flexdp.plan`; no number is computed here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.planning import Advice, plan
from flexdp.statistics import Max, Median, Min, Mode, Quantile, Range, Statistic

__all__ = ["CHOICES", "DEFAULTS", "STATISTICS", "Entries", "in_words"]

STATISTICS: dict[str, tuple[str, Statistic | None]] = {
    "max": ("Maximum", Max()),
    "min": ("Minimum", Min()),
    "range": ("Range", Range()),
    "median": ("Median", Median()),
    "q0.9": ("90th percentile", Quantile("0.9")),
    "q0.99": ("99th percentile", Quantile("0.99")),
    "mode": ("Most frequent bucket", Mode()),
    "counts": ("All counts", None),
}
CHOICES: dict[str, dict[str, str]] = {
    "stat": {word: label for word, (label, _) in STATISTICS.items()},
    "sizing": {"width": "units wide", "relative": "share of the value, ±"},
    "fix": {"epsilon": "I fix ε", "loss": "I fix what I can lose"},
    "lose": {
        "lose_per_bucket": "records per bucket",
        "lose_in_all": "records in all",
        "lose_share": "as a share of all",
    },
}
DEFAULTS = {  # a place to begin: the page spends nothing, and a release has no default ε
    "stat": "max",
    "records_about": "50000",
    "low": "0",
    "high": "120",
    "size": "5",
    "sizing": "width",
    "delta": "1e-6",
    "max_buckets_per_unit": "",
    "fix": "epsilon",
    "epsilon": "1",
    "loss": "0.02",
    "lose": "lose_share",
}
_WORDS = {
    "epsilon": "ε",
    "delta": "δ",
    "records_about": "the number of records",
    "lose_per_bucket": "the loss per bucket",
    "lose_in_all": "the loss in all",
    "lose_share": "the share lost",
    "max_buckets_per_unit": "the number of buckets per person",
    "buckets_per_unit": "the number of buckets per person",
    "relative": "the relative width",
}
_FIELDS = {  # where the message about a parameter belongs
    "epsilon": "epsilon",
    "delta": "delta",
    "records_about": "records_about",
    "lose_per_bucket": "loss",
    "lose_in_all": "loss",
    "lose_share": "loss",
    "target": "loss",
    "width": "size",
    "relative": "size",
    "bounds": "low",
    "max_buckets_per_unit": "max_buckets_per_unit",
    "buckets_per_unit": "max_buckets_per_unit",
} | {name: name for name in CHOICES}
_NAME = re.compile(rf"\b({'|'.join(sorted(_FIELDS, key=len, reverse=True))})\b")
_RENAMED = re.compile(rf"\b({'|'.join(sorted(_WORDS, key=len, reverse=True))})\b")


@dataclass(frozen=True, slots=True)
class Entries:
    """The texts in the fields, as they were entered."""

    texts: Mapping[str, str]

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Entries:
        """What a request says; a field that it does not name begins as on a fresh page."""
        return cls({name: query.get(name, default).strip() for name, default in DEFAULTS.items()})

    def __getitem__(self, name: str) -> str:
        return self.texts[name]

    def chosen(self, name: str) -> str:
        """The answer to a question with listed answers."""
        if self[name] not in CHOICES[name]:
            raise InputError(f"{name} must be one of {', '.join(CHOICES[name])}; got {safe_repr(self[name])}.")
        return self[name]

    @property
    def buckets(self) -> dict[str, Any]:
        """Bounds and width, as mechanisms and plans take them; without what was left empty."""
        ends = (self["low"], self["high"])
        if any(ends) and not all(ends):
            raise InputError("bounds need both ends, or neither. Fill in the other one.")
        found: dict[str, Any] = {"bounds": ends} if all(ends) else {}
        return found | ({self.chosen("sizing"): self["size"]} if self["size"] else {})

    @property
    def parameters(self) -> dict[str, Any]:
        """What :func:`flexdp.plan` is asked."""
        fixed = "epsilon" if self.chosen("fix") == "epsilon" else self.chosen("lose")
        texts = {name: self[name] for name in ("records_about", "delta", "max_buckets_per_unit")}
        texts[fixed] = self["epsilon" if fixed == "epsilon" else "loss"]
        return {name: text for name, text in texts.items() if text} | self.buckets

    def plan(self) -> Advice:
        """The plan for what was entered."""
        self.chosen("stat")
        return plan(**self.parameters)

    @property
    def plan_line(self) -> str:
        """The same question to the command line."""
        asked = {**self.parameters}
        if "bounds" in asked:
            asked["bounds"] = ":".join(asked["bounds"])
        # Written with "=", so that a value may begin with a minus sign.
        options = [f"--{name.replace('_', '-')}={shlex.quote(text)}" for name, text in asked.items()]
        return " ".join(["flexdp plan", *options])

    def release_line(self, advice: Advice) -> str:
        """The command of a plan, with the statistic that was asked for."""
        return f"{advice.command} --stat {self.chosen('stat')}"

    def field_of(self, refusal: InputError) -> str:
        """The field beside which a message belongs: that of the first parameter it names."""
        fixed = "epsilon" if self["fix"] == "epsilon" else "loss"
        name = _NAME.search(str(refusal))
        field = fixed if name is None else _FIELDS[name.group()]
        return fixed if field in ("epsilon", "loss") else field


def in_words(message: str) -> str:
    """A message of the planner in the words of the page.

    >>> in_words("delta must be in (0, 1); got '2'.")
    "δ must be in (0, 1); got '2'."
    """
    said = _RENAMED.sub(lambda name: _WORDS[name.group()], message)
    return said[:1].upper() + said[1:] if said[:1].isascii() else said  # ε and δ stay small
