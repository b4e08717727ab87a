"""The document of a release, put together from its parts and taken apart again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flexdp._core.documents import Difference, UnfitError, differences
from flexdp._release.asked import Asked
from flexdp._release.asked_json import asked_in, read_asked, write_asked
from flexdp._release.automatic import Auto
from flexdp._release.automatic_json import auto_in, read_auto, write_auto
from flexdp._release.capped import CapReport, cap_in, read_cap, write_cap
from flexdp._release.json import read, write
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.guarantees import Privacy
from flexdp.histogram import KeyedHistogram
from flexdp.version import __version__

__all__ = ["ADDED", "MALFORMED", "fields_of", "other_words", "written"]

ADDED = ("conditions", "answers", "likely_causes")  # by the command line, for readers; derived again, never believed
MALFORMED = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError)
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!_-]{0,59}")


def written(
    spec: Spec,
    budget: Budget | None,
    cells: KeyedHistogram,
    records_at_most: int | None,
    asked: Asked | None,
    auto: Auto | None,
    caps: tuple[CapReport, ...],
    privacy: Privacy,
) -> dict[str, Any]:
    """Return the content of the JSON document of a release."""
    own = replace(privacy, epsilon=privacy.epsilon - sum(cap.epsilon for cap in caps))
    document = write_asked(write(spec, budget, cells, records_at_most), spec, asked, own)
    return write_cap(write_auto(document, auto, own), caps, privacy)


def fields_of(content: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the release that a document holds, after refusing what cannot be so.

    Raises
    ------
    InputError, ValueError, KeyError, TypeError
        If the document cannot be that of a release.
    """
    content, caps = read_cap(content)
    document, asked = read_asked(content)
    document, auto = read_auto(document)
    spec, budget, cells, at_most = read(document)
    bucketed = budget is not None
    answers = None if asked is None else asked_in(asked, spec, cells if bucketed else None)
    chosen = None if auto is None else auto_in(content, spec, bucketed=bucketed)
    if chosen is not None and not _of_one_run(chosen, answers, by=bool(spec.by)):
        raise UnfitError("answers of another run", "answers")
    return {
        "spec": spec,
        "budget": budget,
        "cells": cells,
        "records_at_most": at_most,
        "asked": answers,
        "auto": chosen,
        "caps": cap_in(caps, spec, bucketed=bucketed, asked=answers is not None),
    }


def _of_one_run(auto: Auto, asked: Asked | None, *, by: bool) -> bool:
    """Return True if the answers are those asked for, or five in place of buckets; or there are to be none."""
    budget = auto.budget
    if asked is None:
        return not budget.answers and (auto.chosen or by)
    epsilon = budget.answers if auto.chosen else budget.for_answers
    own = bool(budget.answers) and asked.budget.epsilon == epsilon
    return not by and (own or auto.gave_five(asked))


def other_words(content: dict[str, Any], derived: dict[str, Any]) -> Iterator[Difference]:
    """Yield where a document says something else than the one that its release is written as.

    Parameters
    ----------
    content
        A document, in the words of this schema.
    derived
        The document of the release that was read from it.

    Yields
    ------
    Difference
        The place and both values. The version that wrote a document is believed; what the command line adds to one is
        left out.
    """
    stated = {name: value for name, value in content.items() if name not in ADDED}
    version = content.get("flexdp")
    known = isinstance(version, str) and _VERSION.fullmatch(version)
    return differences(stated, {**derived, "flexdp": version if known else __version__})
