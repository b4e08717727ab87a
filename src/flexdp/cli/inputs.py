"""Files of strangers, read as bytes: bounded in size, from a path or from standard input."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flexdp._core.domains import path_text
from flexdp._core.files import read_at_most, read_stream
from flexdp._core.text import safe_repr
from flexdp.errors import InputError

if TYPE_CHECKING:
    from flexdp.audit import CheckedDocument

__all__ = ["read_bytes", "verified"]


def read_bytes(parameter: str, path: str, most: int, *, remedy: str = "") -> bytes:
    """Read a file, or standard input where the path is "-".

    Parameters
    ----------
    parameter
        The parameter that names the file, for messages.
    path
        The path.
    most
        Most bytes that it may hold.
    remedy
        What to do where it cannot be read.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    InputError
        If it cannot be read, or is too large.
    """
    place = path_text(parameter, path)
    try:
        if place == "-":
            stream = getattr(sys.stdin, "buffer", None)
            if stream is not None:
                return read_stream(stream, most)
            return read_stream(io.BytesIO(sys.stdin.read(most + 1).encode()), most)  # standard input of a test
        return read_at_most(Path(place), most)
    except OSError:
        rule = "cannot be read"
    except ValueError:
        rule = "is too large, or has an impossible name"
    raise InputError(parameter, f": {safe_repr(place)} {rule}", remedy=remedy)


def verified(document: bytes) -> CheckedDocument:
    """Verify the document of a release; the refusal of what is none names the file."""
    from flexdp.audit.documents import verify_document

    try:
        return verify_document(document)
    except InputError as refusal:
        parameter = "source" if refusal.parameter == "document" else refusal.parameter
        raise InputError(parameter, refusal.rule, given=refusal.given, remedy=refusal.remedy) from None
