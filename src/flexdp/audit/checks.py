"""The checks of one release in a document: each rebuilds or derives again what the document says.

The costs of all parts are added up forwards, where the release divided its budget backwards; conditions and answers
that the command line adds are derived again from the counts and outcomes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from flexdp._core.documents import Difference, UnfitError, differences
from flexdp._core.exact import json_value, number_text, upper_text
from flexdp._core.text import is_short, plural, safe_repr, thousands
from flexdp._release.answers import Answer
from flexdp._release.answers_json import json_answer, question_of
from flexdp._release.asked import Asked
from flexdp._release.automatic import Auto
from flexdp._release.capped import cap_proof
from flexdp._release.documents import MALFORMED, fields_of, other_words
from flexdp._release.published import Release
from flexdp._release.readable import Readable
from flexdp.accounting.budget import Budget
from flexdp.calculus.privacy import of_group, of_unit
from flexdp.errors import CertificateError, InputError
from flexdp.guarantees import Privacy
from flexdp.mechanisms.program import Draw, spent
from flexdp.noise.drop import DropNoise
from flexdp.noise.exponential import Decay
from flexdp.sharp.cut import Cut
from flexdp.version import __version__

__all__ = ["Spent", "Told", "checked", "spent_by", "wrong_words"]

_PARTS = {"mechanism": "noise", "bars": "counts", "privacy": "budget", "asked": "answers", "auto": "buckets",
          "certified": "bound", "cap": "cap"}  # fmt: skip
Found: TypeAlias = "str | tuple[str, tuple[str, ...]]"  # a sentence, empty where there is nothing to check; its proof


class Rebuilt(NamedTuple):
    """A release that was rebuilt from its document, and the private steps behind the asked answers of each group."""

    release: Release
    content: dict[str, Any]
    steps: list[list[Draw]]


class Told(NamedTuple):
    """One check: its name, whether it holds, why, and the integers of its proof."""

    name: str
    holds: bool
    statement: str
    proof: tuple[str, ...] = ()


def checked(content: dict[str, Any]) -> tuple[Release | None, list[Told]]:
    """Rebuild one release and check all of it.

    Parameters
    ----------
    content
        The document of the release.

    Returns
    -------
    tuple
        The release, None where it cannot be rebuilt; and its checks.
    """
    try:
        release = Release(**fields_of(content))
        wrong = list(_first_of_each(other_words(content, release._document())))
        asked = release.asked
        steps = [] if asked is None else [asked.steps(result) for result in asked.results.values()]
    except UnfitError as refusal:
        return None, [Told(refusal.part, False, f"The document has {refusal.reason}.")]
    except InputError as refusal:
        return None, [Told("description", False, f"No release has such parameters: {refusal}")]
    except CertificateError as refusal:
        return None, [Told("certificate", False, f"{refusal}.")]
    except KeyError as missing:
        return None, [Told("description", False, f"The field {safe_repr(missing.args[0])} is missing.")]
    except MALFORMED:
        return None, [Told("description", False, "A field is not of the form that flexdp writes.")]
    failed = {name for name, _ in wrong}
    told: list[Told] = [Told(name, False, _difference(where)) for name, where in wrong]
    for name, check in _CHECKS.items():
        if name in failed:
            continue
        try:
            found = check(Rebuilt(release, content, steps))
            ok = True
        except UnfitError as refusal:
            found, ok = refusal.reason, False
        except (CertificateError, InputError) as refusal:
            found, ok = f"{str(refusal).rstrip('.')}.", False
        except MALFORMED:
            found, ok = "It cannot be derived from the document.", False
        statement, proof = (found, ()) if isinstance(found, str) else found
        if statement:
            told.append(Told(name, ok, statement, proof))
    order = list(_CHECKS)
    return release, sorted(told, key=lambda each: order.index(each.name))


def _first_of_each(wrong: Iterator[Difference]) -> Iterator[tuple[str, Difference]]:
    """The first difference in each part of a document."""
    seen: set[str] = set()
    for each in wrong:
        root = each.place.removeprefix("the length of ").split(".")[0].split("[")[0]
        name = _PARTS.get(root, "description")
        if name not in seen:
            seen.add(name)
            yield name, each


def _difference(where: Difference) -> str:
    place = where.place if is_short(where.place) else "A field"
    if where.stated is None:
        return f"{place} is missing; {_short(where.derived)} follows from the rest of the document."
    if where.derived is None:
        return f"{place} is stated, and no such release has it."
    stated, derived = _short(where.stated), _short(where.derived)
    return f"{place} is stated as {stated}, but {derived} follows from the rest of the document."


def _short(value: Any) -> str:
    return safe_repr(value) if isinstance(value, str | int | float) else "another value"


def _description(rebuilt: Rebuilt) -> str:
    return (
        f"Every field is one that a release has, in the form that flexdp writes; it says that version "
        f"{rebuilt.content['flexdp']} wrote it."
    )


def _noise(rebuilt: Rebuilt) -> str:
    release = rebuilt.release
    if release.budget is None:
        return ""
    noise = release.noise
    return (
        f"The noise follows from ε = {upper_text(noise.epsilon, 6)} and δ = {upper_text(noise.delta)} of one bucket: "
        f"{thousands(noise.q)} weights, at most {plural(noise.max_drop, 'record', thousands)} lost from each bucket, "
        f"and δ = {upper_text(noise.delta_real)} really."
    )


def _certificate(rebuilt: Rebuilt) -> Found:
    release = rebuilt.release
    listing = None if release.asked is None else release.asked.budget.listing
    dropped = [("", release.noise)] if release.budget is not None else []
    dropped += [("List of groups: ", listing.noise)] if listing is not None else []
    tables = _tables(rebuilt)
    told = [_proved(noise) for _, noise in dropped]
    if tables:
        told.append(
            f"{plural(len(tables), 'table')} of the exponential mechanism: no weight falls faster than ε allows."
        )
    proof = [f"{name}{noise.certify()}" for name, noise in dropped]
    proof += [f"ε = {number_text(table.epsilon)}: {table.certify()}" for table in tables]
    return " ".join(["Proved in integers.", *told]) if told else "", tuple(proof)


def _proved(noise: DropNoise) -> str:
    return (
        f"{thousands(noise.q)} weights sum to 2^{noise.bits}, the first is at most ⌊δ·2^{noise.bits}⌋, and with "
        "r ≤ e^ε neither hockey-stick sum exceeds the first."
    )


def _tables(rebuilt: Rebuilt) -> list[Decay]:
    """The tables of the exponential mechanism behind automatic buckets and asked answers, each once."""
    release = rebuilt.release
    found: dict[tuple[Fraction, int], Decay] = {}
    if release.auto is not None and release.auto.shares is not None:
        found[release.auto.shares.per_level, 1] = Decay(release.auto.shares.per_level, 1)
    for own in rebuilt.steps:
        for step in own:
            if isinstance(step.mechanism, Cut):
                found[step.mechanism.table.epsilon, step.mechanism.table.sensitivity] = step.mechanism.table
    return list(found.values())


def _total(rebuilt: Rebuilt) -> Found:
    release = rebuilt.release
    noise = None if release.budget is None else release.budget.total
    if noise is None:
        return "", ()
    return f"Proved in integers, for the certified total. {_proved(noise)}", (f"Total: {noise.certify()}",)


def _counts(rebuilt: Rebuilt) -> str:
    release = rebuilt.release
    if release.budget is None:
        return ""
    within = " of the declared groups" if release.spec.groups else ""
    return (
        f"{plural(len(release.cells), 'count', thousands)}, each a positive integer; the buckets{within} are in order, "
        "none comes twice or lies outside the bounds, and each key is that of its bucket."
    )


def _auto(rebuilt: Rebuilt) -> str:
    release = rebuilt.release
    if release.auto is None:
        return ""
    if not release.auto.chosen:
        return "There are no buckets: the published number of records is too small for them."
    return (
        f"The shares of the budget follow from the published number of records, and all edges from the "
        f"{thousands(len(release.auto.spans))} published leaves and their counts."
    )


def _asked(rebuilt: Rebuilt) -> str:
    release = rebuilt.release
    if release.asked is None:
        return ""
    many = plural(len(release.asked.results), "group") if release.spec.by else "the column"
    return (
        f"{', '.join(release.asked.wanted.words)} of {many}: ways, budgets, targets and promises follow from the "
        "published outcomes, and quantiles are in order."
    )


def _bound(rebuilt: Rebuilt) -> str:
    release = rebuilt.release
    at_most, budget = release.records_at_most, release.budget
    if at_most is None or budget is None or budget.total is None:
        return ""
    released = sum(release.cells.counts.tolist())
    told = f"The bound of {thousands(at_most)} is not below the {thousands(released)} that were released"
    buckets = release.partition.count
    if buckets is None or not release.spec.groups_are_public:
        return f"{told}."
    cells = buckets * (len(release.spec.groups) if release.spec.groups else 1)
    largest = released + cells * budget.bars.max_drop + budget.total.max_drop
    if at_most > largest:
        raise UnfitError(
            f"The bound of {thousands(at_most)} exceeds {thousands(largest)}, the most that the noise can lead to.",
            "bound",
        )
    return f"{told}, nor above {thousands(largest)}, the most that the noise can lead to."


def _cap(rebuilt: Rebuilt) -> Found:
    """The numbers of units on either side of the cap."""
    release = rebuilt.release
    told = " ".join(answer.statement for answer in release.capped_units)
    return (told, tuple(map(cap_proof, release.caps))) if told else ""


def _budget(rebuilt: Rebuilt) -> str:
    release, content, _ = rebuilt
    parts = spent_by(release, rebuilt.steps)
    epsilon, delta = (sum((getattr(part, name) for part in parts), Fraction(0)) for name in ("epsilon", "delta"))
    stated = Fraction(content["privacy"]["epsilon"]), Fraction(content["privacy"]["delta"])
    named = ", ".join(f"{part.name} ε = {upper_text(part.epsilon, 6)}" for part in parts)
    told = (
        f"ε = {upper_text(epsilon, 6)} of {number_text(stated[0])} and δ = {upper_text(delta)} of "
        f"{number_text(stated[1])}"
    )
    if epsilon > stated[0] or delta > stated[1]:
        raise UnfitError(f"The parts ({named}) spend {told}: more than is stated.", "budget")
    each = "" if release.spec.unit is None else " for each unit"
    return f"The parts ({named}) spend {told}{each}, no more than is stated."


def _statements(rebuilt: Rebuilt) -> str:
    release, content, _ = rebuilt
    wrong = wrong_words(release, content)
    if wrong:
        raise UnfitError(wrong, "statements")
    answers = content.get("answers")
    if answers is None and "conditions" not in content:
        return ""
    many = plural(len(answers or ()), "answer")
    return f"The conditions and {many}, with all sentences, are what this version derives."


_CHECKS: dict[str, Callable[[Rebuilt], Found]] = {
    "description": _description,
    "noise": _noise,
    "certificate": _certificate,
    "total": _total,
    "counts": _counts,
    "buckets": _auto,
    "answers": _asked,
    "bound": _bound,
    "cap": _cap,
    "budget": _budget,
    "statements": _statements,
}


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of one part of a release, for one unit.

    Parameters
    ----------
    name
        The part, in words.
    epsilon, delta
        Its cost, rounded up.
    """

    name: str
    epsilon: Fraction
    delta: Fraction


