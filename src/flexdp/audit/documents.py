"""The check of a published document by a reader who trusts nobody: everything that it can prove is proved again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flexdp._core.display import card, folded, sentence, table
from flexdp._core.documents import UnfitError, parse_json
from flexdp._core.exact import number_text
from flexdp._core.text import plural, safe_repr, visible
from flexdp._release.json import SCHEMA, SCHEMA_OF_SEVERAL, upgraded
from flexdp.audit.checks import checked
from flexdp.calculus.privacy import total
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.version import __version__

__all__ = ["LARGEST_DOCUMENT", "CheckedDocument", "DocumentCheck", "verify_document"]

LARGEST_DOCUMENT = 2**28  # bytes
_NOT_PROVED = (
    "that the mechanism was run on the data, and that these counts and answers came out of it",
    "that its random bits were random, secret and used once",
    "that parameters, groups and bounds were chosen without looking at the data, and that a unit is a person",
    "that no other release of the same data was made, whose ε and δ add to these",
    "who published it, and that it is the document they published",
)


@dataclass(frozen=True, kw_only=True)
class DocumentCheck:
    """One check of a document.

    Parameters
    ----------
    name
        What was checked: description, noise, certificate, total, counts, buckets, answers, bound, budget, statements
        or together.
    holds
        True if it holds.
    statement
        What holds, or what is wrong, in a sentence.
    column
        The column, in a document of several releases.
    proof
        The integers of a proof, one sentence a table.

    Examples
    --------
    >>> print(DocumentCheck(name="counts", holds=True, statement="12 counts, each a positive integer."))
    holds  counts: 12 counts, each a positive integer.
    """

    name: str
    holds: bool
    statement: str
    column: str | None = None
    proof: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = "" if self.column is None else f"{self.column}, "
        return visible(f"{'holds' if self.holds else 'FAILS'}  {where}{self.name}: {self.statement}")


@dataclass(frozen=True, kw_only=True)
class CheckedDocument:
    """The verdict on a document: every check that was made, and what no document can prove.

    Parameters
    ----------
    checks
        The checks in order.
    privacy
        The privacy of all releases in the document together; None where it cannot be told.

    Examples
    --------
    >>> import flexdp
    >>> text = flexdp.release([33.0] * 900, epsilon=1, delta=1e-6, width=5).to_json()
    >>> found = verify_document(text)
    >>> found.holds, [check.name for check in found.checks]
    (True, ['description', 'noise', 'certificate', 'counts', 'budget'])
    >>> found.to_dict()["holds"]
    True
    """

    checks: tuple[DocumentCheck, ...]
    privacy: Privacy | None = None

    @property
    def holds(self) -> bool:
        """True if every check holds."""
        return bool(self.checks) and all(check.holds for check in self.checks)

    @property
    def failed(self) -> tuple[DocumentCheck, ...]:
        """The checks that fail."""
        return tuple(check for check in self.checks if not check.holds)

    @property
    def not_proved(self) -> tuple[str, ...]:
        """What no document can prove, each beginning with "that" or "who"."""
        return _NOT_PROVED

    @property
    def verdict(self) -> str:
        """The verdict in a sentence."""
        if self.holds:
            told = "" if self.privacy is None else f" It promises: {self.privacy}"
            return f"Everything that the document can prove holds.{told}"
        return f"The document does not hold: {plural(len(self.failed), 'check')} of {len(self.checks)} failed."

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain JSON values.

        Returns
        -------
        dict
            The verdict, the checks, and what is not proved.
        """
        privacy = self.privacy
        return {
            "schema": "flexdp.verification/1",
            "holds": self.holds,
            "privacy": None if privacy is None else {"epsilon": str(privacy.epsilon), "delta": str(privacy.delta)},
            "checks": [
                {
                    "column": each.column,
                    "check": each.name,
                    "holds": each.holds,
                    "statement": each.statement,
                    "proof": list(each.proof),
                }
                for each in self.checks
            ],
            "not_proved": list(self.not_proved),
        }

    def __str__(self) -> str:
        unproved = f"No document proves {'; '.join(self.not_proved)}."
        return "\n".join([visible(self.verdict), *map(str, self.checks), unproved])

    def _repr_html_(self) -> str:
        rows = [
            (each.column or "", each.name, "holds" if each.holds else "FAILS", each.statement) for each in self.checks
        ]
        return card(
            "Verification of a release",
            sentence(self.verdict),
            table(("column", "check", "verdict", "why"), rows, words=4),
            folded("Not proved by any document", self.not_proved),
        )


