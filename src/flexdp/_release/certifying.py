"""The certificate of a release: all its promises, and the proofs of every table that was drawn from."""

from __future__ import annotations

from flexdp._release.answers import Reader
from flexdp._release.asked import Asked
from flexdp._release.asked_proof import asked_certainties, asked_proof
from flexdp._release.automatic import Auto
from flexdp._release.automatic_words import auto_proof, how_chosen
from flexdp._release.capped import CapReport, cap_answer, cap_proof
from flexdp._release.promises import Certificate, exactly, promises, share_of_budget
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.guarantees import Privacy

__all__ = ["certificate_of"]


def certificate_of(
    spec: Spec,
    budget: Budget | None,
    reader: Reader | None,
    asked: Asked | None,
    auto: Auto | None,
    caps: tuple[CapReport, ...],
    *,
    privacy: Privacy,
    conditions: tuple[str, ...],
) -> Certificate:
    """Return all promises of a release, with the integer evidence for its privacy; without buckets, of its answers."""
    proof = () if auto is None else auto_proof(auto)
    proof += () if asked is None else asked_proof(spec, asked)
    proof += tuple(map(cap_proof, caps))
    certain = () if asked is None else asked_certainties(asked)
    if budget is None or reader is None:
        return Certificate(
            promises=(str(privacy), *conditions, *certain), evidence=None, asked=proof, exact=exactly(privacy)
        )
    chosen = tuple(cap_answer(spec, cap, privacy.epsilon).statement for cap in caps)
    chosen += () if auto is None else how_chosen(spec, auto, asked, privacy.epsilon)
    return Certificate(
        promises=(
            str(privacy),
            *promises(spec, reader, chosen, asked=asked is not None),
            *(certain if auto is None else ()),
        ),
        evidence=budget.bars.certify(),
        total_evidence=None if budget.paid is None else budget.paid.certify(),
        limit=None if budget.limited is None else budget.limited.certify(),
        shared=share_of_budget(budget),
        asked=proof,
        exact=exactly(privacy),
    )
