"""The pages of the documentation: their blocks of code, headings and links."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _support.command import flexdp as command

__all__ = ["DOCS", "ROOT", "Block", "alike", "anchors", "blocks", "links", "masked", "run"]

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
RANDOM = "One run printed:"  # the line before an output in which chance decides the numbers
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the last line of prose before it."""

    language: str
    text: str
    before: str


def blocks(page: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    found, end = [], 0
    for match in _FENCE.finditer(page):
        before = page[end : match.start()].strip().splitlines()
        found.append(Block(match[1], match[2], before[-1] if before else ""))
        end = match.end()
    return found


def masked(text: str) -> str:
    """The same text with every number replaced: what chance decides in a sentence."""
    return re.sub(r"[-−]?\d+(?:[  ]\d{3})*(?:\.\d+)?", "#", text)


def links(page: str) -> list[str]:
    """The targets of a page's links and pictures, outside code; those to other hosts are left out."""
    prose = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", page))
    found = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as both GitHub and the site spell them, and those that it names itself."""
    names: dict[str, int] = {}
    found = set(re.findall(r'^<a id="([\w-]+)"></a>$', _FENCE.sub("", page), re.MULTILINE))
    for heading in re.findall(r"^#{1,4} +(.+?) *#*$", _FENCE.sub("", page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        again = names.get(slug, 0)
        names[slug] = again + 1
        found.add(f"{slug}-{again}" if again else slug)
    return found


def alike(printed: str, shown: str) -> bool:
    """Tell whether two outputs have the same lines, up to their numbers and to what follows a semicolon."""
    one, other = (masked(text.replace("above it", "above 0")).splitlines() for text in (printed, shown))
    return [line.split(";")[0] for line in one] == [line.split(";")[0] for line in other]


def run(page: str, found: list[Block], space: dict[str, Any], *, shell: bool = True) -> int:
    """Run blocks of a page one after the other, and compare what they print; return how many were compared."""
    printed, compared = "", 0
    for block in found:
        if block.language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block.text, page, "exec"), space)
            printed = out.getvalue()
        elif block.language == "text":
            assert printed == block.text or (block.before == RANDOM and alike(printed, block.text)), page
            compared += 1
        elif block.language == "sh" and shell:
            for line in block.text.splitlines():
                if line.startswith("flexdp "):
                    done = command(*shlex.split(line, comments=True)[1:])
                    assert done.returncode == 0 and done.stdout, (page, line, done.stderr)
    return compared
