"""Findings as text, JSON, GitHub annotations, SARIF and JUnit: one list, one module per output.

Every renderer takes reports one by one and yields its document in parts, so that a report can be
forgotten once it is written: thousands of files, or millions of places, need no more memory than
one file does.
"""

from collections.abc import Callable, Iterable, Iterator

from trectools_plus.validation.findings import FileReport
from trectools_plus.validation.rendering.json import iter_json
from trectools_plus.validation.rendering.junit import iter_junit
from trectools_plus.validation.rendering.lines import iter_concise, iter_github
from trectools_plus.validation.rendering.sarif import iter_sarif
from trectools_plus.validation.rendering.text import iter_text

RENDERERS: dict[str, Callable[[Iterable[FileReport]], Iterator[str]]] = {
    "text": iter_text,
    "concise": iter_concise,
    "json": iter_json,
    "github": iter_github,
    "sarif": iter_sarif,
    "junit": iter_junit,
}
"""Output formats by the name they have on the command line."""


def render(reports: Iterable[FileReport], output_format: str = "text") -> str:
    """All findings in one of the formats of :data:`RENDERERS`, as one string."""
    return "".join(RENDERERS[output_format](reports))


__all__ = ["RENDERERS", "render"]