def verify_document(document: str | bytes) -> CheckedDocument:
    """Prove again, from a published document alone, everything that it can prove.

    The tables of noise are rebuilt from ε and δ and proved private in integers; the costs of all parts are added up;
    edges, budgets, promises and sentences are derived again and compared.

    Parameters
    ----------
    document
        The JSON of a release or of several, in UTF-8.

    Returns
    -------
    CheckedDocument
        The verdict, check by check.

    Raises
    ------
    InputError
        If the document is not one of a release.

    Examples
    --------
    >>> import flexdp
    >>> text = flexdp.release([33.0] * 900, epsilon=1, delta=1e-6, width=5).to_json()
    >>> verify_document(text).holds
    True
    >>> print(verify_document(text.replace('"max_drop": 27', '"max_drop": 20')).failed[0])
    FAILS  noise: mechanism.max_drop is stated as 20, but 27 follows from the rest of the document.
    """
    content = _content(_octets(document))
    checks: list[DocumentCheck] = []
    several = content["schema"] == SCHEMA_OF_SEVERAL
    listed = content["releases"] if several else [content]
    privacies: list[Privacy | None] = []
    for each in listed:
        column = visible(str(each.get("column"))) if several else None
        release, own = checked(each)
        privacies.append(None if release is None else release.privacy)
        checks += [DocumentCheck(**told._asdict(), column=column) for told in own]
    whole, together = _together([str(each.get("column")) for each in listed], privacies)
    if several:
        checks.append(together)
    return CheckedDocument(checks=tuple(checks), privacy=whole)


def _octets(document: object) -> bytes:
    """The bytes of a document; a text is one in UTF-8."""
    if isinstance(document, str):
        try:
            return str.encode(document)
        except UnicodeEncodeError:
            pass
    elif isinstance(document, bytes | bytearray):
        return bytes(document)
    raise InputError("document", "must be a text or bytes", given=safe_repr(document))


def _content(octets: bytes) -> dict[str, Any]:
    """The JSON values of a document that claims to be a release, in the words of this schema."""
    reason = "it is too large"
    content: Any = None
    if len(octets) <= LARGEST_DOCUMENT:
        try:
            content, reason = parse_json(octets.decode("utf-8")), "it has no schema of flexdp"
        except UnicodeDecodeError:
            reason = "it is not UTF-8"
        except UnfitError as refusal:
            reason = f"it has {refusal.reason}"
        except (ValueError, TypeError, RecursionError):
            reason = "it is not JSON"
    if isinstance(content, dict) and content.get("schema") is not None:
        found: dict[str, Any] = upgraded(content)
        if found["schema"] == SCHEMA:
            return found
        listed = found.get("releases")
        if found["schema"] != SCHEMA_OF_SEVERAL:
            reason = f"its schema {safe_repr(content['schema'])} is not known to flexdp {__version__}"
        elif set(found) == {"schema", "releases"} and isinstance(listed, list):
            if listed and all(isinstance(each, dict) and each.get("schema") == SCHEMA for each in listed):
                return found
            reason = "it has no releases"
        else:
            reason = "it has other fields than releases"
    raise InputError("document", f"must be the JSON of a flexdp release: {reason}")


def _together(names: list[str], privacies: list[Privacy | None]) -> tuple[Privacy | None, DocumentCheck]:
    """The privacy of all releases of a document, and the check that it can be told."""

    def check(statement: str, *, holds: bool = False) -> DocumentCheck:
        return DocumentCheck(name="together", holds=holds, statement=statement)

    known = [each for each in privacies if each is not None]
    if len(known) < len(privacies):
        return None, check("A release could not be rebuilt, so the total is not known.")
    if len(set(names)) < len(names):
        return None, check("A column comes twice.")
    try:
        whole = total(known)
    except InputError as refusal:
        return None, check(f"The releases have no total: {refusal}")
    told = f"ε = {number_text(whole.epsilon)} and δ = {number_text(whole.delta)}"
    return whole, check(f"{plural(len(names), 'column')}, none twice, spend {told} together.", holds=True)
