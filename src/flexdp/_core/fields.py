"""Frozen values whose fields carry their checks: constructor, repr, ==, hash and JSON from one declaration.

    class Dropping(Mechanism):                     Dropping(1, "1e-6")          checked, and kept as exact Fractions
        epsilon: Exact = param(EPSILON)            repr(…), ==, hash(…)         Dropping(epsilon=1, delta='1e-06')
        delta: Exact = param(DELTA)                .arguments(), .to_json()         what differs from the defaults
        dimensions: int = param(whole(), default=1)

A subclass of :class:`Value` is a frozen dataclass without being decorated. A field without ``param`` takes anything.
"""

from __future__ import annotations

import datetime as dt
import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from dataclasses import replace as changed
from fractions import Fraction
from functools import partial
from types import FunctionType
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, cast, dataclass_transform

from flexdp._core.documents import parse_json
from flexdp._core.domains import Domain, elements, integer, text
from flexdp._core.exact import Number, exact_text, ratio
from flexdp._core.text import safe_repr
from flexdp.errors import InputError

__all__ = ["Exact", "MaybeExact", "Taken", "Value", "a", "derived", "maybe", "param", "plain", "whole", "word"]

Check: TypeAlias = Callable[[str, Any], Any]  # takes a field's name and what was given, returns what is kept

_SCHEMA = "flexdp.value/1"
_LONGEST = 100_000  # characters of a document
_MOST_VALUES = 100  # in one document, each of which may take a moment to make

_Given = TypeVar("_Given", contravariant=True)
_Kept = TypeVar("_Kept", covariant=True)
_Self = TypeVar("_Self", bound="Value")


class Taken(Generic[_Given, _Kept]):
    """Type of a field that takes one type and keeps another; it is for type checkers alone."""

    def __get__(self, instance: object, owner: Any = None) -> _Kept:
        raise NotImplementedError

    def __set__(self, instance: object, value: _Given) -> None:
        raise NotImplementedError


Exact: TypeAlias = Taken[Number, Fraction]
MaybeExact: TypeAlias = Taken[Number | None, Fraction | None]


def param(
    check: Domain | Check,
    *,
    default: Any = MISSING,
    kw_only: bool = False,
    compare: bool = True,
    bare: bool = False,
) -> Any:
    """Declare a field by the range or the check of its values; ``bare`` fields are printed without their name."""
    return field(default=default, kw_only=kw_only, compare=compare, metadata={"check": check, "bare": bare})


def derived(*, init: bool = False) -> Any:
    """Declare a field that ``_check`` computes from the others."""
    return field(init=init, compare=False)


def whole(at_least: int = 1, at_most: int | None = None) -> Check:
    """An integer."""

    def check(name: str, value: Any) -> int:
        if type(value) is int and value >= at_least and (at_most is None or value <= at_most):
            return value
        return integer(name, value, at_least=at_least, at_most=at_most)

    return check


def word(example: str = "") -> Check:
    """A text."""
    return partial(text, example=example)


def a(kind: type, what: str) -> Check:
    """An instance of a class; ``what`` describes it, as in "a Space, for example HISTOGRAMS"."""

    def check(name: str, value: Any) -> Any:
        if not isinstance(value, kind):
            raise InputError(name, f"must be {what}", given=safe_repr(value))
        return value

    return check


def maybe(check: Domain | Check) -> Check:
    """The same, or None."""

    def checked(name: str, value: Any) -> Any:
        return None if value is None else _checking(check, name)(name, value)

    return checked


