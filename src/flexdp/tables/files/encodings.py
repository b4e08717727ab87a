"""Encodings of text files other than UTF-8, turned into UTF-8 while a file is read.

Only encodings in which a strange byte damages its own line are known: those of one byte per character that keep ASCII,
and UTF-16, whose line ends are found after decoding. Encodings with a state that outlasts a line are refused.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable

from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError, P

__all__ = ["WIDE", "UnmarkedError", "check_encoding", "transcoded", "unmarked"]

WIDE = ("utf-16", "utf-16-le", "utf-16-be")  # of two bytes and more a character
_UTF_8 = ("utf-8", "utf-8-sig", "ascii")
_KNOWN = frozenset(
    [
        *WIDE,
        *(f"iso8859-{part}" for part in (*range(1, 11), *range(13, 17))),
        *(f"cp{page}" for page in (*range(1250, 1259), 437, 850, 852, 855, 857, 858, 860, 861, 863, 865, 866)),
        "koi8-r",
        "koi8-u",
        "mac-roman",
    ]
)
_EXAMPLES = "Name that of the file, for example cp1252, latin-1 or utf-16."
_STRANGE = "flexdp.strange"  # name of the error handler
_BLOCK = 1 << 18  # bytes decoded at a time


class UnmarkedError(OSError):
    """A file in UTF-16 does not begin with the mark that tells the order of its bytes."""


def unmarked(shown: str) -> InputError:
    """Return the refusal of such a file."""
    return InputError(
        "encoding",
        f": {shown} does not begin with a byte order mark",
        remedy=("Use ", P("encoding", "utf-16-le"), " or ", P("encoding", "utf-16-be"), "."),
    )


def check_encoding(given: object) -> str | None:
    """Return the canonical name of an encoding; None for UTF-8, which needs no decoding."""
    if given is None:
        return None
    name = plain_scalar(given)
    found = None
    if isinstance(name, str):
        try:
            found = codecs.lookup(name).name
        except (LookupError, ValueError, UnicodeError):
            found = None
    if found in _UTF_8:
        return None
    if found is None:
        raise InputError("encoding", f": unknown encoding {safe_repr(given)}", remedy=_EXAMPLES)
    if found not in _KNOWN:
        raise InputError(
            "encoding",
            "must be one in which a strange byte damages its own line only",
            given=safe_repr(given),
            remedy="Convert the file to UTF-8.",
        )
    return found


def transcoded(read_into: Callable[[memoryview], int | None], encoding: str) -> Callable[[memoryview], int]:
    """Return a function that reads UTF-8; what cannot be decoded becomes bytes that are not, so its line is blanked."""
    decoder = codecs.getincrementaldecoder(encoding)(errors=_STRANGE)
    block = memoryview(bytearray(_BLOCK))
    ready, ended = memoryview(b""), False

    def read(buffer: memoryview) -> int:
        nonlocal ready, ended
        while not ready and not ended:
            got = read_into(block) or 0
            ended = not got
            ready = memoryview(_decoded(decoder, bytes(block[:got]), ended))
        part, ready = ready[: len(buffer)], ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    return read


def _decoded(decoder: codecs.IncrementalDecoder, block: bytes, ended: bool) -> bytes:
    try:
        return decoder.decode(block, final=ended).encode("utf-8", "surrogatepass")
    except UnicodeError:  # whatever else is strange has been dealt with
        raise UnmarkedError from None


def _strange(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\ud800", error.end  # half a character, which is not valid in UTF-8


codecs.register_error(_STRANGE, _strange)
