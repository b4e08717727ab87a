"""JSON documents from strangers: read strictly, before anything in them is believed."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

__all__ = ["parse_json"]

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def parse_json(document: object) -> Any:
    """Parse a document in which no name comes twice, every number is finite and every text is Unicode.

    Raises TypeError, ValueError or RecursionError where it is none; callers say so in words of their own.
    """
    if isinstance(document, str):
        text = str.__str__(document)
    elif isinstance(document, bytes | bytearray):
        text = bytes(document).decode(json.detect_encoding(bytes(document)))
    else:
        raise TypeError("neither text nor bytes")
    values = json.loads(text, object_pairs_hook=_named_once, parse_constant=_refuse_constant)
    if _SURROGATE.search(text):
        json.dumps(values, ensure_ascii=False).encode()  # fails unless they come in pairs
    return values


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name that comes twice")
    return values


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")
