"""MkDocs hook: differences between the site and the Markdown pages."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

_UPWARD = re.compile(r"\[([^\]]+)\]\((\.\./[^)]*)\)")
_DIAGRAM = re.compile(r"!\[[^\]]*\]\((assets/concepts\.svg)\)")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Show links to source files as text, and the diagram as a part of the page.

    The site does not contain the source files. A diagram in the page has the colours that the
    reader chose; as a picture it would have those of the operating system.
    """

    def unlinked(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), link[2]))
        return link[1] if path.startswith("..") else link[0]

    markdown = _DIAGRAM.sub(
        lambda link: re.sub(r"\n\s*", " ", Path(config.docs_dir, link[1]).read_text("utf-8")),
        markdown,
    )
    return _UPWARD.sub(unlinked, markdown)
