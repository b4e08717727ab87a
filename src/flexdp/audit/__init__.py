"""Checks of privacy: the exact δ between two data sets, all small neighbours, and tests of mechanisms by running them.

:func:`exact_delta` and :func:`verify` compute; they prove what they say of the data sets that they are given.
:func:`audit` runs any function very often and looks for a violation; finding none proves nothing.
:func:`search` releases made-up tables beside their neighbours, and looks for anything that tells them apart.
:func:`verify_document` takes a published document and proves again what it can prove.
"""

from __future__ import annotations

from flexdp.audit.documents import CheckedDocument, DocumentCheck, verify_document
from flexdp.audit.door import Finding, Searched, search
from flexdp.audit.empirical import Audited, audit
from flexdp.audit.exact import Event, ExactDelta, Verified, exact_delta, neighbours, verify

__all__ = [
    "Audited",
    "CheckedDocument",
    "DocumentCheck",
    "Event",
    "ExactDelta",
    "Finding",
    "Searched",
    "Verified",
    "audit",
    "exact_delta",
    "neighbours",
    "search",
    "verify",
    "verify_document",
]
