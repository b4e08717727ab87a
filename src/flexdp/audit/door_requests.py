"""Requests for made-up tables: what a user may ask of one, each with a budget."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flexdp.audit.door_tables import Form, Kinds, picked
from flexdp.simulation import Generator

__all__ = ["Asked", "asked", "simpler"]

_FILTERS = (
    "u IS NOT NULL", "u IS NULL OR v > 3", "i IS NOT NULL", "t IS NOT NULL", "d IS NOT NULL AND v >= 0", "i > 3",
    "t = 'w1'", "t <> 'w1'", "i IN (1, 2, 3, 50)", "i BETWEEN 2 AND 40", "NOT i = 3", "t LIKE 'w%'", "u = i", "i <> u",
    "u > i", "v > i", "coalesce(u, i) > 5", "coalesce(u, 0) >= 0", "CASE WHEN u IS NULL THEN 1 ELSE 2 END = 2",
    "year(d) = 2024", "d >= DATE '2024-02-01'", "b = TRUE", "b IS NULL OR b <> TRUE", "number(u) > 3",
    "number(i) IS NOT NULL", "text(u) <> 'a'", "integer(i) >= 0", "v >= 0 AND v < 40", "t = g", "v + i > 10",
    "g IN ('a', 'b')", "u <> '7'", "number(i) > number(u)", "s >= TIMESTAMP '2024-01-02 12:00'", "s IS NOT NULL",
    "date(s) = DATE '2024-01-03'", "s > d", "datetime(d) <> datetime(s)", "month(s) = 1 OR s IS NULL",
    "boolean(b) = TRUE", "CASE WHEN i > u THEN t ELSE g END = 'a'", "coalesce(t, g) = 'w1'", "text(t) = text(u)",
    "u IN (1, 2, 103)",
)  # fmt: skip
_DERIVED = (
    "coalesce(u, i)", "CASE WHEN u IS NULL THEN v ELSE i END", "v + i", "i - u", "v * 2", "date(d) - date(d)",
    "coalesce(i, 0.5)", "CASE WHEN t = 'w1' THEN 1 ELSE 0 END", "number(i) / number(v)", "coalesce(integer(i), 7)",
    "seconds(datetime(s) - datetime(s))", "CASE WHEN boolean(b) = TRUE THEN 1 WHEN i > 3 THEN v END",
)  # fmt: skip
_ANSWERS = (["max"], ["min", "max"], ["median"], ["q0.99"], ["count"], ["mean"], ["sum", "count"], ["iqr", "mean"],
            ["range"])  # fmt: skip
_DELTA = "1e-3"
_AMONG: dict[str, list[Any]] = {
    "text": ["a", "b"],
    "integer": [1, 2, 7],
    "boolean": [True, False],
    "date": ["2024-01-05", "2024-02-06"],
}
_SEVERAL = (["v", "i"], ["i", "d"], ["t", "v"], ["b", "s"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request.

    Parameters
    ----------
    entry
        "release", "summary", "query" or "command".
    column
        What is released: a name, several, or None.
    options
        All other parameters, as Python takes them.
    epsilon, delta
        The budget.
    """

    entry: str
    column: Any
    options: Mapping[str, Any]
    epsilon: str
    delta: str

    @property
    def unit(self) -> str | None:
        """The column of the privacy unit."""
        return self.options.get("unit")

    def used(self, kinds: Kinds) -> list[str]:
        """Return the columns of a table that are named anywhere in the request."""
        words = re.findall(r"\w+", f"{self.column} {' '.join(map(str, self.options.values()))}")
        return [name for name in kinds if name in words]

    @property
    def most(self) -> int:
        """The most buckets or records with which a unit counts."""
        return int(self.options.get("max_buckets_per_unit", 1))

    def __str__(self) -> str:
        given = [] if self.column is None else [repr(self.column)]
        given += [f"{name}={value!r}" for name, value in self.options.items()]
        given += [f"epsilon={self.epsilon}", f"delta={self.delta}"]
        return f"{self.entry}({', '.join(given)})"

    def words(self, form: Form) -> list[str]:
        """Return the command line that asks the same of a file."""
        own = ["summary", *form.words] if self.column is None else ["release", *form.words, str(self.column)]
        words = [*own, "-e", self.epsilon, "-d", self.delta]
        if form.table is not None:
            words += ["--table", form.table]
        for name, value in self.options.items():
            option = f"--{name.replace('_', '-')}"
            if value is True:
                words.append(option)
            elif name == "bounds":
                words.append(f"{option}={value[0]}:{value[1]}")
            elif name in ("edges", "groups"):
                words += [option, ",".join(map(str, value))]
            elif name == "by_kind":
                words += [option, ",".join(value.values() if isinstance(value, dict) else [value])]
            elif name == "derive":
                words += [option, *(f"{key}={text}" for key, text in value.items())]
            elif name == "columns":
                words += [word for key, kind in value.items() for word in ("--column", f"{key}={kind}")]
            else:
                words += [word for each in _list(value) for word in (option, str(each))]
        return words


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def asked(rng: Generator, form: Form, kinds: Kinds) -> Asked:
    """Return a request that may be made of a form of tables; some of them are refused, on both sides alike."""
    epsilon = str(picked(rng, (1, 4, 8, 8)))
    if form.alone is None and rng.integers(8) == 0:
        return _summary(rng, form, kinds, epsilon)
    entry = "command" if form.words and rng.integers(2) else "query" if rng.integers(10) == 0 else "release"
    if form.alone is None and rng.integers(10) == 0:
        return _several(rng, form, kinds, epsilon, entry)
    name = form.alone or str(picked(rng, ("v", "v", "v", "i", "i", "t", "g", "d", "b", "u", "s")))
    kind = kinds[name]
    options: dict[str, Any] = {}
    if form.alone is None and rng.integers(7) == 0:
        options["derive"], name, kind = {"z": picked(rng, _DERIVED)}, "z", "number"
    options |= _buckets(rng, kind)
    asks = "ask" in options
    if form.alone is None:
        options |= _groups(rng, form, kinds, name)
        options |= _units(rng, form, kinds, name)
        if rng.integers(2) or ("derive" in options and rng.integers(2)):
            options["where"] = picked(rng, _FILTERS)
    if not form.typed and name != "z" and rng.integers(6):
        options["kind"] = kind
    given = {"width", "relative", "edges", "exact"} & set(options)
    bounded = kind == "boolean" or not {"edges", "bounds"}.isdisjoint(options)
    public = bounded and ("by" not in options or "groups" in options)  # which lose little in all without it
    if not asks and given and rng.integers(8) == 0 and not public:
        options["certify"] = "0.2"
    pure = asks and not given and ("by" not in options or "groups" in options)
    return Asked(
        entry=entry,
        column=None if form.alone else name,
        options=options,
        epsilon=epsilon,
        delta="0" if pure else _DELTA,
    )