@dataclass_transform(frozen_default=True, field_specifiers=(param, derived))
class Value:
    """Base of every declared value."""

    _kinds: ClassVar[dict[str, type[Value]]] = {}  # of this package: what documents may hold
    _checked: ClassVar[tuple[tuple[str, Check, Any], ...]] = ()
    _shown: ClassVar[tuple[Field[Any], ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _refuse_hidden_members(cls)
        dataclass(frozen=True, repr=False)(cls)
        cls._shown = tuple(each for each in fields(cast("Any", cls)) if each.init)
        cls._checked = tuple(
            (each.name, _checking(each.metadata["check"], each.name), each.default)
            for each in cls._shown
            if "check" in each.metadata
        )
        if cls.__module__.startswith(f"{__package__.partition('.')[0]}."):
            Value._kinds[cls.__name__] = cls

    def __post_init__(self) -> None:
        keep = object.__setattr__
        for name, check, default in self._checked:
            given = getattr(self, name)
            if given is not default:  # a default is as it should be
                keep(self, name, check(name, given))
        for name, value in (self._check() or {}).items():
            keep(self, name, value)

    def _check(self) -> Mapping[str, Any] | None:
        """Refuse wrong combinations of fields; return what is to be kept instead of what was given, if anything."""
        return None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make an equal value, without those at their defaults.

        Returns
        -------
        dict
            Arguments by name; numbers as a person writes them, without loss.
        """
        found = {}
        for each in self._shown:
            value = getattr(self, each.name)
            if each.default is MISSING or value != each.default:
                found[each.name] = plain(value) if isinstance(value, Fraction) and each.metadata else value
        return found

    def __repr__(self) -> str:
        bare = {each.name for each in self._shown if each.metadata.get("bare")}
        given = (
            _written(value) if name in bare else f"{name}={_written(value)}" for name, value in self.arguments().items()
        )
        return f"{type(self).__name__}({', '.join(given)})"

    def to_json(self) -> str:
        """Write the value as JSON, by its name and its arguments.

        Returns
        -------
        str
            The document; :meth:`from_json` reads it.

        Raises
        ------
        InputError
            An argument has a type that cannot be written.
        """
        return json.dumps({"schema": _SCHEMA, **_encoded(self)}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls: type[_Self], document: str | bytes, *, own: Iterable[type[Value]] = ()) -> _Self:
        """Read a value that :meth:`to_json` wrote.

        A document is data: only classes of flexdp, and those in ``own``, are made from it, by their constructors.

        Parameters
        ----------
        document
            The JSON.
        own
            Classes of your own that it may hold.

        Returns
        -------
        Value
            Equal to the one that was written, of the class that was asked.

        Raises
        ------
        InputError
            The document is not one of such a value, complete and unchanged.
        """
        listed = elements(own)
        if listed is None or not all(isinstance(each, type) and issubclass(each, Value) for each in listed):
            raise InputError("own", "must be a list of classes that derive from Mechanism", given=safe_repr(own))
        kinds = {**{each.__name__: each for each in listed}, **Value._kinds}
        wrong = InputError("document", "must be the JSON of a flexdp mechanism, complete and unchanged")
        try:
            if isinstance(document, str | bytes | bytearray) and len(document) > _LONGEST:
                raise InputError("document", f"must have at most {_LONGEST} characters")
            content = parse_json(document)
            if content.pop("schema") != _SCHEMA:
                raise wrong
            found = _decoded(content, kinds, [_MOST_VALUES])
            same = isinstance(found, cls) and _encoded(found) == content
        except InputError:
            raise
        except Exception:  # noqa: BLE001  (a class of the caller's may raise anything when it is made)
            raise wrong from None
        if not same:
            raise wrong
        return cast("_Self", found)


def _written(value: Any) -> str:
    """A value as the expression that makes it; a function by its name."""
    return str(value.__name__) if isinstance(value, FunctionType) else repr(value)


def plain(number: Fraction) -> int | str:
    """A number without loss, as a person writes it: an integer, or a text such as '1e-06' or '1/3'."""
    return int(number) if number.denominator == 1 else exact_text(number)


def _refuse_hidden_members(cls: type[Value]) -> None:
    """Refuse fields without a default that are named as a member of a base class: it would be taken for one."""
    for name, kind in inspect.get_annotations(cls).items():
        own = cls.__dict__.get(name, MISSING)
        if "ClassVar" in str(kind) or getattr(own, "default", own) is not MISSING:
            continue
        if any(name in vars(base) and name not in _fields_of(base) for base in cls.__mro__[1:]):
            raise TypeError(f"{cls.__name__}: the field {name!r} hides a member of its base class; rename it")


def _fields_of(cls: type) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", getattr(cls, "__dataclass_fields__", {}))


def _checking(check: Domain | Check, name: str) -> Check:
    if not isinstance(check, Domain):
        return check
    domain = check if check.name == name else changed(check, name=name)
    return lambda _name, value: domain.check(value)


def _encoded(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Value):
        given = {name: _encoded(each) for name, each in value.arguments().items()}
        return {"kind": type(value).__name__, "given": given}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, dt.datetime | dt.date):
        return {type(value).__name__: value.isoformat()}
    if isinstance(value, tuple | list):
        return [_encoded(each) for each in value]
    raise InputError("value", "has a parameter that JSON cannot hold", given=safe_repr(value))


def _decoded(content: Any, kinds: Mapping[str, Callable[..., Any]], budget: list[int]) -> Any:
    """The value that JSON describes; what is raised where it describes none is for the caller to catch."""
    if isinstance(content, list):
        return tuple(_decoded(each, kinds, budget) for each in content)
    if not isinstance(content, dict):
        return content
    if set(content) == {"fraction"}:
        return ratio(content["fraction"])
    if set(content) == {"date"}:
        return dt.date.fromisoformat(content["date"])
    if set(content) == {"datetime"}:
        return dt.datetime.fromisoformat(content["datetime"])
    budget[0] -= 1
    if set(content) != {"kind", "given"} or budget[0] < 0:
        raise ValueError("no value that the reader knows, or too many")
    given = {name: _decoded(each, kinds, budget) for name, each in content["given"].items()}
    return kinds[content["kind"]](**given)
