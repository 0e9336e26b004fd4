"""MkDocs hooks: differences between the site and the Markdown pages."""

from __future__ import annotations

import re
from typing import Any

_OUT_OF_DOCS = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Show links to source files as text, because the site does not contain them."""
    return _OUT_OF_DOCS.sub(r"\1", markdown)
