"""Refuse a site with a page that loads anything from another host, or with a link that leads nowhere.

Run as ``python tools/check_site.py build/docs``.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

LOADING = {"src", "srcset", "poster", "data", "background", "action"}  # attributes that make a browser load something
LINKS = {"stylesheet", "icon", "shortcut", "preload", "prefetch", "modulepreload", "preconnect", "dns-prefetch"}
ELSEWHERE = re.compile(r"^\s*(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"""(?:@import\s+|url\()\s*['"]?\s*((?:[a-z]+:)?//[^'")\s]+)""", re.IGNORECASE)


class Page(HTMLParser):
    """What a page loads from other hosts by itself, its links within the site, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)
        for style in re.findall(r"<style.*?</style>", text, re.DOTALL):
            self.loads += IN_STYLES.findall(style)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one element."""
        values = {name: value or "" for name, value in attrs}
        loaded = [value for name, value in values.items() if name in LOADING]
        if tag == "link" and LINKS & set(values.get("rel", "").lower().split()):
            loaded.append(values.get("href", ""))
        self.loads += [value for value in loaded if ELSEWHERE.match(value)] + IN_STYLES.findall(values.get("style", ""))
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and not re.match(r"[a-z]+:|//", values.get("href", "")):
            self.links.append(unquote(values.get("href", "")))


def faults(folder: Path) -> list[str]:
    """Return everything that is wrong with the pages and style sheets of a folder."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    found = [] if pages else ["there is no page"]
    for path, page in sorted(pages.items()):
        name = path.relative_to(folder.resolve())
        found += [f"{name} loads {address}" for address in page.loads]
        for link in page.links:
            target, _, anchor = link.partition("#")
            place = (path.parent / target.split("?")[0]).resolve() if target else path
            if not place.is_file() or (anchor and place in pages and anchor not in pages[place].anchors):
                found.append(f"{name} links to {link}, which is not there")
    for path in sorted(folder.rglob("*.css")):
        found += [f"{path.relative_to(folder)} loads {each}" for each in IN_STYLES.findall(path.read_text("utf-8"))]
    return found


if __name__ == "__main__":
    wrong = faults(Path(sys.argv[1]))
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    sys.exit(1 if wrong else 0)