def _several(rng: Generator, form: Form, kinds: Kinds, epsilon: str, entry: str) -> Asked:
    """Several columns: points, or one release each."""
    names: list[str] = picked(rng, _SEVERAL)
    options: dict[str, Any] = {"separately": True} if rng.integers(2) else {}
    if not form.typed and rng.integers(6):
        options["kind"] = {name: kinds[name] for name in names}
    if rng.integers(2):
        options["width"] = {name: {"date": "1 week", "datetime": "1 day"}.get(kinds[name], 5) for name in names
                            if kinds[name] not in ("text", "boolean")}  # fmt: skip
    options |= _units(rng, form, kinds, names[0])
    if rng.integers(3) == 0:
        options["where"] = picked(rng, _FILTERS)
    entry = "release" if entry == "command" else entry
    return Asked(entry=entry, column=names, options=options, epsilon=epsilon, delta=_DELTA)


def _buckets(rng: Generator, kind: str) -> dict[str, Any]:
    if kind in ("text", "boolean"):
        return {} if rng.integers(2) else {"exact": True}
    if kind == "date":
        return dict(picked(rng, ({"width": "1 month"}, {"exact": True}, {}, {"ask": ["max"]}, {"width": "1 week"})))
    if kind == "datetime":
        return dict(picked(rng, ({"width": "1 hour"}, {"width": "1 day"}, {}, {"ask": ["max", "median"]})))
    plain: tuple[dict[str, Any], ...] = (
        {"width": 5},
        {"width": 5, "bounds": (0, 50)},
        {"width": 5, "bounds": (0, 50), "outside": "drop"},
        {"edges": [0, 10, 25, 60]},
        {"relative": "0.1"},
        {"exact": True},
        {},
        {"ask": picked(rng, _ANSWERS)},
        {"ask": picked(rng, _ANSWERS)},
        {"ask": picked(rng, _ANSWERS), "bounds": (0, 50)},
        {"ask": picked(rng, _ANSWERS), "width": 5},
    )
    return dict(picked(rng, plain))


