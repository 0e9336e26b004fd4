"""Render findings as text, JSON and GitHub annotations.

Every renderer reads reports one by one and yields its document in parts, so that thousands of files
need no more memory than one file.
"""

from collections.abc import Callable, Iterable, Iterator

from trectools_plus.text import sentences
from trectools_plus.validation.findings import FileReport
from trectools_plus.validation.rendering.build_servers import iter_github
from trectools_plus.validation.rendering.json import iter_json
from trectools_plus.validation.rendering.places import iter_occurrences, printable
from trectools_plus.validation.rendering.text import iter_text


def iter_concise(reports: Iterable[FileReport]) -> Iterator[str]:
    """Yield one line ``path:line:column: severity code: message`` per finding."""
    for report in reports:
        for finding in iter_occurrences(report):
            text = sentences(finding.message, finding.remedy)
            yield f"{printable(f'{finding.place}: {finding.severity} {finding.code}: {text}')}\n"


RENDERERS: dict[str, Callable[[Iterable[FileReport]], Iterator[str]]] = {
    "text": iter_text,
    "concise": iter_concise,
    "json": iter_json,
    "github": iter_github,
}
"""Renderers by the name of the output format on the command line."""


def render(reports: Iterable[FileReport], output_format: str = "text") -> str:
    """Return all findings in one of the formats of :data:`RENDERERS`."""
    return "".join(RENDERERS[output_format](reports))


__all__ = ["RENDERERS", "render"]
