"""Read the guideline that the review page shows, as elements instead of markup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trectools_plus.errors import InputError

MAX_BYTES = 65_536
_MAX_DEPTH = 20
_ELEMENTS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "strong": "strong",
    "em": "em",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
}
_LEAVES = {
    "code_inline": "code",
    "code_block": "pre",
    "fence": "pre",
    "hr": "hr",
    "hardbreak": "br",
}

Element = list[Any]
"""The name of an HTML element, then its children: texts and elements."""


def read_guideline(path: str | Path) -> list[Element]:
    """Read a guideline in Markdown (``.md``, ``.markdown``), or in plain text (other names).

    Markup of HTML in the text stays text, and images are replaced by their descriptions. Links are
    shown as text, with their addresses in parentheses.

    Args:
        path: A file in UTF-8 with at most 64 KiB.

    Returns:
        The elements of the guideline, from a fixed list of names.

    Raises:
        InputError: If the file cannot be read, is too large, or is not UTF-8.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"the guideline cannot be read: {error.strerror}", where=str(path)
        ) from error
    if len(content) > MAX_BYTES:
        raise InputError("the guideline is larger than 64 KiB", where=str(path))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            "the guideline is not UTF-8", where=str(path), remedy="save it as UTF-8"
        ) from error
    if Path(path).suffix.lower() not in (".md", ".markdown"):
        return [["pre", text]]
    from markdown_it import MarkdownIt

    return _build(MarkdownIt("commonmark", {"html": False}).enable("table").parse(text))


def _build(tokens: list[Any]) -> list[Element]:
    """Convert tokens to elements without recursion: nesting is cut at a fixed depth."""
    root: Element = [""]
    stack = [root]
    for token in _flatten(tokens):
        name = token.type.removesuffix("_open").removesuffix("_close")
        parent = stack[-1]
        if token.nesting == 1:
            element = parent
            if name == "heading":
                element = [f"h{min(6, int(token.tag[1]) + 2)}"]
            elif name in _ELEMENTS and not token.hidden:
                element = [_ELEMENTS[name]]
            if element is not parent and len(stack) <= _MAX_DEPTH:
                parent.append(element)
            else:
                element = parent
            stack.append(element)
        elif token.nesting == -1:
            stack.pop()
        elif name in _LEAVES:
            parent.append([_LEAVES[name], *([token.content] if token.content else [])])
        elif name == "softbreak":
            parent.append(" ")
        else:
            parent.append(token.content)
    return root[1:]


def _flatten(tokens: list[Any]) -> list[Any]:
    """Return block and inline tokens in one list, with the address of a link after its text."""
    from markdown_it.token import Token

    found = []
    for token in tokens:
        if token.type != "inline":
            found.append(token)
            continue
        addresses: list[str] = []
        for child in token.children or ():
            found.append(child)
            if child.type == "link_open":
                addresses.append(str(child.attrs["href"]))
            elif child.type == "link_close":
                found.append(Token("text", "", 0, content=f" ({addresses.pop()})"))
    return found
