"""A strict reader of the HTML and SVG that reports are made of: what it does not know, it refuses."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

VOID = {"meta", "br", "img", "link", "input", "hr"}
KNOWN = {
    "html", "head", "title", "meta", "style", "body", "main", "h1", "h2", "p", "ul", "li", "b", "span", "section",
    "figure", "figcaption", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "footer", "code",
    "script", "svg", "desc", "defs", "pattern", "path", "text", "circle", "div", "dl", "dt", "dd", "small",
    "img",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "scope", "type", "xmlns", "viewbox", "width",
    "height", "role", "aria-labelledby", "x", "y", "text-anchor", "d", "fill", "patternunits", "patterntransform", "cx",
    "cy", "r", "tabindex", "aria-label", "alt", "src", "style",
}  # fmt: skip


EMBEDDED = "data:image/svg+xml;base64,"


def _decoded(source: str) -> str:
    return base64.b64decode(source.removeprefix(EMBEDDED), validate=True).decode()


def with_pictures(html: str) -> str:
    """A card with the pictures inside its images laid open."""
    return re.sub(rf"{re.escape(EMBEDDED)}[A-Za-z0-9+/=]+", lambda found: _decoded(found[0]), html)


class Strict(HTMLParser):
    """Elements must nest, attributes be known and quoted, ids be unique; nothing may run or be fetched."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.labels: list[str] = []
        self.seen: list[str] = []
        self.text: list[str] = []
        self.json = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in KNOWN, tag
        self.seen.append(tag)
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name)
            assert value is not None, (tag, name)
            assert not re.search(r"url\((?!#)", value)
        given = dict(attrs)
        assert given.get("style") in (None, "text-align:left"), "no other style within an element"
        if tag == "img":
            assert str(given.get("src", "")).startswith(EMBEDDED) and given.get("alt"), "nothing is fetched"
            read_svg(_decoded(str(given["src"])))
        if "id" in given:
            self.ids.append(str(given["id"]))
        self.labels += str(given.get("aria-labelledby", "")).split()
        if tag == "script":
            assert given.get("type") == "application/json"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("path", "circle"), tag
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.json += data
        elif not self.open or self.open[-1] != "style":
            self.text.append(data.replace("\xa0", " "))  # which keep the digits of a number together

    def handle_comment(self, data: str) -> None:  # noqa: ARG002
        raise AssertionError("a comment")

    def unknown_decl(self, data: str) -> None:  # noqa: ARG002
        raise AssertionError("a declaration")

    def handle_pi(self, data: str) -> None:  # noqa: ARG002
        raise AssertionError("an instruction")

    def finish(self) -> Strict:
        self.close()
        assert self.open == [], self.open
        assert len(set(self.ids)) == len(self.ids), "ids are unique"
        assert set(self.labels) <= set(self.ids), "labels lead somewhere"
        return self


def read_html(text: str) -> Strict:
    """The page, if it is sound."""
    parser = Strict()
    parser.feed(text)
    found = parser.finish()
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg\")", text), "nothing outside is named"
    return found


def read_svg(text: str) -> Any:
    """The picture, if it is well-formed."""
    read_html(text)
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    names = [child.tag.rsplit("}")[-1] for child in root]
    assert names[:2] == ["title", "desc"]
    assert all(len(child.text or "") > 3 for child in list(root)[:2])
    return root


def rectangles(root: Any, kind: str) -> list[tuple[float, float, float, float]]:
    """What a path of rectangles draws: left, top, width, height."""
    out = []
    for element in root.iter():
        if element.get("class") == kind and element.tag.endswith("path"):
            for part in re.findall(r"M([\d.-]+) ([\d.-]+)h([\d.-]+)v([\d.-]+)H[\d.-]+z", element.get("d")):
                out.append(tuple(float(number) for number in part))
    return out  # type: ignore[return-value]


def texts(root: Any) -> list[str]:
    return [element.text or "" for element in root.iter() if element.tag.endswith("text")]
