"""Private keys of publishers: PEM files that their owner alone can read, made here and used to sign."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flexdp._core.domains import path_text
from flexdp._core.files import write_new
from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.signing import ed25519
from flexdp.signing.public import PublicKey, key_file, refused_key
from flexdp.signing.signatures import Signature, message_of, octets_of

__all__ = ["PrivateKey", "new_key"]

_LONGEST_PASSPHRASE = 1000  # bytes; the library takes no more than 1023


class PrivateKey:
    """The private key of a publisher. It is never shown, and signs release documents.

    Parameters
    ----------
    key
        The key, of the package ``cryptography``; :meth:`load` reads one from a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     public = new_key(f"{folder}/publisher.key", passphrase="correct horse")
    ...     key = PrivateKey.load(f"{folder}/publisher.key", passphrase="correct horse")
    >>> key.public == public, key.sign("text").public_key == public
    (True, True)
    """

    __slots__ = ("_key", "public")

    def __init__(self, key: Any) -> None:
        self._key = key
        self.public = PublicKey(ed25519.public_der(key))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, passphrase: str | Callable[[], str] | None = None) -> PrivateKey:
        """Read a private key from a PEM file.

        Parameters
        ----------
        path
            The file, such as publisher.key.
        passphrase
            The passphrase of an encrypted file, or a function that asks for it, such as ``getpass.getpass``; a file
            that is not encrypted needs none.

        Returns
        -------
        PrivateKey
            The key.

        Raises
        ------
        InputError
            If the file cannot be read, holds no private Ed25519 key, or the passphrase is wrong or missing.
        """
        content, refused = key_file(path), ""
        if callable(passphrase):
            passphrase = passphrase() if ed25519.is_encrypted(content) else None
        try:
            return cls(ed25519.private_key(content, _octets(passphrase)))
        except ed25519.KeyFileError as refusal:
            refused = str(refusal)
        raise refused_key(path, refused, "Give the file that flexdp key new wrote.")

    def sign(self, document: str | bytes) -> Signature:
        """Sign a document: exactly its bytes, a text in UTF-8.

        Parameters
        ----------
        document
            The content of the file, as it is published.

        Returns
        -------
        Signature
            The signature, to be written to a file of its own.
        """
        octets = octets_of(document)
        return Signature(
            public_key=self.public,
            digest=hashlib.sha256(octets).hexdigest(),
            octets=ed25519.signed(self._key, message_of(octets)),
        )

    def __reduce__(self) -> Any:
        raise TypeError("a private key cannot be pickled")

    def __repr__(self) -> str:
        return f"<PrivateKey of {self.public.fingerprint}>"


def new_key(path: str | os.PathLike[str], *, passphrase: str | None = None) -> PublicKey:
    """Make a pair of keys and write them to two new files, such as publisher.key and publisher.pub.

    Parameters
    ----------
    path
        File of the private key, which only its owner can read. The public key is beside it, in a file that ends in
        .pub. Neither may exist.
    passphrase
        Encrypts the private key.

    Returns
    -------
    PublicKey
        The public key.

    Raises
    ------
    InputError
        If a file exists already or cannot be written, or the passphrase is empty.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = new_key(f"{folder}/publisher.key")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['publisher.key', 'publisher.pub']
    """
    private = Path(path_text("path", path))
    if not private.name or private.suffix.lower() == ".pub":
        raise InputError("path", "must name a file that does not end in .pub", given=safe_repr(str(private)))
    public = private.with_suffix(".pub")
    key = ed25519.generated()
    made = PublicKey(ed25519.public_der(key))
    contents = {private: ed25519.private_pem(key, _octets(passphrase)), public: ed25519.public_pem(made.der)}
    written: list[Path] = []
    for file, content in contents.items():
        try:
            write_new(file, content, private=file is private)
            written.append(file)
        except (OSError, ValueError) as failure:
            exists = isinstance(failure, FileExistsError)
        else:
            continue
        for half in written:  # no key without its other half
            half.unlink(missing_ok=True)
        if exists:
            raise InputError("path", f": {safe_repr(file.name)} exists already", remedy="Name another file.")
        raise InputError(
            "path", "cannot be written", given=safe_repr(str(file)), remedy="Check the folder and its permissions."
        )
    return made


def _octets(passphrase: str | None) -> bytes | None:
    if passphrase is None:
        return None
    plain = str.__str__(passphrase) if isinstance(passphrase, str) else ""
    try:
        found = plain.encode()
    except UnicodeEncodeError:
        found = b""
    if not found or b"\0" in found or len(found) > _LONGEST_PASSPHRASE:
        raise InputError("passphrase", f"must be a text of 1 to {_LONGEST_PASSPHRASE} bytes in UTF-8")
    return found
