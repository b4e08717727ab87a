"""The fields of the form, and what was entered as parameters of :func:`flexdp.plan`; nothing is computed here."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import ABSENT, InputError, P
from flexdp.planning import Plan, plan
from flexdp.statistics import Statistic
from flexdp.statistics.parse import parse_statistic

__all__ = ["CHOICES", "DEFAULTS", "STATISTICS", "Entries", "sentence"]

GROUPS = "GROUP_COLUMN"  # what the command calls the column of groups
_LABELS = {
    "max": "Maximum",
    "min": "Minimum",
    "range": "Range",
    "median": "Median",
    "q0.9": "90th percentile",
    "q0.99": "99th percentile",
    "mode": "Most frequent bucket",
    "counts": "All counts",
}
STATISTICS: dict[str, tuple[str, Statistic | None]] = {
    word: (label, None if word == "counts" else parse_statistic(word)) for word, label in _LABELS.items()
}
CHOICES: dict[str, dict[str, str]] = {
    "way": {"buckets": "Buckets of my own", "auto": "Automatic buckets", "ask": "One answer, no buckets"},
    "stat": {word: label for word, (label, _) in STATISTICS.items()},
    "sizing": {"width": "units wide", "relative": "share of the value, ±"},
    "fix": {"epsilon": "Fix ε", "loss": "Fix the loss"},
    "lose": {
        "lose_per_bucket": "records per bucket",
        "lose_in_all": "records in total",
        "lose_share": "as a share of all",
    },
    "law": {
        "normal": "Normal distribution",
        "lognormal": "Lognormal distribution (few large values)",
        "uniform": "Uniform distribution",
        "flights": "Public flights in buckets of 15 minutes",
    },
}
DEFAULTS = {  # a starting point only: the page spends nothing, and a release has no default ε
    "way": "buckets",
    "stat": "max",
    "records_about": "50000",
    "low": "0",
    "high": "120",
    "size": "5",
    "sizing": "width",
    "delta": "1e-6",
    "max_buckets_per_unit": "",
    "groups": "1",
    "releases": "1",
    "law": "lognormal",
    "fix": "epsilon",
    "epsilon": "1",
    "loss": "0.02",
    "lose": "lose_share",
}
_WORDS = {  # the page's names for parameters
    "epsilon": "ε",
    "delta": "δ",
    "records_about": "the number of records",
    "lose_per_bucket": "the loss per bucket",
    "lose_in_all": "the total loss",
    "lose_share": "the share lost",
    "target": "the loss",
    "max_buckets_per_unit": "the number of buckets per person",
    "buckets_per_unit": "the number of buckets per person",
    "width": "the width",
    "relative": "the relative width",
    "bounds": "the bounds",
    "buckets": "the number of buckets",
    "stat": "the statistic",
    "ask": "the statistic",
    "groups": "the number of groups",
    "groups_about": "the number of groups",
    "releases": "the number of releases",
    "simulate": "the example",
    "way": "how to publish",
    "law": "the example",
    "kind": "the kind of the column",
    "sizing": "the unit of the bucket size",
    "fix": "what to fix",
    "lose": "the unit of the loss",
}
_FIELDS = {  # the field of each parameter
    "epsilon": "epsilon",
    "delta": "delta",
    "records_about": "records_about",
    "lose_per_bucket": "loss",
    "lose_in_all": "loss",
    "lose_share": "loss",
    "target": "loss",
    "width": "size",
    "relative": "size",
    "buckets": "size",
    "bounds": "low",
    "max_buckets_per_unit": "max_buckets_per_unit",
    "buckets_per_unit": "max_buckets_per_unit",
    "groups": "groups",
    "groups_about": "groups",
    "stats": "stat",
    "releases": "releases",
    "ask": "stat",
    "simulate": "law",
} | {name: name for name in CHOICES}


@dataclass(frozen=True, slots=True)
class Entries:
    """The contents of the fields, as they were entered."""

    texts: Mapping[str, str]

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Entries:
        """Read a request; a field that it does not name has its default."""
        return cls({name: query.get(name, default).strip() for name, default in DEFAULTS.items()})

    def __getitem__(self, name: str) -> str:
        return self.texts[name]

    def chosen(self, name: str) -> str:
        """Return the choice in a field that offers a list."""
        if self[name] not in CHOICES[name]:
            raise InputError(name, "must be one of the options offered", given=safe_repr(self[name]))
        return self[name]

    @property
    def buckets(self) -> dict[str, Any]:
        """Bounds and width, as mechanisms and plans take them; empty fields are left out."""
        ends = (self["low"], self["high"])
        if any(ends) and not all(ends):
            raise InputError("bounds", "need both ends or neither", remedy="Fill in the other one.")
        found: dict[str, Any] = {"bounds": ends} if all(ends) else {}
        sized = self["size"] and self.chosen("way") == "buckets"
        return found | ({self.chosen("sizing"): self["size"]} if sized else {})

    @property
    def simulated(self) -> bool:
        """True where the example has the buckets that were entered, and holds as many records."""
        law, sized = self.chosen("law") != "flights", self["size"] and self.chosen("way") == "buckets"
        return law and bool(sized and self["records_about"])

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of :func:`flexdp.plan`."""
        way = self.chosen("way")
        fixed = "epsilon" if way != "buckets" or self.chosen("fix") == "epsilon" else self.chosen("lose")
        texts = {name: self[name] for name in ("records_about", "delta", "max_buckets_per_unit")}
        texts[fixed] = self["epsilon" if fixed == "epsilon" else "loss"]
        texts["releases"] = "" if self["releases"] == "1" else self["releases"]
        texts["simulate"] = self["law"] if self.simulated else ""
        if self["groups"] not in ("", "1"):
            texts |= {"by": GROUPS, "groups_about": self["groups"]}
        texts |= {"delta": "", "ask": self["stat"]} if way == "ask" else {"stats": self["stat"]}
        return {name: text for name, text in texts.items() if text} | self.buckets

    def plan(self) -> Plan:
        """Return the plan for what was entered."""
        self.chosen("stat")
        return plan(**self.parameters)

    @property
    def plan_line(self) -> str:
        """The command that prints the same plan."""
        asked = {**self.parameters}
        if "bounds" in asked:
            asked["bounds"] = ":".join(asked["bounds"])
        # Written with "=", so that a value may begin with a minus sign.
        if "stats" in asked:
            asked["stat"] = asked.pop("stats")
        options = [f"--{name.replace('_', '-')}={shlex.quote(text)}" for name, text in asked.items()]
        return " ".join(["flexdp plan", *options])

    def field_of(self, refusal: InputError) -> str:
        """Return the field that an error belongs to; the switch, if its parameter has no field."""
        fixed = "epsilon" if self["fix"] == "epsilon" or self["way"] != "buckets" else "loss"
        field = _FIELDS.get(refusal.parameter, fixed)
        return fixed if field in ("epsilon", "loss") else field

    def spell(self, part: P) -> str:
        """Spell a parameter in the words of the page.

        >>> Entries.read({}).spell(P("delta", 1e-6))
        'δ = 1e-06'
        """
        word = _WORDS.get(part.name, part.name.replace("_", " "))
        if part.value is ABSENT:
            return word
        value = "–".join(map(str, part.value)) if isinstance(part.value, tuple) else str(part.value)
        return f"{word} = {value}"


def sentence(text: str) -> str:
    """Capitalise a message; a Greek letter at its start stays small.

    >>> sentence("the width must be positive."), sentence("δ must be in (0, 1).")
    ('The width must be positive.', 'δ must be in (0, 1).')
    """
    return text[:1].upper() + text[1:] if text[:1].isascii() else text
