"""Render findings as text, JSON and GitHub annotations.

Every renderer reads reports one by one and yields its document in parts, so that thousands of files
need no more memory than one file.
"""

from collections.abc import Callable, Iterable, Iterator

from trectools_plus.text import sentences
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.rendering.json import iter_json
from trectools_plus.validation.rendering.places import iter_occurrences, printable
from trectools_plus.validation.rendering.text import iter_text


def iter_concise(reports: Iterable[FileReport]) -> Iterator[str]:
    """Yield one line ``path:line:column: severity code: message`` per finding."""
    for report in reports:
        for finding in iter_occurrences(report):
            text = sentences(finding.message, finding.remedy)
            yield f"{printable(f'{finding.place}: {finding.severity} {finding.code}: {text}')}\n"


_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def iter_github(reports: Iterable[FileReport]) -> Iterator[str]:
    """Yield one GitHub annotation ``::error file=…,line=…::message`` per finding."""
    for report in reports:
        for finding in iter_occurrences(report):
            yield f"{_github_annotation(finding)}\n"


def _github_annotation(finding: Finding) -> str:
    places = {
        "file": printable(finding.path),
        "line": finding.line,
        "col": finding.column,
        "title": f"{finding.code} {finding.name}",
    }
    properties = ",".join(
        f"{key}={_escape_github_property(str(value))}" for key, value in places.items() if value
    )
    text = _escape_github(printable(sentences(finding.message, finding.remedy)))
    return f"::{_GITHUB_COMMANDS[finding.severity]} {properties}::{text}"


def _escape_github(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_github_property(text: str) -> str:
    return _escape_github(text).replace(":", "%3A").replace(",", "%2C")


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
