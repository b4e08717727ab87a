"""Answers as plain JSON values, as the command line adds them to a document, and the questions that lead to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from flexdp._core.exact import json_value
from flexdp._release.answers import Answer
from flexdp._release.asking import level_of
from flexdp._release.readable import Readable
from flexdp._release.spec import Spec
from flexdp._release.stat_words import stat_question
from flexdp.buckets.base import Kind

__all__ = ["json_answer", "question_of"]


def question_of(
    word: str, kinds: Collection[Kind], *, points: bool, asked: Collection[str] = (), spec: Spec | None = None
) -> Callable[[Readable], Answer]:
    """Return the question that a word of ``--stat`` or ``--ask`` names.

    Parameters
    ----------
    word
        Such as "max", "q0.99" or "top:10".
    kinds
        The kinds of the released columns.
    points
        True if points of several columns are released.
    asked
        The words that were asked for directly.
    spec
        The public description of the release, whose privacy units may rule a statistic out.

    Returns
    -------
    Callable
        Asks a release, or a group of one.

    Raises
    ------
    InputError
        If there is no such statistic, or not of these kinds or units.
    """
    return partial(_answered, word) if word in asked else stat_question(word, set(kinds), points=points, spec=spec)


def _answered(word: str, readable: Readable) -> Answer:
    """An answer that was asked for; of all groups together there is one only where it can be read off buckets."""
    level = level_of(word)
    found: Answer = readable.quantile(level) if level is not None else getattr(readable, word)()
    return found


def json_answer(word: str, answer: Answer) -> dict[str, Any]:
    """Return an answer as plain JSON values.

    Parameters
    ----------
    word
        The name of the statistic.
    answer
        The answer.

    Returns
    -------
    dict
        Value, accuracy, interval, sentence and population, by name.
    """
    value = list(answer.value.items()) if isinstance(answer.value, dict) else answer.value
    accuracy = answer.accuracy
    return {
        "stat": word,
        "value": json_value(value),
        "alpha": accuracy.alpha if accuracy else None,
        "beta": accuracy.beta if accuracy else None,
        "beta_is_relative": accuracy.relative if accuracy else None,
        "moved": accuracy.moved if accuracy else None,
        "interval": [json_value(end) if _finite(end) else None for end in answer.interval] if answer.interval else None,
        "statement": answer.statement,
        "population": answer.population or None,
    }


def _finite(end: Any) -> bool:
    return not isinstance(end, float) or math.isfinite(end)
