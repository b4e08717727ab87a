"""Public keys of publishers: PEM files, and what is common to all key files."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from flexdp._core.domains import path_text
from flexdp._core.files import read_at_most
from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.signing import ed25519

__all__ = ["PublicKey", "key_file", "refused_key"]

_LARGEST = 2**14  # bytes of a key file


@dataclass(frozen=True, repr=False)
class PublicKey:
    """The public key of a publisher.

    Parameters
    ----------
    der
        The key in DER, 44 bytes.

    Examples
    --------
    >>> import tempfile
    >>> from flexdp.signing import new_key
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = new_key(f"{folder}/publisher.key")
    ...     PublicKey.load(f"{folder}/publisher.pub") == made
    True
    >>> made.fingerprint[:7], len(made.fingerprint)
    ('sha256:', 71)
    """

    der: bytes

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PublicKey:
        """Read a public key from a PEM file.

        Parameters
        ----------
        path
            The file, such as publisher.pub.

        Returns
        -------
        PublicKey
            The key.

        Raises
        ------
        InputError
            If the file cannot be read, or holds no public Ed25519 key.
        """
        content, refused = key_file(path), ""
        try:
            return cls(ed25519.public_der(content))
        except ed25519.KeyFileError as refusal:
            refused = str(refusal)
        raise refused_key(path, refused, "Give the .pub file that flexdp key new wrote.")

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the key in DER, as publishers announce it."""
        return f"sha256:{hashlib.sha256(self.der).hexdigest()}"

    def __repr__(self) -> str:
        return f"<PublicKey {self.fingerprint}>"


def key_file(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a key file, unless it cannot be read or is far too long."""
    place = path_text("key", path)
    try:
        return read_at_most(Path(place), _LARGEST)
    except (OSError, ValueError):
        pass
    raise InputError("key", f": {safe_repr(place)} cannot be read as a key", remedy="Check its name and permissions.")


def refused_key(path: str | os.PathLike[str], reason: str, remedy: str) -> InputError:
    """Return the refusal of a key file, without a byte of it."""
    return InputError("key", f": {safe_repr(path_text('key', path))} {reason}", remedy=remedy)
