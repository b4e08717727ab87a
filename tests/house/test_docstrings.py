"""Every public callable is documented in numpydoc form, with an example that runs (``make check`` runs them all)."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

PUBLIC = (
    "flexdp", "flexdp.accounting", "flexdp.audit", "flexdp.baselines", "flexdp.calculus", "flexdp.distances",
    "flexdp.distortions", "flexdp.errors", "flexdp.experiments", "flexdp.guarantees", "flexdp.histogram",
    "flexdp.measure", "flexdp.mechanisms", "flexdp.noise", "flexdp.planning", "flexdp.report",
    "flexdp.statistics",
)  # fmt: skip
_ITSELF = ("self", "cls")
_QUIET = ("__call__", "__rshift__", "__add__", "__getitem__")  # operators that need an explanation, unlike the others


def exported() -> Iterator[tuple[str, str, Any]]:
    """Every exported function and class: the room, the name and the object, each object once."""
    seen: set[int] = set()
    for room in PUBLIC:
        module = importlib.import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and id(thing) not in seen:
                seen.add(id(thing))
                yield room, name, thing


def missing(name: str, thing: Any) -> list[str]:
    """The parts of numpydoc that the docstring of an exported function or class lacks, with those of its methods."""
    if inspect.isfunction(thing):
        return [f"{name}: {gap}" for gap in _gaps_of_function(thing, example=True)]
    gaps = [f"{name}: {gap}" for gap in _gaps_of_class(thing)]
    examples = _examples(thing.__doc__ or "")
    for label, member in vars(thing).items():
        if _inherits(thing, label):
            continue
        own = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(member, property):
            own = member.fget
            if not label.startswith("_") and not (own.__doc__ or "").strip():
                gaps.append(f"{name}.{label}: no docstring")
        elif inspect.isfunction(own) and (not label.startswith("_") or label in _QUIET) and own.__doc__ != "":
            if own.__qualname__.split(".")[0] != thing.__name__ or not own.__module__.startswith("flexdp"):
                continue
            if re.search(r"; see :(class|meth):`", own.__doc__ or ""):  # points to the contract that it implements
                continue
            shown = label in _QUIET or re.search(rf"\b{label}\(", examples) is not None
            gaps += [f"{name}.{label}: {gap}" for gap in _gaps_of_function(own, example=not shown)]
    return gaps


def _inherits(thing: type, label: str) -> bool:
    """Return True for a member that a base class of ours documents: one line, or none, is enough below it."""
    bases = (vars(base).get(label) for base in thing.__mro__[1:] if base.__module__.startswith("flexdp"))
    return any((inspect.getdoc(base) or "").strip() for base in bases if base is not None)


def _gaps_of_function(function: Any, *, example: bool) -> Iterator[str]:
    text = inspect.getdoc(function) or ""
    if not text.strip():
        yield "no docstring"
        return
    yield from _summary(text)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name not in _ITSELF]
    yield from _parameters(text, parameters)
    returns = function.__annotations__.get("return")
    if returns not in (None, "None", "NoReturn") and not _has(text, "Returns") and not _has(text, "Yields"):
        yield "no Returns"
    if (
        parameters
        and re.search(r"^\s+raise \w*Error\(", inspect.getsource(function), re.M)
        and not _has(text, "Raises")
    ):
        yield "no Raises"
    if example and ">>>" not in text:
        yield "no example"


def _gaps_of_class(kind: Any) -> Iterator[str]:
    text = inspect.cleandoc(kind.__doc__ or "")
    if not text.strip() or (dataclasses.is_dataclass(kind) and text.startswith(f"{kind.__name__}(")):
        yield "no docstring"
        return
    yield from _summary(text)
    if issubclass(kind, BaseException) and kind.__init__ is BaseException.__init__:
        return
    abstract = inspect.isabstract(kind) or getattr(kind, "_is_protocol", False)
    try:
        parameters = [each for each in inspect.signature(kind).parameters.values() if each.name not in _ITSELF]
    except (TypeError, ValueError):
        parameters = []
    if not abstract and not (_has(text, "Attributes") or not parameters):
        yield from _parameters(text, parameters)
    if not abstract and not issubclass(kind, BaseException) and ">>>" not in text:
        yield "no example"


def _parameters(text: str, parameters: list[inspect.Parameter]) -> Iterator[str]:
    if not parameters:
        return
    if not _has(text, "Parameters"):
        yield "no Parameters"
        return
    section = text.split("Parameters\n---", 1)[1].split("\n\n")
    named = set(
        re.findall(r"\w+", "\n".join(line for block in section for line in block.splitlines() if line[:1] > " "))
    )
    for each in parameters:
        if each.name not in named and each.kind is not inspect.Parameter.VAR_KEYWORD:
            yield f"parameter {each.name} is not described"


def _summary(text: str) -> Iterator[str]:
    first = text.splitlines()[0]
    if not first.rstrip().endswith((".", "?")):
        yield "the summary is not one line that ends with a full stop"
    if re.match(r"(What|How|Whether|Which|Where)\b", first):
        yield "the summary is a subordinate clause"


def _has(text: str, section: str) -> bool:
    return re.search(rf"^{section}\n-{{{len(section)}}}$", text, re.MULTILINE) is not None


def _examples(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.lstrip().startswith((">>>", "...")))


@pytest.mark.parametrize("room", PUBLIC)
def test_public_callables_have_complete_docstrings(room: str) -> None:
    gaps = [gap for place, name, thing in exported() if place == room for gap in missing(name, thing)]
    assert not gaps, "\n".join(gaps)


def test_the_check_sees_what_is_missing() -> None:
    def bare(x: int) -> int:
        return x

    def told(x: int) -> int:
        """Return x."""
        if x < 0:
            raise ValueError(x)
        return x

    assert missing("bare", bare) == ["bare: no docstring"]
    assert missing("told", told) == ["told: no Parameters", "told: no Returns", "told: no Raises", "told: no example"]


if __name__ == "__main__":  # python tests/house/test_docstrings.py flexdp.noise
    for place, name, thing in exported():
        if len(sys.argv) < 2 or place in sys.argv[1:]:
            print("\n".join(f"{place}: {gap}" for gap in missing(name, thing)) or f"{place}: {name} ok")  # noqa: T201
