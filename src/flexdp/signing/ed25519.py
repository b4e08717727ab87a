"""Ed25519 by the package ``cryptography``, which is imported here alone and on first use."""

from __future__ import annotations

from typing import Any

from flexdp._core.extras import extra

__all__ = [
    "KeyFileError",
    "generated",
    "is_encrypted",
    "private_key",
    "private_pem",
    "public_der",
    "public_pem",
    "signed",
    "verified",
]

_PREFIX = bytes.fromhex("302a300506032b6570032100")  # of every Ed25519 key in DER (RFC 8410)


class KeyFileError(ValueError):
    """A key file that cannot be used, and why; never its content."""


def _ed25519() -> Any:
    with extra("sign", "cryptography", "signing"):
        from cryptography.hazmat.primitives.asymmetric import ed25519
    return ed25519


def _serialization() -> Any:
    with extra("sign", "cryptography", "signing"):
        from cryptography.hazmat.primitives import serialization
    return serialization


def _refusals() -> tuple[type[Exception], ...]:
    from cryptography.exceptions import UnsupportedAlgorithm

    return ValueError, TypeError, UnsupportedAlgorithm


def generated() -> Any:
    """Return a new private key."""
    return _ed25519().Ed25519PrivateKey.generate()


def private_pem(key: Any, passphrase: bytes | None) -> bytes:
    """Return a private key in PKCS #8, encrypted where there is a passphrase."""
    form = _serialization()
    hidden = form.NoEncryption() if passphrase is None else form.BestAvailableEncryption(passphrase)
    found: bytes = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, hidden)
    return found


def is_encrypted(pem: bytes) -> bool:
    """Return True if a PEM file needs a passphrase."""
    return b"ENCRYPTED" in pem


def private_key(pem: bytes, passphrase: bytes | None) -> Any:
    """Return the private key in a PEM file; a passphrase that is not needed is not used."""
    form, kinds = _serialization(), _ed25519()
    hidden = is_encrypted(pem)
    if b"PRIVATE KEY" not in pem:
        raise KeyFileError("is not a private key in PEM form")
    if hidden and passphrase is None:
        raise KeyFileError("is encrypted, and no passphrase was given")
    try:
        key = form.load_pem_private_key(pem, passphrase if hidden else None)
    except _refusals():
        key = None
    if key is None:
        raise KeyFileError("is damaged, or the passphrase is wrong" if hidden else "is a damaged private key")
    if not isinstance(key, kinds.Ed25519PrivateKey):
        raise KeyFileError("is a key of another algorithm than Ed25519")
    return key


def public_der(source: Any) -> bytes:
    """Return the public key of a private key, or of a PEM file, in DER."""
    form, kinds = _serialization(), _ed25519()
    if isinstance(source, kinds.Ed25519PrivateKey):
        key = source.public_key()
    else:
        if b"PRIVATE KEY" in source:
            raise KeyFileError("is a private key, and the public one is needed")
        try:
            key = form.load_pem_public_key(source)
        except _refusals():
            key = None
        if key is None:
            raise KeyFileError("is not a public key in PEM form")
        if not isinstance(key, kinds.Ed25519PublicKey):
            raise KeyFileError("is a key of another algorithm than Ed25519")
    found: bytes = key.public_bytes(form.Encoding.DER, form.PublicFormat.SubjectPublicKeyInfo)
    return found


def public_pem(der: bytes) -> bytes:
    """Return a public key in PEM form."""
    form = _serialization()
    found: bytes = _public(der).public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    return found


def signed(key: Any, message: bytes) -> bytes:
    """Return the 64 bytes of a signature."""
    found: bytes = key.sign(message)
    return found


def verified(der: bytes, signature: bytes, message: bytes) -> bool:
    """Return True if a signature is that of the message by the key."""
    key = _public(der)
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _public(der: bytes) -> Any:
    if len(der) != len(_PREFIX) + 32 or not der.startswith(_PREFIX):
        raise KeyFileError("is not an Ed25519 key")
    return _ed25519().Ed25519PublicKey.from_public_bytes(der[len(_PREFIX) :])