def _groups(rng: Generator, form: Form, kinds: Kinds, name: str) -> dict[str, Any]:
    if rng.integers(4):
        return {}
    by = str(picked(rng, [each for each in ("g", "g", "t", "i", "b", "d") if each != name]))
    options: dict[str, Any] = {"by": by}
    if not form.typed and rng.integers(5):
        options["by_kind"] = kinds[by]
    also = str(picked(rng, ("g", "t", "i", "b", "d", "u")))
    if rng.integers(5) == 0 and also not in (by, name):
        options["by"] = [by, also]
        if "by_kind" in options:
            options["by_kind"] = {each: kinds[each] for each in (by, also)}
    elif rng.integers(2):
        options["groups"] = _AMONG[options.get("by_kind", kinds[by] if form.typed else "text")]
        if rng.integers(2) and kinds[by] == "text":
            options["other"] = "rest"
    return options


def _units(rng: Generator, form: Form, kinds: Kinds, name: str) -> dict[str, Any]:
    if name == "u" or rng.integers(2):
        return {}
    options: dict[str, Any] = {"unit": "u"}
    if not form.typed and rng.integers(5):
        options["unit_kind"] = kinds["u"]
    if rng.integers(3) == 0:
        options["per_unit"] = picked(rng, ("max", "min", "mean", "random"))
    else:
        options["max_buckets_per_unit"] = int(picked(rng, (1, 2, 3, 3)))
    return options


def _summary(rng: Generator, form: Form, kinds: Kinds, epsilon: str) -> Asked:
    options: dict[str, Any] = {}
    if not form.typed and rng.integers(6):
        options["columns"] = {name: kinds[name] for name in ("v", "i", "t", "b", "s")}
    if rng.integers(2):
        options |= {"unit": "u", "max_buckets_per_unit": 2}
        if not form.typed:
            options["unit_kind"] = kinds["u"]
    if rng.integers(3) == 0:
        options["where"] = picked(rng, _FILTERS)
    return Asked(
        entry="command" if form.words and rng.integers(2) else "summary",
        column=None,
        options=options,
        epsilon=epsilon,
        delta=_DELTA,
    )


def simpler(request: Asked) -> Iterator[Asked]:
    """Iterate over requests with one parameter less."""
    kept = request.options
    for name in ("where", "certify", "by", "unit", "bounds", "outside", "groups", "other", "exact", "ask", "derive"):
        if name in kept and not (name == "derive" and request.column == "z"):
            also = {"by": ("by_kind", "groups", "other"), "unit": ("unit_kind", "per_unit", "max_buckets_per_unit"),
                    "groups": ("other",), "bounds": ("outside",)}.get(name, ())  # fmt: skip
            left = {key: each for key, each in kept.items() if key not in (name, *also)}
            yield replace(request, options=left, delta=_DELTA if name == "ask" else request.delta)