def spent_by(release: Release, steps: Sequence[Sequence[Draw]]) -> list[Spent]:
    """Return the cost of each part of a release, from the noise that was drawn and the number of buckets of a unit.

    Parameters
    ----------
    release
        The release.
    steps
        The private steps behind the asked answers, of each group.

    Returns
    -------
    list of Spent
        What adds up to the privacy of the release, or to less.
    """
    parts: list[Spent] = []
    most, auto, asked = release.spec.max_buckets_per_unit, release.auto, release.asked
    counted_once = auto is not None and asked is not None and auto.gave_five(asked)
    if auto is not None and not counted_once:  # five answers instead of buckets begin with the same noisy count
        parts.append(_choosing(auto))
    if release.budget is not None:
        parts += _counting(release.budget)
    if asked is not None:
        parts.append(_answers(asked, most, steps))
    if release.caps:  # each unit is in one of the two numbers of a report
        of_units = sum((cap.mechanism.epsilon for cap in release.caps), Fraction(0))
        parts.append(Spent("units by the cap", of_units, Fraction(0)))
    return parts


def _privacy_of(noise: DropNoise) -> Privacy:
    return Privacy(epsilon=noise.epsilon, delta=noise.delta)


def _counting(budget: Budget) -> list[Spent]:
    unit = of_unit(_privacy_of(budget.bars), budget.most)
    parts = [Spent("counts", unit.epsilon, unit.delta)]
    if budget.total is not None:
        bound = of_group(_privacy_of(budget.total), budget.most)
        parts.append(Spent("certified total", bound.epsilon, bound.delta))
    return parts


def _choosing(auto: Auto) -> Spent:
    steps = (epsilon for step, epsilon in auto.epsilons.items() if step != "buckets")
    return Spent("choice of buckets" if auto.chosen else "number of records", sum(steps, Fraction(0)), Fraction(0))


def _answers(asked: Asked, most: int, steps: Sequence[Sequence[Draw]]) -> Spent:
    """Each record lies in one group, so all groups cost as much as the dearest; listing them comes first."""
    listing, delta = asked.budget.listing, Fraction(0)
    dearest = Fraction(0) if listing is None else listing.epsilon
    if listing is not None:
        delta = of_group(_privacy_of(listing.noise), most).delta
    for own in steps:
        dearest = max(dearest, spent(step.cost for step in own))
    return Spent("asked answers", most * dearest, delta)


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
