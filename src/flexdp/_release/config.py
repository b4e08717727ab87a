"""``flexdp.toml``: data sets declared in a file, which is searched for from the current folder upwards.

::

    [datasets.visits]
    source = "exports/visits-*.csv"     # relative to this file; or "postgresql:///hospital", table = "visits"
    unit = "patient_id"                 # or "record"
    max_buckets_per_unit = 3
    decimal = ","
    ledger = "budget.db"
    [datasets.visits.columns]
    cost = "number"
    stay = { kind = "integer", derive = "date(discharged) - date(admitted)" }

Never ε or δ: every release states its own cost.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flexdp._core.domains import path_text
from flexdp._core.text import safe_repr
from flexdp._release.dataset import Column, Dataset
from flexdp._release.parameters import DatasetOptions, parameters
from flexdp.errors import InputError, spelled

__all__ = ["NAME", "config_file", "dataset_in", "datasets_in", "is_file"]

NAME = "flexdp.toml"
_OWN = ("source", "table", "unit", "columns", "ledger")
_BUDGET = ("epsilon", "delta", "certify", "split")
_LARGEST = 2**20  # bytes


def config_file(path: object = None) -> Path | None:
    """Return the file of declarations: the one given, or the nearest from the current folder upwards."""
    if path is not None:
        found = Path(path_text("config", path))
        if not is_file(found):
            raise InputError("config", f": {safe_repr(str(path))} does not exist", remedy="Check the path.")
        return found
    try:
        here = Path.cwd()
    except OSError:  # a folder that is gone
        return None
    return next((place for folder in (here, *here.parents) if is_file(place := folder / NAME)), None)


def is_file(path: Path) -> bool:
    """Return True if the file exists; False for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def datasets_in(path: Path) -> dict[str, dict[str, Any]]:
    """Return the declarations of a file by the name of the data set."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError:
        raise InputError(
            "config", f": {safe_repr(path.name)} cannot be read", remedy="Check its permissions."
        ) from None
    except (ValueError, RecursionError):
        raise InputError("config", f": {safe_repr(path.name)} is not TOML", remedy="See flexdp init.") from None
    found = content.pop("datasets", {})
    if content or not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise InputError("config", f": {safe_repr(path.name)} must hold [datasets.NAME] tables and nothing else")
    return found


def dataset_in(path: Path, name: str) -> Dataset | None:
    """Return the data set that a file declares by this name; None if there is none."""
    declared = datasets_in(path).get(name)
    if declared is None:
        return None
    given = dict(declared)
    _refuse_unknown(name, given)
    source = given.pop("source", None)
    if not isinstance(source, str):
        raise _wrong(name, "source", "is missing: where the data is")
    place: Any = source if "://" in source or Path(source).is_absolute() else str(path.parent / source)
    table = given.pop("table", None)
    if table is not None and not isinstance(table, str):
        raise _wrong(name, "table", "must be the name of a table")
    ledger = given.pop("ledger", None)
    if isinstance(ledger, str) and "://" not in ledger and not Path(ledger).is_absolute():
        ledger = str(path.parent / ledger)
    columns = given.pop("columns", None)
    kinds = None if columns is None else _columns(name, columns)
    try:
        return Dataset(
            place if table is None else (place, table),
            name=name, columns=kinds, ledger=ledger, unit=given.pop("unit", None), **given,
        )  # fmt: skip
    except InputError as refusal:
        found = refusal
    rule = found.rule if isinstance(found.rule, tuple) else (found.rule,)
    joint = "" if spelled(rule).startswith(":") else " "
    raise InputError(
        "config", (f": of data set {safe_repr(name)}, {found.parameter}{joint}", *rule), remedy=found.remedy
    )


def _wrong(name: str, parameter: str, rule: str) -> InputError:
    return InputError("config", f": of data set {safe_repr(name)}, {parameter} {rule}")


def _refuse_unknown(name: str, given: Mapping[str, Any]) -> None:
    known = [*_OWN, *parameters(DatasetOptions)]
    for key in given:
        if key in _BUDGET:
            raise _wrong(name, key, "does not belong into a file: every release says what it costs")
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            raise _wrong(name, safe_repr(key), f"is not known{f'. Did you mean {near[0]!r}?' if near else ''}")


def _columns(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _wrong(name, "columns", "must be a table of columns")
    found: dict[str, Any] = {}
    for column, declared in given.items():
        if isinstance(declared, dict):
            if not set(declared) <= {"kind", "derive"}:
                raise _wrong(name, f"column {safe_repr(column)}", "may have kind and derive only")
            found[column] = Column(**declared)
        elif isinstance(declared, str):
            found[column] = Column(declared)  # type: ignore[arg-type]  # checked there
        else:
            raise _wrong(name, f"column {safe_repr(column)}", "must be a kind, such as 'number'")
    return found
