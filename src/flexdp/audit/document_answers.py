"""Conditions and answers that the command line adds to a document, derived again from its counts and outcomes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from flexdp._core.documents import differences
from flexdp._core.exact import json_value
from flexdp._core.text import safe_repr
from flexdp._release.answers import Answer
from flexdp._release.answers_json import json_answer, question_of
from flexdp._release.documents import MALFORMED
from flexdp._release.published import Release
from flexdp._release.readable import Readable
from flexdp.errors import InputError
from flexdp.version import __version__

__all__ = ["wrong_words"]

_MOST_WORDS = 200  # statistics that one document has answers to; each may take a pass over all counts


def wrong_words(release: Release, content: dict[str, Any]) -> str:
    """Return what is wrong with the conditions and answers of a document; nothing where all is right.

    Parameters
    ----------
    release
        The release that the document holds.
    content
        The document.

    Returns
    -------
    str
        A sentence, empty where they are what this version derives.
    """
    wrong = ""
    if "conditions" in content and next(differences(content["conditions"], list(release.conditions)), None):
        wrong = "The conditions are not those that follow from the description."
    causes = content.get("likely_causes")
    if causes is not None and next(differences(causes, list(release.likely_causes)), None):
        wrong = "The likely causes are not those that follow from the description."
    try:
        if not wrong and not _as_reported(release, content.get("answers")):
            wrong = _wrong_answer(release, content.get("answers", []))
    except InputError as refusal:
        wrong = f"An answer is stated that this release does not have: {refusal}"
    except MALFORMED:
        wrong = "The answers are not of the form that flexdp writes."
    if wrong and content.get("flexdp") != __version__:
        wrong += f" This is flexdp {__version__}; check the document with the version that it says wrote it."
    return wrong


def _as_reported(release: Release, answers: Any) -> bool:
    """Return True if these are the answers of ``flexdp report --json``, which names them as a page does."""
    if not isinstance(answers, list) or not answers:
        return False
    from flexdp.report.html.page import standard_answers

    derived = [json_answer(answer.name, answer) for answer in standard_answers(release)]
    return next(differences(answers, json.loads(json.dumps(derived))), None) is None


def _wrong_answer(release: Release, answers: Any) -> str:
    if not isinstance(answers, list):
        return "The answers are not a list."
    words = {each["stat"] for each in answers}
    if len(words) > _MOST_WORDS:
        return f"There are answers to more than {_MOST_WORDS} statistics."
    questions = {word: _question(release, word) for word in words}
    groups = _groups(release) if any("group" in each for each in answers) else {}
    seen: set[tuple[str, str | None]] = set()
    for place, each in enumerate(answers):
        group = json.dumps(each["group"]) if "group" in each else None
        if (each["stat"], group) in seen:
            return f"The answer to {safe_repr(each['stat'])} comes twice."
        seen.add((each["stat"], group))
        readable: Readable = release if group is None else groups[group]()
        derived = json_answer(each["stat"], questions[each["stat"]](readable))
        derived |= {} if group is None else {"group": each["group"]}
        other = next(differences(each, json.loads(json.dumps(derived)), f"answers[{place}]"), None)
        if other is not None:
            return f"{other.place} is not what follows from the release."
    return ""


def _question(release: Release, word: Any) -> Callable[[Readable], Answer]:
    """The question behind the word of an answer, or behind the name under which a report shows it."""
    spec, asked = release.spec, () if release.asked is None else release.asked.wanted.words
    try:
        return question_of(word, spec.kinds, points=len(spec.columns) > 1, asked=asked)
    except InputError as refusal:
        from flexdp.report.html.page import standard_answers

        for answer in standard_answers(release):
            if answer.name == word:
                return lambda _, found=answer: found  # type: ignore[misc]
        raise refusal from None


def _groups(release: Release) -> dict[str, Callable[[], Readable]]:
    """Each group, made on demand, by its values as JSON."""
    found, single = release.by_group(), len(release.spec.by) == 1
    return {
        json.dumps(json_value([group] if single else list(group))): lambda group=group: found[group]  # type: ignore[misc]
        for group in found
    }
