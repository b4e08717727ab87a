"""The file of a signature: small, self-describing JSON, read strictly and written in one way only."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any

from flexdp._core.documents import parse_json
from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.signing import ed25519
from flexdp.signing.public import PublicKey

__all__ = ["LARGEST_SIGNATURE", "Signature", "SignatureCheck", "message_of", "octets_of", "verify_signature"]

SCHEMA = "flexdp.signature/1"
LARGEST_SIGNATURE = 2**12  # bytes of a signature file
_ALGORITHM = "Ed25519"


def octets_of(document: str | bytes, parameter: str = "document") -> bytes:
    """Return the bytes of a document; a text is one in UTF-8."""
    if isinstance(document, str):
        try:
            return str.encode(document)
        except UnicodeEncodeError:
            pass
    elif isinstance(document, bytes | bytearray):
        return bytes(document)
    raise InputError(parameter, "must be a text or bytes", given=safe_repr(document))


def message_of(octets: bytes) -> bytes:
    """Return what is signed for a document: its bytes, below a line that no other protocol signs."""
    return SCHEMA.encode() + b"\n" + octets


@dataclass(frozen=True, kw_only=True, repr=False)
class Signature:
    """A detached signature of a document.

    Parameters
    ----------
    public_key
        The key that it claims to be of; anybody can claim any key.
    digest
        SHA-256 of the document, in hexadecimal.
    octets
        The signature itself, 64 bytes.

    Examples
    --------
    >>> import tempfile
    >>> from flexdp.signing import PrivateKey, new_key
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = new_key(f"{folder}/publisher.key")
    ...     signature = PrivateKey.load(f"{folder}/publisher.key").sign("text")
    >>> Signature.from_json(signature.to_json()) == signature
    True
    """

    public_key: PublicKey
    digest: str
    octets: bytes

    def to_json(self) -> str:
        """Return the content of a signature file.

        Returns
        -------
        str
            JSON, in the one form that is read back.
        """
        content = {
            "schema": SCHEMA,
            "algorithm": _ALGORITHM,
            "fingerprint": self.public_key.fingerprint,
            "public_key": base64.b64encode(self.public_key.der).decode(),
            "digest": f"sha256:{self.digest}",
            "signature": base64.b64encode(self.octets).decode(),
        }
        return json.dumps(content, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Signature:
        """Read a signature file, every byte of which counts.

        Parameters
        ----------
        text
            What :meth:`to_json` wrote.

        Returns
        -------
        Signature
            The signature; nothing is checked yet.

        Raises
        ------
        InputError
            If it is not a signature file, complete and unchanged.
        """
        octets = octets_of(text, "signature")
        try:
            if len(octets) > LARGEST_SIGNATURE:
                raise ValueError("too long")
            content: dict[str, Any] = parse_json(octets.decode())
            found = cls(
                public_key=PublicKey(base64.b64decode(content["public_key"], validate=True)),
                digest=content["digest"].removeprefix("sha256:"),
                octets=base64.b64decode(content["signature"], validate=True),
            )
            same = found.to_json().encode() == octets and len(found.octets) == 64
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            same = False
        if not same:
            raise InputError("signature", "must be a signature file of flexdp, complete and unchanged")
        return found

    def __repr__(self) -> str:
        return f"<Signature by {self.public_key.fingerprint}>"


@dataclass(frozen=True, kw_only=True)
class SignatureCheck:
    """The verdict on a signature.

    Parameters
    ----------
    holds
        True if the signature is one of exactly this document, by the key that was given, where one was.
    known
        True if a key was given, and the signature is by it.
    fingerprint
        The fingerprint of the key that the signature is by, or claims to be by.
    statement
        The verdict in a sentence.

    Examples
    --------
    >>> import tempfile
    >>> from flexdp.signing import PrivateKey, new_key
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     public = new_key(f"{folder}/publisher.key")
    ...     signature = PrivateKey.load(f"{folder}/publisher.key").sign("text")
    >>> verify_signature("text", signature, public).known, verify_signature("text", signature).known
    (True, False)
    >>> print(verify_signature("Text", signature, public))
    The document is not the one that was signed: its SHA-256 is another.
    """

    holds: bool
    known: bool
    fingerprint: str
    statement: str

    def __str__(self) -> str:
        return self.statement


def verify_signature(
    document: str | bytes,
    signature: Signature | str | bytes,
    key: PublicKey | str | os.PathLike[str] | None = None,
) -> SignatureCheck:
    """Check a detached signature.

    Parameters
    ----------
    document
        The content of the signed file.
    signature
        The signature, or the content of its file.
    key
        The publisher's public key, or its file, from a source that the reader trusts. Without it nobody is
        recognised: a signature by an unknown key proves no origin.

    Returns
    -------
    SignatureCheck
        The verdict.

    Raises
    ------
    InputError
        If the signature or the key cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from flexdp.signing import PrivateKey, new_key
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = new_key(f"{folder}/publisher.key")
    ...     signature = PrivateKey.load(f"{folder}/publisher.key").sign("text")
    ...     print(verify_signature("text", signature, f"{folder}/publisher.pub").statement[:50])
    Signed by the key that was given, with fingerprint
    """
    octets = octets_of(document)
    found = signature if isinstance(signature, Signature) else Signature.from_json(signature)
    wanted = key if key is None or isinstance(key, PublicKey) else PublicKey.load(key)
    signer = found.public_key.fingerprint

    def verdict(statement: str, *, holds: bool = False) -> SignatureCheck:
        known = holds and wanted is not None
        return SignatureCheck(holds=holds, known=known, fingerprint=signer, statement=statement)

    if wanted is not None and wanted != found.public_key:
        return verdict(
            f"The signature is by another key, with fingerprint {signer}; that of the key given is "
            f"{wanted.fingerprint}."
        )
    if hashlib.sha256(octets).hexdigest() != found.digest:
        return verdict("The document is not the one that was signed: its SHA-256 is another.")
    try:
        valid = ed25519.verified(found.public_key.der, found.octets, message_of(octets))
    except ed25519.KeyFileError:
        valid = False
    if not valid:
        return verdict(f"The signature is not one of this document by the key with fingerprint {signer}.")
    if wanted is None:
        return verdict(
            f"Signed by an unknown key, with fingerprint {signer}. Give the publisher's public key to learn whether it "
            "is theirs.",
            holds=True,
        )
    return verdict(f"Signed by the key that was given, with fingerprint {signer}.", holds=True)
