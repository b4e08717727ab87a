"""Detached signatures: who published a file, and that not a byte of it was changed since.

A signature is Ed25519 (RFC 8032) over ``flexdp.signature/1``, a line feed, and the bytes of the file. It is kept in a
small JSON file of its own, and OpenSSL can check it as well (docs/verify-a-release.md). Keys are PEM files. The
package ``cryptography`` does the arithmetic (extra ``sign``).

A signature says who vouches for a file. Whether what the file says of privacy can be proved is for
:func:`flexdp.audit.verify_document`.
"""

from __future__ import annotations

from flexdp.signing.private import PrivateKey, new_key
from flexdp.signing.public import PublicKey
from flexdp.signing.signatures import Signature, SignatureCheck, verify_signature

__all__ = ["PrivateKey", "PublicKey", "Signature", "SignatureCheck", "new_key", "verify_signature"]
