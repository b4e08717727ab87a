"""The document of a release, put together from its parts and taken apart again."""

from __future__ import annotations

from typing import Any

from flexdp._release.asked import Asked
from flexdp._release.asked_json import asked_in, read_asked, write_asked
from flexdp._release.automatic import Auto
from flexdp._release.automatic_json import auto_in, read_auto, write_auto
from flexdp._release.json import read, write
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.guarantees import Privacy
from flexdp.histogram import KeyedHistogram

__all__ = ["fields_of", "written"]


def written(
    spec: Spec,
    budget: Budget | None,
    cells: KeyedHistogram,
    records_at_most: int | None,
    asked: Asked | None,
    auto: Auto | None,
    privacy: Privacy,
) -> dict[str, Any]:
    """Return the content of the JSON document of a release."""
    document = write_asked(write(spec, budget, cells, records_at_most), spec, asked, privacy)
    return write_auto(document, auto, privacy)


def fields_of(content: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the release that a document holds, after refusing what cannot be so.

    Raises
    ------
    InputError, ValueError, KeyError, TypeError
        If the document cannot be that of a release.
    """
    document, asked = read_asked(content)
    document, auto = read_auto(document)
    spec, budget, cells, at_most = read(document)
    bucketed = budget is not None
    answers = None if asked is None else asked_in(asked, spec, cells if bucketed else None)
    chosen = None if auto is None else auto_in(content, spec, bucketed=bucketed)
    if chosen is not None and not _of_one_run(chosen, answers, by=bool(spec.by)):
        raise ValueError("answers of another run")
    return {
        "spec": spec,
        "budget": budget,
        "cells": cells,
        "records_at_most": at_most,
        "asked": answers,
        "auto": chosen,
    }


def _of_one_run(auto: Auto, asked: Asked | None, *, by: bool) -> bool:
    """Return True if the answers are those asked for, or five in place of buckets; or there are to be none."""
    budget = auto.budget
    if asked is None:
        return not budget.answers and (auto.chosen or by)
    epsilon = budget.answers if auto.chosen else budget.for_answers
    own = bool(budget.answers) and asked.budget.epsilon == epsilon
    return not by and (own or auto.gave_five(asked))
