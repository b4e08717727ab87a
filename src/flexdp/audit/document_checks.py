"""The checks of one release in a document: each rebuilds or derives again what the document says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from flexdp._core.documents import Difference, UnfitError
from flexdp._core.exact import number_text, upper_text
from flexdp._core.text import is_short, plural, safe_repr, thousands
from flexdp._release.capped import cap_proof
from flexdp._release.documents import MALFORMED, fields_of, other_words
from flexdp._release.published import Release
from flexdp.audit.document_answers import wrong_words
from flexdp.audit.document_budget import spent_by
from flexdp.errors import CertificateError, InputError
from flexdp.mechanisms.program import Draw
from flexdp.noise.drop import DropNoise
from flexdp.noise.exponential import Decay
from flexdp.sharp.quantile import ExponentialQuantile

__all__ = ["Told", "checked"]

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
            if isinstance(step.mechanism, ExponentialQuantile):
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
