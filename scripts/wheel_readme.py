"""Build hook: the README as the description of the package, without links to files.

The wheel contains neither the documentation nor its pictures, so relative links lead nowhere.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_TARGET = r"\((?!https?://|#)[^()\s]*(?:\s+\"[^\"]*\")?\)"
_PICTURE = re.compile(r"<picture>.*?</picture>\n?|<img\b[^>]*>\n?", re.DOTALL)
_IMAGE = re.compile(rf"!\[[^\]]*\]{_TARGET}")
_LINK = re.compile(rf"\[([^\]]*)\]{_TARGET}")


def without_relative_links(markdown: str) -> str:
    """Return a page with the texts of relative links only, and without their images."""
    return _LINK.sub(r"\1", _IMAGE.sub("", _PICTURE.sub("", markdown)))


class ReadmeHook(MetadataHookInterface):
    """Sets the description of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        page = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": without_relative_links(page),
        }
