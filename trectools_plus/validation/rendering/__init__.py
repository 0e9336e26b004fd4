"""Findings as text, JSON, GitHub annotations and SARIF: renderers of one and the same list."""

from collections.abc import Callable, Sequence

from trectools_plus.validation.findings import FileReport
from trectools_plus.validation.rendering.github import render_github
from trectools_plus.validation.rendering.json import render_json
from trectools_plus.validation.rendering.sarif import render_sarif
from trectools_plus.validation.rendering.text import print_text, render_text

RENDERERS: dict[str, Callable[[Sequence[FileReport]], str]] = {
    "text": render_text,
    "json": render_json,
    "github": render_github,
    "sarif": render_sarif,
}
"""Output formats by the name they have on the command line."""

__all__ = [
    "RENDERERS",
    "print_text",
    "render_github",
    "render_json",
    "render_sarif",
    "render_text",
]
