"""Hooks of MkDocs: what the site shows otherwise than the pages as they stand here."""

from __future__ import annotations

import re
from typing import Any

_OUT_OF_DOCS = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Show links to source files as words: readers of the site have no repository beside it."""
    return _OUT_OF_DOCS.sub(r"\1", markdown)
