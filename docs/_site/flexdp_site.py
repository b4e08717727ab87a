"""What the site adds to Sphinx: public names of a room, the commands, the order of pages as index.md tells it."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any, ClassVar

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["Commands", "Public", "keep_sentences", "name_places", "order_pages", "setup"]

OF_PYTHON = "Exception, UserWarning, Mapping, Sequence, Protocol, Generic, tuple, str, object"  # not described here
FIRST = ("release",)  # commands that come before the others


class Public(SphinxDirective):
    """``.. public:: flexdp.audit`` documents every exported name of a room; names of ``flexdp`` itself, only there."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"first": str}  # names that come before the others

    def run(self) -> list[nodes.Node]:
        room = self.arguments[0]
        module, front = importlib.import_module(room), importlib.import_module("flexdp")
        shared = {id(getattr(front, name)): name for name in front.__all__} if room != "flexdp" else {}
        classes, functions, values, elsewhere = [], [], [], []
        first = self.options.get("first", "").split()
        for name in [*first, *sorted(set(module.__all__) - set(first), key=str.lower)]:
            thing = getattr(module, name)
            if id(thing) in shared and not isinstance(thing, str):
                role = "class" if inspect.isclass(thing) else "func"
                elsewhere.append(f":py:{role}:`flexdp.{shared[id(thing)]}`")
            elif inspect.isclass(thing):
                classes.append(f".. autoclass:: {room}.{name}\n   :inherited-members: {OF_PYTHON}")
            elif inspect.isfunction(thing):
                functions.append(f".. autofunction:: {room}.{name}")
            elif not name.startswith("__"):
                values.append(f"``{name}``")
        lines = [f".. py:currentmodule:: {room}", ""]
        if elsewhere:
            lines += [f"Also here, and described with :doc:`flexdp <flexdp>`: {', '.join(elsewhere)}.", ""]
        if values:
            lines += [f"Constants: {', '.join(values)}.", ""]
        for title, entries in (("Functions", functions), ("Classes", classes)):
            if entries:
                lines += [title, "-" * len(title), ""] + [line for entry in entries for line in (entry, "")]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


class Commands(SphinxDirective):
    """``.. commands::`` documents every command of the command line from what its ``--help`` prints."""

    def run(self) -> list[nodes.Node]:
        from flexdp.cli.app import cli

        lines: list[str] = []
        with click.Context(cli, info_name="flexdp") as context:
            for name in sorted(cli.list_commands(context), key=lambda name: (name not in FIRST, name)):
                command = cli.get_command(context, name)
                assert command is not None
                lines += _described(command, context, name, "-")
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _described(command: click.Command, parent: click.Context, name: str, mark: str) -> list[str]:
    """Return the reStructuredText of one command and the commands below it."""
    context = click.Context(command, info_name=name, parent=parent)
    title = context.command_path
    usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    lines = [title, mark * len(title), "", *_text(command.help), ".. code-block:: text", "", f"   {usage}", ""]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:
            lines += [f"``{record[0]}``", f"   {_escaped(record[1])}", ""]
    examples = [line.strip() for line in (command.epilog or "").splitlines() if line.strip().startswith("flexdp ")]
    if examples:
        lines += [".. code-block:: sh", "", *(f"   {line}" for line in examples), ""]
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                lines += _described(found, context, below, "~")
    return lines


def _text(told: str | None) -> list[str]:
    """Return help text as paragraphs; those that click keeps as they are stay so."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(told or "")):
        if paragraph.startswith("\b"):
            lines += ["| " + _escaped(line.strip()) for line in paragraph.splitlines()[1:]] + [""]
        elif paragraph.strip():
            lines += [_escaped(" ".join(paragraph.split())), ""]
    return lines


def _escaped(text: str) -> str:
    """Return help text with options and quoted code as literals, and no other mark-up."""
    parts = re.split(r"(`[^`]+`|(?<![\w-])--[a-z][\w-]*)", text)
    marked = (f"``{part.strip('`')}``" if part[:1] == "`" or part[:2] == "--" else _plain(part) for part in parts)
    return re.sub(r"(``[^`]+``)(?=\w)", r"\1\\ ", "".join(marked))


def _plain(text: str) -> str:
    return re.sub(r"([\\*_|`])", r"\\\1", text)


def order_pages(_app: Sphinx, name: str, source: list[str]) -> None:
    """Give the start page a hidden table of contents: its own sections, and the links in their lists."""
    if name != "index":
        return
    tables = []
    for section in source[0].split("\n## ")[1:]:
        pages = re.findall(r"^- \[([^\]]+)\]\(([\w/-]+)\.(?:md|rst)\)", section, re.MULTILINE)
        if pages:
            caption, entries = section.splitlines()[0], [f"{title} <{page}>" for title, page in pages]
            tables.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```"]))
    source[0] += "\n\n" + "\n\n".join(tables) + "\n"


def name_places(app: Sphinx, _name: str, source: list[str]) -> None:
    """Name folders and pages of the repository that are not on the site, instead of linking to them."""

    def named(match: re.Match[str]) -> str:
        text, target = match.groups()
        place = (app.srcdir / target).resolve()
        if place.is_file() and place.suffix != ".md":
            return match[0]  # Sphinx copies such a file
        return f"{text} (`{place.relative_to(app.srcdir.parent)}`)"

    source[0] = re.sub(r"\[([^\]]+)\]\((\.\./[^)#]+)\)", named, source[0])


def keep_sentences(app: Sphinx) -> None:
    """Keep napoleon from taking "For each group: …" for the type of a property and what follows for its text."""
    before: dict[str, list[str]] = {}

    def remember(_app: Sphinx, what: str, name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
        if what in ("property", "attribute") and not any(line.startswith("---") for line in lines):
            before[name] = list(lines)

    def restore(_app: Sphinx, _what: str, name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
        lines[:] = before.pop(name, lines)

    app.connect("autodoc-process-docstring", remember, priority=400)
    app.connect("autodoc-process-docstring", restore, priority=600)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the two directives and the order of pages."""
    app.add_directive("public", Public)
    app.add_directive("commands", Commands)
    app.connect("source-read", order_pages)
    app.connect("source-read", name_places)
    keep_sentences(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
